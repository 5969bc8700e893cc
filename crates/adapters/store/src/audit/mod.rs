//! The records as an auditor reads them: in pages, each in one state of the database.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::connection::Connection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use dropin_kernel::{MerchantId, OpId, OrderId, Timestamp};
use dropin_order::{OpState, Refund};
use dropin_ports::{
    AuditStore, AuditedOrder, CheckoutRecord, CredentialTrace, OrderAuditTrail, OrderRecords, PositionedOperation,
    StoreError,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use crate::dispute::DisputeRow;
use crate::history;
use crate::ledger::{self, PostedRow};
use crate::rows::{OpRow, OrderRow, RefundRow};
use crate::schema::{
    checkout, contract_credential, discarded_credential, dispute, merchant, processor_op, purchase_order, refund,
};
use crate::store::Store;

statement! {
    Stuck { since: Instant => SqlInstant, }
    postgres include_str!("count_stuck.postgres.sql");
    sqlite include_str!("count_stuck.sqlite.sql");
    returns BigInt;
}

#[async_trait]
impl AuditStore for Store {
    async fn audit_orders(&self, after: Option<OrderId>, limit: u32) -> Result<Vec<AuditedOrder>, StoreError> {
        self.read(move |connection| in_one_state(connection, |connection| page(connection, after, limit))).await
    }

    async fn find_operations(&self, ids: Vec<OpId>) -> Result<Vec<PositionedOperation>, StoreError> {
        self.read(move |connection| {
            let ids: Vec<_> = ids.iter().map(|id| Id(id.uuid())).collect();
            let found: Vec<(i64, OpRow)> = processor_op::table
                .filter(processor_op::id.eq_any(ids))
                .select((processor_op::position, OpRow::as_select()))
                .load(connection)
                .in_table("processor_op")?;
            found.into_iter().map(|(position, row)| placed(position, row)).collect()
        })
        .await
    }

    async fn find_audit_trail(&self, id: OrderId) -> Result<Option<OrderAuditTrail>, StoreError> {
        self.read(move |connection| in_one_state(connection, |connection| file(connection, id))).await
    }

    async fn count_stuck_operations(&self, since: Timestamp) -> Result<u64, StoreError> {
        self.read(move |connection| {
            let stuck = Stuck { since: Instant(since) };
            let count: i64 = on_each!(connection, inner => stuck.get_result(inner)).in_table("processor_op")?;
            u64::try_from(count).map_err(|_negative| corrupt("processor_op", "it has less than no rows"))
        })
        .await
    }

    async fn list_merchant_ids(&self, after: Option<MerchantId>, limit: u32) -> Result<Vec<MerchantId>, StoreError> {
        self.read(move |connection| {
            let mut ids = merchant::table.select(merchant::id).order(merchant::id).limit(i64::from(limit)).into_boxed();
            if let Some(after) = after {
                ids = ids.filter(merchant::id.gt(Id(after.uuid())));
            }
            let ids: Vec<Id> = ids.load(connection).in_table("merchant")?;
            Ok(ids.into_iter().map(|id| MerchantId::new(id.0)).collect())
        })
        .await
    }

    async fn trace_credentials(&self, opened_by: Vec<OpId>) -> Result<Vec<CredentialTrace>, StoreError> {
        self.read(move |connection| trace_credentials(connection, &opened_by)).await
    }
}

/// A credential is here that its Order stored: the contract's, or one that is kept aside. What a program of before stored is told by its contract alone.
fn trace_credentials(connection: &mut AnyConnection, opened_by: &[OpId]) -> Result<Vec<CredentialTrace>, Fault> {
    let ids: Vec<_> = opened_by.iter().map(|id| Id(id.uuid())).collect();
    let found: Vec<(Id, Id, String, Option<Id>)> = processor_op::table
        .inner_join(purchase_order::table.on(purchase_order::id.eq(processor_op::order_id)))
        .filter(processor_op::id.eq_any(ids))
        .select((processor_op::id, processor_op::order_id, processor_op::state, purchase_order::contract_id))
        .load(connection)
        .in_table("processor_op")?;
    let contracts: Vec<Id> = found.iter().filter_map(|row| row.3).collect();
    let orders: Vec<Id> = found.iter().map(|row| row.1).collect();
    let charged: Vec<(Id, Option<Id>)> = contract_credential::table
        .filter(contract_credential::contract_id.eq_any(contracts))
        .select((contract_credential::contract_id, contract_credential::order_id))
        .load(connection)
        .in_table("contract_credential")?;
    let aside: Vec<Id> = discarded_credential::table
        .filter(discarded_credential::order_id.eq_any(orders))
        .select(discarded_credential::order_id)
        .load(connection)
        .in_table("discarded_credential")?;
    let trace = |(operation, order, state, contract): (Id, Id, String, Option<Id>)| {
        let state: OpState = state.parse().map_err(|_unknown| corrupt("processor_op", "the state is unknown"))?;
        let is_charged = charged.iter().any(|(of, stored_by)| {
            Some(of.0) == contract.map(|id| id.0) && stored_by.is_none_or(|stored_by| stored_by.0 == order.0)
        });
        Ok(CredentialTrace {
            operation: OpId::new(operation.0),
            order: OrderId::new(order.0),
            is_open: state.is_open(),
            has_credential: is_charged || aside.iter().any(|stored_by| stored_by.0 == order.0),
        })
    };
    found.into_iter().map(trace).collect()
}

/// One Order with all that is kept about it.
fn file(connection: &mut AnyConnection, id: OrderId) -> Result<Option<OrderAuditTrail>, Fault> {
    let key = Id(id.uuid());
    let order: Option<OrderRow> = purchase_order::table
        .filter(purchase_order::id.eq(key))
        .select(OrderRow::as_select())
        .first(connection)
        .optional()
        .in_table("purchase_order")?;
    let Some(order) = order else { return Ok(None) };
    let records = records(key, order, &mut Belongings::load(connection, &[key])?)?;
    let history = history::of_order(connection, id)?;
    let document: Option<JsonDocument> = checkout::table
        .filter(checkout::order_id.eq(key))
        .select(checkout::document)
        .first(connection)
        .optional()
        .in_table("checkout")?;
    Ok(Some(OrderAuditTrail {
        records,
        history,
        checkout: document.map(|document| CheckoutRecord { document: document.0 }),
    }))
}

/// Runs statements that all see the same state. SQLite's reads do so anyway.
fn in_one_state<T>(
    connection: &mut AnyConnection,
    work: impl FnOnce(&mut AnyConnection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    match connection {
        AnyConnection::Sqlite(_) => work(connection),
        AnyConnection::Postgres(_) => connection.transaction(|connection| {
            diesel::sql_query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY").execute(connection)?;
            work(connection)
        }),
    }
}

/// What belongs to the Orders of a page besides themselves, taken out Order by Order.
struct Belongings {
    operations: HashMap<Id, Vec<(i64, OpRow)>>,
    refunds: HashMap<Id, Vec<RefundRow>>,
    disputes: HashMap<Id, Vec<DisputeRow>>,
    postings: HashMap<Id, Vec<PostedRow>>,
}

fn page(connection: &mut AnyConnection, after: Option<OrderId>, limit: u32) -> Result<Vec<AuditedOrder>, Fault> {
    let mut orders = purchase_order::table
        .select((purchase_order::id, OrderRow::as_select()))
        .order(purchase_order::id.asc())
        .limit(i64::from(limit))
        .into_boxed();
    if let Some(after) = after {
        orders = orders.filter(purchase_order::id.gt(Id(after.uuid())));
    }
    let orders: Vec<(Id, OrderRow)> = orders.load(connection).in_table("purchase_order")?;
    let ids: Vec<_> = orders.iter().map(|(id, _)| *id).collect();
    let mut belongings = Belongings::load(connection, &ids)?;
    orders.into_iter().map(|(id, order)| audited(id, order, &mut belongings)).collect()
}

fn audited(id: Id, order: OrderRow, belongings: &mut Belongings) -> Result<AuditedOrder, Fault> {
    match records(id, order, belongings) {
        Ok(records) => Ok(AuditedOrder::Readable(Box::new(records))),
        Err(Fault::Corrupt { table, what }) => Ok(AuditedOrder::Corrupt { id: OrderId::new(id.0), table, what }),
        Err(other) => Err(other),
    }
}

fn records(id: Id, order: OrderRow, belongings: &mut Belongings) -> Result<OrderRecords, Fault> {
    let operations = belongings.operations.remove(&id).unwrap_or_default();
    let refunds = belongings.refunds.remove(&id).unwrap_or_default();
    let disputes = belongings.disputes.remove(&id).unwrap_or_default();
    let postings = belongings.postings.remove(&id).unwrap_or_default();
    let (balances, unbalanced) = ledger::sums(&postings)?;
    Ok(OrderRecords {
        order: order.restore()?,
        operations: operations.into_iter().map(|(position, row)| placed(position, row)).collect::<Result<_, _>>()?,
        refunds: refunds.into_iter().map(RefundRow::restore).collect::<Result<Vec<Refund>, _>>()?,
        disputes: disputes.into_iter().map(DisputeRow::restore).collect::<Result<_, _>>()?,
        balances,
        unbalanced,
    })
}

fn placed(position: i64, row: OpRow) -> Result<PositionedOperation, Fault> {
    let position = u64::try_from(position).map_err(|_negative| corrupt("processor_op", "the position is negative"))?;
    Ok(PositionedOperation { position, operation: row.restore()? })
}

impl Belongings {
    fn load(connection: &mut AnyConnection, orders: &[Id]) -> Result<Self, Fault> {
        let operations: Vec<(Id, i64, OpRow)> = processor_op::table
            .filter(processor_op::order_id.eq_any(orders))
            .order(processor_op::position.asc())
            .select((processor_op::order_id, processor_op::position, OpRow::as_select()))
            .load(connection)
            .in_table("processor_op")?;
        let refunds: Vec<(Id, RefundRow)> = refund::table
            .filter(refund::order_id.eq_any(orders))
            .order(refund::position.asc())
            .select((refund::order_id, RefundRow::as_select()))
            .load(connection)
            .in_table("refund")?;
        let disputes: Vec<(Id, DisputeRow)> = dispute::table
            .filter(dispute::order_id.eq_any(orders))
            .order(dispute::id.asc())
            .select((dispute::order_id, DisputeRow::as_select()))
            .load(connection)
            .in_table("dispute")?;
        Ok(Self {
            disputes: by_order(disputes),
            operations: by_order(operations.into_iter().map(|(order, position, row)| (order, (position, row)))),
            refunds: by_order(refunds),
            postings: by_order(PostedRow::of(connection, orders)?.into_iter().map(|row| (row.order_id, row))),
        })
    }
}

fn by_order<T>(rows: impl IntoIterator<Item = (Id, T)>) -> HashMap<Id, Vec<T>> {
    let mut grouped = HashMap::<Id, Vec<T>>::new();
    for (order, row) in rows {
        grouped.entry(order).or_default().push(row);
    }
    grouped
}
