//! The status of notifications at the endpoints of their merchant.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text};
use dropin_kernel::EndpointId;
use dropin_notification::EventFilter;
use dropin_ports::{DeliveryState, DeliveryStatus};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant, listed};
use dropin_store_runtime::{on_each, statement};

use crate::access::written;

statement! {
    ReadStatus { events: String => Text, }
    postgres include_str!("read_status.postgres.sql");
    sqlite include_str!("read_status.sqlite.sql");
    returns (
        (SqlId, Text, BigInt, SqlId, Bool, Bool, Nullable<Text>),
        (Nullable<BigInt>, Nullable<BigInt>, Nullable<Integer>, Nullable<SqlInstant>),
        (Nullable<Integer>, Nullable<SqlInstant>, Bool),
        (Nullable<Integer>, Nullable<SqlInstant>, Bool, Bool, BigInt, Nullable<SqlInstant>),
    );
}

/// One event at one endpoint.
#[derive(Queryable)]
struct Row {
    who: Who,
    main: Main,
    alone: Alone,
    kept: Kept,
}

#[derive(Queryable)]
struct Who {
    event_id: Id,
    event_type: String,
    sequence: i64,
    endpoint_id: Id,
    removed: bool,
    /// Whether the endpoint was removed after the event had happened.
    removed_since: bool,
    event_types: Option<String>,
}

/// The payment's stream.
#[derive(Queryable)]
struct Main {
    next_sequence: Option<i64>,
    last_sequence: Option<i64>,
    tries: Option<i32>,
    due_at: Option<Instant>,
}

/// A stream of the event's own, or one that has to come to it.
#[derive(Queryable)]
struct Alone {
    tries: Option<i32>,
    due_at: Option<Instant>,
    behind: bool,
}

#[derive(Queryable)]
struct Kept {
    parked_attempts: Option<i32>,
    parked_at: Option<Instant>,
    discarded: bool,
    /// Whether the event is younger than the oldest try of all that is kept, so that all tries at it are kept.
    tries_are_whole: bool,
    tries: i64,
    delivered_at: Option<Instant>,
}

/// The status of each event at the endpoints that it was enqueued for.
pub(super) fn of(
    connection: &mut AnyConnection,
    events: impl IntoIterator<Item = Id>,
) -> Result<HashMap<Id, Vec<DeliveryStatus>>, Fault> {
    let events = listed(events);
    let mut statuses: HashMap<Id, Vec<DeliveryStatus>> = HashMap::new();
    if events.is_empty() {
        return Ok(statuses);
    }
    let rows: Vec<Row> = on_each!(connection, inner => ReadStatus { events }.load(inner)).in_table("outbox_event")?;
    for row in rows {
        let of_event = statuses.entry(row.who.event_id).or_default();
        let Some(status) = row.status()? else { continue };
        // An endpoint can only come twice when two streams hold the event; the first says enough.
        if of_event.last().is_none_or(|last| last.endpoint_id != status.endpoint_id) {
            of_event.push(status);
        }
    }
    Ok(statuses)
}

impl Row {
    /// `None` when the event was never enqueued for the endpoint.
    fn status(self) -> Result<Option<DeliveryStatus>, Fault> {
        let Self { mut who, main, alone, kept } = self;
        let filter: Option<EventFilter> = written("endpoint", who.event_types.take(), "event_types")?;
        let wanted = filter.is_none_or(|filter| filter.admits(&who.event_type));
        let mut status = DeliveryStatus {
            endpoint_id: EndpointId::new(who.endpoint_id.0),
            removed: who.removed,
            wanted,
            state: DeliveryState::Pending,
            tries: 0,
            due_at: None,
            parked_at: None,
            delivered_at: kept.delivered_at.map(|at| at.0),
        };
        let waits =
            main.next_sequence.zip(main.last_sequence).filter(|(next, last)| next <= last).map(|(next, _)| next);
        if let Some(due_at) = alone.due_at {
            (status.tries, status.due_at) = (count(alone.tries)?, Some(due_at.0));
        } else if alone.behind {
            // It waits for the one before.
        } else if let Some(next) = waits.filter(|next| *next <= who.sequence) {
            if next == who.sequence {
                (status.tries, status.due_at) = (count(main.tries)?, main.due_at.map(|at| at.0));
            }
        } else if let Some(parked_at) = kept.parked_at {
            status.state = DeliveryState::Parked;
            (status.tries, status.parked_at) = (count(kept.parked_attempts)?, Some(parked_at.0));
        } else {
            let Some(state) = over(&who, &main, &kept, wanted) else { return Ok(None) };
            status.state = state;
            status.tries = u32::try_from(kept.tries).unwrap_or(u32::MAX);
        }
        Ok(Some(status))
    }
}

/// How a notification stands that nothing waits for; `None` when the endpoint is not known to have had to do with it.
fn over(who: &Who, main: &Main, kept: &Kept, wanted: bool) -> Option<DeliveryState> {
    let passed = main.next_sequence.is_some_and(|next| who.sequence < next);
    match (kept.delivered_at, kept.tries) {
        // It was parked last, even if it had arrived before; sent again it is not discarded any more.
        _ if kept.discarded => Some(DeliveryState::Discarded),
        (Some(_), _) => Some(DeliveryState::Delivered),
        (None, 1..) if who.removed => Some(DeliveryState::Moved),
        (None, 1..) => Some(DeliveryState::NotWanted),
        // Ids that are given in the order of time say that the endpoint came later than the event.
        _ if is_older(&who.event_id, &who.endpoint_id) => None,
        // With its endpoint, a stream on which something waits is removed, and what waited is parked. It is parked no more: it was sent elsewhere.
        _ if who.removed_since && main.next_sequence.is_none() && wanted => Some(DeliveryState::Moved),
        _ if who.removed_since && main.next_sequence.is_none() => Some(DeliveryState::NotWanted),
        _ if !passed => None,
        _ if wanted && !kept.tries_are_whole => Some(DeliveryState::Delivered),
        // A dead endpoint gets its notifications parked without a try.
        _ if wanted && who.removed => Some(DeliveryState::Moved),
        _ => Some(DeliveryState::NotWanted),
    }
}

/// Whether `one` was surely given before `other`.
fn is_older(one: &Id, other: &Id) -> bool {
    let are_ordered = [one, other].iter().all(|id| id.0.get_version_num() == 7);
    are_ordered && one < other
}

fn count(tries: Option<i32>) -> Result<u32, Fault> {
    u32::try_from(tries.unwrap_or(0)).map_err(|_negative| corrupt("outbox_stream", "tries"))
}
