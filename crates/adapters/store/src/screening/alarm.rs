use diesel::prelude::*;
use dropin_ports::{ALARM_LASTS, NewEvent};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::Enqueued;
use dropin_store_runtime::{on_each, statement};

use crate::outbox::enqueue_events;

statement! {
    /// Notes that an alarm that lasts was seen again.
    SeeAgain { at: Instant => SqlInstant, merchant: Id => SqlId, lasting_since: Instant => SqlInstant, }
    both "UPDATE screening_alarm SET seen_at = CASE WHEN seen_at < $1 THEN $1 ELSE seen_at END WHERE merchant_id = $2 AND seen_at > $3";
}

statement! {
    /// Raises an alarm where none lasts.
    Raise { merchant: Id => SqlId, at: Instant => SqlInstant, lasting_since: Instant => SqlInstant, }
    both "INSERT INTO screening_alarm (merchant_id, raised_at, seen_at) \
        VALUES ($1, $2, $2) \
        ON CONFLICT (merchant_id) DO UPDATE \
        SET raised_at = excluded.raised_at, seen_at = excluded.seen_at WHERE screening_alarm.seen_at <= $3";
}

/// Notes that an alarm was seen, and enqueues `event` where it was raised by that. Of programs that see it at once one raises it.
pub(super) fn note(connection: &mut AnyConnection, event: &NewEvent) -> Result<Enqueued, Fault> {
    let (merchant, at) = (Id(event.merchant_id.uuid()), Instant(event.at));
    let lasting_since = Instant(event.at.minus(ALARM_LASTS));
    let again = SeeAgain { at, merchant, lasting_since };
    if on_each!(connection, inner => again.execute(inner)).in_table("screening_alarm")? != 0 {
        return Ok(Enqueued(false));
    }
    let raise = Raise { merchant, at, lasting_since };
    if on_each!(connection, inner => raise.execute(inner)).in_table("screening_alarm")? == 0 {
        return Ok(Enqueued(false));
    }
    enqueue_events(connection, std::slice::from_ref(event))
}
