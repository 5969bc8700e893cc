use std::collections::BTreeSet;

use diesel::sql_types::{Array, BigInt, Binary, Integer, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::statement;

use super::Creation;
use crate::history;

statement! {
    Insert<'a> {
        ids: Vec<Id> => Array<SqlId>,
        merchants: Vec<Id> => Array<SqlId>,
        references: Vec<&'a str> => Array<Text>,
        revisions: Vec<i64> => Array<BigInt>,
        states: Vec<&'a str> => Array<Text>,
        currencies: Vec<&'a str> => Array<Text>,
        totals: Vec<i64> => Array<BigInt>,
        terms: Vec<&'a JsonDocument> => Array<SqlDocument>,
        created: Vec<Instant> => Array<SqlInstant>,
        updated: Vec<Instant> => Array<SqlInstant>,
        expire: Vec<Instant> => Array<SqlInstant>,
        attempts: Vec<i32> => Array<Integer>,
        profiles: Vec<Id> => Array<SqlId>,
        details: Vec<Option<&'a JsonDocument>> => Array<Nullable<SqlDocument>>,
        profile_references: Vec<Option<&'a str>> => Array<Nullable<Text>>,
        profiles_created: Vec<Option<Instant>> => Array<Nullable<SqlInstant>>,
        actor_kinds: Vec<&'a str> => Array<Text>,
        actor_names: Vec<Option<&'a str>> => Array<Nullable<Text>>,
        steps: Vec<&'a str> => Array<Text>,
        happened: Vec<Instant> => Array<SqlInstant>,
        digests: Vec<Option<&'a [u8]>> => Array<Nullable<Binary>>,
        fingerprints: Vec<Option<&'a [u8]>> => Array<Nullable<Binary>>,
        statuses: Vec<Option<i32>> => Array<Nullable<Integer>>,
        etags: Vec<Option<&'a str>> => Array<Nullable<Text>>,
        bodies: Vec<Option<&'a [u8]>> => Array<Nullable<Binary>>,
        answered: Vec<Option<Instant>> => Array<Nullable<SqlInstant>>,
        until: Vec<Option<Instant>> => Array<Nullable<SqlInstant>>,
    }
    postgres include_str!("create.postgres.sql");
    returns SqlId;
}

/// Inserts Sessions with one statement, which is its own transaction, and tells which were written. The others are left to a transaction
/// that finds out what is the matter with them.
///
/// # Errors
/// Nothing was written, unless the connection is lost.
pub(crate) fn insert(connection: &mut PgConnection, all: &[&Creation]) -> Result<BTreeSet<Id>, Fault> {
    let mut all: Vec<_> = all.iter().copied().filter(|one| one.is_batch_eligible()).collect();
    // In one order everywhere, so that two of these never wait for each other.
    all.sort_unstable_by_key(|one| (one.session.merchant_id, one.reference()));
    // A key that came twice would fail the statement for everybody.
    let mut keys = BTreeSet::new();
    all.retain(|one| match &one.new.response {
        Some(kept) => keys.insert((kept.key_use.key.merchant_id, kept.key_use.key.digest)),
        None => true,
    });
    let steps: Vec<_> = all.iter().map(|one| history::row(&one.new.history)).collect();
    let responses: Vec<_> = all.iter().map(|one| one.new.response.as_ref()).collect();
    let insert = Insert {
        ids: all.iter().map(|one| one.session.id).collect(),
        merchants: all.iter().map(|one| one.session.merchant_id).collect(),
        references: all.iter().map(|one| one.reference()).collect(),
        revisions: all.iter().map(|one| one.session.revision).collect(),
        states: all.iter().map(|one| one.session.state.as_str()).collect(),
        currencies: all.iter().map(|one| one.session.currency.as_str()).collect(),
        totals: all.iter().map(|one| one.session.total_minor).collect(),
        terms: all.iter().map(|one| &one.session.terms).collect(),
        created: all.iter().map(|one| one.session.created_at).collect(),
        updated: all.iter().map(|one| one.session.updated_at).collect(),
        expire: all.iter().map(|one| one.session.expires_at).collect(),
        attempts: all.iter().map(|one| one.session.attempts_allowed).collect(),
        profiles: all.iter().map(|one| one.session.billing_profile_id).collect(),
        details: all.iter().map(|one| one.profile.as_ref().map(|profile| &profile.details)).collect(),
        profile_references: all.iter().map(|one| one.profile.as_ref()?.reference.as_deref()).collect(),
        profiles_created: all.iter().map(|one| one.profile.as_ref().map(|profile| profile.created_at)).collect(),
        actor_kinds: steps.iter().map(|step| step.actor_kind).collect(),
        actor_names: steps.iter().map(|step| step.actor_name).collect(),
        steps: steps.iter().map(|step| step.what).collect(),
        happened: steps.iter().map(|step| step.happened_at).collect(),
        digests: responses.iter().map(|kept| Some(kept.as_ref()?.key_use.key.digest.as_slice())).collect(),
        fingerprints: responses.iter().map(|kept| Some(kept.as_ref()?.key_use.fingerprint.as_slice())).collect(),
        statuses: responses.iter().map(|kept| Some(i32::from(kept.as_ref()?.answer.status))).collect(),
        etags: responses.iter().map(|kept| kept.as_ref()?.answer.etag.as_deref()).collect(),
        bodies: responses.iter().map(|kept| Some(kept.as_ref()?.answer.body.as_slice())).collect(),
        answered: responses.iter().map(|kept| Some(Instant(kept.as_ref()?.key_use.at))).collect(),
        until: responses.iter().map(|kept| Some(Instant(kept.as_ref()?.key_use.until))).collect(),
    };
    let written: Vec<Id> = insert.load(connection)?;
    Ok(written.into_iter().collect())
}
