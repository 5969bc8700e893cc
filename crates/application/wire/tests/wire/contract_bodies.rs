//! The exact bytes of answers and notifications about contracts.

use crate::common::{LATER, NOW, id, started};
use dropin_card::Scheme;
use dropin_contract::{
    CardSummary, Consent, Contract, ContractEvent, ContractKind, ContractOrigin, DeclineCategory, NewContract,
    SuspendReason,
};
use dropin_kernel::{ContractId, MerchantId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_order::{FailureReason, OrderState};
use dropin_wire::checkout::authentication_required;
use dropin_wire::contract::{
    ContractBody, ContractOrder, FoundContractBody, closed_contract, contract_list, opened_contract,
};
use dropin_wire::event::contract_changed;

const HEAD: &str = r#"{"ContractId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809107","#;
const MIDDLE: &str = r#""Kind":"RECURRING","PaymentMethod":"VISA","Currency":"EUR","#;
const CARD: &str = r#""Card":{"Scheme":"VISA","Last4":"0005","Expiry":"2031-12"},"#;
const CONSENT: &str = r#""Consent":{"TextVersion":"2026-11","Locale":"de_AT","At":"2026-11-18T11:06:40.000000Z"},"#;
const CREATED: &str = r#""CreatedAt":"2026-11-18T11:06:40.000000Z","#;
const CHANGED_LATER: &str = r#""UpdatedAt":"2026-11-19T11:06:40.000000Z""#;

fn opening() -> Contract {
    let new = NewContract {
        id: id::<ContractId>(7),
        merchant_id: id::<MerchantId>(2),
        kind: ContractKind::Recurring,
        origin: ContractOrigin::Server { reference: "subscription-7".parse().unwrap() },
        payment_method: "VISA".to_owned(),
        currency: Currency::Eur,
        billing_profile_reference: None,
        consent: Consent { text_version: "2026-11".parse().unwrap(), locale: "de_AT".parse().unwrap(), at: NOW },
    };
    Contract::open(new, NOW).unwrap()
}

fn active() -> Contract {
    let card =
        CardSummary { scheme: Scheme::Visa, last_four: "0005".parse().unwrap(), expiry: "2031-12".parse().unwrap() };
    opening().credential_stored(card, None, LATER).unwrap().change.next
}

fn text(body: &impl serde::Serialize) -> String {
    serde_json::to_string(body).unwrap()
}

fn utf_8(body: Vec<u8>) -> String {
    String::from_utf8(body).unwrap()
}

/// A contract that became `state` later, with its card.
fn rendered(state: &str) -> String {
    format!("{HEAD}{state}{MIDDLE}{CARD}{CONSENT}{CREATED}{CHANGED_LATER}}}")
}

#[test]
fn a_contract_in_each_state() {
    let opening = opening();
    let updated = r#""UpdatedAt":"2026-11-18T11:06:40.000000Z""#;
    assert_eq!(
        text(&ContractBody::new(&opening)),
        format!(r#"{HEAD}"State":"OPENING",{MIDDLE}{CONSENT}{CREATED}{updated}}}"#)
    );
    let failed = opening.opening_failed(FailureReason::Declined, LATER).unwrap().change.next;
    let state = r#""State":"CLOSED","StateReason":"OPENING_FAILED","#;
    assert_eq!(
        text(&ContractBody::new(&failed)),
        format!("{HEAD}{state}{MIDDLE}{CONSENT}{CREATED}{CHANGED_LATER}}}"),
        "it never had a card"
    );
    let active = active();
    assert_eq!(text(&ContractBody::new(&active)), rendered(r#""State":"ACTIVE","#));
    for (category, state, reason) in [
        (DeclineCategory::CardExpired, "SUSPENDED", "CARD_EXPIRED"),
        (DeclineCategory::CardInvalid, "SUSPENDED", "CARD_INVALID"),
        (DeclineCategory::AuthorizationRevoked, "CLOSED", "AUTHORIZATION_REVOKED"),
    ] {
        let changed = active.declined(category, LATER, LATER).unwrap().change.next;
        let expected = rendered(&format!(r#""State":"{state}","StateReason":"{reason}","#));
        assert_eq!(text(&ContractBody::new(&changed)), expected);
    }
}

#[test]
fn a_billing_profile_reference_is_told_where_there_is_one() {
    let contract = active().edited(|parts| parts.billing_profile_reference = "ana-1".parse().ok()).unwrap();
    let body = text(&ContractBody::new(&contract));
    assert!(body.contains(&format!(r#"{CARD}"BillingProfileReference":"ana-1",{CONSENT}"#)), "{body}");
}

#[test]
fn a_contract_that_is_retrieved_lists_its_payments() {
    let order = ContractOrder {
        order_id: id::<OrderId>(3),
        merchant_reference: "order-1",
        state: OrderState::Processed,
        amount: Amount::from_minor(Currency::Eur, 990).unwrap(),
        created_at: LATER,
    };
    let active = active();
    let listed = concat!(
        r#","Orders":[{"OrderId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103","MerchantReference":"order-1","State":"PROCESSED","#,
        r#""Amount":9.90,"Currency":"EUR","CreatedAt":"2026-11-19T11:06:40.000000Z"}]}"#
    );
    let alone = rendered(r#""State":"ACTIVE","#);
    let alone = alone.strip_suffix('}').unwrap();
    assert_eq!(text(&ContractBody::with_orders(&active, [order])), format!("{alone}{listed}"));
    assert_eq!(text(&ContractBody::with_orders(&active, [])), format!(r#"{alone},"Orders":[]}}"#));
}

#[test]
fn contracts_are_listed_and_found_without_their_payments() {
    let contracts = [active(), active()];
    let one = rendered(r#""State":"ACTIVE","#);
    assert_eq!(text(&contract_list(&contracts)), format!(r#"{{"Contracts":[{one},{one}]}}"#));
    assert_eq!(text(&contract_list([])), r#"{"Contracts":[]}"#);
    assert_eq!(text(&FoundContractBody::new(&contracts[0])), format!(r#"{{"Contract":{one}}}"#));
}

#[test]
fn an_open_contract_tells_where_the_shopper_has_to_go() {
    let (opening, page) = (opening(), Some("https://bank.example/3ds?a=1"));
    assert_eq!(utf_8(opened_contract(&opening, None)), format!(r#"{HEAD}"State":"OPENING"}}"#));
    assert_eq!(
        utf_8(opened_contract(&opening, page)),
        format!(r#"{HEAD}"State":"OPENING","Action":{{"Redirect":"https://bank.example/3ds?a=1"}}}}"#)
    );
    assert_eq!(utf_8(opened_contract(&active(), page)), format!(r#"{HEAD}"State":"ACTIVE"}}"#), "the page is over");
}

#[test]
fn a_close_contract_answers_the_contract() {
    let closed = active().close_by_merchant(LATER).unwrap().change.next;
    assert_eq!(utf_8(closed_contract(&closed)), rendered(r#""State":"CLOSED","StateReason":"MERCHANT","#));
}

#[test]
fn events_carry_the_contract() {
    let active = active();
    let suspended = active.declined(DeclineCategory::CardRefused, LATER, LATER).unwrap().change.next;
    let reason = SuspendReason::IssuerStopped.as_str();
    let suspension = format!(r#""State":"SUSPENDED","StateReason":"{reason}","#);
    let closed = active.close_by_operator(LATER).unwrap().change.next;
    for (event, contract, name, state) in [
        (ContractEvent::Opened, &active, "CONTRACT_OPENED", r#""State":"ACTIVE","#),
        (ContractEvent::Expiring, &active, "CONTRACT_EXPIRING", r#""State":"ACTIVE","#),
        (ContractEvent::Suspended, &suspended, "CONTRACT_SUSPENDED", &suspension),
        (ContractEvent::Closed, &closed, "CONTRACT_CLOSED", r#""State":"CLOSED","StateReason":"OPERATOR","#),
    ] {
        let expected = format!(r#"{{"EventType":"{name}","Contract":{}}}"#, rendered(state));
        assert_eq!(utf_8(contract_changed(event, contract)), expected);
    }
}

#[test]
fn a_charge_that_needs_the_shopper_names_its_order() {
    let body = utf_8(authentication_required(&started(None, "VISA")));
    assert!(body.starts_with(r#"{"Code":"SHOPPER_AUTHENTICATION_REQUIRED","Message":"#), "{body}");
    assert!(body.ends_with(r#","OrderId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103"}"#), "{body}");
    assert!(body.contains("with Return") && !body.contains("ContractId"), "no contract's: {body}");
    let charged = started(None, "VISA").with_contract("6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809104".parse().unwrap());
    let body = utf_8(authentication_required(&charged));
    assert!(body.contains("a Session that carries this ContractId") && !body.contains("Return"), "{body}");
}
