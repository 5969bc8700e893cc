//! Work of one sort, done for whoever waits with one statement of PostgreSQL that is its own transaction.
//!
//! What a round trip, a plan's start and a COMMIT cost is shared by all who wait at that moment. Nobody waits for others to come unless such a
//! statement is under way, and then for a moment only. What the statement does not settle, and everything when it fails, is done alone and in
//! a transaction.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use diesel::PgConnection;

use super::job::{Job, Kind, Step, Work};
use super::postgres::Lane;
use super::queue::Queue;
use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::wake::{self, Bell};

/// Most steps that share a statement. More would hold the first ones up for little gain.
const BATCH: usize = 32;

/// One plan for all calls, row by row and by index: these statements find everything by key, and a plan made while a table was small must
/// not outlive that.
macro_rules! by_key {
    () => {
        "; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"
    };
}

/// The same, for what may be lost with the last moments before a crash of the server: nobody waits for the disk.
pub(crate) const HASTY: &str = concat!(by_key!(), "; SET synchronous_commit = off");

/// Work that can be done for many callers at once. Alone ([`Work::run`]) it must also give the right answer after it was done already by a
/// statement whose answer got lost.
pub(crate) trait Together: Work + Sized {
    /// What its connections are told beside what all are told.
    const SETTINGS: &'static str = by_key!();

    /// Does it for all with one statement. Tells each, in their order, its answer, or `None` when it has to be done alone.
    ///
    /// # Errors
    /// Nothing was changed, unless the connection is lost.
    fn together(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<Self::Answer>>, Fault>;
}

/// Serves the queue until it is closed and empty.
pub(crate) fn serve<W: Together>(queue: &Queue<Step<W>>, url: &str, deadline: Duration, bell: &Bell) {
    let mut lane = Lane::new(url, deadline, W::SETTINGS, bell);
    while let Some(mut bunch) = queue.take_bunch(BATCH) {
        let steps = std::mem::take(&mut bunch.jobs);
        for step in together(&mut lane, steps) {
            lane.execute(Box::new(step));
        }
    }
}

/// Answers as many as one statement can; the others are left.
fn together<W: Together>(lane: &mut Lane<'_>, steps: Vec<Step<W>>) -> Vec<Step<W>> {
    // Before they start: whose deadline passes while nothing can be sent is told that nothing was done.
    if let Err(error) = lane.connect() {
        steps.into_iter().for_each(|step| Box::new(step).refuse(error.clone()));
        return Vec::new();
    }
    let mut steps: Vec<_> = steps.into_iter().filter(Step::start).collect();
    if steps.is_empty() {
        return steps;
    }
    let Some(AnyConnection::Postgres(connection)) = &mut lane.connection else { return steps };
    let all: Vec<_> = steps.iter().map(|step| &step.work).collect();
    wake::forget();
    match catch_unwind(AssertUnwindSafe(|| W::together(connection, &all))) {
        Ok(Ok(answers)) => {
            let mut alone = Vec::new();
            for (step, answer) in steps.into_iter().zip(answers) {
                match answer {
                    Some(answer) => step.answer_with(answer),
                    None => alone.push(step),
                }
            }
            lane.bell.ring_if_noted();
            alone
        }
        Ok(Err(fault)) => {
            if fault.is_lost_connection() {
                lane.connection = None;
            }
            // A standby surely wrote nothing.
            let in_doubt = fault.is_lost_connection() && !fault.is_standby();
            if in_doubt {
                steps.iter_mut().for_each(Step::doubt);
            }
            let writes = steps.iter().any(|step| step.kind() == Kind::Write);
            tell(fault, steps.len(), in_doubt && writes);
            steps
        }
        // Whoever makes it panic shall do so alone.
        Err(_panic) => {
            lane.connection = None;
            steps.iter_mut().for_each(Step::doubt);
            steps
        }
    }
}

/// Says why a statement that so many steps shared failed, and what comes next. What the database judged may be somebody's request; whoever is
/// the cause hears of it when it is done alone.
fn tell(fault: Fault, steps: usize, in_doubt: bool) {
    let level = if fault.is_judged() || fault.is_passing() { log::Level::Info } else { log::Level::Warn };
    let next = if in_doubt { "looking what became of each" } else { "nothing of it was kept, each is done alone" };
    log::log!(level, "a shared statement of {steps} steps failed; {next}: {}", fault.classify());
}
