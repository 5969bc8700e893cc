//! Notifications: the exact bytes that every attempt sends and signs (contract, Events; decisions.md section 9).

use dropin_order::{Order, OrderEvent, Refund};
use dropin_session::{Session, SessionEvent, SessionState};
use serde::Serialize;

use crate::order::{OrderBody, RefundBody};
use crate::session::SessionBody;

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct EventBody<'a> {
    event_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refund: Option<RefundBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<OrderBody<'a>>,
}

impl EventBody<'_> {
    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a notification has string keys and exact numbers only")
    }
}

/// SESSION_COMPLETED: the shopper finished in the drop-in and the Order exists.
pub fn session_completed(session: &Session, order: &Order) -> Vec<u8> {
    EventBody {
        event_type: SessionEvent::Completed.as_str(),
        reason: None,
        session: Some(SessionBody::without_billing(session, Some(order))),
        refund: None,
        order: Some(OrderBody::brief(order)),
    }
    .bytes()
}

/// SESSION_FAILED with the Reason. Its Order was never shown, so it is not named here either (decisions.md section 3).
pub fn session_failed(session: &Session) -> Vec<u8> {
    session_ended(session, SessionEvent::Failed)
}

/// SESSION_CANCELLED with the Reason, EXPIRED.
pub fn session_cancelled(session: &Session) -> Vec<u8> {
    session_ended(session, SessionEvent::Cancelled)
}

fn session_ended(session: &Session, event: SessionEvent) -> Vec<u8> {
    let reason = match &session.state {
        SessionState::Failed { reason, .. } => Some(reason.as_str()),
        SessionState::Cancelled { reason } => Some(reason.as_str()),
        SessionState::Created
        | SessionState::Processing { .. }
        | SessionState::Redirected { .. }
        | SessionState::Completed { .. } => None,
    };
    let session = Some(SessionBody::without_billing(session, None));
    EventBody { event_type: event.as_str(), reason, session, refund: None, order: None }.bytes()
}

/// ORDER_*: the Order after a change of state; the contract's members and UnderReview, never BankDetails (contract, Order.BankDetails).
pub fn order_changed(event: OrderEvent, order: &Order) -> Vec<u8> {
    order_event(event, None, order)
}

/// REFUND_*: the refund as it was decided, and its Order (decisions.md section 4).
pub fn refund_changed(event: OrderEvent, refund: &Refund, order: &Order) -> Vec<u8> {
    order_event(event, Some(refund.into()), order)
}

fn order_event(event: OrderEvent, refund: Option<RefundBody<'_>>, order: &Order) -> Vec<u8> {
    let order = Some(OrderBody::brief(order));
    EventBody { event_type: event.as_str(), reason: None, session: None, refund, order }.bytes()
}
