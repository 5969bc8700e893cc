//! Looking for Orders.

use std::cmp::Reverse;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use dropin_kernel::{OrderId, Timestamp};
use dropin_order::Order;
use dropin_ports::{OrderSearch, SearchCursor, SearchPage};
use dropin_store_runtime::connection::{AnyConnection, MultiBackend};
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use uuid::Uuid;

use super::named::{self, Named};
use super::scan::{self, Position, Table};
use crate::rows::OrderRow;
use crate::schema::purchase_order;

const TABLE: &str = "purchase_order";

/// A page, as the database and the exact amounts leave it.
pub(super) fn search(
    connection: &mut AnyConnection,
    search: &OrderSearch,
) -> Result<SearchPage<Order, OrderId>, Fault> {
    let named = match (named::find(connection, &search.filter, search.bounds)?, search.last_four) {
        (None, Some(last_four)) => Some(named::by_card(connection, &search.filter, search.bounds, last_four)?),
        (named, _) => named,
    };
    if let Some(named) = named {
        return of_named(connection, search, &named);
    }
    let newest = (Instant(search.filter.until.unwrap_or(Timestamp::MAX)), Id(Uuid::nil()));
    let from = search.after.map_or(newest, |after| (Instant(after.at), Id(after.id.uuid())));
    let looks_at_all = search.under_review || !narrows(search);
    let end =
        if looks_at_all { None } else { scan::end(connection, Table::Orders, &search.filter, search.bounds, from)? };
    let rows = read(connection, search, from, end)?;
    let is_full = usize::try_from(search.limit).is_ok_and(|limit| limit <= rows.len());
    let mut found = rows.into_iter().map(OrderRow::restore).collect::<Result<Vec<_>, _>>()?;
    let last = found.last().map(|order| SearchCursor { at: order.created_at, id: order.id });
    let next = match (is_full, end) {
        (true, _) => last,
        (false, end) => end.map(|(at, id)| SearchCursor { at: at.0, id: OrderId::new(id.0) }),
    };
    found.retain(|order| fits(search, order));
    Ok(SearchPage { found, next, is_cut: false })
}

/// Of the Orders that a name leads to those that fit. They are few: were the filter in the statement, a database might go through an index of it instead.
fn of_named(
    connection: &mut AnyConnection,
    search: &OrderSearch,
    named: &Named,
) -> Result<SearchPage<Order, OrderId>, Fault> {
    let newest = purchase_order::table
        .select(OrderRow::as_select())
        .order((purchase_order::created_at.desc(), purchase_order::id.desc()))
        .limit(i64::from(search.bounds.scanned));
    let mut rows: Vec<OrderRow> = Vec::new();
    // A list without an id would have the whole table read.
    if !named.sessions.is_empty() {
        let sessions = named.sessions.iter().copied().map(Some).collect::<Vec<_>>();
        let of_sessions = newest.filter(purchase_order::session_id.eq_any(sessions));
        rows.extend(of_sessions.load::<OrderRow>(connection).in_table(TABLE)?);
    }
    if !named.orders.is_empty() {
        let alone = newest.filter(purchase_order::id.eq_any(named.orders.clone()));
        rows.extend(alone.load::<OrderRow>(connection).in_table(TABLE)?);
    }
    let mut found = rows.into_iter().map(OrderRow::restore).collect::<Result<Vec<_>, _>>()?;
    found.retain(|order| fits(search, order));
    found.sort_unstable_by_key(|order| Reverse((order.created_at, order.id)));
    let limit = usize::try_from(search.bounds.found).unwrap_or(usize::MAX);
    let is_cut = named.is_cut || limit < found.len();
    found.truncate(limit);
    Ok(SearchPage { found, next: None, is_cut })
}

/// Whether rows are passed over, so that an end has to be set to how many are read.
fn narrows(search: &OrderSearch) -> bool {
    let filter = &search.filter;
    let merchants_are_read_together = filter.merchants.as_ref().is_some_and(|merchants| merchants.len() != 1);
    merchants_are_read_together
        || filter.currency.is_some()
        || filter.totals.is_some()
        || search.state.is_some()
        || search.payment_method.is_some()
}

/// What is looked for. Minor units count in their currency only, and a Session may have taken more references than its Order.
fn fits(search: &OrderSearch, order: &Order) -> bool {
    let filter = &search.filter;
    filter.fits(order.merchant_id, order.created_at, &order.total)
        && filter.reference.as_ref().is_none_or(|reference| order.merchant_reference.starts_with(reference.as_str()))
        && search.state.is_none_or(|state| order.state == state)
        && search.last_four.is_none_or(|last_four| order.last_four == Some(last_four))
        && search.payment_method.as_ref().is_none_or(|method| order.payment_method == *method)
        && (!search.under_review || order.under_review)
}

fn read(
    connection: &mut AnyConnection,
    search: &OrderSearch,
    (at, id): Position,
    end: Option<Position>,
) -> Result<Vec<OrderRow>, Fault> {
    let filter = &search.filter;
    let mut orders = purchase_order::table
        .select(OrderRow::as_select())
        .order((purchase_order::created_at.desc(), purchase_order::id.desc()))
        .limit(i64::from(search.limit))
        .filter(
            sql::<Bool>("(purchase_order.created_at, purchase_order.id) < (")
                .bind::<SqlInstant, _>(at)
                .sql(", ")
                .bind::<SqlId, _>(id)
                .sql(")"),
        )
        .into_boxed::<MultiBackend>();
    if let Some((at, id)) = end {
        orders = orders.filter(
            sql::<Bool>("(purchase_order.created_at, purchase_order.id) >= (")
                .bind::<SqlInstant, _>(at)
                .sql(", ")
                .bind::<SqlId, _>(id)
                .sql(")"),
        );
    }
    if let Some(merchants) = &filter.merchants {
        orders = match merchants.as_slice() {
            [one] => orders.filter(purchase_order::merchant_id.eq(Id(one.uuid()))),
            several => {
                let ids: Vec<_> = several.iter().map(|one| Id(one.uuid())).collect();
                orders.filter(purchase_order::merchant_id.eq_any(ids))
            }
        };
    }
    if let Some(since) = filter.since {
        orders = orders.filter(purchase_order::created_at.ge(Instant(since)));
    }
    if let Some(until) = filter.until {
        orders = orders.filter(purchase_order::created_at.lt(Instant(until)));
    }
    if let Some(currency) = filter.currency {
        orders = orders.filter(purchase_order::currency.eq(currency.code()));
    }
    if let Some(totals) = &filter.totals {
        let minors: Vec<i64> = totals.iter().map(|total| total.minor()).collect();
        orders = orders.filter(purchase_order::total_minor.eq_any(minors));
    }
    if let Some(state) = search.state {
        orders = orders.filter(purchase_order::state.eq(state.as_str()));
    }
    if search.under_review {
        // In the words of the partial index, so that this is used.
        orders = orders.filter(sql::<Bool>("purchase_order.under_review"));
    }
    if let Some(method) = &search.payment_method {
        orders = orders.filter(purchase_order::payment_method.eq(method.clone()));
    }
    orders.load(connection).in_table(TABLE)
}
