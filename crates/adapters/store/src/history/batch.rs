//! What is appended, many rows with one statement: each would cost a round trip and a plan's start.

use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_ports::NewHistoryEntry;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{rows, statement_about};

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
    include_str!("append.postgres.sql");
}

/// Its row.
pub(crate) fn step(number: i64, step: &NewHistoryEntry) -> Step<'_> {
    let row = super::rows::row(step);
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
pub(crate) fn append_batch(connection: &mut PgConnection, steps: &[NewHistoryEntry]) -> Result<(), Fault> {
    AppendHistory { steps: steps.iter().map(|one| step(0, one)).collect() }.execute(connection)?;
    Ok(())
}
