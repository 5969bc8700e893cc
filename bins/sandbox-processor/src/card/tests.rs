#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use super::*;
use time::macros::datetime;

const NOW: OffsetDateTime = datetime!(2026-11-21 12:00 UTC);

fn card(number: &str, code: Option<&str>, year: &str, month: &str) -> Result<Card, Malformed> {
    Card::parse(number.to_owned(), code.map(str::to_owned), year, month)
}

#[test]
fn the_end_of_a_number_tells_which_it_is() {
    for card in &TEST_CARDS {
        let (_, last4) = card.number.split_at(card.number.len() - 4);
        assert_eq!(SandboxCard::of_last4(last4).map(|found| found.number), Some(card.number));
    }
    let codes: Vec<_> = TEST_CARDS[21..].iter().map(SandboxCard::scheme_code).collect();
    assert_eq!(codes, ["MC", "AMEX", "DISC", "JCB", "DINERS"][..codes.len()]);
}

#[test]
fn a_card_pays_by_a_scheme_that_it_bears() {
    let pays = Verdict::Approve(Scenario::Plain);
    for (number, scheme, expected) in [
        ("4000002500001001", None, pays),
        ("4000002500001001", Some(CardScheme::Visa), pays),
        ("4000002500001001", Some(CardScheme::CartesBancaires), pays),
        ("4000002500001001", Some(CardScheme::Mastercard), Verdict::Decline(Reason::InvalidCard)),
        ("4242424242424242", Some(CardScheme::CartesBancaires), Verdict::Decline(Reason::InvalidCard)),
    ] {
        let card = card(number, None, "2030", "12").unwrap().paying_by(scheme);
        assert_eq!(card.verdict(NOW, CallerCapabilities::default(), false), expected, "{number} {scheme:?}");
    }
}

#[test]
fn a_number_for_contracts_shows_it_when_it_is_stored() {
    let (page, away) =
        (CallerCapabilities { return_url: true, ..CallerCapabilities::default() }, CallerCapabilities::default());
    let (pays, asks) = (Verdict::Approve(Scenario::Plain), Verdict::Await(Stage::Page));
    let needed = Verdict::Decline(Reason::AuthenticationRequired);
    for (number, plain, stored, stored_away) in [
        ("4000002500003155", pays, asks, needed),
        ("4000002760003184", asks, asks, needed),
        ("4000008260003178", pays, asks, needed),
        ("4242424242424242", pays, pays, pays),
    ] {
        let card = card(number, None, "2030", "12").unwrap();
        let found = [(page, false), (page, true), (away, true)].map(|(can, store)| card.verdict(NOW, can, store));
        assert_eq!(found, [plain, stored, stored_away], "{number}");
    }
}

#[test]
fn a_challenge_comes_before_the_issuers_word() {
    let asked = CallerCapabilities { return_url: true, review: true, challenge: true, is_exempted: false };
    let away = CallerCapabilities { return_url: false, ..asked };
    let page = Verdict::Await(Stage::Page);
    let (needed, pays) = (Verdict::Decline(Reason::AuthenticationRequired), Verdict::Approve(Scenario::Plain));
    for (number, then) in [
        ("4242424242424242", pays),
        ("4000000000003220", pays),
        ("4000000000000002", Verdict::Decline(Reason::GenericDecline)),
        ("4000000000000341", Verdict::Approve(Scenario::RefusedCapture)),
        ("4000000000009235", Verdict::ApproveUnderReview),
    ] {
        let found = [asked, away].map(|can| card(number, None, "2030", "12").unwrap().verdict(NOW, can, false));
        assert_eq!(found, [page, needed], "{number}");
        assert_eq!(SandboxCard::of_last4(&number[12..]).unwrap().authenticated(true), then, "{number}");
    }
    let unheld = SandboxCard::of_last4("9235").unwrap().authenticated(false);
    assert_eq!(unheld, Verdict::Decline(Reason::GenericDecline));
    // What nobody can be challenged for.
    let verdict = |number: &str, year| card(number, None, year, "12").unwrap().verdict(NOW, asked, false);
    assert_eq!(verdict("4242424242424242", "2020"), Verdict::Decline(Reason::ExpiredCard));
    assert_eq!(verdict(&"0".repeat(16), "2030"), Verdict::Decline(Reason::InvalidCard));
    assert_eq!(verdict("4000000000003014", "2030"), Verdict::Silence);
    // A stored card: its shopper is sent to the page, and a merchant alone has nobody to send.
    for (last4, by_shopper, by_merchant) in [
        ("4242", page, needed),
        ("3220", page, needed),
        ("3178", Verdict::Decline(Reason::InsufficientFunds), Verdict::Decline(Reason::InsufficientFunds)),
    ] {
        let stored = SandboxCard::of_last4(last4).unwrap();
        let found = [CredentialUse::OneClick, CredentialUse::Recurring].map(|by| stored.charged_again(by, asked));
        assert_eq!(found, [by_shopper, by_merchant], "{last4}");
    }
}

#[test]
fn an_exemption_is_taken_but_by_the_number_that_always_asks() {
    let asked = CallerCapabilities { return_url: true, review: true, challenge: false, is_exempted: true };
    let away = CallerCapabilities { return_url: false, ..asked };
    let (page, pays) = (Verdict::Await(Stage::Page), Verdict::Approve(Scenario::Plain));
    let needed = Verdict::Decline(Reason::AuthenticationRequired);
    for (number, expected) in [
        ("4242424242424242", [pays, pays]),
        ("4000000000003220", [pays, pays]),
        ("4000002760003184", [page, needed]),
        ("4000000000000002", [Verdict::Decline(Reason::GenericDecline); 2]),
    ] {
        let card = card(number, None, "2030", "12").unwrap();
        assert_eq!([asked, away].map(|can| card.verdict(NOW, can, false)), expected, "{number}");
        let stored = SandboxCard::of_last4(&number[12..]).unwrap();
        let found = [asked, away].map(|can| stored.charged_again(CredentialUse::OneClick, can));
        assert_eq!(found, expected, "{number}, stored");
    }
    // Who stores a card authenticates.
    assert_eq!(card("4000002500003155", None, "2030", "12").unwrap().verdict(NOW, asked, true), page);
    assert_eq!(card("4000000000003220", None, "2030", "12").unwrap().verdict(NOW, asked, true), page);
}

#[test]
fn a_stored_number_is_charged_as_it_says() {
    use CredentialUse::{OneClick, Recurring};
    let page = CallerCapabilities { return_url: true, review: true, ..CallerCapabilities::default() };
    let (pays, asks) = (Verdict::Approve(Scenario::Plain), Verdict::Await(Stage::Page));
    let poor = Verdict::Decline(Reason::InsufficientFunds);
    for (last4, by_shopper, by_merchant) in [
        ("3155", pays, pays),
        ("3184", asks, Verdict::Decline(Reason::AuthenticationRequired)),
        ("3178", poor, poor),
        ("3220", asks, pays),
        ("0341", Verdict::Approve(Scenario::RefusedCapture), Verdict::Approve(Scenario::RefusedCapture)),
        ("9235", Verdict::ApproveUnderReview, Verdict::ApproveUnderReview),
    ] {
        let card = SandboxCard::of_last4(last4).unwrap();
        let found = [OneClick, Recurring].map(|credential_use| card.charged_again(credential_use, page));
        assert_eq!(found, [by_shopper, by_merchant], "{last4}");
    }
}

#[test]
fn debug_shows_four_digits_only() {
    let shown = format!("{:?}", card("4242424242424242", Some("987"), "2030", "12").unwrap());
    assert_eq!(shown, "Card { last4: \"4242\", .. }");
}

#[test]
fn a_card_is_good_through_its_last_month() {
    let verdict = |year, month| {
        card("4242424242424242", None, year, month).unwrap().verdict(NOW, CallerCapabilities::default(), false)
    };
    assert_eq!(verdict("2026", "11"), Verdict::Approve(Scenario::Plain));
    assert_eq!(verdict("2026", "10"), Verdict::Decline(Reason::ExpiredCard));
    assert_eq!(verdict("2025", "12"), Verdict::Decline(Reason::ExpiredCard));
    assert_eq!(verdict("2027", "1"), Verdict::Approve(Scenario::Plain));
}

#[test]
fn the_code_has_the_brands_length() {
    let verdict = |number, code| {
        card(number, Some(code), "2030", "12").unwrap().verdict(NOW, CallerCapabilities::default(), false)
    };
    assert_eq!(verdict("378282246310005", "1234"), Verdict::Approve(Scenario::Plain));
    assert_eq!(verdict("378282246310005", "123"), Verdict::Decline(Reason::InvalidCard));
    assert_eq!(verdict("4242424242424242", "1234"), Verdict::Decline(Reason::InvalidCard));
}

#[test]
fn what_the_caller_cannot_do_is_declined() {
    let verdict =
        |number, year, capabilities| card(number, None, year, "12").unwrap().verdict(NOW, capabilities, false);
    let (page, review) = (
        CallerCapabilities { return_url: true, ..CallerCapabilities::default() },
        CallerCapabilities { review: true, ..CallerCapabilities::default() },
    );
    let generic = Verdict::Decline(Reason::GenericDecline);
    assert_eq!(verdict("4000000000003220", "2030", page), Verdict::Await(Stage::Page));
    assert_eq!(verdict("4000000000003220", "2030", review), generic);
    assert_eq!(verdict("4000000000009235", "2030", review), Verdict::ApproveUnderReview);
    assert_eq!(verdict("4000000000009235", "2030", page), generic);
    assert_eq!(verdict("4000000000003220", "2020", page), Verdict::Decline(Reason::ExpiredCard));
}

#[test]
fn form_is_checked_and_values_are_not_repeated() {
    for (number, code, year, month, field) in [
        ("0000000000000001", None, "2030", "12", "Card.Number"),
        ("4242", None, "2030", "12", "Card.Number"),
        ("", None, "2030", "12", "Card.Number"),
        ("000000000000000０", None, "2030", "12", "Card.Number"),
        ("4242424242424242", Some("12"), "2030", "12", "Card.VerificationCode"),
        ("4242424242424242", Some("12a"), "2030", "12", "Card.VerificationCode"),
        ("4242424242424242", None, "30", "12", "Card.ExpiryYear"),
        ("4242424242424242", None, "+203", "12", "Card.ExpiryYear"),
        ("4242424242424242", None, "2030", "13", "Card.ExpiryMonth"),
        ("4242424242424242", None, "2030", "0", "Card.ExpiryMonth"),
    ] {
        let message = card(number, code, year, month).unwrap_err();
        assert!(message.starts_with(field), "{message}");
        assert!(number.is_empty() || !message.contains(number), "{message}");
    }
}
