//! How much is taken, and what a stranger may learn.

use dropin_http::Limits;
use dropin_usecases::stash::StashLimits;

use crate::world::{Answer, SHOP, World, at, form};

const CARD: &str = "4242424242424242";

/// What an answer says, without what is different in every one.
fn said(answer: &Answer) -> (u16, Vec<String>, String) {
    let lines = answer.head.lines().skip(1).map(str::to_ascii_lowercase);
    let mut headers: Vec<_> =
        lines.filter(|line| !line.starts_with("date:") && !line.starts_with("x-request-id:")).collect();
    headers.sort();
    (answer.status, headers, answer.body.clone())
}

#[actix_web::test]
async fn a_stranger_learns_nothing_from_a_stash_id() {
    let world = World::start().await;
    let other = |number: &str| form(number, "123").replace("DeviceFingerprint=browser", "DeviceFingerprint=stranger");
    // Nobody has used one of the ids, somebody has used the other: for a stranger's browser it is the same.
    world.post(&at("used"), Some(SHOP), &form("5555555555554444", "123")).await;
    for (number, code) in [(CARD, "123"), ("4242424242424241", "123"), ("", "")] {
        let body = other(number).replace("123", code);
        let (free, used) = (at("free"), at("used"));
        let free = world.post(&free, Some(SHOP), &body).await;
        let used = world.post(&used, Some(SHOP), &body).await;
        let (expected, found) = (said(&free), said(&used));
        assert_eq!((found.0, found.1, found.2.replace("used", "free")), expected);
    }
    // The first entry is as it was.
    let kind = world.stashed("used", "browser").await.expect("it is there").kind;
    assert_eq!(kind.method_id(), Some("MC"));
    assert_eq!(world.stashed("used", "stranger").await.map(|one| one.kind.method_id()), Some(None));
    world.stop().await;
}

#[actix_web::test]
async fn one_client_address_and_one_merchant_send_so_many_in_a_second() {
    for (client_rate, merchant_rate) in [(5, 0), (0, 5)] {
        let world =
            World::start_with(Limits { client_rate, merchant_rate, ..Limits::default() }, StashLimits::NONE).await;
        let mut limited = None;
        for _ in 0..100 {
            let answer = world.post(&at("cart"), Some(SHOP), &form(CARD, "123")).await;
            if answer.status != 200 {
                limited = Some(answer);
                break;
            }
        }
        let answer = limited.expect("a limit");
        assert_eq!((answer.status, answer.error().1.as_str()), (429, "RATE_LIMITED"));
        assert!(answer.header("retry-after").is_some_and(|wait| wait.parse::<u32>().is_ok_and(|wait| 0 < wait)));
        if client_rate == 0 {
            assert_eq!(answer.header("access-control-allow-origin"), Some(SHOP), "its page can read why");
            let nobody = "00000000-0000-4000-8000-000000000000/cart";
            assert_eq!(world.post(nobody, None, &form(CARD, "123")).await.status, 404, "others are not held up");
        }
        world.stop().await;
    }
}

#[actix_web::test]
async fn a_merchants_stash_is_full_some_day() {
    let limits = StashLimits { merchant_entries: 6, ..StashLimits::NONE };
    let world = World::start_with(Limits::default(), limits).await;
    for count in 0..3 {
        assert_eq!(world.post(&at(&format!("cart-{count}")), None, &form(CARD, "123")).await.status, 200);
    }
    let full = world.post(&at("cart-3"), Some(SHOP), &form(CARD, "123")).await;
    assert_eq!((full.status, full.error().1.as_str()), (429, "RATE_LIMITED"));
    assert_eq!((full.header("retry-after"), full.header("access-control-allow-origin")), (Some("60"), Some(SHOP)));
    assert!(full.body.contains("try again in a minute"), "{}", full.body);
    assert_eq!(world.stashed("cart-3", "browser").await, None);
    // The other half is for those who pay a Session of this merchant.
    let session = world.session().await;
    for count in 3..6 {
        let named = format!("{}&SessionId={session}", form(CARD, "123"));
        assert_eq!(world.post(&at(&format!("cart-{count}")), None, &named).await.status, 200);
    }
    let named = format!("{}&SessionId={session}", form(CARD, "123"));
    assert_eq!(world.post(&at("cart-6"), None, &named).await.status, 429);
    // What is refused for itself takes no room and says so first.
    assert_eq!(world.post(&at("cart-3"), None, "card=[]").await.status, 400);
    world.stop().await;
}
