//! What is written before a processor is asked to authorize.

use dropin_ports::{AuthorizationPrepared, ContractUse, PrepareAuthorization};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::worker_pool::{TxOutcome, Work};

use super::{operation, order};
use crate::session::{Reference, apply_state, take_checkout_reference};
use crate::{audit_log, contract, idempotency, stash};

/// No two open transfers of a merchant have the same reference.
const OPEN_TRANSFER: &str = "purchase_order_open_transfer_key";

/// An authorization to be prepared.
pub(crate) struct Preparation(pub(crate) PrepareAuthorization);

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
