//! What is written of a contract: with its Order, or by a change of its own.

use diesel::prelude::*;
use dropin_contract::{Contract, ContractOrigin};
use dropin_kernel::{Change, ContractId};
use dropin_order::Order;
use dropin_ports::{ChangeContract, Changed, ContractUse};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::Id;
use dropin_store_runtime::worker_pool::TxOutcome;

use super::credential::change_credential;
use super::rows::{ContractRow, TABLE};
use crate::schema::contract;
use crate::{audit_log, idempotency, outbox};

/// A contract that an Order names, which must be there.
pub(crate) fn load(connection: &mut AnyConnection, id: ContractId) -> Result<Contract, Fault> {
    let row: ContractRow =
        contract::table.find(Id(id.uuid())).select(ContractRow::as_select()).first(connection).in_table(TABLE)?;
    row.restore()
}

/// Refuses what an Order cannot do with a contract: it names that, opens it as its own, and a change counts on from what it was decided on.
pub(crate) fn check_use(using: &ContractUse, order: &Order) -> Result<(), Fault> {
    let contract = using.contract();
    if order.contract_id != Some(contract.id) || order.merchant_id != contract.merchant_id {
        return Err(Fault::Refused("an Order names the contract that it opens or is made under".to_owned()));
    }
    match using {
        ContractUse::Opens(contract) if contract.revision != dropin_kernel::Revision::FIRST => {
            Err(Fault::Refused("a contract that is opened has changed already".to_owned()))
        }
        ContractUse::Opens(contract) => match contract.origin {
            ContractOrigin::Session { order: opens, .. } if opens != order.id => {
                Err(Fault::Refused("a contract is opened by its own Order".to_owned()))
            }
            _ => Ok(()),
        },
        ContractUse::Charges(change) | ContractUse::Replaces(change) => check_revision(change),
    }
}

/// Opens the contract, or counts a charge of it, before its Order is written; `false` when it changed since that was decided.
pub(crate) fn use_by(connection: &mut AnyConnection, using: &ContractUse, order: &Order) -> Result<bool, Fault> {
    check_use(using, order)?;
    match using {
        ContractUse::Opens(contract) => {
            diesel::insert_into(contract::table).values(ContractRow::new(contract)).execute(connection)?;
            Ok(true)
        }
        ContractUse::Charges(change) | ContractUse::Replaces(change) => apply(connection, change),
    }
}

/// A change that does not count on from what it was decided on would let a later one win wrongly.
pub(crate) fn check_revision(change: &Change<Contract>) -> Result<(), Fault> {
    if change.next.revision == change.expected.next() {
        Ok(())
    } else {
        Err(Fault::Refused("a change of a contract must count its revision up by one".to_owned()))
    }
}

/// Writes a contract as it is after a change; `false` when it changed since that was decided.
pub(super) fn apply(connection: &mut AnyConnection, change: &Change<Contract>) -> Result<bool, Fault> {
    check_revision(change)?;
    let Change { next, expected } = change;
    let written = diesel::update(contract::table.find(Id(next.id.uuid())))
        .filter(contract::merchant_id.eq(Id(next.merchant_id.uuid())))
        .filter(contract::revision.eq(expected.number()))
        .set(ContractRow::new(next))
        .execute(connection)?;
    Ok(written == 1)
}

pub(super) fn change_contract(
    connection: &mut AnyConnection,
    change: &ChangeContract,
) -> Result<TxOutcome<Changed>, Fault> {
    if !idempotency::store_response(connection, change.response.as_ref())? {
        return Ok(TxOutcome::Rollback(Changed::KeyTaken));
    }
    if !apply(connection, &change.change)? {
        return Ok(TxOutcome::Rollback(Changed::Stale));
    }
    let next = &change.change.next;
    change_credential(connection, next, &change.credential, None, next.updated_at)?;
    audit_log::append_with_history(connection, std::slice::from_ref(&change.history), change.audit.as_ref())?;
    let enqueued = outbox::enqueue_events(connection, change.event.as_slice())?;
    Ok(TxOutcome::commit(Changed::Done, enqueued))
}
