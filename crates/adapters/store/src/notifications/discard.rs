//! What is parked and need not arrive any more.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::sql_types::Text;
use dropin_kernel::Timestamp;
use dropin_ports::DiscardRequest;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant, listed};
use dropin_store_runtime::{on_each, statement};

statement! {
    /// Takes events of a list off what is parked for an endpoint. First of all: whoever is about to send one again deletes it too, and only one can.
    TakeOff { endpoint: Id => SqlId, events: String => Text, }
    postgres "DELETE FROM outbox_parked WHERE endpoint_id = $1 AND event_id = ANY (string_to_array($2, ',')::uuid[]) RETURNING event_id";
    sqlite "DELETE FROM outbox_parked \
        WHERE endpoint_id = $1 AND event_id IN (SELECT value FROM json_each('[\"' || replace($2, ',', '\",\"') || '\"]')) \
        RETURNING event_id";
    returns SqlId;
}

statement! {
    /// Records who discarded the events.
    RecordDiscarded { endpoint: Id => SqlId, at: Instant => SqlInstant, by: String => Text, events: String => Text, }
    postgres "INSERT INTO outbox_discarded (event_id, endpoint_id, discarded_at, discarded_by) \
        SELECT event_id, $1, $2, $3 FROM outbox_event \
        WHERE event_id = ANY (string_to_array($4, ',')::uuid[]) \
        ON CONFLICT (event_id, endpoint_id) DO UPDATE \
        SET discarded_at = excluded.discarded_at, discarded_by = excluded.discarded_by";
    sqlite "INSERT INTO outbox_discarded (event_id, endpoint_id, discarded_at, discarded_by) \
        SELECT event_id, $1, $2, $3 FROM outbox_event \
        WHERE event_id IN (SELECT value FROM json_each('[\"' || replace($4, ',', '\",\"') || '\"]')) \
        ON CONFLICT (event_id, endpoint_id) DO UPDATE \
        SET discarded_at = excluded.discarded_at, discarded_by = excluded.discarded_by";
}

/// How many of them were parked, and stand as discarded now.
pub(super) fn discard(connection: &mut AnyConnection, asked: &DiscardRequest, now: Timestamp) -> Result<u32, Fault> {
    let mut by_endpoint: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    for (event, endpoint) in &asked.items {
        by_endpoint.entry(Id(endpoint.uuid())).or_default().push(Id(event.uuid()));
    }
    let mut count = 0;
    for (endpoint, events) in by_endpoint {
        let take_off = TakeOff { endpoint, events: listed(events) };
        let taken: Vec<Id> = on_each!(connection, inner => take_off.load(inner)).in_table("outbox_parked")?;
        count += taken.len();
        if !taken.is_empty() {
            let record = RecordDiscarded { endpoint, at: Instant(now), by: asked.by.clone(), events: listed(taken) };
            on_each!(connection, inner => record.execute(inner))?;
        }
    }
    u32::try_from(count).map_err(|_beyond| corrupt("outbox_parked", "more rows than can be counted"))
}
