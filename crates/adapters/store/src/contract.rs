//! Contracts, the sealed credentials that they are charged by, and the tries to charge them.

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_contract::{ChargeTry, Contract, ContractOrigin, CredentialDecline, DeclineCategory, TryResult};
use dropin_kernel::{Change, ContractId, MerchantId, OrderId, Timestamp};
use dropin_order::Order;
use dropin_ports::{
    ChangeContract, Changed, ChargeOutcome, ConcludedCharge, ContractName, ContractSettlement, ContractStore,
    ContractUse, CredentialChange, CredentialToDelete, SealedCredential, Settlement, StoreError,
};
use std::time::Duration;

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::rows::{ContractRow, OrderRow};
use crate::schema::{contract, contract_credential, contract_try, discarded_credential, processor_op, purchase_order};
use crate::sql::{Id, Instant};
use crate::store::Store;
use crate::worker_pool::TxOutcome;
use crate::{append_only, audit_log, idempotency};

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

/// Opens the contract, or counts a charge of it, before its Order is written; `false` when it changed since that was decided.
pub(crate) fn use_by(connection: &mut AnyConnection, using: &ContractUse, order: &Order) -> Result<bool, Fault> {
    let contract = using.contract();
    if order.contract_id != Some(contract.id) || order.merchant_id != contract.merchant_id {
        return Err(Fault::Refused("an Order names the contract that it opens or is made under".to_owned()));
    }
    match using {
        ContractUse::Opens(contract) => {
            if let ContractOrigin::Session { order: opens, .. } = contract.origin
                && opens != order.id
            {
                return Err(Fault::Refused("a contract is opened by its own Order".to_owned()));
            }
            diesel::insert_into(contract::table).values(ContractRow::new(contract)).execute(connection)?;
            Ok(true)
        }
        ContractUse::Charges(change) | ContractUse::Replaces(change) => apply(connection, change),
    }
}

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
    if let Some(ConcludedCharge { order, outcome }) = settled.charge {
        conclude_try(connection, Id(order.uuid()), outcome)?;
    }
    Ok(true)
}

fn conclude_try(connection: &mut AnyConnection, order: Id, outcome: ChargeOutcome) -> Result<(), Fault> {
    let ChargeOutcome::Tried(result) = outcome else {
        diesel::delete(contract_try::table.find(order)).execute(connection)?;
        return Ok(());
    };
    let (word, decline) = match result {
        TryResult::Unknown => ("UNKNOWN", None),
        TryResult::Approved => ("APPROVED", None),
        TryResult::Declined(decline) => ("DECLINED", Some(decline)),
    };
    let wait = decline.and_then(|decline| decline.asked_wait);
    let wait = wait.map(|wait| i64::try_from(wait.as_micros()).unwrap_or(i64::MAX));
    diesel::update(contract_try::table.find(order))
        .set((
            contract_try::result.eq(word),
            contract_try::category.eq(decline.map(|decline| decline.category.as_str())),
            contract_try::asked_wait_micros.eq(wait),
        ))
        .execute(connection)?;
    Ok(())
}

fn charge_try(
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

/// Writes a contract as it is after a change; `false` when it changed since that was decided.
fn apply(connection: &mut AnyConnection, change: &Change<Contract>) -> Result<bool, Fault> {
    let Change { next, expected } = change;
    if next.revision != expected.next() {
        return Err(Fault::Refused("a change of a contract must count its revision up by one".to_owned()));
    }
    let written = diesel::update(contract::table.find(Id(next.id.uuid())))
        .filter(contract::merchant_id.eq(Id(next.merchant_id.uuid())))
        .filter(contract::revision.eq(expected.number()))
        .set(ContractRow::new(next))
        .execute(connection)?;
    Ok(written == 1)
}

/// `stored_by` is the Order whose authorization gave a credential.
fn change_credential(
    connection: &mut AnyConnection,
    contract: &Contract,
    change: &CredentialChange,
    stored_by: Option<Id>,
    now: Timestamp,
) -> Result<(), Fault> {
    let of_contract = contract_credential::table.find(Id(contract.id.uuid()));
    match change {
        CredentialChange::Keep => {}
        CredentialChange::Delete => {
            diesel::update(of_contract)
                .filter(contract_credential::delete_at.is_null())
                .set(contract_credential::delete_at.eq(Instant(now)))
                .execute(connection)?;
        }
        CredentialChange::Store(sealed) => {
            let written = diesel::update(of_contract)
                .set((
                    contract_credential::key_id.eq(&sealed.key_id),
                    contract_credential::sealed.eq(&sealed.bytes),
                    contract_credential::delete_at.eq(None::<Instant>),
                ))
                .execute(connection)?;
            if written == 0 {
                insert_credential(connection, contract, sealed, stored_by)?;
            }
        }
        CredentialChange::Replace(sealed) => {
            discard(connection, contract, now)?;
            insert_credential(connection, contract, sealed, stored_by)?;
        }
        CredentialChange::StoreToDelete(sealed) => {
            let order = stored_by.ok_or_else(|| Fault::Refused("a credential is given to an Order".to_owned()))?;
            let bytes = (sealed.key_id.clone(), sealed.bytes.clone());
            insert_discarded(connection, contract, order, bytes, now)?;
        }
    }
    Ok(())
}

fn insert_credential(
    connection: &mut AnyConnection,
    contract: &Contract,
    sealed: &SealedCredential,
    stored_by: Option<Id>,
) -> Result<(), Fault> {
    let row = (
        contract_credential::contract_id.eq(Id(contract.id.uuid())),
        contract_credential::merchant_id.eq(Id(contract.merchant_id.uuid())),
        contract_credential::key_id.eq(&sealed.key_id),
        contract_credential::sealed.eq(&sealed.bytes),
        contract_credential::order_id.eq(stored_by),
    );
    diesel::insert_into(contract_credential::table).values(row).execute(connection)?;
    Ok(())
}

/// Keeps the contract's credential aside, if it has one. What a program of before stored came with the contract's first Order.
fn discard(connection: &mut AnyConnection, contract: &Contract, now: Timestamp) -> Result<(), Fault> {
    let id = Id(contract.id.uuid());
    let old: Option<(Option<Id>, String, Vec<u8>)> = contract_credential::table
        .find(id)
        .select((contract_credential::order_id, contract_credential::key_id, contract_credential::sealed))
        .first(connection)
        .optional()
        .in_table("contract_credential")?;
    let Some((stored_by, key_id, bytes)) = old else { return Ok(()) };
    let order = match stored_by {
        Some(order) => order,
        None => purchase_order::table
            .filter(purchase_order::contract_id.eq(id))
            .order((purchase_order::created_at, purchase_order::id))
            .select(purchase_order::id)
            .first(connection)
            .in_table("purchase_order")?,
    };
    insert_discarded(connection, contract, order, (key_id, bytes), now)?;
    diesel::delete(contract_credential::table.find(id)).execute(connection)?;
    Ok(())
}

fn insert_discarded(
    connection: &mut AnyConnection,
    contract: &Contract,
    order: Id,
    (key_id, bytes): (String, Vec<u8>),
    now: Timestamp,
) -> Result<(), Fault> {
    let row = (
        discarded_credential::order_id.eq(order),
        discarded_credential::contract_id.eq(Id(contract.id.uuid())),
        discarded_credential::merchant_id.eq(Id(contract.merchant_id.uuid())),
        discarded_credential::key_id.eq(key_id),
        discarded_credential::sealed.eq(bytes),
        discarded_credential::delete_at.eq(Instant(now)),
    );
    diesel::insert_into(discarded_credential::table).values(row).execute(connection)?;
    Ok(())
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
    append_only::enqueue_events(connection, change.event.as_slice())?;
    Ok(TxOutcome::Commit(Changed::Done))
}

fn claim_to_delete(
    connection: &mut AnyConnection,
    now: Instant,
    lease_until: Instant,
    limit: u32,
) -> Result<Vec<CredentialToDelete>, Fault> {
    let due = contract_credential::table
        .filter(contract_credential::delete_at.is_not_null())
        .filter(contract_credential::delete_at.le(now))
        .order(contract_credential::delete_at)
        .limit(i64::from(limit))
        .select((
            contract_credential::contract_id,
            contract_credential::merchant_id,
            contract_credential::key_id,
            contract_credential::sealed,
        ));
    type Row = (Id, Id, String, Vec<u8>);
    let rows: Vec<Row> = match connection {
        // What another settler holds right now is skipped, not waited for.
        AnyConnection::Postgres(inner) => due.for_update().skip_locked().load(inner),
        AnyConnection::Sqlite(inner) => due.load(inner),
    }
    .in_table("contract_credential")?;
    let ids: Vec<Id> = rows.iter().map(|row| row.0).collect();
    diesel::update(contract_credential::table.filter(contract_credential::contract_id.eq_any(ids)))
        .set(contract_credential::delete_at.eq(lease_until))
        .execute(connection)?;
    let task = |(contract, merchant, key_id, bytes): Row| CredentialToDelete {
        contract: ContractId::new(contract.0),
        merchant: MerchantId::new(merchant.0),
        discarded: None,
        sealed: SealedCredential { key_id, bytes },
    };
    let mut tasks: Vec<_> = rows.into_iter().map(task).collect();
    let left = limit.saturating_sub(u32::try_from(tasks.len()).unwrap_or(limit));
    tasks.extend(claim_discarded(connection, now, lease_until, left)?);
    Ok(tasks)
}

fn claim_discarded(
    connection: &mut AnyConnection,
    now: Instant,
    lease_until: Instant,
    limit: u32,
) -> Result<Vec<CredentialToDelete>, Fault> {
    let due = discarded_credential::table
        .filter(discarded_credential::delete_at.le(now))
        .order(discarded_credential::delete_at)
        .limit(i64::from(limit))
        .select((
            discarded_credential::order_id,
            discarded_credential::contract_id,
            discarded_credential::merchant_id,
            discarded_credential::key_id,
            discarded_credential::sealed,
        ));
    type Row = (Id, Id, Id, String, Vec<u8>);
    let rows: Vec<Row> = match connection {
        AnyConnection::Postgres(inner) => due.for_update().skip_locked().load(inner),
        AnyConnection::Sqlite(inner) => due.load(inner),
    }
    .in_table("discarded_credential")?;
    let orders: Vec<Id> = rows.iter().map(|row| row.0).collect();
    diesel::update(discarded_credential::table.filter(discarded_credential::order_id.eq_any(orders)))
        .set(discarded_credential::delete_at.eq(lease_until))
        .execute(connection)?;
    let task = |(order, contract, merchant, key_id, bytes): Row| CredentialToDelete {
        contract: ContractId::new(contract.0),
        merchant: MerchantId::new(merchant.0),
        discarded: Some(OrderId::new(order.0)),
        sealed: SealedCredential { key_id, bytes },
    };
    Ok(rows.into_iter().map(task).collect())
}
