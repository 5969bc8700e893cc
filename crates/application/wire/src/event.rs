//! Notifications: the exact bytes that every attempt sends and signs (docs/SPECIFICATION.md#event-bodies).

use dropin_contract::{Contract, ContractEvent};
use dropin_kernel::{MerchantId, Timestamp};
use dropin_order::{Dispute, Order, OrderEvent, Refund};
use dropin_risk::{Screening, VelocityKey, VelocityWindow};
use dropin_session::{Session, SessionEvent, SessionState};
use serde::Serialize;
use utoipa::ToSchema;

use crate::contract::ContractBody;
use crate::dispute::DisputeBody;
use crate::order::{OrderBody, RefundBody};
use crate::schema;
use crate::session::SessionBody;

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Notification, description = "What happened to a payment.")]
pub(crate) struct EventBody<'a> {
    /// Its place among the notifications of this payment, from 1; the header webhook-sequence repeats it.
    ///
    /// The store knows it first, and puts it before the other members when it writes the body down.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, minimum = 1, required = true)]
    sequence: Option<u64>,
    #[schema(value_type = schema::EventType)]
    event_type: &'static str,
    /// Why a Session failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    reason: Option<&'static str>,
    /// Of SESSION_*: the Session as GET shows it, without its billing details.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    session: Option<SessionBody<'a>>,
    /// Of REFUND_*.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = RefundBody)]
    refund: Option<RefundBody<'a>>,
    /// Of DISPUTE_*.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = DisputeBody)]
    dispute: Option<DisputeBody>,
    /// Of SESSION_COMPLETED, ORDER_*, REFUND_* and DISPUTE_*.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = OrderBody)]
    order: Option<OrderBody<'a>>,
    /// Of CONTRACT_*: without its Orders.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ContractBody)]
    contract: Option<ContractBody<'a>>,
    /// Of SCREENING_ALARM_RAISED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AlarmBody)]
    alarm: Option<AlarmBody>,
}

/// A merchant's declines jump, as they do when cards are tested there.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Alarm)]
struct AlarmBody {
    #[schema(value_type = schema::Id)]
    merchant_id: String,
    #[schema(value_type = schema::Moment)]
    raised_at: String,
    /// Tries to pay in the ten minutes before.
    tries: u32,
    /// Those of them that were declined.
    declines: u32,
}

impl EventBody<'_> {
    /// Of this type, and nothing else yet.
    const fn new(event_type: &'static str) -> Self {
        Self {
            sequence: None,
            event_type,
            reason: None,
            session: None,
            refund: None,
            dispute: None,
            order: None,
            contract: None,
            alarm: None,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a notification has string keys and exact numbers only")
    }
}

/// Every EventType that a merchant may hear of.
///
/// ```
/// assert!(dropin_wire::event::types().any(|one| one == "CONTRACT_OPENED"));
/// ```
pub fn types() -> impl Iterator<Item = &'static str> {
    let sessions = SessionEvent::ALL.into_iter().map(SessionEvent::as_str);
    let orders = OrderEvent::ALL.into_iter().map(OrderEvent::as_str);
    let contracts = ContractEvent::ALL.into_iter().map(ContractEvent::as_str);
    sessions.chain(orders).chain(contracts).chain([SCREENING_ALARM_RAISED])
}

/// EventType of the one event that is about a merchant: its declines jump (docs/SPECIFICATION.md#screening-alarm).
pub const SCREENING_ALARM_RAISED: &str = "SCREENING_ALARM_RAISED";

/// SCREENING_ALARM_RAISED, by the payment that showed it.
pub fn screening_alarm_raised(merchant: MerchantId, screening: &Screening, at: Timestamp) -> Vec<u8> {
    let sum = screening.facts().velocity.sum(VelocityKey::Merchant, VelocityWindow::TenMinutes).unwrap_or_default();
    let alarm = AlarmBody {
        merchant_id: merchant.to_string(),
        raised_at: at.to_string(),
        tries: sum.counts.tries,
        declines: sum.counts.declines,
    };
    EventBody { alarm: Some(alarm), ..EventBody::new(SCREENING_ALARM_RAISED) }.bytes()
}

/// EventType of a test that an operator sends to an endpoint. No payment has such an event, and no filter names it.
pub const ENDPOINT_TEST: &str = "ENDPOINT_TEST";

/// The body of a test.
pub fn endpoint_test() -> Vec<u8> {
    EventBody { sequence: Some(1), ..EventBody::new(ENDPOINT_TEST) }.bytes()
}

/// SESSION_COMPLETED: the shopper finished in the drop-in and the Order exists.
pub fn session_completed(session: &Session, order: &Order) -> Vec<u8> {
    EventBody {
        session: Some(SessionBody::without_billing(session, Some(order))),
        order: Some(OrderBody::in_event(order)),
        ..EventBody::new(SessionEvent::Completed.as_str())
    }
    .bytes()
}

/// SESSION_FAILED with the Reason. Its Order was never shown, so it is not named here either (docs/SPECIFICATION.md#attempt-orders).
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
    EventBody { reason, session, ..EventBody::new(event.as_str()) }.bytes()
}

/// ORDER_*: the Order after a change of state (docs/SPECIFICATION.md#order-events), never with BankDetails.
pub fn order_changed(event: OrderEvent, order: &Order) -> Vec<u8> {
    order_event(event, None, order)
}

/// REFUND_*: the refund as it was decided, and its Order (docs/SPECIFICATION.md#order-refund).
pub fn refund_changed(event: OrderEvent, refund: &Refund, order: &Order) -> Vec<u8> {
    order_event(event, Some(refund.into()), order)
}

/// DISPUTE_*: the dispute after the change, and its Order (docs/SPECIFICATION.md#disputes).
pub fn dispute_changed(event: OrderEvent, dispute: &Dispute, order: &Order) -> Vec<u8> {
    let (dispute, order) = (Some(dispute.into()), Some(OrderBody::in_event(order)));
    EventBody { dispute, order, ..EventBody::new(event.as_str()) }.bytes()
}

fn order_event(event: OrderEvent, refund: Option<RefundBody<'_>>, order: &Order) -> Vec<u8> {
    let order = Some(OrderBody::in_event(order));
    EventBody { refund, order, ..EventBody::new(event.as_str()) }.bytes()
}

/// CONTRACT_*: the contract after the change (docs/SPECIFICATION.md#contract-events).
pub fn contract_changed(event: ContractEvent, contract: &Contract) -> Vec<u8> {
    let contract = Some(ContractBody::new(contract));
    EventBody { contract, ..EventBody::new(event.as_str()) }.bytes()
}
