//! The outcome of an authorization that was screened: held for a person where screening wants that, and counted (docs/SPECIFICATION.md#screening).

use dropin_order::{DeclineReason, OpKind, OpState, Order, OrderState};
use dropin_ports::{CountableOutcome, Payment, PaymentTryOutcome, ProcessorReply, StoreError};
use dropin_risk::{Decision, IssuerChecks};

use super::{Conclusion, Payments};
use crate::screening::ScreenedPayment;

/// What the processor says of an authorization, as it is written down.
pub(super) struct ScreenedReply {
    pub(super) reply: ProcessorReply,
    /// What is counted once it is.
    pub(super) outcome: Option<CountableOutcome>,
}

impl Payments {
    /// What was kept of a payment's screening, where this answer ends its authorization.
    pub(super) async fn find_screened(
        &self,
        payment: &Payment,
        answer: &ProcessorReply,
    ) -> Result<Option<ScreenedPayment>, StoreError> {
        let ends = match answer {
            ProcessorReply::Approved { .. }
            | ProcessorReply::Declined { .. }
            | ProcessorReply::Abandoned
            | ProcessorReply::NotSent => true,
            ProcessorReply::Pending(_) | ProcessorReply::Unknown { .. } => false,
        };
        let is_open = payment.operation.kind == OpKind::Authorize && payment.operation.state.is_open();
        if ends && is_open { self.screening.find_screened(&payment.order).await } else { Ok(None) }
    }

    /// What screening makes of the answer. An approval is looked at once more, by what the issuer said, and is held where either decision asks for a person:
    /// a block that comes after the money was reserved is for a person, too.
    pub(super) async fn after_screening(
        &self,
        order: &Order,
        screened: Option<ScreenedPayment>,
        answer: ProcessorReply,
    ) -> ScreenedReply {
        let Some(screened) = screened else { return ScreenedReply { reply: answer, outcome: None } };
        let screened = match &answer {
            ProcessorReply::Approved { .. } => {
                let checks = issuer_checks(&answer);
                let asks = screened.decision().asks_authentication() && self.rules(order).is_card();
                if asks && checks.authenticated != Some(true) {
                    self.screening.unchallenged();
                }
                self.screening.screen_again(order, screened, checks).await
            }
            _ => self.screening.kept(order, screened).await,
        };
        let reply = match screened.decision() {
            Decision::Allow | Decision::Challenge => answer,
            Decision::Review => held(order, answer),
            Decision::Block => blocked(held(order, answer)),
        };
        ScreenedReply { outcome: screened.countable(order, &reply), reply }
    }

    /// Counts what became of a payment that was screened, where the answer is what was written.
    pub(super) async fn count_outcome(&self, conclusion: &Conclusion, outcome: Option<CountableOutcome>) {
        let Some(counted) = outcome else { return };
        let is_written = match counted.outcome {
            PaymentTryOutcome::Authorized | PaymentTryOutcome::Paid => conclusion.state == OpState::Approved,
            PaymentTryOutcome::Declined | PaymentTryOutcome::Blocked => conclusion.state == OpState::Declined,
            PaymentTryOutcome::Challenged => conclusion.state.is_open(),
        };
        if is_written {
            self.screening.count_outcome(conclusion.order.id, counted).await;
        }
    }
}

/// What the issuer said beside its yes.
fn issuer_checks(answer: &ProcessorReply) -> IssuerChecks {
    match answer {
        ProcessorReply::Approved { checks, .. } => *checks,
        _ => IssuerChecks::default(),
    }
}

/// An approval that waits for a person, where that is possible.
fn held(order: &Order, answer: ProcessorReply) -> ProcessorReply {
    let ProcessorReply::Approved { amount, captured, under_review: _, credential, checks } = answer else {
        return answer;
    };
    let is_taken = captured && !order.total.is_zero();
    if is_taken || order.state == OrderState::CommitAccepted {
        let order = order.id.to_string();
        log::warn!(
            order = order.as_str();
            "screening wants a person to look at a payment whose method cannot wait: it was taken with the authorization, or its provider has reviewed it"
        );
    }
    ProcessorReply::Approved { amount, captured, under_review: true, credential, checks }
}

/// A block whose process died before it was written down: the processor was never asked, and never will be.
fn blocked(answer: ProcessorReply) -> ProcessorReply {
    match answer {
        ProcessorReply::Abandoned | ProcessorReply::NotSent => {
            ProcessorReply::Declined { reason: DeclineReason::Blocked, retryable: false, credential: None }
        }
        answer => answer,
    }
}
