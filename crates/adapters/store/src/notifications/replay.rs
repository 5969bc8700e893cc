//! Queueing again. Whoever does so holds the endpoint against others who do (payments and deliveries pass), then the events against being deleted,
//! then the streams that it may lengthen, in the order of their ids.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use dropin_kernel::{EndpointId, Timestamp};
use dropin_notification::EventFilter;
use dropin_ports::{DeliveryState, DeliveryStatus, ReplayCounts, ReplayItem, ReplayRequest};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant, listed};
use dropin_store_runtime::worker_pool::Enqueued;
use dropin_store_runtime::{on_each, statement};

use super::status;
use crate::access::written;
use crate::outbox::{NewStream, StreamColumns, StreamRow, lets_others_go};
use crate::schema::{outbox_discarded, outbox_event, outbox_parked, outbox_replay_rest};

/// An event, with its sequence in its payment.
struct PlacedEvent {
    event: Id,
    payment: Id,
    sequence: i64,
    event_type: String,
}

/// A stream at the endpoint that was asked for before and is still near its beginning.
struct OpenStream {
    id: i64,
    at: i64,
}

pub(super) fn replay(
    connection: &mut AnyConnection,
    to: EndpointId,
    items: &[ReplayItem],
    asked: &ReplayRequest,
    now: Timestamp,
) -> Result<(ReplayCounts, Enqueued), Fault> {
    let mut outcome = ReplayCounts::default();
    let receiver = Id(to.uuid());
    let Some((owner, filter)) = hold_endpoint(connection, receiver)? else {
        outcome.refused = as_count(items.len());
        return Ok((outcome, Enqueued(false)));
    };
    let mut wanted: HashMap<Id, &ReplayItem> = items.iter().map(|item| (Id(item.event.uuid()), item)).collect();
    let (mine, others) = hold_events(connection, wanted.keys().copied().collect(), owner)?;
    outcome.refused = others;
    let open = hold_streams(connection, receiver, &mine)?;
    // Read behind the locks: nobody else queues these here from now on.
    let statuses = status::of(connection, mine.iter().map(|placed| placed.event))?;
    let mut chosen = Vec::with_capacity(mine.len());
    let gone = wanted.len() - mine.len();
    for placed in mine {
        let of_event = statuses.get(&placed.event).map_or(&[][..], Vec::as_slice);
        let Some(item) = wanted.remove(&placed.event) else { continue };
        if state_at(of_event, to) == Some(DeliveryState::Pending) {
            let hurried = item.state.is_none() && hurry(connection, receiver, &placed, now)?;
            *(if hurried { &mut outcome.hurried } else { &mut outcome.waiting }) += 1;
        } else if item.state.is_some() && state_at(of_event, item.from) != item.state {
            outcome.changed += 1;
        } else if filter.as_ref().is_some_and(|filter| !filter.admits(&placed.event_type)) {
            // It would be passed over as soon as its turn came.
            outcome.unwanted += 1;
        } else {
            chosen.push((placed, Id(item.from.uuid())));
        }
    }
    outcome.changed += as_count(gone).saturating_sub(others);
    let mut is_due = 0 < outcome.hurried;
    if !chosen.is_empty() {
        outcome.queued = as_count(chosen.len());
        if !asked.dry_run {
            is_due |= queue(connection, receiver, chosen, open, asked, now)?;
        }
    }
    Ok((outcome, Enqueued(is_due)))
}

fn state_at(statuses: &[DeliveryStatus], endpoint: EndpointId) -> Option<DeliveryState> {
    statuses.iter().find(|status| status.endpoint_id == endpoint).map(|status| status.state)
}

fn as_count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

statement! {
    /// Whose endpoint it is, if it is still there. Held so that payments, which only refer to it, go on.
    HoldEndpoint { endpoint: Id => SqlId, }
    postgres "SELECT merchant_id, event_types FROM endpoint WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE";
    sqlite "SELECT merchant_id, event_types FROM endpoint WHERE id = $1 AND removed_at IS NULL";
    returns (SqlId, Nullable<Text>);
}

/// Whose endpoint it is and what it wants; `None` when it was removed or never was.
fn hold_endpoint(connection: &mut AnyConnection, endpoint: Id) -> Result<Option<(Id, Option<EventFilter>)>, Fault> {
    let hold = HoldEndpoint { endpoint };
    let found: Option<(Id, Option<String>)> =
        on_each!(connection, inner => hold.get_result(inner).optional()).in_table("endpoint")?;
    let Some((owner, event_types)) = found else { return Ok(None) };
    Ok(Some((owner, written("endpoint", event_types, "event_types")?)))
}

/// The merchant's events out of those, in the order of payments and their numbers, kept from being deleted; and how many are of others.
fn hold_events(connection: &mut AnyConnection, events: Vec<Id>, owner: Id) -> Result<(Vec<PlacedEvent>, u32), Fault> {
    let query = outbox_event::table
        .filter(outbox_event::event_id.eq_any(events))
        .select((
            outbox_event::event_id,
            outbox_event::payment_id,
            outbox_event::sequence,
            outbox_event::event_type,
            outbox_event::merchant_id,
        ))
        .order((outbox_event::payment_id, outbox_event::sequence));
    let rows: Vec<(Id, Id, i64, String, Id)> = match connection {
        AnyConnection::Postgres(connection) => query.for_key_share().load(connection),
        AnyConnection::Sqlite(connection) => query.load(connection),
    }
    .in_table("outbox_event")?;
    let all = rows.len();
    let mine: Vec<_> = rows
        .into_iter()
        .filter(|(.., merchant)| *merchant == owner)
        .map(|(event, payment, sequence, event_type, _)| PlacedEvent { event, payment, sequence, event_type })
        .collect();
    let others = as_count(all - mine.len());
    Ok((mine, others))
}

statement! {
    HoldStreams { endpoint: Id => SqlId, payments: String => Text, }
    postgres include_str!("hold_streams.postgres.sql");
    sqlite include_str!("hold_streams.sqlite.sql");
    returns (StreamColumns, SqlInstant);
}

/// By payment the streams that later events of it can follow: not one that fails for so long that it lets others go before. Where events wait behind it
/// nothing goes before: they would be overtaken, though they never failed.
fn hold_streams(
    connection: &mut AnyConnection,
    endpoint: Id,
    events: &[PlacedEvent],
) -> Result<HashMap<Id, Vec<OpenStream>>, Fault> {
    let payments: HashSet<Id> = events.iter().map(|placed| placed.payment).collect();
    if payments.is_empty() {
        return Ok(HashMap::new());
    }
    let hold = HoldStreams { endpoint, payments: listed(payments) };
    let rows: Vec<(StreamRow, Instant)> = on_each!(connection, inner => hold.load(inner)).in_table("outbox_stream")?;
    let mut open: HashMap<Id, Vec<OpenStream>> = HashMap::new();
    for (stream, due_at) in rows {
        if !lets_others_go(connection, &stream, due_at.0)? || has_rest(connection, stream.id)? {
            open.entry(stream.payment_id).or_default().push(OpenStream { id: stream.id, at: stream.next_sequence });
        }
    }
    Ok(open)
}

/// Whether anything waits behind the current event of a stream. Asked behind the lock: whoever had it may have set those free.
fn has_rest(connection: &mut AnyConnection, stream: i64) -> Result<bool, Fault> {
    let first: Option<i64> = outbox_replay_rest::table
        .filter(outbox_replay_rest::stream_id.eq(stream))
        .select(outbox_replay_rest::sequence)
        .first(connection)
        .optional()
        .in_table("outbox_replay_rest")?;
    Ok(first.is_some())
}

statement! {
    Hurry {
        now: Instant => SqlInstant,
        endpoint: Id => SqlId,
        payment: Id => SqlId,
        sequence: i64 => BigInt,
    }
    postgres include_str!("hurry.postgres.sql");
    sqlite include_str!("hurry.sqlite.sql");
}

/// Whether the event waited for its next try, which is due at once now. One that waits for the one before goes on doing so.
fn hurry(connection: &mut AnyConnection, endpoint: Id, placed: &PlacedEvent, now: Timestamp) -> Result<bool, Fault> {
    let (payment, sequence) = (placed.payment, placed.sequence);
    let hurry = Hurry { now: Instant(now), endpoint, payment, sequence };
    Ok(0 < on_each!(connection, inner => hurry.execute(inner))?)
}

/// Queues what was chosen, in the order of payments and their numbers, each with the endpoint where it may be parked. Whether the first is due at once.
fn queue(
    connection: &mut AnyConnection,
    to: Id,
    chosen: Vec<(PlacedEvent, Id)>,
    open: HashMap<Id, Vec<OpenStream>>,
    asked: &ReplayRequest,
    now: Timestamp,
) -> Result<bool, Fault> {
    let count = chosen.len();
    let begins = match asked.gap {
        Some(_) => busy_until(connection, to)?.map_or(now, |end| end.max(now)),
        None => now,
    };
    let gap = asked.gap.unwrap_or(Duration::ZERO);
    let after = |events: usize| begins.plus(gap.saturating_mul(as_count(events)));
    let mut by_payment: BTreeMap<Id, Vec<i64>> = BTreeMap::new();
    // Payments come in the order of their first event's id, that is of time.
    let mut first: Vec<(Id, Id)> = Vec::new();
    take_back(connection, to, &chosen)?;
    for (placed, _) in &chosen {
        by_payment.entry(placed.payment).or_insert_with(|| {
            first.push((placed.event, placed.payment));
            Vec::new()
        });
        if let Some(sequences) = by_payment.get_mut(&placed.payment) {
            sequences.push(placed.sequence);
        }
    }
    first.sort_unstable();
    let mut queued = 0;
    for (_, payment) in first {
        let Some(sequences) = by_payment.remove(&payment) else { continue };
        let due_at = after(queued);
        queued += sequences.len();
        follow(connection, to, payment, &sequences, open.get(&payment).map_or(&[][..], Vec::as_slice), due_at)?;
    }
    record_request(connection, to, asked, as_count(count), after(count), now)?;
    Ok(begins <= now)
}

/// Puts a payment's events into one stream: behind what waits there already, if that comes before them; of several the one that comes last.
fn follow(
    connection: &mut AnyConnection,
    to: Id,
    payment: Id,
    sequences: &[i64],
    open: &[OpenStream],
    due_at: Timestamp,
) -> Result<(), Fault> {
    let Some((first, others)) = sequences.split_first() else { return Ok(()) };
    let before = open.iter().filter(|open| open.at < *first).max_by_key(|open| open.at);
    let (stream, rest) = match before {
        Some(open) => (open.id, sequences),
        None => (NewStream::asked_for(to, payment, *first, due_at).begin(connection)?, others),
    };
    for sequence in rest {
        diesel::insert_into(outbox_replay_rest::table)
            .values((outbox_replay_rest::stream_id.eq(stream), outbox_replay_rest::sequence.eq(*sequence)))
            .execute(connection)?;
    }
    Ok(())
}

/// They are not parked any more, nor discarded: neither where they come from nor where they go.
fn take_back(connection: &mut AnyConnection, to: Id, chosen: &[(PlacedEvent, Id)]) -> Result<(), Fault> {
    let mut by_origin: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    for (placed, from) in chosen {
        by_origin.entry(*from).or_default().push(placed.event);
    }
    for (from, events) in by_origin {
        let endpoints = vec![from, to];
        let parked = outbox_parked::table.filter(outbox_parked::endpoint_id.eq_any(endpoints.clone()));
        diesel::delete(parked.filter(outbox_parked::event_id.eq_any(events.clone()))).execute(connection)?;
        let discarded = outbox_discarded::table.filter(outbox_discarded::endpoint_id.eq_any(endpoints));
        diesel::delete(discarded.filter(outbox_discarded::event_id.eq_any(events))).execute(connection)?;
    }
    Ok(())
}

statement! {
    /// When the last is due of what was asked for before.
    BusyUntil { endpoint: Id => SqlId, }
    both "SELECT ends_at FROM outbox_replay WHERE endpoint_id = $1 ORDER BY ends_at DESC LIMIT 1";
    returns SqlInstant;
}

fn busy_until(connection: &mut AnyConnection, endpoint: Id) -> Result<Option<Timestamp>, Fault> {
    let end: Option<Instant> =
        on_each!(connection, inner => BusyUntil { endpoint }.get_result(inner).optional()).in_table("outbox_replay")?;
    Ok(end.map(|end| end.0))
}

statement! {
    /// Records the replay request, or adds the next step of it.
    RecordReplay {
        id: Id => SqlId,
        endpoint: Id => SqlId,
        asked_at: Instant => SqlInstant,
        asked_by: String => Text,
        wanted: String => Text,
        events: i64 => BigInt,
        ends_at: Instant => SqlInstant,
    }
    both "INSERT INTO outbox_replay (id, endpoint_id, asked_at, asked_by, wanted, events, ends_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) \
        ON CONFLICT (id, endpoint_id) DO UPDATE \
        SET events = outbox_replay.events + excluded.events, ends_at = excluded.ends_at";
}

fn record_request(
    connection: &mut AnyConnection,
    to: Id,
    asked: &ReplayRequest,
    events: u32,
    ends_at: Timestamp,
    now: Timestamp,
) -> Result<(), Fault> {
    let record = RecordReplay {
        id: Id(asked.id),
        endpoint: to,
        asked_at: Instant(now),
        asked_by: asked.by.clone(),
        wanted: asked.wanted.clone(),
        events: i64::from(events),
        ends_at: Instant(ends_at),
    };
    on_each!(connection, inner => record.execute(inner))?;
    Ok(())
}
