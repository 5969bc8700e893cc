//! The credentials that the processor stored for contracts: kept, replaced, put aside, and deleted at the processor first.

use diesel::prelude::*;
use dropin_contract::Contract;
use dropin_kernel::{ContractId, MerchantId, OrderId, Timestamp};
use dropin_ports::{CredentialChange, CredentialToDelete, SealedCredential};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant};

use crate::schema::{contract_credential, discarded_credential, purchase_order};

/// `stored_by` is the Order whose authorization gave a credential.
pub(super) fn change_credential(
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

pub(super) fn claim_to_delete(
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
