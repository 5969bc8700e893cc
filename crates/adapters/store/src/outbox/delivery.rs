//! What is sent for streams that are leased, and what is not: events that their endpoint does not want, endpoints that were removed.

use std::collections::HashMap;
use std::sync::Arc;

use diesel::deserialize::{self, FromSqlRow, FromStaticSqlRow};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::result::UnexpectedNullError;
use diesel::row::Row;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::Sqlite;
use dropin_access::SealedSecret;
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_notification::{EventFilter, Schedule};
use dropin_ports::{Delivery, DeliveryKey};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::attempt::AttemptKey;
use crate::access::{retiring, written};

/// A stream under a lease.
#[derive(Debug, Queryable)]
pub(super) struct LeasedRow {
    pub(super) id: i64,
    pub(super) endpoint_id: Id,
    pub(super) payment_id: Id,
    pub(super) next_sequence: i64,
    pub(super) attempt: i32,
    pub(super) first_try: Option<Instant>,
    pub(super) uncounted: i32,
    pub(super) lease_expired: bool,
}

/// The columns of a [`LeasedRow`].
type LeasedColumns = (BigInt, SqlId, SqlId, BigInt, Integer, Nullable<SqlInstant>, Integer, Bool);

/// Its endpoint.
#[derive(Debug, Queryable)]
pub(super) struct ReceiverRow {
    url: String,
    secret: Vec<u8>,
    previous_secret: Option<Vec<u8>>,
    previous_until: Option<Instant>,
    is_removed: bool,
    event_types: Option<String>,
    retry: Option<String>,
    sandbox: bool,
}

/// The columns of a [`ReceiverRow`].
type ReceiverColumns =
    (Text, Binary, Nullable<Binary>, Nullable<SqlInstant>, Bool, Nullable<Text>, Nullable<Text>, Bool);

/// Its next event; all of it is missing where there is none, or none is seen yet.
#[derive(Debug, Queryable)]
pub(super) struct MessageRow {
    event_id: Option<Id>,
    merchant_id: Option<Id>,
    event_type: Option<String>,
    body: Option<Vec<u8>>,
    happened_at: Option<Instant>,
}

/// The columns of a [`MessageRow`].
type MessageColumns = (Nullable<SqlId>, Nullable<SqlId>, Nullable<Text>, Nullable<Binary>, Nullable<SqlInstant>);

/// A stream under a lease, its endpoint and its next event.
type Sent = (LeasedRow, ReceiverRow, MessageRow);

/// The columns of a [`SentRow`].
pub(super) type SentColumns = (LeasedColumns, ReceiverColumns, MessageColumns);

/// What is to be sent, or why that cannot be read: the other rows of the same answer are good all the same.
#[derive(Debug)]
pub(super) struct SentRow(pub(super) Result<Sent, String>);

impl SentRow {
    fn read(read: deserialize::Result<Sent>) -> deserialize::Result<Self> {
        match read {
            // Nothing stands there.
            Err(missing) if missing.is::<UnexpectedNullError>() => Err(missing),
            read => Ok(Self(read.map_err(|why| why.to_string()))),
        }
    }
}

macro_rules! read_sent {
    ($($backend:ty)+) => {$(
        impl FromStaticSqlRow<SentColumns, $backend> for SentRow {
            fn build_from_row<'a>(row: &impl Row<'a, $backend>) -> deserialize::Result<Self> {
                Self::read(<Sent as FromSqlRow<SentColumns, $backend>>::build_from_row(row))
            }
        }

        impl Queryable<SentColumns, $backend> for SentRow {
            type Row = Self;

            fn build(row: Self) -> deserialize::Result<Self> {
                Ok(row)
            }
        }
    )+};
}
read_sent!(Pg Sqlite);

/// An event that its endpoint does not want.
#[derive(Debug)]
pub(super) struct Unwanted {
    pub(super) key: AttemptKey,
    pub(super) filter: Arc<EventFilter>,
}

/// What is to be done for streams that have just been leased.
#[derive(Debug, Default)]
pub(crate) struct Handed {
    /// To be sent.
    pub(super) deliveries: Vec<Delivery>,
    /// Endpoints of which as much was leased as might be.
    pub(super) more: Vec<EndpointId>,
    /// Streams to endpoints that were removed.
    pub(super) removed: Vec<i64>,
    /// Streams whose event was enqueued after the statement began.
    pub(super) unseen: Vec<i64>,
    /// To be passed over.
    pub(super) unwanted: Vec<Unwanted>,
    /// What endpoints have of their own, read once; `None` where it cannot be read.
    settings: HashMap<Id, Option<Settings>>,
}

#[derive(Debug, Clone, Default)]
struct Settings {
    filter: Option<Arc<EventFilter>>,
    retry: Option<Schedule>,
}

impl Handed {
    /// Sorts in what was read of a stream. A broken one must not hold up all others: it stays under its lease and is loud each time.
    pub(super) fn add(&mut self, stream: i64, row: SentRow, now: Timestamp) {
        match row.0 {
            Ok((stream, receiver, message)) => self.sort_in(stream, receiver, message, now),
            Err(why) => {
                let damaged = corrupt(
                    "outbox_stream",
                    format!("nothing is sent of stream {stream}, a column cannot be read: {why}"),
                );
                let _loud = damaged.into_store_error();
            }
        }
    }

    fn sort_in(&mut self, stream: LeasedRow, receiver: ReceiverRow, message: MessageRow, now: Timestamp) {
        if receiver.is_removed {
            return self.removed.push(stream.id);
        }
        let Some(event_type) = &message.event_type else {
            return self.unseen.push(stream.id);
        };
        let Some(settings) = self.settings_of(stream.endpoint_id, &receiver) else { return };
        if let Some(filter) = settings.filter.filter(|filter| !filter.admits(event_type)) {
            let key = (stream.id, stream.next_sequence, stream.attempt);
            return self.unwanted.push(Unwanted { key, filter });
        }
        let made = delivery(stream, receiver, message, settings.retry, now);
        self.deliveries.extend(made.map_err(Fault::into_store_error).ok());
    }

    /// After a second look: what has no event still is damaged, and stays under its lease.
    pub(super) fn seen(mut self) -> Self {
        for _ in self.unseen.drain(..) {
            let _loud = missing().into_store_error();
        }
        self
    }

    /// Puts what another statement gave beside it.
    pub(super) fn merge(&mut self, more: Self) {
        self.deliveries.extend(more.deliveries);
        self.removed.extend(more.removed);
        self.unseen.extend(more.unseen);
        self.unwanted.extend(more.unwanted);
    }

    /// What the endpoint has of its own; `None` when that is damaged, which is told once.
    fn settings_of(&mut self, endpoint: Id, receiver: &ReceiverRow) -> Option<Settings> {
        if receiver.event_types.is_none() && receiver.retry.is_none() {
            return Some(Settings::default());
        }
        let read = || {
            let filter = written("endpoint", receiver.event_types.clone(), "event_types")?.map(Arc::new);
            Ok(Settings { filter, retry: written("endpoint", receiver.retry.clone(), "retry")? })
        };
        let damaged = |fault: Fault| {
            log::error!("nothing is sent to endpoint {}: {}", EndpointId::new(endpoint.0), fault.classify());
        };
        self.settings.entry(endpoint).or_insert_with(|| read().map_err(damaged).ok()).clone()
    }
}

fn delivery(
    stream: LeasedRow,
    receiver: ReceiverRow,
    message: MessageRow,
    retry: Option<Schedule>,
    now: Timestamp,
) -> Result<Delivery, Fault> {
    let MessageRow {
        event_id: Some(event),
        merchant_id: Some(merchant),
        event_type: Some(event_type),
        body: Some(body),
        happened_at: Some(happened_at),
    } = message
    else {
        return Err(missing());
    };
    let attempt = u32::try_from(stream.attempt).map_err(|_negative| corrupt("outbox_stream", "attempt"))?;
    let first_try = stream.first_try.ok_or_else(|| corrupt("outbox_stream", "claimed without a first try"))?;
    let previous = retiring("endpoint", receiver.previous_secret.map(SealedSecret), receiver.previous_until)?;
    let mut secrets = vec![SealedSecret(receiver.secret)];
    let previous = previous.filter(|old| old.at(now).is_some());
    let old_secret_until = previous.as_ref().map(|old| old.until);
    secrets.extend(previous.map(|old| old.credential));
    Ok(Delivery {
        key: DeliveryKey { stream: stream.id, sequence: stream.next_sequence, attempt },
        merchant_id: MerchantId::new(merchant.0),
        sandbox: receiver.sandbox,
        endpoint_id: EndpointId::new(stream.endpoint_id.0),
        url: receiver.url,
        secrets,
        old_secret_until,
        payment_id: PaymentId::new(stream.payment_id.0),
        event_id: EventId::new(event.0),
        event_type,
        body,
        first_try: first_try.0,
        uncounted: u32::try_from(stream.uncounted).map_err(|_negative| corrupt("outbox_stream", "uncounted"))?,
        happened_at: happened_at.0,
        retry,
        lease_expired: stream.lease_expired,
    })
}

/// Says that a stream has no next event.
fn missing() -> Fault {
    corrupt("outbox_stream", "its next event is missing")
}

statement! {
    FindLeased { streams: String => Text, lease_until: Instant => SqlInstant, }
    postgres include_str!("find_leased.postgres.sql");
    sqlite include_str!("find_leased.sqlite.sql");
    returns (BigInt, SentColumns);
}

/// What is to be done for the streams of a list that are leased until `lease_until`.
pub(super) fn found(
    connection: &mut AnyConnection,
    streams: &str,
    lease_until: Timestamp,
    now: Timestamp,
) -> Result<Handed, Fault> {
    let find = FindLeased { streams: streams.to_owned(), lease_until: Instant(lease_until) };
    let rows: Vec<(i64, SentRow)> = on_each!(connection, inner => find.load(inner)).in_table("outbox_stream")?;
    let mut handed = Handed::default();
    for (stream, row) in rows {
        handed.add(stream, row, now);
    }
    Ok(handed)
}
