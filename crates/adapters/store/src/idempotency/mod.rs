use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use dropin_kernel::{OpId, Timestamp};
use dropin_ports::{
    KeyRecord, KeyUse, RequestKey, ResponseStore, ResponseStored, ResponseToStore, StoreError, StoredResponse,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::TxOutcome;
use dropin_store_runtime::{on_each, statement};

use crate::schema::answer;
use crate::store::Store;

const TABLE: &str = "answer";

statement! {
    TakeKey {
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
    both include_str!("take_key.sql");
}

statement! {
    /// Stores the response for the request that waits for an operation, unless it has one already.
    Complete {
        status: i32 => Integer,
        etag: Option<String> => Nullable<Text>,
        body: Vec<u8> => Binary,
        operation: Id => SqlId,
    }
    both "UPDATE answer SET status = $1, etag = $2, body = $3 WHERE operation_id = $4 AND status IS NULL";
}

statement! {
    /// Lets the request that waits for an operation wait for another one, unless it has a response already.
    PassKeyOn { next: Id => SqlId, operation: Id => SqlId, }
    both "UPDATE answer SET operation_id = $1 WHERE operation_id = $2 AND status IS NULL";
}

statement! {
    /// Deletes what expired first. A key that was taken anew meanwhile stays.
    Purge { now: Instant => SqlInstant, limit: i64 => BigInt, }
    both "DELETE FROM answer \
        WHERE expires_at <= $1 \
            AND (merchant_id, digest) IN ( \
                SELECT merchant_id, digest FROM answer WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 \
            )";
}

#[async_trait]
impl ResponseStore for Store {
    async fn find_response(&self, key: RequestKey, now: Timestamp) -> Result<Option<KeyRecord>, StoreError> {
        self.read(move |connection| find(connection, key, now)).await
    }

    async fn store_response(&self, response: ResponseToStore) -> Result<ResponseStored, StoreError> {
        self.write(move |connection| {
            let kept = store_response(connection, Some(&response))?;
            Ok(TxOutcome::Commit(if kept { ResponseStored::Done } else { ResponseStored::KeyTaken }))
        })
        .await
    }

    async fn purge_responses(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.write(move |connection| {
            let purge = Purge { now: Instant(now), limit: i64::from(limit) };
            let purged = on_each!(connection, inner => purge.execute(inner))?;
            Ok(TxOutcome::Commit(u32::try_from(purged).unwrap_or(u32::MAX)))
        })
        .await
    }
}

/// Inserts the key of a request, if it has one, with its response; `false` when the key was used before.
pub(crate) fn store_response(
    connection: &mut AnyConnection,
    response: Option<&ResponseToStore>,
) -> Result<bool, Fault> {
    response.map_or(Ok(true), |response| take(connection, &response.key_use, None, Some(&response.answer)))
}

/// Inserts the key of a request, if it has one, for an operation whose outcome is the response; `false` when the key was used before.
pub(crate) fn take_key(
    connection: &mut AnyConnection,
    key_use: Option<&KeyUse>,
    operation: OpId,
) -> Result<bool, Fault> {
    key_use.map_or(Ok(true), |key_use| take(connection, key_use, Some(operation), None))
}

/// Whether the key of a request, if it has one, was used before.
pub(crate) fn is_key_used(connection: &mut AnyConnection, key_use: Option<&KeyUse>) -> Result<bool, Fault> {
    let Some(key_use) = key_use else { return Ok(false) };
    Ok(find(connection, key_use.key, key_use.at)?.is_some())
}

/// Stores the response for the request that waits for an operation.
pub(crate) fn complete(
    connection: &mut AnyConnection,
    operation: OpId,
    answer: Option<&StoredResponse>,
) -> Result<(), Fault> {
    let Some(answer) = answer else { return Ok(()) };
    let (status, operation) = (i32::from(answer.status), Id(operation.uuid()));
    let complete = Complete { status, etag: answer.etag.clone(), body: answer.body.clone(), operation };
    on_each!(connection, inner => complete.execute(inner))?;
    Ok(())
}

/// The request that waits for `operation` with a key, and has no response yet, gets the response to `next`.
pub(crate) fn pass_key_on(connection: &mut AnyConnection, operation: OpId, next: OpId) -> Result<(), Fault> {
    let pass = PassKeyOn { next: Id(next.uuid()), operation: Id(operation.uuid()) };
    on_each!(connection, inner => pass.execute(inner))?;
    Ok(())
}

fn take(
    connection: &mut AnyConnection,
    key_use: &KeyUse,
    operation: Option<OpId>,
    answer: Option<&StoredResponse>,
) -> Result<bool, Fault> {
    let take = TakeKey {
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

fn find(connection: &mut AnyConnection, key: RequestKey, now: Timestamp) -> Result<Option<KeyRecord>, Fault> {
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
            Some(StoredResponse { status, etag, body })
        }
        _ => return Err(corrupt(TABLE, "half an answer")),
    };
    Ok(Some(KeyRecord { fingerprint, answer }))
}
