//! What keeps notifications from arriving, of many endpoints at once.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use dropin_kernel::MerchantId;
use dropin_ports::{DeliveryTroubles, STATUS_COUNT_LIMIT};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::json_list;
use dropin_store_runtime::{on_each, statement};

/// Payments of an endpoint whose tries are looked at, of each kind.
const INSPECTED: i64 = 100;

statement! {
    Troubles<'a> {
        any_merchant: bool => Bool,
        merchants: &'a str => Text,
        parked_most: i64 => BigInt,
        inspected: i64 => BigInt,
    }
    postgres include_str!("count_troubles.postgres.sql");
    sqlite include_str!("count_troubles.sqlite.sql");
    returns (BigInt, BigInt);
}

pub(super) fn count(
    connection: &mut AnyConnection,
    merchants: Option<&[MerchantId]>,
) -> Result<DeliveryTroubles, Fault> {
    let troubles = Troubles {
        any_merchant: merchants.is_none(),
        merchants: &json_list(merchants.unwrap_or_default()),
        parked_most: i64::from(STATUS_COUNT_LIMIT),
        inspected: INSPECTED,
    };
    let (parked, failing): (i64, i64) =
        on_each!(connection, inner => troubles.get_result(inner)).in_table("outbox_stream")?;
    let number = |count: i64| u32::try_from(count).map_err(|_beyond| corrupt("outbox_stream", "a count"));
    Ok(DeliveryTroubles { parked: number(parked)?, failing_endpoints: number(failing)? })
}
