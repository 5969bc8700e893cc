use diesel::pg::Pg;
use diesel::sql_types::{Array, Nullable};
use diesel::{PgConnection, RunQueryDsl};

use crate::fault::{Fault, InTable};
use crate::find::{Found, FoundColumns, Search, select_session};
use crate::sql::{Id, SqlId};
use crate::statement::statement;

statement! {
    /// Sessions, each of its merchant where one is named.
    Find<'a> { ids: &'a [Id] => Array<SqlId>, merchants: &'a [Option<Id>] => Array<Nullable<SqlId>>, }
    on Pg, PgConnection, select_session!(" JOIN unnest(?, ?) AS wish (id, merchant_id) \
        ON wish.id = session.id AND (wish.merchant_id IS NULL OR wish.merchant_id = session.merchant_id)");
    returns FoundColumns;
}

/// The Sessions that are looked for and are there, in no order; one that is wished for twice may come twice.
pub(crate) fn find(connection: &mut PgConnection, all: &[&Search]) -> Result<Vec<Found>, Fault> {
    let ids: Vec<_> = all.iter().map(|search| Id(search.id.uuid())).collect();
    let merchants: Vec<_> = all.iter().map(|search| search.merchant.map(|merchant| Id(merchant.uuid()))).collect();
    Find { ids: &ids, merchants: &merchants }.load(connection).in_table("session")
}
