//! The state of each connection and the deadlines that close it.
//!
//! actix gives a deadline to the first head of a connection and none to later ones, drains an unread chunked body for as long as its
//! sender likes, and waits for ever for a client to read. So every worker checks its own connections a few times a second and closes
//! those that are overdue. A request that runs is never cut: streaming answers and long polls may take their time.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::AbortHandle;

use crate::client::Client;
use crate::limits::{Limits, MAX_DRAIN_BYTES};
use crate::metrics::{Counters, Metrics};

/// Whom a request of a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    Free,
    /// The handler works, or its answer has nothing to send yet.
    Processing,
    /// A chunk of the answer waits for the client since then.
    AwaitingClient(Instant),
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Connection {
    requests: RefCell<Vec<RequestState>>,
    running: Cell<usize>,
    idle_since: Cell<Instant>,
    /// Since when written bytes wait for the client to read them.
    blocked_since: Cell<Option<Instant>>,
    /// Bytes received since the last answer ended.
    unsolicited_bytes: Cell<usize>,
}

/// Why a connection is closed on its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CloseReason {
    Idle,
    Unread,
    Stop,
}

impl Connection {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self {
            requests: RefCell::default(),
            running: Cell::new(0),
            idle_since: Cell::new(Instant::now()),
            blocked_since: Cell::new(None),
            unsolicited_bytes: Cell::new(0),
        })
    }

    /// A request begins; it ends, with its answer, when what comes back is dropped.
    pub(crate) fn begin(self: &Rc<Self>) -> RequestGuard {
        let mut requests = self.requests.borrow_mut();
        let free = requests.iter().position(|slot| *slot == RequestState::Free).unwrap_or_else(|| {
            requests.push(RequestState::Free);
            requests.len() - 1
        });
        requests[free] = RequestState::Processing;
        self.running.set(self.running.get() + 1);
        self.unsolicited_bytes.set(0);
        RequestGuard { connection: self.clone(), slot: free }
    }

    /// How many requests run.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// Counts received bytes; `true` when the client has sent more than [`MAX_DRAIN_BYTES`] while no request runs.
    pub(crate) fn record_received(&self, bytes: usize) -> bool {
        if 0 < self.running.get() {
            return false;
        }
        self.unsolicited_bytes.set(self.unsolicited_bytes.get().saturating_add(bytes));
        MAX_DRAIN_BYTES < self.unsolicited_bytes.get()
    }

    /// Notes that the client did not read all that was ready for it.
    pub(crate) fn write_blocked(&self) {
        if self.blocked_since.get().is_none() {
            self.blocked_since.set(Some(Instant::now()));
        }
    }

    /// Notes that the client has read all that was ready for it.
    pub(crate) fn write_finished(&self) {
        self.blocked_since.set(None);
    }

    fn close_reason(&self, limits: &Limits, now: Instant, stopping: bool) -> Option<CloseReason> {
        let over = |since: Instant, limit| limit < now.saturating_duration_since(since);
        let waiting = |slot: &RequestState| matches!(slot, RequestState::AwaitingClient(since) if over(*since, limits.write_deadline));
        let blocked = self.blocked_since.get();
        if blocked.is_some_and(|since| over(since, limits.write_deadline)) || self.requests.borrow().iter().any(waiting)
        {
            return Some(CloseReason::Unread);
        }
        if 0 < self.running.get() {
            return None;
        }
        if over(self.idle_since.get(), limits.idle_deadline()) {
            return Some(CloseReason::Idle);
        }
        (stopping && blocked.is_none()).then_some(CloseReason::Stop)
    }
}

/// A request that runs, until its answer has ended.
#[derive(Debug)]
pub(crate) struct RequestGuard {
    connection: Rc<Connection>,
    slot: usize,
}

impl RequestGuard {
    /// Notes that a chunk of the answer waits for the client.
    pub(crate) fn chunk_sent(&self) {
        self.set(RequestState::AwaitingClient(Instant::now()));
    }

    /// Notes that the client can take more.
    pub(crate) fn chunk_requested(&self) {
        self.set(RequestState::Processing);
    }

    fn set(&self, slot: RequestState) {
        self.connection.requests.borrow_mut()[self.slot] = slot;
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.set(RequestState::Free);
        let running = self.connection.running.get() - 1;
        self.connection.running.set(running);
        if running == 0 {
            self.connection.idle_since.set(Instant::now());
        }
    }
}

/// All connections of one worker.
#[derive(Debug)]
pub(crate) struct Connections {
    open: RefCell<HashMap<u64, (Rc<Connection>, AbortHandle)>>,
    next: Cell<u64>,
    metrics: Arc<Metrics>,
}

impl Connections {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Rc<Self> {
        Rc::new(Self { open: RefCell::default(), next: Cell::new(0), metrics })
    }

    /// Tracks a connection until the returned guard is dropped; `close` closes it.
    pub(crate) fn track(self: &Rc<Self>, connection: Rc<Connection>, close: AbortHandle) -> TrackedConnection {
        let id = self.next.replace(self.next.get() + 1);
        self.open.borrow_mut().insert(id, (connection, close));
        self.metrics.counters.open.fetch_add(1, Ordering::Relaxed);
        TrackedConnection { all: self.clone(), id }
    }

    /// Closes overdue connections, and while the server stops also those without a running request.
    pub(crate) fn close_overdue(&self, limits: &Limits, stopping: bool) {
        let now = Instant::now();
        for (connection, close) in self.open.borrow().values().filter(|(_, close)| !close.is_aborted()) {
            match connection.close_reason(limits, now, stopping) {
                None => continue,
                Some(CloseReason::Idle) => Counters::increment(&self.metrics.counters.cut_idle),
                Some(CloseReason::Unread) => Counters::increment(&self.metrics.counters.cut_unread),
                Some(CloseReason::Stop) => {}
            }
            close.abort();
        }
    }
}

/// How long a worker waits between two checks: an eighth of the shortest limit, at most a second.
pub(crate) fn check_interval(limits: &Limits) -> Duration {
    (limits.idle_deadline().min(limits.write_deadline) / 8).clamp(Duration::from_millis(10), Duration::from_secs(1))
}

/// A tracked connection; dropping it ends the tracking.
#[derive(Debug)]
pub(crate) struct TrackedConnection {
    all: Rc<Connections>,
    id: u64,
}

impl Drop for TrackedConnection {
    fn drop(&mut self) {
        self.all.open.borrow_mut().remove(&self.id);
        self.all.metrics.counters.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many connections each client has, over all workers.
#[derive(Debug)]
pub(crate) struct ConnectionLimiter {
    limit: usize,
    counts: Mutex<HashMap<Client, usize>>,
}

impl ConnectionLimiter {
    /// At most `limit` for each client; 0 for any number.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, counts: Mutex::default() })
    }

    /// Counts a connection until the returned permit is dropped; `None` when its client is at the limit.
    pub(crate) fn acquire(self: &Arc<Self>, client: Client) -> Option<ConnectionPermit> {
        if self.limit == 0 {
            return Some(ConnectionPermit(None));
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(client).or_default();
        if self.limit <= *count {
            return None;
        }
        *count += 1;
        Some(ConnectionPermit(Some((self.clone(), client))))
    }
}

/// A counted connection of a client.
#[derive(Debug)]
pub(crate) struct ConnectionPermit(Option<(Arc<ConnectionLimiter>, Client)>);

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some((limiter, client)) = &self.0 else { return };
        let mut counts = limiter.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: fn() -> Limits = Limits::default;

    #[test]
    fn a_running_request_is_never_cut_and_an_idle_connection_is() {
        let connection = Connection::new();
        let later = Instant::now() + Duration::from_secs(3_600);
        let soon = Instant::now() + Duration::from_secs(1);
        assert_eq!(connection.close_reason(&LIMITS(), soon, false), None);
        assert_eq!(connection.close_reason(&LIMITS(), soon, true), Some(CloseReason::Stop));
        assert_eq!(connection.close_reason(&LIMITS(), later, false), Some(CloseReason::Idle));
        let running = connection.begin();
        assert_eq!(connection.close_reason(&LIMITS(), later, true), None);
        drop(running);
        assert_eq!(connection.close_reason(&LIMITS(), later, true), Some(CloseReason::Idle));
    }

    #[test]
    fn an_answer_that_waits_for_its_client_is_cut_beside_others_that_do_not() {
        let connection = Connection::new();
        let later = Instant::now() + Duration::from_secs(31);
        let (slow, quick) = (connection.begin(), connection.begin());
        slow.chunk_sent();
        quick.chunk_sent();
        quick.chunk_requested();
        assert_eq!(connection.close_reason(&LIMITS(), later, false), Some(CloseReason::Unread));
        drop(slow);
        assert_eq!((connection.close_reason(&LIMITS(), later, false), connection.running()), (None, 1));
        connection.write_blocked();
        assert_eq!(connection.close_reason(&LIMITS(), later, false), Some(CloseReason::Unread));
        connection.write_finished();
        assert_eq!(connection.close_reason(&LIMITS(), later, false), None);
    }

    #[test]
    fn what_comes_between_requests_is_bounded() {
        let connection = Connection::new();
        assert!(!connection.record_received(MAX_DRAIN_BYTES));
        let running = connection.begin();
        assert!(!connection.record_received(100 * MAX_DRAIN_BYTES), "a running request may read what it likes");
        drop(running);
        assert!(!connection.record_received(MAX_DRAIN_BYTES) && connection.record_received(1));
    }

    #[test]
    fn each_client_has_its_share() {
        let limiter = ConnectionLimiter::new(2);
        let (one, other) = (Client::V6(1), Client::V6(2));
        let (first, second) = (limiter.acquire(one), limiter.acquire(one));
        assert!(first.is_some() && second.is_some() && limiter.acquire(one).is_none());
        assert!(limiter.acquire(other).is_some());
        drop(first);
        assert!(limiter.acquire(one).is_some());
        drop(second);
        assert!(limiter.counts.lock().unwrap().is_empty(), "nothing is kept of clients that left");
    }
}
