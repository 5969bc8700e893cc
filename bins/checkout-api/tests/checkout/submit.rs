//! What strangers may send as a shopper's submit.

use crate::common::{Answer, Api, FINGERPRINT, card};
use actix_web::http::Method;
use dropin_card::{Scheme, StashedData, Wallet, WalletToken};
use dropin_catalogue::MerchantMethods;
use dropin_ports::SessionStore as _;
use serde_json::{Value, json};
use uuid::Uuid;

const NOBODY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

async fn submit(api: &Api, session: &str, body: impl Into<Vec<u8>>) -> Answer {
    api.send(None, Method::POST, &format!("/v1/shopper/session/{session}/submit"), &[], body).await
}

#[actix_web::test]
async fn a_submit_for_no_session_is_not_read() {
    let api = Api::start().await;
    for body in ["{", "[]", "{\"Version\":\"x\"}", "no JSON at all"] {
        submit(&api, NOBODY, body).await.is_error(404, "SESSION_NOT_FOUND");
    }
    let session = api.session().await;
    submit(&api, &session, "{").await.is_error(400, "INVALID_REQUEST");
}

#[actix_web::test]
async fn a_submit_has_four_kibibytes_at_most() {
    let api = Api::start().await;
    let session = api.session().await;
    let padded = |padding: usize| json!({"Version": "x", "DeviceFingerprint": "a".repeat(padding)}).to_string();
    let empty = padded(0).len();
    submit(&api, &session, padded(4_096 - empty)).await.is_error(400, "INVALID_REQUEST");
    submit(&api, &session, padded(4_097 - empty)).await.is_error(413, "PAYLOAD_TOO_LARGE");
    submit(&api, NOBODY, padded(100_000)).await.is_error(413, "PAYLOAD_TOO_LARGE");
}

#[actix_web::test]
async fn a_co_badged_card_is_paid_by_the_scheme_that_the_shopper_chose() {
    let api = Api::start().await;
    let pays = async |number: &str, session: &str, stash: &str, method: Option<&str>| {
        api.stash(stash, card(number)).await;
        let mut body =
            json!({"Version": 1, "AttemptId": Uuid::new_v4(), "StashId": stash, "DeviceFingerprint": FINGERPRINT});
        if let Some(method) = method {
            body["PaymentMethod"] = method.into();
        }
        submit(&api, session, body.to_string()).await
    };
    let schemes = || std::mem::take(&mut *api.bank.schemes.lock().unwrap());
    for (stash, number, chosen, method, scheme) in [
        ("1", "4000002500001001", Some("CB"), "CB", Some(Scheme::CartesBancaires)),
        ("2", "4000002500001001", Some("VISA"), "VISA", Some(Scheme::Visa)),
        ("3", "4000002500001001", None, "VISA", Some(Scheme::Visa)),
        ("4", "4242424242424242", Some("VISA"), "VISA", None),
    ] {
        let session = api.session_of("EUR", "FR").await;
        let paid = pays(number, &session, stash, chosen).await;
        assert_eq!((paid.status, &paid.json()["PaymentMethod"]), (200, &json!(method)), "{stash}: {}", paid.text);
        assert_eq!(schemes(), scheme.into_iter().collect::<Vec<_>>(), "{stash}");
    }
    let french = api.session_of("EUR", "FR").await;
    pays("4242424242424242", &french, "5", Some("CB")).await.is_refused_for(&["PaymentMethod CONFLICT"]);
    pays("4000002500001001", &french, "6", Some("MC")).await.is_refused_for(&["PaymentMethod CONFLICT"]);
    let german = api.session_of("EUR", "DE").await;
    pays("4000002500001001", &german, "7", Some("CB")).await.is_refused_for(&["StashId VALUE_NOT_ALLOWED"]);
    assert!(schemes().is_empty(), "nothing of this was asked for");
}

/// A Session of a shopper in Great Britain whose billing address has this postcode, or none.
async fn british(api: &Api, postcode: Option<&str>) -> String {
    let address = json!({"Street": "10 Downing Street", "City": "London", "Country": "GB", "Postcode": postcode});
    api.session_at("GBP", address).await
}

/// What its shopper is asked of the billing address.
async fn asked(api: &Api, session: &str) -> Value {
    api.browse(&format!("/v1/shopper/session/{session}"), &[]).await.json()["AddressFields"].clone()
}

/// Pays with what is stashed, and with this billing address unless it is null.
async fn pays(api: &Api, session: &str, stash: &str, address: Value) -> Answer {
    let mut body =
        json!({"Version": 1, "AttemptId": Uuid::new_v4(), "StashId": stash, "DeviceFingerprint": FINGERPRINT});
    if !address.is_null() {
        body["BillingAddress"] = address;
    }
    submit(api, session, body.to_string()).await
}

/// The postcodes that the bank was asked to compare since this was asked last.
fn compared(api: &Api) -> Vec<String> {
    std::mem::take(&mut *api.bank.postcodes.lock().unwrap())
}

#[actix_web::test]
async fn a_postcode_is_asked_for_where_it_is_compared_and_missing_and_is_kept_nowhere() {
    let api = Api::start().await;
    let without = british(&api, None).await;
    assert_eq!(asked(&api, &without).await, Value::Null, "the merchant has not asked for it");
    api.stash("1", card("4242424242424242")).await;
    let postcode = json!({"Postcode": "SW1A 1AA"});
    pays(&api, &without, "1", postcode.clone()).await.is_refused_for(&["BillingAddress VALUE_NOT_ALLOWED"]);
    let stored = british(&api, Some("SW1A 2AA")).await;
    assert_eq!(pays(&api, &stored, "1", Value::Null).await.status, 200);
    assert_eq!(compared(&api), Vec::<String>::new(), "nothing is compared");

    let api = Api::start().await;
    api.methods(&api.ana, MerchantMethods { address_check: true, ..MerchantMethods::default() }).await;
    let without = british(&api, None).await;
    let fields = asked(&api, &without).await;
    assert_eq!((&fields[0]["Name"], &fields[0]["Example"]), (&json!("Postcode"), &json!("SW1A 1AA")), "{fields}");
    assert!(fields[0]["Pattern"].as_str().unwrap().starts_with("[A-Za-z][0-9]"), "{fields}");
    api.stash("1", card("4242424242424242")).await;
    for (address, refused) in [
        (Value::Null, "BillingAddress.Postcode FIELD_MISSING"),
        (json!({}), "BillingAddress.Postcode FIELD_MISSING"),
        (json!({"Postcode": "10117"}), "BillingAddress.Postcode FIELD_INVALID"),
        (json!({"Postcode": 7}), "BillingAddress.Postcode FIELD_INVALID"),
        (json!({"Postcode": "SW1A 1AA", "Street": "1"}), "BillingAddress.Street FIELD_UNKNOWN"),
        (json!("SW1A 1AA"), "BillingAddress FIELD_INVALID"),
    ] {
        pays(&api, &without, "1", address).await.is_refused_for(&[refused]);
    }
    let paid = pays(&api, &without, "1", json!({"Postcode": " sw1a1aa "})).await;
    assert_eq!((paid.status, compared(&api)), (200, vec!["SW1A 1AA".to_owned()]), "{}", paid.text);
    let kept = api.store.find_session_for_shopper(without.parse().unwrap()).await.unwrap().unwrap().session;
    assert_eq!(kept.terms.billing.details.address.postcode, None, "it is of the attempt alone");

    let stored = british(&api, Some("SW1A 2AA")).await;
    assert_eq!(asked(&api, &stored).await, Value::Null, "nothing of what is stored is told");
    api.stash("2", card("4242424242424242")).await;
    pays(&api, &stored, "2", postcode.clone()).await.is_refused_for(&["BillingAddress VALUE_NOT_ALLOWED"]);
    assert_eq!(pays(&api, &stored, "2", Value::Null).await.status, 200);
    assert_eq!(compared(&api), ["SW1A 2AA"], "the Session's own");
    let kenyan = api.session_of("EUR", "KE").await;
    assert_eq!(asked(&api, &kenyan).await, Value::Null, "nobody knows what postcodes look like there");
}

#[actix_web::test]
async fn google_pay_is_taken_by_an_account_and_is_asked_no_postcode() {
    let token = || StashedData::WalletToken(WalletToken::new(Wallet::GooglePay, r#"{"tokenizationData":{}}"#));
    let api = Api::start().await;
    let google_pay = "example:shop-17:NL".parse().ok();
    api.methods(&api.ana, MerchantMethods { google_pay, address_check: true, ..MerchantMethods::default() }).await;
    let session = british(&api, None).await;
    let view = api.browse(&format!("/v1/shopper/session/{session}"), &[]).await.json();
    let entry = &view["TokenMethods"][0];
    assert_eq!(
        (&entry["Type"], &entry["Parameters"]["Environment"]),
        (&json!("GOOGLEPAY"), &json!("PRODUCTION")),
        "{view}"
    );
    assert_eq!(view["TokenMethods"].as_array().unwrap().len(), 1, "there is no certificate for Apple Pay");
    assert_eq!(entry["Parameters"]["SupportedNetworks"], json!(["VISA", "MASTERCARD", "AMEX", "DISCOVER", "JCB"]));
    api.stash("1", token()).await;
    let body = json!({"Version": 1, "AttemptId": Uuid::new_v4(), "StashId": "1", "DeviceFingerprint": FINGERPRINT});
    let paid = submit(&api, &session, body.to_string()).await;
    assert_eq!((paid.status, &paid.json()["PaymentMethod"]), (200, &json!("GOOGLEPAY")), "{}", paid.text);
    assert!(api.bank.postcodes.lock().unwrap().is_empty());
}
