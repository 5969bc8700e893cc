//! The cases of every adapter, against the stand-in behind a proxy with faults.

use std::time::Duration;

use async_trait::async_trait;
use dropin_ports::Processor;
use dropin_processor_contract::{Choice, Exceptions, FaultProxy, ProcessorHarness, ProcessorStep, all_cases};
use dropin_processor_stripe::StripeProcessor;
use dropin_processor_transport::ProcessorConfig;

use crate::stand_in::{KEY, StandIn};

const EXCEPTIONS: Exceptions<0> = [];

all_cases!(open, except EXCEPTIONS);

pub(crate) struct Stripe {
    pub(crate) processor: StripeProcessor,
    pub(crate) proxy: FaultProxy,
}

pub(crate) async fn start(key: &str) -> Stripe {
    let proxy = FaultProxy::start(StandIn::start().await).await;
    let config = ProcessorConfig::new(&proxy.base(), key.to_owned(), Duration::from_secs(2)).unwrap();
    Stripe { processor: StripeProcessor::start(config).unwrap(), proxy }
}

async fn open() -> Box<dyn ProcessorHarness> {
    Box::new(start(KEY).await)
}

#[async_trait(?Send)]
impl ProcessorHarness for Stripe {
    fn processor(&self) -> &dyn Processor {
        &self.processor
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
