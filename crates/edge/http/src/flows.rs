use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};

/// Threads of the runtime: flows mostly wait for a processor or the database.
const THREADS: usize = 2;

/// Why a flow's result did not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// The process is stopping and takes no new work; nothing was begun.
    #[error("the process is stopping and takes no new work")]
    Stopping,
    /// The flow panicked: a defect of ours. What it had begun is settled later, from its durable intent.
    #[error("a flow panicked")]
    Panicked,
}

/// The one tracked runtime of the process on which money flows run to their end.
///
/// actix drops a handler's future when its client resets the connection. Whatever must not be cut off between a
/// processor's yes and our commit therefore runs here; the handler only waits for the result. Clones share the runtime.
#[derive(Clone)]
pub struct Flows(Arc<Shared>);

struct Shared {
    runtime: Mutex<Option<Runtime>>,
    state: watch::Sender<RunState>,
}

#[derive(Debug, Clone, Copy)]
struct RunState {
    is_accepting: bool,
    running: usize,
}

impl Flows {
    /// Starts the runtime.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("flow")
            .enable_all()
            .build()?;
        let (state, _) = watch::channel(RunState { is_accepting: true, running: 0 });
        Ok(Self(Arc::new(Shared { runtime: Mutex::new(Some(runtime)), state })))
    }

    /// Runs a flow and waits for its result. The flow goes on when the one who waits is dropped.
    ///
    /// # Errors
    /// [`FlowError`].
    pub async fn run<T: Send + 'static>(&self, flow: impl Future<Output = T> + Send + 'static) -> Result<T, FlowError> {
        let (done, result) = oneshot::channel();
        self.spawn(async move {
            // A failed send means that the caller is gone, which is what this runtime is for.
            let _ = done.send(flow.await);
        })?;
        result.await.map_err(|_dropped| FlowError::Panicked)
    }

    /// Starts a flow without waiting for its result.
    ///
    /// # Errors
    /// [`FlowError::Stopping`]: nothing was begun.
    pub fn spawn(&self, flow: impl Future<Output = ()> + Send + 'static) -> Result<(), FlowError> {
        let tracked = Tracked::enter(&self.0).ok_or(FlowError::Stopping)?;
        let runtime = self.0.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = runtime.as_ref().ok_or(FlowError::Stopping)?;
        runtime.spawn(async move {
            let _tracked = tracked;
            flow.await;
        });
        Ok(())
    }

    /// Takes no new flows and waits until those that run have ended, at most `limit`. Says how many were left behind;
    /// they are intents in the store and are settled after the next start.
    pub async fn drain(&self, limit: Duration) -> usize {
        self.0.state.send_modify(|state| state.is_accepting = false);
        let mut state = self.0.state.subscribe();
        // The sender lives in self, so the only error is the time limit.
        let _ = tokio::time::timeout(limit, state.wait_for(|state| state.running == 0)).await;
        state.borrow().running
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let runtime = self.runtime.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            // Dropping a runtime waits, which is forbidden inside another one.
            runtime.shutdown_background();
        }
    }
}

/// One running flow; counts itself out also when it panics.
struct Tracked(watch::Sender<RunState>);

impl Tracked {
    fn enter(shared: &Shared) -> Option<Self> {
        let entered = shared.state.send_if_modified(|state| {
            state.running += usize::from(state.is_accepting);
            state.is_accepting
        });
        entered.then(|| Self(shared.state.clone()))
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.running -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn a_flow_outlives_whoever_waits_for_it() {
        let flows = Flows::start().unwrap();
        let (go, gone) = oneshot::channel::<()>();
        let done = Arc::new(AtomicBool::new(false));
        let seen = done.clone();
        let (begun, has_begun) = oneshot::channel();
        let waiting = flows.run(async move {
            begun.send(()).unwrap();
            gone.await.unwrap();
            seen.store(true, Ordering::SeqCst);
        });
        let mut waiting = Box::pin(waiting);
        tokio::select! {
            _ = &mut waiting => panic!("the flow cannot end before it is told to"),
            begun = has_begun => begun.unwrap(),
        }
        drop(waiting);
        // Time enough for a runtime that noticed to cut the flow off.
        for _ in 0..1_000 {
            flows.run(tokio::task::yield_now()).await.unwrap();
        }
        go.send(()).expect("the flow still listens");
        assert_eq!(flows.drain(LONG).await, 0);
        assert!(done.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_drained_runtime_takes_nothing_new() {
        let flows = Flows::start().unwrap();
        assert_eq!(flows.run(async { 7 }).await, Ok(7));
        assert_eq!(flows.drain(LONG).await, 0);
        assert_eq!(flows.run(async { 7 }).await, Err(FlowError::Stopping));
    }

    #[tokio::test]
    async fn what_does_not_end_in_time_is_counted() {
        let flows = Flows::start().unwrap();
        flows.spawn(std::future::pending()).unwrap();
        assert_eq!(flows.drain(Duration::from_millis(1)).await, 1);
    }

    #[tokio::test]
    async fn a_panic_ends_only_its_own_flow() {
        let flows = Flows::start().unwrap();
        let failed = flows.run(async { panic!("on purpose") }).await;
        assert_eq!(failed.map(|_: ()| ()), Err(FlowError::Panicked));
        assert_eq!(flows.run(async { 7 }).await, Ok(7));
        assert_eq!(flows.drain(LONG).await, 0);
    }
}
