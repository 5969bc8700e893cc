//! The wallet over HTTP: payment sessions, and checkouts with its tokens (docs/SPECIFICATION.md#wallet, docs/SPECIFICATION.md#checkout-request).

#[path = "../../../../crates/application/usecases/tests/usecases/wallet/hostile.rs"]
mod hostile;

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::common::{Answer, Api, Gateway};
use dropin_ports::WalletFailure;
use serde_json::json;
use tokio::net::TcpListener;
use url::form_urlencoded::byte_serialize;

const PAGE: (&str, &str) = ("Origin", "https://shop.example");
const GOOD: &str = "https://apple-pay-gateway.apple.com/paymentservices/startSession";

fn encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

fn path(api: &Api, url: &str) -> String {
    format!("/v1/wallet/{}/session?validationURL={}&displayName=Ana%27s%20mugs", api.ana.merchant, encoded(url))
}

async fn ready() -> Api {
    offering(Api::start().await).await
}

async fn offering(api: Api) -> Api {
    api.origins(&[PAGE.1]).await;
    api.wallet("shop.example").await;
    api
}

#[actix_web::test]
async fn a_registered_page_gets_a_session_and_may_read_it() {
    let api = ready().await;
    let answer = api.browse(&path(&api, GOOD), &[PAGE]).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, Gateway::session("shop.example").as_str()));
    assert_eq!(answer.header("access-control-allow-origin"), PAGE.1);
    assert_eq!((answer.header("vary"), answer.header("cache-control")), ("Origin", "no-store"));
    assert_eq!(answer.header("content-type"), "application/json");
    let asked = api.gateway.asked.lock().unwrap().clone();
    assert_eq!((asked.len(), asked[0].display_name.as_str()), (1, "Ana's mugs"));
    assert_eq!(asked[0].client, Ipv4Addr::LOCALHOST.to_ipv6_mapped().to_bits(), "whoever asks has a share of its own");
}

/// Asks as a page does, again when its client is over the rate.
async fn browse(api: &Api, path: &str) -> Answer {
    loop {
        let answer = api.browse(path, &[PAGE]).await;
        if answer.status != 429 {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[actix_web::test]
async fn no_hostile_spelling_lets_a_packet_leave() {
    let api = ready().await;
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = canary.local_addr().unwrap();
    let mut all: Vec<_> = hostile::HOSTILE.iter().map(|one| (*one).to_owned()).collect();
    all.extend(hostile::long());
    let mut tried = 0;
    for url in all {
        let url = url.replace("{canary}", &address.to_string()).replace("{port}", &address.port().to_string());
        let answer = browse(&api, &path(&api, &url)).await;
        match answer.json()["FieldErrors"].as_array() {
            Some(_) => answer.is_refused_for(&["validationURL VALUE_NOT_ALLOWED"]),
            // The query as a whole is too long.
            None => answer.is_error(400, "INVALID_REQUEST"),
        }
        tried += 1;
    }
    assert!(120 <= tried, "{tried}");
    // What no URL library writes: bytes that are no UTF-8, a percent sign alone, the parameter twice, in another case, as an array.
    let base = format!("/v1/wallet/{}/session?displayName=Ana", api.ana.merchant);
    let good = encoded(GOOD);
    for (query, refusal) in [
        (format!("validationURL={good}%ff"), "validationURL VALUE_NOT_ALLOWED"),
        (format!("validationURL={good}%"), "validationURL VALUE_NOT_ALLOWED"),
        (format!("validationURL={good}%00"), "validationURL VALUE_NOT_ALLOWED"),
        (format!("validationURL={}", encoded(&good)), "validationURL VALUE_NOT_ALLOWED"),
        (format!("validationURL={good}&validationURL={good}"), "validationURL FIELD_INVALID"),
        (format!("validationURL={good}&validationURL=http%3A%2F%2F{address}%2F"), "validationURL FIELD_INVALID"),
        (format!("validationurl={good}"), "validationurl FIELD_UNKNOWN"),
        (format!("validationURL[]={good}"), "validationURL[] FIELD_UNKNOWN"),
        (String::new(), "validationURL FIELD_MISSING"),
    ] {
        browse(&api, &format!("{base}&{query}")).await.is_refused_for(&[refusal]);
    }
    assert_eq!(api.gateway.asked.lock().unwrap().len(), 0);
    assert!(tokio::time::timeout(Duration::ZERO, canary.accept()).await.is_err(), "somebody called");
    assert_eq!(browse(&api, &path(&api, GOOD)).await.status, 200, "the right one passes");
}

#[actix_web::test]
async fn strangers_learn_nothing_and_read_nothing() {
    let api = ready().await;
    for origins in [&[("Origin", "https://evil.example")][..], &[("Origin", "null")], &[PAGE, PAGE]] {
        let answer = api.browse(&path(&api, GOOD), origins).await;
        answer.is_error(403, "NOT_AUTHORIZED");
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
    let nobody = path(&api, GOOD).replace(&api.ana.merchant, "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112");
    api.browse(&nobody, &[PAGE]).await.is_error(404, "MERCHANT_NOT_FOUND");
    api.browse("/v1/wallet/x/session", &[PAGE]).await.is_error(400, "VALIDATION_ERROR");
    // Bob's pages are not Ana's, and he has no wallet.
    let of_bob = path(&api, GOOD).replace(&api.ana.merchant, &api.bob.merchant);
    api.browse(&of_bob, &[PAGE]).await.is_error(403, "NOT_AUTHORIZED");
    api.browse(&format!("{of_bob}&domainName=shop.example"), &[]).await.is_error(403, "NOT_AUTHORIZED");
    assert_eq!(api.gateway.asked.lock().unwrap().len(), 0);
    // Without a page two parameters are enough, as long as one domain is verified (docs/SPECIFICATION.md#wallet-domain-name).
    assert_eq!(api.browse(&path(&api, GOOD), &[]).await.status, 200);
    let named = format!("{}&domainName=shop.example", path(&api, GOOD));
    for headers in [&[][..], &[("Origin", "https://assets.example")]] {
        assert_eq!(api.browse(&named, headers).await.status, 200);
    }
}

#[actix_web::test]
async fn an_origin_gives_nobody_a_rate_of_its_own() {
    for origin in ["https://assets.example", PAGE.1] {
        let api = ready().await;
        let mut limited = false;
        for _ in 0..200 {
            let answer = api.browse(&path(&api, GOOD), &[("Origin", origin)]).await;
            limited |= answer.status == 429;
        }
        assert!(limited, "{origin}");
    }
}

#[actix_web::test]
async fn a_provider_that_fails_is_told_apart_from_a_wrong_request() {
    let api = ready().await;
    *api.gateway.fails.lock().unwrap() = Some(WalletFailure::Provider("the secret name of a machine".to_owned()));
    let answer = api.browse(&path(&api, GOOD), &[PAGE]).await;
    answer.is_error(502, "WALLET_PROVIDER_FAILED");
    assert!(!answer.text.contains("machine"), "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), PAGE.1, "the page may read why");
    *api.gateway.fails.lock().unwrap() = Some(WalletFailure::HostNotPublic);
    api.browse(&path(&api, GOOD), &[PAGE]).await.is_error(400, "INVALID_REQUEST");
    *api.gateway.fails.lock().unwrap() = Some(WalletFailure::Busy);
    let answer = api.browse(&path(&api, GOOD), &[PAGE]).await;
    answer.is_error(429, "RATE_LIMITED");
    assert_eq!(answer.header("retry-after"), "1");
}

#[actix_web::test]
async fn our_own_file_is_served_once_somebody_registered_it() {
    let api = Api::start().await;
    let file = "/.well-known/apple-developer-merchantid-domain-association";
    api.browse(file, &[]).await.is_error(404, "NOT_FOUND");
    api.wallet("assets.example").await;
    let served = api.browse(file, &[]).await;
    assert_eq!((served.status, served.text.as_str()), (200, "the association file\n"));
    assert!(served.header("content-type").starts_with("text/plain"));
}

#[actix_web::test]
async fn a_token_pays_without_a_method_and_reaches_the_processor_untouched() {
    let api = ready().await;
    let data = "{ \"token\" : {\"paymentData\":{\"data\":\"\\u00e9+/==\"},\"n\":1.50e0}}";
    let paid = api.ask("", &api.tokened("order-1", data, json!({})).await).await;
    assert_eq!(paid.flags(), (true, false, true));
    assert_eq!(*api.bank.tokens.lock().unwrap(), [data]);
    let again = api.cart("order-2", json!({"PaymentMethod": null, "StashId": "order-1"}));
    api.ask("", &again).await.is_refused_for(&["StashId NOT_FOUND"]);
    let named = api.tokened("order-3", data, json!({"PaymentMethod": "APPLEPAY", "Capture": true})).await;
    assert_eq!(api.ask("", &named).await.flags(), (true, true, true));
    let refund = json!({"MerchantId": api.ana.merchant, "OrderId": paid.order(), "Amount": 5});
    let partly = api.ask("/capture", &refund).await;
    assert_eq!(partly.status, 200, "a part, as of a card: {partly:?}");
}

#[actix_web::test]
async fn a_token_is_taken_where_the_wallet_is_listed_and_nowhere_else() {
    let api = ready().await;
    let token = api.tokened("order-1", "{}", json!({})).await;
    api.without_wallet().await;
    api.ask("", &token).await.is_refused_for(&["StashId VALUE_NOT_ALLOWED"]);
    let mut named = token.clone();
    named["PaymentMethod"] = "APPLEPAY".into();
    api.ask("", &named).await.is_refused_for(&["StashId VALUE_NOT_ALLOWED"]);
    assert!(api.bank.asked.lock().unwrap().is_empty());
    api.wallet("shop.example").await;
    // In force within two seconds.
    tokio::time::sleep(Duration::from_millis(1_600)).await;
    assert_eq!(api.ask("", &token).await.flags(), (true, false, true), "the refusals have used nothing up");
}

#[actix_web::test]
async fn a_token_is_no_card_and_a_card_no_token() {
    let api = ready().await;
    let wrong = api.tokened("order-1", "{}", json!({"PaymentMethod": "VISA", "Return": "https://shop.example/"})).await;
    api.ask("", &wrong).await.is_refused_for(&["PaymentMethod CONFLICT"]);
    let wrong = api.carded("order-2", json!({"PaymentMethod": "APPLEPAY"})).await;
    api.ask("", &wrong).await.is_refused_for(&["PaymentMethod CONFLICT"]);
    let wrong = api.carded("order-3", json!({"PaymentMethod": null})).await;
    api.ask("", &wrong).await.is_refused_for(&["PaymentMethod FIELD_MISSING"]);
    let wrong = api.cart("order-4", json!({"PaymentMethod": "APPLEPAY", "StashId": null}));
    api.ask("", &wrong).await.is_refused_for(&["StashId FIELD_MISSING"]);
    let wrong = api.cart("order-5", json!({"PaymentMethod": null, "StashId": null}));
    api.ask("", &wrong).await.is_refused_for(&["PaymentMethod FIELD_MISSING"]);
    assert!(api.bank.asked.lock().unwrap().is_empty());
}

/// Screening wants a challenge, or one and a person: a token without a way back is the one means of payment whose shopper cannot be sent to a page.
#[actix_web::test]
async fn a_token_whose_shopper_has_to_authenticate_needs_a_way_back() {
    for decision in ["CHALLENGE", "REVIEW"] {
        let api = Api::start_screened(&format!("[rules]\nALL = 'BILLING_COUNTRY not_in ZA then {decision}'")).await;
        let api = offering(api).await;
        let token = api.tokened("order-1", "{}", json!({})).await;
        let refused = api.ask("", &token).await;
        refused.is_error(402, "SHOPPER_AUTHENTICATION_REQUIRED");
        assert!(!refused.order().is_empty() && !refused.text.contains("Screening"), "{refused:?}");
        assert!(api.bank.asked.lock().unwrap().is_empty(), "nothing is asked");
        let back = json!({"Return": "https://shop.example/"});
        let token = api.tokened("order-2", "{}", back).await;
        let paid = api.ask("", &token).await.json();
        let held = decision == "REVIEW";
        assert_eq!((paid["State"].as_str(), paid["UnderReview"].as_bool()), (Some("PAYMENT_AUTHORIZED"), Some(held)));
    }
}
