//! The demo shop, as a newcomer clicks through it after `cargo run`.

use dropin_tests::{browser, cards, world::Demo};
use serde_json::json;

/// Pick a thing, pay it, and see the Order and the notifications arrive; once charged at once, once when it ships.
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
    demo.finish().await;
}
