//! What is written of a dispute: with its Order, its answer, and all that follows, or not at all.

use diesel::prelude::*;
use dropin_kernel::ProcessorId;
use dropin_ports::{Applied, ChangeDispute, DisputeChanged};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant};
use dropin_store_runtime::worker_pool::TxOutcome;

use super::given_answer;
use super::rows::DisputeRow;
use crate::payment::apply_order;
use crate::schema::{dispute, dispute_position, purchase_order};
use crate::{audit_log, ledger, outbox};

pub(super) fn write(
    connection: &mut AnyConnection,
    change: &ChangeDispute,
) -> Result<TxOutcome<DisputeChanged>, Fault> {
    let is_own = |order: &dropin_order::Order| {
        (order.id, order.merchant_id) == (change.dispute.order_id, change.dispute.merchant_id)
    };
    if change.order.as_ref().is_some_and(|order| !is_own(&order.next)) {
        return Err(Fault::Refused("a dispute changes no Order but its own".to_owned()));
    }
    // The Order comes first, as everywhere: whoever changes it waits here.
    if let Some(order) = &change.order {
        if !apply_order(connection, order)? {
            return Ok(TxOutcome::Rollback(DisputeChanged::Stale));
        }
        diesel::update(purchase_order::table.find(Id(order.next.id.uuid())))
            .set(purchase_order::disputed_minor.eq(order.next.amounts.disputed().minor()))
            .execute(connection)?;
    }
    if let Some(outcome) = write_dispute(connection, change)? {
        return Ok(TxOutcome::Rollback(outcome));
    }
    if let Some((id, state)) = change.ends
        && !given_answer::end(connection, id, state)?
    {
        return Ok(TxOutcome::Rollback(DisputeChanged::Stale));
    }
    if let Some(begun) = &change.begins {
        given_answer::insert(connection, begun)?;
    }
    ledger::post(connection, &change.ledger)?;
    audit_log::append_with_history(connection, &change.history, change.audit.as_ref())?;
    let enqueued = outbox::enqueue_events(connection, &change.events)?;
    Ok(TxOutcome::commit(DisputeChanged::Done, enqueued))
}

/// Inserts or changes the row; says what came of it, unless it was written.
fn write_dispute(connection: &mut AnyConnection, change: &ChangeDispute) -> Result<Option<DisputeChanged>, Fault> {
    let next = &change.dispute;
    let Some(expected) = change.expected else {
        let inserted = diesel::insert_into(dispute::table).values(DisputeRow::new(next)).execute(connection);
        return match inserted.map_err(Fault::from) {
            Ok(_one) => Ok(None),
            Err(fault) if fault.breaks("dispute_reference_key", "dispute.processor, dispute.reference") => {
                Ok(Some(DisputeChanged::Known))
            }
            Err(fault) => Err(fault),
        };
    };
    if next.revision != expected.next() {
        return Err(Fault::Refused("a change of a dispute must count its revision up by one".to_owned()));
    }
    let written = diesel::update(dispute::table.find(Id(next.id.uuid())))
        .filter(dispute::order_id.eq(Id(next.order_id.uuid())))
        .filter(dispute::revision.eq(expected.number()))
        .set((
            dispute::revision.eq(next.revision.number()),
            dispute::state.eq(next.state.as_str()),
            dispute::due_at.eq(next.due_at.map(Instant)),
            dispute::updated_at.eq(Instant(next.updated_at)),
        ))
        .execute(connection)?;
    Ok(if written == 1 { None } else { Some(DisputeChanged::Stale) })
}

pub(super) fn keep_position(
    connection: &mut AnyConnection,
    processor: &ProcessorId,
    old: Option<&str>,
    new: &str,
) -> Result<TxOutcome<Applied>, Fault> {
    let written = match old {
        Some(old) => diesel::update(dispute_position::table.find(processor.as_str()))
            .filter(dispute_position::position.eq(old))
            .set(dispute_position::position.eq(new))
            .execute(connection)?,
        None => {
            let row = (dispute_position::processor.eq(processor.as_str()), dispute_position::position.eq(new));
            let inserted = diesel::insert_into(dispute_position::table).values(row).execute(connection);
            match inserted.map_err(Fault::from) {
                Ok(written) => written,
                Err(fault) if fault.breaks("dispute_position_pkey", "dispute_position.processor") => 0,
                Err(fault) => return Err(fault),
            }
        }
    };
    Ok(match written {
        0 => TxOutcome::Rollback(Applied::Stale),
        _ => TxOutcome::Commit(Applied::Done),
    })
}
