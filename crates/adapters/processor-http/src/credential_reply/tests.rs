use dropin_contract::DeclineCategory;
use serde_json::{Value, json};

use super::*;

const KEY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

fn answer(status: u16, body: &Value) -> HttpReply {
    HttpReply::Answer { status, retry_after: None, body: body.to_string().into_bytes().into() }
}

fn card(scheme: &str, last4: &str, expiry: &str) -> CardBody {
    CardBody { scheme: scheme.to_owned(), last4: last4.to_owned(), expiry: expiry.to_owned() }
}

fn issued(reference: &str) -> IssuedBody<'_> {
    IssuedBody { reference: reference.into() }
}

#[test]
fn an_approval_says_what_the_card_is_charged_by() {
    let visa = card("VISA", "4242", "2031-12");
    let read = approval(Some(&issued("crd_1")), Some(&visa), Some("483297487231504")).unwrap().unwrap();
    assert_eq!(read.stored.map(|stored| stored.expose().to_owned()), Some("crd_1".to_owned()));
    assert_eq!(read.card.map(|card| card.to_string()), Some("Visa •••• 4242, 12/31".to_owned()));
    assert_eq!(read.network_transaction_id.map(|id| id.to_string()), Some("483297487231504".to_owned()));
    assert!(approval(None, None, None).unwrap().is_none());
    let later = approval(None, Some(&visa), None).unwrap().unwrap();
    assert_eq!((later.stored, later.network_transaction_id), (None, None));
}

#[test]
fn what_makes_no_sense_of_a_stored_card_is_no_approval() {
    let visa = card("VISA", "4242", "2031-12");
    for (reference, card, id) in [
        ("two words", &visa, "1"),
        ("", &visa, "1"),
        ("crd_1", &visa, "two words"),
        ("crd_1", &visa, ""),
        ("crd_1", &card("CARD", "4242", "2031-12"), "1"),
        ("crd_1", &card("VISA", "424", "2031-12"), "1"),
        ("crd_1", &card("VISA", "4242", "12/31"), "1"),
    ] {
        assert!(approval(Some(&issued(reference)), Some(card), Some(id)).is_err(), "{reference} {id}");
    }
    assert!(approval(Some(&issued("crd_1")), None, Some("1")).is_err(), "whose card is it?");
}

#[test]
fn an_issuers_codes_are_read_by_the_cards_scheme() {
    use DeclineCategory::{AuthenticationRequired, AuthorizationRevoked, CardExpired, DoNotHonor, TryLater};
    let (visa, mastercard) = (card("VISA", "4242", "2031-12"), card("MC", "4444", "2031-12"));
    for (card, response, advice, category) in [
        (Some(&visa), Some("1A"), None, AuthenticationRequired),
        (Some(&visa), Some("R1"), None, AuthorizationRevoked),
        (Some(&visa), Some("54"), None, CardExpired),
        (Some(&visa), Some("91"), None, TryLater),
        (Some(&mastercard), Some("05"), Some("21"), AuthorizationRevoked),
        (Some(&mastercard), Some("65"), None, AuthenticationRequired),
        (None, Some("65"), None, TryLater),
        (None, Some("??"), None, DoNotHonor),
    ] {
        let read = decline(card, response, advice).map(|decline| decline.category);
        assert_eq!(read, Some(category), "{response:?} {advice:?}");
    }
    assert_eq!(decline(Some(&visa), None, None), None, "the issuer said nothing");
}

#[test]
fn only_a_whole_answer_says_that_a_credential_is_gone() {
    for told in [true, false] {
        assert_eq!(deletion(answer(200, &json!({"Deleted": told}))), CredentialDeletion::Gone);
    }
    for (status, body) in
        [(200, json!({})), (200, json!({"Deleted": 1})), (404, json!({})), (500, json!({"Deleted": true}))]
    {
        let read = deletion(answer(status, &body));
        assert!(matches!(read, CredentialDeletion::Unknown { .. }), "{status} {body}: {read:?}");
    }
    let unclear = deletion(HttpReply::Unclear("a time-out".to_owned()));
    assert_eq!(unclear, CredentialDeletion::Unknown { why: "a time-out".to_owned() });
    assert_eq!(deletion(HttpReply::NotSent("nobody there".to_owned())), CredentialDeletion::NotSent);
}

fn listed(number: u64) -> Value {
    json!({"Number": number, "Key": KEY, "Kind": "RECURRING", "StoredAt": "2026-11-21T12:00:00.000000Z",
        "CardSummary": {"Scheme": "VISA", "Last4": "4242", "Expiry": "2031-12"}})
}

fn read(entries: &[Value]) -> Result<CredentialListPage, CredentialListUnavailable> {
    page(answer(200, &json!({"Credentials": entries})), 4, 2)
}

#[test]
fn a_page_says_where_to_go_on() {
    let full = read(&[listed(5), listed(9)]).unwrap();
    assert_eq!((full.entries.len(), full.next), (2, Some(CredentialCursor("9".to_owned()))));
    assert_eq!(full.entries[0].opened_by, KEY.parse().unwrap());
    assert_eq!(read(&[listed(5)]).unwrap().next, None);
    assert_eq!(read(&[]).unwrap(), CredentialListPage { entries: Vec::new(), next: None });
    assert_eq!(position(None), Ok(0));
    assert_eq!(position(Some(&CredentialCursor("9".to_owned()))), Ok(9));
    assert!(position(Some(&CredentialCursor("pm_9".to_owned()))).is_err());
}

#[test]
fn what_was_not_asked_for_or_makes_no_sense_is_no_page() {
    let with = |change: Value| {
        let mut body = listed(5);
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    };
    for odd in [
        vec![listed(4)],
        vec![listed(6), listed(5)],
        vec![listed(5), listed(5)],
        vec![listed(5), listed(6), listed(7)],
        vec![with(json!({"Key": "k"}))],
        vec![with(json!({"Kind": "SOMETIMES"}))],
        vec![with(json!({"StoredAt": "today"}))],
        vec![with(json!({"CardSummary": null}))],
    ] {
        assert!(read(&odd).is_err(), "{odd:?}");
    }
    assert!(page(answer(500, &json!({"Credentials": []})), 0, 1).is_err());
    assert!(page(HttpReply::NotSent("nobody there".to_owned()), 0, 1).is_err());
}
