use std::collections::HashMap;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use dropin_card::StashedKind;
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{
    SealedCard, StashEntry, StashFound, StashKey, StashStore, StashSummary, StashUsage, StashUse, StoreError,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::{Batchable, Batched, Kind, TxOutcome, Work};
use dropin_store_runtime::{on_each, rows, statement, statement_about};

use crate::schema::stash;
use crate::store::Store;

/// An entry to put, on PostgreSQL in a batch.
pub(crate) struct Put(StashEntry);

statement! {
    /// Puts an entry, in place of the one that was there.
    PutOne<'a> {
        merchant: Id => SqlId,
        stash_id: &'a str => Text,
        fingerprint: &'a str => Text,
        key_id: &'a str => Text,
        ciphertext: &'a [u8] => Binary,
        scheme: Option<&'static str> => Nullable<Text>,
        usable: bool => Bool,
        created_at: Instant => SqlInstant,
        expires_at: Instant => SqlInstant,
    }
    both "INSERT INTO stash (merchant_id, stash_id, fingerprint, key_id, ciphertext, scheme, usable, created_at, expires_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
        ON CONFLICT (merchant_id, stash_id, fingerprint) DO UPDATE \
        SET key_id = excluded.key_id, ciphertext = excluded.ciphertext, scheme = excluded.scheme, usable = excluded.usable, \
            created_at = excluded.created_at, expires_at = excluded.expires_at";
}

rows! {
    /// Entries that are put.
    Entries of Entry<'a> {
        merchant_id: Id => SqlId,
        stash_id: &'a str => Text,
        fingerprint: &'a str => Text,
        key_id: &'a str => Text,
        ciphertext: &'a [u8] => Binary,
        scheme: Option<&'static str> => Nullable<Text>,
        usable: bool => Bool,
        created_at: Instant => SqlInstant,
        expires_at: Instant => SqlInstant,
    }
}

statement_about! {
    PutSome { entries: Entries, }
    include_str!("put_batch.postgres.sql");
}

statement! {
    /// Deletes the entries that expired first. One that was put anew meanwhile stays.
    Purge { now: Instant => SqlInstant, limit: i64 => BigInt, }
    both "DELETE FROM stash \
        WHERE expires_at <= $1 \
            AND (merchant_id, stash_id, fingerprint) IN ( \
                SELECT merchant_id, stash_id, fingerprint FROM stash WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 \
            )";
}

statement! {
    /// Counts the live entries of every merchant, their bytes as [`StashEntry::stored_bytes`] does. Neither database reads a ciphertext for its length.
    CountUsage { row_bytes: i64 => BigInt, now: Instant => SqlInstant, }
    postgres "SELECT merchant_id, count(*), \
            sum(octet_length(ciphertext) + 2 * (octet_length(stash_id) + octet_length(fingerprint)) + $1)::bigint \
        FROM stash WHERE expires_at > $2 GROUP BY merchant_id";
    sqlite "SELECT merchant_id, count(*), \
            sum(length(ciphertext) + 2 * (length(CAST(stash_id AS BLOB)) + length(CAST(fingerprint AS BLOB))) + $1) \
        FROM stash WHERE expires_at > $2 GROUP BY merchant_id";
    returns (SqlId, BigInt, BigInt);
}

impl Work for Put {
    type Answer = ();

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<()>, Fault> {
        let Self(entry) = self;
        let put = PutOne {
            merchant: Id(entry.key.merchant_id.uuid()),
            stash_id: &entry.key.stash_id,
            fingerprint: &entry.key.fingerprint,
            key_id: &entry.sealed.key_id,
            ciphertext: &entry.sealed.bytes,
            scheme: entry.summary.kind.method_id(),
            usable: entry.summary.usable,
            created_at: Instant(entry.created_at),
            expires_at: Instant(entry.expires_at),
        };
        on_each!(connection, inner => put.execute(inner))?;
        Ok(TxOutcome::Commit(()))
    }
}

impl Batchable for Put {
    const KIND: Kind = Kind::Write;
    const THREAD: &'static str = "store-stash";

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<()>, Fault> {
        let key = |at: usize| (all[at].0.key.merchant_id, &all[at].0.key.stash_id, &all[at].0.key.fingerprint);
        let mut indexes: Vec<_> = (0..all.len()).collect();
        // In one order everywhere, so that two of these never wait for each other; of one key those who came first.
        indexes.sort_by_key(|at| key(*at));
        // A row can be put once by a statement: who comes later with the same key is done alone, after it.
        indexes.dedup_by_key(|at| key(*at));
        let entries = indexes.iter().map(|at| &all[*at].0).map(|one| Entry {
            merchant_id: Id(one.key.merchant_id.uuid()),
            stash_id: &one.key.stash_id,
            fingerprint: &one.key.fingerprint,
            key_id: &one.sealed.key_id,
            ciphertext: &one.sealed.bytes,
            scheme: one.summary.kind.method_id(),
            usable: one.summary.usable,
            created_at: Instant(one.created_at),
            expires_at: Instant(one.expires_at),
        });
        PutSome { entries: entries.collect() }.execute(connection)?;
        let mut answers = vec![None; all.len()];
        indexes.iter().for_each(|at| answers[*at] = Some(()));
        Ok(Batched::silent(answers))
    }
}

/// A live entry is looked for.
pub(crate) struct Peek {
    key: StashKey,
    now: Timestamp,
}

rows! {
    /// The key of an entry that is searched for; `number` names it in the result.
    Lookups of Lookup<'a> {
        number: i64 => BigInt,
        merchant_id: Id => SqlId,
        stash_id: &'a str => Text,
        fingerprint: &'a str => Text,
        now: Instant => SqlInstant,
    }
}

statement_about! {
    PeekSome { lookups: Lookups, }
    include_str!("peek.postgres.sql");
    returns (BigInt, Nullable<Text>, Bool, Text);
}

impl Peek {
    fn lookup(&self, number: i64) -> Lookup<'_> {
        let Self { key, now } = self;
        Lookup {
            number,
            merchant_id: Id(key.merchant_id.uuid()),
            stash_id: &key.stash_id,
            fingerprint: &key.fingerprint,
            now: Instant(*now),
        }
    }
}

impl Work for Peek {
    type Answer = Option<StashFound>;

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Self::Answer>, Fault> {
        let Self { key, now } = self;
        let found: Option<(Option<String>, bool, String)> = stash::table
            .filter(stash::merchant_id.eq(Id(key.merchant_id.uuid())))
            .filter(stash::stash_id.eq(&key.stash_id))
            .filter(stash::fingerprint.eq(&key.fingerprint))
            .filter(stash::expires_at.gt(Instant(*now)))
            .select((stash::scheme, stash::usable, stash::key_id))
            .first(connection)
            .optional()
            .in_table("stash")?;
        let found = found.map(|(scheme, usable, key_id)| {
            Ok::<_, Fault>(StashFound { summary: StashSummary { kind: read_kind(scheme)?, usable }, key_id })
        });
        found.transpose().map(TxOutcome::Commit)
    }
}

impl Batchable for Peek {
    const KIND: Kind = Kind::Read;
    const THREAD: &'static str = "store-peek";

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<Self::Answer>, Fault> {
        let peek = PeekSome { lookups: (0..).zip(all).map(|(number, one)| one.lookup(number)).collect() };
        let found: Vec<(i64, Option<String>, bool, String)> = peek.load(connection).in_table("stash")?;
        let mut found: HashMap<i64, _> =
            found.into_iter().map(|(number, scheme, usable, key_id)| (number, (scheme, usable, key_id))).collect();
        let answer = |number| match found.remove(&number) {
            None => Some(None),
            // A corrupt row is reported when the task runs alone.
            Some((scheme, usable, key_id)) => {
                let found = |kind| StashFound { summary: StashSummary { kind, usable }, key_id };
                read_kind(scheme).ok().map(|kind| Some(found(kind)))
            }
        };
        Ok(Batched::silent((0..).zip(all).map(|(number, _)| number).map(answer).collect()))
    }
}

statement! {
    /// Takes a live entry out.
    Consume<'a> {
        merchant: Id => SqlId,
        stash_id: &'a str => Text,
        fingerprint: &'a str => Text,
        now: Instant => SqlInstant,
    }
    both "DELETE FROM stash WHERE merchant_id = $1 AND stash_id = $2 AND fingerprint = $3 AND expires_at > $4 \
        RETURNING key_id, ciphertext, scheme, usable";
    returns (Text, Binary, Nullable<Text>, Bool);
}

#[async_trait]
impl StashStore for Store {
    async fn put_stash(&self, entry: StashEntry) -> Result<(), StoreError> {
        self.run_batched(Put(entry)).await
    }

    async fn stash_usage(&self, now: Timestamp) -> Result<Vec<StashUsage>, StoreError> {
        self.read(move |connection| {
            let count = CountUsage { row_bytes: StashEntry::ROW_BYTES.cast_signed(), now: Instant(now) };
            let found: Vec<(Id, i64, i64)> = on_each!(connection, inner => count.load(inner)).in_table("stash")?;
            let size = |number| u64::try_from(number).unwrap_or_default();
            let usage = |(merchant, entries, bytes): (Id, i64, i64)| StashUsage {
                merchant_id: MerchantId::new(merchant.0),
                entries: size(entries),
                bytes: size(bytes),
            };
            Ok(found.into_iter().map(usage).collect())
        })
        .await
    }

    async fn peek_stash(&self, key: &StashKey, now: Timestamp) -> Result<Option<StashFound>, StoreError> {
        self.run_batched(Peek { key: key.clone(), now }).await
    }

    async fn read_stash(
        &self,
        key: &StashKey,
        now: Timestamp,
    ) -> Result<Option<(StashSummary, SealedCard)>, StoreError> {
        let key = key.clone();
        self.read(move |connection| {
            let found: Option<(Option<String>, bool, String, Vec<u8>)> = stash::table
                .filter(stash::merchant_id.eq(Id(key.merchant_id.uuid())))
                .filter(stash::stash_id.eq(&key.stash_id))
                .filter(stash::fingerprint.eq(&key.fingerprint))
                .filter(stash::expires_at.gt(Instant(now)))
                .select((stash::scheme, stash::usable, stash::key_id, stash::ciphertext))
                .first(connection)
                .optional()
                .in_table("stash")?;
            let found = found.map(|(scheme, usable, key_id, bytes)| {
                Ok((StashSummary { kind: read_kind(scheme)?, usable }, SealedCard { key_id, bytes }))
            });
            found.transpose()
        })
        .await
    }

    async fn purge_stash(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.write(move |connection| {
            let purge = Purge { now: Instant(now), limit: i64::from(limit) };
            let purged = on_each!(connection, inner => purge.execute(inner))?;
            Ok(TxOutcome::Commit(u32::try_from(purged).unwrap_or(u32::MAX)))
        })
        .await
    }
}

/// The column holds the id of the payment method, of a wallet too; it is older than those.
fn read_kind(stored: Option<String>) -> Result<StashedKind, Fault> {
    StashedKind::from_method_id(stored.as_deref()).ok_or_else(|| corrupt("stash", "the scheme is unknown"))
}

/// Takes the live entry out of the stash; `None` when unseen, used, expired, or another one than was decided on.
pub(crate) fn consume(
    connection: &mut AnyConnection,
    StashUse { key, summary }: &StashUse,
    now: Timestamp,
) -> Result<Option<SealedCard>, Fault> {
    let consume = Consume {
        merchant: Id(key.merchant_id.uuid()),
        stash_id: &key.stash_id,
        fingerprint: &key.fingerprint,
        now: Instant(now),
    };
    let consumed: Option<(String, Vec<u8>, Option<String>, bool)> =
        on_each!(connection, inner => consume.get_result(inner)).optional().in_table("stash")?;
    // The caller undoes the step when it gets nothing, so another entry than it decided on stays where it is.
    let Some((key_id, bytes, scheme, usable)) = consumed else { return Ok(None) };
    let found = StashSummary { kind: read_kind(scheme)?, usable };
    Ok((found == *summary).then_some(SealedCard { key_id, bytes }))
}
