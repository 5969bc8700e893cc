//! How far one search looks: newest first, through a bounded number of rows, whatever the filter leaves of them.

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use dropin_ports::{SearchBounds, SearchFilter};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

/// Where a row stands in the order of a search.
pub(super) type Position = (Instant, Id);

statement! {
    /// The Order that so many are newer than, behind a position.
    OrdersEnd { at: Instant => SqlInstant, id: Id => SqlId, rows: i64 => BigInt, }
    both "SELECT created_at, id FROM purchase_order WHERE (created_at, id) < ($1, $2) \
        ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $3";
    returns (SqlInstant, SqlId);
}

statement! {
    /// The same among the Orders of one merchant.
    OrdersEndOf { merchant: Id => SqlId, at: Instant => SqlInstant, id: Id => SqlId, rows: i64 => BigInt, }
    both "SELECT created_at, id FROM purchase_order WHERE merchant_id = $1 AND (created_at, id) < ($2, $3) \
        ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $4";
    returns (SqlInstant, SqlId);
}

statement! {
    /// The Session that so many are newer than, behind a position.
    SessionsEnd { at: Instant => SqlInstant, id: Id => SqlId, rows: i64 => BigInt, }
    both "SELECT created_at, id FROM session WHERE (created_at, id) < ($1, $2) \
        ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $3";
    returns (SqlInstant, SqlId);
}

statement! {
    /// The same among the Sessions of one merchant.
    SessionsEndOf { merchant: Id => SqlId, at: Instant => SqlInstant, id: Id => SqlId, rows: i64 => BigInt, }
    both "SELECT created_at, id FROM session WHERE merchant_id = $1 AND (created_at, id) < ($2, $3) \
        ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $4";
    returns (SqlInstant, SqlId);
}

/// Which table.
#[derive(Clone, Copy)]
pub(super) enum Table {
    Orders,
    Sessions,
}

/// The last row that a search behind `from` looks at; `None` when it looks at all that are left, or at all that the filter's beginning leaves. An index
/// alone says where it is.
pub(super) fn end(
    connection: &mut AnyConnection,
    table: Table,
    filter: &SearchFilter,
    bounds: SearchBounds,
    (at, id): Position,
) -> Result<Option<Position>, Fault> {
    let rows = i64::from(bounds.scanned.saturating_sub(1));
    let merchant = match filter.merchants.as_deref() {
        Some([one]) => Some(Id(one.uuid())),
        _ => None,
    };
    let end: Option<Position> = match (table, merchant) {
        (Table::Orders, None) => on_each!(connection, inner => OrdersEnd { at, id, rows }.get_result(inner)),
        (Table::Orders, Some(merchant)) => {
            on_each!(connection, inner => OrdersEndOf { merchant, at, id, rows }.get_result(inner))
        }
        (Table::Sessions, None) => on_each!(connection, inner => SessionsEnd { at, id, rows }.get_result(inner)),
        (Table::Sessions, Some(merchant)) => {
            on_each!(connection, inner => SessionsEndOf { merchant, at, id, rows }.get_result(inner))
        }
    }
    .optional()
    .in_table(match table {
        Table::Orders => "purchase_order",
        Table::Sessions => "session",
    })?;
    Ok(end.filter(|(at, _)| filter.since.is_none_or(|since| since <= at.0)))
}
