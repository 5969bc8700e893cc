use std::time::Duration;

use dropin_kernel::Timestamp;

/// What came of one attempt to deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered.
    Answered {
        /// HTTP status.
        status: u16,
        /// Retry-After of the answer, honoured on 429 and 503.
        retry_after: Option<Duration>,
    },
    /// No complete answer came within the limits (connection refused, reset, time-out, target not allowed).
    Failed {
        /// Which of them, for the operator.
        why: &'static str,
    },
}

/// What follows from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Delivered: the next notification of the payment may go.
    Acknowledged,
    /// Try again then.
    Retry {
        /// When.
        at: Timestamp,
    },
    /// Given up after the last try: parked, visible and replayable.
    Park,
}

/// When to try again (decisions.md section 9): 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 3 h, 6 h, then every 12 h up to 3 days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    delays: Vec<Duration>,
    give_up_after: Duration,
}

impl Schedule {
    /// The schedule of decisions.md section 9.
    pub fn standard() -> Self {
        let hours = |n: u64| Duration::from_secs(n * 3_600);
        let delays = [5, 30, 120, 600, 1_800].map(Duration::from_secs).into_iter();
        Self { delays: delays.chain([hours(1), hours(3), hours(6), hours(12)]).collect(), give_up_after: hours(72) }
    }

    /// A schedule of its own: after the last delay it repeats that one until `give_up_after` has passed since the first try.
    ///
    /// `None` without any delay.
    pub fn new(delays: Vec<Duration>, give_up_after: Duration) -> Option<Self> {
        (!delays.is_empty()).then_some(Self { delays, give_up_after })
    }

    /// What follows from the outcome of the `attempt`-th try (from 1), of which the first was made at `first_try`.
    ///
    /// `jitter_per_mille` spreads retries: −200 to 200 thousandths of the delay. A Retry-After counts when it is longer, up to 12 h.
    pub fn after(
        &self,
        outcome: &AttemptOutcome,
        attempt: u32,
        first_try: Timestamp,
        now: Timestamp,
        jitter_per_mille: i32,
    ) -> Verdict {
        let hint = match outcome {
            AttemptOutcome::Answered { status: 200, .. } => return Verdict::Acknowledged,
            AttemptOutcome::Answered { status: 429 | 503, retry_after } => retry_after.unwrap_or_default(),
            AttemptOutcome::Answered { .. } | AttemptOutcome::Failed { .. } => Duration::ZERO,
        };
        let step = usize::try_from(attempt.max(1) - 1).unwrap_or(usize::MAX).min(self.delays.len() - 1);
        let factor = u32::try_from(1_000 + jitter_per_mille.clamp(-200, 200)).unwrap_or(1_000);
        let delay = (self.delays[step] * factor / 1_000).max(hint.min(Duration::from_secs(12 * 3_600)));
        let at = now.plus(delay);
        if self.give_up_after < at.since(first_try) { Verdict::Park } else { Verdict::Retry { at } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_000_000_000_000_000);

    fn answered(status: u16) -> AttemptOutcome {
        AttemptOutcome::Answered { status, retry_after: None }
    }

    #[test]
    fn only_200_acknowledges() {
        let schedule = Schedule::standard();
        for status in (100..=599).filter(|status| *status != 200) {
            assert!(matches!(schedule.after(&answered(status), 1, START, START, 0), Verdict::Retry { .. }), "{status}");
        }
        assert_eq!(schedule.after(&answered(200), 9, START, START, 0), Verdict::Acknowledged);
    }

    #[test]
    fn the_whole_schedule_of_a_dead_receiver() {
        let schedule = Schedule::standard();
        let (mut now, mut attempt, mut delays) = (START, 1, Vec::new());
        while let Verdict::Retry { at } =
            schedule.after(&AttemptOutcome::Failed { why: "refused" }, attempt, START, now, 0)
        {
            delays.push(at.since(now).as_secs());
            (now, attempt) = (at, attempt + 1);
        }
        assert_eq!(delays[..9], [5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200]);
        assert!(delays[9..].iter().all(|delay| *delay == 43_200), "{delays:?}");
        assert!(
            Duration::from_secs(60 * 3_600) < now.since(START) && now.since(START) <= Duration::from_secs(72 * 3_600)
        );
    }

    #[test]
    fn retry_after_lengthens_on_429_and_503_only_and_is_capped() {
        let schedule = Schedule::standard();
        let wait = |status, hours: u64| {
            let retry_after = Some(Duration::from_secs(hours * 3_600));
            match schedule.after(&AttemptOutcome::Answered { status, retry_after }, 1, START, START, 0) {
                Verdict::Retry { at } => at.since(START).as_secs(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((wait(429, 1), wait(503, 2), wait(500, 1), wait(429, 100)), (3_600, 7_200, 5, 43_200));
    }

    #[test]
    fn jitter_stays_within_a_fifth() {
        let schedule = Schedule::standard();
        for (jitter, micros) in [(-1_000, 4_000_000), (0, 5_000_000), (137, 5_685_000), (1_000, 6_000_000)] {
            let at = START.plus(Duration::from_micros(micros));
            assert_eq!(schedule.after(&answered(500), 1, START, START, jitter), Verdict::Retry { at }, "{jitter}");
        }
    }
}
