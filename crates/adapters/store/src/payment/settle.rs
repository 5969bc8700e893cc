//! What is written when a processor has answered.

use std::collections::HashSet;

use diesel::PgConnection;
use dropin_ports::{Settled, Settlement};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::worker_pool::{Batchable, Batched, Kind, TxOutcome, Work};

use super::contention::despite_contention;
use super::settle_batch::{self, OrderStep, next_awaited};
use super::{operation, order, refund};
use crate::session::apply_state;
use crate::{audit_log, contract, idempotency, ledger, outbox};

/// A settlement to be written.
pub(crate) struct Settling(pub(crate) Settlement);

impl Settling {
    /// As the shared statement writes it: what changes an Order. What changes an operation alone runs in a transaction of its own.
    fn batched(&self, batch_index: usize) -> Option<OrderStep<'_>> {
        // All fields are named, so that a new one is thought of here.
        let Settlement {
            operation: _,
            state: _,
            due_at: _,
            order,
            session: _,
            contract: _,
            refund: _,
            new_refund,
            follow_up,
            ledger: _,
            events,
            history,
            answer: _,
            now: _,
            audit,
        } = &self.0;
        let step = OrderStep {
            batch_index,
            order: order.as_ref()?,
            outcome: Some(&self.0),
            key_use: None,
            new_refund: new_refund.as_ref(),
            operation: follow_up.as_ref(),
            history,
            events,
            audit: audit.as_ref(),
        };
        step.is_whole().then_some(step)
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
    let enqueued = outbox::enqueue_events(connection, &settlement.events)?;
    match next_awaited(settlement) {
        Some(next) => idempotency::pass_key_on(connection, settlement.operation, next)?,
        None => idempotency::complete(connection, settlement.operation, settlement.answer.as_ref())?,
    }
    Ok(TxOutcome::commit(Settled::Done, enqueued))
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
    let enqueued = outbox::enqueue_events(connection, &settlement.events)?;
    Ok(TxOutcome::commit(Settled::Done, enqueued))
}

impl Work for Settling {
    type Answer = Settled;

    /// After a statement whose answer got lost it finds the operation settled.
    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Settled>, Fault> {
        settle(connection, &self.0)
    }
}

impl Batchable for Settling {
    const KIND: Kind = Kind::Write;
    const THREAD: &'static str = "store-settle";

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<Settled>, Fault> {
        let (mut orders, mut contracts) = (HashSet::new(), HashSet::new());
        let mut steps: Vec<_> = all.iter().enumerate().filter_map(|(index, one)| one.batched(index)).collect();
        // Of several for the same Order or contract, the first stays in the batch; the others run alone and find that they are too late.
        steps.retain(|one| {
            orders.insert(one.order.next.id)
                && one.contract().is_none_or(|settled| contracts.insert(settled.change.next.id))
        });
        if steps.is_empty() {
            return Ok(Batched::silent(vec![None; all.len()]));
        }
        let has_contract = |one: &OrderStep<'_>| one.contract().is_some();
        let (settled, enqueued) = despite_contention(steps, has_contract, |all| settle_batch::settle(connection, all))?;
        let answers = (0..all.len()).map(|index| settled.contains(&index).then_some(Settled::Done));
        Ok(Batched { answers: answers.collect(), enqueued })
    }
}
