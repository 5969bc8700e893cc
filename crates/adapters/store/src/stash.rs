use std::collections::HashMap;

use async_trait::async_trait;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Bool, Nullable, Text};
use dropin_card::StashedKind;
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{SealedCard, StashEntry, StashKey, StashStore, StashSummary, StashUse, StoreError};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::lane::{Together, Verdict, Work};
use crate::schema::stash;
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, rows, statement, statement_about};
use crate::store::Store;

/// An entry to put, on PostgreSQL with others that wait.
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
    postgres PUT;
    sqlite PUT;
}

statement! {
    /// Puts entries of different keys, in place of those that were there.
    PutSome<'a> {
        merchants: Vec<Id> => Array<SqlId>,
        stash_ids: Vec<&'a str> => Array<Text>,
        fingerprints: Vec<&'a str> => Array<Text>,
        key_ids: Vec<&'a str> => Array<Text>,
        ciphertexts: Vec<&'a [u8]> => Array<Binary>,
        schemes: Vec<Option<&'static str>> => Array<Nullable<Text>>,
        usable: Vec<bool> => Array<Bool>,
        created: Vec<Instant> => Array<SqlInstant>,
        expire: Vec<Instant> => Array<SqlInstant>,
    }
    on Pg, PgConnection, "INSERT INTO stash \
            (merchant_id, stash_id, fingerprint, key_id, ciphertext, scheme, usable, created_at, expires_at) \
        SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?, ?, ?) \
        ON CONFLICT (merchant_id, stash_id, fingerprint) DO UPDATE SET key_id = excluded.key_id, ciphertext = excluded.ciphertext, \
            scheme = excluded.scheme, usable = excluded.usable, created_at = excluded.created_at, expires_at = excluded.expires_at";
}

const PUT: &str = "INSERT INTO stash \
        (merchant_id, stash_id, fingerprint, key_id, ciphertext, scheme, usable, created_at, expires_at) \
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) \
    ON CONFLICT (merchant_id, stash_id, fingerprint) DO UPDATE SET key_id = excluded.key_id, ciphertext = excluded.ciphertext, \
        scheme = excluded.scheme, usable = excluded.usable, created_at = excluded.created_at, expires_at = excluded.expires_at";

statement! {
    /// Deletes the entries that expired first. One that was put anew meanwhile stays.
    Purge { now: Instant => SqlInstant, again: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres PURGE;
    sqlite PURGE;
}

const PURGE: &str = "DELETE FROM stash WHERE expires_at <= ? AND (merchant_id, stash_id, fingerprint) IN \
    (SELECT merchant_id, stash_id, fingerprint FROM stash WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)";

statement! {
    /// Counts live entries of a merchant.
    Count { merchant: Id => SqlId, now: Instant => SqlInstant, most: i64 => BigInt, }
    postgres COUNT;
    sqlite COUNT;
    returns BigInt;
}

const COUNT: &str =
    "SELECT count(*) FROM (SELECT 1 FROM stash WHERE merchant_id = ? AND expires_at > ? LIMIT ?) AS live";

impl Work for Put {
    type Answer = ();

    fn run(&self, connection: &mut AnyConnection) -> Result<Verdict<()>, Fault> {
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
        Ok(Verdict::Keep(()))
    }
}

impl Together for Put {
    fn together(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<()>>, Fault> {
        let key = |at: usize| (all[at].0.key.merchant_id, &all[at].0.key.stash_id, &all[at].0.key.fingerprint);
        let mut places: Vec<_> = (0..all.len()).collect();
        // In one order everywhere, so that two of these never wait for each other; of one key those who came first.
        places.sort_by_key(|at| key(*at));
        // A row can be put once by a statement: who comes later with the same key is done alone, after it.
        places.dedup_by_key(|at| key(*at));
        let some: Vec<_> = places.iter().map(|at| &all[*at].0).collect();
        let put = PutSome {
            merchants: some.iter().map(|one| Id(one.key.merchant_id.uuid())).collect(),
            stash_ids: some.iter().map(|one| one.key.stash_id.as_str()).collect(),
            fingerprints: some.iter().map(|one| one.key.fingerprint.as_str()).collect(),
            key_ids: some.iter().map(|one| one.sealed.key_id.as_str()).collect(),
            ciphertexts: some.iter().map(|one| one.sealed.bytes.as_slice()).collect(),
            schemes: some.iter().map(|one| one.summary.kind.method_id()).collect(),
            usable: some.iter().map(|one| one.summary.usable).collect(),
            created: some.iter().map(|one| Instant(one.created_at)).collect(),
            expire: some.iter().map(|one| Instant(one.expires_at)).collect(),
        };
        put.execute(connection)?;
        let mut answers = vec![None; all.len()];
        places.iter().for_each(|at| answers[*at] = Some(()));
        Ok(answers)
    }
}

/// A live entry is looked for.
pub(crate) struct Peek {
    key: StashKey,
    now: Timestamp,
}

rows! {
    /// Where an entry is looked for; `number` names it in the answer.
    Places of Place<'a> as "wish" {
        number: i64 => BigInt,
        merchant_id: Id => SqlId,
        stash_id: &'a str => Text,
        fingerprint: &'a str => Text,
        now: Instant => SqlInstant,
    }
}

statement_about! {
    /// What is known of live entries.
    PeekSome<'a> { places: Places<'a>, }
    "SELECT wish.number, stash.scheme, stash.usable FROM ? JOIN stash ON stash.merchant_id = wish.merchant_id \
        AND stash.stash_id = wish.stash_id AND stash.fingerprint = wish.fingerprint AND stash.expires_at > wish.now";
    returns (BigInt, Nullable<Text>, Bool);
}

impl Peek {
    fn place(&self, number: i64) -> Place<'_> {
        let Self { key, now } = self;
        Place {
            number,
            merchant_id: Id(key.merchant_id.uuid()),
            stash_id: &key.stash_id,
            fingerprint: &key.fingerprint,
            now: Instant(*now),
        }
    }
}

impl Work for Peek {
    type Answer = Option<StashSummary>;

    fn run(&self, connection: &mut AnyConnection) -> Result<Verdict<Self::Answer>, Fault> {
        let Self { key, now } = self;
        let found: Option<(Option<String>, bool)> = stash::table
            .filter(stash::merchant_id.eq(Id(key.merchant_id.uuid())))
            .filter(stash::stash_id.eq(&key.stash_id))
            .filter(stash::fingerprint.eq(&key.fingerprint))
            .filter(stash::expires_at.gt(Instant(*now)))
            .select((stash::scheme, stash::usable))
            .first(connection)
            .optional()
            .in_table("stash")?;
        let summary = found.map(|(scheme, usable)| Ok::<_, Fault>(StashSummary { kind: read_kind(scheme)?, usable }));
        summary.transpose().map(Verdict::Keep)
    }
}

impl Together for Peek {
    fn together(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<Self::Answer>>, Fault> {
        let peek = PeekSome { places: (0..).zip(all).map(|(number, one)| one.place(number)).collect() };
        let found: Vec<(i64, Option<String>, bool)> = peek.load(connection).in_table("stash")?;
        let mut found: HashMap<i64, _> =
            found.into_iter().map(|(number, scheme, usable)| (number, (scheme, usable))).collect();
        let answer = |number| match found.remove(&number) {
            None => Some(None),
            // A row that makes no sense is told when it is read alone.
            Some((scheme, usable)) => read_kind(scheme).ok().map(|kind| Some(StashSummary { kind, usable })),
        };
        Ok((0..).zip(all).map(|(number, _)| number).map(answer).collect())
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
    postgres CONSUME;
    sqlite CONSUME;
    returns (Text, Binary, Nullable<Text>, Bool);
}

const CONSUME: &str = "DELETE FROM stash WHERE merchant_id = ? AND stash_id = ? AND fingerprint = ? AND expires_at > ? \
    RETURNING key_id, ciphertext, scheme, usable";

#[async_trait]
impl StashStore for Store {
    async fn put_stash(&self, entry: StashEntry) -> Result<(), StoreError> {
        self.beside_others(Put(entry)).await
    }

    async fn count_stash(&self, merchant: MerchantId, now: Timestamp, most: u32) -> Result<u32, StoreError> {
        self.read(move |connection| {
            let count = Count { merchant: Id(merchant.uuid()), now: Instant(now), most: i64::from(most) };
            let live: i64 = on_each!(connection, inner => count.get_result(inner)).in_table("stash")?;
            Ok(u32::try_from(live).unwrap_or(u32::MAX))
        })
        .await
    }

    async fn peek_stash(&self, key: &StashKey, now: Timestamp) -> Result<Option<StashSummary>, StoreError> {
        self.beside_others(Peek { key: key.clone(), now }).await
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
