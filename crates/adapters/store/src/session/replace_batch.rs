//! Sessions replaced with one statement.

use std::collections::BTreeSet;

use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_ports::Replaced;
use dropin_session::SessionStateKind;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::{Batchable, Batched, Kind};
use dropin_store_runtime::{rows, statement_about};

use super::replace::Replacement;
use crate::history::{Steps, step};

rows! {
    /// A Session whose terms are replaced, with its billing profile where that is new, and the answer to keep where there is a key; `number` names it in
    /// the other rows. `state` is what the Session must be: a literal would have PostgreSQL read the partial index of such Sessions, not the key.
    InputRows of InputRow<'a> {
        number: i64 => BigInt,
        session_id: Id => SqlId,
        merchant_id: Id => SqlId,
        expected: i64 => BigInt,
        state: &'static str => Text,
        revision: i64 => BigInt,
        currency: &'a str => Text,
        total_minor: i64 => BigInt,
        profile_id: Id => SqlId,
        terms: &'a JsonDocument => SqlDocument,
        updated_at: Instant => SqlInstant,
        expires_at: Instant => SqlInstant,
        reference: &'a str => Text,
        details: Option<&'a JsonDocument> => Nullable<SqlDocument>,
        profile_reference: Option<&'a str> => Nullable<Text>,
        profile_created_at: Option<Instant> => Nullable<SqlInstant>,
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
    Replace { input_rows: InputRows, steps: Steps, }
    include_str!("replace.postgres.sql");
    returns BigInt;
}

/// Replaces terms with one statement, which is its own transaction, and tells the places of those that were written. The others are left to a
/// transaction that finds out what is the matter with them.
///
/// # Errors
/// Nothing was written, unless the connection is lost.
fn replace(connection: &mut PgConnection, all: &[&Replacement]) -> Result<BTreeSet<usize>, Fault> {
    let mut all: Vec<_> = (0..).zip(all.iter().copied()).filter(|(_, one)| one.is_batch_eligible()).collect();
    // In one order everywhere, so that two of these never wait for each other.
    all.sort_by_key(|(_, one)| one.next().id);
    // A Session that came twice has one winner; a key that came twice would fail the statement for everybody.
    all.dedup_by_key(|(_, one)| one.next().id);
    let mut keys = BTreeSet::new();
    all.retain(|(_, one)| match &one.replace.response {
        Some(kept) => keys.insert((kept.key_use.key.merchant_id, kept.key_use.key.digest)),
        None => true,
    });
    let numbered = || (1_i64..).zip(&all);
    let replace = Replace {
        input_rows: numbered().map(|(number, (_, one))| input_row(number, one)).collect(),
        steps: numbered().map(|(number, (_, one))| step(number, &one.replace.history)).collect(),
    };
    let written: Vec<i64> = replace.load(connection)?;
    let written: BTreeSet<_> = written.into_iter().collect();
    let places = numbered().filter(|(number, _)| written.contains(number)).map(|(_, (batch_index, _))| *batch_index);
    Ok(places.collect())
}

fn input_row(number: i64, one: &Replacement) -> InputRow<'_> {
    let (next, terms, profile) = (one.next(), &one.terms, one.profile.as_ref());
    let (key_use, answer) = one.replace.response.as_ref().map(|kept| (&kept.key_use, &kept.answer)).unzip();
    InputRow {
        number,
        session_id: Id(next.id.uuid()),
        merchant_id: Id(next.merchant_id.uuid()),
        expected: one.replace.change.expected.number(),
        state: SessionStateKind::Created.as_str(),
        revision: terms.revision,
        currency: terms.currency,
        total_minor: terms.total_minor,
        profile_id: terms.billing_profile_id,
        terms: &terms.terms,
        updated_at: terms.updated_at,
        expires_at: terms.expires_at,
        reference: next.terms.merchant_reference.as_str(),
        details: profile.map(|profile| &profile.details),
        profile_reference: profile.and_then(|profile| profile.reference.as_deref()),
        profile_created_at: profile.map(|profile| profile.created_at),
        digest: key_use.map(|key_use| key_use.key.digest.as_slice()),
        fingerprint: key_use.map(|key_use| key_use.fingerprint.as_slice()),
        status: answer.map(|answer| i32::from(answer.status)),
        etag: answer.and_then(|answer| answer.etag.as_deref()),
        body: answer.map(|answer| answer.body.as_slice()),
        answered_at: key_use.map(|key_use| Instant(key_use.at)),
        until: key_use.map(|key_use| Instant(key_use.until)),
    }
}

impl Batchable for Replacement {
    const KIND: Kind = Kind::Write;
    const THREAD: &'static str = "store-replace";

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<Replaced>, Fault> {
        let written = replace(connection, all)?;
        let answers = (0..all.len()).map(|index| written.contains(&index).then_some(Replaced::Done));
        Ok(Batched::silent(answers.collect()))
    }
}
