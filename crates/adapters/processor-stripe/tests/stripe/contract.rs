//! The cases of every adapter, against the stand-in behind a proxy with faults.

use std::time::Duration;

use dropin_processor_contract::{Exceptions, FaultProxy, ProcessorHarness, all_cases};
use dropin_processor_stripe::StripeProcessor;
use dropin_processor_transport::ProcessorConfig;

use crate::at_stand_in::AtStandIn;
use crate::stand_in::{KEY, StandIn};

const EXCEPTIONS: Exceptions<0> = [];

all_cases!(open, except EXCEPTIONS);

pub(crate) type Stripe = AtStandIn<StripeProcessor>;

pub(crate) async fn start(key: &str) -> Stripe {
    let proxy = FaultProxy::start(StandIn::start().await).await;
    let config = ProcessorConfig::new(&proxy.base(), key.to_owned(), Duration::from_secs(2)).unwrap();
    AtStandIn { processor: StripeProcessor::start(config).unwrap(), proxy }
}

async fn open() -> Box<dyn ProcessorHarness> {
    Box::new(start(KEY).await)
}
