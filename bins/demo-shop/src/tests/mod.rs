//! The shop against a payment service that a test scripts. Everything on loopback, over real HTTP.

mod carts;
mod subscriptions;
mod world;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use awc::Client;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{ShopConfig, serve};
use world::{Delivery, ORDER, OTHER_SECRET, SESSION, World, config, fresh_id, now, session};

const CART: &str = "1d1b0c52-3f0e-4a6e-9c57-0d6c1f4f2f10";

#[actix_web::test]
async fn believes_a_rightly_signed_notification_and_shows_it() {
    let world = World::open().await;
    assert_eq!(world.deliver(&Delivery::new(1, "ORDER_AUTHORIZED", "PAYMENT_AUTHORIZED")).await, 200);
    let shown = &world.notifications(1).await[0];
    assert_eq!(shown["EventType"], "ORDER_AUTHORIZED");
    assert_eq!(shown["State"], "PAYMENT_AUTHORIZED");
    assert_eq!(shown["SessionId"], SESSION);
    assert_eq!(shown["Sequence"], 1);
}

#[actix_web::test]
async fn refuses_what_is_tampered_old_or_signed_by_somebody_else() {
    let world = World::open().await;
    let good = || Delivery::new(1, "ORDER_PROCESSED", "PROCESSED");
    let tampered = Delivery { sent: Some(good().body.replace("STILL-1", "STILL-2")), ..good() };
    let (old, early) = (Delivery { timestamp: now() - 301, ..good() }, Delivery { timestamp: now() + 310, ..good() });
    let absurd = Delivery { timestamp: i64::MIN, ..good() };
    let foreign = Delivery { secret: OTHER_SECRET, ..good() };
    for (what, delivery) in
        [("tampered", tampered), ("old", old), ("early", early), ("absurd time", absurd), ("other secret", foreign)]
    {
        assert_eq!(world.deliver(&delivery).await, 401, "{what}");
    }
    let bare = world.client.post(world.url("/webhook")).send_body(good().body).await.unwrap();
    assert_eq!(bare.status().as_u16(), 401, "no signature at all");
    let nonsense = Delivery { body: "{\"Order\":7}".to_owned(), ..good() };
    assert_eq!(world.deliver(&nonsense).await, 400, "signed, but no notification");
    // None of them was stored: the first good one is the first shown.
    assert_eq!(world.deliver(&Delivery { id: "msg_good".to_owned(), ..good() }).await, 200);
    assert_eq!(world.notifications(1).await[0]["WebhookId"], "msg_good");
}

#[actix_web::test]
async fn acknowledges_a_repeated_delivery_and_stores_it_once() {
    let world = World::open().await;
    let first = Delivery::new(1, "SESSION_COMPLETED", "PAYMENT_AUTHORIZED");
    assert_eq!(world.deliver(&first).await, 200);
    assert_eq!(world.deliver(&Delivery { timestamp: first.timestamp + 1, ..first }).await, 200);
    assert_eq!(world.deliver(&Delivery::new(2, "ORDER_AUTHORIZED", "PAYMENT_AUTHORIZED")).await, 200);
    let shown: Vec<_> = world.notifications(2).await.iter().map(|one| one["Sequence"].clone()).collect();
    assert_eq!(shown, [json!(1), json!(2)]);
}

#[actix_web::test]
async fn a_late_older_notification_does_not_take_the_purchase_back() {
    let world = World::open().await;
    world.answers(201, session("CREATED", None));
    assert_eq!(world.checkout().await.1["Stage"], "AWAITING_PAYMENT");
    world.deliver(&Delivery::new(2, "ORDER_AUTHORIZED", "PAYMENT_AUTHORIZED")).await;
    assert_eq!(world.stage().await, "AUTHORIZED");
    world.deliver(&Delivery::new(4, "ORDER_PROCESSED", "PROCESSED")).await;
    world.deliver(&Delivery::new(3, "ORDER_AUTHORIZED", "PAYMENT_AUTHORIZED")).await;
    assert_eq!(world.stage().await, "PAID");
}

#[actix_web::test]
async fn prices_come_from_the_server_whatever_the_browser_says() {
    let world = World::open().await;
    world.answers(200, json!({"Rates": [{"Currency": "EUR", "Rate": 1}, {"Currency": "KWD", "Rate": 0.3331}]}));
    world.answers(201, session("CREATED", None));
    let basket = json!({
        "CartId": CART, "Currency": "KWD", "Country": "NL", "Rate": 0.001, "AutoCapture": true, "TotalAmount": 0.001,
        "Lines": [{"Id": "mug", "Quantity": 2, "Amount": 0.001, "Price": 1}, {"Id": "tea", "Quantity": 1}],
    });
    let (status, answer) = world.post("/api/checkout", basket).await;
    assert_eq!((status, &answer["SessionId"]), (200, &json!(SESSION)));
    assert!(answer.get("BillingProfile").is_none(), "billing details stay on the server: {answer}");
    let asked = world.asked();
    assert_eq!(asked[0].0, "GET /v2.2/getRates");
    let (line, headers, body) = &asked[1];
    assert_eq!(line, "POST /v1/session");
    // shop:only-for-this-test
    assert_eq!(headers.get("authorization").unwrap(), "Basic c2hvcDpvbmx5LWZvci10aGlzLXRlc3Q=");
    assert!(body.contains(r#""Amount":15.988,"Quantity":2"#), "{body}");
    assert!(body.contains(r#""Amount":3.964,"Quantity":1"#), "{body}");
    assert!(body.contains(r#""ShippingAmount":1.632"#) && body.contains(r#""Currency":"KWD""#), "{body}");
    assert!(body.contains(r#""City":"Amsterdam","Country":"NL""#) && !body.contains("RateOfferId"), "{body}");
    assert!(body.contains("/paid?session={SessionId}"), "{body}");
}

#[actix_web::test]
async fn a_guaranteed_offer_is_named_and_a_currency_without_a_rate_is_not_sold_in() {
    let world = World::open().await;
    let rates =
        json!({"RateOffers": [{"Currency": "USD", "Id": "offer-1", "Expiry": "2026-11-22T20:00:00Z", "Rate": 1.1}]});
    let basket = |currency: &str| json!({"CartId": fresh_id(), "Currency": currency, "AutoCapture": true, "Lines": [{"Id": "mug", "Quantity": 1}]});
    world.answers(200, rates.clone());
    world.answers(201, session("CREATED", None));
    assert_eq!(world.post("/api/checkout", basket("USD")).await.0, 200);
    let body = &world.asked()[1].2;
    assert!(body.contains(r#""RateOfferId":"offer-1""#) && body.contains(r#""Amount":26.40"#), "{body}");
    assert!(!body.contains(r#""Currency""#), "the offer says it: {body}");
    for (status, list, expected) in [
        (200, rates, (409, "NO_RATE")),
        (200, json!({"Rates": []}), (409, "NO_RATE")),
        (200, json!({"Rates": [{"Currency": "GBP", "Rate": 0}]}), (409, "NO_RATE")),
        (503, json!({"Code": "RATES_STALE", "Message": "x"}), (503, "PAYMENT_SERVICE_BUSY")),
    ] {
        world.answers(status, list);
        let (status, answer) = world.post("/api/checkout", basket("GBP")).await;
        assert_eq!((status, answer["Code"].as_str()), (expected.0, Some(expected.1)), "{answer}");
        assert_eq!(world.asked().len(), 1, "no Session was made");
    }
}

#[actix_web::test]
async fn refuses_baskets_that_make_no_sense_before_asking_anybody() {
    let world = World::open().await;
    let basket = |currency: &str, lines: Value| json!({"CartId": CART, "Currency": currency, "AutoCapture": true, "Lines": lines});
    for (what, body) in [
        ("empty", basket("EUR", json!([]))),
        ("unknown thing", basket("EUR", json!([{"Id": "yacht", "Quantity": 1}]))),
        ("none of it", basket("EUR", json!([{"Id": "mug", "Quantity": 0}]))),
        ("too many", basket("EUR", json!([{"Id": "mug", "Quantity": 21}]))),
        ("less than none", basket("EUR", json!([{"Id": "mug", "Quantity": -1}]))),
        ("no currency", basket("usd", json!([{"Id": "mug", "Quantity": 1}]))),
        (
            "no country",
            json!({"CartId": CART, "Currency": "EUR", "Country": "AQ", "AutoCapture": true, "Lines": [{"Id": "mug", "Quantity": 1}]}),
        ),
        ("not a basket", json!(["mug"])),
        ("no cart", json!({"Currency": "EUR", "AutoCapture": true, "Lines": [{"Id": "mug", "Quantity": 1}]})),
    ] {
        let (status, answer) = world.post("/api/checkout", body).await;
        assert_eq!((status, &answer["Code"]), (400, &json!("INVALID_REQUEST")), "{what}: {answer}");
    }
    let form = world.client.post(world.url("/api/checkout")).send_form(&[("Currency", "EUR")]).await.unwrap();
    assert_eq!(form.status().as_u16(), 403, "a form of a foreign page");
    assert!(world.asked().is_empty(), "the payment service was asked");
}

/// The shop's last page shows them.
#[actix_web::test]
async fn bank_details_reach_the_page_and_billing_does_not() {
    let world = World::open().await;
    let mut transfer = session("COMPLETED", Some("PROCESSING"));
    transfer["PaymentMethod"] = json!("BANKTRANSFER");
    transfer["Order"]["BankDetails"] = json!({"Iban": "DE00", "PaymentReference": "STILL-1", "BankName": ""});
    transfer["Attempts"] = json!([{"At": "2026-11-22T10:00:00Z", "PaymentMethod": "VISA", "Outcome": "FAILED", "Code": "INSUFFICIENT_FUNDS"}]);
    world.answers(200, transfer);
    let (_, _, text) = world.get(&format!("/api/payment/{SESSION}")).await;
    let shown: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&shown["Order"]["BankDetails"]["Iban"], &shown["PaymentMethod"]),
        (&json!("DE00"), &json!("BANKTRANSFER"))
    );
    assert_eq!(shown["Attempts"][0]["Code"], "INSUFFICIENT_FUNDS");
    assert!(!text.contains("robin@example.com"), "{text}");
}

#[actix_web::test]
async fn references_never_repeat() {
    let world = World::open().await;
    for _ in 0..20 {
        world.answers(201, session("CREATED", None));
        assert_eq!(world.checkout().await.0, 200);
    }
    let reference = |body: &str| serde_json::from_str::<Value>(body).unwrap()["MerchantReference"].to_string();
    let mut references: Vec<_> = world.asked().iter().map(|(_, _, body)| reference(body)).collect();
    references.dedup();
    assert_eq!(references.len(), 20);
    assert!(references.is_sorted());
}

#[actix_web::test]
async fn says_so_when_the_payment_service_is_away() {
    let closed = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let world = World::around(Arc::default(), &format!("http://{address}")).await;
    let (status, answer) = world.checkout().await;
    assert_eq!((status, &answer["Code"]), (502, &json!("PAYMENT_SERVICE_AWAY")));
    assert!(answer["Message"].as_str().unwrap().contains(&address.to_string()), "{answer}");
}

#[actix_web::test]
async fn turns_refusals_of_the_service_into_words_that_help() {
    let world = World::open().await;
    let refusal = |code: &str| json!({"Code": code, "Message": "Words of the service."});
    for (status, body, expected, code) in [
        (503, refusal("SERVICE_UNAVAILABLE"), 503, "PAYMENT_SERVICE_BUSY"),
        (401, refusal("AUTHENTICATION_REQUIRED"), 502, "CREDENTIALS_REFUSED"),
        (400, refusal("INVALID_CURRENCY"), 400, "INVALID_CURRENCY"),
        (500, json!("no error object"), 502, "PAYMENT_SERVICE_STRANGE"),
        (201, json!({"SessionId": "not a session"}), 502, "PAYMENT_SERVICE_STRANGE"),
    ] {
        world.answers(status, body);
        let (got, answer) = world.checkout().await;
        assert_eq!((got, &answer["Code"]), (expected, &json!(code)), "{status}: {answer}");
        assert!(!answer.to_string().contains("only-for-this-test"));
    }
}

#[actix_web::test]
async fn ships_the_order_of_the_session_and_passes_a_refused_capture_on() {
    let world = World::open().await;
    let path = format!("/api/payment/{SESSION}/capture");
    world.answers(200, session("CREATED", None));
    let (status, answer) = world.post(&path, json!({})).await;
    assert_eq!((status, &answer["Code"]), (409, &json!("NOTHING_TO_SHIP")));

    world.answers(200, session("COMPLETED", Some("PAYMENT_AUTHORIZED")));
    world.answers(
        200,
        json!({"OrderId": ORDER, "State": "PROCESSED", "Reason": {"Code": "Captured", "Retryable": false}}),
    );
    let (status, answer) = world.post(&path, json!({})).await;
    assert_eq!((status, &answer["Reason"]["Code"]), (200, &json!("Captured")));
    let (line, _, body) = world.asked().pop().unwrap();
    assert_eq!((line, body), (format!("POST /v1/order/{ORDER}/capture"), String::new()));

    world.answers(200, session("COMPLETED", Some("PAYMENT_AUTHORIZED")));
    world.answers(402, json!({"Code": "CAPTURE_FAILED", "Message": "Refused for good.", "Retryable": false}));
    let (status, answer) = world.post(&path, json!({})).await;
    assert_eq!((status, &answer["Code"]), (402, &json!("CAPTURE_FAILED")));

    let (status, answer) = world.post("/api/payment/..%2F..%2Forder/capture", json!({})).await;
    assert_eq!((status, &answer["Code"]), (404, &json!("PAYMENT_NOT_FOUND")));
}

#[actix_web::test]
async fn every_answer_carries_the_policy_and_the_page_names_the_script() {
    let world = World::open().await;
    for path in ["/", "/paid", "/pay", "/shop.js", "/shop.css", "/api/catalogue", "/api/payment/x", "/nothing-here"] {
        let (_, headers, _) = world.get(path).await;
        let policy = headers.get("content-security-policy").unwrap_or_else(|| panic!("{path}")).to_str().unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self' http://127.0.0.1:8080 http://127.0.0.1:",
            "frame-src http://127.0.0.1:8080;",
            "style-src 'self';",
            "connect-src 'self' http://127.0.0.1:",
            "form-action 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {part} missing in {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    let (status, _, page) = world.get("/").await;
    assert_eq!(status, 200);
    assert!(page.contains(r#"<script src="http://127.0.0.1:8080/asset/v1/dropin.js""#), "{page}");
    assert!(!page.contains("{motifs}") && page.contains(r#"<symbol id="mug""#));
}

#[actix_web::test]
async fn the_page_for_looks_has_the_presets_and_admits_their_style_sheet() {
    let world = World::open().await;
    let (status, headers, page) = world.get("/appearance").await;
    assert_eq!(status, 200);
    assert!(page.contains(r#"<link rel="stylesheet" href="http://127.0.0.1:8080/asset/v1/appearance.css">"#), "{page}");
    let policy = headers.get("content-security-policy").unwrap().to_str().unwrap();
    assert!(policy.contains("style-src 'self' http://127.0.0.1:8080;") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(world.get("/appearance.js").await.0, 200);
}

#[actix_web::test]
async fn pages_live_under_the_registered_origin_only() {
    let world = World::open().await;
    let client = Client::builder().disable_redirects().finish();
    let led = client.get(world.url("/paid?session=1")).send().await.unwrap();
    assert_eq!(led.status().as_u16(), 307);
    assert_eq!(led.headers().get("location").unwrap(), "http://localhost:8081/paid?session=1");
    let rebound = client.get(world.url("/")).insert_header(("Host", "shop.evil.example:8081")).send().await.unwrap();
    assert_eq!(rebound.status().as_u16(), 403);
}

#[actix_web::test]
async fn stops_when_told_even_with_an_open_live_view() {
    let world = World::open().await;
    let mut stream = world.client.get(world.url("/api/notifications")).send().await.unwrap();
    stream.next().await.expect("a greeting").unwrap();
    world.stop.send(true).unwrap();
    // Sooner than the grace period after which connections are cut: the view ended by itself.
    tokio::time::timeout(Duration::from_secs(super::STOP_SECONDS) / 2, world.serving)
        .await
        .expect("in time")
        .unwrap()
        .unwrap();
}

#[actix_web::test]
async fn configuration_that_cannot_work_is_refused_before_anything_runs() {
    let (_stop, stopped) = watch::channel(false);
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let with = |change: fn(&mut ShopConfig)| {
        let mut config = config("http://127.0.0.1:1");
        change(&mut config);
        config
    };
    for (member, config) in [
        ("loopback", with(|config| config.listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))),
        ("base_url", with(|config| config.base_url = "127.0.0.1:8080".to_owned())),
        ("asset_url", with(|config| config.asset_url = "ftp://127.0.0.1".to_owned())),
        ("public_origin", with(|config| config.public_origin = String::new())),
        ("webhook_secret", with(|config| config.webhook_secret = "whsec_***".to_owned())),
    ] {
        let error = serve(config, stopped.clone()).await.err().expect(member);
        assert!(error.to_string().contains(member), "{member}: {error}");
    }
    let listen = taken.local_addr().unwrap();
    let error = serve(ShopConfig { listen, ..config("http://127.0.0.1:1") }, stopped).await.err().expect("taken");
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}

#[test]
fn debug_shows_no_secret() {
    let shown = format!("{:?}", config("http://127.0.0.1:1"));
    assert!(!shown.contains("only-for-this-test") && !shown.contains("whsec_"), "{shown}");
}
