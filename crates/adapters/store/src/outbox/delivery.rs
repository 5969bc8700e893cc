use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use dropin_access::SealedSecret;
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_ports::{Delivery, DeliveryKey};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::rows::{retiring, written};
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};

statement! {
    /// The next notification of streams that are under that very lease, and who is to get it.
    FindLeased { streams: String => Text, lease_until: Instant => SqlInstant, }
    postgres "SELECT s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted, \
            endpoint.url, endpoint.secret, endpoint.previous_secret, endpoint.previous_until, endpoint.removed_at IS NOT NULL, endpoint.retry, \
            e.event_id, e.merchant_id, e.event_type, e.body, e.happened_at \
        FROM outbox_stream AS s JOIN endpoint ON endpoint.id = s.endpoint_id \
        LEFT JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = s.next_sequence \
        WHERE s.id = ANY (string_to_array(?, ',')::bigint[]) AND s.due_at = ? AND s.next_sequence <= s.last_sequence ORDER BY s.id";
    sqlite "SELECT s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted, \
            endpoint.url, endpoint.secret, endpoint.previous_secret, endpoint.previous_until, endpoint.removed_at IS NOT NULL, endpoint.retry, \
            e.event_id, e.merchant_id, e.event_type, e.body, e.happened_at \
        FROM json_each('[' || ? || ']') AS listed CROSS JOIN outbox_stream AS s ON s.id = listed.value \
        JOIN endpoint ON endpoint.id = s.endpoint_id \
        LEFT JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = s.next_sequence \
        WHERE s.due_at = ? AND s.next_sequence <= s.last_sequence ORDER BY s.id";
    returns (
        (BigInt, SqlId, SqlId, BigInt, Integer, Nullable<SqlInstant>, Integer),
        (Text, Binary, Nullable<Binary>, Nullable<SqlInstant>, Bool, Nullable<Text>),
        (Nullable<SqlId>, Nullable<SqlId>, Nullable<Text>, Nullable<Binary>, Nullable<SqlInstant>),
    );
}

#[derive(Queryable)]
struct LeasedRow {
    id: i64,
    endpoint_id: Id,
    payment_id: Id,
    next_sequence: i64,
    attempt: i32,
    first_try: Option<Instant>,
    uncounted: i32,
}

#[derive(Queryable)]
struct ReceiverRow {
    url: String,
    secret: Vec<u8>,
    previous_secret: Option<Vec<u8>>,
    previous_until: Option<Instant>,
    is_removed: bool,
    retry: Option<String>,
}

/// All of it is missing where there is no such event.
#[derive(Queryable)]
struct MessageRow {
    event_id: Option<Id>,
    merchant_id: Option<Id>,
    event_type: Option<String>,
    body: Option<Vec<u8>>,
    happened_at: Option<Instant>,
}

/// What is to be done for streams that have just been leased.
pub(super) struct Leased {
    /// To be sent.
    pub(super) deliveries: Vec<Delivery>,
    /// Streams to endpoints that were removed.
    pub(super) removed: Vec<i64>,
}

/// What to send for the streams of a list that are leased until `lease_until`.
pub(super) fn find(
    connection: &mut AnyConnection,
    streams: &str,
    lease_until: Timestamp,
    now: Timestamp,
) -> Result<Leased, Fault> {
    let find = FindLeased { streams: streams.to_owned(), lease_until: Instant(lease_until) };
    let rows: Vec<(LeasedRow, ReceiverRow, MessageRow)> =
        on_each!(connection, inner => find.load(inner)).in_table("outbox_stream")?;
    let mut found = Leased { deliveries: Vec::with_capacity(rows.len()), removed: Vec::new() };
    for (stream, receiver, message) in rows {
        if receiver.is_removed {
            found.removed.push(stream.id);
            continue;
        }
        // A broken stream must not hold up all others: it stays under its lease and is loud each time.
        found.deliveries.extend(delivery(stream, receiver, message, now).map_err(Fault::into_store_error).ok());
    }
    Ok(found)
}

fn delivery(stream: LeasedRow, receiver: ReceiverRow, message: MessageRow, now: Timestamp) -> Result<Delivery, Fault> {
    let MessageRow {
        event_id: Some(event),
        merchant_id: Some(merchant),
        event_type: Some(event_type),
        body: Some(body),
        happened_at: Some(happened_at),
    } = message
    else {
        return Err(corrupt("outbox_stream", "its next event is missing"));
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
        retry: written("endpoint", receiver.retry, "retry")?,
        lease_expired: false,
    })
}
