//! Sessions created with one statement.

use std::collections::BTreeSet;

use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_ports::Inserted;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::{Batchable, Batched, Kind};
use dropin_store_runtime::{rows, statement_about};

use super::create::Creation;
use crate::history;

rows! {
    /// A Session, with its billing profile where that is new, its first step, and the key of its request with the response where there is one.
    InputRows of InputRow<'a> {
        id: Id => SqlId,
        merchant_id: Id => SqlId,
        reference: &'a str => Text,
        revision: i64 => BigInt,
        state: &'a str => Text,
        currency: &'a str => Text,
        total_minor: i64 => BigInt,
        terms: &'a JsonDocument => SqlDocument,
        created_at: Instant => SqlInstant,
        updated_at: Instant => SqlInstant,
        expires_at: Instant => SqlInstant,
        attempts_allowed: i32 => Integer,
        profile_id: Id => SqlId,
        details: Option<&'a JsonDocument> => Nullable<SqlDocument>,
        profile_reference: Option<&'a str> => Nullable<Text>,
        profile_created_at: Option<Instant> => Nullable<SqlInstant>,
        actor_kind: &'a str => Text,
        actor_name: Option<&'a str> => Nullable<Text>,
        what: &'a str => Text,
        happened_at: Instant => SqlInstant,
        digest: Option<&'a [u8]> => Nullable<Binary>,
        fingerprint: Option<&'a [u8]> => Nullable<Binary>,
        status: Option<i32> => Nullable<Integer>,
        etag: Option<&'a str> => Nullable<Text>,
        body: Option<&'a [u8]> => Nullable<Binary>,
        answered_at: Option<Instant> => Nullable<SqlInstant>,
        until: Option<Instant> => Nullable<SqlInstant>,
    }
}

statement_about! {
    Insert { input_rows: InputRows, }
    include_str!("create.postgres.sql");
    returns SqlId;
}

/// Inserts Sessions with one statement, which is its own transaction, and tells which were written. The others are left to a transaction
/// that finds out what is the matter with them.
///
/// # Errors
/// Nothing was written, unless the connection is lost.
fn insert(connection: &mut PgConnection, all: &[&Creation]) -> Result<BTreeSet<Id>, Fault> {
    let mut all: Vec<_> = all.iter().copied().filter(|one| one.is_batch_eligible()).collect();
    // In one order everywhere, so that two of these never wait for each other.
    all.sort_unstable_by_key(|one| (one.session.merchant_id, one.reference()));
    // A key that came twice would fail the statement for everybody.
    let mut keys = BTreeSet::new();
    all.retain(|one| match &one.new.response {
        Some(kept) => keys.insert((kept.key_use.key.merchant_id, kept.key_use.key.digest)),
        None => true,
    });
    let insert = Insert { input_rows: all.into_iter().map(input_row).collect() };
    let written: Vec<Id> = insert.load(connection)?;
    Ok(written.into_iter().collect())
}

fn input_row(one: &Creation) -> InputRow<'_> {
    let (session, profile, kept) = (&one.session, one.profile.as_ref(), one.new.response.as_ref());
    let step = history::row(&one.new.history);
    InputRow {
        id: session.id,
        merchant_id: session.merchant_id,
        reference: one.reference(),
        revision: session.revision,
        state: session.state.as_str(),
        currency: session.currency.as_str(),
        total_minor: session.total_minor,
        terms: &session.terms,
        created_at: session.created_at,
        updated_at: session.updated_at,
        expires_at: session.expires_at,
        attempts_allowed: session.attempts_allowed,
        profile_id: session.billing_profile_id,
        details: profile.map(|profile| &profile.details),
        profile_reference: profile.and_then(|profile| profile.reference.as_deref()),
        profile_created_at: profile.map(|profile| profile.created_at),
        actor_kind: step.actor_kind,
        actor_name: step.actor_name,
        what: step.what,
        happened_at: step.happened_at,
        digest: kept.map(|kept| kept.key_use.key.digest.as_slice()),
        fingerprint: kept.map(|kept| kept.key_use.fingerprint.as_slice()),
        status: kept.map(|kept| i32::from(kept.answer.status)),
        etag: kept.and_then(|kept| kept.answer.etag.as_deref()),
        body: kept.map(|kept| kept.answer.body.as_slice()),
        answered_at: kept.map(|kept| Instant(kept.key_use.at)),
        until: kept.map(|kept| Instant(kept.key_use.until)),
    }
}

impl Batchable for Creation {
    const KIND: Kind = Kind::Write;
    const THREAD: &'static str = "store-create";

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<Inserted>, Fault> {
        let written = insert(connection, all)?;
        let answers = all.iter().map(|one| written.contains(&one.session.id).then_some(Inserted::Done));
        Ok(Batched::silent(answers.collect()))
    }
}
