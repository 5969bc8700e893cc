//! The demo shop, as a newcomer clicks through it after `cargo run`.

use dropin_tests::{browser, cards, world::Demo};
use serde_json::json;

/// Pick a thing, pay it, and see the Order and the notifications arrive: charged at once, when it ships, by wallet, and at a bank.
#[actix_web::test]
async fn a_newcomer_clicks_through_the_shop() {
    let demo = Demo::start().await;
    assert!(demo.resident_kib() < 60 * 1024, "idle: {} KiB", demo.resident_kib());
    let (desktop, phone) = (json!({"width": 1280, "height": 900}), json!({"width": 390, "height": 844}));
    let at_once = json!({"shop": demo.shop, "viewport": desktop, "number": cards::VISA, "events": 3});
    let seen = browser::run("shop", &at_once).await;
    assert_eq!(seen["problems"], json!([]), "{seen}");
    let stream = seen["stream"].as_str().unwrap_or_default();
    let order = ["ORDER_PROCESSED", "ORDER_AUTHORIZED", "SESSION_COMPLETED"].map(|event| stream.find(event));
    assert!(order[0].is_some() && order.is_sorted(), "newest first: {stream}");
    assert!(seen["panel"].as_str().is_some_and(|panel| panel.contains("COMPLETED")), "{seen}");
    let later =
        json!({"shop": demo.shop, "viewport": phone, "number": cards::MASTERCARD, "events": 5, "shipLater": true});
    let seen = browser::run("shop", &later).await;
    assert_eq!(seen["problems"], json!([]), "{seen}");
    assert_eq!(seen["stream"].as_str().map(|stream| stream.matches("ORDER_PROCESSED").count()), Some(2), "{seen}");
    let seen = browser::run("tour", &json!({"shop": demo.shop, "viewport": {"width": 1280, "height": 900}})).await;
    assert_eq!(seen["problems"], json!([]), "{seen}");
    assert!(seen["prices"]["currencies"].as_u64().is_some_and(|count| count > 50), "{seen}");
    // At the rates of the sandbox's own feed.
    let prices = (&seen["prices"]["EUR"], &seen["prices"]["JPY"], &seen["prices"]["KWD"]);
    assert_eq!(prices, (&json!("€24.00"), &json!("JP¥3,840"), &json!("KWD 8.160")), "{seen}");
    assert!(seen["later"].as_str().is_some_and(|text| text.contains("4 payments")), "{seen}");
    assert_eq!(seen["paid"], json!(["US$31.79", "€28.90"]), "{seen}");
    demo.finish().await;
}
