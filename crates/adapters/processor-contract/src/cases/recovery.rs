use dropin_kernel::MerchantId;
use dropin_order::OpKind;
use dropin_ports::{OperationQuery, ProcessorReply, StatusReply};
use uuid::Uuid;

use crate::asking::{
    PLAIN, authorize, authorized, captured, card, eur, fault, is_approved, is_unknown, key, known, register, request,
};
use crate::harness::{ProcessorHarness, ProcessorStep};
use crate::proxy::ProxyFault;

pub async fn what_was_never_asked_is_absent(harness: &dyn ProcessorHarness) {
    let question = || OperationQuery {
        processor: None,
        key: key(),
        merchant_id: MerchantId::new(Uuid::new_v4()),
        kind: OpKind::Authorize,
        reference: None,
    };
    assert_eq!(harness.processor().status(question()).await, StatusReply::Absent);
    assert_eq!(harness.processor().abandon(question()).await, StatusReply::Known(ProcessorReply::Abandoned));
    // It is registered, and no more.
    let asked = register(harness, &mut request(card(PLAIN), eur(1_00))).await;
    assert_eq!(harness.processor().status(asked.query()).await, StatusReply::Absent);
}

pub async fn what_was_abandoned_refuses_a_late_arrival(harness: &dyn ProcessorHarness) {
    let mut request = request(card(PLAIN), eur(1_00));
    let asked = register(harness, &mut request).await;
    let abandoned = StatusReply::Known(ProcessorReply::Abandoned);
    assert_eq!(harness.processor().abandon(asked.query()).await, abandoned);
    assert_eq!(harness.processor().abandon(asked.query()).await, abandoned, "it may be asked again");
    assert_eq!(harness.processor().authorize(request).await, ProcessorReply::Abandoned);
    assert_eq!(harness.processor().status(asked.query()).await, abandoned);
}

pub async fn an_answer_that_is_lost_is_found_by_its_key(harness: &dyn ProcessorHarness) {
    fault(harness, ProcessorStep::Authorize, ProxyFault::LoseAnswer);
    let (asked, reply) = authorize(harness, request(card(PLAIN), eur(10_00))).await;
    assert!(is_unknown(&reply), "{reply:?}");
    assert!(is_approved(&known(harness.processor().status(asked.query()).await)));
    fault(harness, ProcessorStep::Capture, ProxyFault::LoseAnswer);
    let capture = asked.capture(10_00);
    assert!(is_unknown(&harness.processor().capture(capture.clone()).await));
    assert!(is_approved(&known(harness.processor().status(asked.query_of(capture.key, OpKind::Capture)).await)));
    fault(harness, ProcessorStep::Refund, ProxyFault::LoseAnswer);
    let refund = asked.refund(4_00);
    assert!(is_unknown(&harness.processor().refund(refund.clone()).await));
    assert!(is_approved(&known(harness.processor().status(asked.query_of(refund.key, OpKind::Refund)).await)));
    let other = authorized(harness, 5_00).await;
    fault(harness, ProcessorStep::Void, ProxyFault::LoseAnswer);
    let void = other.void();
    assert!(is_unknown(&harness.processor().void(void.clone()).await));
    assert!(is_approved(&known(harness.processor().status(other.query_of(void.key, OpKind::Void)).await)));
}

pub async fn a_request_that_is_lost_did_nothing(harness: &dyn ProcessorHarness) {
    fault(harness, ProcessorStep::Authorize, ProxyFault::LoseRequest);
    let (lost, reply) = authorize(harness, request(card(PLAIN), eur(10_00))).await;
    assert!(is_unknown(&reply), "{reply:?}");
    assert_eq!(harness.processor().status(lost.query()).await, StatusReply::Absent);
    // What follows is asked for again under its key.
    let asked = captured(harness, 10_00).await;
    fault(harness, ProcessorStep::Refund, ProxyFault::LoseRequest);
    let refund = asked.refund(4_00);
    assert!(is_unknown(&harness.processor().refund(refund.clone()).await));
    let question = asked.query_of(refund.key, OpKind::Refund);
    assert_eq!(harness.processor().status(question).await, StatusReply::Absent);
    assert!(is_approved(&harness.processor().refund(refund).await));
    let other = authorized(harness, 10_00).await;
    fault(harness, ProcessorStep::Capture, ProxyFault::LoseRequest);
    let capture = other.capture(10_00);
    assert!(is_unknown(&harness.processor().capture(capture.clone()).await));
    let question = other.query_of(capture.key, OpKind::Capture);
    assert_eq!(harness.processor().status(question).await, StatusReply::Absent);
    assert!(is_approved(&harness.processor().capture(capture).await));
}

pub async fn a_request_that_arrives_after_it_was_abandoned_does_nothing(harness: &dyn ProcessorHarness) {
    fault(harness, ProcessorStep::Authorize, ProxyFault::Hold);
    let (asked, reply) = authorize(harness, request(card(PLAIN), eur(10_00))).await;
    assert!(is_unknown(&reply), "{reply:?}");
    assert_eq!(harness.processor().status(asked.query()).await, StatusReply::Absent);
    let abandoned = StatusReply::Known(ProcessorReply::Abandoned);
    assert_eq!(harness.processor().abandon(asked.query()).await, abandoned);
    harness.proxy().deliver().await;
    assert_eq!(harness.processor().status(asked.query()).await, abandoned);
    assert!(!is_approved(&harness.processor().capture(asked.capture(10_00)).await));
}

pub async fn a_request_that_arrives_twice_has_one_effect(harness: &dyn ProcessorHarness) {
    fault(harness, ProcessorStep::Authorize, ProxyFault::Double);
    let (asked, reply) = authorize(harness, request(card(PLAIN), eur(10_00))).await;
    assert!(is_approved(&reply), "{reply:?}");
    fault(harness, ProcessorStep::Capture, ProxyFault::Double);
    assert!(is_approved(&harness.processor().capture(asked.capture(10_00)).await));
    fault(harness, ProcessorStep::Refund, ProxyFault::Double);
    assert!(is_approved(&harness.processor().refund(asked.refund(6_00)).await));
    assert!(harness.proxy().has_faulted());
    assert!(is_approved(&harness.processor().refund(asked.refund(4_00)).await), "one of 6.00 was made");
}

pub async fn an_error_after_the_work_is_unknown(harness: &dyn ProcessorHarness) {
    for status in ["500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable"] {
        fault(harness, ProcessorStep::Authorize, ProxyFault::AnswerAfter(ProxyFault::answer(status, "", "{}")));
        let (asked, reply) = authorize(harness, request(card(PLAIN), eur(10_00))).await;
        assert!(is_unknown(&reply), "{status}: {reply:?}");
        assert!(is_approved(&known(harness.processor().status(asked.query()).await)), "{status}");
    }
}

pub async fn garbage_is_no_outcome(harness: &dyn ProcessorHarness) {
    let large = format!("{{\"id\":\"{}\"}}", "9".repeat(3 * 1024 * 1024));
    for (status, body) in [
        ("200 OK", "<html>"),
        ("200 OK", "{}"),
        ("200 OK", "{\"id\":\"pi"),
        ("200 OK", "[]"),
        ("200 OK", ""),
        ("200 OK", large.as_str()),
        ("204 No Content", ""),
        ("301 Moved Permanently", "{}"),
        ("402 Payment Required", "{}"),
        ("400 Bad Request", "<html>"),
    ] {
        let shown = (status, &body[..body.len().min(20)]);
        fault(
            harness,
            ProcessorStep::Authorize,
            ProxyFault::AnswerAfter(ProxyFault::answer(status, "Location: /elsewhere\r\n", body)),
        );
        let (asked, reply) = authorize(harness, request(card(PLAIN), eur(10_00))).await;
        assert!(is_unknown(&reply), "{shown:?}: {reply:?}");
        fault(harness, ProcessorStep::Status, ProxyFault::AnswerInstead(ProxyFault::answer(status, "", body)));
        let reply = harness.processor().status(asked.query()).await;
        assert!(matches!(reply, StatusReply::Unreachable { .. }), "{shown:?}: {reply:?}");
        assert!(is_approved(&known(harness.processor().status(asked.query()).await)), "{shown:?}");
    }
}

pub async fn a_limit_of_calls_is_no_outcome(harness: &dyn ProcessorHarness) {
    let limited = || ProxyFault::AnswerInstead(ProxyFault::answer("429 Too Many Requests", "Retry-After: 1\r\n", "{}"));
    fault(harness, ProcessorStep::Authorize, limited());
    let (asked, reply) = authorize(harness, request(card(PLAIN), eur(10_00))).await;
    if is_approved(&reply) {
        // It has waited as it was told.
        assert!(is_approved(&known(harness.processor().status(asked.query()).await)));
    } else {
        assert!(is_unknown(&reply), "{reply:?}");
        assert_eq!(harness.processor().status(asked.query()).await, StatusReply::Absent);
    }
    let asked = authorized(harness, 10_00).await;
    fault(harness, ProcessorStep::Capture, limited());
    let capture = asked.capture(10_00);
    let reply = harness.processor().capture(capture.clone()).await;
    assert!(is_approved(&reply) || is_unknown(&reply), "{reply:?}");
    assert!(is_approved(&harness.processor().capture(capture).await));
    assert!(harness.proxy().has_faulted());
}
