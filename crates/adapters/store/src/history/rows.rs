use dropin_ports::{Actor, NewHistoryEntry, Subject};
use dropin_store_runtime::sql::{Id, Instant};

/// One step as it is stored.
pub(crate) struct HistoryRow<'a> {
    pub(crate) merchant_id: Id,
    pub(crate) subject_kind: &'static str,
    pub(crate) subject_id: Id,
    pub(crate) actor_kind: &'static str,
    pub(crate) actor_name: Option<&'a str>,
    pub(crate) what: &'static str,
    pub(crate) state_before: Option<&'static str>,
    pub(crate) state_after: &'static str,
    pub(crate) happened_at: Instant,
}

/// The row of one step.
pub(crate) fn row(step: &NewHistoryEntry) -> HistoryRow<'_> {
    let (subject_kind, subject_id) = match step.subject {
        Subject::Session(id) => ("SESSION", id.uuid()),
        Subject::Order(id) => ("ORDER", id.uuid()),
        Subject::Contract(id) => ("CONTRACT", id.uuid()),
    };
    let (actor_kind, actor_name) = match &step.actor {
        Actor::Merchant(username) => ("MERCHANT", Some(username.as_str())),
        Actor::Shopper => ("SHOPPER", None),
        Actor::Operator(name) | Actor::CommandLine(name) => ("OPERATOR", Some(name.as_str())),
        Actor::System => ("SYSTEM", None),
    };
    HistoryRow {
        merchant_id: Id(step.merchant_id.uuid()),
        subject_kind,
        subject_id: Id(subject_id),
        actor_kind,
        actor_name,
        what: step.what,
        state_before: step.before,
        state_after: step.after,
        happened_at: Instant(step.at),
    }
}
