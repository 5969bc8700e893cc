//! What is written of an Order before a processor is asked, and by a decision that needs no processor.

use std::collections::HashSet;

use diesel::PgConnection;
use dropin_ports::{ChangeOrder, OrderChanged};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::worker_pool::{Batchable, Batched, Enqueued, Kind, TxOutcome, Work};

use super::settle_batch::{self, OrderStep};
use super::{operation, order, refund};
use crate::{audit_log, idempotency, outbox};

/// A change of an Order to be written.
pub(crate) struct Changing(pub(crate) ChangeOrder);

impl Changing {
    /// The step that the shared statement writes, where the change has an operation. Without one, the store could not tell afterwards whether a statement whose
    /// answer got lost has written it.
    fn batched(&self, batch_index: usize) -> Option<OrderStep<'_>> {
        // All fields are named, so that a new one is thought of here.
        let ChangeOrder { order, operation, refund, history, events, key_use, audit } = &self.0;
        let step = OrderStep {
            batch_index,
            order,
            outcome: None,
            key_use: key_use.as_ref(),
            new_refund: refund.as_ref(),
            operation: Some(operation.as_ref()?),
            history,
            events,
            audit: audit.as_ref(),
        };
        step.is_whole().then_some(step)
    }
}

fn change_order(connection: &mut AnyConnection, change: &ChangeOrder) -> Result<TxOutcome<OrderChanged>, Fault> {
    if change.key_use.is_some() && change.operation.is_none() {
        return Err(Fault::Refused("a key waits for the outcome of an operation".to_owned()));
    }
    if change.operation.as_ref().is_some_and(|operation| operation.order_id != change.order.next.id) {
        return Err(Fault::Refused("an Order is changed with an operation of its own".to_owned()));
    }
    if !order::apply(connection, &change.order)? {
        // All of it is written at once, so the operation tells of all: it was written by a statement whose answer got lost.
        return Ok(match &change.operation {
            Some(own) if operation::is_written(connection, own)? => {
                TxOutcome::commit(OrderChanged::Done, Enqueued(!change.events.is_empty()))
            }
            _ => TxOutcome::Rollback(OrderChanged::Stale),
        });
    }
    if let Some(refund) = &change.refund
        && !refund::insert(connection, refund)?
    {
        // A request that is repeated finds its own refund: then the key tells so.
        let used = idempotency::is_key_used(connection, change.key_use.as_ref())?;
        return Ok(TxOutcome::Rollback(if used { OrderChanged::KeyTaken } else { OrderChanged::DuplicateRefund }));
    }
    if let Some(operation) = &change.operation {
        operation::insert(connection, operation)?;
        // After the operation, to which it refers.
        if !idempotency::take_key(connection, change.key_use.as_ref(), operation.id)? {
            return Ok(TxOutcome::Rollback(OrderChanged::KeyTaken));
        }
    }
    audit_log::append_with_history(connection, &change.history, change.audit.as_ref())?;
    let enqueued = outbox::enqueue_events(connection, &change.events)?;
    Ok(TxOutcome::commit(OrderChanged::Done, enqueued))
}

impl Work for Changing {
    type Answer = OrderChanged;

    /// After a statement whose answer got lost it finds the operation written.
    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<OrderChanged>, Fault> {
        change_order(connection, &self.0)
    }
}

impl Batchable for Changing {
    const KIND: Kind = Kind::Write;
    const THREAD: &'static str = "store-change";

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<OrderChanged>, Fault> {
        let (mut orders, mut keys) = (HashSet::new(), HashSet::new());
        let mut steps: Vec<_> = all.iter().enumerate().filter_map(|(index, one)| one.batched(index)).collect();
        // Of several for the same Order or key, the first stays in the batch; the others run alone and find that they are too late.
        steps.retain(|one| {
            orders.insert(one.order.next.id)
                && one.key_use.is_none_or(|used| keys.insert((used.key.merchant_id, used.key.digest)))
        });
        if steps.is_empty() {
            return Ok(Batched::silent(vec![None; all.len()]));
        }
        let (written, enqueued) = settle_batch::settle(connection, steps)?;
        let answers = (0..all.len()).map(|index| written.contains(&index).then_some(OrderChanged::Done));
        Ok(Batched { answers: answers.collect(), enqueued })
    }
}
