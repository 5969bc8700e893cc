//! What is parked and need not arrive any more.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::sql_types::Text;
use dropin_kernel::Timestamp;
use dropin_ports::DiscardRequest;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::ids;

statement! {
    /// Takes events of a list off what is parked for an endpoint. First of all: whoever is about to send one again deletes it too, and only one can.
    TakeOff { endpoint: Id => SqlId, events: String => Text, }
    postgres concat!("DELETE FROM outbox_parked WHERE endpoint_id = ? AND event_id ", listed!(postgres), " RETURNING event_id");
    sqlite concat!("DELETE FROM outbox_parked WHERE endpoint_id = ? AND event_id ", listed!(sqlite), " RETURNING event_id");
    returns SqlId;
}

macro_rules! record_discarded {
    () => {
        "INSERT INTO outbox_discarded (event_id, endpoint_id, discarded_at, discarded_by) \
            SELECT event_id, ?, ?, ? FROM outbox_event WHERE event_id "
    };
}

macro_rules! instead {
    () => {
        " ON CONFLICT (event_id, endpoint_id) DO UPDATE SET discarded_at = excluded.discarded_at, discarded_by = excluded.discarded_by"
    };
}
statement! {
    /// Records who discarded the events.
    RecordDiscarded { endpoint: Id => SqlId, at: Instant => SqlInstant, by: String => Text, events: String => Text, }
    postgres concat!(record_discarded!(), listed!(postgres), instead!());
    sqlite concat!(record_discarded!(), listed!(sqlite), instead!());
}

/// How many of them were parked, and stand as discarded now.
pub(super) fn discard(connection: &mut AnyConnection, asked: &DiscardRequest, now: Timestamp) -> Result<u32, Fault> {
    let mut by_endpoint: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    for (event, endpoint) in &asked.items {
        by_endpoint.entry(Id(endpoint.uuid())).or_default().push(Id(event.uuid()));
    }
    let mut count = 0;
    for (endpoint, events) in by_endpoint {
        let take_off = TakeOff { endpoint, events: ids(events) };
        let taken: Vec<Id> = on_each!(connection, inner => take_off.load(inner)).in_table("outbox_parked")?;
        count += taken.len();
        if !taken.is_empty() {
            let record = RecordDiscarded { endpoint, at: Instant(now), by: asked.by.clone(), events: ids(taken) };
            on_each!(connection, inner => record.execute(inner))?;
        }
    }
    u32::try_from(count).map_err(|_beyond| corrupt("outbox_parked", "more rows than can be counted"))
}
