//! The processors that a merchant's payments may begin at.

use std::collections::BTreeSet;

use diesel::prelude::*;
use dropin_access::ProcessorRouting;
use dropin_kernel::ProcessorId;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::Id;

use super::rows::routing_restored;
use crate::schema::{merchant, processor_account};

/// Locks a merchant against changes of its settings and accounts until the transaction ends; its rules of processors, or `None` when there is no such
/// merchant.
pub(crate) fn lock_routing(connection: &mut AnyConnection, id: Id) -> Result<Option<ProcessorRouting>, Fault> {
    let row = merchant::table.find(id).select(merchant::processor_routing);
    let locked: Option<Option<String>> = match connection {
        AnyConnection::Postgres(connection) => row.for_no_key_update().first(connection).optional()?,
        AnyConnection::Sqlite(connection) => row.first(connection).optional()?,
    };
    locked.map(|text| routing_restored(text.as_deref())).transpose()
}

/// Whether payments of the merchant may begin at each of these accounts.
pub(super) fn may_begin(
    connection: &mut AnyConnection,
    merchant: Id,
    accounts: &BTreeSet<&ProcessorId>,
) -> Result<bool, Fault> {
    let names = accounts.iter().map(|id| id.as_str());
    let there = processor_account::table
        .filter(processor_account::merchant_id.eq(merchant))
        .filter(processor_account::processor.eq_any(names))
        .filter(processor_account::removed_at.is_null());
    let found: Vec<String> =
        there.select(processor_account::processor).load(connection).in_table("processor_account")?;
    Ok(accounts.iter().all(|id| found.iter().any(|name| name == id.as_str())))
}
