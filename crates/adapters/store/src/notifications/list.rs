//! Looking for notifications.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId};
use dropin_ports::{
    DeliveryState, DeliveryStatus, Notification, NotificationFilter, NotificationPage, NotificationQuery,
};
use dropin_store_runtime::connection::{AnyConnection, MultiBackend};
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId};
use dropin_store_runtime::{on_each, statement};

use super::status;
use crate::schema::{endpoint, outbox_event, outbox_parked, purchase_order};

/// Events that are looked through for one page, at most: so many times so many.
const MAX_ROUNDS: usize = 20;
/// Events that are read at once, at least and at most.
const EVENTS_PER_ROUND: (u32, u32) = (100, 1_000);

/// Streams that wait, at most, for what waits to be looked for by them: it has to be put in order. Of more, the newest events are among what waits.
const MAX_SORTED_STREAMS: i64 = 10_000;

/// Streams where anything waits, and those of one endpoint.
const WAITING_EVENTS: [&str; 2] = [
    "outbox_event.event_id IN ( \
    SELECT e.event_id FROM outbox_stream AS s JOIN outbox_event AS e \
        ON e.payment_id = s.payment_id AND e.sequence BETWEEN s.next_sequence AND s.last_sequence \
        WHERE s.next_sequence <= s.last_sequence",
    " UNION ALL SELECT e.event_id FROM outbox_replay_rest AS rest JOIN outbox_stream AS s ON s.id = rest.stream_id \
        JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = rest.sequence",
];

/// An event without its body.
#[derive(Queryable, Selectable)]
#[diesel(table_name = outbox_event)]
pub(super) struct EventRow {
    pub(super) event_id: Id,
    pub(super) merchant_id: Id,
    pub(super) payment_id: Id,
    pub(super) sequence: i64,
    pub(super) event_type: String,
    pub(super) happened_at: Instant,
}

impl EventRow {
    pub(super) fn with(self, statuses: Vec<DeliveryStatus>) -> Notification {
        Notification {
            event_id: EventId::new(self.event_id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            payment_id: PaymentId::new(self.payment_id.0),
            sequence: self.sequence,
            event_type: self.event_type,
            happened_at: self.happened_at.0,
            statuses,
        }
    }
}

/// Looks for a page. What an event is, the database compares; how it stands is derived here, of as many events as are gone through.
pub(super) fn list(connection: &mut AnyConnection, query: &NotificationQuery) -> Result<NotificationPage, Fault> {
    let mut page = NotificationPage { notifications: Vec::new(), next: query.after };
    let Some(choice) = Choice::of(connection, &query.filter)? else {
        return Ok(NotificationPage::default());
    };
    let round = query.limit.saturating_add(1).clamp(EVENTS_PER_ROUND.0, EVENTS_PER_ROUND.1);
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    for _ in 0..MAX_ROUNDS {
        let events = choice.read(connection, page.next, query.oldest_first, round)?;
        let is_end = u32::try_from(events.len()).is_ok_and(|read| read < round);
        let fits = |event: &EventRow| choice.fits(event);
        let fitting = events.iter().filter(|event| fits(event));
        let mut statuses = status::of(connection, fitting.map(|event| event.event_id))?;
        for event in events {
            if page.notifications.len() == limit {
                return Ok(page);
            }
            page.next = Some(EventId::new(event.event_id.0));
            if !fits(&event) {
                continue;
            }
            let found = statuses.remove(&event.event_id).unwrap_or_default();
            page.notifications.extend(meant(&query.filter, found).map(|statuses| event.with(statuses)));
        }
        if is_end {
            page.next = None;
            return Ok(page);
        }
    }
    Ok(page)
}

/// The statuses that the filter asks for; `None` when there are none.
fn meant(filter: &NotificationFilter, mut statuses: Vec<DeliveryStatus>) -> Option<Vec<DeliveryStatus>> {
    if filter.endpoint.is_none() && filter.state.is_none() {
        return Some(statuses);
    }
    statuses.retain(|status| {
        filter.endpoint.is_none_or(|endpoint| status.endpoint_id == endpoint)
            && filter.state.is_none_or(|state| status.state == state)
    });
    Some(statuses).filter(|statuses| !statuses.is_empty())
}

/// What the database compares.
struct Choice<'a> {
    filter: &'a NotificationFilter,
    merchants: Vec<Id>,
    payments: Vec<Id>,
    /// Only what waits.
    waiting: bool,
}

impl<'a> Choice<'a> {
    /// `None` when nothing can fit.
    fn of(connection: &mut AnyConnection, filter: &'a NotificationFilter) -> Result<Option<Self>, Fault> {
        let mut merchants: Vec<Id> = filter.merchant.iter().map(|merchant| Id(merchant.uuid())).collect();
        if let Some(endpoint) = filter.endpoint {
            let owner: Option<Id> = endpoint::table
                .find(Id(endpoint.uuid()))
                .select(endpoint::merchant_id)
                .first(connection)
                .optional()
                .in_table("endpoint")?;
            let Some(owner) = owner else { return Ok(None) };
            if filter.merchant.is_some_and(|merchant| merchant.uuid() != owner.0) {
                return Ok(None);
            }
            merchants = vec![owner];
        }
        let mut payments = Vec::new();
        if let Some(payment) = filter.payment {
            let id = Id(payment.uuid());
            let session: Option<Option<Id>> = purchase_order::table
                .find(id)
                .select(purchase_order::session_id)
                .first(connection)
                .optional()
                .in_table("purchase_order")?;
            payments = vec![session.flatten().unwrap_or(id)];
        }
        let waiting = filter.state == Some(DeliveryState::Pending) && few_streams_wait(connection, filter.endpoint)?;
        Ok(Some(Self { filter, merchants, payments, waiting }))
    }

    /// What an event is, as far as the database does not compare it.
    fn fits(&self, event: &EventRow) -> bool {
        self.filter.types.as_ref().is_none_or(|types| types.admits(&event.event_type))
            && self.merchants.iter().all(|merchant| event.merchant_id == *merchant)
    }

    fn read(
        &self,
        connection: &mut AnyConnection,
        after: Option<EventId>,
        oldest_first: bool,
        limit: u32,
    ) -> Result<Vec<EventRow>, Fault> {
        let filter = self.filter;
        let mut events =
            outbox_event::table.select(EventRow::as_select()).limit(i64::from(limit)).into_boxed::<MultiBackend>();
        for payment in &self.payments {
            events = events.filter(outbox_event::payment_id.eq(*payment));
        }
        // A payment has few events: named beside it, its merchant's many would be gone through.
        for merchant in self.merchants.iter().filter(|_| self.payments.is_empty()) {
            events = events.filter(outbox_event::merchant_id.eq(*merchant));
        }
        if let Some(since) = filter.since {
            events = events.filter(outbox_event::happened_at.ge(Instant(since)));
        }
        if let Some(until) = filter.until {
            events = events.filter(outbox_event::happened_at.lt(Instant(until)));
        }
        events = match filter.state {
            Some(DeliveryState::Parked) => match filter.endpoint {
                Some(endpoint) => events.filter(
                    outbox_event::event_id.eq_any(
                        outbox_parked::table
                            .filter(outbox_parked::endpoint_id.eq(Id(endpoint.uuid())))
                            .select(outbox_parked::event_id),
                    ),
                ),
                None => {
                    events.filter(outbox_event::event_id.eq_any(outbox_parked::table.select(outbox_parked::event_id)))
                }
            },
            Some(DeliveryState::Pending) if self.waiting => {
                let [of_streams, behind] = WAITING_EVENTS;
                match filter.endpoint.map(|endpoint| Id(endpoint.uuid())) {
                    Some(endpoint) => events.filter(
                        sql::<Bool>(of_streams)
                            .sql(" AND s.endpoint_id = ")
                            .bind::<SqlId, _>(endpoint)
                            .sql(behind)
                            .sql(" WHERE s.endpoint_id = ")
                            .bind::<SqlId, _>(endpoint)
                            .sql(")"),
                    ),
                    None => events.filter(sql::<Bool>(of_streams).sql(behind).sql(")")),
                }
            }
            _ => events,
        };
        if let Some(after) = after.map(|after| Id(after.uuid())) {
            events = match oldest_first {
                true => events.filter(outbox_event::event_id.gt(after)),
                false => events.filter(outbox_event::event_id.lt(after)),
            };
        }
        events = match oldest_first {
            true => events.order(outbox_event::event_id.asc()),
            false => events.order(outbox_event::event_id.desc()),
        };
        events.load(connection).in_table("outbox_event")
    }
}

statement! {
    /// How many streams wait, counted up to a limit.
    CountStreams { limit: i64 => BigInt, }
    both "SELECT count(*) FROM (SELECT 1 FROM outbox_stream WHERE next_sequence <= last_sequence LIMIT $1) AS waiting";
    returns BigInt;
}

statement! {
    /// How many of one endpoint.
    CountStreamsOf { endpoint: Id => SqlId, limit: i64 => BigInt, }
    both "SELECT count(*) FROM (SELECT 1 FROM outbox_stream WHERE endpoint_id = $1 AND next_sequence <= last_sequence LIMIT $2) AS waiting";
    returns BigInt;
}

fn few_streams_wait(connection: &mut AnyConnection, endpoint: Option<EndpointId>) -> Result<bool, Fault> {
    let limit = MAX_SORTED_STREAMS + 1;
    let count: i64 = match endpoint.map(|endpoint| Id(endpoint.uuid())) {
        Some(endpoint) => {
            on_each!(connection, inner => CountStreamsOf { endpoint, limit }.get_result(inner))
        }
        None => on_each!(connection, inner => CountStreams { limit }.get_result(inner)),
    }
    .in_table("outbox_stream")?;
    Ok(count < limit)
}
