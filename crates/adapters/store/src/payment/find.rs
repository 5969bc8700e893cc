//! Orders, operations and refunds, read back. Fixed texts: a payment is found before each of its steps.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use dropin_kernel::{MerchantId, OpId, OrderId, RefundId, Timestamp};
use dropin_order::{OpKind, Operation, Order, Refund};
use dropin_ports::{CheckoutRecord, LapsedOrder, OrderDetails, OrderName, Payment};
use dropin_session::Session;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};
use uuid::Uuid;

use crate::columns::ColumnsOf;
use crate::rows::{OpRow, OrderRow, ProfileRow, RefundRow, SessionRow};
use crate::schema::{checkout, purchase_order};
use crate::{contract, history, rates};

const TABLE: &str = "purchase_order";

statement! {
    WholePayment { id: Id => SqlId, }
    both include_str!("find_whole_payment.sql");
    returns (
        ColumnsOf<OpRow>,
        ColumnsOf<OrderRow>,
        Nullable<ColumnsOf<SessionRow>>,
        Nullable<ColumnsOf<ProfileRow>>,
        Nullable<ColumnsOf<RefundRow>>,
    );
}

statement! {
    OfAnybody { id: Id => SqlId, }
    both include_str!("find_order_of_anybody.sql");
    returns (ColumnsOf<OrderRow>, Nullable<ColumnsOf<SessionRow>>, Nullable<ColumnsOf<ProfileRow>>);
}

statement! {
    ById { id: Id => SqlId, merchant: Id => SqlId, }
    both include_str!("find_order_by_id.sql");
    returns ColumnsOf<OrderRow>;
}

statement! {
    ByReference<'a> { merchant: Id => SqlId, reference: &'a str => Text, }
    both include_str!("find_order_by_reference.sql");
    returns ColumnsOf<OrderRow>;
}

statement! {
    Lapsed { now: Instant => SqlInstant, end: Instant => SqlInstant, id: Id => SqlId, limit: i64 => BigInt, }
    both include_str!("lapsed.sql");
    returns (SqlInstant, SqlId);
}

statement! {
    /// The refunds of an Order, oldest first.
    RefundsOf { order: Id => SqlId, }
    both "SELECT refund.id, refund.order_id, refund.merchant_id, refund.reference, refund.currency, refund.amount_minor, \
            refund.description, refund.state, refund.created_at, refund.updated_at, refund.settlement_currency, \
            refund.settlement_minor \
        FROM refund WHERE refund.order_id = $1 ORDER BY refund.position";
    returns ColumnsOf<RefundRow>;
}

statement! {
    /// A refund of a merchant's own Order.
    RefundById { id: Id => SqlId, order: Id => SqlId, merchant: Id => SqlId, }
    both "SELECT refund.id, refund.order_id, refund.merchant_id, refund.reference, refund.currency, refund.amount_minor, \
            refund.description, refund.state, refund.created_at, refund.updated_at, refund.settlement_currency, \
            refund.settlement_minor \
        FROM refund WHERE refund.id = $1 AND refund.order_id = $2 AND refund.merchant_id = $3";
    returns ColumnsOf<RefundRow>;
}

statement! {
    /// A refund by the merchant's reference.
    RefundByReference<'a> { order: Id => SqlId, reference: &'a str => Text, }
    both "SELECT refund.id, refund.order_id, refund.merchant_id, refund.reference, refund.currency, refund.amount_minor, \
            refund.description, refund.state, refund.created_at, refund.updated_at, refund.settlement_currency, \
            refund.settlement_minor \
        FROM refund WHERE refund.order_id = $1 AND refund.reference = $2";
    returns ColumnsOf<RefundRow>;
}

statement! {
    /// The operations of an Order, oldest first.
    OperationsOf { order: Id => SqlId, }
    both "SELECT processor_op.id, processor_op.order_id, processor_op.kind, processor_op.state, processor_op.currency, \
            processor_op.amount_minor, processor_op.authorization_id, processor_op.refund_id, \
            processor_op.processor_reference, processor_op.processor_id, processor_op.channel, processor_op.epoch, \
            processor_op.tries, processor_op.due_at, processor_op.created_at \
        FROM processor_op WHERE processor_op.order_id = $1 ORDER BY processor_op.position";
    returns ColumnsOf<OpRow>;
}

/// An operation with all that is needed to settle it.
pub(super) fn payment(connection: &mut AnyConnection, operation: OpId) -> Result<Option<Payment>, Fault> {
    type Found = (OpRow, OrderRow, Option<SessionRow>, Option<ProfileRow>, Option<RefundRow>);
    let find = WholePayment { id: Id(operation.uuid()) };
    let found: Option<Found> =
        on_each!(connection, inner => find.get_result(inner)).optional().in_table("processor_op")?;
    let Some((operation, order, session, profile, refund)) = found else { return Ok(None) };
    let (operation, order) = (operation.restore()?, order.restore()?);
    let session = session_of(&order, session, profile)?;
    let refund = refund.map(RefundRow::restore).transpose()?;
    let fits = refund.as_ref().is_none_or(|refund| refund.order_id == order.id);
    if !fits || refund.is_some() != (operation.kind == OpKind::Refund) {
        return Err(corrupt("processor_op", "its refund is missing or another's"));
    }
    let contract = order.contract_id.map(|id| contract::load(connection, id)).transpose()?;
    let is_charge = order.contract_id.is_some() && contract::is_charge(connection, order.id)?;
    Ok(Some(Payment { operation, order, session, refund, contract, is_charge }))
}

/// The Session of an Order, if it has one.
fn session_of(
    order: &Order,
    session: Option<SessionRow>,
    profile: Option<ProfileRow>,
) -> Result<Option<Session>, Fault> {
    let session = session.zip(profile).map(|(session, profile)| session.restore(&profile)).transpose()?;
    if order.session_id == session.as_ref().map(|session| session.id) {
        Ok(session)
    } else {
        Err(corrupt(TABLE, "its Session is missing"))
    }
}

/// Any merchant's Order, shown or not.
pub(super) fn anywhere(connection: &mut AnyConnection, id: OrderId) -> Result<Option<(Order, Option<Session>)>, Fault> {
    type Found = (OrderRow, Option<SessionRow>, Option<ProfileRow>);
    let find = OfAnybody { id: Id(id.uuid()) };
    let found: Option<Found> = on_each!(connection, inner => find.get_result(inner)).optional().in_table(TABLE)?;
    let Some((order, session, profile)) = found else { return Ok(None) };
    let order = order.restore()?;
    let session = session_of(&order, session, profile)?;
    Ok(Some((order, session)))
}

/// The merchant's own Order, if it was shown.
pub(super) fn order(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    name: &OrderName,
) -> Result<Option<Order>, Fault> {
    let merchant = Id(merchant.uuid());
    let found: Option<OrderRow> = match name {
        OrderName::Id(id) => {
            let find = ById { id: Id(id.uuid()), merchant };
            on_each!(connection, inner => find.get_result(inner))
        }
        OrderName::Reference(reference) => {
            let find = ByReference { merchant, reference };
            on_each!(connection, inner => find.get_result(inner))
        }
    }
    .optional()
    .in_table(TABLE)?;
    found.map(OrderRow::restore).transpose()
}

/// The merchant's own Order with refunds and history, as they were at one moment.
pub(super) fn order_details(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    name: &OrderName,
) -> Result<Option<OrderDetails>, Fault> {
    let Some(order) = order(connection, merchant, name)? else { return Ok(None) };
    let refunds = refunds(connection, order.id)?;
    let history = history::of_order(connection, order.id)?;
    // On PostgreSQL each statement sees a moment of its own. Whatever is added to an Order counts its revision up.
    let revision: i64 = purchase_order::table
        .find(Id(order.id.uuid()))
        .select(purchase_order::revision)
        .first(connection)
        .in_table(TABLE)?;
    if revision != order.revision.number() {
        return Err(Fault::Retry);
    }
    // Nobody changes the terms of a Session that is paid.
    let currency = order.amounts.currency();
    let rate = order.session_id.map(|session| rates::of_session(connection, session, currency)).transpose()?.flatten();
    Ok(Some(OrderDetails { order, refunds, history, rate }))
}

/// The Orders whose time was over, without a look at anything else of their rows: one that makes no sense must not keep the others from ending.
pub(super) fn lapsed(
    connection: &mut AnyConnection,
    now: Timestamp,
    after: Option<LapsedOrder>,
    limit: u32,
) -> Result<Vec<LapsedOrder>, Fault> {
    let beginning = (Timestamp::from_micros(0), Uuid::nil());
    let (end, id) = after.map_or(beginning, |after| (after.end, after.id.uuid()));
    let lapsed = Lapsed { now: Instant(now), end: Instant(end), id: Id(id), limit: i64::from(limit) };
    let found: Vec<(Instant, Id)> = on_each!(connection, inner => lapsed.load(inner)).in_table(TABLE)?;
    Ok(found.into_iter().map(|(end, id)| LapsedOrder { end: end.0, id: OrderId::new(id.0) }).collect())
}

/// The refunds of an Order, oldest first.
fn refunds(connection: &mut AnyConnection, order: OrderId) -> Result<Vec<Refund>, Fault> {
    let find = RefundsOf { order: Id(order.uuid()) };
    let found: Vec<RefundRow> = on_each!(connection, inner => find.load(inner)).in_table("refund")?;
    found.into_iter().map(RefundRow::restore).collect()
}

/// A refund of the merchant's own Order.
pub(super) fn refund(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    order: OrderId,
    id: RefundId,
) -> Result<Option<Refund>, Fault> {
    let find = RefundById { id: Id(id.uuid()), order: Id(order.uuid()), merchant: Id(merchant.uuid()) };
    let found: Option<RefundRow> =
        on_each!(connection, inner => find.get_result(inner)).optional().in_table("refund")?;
    found.map(RefundRow::restore).transpose()
}

/// A refund by the merchant's reference.
pub(super) fn refund_by_reference(
    connection: &mut AnyConnection,
    order: OrderId,
    reference: &str,
) -> Result<Option<Refund>, Fault> {
    let find = RefundByReference { order: Id(order.uuid()), reference };
    let found: Option<RefundRow> =
        on_each!(connection, inner => find.get_result(inner)).optional().in_table("refund")?;
    found.map(RefundRow::restore).transpose()
}

/// The operations of an Order, oldest first.
pub(super) fn operations(connection: &mut AnyConnection, order: OrderId) -> Result<Vec<Operation>, Fault> {
    let find = OperationsOf { order: Id(order.uuid()) };
    let found: Vec<OpRow> = on_each!(connection, inner => find.load(inner)).in_table("processor_op")?;
    found.into_iter().map(OpRow::restore).collect()
}

/// What a server-to-server checkout said.
pub(super) fn checkout(connection: &mut AnyConnection, order: OrderId) -> Result<Option<CheckoutRecord>, Fault> {
    let found: Option<JsonDocument> = checkout::table
        .find(Id(order.uuid()))
        .select(checkout::document)
        .first(connection)
        .optional()
        .in_table("checkout")?;
    let Some(JsonDocument(document)) = found else { return Ok(None) };
    match serde_json::from_str::<serde::de::IgnoredAny>(&document) {
        Ok(_json) => Ok(Some(CheckoutRecord { document })),
        Err(_none) => Err(corrupt("checkout", "the document is no JSON")),
    }
}
