//! Events that their endpoint does not want are passed over by the store itself.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::listed;
use dropin_store_runtime::{on_each, statement};

use super::attempt::{AttemptUpdate, StreamChange};
use super::delivery::Unwanted;

/// Most events that one read looks at.
const MAX_SCANNED_EVENTS: i64 = 4_096;

statement! {
    Behind { streams: String => Text, limit: i64 => BigInt, }
    postgres include_str!("find_behind.postgres.sql");
    sqlite include_str!("find_behind.sqlite.sql");
    returns (BigInt, BigInt, Text);
}

/// Where streams go on whose next events are not wanted: at the first that is, or behind all that were looked at.
pub(super) fn pass_over(connection: &mut AnyConnection, unwanted: &[Unwanted]) -> Result<Vec<AttemptUpdate>, Fault> {
    let behind = Behind { streams: listed(unwanted.iter().map(|one| one.key.0)), limit: MAX_SCANNED_EVENTS };
    let rows: Vec<(i64, i64, String)> = on_each!(connection, inner => behind.load(inner)).in_table("outbox_event")?;
    let mut types: HashMap<i64, HashMap<i64, String>> = HashMap::new();
    for (stream, sequence, event_type) in rows {
        types.entry(stream).or_default().insert(sequence, event_type);
    }
    let update = |Unwanted { key, filter }: &Unwanted| {
        let behind = types.get(&key.0);
        // An event that is missing is not passed over: whoever looks for it says so.
        let is_unwanted = |sequence: &i64| {
            behind.and_then(|behind| behind.get(sequence)).is_some_and(|event_type| !filter.admits(event_type))
        };
        let next = (key.1 + 1..).find(|sequence| !is_unwanted(sequence)).unwrap_or(i64::MAX);
        AttemptUpdate { key: *key, change: StreamChange::GoOn { next } }
    };
    Ok(unwanted.iter().map(update).collect())
}
