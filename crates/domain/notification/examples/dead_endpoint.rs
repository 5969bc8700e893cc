//! The notifications of an endpoint that is dead for 35 minutes and comes back: a retry loop over a Schedule and a Breaker. Nothing is sent, and the
//! clock is simulated, so that three hours take no time.
//!
//! `cargo run -p dropin-notification --example dead_endpoint`

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_notification::{
    AttemptOutcome, Breaker, BreakerChange, BreakerPermit, DeliveryFailure, EndpointBreakerRules, EventFilter,
    RetryDecision, Schedule, Tried,
};

/// 2026-11-23T10:00:00Z. A real program asks its clock.
const START: Timestamp = Timestamp::from_micros(1_795_428_000_000_000);
/// Thousandths by which waits are spread. A real program draws them.
const JITTER: [i32; 4] = [0, -200, 137, 80];

/// What the merchant is to be told of: minutes after the start, and the type of the event.
const EVENTS: [(u64, &str); 9] = [
    (0, "ORDER_AUTHORIZED"),
    (3, "ORDER_PROCESSED"),
    (6, "ORDER_AUTHORIZED"),
    (8, "SESSION_COMPLETED"),
    (10, "ORDER_PROCESSED"),
    (15, "ORDER_AUTHORIZED"),
    (25, "ORDER_CANCELLED"),
    (50, "ORDER_AUTHORIZED"),
    (60, "ORDER_REFUNDED"),
];

struct Notification {
    event: &'static str,
    tries: u32,
    first_try: Option<Timestamp>,
}

fn minute(minute: u64) -> Timestamp {
    START.plus(Duration::from_secs(60 * minute))
}

/// The merchant's server: dead, then starting, then well, but for one event that it never learnt to read.
fn receive(event: &str, now: Timestamp) -> AttemptOutcome {
    let answer = |status, retry_after| AttemptOutcome::Answered { status, retry_after };
    if (minute(5)..minute(40)).contains(&now) {
        AttemptOutcome::Failed { why: DeliveryFailure::Refused }
    } else if (minute(40)..minute(45)).contains(&now) {
        answer(503, Some(Duration::from_secs(120)))
    } else if event == "ORDER_REFUNDED" {
        answer(500, None)
    } else {
        answer(200, None)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let filter: EventFilter = "ORDER_*".parse()?;
    let schedule: Schedule = "5s,30s,2m,10m;2h".parse()?;
    let rules = EndpointBreakerRules::default();
    let (mut breaker, mut now, mut jitter) = (Breaker::default(), START, JITTER.into_iter().cycle());
    // By the instant at which each is due; the number keeps two of one instant apart.
    let mut due_at: BTreeMap<(Timestamp, usize), Notification> = (EVENTS.into_iter().enumerate())
        .filter(|(_, (_, event))| filter.admits(event))
        .map(|(number, (at, event))| ((minute(at), number), Notification { event, tries: 0, first_try: None }))
        .collect();
    let (mut delivered, mut parked, mut changes, mut attempts_while_dead) = (Vec::new(), Vec::new(), Vec::new(), 0);
    while let Some(((due, number), mut notification)) = due_at.pop_first() {
        let probe = breaker.permit() != BreakerPermit::All;
        if let BreakerPermit::ProbeAt { at } = breaker.permit() {
            now = now.max(at);
        }
        if probe {
            breaker.probe();
            if now < due {
                breaker.nothing_to_try(); // The next notification is the probe, as soon as it is due.
                breaker.probe();
            }
        }
        now = now.max(due);

        let outcome = receive(notification.event, now);
        attempts_while_dead += u32::from(matches!(outcome, AttemptOutcome::Failed { .. }));
        let first_try = *notification.first_try.get_or_insert(now);
        let tried = Tried { outcome: &outcome, first: notification.tries == 0, probe };
        let jitter = jitter.next().unwrap_or(0);
        let change = breaker.tried(&rules, tried, now, jitter);
        changes.extend(change.map(|change| (now, change)));
        let decision = match breaker.permit() {
            // A failed probe says something of the endpoint, and is no try of the notification's own schedule.
            BreakerPermit::ProbeAt { at } if probe => schedule.after_probe(&outcome, first_try, now, at),
            _ => schedule.after(&outcome, notification.tries + 1, first_try, now, jitter),
        };
        let breaker_change = change.map(|change| format!(", breaker: {change:?}")).unwrap_or_default();
        println!("{now} {}: {outcome:?}{breaker_change}", notification.event);
        match decision {
            RetryDecision::Acknowledged => delivered.push((number, now)),
            RetryDecision::Park => parked.push((notification.event, now)),
            RetryDecision::Hold { at } => drop(due_at.insert((at, number), notification)),
            RetryDecision::Retry { at } => {
                notification.tries += 1;
                due_at.insert((at, number), notification);
            }
        }
    }

    // Two were told before, four waited out the outage and were told within the longest wait of its end, one came after.
    let soon = minute(45).plus(rules.longest_wait);
    assert_eq!(delivered.iter().filter(|(_, at)| *at < minute(5)).count(), 2);
    assert_eq!(delivered.iter().filter(|(_, at)| (minute(45)..soon).contains(at)).count(), 4);
    assert_eq!(delivered.last(), Some(&(7, minute(50))));
    // The dead endpoint was left alone: five attempts until the breaker opened, then a probe every five minutes at most.
    assert!(changes.first().is_some_and(|(_, change)| *change == BreakerChange::Opened));
    assert!(changes.last().is_some_and(|(at, change)| *change == BreakerChange::Closed && *at < soon));
    assert!(attempts_while_dead < 20, "{attempts_while_dead}");
    // What the merchant's server never takes is parked two hours after its first try, for a person to look at.
    assert!(matches!(parked[..], [("ORDER_REFUNDED", at)] if minute(160) < at && at <= minute(180)), "{parked:?}");
    Ok(())
}
