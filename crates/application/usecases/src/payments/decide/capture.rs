//! What follows from the answer to a capture.

use std::time::Duration;

use dropin_order::{OpState, OrderState};
use dropin_ports::{ProcessorAnswer, StoreError};

use super::super::{Asker, corrupt};
use super::draft::Draft;
use super::{Approved, Terms};

pub(super) fn decide(draft: &mut Draft<'_>, answer: &ProcessorAnswer, terms: Terms) -> Result<(), StoreError> {
    let asked = &draft.payment.operation.amount;
    match answer {
        ProcessorAnswer::Approved { amount, .. } => match Approved::of(asked, amount.as_ref(), terms) {
            Approved::Usable(taken) => {
                draft.settlement.state = OpState::Approved;
                let step = draft.order().captured(asked, &taken, draft.ledger_ids(), draft.settlement.now);
                draft.order_step(step.ok_or_else(|| corrupt("a capture that the Order knows nothing of"))?);
            }
            Approved::Differs => draft.differs()?,
        },
        ProcessorAnswer::Declined { retryable, .. } => {
            draft.settlement.state = OpState::Declined;
            refused(draft, *retryable, terms)?;
        }
        // Nobody here abandons a capture; a processor that says so has surely taken nothing under this key.
        ProcessorAnswer::Abandoned => {
            draft.settlement.state = OpState::Abandoned;
            refused(draft, true, terms)?;
        }
        ProcessorAnswer::Pending(_) => draft.look_again(OpState::Pending),
        ProcessorAnswer::NotSent => draft.look_again(OpState::Unknown),
        ProcessorAnswer::Unknown { why } => draft.unclear(why),
    }
    Ok(())
}

fn refused(draft: &mut Draft<'_>, retryable: bool, terms: Terms) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let order = draft.order();
    // Nobody hears of this refusal, or somebody was promised that it would be captured: so it must not be the end.
    let owed =
        terms.asker == Asker::Nobody || order.capture_due().is_some() || order.state == OrderState::CommitAccepted;
    if retryable && owed && !order.has_lapsed(now) {
        draft.again_later(Duration::ZERO);
        return Ok(());
    }
    let final_here = order.state == OrderState::CommitAccepted;
    let step = order.capture_refused(&draft.payment.operation.amount, retryable && !final_here, draft.ledger_id(), now);
    draft.order_step(step.ok_or_else(|| corrupt("a capture that the Order knows nothing of"))?);
    Ok(())
}
