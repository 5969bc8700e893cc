use std::net::TcpListener;
use std::time::{Duration, Instant};

use actix_web::rt;
use dropin_ports::{AuthorizeRequest, OperationQuery, Processor, ProcessorJournal, ProcessorReply, StatusReply};
use dropin_processor_http::{BreakerState, CallLimits, HttpProcessor, Occupancy, ProcessorBreakerRules};
use futures_util::future::join_all;

use crate::fake_processor::{Behaviour, FakeProcessor};
use crate::harness::{PLAIN, about, approved, authorized, card, config_for, harness, key, merchant, method};
use crate::log_lines;

const RULES: ProcessorBreakerRules = ProcessorBreakerRules {
    failures: 5,
    within: Duration::from_secs(10),
    first_pause: Duration::from_millis(50),
    longest_pause: Duration::from_millis(200),
    probe_deadline: Duration::from_millis(200),
};
const CALL_LIMITS: CallLimits = CallLimits { payments: 16, questions: 4, share: 50 };
/// No answer comes within this where none is wanted; every other one does.
const DEADLINE: Duration = Duration::from_secs(1);

fn client(base: &str, deadline: Duration) -> HttpProcessor {
    HttpProcessor::start(config_for(base, deadline).with_call_limits(CALL_LIMITS).with_breaker(RULES)).unwrap()
}

async fn pay(processor: &HttpProcessor) -> ProcessorReply {
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

fn is_unknown(answer: &ProcessorReply) -> bool {
    matches!(answer, ProcessorReply::Unknown { .. })
}

#[actix_web::test]
async fn a_processor_that_is_not_there_is_left_alone_until_it_is() {
    log_lines::record();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let processor = client(&format!("http://{free}"), DEADLINE);
    for _ in 0..RULES.failures {
        assert_eq!(pay(&processor).await, ProcessorReply::NotSent);
    }
    until_state(&processor, BreakerState::Open).await;
    assert_eq!(count(&processor, "authorize", "not_sent"), 5);
    assert_eq!(pay(&processor).await, ProcessorReply::NotSent);
    assert!(
        matches!(processor.status(about(key())).await, StatusReply::Unreachable { why } if why.contains("held back"))
    );
    assert!(matches!(processor.abandon(about(key())).await, StatusReply::Unreachable { .. }));
    assert!(processor.journal(0, 1).await.is_err());
    for call in ["authorize", "status", "abandon", "journal"] {
        assert_eq!(count(&processor, call, "held_back"), 1, "{call}");
    }
    let fake_processor = FakeProcessor::start_at(free, Behaviour::Well).await;
    until_state(&processor, BreakerState::Closed).await;
    assert_eq!(pay(&processor).await, approved(1_00));
    assert_eq!(processor.status(about(key())).await, StatusReply::Absent);
    assert_eq!((processor.health().opened, fake_processor.payments().ever()), (1, 1));
    let lines = log_lines::about(&free.to_string());
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("WARN") && lines[1].starts_with("INFO"), "{lines:?}");
}

#[actix_web::test]
async fn a_processor_that_answers_nobody_is_asked_by_one_question_at_a_time() {
    let fake_processor = FakeProcessor::start(Behaviour::Dead).await;
    let processor = client(&fake_processor.base(), DEADLINE);
    let answers = join_all((0..RULES.failures).map(|_| pay(&processor))).await;
    assert!(answers.iter().all(is_unknown), "{answers:?}");
    until_state(&processor, BreakerState::Open).await;
    let reached = fake_processor.payments().ever();
    until_state(&processor, BreakerState::HalfOpen).await;
    // Whether somebody is being asked or not: nobody else passes.
    let mut half_open = 0;
    while fake_processor.questions().ever() < 4 {
        half_open += usize::from(processor.health().breaker == BreakerState::HalfOpen);
        assert_eq!(pay(&processor).await, ProcessorReply::NotSent);
        rt::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(half_open > 0);
    assert_eq!((fake_processor.payments().ever(), fake_processor.questions().most()), (reached, 1));
    fake_processor.turn(Behaviour::Well);
    until_state(&processor, BreakerState::Closed).await;
    assert_eq!(pay(&processor).await, approved(1_00));
    assert_eq!(processor.health().opened, 1);
}

#[actix_web::test]
async fn a_gateway_without_a_processor_is_no_answer() {
    let fake_processor = FakeProcessor::start(Behaviour::Gateway).await;
    let processor = client(&fake_processor.base(), DEADLINE);
    for _ in 0..RULES.failures {
        assert!(is_unknown(&pay(&processor).await));
    }
    until_state(&processor, BreakerState::Open).await;
    assert_eq!(pay(&processor).await, ProcessorReply::NotSent);
    fake_processor.turn(Behaviour::Well);
    until_state(&processor, BreakerState::Closed).await;
}

#[actix_web::test]
async fn slow_payments_alone_hold_back_nobody() {
    let harness = harness(DEADLINE).await;
    let rules = ProcessorBreakerRules { probe_deadline: Duration::from_secs(10), ..RULES };
    let processor =
        HttpProcessor::start(config_for(&harness.base, DEADLINE).with_call_limits(CALL_LIMITS).with_breaker(rules))
            .unwrap();
    let silent = || processor.authorize(card(key(), "4000000000003014", 1_00));
    for _ in 0..2 {
        let answers = join_all((0..RULES.failures * 2).map(|_| silent())).await;
        assert!(answers.iter().all(is_unknown), "{answers:?}");
        assert_eq!(pay(&processor).await, authorized(1_00, false));
    }
    assert_eq!((processor.health().breaker, processor.health().opened), (BreakerState::Closed, 0));
    assert_eq!(count(&processor, "authorize", "held_back"), 0);
}

#[actix_web::test]
async fn a_question_that_is_answered_speaks_for_the_processor() {
    let fake_processor = FakeProcessor::start(Behaviour::Slow).await;
    let rules = ProcessorBreakerRules { probe_deadline: Duration::from_secs(10), ..RULES };
    let config = config_for(&fake_processor.base(), DEADLINE).with_call_limits(CALL_LIMITS).with_breaker(rules);
    let processor = HttpProcessor::start(config).unwrap();
    for round in 1..=2 {
        // Nobody but the guard itself is answered.
        let answers = join_all((0..RULES.failures).map(|_| pay(&processor))).await;
        assert!(answers.iter().all(is_unknown), "{answers:?}");
        until("a question", || fake_processor.questions().ever() == round && fake_processor.questions().now() == 0)
            .await;
    }
    assert_eq!((processor.health().breaker, processor.health().opened), (BreakerState::Closed, 0));
}

#[actix_web::test]
async fn a_thousand_callers_do_not_pile_up_before_a_dead_processor() {
    let fake_processor = FakeProcessor::start(Behaviour::Dead).await;
    let processor = client(&fake_processor.base(), DEADLINE);
    let begun = Instant::now();
    let answers = join_all((0..1_000).map(|_| pay(&processor))).await;
    let unknown = answers.iter().filter(|answer| is_unknown(answer)).count();
    let not_sent = answers.iter().filter(|answer| **answer == ProcessorReply::NotSent).count();
    assert_eq!(unknown + not_sent, 1_000);
    // The line is left after half the deadline: hardly anybody gets a place but those who got one at once.
    let reached = fake_processor.payments().ever();
    assert!(fake_processor.payments().most() == 16 && reached < 64 && unknown < 64, "{reached} {unknown}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    until_state(&processor, BreakerState::Open).await;
    let health = processor.health();
    assert_eq!((health.payments.under_way, health.payments.waiting, health.payments.capacity), (0, 0, 16));
    let again = join_all((0..1_000).map(|_| pay(&processor))).await;
    assert!(again.iter().all(|answer| *answer == ProcessorReply::NotSent));
    assert_eq!(fake_processor.payments().ever(), reached, "nobody was let through");
}

#[actix_web::test]
async fn payments_and_questions_have_bulkheads_of_their_own() {
    let fake_processor = FakeProcessor::start(Behaviour::Slow).await;
    let patient = Duration::from_secs(20);
    let processor = client(&fake_processor.base(), patient);
    let payments = rt::spawn({
        let processor = processor.clone();
        async move { join_all((0..CALL_LIMITS.payments).map(|_| pay(&processor))).await }
    });
    until("a room full of payments", || fake_processor.payments().now() == CALL_LIMITS.payments).await;
    assert_eq!(processor.status(about(key())).await, StatusReply::Absent);
    fake_processor.turn(Behaviour::Discreet);
    assert!(payments.await.unwrap().iter().all(|answer| *answer == approved(1_00)));
    let questions = rt::spawn({
        let processor = processor.clone();
        async move { join_all((0..CALL_LIMITS.questions).map(|_| processor.status(about(key())))).await }
    });
    until("a room full of questions", || fake_processor.questions().now() == CALL_LIMITS.questions).await;
    assert_eq!(processor.health().questions.under_way, CALL_LIMITS.questions);
    assert_eq!(processor.authorize(method(key(), "PAYPAL", 1_00)).await, approved(1_00));
    fake_processor.turn(Behaviour::Well);
    assert!(questions.await.unwrap().iter().all(|answer| *answer == StatusReply::Absent));
}

#[actix_web::test]
async fn the_line_is_left_after_half_the_deadline() {
    let fake_processor = FakeProcessor::start(Behaviour::Slow).await;
    let processor = client(&fake_processor.base(), Duration::from_secs(2));
    let begun = Instant::now();
    let answers = join_all((0..=CALL_LIMITS.payments).map(|_| async {
        let answer = pay(&processor).await;
        (answer, begun.elapsed())
    }))
    .await;
    let (last, left) = answers.last().unwrap();
    assert_eq!(*last, ProcessorReply::NotSent);
    assert!(*left < Duration::from_millis(1_900), "{left:?}");
    assert!(answers[..CALL_LIMITS.payments].iter().all(|(answer, _)| is_unknown(answer)), "{answers:?}");
}

#[actix_web::test]
async fn one_merchant_with_cards_that_never_answer_leaves_half_the_capacity_to_others() {
    let harness = harness(DEADLINE).await;
    let patient = Duration::from_secs(20);
    let processor =
        HttpProcessor::start(config_for(&harness.base, patient).with_call_limits(CALL_LIMITS).with_breaker(RULES))
            .unwrap();
    let (greedy, other) = (merchant(), merchant());
    let of = |merchant_id, number| AuthorizeRequest { merchant_id, ..card(key(), number, 1_00) };
    let callers: Vec<_> = (0..4 * CALL_LIMITS.payments)
        .map(|_| {
            let (processor, request) = (processor.clone(), of(greedy, "4000000000003014"));
            rt::spawn(async move { processor.authorize(request).await })
        })
        .collect();
    until("a callers", || {
        let Occupancy { under_way, waiting, .. } = processor.health().payments;
        under_way + waiting == callers.len()
    })
    .await;
    for _ in 0..CALL_LIMITS.payments {
        assert_eq!(processor.authorize(of(other, PLAIN)).await, authorized(1_00, false));
    }
    assert_eq!(processor.health().payments.under_way, CALL_LIMITS.payments / 2);
    let question = || OperationQuery { merchant_id: greedy, ..about(key()) };
    assert_eq!(processor.status(question()).await, StatusReply::Absent, "the other room is another matter");
    callers.iter().for_each(rt::task::JoinHandle::abort);
}
