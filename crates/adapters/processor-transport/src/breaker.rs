//! When calls are held back from a processor that answers nobody. A state machine without a clock: every instant is an argument.
//!
//! Calls without an answer only raise a suspicion. What opens the breaker is a harmless question that gets no answer either, so that slow
//! answers to a few payments never stop the others; the same question, asked again after a pause, closes it. No shopper is a guinea pig.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// When a processor counts as dead, and how it is asked whether it still is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessorBreakerRules {
    /// So many calls in a row without an answer, from anybody, raise the suspicion.
    pub failures: usize,
    /// The time within which they all ended.
    pub within: Duration,
    /// How long calls are held back before the processor is asked for the first time; doubled each time it does not answer.
    pub first_pause: Duration,
    /// Longest such pause.
    pub longest_pause: Duration,
    /// How long an answer to the question is waited for.
    pub probe_deadline: Duration,
}

impl Default for ProcessorBreakerRules {
    /// Ten calls in ten seconds; pauses of 500 ms to 4 s. The longest, one question and the settler's own pause of 5 s stay about ten
    /// seconds together: that is how soon open operations are settled once the processor is back.
    fn default() -> Self {
        Self {
            failures: 10,
            within: Duration::from_secs(10),
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(4),
            probe_deadline: Duration::from_secs(2),
        }
    }
}

impl ProcessorBreakerRules {
    /// The usual rules but for how many calls raise the suspicion and the longest pause.
    pub fn of(failures: usize, longest_pause: Duration) -> Self {
        let usual = Self::default();
        Self { failures, first_pause: usual.first_pause.min(longest_pause), longest_pause, ..usual }
    }
}

/// What the breaker does with calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// They pass.
    Closed,
    /// They are held back.
    Open,
    /// They are held back, and the processor is being asked whether it is there again.
    HalfOpen,
}

impl BreakerState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Closed, Self::Open, Self::HalfOpen];

    /// A word for metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// What is worth a line in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Opened,
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    /// Calls pass; the question decides.
    Suspected,
    Open {
        pause: Duration,
    },
    Probing {
        pause: Duration,
    },
}

#[derive(Debug)]
pub(crate) struct Breaker {
    rules: ProcessorBreakerRules,
    state: State,
    /// When calls ended without an answer, since the last answer; as many as decide.
    unanswered: VecDeque<Instant>,
    /// Whether a task probes as [`Breaker::pause`] says.
    is_probed: bool,
    opened: u64,
}

impl Breaker {
    pub(crate) fn new(rules: ProcessorBreakerRules) -> Self {
        let rules = ProcessorBreakerRules { failures: rules.failures.max(1), ..rules };
        Self { rules, state: State::Closed, unanswered: VecDeque::new(), is_probed: false, opened: 0 }
    }

    pub(crate) fn state(&self) -> BreakerState {
        match self.state {
            State::Closed | State::Suspected => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::Probing { .. } => BreakerState::HalfOpen,
        }
    }

    /// How often it has opened.
    pub(crate) const fn opened(&self) -> u64 {
        self.opened
    }

    /// Somebody was answered, no matter what: there is life.
    pub(crate) fn answered(&mut self) -> Option<Change> {
        self.unanswered.clear();
        let held_back = self.state() != BreakerState::Closed;
        self.state = State::Closed;
        held_back.then_some(Change::Closed)
    }

    /// A call ended without an answer. True: from now on somebody has to do what [`Breaker::pause`] says.
    pub(crate) fn unanswered(&mut self, now: Instant) -> bool {
        if self.state != State::Closed {
            return false;
        }
        self.unanswered.push_back(now);
        if self.unanswered.len() < self.rules.failures {
            return false;
        }
        let first = self.unanswered.pop_front();
        if first.is_none_or(|first| self.rules.within < now.saturating_duration_since(first)) {
            return false;
        }
        self.state = State::Suspected;
        !std::mem::replace(&mut self.is_probed, true)
    }

    /// How long to wait before the next question; none when there is nothing more to ask.
    pub(crate) fn pause(&mut self) -> Option<Duration> {
        match self.state {
            State::Closed => {
                self.is_probed = false;
                None
            }
            State::Suspected => Some(Duration::ZERO),
            State::Open { pause } | State::Probing { pause } => Some(pause),
        }
    }

    /// The pause is over. Whether the question is still to be asked.
    pub(crate) fn begin_probe(&mut self) -> bool {
        if let State::Open { pause } = self.state {
            self.state = State::Probing { pause };
        }
        self.state != State::Closed
    }

    /// The question was answered, or not.
    pub(crate) fn probed(&mut self, answered: bool) -> Option<Change> {
        if answered {
            return self.answered();
        }
        match self.state {
            // Somebody else was answered in the meantime.
            State::Closed | State::Open { .. } => None,
            State::Suspected => {
                self.state = State::Open { pause: self.rules.first_pause };
                self.opened += 1;
                Some(Change::Opened)
            }
            State::Probing { pause } => {
                let pause = pause.saturating_mul(2).min(self.rules.longest_pause);
                self.state = State::Open { pause };
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: ProcessorBreakerRules = ProcessorBreakerRules {
        failures: 3,
        within: Duration::from_secs(10),
        first_pause: Duration::from_millis(500),
        longest_pause: Duration::from_secs(4),
        probe_deadline: Duration::from_secs(2),
    };

    /// What may happen to it.
    #[derive(Debug, Clone, Copy)]
    enum Event {
        Answered,
        Unanswered,
        PauseOver,
        ProbeAnswered,
        ProbeUnanswered,
    }

    const PAUSE: Duration = Duration::from_secs(1);
    const STATES: [State; 4] =
        [State::Closed, State::Suspected, State::Open { pause: PAUSE }, State::Probing { pause: PAUSE }];

    fn after(state: State, event: Event) -> (State, Option<Change>) {
        let now = Instant::now();
        let mut breaker = Breaker { state, ..Breaker::new(RULES) };
        // One more will be enough.
        breaker.unanswered.extend([now; 2]);
        let change = match event {
            Event::Answered => breaker.answered(),
            Event::Unanswered => {
                breaker.unanswered(now);
                None
            }
            Event::PauseOver => {
                breaker.begin_probe();
                None
            }
            Event::ProbeAnswered => breaker.probed(true),
            Event::ProbeUnanswered => breaker.probed(false),
        };
        (breaker.state, change)
    }

    #[test]
    fn every_state_and_every_event() {
        use Event::{Answered, PauseOver, ProbeAnswered, ProbeUnanswered, Unanswered};
        let [closed, suspected, open, probing] = STATES;
        let first = State::Open { pause: RULES.first_pause };
        let doubled = State::Open { pause: PAUSE * 2 };
        let (opened, shut) = (Some(Change::Opened), Some(Change::Closed));
        for (state, event, next, change) in [
            (closed, Answered, closed, None),
            (closed, Unanswered, suspected, None),
            (closed, PauseOver, closed, None),
            (closed, ProbeAnswered, closed, None),
            (closed, ProbeUnanswered, closed, None),
            (suspected, Answered, closed, None),
            (suspected, Unanswered, suspected, None),
            (suspected, PauseOver, suspected, None),
            (suspected, ProbeAnswered, closed, None),
            (suspected, ProbeUnanswered, first, opened),
            (open, Answered, closed, shut),
            (open, Unanswered, open, None),
            (open, PauseOver, probing, None),
            (open, ProbeAnswered, closed, shut),
            (open, ProbeUnanswered, open, None),
            (probing, Answered, closed, shut),
            (probing, Unanswered, probing, None),
            (probing, PauseOver, probing, None),
            (probing, ProbeAnswered, closed, shut),
            (probing, ProbeUnanswered, doubled, None),
        ] {
            assert_eq!(after(state, event), (next, change), "{state:?} {event:?}");
        }
    }

    #[test]
    fn only_a_run_within_the_time_raises_the_suspicion() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        for (ends, suspected) in [
            (&[0, 1][..], false),
            (&[0, 1, 2], true),
            (&[0, 5, 10], true),
            (&[0, 5, 11], false),
            (&[0, 5, 11, 12], true),
            (&[0, 11, 22, 33, 44], false),
        ] {
            let mut breaker = Breaker::new(RULES);
            let watch = ends.iter().filter(|end| breaker.unanswered(at(**end))).count();
            assert_eq!((breaker.state == State::Suspected, watch), (suspected, usize::from(suspected)), "{ends:?}");
        }
    }

    #[test]
    fn an_answer_in_between_ends_the_run() {
        let now = Instant::now();
        let mut breaker = Breaker::new(RULES);
        for _ in 0..10 {
            assert!(!breaker.unanswered(now) && !breaker.unanswered(now));
            breaker.answered();
        }
        assert_eq!(breaker.state, State::Closed);
    }

    #[test]
    fn one_at_a_time_watches_over_it() {
        let now = Instant::now();
        let mut breaker = Breaker::new(ProcessorBreakerRules { failures: 1, ..RULES });
        assert!(breaker.unanswered(now));
        breaker.answered();
        assert!(!breaker.unanswered(now), "the first is still about");
        breaker.answered();
        assert_eq!(breaker.pause(), None, "the first goes");
        assert!(breaker.unanswered(now), "so another comes");
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew() {
        let now = Instant::now();
        let mut breaker = Breaker::new(ProcessorBreakerRules { failures: 1, ..RULES });
        for opened in 1..=2 {
            breaker.unanswered(now);
            let mut pauses = Vec::new();
            for _ in 0..7 {
                pauses.extend(breaker.pause().map(|pause| pause.as_millis()));
                assert!(breaker.begin_probe());
                breaker.probed(false);
            }
            assert_eq!(pauses, [0, 500, 1_000, 2_000, 4_000, 4_000, 4_000]);
            assert_eq!((breaker.opened(), breaker.state()), (opened, BreakerState::Open));
            assert_eq!(breaker.probed(true), Some(Change::Closed));
            assert_eq!(breaker.pause(), None);
        }
    }

    #[test]
    fn nothing_is_held_back_on_a_mere_suspicion() {
        let states = STATES.map(|state| Breaker { state, ..Breaker::new(RULES) }.state());
        use BreakerState::{Closed, HalfOpen, Open};
        assert_eq!(states, [Closed, Closed, Open, HalfOpen]);
    }
}
