//! What is known of every notification of a scenario: when it was committed, when it came, and what it was answered.
//!
//! Notifications are known by number: payment by payment, and within a payment by `webhook-sequence`. Their ids tell the number, so that noting
//! one costs no look-up. Whatever tells a number that is not of this scenario is strange.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Notifications of one payment.
pub(crate) const PER_PAYMENT: u32 = 3;

/// A notification that came, as its headers tell it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) payment: u32,
    pub(crate) sequence: u32,
}

impl Heard {
    /// Reads `webhook-id`, as `event_id` writes it.
    pub(crate) fn parse(id: &[u8]) -> Option<Self> {
        let id = std::str::from_utf8(id).ok()?;
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

/// What is to be answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    /// 200.
    Acknowledge,
    /// 500.
    Refuse,
    /// Nothing, ever.
    Never,
}

/// What is known of one notification.
#[derive(Debug, Default)]
struct Page {
    /// Microseconds since the scenario began; 0 is not yet.
    committed: AtomicU64,
    came: AtomicU64,
    tries: AtomicU8,
    acknowledged: AtomicBool,
}

/// The notifications of a scenario.
#[derive(Debug)]
pub(crate) struct Book {
    began: Instant,
    warm_up: Duration,
    pages: Vec<Page>,
    receipts: Mutex<Vec<Receipt>>,
    /// Notifications that were acknowledged at least once.
    done: AtomicU64,
    duplicates: AtomicU64,
    inversions: AtomicU64,
    strange: AtomicU64,
}

impl Book {
    /// Delays count for what is committed when `warm_up` has passed since the first commit.
    pub(crate) fn new(payments: u32, warm_up: Duration) -> Self {
        let pages = (0..payments as usize * PER_PAYMENT as usize).map(|_| Page::default()).collect();
        Self {
            began: Instant::now(),
            warm_up,
            pages,
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

    /// Notes that it is in the database for good.
    pub(crate) fn note_committed(&self, heard: Heard) {
        let now = self.now();
        if let Some(page) = self.page(heard) {
            page.committed.store(now, Ordering::Relaxed);
        }
    }

    /// Notes that the first payments are in the database for good.
    pub(crate) fn note_backlog(&self, payments: u32) {
        let now = self.now();
        for page in &self.pages[..payments as usize * PER_PAYMENT as usize] {
            page.committed.store(now, Ordering::Relaxed);
        }
    }

    /// Notes what came, and decides what to answer: `refuses` is asked with the number of this try, from 1.
    pub(crate) fn note(&self, heard: Option<Heard>, answer: impl FnOnce(u32) -> Answer) -> Answer {
        let at = self.now();
        let Some((heard, page)) = heard.and_then(|heard| Some((heard, self.page(heard)?))) else {
            self.strange.fetch_add(1, Ordering::Relaxed);
            return Answer::Acknowledge;
        };
        let tries = u32::from(page.tries.fetch_add(1, Ordering::AcqRel)) + 1;
        if tries == 1 {
            page.came.store(at, Ordering::Relaxed);
            let before = Heard { sequence: heard.sequence - 1, ..heard };
            let is_in_order = self.page(before).is_none_or(|before| before.acknowledged.load(Ordering::Acquire));
            self.inversions.fetch_add(u64::from(!is_in_order), Ordering::Relaxed);
        }
        let Heard { payment, sequence } = heard;
        self.receipts.lock().expect("nothing under this lock panics").push(Receipt { at, payment, sequence });
        let answer = answer(tries);
        if answer == Answer::Acknowledge {
            let again = page.acknowledged.swap(true, Ordering::AcqRel);
            self.done.fetch_add(u64::from(!again), Ordering::Relaxed);
            self.duplicates.fetch_add(u64::from(again), Ordering::Relaxed);
        }
        answer
    }

    fn page(&self, heard: Heard) -> Option<&Page> {
        self.pages.get(heard.number()?)
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
            |page: &Page| page.committed.load(Ordering::Relaxed) > 0 && !page.acknowledged.load(Ordering::Relaxed);
        let lost = |(number, page): &(usize, &Page)| counts((number / PER_PAYMENT as usize) as u32) && waits(page);
        self.pages.iter().enumerate().filter(lost).count() as u64
    }

    /// Microseconds from commit to the first try, sorted; of the payments that `counts` names, and after the warm-up.
    pub(crate) fn delays(&self, counts: impl Fn(u32) -> bool) -> Vec<u64> {
        let committed = self.pages.iter().map(|page| page.committed.load(Ordering::Relaxed)).filter(|at| *at > 0);
        let from = committed.min().unwrap_or_default() + self.warm_up.as_micros() as u64;
        let pages = self.pages.iter().enumerate().filter(|(number, _)| counts((number / PER_PAYMENT as usize) as u32));
        let mut delays: Vec<u64> = pages
            .filter_map(|(_, page)| {
                let (committed, came) = (page.committed.load(Ordering::Relaxed), page.came.load(Ordering::Relaxed));
                (committed >= from.max(1) && came > 0).then(|| came.saturating_sub(committed))
            })
            .collect();
        delays.sort_unstable();
        delays
    }

    /// Whether all tries of a payment were acknowledged at once.
    pub(crate) fn is_smooth(&self, payment: u32) -> bool {
        let of_payment = (1..=PER_PAYMENT).filter_map(|sequence| self.page(Heard { payment, sequence }));
        of_payment.into_iter().all(|page| page.tries.load(Ordering::Relaxed) <= 1)
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

    fn heard(payment: u32, sequence: u32) -> Option<Heard> {
        Some(Heard { payment, sequence })
    }

    fn acknowledge(_tries: u32) -> Answer {
        Answer::Acknowledge
    }

    #[test]
    fn an_id_tells_payment_and_sequence() {
        let id = format!("{EVENT_PREFIX}0000001f0002");
        assert_eq!(Heard::parse(id.as_bytes()), heard(31, 2));
        for strange in ["", "0b0b0b0b-0000-7000-8000-", "0b0b0b0b-0000-7000-8000-00000001000z", "x"] {
            assert_eq!(Heard::parse(strange.as_bytes()), None, "{strange}");
        }
    }

    #[test]
    fn what_is_wrong_is_counted() {
        let book = Book::new(2, Duration::ZERO);
        for sequence in 1..=3 {
            book.note_committed(Heard { payment: 0, sequence });
        }
        assert_eq!(book.lost(|_| true), 3);
        assert_eq!(book.note(heard(0, 1), acknowledge), Answer::Acknowledge);
        assert_eq!((book.lost(|_| true), book.lost(|payment| payment == 1)), (2, 0));
        book.note(heard(0, 1), acknowledge);
        assert_eq!((book.duplicates(), book.inversions(), book.done()), (1, 0, 1));
        // The second was not acknowledged when the third came.
        assert_eq!(book.note(heard(0, 2), |_| Answer::Refuse), Answer::Refuse);
        book.note(heard(0, 3), acknowledge);
        assert_eq!((book.duplicates(), book.inversions(), book.is_smooth(0)), (1, 1, false));
        book.note(heard(0, 2), |tries| if tries == 2 { Answer::Acknowledge } else { Answer::Never });
        assert_eq!((book.done(), book.duplicates(), book.lost(|_| true)), (3, 1, 0));
        book.note(heard(2, 1), acknowledge);
        book.note(None, acknowledge);
        assert_eq!((book.strange(), book.receipts().len(), book.delays(|_| true).len()), (2, 5, 3));
    }
}
