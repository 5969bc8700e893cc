//! A card as it comes from the shopper's browser.

use dropin_card::{Card, Wallet, WalletToken, Warning};
use dropin_wire::stash::{StashBody, is_stash_id, parse_card_json, parse_token_json};

const WHOLE: &str = r#"{"Name":"Ana \u00c9.","Number":"4242 4242 4242 4242","VerificationCode":"123","Expiry":{"Year":"2030","Month":"12"}}"#;

/// 2026-11-22.
const NOW: dropin_kernel::Timestamp = dropin_kernel::Timestamp::from_micros(1_795_305_600_000_000);

fn refused(json: &str) -> String {
    let one = parse_card_json(json).map(drop).unwrap_err();
    format!("{} {}", one.field, one.code.as_str())
}

#[test]
fn a_card_is_kept_as_it_was_typed() {
    let card = parse_card_json(WHOLE).unwrap();
    assert!(card == Card::new("Ana É.", "4242 4242 4242 4242", "123", "2030", "12"));
    let nonsense = r#"{"Number":"","Expiry":{"Year":"soon","Month":""},"Unknown":1}"#;
    assert!(parse_card_json(nonsense).unwrap() == Card::new("", "", "", "soon", ""));
}

/// The card is kept as far as it is one; its warnings say what is wrong.
#[test]
fn an_object_never_fails_and_what_is_missing_or_of_a_wrong_type_is_told_by_its_warning() {
    use Warning::{CardMonthInvalid, CardNumberInvalid, CardVerificationCodeInvalid};
    let all = &[CardNumberInvalid, CardMonthInvalid, CardVerificationCodeInvalid][..];
    let long = format!("\"{}\"", "1".repeat(600));
    for (json, expected) in [
        (WHOLE.to_owned(), &[][..]),
        ("{}".to_owned(), all),
        (r#"{"Number":null,"Expiry":{}}"#.to_owned(), all),
        (
            r#"{"Name":1,"Number":4242424242424242,"VerificationCode":123,"Expiry":{"Year":2030,"Month":[]}}"#
                .to_owned(),
            all,
        ),
        (WHOLE.replace("\"4242 4242 4242 4242\"", "4242424242424242"), &[CardNumberInvalid]),
        (WHOLE.replace(r#"{"Year":"2030","Month":"12"}"#, r#"["2030","12"]"#), &[CardMonthInvalid]),
        (WHOLE.replace(r#","Month":"12""#, ""), &[CardMonthInvalid]),
        (WHOLE.replace("\"123\"", &long), &[CardVerificationCodeInvalid]),
        (WHOLE.replace("\"Ana \\u00c9.\"", "{}"), &[]),
        (WHOLE.replace("Number", "Numer"), &[CardNumberInvalid]),
    ] {
        assert_eq!(parse_card_json(&json).unwrap().warnings(NOW), expected, "{json}");
    }
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
        assert_eq!(refused(json), "card FIELD_INVALID", "{json}");
    }
}

#[test]
fn no_violation_repeats_anything_of_the_card() {
    let violation = parse_card_json(&WHOLE.replace("}}", "}")).map(drop).unwrap_err();
    assert!(!format!("{violation:?}").contains("4242"), "{violation:?}");
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
    for wallet in ["applepay", "SAMSUNGPAY", "", "APPLEPAY "] {
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
