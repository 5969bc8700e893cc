use std::net::TcpListener;
use std::time::{Duration, Instant};

use actix_web::rt;
use dropin_ports::{AuthorizeRequest, Processor, ProcessorAnswer, ProcessorJournal, Question, StatusAnswer};
use dropin_processor_http::{BreakerRules, BreakerState, HttpProcessor, Occupancy, Room};
use futures_util::future::join_all;

use crate::bench::{PLAIN, about, approved, bench, card, config_for, key, merchant, method};
use crate::log_lines;
use crate::puppet::{Mood, Puppet};

const RULES: BreakerRules = BreakerRules {
    failures: 5,
    within: Duration::from_secs(10),
    first_pause: Duration::from_millis(50),
    longest_pause: Duration::from_millis(200),
    probe_deadline: Duration::from_millis(200),
};
const ROOM: Room = Room { payments: 16, questions: 4, share: 50 };
/// No answer comes within this where none is wanted; every other one does.
const DEADLINE: Duration = Duration::from_secs(1);

fn client(base: &str, deadline: Duration) -> HttpProcessor {
    HttpProcessor::start(config_for(base, deadline).with_room(ROOM).with_breaker(RULES)).unwrap()
}

async fn pay(processor: &HttpProcessor) -> ProcessorAnswer {
    processor.authorize(card(key(), PLAIN, 1_00)).await
}

async fn until(what: &str, mut met: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !met() {
        assert!(begun.elapsed() < Duration::from_secs(20), "waited in vain for: {what}");
        rt::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn until_state(processor: &HttpProcessor, state: BreakerState) {
    until(state.as_str(), || processor.health().breaker == state).await;
}

fn count(processor: &HttpProcessor, call: &str, outcome: &str) -> u64 {
    let outcomes = processor.health().outcomes;
    outcomes.iter().find(|one| (one.call, one.outcome) == (call, outcome)).unwrap().count
}

fn is_unknown(answer: &ProcessorAnswer) -> bool {
    matches!(answer, ProcessorAnswer::Unknown { .. })
}

#[actix_web::test]
async fn a_processor_that_is_not_there_is_left_alone_until_it_is() {
    log_lines::record();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let processor = client(&format!("http://{free}"), DEADLINE);
    for _ in 0..RULES.failures {
        assert_eq!(pay(&processor).await, ProcessorAnswer::NotSent);
    }
    until_state(&processor, BreakerState::Open).await;
    assert_eq!(count(&processor, "authorize", "not_sent"), 5);
    assert_eq!(pay(&processor).await, ProcessorAnswer::NotSent);
    assert!(
        matches!(processor.status(about(key())).await, StatusAnswer::Unreachable { why } if why.contains("held back"))
    );
    assert!(matches!(processor.abandon(about(key())).await, StatusAnswer::Unreachable { .. }));
    assert!(processor.journal(0, 1).await.is_err());
    for call in ["authorize", "status", "abandon", "journal"] {
        assert_eq!(count(&processor, call, "held_back"), 1, "{call}");
    }
    let puppet = Puppet::start_at(free, Mood::Well).await;
    until_state(&processor, BreakerState::Closed).await;
    assert_eq!(pay(&processor).await, approved(1_00));
    assert_eq!(processor.status(about(key())).await, StatusAnswer::Absent);
    assert_eq!((processor.health().opened, puppet.payments().ever()), (1, 1));
    let lines = log_lines::about(&free.to_string());
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("WARN") && lines[1].starts_with("INFO"), "{lines:?}");
}

#[actix_web::test]
async fn a_processor_that_answers_nobody_is_asked_by_one_question_at_a_time() {
    let puppet = Puppet::start(Mood::Dead).await;
    let processor = client(&puppet.base(), DEADLINE);
    let answers = join_all((0..RULES.failures).map(|_| pay(&processor))).await;
    assert!(answers.iter().all(is_unknown), "{answers:?}");
    until_state(&processor, BreakerState::Open).await;
    let reached = puppet.payments().ever();
    until_state(&processor, BreakerState::HalfOpen).await;
    // Whether somebody is being asked or not: nobody else passes.
    let mut half_open = 0;
    while puppet.questions().ever() < 4 {
        half_open += usize::from(processor.health().breaker == BreakerState::HalfOpen);
        assert_eq!(pay(&processor).await, ProcessorAnswer::NotSent);
        rt::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(half_open > 0);
    assert_eq!((puppet.payments().ever(), puppet.questions().most()), (reached, 1));
    puppet.turn(Mood::Well);
    until_state(&processor, BreakerState::Closed).await;
    assert_eq!(pay(&processor).await, approved(1_00));
    assert_eq!(processor.health().opened, 1);
}

#[actix_web::test]
async fn a_gateway_without_a_processor_is_no_answer() {
    let puppet = Puppet::start(Mood::Gateway).await;
    let processor = client(&puppet.base(), DEADLINE);
    for _ in 0..RULES.failures {
        assert!(is_unknown(&pay(&processor).await));
    }
    until_state(&processor, BreakerState::Open).await;
    assert_eq!(pay(&processor).await, ProcessorAnswer::NotSent);
    puppet.turn(Mood::Well);
    until_state(&processor, BreakerState::Closed).await;
}

#[actix_web::test]
async fn slow_payments_alone_hold_back_nobody() {
    let bench = bench(DEADLINE).await;
    let rules = BreakerRules { probe_deadline: Duration::from_secs(10), ..RULES };
    let processor =
        HttpProcessor::start(config_for(&bench.base, DEADLINE).with_room(ROOM).with_breaker(rules)).unwrap();
    let silent = || processor.authorize(card(key(), "4000000000003014", 1_00));
    for _ in 0..2 {
        let answers = join_all((0..RULES.failures * 2).map(|_| silent())).await;
        assert!(answers.iter().all(is_unknown), "{answers:?}");
        assert_eq!(pay(&processor).await, approved(1_00));
    }
    assert_eq!((processor.health().breaker, processor.health().opened), (BreakerState::Closed, 0));
    assert_eq!(count(&processor, "authorize", "held_back"), 0);
}

#[actix_web::test]
async fn a_question_that_is_answered_speaks_for_the_processor() {
    let puppet = Puppet::start(Mood::Slow).await;
    let rules = BreakerRules { probe_deadline: Duration::from_secs(10), ..RULES };
    let config = config_for(&puppet.base(), DEADLINE).with_room(ROOM).with_breaker(rules);
    let processor = HttpProcessor::start(config).unwrap();
    for round in 1..=2 {
        // Nobody but the guard itself is answered.
        let answers = join_all((0..RULES.failures).map(|_| pay(&processor))).await;
        assert!(answers.iter().all(is_unknown), "{answers:?}");
        until("a question", || puppet.questions().ever() == round && puppet.questions().now() == 0).await;
    }
    assert_eq!((processor.health().breaker, processor.health().opened), (BreakerState::Closed, 0));
}

#[actix_web::test]
async fn a_thousand_callers_do_not_pile_up_before_a_dead_processor() {
    let puppet = Puppet::start(Mood::Dead).await;
    let processor = client(&puppet.base(), DEADLINE);
    let begun = Instant::now();
    let answers = join_all((0..1_000).map(|_| pay(&processor))).await;
    let unknown = answers.iter().filter(|answer| is_unknown(answer)).count();
    let not_sent = answers.iter().filter(|answer| **answer == ProcessorAnswer::NotSent).count();
    assert_eq!(unknown + not_sent, 1_000);
    // The line is left after half the deadline: hardly anybody gets a place but those who got one at once.
    let reached = puppet.payments().ever();
    assert!(puppet.payments().most() == 16 && reached < 64 && unknown < 64, "{reached} {unknown}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    until_state(&processor, BreakerState::Open).await;
    let health = processor.health();
    assert_eq!((health.payments.under_way, health.payments.waiting, health.payments.room), (0, 0, 16));
    let again = join_all((0..1_000).map(|_| pay(&processor))).await;
    assert!(again.iter().all(|answer| *answer == ProcessorAnswer::NotSent));
    assert_eq!(puppet.payments().ever(), reached, "nobody was let through");
}

#[actix_web::test]
async fn payments_and_questions_have_rooms_of_their_own() {
    let puppet = Puppet::start(Mood::Slow).await;
    let patient = Duration::from_secs(20);
    let processor = client(&puppet.base(), patient);
    let payments = rt::spawn({
        let processor = processor.clone();
        async move { join_all((0..ROOM.payments).map(|_| pay(&processor))).await }
    });
    until("a room full of payments", || puppet.payments().now() == ROOM.payments).await;
    assert_eq!(processor.status(about(key())).await, StatusAnswer::Absent);
    puppet.turn(Mood::Discreet);
    assert!(payments.await.unwrap().iter().all(|answer| *answer == approved(1_00)));
    let questions = rt::spawn({
        let processor = processor.clone();
        async move { join_all((0..ROOM.questions).map(|_| processor.status(about(key())))).await }
    });
    until("a room full of questions", || puppet.questions().now() == ROOM.questions).await;
    assert_eq!(processor.health().questions.under_way, ROOM.questions);
    assert_eq!(processor.authorize(method(key(), "PAYPAL", 1_00)).await, approved(1_00));
    puppet.turn(Mood::Well);
    assert!(questions.await.unwrap().iter().all(|answer| *answer == StatusAnswer::Absent));
}

#[actix_web::test]
async fn the_line_is_left_after_half_the_deadline() {
    let puppet = Puppet::start(Mood::Slow).await;
    let processor = client(&puppet.base(), Duration::from_secs(2));
    let begun = Instant::now();
    let answers = join_all((0..=ROOM.payments).map(|_| async {
        let answer = pay(&processor).await;
        (answer, begun.elapsed())
    }))
    .await;
    let (last, left) = answers.last().unwrap();
    assert_eq!(*last, ProcessorAnswer::NotSent);
    assert!(*left < Duration::from_millis(1_900), "{left:?}");
    assert!(answers[..ROOM.payments].iter().all(|(answer, _)| is_unknown(answer)), "{answers:?}");
}

#[actix_web::test]
async fn one_merchant_with_cards_that_never_answer_leaves_half_the_room_to_others() {
    let bench = bench(DEADLINE).await;
    let patient = Duration::from_secs(20);
    let processor = HttpProcessor::start(config_for(&bench.base, patient).with_room(ROOM).with_breaker(RULES)).unwrap();
    let (greedy, other) = (merchant(), merchant());
    let of = |merchant_id, number| AuthorizeRequest { merchant_id, ..card(key(), number, 1_00) };
    let crowd: Vec<_> = (0..4 * ROOM.payments)
        .map(|_| {
            let (processor, request) = (processor.clone(), of(greedy, "4000000000003014"));
            rt::spawn(async move { processor.authorize(request).await })
        })
        .collect();
    until("a crowd", || {
        let Occupancy { under_way, waiting, .. } = processor.health().payments;
        under_way + waiting == crowd.len()
    })
    .await;
    for _ in 0..ROOM.payments {
        assert_eq!(processor.authorize(of(other, PLAIN)).await, approved(1_00));
    }
    assert_eq!(processor.health().payments.under_way, ROOM.payments / 2);
    let question = || Question { merchant_id: greedy, ..about(key()) };
    assert_eq!(processor.status(question()).await, StatusAnswer::Absent, "the other room is another matter");
    crowd.iter().for_each(rt::task::JoinHandle::abort);
}
