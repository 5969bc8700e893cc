//! Codes and kinds are serialized as their texts; what holds a secret is not (secrets.rs).
#![cfg(feature = "serde")]

use dropin_card::{CardBrand, Scheme, StashedKind, Wallet, Warning};

#[test]
fn codes_are_their_texts() {
    assert_eq!(serde_json::to_string(&Scheme::ALL[1]).ok().as_deref(), Some("\"MC\""));
    assert_eq!(serde_json::to_string(&CardBrand::Elo).ok().as_deref(), Some("\"ELO\""));
    assert_eq!(serde_json::from_str("\"APPLEPAY\"").ok(), Some(Wallet::ApplePay));
    assert_eq!(serde_json::from_str("\"CardMonthInvalid\"").ok(), Some(Warning::CardMonthInvalid));
    assert!(serde_json::from_str::<Scheme>("\"visa\"").is_err());
}

#[test]
fn a_kind_is_the_id_of_its_payment_method_or_nothing() {
    for (kind, json) in [
        (StashedKind::Card(Some(Scheme::Visa)), "\"VISA\""),
        (StashedKind::Card(None), "null"),
        (StashedKind::Wallet(Wallet::ApplePay), "\"APPLEPAY\""),
    ] {
        assert_eq!(serde_json::to_string(&kind).ok().as_deref(), Some(json));
        assert_eq!(serde_json::from_str(json).ok(), Some(kind));
    }
    assert!(serde_json::from_str::<StashedKind>("\"PAYPAL\"").is_err());
}
