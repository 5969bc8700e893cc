use std::net::TcpListener;
use std::time::{Duration, Instant};

use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{Processor, ProcessorAnswer, RefundRequest, StatusAnswer, VoidRequest, Waiting};
use dropin_processor_http::{HttpProcessor, ProcessorConfig};

use crate::bench::{PLAIN, about, approved, bench, capture, card, config_for, eur, key, merchant, press, question};

const PATIENT: Duration = Duration::from_secs(5);

#[actix_web::test]
async fn authorize_capture_a_part_and_refund_a_part_of_that() {
    let bench = bench(PATIENT).await;
    let authorization = key();
    assert_eq!(bench.processor.authorize(card(authorization, PLAIN, 10_00)).await, approved(10_00));
    let request = capture(authorization, 4_00);
    assert_eq!(bench.processor.capture(request.clone()).await, approved(4_00));
    assert_eq!(bench.processor.capture(request.clone()).await, approved(4_00), "the same key has one effect");
    assert_eq!(
        bench.processor.status(question(request.key, OpKind::Capture)).await,
        StatusAnswer::Known(approved(4_00))
    );
    let refund = RefundRequest { key: key(), merchant_id: merchant(), authorization, amount: eur(3_00) };
    assert_eq!(bench.processor.refund(refund.clone()).await, approved(3_00));
    assert_eq!(bench.processor.refund(refund).await, approved(3_00), "the same key has one effect");
    let too_much = RefundRequest { key: key(), merchant_id: merchant(), authorization, amount: eur(2_00) };
    let answer = bench.processor.refund(too_much).await;
    assert!(matches!(answer, ProcessorAnswer::Declined { retryable: false, .. }), "{answer:?}");
}

#[actix_web::test]
async fn a_voided_authorization_is_over() {
    let bench = bench(PATIENT).await;
    let authorization = key();
    bench.processor.authorize(card(authorization, PLAIN, 10_00)).await;
    let void = || VoidRequest { key: key(), merchant_id: merchant(), authorization };
    let answer = bench.processor.void(void()).await;
    assert!(matches!(answer, ProcessorAnswer::Approved { captured: false, under_review: false, .. }), "{answer:?}");
    let over = ProcessorAnswer::Declined { reason: DeclineReason::Voided, retryable: false };
    assert_eq!(bench.processor.void(void()).await, over);
    assert_eq!(bench.processor.capture(capture(authorization, 1_00)).await, over);
}

#[actix_web::test]
async fn declines_say_why() {
    let bench = bench(PATIENT).await;
    for (number, reason) in
        [("4000000000000002", DeclineReason::Generic), ("4000000000009995", DeclineReason::InsufficientFunds)]
    {
        let answer = bench.processor.authorize(card(key(), number, 1_00)).await;
        assert_eq!(answer, ProcessorAnswer::Declined { reason, retryable: false });
    }
    let authorization = key();
    bench.processor.authorize(card(authorization, "4000000000000341", 1_00)).await;
    let refused = ProcessorAnswer::Declined { reason: DeclineReason::Generic, retryable: false };
    assert_eq!(bench.processor.capture(capture(authorization, 1_00)).await, refused);
}

#[actix_web::test]
async fn a_review_of_ours_is_always_welcome() {
    let bench = bench(PATIENT).await;
    let key = key();
    let held = ProcessorAnswer::Approved { amount: Some(eur(2_00)), captured: false, under_review: true };
    assert_eq!(bench.processor.authorize(card(key, "4000000000009235", 2_00)).await, held);
    assert_eq!(bench.processor.status(about(key)).await, StatusAnswer::Known(held));
}

#[actix_web::test]
async fn a_challenge_is_decided_by_the_shopper() {
    let bench = bench(PATIENT).await;
    let declined = |reason| ProcessorAnswer::Declined { reason, retryable: false };
    for (choice, outcome) in [
        ("succeed", approved(5_00)),
        ("fail", declined(DeclineReason::AuthenticationFailed)),
        ("cancel", declined(DeclineReason::CancelledByShopper)),
    ] {
        let key = key();
        let page = bench.page_of(card(key, "4000000000003220", 5_00)).await;
        press(&page, choice).await;
        assert_eq!(bench.processor.status(about(key)).await, StatusAnswer::Known(outcome), "{choice}");
    }
}

#[actix_web::test]
async fn without_a_way_back_there_is_no_challenge() {
    let bench = bench(PATIENT).await;
    let mut request = card(key(), "4000000000003220", 5_00);
    request.return_url = None;
    let declined = ProcessorAnswer::Declined { reason: DeclineReason::Generic, retryable: false };
    assert_eq!(bench.processor.authorize(request).await, declined);
}

#[actix_web::test]
async fn done_but_500_is_unknown_and_found_by_its_key() {
    let bench = bench(PATIENT).await;
    let key = key();
    let answer = bench.processor.authorize(card(key, "4000000000000119", 7_00)).await;
    assert!(matches!(answer, ProcessorAnswer::Unknown { .. }), "{answer:?}");
    assert_eq!(bench.processor.status(about(key)).await, StatusAnswer::Known(approved(7_00)));
}

#[actix_web::test]
async fn silence_ends_at_the_deadline_and_an_abandoned_key_never_charges() {
    let bench = bench(Duration::from_millis(400)).await;
    let key = key();
    let begun = Instant::now();
    let answer = bench.processor.authorize(card(key, "4000000000003014", 7_00)).await;
    assert!(matches!(answer, ProcessorAnswer::Unknown { .. }), "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(bench.processor.status(about(key)).await, StatusAnswer::Absent);
    assert_eq!(bench.processor.abandon(about(key)).await, StatusAnswer::Known(ProcessorAnswer::Abandoned));
    let late = bench.processor.authorize(card(key, PLAIN, 7_00)).await;
    assert_eq!(late, ProcessorAnswer::Abandoned, "a late arrival is refused");
}

#[actix_web::test]
async fn captures_and_refunds_that_are_pending_end() {
    let bench = bench(PATIENT).await;
    let authorization = key();
    bench.processor.authorize(card(authorization, "4000000000002016", 3_00)).await;
    let request = capture(authorization, 3_00);
    let pending = ProcessorAnswer::Pending(Waiting::Processor);
    assert_eq!(bench.processor.capture(request.clone()).await, pending);
    assert_eq!(bench.outcome(request.key, OpKind::Capture).await, approved(3_00));
    let declined = ProcessorAnswer::Declined { reason: DeclineReason::Generic, retryable: false };
    for (number, outcome) in [("4000000000007726", approved(1_00)), ("4000000000005126", declined)] {
        let (authorization, refund) = (key(), key());
        bench.processor.authorize(card(authorization, number, 3_00)).await;
        assert_eq!(bench.processor.capture(capture(authorization, 3_00)).await, approved(3_00));
        let request = RefundRequest { key: refund, merchant_id: merchant(), authorization, amount: eur(1_00) };
        assert_eq!(bench.processor.refund(request).await, pending);
        assert_eq!(bench.outcome(refund, OpKind::Refund).await, outcome);
    }
}

#[actix_web::test]
async fn nobody_there_means_surely_not_sent() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let processor = HttpProcessor::start(config_for(&format!("http://{free}"), PATIENT)).unwrap();
    assert_eq!(processor.authorize(card(key(), PLAIN, 1_00)).await, ProcessorAnswer::NotSent);
    assert!(matches!(processor.status(about(key())).await, StatusAnswer::Unreachable { .. }));
}

#[actix_web::test]
async fn a_wrong_bearer_key_is_neither_yes_nor_no() {
    let bench = bench(PATIENT).await;
    let config = ProcessorConfig::new(&bench.base, "another-key".to_owned(), PATIENT).unwrap();
    let processor = HttpProcessor::start(config).unwrap();
    let answer = processor.authorize(card(key(), PLAIN, 1_00)).await;
    assert!(matches!(answer, ProcessorAnswer::Unknown { .. }), "{answer:?}");
}
