//! One notification with all that is kept about it.

use std::time::Duration;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use dropin_kernel::{EndpointId, EventId};
use dropin_ports::{NotificationDetails, PastAttempt};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::list::EventRow;
use super::status;
use crate::schema::outbox_event;

statement! {
    /// What came of the tries at an event, oldest first.
    Tries { event: Id => SqlId, }
    both "SELECT endpoint_id, attempt, started_at, took, status, why, answer FROM outbox_attempt \
        WHERE event_id = $1 ORDER BY started_at, attempt, endpoint_id";
    returns (SqlId, Integer, SqlInstant, BigInt, Nullable<Integer>, Nullable<Text>, Nullable<Binary>);
}

#[derive(Queryable)]
struct TryRow {
    endpoint_id: Id,
    attempt: i32,
    started_at: Instant,
    took: i64,
    status: Option<i32>,
    why: Option<String>,
    answer: Option<Vec<u8>>,
}

impl TryRow {
    fn restore(self) -> Result<PastAttempt, Fault> {
        let damaged = |column: &str| corrupt("outbox_attempt", column);
        Ok(PastAttempt {
            endpoint_id: EndpointId::new(self.endpoint_id.0),
            attempt: u32::try_from(self.attempt).map_err(|_negative| damaged("attempt"))?,
            started_at: self.started_at.0,
            took: Duration::from_micros(u64::try_from(self.took).map_err(|_negative| damaged("took"))?),
            status: self.status.map(u16::try_from).transpose().map_err(|_beyond| damaged("status"))?,
            why: self.why,
            answer: self.answer.unwrap_or_default(),
        })
    }
}

pub(super) fn find(connection: &mut AnyConnection, id: EventId) -> Result<Option<NotificationDetails>, Fault> {
    let event = Id(id.uuid());
    let found: Option<(EventRow, Vec<u8>)> = outbox_event::table
        .filter(outbox_event::event_id.eq(event))
        .select((EventRow::as_select(), outbox_event::body))
        .first(connection)
        .optional()
        .in_table("outbox_event")?;
    let Some((row, body)) = found else { return Ok(None) };
    let mut statuses = status::of(connection, [event])?;
    let tries: Vec<TryRow> = on_each!(connection, inner => Tries { event }.load(inner)).in_table("outbox_attempt")?;
    Ok(Some(NotificationDetails {
        notification: row.with(statuses.remove(&event).unwrap_or_default()),
        body,
        tries: tries.into_iter().map(TryRow::restore).collect::<Result<_, _>>()?,
    }))
}
