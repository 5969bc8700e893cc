//! Races and kills where a merchant's payments go to two processors side by side: localstripe, which others wrote, and the sandbox processor.

use std::fs;
use std::time::Duration;

use dropin_tests::{Paid, Stashed, Topology, World, cards, until};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use super::{CLIENTS, FEW_ROUNDS, NO_LIMITS, race, rounds};
use crate::localstripe::proxied;
use crate::stripe::KeyFile;
use crate::{PAID, come_to_rest};

/// One goes to localstripe, the other to the sandbox processor.
const CARDS: [&str; 2] = [cards::VISA, cards::MASTERCARD];

/// Each round pays at both while a program is killed (kill -9), and then has captures race cancels at both. Every payment happens once, where its rule sends
/// it, and the books of both fit ours at the end.
async fn payments_at_two_processors(topology: Topology) {
    let (key, url) = (KeyFile::new(proxied::KEY), format!("http://{}", proxied::start().await));
    let path = key.path.with_file_name("processors.toml");
    let acquirer =
        format!("[[processor]]\nid = \"acquirer\"\nkind = \"stripe\"\nurl = \"{url}\"\nkey_file = \"stripe.key\"\n");
    fs::write(&path, acquirer).unwrap();
    let file = path.display().to_string();
    let mut world = World::start_with(topology, &[&NO_LIMITS[..], &[("DROPIN_PROCESSORS", &file)]].concat()).await;
    let id = world.merchant.id.clone();
    let rules = ["--rule", "acquirer methods=VISA", "--rule", "sandbox"];
    world.programs.run_dropin(&[&["--processors", &file, "merchant", "processor", "set", &id], &rules[..]].concat());
    // Rules are followed within two seconds.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut begun = Vec::new();
    for round in 0..rounds(FEW_ROUNDS) {
        begun.extend(pay_and_kill(&mut world, round).await);
        for paid in [world.authorized(CARDS[0]).await, world.authorized(CARDS[1]).await] {
            captured_or_cancelled(&world, round, &paid).await;
        }
    }
    for (session, attempt) in &begun {
        paid_or_not(&world, session, attempt).await;
    }
    let span = ["--from", "2020-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z"];
    for of in [&["--of", "acquirer"][..], &["--without-processor"]] {
        let span = if of.len() == 2 { &span[..] } else { &[] };
        let line = [&["--processors", &file, "ledger", "verify", "--json"], of, span].concat();
        until("everything is written down, and fits", Duration::from_secs(60), async || {
            let said = world.programs.try_dropin(&line).unwrap_or_else(|said| panic!("{said}"));
            let report: Value = serde_json::from_str(&said).unwrap();
            assert_eq!(report["Clean"], true, "{report}");
            (report["OpenOperations"] == 0).then_some(())
        })
        .await;
    }
    world.finish_at_another_processor().await;
}

/// Four payments, two at each processor; a program that works on them is killed at another point each round.
async fn pay_and_kill(world: &mut World, round: usize) -> Vec<(String, Stashed)> {
    let mut attempts = Vec::new();
    for number in [CARDS[0], CARDS[1], CARDS[0], CARDS[1]] {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let attempt = world.shopper(&session).stash("routed", number).await;
        attempts.push((session, attempt));
    }
    let shoppers: Vec<_> = attempts.iter().map(|(session, attempt)| (world.shopper(session), attempt)).collect();
    let service = ["checkout-api", "settler"][round % 2];
    let process = world.programs.process_of(service);
    let submits = join_all(shoppers.iter().map(|(shopper, attempt)| shopper.try_submit(1, attempt)));
    join(submits, async {
        until("payments have begun", Duration::from_secs(20), async || {
            let seen = join_all(shoppers.iter().map(|(shopper, _)| shopper.progress())).await;
            (round % 4 < seen.iter().filter(|progress| progress["State"] != "CREATED").count()).then_some(())
        })
        .await;
        process.kill();
    })
    .await;
    world.programs.process_of(service).restart();
    world.programs.wait_until_ready().await;
    attempts
}

/// The payment is made or not, and nothing in between.
async fn paid_or_not(world: &World, session: &str, attempt: &Stashed) {
    if come_to_rest(world, session, attempt).await == "COMPLETED" {
        world.receiver.expect(session, &PAID).await;
    }
}

async fn captured_or_cancelled(world: &World, round: usize, paid: &Paid) {
    let half = || 0..CLIENTS / 2;
    let captures = half().map(|_| world.merchant.capture(&paid.order, None)).collect();
    let cancels = half().map(|_| world.merchant.cancel_order(&paid.order)).collect();
    let (captures, cancels) = race(round, captures, cancels).await;
    let [captured, cancelled] = [captures, cancels].map(|all| all.iter().any(|answer| answer.status == 200));
    assert!(captured != cancelled, "one side alone");
    let event = if captured { "ORDER_PROCESSED" } else { "ORDER_CANCELLED" };
    world.receiver.expect(&paid.session, &[PAID[0], PAID[1], event]).await;
}

#[actix_web::test]
async fn payments_at_two_processors_by_all_in_one_on_sqlite() {
    payments_at_two_processors(Topology::AllInOne).await;
}

#[actix_web::test]
async fn payments_at_two_processors_by_every_program_on_postgresql() {
    payments_at_two_processors(Topology::Split).await;
}
