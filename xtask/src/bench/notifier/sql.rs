//! Notifications written as the store writes them: in one transaction the immutable events of a payment and the stream of each endpoint.

use std::fmt::Write;

use super::book::{EVENT_PREFIX, Heard, PAYMENT_PREFIX, PER_PAYMENT};
use crate::bench::service::Kind;

/// A notification as merchants get them, a little more than 1 KiB.
const BODY: &str = include_str!("body.json");

const TYPES: [&str; PER_PAYMENT as usize] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"];

/// A merchant with one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shop {
    pub(crate) merchant: String,
    pub(crate) endpoint: String,
}

/// Prepares a connection to PostgreSQL for [`announce`]: the statement of the store's `postgres/journal.rs`.
pub(super) const PREPARE: &str = "PREPARE announce (uuid, uuid, uuid[], text[], bytea[], timestamptz[]) AS \
    WITH told AS MATERIALIZED (SELECT $1 AS payment_id, $2 AS merchant_id), \
    so_far AS MATERIALIZED ( \
        SELECT coalesce((SELECT sequence FROM outbox_event WHERE outbox_event.payment_id = told.payment_id \
            ORDER BY sequence DESC LIMIT 1), 0) AS last FROM told \
    ), new_event AS MATERIALIZED ( \
        SELECT so_far.last + number AS sequence, event_id, event_type, body, happened_at \
        FROM so_far, unnest($3, $4, $5, $6) WITH ORDINALITY AS new (event_id, event_type, body, happened_at, number) \
    ), written AS ( \
        INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
        SELECT payment_id, sequence, event_id, merchant_id, event_type, body, happened_at FROM told, new_event \
    ) INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
    SELECT endpoint.id, told.payment_id, FALSE, so_far.last + 1, (SELECT max(sequence) FROM new_event), 0, \
        (SELECT happened_at FROM new_event ORDER BY sequence LIMIT 1) \
    FROM told, so_far, endpoint WHERE endpoint.merchant_id = told.merchant_id AND endpoint.removed_at IS NULL ORDER BY endpoint.id \
    ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE SET last_sequence = excluded.last_sequence, \
    due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence \
        THEN greatest(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END";

/// Tells the notifier that there is something for it.
pub(super) const WAKE: &str = "NOTIFY dropin_outbox";

/// Writes one notification; on PostgreSQL a transaction of its own.
pub(super) fn announce(kind: &Kind, heard: Heard, shop: &Shop) -> String {
    let Heard { payment, sequence } = heard;
    let (id, event, event_type) = (payment_id(payment), event_id(heard), event_type(heard));
    let (body, merchant) = (body(heard), &shop.merchant);
    match kind {
        Kind::Postgres(_) => format!(
            "EXECUTE announce('{id}', '{merchant}', ARRAY['{event}']::uuid[], ARRAY['{event_type}'], \
             ARRAY[convert_to('{body}', 'UTF8')], ARRAY[now()])"
        ),
        Kind::Sqlite => format!(
            "INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at) \
             VALUES ('{id}', {sequence}, '{event}', '{merchant}', '{event_type}', CAST('{body}' AS BLOB), {SQLITE_NOW}); \
             INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at) \
             VALUES ('{endpoint}', '{id}', FALSE, {sequence}, {sequence}, 0, {SQLITE_NOW}) \
             ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE SET last_sequence = excluded.last_sequence, \
             due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence \
                 THEN max(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END;",
            endpoint = shop.endpoint
        ),
    }
}

/// Microseconds since 1970.
const SQLITE_NOW: &str = "CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER)";

fn payment_id(payment: u32) -> String {
    format!("{PAYMENT_PREFIX}{payment:012x}")
}

fn event_id(heard: Heard) -> String {
    format!("{EVENT_PREFIX}{:08x}{:04x}", heard.payment, heard.sequence)
}

fn event_type(heard: Heard) -> &'static str {
    TYPES[(heard.sequence.max(1) - 1) as usize % TYPES.len()]
}

fn body(heard: Heard) -> String {
    let body = BODY.trim_end().replace("@TYPE@", event_type(heard)).replace("@ORDER@", &payment_id(heard.payment));
    body.replace("@NUMBER@", &heard.payment.to_string())
}

/// When the streams of a backlog are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Due {
    /// Now.
    Now,
    /// Later: their first notification failed before and is to be tried again.
    InAnHour,
}

/// A script that writes whole payments at once, `shares` says of which shop: payment and number of the shop.
pub(super) fn backlog(kind: &Kind, shops: &[Shop], shares: impl Iterator<Item = (u32, usize)>, due: Due) -> String {
    let mut script = "CREATE TEMPORARY TABLE share (payment BIGINT, merchant TEXT, endpoint TEXT);\n".to_owned();
    if matches!(kind, Kind::Sqlite) {
        script.push_str("BEGIN IMMEDIATE;\n");
    }
    for (at, (payment, shop)) in shares.enumerate() {
        let separator = match at {
            0 => "INSERT INTO share VALUES ",
            _ if at % 500 == 0 => ";\nINSERT INTO share VALUES ",
            _ => ",",
        };
        let Shop { merchant, endpoint } = &shops[shop];
        let _infallible = write!(script, "{separator}({payment}, '{merchant}', '{endpoint}')");
    }
    script.push_str(";\n");
    for (at, event_type) in (1..).zip(TYPES) {
        script.push_str(&events(kind, at, event_type));
    }
    script.push_str(&streams(kind, due));
    script.push_str("DROP TABLE share;\n");
    script.push_str(match kind {
        // As after a while of service, when the server has looked at its tables.
        Kind::Postgres(_) => "ANALYZE outbox_event; ANALYZE outbox_stream; CHECKPOINT;\n",
        Kind::Sqlite => "COMMIT;\nPRAGMA wal_checkpoint(TRUNCATE);\n",
    });
    script
}

fn events(kind: &Kind, sequence: u32, event_type: &str) -> String {
    let body = BODY.trim_end().replace("@TYPE@", event_type);
    let columns = "payment_id, sequence, event_id, merchant_id, event_type, body, happened_at";
    match kind {
        Kind::Postgres(_) => format!(
            "INSERT INTO outbox_event ({columns}) SELECT id::uuid, {sequence}, \
             ('{EVENT_PREFIX}' || lpad(to_hex(payment), 8, '0') || '{sequence:04x}')::uuid, merchant::uuid, '{event_type}', \
             convert_to(replace(replace('{body}', '@ORDER@', id), '@NUMBER@', payment::text), 'UTF8'), now() \
             FROM (SELECT *, '{PAYMENT_PREFIX}' || lpad(to_hex(payment), 12, '0') AS id FROM share) AS named ORDER BY payment;\n"
        ),
        Kind::Sqlite => format!(
            "INSERT INTO outbox_event ({columns}) SELECT id, {sequence}, printf('{EVENT_PREFIX}%08x{sequence:04x}', payment), \
             merchant, '{event_type}', CAST(replace(replace('{body}', '@ORDER@', id), '@NUMBER@', payment) AS BLOB), {SQLITE_NOW} \
             FROM (SELECT *, printf('{PAYMENT_PREFIX}%012x', payment) AS id FROM share) ORDER BY payment;\n"
        ),
    }
}

fn streams(kind: &Kind, due: Due) -> String {
    let columns = "endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, first_try, due_at";
    let waits = due == Due::InAnHour;
    let attempt = u32::from(waits) * 4;
    match kind {
        Kind::Postgres(_) => {
            let (first_try, due) = if waits { ("now()", "now() + interval '1 hour'") } else { ("NULL", "now()") };
            format!(
                "INSERT INTO outbox_stream ({columns}) SELECT endpoint::uuid, ('{PAYMENT_PREFIX}' || lpad(to_hex(payment), 12, '0'))::uuid, \
                 FALSE, 1, {PER_PAYMENT}, {attempt}, {first_try}, {due} FROM share ORDER BY payment;\n"
            )
        }
        Kind::Sqlite => {
            let first_try = if waits { SQLITE_NOW } else { "NULL" };
            let later = if waits { 3_600_000_000_u64 } else { 0 };
            format!(
                "INSERT INTO outbox_stream ({columns}) SELECT endpoint, printf('{PAYMENT_PREFIX}%012x', payment), FALSE, 1, \
                 {PER_PAYMENT}, {attempt}, {first_try}, {SQLITE_NOW} + {later} FROM share ORDER BY payment;\n"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_about_a_kibibyte_of_json() {
        let body = body(Heard { payment: 31, sequence: 2 });
        assert!((1_024..1_400).contains(&body.len()) && !body.contains('\'') && !body.contains("@ORDER"), "{body}");
        let read: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read["EventType"], "ORDER_AUTHORIZED");
        assert_eq!(read["Order"]["OrderId"], payment_id(31));
    }

    #[test]
    fn ids_are_what_the_receivers_read() {
        let heard = Heard { payment: 0x1234, sequence: 3 };
        assert_eq!(Heard::parse(event_id(heard).as_bytes()), Some(heard));
    }

    #[test]
    fn a_backlog_has_each_payment_once() {
        let shop = Shop { merchant: "m".to_owned(), endpoint: "e".to_owned() };
        let script = backlog(&Kind::Sqlite, &[shop], (0..1_001).map(|payment| (payment, 0)), Due::InAnHour);
        assert_eq!((script.matches("INSERT INTO share").count(), script.matches("(1000, 'm', 'e')").count()), (3, 1));
        assert!(script.contains(", 4, CAST("));
    }
}
