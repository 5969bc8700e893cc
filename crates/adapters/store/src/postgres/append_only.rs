//! What is appended, many rows with one statement: each would cost a round trip and a plan's start.

use diesel::sql_types::{Array, BigInt, Binary, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_ports::{NewAuditEntry, NewEvent, NewHistoryEntry};
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{rows, statement, statement_about};

use crate::append_only::history_row;
use crate::audit_log::EntryColumns;

rows! {
    /// A step for the history; `number` names the batched row that it belongs to.
    Steps of Step<'a> {
        number: i64 => BigInt,
        merchant_id: Id => SqlId,
        subject_kind: &'a str => Text,
        subject_id: Id => SqlId,
        actor_kind: &'a str => Text,
        actor_name: Option<&'a str> => Nullable<Text>,
        what: &'a str => Text,
        state_before: Option<&'a str> => Nullable<Text>,
        state_after: &'a str => Text,
        happened_at: Instant => SqlInstant,
    }
}

statement_about! {
    AppendHistory { steps: Steps, }
    include_str!("append_history.postgres.sql");
}

/// Its row.
pub(super) fn step(number: i64, step: &NewHistoryEntry) -> Step<'_> {
    let row = history_row(step);
    Step {
        number,
        merchant_id: row.merchant_id,
        subject_kind: row.subject_kind,
        subject_id: row.subject_id,
        actor_kind: row.actor_kind,
        actor_name: row.actor_name,
        what: row.what,
        state_before: row.state_before,
        state_after: row.state_after,
        happened_at: row.happened_at,
    }
}

/// Appends steps to the history, in their order.
pub(crate) fn append_history(connection: &mut PgConnection, steps: &[NewHistoryEntry]) -> Result<(), Fault> {
    AppendHistory { steps: steps.iter().map(|one| step(0, one)).collect() }.execute(connection)?;
    Ok(())
}

rows! {
    /// An entry of the audit log; `number` names the batched row that it belongs to.
    AuditEntries of AuditRow<'a> {
        number: i64 => BigInt,
        id: Id => SqlId,
        merchant_id: Option<Id> => Nullable<SqlId>,
        actor_kind: &'a str => Text,
        actor_name: Option<&'a str> => Nullable<Text>,
        address: Option<String> => Nullable<Text>,
        note: Option<&'a str> => Nullable<Text>,
        action: &'a str => Text,
        subject_kind: &'a str => Text,
        subject_id: &'a str => Text,
        value_before: Option<&'a str> => Nullable<Text>,
        value_after: Option<&'a str> => Nullable<Text>,
        happened_at: Instant => SqlInstant,
    }
}

statement_about! {
    AppendHistoryWithAudit { entries: AuditEntries, steps: Steps, }
    include_str!("append_history_with_audit.postgres.sql");
}

/// The row of an entry that belongs to the batched row `number`.
pub(super) fn audit_row(number: i64, entry: &NewAuditEntry) -> Result<AuditRow<'_>, Fault> {
    let columns = EntryColumns::new(entry)?;
    Ok(AuditRow {
        number,
        id: columns.id,
        merchant_id: columns.merchant_id,
        actor_kind: columns.actor_kind,
        actor_name: columns.actor_name,
        address: columns.address,
        note: columns.note,
        action: columns.action,
        subject_kind: columns.subject_kind,
        subject_id: columns.subject_id,
        value_before: columns.before,
        value_after: columns.after,
        happened_at: columns.happened_at,
    })
}

/// Appends steps to the history and an entry to the audit log.
pub(crate) fn append_history_with_audit(
    connection: &mut PgConnection,
    steps: &[NewHistoryEntry],
    entry: &NewAuditEntry,
) -> Result<(), Fault> {
    let append = AppendHistoryWithAudit {
        entries: std::iter::once(audit_row(0, entry)?).collect(),
        steps: steps.iter().map(|one| step(0, one)).collect(),
    };
    append.execute(connection)?;
    Ok(())
}

statement! {
    EnqueueEvents<'a> {
        payment: Id => SqlId,
        merchant: Id => SqlId,
        events: Vec<Id> => Array<SqlId>,
        types: Vec<&'static str> => Array<Text>,
        bodies: Vec<&'a [u8]> => Array<Binary>,
        happened: Vec<Instant> => Array<SqlInstant>,
    }
    postgres include_str!("enqueue_events.postgres.sql");
}

/// Appends events of one payment and merchant in their order, and queues them for every endpoint.
pub(crate) fn enqueue_events(
    connection: &mut PgConnection,
    first: &NewEvent,
    events: &[NewEvent],
) -> Result<(), Fault> {
    let enqueue = EnqueueEvents {
        payment: Id(first.payment_id.uuid()),
        merchant: Id(first.merchant_id.uuid()),
        events: events.iter().map(|event| Id(event.id.uuid())).collect(),
        types: events.iter().map(|event| event.event_type).collect(),
        bodies: events.iter().map(|event| event.body.as_slice()).collect(),
        happened: events.iter().map(|event| Instant(event.at)).collect(),
    };
    enqueue.execute(connection)?;
    Ok(())
}
