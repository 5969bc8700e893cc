//! The stand-in behind a proxy with faults, as the cases of every adapter want it.

use async_trait::async_trait;
use dropin_ports::Processor;
use dropin_processor_contract::{Choice, FaultProxy, ProcessorHarness, ProcessorStep};

/// What asks the stand-in, and the proxy between the two.
pub(crate) struct AtStandIn<P> {
    pub(crate) processor: P,
    pub(crate) proxy: FaultProxy,
}

#[async_trait(?Send)]
impl<P: Processor> ProcessorHarness for AtStandIn<P> {
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
