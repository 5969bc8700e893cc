//! What follows from the answer to a void.

use std::time::Duration;

use dropin_order::{DeclineReason, OpState, Operation, OrderState, VoidCause};
use dropin_ports::{ProcessorAnswer, StoreError};
use dropin_session::FailureReason;

use super::super::{Asker, corrupt};
use super::draft::Draft;
use super::{LONGEST_RETRY, OVERDUE_PAUSE, Terms, authorization};

pub(super) fn decide(draft: &mut Draft<'_>, answer: &ProcessorAnswer, terms: Terms) -> Result<(), StoreError> {
    match answer {
        ProcessorAnswer::Approved { .. } => {
            draft.settlement.state = OpState::Approved;
            voided(draft);
        }
        ProcessorAnswer::Declined { reason: DeclineReason::Voided | DeclineReason::Expired, .. } => {
            draft.settlement.state = OpState::Declined;
            voided(draft);
        }
        ProcessorAnswer::Declined { retryable, .. } => {
            draft.settlement.state = OpState::Declined;
            refused(draft, *retryable, terms)?;
        }
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

/// Nothing is held at the processor any more. An Order whose life was over before stays as it is.
fn voided(draft: &mut Draft<'_>) {
    let Ok(step) = draft.order().voided(draft.ledger_id(), draft.settlement.now) else {
        if draft.order().state == OrderState::Processed {
            let (operation, order) = (draft.payment.operation.id.to_string(), draft.order().id.to_string());
            log::error!(
                operation = operation.as_str(), order = order.as_str();
                "the processor voided what our books call captured: run `dropin ledger verify`"
            );
        }
        return;
    };
    let after = step.change.next.clone();
    authorization::attempt_failed(draft, FailureReason::Expired, &after);
    draft.order_step(step);
}

/// The processor does not void: it has decided otherwise meanwhile, or only for now.
fn refused(draft: &mut Draft<'_>, retryable: bool, terms: Terms) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let order = draft.order();
    let merchant_waits = terms.asker == Asker::Waiting && order.voiding == Some(VoidCause::Merchant);
    if retryable && !merchant_waits {
        draft.again_later(Duration::ZERO);
        return Ok(());
    }
    let reserved = order.state.is_final() || order.state == OrderState::PaymentAuthorized;
    if !retryable && reserved && order.state != OrderState::Processed && !merchant_waits {
        // Our books say that the money is still reserved, the processor says it is not ours to release: somebody has to look, and nothing else may begin.
        let (operation, order) = (draft.payment.operation.id.to_string(), order.id.to_string());
        log::error!(
            operation = operation.as_str(), order = order.as_str();
            "the processor refuses to void: compare the Order with the processor's books"
        );
        draft.again_later(LONGEST_RETRY);
        return Ok(());
    }
    let Ok(mut step) = order.void_refused(now) else { return Ok(()) };
    if order.voiding == Some(VoidCause::Expired) && order.state == OrderState::Processing {
        // Its authorization has been decided meanwhile, and is asked about before this is tried once more.
        step.change.next.expires_at = Some(now.plus(OVERDUE_PAUSE));
    }
    if step.change.next.state.is_final() && step.change.next.state != OrderState::Processed {
        return Err(corrupt("a void of an Order whose life is over"));
    }
    draft.order_step(step);
    go_on(draft)
}

/// A capture that was to follow the authorization was held back by the void; nobody else would ask for it.
fn go_on(draft: &mut Draft<'_>) -> Result<(), StoreError> {
    let (now, order, void) = (draft.settlement.now, draft.order(), &draft.payment.operation);
    let capturable = order.amounts.capturable();
    let due = match order.state {
        // The provider's approval is always captured.
        OrderState::CommitAccepted => {
            let promised = order.capture_promised.clone().filter(|promised| *promised < capturable);
            Some(promised.unwrap_or(capturable))
        }
        OrderState::PaymentAuthorized if !order.under_review => order.capture_due(),
        _ => None,
    };
    let idle = order.amounts.capture_pending().is_zero() && !order.has_lapsed(now);
    let Some(due) = due.filter(|due| idle && !due.is_zero()) else { return Ok(()) };
    let step = order.request_capture(&due, now).map_err(|_rule| corrupt("more is due than was authorized"))?;
    let capture = void.capture(draft.with.op_id(), due, now, now);
    let capture = Operation { authorization: void.authorization, ..capture };
    draft.order_step(step);
    draft.settlement.follow_up = Some(capture);
    Ok(())
}
