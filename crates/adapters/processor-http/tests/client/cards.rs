use std::net::TcpListener;
use std::time::{Duration, Instant};

use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{
    AuthorizeRequest, IssuerChecks, Processor, ProcessorReply, RefundRequest, StatusReply, VoidRequest, Waiting,
};
use dropin_processor_http::{HttpProcessor, ProcessorConfig};

use crate::harness::{
    CODE_MATCHES, KEY, PATIENT, PLAIN, about, approved, authorized, capture, card, checked, config_for, eur, harness,
    key, merchant, press, question,
};

#[actix_web::test]
async fn authorize_capture_a_part_and_refund_a_part_of_that() {
    let harness = harness(PATIENT).await;
    let authorization = key();
    assert_eq!(harness.processor.authorize(card(authorization, PLAIN, 10_00)).await, authorized(10_00, false));
    let request = capture(authorization, 4_00);
    assert_eq!(harness.processor.capture(request.clone()).await, approved(4_00));
    assert_eq!(harness.processor.capture(request.clone()).await, approved(4_00), "the same key has one effect");
    assert_eq!(
        harness.processor.status(question(request.key, OpKind::Capture)).await,
        StatusReply::Known(approved(4_00))
    );
    let refund = RefundRequest {
        processor: None,
        key: key(),
        merchant_id: merchant(),
        authorization,
        reference: None,
        amount: eur(3_00),
    };
    assert_eq!(harness.processor.refund(refund.clone()).await, approved(3_00));
    assert_eq!(harness.processor.refund(refund).await, approved(3_00), "the same key has one effect");
    let too_much = RefundRequest {
        processor: None,
        key: key(),
        merchant_id: merchant(),
        authorization,
        reference: None,
        amount: eur(2_00),
    };
    let answer = harness.processor.refund(too_much).await;
    assert!(matches!(answer, ProcessorReply::Declined { retryable: false, .. }), "{answer:?}");
}

#[actix_web::test]
async fn a_voided_authorization_is_over() {
    let harness = harness(PATIENT).await;
    let authorization = key();
    harness.processor.authorize(card(authorization, PLAIN, 10_00)).await;
    let void = || VoidRequest { processor: None, key: key(), merchant_id: merchant(), authorization, reference: None };
    let answer = harness.processor.void(void()).await;
    assert!(matches!(answer, ProcessorReply::Approved { captured: false, under_review: false, .. }), "{answer:?}");
    let over = ProcessorReply::Declined { reason: DeclineReason::Voided, retryable: false, credential: None };
    assert_eq!(harness.processor.void(void()).await, over);
    assert_eq!(harness.processor.capture(capture(authorization, 1_00)).await, over);
}

#[actix_web::test]
async fn declines_say_why() {
    let harness = harness(PATIENT).await;
    for (number, reason) in [
        ("4000000000000002", DeclineReason::Generic),
        ("4000000000009995", DeclineReason::InsufficientFunds),
        ("4000000000009979", DeclineReason::DoNotTryAgain),
    ] {
        let answer = harness.processor.authorize(card(key(), number, 1_00)).await;
        assert_eq!(answer, ProcessorReply::Declined { reason, retryable: false, credential: None });
    }
    let authorization = key();
    harness.processor.authorize(card(authorization, "4000000000000341", 1_00)).await;
    let refused = ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: false, credential: None };
    assert_eq!(harness.processor.capture(capture(authorization, 1_00)).await, refused);
}

#[actix_web::test]
async fn a_review_of_ours_is_always_welcome() {
    let harness = harness(PATIENT).await;
    let key = key();
    let (amount, checks) = (Some(eur(2_00)), CODE_MATCHES);
    let held = ProcessorReply::Approved { amount, captured: false, under_review: true, credential: None, checks };
    assert_eq!(harness.processor.authorize(card(key, "4000000000009235", 2_00)).await, held);
    assert_eq!(harness.processor.status(about(key)).await, StatusReply::Known(held));
}

#[actix_web::test]
async fn a_challenge_is_decided_by_the_shopper() {
    let harness = harness(PATIENT).await;
    let declined = |reason| ProcessorReply::Declined { reason, retryable: false, credential: None };
    for (choice, outcome) in [
        ("succeed", authorized(5_00, true)),
        ("fail", declined(DeclineReason::AuthenticationFailed)),
        ("cancel", declined(DeclineReason::CancelledByShopper)),
    ] {
        let key = key();
        let page = harness.page_of(card(key, "4000000000003220", 5_00)).await;
        press(&page, choice).await;
        assert_eq!(harness.processor.status(about(key)).await, StatusReply::Known(outcome), "{choice}");
    }
}

#[actix_web::test]
async fn a_challenge_that_is_asked_for_is_decided_by_the_shopper() {
    let harness = harness(PATIENT).await;
    let declined = |reason| ProcessorReply::Declined { reason, retryable: false, credential: None };
    for (number, choice, outcome) in [
        (PLAIN, "succeed", authorized(5_00, true)),
        (PLAIN, "fail", declined(DeclineReason::AuthenticationFailed)),
        ("4000000000000002", "succeed", declined(DeclineReason::Generic)),
    ] {
        let key = key();
        let page = harness.page_of(AuthorizeRequest { challenge: true, ..card(key, number, 5_00) }).await;
        press(&page, choice).await;
        assert_eq!(harness.processor.status(about(key)).await, StatusReply::Known(outcome), "{number} {choice}");
    }
    let away = AuthorizeRequest { challenge: true, return_url: None, ..card(key(), PLAIN, 5_00) };
    assert_eq!(harness.processor.authorize(away).await, declined(DeclineReason::AuthenticationFailed));
}

#[actix_web::test]
async fn what_the_issuer_checked_comes_with_its_yes_and_by_its_key() {
    let harness = harness(PATIENT).await;
    for (number, checks) in [
        (PLAIN, CODE_MATCHES),
        ("4000000000000101", IssuerChecks { code_matches: Some(false), ..CODE_MATCHES }),
        ("4000000000000036", IssuerChecks { address_matches: Some(false), ..CODE_MATCHES }),
    ] {
        let key = key();
        assert_eq!(harness.processor.authorize(card(key, number, 5_00)).await, checked(5_00, checks), "{number}");
        assert_eq!(harness.processor.status(about(key)).await, StatusReply::Known(checked(5_00, checks)), "{number}");
    }
}

#[actix_web::test]
async fn without_a_way_back_there_is_no_challenge() {
    let harness = harness(PATIENT).await;
    let mut request = card(key(), "4000000000003220", 5_00);
    request.return_url = None;
    let declined = ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: false, credential: None };
    assert_eq!(harness.processor.authorize(request).await, declined);
}

#[actix_web::test]
async fn done_but_500_is_unknown_and_found_by_its_key() {
    let harness = harness(PATIENT).await;
    let key = key();
    let answer = harness.processor.authorize(card(key, "4000000000000119", 7_00)).await;
    assert!(matches!(answer, ProcessorReply::Unknown { .. }), "{answer:?}");
    assert_eq!(harness.processor.status(about(key)).await, StatusReply::Known(authorized(7_00, false)));
}

#[actix_web::test]
async fn silence_ends_at_the_deadline_and_an_abandoned_key_never_charges() {
    let harness = harness(Duration::from_millis(400)).await;
    let key = key();
    let begun = Instant::now();
    let answer = harness.processor.authorize(card(key, "4000000000003014", 7_00)).await;
    assert!(matches!(answer, ProcessorReply::Unknown { .. }), "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(harness.processor.status(about(key)).await, StatusReply::Absent);
    assert_eq!(harness.processor.abandon(about(key)).await, StatusReply::Known(ProcessorReply::Abandoned));
    let late = harness.processor.authorize(card(key, PLAIN, 7_00)).await;
    assert_eq!(late, ProcessorReply::Abandoned, "a late arrival is refused");
}

#[actix_web::test]
async fn captures_and_refunds_that_are_pending_end() {
    let harness = harness(PATIENT).await;
    let authorization = key();
    harness.processor.authorize(card(authorization, "4000000000002016", 3_00)).await;
    let request = capture(authorization, 3_00);
    let pending = ProcessorReply::Pending(Waiting::Processor);
    assert_eq!(harness.processor.capture(request.clone()).await, pending);
    assert_eq!(harness.outcome(request.key, OpKind::Capture).await, approved(3_00));
    let declined = ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: false, credential: None };
    for (number, outcome) in [("4000000000007726", approved(1_00)), ("4000000000005126", declined)] {
        let (authorization, refund) = (key(), key());
        harness.processor.authorize(card(authorization, number, 3_00)).await;
        assert_eq!(harness.processor.capture(capture(authorization, 3_00)).await, approved(3_00));
        let request = RefundRequest {
            processor: None,
            key: refund,
            merchant_id: merchant(),
            authorization,
            reference: None,
            amount: eur(1_00),
        };
        assert_eq!(harness.processor.refund(request).await, pending);
        assert_eq!(harness.outcome(refund, OpKind::Refund).await, outcome);
    }
}

#[actix_web::test]
async fn nobody_there_means_surely_not_sent() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let processor = HttpProcessor::start(config_for(&format!("http://{free}"), PATIENT)).unwrap();
    assert_eq!(processor.authorize(card(key(), PLAIN, 1_00)).await, ProcessorReply::NotSent);
    assert!(matches!(processor.status(about(key())).await, StatusReply::Unreachable { .. }));
}

#[actix_web::test]
async fn a_wrong_bearer_key_is_neither_yes_nor_no() {
    let harness = harness(PATIENT).await;
    let config = ProcessorConfig::new(&harness.base, "another-key".to_owned(), PATIENT).unwrap();
    let processor = HttpProcessor::start(config).unwrap();
    let answer = processor.authorize(card(key(), PLAIN, 1_00)).await;
    assert!(matches!(answer, ProcessorReply::Unknown { .. }), "{answer:?}");
    // The key is replaced while the client runs.
    processor.key().replace(KEY.to_owned());
    assert_eq!(processor.authorize(card(key(), PLAIN, 1_00)).await, authorized(1_00, false));
}
