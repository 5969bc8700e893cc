use std::collections::BTreeSet;

use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_session::SessionStateKind;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::{rows, statement_about};

use super::append_only::{Steps, step};
use crate::replace::Replacement;

rows! {
    /// A Session whose terms are replaced, with its billing profile where that is new, and the answer to keep where there is a key; `number` names it in
    /// the other rows. `state` is what the Session must be: a literal would have PostgreSQL read the partial index of such Sessions, not the key.
    InputRows of InputRow<'a> as "input_row" {
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
    /// Replaces the terms of Sessions, and tells of which by their numbers. One is left out whose Session is not as it was when that was decided, whose
    /// key was used before, or whose MerchantReference belongs to another. What changes at the same moment fails the whole.
    ///
    /// Everybody takes the reference before the Session before the key, each kind in the order of its key. Each part reads what the one before it
    /// returned, so that PostgreSQL keeps to that.
    Replace<'a> { input_rows: InputRows<'a>, steps: Steps<'a>, }
    "WITH input_row AS MATERIALIZED (SELECT * FROM ? \
    ), ready AS MATERIALIZED ( \
        SELECT input_row.*, (SELECT r.owner_kind = 'SESSION' AND r.owner_id = input_row.session_id FROM merchant_reference AS r \
            WHERE r.merchant_id = input_row.merchant_id AND r.reference = input_row.reference) AS is_own \
        FROM input_row WHERE input_row.expected = (SELECT s.revision FROM session AS s \
                WHERE s.id = input_row.session_id AND s.merchant_id = input_row.merchant_id AND s.state = input_row.state) \
            AND (SELECT TRUE FROM answer WHERE answer.merchant_id = input_row.merchant_id AND answer.digest = input_row.digest) IS NULL \
    ), taken AS ( \
        INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id) \
        SELECT merchant_id, reference, 'SESSION', session_id FROM ready WHERE is_own IS NULL \
        ORDER BY merchant_id, reference COLLATE \"C\" ON CONFLICT DO NOTHING RETURNING owner_id \
    ), granted AS MATERIALIZED ( \
        SELECT * FROM ready WHERE is_own OR session_id = ANY (ARRAY(SELECT owner_id FROM taken)) ORDER BY session_id \
    ), new_profile AS ( \
        INSERT INTO billing_profile (id, merchant_id, reference, details, created_at) \
        SELECT profile_id, merchant_id, profile_reference, details, profile_created_at FROM granted WHERE details IS NOT NULL \
    ), moved AS ( \
        UPDATE session AS s SET revision = granted.revision, currency = granted.currency, total_minor = granted.total_minor, \
            billing_profile_id = granted.profile_id, terms = granted.terms, updated_at = granted.updated_at, expires_at = granted.expires_at \
        FROM granted WHERE s.id = granted.session_id AND s.merchant_id = granted.merchant_id AND s.revision = granted.expected \
        RETURNING granted.number \
    ), new_history AS ( \
        INSERT INTO history \
            (merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at) \
        SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what, \
            step.state_before, step.state_after, step.happened_at \
        FROM ? WHERE step.number = ANY ((SELECT array_agg(number) FROM granted)::bigint[]) \
    ), new_answer AS ( \
        INSERT INTO answer (merchant_id, digest, fingerprint, status, etag, body, created_at, expires_at) \
        SELECT merchant_id, digest, fingerprint, status, etag, body, answered_at, until FROM granted \
        WHERE digest IS NOT NULL AND (SELECT count(*) FROM moved) > 0 ORDER BY merchant_id, digest \
    ) SELECT granted.number FROM granted \
    WHERE CASE WHEN (SELECT count(*) FROM moved) = (SELECT count(*) FROM granted) THEN TRUE ELSE dropin_again() IS NULL END";
    returns BigInt;
}

/// Replaces terms with one statement, which is its own transaction, and tells the places of those that were written. The others are left to a
/// transaction that finds out what is the matter with them.
///
/// # Errors
/// Nothing was written, unless the connection is lost.
pub(crate) fn replace(connection: &mut PgConnection, all: &[&Replacement]) -> Result<BTreeSet<usize>, Fault> {
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
