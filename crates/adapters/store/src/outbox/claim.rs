use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use dropin_kernel::{EndpointId, Timestamp};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable};
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};

statement! {
    /// Leases streams that are due. Each endpoint gets its turn before any gets a second one, so that none starves another.
    Claim {
        now: Instant => SqlInstant,
        per_endpoint: i64 => BigInt,
        full: String => Text,
        limit: i64 => BigInt,
        first_try: Instant => SqlInstant,
        lease_until: Instant => SqlInstant,
    }
    // Endpoints with anything to do are found by hopping through the index, so that idle ones cost nothing.
    postgres "WITH RECURSIVE pending (endpoint_id) AS ( \
            SELECT * FROM (SELECT endpoint_id FROM outbox_stream WHERE next_sequence <= last_sequence \
                ORDER BY endpoint_id LIMIT 1) AS one \
            UNION ALL \
            SELECT (SELECT s.endpoint_id FROM outbox_stream AS s WHERE s.next_sequence <= s.last_sequence \
                AND s.endpoint_id > p.endpoint_id ORDER BY s.endpoint_id LIMIT 1) \
            FROM pending AS p WHERE p.endpoint_id IS NOT NULL \
        ), due AS ( \
            SELECT s.id, s.due_at, row_number() OVER (PARTITION BY p.endpoint_id ORDER BY s.due_at, s.id) AS turn \
            FROM pending AS p CROSS JOIN LATERAL (SELECT id, due_at FROM outbox_stream \
                WHERE endpoint_id = p.endpoint_id AND next_sequence <= last_sequence AND due_at <= ? \
                ORDER BY due_at, id LIMIT ? FOR UPDATE SKIP LOCKED) AS s \
            WHERE p.endpoint_id <> ALL (string_to_array(?, ',')::uuid[]) \
        ), chosen AS MATERIALIZED (SELECT id FROM due ORDER BY turn, due_at, id LIMIT ?) \
        UPDATE outbox_stream SET attempt = attempt + 1, first_try = coalesce(first_try, ?), due_at = ? \
        FROM chosen WHERE outbox_stream.id = chosen.id RETURNING outbox_stream.id";
    sqlite "WITH due AS ( \
            SELECT id, endpoint_id, due_at, row_number() OVER (PARTITION BY endpoint_id ORDER BY due_at, id) AS turn \
            FROM outbox_stream WHERE next_sequence <= last_sequence AND due_at <= ? \
        ), chosen AS (SELECT id FROM due WHERE turn <= ? AND instr(?, endpoint_id) = 0 ORDER BY turn, due_at, id LIMIT ?) \
        UPDATE outbox_stream SET attempt = attempt + 1, first_try = coalesce(first_try, ?), due_at = ? \
        WHERE id IN (SELECT id FROM chosen) RETURNING id";
    returns BigInt;
}

/// Leases streams that are due and says which. `full` lists the endpoints to pass over, separated by commas.
pub(super) fn claim(
    connection: &mut AnyConnection,
    full: &str,
    now: Timestamp,
    lease_until: Timestamp,
    per_endpoint: u32,
    limit: u32,
) -> Result<Vec<i64>, Fault> {
    let claim = Claim {
        now: Instant(now),
        per_endpoint: i64::from(per_endpoint),
        full: full.to_owned(),
        limit: i64::from(limit),
        first_try: Instant(now),
        lease_until: Instant(lease_until),
    };
    on_each!(connection, inner => claim.load(inner)).in_table("outbox_stream")
}

statement! {
    /// Leases the stream of one endpoint that is due longest.
    Probe { first_try: Instant => SqlInstant, lease_until: Instant => SqlInstant, endpoint: Id => SqlId, now: Instant => SqlInstant, }
    postgres "UPDATE outbox_stream SET attempt = attempt + 1, first_try = coalesce(first_try, ?), due_at = ? \
        WHERE id = (SELECT id FROM outbox_stream WHERE endpoint_id = ? AND next_sequence <= last_sequence AND due_at <= ? \
            ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id";
    sqlite "UPDATE outbox_stream SET attempt = attempt + 1, first_try = coalesce(first_try, ?), due_at = ? \
        WHERE id = (SELECT id FROM outbox_stream WHERE endpoint_id = ? AND next_sequence <= last_sequence AND due_at <= ? \
            ORDER BY due_at LIMIT 1) RETURNING id";
    returns BigInt;
}

/// Leases the stream of one endpoint that is due longest and says which, if any.
pub(super) fn probe(
    connection: &mut AnyConnection,
    endpoint: EndpointId,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<i64>, Fault> {
    let probe = Probe {
        first_try: Instant(now),
        lease_until: Instant(lease_until),
        endpoint: Id(endpoint.uuid()),
        now: Instant(now),
    };
    on_each!(connection, inner => probe.load(inner)).in_table("outbox_stream")
}

statement! {
    /// The earliest time at which any stream is due: one look into the index per endpoint that has anything to do.
    NextDue {}
    postgres NEXT_DUE;
    sqlite NEXT_DUE;
    returns Nullable<SqlInstant>;
}

const NEXT_DUE: &str = "WITH RECURSIVE pending (endpoint_id) AS ( \
        SELECT * FROM (SELECT endpoint_id FROM outbox_stream WHERE next_sequence <= last_sequence \
            ORDER BY endpoint_id LIMIT 1) AS one \
        UNION ALL \
        SELECT (SELECT s.endpoint_id FROM outbox_stream AS s WHERE s.next_sequence <= s.last_sequence \
            AND s.endpoint_id > p.endpoint_id ORDER BY s.endpoint_id LIMIT 1) \
        FROM pending AS p WHERE p.endpoint_id IS NOT NULL \
    ) SELECT min((SELECT s.due_at FROM outbox_stream AS s \
        WHERE s.endpoint_id = p.endpoint_id AND s.next_sequence <= s.last_sequence ORDER BY s.due_at LIMIT 1)) \
    FROM pending AS p";

/// When the next stream is due; `None` when nothing waits.
pub(super) fn next_due(connection: &mut AnyConnection) -> Result<Option<Timestamp>, Fault> {
    let due: Option<Instant> = on_each!(connection, inner => NextDue {}.get_result(inner)).in_table("outbox_stream")?;
    Ok(due.map(|due| due.0))
}
