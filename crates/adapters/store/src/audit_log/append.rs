use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use dropin_ports::{NewAuditEntry, NewHistoryEntry};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::batch::{self, audit_row};
use crate::history;

statement! {
    /// Appends one entry.
    Append<'a> {
        id: Id => SqlId,
        merchant: Option<Id> => Nullable<SqlId>,
        actor_kind: &'a str => Text,
        actor_name: Option<&'a str> => Nullable<Text>,
        address: Option<String> => Nullable<Text>,
        note: Option<&'a str> => Nullable<Text>,
        action: &'a str => Text,
        subject_kind: &'a str => Text,
        subject_id: &'a str => Text,
        before: Option<&'a str> => Nullable<Text>,
        after: Option<&'a str> => Nullable<Text>,
        happened_at: Instant => SqlInstant,
    }
    both "INSERT INTO audit_log ( \
            id, merchant_id, actor_kind, actor_name, address, note, action, subject_kind, subject_id, value_before, \
            value_after, happened_at \
        ) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
}

/// Appends an entry to the audit log, in the transaction of its effect.
pub(crate) fn append(connection: &mut AnyConnection, entry: &NewAuditEntry) -> Result<(), Fault> {
    let row = audit_row(0, entry)?;
    let append = Append {
        id: row.id,
        merchant: row.merchant_id,
        actor_kind: row.actor_kind,
        actor_name: row.actor_name,
        address: row.address,
        note: row.note,
        action: row.action,
        subject_kind: row.subject_kind,
        subject_id: row.subject_id,
        before: row.value_before,
        after: row.value_after,
        happened_at: row.happened_at,
    };
    on_each!(connection, inner => append.execute(inner))?;
    Ok(())
}

/// Appends steps to the history and, where a person caused them, the entry of the audit log: on PostgreSQL by one statement, so that the entry costs no
/// round trip.
pub(crate) fn append_with_history(
    connection: &mut AnyConnection,
    steps: &[NewHistoryEntry],
    entry: Option<&NewAuditEntry>,
) -> Result<(), Fault> {
    match (connection, entry) {
        (AnyConnection::Postgres(inner), Some(entry)) => batch::append_with_history(inner, steps, entry),
        (connection, entry) => {
            history::append_all(connection, steps)?;
            entry.map_or(Ok(()), |entry| append(connection, entry))
        }
    }
}
