//! What keeps notifications from arriving, of many endpoints at once.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use dropin_kernel::MerchantId;
use dropin_ports::{DeliveryTroubles, STATUS_COUNT_LIMIT};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::{on_each, statement};

use super::listed;

/// Payments of an endpoint whose tries are looked at, of each kind.
const INSPECTED: i64 = 100;

/// Whether a payment of one kind waits at an endpoint after a try. What was tried is due again after a wait, and so stands last.
macro_rules! tried {
    ($replayed:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM (SELECT s.attempt, s.leased FROM outbox_stream AS s WHERE s.endpoint_id = ep.id \
                AND s.next_sequence <= s.last_sequence AND s.replayed = ",
            $replayed,
            " ORDER BY s.due_at DESC LIMIT ?) AS last WHERE last.attempt > 1 OR last.attempt > 0 AND NOT last.leased)"
        )
    };
}

macro_rules! troubles {
    ($one_of:expr) => {
        concat!(
            "WITH ep AS (SELECT id FROM endpoint WHERE removed_at IS NULL AND (? OR ",
            $one_of,
            ")) SELECT (SELECT count(*) FROM (SELECT 1 FROM ep JOIN outbox_parked AS p ON p.endpoint_id = ep.id LIMIT ?) AS parked), \
                (SELECT count(*) FROM ep WHERE ",
            tried!("FALSE"),
            " OR ",
            tried!("TRUE"),
            ")"
        )
    };
}

statement! {
    /// Parked notifications, and endpoints where something waits after a try that failed.
    Troubles<'a> {
        any_merchant: bool => Bool,
        merchants: &'a str => Text,
        parked_most: i64 => BigInt,
        inspected: i64 => BigInt,
        inspected_again: i64 => BigInt,
    }
    postgres troubles!(one_of!(postgres));
    sqlite troubles!(one_of!(sqlite));
    returns (BigInt, BigInt);
}

pub(super) fn count(
    connection: &mut AnyConnection,
    merchants: Option<&[MerchantId]>,
) -> Result<DeliveryTroubles, Fault> {
    let troubles = Troubles {
        any_merchant: merchants.is_none(),
        merchants: &listed(merchants.unwrap_or_default()),
        parked_most: i64::from(STATUS_COUNT_LIMIT),
        inspected: INSPECTED,
        inspected_again: INSPECTED,
    };
    let (parked, failing): (i64, i64) =
        on_each!(connection, inner => troubles.get_result(inner)).in_table("outbox_stream")?;
    let number = |count: i64| u32::try_from(count).map_err(|_beyond| corrupt("outbox_stream", "a count"));
    Ok(DeliveryTroubles { parked: number(parked)?, failing_endpoints: number(failing)? })
}
