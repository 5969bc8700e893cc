//! Disputes that wait, in a list for whoever answers and in numbers for whoever watches.

use std::borrow::Cow;

use async_trait::async_trait;
use dropin_kernel::MerchantId;
use dropin_order::DisputeState;
use dropin_ports::{AnsweredDispute, Metric, MetricSample, MetricSource, OpenDisputes, StoreError};

use super::{DisputeProcessor, Disputes};

impl Disputes {
    /// Undecided disputes of these merchants, or of all merchants: those that wait for an answer first, soonest due first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list_open(
        &self,
        merchants: Option<Vec<MerchantId>>,
        limit: u32,
    ) -> Result<Vec<AnsweredDispute>, StoreError> {
        self.store.list_open_disputes(merchants, limit).await
    }

    /// A metric for each processor of the deployment whose disputes are followed, and for any that had some before.
    fn measure(followed: &[DisputeProcessor], open: &[OpenDisputes]) -> Metric {
        let mut processors: Vec<_> = followed.iter().map(|processor| &processor.name).collect();
        for group in open {
            if !processors.contains(&&group.processor) {
                processors.push(&group.processor);
            }
        }
        let states = || DisputeState::ALL.into_iter().filter(|state| !state.is_final());
        let samples = processors.into_iter().flat_map(|processor| states().map(move |state| (processor, state)));
        let samples = samples.map(|(processor, state)| MetricSample {
            labels: vec![("processor", Cow::Owned(processor.to_string())), ("state", state.as_str().into())],
            value: open
                .iter()
                .find(|group| group.processor == *processor && group.state == state)
                .map_or(0, |group| group.count),
        });
        Metric::gauges(
            "dropin_disputes_open",
            "Disputes that wait for the merchant's answer or the bank's decision.",
            samples.collect(),
        )
    }
}

#[async_trait]
impl MetricSource for Disputes {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let open = self.store.count_open_disputes().await.map_err(|error| error.to_string())?;
        let followed = self.processors.list().await.map_err(|error| error.to_string())?;
        Ok(vec![Self::measure(&followed, &open)])
    }
}
