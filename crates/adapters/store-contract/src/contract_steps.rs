//! What payments do with contracts, ready to be written.

use dropin_contract::{CardSummary, Consent, Contract, ContractKind, ContractOrigin, NewContract, TryResult};
use dropin_kernel::{ContractId, EventId, MerchantId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_order::{FailureReason, OpState, Order};
use dropin_ports::{
    Actor, ChargeOutcome, ConcludedCharge, ContractSettlement, ContractUse, CredentialChange, NewEvent,
    NewHistoryEntry, Payment, PrepareAuthorization, SealedCredential, Settlement, Subject,
};

use crate::harness::outcome;
use crate::values::{at, authorization, checkout_order, fresh, of_order, posting};

/// The card that a contract stores.
pub(crate) fn card() -> CardSummary {
    let scheme = dropin_card::Scheme::Visa;
    CardSummary { scheme, last_four: "4242".parse().unwrap(), expiry: "2031-01".parse().unwrap() }
}

/// A sealed credential, told from others by its first byte.
pub fn sealed(first: u8) -> SealedCredential {
    SealedCredential { key_id: "1732406400-0badcafe".to_owned(), bytes: vec![first, 0, 255] }
}

/// A contract that `openContract` opens under `reference`.
pub fn new_contract(merchant: MerchantId, reference: &str, now: Timestamp) -> Contract {
    let new = NewContract {
        id: ContractId::new(fresh()),
        merchant_id: merchant,
        kind: ContractKind::Recurring,
        origin: ContractOrigin::Server { reference: reference.parse().unwrap() },
        payment_method: "VISA".to_owned(),
        currency: Currency::Usd,
        billing_profile_reference: Some("customer-7".parse().unwrap()),
        consent: Consent { text_version: "2026-11".parse().unwrap(), locale: "de_AT".parse().unwrap(), at: now },
    };
    Contract::open(new, now).unwrap()
}

/// An Order with what it does with a contract, about to be asked.
pub(crate) fn preparing(order: Order, contract: ContractUse, now: Timestamp) -> PrepareAuthorization {
    PrepareAuthorization {
        session: None,
        checkout: None,
        contract: Some(contract),
        operation: authorization(&order, now),
        stash: None,
        now,
        history: vec![of_order(&order, "START", now)],
        key_use: None,
        audit: None,
        order,
    }
}

/// An Order that verifies the card of `contract`, about to be asked.
pub fn opening(contract: &Contract, now: Timestamp) -> PrepareAuthorization {
    let ContractOrigin::Server { reference } = &contract.origin else { panic!("{contract:?}") };
    let order = checkout_order(contract.merchant_id, reference.as_str(), now);
    let order = order.edited(|parts| {
        parts.total = Amount::zero(Currency::Usd);
        parts.shown = false;
    });
    preparing(order.unwrap().with_contract(contract.id), ContractUse::Opens(Box::new(contract.clone())), now)
}

/// An Order that charges `contract`, about to be asked.
pub fn charging(contract: &Contract, reference: &str, now: Timestamp) -> PrepareAuthorization {
    let order = checkout_order(contract.merchant_id, reference, now).with_contract(contract.id);
    preparing(order, ContractUse::Charges(Box::new(contract.charge_begun())), now)
}

/// The settlement of a payment whose card is stored.
pub fn stored(payment: &Payment, now: Timestamp) -> Settlement {
    let contract = payment.contract.as_ref().unwrap();
    let step = payment.order.authorized(&payment.order.total, false, at(604_800), posting(), now).unwrap();
    let opened = contract.credential_stored(card(), "483297487231504".parse().ok(), now).unwrap();
    let settlement = outcome(payment.operation.id, OpState::Approved, now);
    Settlement {
        order: Some(step.change),
        ledger: step.ledger,
        contract: Some(Box::new(ContractSettlement {
            change: opened.change,
            credential: CredentialChange::Store(sealed(1)),
            charge: None,
        })),
        events: vec![contract_event(contract, "CONTRACT_OPENED", now)],
        history: vec![contract_history(contract, now)],
        ..settlement
    }
}

pub(crate) fn contract_history(contract: &Contract, at: Timestamp) -> NewHistoryEntry {
    NewHistoryEntry {
        merchant_id: contract.merchant_id,
        subject: Subject::Contract(contract.id),
        actor: Actor::System,
        what: "CREDENTIAL_STORED",
        at,
        before: Some("OPENING"),
        after: "ACTIVE",
    }
}

/// A notification about a contract.
pub(crate) fn contract_event(contract: &Contract, event_type: &'static str, at: Timestamp) -> NewEvent {
    NewEvent {
        id: EventId::new(fresh()),
        merchant_id: contract.merchant_id,
        payment_id: contract.payment_id(),
        event_type,
        body: b"{\"Contract\":1}".to_vec(),
        at,
    }
}

/// The settlement of a charge, whatever came of it.
pub fn charged(payment: &Payment, result: TryResult, now: Timestamp) -> Settlement {
    let contract = payment.contract.as_ref().unwrap();
    let step = match result {
        TryResult::Approved => {
            payment.order.authorized(&payment.order.total, false, at(604_800), posting(), now).unwrap()
        }
        _ => payment.order.refused(FailureReason::Declined, now).unwrap(),
    };
    Settlement {
        order: Some(step.change),
        ledger: step.ledger,
        contract: Some(Box::new(ContractSettlement {
            change: contract.charge_begun(),
            credential: CredentialChange::Keep,
            charge: Some(ConcludedCharge { order: payment.order.id, outcome: ChargeOutcome::Tried(result) }),
        })),
        ..outcome(payment.operation.id, OpState::Approved, now)
    }
}
