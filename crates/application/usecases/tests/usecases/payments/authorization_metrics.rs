//! How authorizations end, in numbers: each once, whoever writes it down.

use std::collections::BTreeSet;
use std::time::Duration;

use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{MetricSource, ProcessorReply};

use super::script;
use super::world::{World, usd};

impl World {
    /// The metric's lines, as `method outcome count`, but for zeros: of a method that was paid by, each other outcome has one.
    async fn ended(&self) -> Vec<String> {
        let metrics = self.payments.authorizations.collect_metrics().await.unwrap();
        let [metric] = &metrics[..] else { panic!("{metrics:?}") };
        assert_eq!(metric.name, "dropin_authorizations_total");
        let shown = |sample: &dropin_ports::MetricSample| {
            let labels: Vec<_> = sample.labels.iter().map(|(name, _)| *name).collect();
            assert_eq!(labels, ["processor", "method", "outcome"]);
            format!("{} {} {}", sample.labels[1].1, sample.labels[2].1, sample.value)
        };
        let methods: BTreeSet<_> = metric.samples().iter().map(|sample| &sample.labels[1].1).collect();
        assert_eq!(metric.samples().len(), methods.len() * (1 + DeclineReason::ALL.len()));
        metric.samples().iter().filter(|sample| 0 < sample.value).map(shown).collect()
    }
}

#[tokio::test]
async fn authorizations_are_counted_once_by_method_and_reason() {
    let world = World::new().await;
    assert_eq!(world.ended().await, [""; 0]);
    // Captures, voids and refunds are none.
    let paid = world.captured().await;
    world.refund(paid, "all", None).await.unwrap();
    let no_funds =
        ProcessorReply::Declined { reason: DeclineReason::InsufficientFunds, retryable: false, credential: None };
    world.script.say(OpKind::Authorize, no_funds);
    world.checkout("PAYPAL", true).await;
    // Nobody knows how it ends until the processor is asked, again and again.
    world.script.say(OpKind::Authorize, script::unclear());
    let (open, _) = world.checkout("PAYPAL", false).await;
    world.script.know(script::unclear());
    world.settle_after(Duration::from_secs(30)).await;
    assert_eq!(world.ended().await, ["PAYPAL APPROVED 1", "PAYPAL INSUFFICIENT_FUNDS 1"]);
    world.script.know(script::approved(&usd(1_000)));
    while world.state(open).await == "PROCESSING" {
        world.settle_after(Duration::from_secs(60)).await;
    }
    world.script.say(OpKind::Authorize, script::unclear());
    let (never_sent, _) = world.checkout("PAYPAL", false).await;
    while world.state(never_sent).await == "PROCESSING" {
        world.settle_after(Duration::from_secs(60)).await;
    }
    assert_eq!(world.ended().await, ["PAYPAL APPROVED 2", "PAYPAL INSUFFICIENT_FUNDS 1", "PAYPAL NEVER_SENT 1"]);
}
