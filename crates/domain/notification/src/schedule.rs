use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use dropin_kernel::{Timestamp, parse_span, write_span};

use crate::failure::DeliveryFailure;

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
        /// Which of them.
        why: DeliveryFailure,
    },
}

/// What follows from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Delivered: the next notification of the payment may go.
    Acknowledged,
    /// Try again then.
    Retry {
        /// When.
        at: Timestamp,
    },
    /// Given up after the last try: parked, visible and replayable.
    Park,
    /// Try again then, and do not count this try.
    Hold {
        /// When.
        at: Timestamp,
    },
}

/// When to try again (docs/SPECIFICATION.md#event-retries): 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 3 h, 6 h, then every 12 h up to 3 days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    delays: Vec<Duration>,
    give_up_after: Duration,
}

impl Schedule {
    /// The schedule of docs/SPECIFICATION.md#event-retries.
    pub fn standard() -> Self {
        let hours = |n: u64| Duration::from_secs(n * 3_600);
        let delays = [5, 30, 120, 600, 1_800].map(Duration::from_secs).into_iter();
        Self { delays: delays.chain([hours(1), hours(3), hours(6), hours(12)]).collect(), give_up_after: hours(72) }
    }

    /// A schedule of its own: after the last delay it repeats that one until `give_up_after` has passed since the first try. Parts of a millisecond
    /// are left out, so that a schedule is read back as it is written.
    ///
    /// # Errors
    /// [`ScheduleError`]: 1 to 32 delays from 1 s to 7 days, and an end of at most 30 days that comes after the longest delay with its jitter.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use dropin_notification::Schedule;
    ///
    /// let schedule = Schedule::new(vec![Duration::from_millis(1_500), Duration::from_secs(60)], Duration::from_secs(3_600)).unwrap();
    /// assert_eq!(schedule.to_string(), "1500ms,1m;1h");
    /// assert_eq!(schedule.to_string().parse(), Ok(schedule));
    /// assert!(Schedule::new(vec![Duration::ZERO], Duration::from_secs(60)).is_err());
    /// ```
    pub fn new(delays: Vec<Duration>, give_up_after: Duration) -> Result<Self, ScheduleError> {
        let delays: Vec<Duration> = delays.into_iter().map(whole_millis).collect();
        let (shortest, longest) = (delays.iter().min().copied(), delays.iter().max().copied());
        let (Some(shortest), Some(longest)) = (shortest, longest) else { return Err(ScheduleError::Unreadable) };
        if MAX_DELAYS < delays.len()
            || shortest < SHORTEST_DELAY
            || LONGEST_DELAY < longest
            || !(SHORTEST_DELAY..=LATEST_END).contains(&give_up_after)
        {
            return Err(ScheduleError::Unreadable);
        }
        let (longest, give_up_after) = (jittered(longest, MAX_JITTER_PER_MILLE), whole_millis(give_up_after));
        if give_up_after <= longest {
            return Err(ScheduleError::EndsTooSoon { seconds: longest.as_millis().div_ceil(1_000) as u64 });
        }
        Ok(Self { delays, give_up_after })
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
    ) -> RetryDecision {
        if matches!(outcome, AttemptOutcome::Answered { status: 200, .. }) {
            return RetryDecision::Acknowledged;
        }
        let step = usize::try_from(attempt.max(1) - 1).unwrap_or(usize::MAX).min(self.delays.len() - 1);
        let delay = jittered(self.delays[step], jitter_per_mille).max(asked_for(outcome).min(LONGEST_ASKED));
        let at = now.plus(delay);
        if self.give_up_after < at.since(first_try) { RetryDecision::Park } else { RetryDecision::Retry { at } }
    }

    /// What follows from a failed probe when the next probe is due at `probe_at`. It counts
    /// as no try, but for this: an endpoint that still answers, with an error for an hour now, must not hold back what comes behind in the payment.
    /// A Retry-After counts when it is longer, up to 12 h.
    pub fn after_probe(
        &self,
        outcome: &AttemptOutcome,
        first_try: Timestamp,
        now: Timestamp,
        probe_at: Timestamp,
    ) -> RetryDecision {
        let at = probe_at.max(now.plus(asked_for(outcome).min(LONGEST_ASKED)));
        let waited = at.since(first_try);
        // 502, 503 and 504 tell that whoever should answer is not there.
        let answers =
            matches!(outcome, AttemptOutcome::Answered { status, .. } if !matches!(status, 408 | 429 | 502..=504));
        match () {
            () if self.give_up_after < waited => RetryDecision::Park,
            () if answers && HOLDS_BACK_FOR < waited => RetryDecision::Retry { at },
            () => RetryDecision::Hold { at },
        }
    }

    /// How long a notification is tried, from its first try.
    pub const fn give_up_after(&self) -> Duration {
        self.give_up_after
    }
}

/// For how long a receiver asked to be left alone: Retry-After on 429 and 503.
pub(crate) fn asked_for(outcome: &AttemptOutcome) -> Duration {
    match outcome {
        AttemptOutcome::Answered { status: 429 | 503, retry_after } => retry_after.unwrap_or_default(),
        AttemptOutcome::Answered { .. } | AttemptOutcome::Failed { .. } => Duration::ZERO,
    }
}

/// Longest that a notification waits because a receiver asked for it.
const LONGEST_ASKED: Duration = Duration::from_secs(12 * 3_600);

/// How long a notification that fails may hold back the next ones of its payment (docs/SPECIFICATION.md#event-sequence).
pub const HOLDS_BACK_FOR: Duration = Duration::from_secs(60 * 60);

/// Thousandths that chance adds to a wait or takes from it, at most.
const MAX_JITTER_PER_MILLE: i32 = 200;

/// The wait, longer or shorter by so many thousandths of it, from −200 to 200.
pub(crate) fn jittered(wait: Duration, per_mille: i32) -> Duration {
    let factor = u32::try_from(1_000 + per_mille.clamp(-MAX_JITTER_PER_MILLE, MAX_JITTER_PER_MILLE)).unwrap_or(1_000);
    wait * factor / 1_000
}

/// What is wrong with a written schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// It is none.
    #[error(
        "a schedule is written as the waits between tries, then a semicolon and when to give up, for example 5s,30s,2m,10m,1h;72h: 1 to 32 waits \
         from 1s to 7d with s, m, h or d, and an end of at most 30d"
    )]
    Unreadable,
    /// Its longest wait could never end.
    #[error(
        "the schedule gives up before its longest wait, of up to {seconds} s with the fifth that chance may add, is over: what comes after the \
         semicolon must be longer, for example 5s,30s,2m;1h"
    )]
    EndsTooSoon {
        /// Seconds of the longest wait, with the jitter.
        seconds: u64,
    },
}

/// Waits in one schedule, at most.
const MAX_DELAYS: usize = 32;
const SHORTEST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(7 * 86_400);
const LATEST_END: Duration = Duration::from_secs(30 * 86_400);

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (delays, end) = text.split_once(';').ok_or(ScheduleError::Unreadable)?;
        let span = |word: &str| parse_span(word.trim()).ok_or(ScheduleError::Unreadable);
        Self::new(delays.split(',').map(span).collect::<Result<_, _>>()?, span(end)?)
    }
}

fn whole_millis(span: Duration) -> Duration {
    Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delays: Vec<String> = self.delays.iter().copied().map(write_span).collect();
        f.pad(&format!("{};{}", delays.join(","), write_span(self.give_up_after)))
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Schedule);

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
            assert!(
                matches!(schedule.after(&answered(status), 1, START, START, 0), RetryDecision::Retry { .. }),
                "{status}"
            );
        }
        assert_eq!(schedule.after(&answered(200), 9, START, START, 0), RetryDecision::Acknowledged);
    }

    #[test]
    fn the_whole_schedule_of_a_dead_receiver() {
        let schedule = Schedule::standard();
        let (mut now, mut attempt, mut delays) = (START, 1, Vec::new());
        while let RetryDecision::Retry { at } =
            schedule.after(&AttemptOutcome::Failed { why: DeliveryFailure::Refused }, attempt, START, now, 0)
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
                RetryDecision::Retry { at } => at.since(START).as_secs(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((wait(429, 1), wait(503, 2), wait(500, 1), wait(429, 100)), (3_600, 7_200, 5, 43_200));
    }

    #[test]
    fn a_schedule_is_written_and_read() {
        let standard = Schedule::standard();
        assert_eq!(standard.to_string(), "5s,30s,2m,10m,30m,1h,3h,6h,12h;3d");
        assert_eq!(standard.to_string().parse(), Ok(standard));
        assert_eq!(" 90s , 1d;30d".parse::<Schedule>().unwrap().to_string(), "90s,1d;30d");
        let many = format!("{};1d", vec!["1s"; 33].join(","));
        for wrong in [
            "",
            ";",
            "5s",
            "5s;",
            ";72h",
            "0s;1d",
            "5;1d",
            "-5s;1d",
            "5ss;1d",
            "1.5s;1d",
            "5s,;1d",
            "8d;9d",
            "5s;31d",
            "5s;0s",
            "+5s;1d",
            "18446744073709551616s;1d",
            "18446744073709551615d;1d",
            "5µ;1d",
            &many,
        ] {
            assert_eq!(wrong.parse::<Schedule>(), Err(ScheduleError::Unreadable), "{wrong:?}");
        }
    }

    #[test]
    fn a_schedule_lasts_longer_than_its_longest_wait() {
        for (wrong, seconds) in [("5s;1s", 6), ("5s;6s", 6), ("1s;1s", 2), ("5s,1h,2s;72m", 4_320), ("7d;8d", 725_760)]
        {
            assert_eq!(wrong.parse::<Schedule>(), Err(ScheduleError::EndsTooSoon { seconds }), "{wrong}");
        }
        let too_soon = ScheduleError::EndsTooSoon { seconds: 6 }.to_string();
        assert!(too_soon.contains("6 s") && too_soon.contains("after the semicolon must be longer"), "{too_soon}");
        for right in ["5s;7s", "1s;2s", "5s,1h,2s;73m"] {
            let schedule: Schedule = right.parse().expect(right);
            let verdict = schedule.after(&answered(500), 1, START, START, 200);
            assert!(matches!(verdict, RetryDecision::Retry { .. }), "{right} gives up at once: {verdict:?}");
        }
    }

    #[test]
    fn a_probe_counts_as_no_try_until_all_is_over() {
        let schedule = Schedule::standard();
        let (late, hours) = (AttemptOutcome::Failed { why: DeliveryFailure::Late }, |hours: u64| {
            START.plus(Duration::from_secs(hours * 3_600))
        });
        let (hold, retry) =
            (|hour| RetryDecision::Hold { at: hours(hour) }, |hour| RetryDecision::Retry { at: hours(hour) });
        for (outcome, hour, verdict) in [
            (&late, 1, hold(1)),
            (&late, 72, hold(72)),
            (&late, 73, RetryDecision::Park),
            (&answered(503), 2, hold(2)),
            (&answered(502), 2, hold(2)),
            (&answered(429), 2, hold(2)),
            (&answered(500), 1, hold(1)),
            (&answered(500), 2, retry(2)),
            (&answered(500), 73, RetryDecision::Park),
        ] {
            assert_eq!(schedule.after_probe(outcome, START, START, hours(hour)), verdict, "{outcome:?} after {hour} h");
        }
        let asked = |hours: u64| AttemptOutcome::Answered {
            status: 429,
            retry_after: Some(Duration::from_secs(hours * 3_600)),
        };
        for (asks, hour) in [(1, 2), (3, 3), (100, 12)] {
            assert_eq!(schedule.after_probe(&asked(asks), START, START, hours(2)), hold(hour), "asked for {asks} h");
        }
    }

    #[test]
    fn jitter_stays_within_a_fifth() {
        let schedule = Schedule::standard();
        for (jitter, micros) in [(-1_000, 4_000_000), (0, 5_000_000), (137, 5_685_000), (1_000, 6_000_000)] {
            let at = START.plus(Duration::from_micros(micros));
            assert_eq!(
                schedule.after(&answered(500), 1, START, START, jitter),
                RetryDecision::Retry { at },
                "{jitter}"
            );
        }
    }
}
