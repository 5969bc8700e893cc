use diesel::sql_types::{Array, Nullable};
use diesel::{PgConnection, RunQueryDsl};
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, SqlId};
use dropin_store_runtime::statement;

use crate::find::{Found, FoundColumns, Search};

statement! {
    Find<'a> { ids: &'a [Id] => Array<SqlId>, merchants: &'a [Option<Id>] => Array<Nullable<SqlId>>, }
    postgres include_str!("find_batch.postgres.sql");
    returns FoundColumns;
}

/// The Sessions that were found, in no order; a Session that is searched for twice may come twice.
pub(crate) fn find(connection: &mut PgConnection, all: &[&Search]) -> Result<Vec<Found>, Fault> {
    let ids: Vec<_> = all.iter().map(|search| Id(search.id.uuid())).collect();
    let merchants: Vec<_> = all.iter().map(|search| search.merchant.map(|merchant| Id(merchant.uuid()))).collect();
    Find { ids: &ids, merchants: &merchants }.load(connection).in_table("session")
}
