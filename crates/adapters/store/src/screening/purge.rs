//! Deleting what is over. On PostgreSQL rows that somebody counts in at the moment are passed over, so that nobody waits for the sweep and it for nobody.

use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;
use dropin_kernel::Timestamp;
use dropin_ports::KNOWN_SHOPPER_LIFETIME;
use dropin_risk::VelocityWindow;

use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::sql::{Instant, SqlInstant};
use crate::statement::{on_each, statement};

statement! {
    /// Deletes counts that are over.
    DeleteCounts { over: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "DELETE FROM velocity_count WHERE (merchant_id, kind, hash) IN (SELECT merchant_id, kind, hash FROM velocity_count \
        WHERE counts_until <= ? ORDER BY counts_until LIMIT ? FOR UPDATE SKIP LOCKED)";
    sqlite "DELETE FROM velocity_count WHERE (merchant_id, kind, hash) IN (SELECT merchant_id, kind, hash FROM velocity_count \
        WHERE counts_until <= ? ORDER BY counts_until LIMIT ?)";
}

statement! {
    /// Deletes tries of which nothing counts any more.
    DeleteTries { before: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "DELETE FROM payment_try WHERE order_id IN (SELECT order_id FROM payment_try \
        WHERE tried_at <= ? ORDER BY tried_at LIMIT ? FOR UPDATE SKIP LOCKED)";
    sqlite "DELETE FROM payment_try WHERE order_id IN (SELECT order_id FROM payment_try \
        WHERE tried_at <= ? ORDER BY tried_at LIMIT ?)";
}

statement! {
    /// Forgets shoppers who have not come for long.
    DeleteShoppers { before: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "DELETE FROM known_shopper WHERE (merchant_id, hash) IN (SELECT merchant_id, hash FROM known_shopper \
        WHERE seen_at <= ? ORDER BY seen_at LIMIT ? FOR UPDATE SKIP LOCKED)";
    sqlite "DELETE FROM known_shopper WHERE (merchant_id, hash) IN (SELECT merchant_id, hash FROM known_shopper \
        WHERE seen_at <= ? ORDER BY seen_at LIMIT ?)";
}

statement! {
    /// Deletes the facts of screenings.
    DeleteFacts { before: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "UPDATE screening SET facts = NULL WHERE order_id IN (SELECT order_id FROM screening \
        WHERE facts IS NOT NULL AND ordered_at < ? ORDER BY ordered_at LIMIT ? FOR UPDATE SKIP LOCKED)";
    sqlite "UPDATE screening SET facts = NULL WHERE order_id IN (SELECT order_id FROM screening \
        WHERE facts IS NOT NULL AND ordered_at < ? ORDER BY ordered_at LIMIT ?)";
}

/// Deletes what is over at `now`, and facts from before `facts_before`, so many rows of each; how many.
pub(super) fn purge(
    connection: &mut AnyConnection,
    now: Timestamp,
    facts_before: Timestamp,
    limit: u32,
) -> Result<usize, Fault> {
    let (day, limit) = (VelocityWindow::Day, i64::from(limit));
    let counts = DeleteCounts { over: Instant(now), limit };
    let tries = DeleteTries { before: Instant(now.minus(day.span()).minus(day.bucket())), limit };
    let shoppers = DeleteShoppers { before: Instant(now.minus(KNOWN_SHOPPER_LIFETIME)), limit };
    let facts = DeleteFacts { before: Instant(facts_before), limit };
    let mut purged = on_each!(connection, inner => counts.execute(inner))?;
    purged += on_each!(connection, inner => tries.execute(inner))?;
    purged += on_each!(connection, inner => shoppers.execute(inner))?;
    purged += on_each!(connection, inner => facts.execute(inner))?;
    Ok(purged)
}
