//! What whoever asked for an operation is told, rendered where the outcome is written: when nobody waits for it any more, the settler gives it to
//! the request's key.

use dropin_order::{Channel, OpKind, OpState, Operation, Order, OrderState, Refund};
use dropin_ports::StoredAnswer;
use dropin_wire::{ErrorCode, checkout, order as wire};

use super::Conclusion;
use super::capture::CaptureReason;

/// What the sender of the request that asked for `operation` is told when things stand like this; `None` when no request with a key can have asked.
pub(super) fn of(operation: &Operation, now: &Conclusion) -> Option<StoredAnswer> {
    let (channel, order) = (operation.channel, &now.order);
    match operation.kind {
        _ if channel == Channel::Nobody => None,
        // What follows the authorization of a checkout belongs to its answer.
        OpKind::Authorize => {
            let captured_next = now.follow_up.as_ref().is_some_and(|next| next.kind == OpKind::Capture);
            (!captured_next).then(|| paid(order, now.state))
        }
        OpKind::Capture if channel == Channel::CheckoutPayment => Some(paid(order, OpState::Approved)),
        OpKind::Capture => Some(captured(channel, order)),
        OpKind::Void => Some(cancelled(channel, order)),
        OpKind::Refund => now.refund.as_ref().map(refunded),
    }
}

/// A server-to-server checkout, and what became of its authorization.
pub(super) fn paid(order: &Order, authorization: OpState) -> StoredAnswer {
    match order.state {
        OrderState::ProcessingFailed => {
            let reached = authorization != OpState::Abandoned;
            answer(ErrorCode::PaymentDeclined.status(), checkout::declined(order, reached))
        }
        _ => answer(200, checkout::answered(order)),
    }
}

/// A capture whose outcome is written, or not known yet.
pub(super) fn captured(channel: Channel, order: &Order) -> StoredAnswer {
    match order.state {
        OrderState::Processed => accepted(channel, order, CaptureReason::Captured),
        // Still reserved: not known yet, or refused for now while it is owed, so that it is tried again.
        _ if !order.amounts.capture_pending().is_zero() => accepted(channel, order, CaptureReason::PendingNotification),
        OrderState::PaymentAuthorized => refused(true),
        _ => refused(false),
    }
}

/// A capture that was taken or will be.
pub(super) fn accepted(channel: Channel, order: &Order, reason: CaptureReason) -> StoredAnswer {
    match channel {
        Channel::Order | Channel::Nobody => answer(200, wire::captured(order, reason.as_str())),
        Channel::Checkout | Channel::CheckoutPayment => answer(200, checkout::acted(order)),
    }
}

fn refused(retryable: bool) -> StoredAnswer {
    answer(ErrorCode::CaptureFailed.status(), wire::capture_refused(retryable))
}

/// A cancel whose outcome is written, or not known yet.
pub(super) fn cancelled(channel: Channel, order: &Order) -> StoredAnswer {
    match (order.state, channel) {
        (OrderState::Cancelled, _) => done(channel, order, false),
        // Still being voided.
        _ if order.voiding.is_some() => done(channel, order, true),
        _ => answer(ErrorCode::InvalidOrderState.status(), wire::cancel_refused(order)),
    }
}

fn done(channel: Channel, order: &Order, pending: bool) -> StoredAnswer {
    match channel {
        Channel::Order | Channel::Nobody => answer(200, wire::cancelled(order, pending)),
        Channel::Checkout | Channel::CheckoutPayment => answer(200, checkout::acted(order)),
    }
}

/// A refund that was begun just now.
pub(super) fn refunded(refund: &Refund) -> StoredAnswer {
    answer(201, wire::refund(refund))
}

/// A refund that was begun before.
pub(super) fn known_refund(refund: &Refund) -> StoredAnswer {
    answer(200, wire::refund(refund))
}

fn answer(status: u16, body: Vec<u8>) -> StoredAnswer {
    StoredAnswer { status, etag: None, body }
}
