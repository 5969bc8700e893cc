use diesel::pg::Pg;
use diesel::sql_types::{Array, Nullable};
use diesel::{PgConnection, RunQueryDsl};
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, SqlId};
use dropin_store_runtime::statement;

use crate::find::{Found, FoundColumns, Search, select_session};

statement! {
    /// Sessions, each of its merchant where one is named.
    Find<'a> { ids: &'a [Id] => Array<SqlId>, merchants: &'a [Option<Id>] => Array<Nullable<SqlId>>, }
    on Pg, PgConnection, select_session!(" JOIN unnest(?, ?) AS input_row (id, merchant_id) \
        ON input_row.id = session.id AND (input_row.merchant_id IS NULL OR input_row.merchant_id = session.merchant_id)");
    returns FoundColumns;
}

/// The Sessions that were found, in no order; a Session that is searched for twice may come twice.
pub(crate) fn find(connection: &mut PgConnection, all: &[&Search]) -> Result<Vec<Found>, Fault> {
    let ids: Vec<_> = all.iter().map(|search| Id(search.id.uuid())).collect();
    let merchants: Vec<_> = all.iter().map(|search| search.merchant.map(|merchant| Id(merchant.uuid()))).collect();
    Find { ids: &ids, merchants: &merchants }.load(connection).in_table("session")
}
