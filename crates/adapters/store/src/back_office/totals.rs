//! Sums of Orders.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::PaymentTotals;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

const TABLE: &str = "purchase_order";

/// Currency, method, state, whether approved, failure, count, and the sums.
type Columns = (Text, Text, Text, Bool, Nullable<Text>, BigInt, BigInt, BigInt, BigInt);
type Row = (String, String, String, bool, Option<String>, i64, i64, i64, i64);

statement! {
    /// Of all merchants.
    Totals { since: Instant => SqlInstant, until: Instant => SqlInstant, }
    both "SELECT currency, payment_method, state, authorized_minor > 0, failure, count(*), CAST(sum(total_minor) AS BIGINT), \
            CAST(sum(captured_minor) AS BIGINT), CAST(sum(refunded_minor) AS BIGINT) \
        FROM purchase_order WHERE created_at >= $1 AND created_at < $2 AND total_minor > 0 \
        GROUP BY currency, payment_method, state, authorized_minor > 0, failure";
    returns Columns;
}

statement! {
    /// Of one merchant.
    TotalsOf { merchant: Id => SqlId, since: Instant => SqlInstant, until: Instant => SqlInstant, }
    both "SELECT currency, payment_method, state, authorized_minor > 0, failure, count(*), CAST(sum(total_minor) AS BIGINT), \
            CAST(sum(captured_minor) AS BIGINT), CAST(sum(refunded_minor) AS BIGINT) \
        FROM purchase_order WHERE merchant_id = $1 AND created_at >= $2 AND created_at < $3 AND total_minor > 0 \
        GROUP BY currency, payment_method, state, authorized_minor > 0, failure";
    returns Columns;
}

pub(super) fn read(
    connection: &mut AnyConnection,
    merchant: Option<MerchantId>,
    since: Timestamp,
    until: Timestamp,
) -> Result<Vec<PaymentTotals>, Fault> {
    let (since, until) = (Instant(since), Instant(until));
    let rows: Vec<Row> = match merchant {
        Some(merchant) => {
            let find = TotalsOf { merchant: Id(merchant.uuid()), since, until };
            on_each!(connection, inner => find.load(inner))
        }
        None => on_each!(connection, inner => Totals { since, until }.load(inner)),
    }
    .in_table(TABLE)?;
    rows.into_iter().map(restore).collect()
}

fn restore(row: Row) -> Result<PaymentTotals, Fault> {
    let (currency, payment_method, state, is_approved, failure, count, total_minor, captured_minor, refunded_minor) =
        row;
    let unknown = |what: &str| corrupt(TABLE, format!("{what} is unknown"));
    Ok(PaymentTotals {
        currency: currency.parse().map_err(|_unknown| unknown("the currency"))?,
        payment_method,
        state: state.parse().map_err(|_unknown| unknown("the state"))?,
        is_approved,
        failure: failure
            .map(|code| code.parse().map_err(|_unknown| unknown("the reason of the failure")))
            .transpose()?,
        count: u64::try_from(count).map_err(|_negative| corrupt(TABLE, "it has less than no rows"))?,
        total_minor,
        captured_minor,
        refunded_minor,
    })
}
