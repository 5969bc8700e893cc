//! Pages of browsers: who may post, and who may read the answer.

use crate::world::{ASSETS, Answer, SHOP, World, at, form};

fn allowed(answer: &Answer) -> Option<&str> {
    answer.header("access-control-allow-origin")
}

#[actix_web::test]
async fn the_shop_and_the_card_frame_may_post_and_read() {
    let world = World::start().await;
    for origin in [SHOP, ASSETS] {
        let answer = world.post(&at("cart"), Some(origin), &form("4242424242424242", "123")).await;
        assert_eq!((answer.status, allowed(&answer)), (200, Some(origin)));
        assert_eq!(answer.header("vary"), Some("Origin"));
        let refused = world.post(&at("cart"), Some(origin), "").await;
        assert_eq!((refused.status, allowed(&refused)), (400, Some(origin)), "a page can read what is wrong");
        let large = world.post(&at("cart"), Some(origin), &"x".repeat(40_000)).await;
        assert_eq!((large.status, allowed(&large)), (413, Some(origin)));
    }
    let answer = world.post(&at("cart"), None, &form("4242424242424242", "123")).await;
    assert_eq!((answer.status, allowed(&answer), answer.header("vary")), (200, None, Some("Origin")));
    world.stop().await;
}

#[actix_web::test]
async fn other_pages_may_neither() {
    let world = World::start().await;
    for origin in [
        "https://evil.example",
        "http://shop.example",
        "https://shop.example:444",
        "https://shop.example.evil.example",
        "https://evil.example/https://shop.example",
        "null",
        "",
        "*",
    ] {
        let answer = world.post(&at("cart"), Some(origin), &form("4242424242424242", "123")).await;
        assert_eq!((answer.error().0, answer.error().1.as_str()), (403, "NOT_AUTHORIZED"), "{origin}");
        assert_eq!((allowed(&answer), answer.header("vary")), (None, Some("Origin")));
        let preflight = world.send("OPTIONS", &at("cart"), &[("Origin", origin)], "").await;
        assert_eq!((preflight.status, allowed(&preflight)), (403, None), "{origin}");
    }
    let headers = [("Origin", SHOP), ("Origin", SHOP), ("Content-Type", "application/x-www-form-urlencoded")];
    let twice = world.send("POST", &at("cart"), &headers, &form("4242424242424242", "123")).await;
    assert_eq!((twice.status, allowed(&twice)), (403, None));
    assert_eq!(world.stashed("cart", "browser").await, None, "and nothing was stashed for them");
    world.stop().await;
}

#[actix_web::test]
async fn a_preflight_says_what_may_be_sent() {
    let world = World::start().await;
    let asks = [
        ("Origin", SHOP),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type"),
    ];
    let answer = world.send("OPTIONS", &at("cart"), &asks, "").await;
    assert_eq!((answer.status, allowed(&answer), answer.body.as_str()), (204, Some(SHOP), ""));
    assert_eq!(answer.header("access-control-allow-methods"), Some("POST"));
    assert_eq!(answer.header("access-control-allow-headers"), Some("Content-Type, X-Request-Id"));
    assert!(answer.header("access-control-allow-credentials").is_none());
    world.stop().await;
}

#[actix_web::test]
async fn only_the_card_frame_reads_that_a_merchant_is_unknown() {
    let world = World::start().await;
    let nobody = "00000000-0000-4000-8000-000000000000/cart";
    let frame = world.post(nobody, Some(ASSETS), &form("4242424242424242", "123")).await;
    assert_eq!((frame.status, allowed(&frame)), (404, Some(ASSETS)));
    let page = world.post(nobody, Some(SHOP), &form("4242424242424242", "123")).await;
    assert_eq!((page.status, allowed(&page)), (404, None));
    world.stop().await;
}
