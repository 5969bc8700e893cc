#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use super::*;
use crate::enums::{Scenario, Stage};

fn credential(last4: &str, kind: CredentialKind, expiry: &str) -> Credential {
    let text = str::to_owned;
    Credential {
        number: 1,
        reference: text("crd_00000000000000000000000000000000"),
        key: text("00000000-0000-4000-8000-000000000001"),
        kind,
        last4: text(last4),
        expiry: text(expiry),
        stored_at: 0,
        deleted_at: None,
    }
}

fn payment(credential_use: CredentialUse, code_length: Option<usize>) -> CredentialPayment {
    CredentialPayment { reference: String::new(), credential_use, linked_transaction_id: None, code_length }
}

fn now() -> Timestamp {
    "2026-11-21T12:00:00.000000Z".parse().unwrap()
}

const PAGE: CallerCapabilities =
    CallerCapabilities { return_url: true, review: false, challenge: false, is_exempted: false };

#[test]
fn a_stored_card_is_good_through_its_last_month() {
    for (expiry, expected) in [
        ("2026-11", Verdict::Approve(Scenario::Plain)),
        ("2026-10", Verdict::Decline(Reason::ExpiredCard)),
        ("2025-12", Verdict::Decline(Reason::ExpiredCard)),
        ("2027-01", Verdict::Approve(Scenario::Plain)),
    ] {
        let stored = credential("4242", CredentialKind::Recurring, expiry);
        let asked = payment(CredentialUse::Recurring, None);
        assert_eq!(verdict(Some(&stored), &asked, true, PAGE, now()), expected, "{expiry}");
    }
}

#[test]
fn a_card_is_charged_for_what_it_was_stored_for() {
    use CredentialUse::{First, OneClick, Recurring, Unscheduled};
    for (kind, agreed) in [
        (CredentialKind::OneClick, [true, true, false, false]),
        (CredentialKind::Recurring, [true, false, true, false]),
        (CredentialKind::Unscheduled, [true, false, false, true]),
    ] {
        for (credential_use, agreed) in [First, OneClick, Recurring, Unscheduled].into_iter().zip(agreed) {
            let stored = credential("4242", kind, "2031-12");
            let found = verdict(Some(&stored), &payment(credential_use, None), true, PAGE, now());
            let refused = Verdict::Decline(Reason::UseNotAgreed);
            assert_eq!(found == refused, !agreed, "{kind:?} {credential_use:?}: {found:?}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_payment_is_said() {
    let stored = credential("0005", CredentialKind::OneClick, "2031-12");
    let judge = |stored: Option<&Credential>, code, is_linked| {
        verdict(stored, &payment(CredentialUse::OneClick, code), is_linked, PAGE, now())
    };
    let deleted = Credential { deleted_at: Some(1), ..stored.clone() };
    assert_eq!(judge(None, None, true), Verdict::Decline(Reason::InvalidCredential));
    assert_eq!(judge(Some(&deleted), None, true), Verdict::Decline(Reason::InvalidCredential));
    assert_eq!(judge(Some(&stored), None, false), Verdict::Decline(Reason::TransactionIdMismatch));
    assert_eq!(judge(Some(&stored), Some(3), true), Verdict::Decline(Reason::InvalidCard), "its code has four");
    assert_eq!(judge(Some(&stored), Some(4), true), Verdict::Approve(Scenario::Plain));
}

#[test]
fn a_page_needs_a_shopper() {
    let always = credential("3184", CredentialKind::Recurring, "2031-12");
    let judge = |credential_use, capabilities| {
        verdict(Some(&always), &payment(credential_use, None), true, capabilities, now())
    };
    let nobody = CallerCapabilities::default();
    let refused = Verdict::Decline(Reason::AuthenticationRequired);
    assert_eq!(judge(CredentialUse::First, PAGE), Verdict::Await(Stage::Page));
    assert_eq!(judge(CredentialUse::First, nobody), refused);
    assert_eq!(judge(CredentialUse::Recurring, PAGE), refused, "the shopper is away");
}

#[test]
fn a_code_of_an_issuer_has_two_places() {
    for wrong in ["\"\"", "\"5\"", "\"r1\"", "\"051\"", "\"é\"", "5", "null"] {
        assert!(serde_json::from_str::<IssuerCode>(wrong).is_err(), "{wrong}");
    }
    assert_eq!(serde_json::from_str::<IssuerCode>("\"R1\"").unwrap().to_string(), "R1");
}
