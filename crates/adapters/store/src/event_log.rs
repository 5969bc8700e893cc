//! The event log: a merchant's events in the order in which they are read. The migration `feed` says what makes that order.

use async_trait::async_trait;
use diesel::SqliteConnection;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use dropin_kernel::{EventId, MerchantId, PaymentId};
use dropin_ports::{EventLog, EventLogPage, EventLogPosition, LoggedEvent, StoreError};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::statement;

use crate::store::Store;

/// A page ends with the event whose body reaches so many bytes.
const PAGE_BYTES: i64 = 4 << 20;

/// The columns of a [`Row`].
type Columns = (BigInt, BigInt, SqlId, SqlId, BigInt, Text, SqlInstant, Nullable<Binary>);

statement! {
    /// The next events, up to the first before which a transaction that still runs may insert one.
    ReadPostgres<'a> {
        bytes: i64 => BigInt,
        merchant: &'a Id => SqlId,
        tick: i64 => BigInt,
        number: i64 => BigInt,
        limit: i64 => BigInt,
    }
    postgres "SELECT tick, position, event_id, payment_id, sequence, event_type, happened_at, \
            CASE WHEN sum(octet_length(body)) OVER (ORDER BY tick, position) - octet_length(body) < $1 THEN body END \
        FROM dropin_feed($2, $3, $4, $5) ORDER BY tick, position";
    returns Columns;
}

statement! {
    /// The next events; they were committed in the order of their numbers.
    ReadSqlite<'a> { bytes: i64 => BigInt, merchant: &'a Id => SqlId, number: i64 => BigInt, limit: i64 => BigInt, }
    sqlite "SELECT 0, position, event_id, payment_id, sequence, event_type, happened_at, \
            CASE WHEN sum(length(body)) OVER (ORDER BY position) - length(body) < $1 THEN body END \
        FROM (SELECT * FROM outbox_event WHERE merchant_id = $2 AND position > $3 ORDER BY position LIMIT $4) AS page \
        ORDER BY position";
    returns Columns;
}

/// An event; without its body where the page is full before it.
#[derive(Queryable)]
struct Row {
    tick: i64,
    position: i64,
    event_id: Id,
    payment_id: Id,
    sequence: i64,
    event_type: String,
    happened_at: Instant,
    body: Option<Vec<u8>>,
}

#[async_trait]
impl EventLog for Store {
    async fn read_event_log(
        &self,
        merchant: MerchantId,
        after: EventLogPosition,
        limit: u32,
    ) -> Result<EventLogPage, StoreError> {
        self.read(move |connection| read(connection, merchant, after, limit)).await
    }
}

fn read(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    after: EventLogPosition,
    limit: u32,
) -> Result<EventLogPage, Fault> {
    let (merchant, EventLogPosition { tick, number }, bytes) = (&Id(merchant.uuid()), after, PAGE_BYTES);
    // One more, to know whether there is one.
    let wanted = i64::from(limit) + 1;
    let mut rows: Vec<Row> = match connection {
        AnyConnection::Postgres(connection) => {
            ReadPostgres { bytes, merchant, tick, number, limit: wanted }.load(connection)
        }
        AnyConnection::Sqlite(connection) => ReadSqlite { bytes, merchant, number, limit: wanted }.load(connection),
    }
    .in_table("outbox_event")?;
    let found = rows.len();
    rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let events: Vec<_> = rows.into_iter().map_while(Row::restore).collect();
    Ok(EventLogPage { more: events.len() < found, events })
}

impl Row {
    /// `None` behind the end of the page.
    fn restore(self) -> Option<LoggedEvent> {
        Some(LoggedEvent {
            position: EventLogPosition { tick: self.tick, number: self.position },
            event_id: EventId::new(self.event_id.0),
            payment_id: PaymentId::new(self.payment_id.0),
            sequence: self.sequence,
            event_type: self.event_type,
            happened_at: self.happened_at.0,
            body: self.body?,
        })
    }
}

/// Lets PostgreSQL see to it that its clock of events counts for this copy of the database; nothing where the schema is not there yet.
pub(crate) const SET_CLOCK: &str = "DO $$ BEGIN IF to_regprocedure('dropin_set_event_clock()') IS NOT NULL THEN \
    PERFORM dropin_set_event_clock(); END IF; END $$";

/// Goes on with the numbers of SQLite's events at the time in microseconds, or where they are. An older copy of the database in the place of this one
/// would give numbers again that merchants have read up to already. For whoever opens the database as the only one.
pub(crate) fn move_ahead(connection: &mut SqliteConnection) -> QueryResult<()> {
    connection.batch_execute(
        "INSERT INTO sqlite_sequence (name, seq) SELECT 'outbox_event', 0 \
            WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'outbox_event'); \
         UPDATE sqlite_sequence SET seq = max(seq, unixepoch() * 1000000) WHERE name = 'outbox_event'",
    )
}
