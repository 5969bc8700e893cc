//! The processor is away and comes back: what piled up is settled at once, and nobody else noticed (docs/SPECIFICATION.md#unknown-outcomes).

use std::time::{Duration, Instant};

use dropin_tests::{Merchant, Paid, Topology, World, cards, until};
use futures_util::future::{join, join_all};
use serde_json::json;

use crate::{CHARGED, PAID};

/// Operations that pile up.
const PILE: usize = 60;
/// After the processor heals, all but a hundredth of what piled up is settled within this.
const SETTLED: Duration = Duration::from_secs(10);
/// Far above what creating a Session takes on the slowest machine that runs this, and far below any deadline of the processor.
const SLOW: Duration = Duration::from_secs(2);

/// One machine is all merchants.
const NO_LIMITS: [(&str, &str); 2] = [("DROPIN_CLIENT_RATE", "0"), ("DROPIN_MERCHANT_RATE", "0")];

/// The same, and the processor a program of its own in every topology.
const OWN_PROCESSOR: [(&str, &str); 3] = [NO_LIMITS[0], NO_LIMITS[1], ("SANDBOX_PROCESSOR_CAPTURE_DELAY_MS", "3000")];

/// Captures, refunds and voids pile up while the processor fails as `away` makes it; settled soon after `back`.
async fn operations_settle_within_ten_seconds(
    mut world: World,
    away: impl AsyncFn(&mut World),
    back: impl AsyncFn(&mut World),
) {
    let mut pile = Vec::new();
    for number in 0..PILE {
        let auto_capture = number % 3 == 2;
        pile.push(world.paid(cards::VISA, json!({"AutoCapture": auto_capture})).await);
    }
    for paid in pile.iter().skip(2).step_by(3) {
        world.receiver.expect(&paid.session, &PAID).await;
    }
    let other = world.another_merchant().await;
    away(&mut world).await;
    let asked = pile.iter().enumerate().map(|(number, paid)| ask(&world, number, paid));
    let (answers, slowest) = join(join_all(asked), creates_take(&other)).await;
    for (status, text) in answers {
        assert!(status < 300, "{status} {text}");
    }
    assert!(slowest < SLOW, "a dead processor slowed another merchant's create down to {slowest:?}");
    back(&mut world).await;
    let healed = Instant::now();
    let mut took = Vec::new();
    for (number, paid) in pile.iter().enumerate() {
        let end = ["ORDER_PROCESSED", "ORDER_CANCELLED", "REFUND_SUCCEEDED"][number % 3];
        until(&format!("{end} of operation {number}"), SETTLED * 6, async || {
            let told = world.receiver.acknowledged(&paid.session);
            told.iter().any(|one| one.event == end).then_some(())
        })
        .await;
        took.push(healed.elapsed());
    }
    took.sort();
    let p99 = took[took.len() * 99 / 100];
    println!("settled after {:?} (median), {p99:?} (p99); slowest create beside it {slowest:?}", took[took.len() / 2]);
    assert!(p99 <= SETTLED, "settled late: {took:?}");
    for (number, paid) in pile.iter().enumerate() {
        let (effect, events) = match number % 3 {
            0 => (CHARGED[1], PAID.to_vec()),
            1 => (("VOID", "APPROVED", "29.90"), vec![PAID[0], PAID[1], "ORDER_CANCELLED"]),
            _ => (("REFUND", "APPROVED", "1.00"), [&PAID[..], &["REFUND_SUCCEEDED"]].concat()),
        };
        world.receiver.expect(&paid.session, &events).await;
        let expected = if number % 3 == 2 { vec![CHARGED[0], CHARGED[1], effect] } else { vec![CHARGED[0], effect] };
        world.journal_has(&paid.session, &expected).await;
    }
    world.finish().await;
}

async fn ask(world: &World, number: usize, paid: &Paid) -> (u16, String) {
    let answer = match number % 3 {
        0 => world.merchant.capture(&paid.order, None).await,
        1 => world.merchant.cancel_order(&paid.order).await,
        _ => world.merchant.refund(&paid.order, "r", Some("1.00")).await,
    };
    (answer.status, answer.text())
}

/// How long the slowest of some creates takes.
async fn creates_take(other: &Merchant) -> Duration {
    let mut slowest = Duration::ZERO;
    for _ in 0..40 {
        let begun = Instant::now();
        other.create_session(json!({})).await;
        slowest = slowest.max(begun.elapsed());
    }
    slowest
}

/// The processor's process is gone: nothing answers at its address.
async fn a_processor_that_was_killed(topology: Topology) {
    let world = World::start_with(topology, &OWN_PROCESSOR).await;
    let away = async |world: &mut World| world.programs.process_of("sandbox-processor").kill();
    let back = async |world: &mut World| {
        world.programs.process_of("sandbox-processor").restart();
        world.programs.wait_until_ready().await;
    };
    operations_settle_within_ten_seconds(world, away, back).await;
}

#[actix_web::test]
async fn a_processor_that_was_killed_all_in_one_on_sqlite() {
    a_processor_that_was_killed(Topology::AllInOne).await;
}

#[actix_web::test]
async fn a_processor_that_was_killed_every_program_on_postgresql() {
    a_processor_that_was_killed(Topology::Split).await;
}

/// It answers every call with 500.
async fn a_processor_that_fails(topology: Topology) {
    let world = World::start_with(topology, &NO_LIMITS).await;
    let away = async |world: &mut World| world.faults(json!({"Mode": "error_500"})).await;
    let back = async |world: &mut World| world.faults(json!({"Mode": "none"})).await;
    operations_settle_within_ten_seconds(world, away, back).await;
}

#[actix_web::test]
async fn a_processor_that_fails_all_in_one_on_sqlite() {
    a_processor_that_fails(Topology::AllInOne).await;
}

#[actix_web::test]
async fn a_processor_that_fails_every_program_on_postgresql() {
    a_processor_that_fails(Topology::Split).await;
}

/// It takes every call, is silent until we have given up, and does the work then: late, under keys that were settled meanwhile.
async fn a_processor_that_is_silent(topology: Topology) {
    let world = World::start_with(topology, &NO_LIMITS).await;
    let away = async |world: &mut World| world.faults(json!({"Mode": "slow", "DelayMs": 12000})).await;
    let back = async |world: &mut World| world.faults(json!({"Mode": "none"})).await;
    operations_settle_within_ten_seconds(world, away, back).await;
}

#[actix_web::test]
async fn a_processor_that_is_silent_all_in_one_on_sqlite() {
    a_processor_that_is_silent(Topology::AllInOne).await;
}

#[actix_web::test]
async fn a_processor_that_is_silent_every_program_on_postgresql() {
    a_processor_that_is_silent(Topology::Split).await;
}
