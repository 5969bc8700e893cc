//! Strangers who send as much as they can from many addresses. They must not keep shoppers from paying, nor fill the disk.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dropin_http::Limits;
use dropin_usecases::stash::StashLimits;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use crate::world::{Answer, World, at, form, token_form};

const CARD: &str = "4242424242424242";
/// As many as were enough to keep two of three shoppers from paying.
const STRANGERS: u8 = 32;
const FLOOD: Duration = Duration::from_secs(3);

/// The usual limits, a small part of them: the machine of a test has to be able to exceed them.
fn limits() -> Limits {
    Limits { merchant_rate: 20, client_rate: 20, ..Limits::default() }
}

fn stranger(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 1, number)
}

fn shopper(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 2, number)
}

/// Lets every stranger post `body` as often as it can while twelve shoppers pay one after the other, each with the form that `pay` makes. Says how
/// often strangers posted, and what the shoppers heard.
async fn flood(world: &World, body: &str, pay: impl AsyncFn(u8) -> String) -> (u32, Vec<Answer>) {
    let (posted, end) = (AtomicU32::new(0), Instant::now() + FLOOD);
    let strangers = join_all((1..=STRANGERS).map(async |number| {
        while Instant::now() < end {
            world.post_from(stranger(number), &at(&format!("s-{number}")), body).await;
            posted.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let shoppers = async {
        let mut heard = Vec::new();
        // Until the strangers have used up what they can.
        sleep(FLOOD / 3).await;
        for number in 1..=12 {
            let form = pay(number).await;
            heard.push(world.post_from(shopper(number), &at(&format!("cart-{number}")), &form).await);
            sleep(FLOOD / 24).await;
        }
        heard
    };
    let (_, heard) = tokio::join!(strangers, shoppers);
    (posted.into_inner(), heard)
}

fn served(heard: &[Answer]) -> usize {
    heard.iter().filter(|answer| answer.status == 200).count()
}

#[actix_web::test]
async fn empty_posts_from_many_addresses_block_no_shopper() {
    let world = World::start_with(limits(), StashLimits::default()).await;
    for body in ["", "card=[]&DeviceFingerprint=x", "%"] {
        let (posted, heard) = flood(&world, body, async |_| form(CARD, "123")).await;
        assert!(500 < posted, "{posted} are no flood");
        assert_eq!(
            served(&heard),
            heard.len(),
            "{body:?}: {}",
            heard.iter().map(|one| one.body.as_str()).collect::<String>()
        );
    }
    world.stop().await;
}

#[actix_web::test]
async fn forms_from_many_addresses_leave_half_to_shoppers_with_a_session() {
    let world = World::start_with(limits(), StashLimits::default()).await;
    let pay = async |_| format!("{}&SessionId={}", form(CARD, "123"), world.session().await);
    let (posted, heard) = flood(&world, &form(CARD, "123"), pay).await;
    assert!(500 < posted, "{posted} are no flood");
    assert_eq!(served(&heard), heard.len(), "{}", heard.iter().map(|one| one.body.as_str()).collect::<String>());
    // What names no Session that can be paid is treated as what names none.
    let unknown = async |_| format!("{}&SessionId=6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112", form(CARD, "123"));
    let mut refused = false;
    // A machine that is busy with something else may hold the strangers up for so long that their part is not used up.
    for _ in 0..10 {
        let (_, heard) = flood(&world, &form(CARD, "123"), unknown).await;
        refused |= served(&heard) < heard.len();
        if refused {
            break;
        }
    }
    assert!(refused, "strangers would else name any Session");
    world.stop().await;
}

#[actix_web::test]
async fn one_address_leaves_so_many_bytes() {
    let limits = StashLimits { client_bytes: 100_000, ..StashLimits::default() };
    let world = World::start_with(Limits { merchant_rate: 0, ..Limits::default() }, limits).await;
    world.set_wallet_up().await;
    let large = token_form("APPLEPAY", &format!(r#"{{"a":"{}"}}"#, "x".repeat(9_000)));
    let mut left = 0;
    let refused = loop {
        let answer = world.post_from(stranger(1), &at(&format!("cart-{left}")), &large).await;
        if answer.status != 200 {
            break answer;
        }
        left += 1;
        assert!(left < 100, "it is never refused");
    };
    assert_eq!((refused.status, refused.error().1.as_str()), (429, "RATE_LIMITED"));
    assert!((8..=11).contains(&left), "{left}");
    assert_eq!(world.post_from(stranger(2), &at("cart"), &form(CARD, "123")).await.status, 200, "another client");
    world.stop().await;
}
