//! Disputes, read back.

use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use dropin_kernel::{DisputeId, MerchantId, OpId, OrderId, ProcessorId};
use dropin_order::{Dispute, DisputeAnswerState, DisputeState, OpKind, Order};
use dropin_ports::{AnsweredDispute, DisputeFilter, DisputeWithOrder, OpenDisputes};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{on_each, statement};

use super::rows::{ANSWERS, AnswerRow, DisputeRow, TABLE};
use crate::rows::OrderRow;
use crate::schema::{dispute, dispute_answer, processor_op, purchase_order};

/// As the partial index has it, so that it is used.
const UNDECIDED: &str = "state IN ('NEEDS_RESPONSE', 'UNDER_REVIEW')";

statement! {
    /// Undecided disputes that were to be looked at. Has the words of the partial index, so that this is used.
    Undecided<'a> { processor: &'a str => Text, now: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "SELECT id FROM dispute \
        WHERE processor = $1 AND state IN ('NEEDS_RESPONSE', 'UNDER_REVIEW') AND look_at <= $2 ORDER BY look_at, id LIMIT $3 \
        FOR UPDATE SKIP LOCKED";
    sqlite "SELECT id FROM dispute \
        WHERE processor = $1 AND state IN ('NEEDS_RESPONSE', 'UNDER_REVIEW') AND look_at <= $2 ORDER BY look_at, id LIMIT $3";
    returns SqlId;
}

pub(super) fn of_order(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    order: OrderId,
) -> Result<Vec<AnsweredDispute>, Fault> {
    let rows: Vec<DisputeRow> = dispute::table
        .filter(dispute::order_id.eq(Id(order.uuid())))
        .filter(dispute::merchant_id.eq(Id(merchant.uuid())))
        .order(dispute::id)
        .select(DisputeRow::as_select())
        .load(connection)
        .in_table(TABLE)?;
    with_pending(connection, rows)
}

/// The disputes, each with whether an answer to it is on its way.
fn with_pending(connection: &mut AnyConnection, rows: Vec<DisputeRow>) -> Result<Vec<AnsweredDispute>, Fault> {
    let disputes = rows.into_iter().map(DisputeRow::restore).collect::<Result<Vec<Dispute>, Fault>>()?;
    let ids: Vec<Id> = disputes.iter().map(|dispute| Id(dispute.id.uuid())).collect();
    let answered: Vec<Id> = dispute_answer::table
        .filter(dispute_answer::dispute_id.eq_any(ids))
        .filter(dispute_answer::state.eq(DisputeAnswerState::Open.as_str()))
        .select(dispute_answer::dispute_id)
        .load(connection)
        .in_table(ANSWERS)?;
    let is_pending = |dispute: &Dispute| answered.iter().any(|id| id.0 == dispute.id.uuid());
    Ok(disputes.into_iter().map(|dispute| AnsweredDispute { is_pending: is_pending(&dispute), dispute }).collect())
}

pub(super) fn with_order(connection: &mut AnyConnection, id: DisputeId) -> Result<Option<DisputeWithOrder>, Fault> {
    let key = Id(id.uuid());
    let found: Option<DisputeRow> =
        dispute::table.find(key).select(DisputeRow::as_select()).first(connection).optional().in_table(TABLE)?;
    let Some(dispute) = found.map(DisputeRow::restore).transpose()? else { return Ok(None) };
    let order: OrderRow = purchase_order::table
        .find(Id(dispute.order_id.uuid()))
        .select(OrderRow::as_select())
        .first(connection)
        .in_table("purchase_order")?;
    let answer: Option<AnswerRow> = dispute_answer::table
        .filter(dispute_answer::dispute_id.eq(key))
        .filter(dispute_answer::state.eq(DisputeAnswerState::Open.as_str()))
        .select(AnswerRow::as_select())
        .first(connection)
        .optional()
        .in_table(ANSWERS)?;
    let open_answer = answer.map(AnswerRow::restore).transpose()?;
    Ok(Some(DisputeWithOrder { dispute, order: order.restore()?, open_answer }))
}

pub(super) fn by_reference(
    connection: &mut AnyConnection,
    processor: &ProcessorId,
    reference: &str,
) -> Result<Option<DisputeId>, Fault> {
    let found: Option<Id> = dispute::table
        .filter(dispute::processor.eq(processor.as_str()))
        .filter(dispute::reference.eq(reference))
        .select(dispute::id)
        .first(connection)
        .optional()
        .in_table(TABLE)?;
    Ok(found.map(|id| DisputeId::new(id.0)))
}

pub(super) fn order_of(
    connection: &mut AnyConnection,
    processor: &ProcessorId,
    authorization: OpId,
) -> Result<Option<Order>, Fault> {
    let found: Option<OrderRow> = purchase_order::table
        .inner_join(processor_op::table)
        .filter(processor_op::id.eq(Id(authorization.uuid())))
        .filter(processor_op::kind.eq(OpKind::Authorize.as_str()))
        .filter(processor_op::processor_id.is_null().or(processor_op::processor_id.eq(processor.as_str())))
        .select(OrderRow::as_select())
        .first(connection)
        .optional()
        .in_table("purchase_order")?;
    found.map(OrderRow::restore).transpose()
}

pub(super) fn list(connection: &mut AnyConnection, filter: &DisputeFilter, limit: u32) -> Result<Vec<Dispute>, Fault> {
    let mut query =
        dispute::table.order(dispute::id.desc()).limit(i64::from(limit)).select(DisputeRow::as_select()).into_boxed();
    if let Some(merchant) = filter.merchant {
        query = query.filter(dispute::merchant_id.eq(Id(merchant.uuid())));
    }
    if let Some(order) = filter.order {
        query = query.filter(dispute::order_id.eq(Id(order.uuid())));
    }
    if filter.only_open {
        let open = DisputeState::ALL.into_iter().filter(|state| !state.is_final()).map(DisputeState::as_str);
        query = query.filter(dispute::state.eq_any(open.collect::<Vec<_>>()));
    }
    if let Some(before) = filter.before {
        query = query.filter(dispute::id.lt(Id(before.uuid())));
    }
    let rows: Vec<DisputeRow> = query.load(connection).in_table(TABLE)?;
    rows.into_iter().map(DisputeRow::restore).collect()
}

pub(super) fn open(
    connection: &mut AnyConnection,
    merchants: Option<&[MerchantId]>,
    limit: u32,
) -> Result<Vec<AnsweredDispute>, Fault> {
    let mut query = dispute::table
        .filter(sql::<Bool>(UNDECIDED))
        // Those that wait for an answer come first by their state's name.
        .order((dispute::state, dispute::due_at.is_null(), dispute::due_at, dispute::id))
        .limit(i64::from(limit))
        .select(DisputeRow::as_select())
        .into_boxed();
    if let Some(merchants) = merchants {
        let merchants: Vec<Id> = merchants.iter().map(|merchant| Id(merchant.uuid())).collect();
        query = query.filter(dispute::merchant_id.eq_any(merchants));
    }
    let rows: Vec<DisputeRow> = query.load(connection).in_table(TABLE)?;
    with_pending(connection, rows)
}

pub(super) fn count_open(connection: &mut AnyConnection) -> Result<Vec<OpenDisputes>, Fault> {
    let rows: Vec<(String, String, i64)> = dispute::table
        .filter(sql::<Bool>(UNDECIDED))
        .group_by((dispute::processor, dispute::state))
        .select((dispute::processor, dispute::state, count_star()))
        .load(connection)
        .in_table(TABLE)?;
    let restore = |(processor, state, count): (String, String, i64)| {
        Ok(OpenDisputes {
            processor: processor.parse().map_err(|_no_name| corrupt(TABLE, "the processor's name is none"))?,
            state: state.parse().map_err(|_unknown| corrupt(TABLE, "the state is unknown"))?,
            count: u64::try_from(count).unwrap_or(0),
        })
    };
    rows.into_iter().map(restore).collect()
}

pub(super) fn claim_undecided(
    connection: &mut AnyConnection,
    processor: &ProcessorId,
    now: Instant,
    next_look: Instant,
    limit: u32,
) -> Result<Vec<DisputeId>, Fault> {
    let undecided = Undecided { processor: processor.as_str(), now, limit: i64::from(limit) };
    let found: Vec<Id> = on_each!(connection, inner => undecided.load(inner)).in_table(TABLE)?;
    if !found.is_empty() {
        diesel::update(dispute::table)
            .filter(dispute::id.eq_any(&found))
            .set(dispute::look_at.eq(next_look))
            .execute(connection)?;
    }
    Ok(found.into_iter().map(|id| DisputeId::new(id.0)).collect())
}

pub(super) fn look_again(connection: &mut AnyConnection, id: DisputeId, at: Instant) -> Result<(), Fault> {
    diesel::update(dispute::table.find(Id(id.uuid()))).set(dispute::look_at.eq(at)).execute(connection)?;
    Ok(())
}
