//! The delivery log of a scenario: when each notification was committed, when it came, and what it was answered.
//!
//! A notification has a number: payment by payment, and within a payment by `webhook-sequence`. Its id contains the number, so that recording
//! one costs no look-up. A number that is not of this scenario is counted as strange.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::bench::receiver::Answer;

/// Notifications of one payment.
pub(crate) const PER_PAYMENT: u32 = 3;

/// A notification that came, as its headers tell it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NotificationKey {
    pub(crate) payment: u32,
    pub(crate) sequence: u32,
}

impl NotificationKey {
    /// Reads `webhook-id`, as `event_id` writes it.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let last = id.strip_prefix(EVENT_PREFIX).filter(|last| last.len() == 12)?;
        let number = |part: Option<&str>| u32::from_str_radix(part?, 16).ok();
        Some(Self { payment: number(last.get(..8))?, sequence: number(last.get(8..))? })
    }

    /// The number of the notification; `None` when it cannot be one.
    fn number(self) -> Option<usize> {
        (1..=PER_PAYMENT).contains(&self.sequence).then_some(())?;
        usize::try_from(self.payment).ok()?.checked_mul(PER_PAYMENT as usize)?.checked_add(self.sequence as usize - 1)
    }
}

/// The ids of notifications begin with it; eight digits of the payment and four of the sequence follow.
pub(crate) const EVENT_PREFIX: &str = "0b0b0b0b-0000-7000-8000-";
/// The ids of payments begin with it; twelve digits of the payment follow.
pub(crate) const PAYMENT_PREFIX: &str = "0b0b0b0b-0000-7000-9000-";

/// One try that came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Receipt {
    /// Microseconds since the scenario began.
    pub(crate) at: u64,
    pub(crate) payment: u32,
    pub(crate) sequence: u32,
}

/// What is known of one notification.
#[derive(Debug, Default)]
struct Entry {
    /// Microseconds since the scenario began; 0 is not yet.
    committed: AtomicU64,
    came: AtomicU64,
    tries: AtomicU8,
    acknowledged: AtomicBool,
}

/// The notifications of a scenario.
#[derive(Debug)]
pub(crate) struct DeliveryLog {
    began: Instant,
    warm_up: Duration,
    entries: Vec<Entry>,
    receipts: Mutex<Vec<Receipt>>,
    /// Notifications that were acknowledged at least once.
    done: AtomicU64,
    duplicates: AtomicU64,
    inversions: AtomicU64,
    strange: AtomicU64,
}

impl DeliveryLog {
    /// Delays count for what is committed when `warm_up` has passed since the first commit.
    pub(crate) fn new(payments: u32, warm_up: Duration) -> Self {
        let entries = (0..payments as usize * PER_PAYMENT as usize).map(|_| Entry::default()).collect();
        Self {
            began: Instant::now(),
            warm_up,
            entries,
            receipts: Mutex::default(),
            done: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
            inversions: AtomicU64::new(0),
            strange: AtomicU64::new(0),
        }
    }

    /// Microseconds since the scenario began, never 0.
    pub(crate) fn now(&self) -> u64 {
        self.micros(Instant::now())
    }

    /// The same of a moment.
    pub(crate) fn micros(&self, at: Instant) -> u64 {
        (at.saturating_duration_since(self.began).as_micros() as u64).max(1)
    }

    /// Records that it is committed.
    pub(crate) fn record_committed(&self, key: NotificationKey) {
        let now = self.now();
        if let Some(entry) = self.entry(key) {
            entry.committed.store(now, Ordering::Relaxed);
        }
    }

    /// Records that the first payments are committed.
    pub(crate) fn record_backlog(&self, payments: u32) {
        let now = self.now();
        for entry in &self.entries[..payments as usize * PER_PAYMENT as usize] {
            entry.committed.store(now, Ordering::Relaxed);
        }
    }

    /// Records what came, and decides what to answer: `answer` gets the number of this try, from 1.
    pub(crate) fn record(&self, key: Option<NotificationKey>, answer: impl FnOnce(u32) -> Answer) -> Answer {
        let at = self.now();
        let Some((key, entry)) = key.and_then(|key| Some((key, self.entry(key)?))) else {
            self.strange.fetch_add(1, Ordering::Relaxed);
            return Answer::Acknowledge;
        };
        let tries = u32::from(entry.tries.fetch_add(1, Ordering::AcqRel)) + 1;
        if tries == 1 {
            entry.came.store(at, Ordering::Relaxed);
            let before = NotificationKey { sequence: key.sequence - 1, ..key };
            let is_in_order = self.entry(before).is_none_or(|before| before.acknowledged.load(Ordering::Acquire));
            self.inversions.fetch_add(u64::from(!is_in_order), Ordering::Relaxed);
        }
        let NotificationKey { payment, sequence } = key;
        self.receipts.lock().expect("nothing under this lock panics").push(Receipt { at, payment, sequence });
        let answer = answer(tries);
        if answer == Answer::Acknowledge {
            let again = entry.acknowledged.swap(true, Ordering::AcqRel);
            self.done.fetch_add(u64::from(!again), Ordering::Relaxed);
            self.duplicates.fetch_add(u64::from(again), Ordering::Relaxed);
        }
        answer
    }

    fn entry(&self, key: NotificationKey) -> Option<&Entry> {
        self.entries.get(key.number()?)
    }

    /// Notifications that were acknowledged.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Acknowledged ones that came again.
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates.load(Ordering::Relaxed)
    }

    /// First tries that came before the one before them in their payment was acknowledged.
    pub(crate) fn inversions(&self) -> u64 {
        self.inversions.load(Ordering::Relaxed)
    }

    /// What came and is none of ours.
    pub(crate) fn strange(&self) -> u64 {
        self.strange.load(Ordering::Relaxed)
    }

    /// Notifications that were committed and never acknowledged, of the payments that `counts` names.
    pub(crate) fn lost(&self, counts: impl Fn(u32) -> bool) -> u64 {
        let waits =
            |entry: &&Entry| entry.committed.load(Ordering::Relaxed) > 0 && !entry.acknowledged.load(Ordering::Relaxed);
        self.entries_of(counts).filter(waits).count() as u64
    }

    fn entries_of(&self, counts: impl Fn(u32) -> bool) -> impl Iterator<Item = &Entry> {
        (0..)
            .zip(self.entries.chunks(PER_PAYMENT as usize))
            .filter(move |(payment, _)| counts(*payment))
            .flat_map(|(_, of)| of)
    }

    /// Microseconds from commit to the first try, sorted; of the payments that `counts` names, and after the warm-up.
    pub(crate) fn delays(&self, counts: impl Fn(u32) -> bool) -> Vec<u64> {
        let committed = self.entries.iter().map(|entry| entry.committed.load(Ordering::Relaxed)).filter(|at| *at > 0);
        let from = committed.min().unwrap_or_default() + self.warm_up.as_micros() as u64;
        let delay = |entry: &Entry| {
            let (committed, came) = (entry.committed.load(Ordering::Relaxed), entry.came.load(Ordering::Relaxed));
            (committed >= from.max(1) && came > 0).then(|| came.saturating_sub(committed))
        };
        let mut delays: Vec<u64> = self.entries_of(counts).filter_map(delay).collect();
        delays.sort_unstable();
        delays
    }

    /// Whether all tries of a payment were acknowledged at once.
    pub(crate) fn is_smooth(&self, payment: u32) -> bool {
        let of_payment = self.entries.chunks(PER_PAYMENT as usize).nth(payment as usize);
        of_payment.into_iter().flatten().all(|entry| entry.tries.load(Ordering::Relaxed) <= 1)
    }

    /// Every try that came, by time.
    pub(crate) fn receipts(&self) -> Vec<Receipt> {
        let mut receipts = self.receipts.lock().expect("nothing under this lock panics").clone();
        receipts.sort_unstable_by_key(|receipt| receipt.at);
        receipts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(payment: u32, sequence: u32) -> Option<NotificationKey> {
        Some(NotificationKey { payment, sequence })
    }

    fn acknowledge(_tries: u32) -> Answer {
        Answer::Acknowledge
    }

    #[test]
    fn an_id_tells_payment_and_sequence() {
        let id = format!("{EVENT_PREFIX}0000001f0002");
        assert_eq!(NotificationKey::parse(&id), key(31, 2));
        for strange in ["", "0b0b0b0b-0000-7000-8000-", "0b0b0b0b-0000-7000-8000-00000001000z", "x"] {
            assert_eq!(NotificationKey::parse(strange), None, "{strange}");
        }
    }

    #[test]
    fn what_is_wrong_is_counted() {
        let delivery_log = DeliveryLog::new(2, Duration::ZERO);
        for sequence in 1..=3 {
            delivery_log.record_committed(NotificationKey { payment: 0, sequence });
        }
        assert_eq!(delivery_log.lost(|_| true), 3);
        assert_eq!(delivery_log.record(key(0, 1), acknowledge), Answer::Acknowledge);
        assert_eq!((delivery_log.lost(|_| true), delivery_log.lost(|payment| payment == 1)), (2, 0));
        delivery_log.record(key(0, 1), acknowledge);
        assert_eq!((delivery_log.duplicates(), delivery_log.inversions(), delivery_log.done()), (1, 0, 1));
        // The second was not acknowledged when the third came.
        assert_eq!(delivery_log.record(key(0, 2), |_| Answer::Refuse), Answer::Refuse);
        delivery_log.record(key(0, 3), acknowledge);
        assert_eq!((delivery_log.duplicates(), delivery_log.inversions(), delivery_log.is_smooth(0)), (1, 1, false));
        delivery_log.record(key(0, 2), |tries| if tries == 2 { Answer::Acknowledge } else { Answer::Never });
        assert_eq!((delivery_log.done(), delivery_log.duplicates(), delivery_log.lost(|_| true)), (3, 1, 0));
        delivery_log.record(key(2, 1), acknowledge);
        delivery_log.record(None, acknowledge);
        assert_eq!(
            (delivery_log.strange(), delivery_log.receipts().len(), delivery_log.delays(|_| true).len()),
            (2, 5, 3)
        );
    }
}
