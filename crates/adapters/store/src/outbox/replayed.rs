//! Streams of replays: detached ones. The events behind the current one are in the table `outbox_replay_rest`.

use diesel::prelude::*;
use dropin_kernel::Timestamp;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant};

use super::rows::{NewStream, StreamRow};
use crate::schema::{outbox_replay_rest, outbox_stream};

impl NewStream {
    /// A stream for a replay: it holds one event of a payment, apart from the main stream of the payment.
    pub(crate) fn asked_for(endpoint_id: Id, payment_id: Id, sequence: i64, due_at: Timestamp) -> Self {
        Self {
            endpoint_id,
            payment_id,
            detached: true,
            next_sequence: sequence,
            last_sequence: sequence,
            attempt: 0,
            due_at: Instant(due_at),
            replayed: true,
        }
    }

    /// Begins the stream; its id.
    pub(crate) fn begin(self, connection: &mut AnyConnection) -> Result<i64, Fault> {
        diesel::insert_into(outbox_stream::table).values(&self).execute(connection)?;
        // What was given last, by this transaction, for this very event.
        let id = outbox_stream::table
            .filter(outbox_stream::endpoint_id.eq(self.endpoint_id).and(outbox_stream::payment_id.eq(self.payment_id)))
            .filter(outbox_stream::detached.and(outbox_stream::next_sequence.eq(self.next_sequence)))
            .select(outbox_stream::id)
            .order(outbox_stream::id.desc())
            .first(connection)
            .in_table("outbox_stream")?;
        Ok(id)
    }
}

/// Goes on to the event that comes behind, which is handed out unless the lease has no time; ends the stream where there is none. `false` when nothing
/// is handed out.
pub(super) fn advance(
    connection: &mut AnyConnection,
    stream: &StreamRow,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<bool, Fault> {
    let Some(next) = take_next(connection, stream.id)? else {
        diesel::delete(outbox_stream::table.find(stream.id)).execute(connection)?;
        return Ok(false);
    };
    let handed_out = now < lease_until;
    diesel::update(outbox_stream::table.find(stream.id))
        .set((
            outbox_stream::next_sequence.eq(next),
            outbox_stream::last_sequence.eq(next),
            outbox_stream::attempt.eq(i32::from(handed_out)),
            outbox_stream::uncounted.eq(0),
            outbox_stream::first_try.eq(handed_out.then_some(Instant(now))),
            outbox_stream::due_at.eq(Instant(if handed_out { lease_until } else { now })),
            outbox_stream::leased.eq(handed_out),
        ))
        .execute(connection)?;
    Ok(handed_out)
}

/// Takes the event that comes behind the current one of a stream out of what waits there, if any does.
pub(super) fn take_next(connection: &mut AnyConnection, stream: i64) -> Result<Option<i64>, Fault> {
    let next: Option<i64> = outbox_replay_rest::table
        .filter(outbox_replay_rest::stream_id.eq(stream))
        .select(outbox_replay_rest::sequence)
        .order(outbox_replay_rest::sequence)
        .first(connection)
        .optional()
        .in_table("outbox_replay_rest")?;
    if let Some(sequence) = next {
        diesel::delete(outbox_replay_rest::table.find((stream, sequence))).execute(connection)?;
    }
    Ok(next)
}

/// All that waits behind the current event of a stream, taken out of there.
pub(super) fn take_all(connection: &mut AnyConnection, stream: i64) -> Result<Vec<i64>, Fault> {
    let waiting = outbox_replay_rest::table
        .filter(outbox_replay_rest::stream_id.eq(stream))
        .select(outbox_replay_rest::sequence)
        .order(outbox_replay_rest::sequence)
        .load(connection)
        .in_table("outbox_replay_rest")?;
    diesel::delete(outbox_replay_rest::table.filter(outbox_replay_rest::stream_id.eq(stream))).execute(connection)?;
    Ok(waiting)
}

/// Lets what waits behind the current event of a stream go its own way from `at` on: that one has failed for too long to hold it back.
pub(super) fn set_free(connection: &mut AnyConnection, stream: &StreamRow, at: Timestamp) -> Result<(), Fault> {
    let Some(next) = take_next(connection, stream.id)? else { return Ok(()) };
    let rest = NewStream::asked_for(stream.endpoint_id, stream.payment_id, next, at).begin(connection)?;
    diesel::update(outbox_replay_rest::table.filter(outbox_replay_rest::stream_id.eq(stream.id)))
        .set(outbox_replay_rest::stream_id.eq(rest))
        .execute(connection)?;
    Ok(())
}
