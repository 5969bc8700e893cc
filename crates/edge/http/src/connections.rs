//! Who holds which connection, and for how long it may.
//!
//! actix gives a deadline to the first head of a connection and none to later ones, drains a chunked body that nobody read for as long as its
//! sender likes, and waits for ever for a client to read. So every worker looks through its own connections a few times a second and closes
//! those that are held without a right to it. A request that runs is never cut: streaming answers and long polls may take their time.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::AbortHandle;

use crate::client::Client;
use crate::limits::{Limits, READ_ON};
use crate::metrics::{Events, Metrics};

/// How one request of a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Free,
    /// Its handler works, or its answer waits for more to send.
    Ours,
    /// A piece of its answer waits for the client since then.
    Theirs(Instant),
}

/// One connection, as its worker sees it.
#[derive(Debug)]
pub(crate) struct Connection {
    requests: RefCell<Vec<Slot>>,
    running: Cell<usize>,
    idle_since: Cell<Instant>,
    /// Since when bytes wait that the client does not take.
    blocked_since: Cell<Option<Instant>>,
    /// Bytes that came since the last answer ended.
    stray: Cell<usize>,
}

/// Why a connection is closed on its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
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
            stray: Cell::new(0),
        })
    }

    /// A request begins; it ends, with its answer, when what comes back is dropped.
    pub(crate) fn begin(self: &Rc<Self>) -> Running {
        let mut requests = self.requests.borrow_mut();
        let free = requests.iter().position(|slot| *slot == Slot::Free).unwrap_or_else(|| {
            requests.push(Slot::Free);
            requests.len() - 1
        });
        requests[free] = Slot::Ours;
        self.running.set(self.running.get() + 1);
        self.stray.set(0);
        Running { connection: self.clone(), slot: free }
    }

    /// How many requests run.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// So many bytes came; whether that is more than anybody has to send while no request of theirs runs.
    pub(crate) fn came(&self, bytes: usize) -> bool {
        if 0 < self.running.get() {
            return false;
        }
        self.stray.set(self.stray.get().saturating_add(bytes));
        READ_ON < self.stray.get()
    }

    /// The client did not take all that was ready for it.
    pub(crate) fn blocked(&self) {
        if self.blocked_since.get().is_none() {
            self.blocked_since.set(Some(Instant::now()));
        }
    }

    /// The client has taken all that was ready for it.
    pub(crate) fn taken(&self) {
        self.blocked_since.set(None);
    }

    fn verdict(&self, limits: &Limits, now: Instant, stopping: bool) -> Option<Cut> {
        let over = |since: Instant, limit| limit < now.saturating_duration_since(since);
        let waiting = |slot: &Slot| matches!(slot, Slot::Theirs(since) if over(*since, limits.write_deadline));
        let blocked = self.blocked_since.get();
        if blocked.is_some_and(|since| over(since, limits.write_deadline)) || self.requests.borrow().iter().any(waiting)
        {
            return Some(Cut::Unread);
        }
        if 0 < self.running.get() {
            return None;
        }
        if over(self.idle_since.get(), limits.idle_deadline()) {
            return Some(Cut::Idle);
        }
        (stopping && blocked.is_none()).then_some(Cut::Stop)
    }
}

/// A request that runs, until its answer has ended.
#[derive(Debug)]
pub(crate) struct Running {
    connection: Rc<Connection>,
    slot: usize,
}

impl Running {
    /// A piece of the answer waits for the client.
    pub(crate) fn handed(&self) {
        self.set(Slot::Theirs(Instant::now()));
    }

    /// The client can take more.
    pub(crate) fn asked(&self) {
        self.set(Slot::Ours);
    }

    fn set(&self, slot: Slot) {
        self.connection.requests.borrow_mut()[self.slot] = slot;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.set(Slot::Free);
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

    /// Watches over a connection until what comes back is dropped; `close` closes it.
    pub(crate) fn watch(self: &Rc<Self>, connection: Rc<Connection>, close: AbortHandle) -> Watched {
        let id = self.next.replace(self.next.get() + 1);
        self.open.borrow_mut().insert(id, (connection, close));
        self.metrics.events.open.fetch_add(1, Ordering::Relaxed);
        Watched { all: self.clone(), id }
    }

    /// Closes what is held without a right to it, and when the server stops all that is not needed to end a request.
    pub(crate) fn look_through(&self, limits: &Limits, stopping: bool) {
        let now = Instant::now();
        for (connection, close) in self.open.borrow().values().filter(|(_, close)| !close.is_aborted()) {
            match connection.verdict(limits, now, stopping) {
                None => continue,
                Some(Cut::Idle) => Events::count(&self.metrics.events.cut_idle),
                Some(Cut::Unread) => Events::count(&self.metrics.events.cut_unread),
                Some(Cut::Stop) => {}
            }
            close.abort();
        }
    }
}

/// How long a worker waits between two looks: precise enough for the shortest limit, at most a second.
pub(crate) fn pause(limits: &Limits) -> Duration {
    (limits.idle_deadline().min(limits.write_deadline) / 8).clamp(Duration::from_millis(10), Duration::from_secs(1))
}

/// A connection that is watched over.
#[derive(Debug)]
pub(crate) struct Watched {
    all: Rc<Connections>,
    id: u64,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.all.open.borrow_mut().remove(&self.id);
        self.all.metrics.events.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many connections each client has, over all workers.
#[derive(Debug)]
pub(crate) struct Crowd {
    limit: usize,
    here: Mutex<HashMap<Client, usize>>,
}

impl Crowd {
    /// At most `limit` for each client; 0 for any number.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, here: Mutex::default() })
    }

    /// Lets a connection in, until what comes back is dropped; `None` when its client has enough.
    pub(crate) fn enter(self: &Arc<Self>, client: Client) -> Option<Entered> {
        if self.limit == 0 {
            return Some(Entered(None));
        }
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let count = here.entry(client).or_default();
        if self.limit <= *count {
            return None;
        }
        *count += 1;
        Some(Entered(Some((self.clone(), client))))
    }
}

/// A connection that was let in.
#[derive(Debug)]
pub(crate) struct Entered(Option<(Arc<Crowd>, Client)>);

impl Drop for Entered {
    fn drop(&mut self) {
        let Some((crowd, client)) = &self.0 else { return };
        let mut here = crowd.here.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = here.get_mut(client) {
            *count -= 1;
            if *count == 0 {
                here.remove(client);
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
        assert_eq!(connection.verdict(&LIMITS(), soon, false), None);
        assert_eq!(connection.verdict(&LIMITS(), soon, true), Some(Cut::Stop));
        assert_eq!(connection.verdict(&LIMITS(), later, false), Some(Cut::Idle));
        let running = connection.begin();
        assert_eq!(connection.verdict(&LIMITS(), later, true), None);
        drop(running);
        assert_eq!(connection.verdict(&LIMITS(), later, true), Some(Cut::Idle));
    }

    #[test]
    fn an_answer_that_waits_for_its_client_is_cut_beside_others_that_do_not() {
        let connection = Connection::new();
        let later = Instant::now() + Duration::from_secs(31);
        let (slow, quick) = (connection.begin(), connection.begin());
        slow.handed();
        quick.handed();
        quick.asked();
        assert_eq!(connection.verdict(&LIMITS(), later, false), Some(Cut::Unread));
        drop(slow);
        assert_eq!((connection.verdict(&LIMITS(), later, false), connection.running()), (None, 1));
        connection.blocked();
        assert_eq!(connection.verdict(&LIMITS(), later, false), Some(Cut::Unread));
        connection.taken();
        assert_eq!(connection.verdict(&LIMITS(), later, false), None);
    }

    #[test]
    fn what_comes_between_requests_is_bounded() {
        let connection = Connection::new();
        assert!(!connection.came(READ_ON));
        let running = connection.begin();
        assert!(!connection.came(100 * READ_ON), "a running request may read what it likes");
        drop(running);
        assert!(!connection.came(READ_ON) && connection.came(1));
    }

    #[test]
    fn each_client_has_its_share() {
        let crowd = Crowd::new(2);
        let (one, other) = (Client::V6(1), Client::V6(2));
        let (first, second) = (crowd.enter(one), crowd.enter(one));
        assert!(first.is_some() && second.is_some() && crowd.enter(one).is_none());
        assert!(crowd.enter(other).is_some());
        drop(first);
        assert!(crowd.enter(one).is_some());
        drop(second);
        assert!(crowd.here.lock().unwrap().is_empty(), "nothing is kept of clients that left");
    }
}
