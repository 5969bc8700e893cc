//! Contracts, the sealed credentials that they are charged by, and the tries to charge them.

mod batch;
mod charge;
mod credential;
mod rows;

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_contract::{ChargeTry, Contract, ContractOrigin};
use dropin_kernel::{Change, ContractId, MerchantId, OrderId, Timestamp};
use dropin_order::Order;
use dropin_ports::{
    ChangeContract, Changed, ContractName, ContractStore, ContractUse, CredentialToDelete, SealedCredential, StoreError,
};

use crate::rows::OrderRow;
use crate::schema::{contract, contract_credential, contract_try, discarded_credential, purchase_order};
use crate::store::Store;
use crate::{audit_log, idempotency, outbox};
pub(crate) use batch::{ContractRows, CredentialRows, TryRows, contract_row, credential_row, try_row};
use charge::charge_try;
pub(crate) use charge::{insert_try, is_charge, settle};
use credential::{change_credential, claim_to_delete};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant};
use dropin_store_runtime::worker_pool::TxOutcome;
use rows::ContractRow;

const TABLE: &str = "contract";

#[async_trait]
impl ContractStore for Store {
    async fn find_contract(&self, merchant: MerchantId, name: &ContractName) -> Result<Option<Contract>, StoreError> {
        let (merchant, name) = (Id(merchant.uuid()), name.clone());
        self.read(move |connection| {
            let query = contract::table.filter(contract::merchant_id.eq(merchant)).into_boxed();
            let query = match &name {
                ContractName::Id(id) => query.filter(contract::id.eq(Id(id.uuid()))),
                ContractName::Reference(reference) => query.filter(contract::reference.eq(reference.clone())),
            };
            let found: Option<ContractRow> =
                query.select(ContractRow::as_select()).first(connection).optional().in_table(TABLE)?;
            let found = found.map(ContractRow::restore).transpose()?;
            Ok(found.filter(Contract::is_shown))
        })
        .await
    }

    async fn list_contracts(
        &self,
        merchant: MerchantId,
        billing_profile_reference: &str,
        limit: u32,
    ) -> Result<Vec<Contract>, StoreError> {
        let (merchant, reference) = (Id(merchant.uuid()), billing_profile_reference.to_owned());
        self.read(move |connection| {
            let rows: Vec<ContractRow> = contract::table
                .filter(contract::merchant_id.eq(merchant))
                .filter(contract::billing_profile_reference.eq(&reference))
                .filter(shown())
                .order((contract::created_at, contract::id))
                .limit(i64::from(limit))
                .select(ContractRow::as_select())
                .load(connection)
                .in_table(TABLE)?;
            rows.into_iter().map(ContractRow::restore).collect()
        })
        .await
    }

    async fn list_saved_cards(
        &self,
        merchant: MerchantId,
        billing_profile_reference: &str,
        limit: u32,
    ) -> Result<Vec<Contract>, StoreError> {
        let (merchant, reference) = (Id(merchant.uuid()), billing_profile_reference.to_owned());
        self.read(move |connection| saved_cards(connection, merchant, &reference, limit)).await
    }

    async fn list_contract_orders(
        &self,
        merchant: MerchantId,
        id: ContractId,
        limit: u32,
    ) -> Result<Vec<Order>, StoreError> {
        let (merchant, id) = (Id(merchant.uuid()), Id(id.uuid()));
        self.read(move |connection| {
            let rows: Vec<OrderRow> = purchase_order::table
                .filter(purchase_order::contract_id.eq(id))
                .filter(purchase_order::merchant_id.eq(merchant))
                .filter(purchase_order::shown)
                .order((purchase_order::created_at.desc(), purchase_order::id.desc()))
                .limit(i64::from(limit))
                .select(OrderRow::as_select())
                .load(connection)
                .in_table("purchase_order")?;
            rows.into_iter().map(OrderRow::restore).collect()
        })
        .await
    }

    async fn list_charge_tries(&self, id: ContractId, limit: u32) -> Result<Vec<ChargeTry>, StoreError> {
        let id = Id(id.uuid());
        self.read(move |connection| {
            let rows: Vec<(Instant, String, Option<String>, Option<i64>)> = contract_try::table
                .filter(contract_try::contract_id.eq(id))
                .order(contract_try::tried_at.desc())
                .limit(i64::from(limit))
                .select((
                    contract_try::tried_at,
                    contract_try::result,
                    contract_try::category,
                    contract_try::asked_wait_micros,
                ))
                .load(connection)
                .in_table("contract_try")?;
            rows.into_iter().map(|(at, result, category, wait)| charge_try(at.0, &result, category, wait)).collect()
        })
        .await
    }

    async fn find_credential(&self, id: ContractId) -> Result<Option<SealedCredential>, StoreError> {
        let id = Id(id.uuid());
        self.read(move |connection| {
            let found: Option<(String, Vec<u8>)> = contract_credential::table
                .find(id)
                .filter(contract_credential::delete_at.is_null())
                .select((contract_credential::key_id, contract_credential::sealed))
                .first(connection)
                .optional()
                .in_table("contract_credential")?;
            Ok(found.map(|(key_id, bytes)| SealedCredential { key_id, bytes }))
        })
        .await
    }

    async fn change_contract(&self, change: ChangeContract) -> Result<Changed, StoreError> {
        self.write(move |connection| change_contract(connection, &change)).await
    }

    async fn find_due_contracts(&self, now: Timestamp, limit: u32) -> Result<Vec<Contract>, StoreError> {
        self.read(move |connection| {
            let rows: Vec<ContractRow> = contract::table
                .filter(contract::due_at.is_not_null())
                .filter(contract::due_at.le(Instant(now)))
                .order((contract::due_at, contract::id))
                .limit(i64::from(limit))
                .select(ContractRow::as_select())
                .load(connection)
                .in_table(TABLE)?;
            rows.into_iter().map(ContractRow::restore).collect()
        })
        .await
    }

    async fn claim_credentials_to_delete(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<CredentialToDelete>, StoreError> {
        self.write(move |connection| {
            claim_to_delete(connection, Instant(now), Instant(lease_until), limit).map(TxOutcome::Commit)
        })
        .await
    }

    async fn remove_deleted_credential(&self, id: ContractId, discarded: Option<OrderId>) -> Result<(), StoreError> {
        let id = Id(id.uuid());
        self.write(move |connection| {
            if let Some(order) = discarded {
                diesel::delete(discarded_credential::table.find(Id(order.uuid()))).execute(connection)?;
                return Ok(TxOutcome::Commit(()));
            }
            diesel::delete(contract_credential::table.find(id))
                .filter(contract_credential::delete_at.is_not_null())
                .execute(connection)?;
            Ok(TxOutcome::Commit(()))
        })
        .await
    }

    async fn has_credentials(&self) -> Result<bool, StoreError> {
        self.read(|connection| {
            let any: Option<Id> = contract_credential::table
                .select(contract_credential::contract_id)
                .first(connection)
                .optional()
                .in_table("contract_credential")?;
            let discarded: Option<Id> = discarded_credential::table
                .select(discarded_credential::order_id)
                .first(connection)
                .optional()
                .in_table("discarded_credential")?;
            Ok(any.or(discarded).is_some())
        })
        .await
    }
}

/// What [`Contract::is_shown`] says, of rows.
fn shown() -> diesel::expression::SqlLiteral<diesel::sql_types::Bool> {
    diesel::dsl::sql(
        "(session_id IS NULL OR state <> 'OPENING' AND (close_reason IS NULL OR close_reason <> 'OPENING_FAILED'))",
    )
}

/// The merchant of a contract that it knows of.
pub(crate) fn find_merchant(connection: &mut AnyConnection, id: Id) -> Result<Option<MerchantId>, Fault> {
    let found: Option<Id> = contract::table
        .find(id)
        .filter(shown())
        .select(contract::merchant_id)
        .first(connection)
        .optional()
        .in_table(TABLE)?;
    Ok(found.map(|merchant| MerchantId::new(merchant.0)))
}

/// The words are in the statement, so that the partial index serves it.
const SAVED_CARD: &str = "kind = 'ONE_CLICK' AND state = 'ACTIVE' AND billing_profile_reference IS NOT NULL";

fn saved_cards(
    connection: &mut AnyConnection,
    merchant: Id,
    reference: &str,
    limit: u32,
) -> Result<Vec<Contract>, Fault> {
    let rows: Vec<ContractRow> = contract::table
        .filter(contract::merchant_id.eq(merchant))
        .filter(contract::billing_profile_reference.eq(reference))
        .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(SAVED_CARD))
        .order((contract::created_at.desc(), contract::id.desc()))
        .limit(i64::from(limit))
        .select(ContractRow::as_select())
        .load(connection)
        .in_table(TABLE)?;
    let mut cards = rows.into_iter().map(ContractRow::restore).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<Id> = cards.iter().map(|card| Id(card.id.uuid())).collect();
    let paid: Vec<(Id, Option<Instant>)> = contract_try::table
        .filter(contract_try::contract_id.eq_any(ids))
        .filter(contract_try::result.eq("APPROVED"))
        .group_by(contract_try::contract_id)
        .select((contract_try::contract_id, diesel::dsl::max(contract_try::tried_at)))
        .load(connection)
        .in_table("contract_try")?;
    let used = |card: &Contract| {
        let last = paid.iter().find(|(contract, _)| contract.0 == card.id.uuid());
        let last = last.and_then(|(_, at)| at.as_ref()).map(|at| at.0);
        last.unwrap_or(card.created_at).max(card.created_at)
    };
    cards.sort_by_key(|card| std::cmp::Reverse(used(card)));
    Ok(cards)
}

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
fn apply(connection: &mut AnyConnection, change: &Change<Contract>) -> Result<bool, Fault> {
    check_revision(change)?;
    let Change { next, expected } = change;
    let written = diesel::update(contract::table.find(Id(next.id.uuid())))
        .filter(contract::merchant_id.eq(Id(next.merchant_id.uuid())))
        .filter(contract::revision.eq(expected.number()))
        .set(ContractRow::new(next))
        .execute(connection)?;
    Ok(written == 1)
}

fn change_contract(connection: &mut AnyConnection, change: &ChangeContract) -> Result<TxOutcome<Changed>, Fault> {
    if !idempotency::store_response(connection, change.response.as_ref())? {
        return Ok(TxOutcome::Rollback(Changed::KeyTaken));
    }
    if !apply(connection, &change.change)? {
        return Ok(TxOutcome::Rollback(Changed::Stale));
    }
    let next = &change.change.next;
    change_credential(connection, next, &change.credential, None, next.updated_at)?;
    audit_log::append_with_history(connection, std::slice::from_ref(&change.history), change.audit.as_ref())?;
    outbox::enqueue_events(connection, change.event.as_slice())?;
    Ok(TxOutcome::Commit(Changed::Done))
}
