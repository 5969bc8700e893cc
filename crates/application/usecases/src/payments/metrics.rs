//! How authorizations end, counted by processor, method and reason: the approval rate is read from it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use dropin_kernel::ProcessorId;
use dropin_order::{DeclineReason, OpKind, OpState, Operation};
use dropin_ports::{Metric, MetricSample, MetricSource, ProcessorReply};

/// How the main processor is called where nobody says its name.
const MAIN: &str = "main";

/// Processor, method, and how it ended.
type Key = (String, String, &'static str);

/// What a process counts of the authorizations whose outcome it wrote down. Each is counted at most once in a deployment, by the process that wrote it. An account of
/// a merchant's own counts as the processor that it is at, so that there are no more numbers than processors, methods and reasons.
#[derive(Debug, Default)]
pub struct AuthorizationMetrics {
    main: Option<ProcessorId>,
    ended: Mutex<BTreeMap<Key, u64>>,
}

impl AuthorizationMetrics {
    /// Counts what names no processor as the main one's.
    pub const fn new(main: ProcessorId) -> Self {
        Self { main: Some(main), ended: Mutex::new(BTreeMap::new()) }
    }

    /// Counts an operation that ended so, when it is an authorization.
    pub(super) fn count(&self, operation: &Operation, method: &str, state: OpState, reply: &ProcessorReply) {
        if operation.kind != OpKind::Authorize {
            return;
        }
        let outcome = match (state, reply) {
            (OpState::Approved, _) => state.as_str(),
            (OpState::Declined, ProcessorReply::Declined { reason, .. }) => reason.as_str(),
            (OpState::Declined, _) => DeclineReason::Generic.as_str(),
            (OpState::Abandoned, _) => DeclineReason::NeverSent.as_str(),
            (OpState::Prepared | OpState::Unknown | OpState::Pending, _) => return,
        };
        let processor = operation.processor.as_ref().map(ProcessorId::processor).or_else(|| self.main.clone());
        let processor = processor.map_or_else(|| MAIN.to_owned(), |id| id.to_string());
        let key = (processor, method.to_owned(), outcome);
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
    }
}

#[async_trait]
impl MetricSource for AuthorizationMetrics {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let outcomes =
            || std::iter::once(OpState::Approved.as_str()).chain(DeclineReason::ALL.map(DeclineReason::as_str));
        let pairs: BTreeSet<_> = ended.keys().map(|(processor, method, _)| (processor, method)).collect();
        // Zeros, too: of a method that is declined alone the approvals are none, and not unknown.
        let samples = pairs
            .into_iter()
            .flat_map(|(processor, method)| outcomes().map(move |outcome| (processor, method, outcome)));
        let samples = samples.map(|(processor, method, outcome)| MetricSample {
            labels: vec![
                ("processor", Cow::Owned(processor.clone())),
                ("method", Cow::Owned(method.clone())),
                ("outcome", outcome.into()),
            ],
            value: ended.get(&(processor.clone(), method.clone(), outcome)).copied().unwrap_or(0),
        });
        Ok(vec![Metric::counters(
            "dropin_authorizations_total",
            "Authorizations by how they ended: APPROVED, or why they were declined.",
            samples.collect(),
        )])
    }
}
