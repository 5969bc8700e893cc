//! Contracts, the sealed credentials that they are charged by, and the tries to charge them.

mod batch;
mod change;
mod charge;
mod credential;
mod rows;

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_contract::{ChargeTry, Contract};
use dropin_kernel::{ContractId, MerchantId, OrderId, Timestamp};
use dropin_order::Order;
use dropin_ports::{
    ChangeContract, Changed, ContractName, ContractStore, CredentialToDelete, SealedCredential, StoreError,
};

use crate::rows::OrderRow;
use crate::schema::{contract, contract_credential, contract_try, discarded_credential, purchase_order};
use crate::store::Store;
pub(crate) use batch::{ContractRows, CredentialRows, TryRows, contract_row, credential_row, try_row};
use change::change_contract;
pub(crate) use change::{check_revision, check_use, load, use_by};
use charge::charge_try;
pub(crate) use charge::{insert_try, is_charge, settle};
use credential::claim_to_delete;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant};
use dropin_store_runtime::worker_pool::TxOutcome;
use rows::{ContractRow, TABLE};

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
