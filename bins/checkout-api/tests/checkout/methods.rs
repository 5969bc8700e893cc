//! The payment methods over HTTP: what is listed, to whom, and that the checkout takes just that (docs/SPECIFICATION.md#catalogue).

use crate::common::{Answer, Api, User};
use dropin_catalogue::{
    Adjustment, AdjustmentParts, Adjustments, MerchantMethods, MethodsChange, PayLaterRegion, find_method,
};
use serde_json::{Value, json};

fn path(user: &User, filter: &str) -> String {
    format!("/v2.22/getPaymentMethods?MerchantId={}{filter}", user.merchant)
}

async fn list(api: &Api, filter: &str) -> Value {
    let answer = api.browse(&path(&api.ana, filter), &[]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn ids(list: &Value) -> Vec<&str> {
    list["PaymentMethods"].as_array().unwrap().iter().map(|one| one["Id"].as_str().unwrap()).collect()
}

fn entry<'a>(list: &'a Value, id: &str) -> &'a Value {
    list["PaymentMethods"].as_array().unwrap().iter().find(|one| one["Id"] == id).unwrap_or_else(|| panic!("{list}"))
}

fn without(ids: &[&str]) -> MerchantMethods {
    let offered = ids.iter().map(|id| (find_method(id).unwrap().clone(), false)).collect();
    MerchantMethods::default().changed(MethodsChange { offered, ..MethodsChange::default() })
}

const CARDS: [&str; 6] = ["VISA", "MC", "AMEX", "DISC", "JCB", "DINERS"];

#[actix_web::test]
async fn a_list_is_as_the_contract_says() {
    let api = Api::start().await;
    let list = list(&api, "&Country=NL&Currency=EUR&Amount=29.90&Locale=de_NL").await;
    let listed = [&CARDS[..], &["PAYPAL", "IDEAL", "PAYLATER", "BANKTRANSFER"]].concat();
    assert_eq!(ids(&list), listed);
    assert_eq!(list["TokenMethods"], json!([]), "nobody set a wallet up");
    for (id, expected) in [
        (
            "VISA",
            json!({"Id": "VISA", "Name": "Visa", "Class": "Card", "Language": "de", "Local": false, "Parameters": {}}),
        ),
        (
            "IDEAL",
            json!({"Id": "IDEAL", "Name": "iDEAL", "Class": "Online", "Language": "de", "Local": true, "Parameters": {}}),
        ),
        (
            "BANKTRANSFER",
            json!({"Id": "BANKTRANSFER", "Name": "Überweisung", "Class": "Offline", "Language": "de", "Local": false, "Parameters": {}}),
        ),
    ] {
        assert_eq!(entry(&list, id), &expected);
    }
}

#[actix_web::test]
async fn what_is_given_narrows_the_list() {
    let api = Api::start().await;
    assert_eq!(ids(&list(&api, "").await).len(), 11);
    let french = [&CARDS[..], &["CB", "PAYPAL", "PAYLATER", "BANKTRANSFER"]].concat();
    assert_eq!(ids(&list(&api, "&Country=FR&Currency=EUR").await), french);
    assert!(!ids(&list(&api, "&Country=DE").await).contains(&"IDEAL"));
    assert_eq!(ids(&list(&api, "&Country=BR&Currency=KWD").await), [&CARDS[..], &["BANKTRANSFER"]].concat());
    assert!(!ids(&list(&api, "&Country=NL&Currency=EUR&Amount=50000.01").await).contains(&"IDEAL"));
    let nothing = list(&api, "&Currency=JPY").await;
    assert_eq!(nothing, json!({"PaymentMethods": [], "TokenMethods": []}), "yen are not enabled for the merchant");
    let unknown = list(&api, "&Locale=xx_XX").await;
    assert_eq!(entry(&unknown, "BANKTRANSFER")["Language"], "en");
}

#[actix_web::test]
async fn anybody_may_read_it_and_caches_may_keep_it() {
    let api = Api::start().await;
    let path = path(&api.ana, "&Country=NL");
    let page = ("Origin", "https://anybody.example");
    let first = api.browse(&path, &[page]).await;
    assert_eq!((first.status, first.header("access-control-allow-origin")), (200, "*"));
    assert_eq!(first.header("cache-control"), "public, max-age=60");
    let tag = first.header("etag").to_owned();
    assert!(first.header("access-control-expose-headers").contains("ETag"));
    let again = api.browse(&path, &[page, ("If-None-Match", &tag)]).await;
    assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", tag.as_str()));
    let other = api.browse(&path.replace("NL", "DE"), &[("If-None-Match", &tag)]).await;
    assert_eq!(other.status, 200, "another list has another tag");
    let refused = api.browse("/v2.22/getPaymentMethods", &[page]).await;
    refused.is_refused_for(&["MerchantId FIELD_MISSING"]);
    assert_eq!(refused.header("access-control-allow-origin"), "*", "the page's developer can read why");
    let asked = api.send(None, actix_web::http::Method::OPTIONS, &path, &[page], "").await;
    assert_eq!((asked.status, asked.header("access-control-allow-methods")), (204, "GET"));
    api.send(None, actix_web::http::Method::POST, &path, &[], "{}").await.is_error(405, "METHOD_NOT_ALLOWED");
}

#[actix_web::test]
async fn what_makes_no_sense_is_refused_by_field() {
    let api = Api::start().await;
    let long = "x".repeat(4_000);
    for (filter, refused) in [
        ("&Country=de".to_owned(), "Country VALUE_NOT_ALLOWED"),
        ("&Country=UK".to_owned(), "Country VALUE_NOT_ALLOWED"),
        ("&Country=%00%ff".to_owned(), "Country VALUE_NOT_ALLOWED"),
        ("&Currency=eur".to_owned(), "Currency VALUE_NOT_ALLOWED"),
        ("&Currency=XTS".to_owned(), "Currency VALUE_NOT_ALLOWED"),
        ("&Locale=de".to_owned(), "Locale FIELD_INVALID"),
        ("&Locale=de-DE".to_owned(), "Locale FIELD_INVALID"),
        (format!("&Locale={long}"), "Locale FIELD_INVALID"),
        ("&Amount=5".to_owned(), "Currency FIELD_MISSING"),
        ("&Currency=EUR&Amount=1e999999999".to_owned(), "Amount FIELD_INVALID"),
        ("&Currency=EUR&Amount=0.001".to_owned(), "Amount FIELD_INVALID"),
        ("&Currency=EUR&Amount=-1".to_owned(), "Amount VALUE_OUT_OF_RANGE"),
        ("&Country=DE&Country=NL".to_owned(), "Country CONFLICT"),
        ("&MerchantId=1".to_owned(), "MerchantId CONFLICT"),
    ] {
        let answer = api.browse(&path(&api.ana, &filter), &[]).await;
        answer.is_refused_for(&[refused]);
        assert!(!answer.text.contains("xxxx"), "what was sent is not repeated");
    }
    let several = api.browse("/v2.22/getPaymentMethods?Country=x&Currency=y&Locale=z", &[]).await;
    several.is_refused_for(&[
        "Country VALUE_NOT_ALLOWED",
        "Currency VALUE_NOT_ALLOWED",
        "Locale FIELD_INVALID",
        "MerchantId FIELD_MISSING",
    ]);
    api.browse(&path(&api.ana, &"&a=1".repeat(40)), &[]).await.is_error(400, "INVALID_REQUEST");
}

#[actix_web::test]
async fn who_is_nobody_has_no_methods() {
    let api = Api::start().await;
    let told = async |id: &str| {
        let answer = api.browse(&format!("/v2.22/getPaymentMethods?MerchantId={id}"), &[]).await;
        answer.is_error(404, "MERCHANT_NOT_FOUND");
        answer.text
    };
    let nobody = told("6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112").await;
    for id in ["x", "%27%20OR%201", &"9".repeat(500), "00000000-0000-0000-0000-000000000000"] {
        assert_eq!(told(id).await, nobody, "no id is told from one that names nobody");
    }
}

/// Whatever is listed is taken, and whatever is not is refused before anything is asked of the processor.
async fn the_checkout_agrees(api: &Api, user: &User, country: &str, currency: &str, round: &str) {
    let listed =
        api.browse(&path(user, &format!("&Country={country}&Currency={currency}&Amount=20")), &[]).await.json();
    let listed = ids(&listed);
    for id in [&CARDS[..1], &["PAYPAL", "IDEAL", "PAYLATER", "BANKTRANSFER", "BLIK", "OXXO"]].concat() {
        let reference = format!("{round}-{country}-{currency}-{id}");
        let change = json!({
            "MerchantId": user.merchant, "ConsumerCurrency": currency, "PaymentMethod": id, "Capture": true,
        });
        let mut cart = match id {
            "VISA" => api.carded(&reference, change).await,
            _ => api.cart(&reference, change),
        };
        cart["Consumer"]["Country"] = json!(country);
        let answer = pay(api, user, &cart).await;
        if listed.contains(&id) {
            assert!(matches!(answer.status, 200 | 402), "{reference}: {answer:?}");
        } else {
            answer.is_refused_for(&["PaymentMethod VALUE_NOT_ALLOWED"]);
        }
    }
}

async fn pay(api: &Api, user: &User, cart: &Value) -> Answer {
    api.send(Some(user), actix_web::http::Method::POST, "/v2.21", &[], cart.to_string()).await
}

#[actix_web::test]
async fn the_checkout_takes_what_is_listed_and_nothing_else() {
    let api = Api::start().await;
    for (country, currency) in [("NL", "EUR"), ("DE", "EUR"), ("GB", "GBP"), ("AR", "KWD"), ("PL", "PLN")] {
        the_checkout_agrees(&api, &api.ana, country, currency, "plain").await;
    }
}

#[actix_web::test]
async fn what_is_particular_to_a_merchant_touches_nobody_else() {
    let api = Api::start().await;
    let mut methods = without(&["PAYPAL", "VISA"]);
    let mut adjustments: Adjustments = methods.adjustments.clone();
    let dutch = AdjustmentParts { countries: Some(vec!["NL".to_owned()]), ..AdjustmentParts::default() };
    adjustments.set(find_method("PAYLATER").unwrap(), Adjustment::new(dutch).unwrap());
    methods.adjustments = adjustments;
    api.methods(&api.ana, methods).await;
    for country in ["NL", "DE"] {
        let list = list(&api, &format!("&Country={country}&Currency=EUR")).await;
        let listed = ids(&list);
        assert!(!listed.contains(&"PAYPAL") && !listed.contains(&"VISA") && listed.contains(&"MC"), "{listed:?}");
        assert_eq!(listed.contains(&"PAYLATER"), country == "NL");
        the_checkout_agrees(&api, &api.ana, country, "EUR", "narrow").await;
    }
    let bobs = api.browse(&path(&api.bob, "&Country=DE&Currency=EUR"), &[]).await.json();
    assert_eq!(ids(&bobs), [&CARDS[..], &["PAYPAL", "PAYLATER", "BANKTRANSFER"]].concat());
    let cart = api.cart("bobs", json!({"MerchantId": api.bob.merchant}));
    assert_eq!(pay(&api, &api.bob, &cart).await.status, 200);
}

#[actix_web::test]
async fn pay_later_tells_its_region() {
    let api = Api::start().await;
    let parameters = async |filter: &str| entry(&list(&api, filter).await, "PAYLATER")["Parameters"].clone();
    assert_eq!(parameters("&Country=NL").await, json!({}), "the merchant has no account there");
    let api = Api::start().await;
    let clients =
        [(PayLaterRegion::Europe, Some("K-eu".to_owned())), (PayLaterRegion::NorthAmerica, Some("K-na".to_owned()))];
    let change = MethodsChange { pay_later_clients: clients.to_vec(), ..MethodsChange::default() };
    api.methods(&api.ana, MerchantMethods::default().changed(change)).await;
    let parameters = async |filter: &str| entry(&list(&api, filter).await, "PAYLATER")["Parameters"].clone();
    let of = |region: &str| {
        let url = format!("http://sandbox.example/onsite/{region}/script.js");
        json!({"ClientId": format!("K-{region}"), "OnSiteJavaScriptUrl": url})
    };
    for (filter, expected) in [
        ("", json!({})),
        ("&Country=NL", of("eu")),
        ("&Country=US&Currency=EUR&Locale=de_DE", of("na")),
        ("&Currency=USD&Locale=de_DE", of("na")),
        ("&Currency=CHF", of("eu")),
        ("&Locale=en_US", of("na")),
        ("&Locale=en_BR", json!({})),
        ("&Country=AU", json!({})),
    ] {
        assert_eq!(parameters(filter).await, expected, "{filter}");
    }
}

#[actix_web::test]
async fn a_wallet_is_a_token_method() {
    let api = Api::start().await;
    api.wallet("shop.example").await;
    let tokens = list(&api, "&Country=NL&Currency=EUR").await["TokenMethods"].clone();
    assert_eq!(tokens[0]["Type"], "APPLEPAY", "{tokens}");
    let parameters = &tokens[0]["Parameters"];
    assert_eq!(parameters["SupportedNetworks"], json!(["visa", "masterCard", "amex", "discover", "jcb"]));
    assert!(parameters["PaymentSessionUrl"].as_str().unwrap().contains(&api.ana.merchant), "{parameters}");
    assert_eq!(list(&api, "&Currency=JPY").await["TokenMethods"], json!([]));
    let bobs = api.browse(&path(&api.bob, ""), &[]).await.json();
    assert_eq!(bobs["TokenMethods"], json!([]), "it is Ana's");
    let api = Api::start().await;
    api.wallet("shop.example").await;
    api.methods(&api.ana, without(&["APPLEPAY"])).await;
    assert_eq!(list(&api, "").await["TokenMethods"], json!([]));
}
