use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use dropin_access::operator::{MoneyRequest, MoneyRequestState, MoneyTotals};
use dropin_kernel::{MerchantId, MoneyRequestId, OperatorId, OrderId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_ports::{AccountChanged, MoneyBasis, MoneyRequested, OpenMoneyRequests};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant};

use super::rows::{MoneyRequestRow, amounts};
use crate::schema::{merchant, merchant_approval_limit, money_request, operator, purchase_order};

/// The refund of a request: the one of its Order that has the request's id as its reference.
const REFUND: &str = "SELECT 1 FROM refund WHERE refund.order_id = money_request.order_id \
    AND refund.reference = CAST(money_request.id AS TEXT)";

pub(super) fn is_known(fault: &Fault) -> bool {
    fault.breaks("money_request_pkey", "money_request.id")
}

pub(super) fn list_limits(connection: &mut AnyConnection, merchant: MerchantId) -> Result<Vec<Amount>, Fault> {
    let rows: Vec<(String, i64)> = merchant_approval_limit::table
        .filter(merchant_approval_limit::merchant_id.eq(Id(merchant.uuid())))
        .order(merchant_approval_limit::currency)
        .select((merchant_approval_limit::currency, merchant_approval_limit::limit_minor))
        .load(connection)
        .in_table("merchant_approval_limit")?;
    amounts("merchant_approval_limit", &rows)
}

pub(super) fn set_limits(
    connection: &mut AnyConnection,
    id: MerchantId,
    limits: &[Amount],
) -> Result<AccountChanged, Fault> {
    let key = Id(id.uuid());
    let row = merchant::table.find(key).select(merchant::id);
    // Two who replace the limits at once come one after the other.
    let locked: Option<Id> = match connection {
        AnyConnection::Postgres(connection) => row.for_no_key_update().first(connection).optional()?,
        AnyConnection::Sqlite(connection) => row.first(connection).optional()?,
    };
    if locked.is_none() {
        return Ok(AccountChanged::Missing);
    }
    diesel::delete(merchant_approval_limit::table.filter(merchant_approval_limit::merchant_id.eq(key)))
        .execute(connection)?;
    for limit in limits {
        diesel::insert_into(merchant_approval_limit::table)
            .values((
                merchant_approval_limit::merchant_id.eq(key),
                merchant_approval_limit::currency.eq(limit.currency().code()),
                merchant_approval_limit::limit_minor.eq(limit.minor()),
            ))
            .execute(connection)?;
    }
    Ok(AccountChanged::Done)
}

pub(super) fn basis(
    connection: &mut AnyConnection,
    operator: OperatorId,
    merchant: MerchantId,
    order: OrderId,
    currency: Currency,
    since: Timestamp,
) -> Result<MoneyBasis, Fault> {
    let (operator, order) = (Id(operator.uuid()), Id(order.uuid()));
    let counted = [MoneyRequestState::Waiting, MoneyRequestState::Granted].map(MoneyRequestState::as_str);
    // What was refunded counts, whatever its request says; what the processor refused does not.
    let is_refunded = sql::<Bool>("EXISTS (").sql(REFUND).sql(")");
    let is_not_failed = sql::<Bool>("NOT EXISTS (").sql(REFUND).sql(" AND refund.state = 'FAILED')");
    let rows: Vec<(Id, i64)> = money_request::table
        .filter(money_request::order_id.eq(order).or(money_request::requested_by.eq(operator)))
        .filter(money_request::requested_at.gt(Instant(since)))
        .filter(money_request::currency.eq(currency.code()))
        .filter(money_request::state.eq(counted[0]).or(money_request::state.eq(counted[1])).or(is_refunded))
        .filter(is_not_failed)
        .select((money_request::order_id, money_request::amount_minor))
        .load(connection)
        .in_table("money_request")?;
    let sum = |of: Option<Id>| {
        let counted = rows.iter().filter(|(order, _)| of.is_none_or(|of| of == *order)).map(|(_, minor)| *minor);
        let minor = counted.into_iter().try_fold(0_i64, i64::checked_add);
        minor
            .and_then(|minor| Amount::from_minor(currency, minor).ok())
            .ok_or_else(|| corrupt("money_request", "the amounts of a day are too large for a sum"))
    };
    let totals = MoneyTotals { order_and_operator: sum(None)?, order: sum(Some(order))? };
    let limits = list_limits(connection, merchant)?;
    Ok(MoneyBasis { totals, merchant_limit: limits.into_iter().find(|limit| limit.currency() == currency) })
}

pub(super) fn insert(
    connection: &mut AnyConnection,
    request: &MoneyRequest,
    expected: &MoneyBasis,
    since: Timestamp,
) -> Result<MoneyRequested, Fault> {
    let currency = request.amount.currency();
    let operators = operator::table.find(Id(request.requested_by.uuid())).select(operator::id);
    let orders = purchase_order::table
        .find(Id(request.order.uuid()))
        .filter(purchase_order::merchant_id.eq(Id(request.merchant.uuid())))
        .filter(purchase_order::currency.eq(currency.code()))
        .select(purchase_order::id);
    // Of two requests of one operator, or about one Order, the second one sees the first.
    let (operator, order): (Option<Id>, Option<Id>) = match connection {
        AnyConnection::Postgres(inner) => (
            operators.for_no_key_update().first(inner).optional()?,
            orders.for_no_key_update().first(inner).optional()?,
        ),
        AnyConnection::Sqlite(inner) => (operators.first(inner).optional()?, orders.first(inner).optional()?),
    };
    if operator.is_none() || order.is_none() {
        return Ok(MoneyRequested::NoOrder);
    }
    let now = basis(connection, request.requested_by, request.merchant, request.order, currency, since)?;
    if now != *expected {
        return Ok(MoneyRequested::Stale);
    }
    diesel::insert_into(money_request::table).values(MoneyRequestRow::new(request)).execute(connection)?;
    Ok(MoneyRequested::Done)
}

pub(super) fn find(connection: &mut AnyConnection, id: MoneyRequestId) -> Result<Option<MoneyRequest>, Fault> {
    let found: Option<MoneyRequestRow> = money_request::table
        .find(Id(id.uuid()))
        .select(MoneyRequestRow::as_select())
        .first(connection)
        .optional()
        .in_table("money_request")?;
    found.map(MoneyRequestRow::restore).transpose()
}

pub(super) fn list_open(connection: &mut AnyConnection, asked: &OpenMoneyRequests) -> Result<Vec<MoneyRequest>, Fault> {
    let is_unmade = money_request::state
        .eq(MoneyRequestState::Granted.as_str())
        .and(sql::<Bool>("NOT EXISTS (").sql(REFUND).sql(")"));
    let mut query = money_request::table
        .filter(money_request::requested_at.gt(Instant(asked.since)))
        .filter(money_request::state.eq(MoneyRequestState::Waiting.as_str()).or(is_unmade))
        .order((money_request::requested_at, money_request::id))
        .limit(i64::from(asked.limit))
        .select(MoneyRequestRow::as_select())
        .into_boxed();
    if let Some(merchants) = &asked.merchants {
        let merchants: Vec<_> = merchants.iter().map(|id| Id(id.uuid())).collect();
        query = query.filter(money_request::merchant_id.eq_any(merchants));
    }
    if let Some(order) = asked.order {
        query = query.filter(money_request::order_id.eq(Id(order.uuid())));
    }
    let rows: Vec<MoneyRequestRow> = query.load(connection).in_table("money_request")?;
    rows.into_iter().map(MoneyRequestRow::restore).collect()
}

pub(super) fn settle(
    connection: &mut AnyConnection,
    request: &MoneyRequest,
    old: MoneyRequestState,
) -> Result<AccountChanged, Fault> {
    let key = Id(request.id.uuid());
    let same = money_request::table.find(key).filter(money_request::state.eq(old.as_str()));
    let columns = (
        money_request::state.eq(request.state.as_str()),
        money_request::decided_by.eq(request.decided_by.map(|id| Id(id.uuid()))),
        money_request::decided_at.eq(request.decided_at.map(Instant)),
    );
    if diesel::update(same).set(columns).execute(connection)? == 1 {
        return Ok(AccountChanged::Done);
    }
    let there = find(connection, request.id)?;
    Ok(if there.is_some() { AccountChanged::Ended } else { AccountChanged::Missing })
}
