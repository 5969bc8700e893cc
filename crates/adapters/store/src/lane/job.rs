//! One step on its way through a lane, and the caller who waits for it.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dropin_ports::StoreError;
use tokio::sync::oneshot;

use super::queue::Queue;
use super::timekeeper::{Expires, Timekeeper};
use crate::connection::AnyConnection;
use crate::fault::Fault;

/// Whether a step may change something; decides what a passed deadline means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// What a step decided about its own writes.
#[derive(Debug)]
pub(crate) enum Verdict<T> {
    /// Commit them.
    Keep(T),
    /// Nothing of them may stay.
    Undo(T),
}

/// What a lane has to do after a step ran.
#[derive(Debug)]
pub(crate) enum Ran {
    Keep,
    Undo,
    Failed(Fault),
}

/// A step, whatever it answers.
pub(crate) trait Job: Send {
    fn kind(&self) -> Kind;

    /// Claims the step for running; `false` when nobody waits for it any more.
    fn start(&self) -> bool;

    /// Whether somebody still waits for the answer.
    fn is_wanted(&self) -> bool;

    /// Runs it once; a panic becomes a fault.
    fn run(&mut self, connection: &mut AnyConnection) -> Ran;

    /// Answers with what the last run decided.
    fn answer(self: Box<Self>);

    /// Answers with an error instead.
    fn refuse(self: Box<Self>, error: StoreError);
}

enum Phase {
    Waiting,
    Running,
}

struct Waiting<T> {
    phase: Phase,
    /// Gone once answered.
    reply: Option<oneshot::Sender<Result<T, StoreError>>>,
}

/// The caller's side of a step.
struct Ticket<T> {
    kind: Kind,
    state: Mutex<Waiting<T>>,
}

impl<T> Ticket<T> {
    fn state(&self) -> MutexGuard<'_, Waiting<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, answer: Result<T, StoreError>) {
        let reply = self.state().reply.take();
        if let Some(reply) = reply {
            // A caller that went away needs no answer.
            let _gone = reply.send(answer);
        }
    }
}

impl<T: Send> Expires for Ticket<T> {
    fn is_over(&self) -> bool {
        self.state().reply.is_none()
    }

    fn expire(&self) {
        // Under one lock: a step whose caller is told that it had no turn must not get one afterwards.
        let mut state = self.state();
        let error = match (self.kind, &state.phase) {
            (Kind::Write, Phase::Running) => StoreError::OutcomeUnknown,
            (_, Phase::Waiting) => StoreError::Unavailable("no turn came within the deadline".to_owned()),
            (Kind::Read, Phase::Running) => StoreError::Unavailable("no answer came within the deadline".to_owned()),
        };
        if let Some(reply) = state.reply.take() {
            // A caller that went away needs no answer.
            let _gone = reply.send(Err(error));
        }
    }
}

/// What a step does.
pub(crate) trait Work: Send + 'static {
    /// What its caller learns.
    type Answer: Send + 'static;

    /// Does it once; may be run again from its start.
    fn run(&self, connection: &mut AnyConnection) -> Result<Verdict<Self::Answer>, Fault>;
}

/// Work that is a closure.
struct Closure<T, F>(F, PhantomData<fn() -> T>);

impl<T, F> Work for Closure<T, F>
where
    T: Send + 'static,
    F: Fn(&mut AnyConnection) -> Result<Verdict<T>, Fault> + Send + 'static,
{
    type Answer = T;

    fn run(&self, connection: &mut AnyConnection) -> Result<Verdict<T>, Fault> {
        (self.0)(connection)
    }
}

/// Work, and the caller who waits for it.
pub(crate) struct Step<W: Work> {
    ticket: Arc<Ticket<W::Answer>>,
    pub(super) work: W,
    outcome: Option<W::Answer>,
    /// Whether an earlier run may have changed something, though nobody knows.
    in_doubt: bool,
}

impl<W: Work> Step<W> {
    /// Remembers that a run was cut off, and may have done all of it.
    pub(super) fn doubt(&mut self) {
        self.in_doubt = true;
    }

    /// Answers without having been run.
    pub(super) fn answer_with(self, answer: W::Answer) {
        self.ticket.answer(Ok(answer));
    }
}

impl<W: Work> Job for Step<W> {
    fn kind(&self) -> Kind {
        self.ticket.kind
    }

    fn start(&self) -> bool {
        let mut state = self.ticket.state();
        let wanted = state.reply.as_ref().is_some_and(|reply| !reply.is_closed());
        if wanted {
            state.phase = Phase::Running;
        }
        wanted
    }

    fn is_wanted(&self) -> bool {
        self.ticket.state().reply.is_some()
    }

    fn run(&mut self, connection: &mut AnyConnection) -> Ran {
        match catch_unwind(AssertUnwindSafe(|| self.work.run(connection))) {
            Ok(Ok(Verdict::Keep(outcome))) => {
                self.outcome = Some(outcome);
                Ran::Keep
            }
            Ok(Ok(Verdict::Undo(outcome))) => {
                self.outcome = Some(outcome);
                Ran::Undo
            }
            Ok(Err(fault)) => Ran::Failed(fault),
            Err(_panic) => Ran::Failed(Fault::Refused("a step panicked; nothing of it was kept".to_owned())),
        }
    }

    fn answer(self: Box<Self>) {
        let answer = self.outcome.ok_or_else(|| StoreError::Refused("a step was answered before it ran".to_owned()));
        self.ticket.answer(answer);
    }

    fn refuse(self: Box<Self>, error: StoreError) {
        // What went wrong this time says nothing about the time before.
        let in_doubt = self.in_doubt && self.ticket.kind == Kind::Write;
        self.ticket.answer(Err(if in_doubt { StoreError::OutcomeUnknown } else { error }));
    }
}

/// Queues `work` and waits for its answer, at most the timekeeper's patience.
pub(crate) async fn run<T, F>(
    queue: &Queue<Box<dyn Job>>,
    timekeeper: &Timekeeper,
    kind: Kind,
    work: F,
) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: Fn(&mut AnyConnection) -> Result<Verdict<T>, Fault> + Send + 'static,
{
    wait(timekeeper, kind, Closure(work, PhantomData), |step| queue.push(Box::new(step))).await
}

/// Queues `work` beside others of its sort and waits for its answer, at most the timekeeper's patience.
pub(crate) async fn run_one_of<W: Work>(
    queue: &Queue<Step<W>>,
    timekeeper: &Timekeeper,
    kind: Kind,
    work: W,
) -> Result<W::Answer, StoreError> {
    wait(timekeeper, kind, work, |step| queue.push(step)).await
}

async fn wait<W: Work>(
    timekeeper: &Timekeeper,
    kind: Kind,
    work: W,
    push: impl FnOnce(Step<W>) -> Result<(), &'static str>,
) -> Result<W::Answer, StoreError> {
    let (reply, answer) = oneshot::channel();
    let ticket = Arc::new(Ticket { kind, state: Mutex::new(Waiting { phase: Phase::Waiting, reply: Some(reply) }) });
    let watched: Arc<dyn Expires> = ticket.clone();
    push(Step { ticket, work, outcome: None, in_doubt: false })
        .map_err(|why| StoreError::Unavailable(why.to_owned()))?;
    timekeeper.watch(&watched);
    drop(watched);
    match (answer.await, kind) {
        (Ok(answer), _) => answer,
        // The lane ended with the step in its hands.
        (Err(_dropped), Kind::Write) => Err(StoreError::OutcomeUnknown),
        (Err(_dropped), Kind::Read) => Err(StoreError::Unavailable("the store was closed".to_owned())),
    }
}
