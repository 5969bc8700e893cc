//! A database task on its way through the worker pool, and the caller that waits for its result.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dropin_ports::StoreError;
use tokio::sync::oneshot;

use super::deadline_timer::{DeadlineTimer, Expires};
use super::queue::Queue;
use crate::connection::AnyConnection;
use crate::fault::Fault;

/// Whether a step may change something; decides what a passed deadline means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It changes nothing.
    Read,
    /// It may.
    Write,
}

/// Whether a step enqueued notifications: the worker wakes the notifier after the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "nobody wakes the notifier otherwise"]
pub struct Enqueued(pub bool);

/// Whether the writes of a task are committed, and its result.
#[derive(Debug)]
pub enum TxOutcome<T> {
    /// Commit them.
    Commit(T),
    /// Commit them, then wake the notifier.
    CommitAndWake(T),
    /// Roll them back.
    Rollback(T),
}

impl<T> TxOutcome<T> {
    /// Commits, and wakes the notifier where notifications were enqueued.
    pub fn commit(answer: T, Enqueued(enqueued): Enqueued) -> Self {
        if enqueued { Self::CommitAndWake(answer) } else { Self::Commit(answer) }
    }
}

/// What the worker does with the transaction after a task ran.
#[derive(Debug)]
pub(super) enum RunOutcome {
    /// Commit, then answer.
    Commit(Enqueued),
    /// Roll back, then answer.
    Rollback,
    /// Roll back; nothing was decided.
    Failed(Fault),
}

/// A step, whatever it answers.
pub(super) trait Job: Send {
    /// Whether it may change something.
    fn kind(&self) -> Kind;

    /// Marks the task as running; `false` when its caller does not wait any more.
    fn start(&self) -> bool;

    /// Whether the caller still waits for the result.
    fn is_wanted(&self) -> bool;

    /// Runs it once; a panic becomes a fault.
    fn run(&mut self, connection: &mut AnyConnection) -> RunOutcome;

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

/// A caller that waits for the result of a task.
struct PendingCall<T> {
    kind: Kind,
    state: Mutex<Waiting<T>>,
}

impl<T> PendingCall<T> {
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

impl<T: Send> Expires for PendingCall<T> {
    fn is_over(&self) -> bool {
        self.state().reply.is_none()
    }

    fn expire(&self) {
        // Under one lock: a task whose caller got "no turn came" must not run afterwards.
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
pub trait Work: Send + 'static {
    /// What its caller learns.
    type Answer: Send + 'static;

    /// Does it once; may be run again from its start.
    ///
    /// # Errors
    /// [`Fault`]: nothing of it is kept.
    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Self::Answer>, Fault>;
}

/// Work that is a closure.
struct Closure<T, F>(F, PhantomData<fn() -> T>);

impl<T, F> Work for Closure<T, F>
where
    T: Send + 'static,
    F: Fn(&mut AnyConnection) -> Result<TxOutcome<T>, Fault> + Send + 'static,
{
    type Answer = T;

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<T>, Fault> {
        (self.0)(connection)
    }
}

/// Work for the database, and the caller that waits for its result.
pub(super) struct DbTask<W: Work> {
    call: Arc<PendingCall<W::Answer>>,
    pub(super) work: W,
    outcome: Option<W::Answer>,
    /// Whether an earlier run may have committed; the outcome is unknown.
    in_doubt: bool,
}

impl<W: Work> DbTask<W> {
    /// Marks that a run was cut off and that its commit may have happened.
    pub(super) fn doubt(&mut self) {
        self.in_doubt = true;
    }

    /// Answers without having been run.
    pub(super) fn answer_with(self, answer: W::Answer) {
        self.call.answer(Ok(answer));
    }
}

impl<W: Work> Job for DbTask<W> {
    fn kind(&self) -> Kind {
        self.call.kind
    }

    fn start(&self) -> bool {
        let mut state = self.call.state();
        let wanted = state.reply.as_ref().is_some_and(|reply| !reply.is_closed());
        if wanted {
            state.phase = Phase::Running;
        }
        wanted
    }

    fn is_wanted(&self) -> bool {
        self.call.state().reply.is_some()
    }

    fn run(&mut self, connection: &mut AnyConnection) -> RunOutcome {
        match catch_unwind(AssertUnwindSafe(|| self.work.run(connection))) {
            Ok(Ok(TxOutcome::Commit(outcome))) => {
                self.outcome = Some(outcome);
                RunOutcome::Commit(Enqueued(false))
            }
            Ok(Ok(TxOutcome::CommitAndWake(outcome))) => {
                self.outcome = Some(outcome);
                RunOutcome::Commit(Enqueued(true))
            }
            Ok(Ok(TxOutcome::Rollback(outcome))) => {
                self.outcome = Some(outcome);
                RunOutcome::Rollback
            }
            Ok(Err(fault)) => RunOutcome::Failed(fault),
            Err(_panic) => RunOutcome::Failed(Fault::Refused("a step panicked; nothing of it was kept".to_owned())),
        }
    }

    fn answer(self: Box<Self>) {
        let answer = self.outcome.ok_or_else(|| StoreError::Refused("a step was answered before it ran".to_owned()));
        self.call.answer(answer);
    }

    fn refuse(self: Box<Self>, error: StoreError) {
        // What went wrong this time says nothing about the time before.
        let in_doubt = self.in_doubt && self.call.kind == Kind::Write;
        self.call.answer(Err(if in_doubt { StoreError::OutcomeUnknown } else { error }));
    }
}

/// Queues `work` and waits for its result until the deadline of the timer.
///
/// # Errors
/// [`StoreError`], as docs/adr/0002 lists them.
pub(super) async fn run<T, F>(
    queue: &Queue<Box<dyn Job>>,
    deadline_timer: &DeadlineTimer,
    kind: Kind,
    work: F,
) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: Fn(&mut AnyConnection) -> Result<TxOutcome<T>, Fault> + Send + 'static,
{
    wait(deadline_timer, kind, Closure(work, PhantomData), |step| queue.push(Box::new(step))).await
}

/// Queues `work` in the batch queue of its kind and waits for its result until the deadline of the timer.
///
/// # Errors
/// [`StoreError`], as docs/adr/0002 lists them.
pub(super) async fn run_queued<W: Work>(
    queue: &Queue<DbTask<W>>,
    deadline_timer: &DeadlineTimer,
    kind: Kind,
    work: W,
) -> Result<W::Answer, StoreError> {
    wait(deadline_timer, kind, work, |step| queue.push(step)).await
}

async fn wait<W: Work>(
    deadline_timer: &DeadlineTimer,
    kind: Kind,
    work: W,
    push: impl FnOnce(DbTask<W>) -> Result<(), &'static str>,
) -> Result<W::Answer, StoreError> {
    let (reply, answer) = oneshot::channel();
    let call = Arc::new(PendingCall { kind, state: Mutex::new(Waiting { phase: Phase::Waiting, reply: Some(reply) }) });
    let watched: Arc<dyn Expires> = call.clone();
    push(DbTask { call, work, outcome: None, in_doubt: false })
        .map_err(|why| StoreError::Unavailable(why.to_owned()))?;
    deadline_timer.watch(&watched);
    drop(watched);
    match (answer.await, kind) {
        (Ok(answer), _) => answer,
        // The worker thread ended while it ran the task.
        (Err(_dropped), Kind::Write) => Err(StoreError::OutcomeUnknown),
        (Err(_dropped), Kind::Read) => Err(StoreError::Unavailable("the store was closed".to_owned())),
    }
}
