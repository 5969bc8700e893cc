//! The cases of every adapter, against the real sandbox processor behind a proxy with faults.

use std::time::Duration;

use async_trait::async_trait;
use dropin_ports::Processor;
use dropin_processor_contract::{Choice, Exceptions, FaultProxy, ProcessorHarness, ProcessorStep, all_cases};
use dropin_processor_http::HttpProcessor;

use crate::harness::{self, config_for};

const EXCEPTIONS: Exceptions<0> = [];

all_cases!(open, except EXCEPTIONS);

struct Sandbox {
    processor: HttpProcessor,
    proxy: FaultProxy,
    _sandbox: harness::Harness,
}

async fn open() -> Box<dyn ProcessorHarness> {
    let sandbox = harness::harness(Duration::from_secs(2)).await;
    let proxy = FaultProxy::start(sandbox.base.trim_start_matches("http://").parse().unwrap()).await;
    let processor = HttpProcessor::start(config_for(&proxy.base(), Duration::from_secs(2))).unwrap();
    Box::new(Sandbox { processor, proxy, _sandbox: sandbox })
}

#[async_trait(?Send)]
impl ProcessorHarness for Sandbox {
    fn processor(&self) -> &dyn Processor {
        &self.processor
    }

    fn proxy(&self) -> &FaultProxy {
        &self.proxy
    }

    fn lines(&self, step: ProcessorStep) -> fn(&str) -> bool {
        match step {
            ProcessorStep::Authorize => |line| line.starts_with("POST /v1/authorizations "),
            ProcessorStep::Capture => |line| line.starts_with("POST /v1/captures "),
            ProcessorStep::Void => |line| line.starts_with("POST /v1/voids "),
            ProcessorStep::Refund => |line| line.starts_with("POST /v1/refunds "),
            ProcessorStep::Status => |line| line.starts_with("GET /v1/operations/"),
        }
    }

    fn page_method(&self) -> &'static str {
        "PAYPAL"
    }

    async fn press(&self, page: &str, choice: Choice) {
        let client = awc::Client::builder().disable_redirects().finish();
        let text = client.get(page).send().await.unwrap().body().await.unwrap();
        let text = String::from_utf8(text.to_vec()).unwrap();
        let Some((_, rest)) = text.split_once("name=\"form\" value=\"") else { return };
        let challenges = text.contains("value=\"succeed\"");
        let choice = match choice {
            Choice::Pay if challenges => "succeed",
            Choice::Pay => "pay",
            Choice::Fail => "fail",
            Choice::Cancel => "cancel",
        };
        let form = [("form", rest.split_once('"').unwrap().0), ("choice", choice)];
        assert_eq!(client.post(page).send_form(&form).await.unwrap().status().as_u16(), 303, "{choice}");
    }
}
