//! A card as it comes from the shopper's browser.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_card::{Card, Warning};
use dropin_wire::stash::{StashBody, is_stash_id, parse_card_json};

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
fn stash_ids_are_1_to_128_of_the_unreserved_characters() {
    assert!(is_stash_id("a") && is_stash_id("A-Za-z0-9._~-") && is_stash_id(&"x".repeat(128)));
    for wrong in ["", "a b", "a/b", "%41", "é", &"x".repeat(129)] {
        assert!(!is_stash_id(wrong), "{wrong}");
    }
}

#[test]
fn the_answer() {
    let body = StashBody::new("cart-1", "4242", &[Warning::CardMonthInvalid]);
    assert_eq!(
        serde_json::to_string(&body).unwrap(),
        r#"{"StashId":"cart-1","Last4":"4242","Warnings":["CardMonthInvalid"]}"#
    );
    assert!(serde_json::to_string(&StashBody::new("a", "", &[])).unwrap().ends_with(r#""Last4":"","Warnings":[]}"#));
}
