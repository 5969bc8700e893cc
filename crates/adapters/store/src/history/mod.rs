//! The history of Sessions, Orders and contracts: rows that are only ever appended, in the transaction of their change.

mod batch;
mod rows;

use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use dropin_kernel::OrderId;
use dropin_ports::{Actor, NewHistoryEntry, StoredHistoryEntry};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use batch::append_batch;
pub(crate) use batch::{Steps, step};
pub(crate) use rows::row;

statement! {
    /// Appends one step.
    AppendHistory {
        merchant: Id => SqlId,
        subject_kind: &'static str => Text,
        subject: Id => SqlId,
        actor_kind: &'static str => Text,
        actor_name: Option<String> => Nullable<Text>,
        what: &'static str => Text,
        before: Option<&'static str> => Nullable<Text>,
        after: &'static str => Text,
        happened_at: Instant => SqlInstant,
    }
    both "INSERT INTO history ( \
            merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at \
        ) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
}

/// Appends one step to the history.
pub(crate) fn append(connection: &mut AnyConnection, step: &NewHistoryEntry) -> Result<(), Fault> {
    let row = row(step);
    let append = AppendHistory {
        merchant: row.merchant_id,
        subject_kind: row.subject_kind,
        subject: row.subject_id,
        actor_kind: row.actor_kind,
        actor_name: row.actor_name.map(str::to_owned),
        what: row.what,
        before: row.state_before,
        after: row.state_after,
        happened_at: row.happened_at,
    };
    on_each!(connection, inner => append.execute(inner))?;
    Ok(())
}

/// Appends steps to the history, in their order.
pub(crate) fn append_all(connection: &mut AnyConnection, steps: &[NewHistoryEntry]) -> Result<(), Fault> {
    match connection {
        AnyConnection::Postgres(connection) if 1 < steps.len() => append_batch(connection, steps),
        _ => steps.iter().try_for_each(|step| append(connection, step)),
    }
}

statement! {
    /// The life of an Order, oldest step first.
    OfOrder { order: Id => SqlId, }
    both "SELECT actor_kind, actor_name, what, happened_at, state_before, state_after FROM history \
        WHERE subject_id = $1 AND subject_kind = 'ORDER' ORDER BY position";
    returns (Text, Nullable<Text>, Text, SqlInstant, Nullable<Text>, Text);
}

/// The history of an Order, oldest step first.
pub(crate) fn of_order(connection: &mut AnyConnection, order: OrderId) -> Result<Vec<StoredHistoryEntry>, Fault> {
    type Found = (String, Option<String>, String, Instant, Option<String>, String);
    let find = OfOrder { order: Id(order.uuid()) };
    let found: Vec<Found> = on_each!(connection, inner => find.load(inner)).in_table("history")?;
    let restore = |(kind, name, what, at, before, after): Found| {
        Ok(StoredHistoryEntry { actor: actor(&kind, name)?, what, at: at.0, before, after })
    };
    found.into_iter().map(restore).collect()
}

fn actor(kind: &str, name: Option<String>) -> Result<Actor, Fault> {
    match (kind, name) {
        ("MERCHANT", Some(username)) => Ok(Actor::Merchant(username)),
        ("SHOPPER", None) => Ok(Actor::Shopper),
        ("OPERATOR", Some(name)) => Ok(Actor::Operator(name)),
        ("SYSTEM", None) => Ok(Actor::System),
        _ => Err(corrupt("history", "the actor is unknown")),
    }
}
