//! The delivery log of a scenario: when each notification was committed, when it came, and what it was answered.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::bench::receiver::Answer;

/// Notifications of one payment.
pub(crate) const PER_PAYMENT: u32 = 3;

/// A notification: the number of its payment, and its `webhook-sequence`. Its id contains both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    pub(crate) key: NotificationKey,
}

/// What is known of one notification; times in microseconds since the scenario began.
#[derive(Debug, Default)]
struct Entry {
    committed: Option<u64>,
    came: Option<u64>,
    tries: u32,
    is_acknowledged: bool,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// Notifications that were acknowledged at least once.
    pub(crate) done: u64,
    /// Acknowledged ones that came again.
    pub(crate) duplicates: u64,
    /// First tries that came before the one before them in their payment was acknowledged.
    pub(crate) inversions: u64,
    /// What came and is none of the scenario's.
    pub(crate) strange: u64,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<NotificationKey, Entry>,
    receipts: Vec<Receipt>,
    counts: Counts,
}

/// The notifications of a scenario.
#[derive(Debug)]
pub(crate) struct DeliveryLog {
    began: Instant,
    warm_up: Duration,
    payments: u32,
    state: Mutex<State>,
}

impl DeliveryLog {
    /// Delays count for what is committed when `warm_up` has passed since the first commit.
    pub(crate) fn new(payments: u32, warm_up: Duration) -> Self {
        // Nothing grows while it is measured.
        let count = payments as usize * PER_PAYMENT as usize;
        let (entries, receipts) = (HashMap::with_capacity(count), Vec::with_capacity(2 * count));
        let state = State { entries, receipts, ..State::default() };
        Self { began: Instant::now(), warm_up, payments, state: Mutex::new(state) }
    }

    /// Microseconds since the scenario began.
    pub(crate) fn now(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    /// Records that it is committed.
    pub(crate) fn record_committed(&self, key: NotificationKey) {
        let now = self.now();
        self.state().entries.entry(key).or_default().committed = Some(now);
    }

    /// Records that the first payments are committed.
    pub(crate) fn record_backlog(&self, payments: u32) {
        let keys = (0..payments).flat_map(|payment| (1..=PER_PAYMENT).map(move |sequence| (payment, sequence)));
        keys.for_each(|(payment, sequence)| self.record_committed(NotificationKey { payment, sequence }));
    }

    /// Records what came, and decides what to answer: `answer` gets the number of this try, from 1.
    pub(crate) fn record(&self, key: Option<NotificationKey>, answer: impl FnOnce(u32) -> Answer) -> Answer {
        let mut state = self.state();
        let at = self.now();
        let State { entries, receipts, counts } = &mut *state;
        let is_ours = |key: &NotificationKey| key.payment < self.payments && (1..=PER_PAYMENT).contains(&key.sequence);
        let Some(key) = key.filter(is_ours) else {
            counts.strange += 1;
            return Answer::Acknowledge;
        };
        let before = NotificationKey { sequence: key.sequence - 1, ..key };
        let is_in_order = before.sequence == 0 || entries.get(&before).is_some_and(|before| before.is_acknowledged);
        let entry = entries.entry(key).or_default();
        entry.tries += 1;
        if entry.came.is_none() {
            entry.came = Some(at);
            counts.inversions += u64::from(!is_in_order);
        }
        receipts.push(Receipt { at, key });
        let answer = answer(entry.tries);
        if answer == Answer::Acknowledge {
            counts.done += u64::from(!entry.is_acknowledged);
            counts.duplicates += u64::from(entry.is_acknowledged);
            entry.is_acknowledged = true;
        }
        answer
    }

    pub(crate) fn counts(&self) -> Counts {
        self.state().counts
    }

    /// Notifications that were committed and never acknowledged, of the payments that `counts` names.
    pub(crate) fn lost(&self, counts: impl Fn(u32) -> bool) -> u64 {
        let waits = |(key, entry): &(&NotificationKey, &Entry)| {
            entry.committed.is_some() && !entry.is_acknowledged && counts(key.payment)
        };
        self.state().entries.iter().filter(waits).count() as u64
    }

    /// Microseconds from commit to the first try, sorted; of the payments that `counts` names, and after the warm-up.
    pub(crate) fn delays(&self, counts: impl Fn(u32) -> bool) -> Vec<u64> {
        let state = self.state();
        let first = state.entries.values().filter_map(|entry| entry.committed).min().unwrap_or_default();
        let from = first + self.warm_up.as_micros() as u64;
        let delay = |(key, entry): (&NotificationKey, &Entry)| {
            let committed = entry.committed.filter(|committed| from <= *committed && counts(key.payment))?;
            Some(entry.came?.saturating_sub(committed))
        };
        let mut delays: Vec<u64> = state.entries.iter().filter_map(delay).collect();
        delays.sort_unstable();
        delays
    }

    /// The payments of which a try was not acknowledged at once.
    pub(crate) fn tried_again(&self) -> HashSet<u32> {
        let state = self.state();
        state.entries.iter().filter(|(_, entry)| 1 < entry.tries).map(|(key, _)| key.payment).collect()
    }

    /// Every try that came, by time.
    pub(crate) fn receipts(&self) -> Vec<Receipt> {
        self.state().receipts.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing under this lock panics")
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
        assert_eq!(delivery_log.counts(), Counts { done: 1, duplicates: 1, ..Counts::default() });
        // The second was not acknowledged when the third came.
        assert_eq!(delivery_log.record(key(0, 2), |_| Answer::Refuse), Answer::Refuse);
        delivery_log.record(key(0, 3), acknowledge);
        let counts = delivery_log.counts();
        assert_eq!((counts.duplicates, counts.inversions, delivery_log.tried_again()), (1, 1, HashSet::from([0])));
        delivery_log.record(key(0, 2), |tries| if tries == 2 { Answer::Acknowledge } else { Answer::Never });
        assert_eq!((delivery_log.counts().done, delivery_log.lost(|_| true)), (3, 0));
        delivery_log.record(key(2, 1), acknowledge);
        delivery_log.record(None, acknowledge);
        assert_eq!(delivery_log.counts(), Counts { done: 3, duplicates: 1, inversions: 1, strange: 2 });
        assert_eq!((delivery_log.receipts().len(), delivery_log.delays(|_| true).len()), (5, 3));
    }
}
