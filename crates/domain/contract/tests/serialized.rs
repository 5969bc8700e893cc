//! The serialized forms: codes, texts and parts, restored through the same checks.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use common::{active, at, opening, visa};
use dropin_contract::{
    CardSummary, CloseReason, Contract, ContractEvent, ContractKind, ContractState, ContractStateKind, ContractTrigger,
    DeclineCategory, Initiator, NetworkTransactionId, PaymentMark, StoredCredentialUse, SuspendReason,
};
use dropin_order::FailureReason;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// That `value` is written as `json` and read back as itself.
#[track_caller]
fn is<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, json: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), json);
    assert_eq!(&serde_json::from_str::<T>(json).unwrap(), value);
}

/// That `json` is refused as a `T` for a reason that begins with `why`.
#[track_caller]
fn refused<T: DeserializeOwned + std::fmt::Debug>(json: &str, why: &str) {
    let error = serde_json::from_str::<T>(json).unwrap_err().to_string();
    assert!(error.starts_with(why), "{json}: {error}");
}

#[test]
fn coded_enums_are_their_codes() {
    is(&ContractKind::OneClick, r#""ONE_CLICK""#);
    is(&Initiator::Merchant, r#""MERCHANT""#);
    is(&StoredCredentialUse::Unscheduled, r#""UNSCHEDULED""#);
    is(&ContractStateKind::Suspended, r#""SUSPENDED""#);
    is(&ContractTrigger::CardUpdated, r#""CARD_UPDATED""#);
    is(&ContractEvent::Expiring, r#""CONTRACT_EXPIRING""#);
    is(&SuspendReason::IssuerStopped, r#""ISSUER_STOPPED""#);
    is(&CloseReason::OpeningFailed, r#""OPENING_FAILED""#);
    is(&DeclineCategory::AuthorizationRevoked, r#""AUTHORIZATION_REVOKED""#);
    refused::<ContractKind>(r#""OneClick""#, "is no kind of contract; there are ONE_CLICK,");
}

#[test]
fn texts_have_one_form() {
    is(&"483297487231504".parse::<NetworkTransactionId>().unwrap(), r#""483297487231504""#);
    refused::<NetworkTransactionId>(r#"" 4""#, "must be 1 to 35 printable ASCII characters");
    is(&visa("2031-12"), r#"{"Scheme":"VISA","Last4":"4242","Expiry":"2031-12"}"#);
    for (json, why) in [
        (r#"{"Scheme":"Visa","Last4":"4242","Expiry":"2031-12"}"#, "is no card scheme"),
        (r#"{"Scheme":"VISA","Last4":"424","Expiry":"2031-12"}"#, "must be the last four digits"),
        (r#"{"Scheme":"VISA","Last4":4242,"Expiry":"2031-12"}"#, "invalid type"),
        (r#"{"Scheme":"VISA","Last4":"4242","Expiry":"12/31"}"#, "must be a month of the years 2000 to 2099"),
        (r#"{"Scheme":"VISA","Last4":"4242","Expiry":"2031-12","Number":"4242"}"#, "unknown field `Number`"),
        (r#"{"Scheme":"VISA","Last4":"4242"}"#, "missing field `Expiry`"),
    ] {
        refused::<CardSummary>(json, why);
    }
}

#[test]
fn a_state_has_its_own_members_and_no_others() {
    for (state, members) in [
        (ContractState::Opening, ""),
        (ContractState::Active, ""),
        (ContractState::Suspended { reason: SuspendReason::CardExpired }, r#","SuspendReason":"CARD_EXPIRED""#),
        (ContractState::Closed { reason: CloseReason::Merchant, failure: None }, r#","CloseReason":"MERCHANT""#),
        (
            ContractState::Closed { reason: CloseReason::OpeningFailed, failure: Some(FailureReason::Declined) },
            r#","CloseReason":"OPENING_FAILED","FailureReason":"PAYMENT_DECLINED""#,
        ),
    ] {
        is(&state, &format!(r#"{{"State":"{}"{members}}}"#, state.kind()));
        for kind in ContractStateKind::ALL {
            let read = serde_json::from_str::<ContractState>(&format!(r#"{{"State":"{kind}"{members}}}"#));
            let fits = kind == state.kind() || (members.is_empty() && !matches!(kind.as_str(), "SUSPENDED" | "CLOSED"));
            assert_eq!(read.ok().map(ContractState::kind), fits.then_some(kind), "{state:?} as {kind}");
        }
    }
    refused::<ContractState>(r#"{"State":"ACTIVE","CloseReason":"MERCHANT"}"#, "has other members than its State has");
    refused::<ContractState>(r#"{"State":"CLOSED","CloseReason":"AGE"}"#, "is no reason to close");
    refused::<ContractState>(r#"{"State":"ACTIVE","Reason":"MERCHANT"}"#, "unknown field `Reason`");
    refused::<ContractState>("{}", "missing field `State`");
}

#[test]
fn a_mark_names_the_first_payment_unless_it_is_the_first() {
    is(&PaymentMark::FIRST, r#"{"CredentialUse":"FIRST","NetworkTransactionId":null}"#);
    let mark = active(ContractKind::Recurring).plan_merchant_charge(&common::eur(1), &[], at("2026-12-23")).unwrap();
    let written = r#"{"CredentialUse":"RECURRING","NetworkTransactionId":"483297487231504"}"#;
    is(&mark, written);
    refused::<PaymentMark>(&written.replace("RECURRING", "FIRST"), "a FIRST payment names none before it");
    refused::<PaymentMark>(&written.replace("CredentialUse", "Use"), "unknown field `Use`");
}

#[test]
fn a_contract_is_its_parts_and_holds_no_credential() {
    let written = concat!(
        r#"{"Id":"00000000-0000-0000-0000-000000000001","MerchantId":"00000000-0000-0000-0000-000000000002","#,
        r#""Revision":2,"State":{"State":"ACTIVE"},"Kind":"ONE_CLICK","#,
        r#""Origin":{"SESSION":{"Session":"00000000-0000-0000-0000-000000000003","#,
        r#""Order":"00000000-0000-0000-0000-000000000004"}},"#,
        r#""PaymentMethod":"VISA","Currency":"EUR","BillingProfileReference":"customer-7","#,
        r#""Consent":{"TextVersion":"2026-11","Locale":"de_AT","At":"2026-11-23T00:00:00.000000Z"},"#,
        r#""Card":{"Summary":{"Scheme":"VISA","Last4":"4242","Expiry":"2031-12"},"#,
        r#""NumberSince":"2026-11-23T00:00:00.000000Z","UpdatedAt":"2026-11-23T00:00:00.000000Z","#,
        r#""ExpiryToldAt":null},"NetworkTransactionId":"483297487231504","#,
        r#""CreatedAt":"2026-11-23T00:00:00.000000Z","UpdatedAt":"2026-11-23T00:00:00.000000Z"}"#
    );
    is(&active(ContractKind::OneClick), written);
    for (part, broken, why) in [
        (r#""State":"ACTIVE""#, r#""State":"OPENING""#, "a contract that was not opened has no card"),
        (r#""PaymentMethod":"VISA""#, r#""PaymentMethod":"visa""#, "the payment method is not 1 to 32"),
        (r#""Currency":"EUR""#, r#""Currency":"eur""#, "is not one of the 60 currencies"),
        (r#""Locale":"de_AT""#, r#""Locale":"de-AT""#, "is no language and country"),
        (r#""TextVersion":"2026-11""#, r#""TextVersion":"""#, "must not be empty"),
        (r#""SESSION""#, r#""CHECKOUT""#, "unknown variant `CHECKOUT`"),
        (r#""Revision":2"#, r#""Revision":2,"Credential":"pm_1""#, "unknown field `Credential`"),
        (r#""Kind":"ONE_CLICK","#, "", "missing field `Kind`"),
    ] {
        refused::<Contract>(&written.replacen(part, broken, 1), why);
    }
}

#[test]
fn every_step_of_a_life_survives_being_stored() {
    for kind in ContractKind::ALL {
        let suspended = active(kind).expired(at("2032-01-01")).unwrap().change.next;
        let closed = suspended.close_by_operator(at("2032-01-02")).unwrap().change.next;
        let failed = opening(kind).opening_failed(FailureReason::Expired, at("2026-11-24")).unwrap().change.next;
        for contract in [opening(kind), active(kind), suspended, closed, failed] {
            let json = serde_json::to_string(&contract).unwrap();
            assert_eq!(serde_json::from_str::<Contract>(&json).unwrap(), contract);
        }
    }
}
