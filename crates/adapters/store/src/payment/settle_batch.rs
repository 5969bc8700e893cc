use std::collections::BTreeSet;

use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::{PgConnection, RunQueryDsl};
use dropin_card::CardHash;
use dropin_kernel::{Change, MerchantId, OpId};
use dropin_money::Amount;
use dropin_order::{Channel, FailureReason, Operation, Order, Refund, VoidCause};
use dropin_ports::{ContractSettlement, KeyUse, NewAuditEntry, NewEvent, NewHistoryEntry, Settlement};
use dropin_session::Session;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::Enqueued;
use dropin_store_runtime::{rows, statement_about};

use super::operation_batch::{NewOperations, new_operation};
use super::refund::{NewRefunds, new_refund};
use crate::audit_log::{AuditEntries, audit_row};
use crate::contract;
use crate::contract::{ContractRows, CredentialRows, TryRows, contract_row, credential_row, try_row};
use crate::history::{Steps, step};
use crate::ledger::{Postings, posting};
use crate::rows::{StateColumns, bank_document};

/// What one caller wants written of an Order, and with it: what follows from an operation's outcome, or a capture, void or refund that is begun.
#[derive(Clone, Copy)]
pub(super) struct OrderStep<'a> {
    /// Its index in the batch.
    pub(super) batch_index: usize,
    pub(super) order: &'a Change<Order>,
    /// What it follows from.
    pub(super) outcome: Option<&'a Settlement>,
    /// The key of the request, which waits for `operation`.
    pub(super) key_use: Option<&'a KeyUse>,
    pub(super) new_refund: Option<&'a Refund>,
    /// The operation that the processor is asked for next.
    pub(super) operation: Option<&'a Operation>,
    pub(super) history: &'a [NewHistoryEntry],
    pub(super) events: &'a [NewEvent],
    pub(super) audit: Option<&'a NewAuditEntry>,
}

impl<'a> OrderStep<'a> {
    fn session(&self) -> Option<&'a Change<Session>> {
        self.outcome?.session.as_ref()
    }

    pub(super) fn contract(&self) -> Option<&'a ContractSettlement> {
        self.outcome?.contract.as_deref()
    }

    /// Whether the statement can write it: revisions count on, and everything is of this Order and its merchant.
    pub(super) fn is_whole(&self) -> bool {
        let Self { order, new_refund, operation, .. } = *self;
        let session = self.session();
        let (id, merchant) = (order.next.id, order.next.merchant_id);
        let (contract, refund) = (self.contract(), self.outcome.and_then(|outcome| outcome.refund.as_ref()));
        let counts_on = order.next.revision == order.expected.next()
            && session.is_none_or(|change| change.next.revision == change.expected.next())
            && contract.is_none_or(|settled| contract::check_revision(&settled.change).is_ok());
        let is_own = |owner: MerchantId| owner == merchant;
        let own = session.is_none_or(|change| is_own(change.next.merchant_id))
            && contract.is_none_or(|settled| is_own(settled.change.next.merchant_id))
            && self.key_use.is_none_or(|used| is_own(used.key.merchant_id))
            && self.events.iter().all(|event| is_own(event.merchant_id))
            && self.outcome.is_none_or(|outcome| outcome.ledger.iter().all(|posted| posted.order_id == id))
            && operation.is_none_or(|operation| operation.order_id == id)
            && [refund, new_refund].into_iter().flatten().all(|refund| refund.order_id == id);
        counts_on && own
    }
}

rows! {
    /// An operation's outcome, or a request without one, with what becomes of its Order, Session and refund, the contract that changes with them, and what
    /// becomes of the key that waits for it; `number` names it in the other rows.
    InputRows of InputRow<'a> {
        number: i64 => BigInt,
        operation_id: Option<Id> => Nullable<SqlId>,
        operation_state: Option<&'a str> => Nullable<Text>,
        look_at: Option<Instant> => Nullable<SqlInstant>,
        order_id: Id => SqlId,
        merchant_id: Id => SqlId,
        expected: i64 => BigInt,
        revision: i64 => BigInt,
        state: &'a str => Text,
        under_review: bool => Bool,
        shown: bool => Bool,
        authorized: i64 => BigInt,
        captured: i64 => BigInt,
        capture_pending: i64 => BigInt,
        refunded: i64 => BigInt,
        refund_pending: i64 => BigInt,
        updated_at: Instant => SqlInstant,
        expires_at: Option<Instant> => Nullable<SqlInstant>,
        page: Option<&'a str> => Nullable<Text>,
        bank_details: Option<JsonDocument> => Nullable<SqlDocument>,
        voiding: Option<&'a str> => Nullable<Text>,
        capture_promised: Option<i64> => Nullable<BigInt>,
        failure: Option<&'a str> => Nullable<Text>,
        card_hash: Option<&'a [u8]> => Nullable<Binary>,
        card_last_four: Option<String> => Nullable<Text>,
        session_id: Option<Id> => Nullable<SqlId>,
        session_expected: Option<i64> => Nullable<BigInt>,
        session_revision: Option<i64> => Nullable<BigInt>,
        session_state: Option<&'a str> => Nullable<Text>,
        session_order_id: Option<Id> => Nullable<SqlId>,
        attempt_id: Option<Id> => Nullable<SqlId>,
        cancel_reason: Option<&'a str> => Nullable<Text>,
        failure_reason: Option<&'a str> => Nullable<Text>,
        session_updated_at: Option<Instant> => Nullable<SqlInstant>,
        attempts_failed: Option<i32> => Nullable<Integer>,
        last_attempt_id: Option<Id> => Nullable<SqlId>,
        last_failure: Option<&'a str> => Nullable<Text>,
        contract_id: Option<Id> => Nullable<SqlId>,
        contract_expected: Option<i64> => Nullable<BigInt>,
        refund_id: Option<Id> => Nullable<SqlId>,
        refund_state: Option<&'a str> => Nullable<Text>,
        refund_currency: Option<&'a str> => Nullable<Text>,
        refund_minor: Option<i64> => Nullable<BigInt>,
        refund_settlement: Option<i64> => Nullable<BigInt>,
        refund_updated_at: Option<Instant> => Nullable<SqlInstant>,
        new_refund: Option<&'a str> => Nullable<Text>,
        next_awaited: Option<Id> => Nullable<SqlId>,
        status: Option<i32> => Nullable<Integer>,
        etag: Option<&'a str> => Nullable<Text>,
        body: Option<&'a [u8]> => Nullable<Binary>,
    }
}

rows! {
    /// The key of a request, answered when the outcome of the operation is known; `number` names the batched row that it belongs to.
    KeyRows of KeyRow<'a> {
        number: i64 => BigInt,
        merchant_id: Id => SqlId,
        digest: &'a [u8] => Binary,
        fingerprint: &'a [u8] => Binary,
        operation_id: Id => SqlId,
        created_at: Instant => SqlInstant,
        expires_at: Instant => SqlInstant,
    }
}

rows! {
    /// An event for the outbox; `number` names the batched row that it belongs to, and `ordinal` gives the order of all.
    Events of Event<'a> {
        number: i64 => BigInt,
        ordinal: i64 => BigInt,
        payment_id: Id => SqlId,
        merchant_id: Id => SqlId,
        event_id: Id => SqlId,
        event_type: &'a str => Text,
        body: &'a [u8] => Binary,
        happened_at: Instant => SqlInstant,
    }
}

statement_about! {
    Settle {
        input_rows: InputRows,
        keys: KeyRows,
        contracts: ContractRows,
        credentials: CredentialRows,
        tries: TryRows,
        new_refunds: NewRefunds,
        operations: NewOperations,
        postings: Postings,
        steps: Steps,
        entries: AuditEntries,
        events: Events,
    }
    include_str!("settle.postgres.sql");
    returns BigInt;
}

/// Writes with one statement, which is its own transaction, whatever is still as it was when that was decided, and returns their batch indexes, and
/// whether they enqueued notifications.
/// No two may be of one Order, one contract or one key, and either all or none follow from an outcome.
///
/// # Errors
/// Nothing was written, unless the connection is lost.
pub(super) fn settle(
    connection: &mut PgConnection,
    mut all: Vec<OrderStep<'_>>,
) -> Result<(BTreeSet<usize>, Enqueued), Fault> {
    // In one order everywhere, so that two of these never wait for each other.
    all.sort_unstable_by_key(|one| one.order.next.id);
    let numbered = || (1_i64..).zip(&all);
    let outcomes = || numbered().filter_map(|(number, one)| Some((number, one.outcome?)));
    let contracts =
        || outcomes().filter_map(|(number, one)| Some((number, one.contract.as_deref()?, Instant(one.now))));
    let events = numbered().flat_map(|(number, one)| one.events.iter().map(move |one| (number, one)));
    let settle = Settle {
        input_rows: numbered().map(|(number, one)| input_row(number, one)).collect::<Result<_, _>>()?,
        keys: numbered().filter_map(|(number, one)| Some(key_row(number, one.key_use?, one.operation?))).collect(),
        contracts: contracts().map(|(number, one, _)| contract_row(number, &one.change.next)).collect(),
        credentials: contracts().filter_map(|(number, one, now)| credential_row(number, one, now)).collect(),
        tries: contracts().filter_map(|(number, one, _)| Some(try_row(number, one.charge?))).collect(),
        new_refunds: numbered().filter_map(|(number, one)| Some(new_refund(number, one.new_refund?))).collect(),
        operations: numbered()
            .filter_map(|(number, one)| Some(new_operation(number, one.operation?)))
            .collect::<Result<_, _>>()?,
        postings: outcomes().flat_map(|(number, one)| one.ledger.iter().map(move |one| posting(number, one))).collect(),
        steps: numbered().flat_map(|(number, one)| one.history.iter().map(move |one| step(number, one))).collect(),
        entries: numbered()
            .filter_map(|(number, one)| Some(audit_row(number, one.audit?)))
            .collect::<Result<_, _>>()?,
        events: (1..).zip(events).map(|(ordinal, (number, one))| event(number, ordinal, one)).collect(),
    };
    let written: Vec<i64> = settle.load(connection).map_err(|error| {
        // Another settlement, of another Order of the same contract, told the same stream meanwhile: the next run counts on.
        let fault = Fault::from(error);
        let is_told = fault.breaks("outbox_event_pkey", "outbox_event.payment_id, outbox_event.sequence");
        if is_told { Fault::Retry } else { fault }
    })?;
    let numbers: BTreeSet<i64> = written.into_iter().collect();
    let done = || numbered().filter(|(number, _)| numbers.contains(number)).map(|(_, one)| one);
    let enqueued = Enqueued(done().any(|one| !one.events.is_empty()));
    Ok((done().map(|one| one.batch_index).collect(), enqueued))
}

fn input_row<'a>(number: i64, one: &OrderStep<'a>) -> Result<InputRow<'a>, Fault> {
    let OrderStep { order: Change { next, expected }, outcome, .. } = *one;
    let session = one.session();
    let columns = session.map(|change| StateColumns::new(&change.next));
    let (contract, refund) = (one.contract(), outcome.and_then(|outcome| outcome.refund.as_ref()));
    let answer = outcome.and_then(|outcome| outcome.answer.as_ref());
    Ok(InputRow {
        number,
        operation_id: outcome.map(|outcome| Id(outcome.operation.uuid())),
        operation_state: outcome.map(|outcome| outcome.state.as_str()),
        look_at: outcome.map(|outcome| Instant(outcome.due_at)),
        order_id: Id(next.id.uuid()),
        merchant_id: Id(next.merchant_id.uuid()),
        expected: expected.number(),
        revision: next.revision.number(),
        state: next.state.as_str(),
        under_review: next.under_review,
        shown: next.shown,
        authorized: next.amounts.total_authorized().minor(),
        captured: next.amounts.captured().minor(),
        capture_pending: next.amounts.capture_pending().minor(),
        refunded: next.amounts.refunded().minor(),
        refund_pending: next.amounts.refund_pending().minor(),
        updated_at: Instant(next.updated_at),
        expires_at: next.expires_at.map(Instant),
        page: next.page.as_deref(),
        bank_details: bank_document(next)?,
        voiding: next.voiding.map(VoidCause::as_str),
        capture_promised: next.capture_promised.as_ref().map(Amount::minor),
        failure: next.failure.map(FailureReason::as_str),
        card_hash: next.card.as_ref().map(CardHash::as_bytes),
        card_last_four: next.last_four.map(|four| four.to_string()),
        session_id: session.map(|change| Id(change.next.id.uuid())),
        session_expected: session.map(|change| change.expected.number()),
        session_revision: columns.as_ref().map(|columns| columns.revision),
        session_state: columns.as_ref().map(|columns| columns.state),
        session_order_id: columns.as_ref().and_then(|columns| columns.order_id),
        attempt_id: columns.as_ref().and_then(|columns| columns.attempt_id),
        cancel_reason: columns.as_ref().and_then(|columns| columns.cancel_reason),
        failure_reason: columns.as_ref().and_then(|columns| columns.failure_reason),
        session_updated_at: columns.as_ref().map(|columns| columns.updated_at),
        attempts_failed: columns.as_ref().map(|columns| columns.attempts_failed),
        last_attempt_id: columns.as_ref().and_then(|columns| columns.last_attempt_id),
        last_failure: columns.as_ref().and_then(|columns| columns.last_failure),
        contract_id: contract.map(|settled| Id(settled.change.next.id.uuid())),
        contract_expected: contract.map(|settled| settled.change.expected.number()),
        refund_id: refund.map(|refund| Id(refund.id.uuid())),
        refund_state: refund.map(|refund| refund.state.as_str()),
        refund_currency: refund.map(|refund| refund.amount.currency().code()),
        refund_minor: refund.map(|refund| refund.amount.minor()),
        refund_settlement: refund.and_then(|refund| refund.settlement.as_ref()).map(Amount::minor),
        refund_updated_at: refund.map(|refund| Instant(refund.updated_at)),
        new_refund: one.new_refund.map(|refund| refund.reference.as_str()),
        next_awaited: outcome.and_then(next_awaited).map(|next| Id(next.uuid())),
        status: answer.map(|answer| i32::from(answer.status)),
        etag: answer.and_then(|answer| answer.etag.as_deref()),
        body: answer.map(|answer| answer.body.as_slice()),
    })
}

fn key_row<'a>(number: i64, used: &'a KeyUse, operation: &Operation) -> KeyRow<'a> {
    KeyRow {
        number,
        merchant_id: Id(used.key.merchant_id.uuid()),
        digest: &used.key.digest,
        fingerprint: &used.fingerprint,
        operation_id: Id(operation.id.uuid()),
        created_at: Instant(used.at),
        expires_at: Instant(used.until),
    }
}

fn event(number: i64, ordinal: i64, event: &NewEvent) -> Event<'_> {
    Event {
        number,
        ordinal,
        payment_id: Id(event.payment_id.uuid()),
        merchant_id: Id(event.merchant_id.uuid()),
        event_id: Id(event.id.uuid()),
        event_type: event.event_type,
        body: &event.body,
        happened_at: Instant(event.at),
    }
}

/// The operation that follows, where whoever asked for this one with a key gets its answer.
pub(super) fn next_awaited(settlement: &Settlement) -> Option<OpId> {
    let next = settlement.follow_up.as_ref().filter(|next| next.channel != Channel::Nobody)?;
    settlement.answer.is_none().then_some(next.id)
}
