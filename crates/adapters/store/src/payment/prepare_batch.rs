//! Authorizations prepared with one statement.

use std::collections::{BTreeMap, HashSet};

use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_card::CardHash;
use dropin_order::{OpKind, Order, OrderParts};
use dropin_ports::{AuthorizationPrepared, ContractUse, PrepareAuthorization, SealedCard};
use dropin_session::SessionStateKind;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::{Batchable, Batched, Kind};
use dropin_store_runtime::{rows, statement_about};

use super::contention::despite_contention;
use super::operation_batch::{NewOperations, new_operation};
use super::order;
use super::prepare::Preparation;
use crate::audit_log::{AuditEntries, audit_row};
use crate::contract::{ContractRows, check_use, contract_row};
use crate::history::{Steps, step};
use crate::rows::StateColumns;

/// One that the batched statement can prepare: it begins the payment of a Session, or a server-to-server checkout, with a contract or without.
#[derive(Clone, Copy)]
struct EligiblePreparation<'a> {
    /// Its index in the batch.
    batch_index: usize,
    prepare: &'a PrepareAuthorization,
}

impl Preparation {
    fn batch_eligible(&self, batch_index: usize) -> Option<EligiblePreparation<'_>> {
        // All fields are named, so that a new one is thought of here.
        let PrepareAuthorization {
            session,
            order,
            checkout,
            contract,
            operation,
            stash,
            now: _,
            history: _,
            key_use,
            audit: _,
        } = &self.0;
        let pays = match session {
            Some(change) => {
                change.next.revision == change.expected.next()
                    && change.next.state.kind() == SessionStateKind::Processing
                    && change.next.state.order() == Some(order.id)
                    && change.next.merchant_id == order.merchant_id
                    && order.session_id == Some(change.next.id)
                    && order.attempt_id == change.next.state.attempt()
            }
            None => order.session_id.is_none() && order.attempt_id.is_none(),
        };
        let asks = operation.kind == OpKind::Authorize && operation.order_id == order.id;
        let own = stash.as_ref().is_none_or(|used| used.key.merchant_id == order.merchant_id)
            && key_use.as_ref().is_none_or(|used| used.key.merchant_id == order.merchant_id);
        let stored = checkout.as_ref().is_none_or(order::is_json);
        let agreed = contract.as_ref().is_none_or(|using| check_use(using, order).is_ok());
        let eligible = pays && asks && own && stored && agreed && is_fresh(order);
        eligible.then_some(EligiblePreparation { batch_index, prepare: &self.0 })
    }
}

/// Whether nothing has become of it yet: what the shared statement leaves out is what a new Order does not have.
fn is_fresh(order: &Order) -> bool {
    // All fields are named, so that a new one is thought of here and in the statement.
    let OrderParts {
        id: _,
        merchant_id: _,
        session_id: _,
        attempt_id: _,
        merchant_reference: _,
        revision: _,
        state: _,
        under_review: _,
        shown: _,
        total: _,
        amounts,
        auto_capture: _,
        payment_method: _,
        created_at: _,
        updated_at: _,
        expires_at: _,
        page: _,
        bank_details,
        voiding,
        capture_promised,
        return_url: _,
        failure,
        transfer_reference: _,
        transfer_page: _,
        contract_id: _,
        card: _,
        last_four: _,
    } = &**order;
    let moved = [
        amounts.total_authorized(),
        amounts.captured(),
        amounts.capture_pending(),
        amounts.refunded(),
        amounts.refund_pending(),
    ];
    moved.iter().all(|amount| amount.is_zero())
        && bank_details.is_none()
        && (voiding.is_none() && capture_promised.is_none() && failure.is_none())
}

rows! {
    /// An Order that is begun, the Session that it pays or what the checkout said, its contract, the key of the request, and the stash entry that it
    /// uses up; `number` names it in the other rows.
    InputRows of InputRow<'a> {
        number: i64 => BigInt,
        session_id: Option<Id> => Nullable<SqlId>,
        merchant_id: Id => SqlId,
        expected: Option<i64> => Nullable<BigInt>,
        session_revision: Option<i64> => Nullable<BigInt>,
        session_state: Option<&'a str> => Nullable<Text>,
        attempt_id: Option<Id> => Nullable<SqlId>,
        session_updated_at: Option<Instant> => Nullable<SqlInstant>,
        order_id: Id => SqlId,
        reference: &'a str => Text,
        revision: i64 => BigInt,
        state: &'a str => Text,
        under_review: bool => Bool,
        shown: bool => Bool,
        currency: &'a str => Text,
        total: i64 => BigInt,
        auto_capture: bool => Bool,
        payment_method: &'a str => Text,
        created_at: Instant => SqlInstant,
        updated_at: Instant => SqlInstant,
        return_url: Option<&'a str> => Nullable<Text>,
        expires_at: Option<Instant> => Nullable<SqlInstant>,
        page: Option<&'a str> => Nullable<Text>,
        transfer_reference: Option<&'a str> => Nullable<Text>,
        transfer_page: Option<&'a str> => Nullable<Text>,
        card_hash: Option<&'a [u8]> => Nullable<Binary>,
        card_last_four: Option<String> => Nullable<Text>,
        contract_id: Option<Id> => Nullable<SqlId>,
        contract_use: Option<&'a str> => Nullable<Text>,
        contract_expected: Option<i64> => Nullable<BigInt>,
        checkout: Option<JsonDocument> => Nullable<SqlDocument>,
        operation_id: Id => SqlId,
        digest: Option<&'a [u8]> => Nullable<Binary>,
        fingerprint: Option<&'a [u8]> => Nullable<Binary>,
        key_from: Option<Instant> => Nullable<SqlInstant>,
        key_until: Option<Instant> => Nullable<SqlInstant>,
        stash_id: Option<&'a str> => Nullable<Text>,
        browser: Option<&'a str> => Nullable<Text>,
        scheme: Option<&'a str> => Nullable<Text>,
        usable: Option<bool> => Nullable<Bool>,
        now: Instant => SqlInstant,
    }
}

statement_about! {
    Prepare {
        input_rows: InputRows,
        contracts: ContractRows,
        operations: NewOperations,
        steps: Steps,
        entries: AuditEntries,
    }
    include_str!("prepare.postgres.sql");
    returns (BigInt, Nullable<Text>, Nullable<Binary>);
}

/// Prepares authorizations with one statement, which is its own transaction, of whatever is still as it was when that was decided, and tells
/// the places of those, each with its card. No two may be of one Session, one contract, one stash entry or one key.
///
/// # Errors
/// Nothing was written, unless the connection is lost.
fn prepare(
    connection: &mut PgConnection,
    mut all: Vec<EligiblePreparation<'_>>,
) -> Result<BTreeMap<usize, Option<SealedCard>>, Fault> {
    // In one order everywhere, so that two of these never wait for each other.
    all.sort_unstable_by_key(|one| {
        let order = &one.prepare.order;
        (order.session_id, order.merchant_id, order.merchant_reference.as_str())
    });
    let numbered = || (1_i64..).zip(&all);
    let prepare = Prepare {
        input_rows: numbered().map(|(number, one)| input_row(number, one)).collect(),
        contracts: numbered()
            .filter_map(|(number, one)| Some(contract_row(number, one.prepare.contract.as_ref()?.contract())))
            .collect(),
        operations: numbered()
            .map(|(number, one)| new_operation(number, &one.prepare.operation))
            .collect::<Result<_, _>>()?,
        steps: numbered()
            .flat_map(|(number, one)| one.prepare.history.iter().map(move |one| step(number, one)))
            .collect(),
        entries: numbered()
            .filter_map(|(number, one)| Some(audit_row(number, one.prepare.audit.as_ref()?)))
            .collect::<Result<_, _>>()?,
    };
    let written: Vec<(i64, Option<String>, Option<Vec<u8>>)> = prepare.load(connection)?;
    let mut cards: BTreeMap<i64, Option<SealedCard>> = written
        .into_iter()
        .map(|(number, key_id, bytes)| (number, key_id.zip(bytes).map(|(key_id, bytes)| SealedCard { key_id, bytes })))
        .collect();
    Ok(numbered().filter_map(|(number, one)| Some((one.batch_index, cards.remove(&number)?))).collect())
}

fn input_row<'a>(number: i64, one: &EligiblePreparation<'a>) -> InputRow<'a> {
    let PrepareAuthorization { session, order, checkout, contract, operation, stash, now, key_use, .. } = one.prepare;
    let (contract_use, contract_expected) = match contract {
        None => (None, None),
        Some(ContractUse::Opens(_)) => (Some("OPENS"), None),
        Some(ContractUse::Charges(change)) => (Some("CHARGES"), Some(change.expected.number())),
        Some(ContractUse::Replaces(change)) => (Some("REPLACES"), Some(change.expected.number())),
    };
    let columns = session.as_ref().map(|change| StateColumns::new(&change.next));
    InputRow {
        number,
        session_id: order.session_id.map(|session| Id(session.uuid())),
        merchant_id: Id(order.merchant_id.uuid()),
        expected: session.as_ref().map(|change| change.expected.number()),
        session_revision: columns.as_ref().map(|columns| columns.revision),
        session_state: columns.as_ref().map(|columns| columns.state),
        attempt_id: order.attempt_id.map(|attempt| Id(attempt.uuid())),
        session_updated_at: columns.map(|columns| columns.updated_at),
        order_id: Id(order.id.uuid()),
        reference: &order.merchant_reference,
        revision: order.revision.number(),
        state: order.state.as_str(),
        under_review: order.under_review,
        shown: order.shown,
        currency: order.total.currency().code(),
        total: order.total.minor(),
        auto_capture: order.auto_capture,
        payment_method: &order.payment_method,
        created_at: Instant(order.created_at),
        updated_at: Instant(order.updated_at),
        return_url: order.return_url.as_deref(),
        expires_at: order.expires_at.map(Instant),
        page: order.page.as_deref(),
        transfer_reference: order.transfer_reference.as_deref(),
        transfer_page: order.transfer_page.as_deref(),
        card_hash: order.card.as_ref().map(CardHash::as_bytes),
        card_last_four: order.last_four.map(|four| four.to_string()),
        contract_id: order.contract_id.map(|contract| Id(contract.uuid())),
        contract_use,
        contract_expected,
        checkout: checkout.as_ref().map(|record| JsonDocument(record.document.clone())),
        operation_id: Id(operation.id.uuid()),
        digest: key_use.as_ref().map(|used| used.key.digest.as_slice()),
        fingerprint: key_use.as_ref().map(|used| used.fingerprint.as_slice()),
        key_from: key_use.as_ref().map(|used| Instant(used.at)),
        key_until: key_use.as_ref().map(|used| Instant(used.until)),
        stash_id: stash.as_ref().map(|used| used.key.stash_id.as_str()),
        browser: stash.as_ref().map(|used| used.key.fingerprint.as_str()),
        scheme: stash.as_ref().and_then(|used| used.summary.kind.method_id()),
        usable: stash.as_ref().map(|used| used.summary.usable),
        now: Instant(*now),
    }
}

impl Batchable for Preparation {
    const KIND: Kind = Kind::Write;
    const THREAD: &'static str = "store-prepare";

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<AuthorizationPrepared>, Fault> {
        let (mut sessions, mut contracts, mut entries) = (HashSet::new(), HashSet::new(), HashSet::new());
        let (mut keys, mut transfers) = (HashSet::new(), HashSet::new());
        let mut eligible: Vec<_> =
            all.iter().enumerate().filter_map(|(index, one)| one.batch_eligible(index)).collect();
        // Of several for the same Session, contract, stash entry, key or transfer, the first stays in the batch; the others run alone and find that they are too late.
        eligible.retain(|one| {
            let PrepareAuthorization { session, order, contract, stash, key_use, .. } = one.prepare;
            let entry = stash.as_ref().map(|used| &used.key);
            let entry = entry.map(|key| (key.merchant_id, &key.stash_id, &key.fingerprint));
            let key = key_use.as_ref().map(|used| (used.key.merchant_id, used.key.digest));
            session.as_ref().is_none_or(|change| sessions.insert(change.next.id))
                && contract.as_ref().is_none_or(|using| contracts.insert(using.contract().id))
                && entry.is_none_or(|entry| entries.insert(entry))
                && key.is_none_or(|key| keys.insert(key))
                && order.transfer_reference.as_ref().is_none_or(|text| transfers.insert((order.merchant_id, text)))
        });
        if eligible.is_empty() {
            return Ok(Batched::silent(all.iter().map(|_| None).collect()));
        }
        let has_contract = |one: &EligiblePreparation<'_>| one.prepare.contract.is_some();
        let mut prepared = despite_contention(eligible, has_contract, |all| prepare(connection, all))?;
        let answers = (0..all.len()).map(|index| prepared.remove(&index).map(AuthorizationPrepared::Done));
        Ok(Batched::silent(answers.collect()))
    }
}
