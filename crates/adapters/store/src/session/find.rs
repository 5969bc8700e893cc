//! A Session with its billing profile and the Order it led to, found by its id.

use diesel::prelude::*;
use diesel::sql_types::{Array, Nullable};
use dropin_kernel::{MerchantId, SessionId};
use dropin_ports::SessionWithOrder;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, SqlId};
use dropin_store_runtime::worker_pool::{Batchable, Batched, Kind, TxOutcome, Work};
use dropin_store_runtime::{on_each, statement};

use crate::columns::ColumnsOf;
use crate::rows::{OrderRow, ProfileRow, SessionRow};

/// A Session, its billing profile and its Order.
pub(crate) type Found = (SessionRow, ProfileRow, Option<OrderRow>);

/// What they are in SQL.
pub(crate) type FoundColumns = (ColumnsOf<SessionRow>, ColumnsOf<ProfileRow>, Nullable<ColumnsOf<OrderRow>>);

statement! {
    FindOne { id: Id => SqlId, merchant: Option<Id> => Nullable<SqlId>, }
    both include_str!("find_session.sql");
    returns FoundColumns;
}

statement! {
    Find<'a> { ids: &'a [Id] => Array<SqlId>, merchants: &'a [Option<Id>] => Array<Nullable<SqlId>>, }
    postgres include_str!("find_batch.postgres.sql");
    returns FoundColumns;
}

/// A Session is looked for.
pub(crate) struct Search {
    /// Whose it has to be; `None` for whoever knows its id.
    pub(crate) merchant: Option<MerchantId>,
    pub(crate) id: SessionId,
}

impl Work for Search {
    type Answer = Option<SessionWithOrder>;

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Self::Answer>, Fault> {
        let merchant = self.merchant.map(|merchant| Id(merchant.uuid()));
        let find = FindOne { id: Id(self.id.uuid()), merchant };
        let found: Option<Found> =
            on_each!(connection, inner => find.get_result(inner)).optional().in_table("session")?;
        found.map(restore).transpose().map(TxOutcome::Commit)
    }
}

impl Batchable for Search {
    const KIND: Kind = Kind::Read;
    const THREAD: &'static str = "store-find";

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<Self::Answer>, Fault> {
        let found = find_batch(connection, all)?;
        let answer = |search: &Self| {
            // The same statement may have found the Session for another merchant.
            let own = |found: &&Found| {
                found.0.id == Id(search.id.uuid())
                    && search.merchant.is_none_or(|merchant| found.0.merchant_id == Id(merchant.uuid()))
            };
            match found.iter().find(own) {
                None => Some(None),
                // A corrupt row is reported when the task runs alone.
                Some(found) => restore(found.clone()).ok().map(Some),
            }
        };
        Ok(Batched::silent(all.iter().map(|search| answer(search)).collect()))
    }
}

fn restore((row, profile, order): Found) -> Result<SessionWithOrder, Fault> {
    let session = row.restore(&profile)?;
    let order = order.map(OrderRow::restore).transpose()?;
    if session.state.order() != order.as_ref().map(|order| order.id) {
        return Err(corrupt("session", "the Order of the attempt is missing"));
    }
    Ok(SessionWithOrder { session, order })
}

/// The Sessions that were found, in no order; a Session that is searched for twice may come twice.
fn find_batch(connection: &mut PgConnection, all: &[&Search]) -> Result<Vec<Found>, Fault> {
    let ids: Vec<_> = all.iter().map(|search| Id(search.id.uuid())).collect();
    let merchants: Vec<_> = all.iter().map(|search| search.merchant.map(|merchant| Id(merchant.uuid()))).collect();
    Find { ids: &ids, merchants: &merchants }.load(connection).in_table("session")
}
