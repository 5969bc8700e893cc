//! Each payment's notifications arrive, all of them and in their order, whatever receivers do and whoever dies (docs/SPECIFICATION.md#event-delivery).

use std::time::{Duration, Instant};

use dropin_tests::{Paid, Response, Topology, World, cards, until};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::events::pulled;
use crate::{AUTHORIZED, PAID};

/// One machine is all merchants and shoppers.
const NO_LIMITS: [(&str, &str); 2] = [("DROPIN_CLIENT_RATE", "0"), ("DROPIN_MERCHANT_RATE", "0")];

/// Payments at once.
const PAYMENTS: usize = 30;
/// How long a notifier that was killed keeps what it had claimed, and some time to send it.
const LEASE: Duration = Duration::from_secs(15);
const SLACK: Duration = Duration::from_secs(10);
/// How long a notification is under way where it has to be when its sender is killed; far less than the notifier's deadline.
const HELD: Duration = Duration::from_secs(3);

#[track_caller]
fn is_done(answer: &Response) {
    assert!(answer.status < 300, "{}", answer.text());
}

/// A payment that goes one of five ways; its Session, and what the merchant is told of it.
async fn live(world: &World, number: usize) -> (String, Vec<&'static str>) {
    let merchant = &world.merchant;
    let captures_at_once = matches!(number % 5, 0 | 3);
    let Paid { session, order } = world.paid(cards::VISA, json!({"AutoCapture": captures_at_once})).await;
    let refunded = |times| [&PAID[..], &["REFUND_SUCCEEDED"; 2][..times]].concat();
    let told = match number % 5 {
        0 => PAID.to_vec(),
        1 => {
            is_done(&merchant.capture(&order, None).await);
            PAID.to_vec()
        }
        2 => {
            is_done(&merchant.cancel_order(&order).await);
            [&AUTHORIZED[..], &["ORDER_CANCELLED"]].concat()
        }
        3 => {
            until("the capture", Duration::from_secs(20), async || {
                (merchant.order(&order).await["State"] == "PROCESSED").then_some(())
            })
            .await;
            is_done(&merchant.refund(&order, "a part", Some("10.00")).await);
            is_done(&merchant.refund(&order, "the rest", None).await);
            refunded(2)
        }
        _ => {
            is_done(&merchant.capture(&order, Some("12.00")).await);
            is_done(&merchant.refund(&order, "all of it", None).await);
            refunded(1)
        }
    };
    (session, told)
}

/// Refused notifications come again after a second, so that a test need not take minutes.
fn hurry(world: &World) {
    let listed = world.programs.run_dropin(&["merchant", "endpoint", "list", &world.merchant.id, "--json"]);
    let endpoints: Value = serde_json::from_str(&listed).unwrap();
    let id = endpoints[0]["EndpointId"].as_str().unwrap_or_else(|| panic!("{listed}"));
    world.programs.run_dropin(&["merchant", "endpoint", "set", id, "--retry", "1s;1h"]);
}

/// What holds for all tries at one payment, whatever came between them: a repeat is the same to the byte, and none comes for the first time
/// before the one before it was acknowledged.
fn came_in_order(world: &World, session: &str) {
    let tries = world.receiver.tries(session);
    for (at, one) in tries.iter().enumerate() {
        let before = |sequence: i64| tries[..at].iter().filter(move |known| known.sequence == sequence);
        let Some(first) = before(one.sequence).next() else {
            let may_come = one.sequence == 1 || before(one.sequence - 1).any(|known| known.answered == 200);
            assert!(may_come, "before its turn: {one:?} in {tries:?}");
            continue;
        };
        assert_eq!((&first.id, &first.bytes), (&one.id, &one.bytes), "a repeat is the same");
    }
}

crate::both! { with &super::NO_LIMITS;
    /// Paid, captured, cancelled and refunded at once, for a receiver that refuses a fifth and closes connections: everything arrives, in order, and
    /// is what can be read.
    async fn many_at_once_arrive_complete_and_in_order(world: &World) {
        hurry(world);
        world.receiver.fail_sometimes();
        let lives = join_all((0..PAYMENTS).map(|number| live(world, number))).await;
        for (session, told) in &lives {
            world.receiver.expect(session, told).await;
            came_in_order(world, session);
        }
        let read = pulled(&world.merchant, lives.iter().map(|(_, told)| told.len()).sum()).await;
        for (session, _) in &lives {
            let sent = world.receiver.acknowledged(session);
            let read: Vec<_> = read.iter().filter(|one| one["PaymentId"] == json!(session)).collect();
            let ids = |one: &&Value| (one["EventId"].clone(), one["Sequence"].clone(), one["Body"].clone());
            let sent = sent.into_iter().map(|one| (json!(one.id), json!(one.sequence), one.body));
            assert!(sent.eq(read.iter().map(ids)), "{session}: {read:?}");
        }
        let refused = world.receiver.all().iter().filter(|one| one.answered != 200).count();
        assert!(PAYMENTS / 5 < refused, "the receiver was in too good a mood: {refused} refused");
    }
}

/// Killed (SIGKILL) with notifications under way, once per wave of payments, and started again at once.
async fn killed_with_notifications_under_way(topology: Topology) {
    let mut world = World::start_with(topology, &NO_LIMITS).await;
    hurry(&world);
    let (mut sessions, mut last_kill) = (Vec::new(), Instant::now());
    for _wave in 0..3 {
        world.receiver.take(HELD);
        let wave = join_all((0..4).map(|_| world.paid(cards::VISA, json!({"AutoCapture": true})))).await;
        sessions.extend(wave.into_iter().map(|paid| paid.session));
        until("one under way", LEASE + SLACK, async || (0 < world.receiver.under_way()).then_some(())).await;
        world.programs.process_of("notifier").kill();
        last_kill = Instant::now();
        world.programs.process_of("notifier").restart();
        world.programs.wait_until_ready().await;
    }
    world.receiver.take(Duration::ZERO);
    for session in &sessions {
        world.receiver.expect(session, &PAID).await;
        came_in_order(&world, session);
    }
    // The last of a payment has arrived before its sender was killed: its repeat is all that is still to come.
    until("a repeat of what was under way", LEASE + SLACK, async || {
        (sessions.len() * PAID.len() < world.receiver.all().len()).then_some(())
    })
    .await;
    let took = last_kill.elapsed();
    assert!(took < LEASE + SLACK, "what was under way was taken over after {took:?}");
    world.finish().await;
}

#[actix_web::test]
async fn killed_with_notifications_under_way_all_in_one_on_sqlite() {
    killed_with_notifications_under_way(Topology::AllInOne).await;
}

#[actix_web::test]
async fn killed_with_notifications_under_way_every_program_on_postgresql() {
    killed_with_notifications_under_way(Topology::Split).await;
}
