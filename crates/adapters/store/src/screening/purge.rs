//! Deleting what is over, each kind of row in a transaction of its own. On PostgreSQL rows that somebody counts in at the moment are passed over, so that
//! the sweep waits for nobody. Who counts in a row that is just being deleted waits for that one statement.

use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;
use dropin_kernel::Timestamp;
use dropin_ports::KNOWN_SHOPPER_LIFETIME;
use dropin_risk::VelocityWindow;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Instant, SqlInstant};
use dropin_store_runtime::{on_each, statement};

statement! {
    /// Deletes counts that are over.
    DeleteCounts { over: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "DELETE FROM velocity_counter \
        WHERE hash IN ( \
            SELECT hash FROM velocity_counter WHERE counts_until <= $1 ORDER BY counts_until LIMIT $2 FOR UPDATE SKIP LOCKED \
        )";
    sqlite "DELETE FROM velocity_counter WHERE hash IN (SELECT hash FROM velocity_counter WHERE counts_until <= $1 ORDER BY counts_until LIMIT $2)";
}

statement! {
    /// Deletes tries of which nothing counts any more.
    DeleteTries { before: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "DELETE FROM payment_try \
        WHERE order_id IN ( \
            SELECT order_id FROM payment_try WHERE tried_at <= $1 ORDER BY tried_at LIMIT $2 FOR UPDATE SKIP LOCKED \
        )";
    sqlite "DELETE FROM payment_try WHERE order_id IN (SELECT order_id FROM payment_try WHERE tried_at <= $1 ORDER BY tried_at LIMIT $2)";
}

statement! {
    /// Forgets shoppers who have not come for long.
    DeleteShoppers { before: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "DELETE FROM known_shopper \
        WHERE (merchant_id, hash) IN ( \
            SELECT merchant_id, hash FROM known_shopper WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2 FOR UPDATE SKIP LOCKED \
        )";
    sqlite "DELETE FROM known_shopper \
        WHERE (merchant_id, hash) IN ( \
            SELECT merchant_id, hash FROM known_shopper WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2 \
        )";
}

statement! {
    /// Deletes the facts of screenings.
    DeleteFacts { before: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "UPDATE screening SET facts = NULL, velocity = NULL \
        WHERE order_id IN ( \
            SELECT order_id FROM screening WHERE facts IS NOT NULL AND ordered_at < $1 \
            ORDER BY ordered_at LIMIT $2 FOR UPDATE SKIP LOCKED \
        )";
    sqlite "UPDATE screening SET facts = NULL, velocity = NULL \
        WHERE order_id IN ( \
            SELECT order_id FROM screening WHERE facts IS NOT NULL AND ordered_at < $1 ORDER BY ordered_at LIMIT $2 \
        )";
}

/// Rows of one kind that are over: since when, or from before when.
pub(super) enum Over {
    Counts(Timestamp),
    Tries(Timestamp),
    Shoppers(Timestamp),
    Facts(Timestamp),
}

/// What is over at `now`, and facts from before `facts_before`.
pub(super) fn over(now: Timestamp, facts_before: Timestamp) -> [Over; 4] {
    let day = VelocityWindow::Day;
    [
        Over::Counts(now),
        Over::Tries(now.minus(day.span()).minus(day.bucket())),
        Over::Shoppers(now.minus(KNOWN_SHOPPER_LIFETIME)),
        Over::Facts(facts_before),
    ]
}

impl Over {
    /// Deletes so many of them; how many it was.
    pub(super) fn delete(&self, connection: &mut AnyConnection, limit: u32) -> Result<usize, Fault> {
        let limit = i64::from(limit);
        let deleted = match *self {
            Self::Counts(over) => {
                let delete = DeleteCounts { over: Instant(over), limit };
                on_each!(connection, inner => delete.execute(inner))
            }
            Self::Tries(before) => {
                let delete = DeleteTries { before: Instant(before), limit };
                on_each!(connection, inner => delete.execute(inner))
            }
            Self::Shoppers(before) => {
                let delete = DeleteShoppers { before: Instant(before), limit };
                on_each!(connection, inner => delete.execute(inner))
            }
            Self::Facts(before) => {
                let delete = DeleteFacts { before: Instant(before), limit };
                on_each!(connection, inner => delete.execute(inner))
            }
        };
        Ok(deleted?)
    }
}
