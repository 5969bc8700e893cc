//! The cases of every adapter, with another processor beside the one that is asked: that other one is nowhere.

use std::time::Duration;

use dropin_boot::ProcessorKind;
use dropin_payments::{NamedProcessor, ProcessorClient, ProcessorRouter};
use dropin_processor_contract::{Exceptions, FaultProxy, ProcessorHarness, all_cases};
use dropin_processor_transport::ProcessorConfig;

use crate::at_stand_in::AtStandIn;
use crate::stand_in::{KEY, StandIn};

const EXCEPTIONS: Exceptions<0> = [];

all_cases!(open, except EXCEPTIONS);

/// A client of a processor of this kind.
pub(crate) fn named(id: &str, kind: ProcessorKind, url: &str, key: &str) -> NamedProcessor {
    let config = ProcessorConfig::new(url, key.to_owned(), Duration::from_secs(2)).unwrap();
    NamedProcessor { id: id.parse().unwrap(), client: ProcessorClient::start(kind, config).unwrap() }
}

async fn open() -> Box<dyn ProcessorHarness> {
    let proxy = FaultProxy::start(StandIn::start().await).await;
    let main = named("stripe", ProcessorKind::Stripe, &proxy.base(), KEY);
    let other = named("nowhere", ProcessorKind::Sandbox, "http://127.0.0.1:1", "a key");
    Box::new(AtStandIn { processor: ProcessorRouter::new(main, vec![other]), proxy })
}
