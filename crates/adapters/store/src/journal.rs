//! What is only ever appended: history, ledger, and the events that merchants are told.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use dropin_kernel::{OrderId, PaymentId};
use dropin_order::LedgerTransaction;
use dropin_ports::{Actor, History, NewEvent, PastStep, Subject};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::schema::{ledger_entry, ledger_transaction, outbox_event};
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};

/// One step as it is stored.
pub(crate) struct HistoryRow<'a> {
    pub(crate) merchant_id: Id,
    pub(crate) subject_kind: &'static str,
    pub(crate) subject_id: Id,
    pub(crate) actor_kind: &'static str,
    pub(crate) actor_name: Option<&'a str>,
    pub(crate) what: &'static str,
    pub(crate) state_before: Option<&'static str>,
    pub(crate) state_after: &'static str,
    pub(crate) happened_at: Instant,
}

statement! {
    /// Appends one step.
    AppendHistory {
        merchant: Id => SqlId,
        subject_kind: &'static str => Text,
        subject: Id => SqlId,
        actor_kind: &'static str => Text,
        actor_name: Option<String> => Nullable<Text>,
        what: &'static str => Text,
        before: Option<&'static str> => Nullable<Text>,
        after: &'static str => Text,
        happened_at: Instant => SqlInstant,
    }
    postgres APPEND_HISTORY;
    sqlite APPEND_HISTORY;
}

const APPEND_HISTORY: &str = "INSERT INTO history \
        (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at) \
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Remembers one step.
pub(crate) fn remember(connection: &mut AnyConnection, step: &History) -> Result<(), Fault> {
    let row = row(step);
    let append = AppendHistory {
        merchant: row.merchant_id,
        subject_kind: row.subject_kind,
        subject: row.subject_id,
        actor_kind: row.actor_kind,
        actor_name: row.actor_name.map(str::to_owned),
        what: row.what,
        before: row.state_before,
        after: row.state_after,
        happened_at: row.happened_at,
    };
    on_each!(connection, inner => append.execute(inner))?;
    Ok(())
}

/// Remembers steps, in their order.
pub(crate) fn remember_all(connection: &mut AnyConnection, steps: &[History]) -> Result<(), Fault> {
    steps.iter().try_for_each(|step| remember(connection, step))
}

statement! {
    /// The life of an Order, oldest step first.
    OfOrder { order: Id => SqlId, }
    postgres OF_ORDER;
    sqlite OF_ORDER;
    returns (Text, Nullable<Text>, Text, SqlInstant, Nullable<Text>, Text);
}

const OF_ORDER: &str = "SELECT actor_kind, actor_name, what, happened_at, state_before, state_after FROM history \
    WHERE subject_id = ? AND subject_kind = 'ORDER' ORDER BY position";

/// What is remembered of an Order, oldest step first.
pub(crate) fn of_order(connection: &mut AnyConnection, order: OrderId) -> Result<Vec<PastStep>, Fault> {
    type Found = (String, Option<String>, String, Instant, Option<String>, String);
    let find = OfOrder { order: Id(order.uuid()) };
    let found: Vec<Found> = on_each!(connection, inner => find.load(inner)).in_table("history")?;
    let restore = |(kind, name, what, at, before, after): Found| {
        Ok(PastStep { actor: actor(&kind, name)?, what, at: at.0, before, after })
    };
    found.into_iter().map(restore).collect()
}

fn actor(kind: &str, name: Option<String>) -> Result<Actor, Fault> {
    match (kind, name) {
        ("MERCHANT", Some(username)) => Ok(Actor::Merchant(username)),
        ("SHOPPER", None) => Ok(Actor::Shopper),
        ("OPERATOR", Some(name)) => Ok(Actor::Operator(name)),
        ("SYSTEM", None) => Ok(Actor::System),
        _ => Err(corrupt("history", "the actor is unknown")),
    }
}

/// The row of one step.
pub(crate) fn row(step: &History) -> HistoryRow<'_> {
    let (subject_kind, subject_id) = match step.subject {
        Subject::Session(id) => ("SESSION", id.uuid()),
        Subject::Order(id) => ("ORDER", id.uuid()),
    };
    let (actor_kind, actor_name) = match &step.actor {
        Actor::Merchant(username) => ("MERCHANT", Some(username.as_str())),
        Actor::Shopper => ("SHOPPER", None),
        Actor::Operator(name) => ("OPERATOR", Some(name.as_str())),
        Actor::System => ("SYSTEM", None),
    };
    HistoryRow {
        merchant_id: Id(step.merchant_id.uuid()),
        subject_kind,
        subject_id: Id(subject_id),
        actor_kind,
        actor_name,
        what: step.what,
        state_before: step.before,
        state_after: step.after,
        happened_at: Instant(step.at),
    }
}

#[derive(Insertable)]
#[diesel(table_name = ledger_transaction)]
struct TransactionRow {
    id: Id,
    order_id: Id,
    currency: &'static str,
    entry_count: i32,
    posted_at: Instant,
}

#[derive(Insertable)]
#[diesel(table_name = ledger_entry)]
struct EntryRow {
    transaction_id: Id,
    account: &'static str,
    minor: i64,
}

/// Posts one transaction with its entries.
pub(crate) fn post(connection: &mut AnyConnection, transaction: &LedgerTransaction) -> Result<(), Fault> {
    let id = Id(transaction.id.uuid());
    let row = TransactionRow {
        id,
        order_id: Id(transaction.order_id.uuid()),
        currency: transaction.currency.code(),
        entry_count: i32::try_from(transaction.entries().len())
            .map_err(|_beyond| Fault::Refused("too many entries in a ledger transaction".to_owned()))?,
        posted_at: Instant(transaction.at),
    };
    diesel::insert_into(ledger_transaction::table).values(row).execute(connection)?;
    for entry in transaction.entries() {
        let row = EntryRow { transaction_id: id, account: entry.account.as_str(), minor: entry.minor };
        diesel::insert_into(ledger_entry::table).values(row).execute(connection)?;
    }
    Ok(())
}

#[derive(Insertable)]
#[diesel(table_name = outbox_event)]
struct EventRow<'a> {
    payment_id: Id,
    sequence: i64,
    event_id: Id,
    merchant_id: Id,
    event_type: &'static str,
    body: &'a [u8],
    happened_at: Instant,
}

statement! {
    /// Makes an event the last of its payment's stream at each endpoint of the merchant. A stream that waits, is leased or retries keeps its
    /// time; an idle one is due now, or when an event that has been set aside lets go of it.
    FanOut {
        payment: Id => SqlId,
        first: i64 => BigInt,
        last: i64 => BigInt,
        now: Instant => SqlInstant,
        merchant: Id => SqlId,
    }
    postgres "INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
        SELECT id, ?, FALSE, ?, ?, 0, ? FROM endpoint WHERE merchant_id = ? AND removed_at IS NULL ORDER BY id \
        ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE SET last_sequence = excluded.last_sequence, \
        due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence \
            THEN greatest(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END";
    sqlite "INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
        SELECT id, ?, FALSE, ?, ?, 0, ? FROM endpoint WHERE merchant_id = ? AND removed_at IS NULL ORDER BY id \
        ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE SET last_sequence = excluded.last_sequence, \
        due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence \
            THEN max(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END";
}

/// The number of the payment's last event so far. The caller has changed, and so locked, the Session or Order of the payment in this
/// transaction; the unique key stands behind that.
fn last_sequence(connection: &mut AnyConnection, payment: PaymentId) -> Result<i64, Fault> {
    let last: Option<i64> = outbox_event::table
        .filter(outbox_event::payment_id.eq(Id(payment.uuid())))
        .select(diesel::dsl::max(outbox_event::sequence))
        .get_result(connection)?;
    Ok(last.unwrap_or(0))
}

/// Appends events in their order and queues them for every endpoint of their merchant.
pub(crate) fn announce(connection: &mut AnyConnection, events: &[NewEvent]) -> Result<(), Fault> {
    for event in events {
        let sequence = last_sequence(connection, event.payment_id)? + 1;
        append(connection, event, sequence).map_err(|fault| {
            // Somebody appended at the same moment: the number has to be looked up again.
            let taken = fault.breaks("outbox_event_pkey", "outbox_event.payment_id, outbox_event.sequence");
            if taken { Fault::Again } else { fault }
        })?;
    }
    Ok(())
}

fn append(connection: &mut AnyConnection, event: &NewEvent, sequence: i64) -> Result<(), Fault> {
    let (payment, merchant) = (Id(event.payment_id.uuid()), Id(event.merchant_id.uuid()));
    let row = EventRow {
        payment_id: payment,
        sequence,
        event_id: Id(event.id.uuid()),
        merchant_id: merchant,
        event_type: event.event_type,
        body: &event.body,
        happened_at: Instant(event.at),
    };
    diesel::insert_into(outbox_event::table).values(row).execute(connection)?;
    let fan_out = FanOut { payment, first: sequence, last: sequence, now: Instant(event.at), merchant };
    on_each!(connection, inner => fan_out.execute(inner))?;
    Ok(())
}
