//! Changes of a Session's state.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use dropin_kernel::Change;
use dropin_session::Session;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use crate::rows::StateColumns;
use crate::schema::session;

/// A change that does not count on from what it was decided on would let a later one win wrongly.
pub(super) fn check_revision(change: &Change<Session>) -> Result<(), Fault> {
    if change.next.revision == change.expected.next() {
        Ok(())
    } else {
        Err(Fault::Refused("a change of a Session must count its revision up by one".to_owned()))
    }
}

statement! {
    /// The state of a Session, if that is still as it was when this was decided.
    SetState {
        revision: i64 => BigInt,
        state: &'static str => Text,
        order: Option<Id> => Nullable<SqlId>,
        attempt: Option<Id> => Nullable<SqlId>,
        cancel_reason: Option<&'static str> => Nullable<Text>,
        failure_reason: Option<&'static str> => Nullable<Text>,
        updated_at: Instant => SqlInstant,
        attempts_failed: i32 => Integer,
        last_attempt: Option<Id> => Nullable<SqlId>,
        last_failure: Option<&'static str> => Nullable<Text>,
        id: Id => SqlId,
        merchant: Id => SqlId,
        expected: i64 => BigInt,
    }
    both "UPDATE session \
        SET revision = $1, state = $2, order_id = $3, attempt_id = $4, cancel_reason = $5, failure_reason = $6, \
            updated_at = $7, attempts_failed = $8, last_attempt_id = $9, last_failure = $10 \
        WHERE id = $11 AND merchant_id = $12 AND revision = $13";
}

/// Locks a Session that is about to change; `false` when it changed since that was decided.
pub(crate) fn lock(connection: &mut AnyConnection, change: &Change<Session>) -> Result<bool, Fault> {
    let row = session::table
        .find(Id(change.next.id.uuid()))
        .filter(session::merchant_id.eq(Id(change.next.merchant_id.uuid())))
        .filter(session::revision.eq(change.expected.number()))
        .select(session::id);
    let locked: Option<Id> = match connection {
        AnyConnection::Postgres(connection) => row.for_no_key_update().first(connection).optional()?,
        AnyConnection::Sqlite(connection) => row.first(connection).optional()?,
    };
    Ok(locked.is_some())
}

/// Writes a change of state; `false` when the Session changed since it was decided.
pub(crate) fn apply_state(connection: &mut AnyConnection, change: &Change<Session>) -> Result<bool, Fault> {
    check_revision(change)?;
    let columns = StateColumns::new(&change.next);
    let set = SetState {
        revision: columns.revision,
        state: columns.state,
        order: columns.order_id,
        attempt: columns.attempt_id,
        cancel_reason: columns.cancel_reason,
        failure_reason: columns.failure_reason,
        updated_at: columns.updated_at,
        attempts_failed: columns.attempts_failed,
        last_attempt: columns.last_attempt_id,
        last_failure: columns.last_failure,
        id: Id(change.next.id.uuid()),
        merchant: Id(change.next.merchant_id.uuid()),
        expected: change.expected.number(),
    };
    Ok(on_each!(connection, inner => set.execute(inner))? == 1)
}
