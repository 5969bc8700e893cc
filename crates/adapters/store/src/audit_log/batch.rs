//! Entries and the history appended with one statement: each would cost a round trip and a plan's start.

use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_ports::{Acting, Actor, NewAuditEntry, NewHistoryEntry};
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{rows, statement_about};

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

/// The row of an entry that belongs to the batched row `number`; refused when it makes no sense.
pub(crate) fn audit_row(number: i64, entry: &NewAuditEntry) -> Result<AuditRow<'_>, Fault> {
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
    Ok(AuditRow {
        number,
        id: Id(entry.id.uuid()),
        merchant_id: entry.merchant_id.map(|merchant| Id(merchant.uuid())),
        actor_kind,
        actor_name,
        address: address.map(|address| address.to_string()),
        note: note.as_deref(),
        action: entry.action.as_str(),
        subject_kind: entry.subject.kind.as_str(),
        subject_id: &entry.subject.id,
        value_before: entry.before.as_deref(),
        value_after: entry.after.as_deref(),
        happened_at: Instant(entry.at),
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
