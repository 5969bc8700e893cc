use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_order::OrderTrigger;
use dropin_risk::{
    Decision, Facts, Reason, ReasonCode, RulesFingerprint, ScaExemption, Score, Screening, ScreeningLabel,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};
use serde::Serialize;
use serde_json::{Map, Value};

use super::codec::{decode_velocity, encode_velocity};
use crate::schema::screening;

/// The member of a screening that is deleted before the others.
const FACTS: &str = "Facts";

/// A screening to be kept, taken apart into what stays and what is deleted first.
pub(super) struct Keeping {
    pub(super) order: OrderId,
    pub(super) merchant: MerchantId,
    pub(super) verdict: String,
    /// Without what was counted.
    pub(super) facts: String,
    /// What was counted.
    pub(super) velocity: Vec<u8>,
}

/// What stays of a screening.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Verdict<'a> {
    decision: Decision,
    score: Score,
    reasons: &'a [Reason],
    rules: RulesFingerprint,
    #[serde(skip_serializing_if = "Option::is_none")]
    exemption: Option<ScaExemption>,
}

statement! {
    /// Keeps a screening in place of the one that was there.
    Keep<'a> {
        verdict: &'a str => Text,
        facts: &'a str => Text,
        velocity: &'a [u8] => Binary,
        order: Id => SqlId,
        merchant: Id => SqlId,
    }
    both "INSERT INTO screening (order_id, merchant_id, ordered_at, verdict, facts, velocity) \
        SELECT id, merchant_id, created_at, $1, $2, $3 FROM purchase_order \
        WHERE id = $4 AND merchant_id = $5 \
        ON CONFLICT (order_id) DO UPDATE \
        SET verdict = excluded.verdict, facts = excluded.facts, velocity = excluded.velocity";
}

statement! {
    /// Keeps a screening where none was there.
    KeepFirst<'a> {
        verdict: &'a str => Text,
        facts: &'a str => Text,
        velocity: &'a [u8] => Binary,
        order: Id => SqlId,
        merchant: Id => SqlId,
    }
    sqlite "INSERT INTO screening (order_id, merchant_id, ordered_at, verdict, facts, velocity) \
        SELECT id, merchant_id, created_at, $1, $2, $3 FROM purchase_order \
        WHERE id = $4 AND merchant_id = $5 \
        ON CONFLICT (order_id) DO NOTHING";
}

statement! {
    /// Screenings of a merchant's Orders whose facts are kept.
    Listed { merchant: Id => SqlId, since: Instant => SqlInstant, limit: i64 => BigInt, }
    both "SELECT screening.order_id, screening.verdict, screening.facts, screening.velocity FROM screening \
        WHERE screening.merchant_id = $1 AND screening.ordered_at >= $2 AND screening.facts IS NOT NULL \
        ORDER BY screening.ordered_at DESC, screening.order_id DESC LIMIT $3";
    returns (SqlId, Text, Nullable<Text>, Nullable<Binary>);
}

statement! {
    Labelled { merchant: Id => SqlId, since: Instant => SqlInstant, limit: i64 => BigInt, }
    both include_str!("find_labelled.sql");
    returns (SqlId, Text, Nullable<Text>, Nullable<Binary>, Text);
}

impl Keeping {
    pub(super) fn new(order: OrderId, merchant: MerchantId, screening: &Screening) -> Result<Self, Fault> {
        let refused = |why: serde_json::Error| Fault::Refused(format!("a screening cannot be stored: {why}"));
        let mut facts = screening.facts().clone();
        let velocity = encode_velocity(&std::mem::take(&mut facts.velocity));
        let verdict = Verdict {
            decision: screening.decision(),
            score: screening.score(),
            reasons: screening.reasons(),
            rules: screening.rules(),
            exemption: screening.exemption(),
        };
        let verdict = serde_json::to_string(&verdict).map_err(refused)?;
        Ok(Self { order, merchant, verdict, facts: serde_json::to_string(&facts).map_err(refused)?, velocity })
    }

    /// Keeps it; refused where the merchant has no such Order.
    pub(super) fn keep_alone(&self, connection: &mut AnyConnection) -> Result<(), Fault> {
        let Self { order, merchant, verdict, facts, velocity } = self;
        let keep = Keep { verdict, facts, velocity, order: Id(order.uuid()), merchant: Id(merchant.uuid()) };
        match on_each!(connection, inner => keep.execute(inner))? {
            0 => Err(Fault::Refused("a screening of an Order that the merchant does not have".to_owned())),
            _ => Ok(()),
        }
    }

    /// Whether it is kept: it is not where another was kept before, or the merchant has no such Order.
    pub(super) fn keep_first(&self, connection: &mut SqliteConnection) -> Result<bool, Fault> {
        let Self { order, merchant, verdict, facts, velocity } = self;
        let keep = KeepFirst { verdict, facts, velocity, order: Id(order.uuid()), merchant: Id(merchant.uuid()) };
        Ok(keep.execute(connection)? != 0)
    }
}

/// An Order with its screening in a row.
type Row = (Id, String, Option<String>, Option<Vec<u8>>);

/// The same with what a person decided.
type LabelledRow = (Id, String, Option<String>, Option<Vec<u8>>, String);

/// Puts a screening together again. Facts that were deleted are unknown.
fn read((order, verdict, facts, velocity): Row) -> Result<(OrderId, Screening), Fault> {
    let damaged = |why: serde_json::Error| corrupt("screening", format!("{:?} at {}", why.classify(), why.column()));
    let mut members: Map<String, Value> = serde_json::from_str(&verdict).map_err(damaged)?;
    let mut facts: Facts =
        facts.as_deref().map_or_else(|| Ok(Facts::default()), serde_json::from_str).map_err(damaged)?;
    // Programs of before kept it with the other facts.
    if let Some(velocity) = velocity {
        facts.velocity = decode_velocity(&velocity)?;
    }
    members.insert(FACTS.to_owned(), serde_json::to_value(&facts).map_err(damaged)?);
    let screening = serde_json::from_value(Value::Object(members)).map_err(damaged)?;
    Ok((OrderId::new(order.0), screening))
}

type Columns = (screening::order_id, screening::verdict, screening::facts, screening::velocity);
const COLUMNS: Columns = (screening::order_id, screening::verdict, screening::facts, screening::velocity);

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
    let found = found.map(read).transpose()?.map(|(_, screening)| screening);
    for reason in found.iter().flat_map(Screening::reasons) {
        if let ReasonCode::Unknown(code) = &reason.code {
            let (order, code) = (order.to_string(), code.as_str());
            log::warn!(order = order.as_str(), reason = code; "an Order was screened for a reason that this release does not know");
        }
    }
    Ok(found)
}

/// The screenings whose facts are kept, newest first.
pub(super) fn list(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    since: Timestamp,
    limit: u32,
) -> Result<Vec<(OrderId, Screening)>, Fault> {
    let list = Listed { merchant: Id(merchant.uuid()), since: Instant(since), limit: limit.into() };
    let found: Vec<Row> = on_each!(connection, inner => list.load(inner)).in_table("screening")?;
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
    let found: Vec<LabelledRow> = on_each!(connection, inner => labelled.load(inner)).in_table("screening")?;
    let label = |(order, verdict, facts, velocity, what): LabelledRow| {
        let is_fraud = what == OrderTrigger::ReviewDeclined.as_str();
        let label = if is_fraud { ScreeningLabel::Fraud } else { ScreeningLabel::Legitimate };
        Ok((read((order, verdict, facts, velocity))?.1, label))
    };
    found.into_iter().map(label).collect()
}
