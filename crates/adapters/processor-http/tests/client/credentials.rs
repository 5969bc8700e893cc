//! Cards that the sandbox stores, and payments by what it stored.

use dropin_card::{Card, Scheme};
use dropin_contract::{
    CardSummary, ContractKind, DeclineCategory, NetworkTransactionId, PaymentMark, StoredCredentialUse,
};
use dropin_kernel::{MerchantId, OpId, OrderId};
use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{
    AuthorizeRequest, CredentialApproval, CredentialDeletion, CredentialListEntry, CredentialListQuery,
    DeleteCredentialRequest, OperationQuery, PaymentMethodData, Processor, ProcessorReply, StatusReply,
    StoredCredential, StoredCredentialList, StoredCredentialPayment,
};
use serde_json::json;
use uuid::Uuid;

use crate::harness::{Harness, KEY, PATIENT, PLAIN, about, asking, capture, card, eur, harness, key, merchant, press};

/// What was stored of a card.
struct Stored {
    merchant_id: MerchantId,
    opened_by: OpId,
    credential: StoredCredential,
    agreed: NetworkTransactionId,
}

fn summary(scheme: Scheme, last_four: &str) -> CardSummary {
    CardSummary { scheme, last_four: last_four.parse().unwrap(), expiry: "2031-12".parse().unwrap() }
}

fn facts(answer: ProcessorReply) -> CredentialApproval {
    match answer {
        ProcessorReply::Approved { credential: Some(facts), .. } => *facts,
        other => panic!("{other:?}"),
    }
}

/// Stores a card, for 9.90 or, with nothing to pay, by verification alone; on its page where it has one.
async fn store(harness: &Harness, number: &str, kind: ContractKind, minor: i64) -> Stored {
    let (opened_by, merchant_id) = (key(), merchant());
    let request = AuthorizeRequest { merchant_id, store: Some(kind), ..card(opened_by, number, minor) };
    let answer = match harness.processor.authorize(request).await {
        ProcessorReply::Pending(dropin_ports::Waiting::Shopper { page, .. }) => {
            press(&page, "succeed").await;
            harness.outcome(opened_by, OpKind::Authorize).await
        }
        answer => answer,
    };
    let facts = facts(answer);
    Stored {
        merchant_id,
        opened_by,
        credential: facts.stored.expect("it is stored"),
        agreed: facts.network_transaction_id.expect("the sandbox tells it"),
    }
}

impl Stored {
    fn paying(&self, key: OpId, credential_use: StoredCredentialUse) -> AuthorizeRequest {
        let network_transaction_id = Some(self.agreed.clone());
        let mark = PaymentMark { credential_use, network_transaction_id };
        let payment = StoredCredentialPayment::new(self.credential.clone(), mark);
        let method_data = PaymentMethodData::StoredCredential(Box::new(payment));
        AuthorizeRequest { merchant_id: self.merchant_id, return_url: None, ..asking(key, method_data, 9_90) }
    }

    async fn charge(&self, harness: &Harness, credential_use: StoredCredentialUse) -> ProcessorReply {
        harness.processor.authorize(self.paying(key(), credential_use)).await
    }

    fn deletion(&self) -> DeleteCredentialRequest {
        DeleteCredentialRequest { key: key(), merchant_id: self.merchant_id, credential: self.credential.clone() }
    }

    async fn listed(&self, harness: &Harness) -> Vec<CredentialListEntry> {
        let query = CredentialListQuery { merchant_id: self.merchant_id, after: None, limit: 1_000 };
        harness.processor.list_credentials(query).await.unwrap().entries
    }
}

fn category(answer: &ProcessorReply) -> Option<DeclineCategory> {
    match answer {
        ProcessorReply::Declined { credential, .. } => credential.map(|decline| decline.category),
        other => panic!("{other:?}"),
    }
}

fn reason(answer: &ProcessorReply) -> DeclineReason {
    match answer {
        ProcessorReply::Declined { reason, .. } => *reason,
        other => panic!("{other:?}"),
    }
}

#[actix_web::test]
async fn a_card_is_stored_with_a_payment_and_charged_by_the_merchant() {
    let harness = harness(PATIENT).await;
    let stored = store(&harness, PLAIN, ContractKind::Recurring, 9_90).await;
    assert!(matches!(
        harness.processor.capture(capture(stored.opened_by, 9_90)).await,
        ProcessorReply::Approved { .. }
    ));
    for _ in 0..3 {
        let key = key();
        let order_id = OrderId::new(Uuid::new_v4());
        let asked = || AuthorizeRequest { order_id, ..stored.paying(key, StoredCredentialUse::Recurring) };
        let answer = harness.processor.authorize(asked()).await;
        assert_eq!(harness.processor.authorize(asked()).await, answer, "one effect under one key");
        let ProcessorReply::Approved { amount, captured: false, credential: Some(facts), .. } = answer.clone() else {
            panic!("{answer:?}");
        };
        assert_eq!((amount, facts.stored, facts.card), (Some(eur(9_90)), None, Some(summary(Scheme::Visa, "4242"))));
        assert_eq!(harness.processor.status(about(key)).await, StatusReply::Known(answer));
        assert!(matches!(harness.processor.capture(capture(key, 9_90)).await, ProcessorReply::Approved { .. }));
    }
    let other = stored.charge(&harness, StoredCredentialUse::Unscheduled).await;
    assert_eq!(
        (reason(&other), category(&other)),
        (DeclineReason::Generic, None),
        "nobody agreed, no issuer was asked"
    );
}

#[actix_web::test]
async fn a_verification_stores_a_card_of_each_scheme_and_charges_nothing() {
    let harness = harness(PATIENT).await;
    for (number, code, scheme, last_four) in [
        (PLAIN, "123", Scheme::Visa, "4242"),
        ("5555555555554444", "123", Scheme::Mastercard, "4444"),
        ("378282246310005", "1234", Scheme::AmericanExpress, "0005"),
        ("6011111111111117", "123", Scheme::Discover, "1117"),
        ("3530111333300000", "123", Scheme::Jcb, "0000"),
        ("30569309025904", "123", Scheme::Diners, "5904"),
    ] {
        let key = key();
        let data = PaymentMethodData::Card(Card::new("Ana", number, code, "2031", "12"));
        let request = AuthorizeRequest { store: Some(ContractKind::OneClick), ..asking(key, data, 0) };
        let answer = harness.processor.authorize(request).await;
        assert!(
            matches!(answer, ProcessorReply::Approved { amount: Some(amount), .. } if amount.is_zero()),
            "{answer:?}"
        );
        let facts = facts(answer);
        assert_eq!((facts.card, facts.stored.is_some()), (Some(summary(scheme, last_four)), true));
        let nothing = harness.processor.capture(capture(key, 1)).await;
        assert_eq!(reason(&nothing), DeclineReason::Generic);
    }
}

#[actix_web::test]
async fn numbers_for_contracts_say_what_follows() {
    let harness = harness(PATIENT).await;
    for (number, by_merchant) in [
        ("4000002500003155", None),
        ("4000002760003184", Some(DeclineCategory::AuthenticationRequired)),
        ("4000008260003178", Some(DeclineCategory::InsufficientFunds)),
    ] {
        let stored = store(&harness, number, ContractKind::Unscheduled, 0).await;
        let answer = stored.charge(&harness, StoredCredentialUse::Unscheduled).await;
        match by_merchant {
            None => assert!(matches!(answer, ProcessorReply::Approved { .. }), "{number}: {answer:?}"),
            Some(expected) => assert_eq!(category(&answer), Some(expected), "{number}"),
        }
        let away =
            AuthorizeRequest { store: Some(ContractKind::Unscheduled), return_url: None, ..card(key(), number, 0) };
        let refused = harness.processor.authorize(away).await;
        assert_eq!((reason(&refused), category(&refused)), (DeclineReason::AuthenticationFailed, None), "{number}");
    }
}

#[actix_web::test]
async fn a_shopper_pays_with_one_click_and_authenticates_anew() {
    let harness = harness(PATIENT).await;
    let stored = store(&harness, PLAIN, ContractKind::OneClick, 0).await;
    for (code, is_paid) in [("123", true), ("1234", false)] {
        let mark = PaymentMark { credential_use: StoredCredentialUse::OneClick, network_transaction_id: None };
        let payment = StoredCredentialPayment::new(stored.credential.clone(), mark);
        let payment = Box::new(payment.with_verification_code(code.parse().unwrap()));
        let data = PaymentMethodData::StoredCredential(payment);
        let request = AuthorizeRequest { merchant_id: stored.merchant_id, ..asking(key(), data, 9_90) };
        let answer = harness.processor.authorize(request).await;
        assert_eq!(matches!(answer, ProcessorReply::Approved { .. }), is_paid, "{answer:?}");
    }
    let mut asks = store(&harness, "4000002760003184", ContractKind::Recurring, 0).await;
    let again = key();
    let payment = StoredCredentialPayment::new(asks.credential.clone(), PaymentMark::FIRST);
    let data = PaymentMethodData::StoredCredential(Box::new(payment));
    let request = AuthorizeRequest { merchant_id: asks.merchant_id, ..asking(again, data, 9_90) };
    press(&harness.page_of(request).await, "succeed").await;
    let anew = facts(harness.outcome(again, OpKind::Authorize).await);
    asks.agreed = anew.network_transaction_id.unwrap();
    let answer = asks.charge(&harness, StoredCredentialUse::Recurring).await;
    assert_eq!(category(&answer), Some(DeclineCategory::AuthenticationRequired), "the new agreement is known");
}

#[actix_web::test]
async fn an_issuers_word_decides_what_follows() {
    let harness = harness(PATIENT).await;
    let stored = store(&harness, "5555555555554444", ContractKind::Recurring, 0).await;
    for (response, advice, category, wait) in [
        ("54", None, DeclineCategory::CardExpired, None),
        ("41", None, DeclineCategory::CardLost, None),
        ("65", None, DeclineCategory::AuthenticationRequired, None),
        ("05", Some("21"), DeclineCategory::AuthorizationRevoked, None),
        ("91", Some("24"), DeclineCategory::TryLater, Some(3_600)),
        ("51", Some("26"), DeclineCategory::InsufficientFunds, Some(2 * 86_400)),
    ] {
        let switch = json!({"Mode": "refuse", "Remaining": 1, "ResponseCode": response, "AdviceCode": advice});
        let set = awc::Client::new().put(format!("{}/v1/faults", harness.base)).bearer_auth(KEY).send_json(&switch);
        assert_eq!(set.await.unwrap().status().as_u16(), 200);
        let answer = stored.charge(&harness, StoredCredentialUse::Recurring).await;
        let ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: true, credential: Some(decline) } =
            answer
        else {
            panic!("{answer:?}");
        };
        assert_eq!((decline.category, decline.wait().map(|wait| wait.as_secs())), (category, wait), "{response}");
    }
}

#[actix_web::test]
async fn a_credential_is_deleted_and_no_other_merchants() {
    let harness = harness(PATIENT).await;
    let stored = store(&harness, PLAIN, ContractKind::Recurring, 0).await;
    let theirs = DeleteCredentialRequest { merchant_id: merchant(), ..stored.deletion() };
    assert_eq!(harness.processor.delete_credential(theirs).await, CredentialDeletion::Gone, "theirs never was");
    let stranger = Stored {
        merchant_id: merchant(),
        credential: stored.credential.clone(),
        agreed: stored.agreed.clone(),
        ..stored
    };
    let refused = stranger.charge(&harness, StoredCredentialUse::Recurring).await;
    assert_eq!(reason(&refused), DeclineReason::InvalidCard);
    let answer = stored.charge(&harness, StoredCredentialUse::Recurring).await;
    assert!(matches!(answer, ProcessorReply::Approved { .. }), "{answer:?}");
    for _ in 0..2 {
        assert_eq!(harness.processor.delete_credential(stored.deletion()).await, CredentialDeletion::Gone);
    }
    let refused = stored.charge(&harness, StoredCredentialUse::Recurring).await;
    assert_eq!((reason(&refused), category(&refused)), (DeclineReason::InvalidCard, None));
    let question = OperationQuery {
        processor: None,
        key: stored.opened_by,
        merchant_id: stored.merchant_id,
        kind: OpKind::Authorize,
        reference: None,
    };
    let StatusReply::Known(opening) = harness.processor.status(question).await else { panic!("it is known") };
    assert_eq!(facts(opening).stored, None, "it cannot be taken up any more");
    assert_eq!(stored.listed(&harness).await, Vec::new());
}

#[actix_web::test]
async fn what_was_stored_is_found_by_the_key_of_its_opening() {
    let harness = harness(PATIENT).await;
    let (key, merchant_id) = (key(), merchant());
    // The sandbox does the work and answers with an error: as when we were killed before we heard of it.
    let request =
        AuthorizeRequest { merchant_id, store: Some(ContractKind::Recurring), ..card(key, "4000000000000119", 0) };
    let answer = harness.processor.authorize(request).await;
    assert!(matches!(answer, ProcessorReply::Unknown { .. }), "{answer:?}");
    let StatusReply::Known(answer) = harness.processor.status(about(key)).await else { panic!("it is known") };
    let credential = facts(answer).stored.expect("it is stored");
    let deletion = DeleteCredentialRequest { key, merchant_id, credential };
    assert_eq!(harness.processor.delete_credential(deletion).await, CredentialDeletion::Gone);
    // A key that was abandoned before it arrived stores nothing.
    let early = crate::harness::key();
    harness.processor.abandon(about(early)).await;
    let request = AuthorizeRequest { merchant_id, store: Some(ContractKind::Recurring), ..card(early, PLAIN, 0) };
    assert_eq!(harness.processor.authorize(request).await, ProcessorReply::Abandoned);
    let query = CredentialListQuery { merchant_id, after: None, limit: 10 };
    assert_eq!(harness.processor.list_credentials(query).await.unwrap().entries, Vec::new());
}

#[actix_web::test]
async fn credentials_are_listed_in_pages() {
    let harness = harness(PATIENT).await;
    let merchant_id = merchant();
    let mut opened = Vec::new();
    for _ in 0..5 {
        let key = key();
        let request = AuthorizeRequest { merchant_id, store: Some(ContractKind::OneClick), ..card(key, PLAIN, 0) };
        assert!(facts(harness.processor.authorize(request).await).stored.is_some());
        opened.push(key);
    }
    store(&harness, PLAIN, ContractKind::OneClick, 0).await;
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page =
            harness.processor.list_credentials(CredentialListQuery { merchant_id, after, limit: 2 }).await.unwrap();
        listed.extend(page.entries);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let told: Vec<_> = listed.iter().map(|entry| (entry.opened_by, entry.kind, entry.card)).collect();
    let visa = summary(Scheme::Visa, "4242");
    let expected: Vec<_> = opened.into_iter().map(|key| (key, ContractKind::OneClick, visa)).collect();
    assert_eq!(told, expected);
}

#[actix_web::test]
async fn a_deletion_that_gets_no_answer_is_asked_again() {
    let mut harness = harness(PATIENT).await;
    let stored = store(&harness, PLAIN, ContractKind::Recurring, 0).await;
    let switch = json!({"Mode": "error_500", "Remaining": 1, "Kinds": ["CREDENTIAL"]});
    awc::Client::new().put(format!("{}/v1/faults", harness.base)).bearer_auth(KEY).send_json(&switch).await.unwrap();
    let unclear = harness.processor.delete_credential(stored.deletion()).await;
    assert_eq!(unclear, CredentialDeletion::Unknown { why: "HTTP 500".to_owned() });
    assert_eq!(stored.listed(&harness).await.len(), 1);
    assert_eq!(harness.processor.delete_credential(stored.deletion()).await, CredentialDeletion::Gone);
    assert_eq!(stored.listed(&harness).await.len(), 0);
    let count = |harness: &Harness, outcome| {
        let outcomes = harness.processor.health().outcomes;
        outcomes.iter().find(|one| (one.call, one.outcome) == ("delete_credential", outcome)).map(|one| one.count)
    };
    assert_eq!((count(&harness, "deleted"), count(&harness, "unknown")), (Some(1), Some(1)));
    let nobody = crate::harness::config_for("http://127.0.0.1:1", PATIENT);
    harness.processor = dropin_processor_http::HttpProcessor::start(nobody).unwrap();
    assert_eq!(harness.processor.delete_credential(stored.deletion()).await, CredentialDeletion::NotSent);
}
