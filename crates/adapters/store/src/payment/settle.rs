//! What is written when a processor has answered.

use std::collections::HashSet;

use diesel::PgConnection;
use dropin_kernel::{Change, OpId};
use dropin_order::{Channel, Order};
use dropin_ports::{Settled, Settlement};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::worker_pool::{Batchable, TxOutcome, Work};

use super::{despite_contention, operation, order, refund, settle_batch};
use crate::session::apply_state;
use crate::{audit_log, contract, idempotency, ledger, outbox};

/// A settlement to be written.
pub(crate) struct Settling(pub(crate) Settlement);

/// One that the batched statement can settle: it changes an Order, and perhaps its Session, a contract or a refund. What changes an operation alone runs in a
/// transaction of its own.
#[derive(Clone, Copy)]
pub(crate) struct EligibleSettlement<'a> {
    /// Its index in the batch.
    pub(crate) batch_index: usize,
    pub(crate) settlement: &'a Settlement,
    pub(crate) order: &'a Change<Order>,
}

impl Settling {
    fn batch_eligible(&self, batch_index: usize) -> Option<EligibleSettlement<'_>> {
        // All fields are named, so that a new one is thought of here.
        let Settlement {
            operation: _,
            state: _,
            due_at: _,
            order,
            session,
            contract,
            refund,
            new_refund,
            follow_up: _,
            ledger,
            events,
            history: _,
            answer: _,
            now: _,
            audit: _,
        } = &self.0;
        let order = order.as_ref()?;
        let (id, merchant_id) = (&order.next.id, &order.next.merchant_id);
        let counts_on = order.next.revision == order.expected.next()
            && session.as_ref().is_none_or(|change| change.next.revision == change.expected.next())
            && contract.as_ref().is_none_or(|settled| contract::check_revision(&settled.change).is_ok());
        let own = session.as_ref().is_none_or(|change| change.next.merchant_id == *merchant_id)
            && ledger.iter().all(|posted| posted.order_id == *id)
            && contract.as_ref().is_none_or(|settled| settled.change.next.merchant_id == *merchant_id)
            && events.iter().all(|event| event.merchant_id == *merchant_id)
            && [refund, new_refund].into_iter().flatten().all(|refund| refund.order_id == *id);
        (counts_on && own).then_some(EligibleSettlement { batch_index, settlement: &self.0, order })
    }
}

fn settle(connection: &mut AnyConnection, settlement: &Settlement) -> Result<TxOutcome<Settled>, Fault> {
    if !operation::close(connection, settlement)? {
        return Ok(TxOutcome::Rollback(Settled::AlreadySettled));
    }
    let order = settlement.order.as_ref().map(|change| order::apply(connection, change)).transpose()?;
    let session = settlement.session.as_ref().map(|change| apply_state(connection, change)).transpose()?;
    if order == Some(false) || session == Some(false) {
        return Ok(TxOutcome::Rollback(Settled::Stale));
    }
    if let Some(change) = &settlement.contract
        && !contract::settle(connection, change, settlement)?
    {
        return Ok(TxOutcome::Rollback(Settled::Stale));
    }
    if let Some(refund) = &settlement.refund {
        refund::decide(connection, refund)?;
    }
    if let Some(refund) = &settlement.new_refund
        && !refund::insert(connection, refund)?
    {
        return Err(Fault::Refused("a refund of Dropin's own has a reference that the Order has already".to_owned()));
    }
    if let Some(operation) = &settlement.follow_up {
        operation::insert(connection, operation)?;
    }
    ledger::post(connection, &settlement.ledger)?;
    audit_log::append_with_history(connection, &settlement.history, settlement.audit.as_ref())?;
    outbox::enqueue_events(connection, &settlement.events)?;
    match next_awaited(settlement) {
        Some(next) => idempotency::pass_key_on(connection, settlement.operation, next)?,
        None => idempotency::complete(connection, settlement.operation, settlement.answer.as_ref())?,
    }
    Ok(TxOutcome::Commit(Settled::Done))
}

/// The operation that follows, where whoever asked for this one with a key gets its answer.
pub(crate) fn next_awaited(settlement: &Settlement) -> Option<OpId> {
    let next = settlement.follow_up.as_ref().filter(|next| next.channel != Channel::Nobody)?;
    settlement.answer.is_none().then_some(next.id)
}

/// Writes that a refund that had succeeded failed after all.
pub(super) fn take_back_refund(
    connection: &mut AnyConnection,
    settlement: &Settlement,
) -> Result<TxOutcome<Settled>, Fault> {
    let (Some(change), Some(refund)) = (&settlement.order, &settlement.refund) else {
        return Err(Fault::Refused("a refund is taken back with its Order".to_owned()));
    };
    if change.next.id != refund.order_id {
        return Err(Fault::Refused("a refund is taken back with its own Order".to_owned()));
    }
    // The Order comes first, as everywhere: whoever changes it waits here.
    if !order::apply(connection, change)? {
        return Ok(TxOutcome::Rollback(Settled::Stale));
    }
    if !operation::take_back(connection, settlement.operation, refund.id)? || !refund::take_back(connection, refund)? {
        return Ok(TxOutcome::Rollback(Settled::AlreadySettled));
    }
    ledger::post(connection, &settlement.ledger)?;
    audit_log::append_with_history(connection, &settlement.history, settlement.audit.as_ref())?;
    outbox::enqueue_events(connection, &settlement.events)?;
    Ok(TxOutcome::Commit(Settled::Done))
}

impl Work for Settling {
    type Answer = Settled;

    /// After a statement whose answer got lost it finds the operation settled.
    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Settled>, Fault> {
        settle(connection, &self.0)
    }
}

impl Batchable for Settling {
    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<Settled>>, Fault> {
        let (mut orders, mut contracts) = (HashSet::new(), HashSet::new());
        let mut eligible: Vec<_> =
            all.iter().enumerate().filter_map(|(index, one)| one.batch_eligible(index)).collect();
        // Of several for the same Order or contract, the first stays in the batch; the others run alone and find that they are too late.
        eligible.retain(|one| {
            let contract = one.settlement.contract.as_ref();
            orders.insert(one.order.next.id) && contract.is_none_or(|settled| contracts.insert(settled.change.next.id))
        });
        if eligible.is_empty() {
            return Ok(vec![None; all.len()]);
        }
        let has_contract = |one: &EligibleSettlement<'_>| one.settlement.contract.is_some();
        let settled = despite_contention(eligible, has_contract, |all| settle_batch::settle(connection, all))?;
        Ok((0..all.len()).map(|batch_index| settled.contains(&batch_index).then_some(Settled::Done)).collect())
    }
}
