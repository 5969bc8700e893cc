//! Charges of a contract: what the issuer was asked, and what it said.

use std::time::Duration;

use diesel::prelude::*;
use dropin_contract::{ChargeTry, CredentialDecline, DeclineCategory, TryResult};
use dropin_kernel::{ContractId, OrderId, Timestamp};
use dropin_order::Order;
use dropin_ports::{ConcludedCharge, ContractSettlement, CredentialChange, Settlement};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant};

use super::batch::{TryColumns, try_row};
use super::change::apply;
use super::credential::change_credential;
use crate::schema::{contract_try, processor_op};

/// Writes down that the issuer is about to be asked, after the Order.
pub(crate) fn insert_try(connection: &mut AnyConnection, id: ContractId, order: &Order) -> Result<(), Fault> {
    diesel::insert_into(contract_try::table)
        .values((
            contract_try::order_id.eq(Id(order.id.uuid())),
            contract_try::contract_id.eq(Id(id.uuid())),
            contract_try::tried_at.eq(Instant(order.created_at)),
            contract_try::result.eq("UNKNOWN"),
        ))
        .execute(connection)?;
    Ok(())
}

/// Whether an Order is a try to charge its contract's card.
pub(crate) fn is_charge(connection: &mut AnyConnection, order: OrderId) -> Result<bool, Fault> {
    let found: Option<Id> = contract_try::table
        .find(Id(order.uuid()))
        .select(contract_try::order_id)
        .first(connection)
        .optional()
        .in_table("contract_try")?;
    Ok(found.is_some())
}

/// Writes what a settlement changes of its contract; `false` when that changed since it was decided.
pub(crate) fn settle(
    connection: &mut AnyConnection,
    settled: &ContractSettlement,
    settlement: &Settlement,
) -> Result<bool, Fault> {
    if !apply(connection, &settled.change)? {
        return Ok(false);
    }
    if settled.credential != CredentialChange::Keep {
        let order: Id = processor_op::table
            .find(Id(settlement.operation.uuid()))
            .select(processor_op::order_id)
            .first(connection)
            .in_table("processor_op")?;
        change_credential(connection, &settled.change.next, &settled.credential, Some(order), settlement.now)?;
    }
    if let Some(charge) = settled.charge {
        conclude_try(connection, charge)?;
    }
    Ok(true)
}

fn conclude_try(connection: &mut AnyConnection, charge: ConcludedCharge) -> Result<(), Fault> {
    let TryColumns { order_id, result, category, asked_wait_micros, .. } = try_row(0, charge);
    let Some(result) = result else {
        diesel::delete(contract_try::table.find(order_id)).execute(connection)?;
        return Ok(());
    };
    diesel::update(contract_try::table.find(order_id))
        .set((
            contract_try::result.eq(result),
            contract_try::category.eq(category),
            contract_try::asked_wait_micros.eq(asked_wait_micros),
        ))
        .execute(connection)?;
    Ok(())
}

pub(super) fn charge_try(
    at: Timestamp,
    result: &str,
    category: Option<String>,
    wait_micros: Option<i64>,
) -> Result<ChargeTry, Fault> {
    let unknown = || corrupt("contract_try", "the result is unknown");
    let result = match (result, category) {
        ("UNKNOWN", None) => TryResult::Unknown,
        ("APPROVED", None) => TryResult::Approved,
        ("DECLINED", Some(category)) => {
            let category: DeclineCategory = category.parse().map_err(|_unknown| unknown())?;
            let micros = wait_micros.map(u64::try_from).transpose().map_err(|_negative| unknown())?;
            TryResult::Declined(CredentialDecline { category, asked_wait: micros.map(Duration::from_micros) })
        }
        _ => return Err(unknown()),
    };
    Ok(ChargeTry { at, result })
}
