//! Contracts that are opened, charged and given another card at the same moment: each is changed whole, as if it had been alone.

use std::sync::Arc;

use dropin_contract::{Contract, DeclineCategory, TryResult};
use dropin_kernel::MerchantId;
use dropin_ports::{
    AuthorizationPrepared, ChargeOutcome, ConcludedCharge, ContractName, ContractSettlement, ContractUse,
    CredentialChange, Payment, PrepareAuthorization, SealedKind, SealedValue, Settled, Settlement,
};

use super::batches::{all, prepare, settle};
use crate::Harness;
use crate::contract_steps::{
    card, charged, charging, contract_event, contract_history, new_contract, opening, preparing, sealed, stored,
};
use crate::values::{at, checkout_order, fresh, order_event};

/// How many contracts come to each outcome.
const ROUNDS: usize = 4;

/// What becomes of a contract that is charged, or that is paid with another card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Approved,
    Closed,
    NeverAsked,
    /// The processor tells of a newer credential of the same card.
    Renewed,
    Replaced,
    /// The credential of another card comes for a contract that keeps its own.
    InVain,
}

const OUTCOMES: [Outcome; 6] =
    [Outcome::Approved, Outcome::Closed, Outcome::NeverAsked, Outcome::Renewed, Outcome::Replaced, Outcome::InVain];

/// A contract that may be charged, and the Order that opened it.
struct Opened {
    contract: Contract,
    by: Payment,
}

async fn open_all(harness: &Harness, merchants: [MerchantId; 2]) -> Vec<Opened> {
    let new = (0..ROUNDS * OUTCOMES.len())
        .map(|number| opening(&new_contract(merchants[number % 2], &format!("contract-{}", fresh()), at(1)), at(1)));
    let new: Vec<_> = new.collect();
    let prepared = all(new.iter().map(|one| prepare(harness, one)).collect()).await;
    assert!(prepared.iter().all(|one| matches!(one, AuthorizationPrepared::Done(None))), "{prepared:?}");
    let mut opened = vec![];
    for one in &new {
        let payment = harness.payment(one.operation.id).await;
        assert_eq!(payment.contract.as_ref(), one.contract.as_ref().map(ContractUse::contract));
        opened.push(payment);
    }
    let settled = all(opened.iter().map(|payment| settle(harness, &stored(payment, at(2)))).collect()).await;
    assert!(settled.iter().all(|settled| *settled == Settled::Done), "{settled:?}");
    let mut all = vec![];
    for by in opened {
        let contract = found(harness, by.contract.as_ref().unwrap()).await;
        assert_eq!(harness.contracts.find_credential(contract.id).await, Ok(Some(sealed(1))));
        all.push(Opened { contract, by });
    }
    all
}

async fn found(harness: &Harness, contract: &Contract) -> Contract {
    let name = ContractName::Id(contract.id);
    harness.contracts.find_contract(contract.merchant_id, &name).await.unwrap().unwrap()
}

fn begin(contract: &Contract, outcome: Outcome) -> PrepareAuthorization {
    let reference = format!("charge-{}", fresh());
    match outcome {
        Outcome::Replaced | Outcome::InVain => {
            let order = checkout_order(contract.merchant_id, &reference, at(10)).with_contract(contract.id);
            let change = contract.replacement_begun(contract.consent.clone());
            preparing(order, ContractUse::Replaces(Box::new(change)), at(10))
        }
        _ => charging(contract, &reference, at(10)),
    }
}

/// Asks for each twice at once, and gives those that were begun.
async fn begin_all(harness: &Harness, opened: &[Opened]) -> Vec<Payment> {
    let pairs = opened.iter().zip(OUTCOMES.into_iter().cycle());
    let twice: Vec<_> =
        pairs.flat_map(|(one, outcome)| [begin(&one.contract, outcome), begin(&one.contract, outcome)]).collect();
    let prepared = all(twice.iter().map(|one| prepare(harness, one)).collect()).await;
    let mut begun = vec![];
    for (pair, came) in twice.chunks(2).zip(prepared.chunks(2)) {
        let (won, lost) = match came {
            [AuthorizationPrepared::Done(None), AuthorizationPrepared::Stale] => (&pair[0], &pair[1]),
            [AuthorizationPrepared::Stale, AuthorizationPrepared::Done(None)] => (&pair[1], &pair[0]),
            other => panic!("{other:?}"),
        };
        assert_eq!(harness.payments.find_payment(lost.operation.id).await, Ok(None));
        assert_eq!(harness.count("merchant_reference", &format!("owner_id = '{}'", lost.order.id)), 0);
        assert_eq!(harness.count("contract_try", &format!("order_id = '{}'", lost.order.id)), 0);
        let payment = harness.payment(won.operation.id).await;
        assert_eq!(payment.contract.as_ref(), won.contract.as_ref().map(ContractUse::contract));
        assert_eq!((&payment.order, &payment.operation), (&won.order, &won.operation));
        assert_eq!(payment.is_charge, matches!(won.contract, Some(ContractUse::Charges(_))));
        begun.push(payment);
    }
    begun
}

fn settlement(payment: &Payment, outcome: Outcome) -> Settlement {
    let (contract, now) = (payment.contract.as_ref().unwrap(), at(20));
    let mut settlement = charged(payment, TryResult::Approved, now);
    let order = settlement.order.as_ref().unwrap().next.clone();
    settlement.events = vec![order_event(&order, "ORDER", now)];
    let unchanged = contract.charge_begun();
    let charge = settlement.contract.as_ref().unwrap().charge;
    let changed = |change, credential, charge| Some(Box::new(ContractSettlement { change, credential, charge }));
    match outcome {
        Outcome::Approved => {}
        Outcome::NeverAsked => {
            let never = ConcludedCharge { order: payment.order.id, outcome: ChargeOutcome::NeverAsked };
            settlement.contract = changed(unchanged, CredentialChange::Keep, Some(never));
        }
        Outcome::Closed => {
            let (category, told) = (DeclineCategory::CardLost, contract_event(contract, "CONTRACT_CLOSED", now));
            let closed = contract.declined(category, payment.order.created_at, now).unwrap().change;
            let tried = ChargeOutcome::Tried(TryResult::Declined(category.into()));
            let concluded = ConcludedCharge { order: payment.order.id, outcome: tried };
            settlement.contract = changed(closed, CredentialChange::Delete, Some(concluded));
            settlement.events.insert(0, told);
            settlement.history.push(contract_history(contract, now));
        }
        Outcome::Renewed => settlement.contract = changed(unchanged, CredentialChange::Store(sealed(3)), charge),
        Outcome::Replaced => {
            let updated = contract.card_updated(card(), None, now).unwrap().change;
            settlement.contract = changed(updated, CredentialChange::Replace(sealed(4)), None);
        }
        Outcome::InVain => {
            settlement.contract = changed(unchanged, CredentialChange::StoreToDelete(sealed(5)), None);
        }
    }
    settlement
}

pub async fn each_contract_is_changed_whole_or_not_at_all(harness: Arc<Harness>) {
    let ((ana, _), (bob, _)) = (harness.merchant().await, harness.merchant().await);
    let opened = open_all(&harness, [ana.id, bob.id]).await;
    let begun = begin_all(&harness, &opened).await;
    let outcomes = || OUTCOMES.into_iter().cycle();
    let settlements: Vec<_> = begun.iter().zip(outcomes()).map(|(one, outcome)| settlement(one, outcome)).collect();
    let twice = settlements.iter().flat_map(|one| [one, one]);
    let settled = all(twice.map(|one| settle(&harness, one)).collect()).await;
    for pair in settled.chunks(2) {
        assert!(pair.contains(&Settled::Done) && pair.contains(&Settled::AlreadySettled), "{pair:?}");
    }
    for (((one, payment), outcome), settlement) in opened.iter().zip(&begun).zip(outcomes()).zip(&settlements) {
        assert_written(&harness, one, payment, outcome, settlement).await;
    }
    let aside = harness.sealed.list_sealed(SealedKind::DiscardedCredential, None, 99).await.unwrap();
    assert_eq!(aside.len(), 2 * ROUNDS, "nothing of the others");
}

async fn assert_written(
    harness: &Harness,
    Opened { contract, by }: &Opened,
    payment: &Payment,
    outcome: Outcome,
    settlement: &Settlement,
) {
    let change = settlement.contract.as_ref().unwrap();
    assert_eq!(found(harness, contract).await, change.change.next, "{outcome:?}");
    let of = |order: &Payment| order.order.id.to_string();
    let (credential, given_by) = match outcome {
        Outcome::Closed => (None, of(by)),
        Outcome::Renewed => (Some(sealed(3)), of(by)),
        Outcome::Replaced => (Some(sealed(4)), of(payment)),
        _ => (Some(sealed(1)), of(by)),
    };
    assert_eq!(harness.contracts.find_credential(contract.id).await, Ok(credential), "{outcome:?}");
    let row = |column: &str| {
        let query = format!("SELECT {column} AS value FROM contract_credential WHERE contract_id = '{}'", contract.id);
        harness.raw.values(&query)
    };
    assert_eq!(row("CAST(order_id AS TEXT)"), [given_by], "{outcome:?}");
    let ends = row("CASE WHEN delete_at IS NULL THEN 'KEPT' ELSE 'ENDS' END");
    assert_eq!(ends, [if outcome == Outcome::Closed { "ENDS" } else { "KEPT" }], "{outcome:?}");
    let aside = match outcome {
        Outcome::Replaced => Some((by.order.id, sealed(1))),
        Outcome::InVain => Some((payment.order.id, sealed(5))),
        _ => None,
    };
    let listed = harness.sealed.list_sealed(SealedKind::DiscardedCredential, None, 99).await.unwrap();
    let listed = listed.into_iter().find_map(|value| match value {
        SealedValue::ContractCredential { contract: id, discarded, sealed, .. } if id == contract.id => {
            Some((discarded.unwrap(), sealed))
        }
        _ => None,
    });
    assert_eq!(listed, aside, "{outcome:?}");
    let tries = harness.contracts.list_charge_tries(contract.id, 9).await.unwrap();
    let tries: Vec<_> = tries.into_iter().map(|one| (one.at, one.result)).collect();
    match outcome {
        Outcome::Approved | Outcome::Renewed => assert_eq!(tries, [(at(10), TryResult::Approved)], "{outcome:?}"),
        Outcome::Closed => {
            assert_eq!(tries, [(at(10), TryResult::Declined(DeclineCategory::CardLost.into()))]);
        }
        _ => assert_eq!(tries, [], "{outcome:?}"),
    }
    let told = |payment: String| {
        let number = "CAST(sequence AS TEXT) || ' ' || event_type";
        let of = format!("payment_id = '{payment}' ORDER BY sequence");
        harness.raw.values(&format!("SELECT {number} AS value FROM outbox_event WHERE {of}"))
    };
    assert_eq!(told(of(payment)), ["1 ORDER"], "{outcome:?}");
    let events: &[&str] = match outcome {
        Outcome::Closed => &["1 CONTRACT_OPENED", "2 CONTRACT_CLOSED"],
        _ => &["1 CONTRACT_OPENED"],
    };
    assert_eq!(told(contract.id.to_string()), events, "{outcome:?}");
}
