//! The server-to-server checkout: an Order without a Session, under a reference of its own.

use std::sync::Arc;

use dropin_access::AuditAction;
use dropin_kernel::{OpId, OrderId};
use dropin_order::{Channel, OpState};
use dropin_ports::{
    AuthorizationPrepared, CheckoutRecord, Inserted, KeyRecord, KeyUse, Payment, PrepareAuthorization, RequestKey,
    Settled, StashUse, StoreError, StoredResponse,
};

use crate::Harness;
use crate::harness::outcome;
use crate::steps::checkout;
use crate::values::{
    VISA, at, audit_entry, checkout_order, fresh, new_session, order_event, posting, terms_with, text,
};

fn key_use(prepare: &PrepareAuthorization, digest: u8) -> KeyUse {
    let key = RequestKey { merchant_id: prepare.order.merchant_id, digest: [digest; 32] };
    KeyUse { key, fingerprint: [9; 32], at: at(10), until: at(999) }
}

/// Whether it was refused as a duplicate, and nothing of it is there.
async fn assert_duplicate(harness: &Harness, prepare: PrepareAuthorization) {
    let (order, operation) = (prepare.order.id, prepare.operation.id);
    let found = harness.payments.prepare_authorization(prepare).await.unwrap();
    assert!(matches!(found, AuthorizationPrepared::DuplicateReference), "{found:?}");
    assert_eq!(harness.payments.find_payment(operation).await, Ok(None));
    assert_eq!(harness.payments.find_order_anywhere(order).await, Ok(None));
}

pub async fn a_checkout_is_prepared_whole(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut prepare = checkout(merchant.id, "checkout-1", at(10));
    let key_use = key_use(&prepare, 1);
    prepare.key_use = Some(key_use);
    let (order, operation) = (prepare.order.clone(), prepare.operation.clone());
    let prepared = harness.payments.prepare_authorization(prepare).await.unwrap();
    assert!(matches!(prepared, AuthorizationPrepared::Done(None)), "{prepared:?}");
    let expected = Payment {
        operation: operation.clone(),
        order: order.clone(),
        session: None,
        refund: None,
        contract: None,
        is_charge: false,
    };
    assert_eq!(harness.payment(operation.id).await, expected);
    assert_eq!(harness.find_order(merchant.id, order.id).await, Ok(Some(order.clone())), "shown from the start");
    let CheckoutRecord { document } = harness.payments.find_checkout(order.id).await.unwrap().unwrap();
    let squeezed = document.replace(' ', "");
    assert_eq!(squeezed, "{\"Items\":[29.90],\"Consumer\":{\"Name\":\"Zoë\"}}", "the same JSON, amounts to the digit");
    let owned = format!("reference = 'checkout-1' AND owner_kind = 'CHECKOUT' AND owner_id = '{}'", order.id);
    assert_eq!(harness.count("merchant_reference", &owned), 1);
    assert_eq!(harness.count("history", "what = 'START'"), 1);
    // Whoever asked with a key learns the outcome when it is written.
    let awaited = KeyRecord { fingerprint: [9; 32], answer: None };
    assert_eq!(harness.responses.find_response(key_use.key, at(11)).await, Ok(Some(awaited.clone())));
    let step = order.authorized(&order.total, false, at(9_000), posting(), at(20)).unwrap();
    let mut settlement = outcome(operation.id, OpState::Approved, at(20));
    settlement.events = vec![order_event(&step.change.next, "ORDER_AUTHORIZED", at(20))];
    (settlement.order, settlement.ledger) = (Some(step.change), step.ledger);
    let answer = StoredResponse { status: 200, etag: None, body: b"{}".to_vec() };
    settlement.answer = Some(answer.clone());
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    let told = KeyRecord { answer: Some(answer), ..awaited };
    assert_eq!(harness.responses.find_response(key_use.key, at(11)).await, Ok(Some(told)));
    assert_eq!(harness.count("outbox_event", &format!("payment_id = '{}'", order.id)), 1, "in the Order's own stream");
}

pub async fn open_transfers_of_a_merchant_never_share_a_reference(harness: Arc<Harness>) {
    let ((ana, _), (bob, _)) = (harness.merchant().await, harness.merchant().await);
    let with = |merchant, reference: &str| {
        let mut prepare = checkout(merchant, reference, at(10));
        prepare.order = prepare.order.with_transfer(Some("order-7".to_owned()), None);
        prepare
    };
    let first = with(ana.id, "checkout-1");
    let (order, operation) = (first.order.clone(), first.operation.id);
    let done = |found| matches!(found, Ok(AuthorizationPrepared::Done(None)));
    assert!(done(harness.payments.prepare_authorization(first).await));
    let second = with(ana.id, "checkout-2");
    let refused = harness.payments.prepare_authorization(second.clone()).await;
    assert!(matches!(refused, Ok(AuthorizationPrepared::TransferReferenceTaken)), "{refused:?}");
    assert_eq!(harness.payments.find_order_anywhere(second.order.id).await, Ok(None), "nothing was written");
    assert!(done(harness.payments.prepare_authorization(with(bob.id, "checkout-1")).await), "another merchant's");
    // Free again when nothing is awaited under it.
    let step = order.refused(dropin_order::FailureReason::Declined, at(20)).unwrap();
    let mut settlement = outcome(operation, OpState::Declined, at(20));
    (settlement.order, settlement.ledger) = (Some(step.change), step.ledger);
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    assert!(done(harness.payments.prepare_authorization(second).await));
}

pub async fn a_checkout_pays_with_a_stashed_card(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let stash = harness.stashed(merchant.id).await;
    let card = StashUse { key: stash.key.clone(), summary: VISA };
    let mut unseen = card.clone();
    unseen.key.stash_id = "unseen".to_owned();
    let with = |stash| PrepareAuthorization { stash: Some(stash), ..checkout(merchant.id, "checkout-1", at(10)) };
    let missing = with(unseen);
    let key = key_use(&missing, 1);
    let missing = PrepareAuthorization { key_use: Some(key), ..missing };
    let found = harness.payments.prepare_authorization(missing).await.unwrap();
    assert!(matches!(found, AuthorizationPrepared::StashMissing), "{found:?}");
    let written = ["merchant_reference", "checkout", "purchase_order", "processor_op", "history", "answer"];
    assert_eq!(written.map(|table| harness.count(table, "1 = 1")), [0; 6], "the reference and the key are free");
    let prepare = PrepareAuthorization { key_use: Some(key), ..with(card) };
    let found = harness.payments.prepare_authorization(prepare).await.unwrap();
    assert!(matches!(found, AuthorizationPrepared::Done(Some(card)) if card == stash.sealed));
    assert_eq!(harness.stash.peek_stash(&stash.key, at(10)).await, Ok(None));
    assert_eq!(written.map(|table| harness.count(table, "1 = 1")), [1; 6]);
}

pub async fn an_order_that_is_taken_up_has_its_entry_in_the_audit_log(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let written = ["merchant_reference", "checkout", "purchase_order", "processor_op", "history"];
    let entries =
        |order: OrderId| harness.count("audit_log", &format!("action = 'ORDER_IMPORT' AND subject_id = '{order}'"));
    // Without a checkout's record, under a key and a name that the processor has had all along.
    let taken_up = |reference: &str| {
        let prepare = checkout(merchant.id, reference, at(10));
        let operation = prepare.operation.clone().known_as("pi_1".parse().unwrap());
        let operation = operation.at_processor("stripe".parse().ok());
        let audit = Some(audit_entry(AuditAction::OrderImport, Some(merchant.id), prepare.order.id));
        PrepareAuthorization { checkout: None, operation, audit, ..prepare }
    };
    let first = taken_up("lost-1");
    let (order, operation) = (first.order.clone(), first.operation.clone());
    let done = harness.payments.prepare_authorization(first.clone()).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(None)), "{done:?}");
    let Payment { operation: read, .. } = harness.payment(operation.id).await;
    assert_eq!((read.reference, read.processor), (operation.reference, operation.processor));
    assert_eq!((entries(order.id), harness.payments.find_checkout(order.id).await), (1, Ok(None)));
    assert_eq!(written.map(|table| harness.count(table, "1 = 1")), [1, 0, 1, 1, 1]);
    // What is refused leaves no entry, and an entry that cannot be written takes its Order along.
    let duplicate = taken_up("lost-1");
    let of_duplicate = duplicate.order.id;
    assert_duplicate(&harness, duplicate).await;
    assert_eq!(entries(of_duplicate), 0);
    let refused = PrepareAuthorization { audit: first.audit, ..taken_up("lost-2") };
    let of_refused = refused.order.id;
    let twice = harness.payments.prepare_authorization(refused).await;
    assert!(matches!(twice, Err(StoreError::Refused(_))), "{twice:?}");
    assert_eq!(harness.payments.find_order_anywhere(of_refused).await, Ok(None));
}

pub async fn a_reference_is_shared_by_sessions_and_checkouts(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let session = harness.session(merchant.id).await;
    let reference = session.terms.merchant_reference.as_str();
    assert_duplicate(&harness, checkout(merchant.id, reference, at(10))).await;
    let stash = harness.stashed(merchant.id).await;
    let with_card = Some(StashUse { key: stash.key.clone(), summary: VISA });
    let duplicate = PrepareAuthorization { stash: with_card, ..checkout(merchant.id, reference, at(10)) };
    let key_use = key_use(&duplicate, 1);
    assert_duplicate(&harness, PrepareAuthorization { key_use: Some(key_use), ..duplicate }).await;
    assert!(harness.stash.peek_stash(&stash.key, at(10)).await.unwrap().is_some(), "the card is still there");
    assert_eq!(harness.responses.find_response(key_use.key, at(10)).await, Ok(None), "and the key is free");
    // Another merchant's is another one, and from then on it is taken for Sessions too.
    let done = harness.payments.prepare_authorization(checkout(other.id, reference, at(10))).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(None)), "{done:?}");
    let terms = terms_with(|terms| terms.merchant_reference = text(reference));
    assert_eq!(harness.insert(&new_session(other.id, terms)).await, Inserted::DuplicateReference);
    assert_duplicate(&harness, checkout(other.id, reference, at(10))).await;
}

pub async fn a_repeat_of_a_checkout_is_known_by_its_key(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let stash = harness.stashed(merchant.id).await;
    let prepare = checkout(merchant.id, "checkout-1", at(10));
    let (stash, key_use) = (Some(StashUse { key: stash.key, summary: VISA }), Some(key_use(&prepare, 1)));
    let prepare = PrepareAuthorization { stash: stash.clone(), key_use, ..prepare };
    let done = harness.payments.prepare_authorization(prepare).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(Some(_))), "{done:?}");
    // The same reference and card, as a repeat has them; and the key for something else.
    for reference in ["checkout-1", "checkout-2"] {
        let again = PrepareAuthorization { stash: stash.clone(), key_use, ..checkout(merchant.id, reference, at(11)) };
        let found = harness.payments.prepare_authorization(again).await.unwrap();
        assert!(matches!(found, AuthorizationPrepared::KeyTaken), "{reference}: {found:?}");
    }
    assert_eq!(["purchase_order", "merchant_reference"].map(|table| harness.count(table, "1 = 1")), [1; 2]);
}

pub async fn a_checkout_that_is_written_already_is_done_unless_its_card_went(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let written = ["merchant_reference", "checkout", "purchase_order", "processor_op", "history", "answer"];
    let prepare = checkout(merchant.id, "checkout-1", at(10));
    let prepare = PrepareAuthorization { key_use: Some(key_use(&prepare, 1)), ..prepare };
    for _ in 0..3 {
        // As after a connection that was lost with the answer.
        let done = harness.payments.prepare_authorization(prepare.clone()).await.unwrap();
        assert!(matches!(done, AuthorizationPrepared::Done(None)), "{done:?}");
    }
    assert_eq!(written.map(|table| harness.count(table, "1 = 1")), [1; 6]);
    let stash = harness.stashed(merchant.id).await;
    let prepare = checkout(merchant.id, "checkout-2", at(10));
    let prepare = PrepareAuthorization { stash: Some(StashUse { key: stash.key, summary: VISA }), ..prepare };
    let done = harness.payments.prepare_authorization(prepare.clone()).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(Some(_))), "{done:?}");
    let again = harness.payments.prepare_authorization(prepare).await;
    assert!(matches!(again, Err(StoreError::Refused(_))), "the card cannot be given a second time: {again:?}");
}

pub async fn what_a_checkout_said_is_json(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for document in ["", "hush", "{\"hush\": }"] {
        let checkout = PrepareAuthorization {
            checkout: Some(CheckoutRecord { document: document.to_owned() }),
            ..checkout(merchant.id, "checkout-1", at(10))
        };
        let refused = harness.payments.prepare_authorization(checkout).await;
        let Err(StoreError::Refused(why)) = refused else { panic!("{refused:?}") };
        assert!(!why.contains("hush"), "{why}");
    }
    assert_eq!(harness.count("merchant_reference", "1 = 1"), 0);
    let order = checkout_order(merchant.id, "none", at(1)).id;
    assert_eq!(harness.payments.find_checkout(order).await, Ok(None));
    assert_eq!(harness.payments.find_payment(OpId::new(fresh())).await, Ok(None));
}

pub async fn whoever_waits_for_a_payment_waits_for_what_follows_it(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    for (number, channel, passed_on) in [(1, Channel::CheckoutPayment, true), (2, Channel::Nobody, false)] {
        let prepare = checkout(merchant.id, &format!("checkout-{number}"), at(10));
        let key_use = key_use(&prepare, number);
        let (order, operation) = (prepare.order.clone(), prepare.operation.clone());
        let prepare = PrepareAuthorization { key_use: Some(key_use), ..prepare };
        harness.payments.prepare_authorization(prepare).await.unwrap();
        let authorized = order.authorized(&order.total, false, at(9_000), posting(), at(20)).unwrap();
        let asked = authorized.change.next.request_capture(&order.total, at(20)).unwrap();
        let capture = operation.capture(OpId::new(fresh()), order.total, at(20), at(30)).through(channel);
        let mut settlement = outcome(operation.id, OpState::Approved, at(20));
        settlement.order = Some(authorized.change);
        settlement.follow_up = Some(capture.clone());
        assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
        let find = async || harness.responses.find_response(key_use.key, at(11)).await.unwrap();
        let awaited = KeyRecord { fingerprint: [9; 32], answer: None };
        assert_eq!(find().await, Some(awaited.clone()), "not yet");
        let awaits = |id: OpId| harness.count("answer", &format!("operation_id = '{id}'"));
        assert_eq!([awaits(operation.id), awaits(capture.id)], [usize::from(!passed_on), usize::from(passed_on)]);
        let answer = StoredResponse { status: 200, etag: None, body: b"{}".to_vec() };
        let mut settlement = outcome(capture.id, OpState::Pending, at(21));
        settlement.order = Some(asked.change);
        settlement.answer = Some(answer.clone());
        assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
        assert_eq!(find().await, Some(KeyRecord { answer: passed_on.then_some(answer), ..awaited }));
    }
}
