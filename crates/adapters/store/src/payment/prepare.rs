//! What is written before a processor is asked to authorize.

use std::collections::HashSet;

use diesel::PgConnection;
use dropin_order::{OpKind, Order, OrderParts};
use dropin_ports::{AuthorizationPrepared, ContractUse, PrepareAuthorization};
use dropin_session::SessionStateKind;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::worker_pool::{Batchable, TxOutcome, Work};

use super::{despite_contention, operation, order, prepare_batch};
use crate::session::{Reference, apply_state, take_checkout_reference};
use crate::{audit_log, contract, idempotency, stash};

/// No two open transfers of a merchant have the same reference.
const OPEN_TRANSFER: &str = "purchase_order_open_transfer_key";

/// An authorization to be prepared.
pub(crate) struct Preparation(pub(crate) PrepareAuthorization);

/// One that the batched statement can prepare: it begins the payment of a Session, or a server-to-server checkout, with a contract or without.
#[derive(Clone, Copy)]
pub(crate) struct EligiblePreparation<'a> {
    /// Its index in the batch.
    pub(crate) batch_index: usize,
    pub(crate) prepare: &'a PrepareAuthorization,
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
        let agreed = contract.as_ref().is_none_or(|using| contract::check_use(using, order).is_ok());
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

/// Takes the reference of a checkout; what came of the whole when it is taken already.
fn take_reference(
    connection: &mut AnyConnection,
    prepare: &PrepareAuthorization,
) -> Result<Option<TxOutcome<AuthorizationPrepared>>, Fault> {
    Ok(match take_checkout_reference(connection, &prepare.order)? {
        Reference::Taken => None,
        // All of it is written at once, so all of it is there: by a statement whose answer got lost.
        Reference::Own if prepare.stash.is_none() => Some(TxOutcome::Commit(AuthorizationPrepared::Done(None))),
        Reference::Own => {
            return Err(Fault::Refused("the checkout is written, and its card went with that".to_owned()));
        }
        // A request that is repeated finds its own reference: then the key tells so.
        Reference::Foreign => {
            Some(TxOutcome::Rollback(match idempotency::is_key_used(connection, prepare.key_use.as_ref())? {
                true => AuthorizationPrepared::KeyTaken,
                false => AuthorizationPrepared::DuplicateReference,
            }))
        }
    })
}

/// The reference before the key, as everywhere, so that two never wait for each other; the stash entry last, since any number may ask for it.
fn prepare(
    connection: &mut AnyConnection,
    prepare: &PrepareAuthorization,
) -> Result<TxOutcome<AuthorizationPrepared>, Fault> {
    let PrepareAuthorization { session, order, operation, key_use, .. } = prepare;
    if order.session_id != session.as_ref().map(|change| change.next.id) {
        return Err(Fault::Refused("an Order is made with its own Session, or without any".to_owned()));
    }
    if session.is_none()
        && let Some(found) = take_reference(connection, prepare)?
    {
        return Ok(found);
    }
    // The Session before contract and Order, as everywhere: the loser of a race waits here, and holds nothing that the winner needs. SQLite has one writer.
    let others_write = matches!(connection, AnyConnection::Postgres(_));
    if let Some(change) = session.as_ref().filter(|_| others_write)
        && !crate::session::lock(connection, change)?
    {
        return Ok(TxOutcome::Rollback(match order::is_attempt_used(connection, order)? {
            true => AuthorizationPrepared::AttemptUsed,
            false => AuthorizationPrepared::Stale,
        }));
    }
    // The contract before the Order, which refers to it.
    if let Some(contract) = &prepare.contract
        && !contract::use_by(connection, contract, order)?
    {
        return Ok(TxOutcome::Rollback(AuthorizationPrepared::Stale));
    }
    // Before the Session is written, which will refer to it.
    match order::insert(connection, order) {
        Err(fault)
            if fault.breaks("purchase_order_attempt_key", "purchase_order.session_id, purchase_order.attempt_id") =>
        {
            return Ok(TxOutcome::Rollback(AuthorizationPrepared::AttemptUsed));
        }
        Err(fault) if fault.breaks("purchase_order_session_key", "purchase_order.session_id") => {
            return Ok(TxOutcome::Rollback(AuthorizationPrepared::Stale));
        }
        Err(fault) if fault.breaks(OPEN_TRANSFER, "purchase_order.merchant_id, purchase_order.transfer_reference") => {
            return Ok(TxOutcome::Rollback(AuthorizationPrepared::TransferReferenceTaken));
        }
        inserted => inserted?,
    }
    if let Some(change) = session
        && !apply_state(connection, change)?
    {
        return Ok(TxOutcome::Rollback(AuthorizationPrepared::Stale));
    }
    if let Some(record) = &prepare.checkout {
        order::keep_checkout(connection, order, record)?;
    }
    if let Some(ContractUse::Charges(change)) = &prepare.contract {
        contract::insert_try(connection, change.next.id, order)?;
    }
    operation::insert(connection, operation)?;
    // After the operation, to which it refers.
    if !idempotency::take_key(connection, key_use.as_ref(), operation.id)? {
        return Ok(TxOutcome::Rollback(AuthorizationPrepared::KeyTaken));
    }
    let mut card = None;
    if let Some(stash) = &prepare.stash {
        card = stash::consume(connection, stash, prepare.now)?;
        if card.is_none() {
            return Ok(TxOutcome::Rollback(AuthorizationPrepared::StashMissing));
        }
    }
    audit_log::append_with_history(connection, &prepare.history, prepare.audit.as_ref())?;
    Ok(TxOutcome::Commit(AuthorizationPrepared::Done(card)))
}

impl Work for Preparation {
    type Answer = AuthorizationPrepared;

    /// After a statement whose answer got lost, the card is gone with its stash entry: then the Order is there, and that is refused. Whoever
    /// asked learns that the outcome is unknown, and the settler finds that nothing was ever asked.
    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<AuthorizationPrepared>, Fault> {
        prepare(connection, &self.0)
    }
}

impl Batchable for Preparation {
    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<AuthorizationPrepared>>, Fault> {
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
            return Ok(all.iter().map(|_| None).collect());
        }
        let has_contract = |one: &EligiblePreparation<'_>| one.prepare.contract.is_some();
        let mut prepared = despite_contention(eligible, has_contract, |all| prepare_batch::prepare(connection, all))?;
        Ok((0..all.len()).map(|batch_index| prepared.remove(&batch_index).map(AuthorizationPrepared::Done)).collect())
    }
}
