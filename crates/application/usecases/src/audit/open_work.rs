//! Work whose outcome is open, in numbers for whoever watches.

use std::sync::Arc;

use async_trait::async_trait;
use dropin_kernel::Timestamp;
use dropin_order::{OpKind, OpState, STUCK_AFTER};
use dropin_ports::{AuditStore, Clock, Metric, MetricSample, MetricSource, OpenOperations, PaymentStore};

/// Operations at the processor whose outcome is not known yet.
#[derive(Clone)]
pub struct OpenWork {
    /// Where operations are kept.
    pub payments: Arc<dyn PaymentStore>,
    /// The same, as an auditor reads it.
    pub audit: Arc<dyn AuditStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl MetricSource for OpenWork {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let now = self.clock.now();
        let open = self.payments.count_open_operations().await.map_err(|error| error.to_string())?;
        let stuck =
            self.audit.count_stuck_operations(now.minus(STUCK_AFTER)).await.map_err(|error| error.to_string())?;
        Ok(measures(&open, stuck, now))
    }
}

fn measures(open: &[OpenOperations], stuck: u64, now: Timestamp) -> Vec<Metric> {
    let age = |group: &OpenOperations| now.since(group.oldest).as_secs();
    vec![
        by_kind_and_state(
            "dropin_operations_open",
            "Operations at the processor whose outcome is not known yet.",
            |group| group.count,
            open,
        ),
        by_kind_and_state(
            "dropin_operations_oldest_seconds",
            "Age of the oldest operation whose outcome is not known yet.",
            age,
            open,
        ),
        Metric::gauge(
            "dropin_operations_stuck",
            "Operations that an operator has to look after: unknown for over ten minutes, not taken up, or refused or taken up in vain again and again.",
            stuck,
        ),
    ]
}

fn by_kind_and_state(
    name: &'static str,
    help: &'static str,
    number: impl Fn(&OpenOperations) -> u64,
    open: &[OpenOperations],
) -> Metric {
    let states = || OpState::ALL.into_iter().filter(|state| state.is_open());
    let groups = OpKind::ALL.into_iter().flat_map(|kind| states().map(move |state| (kind, state)));
    let readings = groups.map(|(kind, state)| {
        let group = open.iter().find(|group| group.kind == kind && group.state == state);
        MetricSample {
            labels: vec![("kind", kind.as_str().into()), ("state", state.as_str().into())],
            value: group.map_or(0, &number),
        }
    });
    Metric::gauges(name, help, readings.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_state_is_told_of_even_when_there_is_none() {
        let oldest = Timestamp::from_micros(5_000_000);
        let open = [OpenOperations { kind: OpKind::Capture, state: OpState::Unknown, count: 3, oldest }];
        let measured = measures(&open, 2, Timestamp::from_micros(605_900_000));
        let [count, age, stuck] = &measured[..] else { panic!("{measured:?}") };
        assert_eq!((count.samples().len(), age.samples().len()), (12, 12));
        for (measure, number) in [(count, 3), (age, 600)] {
            let some: Vec<_> = measure.samples().iter().filter(|reading| reading.value != 0).collect();
            assert_eq!(
                some,
                [&MetricSample {
                    labels: vec![("kind", "CAPTURE".into()), ("state", "UNKNOWN".into())],
                    value: number
                }]
            );
        }
        assert_eq!((stuck.name, stuck.samples()[0].value), ("dropin_operations_stuck", 2));
    }
}
