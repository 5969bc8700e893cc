//! Disputes: opened a few seconds after the capture of the number that says so, answered by the caller, decided by what the evidence says.

use std::time::Duration;

use diesel::prelude::*;
use dropin_kernel::Timestamp;

use crate::enums::{DisputeState, Kind, Outcome, Scenario};
use crate::rows::{Account, Dispute, Operation};
use crate::rules::CallContext;
use crate::store::{disputes, in_savepoint};

/// How long a dispute takes an answer.
const TIME_TO_ANSWER: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Evidence whose text has this word wins.
const WINNING: &str = "winning_evidence";
/// Evidence whose text has this word loses.
const LOSING: &str = "losing_evidence";

/// How a caller answers a dispute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The shopper keeps the money.
    Accept,
    /// Evidence, and what the bank will make of it.
    Evidence(Option<DisputeState>),
}

impl Answer {
    /// Of evidence with this text: its words decide, and without them nobody ever does.
    pub(crate) fn of_evidence(text: &str) -> Self {
        Self::Evidence(if text.contains(WINNING) {
            Some(DisputeState::Won)
        } else if text.contains(LOSING) {
            Some(DisputeState::Lost)
        } else {
            None
        })
    }
}

/// What came of an answer.
#[derive(Debug)]
pub(crate) enum Answered {
    /// There is no such dispute.
    Unknown,
    /// It takes no answer any more.
    Closed,
    /// It stands so, by this answer or, repeated, by the same one before.
    Taken(Dispute, bool),
}

/// Opens the dispute of a capture that has just been made, where the card's number asks for one.
pub(crate) fn open_of(
    store: &mut SqliteConnection,
    operation: &Operation,
    account: Option<&Account>,
    context: CallContext,
) -> QueryResult<()> {
    let is_captured = operation.kind == Kind::Capture && operation.outcome == Outcome::Approved;
    let Some(account) = account.filter(|account| is_captured && account.scenario == Scenario::Disputed) else {
        return Ok(());
    };
    let opened_at = context.now.plus(context.capture_delay);
    diesel::insert_into(disputes::table)
        .values((
            disputes::authorization_key.eq(&account.key),
            disputes::amount.eq(account.captured),
            disputes::currency.eq(&account.currency),
            disputes::opened_at.eq(opened_at.micros()),
            disputes::due_at.eq(opened_at.plus(TIME_TO_ANSWER).micros()),
        ))
        .execute(store)
        .map(drop)
}

/// Up to `limit` disputes after number `after` that were opened by now, oldest first.
pub(crate) fn list(store: &mut SqliteConnection, after: i64, limit: i64, now: Timestamp) -> QueryResult<Vec<Dispute>> {
    in_savepoint(store, |store| {
        decide_due(store, now)?;
        let listed: Vec<Dispute> = disputes::table
            .filter(disputes::number.gt(after))
            .order(disputes::number)
            .limit(limit)
            .select(Dispute::as_select())
            .load(store)?;
        // One that is not open yet holds back those behind it: who reads on would never see it.
        Ok(listed.into_iter().take_while(|dispute| dispute.opened_at <= now.micros()).collect())
    })
}

/// A dispute that was opened by now.
pub(crate) fn find(store: &mut SqliteConnection, reference: &str, now: Timestamp) -> QueryResult<Option<Dispute>> {
    in_savepoint(store, |store| {
        decide_due(store, now)?;
        disputes::table
            .filter(disputes::reference.eq(reference))
            .filter(disputes::opened_at.le(now.micros()))
            .select(Dispute::as_select())
            .first(store)
            .optional()
    })
}

/// Takes an answer, once.
pub(crate) fn answer(
    store: &mut SqliteConnection,
    reference: &str,
    key: &str,
    answer: &Answer,
    context: CallContext,
) -> QueryResult<Answered> {
    in_savepoint(store, |store| {
        let Some(found) = find(store, reference, context.now)? else { return Ok(Answered::Unknown) };
        if found.answer_key.as_deref() == Some(key) {
            return Ok(Answered::Taken(found, true));
        }
        if found.state != DisputeState::NeedsResponse {
            return Ok(Answered::Closed);
        }
        let (state, decision) = match answer {
            Answer::Accept => (DisputeState::Accepted, None),
            Answer::Evidence(decision) => (DisputeState::UnderReview, *decision),
        };
        let decided_at = decision.map(|_| context.now.plus(context.capture_delay).micros());
        diesel::update(disputes::table.find(found.number))
            .set((
                disputes::state.eq(state),
                disputes::answer_key.eq(key),
                disputes::decided_at.eq(decided_at),
                disputes::decision.eq(decision),
            ))
            .execute(store)?;
        Ok(Answered::Taken(Dispute { state, answer_key: Some(key.to_owned()), ..found }, false))
    })
}

/// Decides what is due: by the evidence, or against who has not answered in time.
fn decide_due(store: &mut SqliteConnection, now: Timestamp) -> QueryResult<()> {
    diesel::update(disputes::table)
        .filter(disputes::state.eq(DisputeState::UnderReview).and(disputes::decided_at.le(now.micros())))
        .set(disputes::state.eq(disputes::decision.assume_not_null()))
        .execute(store)?;
    diesel::update(disputes::table)
        .filter(disputes::state.eq(DisputeState::NeedsResponse).and(disputes::due_at.le(now.micros())))
        .set(disputes::state.eq(DisputeState::Lost))
        .execute(store)?;
    Ok(())
}
