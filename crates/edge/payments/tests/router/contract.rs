//! The cases of every adapter, with another processor beside the one that is asked: that other one is nowhere.

use std::time::Duration;

use async_trait::async_trait;
use dropin_boot::ProcessorKind;
use dropin_payments::{NamedProcessor, ProcessorClient, ProcessorRouter};
use dropin_ports::Processor;
use dropin_processor_contract::{Choice, Exceptions, FaultProxy, ProcessorHarness, ProcessorStep, all_cases};
use dropin_processor_transport::ProcessorConfig;

use crate::stand_in::{KEY, StandIn};

const EXCEPTIONS: Exceptions<0> = [];

all_cases!(open, except EXCEPTIONS);

struct Routed {
    router: ProcessorRouter,
    proxy: FaultProxy,
}

/// A client of a processor of this kind.
pub(crate) fn named(id: &str, kind: ProcessorKind, url: &str, key: &str) -> NamedProcessor {
    let config = ProcessorConfig::new(url, key.to_owned(), Duration::from_secs(2)).unwrap();
    NamedProcessor { id: id.parse().unwrap(), client: ProcessorClient::start(kind, config).unwrap() }
}

async fn open() -> Box<dyn ProcessorHarness> {
    let proxy = FaultProxy::start(StandIn::start().await).await;
    let main = named("stripe", ProcessorKind::Stripe, &proxy.base(), KEY);
    let other = named("nowhere", ProcessorKind::Sandbox, "http://127.0.0.1:1", "a key");
    Box::new(Routed { router: ProcessorRouter::new(main, vec![other]), proxy })
}

#[async_trait(?Send)]
impl ProcessorHarness for Routed {
    fn processor(&self) -> &dyn Processor {
        &self.router
    }

    fn proxy(&self) -> &FaultProxy {
        &self.proxy
    }

    fn lines(&self, step: ProcessorStep) -> fn(&str) -> bool {
        match step {
            ProcessorStep::Authorize => |line| line.contains("/confirm "),
            ProcessorStep::Capture => |line| line.contains("/capture "),
            ProcessorStep::Void => |line| line.contains("/cancel "),
            ProcessorStep::Refund => |line| line.starts_with("POST /v1/refunds "),
            ProcessorStep::Status => |line| line.starts_with("GET /v1/payment_intents/"),
        }
    }

    fn page_method(&self) -> &'static str {
        "IDEAL"
    }

    async fn press(&self, page: &str, choice: Choice) {
        let choice = match choice {
            Choice::Pay => "pay",
            Choice::Fail => "fail",
            Choice::Cancel => "cancel",
        };
        let client = awc::Client::builder().disable_redirects().finish();
        client.post(format!("{page}/{choice}")).send().await.unwrap();
    }
}
