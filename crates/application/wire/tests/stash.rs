//! A card as it comes from the shopper's browser.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_card::{Card, Wallet, WalletToken, Warning};
use dropin_wire::stash::{StashBody, is_stash_id, parse_card_json, parse_token_json};

const WHOLE: &str = r#"{"Name":"Ana \u00c9.","Number":"4242 4242 4242 4242","VerificationCode":"123","Expiry":{"Year":"2030","Month":"12"}}"#;

fn refused(json: &str) -> Vec<String> {
    let violations = parse_card_json(json).map(drop).unwrap_err();
    violations.iter().map(|one| format!("{} {}", one.field, one.code.as_str())).collect()
}

#[test]
fn a_card_is_kept_as_it_was_typed() {
    let card = parse_card_json(WHOLE).unwrap();
    assert!(card == Card::new("Ana É.", "4242 4242 4242 4242", "123", "2030", "12"));
    let nonsense = r#"{"Number":"","Expiry":{"Year":"soon","Month":""},"Unknown":1}"#;
    assert!(parse_card_json(nonsense).unwrap() == Card::new("", "", "", "soon", ""));
}

#[test]
fn number_and_expiry_are_required() {
    assert_eq!(refused("{}"), ["card.Expiry FIELD_MISSING", "card.Number FIELD_MISSING"]);
    let empty = r#"{"Number":null,"Expiry":{}}"#;
    assert_eq!(
        refused(empty),
        ["card.Expiry.Month FIELD_MISSING", "card.Expiry.Year FIELD_MISSING", "card.Number FIELD_MISSING"]
    );
}

#[test]
fn members_are_strings() {
    let numbers = r#"{"Name":1,"Number":4242424242424242,"VerificationCode":123,"Expiry":{"Year":2030,"Month":[]}}"#;
    assert_eq!(
        refused(numbers),
        [
            "card.Expiry.Month FIELD_INVALID",
            "card.Expiry.Year FIELD_INVALID",
            "card.Name FIELD_INVALID",
            "card.Number FIELD_INVALID",
            "card.VerificationCode FIELD_INVALID",
        ]
    );
    assert_eq!(
        refused(&WHOLE.replace(r#"{"Year":"2030","Month":"12"}"#, r#"["2030","12"]"#)),
        ["card.Expiry FIELD_INVALID"]
    );
    assert_eq!(
        refused(&WHOLE.replace("\"123\"", &format!("\"{}\"", "1".repeat(600)))),
        ["card.VerificationCode VALUE_TOO_LONG"]
    );
}

#[test]
fn what_is_no_strict_object_is_refused_as_a_whole() {
    for json in [
        "",
        "[]",
        "4242424242424242",
        "{\"Number\":",
        "{\"Number\":\"1\",\"Number\":\"2\"}",
        "{\"Number\":\"\\ud800\"}",
    ] {
        assert_eq!(refused(json), ["card FIELD_INVALID"], "{json}");
    }
}

#[test]
fn no_violation_repeats_anything_of_the_card() {
    for json in [WHOLE.replace("\"12\"", "12"), WHOLE.replace("}}", "}"), WHOLE.replace("Number", "Numer")] {
        for violation in parse_card_json(&json).map(drop).unwrap_err() {
            assert!(!format!("{violation:?}").contains("4242"), "{violation:?}");
        }
    }
}

#[test]
fn a_token_is_kept_byte_for_byte() {
    let data = "{ \"token\" : {\"paymentData\":{\"data\":\"q\\u0041+\\/==\"}},\"n\":1.50 }";
    for json in [
        format!(r#"{{"Type":"APPLEPAY","Data":{data}}}"#),
        format!(r#"{{"Unknown":1,"Data":{data},"Type":"APPLE\u0050AY"}}"#),
    ] {
        assert!(parse_token_json(&json).unwrap() == WalletToken::new(Wallet::ApplePay, data), "{json}");
    }
}

#[test]
fn a_token_names_a_known_wallet_and_brings_its_payment_object() {
    let refused = |json: &str| -> Vec<String> {
        let violations = parse_token_json(json).map(drop).unwrap_err();
        assert!(!format!("{violations:?}").contains("c2VjcmV0"), "{violations:?}");
        violations.iter().map(|one| format!("{} {}", one.field, one.code.as_str())).collect()
    };
    for json in ["", "[]", "\"c2VjcmV0\"", "{\"Type\":\"APPLEPAY\",\"Data\":{\"a\":\"c2VjcmV0\",\"a\":1}}"] {
        assert_eq!(refused(json), ["token_data FIELD_INVALID"], "{json}");
    }
    assert_eq!(refused("{}"), ["token_data.Data FIELD_MISSING", "token_data.Type FIELD_MISSING"]);
    let null = r#"{"Type":null,"Data":null}"#;
    assert_eq!(refused(null), ["token_data.Data FIELD_MISSING", "token_data.Type FIELD_MISSING"]);
    let wrong = r#"{"Type":["APPLEPAY"],"Data":"c2VjcmV0"}"#;
    assert_eq!(refused(wrong), ["token_data.Data FIELD_INVALID", "token_data.Type FIELD_INVALID"]);
    for wallet in ["applepay", "GOOGLEPAY", "", "APPLEPAY "] {
        let json = format!(r#"{{"Type":"{wallet}","Data":{{}}}}"#);
        assert_eq!(refused(&json), ["token_data.Type VALUE_NOT_ALLOWED"], "{wallet}");
    }
    let sized = |size: usize| format!(r#"{{"Type":"APPLEPAY","Data":{{"a":"{}"}}}}"#, "x".repeat(size - 8));
    assert!(parse_token_json(&sized(16 * 1024)).is_ok());
    assert_eq!(refused(&sized(16 * 1024 + 1)), ["token_data.Data VALUE_TOO_LONG"]);
}

#[test]
fn stash_ids_are_1_to_128_of_the_unreserved_characters() {
    assert!(is_stash_id("a") && is_stash_id("A-Za-z0-9._~-") && is_stash_id(&"x".repeat(128)));
    for wrong in ["", "a b", "a/b", "%41", "é", &"x".repeat(129)] {
        assert!(!is_stash_id(wrong), "{wrong}");
    }
}

#[test]
fn the_answer() {
    let body = StashBody::new("cart-1", Some("4242"), &[Warning::CardMonthInvalid]);
    assert_eq!(
        serde_json::to_string(&body).unwrap(),
        r#"{"StashId":"cart-1","Last4":"4242","Warnings":["CardMonthInvalid"]}"#
    );
    let unreadable = StashBody::new("a", Some(""), &[]);
    assert_eq!(serde_json::to_string(&unreadable).unwrap(), r#"{"StashId":"a","Last4":"","Warnings":[]}"#);
    let token = StashBody::new("a", None, &[]);
    assert_eq!(serde_json::to_string(&token).unwrap(), r#"{"StashId":"a","Warnings":[]}"#);
}
