//! The delivery status of the endpoints of one merchant, for the operator and the merchant.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use dropin_kernel::{EndpointId, MerchantId};
use dropin_ports::{EndpointStatus, LastAttempt, STATUS_COUNT_LIMIT};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

statement! {
    /// The endpoints with what waits for each, since when it is due, and what is parked: each found by its index, and counted so far only.
    ReadStatus { waiting_most: i64 => BigInt, parked_most: i64 => BigInt, merchant: Id => SqlId, }
    postgres READ_STATUS;
    sqlite READ_STATUS;
    returns (SqlId, BigInt, Nullable<SqlInstant>, BigInt);
}

/// Streams of one kind that are not idle, in the order of the index.
macro_rules! waiting {
    ($columns:literal, $endpoint:literal, $replayed:literal, $order:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM outbox_stream AS s WHERE s.endpoint_id = ",
            $endpoint,
            " AND s.next_sequence <= s.last_sequence \
            AND s.replayed = ",
            $replayed,
            " ORDER BY s.due_at",
            $order
        )
    };
}

const READ_STATUS: &str = concat!(
    "SELECT ep.id, \
        (SELECT count(*) FROM (SELECT 1 FROM outbox_stream AS s WHERE s.endpoint_id = ep.id AND s.next_sequence <= s.last_sequence \
            LIMIT ?) AS waiting), \
        (SELECT min(due_at) FROM (SELECT (",
    waiting!("s.due_at", "ep.id", "FALSE", " LIMIT 1"),
    ") AS due_at UNION ALL SELECT (",
    waiting!("s.due_at", "ep.id", "TRUE", " LIMIT 1"),
    ")) AS first), \
        (SELECT count(*) FROM (SELECT 1 FROM outbox_parked AS p WHERE p.endpoint_id = ep.id LIMIT ?) AS parked) \
    FROM endpoint AS ep WHERE ep.merchant_id = ? AND ep.removed_at IS NULL ORDER BY ep.id"
);

statement! {
    /// The tries at what waits. What was tried is due again after a wait, and so stands last of its kind. Tries are found by their event: they have
    /// no index by endpoint.
    Tried {
        endpoint: Id => SqlId,
        look_at: i64 => BigInt,
        endpoint_again: Id => SqlId,
        look_at_again: i64 => BigInt,
        streams: i64 => BigInt,
        of_endpoint: Id => SqlId,
    }
    postgres TRIED;
    sqlite TRIED;
    returns (SqlInstant, Nullable<Integer>, Nullable<Text>);
}

const TRIED: &str = concat!(
    "SELECT a.started_at, a.status, a.why FROM (SELECT * FROM (SELECT * FROM (",
    waiting!("s.payment_id, s.next_sequence, s.first_try, s.due_at", "?", "FALSE", " DESC LIMIT ?"),
    ") AS new UNION ALL SELECT * FROM (",
    waiting!("s.payment_id, s.next_sequence, s.first_try, s.due_at", "?", "TRUE", " DESC LIMIT ?"),
    ") AS asked_for) AS waiting WHERE waiting.first_try IS NOT NULL ORDER BY waiting.due_at DESC LIMIT ?) AS tried \
    CROSS JOIN outbox_event AS e CROSS JOIN outbox_attempt AS a \
    WHERE e.payment_id = tried.payment_id AND e.sequence = tried.next_sequence AND a.event_id = e.event_id AND a.endpoint_id = ?"
);

/// Payments whose tries are looked at.
const MAX_INSPECTED_STREAMS: i64 = 100;

pub(super) fn of(connection: &mut AnyConnection, merchant: MerchantId) -> Result<Vec<EndpointStatus>, Fault> {
    let most = i64::from(STATUS_COUNT_LIMIT);
    let read = ReadStatus { waiting_most: most, parked_most: most, merchant: Id(merchant.uuid()) };
    let rows: Vec<(Id, i64, Option<Instant>, i64)> =
        on_each!(connection, inner => read.load(inner)).in_table("outbox_stream")?;
    let number = |count: i64| u32::try_from(count).map_err(|_beyond| corrupt("outbox_stream", "a count"));
    let status_of = |(endpoint, waiting, oldest_due, parked): (Id, i64, Option<Instant>, i64)| {
        Ok(EndpointStatus {
            endpoint_id: EndpointId::new(endpoint.0),
            waiting: number(waiting)?,
            oldest_due: oldest_due.map(|due| due.0),
            parked: number(parked)?,
            last_attempt: if waiting == 0 { None } else { last_attempt(connection, endpoint)? },
        })
    };
    rows.into_iter().map(status_of).collect()
}

fn last_attempt(connection: &mut AnyConnection, endpoint: Id) -> Result<Option<LastAttempt>, Fault> {
    let look_at = i64::from(STATUS_COUNT_LIMIT);
    let tried = Tried {
        endpoint,
        look_at,
        endpoint_again: endpoint,
        look_at_again: look_at,
        streams: MAX_INSPECTED_STREAMS,
        of_endpoint: endpoint,
    };
    let rows: Vec<(Instant, Option<i32>, Option<String>)> =
        on_each!(connection, inner => tried.load(inner)).in_table("outbox_attempt")?;
    // The newest is chosen here: a database that has to sort may think of going through all tries in the order of time instead.
    let Some((started_at, status, why)) = rows.into_iter().max_by_key(|(started_at, ..)| started_at.0) else {
        return Ok(None);
    };
    let status = status.map(u16::try_from).transpose().map_err(|_beyond| corrupt("outbox_attempt", "a status"))?;
    Ok(Some(LastAttempt { started_at: started_at.0, status, why }))
}
