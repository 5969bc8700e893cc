use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use dropin_card::Scheme;
use dropin_kernel::Timestamp;
use dropin_ports::{SealedCard, StashEntry, StashKey, StashStore, StashSummary, StashUse, StoreError};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::lane::Verdict;
use crate::schema::stash;
use crate::sql::{Id, Instant, SqlInstant};
use crate::statement::{on_each, statement};
use crate::store::Store;

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = stash, treat_none_as_null = true)]
struct EntryRow<'a> {
    merchant_id: Id,
    stash_id: &'a str,
    fingerprint: &'a str,
    key_id: &'a str,
    ciphertext: &'a [u8],
    scheme: Option<&'static str>,
    usable: bool,
    created_at: Instant,
    expires_at: Instant,
}

statement! {
    /// Deletes the entries that expired first. One that was put anew meanwhile stays.
    Purge { now: Instant => SqlInstant, again: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres PURGE;
    sqlite PURGE;
}

const PURGE: &str = "DELETE FROM stash WHERE expires_at <= ? AND (merchant_id, stash_id, fingerprint) IN \
    (SELECT merchant_id, stash_id, fingerprint FROM stash WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)";

#[async_trait]
impl StashStore for Store {
    async fn put_stash(&self, entry: StashEntry) -> Result<(), StoreError> {
        self.write(move |connection| {
            let row = EntryRow {
                merchant_id: Id(entry.key.merchant_id.uuid()),
                stash_id: &entry.key.stash_id,
                fingerprint: &entry.key.fingerprint,
                key_id: &entry.sealed.key_id,
                ciphertext: &entry.sealed.bytes,
                scheme: entry.summary.scheme.map(Scheme::as_str),
                usable: entry.summary.usable,
                created_at: Instant(entry.created_at),
                expires_at: Instant(entry.expires_at),
            };
            on_each!(connection, inner => {
                diesel::insert_into(stash::table)
                    .values(&row)
                    .on_conflict((stash::merchant_id, stash::stash_id, stash::fingerprint))
                    .do_update()
                    .set(&row)
                    .execute(inner)
            })?;
            Ok(Verdict::Keep(()))
        })
        .await
    }

    async fn peek_stash(&self, key: &StashKey, now: Timestamp) -> Result<Option<StashSummary>, StoreError> {
        let key = key.clone();
        self.read(move |connection| {
            let found: Option<(Option<String>, bool)> = stash::table
                .filter(stash::merchant_id.eq(Id(key.merchant_id.uuid())))
                .filter(stash::stash_id.eq(&key.stash_id))
                .filter(stash::fingerprint.eq(&key.fingerprint))
                .filter(stash::expires_at.gt(Instant(now)))
                .select((stash::scheme, stash::usable))
                .first(connection)
                .optional()
                .in_table("stash")?;
            found.map(|(scheme, usable)| Ok(StashSummary { scheme: read_scheme(scheme)?, usable })).transpose()
        })
        .await
    }

    async fn purge_stash(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.write(move |connection| {
            let purge = Purge { now: Instant(now), again: Instant(now), limit: i64::from(limit) };
            let purged = on_each!(connection, inner => purge.execute(inner))?;
            Ok(Verdict::Keep(u32::try_from(purged).unwrap_or(u32::MAX)))
        })
        .await
    }
}

fn read_scheme(stored: Option<String>) -> Result<Option<Scheme>, Fault> {
    stored.map(|code| Scheme::from_code(&code).ok_or_else(|| corrupt("stash", "the scheme is unknown"))).transpose()
}

/// Takes the live entry out of the stash; `None` when unseen, used, expired, or another one than was decided on.
pub(crate) fn consume(
    connection: &mut AnyConnection,
    StashUse { key, summary }: &StashUse,
    now: Timestamp,
) -> Result<Option<SealedCard>, Fault> {
    let entry = stash::table
        .filter(stash::merchant_id.eq(Id(key.merchant_id.uuid())))
        .filter(stash::stash_id.eq(&key.stash_id))
        .filter(stash::fingerprint.eq(&key.fingerprint))
        .filter(stash::expires_at.gt(Instant(now)));
    type Consumed = (String, Vec<u8>, Option<String>, bool);
    let columns = (stash::key_id, stash::ciphertext, stash::scheme, stash::usable);
    let consumed: Option<Consumed> = on_each!(connection, inner => {
        diesel::delete(entry).returning(columns).get_result(inner).optional()
    })
    .in_table("stash")?;
    // The caller undoes the step when it gets nothing, so another entry than it decided on stays where it is.
    let Some((key_id, bytes, scheme, usable)) = consumed else { return Ok(None) };
    let found = StashSummary { scheme: read_scheme(scheme)?, usable };
    Ok((found == *summary).then_some(SealedCard { key_id, bytes }))
}
