use std::sync::Arc;
use std::time::Duration;

use dropin_contract::{
    CardSummary, ChargeTry, Consent, Contract, ContractKind, ContractOrigin, CredentialDecline, DeclineCategory,
    TryResult,
};
use dropin_kernel::{Change, MerchantId, OpId, SessionId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_order::{FailureReason, NewOrder, OpState, Order, OrderState};
use dropin_ports::{
    AuthorizationPrepared, ChangeContract, Changed, ChargeOutcome, ConcludedCharge, ContractName, ContractSettlement,
    ContractUse, CredentialChange, CredentialTrace, Payment, PrepareAuthorization, SealedKind, SealedValue, Settled,
    Settlement,
};

use crate::Harness;
use crate::contract_steps::{
    card, charged, charging, contract_event, contract_history, new_contract, opening, preparing, sealed, stored,
};
use crate::harness::outcome;
use crate::values::{at, checkout_order, fresh};

async fn prepared(harness: &Harness, prepare: PrepareAuthorization) -> Payment {
    let operation = prepare.operation.id;
    let done = harness.payments.prepare_authorization(prepare).await.unwrap();
    assert!(matches!(done, AuthorizationPrepared::Done(None)), "{done:?}");
    harness.payment(operation).await
}

/// A contract that may be charged.
pub(crate) async fn opened(harness: &Harness, merchant: MerchantId, reference: &str, now: Timestamp) -> Contract {
    let payment = prepared(harness, opening(&new_contract(merchant, reference, now), now)).await;
    assert_eq!(harness.payments.settle(stored(&payment, now)).await, Ok(Settled::Done));
    found(harness, payment.contract.as_ref().unwrap()).await
}

async fn found(harness: &Harness, contract: &Contract) -> Contract {
    harness.contracts.find_contract(contract.merchant_id, &ContractName::Id(contract.id)).await.unwrap().unwrap()
}

pub(crate) fn closing(contract: &Contract, now: Timestamp) -> ChangeContract {
    ChangeContract {
        change: contract.close_by_merchant(now).unwrap().change,
        credential: CredentialChange::Delete,
        history: contract_history(contract, now),
        event: Some(contract_event(contract, "CONTRACT_CLOSED", now)),
        response: None,
        audit: None,
    }
}

pub async fn a_contract_opens_with_its_payment(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let contract = new_contract(merchant.id, "subscription-7", at(1));
    let payment = prepared(&harness, opening(&contract, at(1))).await;
    assert_eq!((payment.contract.as_ref(), payment.order.contract_id), (Some(&contract), Some(contract.id)));
    assert_eq!(harness.contracts.has_credentials().await, Ok(false));

    assert_eq!(harness.payments.settle(stored(&payment, at(2))).await, Ok(Settled::Done));

    let now = found(&harness, &contract).await;
    let expected = contract.credential_stored(card(), "483297487231504".parse().ok(), at(2)).unwrap().change.next;
    assert_eq!(now, expected);
    let by_reference = ContractName::Reference("subscription-7".to_owned());
    assert_eq!(harness.contracts.find_contract(merchant.id, &by_reference).await, Ok(Some(expected)));
    assert_eq!(harness.contracts.find_credential(contract.id).await, Ok(Some(sealed(1))));
    assert_eq!(harness.contracts.has_credentials().await, Ok(true));
    assert_eq!(harness.count("outbox_event", "event_type = 'CONTRACT_OPENED'"), 1);
    assert_eq!(harness.count("history", "subject_kind = 'CONTRACT' AND state_after = 'ACTIVE'"), 1);
    // Settled again by another process: nothing is written twice.
    assert_eq!(harness.payments.settle(stored(&payment, at(3))).await, Ok(Settled::AlreadySettled));

    let (other, _) = harness.merchant().await;
    assert_eq!(harness.contracts.find_contract(other.id, &ContractName::Id(contract.id)).await, Ok(None));
    assert_eq!(harness.contracts.find_contract(other.id, &by_reference).await, Ok(None));
    assert_eq!(harness.contracts.list_contracts(other.id, "customer-7", 10).await, Ok(vec![]));
}

pub async fn a_settlement_of_a_contract_that_changed_is_stale(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let contract = opened(&harness, merchant.id, "subscription-7", at(1)).await;
    let payment = prepared(&harness, charging(&contract, "charge-1", at(2))).await;
    let mut settlement = charged(&payment, TryResult::Approved, at(3));
    let now = found(&harness, &contract).await;
    assert_eq!(harness.contracts.change_contract(closing(&now, at(3))).await, Ok(Changed::Done));

    assert_eq!(harness.payments.settle(settlement.clone()).await, Ok(Settled::Stale));

    let payment = harness.payment(payment.operation.id).await;
    assert!(payment.operation.state.is_open() && payment.order.state == OrderState::Processing, "nothing was written");
    settlement.contract = charged(&payment, TryResult::Approved, at(4)).contract;
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    assert_eq!(tries(&harness, &contract).await, [(at(2), TryResult::Approved)]);
}

async fn tries(harness: &Harness, contract: &Contract) -> Vec<(Timestamp, TryResult)> {
    let tries: Vec<ChargeTry> = harness.contracts.list_charge_tries(contract.id, 10).await.unwrap();
    tries.into_iter().map(|one| (one.at, one.result)).collect()
}

pub async fn tries_are_kept_with_what_became_of_them(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let contract = opened(&harness, merchant.id, "subscription-7", at(1)).await;
    let decline = CredentialDecline {
        category: DeclineCategory::InsufficientFunds,
        asked_wait: Some(Duration::from_secs(86_400)),
    };
    let mut expected = Vec::new();
    for (second, result) in [(2, TryResult::Approved), (3, TryResult::Declined(decline)), (4, TryResult::Unknown)] {
        let now = found(&harness, &contract).await;
        let payment = prepared(&harness, charging(&now, &format!("charge-{second}"), at(second))).await;
        assert_eq!(tries(&harness, &contract).await[0], (at(second), TryResult::Unknown), "written before it is asked");
        if result != TryResult::Unknown {
            let payment = harness.payment(payment.operation.id).await;
            assert_eq!(harness.payments.settle(charged(&payment, result, at(10))).await, Ok(Settled::Done));
        }
        expected.insert(0, (at(second), result));
    }
    assert_eq!(tries(&harness, &contract).await, expected);

    // What was surely never asked is no try.
    let now = found(&harness, &contract).await;
    let payment = prepared(&harness, charging(&now, "charge-5", at(5))).await;
    let mut never = charged(&payment, TryResult::Unknown, at(11));
    if let Some(contract) = &mut never.contract {
        contract.charge = Some(ConcludedCharge { order: payment.order.id, outcome: ChargeOutcome::NeverAsked });
    }
    assert_eq!(harness.payments.settle(never).await, Ok(Settled::Done));
    assert_eq!(tries(&harness, &contract).await, expected);
    let orders = harness.contracts.list_contract_orders(merchant.id, contract.id, 10).await.unwrap();
    let references: Vec<_> = orders.iter().map(|order| order.merchant_reference.as_str()).collect();
    assert_eq!(references, ["charge-5", "charge-4", "charge-3", "charge-2"], "without the one that verified the card");
}

pub async fn of_charges_at_once_one_is_written(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let contract = opened(&harness, merchant.id, "subscription-7", at(1)).await;
    let charge = |number: i32| {
        let (payments, prepare) = (harness.payments.clone(), charging(&contract, &format!("charge-{number}"), at(2)));
        tokio::spawn(async move { payments.prepare_authorization(prepare).await.unwrap() })
    };
    let charges: Vec<_> = (0..8).map(charge).collect();
    let mut done = 0;
    for one in charges {
        match one.await.unwrap() {
            AuthorizationPrepared::Done(None) => done += 1,
            other => assert!(matches!(other, AuthorizationPrepared::Stale), "{other:?}"),
        }
    }
    assert_eq!((done, tries(&harness, &contract).await.len()), (1, 1));
    // The references of the others are free.
    assert_eq!(harness.count("merchant_reference", "reference LIKE 'charge-%'"), 1);
}

pub async fn a_credential_is_kept_until_it_is_deleted_at_its_processor(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let contract = opened(&harness, merchant.id, "subscription-7", at(1)).await;
    let lease = |from, until| {
        let contracts = harness.contracts.clone();
        async move { contracts.claim_credentials_to_delete(at(from), at(until), 10).await.unwrap() }
    };
    assert!(lease(100, 200).await.is_empty(), "it may be charged");
    assert_eq!(harness.contracts.remove_deleted_credential(contract.id, None).await, Ok(()));
    assert_eq!(harness.contracts.find_credential(contract.id).await, Ok(Some(sealed(1))), "it may be charged");

    assert_eq!(harness.contracts.change_contract(closing(&contract, at(5))).await, Ok(Changed::Done));
    // Decided before, written after: too late.
    assert_eq!(harness.contracts.change_contract(closing(&contract, at(5))).await, Ok(Changed::Stale));

    assert_eq!(harness.contracts.find_credential(contract.id).await, Ok(None));
    let claimed = lease(6, 30).await;
    let claimed: Vec<_> = claimed.iter().map(|one| (one.contract, one.merchant, &one.sealed)).collect();
    assert_eq!(claimed, [(contract.id, merchant.id, &sealed(1))]);
    assert!(lease(29, 60).await.is_empty(), "somebody is at it");
    assert_eq!(lease(30, 60).await.len(), 1, "whoever was at it has died");
    assert_eq!(harness.contracts.remove_deleted_credential(contract.id, None).await, Ok(()));
    assert!(lease(100, 200).await.is_empty());
    assert_eq!(harness.contracts.has_credentials().await, Ok(false));
    assert_eq!(harness.count("outbox_event", "event_type = 'CONTRACT_CLOSED'"), 1);
}

pub async fn an_auditor_finds_what_is_here_of_a_stored_card(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (other, _) = harness.merchant().await;
    let all = harness.audit.list_merchant_ids(None, 10_000).await.unwrap();
    assert!(all.is_sorted() && all.contains(&merchant.id) && all.contains(&other.id));
    let behind = harness.audit.list_merchant_ids(Some(all[0]), 1).await.unwrap();
    assert_eq!(behind, all[1..2]);

    let contract = new_contract(merchant.id, "subscription-1", at(0));
    let payment = prepared(&harness, opening(&contract, at(0))).await;
    let (operation, order) = (payment.operation.id, payment.order.id);
    let trace = async || harness.audit.trace_credentials(vec![operation, OpId::new(fresh())]).await.unwrap();
    let expected = |is_open, has_credential| vec![CredentialTrace { operation, order, is_open, has_credential }];
    assert_eq!(trace().await, expected(true, false), "asked, and not answered");
    assert_eq!(harness.payments.settle(stored(&payment, at(1))).await, Ok(Settled::Done));
    assert_eq!(trace().await, expected(false, true), "stored");
    let contract = found(&harness, &contract).await;
    assert_eq!(harness.contracts.change_contract(closing(&contract, at(2))).await, Ok(Changed::Done));
    assert_eq!(trace().await, expected(false, true), "to be deleted");
    harness.contracts.remove_deleted_credential(contract.id, None).await.unwrap();
    assert_eq!(trace().await, expected(false, false), "deleted");
}

pub async fn a_credential_of_a_contract_that_nobody_may_charge_is_only_deleted(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = prepared(&harness, opening(&new_contract(merchant.id, "subscription-7", at(1)), at(1))).await;
    let failed = payment.contract.as_ref().unwrap().opening_failed(FailureReason::Expired, at(2)).unwrap();
    let settlement = Settlement {
        order: Some(payment.order.refused(FailureReason::Expired, at(2)).unwrap().change),
        contract: Some(Box::new(ContractSettlement {
            change: failed.change.clone(),
            credential: CredentialChange::StoreToDelete(sealed(2)),
            charge: None,
        })),
        ..outcome(payment.operation.id, OpState::Declined, at(2))
    };
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    assert_eq!(found(&harness, &failed.change.next).await, failed.change.next);
    assert_eq!(harness.contracts.find_credential(failed.change.next.id).await, Ok(None));
    assert_eq!(harness.contracts.claim_credentials_to_delete(at(2), at(9), 1).await.unwrap().len(), 1);
}

pub async fn a_replaced_credential_is_kept_aside_until_it_is_deleted(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let contract = new_contract(merchant.id, "subscription-7", at(1));
    let opening = prepared(&harness, opening(&contract, at(1))).await;
    assert!(!opening.is_charge);
    assert_eq!(harness.payments.settle(stored(&opening, at(1))).await, Ok(Settled::Done));
    let contract = found(&harness, &contract).await;
    let charge = prepared(&harness, charging(&contract, "charge-1", at(2))).await;
    assert!(charge.is_charge);
    assert_eq!(harness.payments.settle(charged(&charge, TryResult::Approved, at(2))).await, Ok(Settled::Done));

    let contract = found(&harness, &contract).await;
    let order = checkout_order(merchant.id, "another-card", at(3)).with_contract(contract.id);
    let agreed = Consent { text_version: "2027-01".parse().unwrap(), ..contract.consent.clone() };
    let replaces = ContractUse::Replaces(Box::new(contract.replacement_begun(agreed.clone())));
    let payment = prepared(&harness, preparing(order, replaces, at(3))).await;
    assert!(!payment.is_charge && payment.contract.as_ref().unwrap().consent == agreed);
    assert_eq!(tries(&harness, &contract).await.len(), 1, "the contract's card is not tried");
    let newer = CardSummary { scheme: dropin_card::Scheme::Mastercard, last_four: "4444".parse().unwrap(), ..card() };
    let updated = payment.contract.as_ref().unwrap().card_updated(newer, None, at(4)).unwrap();
    let mut settlement = charged(&payment, TryResult::Approved, at(4));
    settlement.contract = Some(Box::new(ContractSettlement {
        change: updated.change.clone(),
        credential: CredentialChange::Replace(sealed(2)),
        charge: None,
    }));
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));

    let now = found(&harness, &contract).await;
    assert_eq!((&now, now.payment_method.as_str()), (&updated.change.next, "MC"));
    assert_eq!(harness.contracts.find_credential(contract.id).await, Ok(Some(sealed(2))));
    let aside = SealedValue::ContractCredential {
        merchant: merchant.id,
        contract: contract.id,
        discarded: Some(opening.order.id),
        sealed: sealed(1),
    };
    let listed = harness.sealed.list_sealed(SealedKind::DiscardedCredential, None, 9).await;
    assert_eq!(listed, Ok(vec![aside.clone()]), "it is sealed anew, too");
    let trace = async |operation| harness.audit.trace_credentials(vec![operation]).await.unwrap()[0].has_credential;
    assert_eq!((trace(opening.operation.id).await, trace(payment.operation.id).await), (true, true));
    let claimed = harness.contracts.claim_credentials_to_delete(at(5), at(30), 10).await.unwrap();
    let claimed: Vec<_> = claimed.iter().map(|one| (one.contract, one.discarded, &one.sealed)).collect();
    assert_eq!(claimed, [(contract.id, Some(opening.order.id), &sealed(1))]);
    assert!(harness.contracts.claim_credentials_to_delete(at(29), at(60), 10).await.unwrap().is_empty());
    assert_eq!(harness.contracts.remove_deleted_credential(contract.id, Some(opening.order.id)).await, Ok(()));
    assert_eq!((trace(opening.operation.id).await, trace(payment.operation.id).await), (false, true));
    assert_eq!(harness.contracts.find_credential(contract.id).await, Ok(Some(sealed(2))), "the new one stays");
    assert!(harness.contracts.claim_credentials_to_delete(at(99), at(100), 10).await.unwrap().is_empty());
}

pub async fn contracts_of_a_profile_are_listed_oldest_first(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let second = opened(&harness, merchant.id, "subscription-2", at(2)).await;
    let first = opened(&harness, merchant.id, "subscription-1", at(1)).await;
    let all = harness.contracts.list_contracts(merchant.id, "customer-7", 10).await.unwrap();
    assert_eq!(all, [first.clone(), second]);
    let first_id = first.id;
    assert_eq!(harness.back_office.find_contract_merchant(first_id).await, Ok(Some(merchant.id)));
    assert_eq!(harness.contracts.list_contracts(merchant.id, "customer-7", 1).await, Ok(vec![first]));
    assert_eq!(harness.contracts.list_contracts(merchant.id, "customer-8", 10).await, Ok(vec![]));
    // One that a Session is opening is hidden, and takes no place of the others.
    let (_, opening) = opening_in_session(&harness, merchant.id, ContractKind::Recurring, at(0)).await;
    prepared(&harness, opening).await;
    let oldest = harness.contracts.list_contracts(merchant.id, "customer-7", 1).await.unwrap();
    assert_eq!(oldest.iter().map(|one| one.id).collect::<Vec<_>>(), [first_id]);
}

pub async fn a_contract_is_due_when_its_card_ends(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let contract = opened(&harness, merchant.id, "subscription-7", at(1)).await;
    let due = |now: Timestamp| {
        let contracts = harness.contracts.clone();
        async move { contracts.find_due_contracts(now, 10).await.unwrap() }
    };
    let (notice, end) = (card().expiry.notice_at(), card().expiry.ends_at());
    assert_eq!(end.to_string(), "2031-02-01T00:00:00.000000Z");
    assert!(due(notice.minus(Duration::from_micros(1))).await.is_empty());
    assert_eq!(due(notice).await, std::slice::from_ref(&contract));
    let told = ChangeContract {
        change: contract.expiring(notice).unwrap().change,
        credential: CredentialChange::Keep,
        ..closing(&contract, notice)
    };
    assert_eq!(harness.contracts.change_contract(told).await, Ok(Changed::Done));
    assert!(due(notice).await.is_empty(), "told once");
    let contract = found(&harness, &contract).await;
    assert_eq!(due(end).await, std::slice::from_ref(&contract));
    let suspended: Change<Contract> = contract.expired(end).unwrap().change;
    let change = ChangeContract { change: suspended, credential: CredentialChange::Keep, ..closing(&contract, end) };
    assert_eq!(harness.contracts.change_contract(change).await, Ok(Changed::Done));
    assert!(due(end).await.is_empty());
}

/// A contract that a Session opens with its Order, about to be asked.
async fn opening_in_session(
    harness: &Harness,
    merchant: MerchantId,
    kind: ContractKind,
    now: Timestamp,
) -> (Contract, PrepareAuthorization) {
    let session = harness.submitted(merchant).await.session.unwrap();
    let contract = new_contract(merchant, "of-a-session", now);
    let order = Order::start(
        NewOrder {
            id: dropin_kernel::OrderId::new(fresh()),
            merchant_id: merchant,
            session_id: None,
            attempt_id: None,
            merchant_reference: format!("of-{}", session.id),
            total: Amount::zero(Currency::Usd),
            auto_capture: true,
            payment_method: "VISA".to_owned(),
            return_url: None,
        },
        now,
    )
    .with_contract(contract.id);
    let origin = ContractOrigin::Session { session: SessionId::new(session.id.uuid()), order: order.id };
    let contract = contract.edited(|parts| (parts.origin, parts.kind) = (origin, kind)).unwrap();
    let opens = ContractUse::Opens(Box::new(contract.clone()));
    (contract, preparing(order, opens, now))
}

pub async fn what_a_session_opens_is_not_found_before_it_is_open(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (contract, prepare) = opening_in_session(&harness, merchant.id, ContractKind::Recurring, at(1)).await;
    let payment = prepared(&harness, prepare).await;
    assert_eq!(payment.contract, Some(contract.clone()));
    let name = ContractName::Id(contract.id);
    assert_eq!(harness.contracts.find_contract(merchant.id, &name).await, Ok(None));
    assert_eq!(harness.back_office.find_contract_merchant(contract.id).await, Ok(None));
    assert_eq!(harness.contracts.list_contracts(merchant.id, "customer-7", 10).await, Ok(vec![]));
    assert_eq!(harness.payments.settle(stored(&payment, at(2))).await, Ok(Settled::Done));
    assert_eq!(found(&harness, &contract).await.origin, contract.origin);
}

pub async fn saved_cards_are_listed_by_their_last_use(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let save = async |kind, second| {
        let (contract, prepare) = opening_in_session(&harness, merchant.id, kind, at(second)).await;
        let payment = prepared(&harness, prepare).await;
        assert_eq!(harness.payments.settle(stored(&payment, at(second))).await, Ok(Settled::Done));
        found(&harness, &contract).await
    };
    let listed = async |limit| {
        let cards = harness.contracts.list_saved_cards(merchant.id, "customer-7", limit).await.unwrap();
        cards.into_iter().map(|card| card.id).collect::<Vec<_>>()
    };
    assert!(listed(10).await.is_empty());
    let (oldest, middle, newest) = (
        save(ContractKind::OneClick, 1).await,
        save(ContractKind::OneClick, 2).await,
        save(ContractKind::OneClick, 3).await,
    );
    // What the merchant charges is no saved card; nor is what still opens, or belongs to another.
    save(ContractKind::Unscheduled, 4).await;
    let (_, opening) = opening_in_session(&harness, merchant.id, ContractKind::OneClick, at(5)).await;
    prepared(&harness, opening).await;
    assert_eq!(listed(10).await, [newest.id, middle.id, oldest.id]);
    assert_eq!(listed(2).await, [newest.id, middle.id]);
    assert_eq!(harness.contracts.list_saved_cards(merchant.id, "customer-8", 10).await, Ok(vec![]));
    assert_eq!(harness.contracts.list_saved_cards(other.id, "customer-7", 10).await, Ok(vec![]));

    for (card, second, result) in [(&oldest, 6, TryResult::Approved), (&middle, 7, TryResult::Unknown)] {
        let payment = prepared(&harness, charging(card, &format!("again-{second}"), at(second))).await;
        if result == TryResult::Approved {
            assert_eq!(harness.payments.settle(charged(&payment, result, at(second))).await, Ok(Settled::Done));
        }
    }
    assert_eq!(listed(10).await, [oldest.id, newest.id, middle.id], "only what was paid counts as use");
    let closed = found(&harness, &newest).await;
    assert_eq!(harness.contracts.change_contract(closing(&closed, at(8))).await, Ok(Changed::Done));
    assert_eq!(listed(10).await, [oldest.id, middle.id]);
}

pub async fn a_card_that_is_used_often_hides_no_other_use(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut cards = Vec::new();
    for second in 1..=3 {
        let (contract, prepare) = opening_in_session(&harness, merchant.id, ContractKind::OneClick, at(second)).await;
        let payment = prepared(&harness, prepare).await;
        assert_eq!(harness.payments.settle(stored(&payment, at(second))).await, Ok(Settled::Done));
        cards.push(contract);
    }
    for (number, second) in [(0, 6), (2, 10), (2, 11), (2, 12)] {
        let card = found(&harness, &cards[number]).await;
        let payment = prepared(&harness, charging(&card, &format!("again-{second}"), at(second))).await;
        let paid = charged(&payment, TryResult::Approved, at(second));
        assert_eq!(harness.payments.settle(paid).await, Ok(Settled::Done));
    }
    let listed = harness.contracts.list_saved_cards(merchant.id, "customer-7", 3).await.unwrap();
    let expected = [2, 0, 1].map(|number: usize| cards[number].id);
    assert_eq!(listed.iter().map(|card| card.id).collect::<Vec<_>>(), expected);
}

pub async fn the_database_refuses_what_the_domain_does(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let contract = opened(&harness, merchant.id, "subscription-7", at(1)).await;
    let id = contract.id;
    for wrong in [
        "state = 'DONE'",
        "state = 'CLOSED'",
        "state = 'SUSPENDED', suspend_reason = 'BORED', due_at = NULL",
        "close_reason = 'MERCHANT'",
        "failure = 'PAYMENT_DECLINED'",
        "reference = NULL",
        "card_scheme = NULL",
        "due_at = NULL",
        "revision = 0",
        "currency = 'usd'",
        "kind = 'FOREVER'",
    ] {
        let refused = harness.raw.execute(&format!("UPDATE contract SET {wrong} WHERE id = '{id}'"));
        assert!(refused.is_err(), "{wrong}");
    }
    assert_eq!(found(&harness, &contract).await, contract);
}
