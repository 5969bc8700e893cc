use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};

use super::attempt::AttemptKey;
use crate::schema::outbox_stream;

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = outbox_stream)]
pub(crate) struct StreamRow {
    pub(crate) id: i64,
    pub(crate) endpoint_id: Id,
    pub(crate) payment_id: Id,
    pub(crate) detached: bool,
    pub(crate) next_sequence: i64,
    pub(crate) last_sequence: i64,
    pub(crate) attempt: i32,
    pub(crate) uncounted: i32,
    pub(crate) first_try: Option<Instant>,
    pub(crate) leased: bool,
}

/// The columns of a [`StreamRow`].
pub(crate) type StreamColumns =
    (BigInt, SqlId, SqlId, Bool, BigInt, BigInt, Integer, Integer, Nullable<SqlInstant>, Bool);

/// A stream to be begun.
#[derive(Debug, Insertable)]
#[diesel(table_name = outbox_stream)]
pub(crate) struct NewStream {
    pub(crate) endpoint_id: Id,
    pub(crate) payment_id: Id,
    pub(crate) detached: bool,
    pub(crate) next_sequence: i64,
    pub(crate) last_sequence: i64,
    pub(crate) attempt: i32,
    pub(crate) due_at: Instant,
    pub(crate) replayed: bool,
}

impl StreamRow {
    /// The try that is under way.
    pub(super) fn current(&self) -> AttemptKey {
        (self.id, self.next_sequence, self.attempt)
    }

    /// How many tries counted.
    pub(crate) fn tries(&self) -> i32 {
        (self.attempt - self.uncounted).max(0)
    }
}
