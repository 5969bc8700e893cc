//! A refund as it is written.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use dropin_money::Amount;
use dropin_order::{Refund, RefundState};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, rows, statement};

use crate::schema::refund;

rows! {
    /// A refund that is begun.
    NewRefunds of NewRefund<'a> {
        number: i64 => BigInt,
        id: Id => SqlId,
        order_id: Id => SqlId,
        merchant_id: Id => SqlId,
        reference: &'a str => Text,
        currency: &'a str => Text,
        minor: i64 => BigInt,
        description: Option<&'a str> => Nullable<Text>,
        state: &'a str => Text,
        created_at: Instant => SqlInstant,
        updated_at: Instant => SqlInstant,
        settlement_currency: Option<&'a str> => Nullable<Text>,
        settlement: Option<i64> => Nullable<BigInt>,
    }
}

statement! {
    Insert<'a> {
        id: Id => SqlId,
        order: Id => SqlId,
        merchant: Id => SqlId,
        reference: &'a str => Text,
        currency: &'a str => Text,
        amount: i64 => BigInt,
        description: Option<&'a str> => Nullable<Text>,
        state: &'a str => Text,
        created_at: Instant => SqlInstant,
        updated_at: Instant => SqlInstant,
        settlement_currency: Option<&'a str> => Nullable<Text>,
        settlement: Option<i64> => Nullable<BigInt>,
    }
    both include_str!("insert_refund.sql");
}

statement! {
    /// What became of a refund that was in progress.
    Decide {
        state: &'static str => Text,
        amount: i64 => BigInt,
        settlement: Option<i64> => Nullable<BigInt>,
        updated_at: Instant => SqlInstant,
        id: Id => SqlId,
        order: Id => SqlId,
        currency: &'static str => Text,
    }
    both "UPDATE refund SET state = $1, amount_minor = $2, settlement_minor = $3, updated_at = $4 \
        WHERE id = $5 AND order_id = $6 AND currency = $7 AND state = 'IN_PROGRESS'";
}

/// Its row.
pub(super) fn new_refund(number: i64, refund: &Refund) -> NewRefund<'_> {
    NewRefund {
        number,
        id: Id(refund.id.uuid()),
        order_id: Id(refund.order_id.uuid()),
        merchant_id: Id(refund.merchant_id.uuid()),
        reference: &refund.reference,
        currency: refund.amount.currency().code(),
        minor: refund.amount.minor(),
        description: refund.description.as_deref(),
        state: refund.state.as_str(),
        created_at: Instant(refund.created_at),
        updated_at: Instant(refund.updated_at),
        settlement_currency: refund.settlement.as_ref().map(|amount| amount.currency().code()),
        settlement: refund.settlement.as_ref().map(Amount::minor),
    }
}

/// Inserts a new refund; `false` when its Order has one with that reference.
pub(super) fn insert(connection: &mut AnyConnection, refund: &Refund) -> Result<bool, Fault> {
    let row = new_refund(0, refund);
    let insert = Insert {
        id: row.id,
        order: row.order_id,
        merchant: row.merchant_id,
        reference: row.reference,
        currency: row.currency,
        amount: row.minor,
        description: row.description,
        state: row.state,
        created_at: row.created_at,
        updated_at: row.updated_at,
        settlement_currency: row.settlement_currency,
        settlement: row.settlement,
    };
    Ok(on_each!(connection, inner => insert.execute(inner))? == 1)
}

/// Writes what became of a refund. The caller has changed, and so locked, its Order, and found its operation open.
pub(super) fn decide(connection: &mut AnyConnection, refund: &Refund) -> Result<(), Fault> {
    let decide = Decide {
        state: refund.state.as_str(),
        amount: refund.amount.minor(),
        settlement: refund.settlement.as_ref().map(Amount::minor),
        updated_at: Instant(refund.updated_at),
        id: Id(refund.id.uuid()),
        order: Id(refund.order_id.uuid()),
        currency: refund.amount.currency().code(),
    };
    match on_each!(connection, inner => decide.execute(inner))? {
        1 => Ok(()),
        _ => Err(Fault::Refused("there is no such refund in progress".to_owned())),
    }
}

/// Writes that a refund that had succeeded failed; `false` when it had not.
pub(super) fn take_back(connection: &mut AnyConnection, failed: &Refund) -> Result<bool, Fault> {
    let taken = diesel::update(refund::table)
        .filter(refund::id.eq(Id(failed.id.uuid())))
        .filter(refund::order_id.eq(Id(failed.order_id.uuid())))
        .filter(refund::state.eq(RefundState::Succeeded.as_str()))
        .set((refund::state.eq(failed.state.as_str()), refund::updated_at.eq(Instant(failed.updated_at))))
        .execute(connection)?;
    Ok(taken == 1)
}
