//! What an endpoint that is passed over never got in time.

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use dropin_kernel::{EndpointId, Timestamp};

use super::finish::{StreamColumns, StreamRow, advance};
use super::parked;
use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable};
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};

statement! {
    /// Streams of one endpoint that are due, under nobody's lease, and whose next notification waits for too long.
    Overdue {
        endpoint: Id => SqlId,
        now: Instant => SqlInstant,
        give_up_before: Instant => SqlInstant,
        limit: i64 => BigInt,
    }
    postgres "SELECT s.id, s.endpoint_id, s.payment_id, s.detached, s.next_sequence, s.last_sequence, s.attempt, s.first_try \
        FROM outbox_stream AS s \
        LEFT JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = s.next_sequence \
        WHERE s.endpoint_id = ? AND s.next_sequence <= s.last_sequence AND s.due_at <= ? AND NOT s.leased \
            AND coalesce(s.first_try, CASE WHEN s.detached THEN s.due_at ELSE e.happened_at END) < ? \
        ORDER BY s.id LIMIT ? FOR UPDATE OF s";
    sqlite "SELECT s.id, s.endpoint_id, s.payment_id, s.detached, s.next_sequence, s.last_sequence, s.attempt, s.first_try \
        FROM outbox_stream AS s \
        LEFT JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = s.next_sequence \
        WHERE s.endpoint_id = ? AND s.next_sequence <= s.last_sequence AND s.due_at <= ? AND NOT s.leased \
            AND coalesce(s.first_try, CASE WHEN s.detached THEN s.due_at ELSE e.happened_at END) < ? \
        ORDER BY s.id LIMIT ?";
    returns StreamColumns;
}

/// Parks the next notification of such streams; how many.
pub(super) fn park(
    connection: &mut AnyConnection,
    endpoint: EndpointId,
    give_up_before: Timestamp,
    now: Timestamp,
    limit: u32,
) -> Result<u32, Fault> {
    let overdue = Overdue {
        endpoint: Id(endpoint.uuid()),
        now: Instant(now),
        give_up_before: Instant(give_up_before),
        limit: i64::from(limit),
    };
    let streams: Vec<StreamRow> = on_each!(connection, inner => overdue.load(inner)).in_table("outbox_stream")?;
    let mut parked = 0;
    for stream in &streams {
        parked::park(connection, stream, now)?;
        advance(connection, stream, now, now)?;
        parked += 1;
    }
    Ok(parked)
}
