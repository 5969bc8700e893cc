use dropin_card::Scheme;
use dropin_contract::{ContractKind, DeclineCategory, StoredCredentialUse};
use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{CredentialDeletion, DeleteCredentialRequest, ProcessorReply};

use crate::asking::{
    ALWAYS_ASKS, PLAIN, approved, authorize, charge, declined, eur, is_approved, key, known, store, stored,
};
use crate::harness::ProcessorHarness;

pub async fn a_card_is_stored_with_a_payment_and_charged_by_the_merchant(harness: &dyn ProcessorHarness) {
    let (opening, card) = store(harness, PLAIN, ContractKind::Recurring, 9_90).await;
    let summary = card.card.unwrap();
    assert_eq!((summary.scheme, summary.last_four.to_string()), (Scheme::Visa, "4242".to_owned()));
    assert_eq!(stored(known(harness.processor().status(opening.query()).await)), card, "found by its key");
    assert!(is_approved(&harness.processor().capture(opening.capture(9_90)).await));
    for _ in 0..2 {
        let (asked, reply) = authorize(harness, charge(&opening, &card, StoredCredentialUse::Recurring)).await;
        assert_eq!(approved(&reply), Some((eur(9_90), false)), "{reply:?}");
        assert!(is_approved(&harness.processor().capture(asked.capture(9_90)).await));
    }
}

pub async fn a_card_is_verified_and_stored_for_nothing(harness: &dyn ProcessorHarness) {
    let (opening, card) = store(harness, PLAIN, ContractKind::OneClick, 0).await;
    let reply = known(harness.processor().status(opening.query()).await);
    assert!(matches!(&reply, ProcessorReply::Approved { amount: Some(amount), .. } if amount.is_zero()), "{reply:?}");
    assert!(!is_approved(&harness.processor().capture(opening.capture(1)).await), "nothing was reserved");
    let (_asked, reply) = authorize(harness, charge(&opening, &card, StoredCredentialUse::OneClick)).await;
    assert_eq!(approved(&reply), Some((eur(9_90), false)), "{reply:?}");
}

pub async fn a_stored_card_that_needs_the_shopper_says_so(harness: &dyn ProcessorHarness) {
    let (opening, card) = store(harness, ALWAYS_ASKS, ContractKind::Unscheduled, 0).await;
    let (asked, reply) = authorize(harness, charge(&opening, &card, StoredCredentialUse::Unscheduled)).await;
    let later = known(harness.processor().status(asked.query_of(asked.key, OpKind::Authorize)).await);
    for reply in [reply, later] {
        assert_eq!(declined(&reply), Some(DeclineReason::AuthenticationFailed), "{reply:?}");
        let ProcessorReply::Declined { credential: Some(said), .. } = reply else { panic!("{reply:?}") };
        assert_eq!(said.category, DeclineCategory::AuthenticationRequired);
    }
}

pub async fn a_deleted_card_is_charged_no_more(harness: &dyn ProcessorHarness) {
    let (opening, card) = store(harness, PLAIN, ContractKind::Recurring, 0).await;
    let deletion = || DeleteCredentialRequest {
        key: key(),
        merchant_id: opening.merchant_id,
        credential: card.stored.clone().unwrap(),
    };
    for _ in 0..2 {
        assert_eq!(harness.processor().delete_credential(deletion()).await, CredentialDeletion::Gone);
    }
    let (_asked, reply) = authorize(harness, charge(&opening, &card, StoredCredentialUse::Recurring)).await;
    assert!(declined(&reply).is_some(), "{reply:?}");
}
