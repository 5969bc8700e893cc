//! What an endpoint that is passed over never got in time.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer};
use dropin_kernel::{EndpointId, Timestamp};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::finish::{AttemptUpdate, StreamChange};

statement! {
    /// The next notifications of streams of one endpoint that are due, under nobody's lease, and wait for too long. A replay waits since it was
    /// due, whenever its event was event: what comes behind another of its payment since its turn came.
    ///
    /// The events themselves are looked at only where they may be older than their stream is due: the first one of a payment never is.
    Overdue {
        endpoint: Id => SqlId,
        now: Instant => SqlInstant,
        first_tried_before: Instant => SqlInstant,
        due_before: Instant => SqlInstant,
        happened_before: Instant => SqlInstant,
        limit: i64 => BigInt,
    }
    postgres OVERDUE;
    sqlite OVERDUE;
    returns (BigInt, BigInt, Integer);
}

const OVERDUE: &str = "SELECT late.id, late.next_sequence, late.attempt FROM ( \
        SELECT s.id, s.payment_id, s.next_sequence, s.attempt FROM outbox_stream AS s \
        WHERE s.endpoint_id = ? AND s.next_sequence <= s.last_sequence AND s.due_at <= ? AND NOT s.leased \
            AND (s.first_try < ? OR (s.first_try IS NULL AND (s.due_at < ? OR (s.next_sequence > 1 AND NOT s.detached AND EXISTS ( \
                SELECT 1 FROM outbox_event AS e WHERE e.payment_id = s.payment_id AND e.sequence = s.next_sequence AND e.happened_at < ?))))) \
        ORDER BY s.replayed, s.due_at LIMIT ? \
    ) AS late JOIN outbox_event AS event ON event.payment_id = late.payment_id AND event.sequence = late.next_sequence";

/// The updates that park such streams.
pub(super) fn find(
    connection: &mut AnyConnection,
    endpoint: EndpointId,
    give_up_before: Timestamp,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<AttemptUpdate>, Fault> {
    let overdue = Overdue {
        endpoint: Id(endpoint.uuid()),
        now: Instant(now),
        first_tried_before: Instant(give_up_before),
        due_before: Instant(give_up_before),
        happened_before: Instant(give_up_before),
        limit: i64::from(limit),
    };
    let rows: Vec<(i64, i64, i32)> = on_each!(connection, inner => overdue.load(inner)).in_table("outbox_stream")?;
    Ok(rows.into_iter().map(|key| AttemptUpdate { key, change: StreamChange::Parked }).collect())
}
