//! What happened to an Order, in the order of time.

use dropin_access::operator::PanelAction;
use dropin_kernel::Timestamp;
use dropin_order::OpState;
use dropin_ports::{DeliveryState, NotificationFilter, NotificationQuery, OrderAuditTrail};
use dropin_session::Session;

use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::show::{self, Html};
use crate::texts::texts;

/// An entry of the timeline.
pub(super) struct TimelineEvent {
    at: Timestamp,
    pub(super) kind: &'static str,
    pub(super) when: Html,
    pub(super) title: String,
    pub(super) detail: String,
    pub(super) link: Option<String>,
}

impl TimelineEvent {
    fn new(at: Timestamp, kind: &'static str, title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { at, kind, when: show::instant(at), title: title.into(), detail: detail.into(), link: None }
    }
}

/// History, operations and notifications in the order of time.
pub(super) async fn timeline(
    request: &PanelRequest,
    trail: &OrderAuditTrail,
    session: Option<&Session>,
) -> Result<Vec<TimelineEvent>, Refusal> {
    let order = &trail.records.order;
    let mut all = Vec::new();
    if let Some(session) = session {
        let mut created = TimelineEvent::new(session.created_at, "", texts().session_created, "");
        created.link = Some(format!("/sessions/{}", session.id));
        all.push(created);
    }
    for step in &trail.history {
        let state = match step.before.as_deref().filter(|before| !before.is_empty() && *before != step.after) {
            Some(before) => format!("{} → {}", show::words(before), show::words(&step.after)),
            None => show::words(&step.after),
        };
        let kind = match step.after.as_str() {
            "PROCESSED" => "good",
            "PROCESSING_FAILED" | "DECLINED" => "bad",
            _ => "",
        };
        let detail = texts().by_actor(state, show::actor(&step.actor));
        all.push(TimelineEvent::new(step.at, kind, show::words(&step.what), detail));
    }
    for placed in &trail.records.operations {
        let operation = &placed.operation;
        let kind = match operation.state {
            OpState::Approved => "good",
            OpState::Declined | OpState::Abandoned => "bad",
            _ => "wait",
        };
        let title = texts().asked_of_processor(show::words(operation.kind.as_str()));
        let processor = operation.processor.as_ref().map(|id| format!(", {id}")).unwrap_or_default();
        let state = show::words(operation.state.as_str()).to_lowercase();
        let detail = format!("{}, {state}{processor}", show::money(&operation.amount));
        all.push(TimelineEvent::new(operation.created_at, kind, title, detail));
    }
    if request.may(PanelAction::ViewNotifications, order.merchant_id) {
        let filter = NotificationFilter {
            payment: Some(order.payment_id()),
            merchant: Some(order.merchant_id),
            ..NotificationFilter::default()
        };
        let query = NotificationQuery { filter, after: None, oldest_first: true, limit: 100 };
        for one in request.deps.notifications.list(query).await?.notifications {
            let states: Vec<_> =
                one.statuses.iter().map(|status| show::words(status.state.as_str()).to_lowercase()).collect();
            let is_parked = one.statuses.iter().any(|status| status.state == DeliveryState::Parked);
            let detail = if states.is_empty() { texts().told_to_no_endpoint.to_owned() } else { states.join(", ") };
            let kind = if is_parked { "bad" } else { "" };
            let mut notified =
                TimelineEvent::new(one.happened_at, kind, texts().notification_titled(&one.event_type), detail);
            notified.link = Some(format!("/notifications/{}", one.event_id));
            all.push(notified);
        }
    }
    all.sort_by_key(|one| one.at);
    Ok(all)
}
