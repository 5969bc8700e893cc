//! What follows from the answer to a capture.

use std::time::Duration;

use dropin_order::{DeclineReason, OpState, OrderState};
use dropin_ports::{ProcessorReply, StoreError};

use super::super::{Asker, corrupt};
use super::draft::Draft;
use super::{Approved, DecisionPolicy, OVERDUE_PAUSE};

pub(super) fn decide(draft: &mut Draft<'_>, answer: &ProcessorReply, policy: DecisionPolicy) -> Result<(), StoreError> {
    let asked = &draft.payment.operation.amount;
    match answer {
        ProcessorReply::Approved { amount, .. } => match Approved::of(asked, amount.as_ref(), policy) {
            Approved::Usable(taken) => {
                draft.settlement.state = OpState::Approved;
                let step =
                    draft.order().captured(asked, &taken, draft.ledger_id(), draft.ledger_id(), draft.settlement.now);
                draft.order_step(step.map_err(|_refused| corrupt("a capture that the Order knows nothing of"))?);
            }
            Approved::Differs => draft.differs()?,
        },
        // By a program whose books are lost: what it took is taken up under its key, and this one gives way to it.
        ProcessorReply::Declined { reason: DeclineReason::AlreadyCaptured, .. } => {
            let (operation, order) = (draft.payment.operation.id.to_string(), draft.payment.order.id.to_string());
            log::error!(
                operation = operation.as_str(), order = order.as_str();
                "the payment was captured under a key that is not here: take that capture up with `dropin ledger import`"
            );
            draft.settlement.state = OpState::Unknown;
            draft.settlement.due_at = draft.settlement.now.plus(OVERDUE_PAUSE);
        }
        ProcessorReply::Declined { retryable, .. } => {
            draft.settlement.state = OpState::Declined;
            refused(draft, *retryable, policy)?;
        }
        // Nobody here abandons a capture; a processor that says so has surely taken nothing under this key.
        ProcessorReply::Abandoned => {
            draft.settlement.state = OpState::Abandoned;
            refused(draft, true, policy)?;
        }
        ProcessorReply::Pending(_) => draft.poll_later(OpState::Pending),
        ProcessorReply::NotSent => draft.poll_later(OpState::Unknown),
        ProcessorReply::Unknown { why } => draft.unclear(why),
    }
    Ok(())
}

fn refused(draft: &mut Draft<'_>, retryable: bool, policy: DecisionPolicy) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let order = draft.order();
    // Nobody hears of this refusal, or somebody was promised that it would be captured: so it must not be the end.
    let owed =
        policy.asker == Asker::Nobody || order.capture_due().is_some() || order.state == OrderState::CommitAccepted;
    if retryable && owed && (policy.capture_key.is_some() || !order.has_lapsed(now)) {
        draft.again_later(Duration::ZERO);
        return Ok(());
    }
    let final_here = order.state == OrderState::CommitAccepted;
    let step = order.capture_refused(&draft.payment.operation.amount, retryable && !final_here, draft.ledger_id(), now);
    draft.order_step(step.map_err(|_refused| corrupt("a capture that the Order knows nothing of"))?);
    Ok(())
}
