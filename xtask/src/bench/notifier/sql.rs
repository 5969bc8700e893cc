//! Notifications written as the store writes them: in one transaction the immutable events of a payment and the stream of each endpoint.

use super::delivery_log::{EVENT_PREFIX, NotificationKey, PAYMENT_PREFIX, PER_PAYMENT};
use crate::bench::deployment::Database;

/// A notification as merchants get them, a little more than 1 KiB.
const BODY: &str = include_str!("body.json");

const TYPES: [&str; PER_PAYMENT as usize] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"];

/// A merchant with one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shop {
    pub(crate) merchant: String,
    pub(crate) endpoint: String,
}

/// Prepares a connection to PostgreSQL for [`enqueue`]: the statement with which the store enqueues events.
pub(super) const PREPARE: &str = concat!(
    "PREPARE enqueue (uuid, uuid, uuid[], text[], bytea[], timestamptz[]) AS\n",
    include_str!("../../../../crates/adapters/store/src/outbox/enqueue_events.postgres.sql")
);

/// Wakes the notifier.
pub(super) const WAKE: &str = "NOTIFY dropin_outbox";

/// Microseconds since 1970.
const SQLITE_NOW: &str = "CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER)";

/// Writes one notification; on PostgreSQL a transaction of its own.
pub(super) fn enqueue(database: Database, key: NotificationKey, shop: &Shop) -> String {
    let event_type = TYPES[(key.sequence.max(1) - 1) as usize % TYPES.len()];
    let payment = payment_id(key.payment);
    let body = BODY.trim_end().replace("@TYPE@", event_type).replace("@ORDER@", &payment);
    let body = body.replace("@NUMBER@", &key.payment.to_string());
    let (event, merchant) = (event_id(key), &shop.merchant);
    match database {
        Database::Postgres => format!(
            "EXECUTE enqueue('{payment}', '{merchant}', ARRAY['{event}']::uuid[], ARRAY['{event_type}'], \
             ARRAY[convert_to('{body}', 'UTF8')], ARRAY[now()]);"
        ),
        Database::Sqlite => {
            let script = include_str!("enqueue_sqlite.sql").replace("@PAYMENT@", &payment).replace("@EVENT@", &event);
            let script = script.replace("@SEQUENCE@", &key.sequence.to_string()).replace("@TYPE@", event_type);
            let script = script.replace("@MERCHANT@", merchant).replace("@ENDPOINT@", &shop.endpoint);
            let body = body.replacen('{', &format!("{{\"Sequence\":{},", key.sequence), 1);
            script.replace("@NOW@", SQLITE_NOW).replace("@BODY@", &body)
        }
    }
}

fn payment_id(payment: u32) -> String {
    format!("{PAYMENT_PREFIX}{payment:012x}")
}

fn event_id(key: NotificationKey) -> String {
    format!("{EVENT_PREFIX}{:08x}{:04x}", key.payment, key.sequence)
}

/// When the streams of a backlog are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Due {
    Now,
    /// Later: their first notification failed before and is to be tried again.
    InAnHour,
}

/// A script that writes whole payments at once, `shares` says of which shop: payment and number of the shop.
pub(super) fn backlog(
    database: Database,
    shops: &[Shop],
    shares: impl Iterator<Item = (u32, usize)>,
    due: Due,
) -> String {
    let share = |(at, (payment, shop)): (usize, (u32, usize))| {
        let Shop { merchant, endpoint } = &shops[shop];
        let separator = match at {
            0 => "",
            _ if at % 500 == 0 => ";\nINSERT INTO share VALUES ",
            _ => ",",
        };
        format!("{separator}({payment}, '{merchant}', '{endpoint}')")
    };
    let types: Vec<String> = (1..).zip(TYPES).map(|(at, event_type)| format!("({at}, '{event_type}')")).collect();
    let script = match database {
        Database::Postgres => include_str!("backlog_postgres.sql"),
        Database::Sqlite => include_str!("backlog_sqlite.sql"),
    };
    let script = script.replace("@SHARES@", &shares.enumerate().map(share).collect::<String>());
    let script = script.replace("@TYPES@", &types.join(", ")).replace("@LAST@", &PER_PAYMENT.to_string());
    let waits = if due == Due::InAnHour { "TRUE" } else { "FALSE" };
    script.replace("@WAITS@", waits).replace("@NOW@", SQLITE_NOW).replace("@BODY@", BODY.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop() -> Shop {
        Shop { merchant: "m".to_owned(), endpoint: "e".to_owned() }
    }

    #[test]
    fn bodies_are_about_a_kibibyte_of_json() {
        let key = NotificationKey { payment: 31, sequence: 2 };
        let sql = enqueue(Database::Sqlite, key, &shop());
        let body = sql.split_once("CAST('").unwrap().1.split_once("' AS BLOB").unwrap().0;
        assert!((1_024..1_400).contains(&body.len()) && !body.contains('\''), "{sql}");
        let is_left = |part: &str| part.starts_with(|c: char| c.is_ascii_uppercase());
        assert!(!sql.split('@').skip(1).any(is_left), "a placeholder is left in {sql}");
        let read: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&read["Sequence"], &read["EventType"]), (&2.into(), &"ORDER_AUTHORIZED".into()));
        assert_eq!(read["Order"]["OrderId"], payment_id(31));
        // On PostgreSQL the statement adds the Sequence.
        let unsequenced = body.replace("\"Sequence\":2,", "");
        assert!(enqueue(Database::Postgres, key, &shop()).contains(&unsequenced));
    }

    #[test]
    fn ids_are_what_the_receivers_read() {
        let key = NotificationKey { payment: 0x1234, sequence: 3 };
        assert_eq!(NotificationKey::parse(&event_id(key)), Some(key));
    }

    #[test]
    fn a_backlog_has_each_payment_once() {
        for (database, prefix) in [(Database::Postgres, "'"), (Database::Sqlite, "%")] {
            let script = backlog(database, &[shop()], (0..1_001).map(|payment| (payment, 0)), Due::InAnHour);
            let count = |text: &str| script.matches(text).count();
            assert_eq!((count("INSERT INTO share"), count("(1000, 'm', 'e')"), count("TRUE")), (3, 1, 3), "{script}");
            assert!(script.contains(&format!("{PAYMENT_PREFIX}{prefix}")), "the receivers' prefixes");
            assert!(script.contains(&format!("{EVENT_PREFIX}{prefix}")) && !script.contains("@SHARES"));
        }
    }
}
