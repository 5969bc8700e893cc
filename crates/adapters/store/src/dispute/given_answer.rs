//! Answers to disputes, and their sealed evidence.

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use dropin_access::SealedSecret;
use dropin_kernel::DisputeAnswerId;
use dropin_order::{DisputeAnswer, DisputeAnswerKind, DisputeAnswerState};
use dropin_ports::{Applied, NewDisputeAnswer};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::TxOutcome;
use dropin_store_runtime::{on_each, statement};

use super::rows::{ANSWERS, AnswerRow};
use crate::schema::{dispute_answer, dispute_evidence};

statement! {
    /// Open answers that are due. What another settler holds right now is skipped, not waited for.
    Due { now: Instant => SqlInstant, limit: i64 => BigInt, }
    postgres "SELECT id FROM dispute_answer WHERE state = 'OPEN' AND due_at <= $1 ORDER BY due_at, id LIMIT $2 FOR UPDATE SKIP LOCKED";
    sqlite "SELECT id FROM dispute_answer WHERE state = 'OPEN' AND due_at <= $1 ORDER BY due_at, id LIMIT $2";
    returns SqlId;
}

pub(super) fn insert(connection: &mut AnyConnection, begun: &NewDisputeAnswer) -> Result<(), Fault> {
    let NewDisputeAnswer { answer, evidence } = begun;
    if (answer.kind == DisputeAnswerKind::Evidence) != evidence.is_some() {
        return Err(Fault::Refused("an answer has evidence when it is of that kind, and only then".to_owned()));
    }
    diesel::insert_into(dispute_answer::table).values(AnswerRow::new(answer)).execute(connection)?;
    if let Some(evidence) = evidence {
        let row = (dispute_evidence::answer_id.eq(Id(answer.id.uuid())), dispute_evidence::sealed.eq(&evidence.0));
        diesel::insert_into(dispute_evidence::table).values(row).execute(connection)?;
    }
    Ok(())
}

/// Writes what became of an open answer; `false` when it is open no longer.
pub(super) fn end(
    connection: &mut AnyConnection,
    id: DisputeAnswerId,
    state: DisputeAnswerState,
) -> Result<bool, Fault> {
    let ended = diesel::update(dispute_answer::table.find(Id(id.uuid())))
        .filter(dispute_answer::state.eq(DisputeAnswerState::Open.as_str()))
        .set(dispute_answer::state.eq(state.as_str()))
        .execute(connection)?;
    Ok(ended == 1)
}

pub(super) fn claim(
    connection: &mut AnyConnection,
    now: Instant,
    lease_until: Instant,
    limit: u32,
) -> Result<Vec<DisputeAnswer>, Fault> {
    let due = Due { now, limit: i64::from(limit) };
    let due: Vec<Id> = on_each!(connection, inner => due.load(inner)).in_table(ANSWERS)?;
    if due.is_empty() {
        return Ok(Vec::new());
    }
    diesel::update(dispute_answer::table)
        .filter(dispute_answer::id.eq_any(&due))
        .set((dispute_answer::due_at.eq(lease_until), dispute_answer::tries.eq(dispute_answer::tries + 1)))
        .execute(connection)?;
    let rows: Vec<AnswerRow> = dispute_answer::table
        .filter(dispute_answer::id.eq_any(&due))
        .order((dispute_answer::created_at, dispute_answer::id))
        .select(AnswerRow::as_select())
        .load(connection)
        .in_table(ANSWERS)?;
    rows.into_iter().map(AnswerRow::restore).collect()
}

pub(super) fn postpone(
    connection: &mut AnyConnection,
    id: DisputeAnswerId,
    due_at: Instant,
) -> Result<TxOutcome<Applied>, Fault> {
    let postponed = diesel::update(dispute_answer::table.find(Id(id.uuid())))
        .filter(dispute_answer::state.eq(DisputeAnswerState::Open.as_str()))
        .set(dispute_answer::due_at.eq(due_at))
        .execute(connection)?;
    Ok(match postponed {
        0 => TxOutcome::Rollback(Applied::Stale),
        _ => TxOutcome::Commit(Applied::Done),
    })
}

pub(super) fn evidence(connection: &mut AnyConnection, id: DisputeAnswerId) -> Result<Option<SealedSecret>, Fault> {
    let sealed: Option<Vec<u8>> = dispute_evidence::table
        .find(Id(id.uuid()))
        .select(dispute_evidence::sealed)
        .first(connection)
        .optional()
        .in_table("dispute_evidence")?;
    Ok(sealed.map(SealedSecret))
}
