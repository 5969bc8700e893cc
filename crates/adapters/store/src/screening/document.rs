use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Nullable, Text};
use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_order::OrderTrigger;
use dropin_risk::{Screening, ScreeningLabel};
use serde_json::{Map, Value};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable, corrupt};
use crate::schema::screening;
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::{on_each, statement};
use crate::worker_pool::{Batchable, TxOutcome, Work};

/// The member of a screening that is deleted before the others.
const FACTS: &str = "Facts";

/// A screening to be kept, on PostgreSQL in a batch.
pub(crate) struct Keeping {
    order: OrderId,
    merchant: MerchantId,
    verdict: String,
    facts: String,
}

statement! {
    /// Keeps a screening in place of the one that was there.
    KeepOne<'a> { verdict: &'a str => Text, facts: &'a str => Text, order: Id => SqlId, merchant: Id => SqlId, }
    postgres KEEP;
    sqlite KEEP;
}

const KEEP: &str = "INSERT INTO screening (order_id, merchant_id, ordered_at, verdict, facts) \
    SELECT id, merchant_id, created_at, ?, ? FROM purchase_order WHERE id = ? AND merchant_id = ? \
    ON CONFLICT (order_id) DO UPDATE SET verdict = excluded.verdict, facts = excluded.facts";

statement! {
    /// Keeps screenings of different Orders, and tells of which.
    KeepSome<'a> {
        orders: Vec<Id> => Array<SqlId>,
        merchants: Vec<Id> => Array<SqlId>,
        verdicts: Vec<&'a str> => Array<Text>,
        facts: Vec<&'a str> => Array<Text>,
    }
    on Pg, PgConnection, "INSERT INTO screening (order_id, merchant_id, ordered_at, verdict, facts) \
        SELECT purchase_order.id, purchase_order.merchant_id, purchase_order.created_at, input_row.verdict, input_row.facts \
        FROM unnest(?, ?, ?, ?) AS input_row (order_id, merchant_id, verdict, facts) \
        JOIN purchase_order ON purchase_order.id = input_row.order_id AND purchase_order.merchant_id = input_row.merchant_id \
        ORDER BY purchase_order.id \
        ON CONFLICT (order_id) DO UPDATE SET verdict = excluded.verdict, facts = excluded.facts RETURNING order_id";
    returns SqlId;
}

statement! {
    /// Screenings of Orders about which a person has decided, and how.
    Labelled { merchant: Id => SqlId, since: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres LABELLED;
    sqlite LABELLED;
    returns (SqlId, Text, Nullable<Text>, Text);
}

const LABELLED: &str = "SELECT screening.order_id, screening.verdict, screening.facts, history.what \
    FROM screening JOIN history ON history.subject_id = screening.order_id \
    WHERE screening.merchant_id = ? AND screening.ordered_at >= ? AND screening.facts IS NOT NULL \
        AND history.what IN ('REVIEW_APPROVED', 'REVIEW_DECLINED') \
    ORDER BY screening.ordered_at DESC, screening.order_id DESC LIMIT ?";

impl Keeping {
    /// Takes the screening apart into what stays and what is deleted first.
    pub(super) fn new(order: OrderId, merchant: MerchantId, screening: &Screening) -> Result<Self, Fault> {
        let refused = |why: serde_json::Error| Fault::Refused(format!("a screening cannot be stored: {why}"));
        let mut members: Map<String, Value> =
            serde_json::from_str(&serde_json::to_string(screening).map_err(refused)?).map_err(refused)?;
        let facts = members.remove(FACTS).unwrap_or_default().to_string();
        Ok(Self { order, merchant, verdict: Value::Object(members).to_string(), facts })
    }
}

impl Work for Keeping {
    type Answer = ();

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<()>, Fault> {
        let Self { order, merchant, verdict, facts } = self;
        let keep = KeepOne { verdict, facts, order: Id(order.uuid()), merchant: Id(merchant.uuid()) };
        match on_each!(connection, inner => keep.execute(inner))? {
            0 => Err(Fault::Refused("a screening of an Order that the merchant does not have".to_owned())),
            _ => Ok(TxOutcome::Commit(())),
        }
    }
}

impl Batchable for Keeping {
    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<()>>, Fault> {
        let mut some: Vec<_> = all.to_vec();
        some.sort_by_key(|one| one.order);
        // A row can be written once by a statement: who comes later with the same Order is done alone, after it.
        some.dedup_by_key(|one| one.order);
        let keep = KeepSome {
            orders: some.iter().map(|one| Id(one.order.uuid())).collect(),
            merchants: some.iter().map(|one| Id(one.merchant.uuid())).collect(),
            verdicts: some.iter().map(|one| one.verdict.as_str()).collect(),
            facts: some.iter().map(|one| one.facts.as_str()).collect(),
        };
        let mut kept: Vec<Id> = keep.load(connection)?;
        let take = |one: &&Self| {
            let place = kept.iter().position(|id| id.0 == one.order.uuid())?;
            kept.swap_remove(place);
            Some(())
        };
        Ok(all.iter().map(take).collect())
    }
}

/// An Order with its screening in a row.
type Row = (Id, String, Option<String>);

/// Puts a screening together again. Facts that were deleted are unknown.
fn read((order, verdict, facts): Row) -> Result<(OrderId, Screening), Fault> {
    let damaged = |why: serde_json::Error| corrupt("screening", format!("{:?} at {}", why.classify(), why.column()));
    let mut members: Map<String, Value> = serde_json::from_str(&verdict).map_err(damaged)?;
    let facts = facts.as_deref().map_or_else(|| Ok(Value::Object(Map::new())), serde_json::from_str);
    members.insert(FACTS.to_owned(), facts.map_err(damaged)?);
    let screening = serde_json::from_value(Value::Object(members)).map_err(damaged)?;
    Ok((OrderId::new(order.0), screening))
}

const COLUMNS: (screening::order_id, screening::verdict, screening::facts) =
    (screening::order_id, screening::verdict, screening::facts);

/// The screening of an Order.
pub(super) fn find(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    order: OrderId,
) -> Result<Option<Screening>, Fault> {
    let found: Option<Row> = screening::table
        .filter(screening::order_id.eq(Id(order.uuid())))
        .filter(screening::merchant_id.eq(Id(merchant.uuid())))
        .select(COLUMNS)
        .first(connection)
        .optional()
        .in_table("screening")?;
    Ok(found.map(read).transpose()?.map(|(_, screening)| screening))
}

/// The screenings whose facts are kept, newest first.
pub(super) fn list(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    since: Timestamp,
    limit: u32,
) -> Result<Vec<(OrderId, Screening)>, Fault> {
    let found: Vec<Row> = screening::table
        .filter(screening::merchant_id.eq(Id(merchant.uuid())))
        .filter(screening::ordered_at.ge(Instant(since)))
        .filter(screening::facts.is_not_null())
        .order((screening::ordered_at.desc(), screening::order_id.desc()))
        .limit(i64::from(limit))
        .select(COLUMNS)
        .load(connection)
        .in_table("screening")?;
    found.into_iter().map(read).collect()
}

/// The screenings of Orders about which a person has decided, newest first.
pub(super) fn list_labelled(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    since: Timestamp,
    limit: u32,
) -> Result<Vec<(Screening, ScreeningLabel)>, Fault> {
    let labelled = Labelled { merchant: Id(merchant.uuid()), since: Instant(since), limit: limit.into() };
    let found: Vec<(Id, String, Option<String>, String)> =
        on_each!(connection, inner => labelled.load(inner)).in_table("screening")?;
    let label = |(order, verdict, facts, what): (Id, String, Option<String>, String)| {
        let is_fraud = what == OrderTrigger::ReviewDeclined.as_str();
        let label = if is_fraud { ScreeningLabel::Fraud } else { ScreeningLabel::Legitimate };
        Ok((read((order, verdict, facts))?.1, label))
    };
    found.into_iter().map(label).collect()
}
