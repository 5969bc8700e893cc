//! What an endpoint that is passed over never got in time.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer};
use dropin_kernel::{EndpointId, Timestamp};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::attempt::{AttemptUpdate, StreamChange};

statement! {
    Overdue {
        endpoint: Id => SqlId,
        now: Instant => SqlInstant,
        give_up_before: Instant => SqlInstant,
        limit: i64 => BigInt,
    }
    both include_str!("find_overdue.sql");
    returns (BigInt, BigInt, Integer);
}

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
        give_up_before: Instant(give_up_before),
        limit: i64::from(limit),
    };
    let rows: Vec<(i64, i64, i32)> = on_each!(connection, inner => overdue.load(inner)).in_table("outbox_stream")?;
    Ok(rows.into_iter().map(|key| AttemptUpdate { key, change: StreamChange::Parked }).collect())
}
