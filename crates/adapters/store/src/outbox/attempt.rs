use dropin_kernel::Timestamp;
use dropin_store_runtime::sql::Instant;

/// One try, as results name it: stream, sequence and attempt.
pub(super) type AttemptKey = (i64, i64, i32);

/// The result of one attempt, to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptUpdate {
    pub(super) key: AttemptKey,
    pub(super) change: StreamChange,
}

/// What a result does to its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamChange {
    /// It goes on to that sequence.
    GoOn { next: i64 },
    /// It goes on to the next, and this one is put aside.
    Parked,
    /// The same again then.
    Retry { at: Timestamp },
    /// The same again then, and this try does not count.
    Held { at: Timestamp },
}

impl AttemptUpdate {
    /// Where it goes on.
    pub(super) fn next(&self) -> Option<i64> {
        match self.change {
            StreamChange::GoOn { next } => Some(next),
            StreamChange::Parked => Some(self.key.1 + 1),
            StreamChange::Retry { .. } | StreamChange::Held { .. } => None,
        }
    }

    /// When the same is due again.
    pub(super) fn again_at(&self) -> Option<Instant> {
        match self.change {
            StreamChange::Retry { at } | StreamChange::Held { at } => Some(Instant(at)),
            StreamChange::GoOn { .. } | StreamChange::Parked => None,
        }
    }
}
