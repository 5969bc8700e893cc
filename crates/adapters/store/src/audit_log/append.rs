use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use dropin_ports::{Acting, Actor, NewAuditEntry, NewHistoryEntry};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::batch;
use crate::history;

/// An entry as it is stored.
pub(crate) struct EntryColumns<'a> {
    pub(crate) id: Id,
    pub(crate) merchant_id: Option<Id>,
    pub(crate) actor_kind: &'static str,
    pub(crate) actor_name: Option<&'a str>,
    pub(crate) address: Option<String>,
    pub(crate) note: Option<&'a str>,
    pub(crate) action: &'static str,
    pub(crate) subject_kind: &'static str,
    pub(crate) subject_id: &'a str,
    pub(crate) before: Option<&'a str>,
    pub(crate) after: Option<&'a str>,
    pub(crate) happened_at: Instant,
}

impl<'a> EntryColumns<'a> {
    pub(crate) fn new(entry: &'a NewAuditEntry) -> Result<Self, Fault> {
        let Acting { actor, address, note } = &entry.acting;
        let (actor_kind, actor_name) = match actor {
            Actor::Merchant(username) => ("MERCHANT", Some(username.as_str())),
            Actor::Operator(name) => ("OPERATOR", Some(name.as_str())),
            Actor::CommandLine(name) => ("COMMAND_LINE", Some(name.as_str())),
            Actor::System => ("SYSTEM", None),
            Actor::Shopper => return Err(Fault::Refused("a shopper's acts are history, not audited".to_owned())),
        };
        for document in [&entry.before, &entry.after].into_iter().flatten() {
            if serde_json::from_str::<serde::de::IgnoredAny>(document).is_err() {
                return Err(Fault::Refused("what an audit entry says of before and after must be JSON".to_owned()));
            }
        }
        Ok(Self {
            id: Id(entry.id.uuid()),
            merchant_id: entry.merchant_id.map(|merchant| Id(merchant.uuid())),
            actor_kind,
            actor_name,
            address: address.map(|address| address.to_string()),
            note: note.as_deref(),
            action: entry.action.as_str(),
            subject_kind: entry.subject.kind.as_str(),
            subject_id: &entry.subject.id,
            before: entry.before.as_deref(),
            after: entry.after.as_deref(),
            happened_at: Instant(entry.at),
        })
    }
}

statement! {
    /// Appends one entry.
    Append<'a> {
        id: Id => SqlId,
        merchant: Option<Id> => Nullable<SqlId>,
        actor_kind: &'static str => Text,
        actor_name: Option<&'a str> => Nullable<Text>,
        address: Option<String> => Nullable<Text>,
        note: Option<&'a str> => Nullable<Text>,
        action: &'static str => Text,
        subject_kind: &'static str => Text,
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
    let columns = EntryColumns::new(entry)?;
    let append = Append {
        id: columns.id,
        merchant: columns.merchant_id,
        actor_kind: columns.actor_kind,
        actor_name: columns.actor_name,
        address: columns.address,
        note: columns.note,
        action: columns.action,
        subject_kind: columns.subject_kind,
        subject_id: columns.subject_id,
        before: columns.before,
        after: columns.after,
        happened_at: columns.happened_at,
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
