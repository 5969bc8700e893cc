use super::*;
use crate::failure::DeliveryFailure;

const START: Timestamp = Timestamp::from_micros(1_000_000_000_000_000);

fn at(seconds: u64) -> Timestamp {
    START.plus(Duration::from_secs(seconds))
}

const fn answered(status: u16) -> AttemptOutcome {
    AttemptOutcome::Answered { status, retry_after: None }
}

fn asked(status: u16, seconds: u64) -> AttemptOutcome {
    AttemptOutcome::Answered { status, retry_after: Some(Duration::from_secs(seconds)) }
}

const LATE: AttemptOutcome = AttemptOutcome::Failed { why: DeliveryFailure::Late };

/// First tries, one a second.
fn after(tries: &[AttemptOutcome]) -> (Breaker, Vec<Option<BreakerChange>>) {
    let mut breaker = Breaker::default();
    let changes = (0..).zip(tries).map(|(second, outcome)| {
        breaker.tried(&EndpointBreakerRules::default(), Tried { outcome, first: true, probe: false }, at(second), 0)
    });
    let changes = changes.collect();
    (breaker, changes)
}

fn probe(breaker: &mut Breaker, outcome: &AttemptOutcome, second: u64) -> Option<BreakerChange> {
    breaker.probe();
    assert_eq!(breaker.permit(), BreakerPermit::Nothing, "one look at a time");
    breaker.tried(&EndpointBreakerRules::default(), Tried { outcome, first: false, probe: true }, at(second), 0)
}

#[test]
fn what_takes_an_endpoint_for_dead() {
    let (ok, error, refusal) = (answered(200), answered(500), answered(404));
    let times = |outcome: &AttemptOutcome, times| vec![outcome.clone(); times];
    let half = |bad: &AttemptOutcome| [times(bad, 10), times(&ok, 9)].concat();
    for (what, tries, opens) in [
        ("five in a row without an answer", times(&LATE, 5), true),
        ("four", times(&LATE, 4), false),
        ("four, an answer, four", [times(&LATE, 4), times(&error, 1), times(&LATE, 4)].concat(), false),
        ("eleven errors of twenty", [half(&error), times(&error, 1)].concat(), true),
        ("ten errors of twenty", [times(&ok, 10), times(&error, 10)].concat(), false),
        ("errors only, before there are twenty", times(&error, 19), false),
        ("errors only", times(&error, 20), true),
        ("503 only", times(&answered(503), 20), true),
        ("429 only", times(&answered(429), 20), true),
        ("refusals only: it is there", times(&refusal, 40), false),
        ("gone, says somebody who is there", times(&answered(410), 40), false),
        ("redirects only", times(&answered(302), 40), false),
        ("errors of long ago", [times(&error, 10), times(&ok, 20), times(&error, 10)].concat(), false),
    ] {
        let (breaker, changes) = after(&tries);
        assert_eq!(changes.last(), Some(&opens.then_some(BreakerChange::Opened)), "{what}");
        assert!(changes.iter().rev().skip(1).all(Option::is_none), "{what}: {changes:?}");
        assert_eq!(breaker.open_since().is_some(), opens, "{what}");
    }
}

#[test]
fn a_notification_that_fails_again_and_again_tells_of_the_endpoint_once() {
    let mut breaker = Breaker::default();
    let rules = EndpointBreakerRules::default();
    let mut tell = |outcome, first| breaker.tried(&rules, Tried { outcome, first, probe: false }, START, 0);
    let (ok, error) = (answered(200), answered(500));
    for _ in 0..10 {
        assert_eq!(tell(&ok, true), None);
        assert_eq!(tell(&error, true), None);
    }
    for _ in 0..100 {
        assert_eq!(tell(&error, false), None);
    }
    assert_eq!(tell(&LATE, false), Some(BreakerChange::Opened), "no answer always counts: eleven of the last twenty");
}

#[test]
fn probes_come_later_and_later_and_a_200_ends_them() {
    let (mut breaker, _) = after(&vec![LATE; 5]);
    let mut now = 4;
    for wait in [5, 10, 20, 40, 80, 160, 300, 300] {
        assert_eq!(breaker.permit(), BreakerPermit::ProbeAt { at: at(now + wait) });
        now += wait;
        assert_eq!(probe(&mut breaker, &LATE, now), Some(BreakerChange::StillOpen));
    }
    assert_eq!(breaker.open_since(), Some(at(4)));
    assert_eq!(probe(&mut breaker, &answered(200), now + 300), Some(BreakerChange::Closed));
    assert_eq!(breaker, Breaker::default(), "it begins anew");
    assert!(breaker.is_blank());
}

#[test]
fn what_closes_it_and_what_does_not() {
    for (outcome, closes) in
        [(answered(200), true), (answered(404), true), (answered(500), false), (answered(503), false), (LATE, false)]
    {
        for is_probe in [true, false] {
            let (mut breaker, _) = after(&vec![LATE; 5]);
            let tried = Tried { outcome: &outcome, first: true, probe: is_probe };
            let change = breaker.tried(&EndpointBreakerRules::default(), tried, at(9), 0);
            let expected = match (closes, is_probe) {
                (true, _) => Some(BreakerChange::Closed),
                (false, true) => Some(BreakerChange::StillOpen),
                (false, false) => None,
            };
            assert_eq!(change, expected, "{outcome:?}, probe {is_probe}");
            assert_eq!(breaker.open_since().is_none(), closes);
        }
    }
}

#[test]
fn a_probe_that_finds_nothing_waits_for_what_comes() {
    let (mut breaker, _) = after(&vec![LATE; 5]);
    breaker.probe();
    breaker.nothing_to_try();
    assert_eq!(breaker.permit(), BreakerPermit::Next);
    assert_eq!(probe(&mut breaker, &LATE, 1_000), Some(BreakerChange::StillOpen));
    assert_eq!(breaker.permit(), BreakerPermit::ProbeAt { at: at(1_010) });
    breaker.probe();
    breaker.not_tried(at(1_011));
    assert_eq!(breaker.permit(), BreakerPermit::ProbeAt { at: at(1_011) }, "the store was away");
    breaker.nothing_to_try();
    assert_eq!(breaker.permit(), BreakerPermit::ProbeAt { at: at(1_011) }, "no look was under way");
}

#[test]
fn an_endpoint_is_left_alone_for_as_long_as_it_asks() {
    for (outcome, seconds) in
        [(asked(429, 30), 30), (asked(503, 1), 1), (asked(503, 86_400), 300), (asked(429, 86_400), 300)]
    {
        let (mut breaker, changes) = after(&[outcome]);
        assert_eq!(changes, [Some(BreakerChange::Asked)]);
        assert_eq!(breaker.permit(), BreakerPermit::ProbeAt { at: at(seconds) });
        assert_eq!(probe(&mut breaker, &LATE, seconds), Some(BreakerChange::StillOpen));
        assert_eq!(breaker.permit(), BreakerPermit::ProbeAt { at: at(seconds + 5) }, "and then it begins as usual");
    }
    for outcome in [asked(500, 30), asked(200, 30), asked(429, 0)] {
        assert_eq!(after(&[outcome]).1, [None]);
    }
}

#[test]
fn no_wait_is_longer_than_the_longest() {
    for (jitter, wait) in [(-200, 240), (0, 300), (1, 300), (200, 300)] {
        let (mut breaker, _) = after(&vec![LATE; 5]);
        for _ in 0..7 {
            probe(&mut breaker, &LATE, 9);
        }
        breaker.probe();
        let tried = Tried { outcome: &LATE, first: false, probe: true };
        breaker.tried(&EndpointBreakerRules::default(), tried, at(1_000), jitter);
        assert_eq!(breaker.permit(), BreakerPermit::ProbeAt { at: at(1_000 + wait) }, "jitter {jitter}");
    }
}

#[test]
fn probes_are_spread() {
    for (jitter, micros) in [(-1_000, 4_000_000), (0, 5_000_000), (100, 5_500_000), (1_000, 6_000_000)] {
        let mut breaker = Breaker::default();
        let tried = Tried { outcome: &LATE, first: true, probe: false };
        let rules = EndpointBreakerRules { unreached_in_a_row: 1, ..EndpointBreakerRules::default() };
        assert_eq!(breaker.tried(&rules, tried, START, jitter), Some(BreakerChange::Opened));
        assert_eq!(breaker.permit(), BreakerPermit::ProbeAt { at: START.plus(Duration::from_micros(micros)) });
    }
}
