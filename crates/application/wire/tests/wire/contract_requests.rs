//! What a merchant's server asks of contracts: openContract, closeContract, and a checkout under a contract.

use crate::common::{NOW, fields, id};
use dropin_catalogue::{Catalogue, Class, Method};
use dropin_contract::{Consent, ContractKind};
use dropin_kernel::ContractId;
use dropin_money::{Amount, Currency};
use dropin_validation::UrlPolicy;
use dropin_wire::RequestError;
use dropin_wire::checkout::{CheckoutRequest, CloseContractRequest, OpenContractRequest, PaidBy};
use serde_json::{Value, json};

const CONTRACT: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809107";

fn consumer() -> Value {
    json!({"Name": "Ana", "Email": "ana@shop.example", "Address": "1 Main St", "City": "LA", "Country": "US"})
}

/// Every member of an openContract.
fn whole() -> Value {
    json!({
        "MerchantId": "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809102", "ReferenceId": " subscription-7 ", "Kind": "RECURRING", "ConsumerCurrency": "EUR",
        "Consumer": consumer(), "PaymentMethod": "VISA", "StashId": "cart-1", "DeviceFingerprint": " f ",
        "Return": "https://shop.example/back?a=1", "BillingProfileReference": " ana-1 ",
        "Consent": {"TextVersion": " 2026-11 ", "Locale": "de_AT"},
    })
}

/// With members changed; null takes one away.
fn with(mut body: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn read(body: &Value, policy: UrlPolicy, catalogue: &Catalogue) -> Result<OpenContractRequest, RequestError> {
    OpenContractRequest::parse(body.to_string().as_bytes(), policy, catalogue)
}

fn parse(change: Value) -> OpenContractRequest {
    read(&with(whole(), &change), UrlPolicy::Production, &Catalogue::of_sandbox()).unwrap()
}

#[track_caller]
fn refused(change: Value) -> Vec<String> {
    let body = with(whole(), &change);
    fields(read(&body, UrlPolicy::Production, &Catalogue::of_sandbox()).unwrap_err())
}

#[test]
fn an_open_contract_with_everything() {
    let request = parse(json!({}));
    assert_eq!((request.reference.as_str(), request.kind), ("subscription-7", ContractKind::Recurring));
    assert_eq!((request.currency, request.country.as_str()), (Currency::Eur, "US"));
    assert_eq!((request.method.as_str(), request.stash_id.as_str()), ("VISA", "cart-1"));
    assert_eq!((request.return_url.as_str(), request.fingerprint.as_str()), ("https://shop.example/back?a=1", "f"));
    assert_eq!(request.billing_profile_reference, "ana-1".parse().ok());
    let consent = Consent { text_version: "2026-11".parse().unwrap(), locale: "de_AT".parse().unwrap(), at: NOW };
    assert_eq!(request.consent.given_at(NOW), consent);
    let document = concat!(
        r#"{"Consumer":{"Name":"Ana","Email":"ana@shop.example","Address":"1 Main St","City":"LA","#,
        r#""Country":"US"}}"#
    );
    assert_eq!(request.document, document, "as that of a checkout, without Items");
}

#[test]
fn without_a_consent_the_merchants_own_text_counts() {
    let least = parse(json!({"Kind": "UNSCHEDULED", "BillingProfileReference": "", "Consent": null}));
    assert_eq!((least.kind, least.billing_profile_reference), (ContractKind::Unscheduled, None));
    let consent = least.consent.given_at(NOW);
    assert_eq!((consent.text_version.as_str(), consent.locale.to_string().as_str()), ("MERCHANT", "en_US"));
}

#[test]
fn what_is_missing_or_of_another_type_is_told_at_once() {
    let names = ["MerchantId", "ReferenceId", "Kind", "ConsumerCurrency", "PaymentMethod", "StashId", "Return"];
    let nothing = fields(read(&json!({"Consent": {}}), UrlPolicy::Production, &Catalogue::of_sandbox()).unwrap_err());
    let mut missing: Vec<_> =
        names.into_iter().chain(["Consumer", "DeviceFingerprint", "Consent.TextVersion", "Consent.Locale"]).collect();
    missing.sort_unstable();
    assert_eq!(nothing, missing.iter().map(|name| format!("{name} FIELD_MISSING")).collect::<Vec<_>>());
    for name in names {
        assert_eq!(refused(json!({name: ""})), [format!("{name} FIELD_MISSING")], "the empty text counts as left out");
        assert_eq!(refused(json!({name: 1})), [format!("{name} FIELD_INVALID")]);
    }
    let wrong = json!({"Consumer": {"Phone": 7}, "Consent": [], "BillingProfileReference": true});
    assert_eq!(
        refused(wrong),
        [
            "BillingProfileReference FIELD_INVALID",
            "Consent FIELD_INVALID",
            "Consumer.Address FIELD_MISSING",
            "Consumer.City FIELD_MISSING",
            "Consumer.Country FIELD_MISSING",
            "Consumer.Email FIELD_MISSING",
            "Consumer.Name FIELD_MISSING",
            "Consumer.Phone FIELD_INVALID",
        ]
    );
}

#[test]
fn every_wrong_meaning_is_told_at_once() {
    let long = "x".repeat(256);
    let wrong = json!({
        "ReferenceId": long, "Kind": "MONTHLY", "ConsumerCurrency": "XXX", "PaymentMethod": "BITCOIN", "StashId": "a b",
        "DeviceFingerprint": long, "Return": "shop", "BillingProfileReference": long,
        "Consumer": with(consumer(), &json!({"Country": "us", "City": long})),
        "Consent": {"TextVersion": long, "Locale": "en"},
    });
    assert_eq!(
        refused(wrong),
        [
            "BillingProfileReference VALUE_TOO_LONG",
            "Consent.Locale FIELD_INVALID",
            "Consent.TextVersion VALUE_TOO_LONG",
            "Consumer.City VALUE_TOO_LONG",
            "Consumer.Country VALUE_NOT_ALLOWED",
            "ConsumerCurrency VALUE_NOT_ALLOWED",
            "DeviceFingerprint VALUE_TOO_LONG",
            "Kind VALUE_NOT_ALLOWED",
            "PaymentMethod VALUE_NOT_ALLOWED",
            "ReferenceId VALUE_TOO_LONG",
            "Return FIELD_INVALID",
            "StashId FIELD_INVALID",
        ]
    );
}

#[test]
fn one_click_comes_from_no_server() {
    assert_eq!(refused(json!({"Kind": "ONE_CLICK"})), ["Kind VALUE_NOT_ALLOWED"]);
}

#[test]
fn only_cards_are_stored() {
    for method in ["PAYPAL", "BANKTRANSFER", "APPLEPAY"] {
        assert_eq!(refused(json!({"PaymentMethod": method})), ["PaymentMethod VALUE_NOT_ALLOWED"], "{method}");
    }
    let own = Method::builder("DANKORT", "Dankort", Class::Card).build().unwrap();
    let catalogue = Catalogue::of_sandbox().with([own]).unwrap();
    let body = with(whole(), &json!({"PaymentMethod": "DANKORT"}));
    assert_eq!(read(&body, UrlPolicy::Production, &catalogue).unwrap().method, "DANKORT");
}

#[test]
fn urls_follow_the_deployments_policy() {
    let plain = json!({"Return": "http://shop.example/back"});
    assert_eq!(refused(plain.clone()), ["Return FIELD_INVALID"]);
    assert!(read(&with(whole(), &plain), UrlPolicy::Sandbox, &Catalogue::of_sandbox()).is_ok());
}

#[test]
fn what_is_not_known_is_refused_with_the_nearest_that_is() {
    let unknown =
        json!({"Items": [], "Locale": "de_AT", "Consent": {"Version": "1", "TextVersion": "1", "Locale": "de_AT"}});
    let body = with(whole(), &unknown);
    let Err(RequestError::Fields(all)) = read(&body, UrlPolicy::Production, &Catalogue::of_sandbox()) else {
        panic!("not refused")
    };
    let told: Vec<_> = all.iter().map(|one| format!("{} {} {}", one.field, one.code.as_str(), one.message)).collect();
    let nearest = |name: &str, path: &str, known: &str| {
        format!("{path}{name} FIELD_UNKNOWN is not known here; the nearest known member is {known}")
    };
    assert_eq!(told[0], nearest("Version", "Consent.", "Consent.TextVersion"));
    assert!(told[1].starts_with("Items FIELD_UNKNOWN"), "{told:?}");
    assert_eq!(told[2..], [nearest("Locale", "", "Consent.Locale")]);
    assert!(matches!(
        read(&json!([]), UrlPolicy::Production, &Catalogue::of_sandbox()),
        Err(RequestError::Malformed(_))
    ));
}

#[test]
fn a_close_contract_names_merchant_and_contract() {
    let parse = |body: Value| CloseContractRequest::parse(body.to_string().as_bytes());
    let close = CloseContractRequest { merchant_id: "m".to_owned(), contract: id::<ContractId>(7) };
    assert_eq!(parse(json!({"MerchantId": "m", "ContractId": CONTRACT})), Ok(close));
    let refused = |body: Value| fields(parse(body).unwrap_err());
    assert_eq!(refused(json!({})), ["ContractId FIELD_MISSING", "MerchantId FIELD_MISSING"]);
    assert_eq!(refused(json!({"MerchantId": "m", "ContractId": 7})), ["ContractId FIELD_INVALID"]);
    assert_eq!(refused(json!({"MerchantId": "m", "ContractId": "c-1"})), ["ContractId FIELD_INVALID"]);
    let unknown = json!({"MerchantId": "m", "ContractId": CONTRACT, "OrderId": CONTRACT});
    assert_eq!(refused(unknown), ["OrderId FIELD_UNKNOWN"]);
}

/// A checkout under a contract, with nothing that could be left out.
fn charge() -> Value {
    json!({
        "MerchantId": "m", "ReferenceId": "order-1", "ConsumerCurrency": "EUR", "ContractId": CONTRACT,
        "Items": [{"Description": "December", "ConsumerPrice": 9.9, "Quantity": 1}], "Consumer": consumer(),
    })
}

fn read_charge(change: Value) -> Result<CheckoutRequest, RequestError> {
    let body = with(charge(), &change);
    CheckoutRequest::parse(body.to_string().as_bytes(), UrlPolicy::Production, &Catalogue::of_sandbox())
}

#[track_caller]
fn charge_refused(change: Value) -> Vec<String> {
    fields(read_charge(change).unwrap_err())
}

#[test]
fn a_contract_takes_the_place_of_everything_that_a_shopper_brings() {
    let request = read_charge(json!({"StashId": null, "Return": ""})).unwrap();
    assert_eq!(request.paid_by, PaidBy::Contract(id(7)));
    assert_eq!((request.total, request.country.as_str()), (Amount::from_minor(Currency::Eur, 990).unwrap(), "US"));
    let beside = [
        ("DeviceFingerprint", "f"),
        ("PaymentMethod", "VISA"),
        ("Return", "https://shop.example/back"),
        ("StashId", "cart-1"),
    ];
    for (name, value) in beside {
        let told = charge_refused(json!({name: value}));
        assert_eq!(told, ["ContractId CONFLICT".to_owned(), format!("{name} CONFLICT")]);
        assert_eq!(charge_refused(json!({name: 1})), [format!("{name} FIELD_INVALID")]);
    }
    let every = json!({"DeviceFingerprint": "f", "PaymentMethod": "BITCOIN", "Return": "shop", "StashId": "a b"});
    let told = ["ContractId", "DeviceFingerprint", "PaymentMethod", "Return", "StashId"];
    assert_eq!(charge_refused(every), told.map(|name| format!("{name} CONFLICT")));
}

#[test]
fn a_checkout_under_a_contract_is_a_checkout_otherwise() {
    assert_eq!(charge_refused(json!({"ContractId": "c-1"})), ["ContractId FIELD_INVALID"]);
    assert_eq!(charge_refused(json!({"ContractId": 7})), ["ContractId FIELD_INVALID"]);
    let missing = ["Consumer FIELD_MISSING", "Items FIELD_MISSING"];
    assert_eq!(charge_refused(json!({"Items": null, "Consumer": null})), missing);
    let nothing = json!({"Items": [{"Description": "December", "ConsumerPrice": 0, "Quantity": 1}]});
    assert_eq!(charge_refused(nothing), ["Items VALUE_OUT_OF_RANGE"], "a total of zero");
    let neither = json!({"ContractId": null});
    assert_eq!(charge_refused(neither), ["DeviceFingerprint FIELD_MISSING", "PaymentMethod FIELD_MISSING"]);
}
