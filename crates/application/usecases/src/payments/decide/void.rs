//! What follows from the answer to a void.

use std::time::Duration;

use dropin_order::{DeclineReason, FailureReason, OpState, Operation, OrderState, VoidCause};
use dropin_ports::{ProcessorReply, StoreError};

use super::super::{Asker, corrupt};
use super::draft::Draft;
use super::{DecisionPolicy, LONGEST_RETRY, OVERDUE_PAUSE, authorization};

pub(super) fn decide(draft: &mut Draft<'_>, answer: &ProcessorReply, policy: DecisionPolicy) -> Result<(), StoreError> {
    match answer {
        ProcessorReply::Approved { .. } => {
            draft.settlement.state = OpState::Approved;
            voided(draft);
        }
        ProcessorReply::Declined { reason: DeclineReason::Voided | DeclineReason::Expired, .. } => {
            draft.settlement.state = OpState::Declined;
            voided(draft);
        }
        ProcessorReply::Declined { retryable, .. } => {
            draft.settlement.state = OpState::Declined;
            refused(draft, *retryable, policy)?;
        }
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

/// Nothing is held at the processor any more. An Order whose life was over before stays as it is, but for what was authorized late.
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
fn refused(draft: &mut Draft<'_>, retryable: bool, policy: DecisionPolicy) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let order = draft.order();
    let merchant_waits = policy.asker == Asker::Waiting && order.voiding == Some(VoidCause::Merchant);
    if retryable && !merchant_waits && order.state != OrderState::Processed {
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
    // Its authorization has been decided meanwhile, and is asked about before this is tried once more.
    let undecided = order.voiding == Some(VoidCause::Expired) && order.state == OrderState::Processing;
    let ends_at = undecided.then(|| now.plus(OVERDUE_PAUSE));
    let Ok(step) = order.void_refused(ends_at, now) else { return Ok(()) };
    if step.change.next.state.is_final() && step.change.next.state != OrderState::Processed {
        return Err(corrupt("a void of an Order whose life is over"));
    }
    draft.order_step(step);
    go_on(draft)
}

/// A capture that was to follow the authorization was held back by the void; nobody else would ask for it.
fn go_on(draft: &mut Draft<'_>) -> Result<(), StoreError> {
    let (now, order, void) = (draft.settlement.now, draft.order(), &draft.payment.operation);
    let due = match order.state {
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
