use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use dropin_kernel::{OpId, Timestamp};
use dropin_ports::{AnswerKey, AnswerStore, KeyUse, KnownKey, Remember, Remembered, StoreError, StoredAnswer};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::lane::Verdict;
use crate::schema::answer;
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};
use crate::store::Store;

const TABLE: &str = "answer";

statement! {
    /// Takes a key, unless it counts already for another request. Waits for whoever is taking it right now: a transaction that is undone
    /// frees it.
    Take {
        merchant: Id => SqlId,
        digest: Vec<u8> => Binary,
        fingerprint: Vec<u8> => Binary,
        operation: Option<Id> => Nullable<SqlId>,
        status: Option<i32> => Nullable<Integer>,
        etag: Option<String> => Nullable<Text>,
        body: Option<Vec<u8>> => Nullable<Binary>,
        at: Instant => SqlInstant,
        until: Instant => SqlInstant,
    }
    postgres TAKE;
    sqlite TAKE;
}

const TAKE: &str = "INSERT INTO answer \
        (merchant_id, digest, fingerprint, operation_id, status, etag, body, created_at, expires_at) \
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) \
    ON CONFLICT (merchant_id, digest) DO UPDATE SET fingerprint = excluded.fingerprint, operation_id = excluded.operation_id, \
        status = excluded.status, etag = excluded.etag, body = excluded.body, \
        created_at = excluded.created_at, expires_at = excluded.expires_at \
    WHERE answer.expires_at <= excluded.created_at";

statement! {
    /// Writes what whoever waits for an operation gets, unless they got something before.
    Give { status: i32 => Integer, etag: Option<String> => Nullable<Text>, body: Vec<u8> => Binary, operation: Id => SqlId, }
    postgres GIVE;
    sqlite GIVE;
}

const GIVE: &str = "UPDATE answer SET status = ?, etag = ?, body = ? WHERE operation_id = ? AND status IS NULL";

statement! {
    /// Has whoever waits for an operation wait for another one, unless they got something before.
    PassOn { next: Id => SqlId, operation: Id => SqlId, }
    postgres PASS_ON;
    sqlite PASS_ON;
}

const PASS_ON: &str = "UPDATE answer SET operation_id = ? WHERE operation_id = ? AND status IS NULL";

statement! {
    /// Deletes what expired first. A key that was taken anew meanwhile stays.
    Purge { now: Instant => SqlInstant, again: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres PURGE;
    sqlite PURGE;
}

const PURGE: &str = "DELETE FROM answer WHERE expires_at <= ? AND (merchant_id, digest) IN \
    (SELECT merchant_id, digest FROM answer WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)";

#[async_trait]
impl AnswerStore for Store {
    async fn find_answer(&self, key: AnswerKey, now: Timestamp) -> Result<Option<KnownKey>, StoreError> {
        self.read(move |connection| find(connection, key, now)).await
    }

    async fn remember_answer(&self, remember: Remember) -> Result<Remembered, StoreError> {
        self.write(move |connection| {
            let kept = self::remember(connection, Some(&remember))?;
            Ok(Verdict::Keep(if kept { Remembered::Done } else { Remembered::KeyTaken }))
        })
        .await
    }

    async fn purge_answers(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.write(move |connection| {
            let purge = Purge { now: Instant(now), again: Instant(now), limit: i64::from(limit) };
            let purged = on_each!(connection, inner => purge.execute(inner))?;
            Ok(Verdict::Keep(u32::try_from(purged).unwrap_or(u32::MAX)))
        })
        .await
    }
}

/// Takes the key of a request, if it has one, with what is answered; `false` when the key was used before.
pub(crate) fn remember(connection: &mut AnyConnection, remember: Option<&Remember>) -> Result<bool, Fault> {
    remember.map_or(Ok(true), |remember| take(connection, &remember.key_use, None, Some(&remember.answer)))
}

/// Takes the key of a request, if it has one, for an operation whose outcome is the answer; `false` when the key was used before.
pub(crate) fn await_outcome(
    connection: &mut AnyConnection,
    key_use: Option<&KeyUse>,
    operation: OpId,
) -> Result<bool, Fault> {
    key_use.map_or(Ok(true), |key_use| take(connection, key_use, Some(operation), None))
}

/// Whether the key of a request, if it has one, was used before.
pub(crate) fn is_used(connection: &mut AnyConnection, key_use: Option<&KeyUse>) -> Result<bool, Fault> {
    let Some(key_use) = key_use else { return Ok(false) };
    Ok(find(connection, key_use.key, key_use.at)?.is_some())
}

/// Answers whoever waits for an operation.
pub(crate) fn give(
    connection: &mut AnyConnection,
    operation: OpId,
    answer: Option<&StoredAnswer>,
) -> Result<(), Fault> {
    let Some(answer) = answer else { return Ok(()) };
    let (status, operation) = (i32::from(answer.status), Id(operation.uuid()));
    let give = Give { status, etag: answer.etag.clone(), body: answer.body.clone(), operation };
    on_each!(connection, inner => give.execute(inner))?;
    Ok(())
}

/// Whoever asked for `operation` with a key, and got nothing yet, gets the answer to `next`.
pub(crate) fn pass_on(connection: &mut AnyConnection, operation: OpId, next: OpId) -> Result<(), Fault> {
    let pass = PassOn { next: Id(next.uuid()), operation: Id(operation.uuid()) };
    on_each!(connection, inner => pass.execute(inner))?;
    Ok(())
}

fn take(
    connection: &mut AnyConnection,
    key_use: &KeyUse,
    operation: Option<OpId>,
    answer: Option<&StoredAnswer>,
) -> Result<bool, Fault> {
    let take = Take {
        merchant: Id(key_use.key.merchant_id.uuid()),
        digest: key_use.key.digest.to_vec(),
        fingerprint: key_use.fingerprint.to_vec(),
        operation: operation.map(|operation| Id(operation.uuid())),
        status: answer.map(|answer| i32::from(answer.status)),
        etag: answer.and_then(|answer| answer.etag.clone()),
        body: answer.map(|answer| answer.body.clone()),
        at: Instant(key_use.at),
        until: Instant(key_use.until),
    };
    Ok(on_each!(connection, inner => take.execute(inner))? == 1)
}

fn find(connection: &mut AnyConnection, key: AnswerKey, now: Timestamp) -> Result<Option<KnownKey>, Fault> {
    type Found = (Vec<u8>, Option<i32>, Option<String>, Option<Vec<u8>>);
    let found: Option<Found> = answer::table
        .filter(answer::merchant_id.eq(Id(key.merchant_id.uuid())))
        .filter(answer::digest.eq(key.digest.as_slice()))
        .filter(answer::expires_at.gt(Instant(now)))
        .select((answer::fingerprint, answer::status, answer::etag, answer::body))
        .first(connection)
        .optional()
        .in_table(TABLE)?;
    let Some((fingerprint, status, etag, body)) = found else { return Ok(None) };
    let fingerprint =
        fingerprint.try_into().map_err(|_other_length| corrupt(TABLE, "the fingerprint is no SHA-256"))?;
    let answer = match (status, body) {
        (None, None) => None,
        (Some(status), Some(body)) => {
            let status = u16::try_from(status).map_err(|_beyond| corrupt(TABLE, "the status is none"))?;
            Some(StoredAnswer { status, etag, body })
        }
        _ => return Err(corrupt(TABLE, "half an answer")),
    };
    Ok(Some(KnownKey { fingerprint, answer }))
}
