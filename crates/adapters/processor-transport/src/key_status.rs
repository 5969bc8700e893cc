//! Whether the processor accepts our key, as its latest answers tell.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a verdict counts: a key that was revoked is noticed by the payments of a second later.
const VALID_FOR: Duration = Duration::from_secs(1);

/// What is known of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyVerdict {
    /// The processor accepts it.
    Accepted,
    /// The processor refuses it.
    Refused,
    /// It was asked, and did not say.
    Silent,
}

/// The latest verdict.
#[derive(Debug, Default)]
pub(crate) struct KeyStatus(Mutex<Option<(Instant, KeyVerdict)>>);

impl KeyStatus {
    /// Takes notice of an answer of this HTTP status. Of a limit of calls or a fault, nothing follows for the key.
    pub(crate) fn answered(&self, status: u16) {
        match status {
            401 => self.note(KeyVerdict::Refused),
            200..=299 | 400..=428 => self.note(KeyVerdict::Accepted),
            _ => {}
        }
    }

    /// Takes notice of a verdict.
    pub(crate) fn note(&self, verdict: KeyVerdict) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), verdict));
    }

    /// The latest verdict, while it counts.
    pub(crate) fn verdict(&self) -> Option<KeyVerdict> {
        let latest = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.filter(|(at, _)| at.elapsed() < VALID_FOR).map(|(_, verdict)| verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_to_the_key_says_something_of_it() {
        let after = |status| {
            let key = KeyStatus::default();
            key.answered(status);
            key.verdict()
        };
        for status in [200, 400, 402, 403, 404, 409] {
            assert_eq!(after(status), Some(KeyVerdict::Accepted), "{status}");
        }
        assert_eq!(after(401), Some(KeyVerdict::Refused));
        for status in [302, 429, 500, 503] {
            assert_eq!(after(status), None, "{status}");
        }
    }

    #[test]
    fn a_verdict_counts_for_its_time() {
        let key = KeyStatus::default();
        *key.0.lock().unwrap() = Instant::now().checked_sub(VALID_FOR).map(|at| (at, KeyVerdict::Accepted));
        assert_eq!(key.verdict(), None);
    }
}
