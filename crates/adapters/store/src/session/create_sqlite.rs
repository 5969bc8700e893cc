use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use diesel::{RunQueryDsl, SqliteConnection};
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::statement;

use crate::rows::{ProfileRow, SessionRow};

statement! {
    InsertProfile<'a> {
        id: Id => SqlId,
        merchant: Id => SqlId,
        reference: Option<&'a str> => Nullable<Text>,
        details: &'a JsonDocument => SqlDocument,
        created: Instant => SqlInstant,
    }
    sqlite "INSERT INTO billing_profile (id, merchant_id, reference, details, created_at) VALUES ($1, $2, $3, $4, $5)";
}

statement! {
    InsertSession<'a> {
        id: Id => SqlId,
        merchant: Id => SqlId,
        revision: i64 => BigInt,
        state: &'a str => Text,
        order: Option<Id> => Nullable<SqlId>,
        attempt: Option<Id> => Nullable<SqlId>,
        cancel_reason: Option<&'a str> => Nullable<Text>,
        failure_reason: Option<&'a str> => Nullable<Text>,
        currency: &'a str => Text,
        total: i64 => BigInt,
        profile: Id => SqlId,
        terms: &'a JsonDocument => SqlDocument,
        created: Instant => SqlInstant,
        updated: Instant => SqlInstant,
        expires: Instant => SqlInstant,
        attempts_failed: i32 => Integer,
        attempts_allowed: i32 => Integer,
        last_attempt: Option<Id> => Nullable<SqlId>,
        last_failure: Option<&'a str> => Nullable<Text>,
    }
    sqlite include_str!("insert_session.sqlite.sql");
}

/// Inserts a Session and the billing profile that came with it.
pub(super) fn insert(
    connection: &mut SqliteConnection,
    row: &SessionRow,
    profile: Option<&ProfileRow>,
) -> Result<(), Fault> {
    if let Some(profile) = profile {
        let insert = InsertProfile {
            id: profile.id,
            merchant: profile.merchant_id,
            reference: profile.reference.as_deref(),
            details: &profile.details,
            created: profile.created_at,
        };
        insert.execute(connection)?;
    }
    let insert = InsertSession {
        id: row.id,
        merchant: row.merchant_id,
        revision: row.revision,
        state: &row.state,
        order: row.order_id,
        attempt: row.attempt_id,
        cancel_reason: row.cancel_reason.as_deref(),
        failure_reason: row.failure_reason.as_deref(),
        currency: &row.currency,
        total: row.total_minor,
        profile: row.billing_profile_id,
        terms: &row.terms,
        created: row.created_at,
        updated: row.updated_at,
        expires: row.expires_at,
        attempts_failed: row.attempts_failed,
        attempts_allowed: row.attempts_allowed,
        last_attempt: row.last_attempt_id,
        last_failure: row.last_failure.as_deref(),
    };
    insert.execute(connection)?;
    Ok(())
}
