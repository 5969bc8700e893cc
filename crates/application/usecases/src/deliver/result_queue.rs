//! The results of attempts on their way to the store, in batches that grow with the load.

use std::time::Duration;

use dropin_ports::AttemptResult;
use tokio::time::Instant;

/// Results written in one store call.
const MAX_BATCH_RESULTS: usize = 200;
/// Store calls in flight that write results; more than one only while batches are full.
const MAX_WRITES_IN_FLIGHT: u32 = 4;
/// How long results are collected while batches are large; a small batch is written without delay.
const COLLECT_RESULTS_FOR: Duration = Duration::from_millis(4);
/// From this size on a batch is large.
const LARGE_BATCH_RESULTS: usize = 8;

/// Results that are to be written, and counts of those that a store call is writing.
pub(super) struct ResultQueue {
    /// Results that no store call has taken yet, and since when there is one.
    unwritten: Vec<AttemptResult>,
    unwritten_since: Instant,
    /// Store calls in flight, and the results in them.
    writes_in_flight: u32,
    in_write: u32,
    last_batch: usize,
}

impl ResultQueue {
    pub(super) fn new(now: Instant) -> Self {
        Self { unwritten: Vec::new(), unwritten_since: now, writes_in_flight: 0, in_write: 0, last_batch: 0 }
    }

    pub(super) fn push(&mut self, one: AttemptResult) {
        if self.unwritten.is_empty() {
            self.unwritten_since = Instant::now();
        }
        self.unwritten.push(one);
    }

    /// Whether every result has been given to a store call.
    pub(super) fn is_empty(&self) -> bool {
        self.unwritten.is_empty()
    }

    /// Results that are not known to be written.
    pub(super) fn len(&self) -> u32 {
        self.unwritten.len() as u32 + self.in_write
    }

    /// The next batch to write. While one is in flight the next one is collected, so that under load batches grow and each result costs less;
    /// `is_last` says that no attempt is in flight whose result is worth waiting for.
    pub(super) fn next_batch(&mut self, now: Instant, is_last: bool) -> Option<Vec<AttemptResult>> {
        let is_full = MAX_BATCH_RESULTS <= self.unwritten.len();
        let is_collected = is_last || self.unwritten_since + self.collect_for() <= now;
        let may_start = match self.writes_in_flight {
            0 => is_full || is_collected,
            writes => is_full && writes < MAX_WRITES_IN_FLIGHT,
        };
        if self.unwritten.is_empty() || !may_start {
            return None;
        }
        let rest = if is_full { self.unwritten.split_off(MAX_BATCH_RESULTS) } else { Vec::new() };
        let batch = std::mem::replace(&mut self.unwritten, rest);
        (self.last_batch, self.unwritten_since) = (batch.len(), now);
        Some(batch)
    }

    /// When the next batch is due if no write ends before.
    pub(super) fn due_at(&self) -> Option<Instant> {
        (!self.unwritten.is_empty() && self.writes_in_flight == 0).then(|| self.unwritten_since + self.collect_for())
    }

    /// A store call with `batch` begins.
    pub(super) fn begin_write(&mut self, batch: &[AttemptResult]) {
        self.writes_in_flight += 1;
        self.in_write += batch.len() as u32;
    }

    /// The store call with `batch` has ended.
    pub(super) fn end_write(&mut self, batch: &[AttemptResult]) {
        self.writes_in_flight -= 1;
        self.in_write -= batch.len() as u32;
    }

    /// Puts a batch that could not be written before the others.
    pub(super) fn put_back(&mut self, batch: Vec<AttemptResult>) {
        self.unwritten.splice(0..0, batch);
    }

    fn collect_for(&self) -> Duration {
        if LARGE_BATCH_RESULTS <= self.last_batch { COLLECT_RESULTS_FOR } else { Duration::ZERO }
    }
}
