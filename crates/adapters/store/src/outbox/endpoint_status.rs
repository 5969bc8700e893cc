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
    ReadStatus { most: i64 => BigInt, merchant: Id => SqlId, }
    both include_str!("endpoint_status.sql");
    returns (SqlId, BigInt, Nullable<SqlInstant>, BigInt);
}

statement! {
    Tried { endpoint: Id => SqlId, look_at: i64 => BigInt, streams: i64 => BigInt, }
    both include_str!("endpoint_tries.sql");
    returns (SqlInstant, Nullable<Integer>, Nullable<Text>);
}

/// Payments whose tries are looked at.
const MAX_INSPECTED_STREAMS: i64 = 100;

pub(super) fn of(connection: &mut AnyConnection, merchant: MerchantId) -> Result<Vec<EndpointStatus>, Fault> {
    let most = i64::from(STATUS_COUNT_LIMIT);
    let read = ReadStatus { most, merchant: Id(merchant.uuid()) };
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
    let tried = Tried { endpoint, look_at, streams: MAX_INSPECTED_STREAMS };
    let rows: Vec<(Instant, Option<i32>, Option<String>)> =
        on_each!(connection, inner => tried.load(inner)).in_table("outbox_attempt")?;
    // The newest is chosen here: a database that has to sort may think of going through all tries in the order of time instead.
    let Some((started_at, status, why)) = rows.into_iter().max_by_key(|(started_at, ..)| started_at.0) else {
        return Ok(None);
    };
    let status = status.map(u16::try_from).transpose().map_err(|_beyond| corrupt("outbox_attempt", "a status"))?;
    Ok(Some(LastAttempt { started_at: started_at.0, status, why }))
}
