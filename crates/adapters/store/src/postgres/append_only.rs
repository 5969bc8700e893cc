//! What is appended, many rows with one statement: each would cost a round trip and a plan's start.

use diesel::pg::Pg;
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
    Steps of Step<'a> as "step" {
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
    /// Appends steps, in their order.
    AppendHistory<'a> { steps: Steps<'a>, }
    "INSERT INTO history \
            (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at) \
        SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what, \
            step.state_before, step.state_after, step.happened_at FROM ?";
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
    AuditEntries of AuditRow<'a> as "entry" {
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
    /// Appends steps, in their order, and what the audit log says of them.
    AppendHistoryWithAudit<'a> { entries: AuditEntries<'a>, steps: Steps<'a>, }
    "WITH audited AS ( \
            INSERT INTO audit_log (id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id, \
                value_before, value_after, happened_at) \
            SELECT entry.id, entry.merchant_id, entry.actor_kind, entry.actor_name, entry.address, entry.note, entry.action, \
                entry.subject_kind, entry.subject_id, entry.value_before, entry.value_after, entry.happened_at FROM ? \
        ) INSERT INTO history \
            (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at) \
        SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what, \
            step.state_before, step.state_after, step.happened_at FROM ?";
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
    /// Appends events of one payment after its last one, and makes them the last of its stream at each endpoint of the merchant. A stream that
    /// waits, is leased or retries keeps its time; an idle one is due now, or when an event that has been set aside lets go of it.
    EnqueueEvents<'a> {
        payment: Id => SqlId,
        merchant: Id => SqlId,
        events: Vec<Id> => Array<SqlId>,
        types: Vec<&'static str> => Array<Text>,
        bodies: Vec<&'a [u8]> => Array<Binary>,
        happened: Vec<Instant> => Array<SqlInstant>,
    }
    on Pg, PgConnection, "WITH target AS MATERIALIZED (SELECT ?::uuid AS payment_id, ?::uuid AS merchant_id), \
        so_far AS MATERIALIZED ( \
            SELECT coalesce((SELECT sequence FROM outbox_event WHERE outbox_event.payment_id = target.payment_id \
                ORDER BY sequence DESC LIMIT 1), 0) AS last FROM target \
        ), new_event AS MATERIALIZED ( \
            SELECT so_far.last + number AS sequence, event_id, event_type, \
                convert_to('{\"Sequence\":' || (so_far.last + number) || ',', 'UTF8') || substring(body FROM 2) AS body, happened_at \
            FROM so_far, unnest(?, ?, ?, ?) WITH ORDINALITY AS new (event_id, event_type, body, happened_at, number) \
        ), written AS ( \
            INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
            SELECT payment_id, sequence, event_id, merchant_id, event_type, body, happened_at FROM target, new_event \
        ) INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
        SELECT endpoint.id, target.payment_id, FALSE, so_far.last + 1, (SELECT max(sequence) FROM new_event), 0, \
            (SELECT happened_at FROM new_event ORDER BY sequence LIMIT 1) \
        FROM target, so_far, endpoint WHERE endpoint.merchant_id = target.merchant_id AND endpoint.removed_at IS NULL ORDER BY endpoint.id \
        ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE SET last_sequence = excluded.last_sequence, \
        due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence \
            THEN greatest(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END";
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
