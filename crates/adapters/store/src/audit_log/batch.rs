//! Entries and the history appended with one statement: each would cost a round trip and a plan's start.

use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_ports::{NewAuditEntry, NewHistoryEntry};
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{rows, statement_about};

use super::append::EntryColumns;
use crate::history::{Steps, step};

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
    AppendWithHistory { entries: AuditEntries, steps: Steps, }
    include_str!("append_with_history.postgres.sql");
}

/// The row of an entry that belongs to the batched row `number`.
pub(crate) fn audit_row(number: i64, entry: &NewAuditEntry) -> Result<AuditRow<'_>, Fault> {
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
pub(super) fn append_with_history(
    connection: &mut PgConnection,
    steps: &[NewHistoryEntry],
    entry: &NewAuditEntry,
) -> Result<(), Fault> {
    let append = AppendWithHistory {
        entries: std::iter::once(audit_row(0, entry)?).collect(),
        steps: steps.iter().map(|one| step(0, one)).collect(),
    };
    append.execute(connection)?;
    Ok(())
}
