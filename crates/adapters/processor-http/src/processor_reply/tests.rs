use serde_json::{Value, json};

use super::*;

const KEY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

fn key() -> OpId {
    KEY.parse().unwrap()
}

fn answer(status: u16, body: &str) -> HttpReply {
    HttpReply::Answer { status, retry_after: None, body: body.as_bytes().to_vec().into() }
}

/// What an operation with these members means, beside its key.
fn means(kind: &str, outcome: &str, members: Value) -> ProcessorReply {
    let mut body = json!({"Key": KEY, "Kind": kind, "Outcome": outcome, "Reference": "r"});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let asked = kind.parse().unwrap_or(OpKind::Authorize);
    effect(answer(200, &body.to_string()), key(), asked)
}

fn yes(amount: Option<Amount>) -> ProcessorReply {
    ProcessorReply::Approved {
        amount,
        captured: false,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    }
}

fn is_unclear(answer: &ProcessorReply) -> bool {
    matches!(answer, ProcessorReply::Unknown { .. })
}

fn ten() -> Amount {
    Amount::from_minor(Currency::Usd, 1_000).unwrap()
}

#[test]
fn an_answer_about_another_operation_is_no_answer() {
    let other = r#"{"Key":"00000000-1d2e-4f3a-8b4c-5d6e7f809112","Kind":"AUTHORIZE","Outcome":"APPROVED","Amount":10.00,"Currency":"USD"}"#;
    assert!(is_unclear(&effect(answer(200, other), key(), OpKind::Authorize)));
    assert!(matches!(status(answer(200, other), key(), OpKind::Authorize), StatusReply::Unreachable { .. }));
}

#[test]
fn only_a_whole_and_sensible_answer_is_a_yes() {
    let whole = format!(
        r#"{{"Key":"{KEY}","Kind":"AUTHORIZE","Outcome":"APPROVED","Reference":"r","Amount":10.00,"Currency":"USD"}}"#
    );
    assert_eq!(effect(answer(200, &whole), key(), OpKind::Authorize), yes(Some(ten())));
    for odd in ["", "null", "{}", r#"{"Outcome":"APPROVED"}"#, &whole[..40]] {
        assert!(is_unclear(&effect(answer(200, odd), key(), OpKind::Authorize)), "{odd}");
    }
    for odd in [
        json!({"Amount": "10", "Currency": "USD"}),
        json!({"Amount": -10, "Currency": "USD"}),
        json!({"Amount": 10.001, "Currency": "USD"}),
        json!({"Amount": 10, "Currency": "XXX"}),
        json!({"Amount": 10}),
        json!({"Currency": "USD"}),
        json!({"Amount": 10, "Currency": "USD", "Captured": "yes"}),
    ] {
        assert!(is_unclear(&means("AUTHORIZE", "APPROVED", odd.clone())), "{odd}");
        assert!(is_unclear(&means("VOID", "APPROVED", odd.clone())), "{odd}");
    }
    for (kind, outcome) in [("AUTHORIZE", "FINE"), ("SALE", "APPROVED")] {
        assert!(is_unclear(&means(kind, outcome, json!({"Amount": 10, "Currency": "USD"}))), "{kind} {outcome}");
    }
    for status in [201, 204, 302, 400, 401, 404, 408, 409, 422, 429, 500, 502, 503] {
        assert!(is_unclear(&effect(answer(status, &whole), key(), OpKind::Authorize)), "{status}");
    }
}

#[test]
fn an_answer_about_another_kind_than_was_asked_for_is_no_answer() {
    for outcome in ["APPROVED", "DECLINED", "PENDING", "ABANDONED"] {
        let body =
            format!(r#"{{"Key":"{KEY}","Kind":"CAPTURE","Outcome":"{outcome}","Amount":10.00,"Currency":"USD"}}"#);
        assert!(!is_unclear(&effect(answer(200, &body), key(), OpKind::Capture)), "{outcome}");
        for asked in [OpKind::Authorize, OpKind::Void, OpKind::Refund] {
            assert!(is_unclear(&effect(answer(200, &body), key(), asked)), "{outcome} {asked:?}");
            let known = status(answer(200, &body), key(), asked);
            assert!(matches!(known, StatusReply::Unreachable { .. }), "{outcome} {asked:?}");
        }
    }
}

#[test]
fn only_a_void_may_leave_out_how_much() {
    assert_eq!(means("VOID", "APPROVED", json!({})), yes(None));
    assert_eq!(means("VOID", "APPROVED", json!({"Amount": 10, "Currency": "USD"})), yes(Some(ten())));
    for kind in ["AUTHORIZE", "CAPTURE", "REFUND"] {
        assert!(is_unclear(&means(kind, "APPROVED", json!({}))), "{kind}");
    }
}

#[test]
fn a_yes_says_whether_money_was_taken_and_whether_to_look_at_it() {
    let paid = means("AUTHORIZE", "APPROVED", json!({"Amount": 10, "Currency": "USD", "Captured": true}));
    assert_eq!(
        paid,
        ProcessorReply::Approved {
            amount: Some(ten()),
            captured: true,
            under_review: false,
            credential: None,
            checks: IssuerChecks::default()
        }
    );
    let held = means("AUTHORIZE", "APPROVED", json!({"Amount": 10, "Currency": "USD", "UnderReview": true}));
    assert_eq!(
        held,
        ProcessorReply::Approved {
            amount: Some(ten()),
            captured: false,
            under_review: true,
            credential: None,
            checks: IssuerChecks::default()
        }
    );
}

#[test]
fn a_check_is_what_the_issuer_says_and_unknown_where_it_says_nothing() {
    let checked =
        |checks: Value| means("AUTHORIZE", "APPROVED", json!({"Amount": 10, "Currency": "USD", "Checks": checks}));
    let known = |address_matches, code_matches, authenticated| {
        let ProcessorReply::Approved { amount, captured, under_review, credential, .. } = yes(Some(ten())) else {
            panic!("a yes");
        };
        let checks = IssuerChecks { address_matches, code_matches, authenticated, ..IssuerChecks::default() };
        ProcessorReply::Approved { amount, captured, under_review, credential, checks }
    };
    let of_card = |country: &str, funding: &str| {
        let ProcessorReply::Approved { amount, captured, under_review, credential, .. } = yes(Some(ten())) else {
            panic!("a yes");
        };
        let (card_country, funding) = (country.parse().ok(), funding.parse().ok());
        let checks = IssuerChecks { card_country, funding, ..IssuerChecks::default() };
        ProcessorReply::Approved { amount, captured, under_review, credential, checks }
    };
    for (said, expected) in [
        (
            json!({"AddressMatches": true, "CodeMatches": false, "Authenticated": true}),
            known(Some(true), Some(false), Some(true)),
        ),
        (json!({"CodeMatches": true, "Later": "more"}), known(None, Some(true), None)),
        (json!({"AddressMatches": false, "Authenticated": null}), known(Some(false), None, None)),
        (json!({"CardCountry": "AU", "CardFunding": "DEBIT"}), of_card("AU", "DEBIT")),
        (json!({"CardCountry": "XX", "CardFunding": "CHARGE"}), known(None, None, None)),
        (json!({}), known(None, None, None)),
        (Value::Null, known(None, None, None)),
    ] {
        assert_eq!(checked(said.clone()), expected, "{said}");
    }
    for odd in [
        json!("yes"),
        json!(true),
        json!({"CodeMatches": "M"}),
        json!({"Authenticated": 1}),
        json!({"AddressMatches": []}),
    ] {
        assert!(is_unclear(&checked(odd.clone())), "{odd}");
    }
}

#[test]
fn every_reason_has_its_word_here() {
    for (reason, expected) in [
        ("GENERIC_DECLINE", DeclineReason::Generic),
        ("INSUFFICIENT_FUNDS", DeclineReason::InsufficientFunds),
        ("INVALID_CARD", DeclineReason::InvalidCard),
        ("EXPIRED_CARD", DeclineReason::InvalidCard),
        ("CAPTURE_REFUSED", DeclineReason::Generic),
        ("REFUND_REFUSED", DeclineReason::Generic),
        ("AMOUNT_TOO_LARGE", DeclineReason::Generic),
        ("CURRENCY_MISMATCH", DeclineReason::Generic),
        ("NOT_AUTHORIZED", DeclineReason::Generic),
        ("NOT_CAPTURED", DeclineReason::Generic),
        ("ALREADY_CAPTURED", DeclineReason::Generic),
        ("ALREADY_VOIDED", DeclineReason::Voided),
        ("AUTHENTICATION_FAILED", DeclineReason::AuthenticationFailed),
        ("AUTHENTICATION_REQUIRED", DeclineReason::AuthenticationFailed),
        ("INVALID_CREDENTIAL", DeclineReason::InvalidCard),
        ("USE_NOT_AGREED", DeclineReason::Generic),
        ("TRANSACTION_ID_MISMATCH", DeclineReason::Generic),
        ("CANCELLED", DeclineReason::CancelledByShopper),
        ("EXPIRED", DeclineReason::Expired),
        ("REVIEW_DECLINED", DeclineReason::Generic),
        ("VOIDED", DeclineReason::Voided),
        ("SOMETHING_NEW", DeclineReason::Generic),
    ] {
        let declined = ProcessorReply::Declined { reason: expected, retryable: true, credential: None };
        assert_eq!(means("AUTHORIZE", "DECLINED", json!({"Reason": reason, "Retryable": true})), declined, "{reason}");
    }
    let captured =
        ProcessorReply::Declined { reason: DeclineReason::AlreadyCaptured, retryable: false, credential: None };
    assert_eq!(means("CAPTURE", "DECLINED", json!({"Reason": "ALREADY_CAPTURED"})), captured);
    let silent = ProcessorReply::Declined { reason: DeclineReason::Generic, retryable: false, credential: None };
    assert_eq!(means("CAPTURE", "DECLINED", json!({})), silent);
}

#[test]
fn a_page_for_the_shopper_is_on_the_web() {
    let pending = |redirect: &str| {
        means("AUTHORIZE", "PENDING", json!({"Action": {"Redirect": redirect, "ExpiresAt": "2026-11-23T10:00:00.5Z"}}))
    };
    let until = Some(Timestamp::from_micros(1_795_428_000_500_000));
    for page in ["https://bank.example/pages/1?a=b", "http://127.0.0.1:8080/sandbox/pages/1"] {
        assert_eq!(
            pending(page),
            ProcessorReply::Pending(Waiting::Shopper { page: page.to_owned(), until }),
            "an address as it was given"
        );
    }
    for odd in ["", "/pages/1", "javascript:alert(1)", "data:text/html,x", "ftp://bank.example/", "https://"] {
        assert!(is_unclear(&pending(odd)), "{odd}");
    }
}

#[test]
fn times_are_optional_but_not_nonsense() {
    let pending = |action: Value| means("AUTHORIZE", "PENDING", json!({"Action": action}));
    let page = "https://bank.example/".to_owned();
    let open_ended = ProcessorReply::Pending(Waiting::Shopper { page: page.clone(), until: None });
    assert_eq!(pending(json!({"Redirect": page})), open_ended);
    assert!(is_unclear(&pending(json!({"Redirect": page, "ExpiresAt": "tomorrow"}))));
}

#[test]
fn a_transfer_says_what_is_known_of_the_account() {
    let details =
        json!({"AccountHolder": "Dropin Sandbox", "Iban": "GB82WEST12345698765432", "ExtraBankData": "", "City": " "});
    let to = Box::new(BankDetails {
        account_holder: Some("Dropin Sandbox".to_owned()),
        iban: Some("GB82WEST12345698765432".to_owned()),
        ..BankDetails::default()
    });
    let until = Some(Timestamp::from_micros(0));
    assert_eq!(
        means("AUTHORIZE", "PENDING", json!({"BankDetails": details, "ExpiresAt": "1970-01-01T00:00:00.000000Z"})),
        ProcessorReply::Pending(Waiting::Transfer { to, until })
    );
    assert!(is_unclear(&means("AUTHORIZE", "PENDING", json!({"BankDetails": {"Iban": ""}}))));
}

#[test]
fn whoever_is_waited_for_otherwise_is_the_provider_or_the_processor() {
    let waits = |kind, members| means(kind, "PENDING", members);
    assert_eq!(waits("AUTHORIZE", json!({"Review": true})), ProcessorReply::Pending(Waiting::Review));
    assert_eq!(waits("AUTHORIZE", json!({})), ProcessorReply::Pending(Waiting::Processor));
    let page = json!({"Action": {"Redirect": "https://bank.example/"}});
    assert_eq!(waits("CAPTURE", page), ProcessorReply::Pending(Waiting::Processor), "no shopper waits on a capture");
}

#[test]
fn absent_only_when_the_processor_says_so_itself() {
    assert_eq!(
        status(answer(404, r#"{"Code":"OPERATION_NOT_FOUND","Message":"m"}"#), key(), OpKind::Authorize),
        StatusReply::Absent
    );
    for (code, body) in [(404, "not found"), (404, r#"{"Code":"NOT_FOUND"}"#), (500, "{}"), (200, "{}")] {
        assert!(
            matches!(status(answer(code, body), key(), OpKind::Authorize), StatusReply::Unreachable { .. }),
            "{code} {body}"
        );
    }
}

#[test]
fn an_abandoned_key_is_told_apart_from_other_conflicts() {
    assert_eq!(effect(answer(409, r#"{"Code":"KEY_ABANDONED"}"#), key(), OpKind::Authorize), ProcessorReply::Abandoned);
    assert!(is_unclear(&effect(answer(409, r#"{"Code":"OTHER"}"#), key(), OpKind::Authorize)));
    assert_eq!(
        status(
            answer(200, &format!(r#"{{"Key":"{KEY}","Kind":"AUTHORIZE","Outcome":"ABANDONED"}}"#)),
            key(),
            OpKind::Authorize
        ),
        StatusReply::Known(ProcessorReply::Abandoned)
    );
}

#[test]
fn texts_may_be_written_with_escapes() {
    let body = format!(
        r#"{{"Key":"{KEY}","Kind":"AUTHORIZE","Outcome":"PENDING","Action":{{"Redirect":"https:\/\/bank.example\/"}}}}"#
    );
    let waits = Waiting::Shopper { page: "https://bank.example/".to_owned(), until: None };
    assert_eq!(effect(answer(200, &body), key(), OpKind::Authorize), ProcessorReply::Pending(waits));
}

#[test]
fn a_stored_card_is_read_with_its_payment_or_not_at_all() {
    let card = json!({"Scheme": "VISA", "Last4": "4242", "Expiry": "2031-12"});
    let stored = json!({"Amount": 10, "Currency": "USD", "CardSummary": card, "NetworkTransactionId": "483297487231504",
        "Credential": {"Reference": "crd_1", "Kind": "RECURRING"}});
    let ProcessorReply::Approved { credential: Some(facts), .. } = means("AUTHORIZE", "APPROVED", stored.clone())
    else {
        panic!("nothing is stored");
    };
    assert_eq!(facts.stored, "crd_1".parse().ok());
    for (member, odd) in [
        ("CardSummary", json!({"Scheme": "VISA", "Last4": "4242", "Expiry": "soon"})),
        ("CardSummary", Value::Null),
        ("Credential", json!({"Reference": ""})),
        ("Credential", json!({})),
        ("NetworkTransactionId", json!("")),
        ("NetworkTransactionId", json!(1)),
    ] {
        let mut body = stored.clone();
        body[member] = odd;
        assert!(is_unclear(&means("AUTHORIZE", "APPROVED", body)), "{member}");
    }
    let declined = json!({"Reason": "GENERIC_DECLINE", "CardSummary": card, "ResponseCode": "R1"});
    let ProcessorReply::Declined { credential, .. } = means("AUTHORIZE", "DECLINED", declined) else {
        panic!("not declined");
    };
    let revoked = dropin_contract::DeclineCategory::AuthorizationRevoked;
    assert_eq!(credential.map(|decline| decline.category), Some(revoked));
}
