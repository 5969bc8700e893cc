//! What a processor's answer means for a payment that was screened.

use dropin_order::DeclineReason;
use dropin_ports::{PaymentTryOutcome, ProcessorReply, Waiting};
use dropin_risk::Screening;

/// What has to be counted of a payment after this answer; `None` when nothing has: a payment of a known shopper that was allowed costs no statement.
pub(crate) fn outcome_of(screening: &Screening, answer: &ProcessorReply) -> Option<PaymentTryOutcome> {
    let asks = screening.decision().asks_authentication();
    match answer {
        ProcessorReply::Approved { .. } => {
            let is_known = screening.facts().known_days.is_some();
            (asks || !is_known).then_some(PaymentTryOutcome::Paid)
        }
        ProcessorReply::Declined { reason, .. } => match reason {
            DeclineReason::Blocked => Some(PaymentTryOutcome::Blocked),
            DeclineReason::Generic
            | DeclineReason::InsufficientFunds
            | DeclineReason::InvalidCard
            | DeclineReason::DoNotTryAgain
            | DeclineReason::AuthenticationFailed => Some(PaymentTryOutcome::Declined),
            // Nobody refused it; a challenge that nobody passed counts as if somebody had.
            DeclineReason::CancelledByShopper | DeclineReason::PageClosed | DeclineReason::Expired => {
                asks.then_some(PaymentTryOutcome::Declined)
            }
            DeclineReason::Voided | DeclineReason::NeverSent => None,
        },
        ProcessorReply::Pending(Waiting::Shopper { .. }) => asks.then_some(PaymentTryOutcome::Challenged),
        ProcessorReply::Pending(_)
        | ProcessorReply::Abandoned
        | ProcessorReply::Unknown { .. }
        | ProcessorReply::NotSent => None,
    }
}
