//! Numbers of the notification queue, for metrics.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use dropin_kernel::{EndpointId, MerchantId};
use dropin_ports::{Backlog, BacklogStore, EndpointBacklog, EndpointStatus, StoreError};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::endpoint_status;
use crate::store::Store;

statement! {
    OldestDue {}
    postgres include_str!("oldest_due.postgres.sql");
    sqlite include_str!("oldest_due.sqlite.sql");
    returns (SqlId, SqlInstant);
}

statement! {
    CountWaiting {}
    both include_str!("count_waiting.sql");
    returns (SqlId, BigInt);
}

statement! {
    /// How many are parked, and how many are being sent again: at the front of a stream of their own, or behind another. Counted up to a million.
    CountOthers {}
    both "SELECT (SELECT count(*) FROM (SELECT 1 FROM outbox_parked LIMIT 1000000) AS parked), ( \
            SELECT count(*) FROM (SELECT 1 FROM outbox_stream WHERE detached AND replayed LIMIT 1000000) AS asked_for \
        ) + (SELECT count(*) FROM (SELECT 1 FROM outbox_replay_rest LIMIT 1000000) AS behind)";
    returns (BigInt, BigInt);
}

#[async_trait]
impl BacklogStore for Store {
    async fn find_backlog(&self) -> Result<Backlog, StoreError> {
        self.read(find).await
    }

    async fn endpoint_statuses(&self, merchant: MerchantId) -> Result<Vec<EndpointStatus>, StoreError> {
        self.read(move |connection| endpoint_status::of(connection, merchant)).await
    }
}

fn find(connection: &mut AnyConnection) -> Result<Backlog, Fault> {
    let oldest: Vec<(Id, Instant)> =
        on_each!(connection, inner => OldestDue {}.load(inner)).in_table("outbox_stream")?;
    let waiting: Vec<(Id, i64)> =
        on_each!(connection, inner => CountWaiting {}.load(inner)).in_table("outbox_stream")?;
    let (parked, replaying): (i64, i64) =
        on_each!(connection, inner => CountOthers {}.get_result(inner)).in_table("outbox_parked")?;
    let waiting: HashMap<_, _> = waiting.into_iter().map(|(endpoint, count)| (endpoint.0, count)).collect();
    let number = |count: i64| u64::try_from(count).map_err(|_negative| corrupt("outbox_stream", "a negative count"));
    let backlog = |(endpoint, due): (Id, Instant)| {
        Ok(EndpointBacklog {
            endpoint_id: EndpointId::new(endpoint.0),
            // On PostgreSQL the two are not of one moment, and beyond a million not all are counted.
            waiting: number(waiting.get(&endpoint.0).copied().unwrap_or(1))?,
            oldest_due: due.0,
        })
    };
    Ok(Backlog {
        endpoints: oldest.into_iter().map(backlog).collect::<Result<_, Fault>>()?,
        parked: number(parked)?,
        replaying: number(replaying)?,
    })
}
