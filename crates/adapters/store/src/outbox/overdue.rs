//! What an endpoint that is passed over never got in time.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer};
use dropin_kernel::{EndpointId, Timestamp};

use super::finish::{Told, What};
use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable};
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};

statement! {
    /// The next notifications of streams of one endpoint that are due, under nobody's lease, and wait for too long. A replay waits since it was
    /// queued, whenever its event was told.
    Overdue {
        endpoint: Id => SqlId,
        now: Instant => SqlInstant,
        give_up_before: Instant => SqlInstant,
        limit: i64 => BigInt,
    }
    postgres OVERDUE;
    sqlite OVERDUE;
    returns (BigInt, BigInt, Integer);
}

const OVERDUE: &str = "SELECT s.id, s.next_sequence, s.attempt FROM outbox_stream AS s \
    JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = s.next_sequence \
    WHERE s.endpoint_id = ? AND s.next_sequence <= s.last_sequence AND s.due_at <= ? AND NOT s.leased \
        AND coalesce(s.first_try, CASE WHEN s.detached THEN s.due_at ELSE e.happened_at END) < ? \
    ORDER BY s.due_at LIMIT ?";

/// Tells of such streams that they are parked.
pub(super) fn find(
    connection: &mut AnyConnection,
    endpoint: EndpointId,
    give_up_before: Timestamp,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Told>, Fault> {
    let overdue = Overdue {
        endpoint: Id(endpoint.uuid()),
        now: Instant(now),
        give_up_before: Instant(give_up_before),
        limit: i64::from(limit),
    };
    let rows: Vec<(i64, i64, i32)> = on_each!(connection, inner => overdue.load(inner)).in_table("outbox_stream")?;
    Ok(rows.into_iter().map(|which| Told { which, what: What::Parked }).collect())
}
