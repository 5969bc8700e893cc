//! The response to the request that asked for an operation, rendered where the outcome is written: when no client waits any more, the settler stores it
//! under the request's idempotency key.

use dropin_catalogue::Catalogue;
use dropin_contract::Contract;
use dropin_order::{Channel, FailureReason, OpKind, OpState, Operation, Order, OrderState, Refund};
use dropin_ports::StoredResponse;
use dropin_wire::contract::{opened_contract, opening_declined};
use dropin_wire::{ErrorCode, checkout, order as wire};

use super::Conclusion;
use super::capture::CaptureReason;

/// The response to the request that asked for `operation`, in this state; `None` when no request with a key can have asked.
pub(super) fn of(operation: &Operation, now: &Conclusion, catalogue: &Catalogue) -> Option<StoredResponse> {
    let (channel, order) = (operation.channel, &now.order);
    match operation.kind {
        _ if channel == Channel::Nobody => None,
        // What follows the authorization of a checkout belongs to its answer.
        OpKind::Authorize => {
            let captured_next = now.follow_up.as_ref().is_some_and(|next| next.kind == OpKind::Capture);
            (!captured_next).then(|| authorized(now, catalogue))
        }
        OpKind::Capture if channel == Channel::CheckoutPayment => Some(paid(order, OpState::Approved, catalogue)),
        OpKind::Capture => Some(captured(channel, order)),
        OpKind::Void => Some(cancelled(channel, order)),
        OpKind::Refund => now.refund.as_ref().map(refunded),
    }
}

/// What became of the authorization of a server-to-server checkout, or of a contract that the merchant's server opens.
pub(super) fn authorized(now: &Conclusion, catalogue: &Catalogue) -> StoredResponse {
    match &now.contract {
        Some(contract) if now.order.is_verification() => opened(contract, &now.order, now.state),
        _ => paid(&now.order, now.state, catalogue),
    }
}

fn opened(contract: &Contract, order: &Order, authorization: OpState) -> StoredResponse {
    if order.state == OrderState::ProcessingFailed {
        let reached = authorization != OpState::Abandoned;
        return response(ErrorCode::PaymentDeclined.status(), opening_declined(contract, reached));
    }
    response(200, opened_contract(contract, order.page.as_deref()))
}

/// A server-to-server checkout, and what became of its authorization.
pub(super) fn paid(order: &Order, authorization: OpState, catalogue: &Catalogue) -> StoredResponse {
    match order.state {
        OrderState::ProcessingFailed
            if is_without_shopper(order) && order.failure == Some(FailureReason::AuthenticationFailed) =>
        {
            response(ErrorCode::ShopperAuthenticationRequired.status(), checkout::authentication_required(order))
        }
        OrderState::ProcessingFailed => {
            let reached = authorization != OpState::Abandoned;
            response(ErrorCode::PaymentDeclined.status(), checkout::declined(order, reached))
        }
        _ => response(200, checkout::checkout_result(order, catalogue.payment_rules(&order.payment_method))),
    }
}

/// Whether no shopper could authenticate: the card of a contract is charged, or there is no way back from the bank's page.
fn is_without_shopper(order: &Order) -> bool {
    order.contract_id.is_some() || order.return_url.is_none()
}

/// A capture whose outcome is written, or not known yet.
pub(super) fn captured(channel: Channel, order: &Order) -> StoredResponse {
    match order.state {
        OrderState::Processed => accepted(channel, order, CaptureReason::Captured),
        // Still reserved: not known yet, or refused for now while it is owed, so that it is tried again.
        _ if !order.amounts.capture_pending().is_zero() => accepted(channel, order, CaptureReason::PendingNotification),
        OrderState::PaymentAuthorized => refused(true),
        _ => refused(false),
    }
}

/// A capture that was taken or will be.
pub(super) fn accepted(channel: Channel, order: &Order, reason: CaptureReason) -> StoredResponse {
    match channel {
        Channel::Order | Channel::Nobody => response(200, wire::captured(order, reason.as_str())),
        Channel::Checkout | Channel::CheckoutPayment => response(200, checkout::checkout_action(order)),
    }
}

fn refused(retryable: bool) -> StoredResponse {
    response(ErrorCode::CaptureFailed.status(), wire::capture_refused(retryable))
}

/// A cancel whose outcome is written, or not known yet.
pub(super) fn cancelled(channel: Channel, order: &Order) -> StoredResponse {
    match (order.state, channel) {
        (OrderState::Cancelled, _) => done(channel, order, false),
        // Still being voided.
        _ if order.voiding.is_some() => done(channel, order, true),
        _ => response(ErrorCode::InvalidOrderState.status(), wire::cancel_refused(order)),
    }
}

fn done(channel: Channel, order: &Order, pending: bool) -> StoredResponse {
    match channel {
        Channel::Order | Channel::Nobody => response(200, wire::cancelled(order, pending)),
        Channel::Checkout | Channel::CheckoutPayment => response(200, checkout::checkout_action(order)),
    }
}

/// A refund that was begun just now.
pub(super) fn refunded(refund: &Refund) -> StoredResponse {
    response(201, wire::refund(refund))
}

/// A refund that was begun before.
pub(super) fn known_refund(refund: &Refund) -> StoredResponse {
    response(200, wire::refund(refund))
}

fn response(status: u16, body: Vec<u8>) -> StoredResponse {
    StoredResponse { status, etag: None, body }
}
