use std::time::Duration;

use dropin_kernel::OpId;
use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{IssuerChecks, Processor, ProcessorJournal, ProcessorReply, StatusReply, VoidRequest, Waiting};
use sandbox_processor::Waits;

use crate::harness::{
    PATIENT, PLAIN, about, approved, capture, card, eur, harness, harness_with, key, merchant, method, press,
};

fn declined(reason: DeclineReason) -> ProcessorReply {
    ProcessorReply::Declined { reason, retryable: false, credential: None }
}

/// Approved, and the money is there.
fn paid(minor: i64) -> ProcessorReply {
    ProcessorReply::Approved {
        amount: Some(eur(minor)),
        captured: true,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    }
}

#[actix_web::test]
async fn pages_of_methods_are_decided_by_the_shopper() {
    let harness = harness(PATIENT).await;
    for (id, choice, outcome) in [
        ("PAYPAL", "pay", approved(5_00)),
        ("PAYPAL", "cancel", declined(DeclineReason::CancelledByShopper)),
        ("IDEAL", "pay", paid(5_00)),
        ("IDEAL", "cancel", declined(DeclineReason::CancelledByShopper)),
        ("PAYLATER", "approve", approved(5_00)),
        ("PAYLATER", "cancel", declined(DeclineReason::CancelledByShopper)),
    ] {
        let key = key();
        let page = harness.page_of(method(key, id, 5_00)).await;
        press(&page, choice).await;
        assert_eq!(harness.processor.status(about(key)).await, StatusReply::Known(outcome), "{id} {choice}");
    }
}

#[actix_web::test]
async fn a_lender_may_look_at_it_first() {
    for (review_approves, outcome) in [(true, approved(5_00)), (false, declined(DeclineReason::Generic))] {
        let waits = Waits { review: Duration::from_millis(200), review_approves, ..Waits::default() };
        let harness = harness_with(PATIENT, waits).await;
        let key = key();
        let page = harness.page_of(method(key, "PAYLATER", 5_00)).await;
        press(&page, "review").await;
        let looked_at = StatusReply::Known(ProcessorReply::Pending(Waiting::Review));
        assert_eq!(harness.processor.status(about(key)).await, looked_at);
        assert_eq!(harness.outcome(key, OpKind::Authorize).await, outcome);
    }
}

#[actix_web::test]
async fn a_page_that_nobody_uses_expires() {
    let waits = Waits { page: Duration::from_millis(100), ..Waits::default() };
    let harness = harness_with(PATIENT, waits).await;
    let key = key();
    harness.page_of(method(key, "PAYPAL", 5_00)).await;
    assert_eq!(harness.outcome(key, OpKind::Authorize).await, declined(DeclineReason::Expired));
}

#[actix_web::test]
async fn a_transfer_names_the_account_in_the_shoppers_country() {
    let harness = harness(PATIENT).await;
    let key = key();
    let asked = method(key, "BANKTRANSFER", 5_00);
    let reference = asked.order_id.to_string();
    let ProcessorReply::Pending(Waiting::Transfer { to, until }) = harness.processor.authorize(asked).await else {
        panic!("no transfer");
    };
    assert!(until.is_some());
    assert_eq!((to.country.as_deref(), to.payment_reference), (Some("NL"), Some(reference)));
    assert!(to.iban.is_some_and(|iban| iban.starts_with("NL")));
    assert_eq!(to.extra_bank_data, None, "an empty text says nothing");
    press(&sandbox_page(&harness.base, key).await, "arrived").await;
    assert_eq!(harness.processor.status(about(key)).await, StatusReply::Known(paid(5_00)));
}

/// Where the sandbox lets one play the bank; our client has no use for it.
async fn sandbox_page(base: &str, key: OpId) -> String {
    let client = awc::Client::new();
    let asked = client.get(format!("{base}/v1/operations/{key}")).bearer_auth(crate::harness::KEY);
    let body: serde_json::Value = asked.send().await.unwrap().json().await.unwrap();
    body["SandboxPage"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn a_void_stops_what_still_waits_for_the_shopper() {
    let harness = harness(PATIENT).await;
    let authorization = key();
    harness.page_of(method(authorization, "PAYPAL", 5_00)).await;
    let answer = harness
        .processor
        .void(VoidRequest { processor: None, key: key(), merchant_id: merchant(), authorization, reference: None })
        .await;
    assert!(matches!(answer, ProcessorReply::Approved { .. }), "{answer:?}");
    let stopped = StatusReply::Known(declined(DeclineReason::Voided));
    assert_eq!(harness.processor.status(about(authorization)).await, stopped);
}

#[actix_web::test]
async fn the_journal_is_read_in_pages() {
    let harness = harness(PATIENT).await;
    assert_eq!(harness.processor.journal(0, 1_000).await, Ok(Vec::new()));
    let (authorization, ideal) = (key(), key());
    harness.processor.authorize(card(authorization, PLAIN, 9_00)).await;
    harness.processor.capture(capture(authorization, 4_00)).await;
    press(&harness.page_of(method(ideal, "IDEAL", 5_00)).await, "pay").await;
    let abandoned = key();
    harness.processor.abandon(about(abandoned)).await;
    let mut entries = Vec::new();
    loop {
        let after = entries.last().map_or(0, |last: &dropin_ports::JournalEntry| last.number);
        let page = harness.processor.journal(after, 2).await.unwrap();
        assert!(page.len() <= 2);
        if page.is_empty() {
            break;
        }
        entries.extend(page);
    }
    let told: Vec<_> = entries.iter().map(|entry| (entry.kind.as_str(), entry.outcome.as_str(), entry.key)).collect();
    assert_eq!(told[0], ("AUTHORIZE", "APPROVED", authorization));
    assert_eq!((told[1].0, told[1].1), ("CAPTURE", "APPROVED"));
    assert_eq!(told[2], ("AUTHORIZE", "PENDING", ideal));
    assert_eq!(told[3], ("AUTHORIZE", "APPROVED", ideal));
    assert_eq!(told[4], ("AUTHORIZE", "ABANDONED", abandoned));
    assert_eq!(told.len(), 5);
    assert_eq!((entries[1].authorization, entries[1].amount), (Some(authorization), Some(eur(4_00))));
    assert_eq!((entries[0].captured, entries[2].captured, entries[3].captured), (false, false, true));
    assert_eq!(entries[4].amount, None);
    assert_eq!(harness.processor.journal(0, 0).await, Ok(Vec::new()));
}
