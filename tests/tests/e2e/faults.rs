//! Kills, silence and lost connections: nothing lost, nothing charged twice, nothing stuck.

use std::time::{Duration, Instant};

use dropin_tests::{Topology, World, cards, until};
use futures_util::future::{join, join_all};
use serde_json::json;

use crate::{CHARGED, PAID, come_to_rest};

crate::both! {
    /// docs/SPECIFICATION.md#test-numbers, 4000…0119: done, and answered 500.
    async fn done_but_500_is_right_in_the_end(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let progress = world.pay(&session, cards::DONE_BUT_500).await;
        assert_eq!(progress["State"], "COMPLETED", "{progress}");
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    }

    /// docs/SPECIFICATION.md#test-numbers, 4000…3014: no answer, nothing done. The shopper has an answer within 30 s.
    async fn a_silent_processor_is_right_in_the_end(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let begun = Instant::now();
        let progress = world.pay(&session, cards::SILENT).await;
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        assert_eq!((&progress["State"], &progress["Attempt"]["ErrorCode"]), (&json!("CREATED"), &json!("TRY_LATER")));
        world.journal_has(&session, &[]).await;
    }

    /// Every way in which the answer to an authorization can fail to come: done once and found out, or refused for ever.
    async fn an_unknown_authorization_is_settled(world: &World) {
        for (mode, done) in [("slow", false), ("timeout_after_work", true), ("duplicate", true), ("error_500", false)] {
            // Longer than we wait for the processor: what is slow begins its work when its key has been given up.
            world.faults(json!({"Mode": mode, "DelayMs": 9500, "Remaining": 1, "Kinds": ["AUTHORIZE"]})).await;
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            let progress = world.pay(&session, cards::VISA).await;
            if done {
                assert_eq!(progress["State"], "COMPLETED", "{mode}: {progress}");
                world.receiver.expect(&session, &PAID).await;
                world.journal_has(&session, &CHARGED).await;
            } else {
                assert_eq!(progress["Attempt"]["ErrorCode"], "TRY_LATER", "{mode}: {progress}");
            }
        }
        let hidden = world.merchant.create_session(json!({})).await;
        world.journal_has(&hidden, &[]).await;
        let abandoned = world.journal().await.entries.iter().filter(|entry| entry.outcome == "ABANDONED").count();
        assert_eq!(abandoned, 2, "the keys of what was not done are refused for ever");
    }

    /// The connection is reset while the processor works: actix drops the handler, not the payment.
    async fn a_reset_connection_does_not_stop_a_payment(world: &World) {
        world.faults(json!({"Mode": "slow", "DelayMs": 1000, "Remaining": 1, "Kinds": ["AUTHORIZE"]})).await;
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        let attempt = shopper.stash("reset", cards::VISA).await;
        let body = json!({"Version": 1, "AttemptId": attempt.attempt, "StashId": attempt.stash_id, "DeviceFingerprint": attempt.fingerprint}).to_string();
        let address = world.asset.trim_start_matches("http://");
        let (host, prefix) = address.split_once('/').map_or((address, String::new()), |(host, path)| (host, format!("/{path}")));
        let request = format!(
            "POST {prefix}/v1/shopper/session/{session}/submit HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        reset_after_sending(host, &request, async || world.merchant.session(&session).await["State"] == "PROCESSING").await;
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    }

    /// A reload in the middle: the same attempt again is answered, and nothing is paid twice.
    async fn the_same_attempt_again_is_answered(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        let attempt = shopper.stash("again", cards::VISA).await;
        for _ in 0..3 {
            let answer = shopper.submit(1, &attempt).await;
            assert_eq!((answer.status, answer.json()["State"].as_str()), (200, Some("COMPLETED")), "{}", answer.text());
        }
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    }

    /// An expired card is reported by the stash and refused before anything is asked.
    async fn a_card_with_warnings_is_not_sent(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        let (attempt, answer) = shopper.stash_raw("old", cards::VISA, "2020").await;
        assert_eq!(answer.json()["Warnings"], json!(["CardMonthInvalid"]));
        let refused = shopper.submit(1, &attempt).await;
        assert_eq!((refused.status, refused.json()["FieldErrors"][0]["Field"].as_str()), (400, Some("StashId")));
        assert_eq!(world.merchant.session(&session).await["State"], "CREATED");
    }
}

/// Sends a request, waits until it has its effect, and resets the connection (SO_LINGER 0).
async fn reset_after_sending(host: &str, request: &str, took_effect: impl AsyncFn() -> bool) {
    use tokio::io::AsyncWriteExt;
    let mut stream = tokio::net::TcpStream::connect(host).await.expect("connects");
    stream.write_all(request.as_bytes()).await.expect("sends");
    until("the request takes effect", Duration::from_secs(10), async || took_effect().await.then_some(())).await;
    stream.set_zero_linger().expect("can be reset");
    drop(stream);
}

/// kill -9 between the processor's yes and our commit: settled after the restart, one charge in the journal.
async fn killed_between_yes_and_commit(topology: Topology) {
    let mut world = World::start(topology).await;
    world.faults(json!({"Mode": "slow", "DelayMs": 3000, "Remaining": 1, "Kinds": ["AUTHORIZE"]})).await;
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    let shopper = world.shopper(&session);
    let attempt = shopper.stash("kill", cards::VISA).await;
    let (submitted, ()) = join(shopper.try_submit(1, &attempt), async {
        // The Session says PROCESSING a moment before the processor is called: whoever is killed then has asked for nothing.
        world.faults_are_used_up().await;
        world.programs.process_of("checkout-api").kill();
    })
    .await;
    assert!(submitted.is_err(), "the connection died with the process");
    world.programs.process_of("checkout-api").restart();
    world.programs.wait_until_ready().await;
    let told = until("the payment comes to rest", Duration::from_secs(60), async || {
        let state = world.merchant.session(&session).await["State"].as_str().unwrap_or_default().to_owned();
        (state != "PROCESSING").then_some(state)
    })
    .await;
    // In the all-in-one the sandbox processor died too, before it had done anything; then nothing may ever be charged.
    if told == "COMPLETED" {
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    } else {
        assert_eq!((told.as_str(), topology), ("CREATED", Topology::AllInOne));
        world.journal_has(&session, &[]).await;
    }
    let again = world.shopper(&session).submit(1, &attempt).await;
    assert_eq!(again.status, 200, "the same attempt again is answered: {}", again.text());
    world.finish().await;
}

#[actix_web::test]
async fn killed_between_yes_and_commit_all_in_one_on_sqlite() {
    killed_between_yes_and_commit(Topology::AllInOne).await;
}

#[actix_web::test]
async fn killed_between_yes_and_commit_every_program_on_postgresql() {
    killed_between_yes_and_commit(Topology::Split).await;
}

/// kill -9 of everything that works on a payment, again and again under load: each payment once, each notification in order.
async fn killed_again_and_again(topology: Topology) {
    let mut world = World::start(topology).await;
    let (mut sessions, mut hits) = (Vec::new(), 0);
    for round in 0..6 {
        let mut attempts = Vec::new();
        for _ in 0..4 {
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            let attempt = world.shopper(&session).stash("load", cards::VISA).await;
            attempts.push((session, attempt));
        }
        // The processor takes its time, so that the kill finds something under way.
        world.faults(json!({"Mode": "slow", "DelayMs": 100, "Remaining": 6})).await;
        let shoppers: Vec<_> = attempts.iter().map(|(session, attempt)| (world.shopper(session), attempt)).collect();
        let service = ["notifier", "checkout-api", "settler"][round % 3];
        let process = world.programs.process_of(service);
        let (unanswered, ()) = join(
            join_all(shoppers.iter().map(async |(shopper, attempt)| shopper.try_submit(1, attempt).await.is_err())),
            async {
                // Killed at another point each round: when one, two, … all four of its payments have begun.
                until("payments have begun", Duration::from_secs(20), async || {
                    let begun = join_all(shoppers.iter().map(|(shopper, _)| shopper.progress())).await;
                    (round % 4 < begun.iter().filter(|progress| progress["State"] != "CREATED").count()).then_some(())
                })
                .await;
                process.kill();
            },
        )
        .await;
        hits += unanswered.into_iter().filter(|unanswered| *unanswered).count();
        world.programs.process_of(service).restart();
        world.programs.wait_until_ready().await;
        sessions.extend(attempts);
    }
    assert!(4 <= hits, "only {hits} payments were hit by a kill");
    world.faults(json!({"Mode": "none"})).await;
    let mut states = Vec::new();
    for (session, attempt) in &sessions {
        states.push((session, come_to_rest(&world, session, attempt).await));
    }
    // Only now is no Order of another payment under way, and so shown to nobody.
    for (session, state) in states {
        if state == "COMPLETED" {
            world.receiver.expect(session, &PAID).await;
            world.journal_has(session, &CHARGED).await;
        } else {
            world.journal_has(session, &[]).await;
        }
    }
    world.finish().await;
}

#[actix_web::test]
async fn killed_again_and_again_all_in_one_on_sqlite() {
    killed_again_and_again(Topology::AllInOne).await;
}

#[actix_web::test]
async fn killed_again_and_again_every_program_on_postgresql() {
    killed_again_and_again(Topology::Split).await;
}

/// The processor is away: the shopper has an answer, captures wait, nothing is charged twice when it is back.
#[actix_web::test]
async fn the_processor_is_away_and_comes_back() {
    let mut world = World::start(Topology::Split).await;
    let waiting = world.merchant.create_session(json!({"AutoCapture": false})).await;
    world.pay(&waiting, cards::VISA).await;
    world.receiver.expect(&waiting, &PAID[..2]).await;
    world.programs.process_of("sandbox-processor").kill();
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    let progress = world.pay(&session, cards::VISA).await;
    assert_eq!((&progress["State"], &progress["Attempt"]["ErrorCode"]), (&json!("CREATED"), &json!("TRY_LATER")));
    let order = world.merchant.order_of(&waiting).await;
    let answer = world.merchant.capture(&order, None).await;
    assert_eq!(
        (answer.status, answer.json()["Reason"]["Code"].as_str()),
        (200, Some("PendingNotification")),
        "{}",
        answer.text()
    );
    world.programs.process_of("sandbox-processor").restart();
    world.programs.wait_until_ready().await;
    world.receiver.expect(&waiting, &PAID).await;
    world.journal_has(&waiting, &CHARGED).await;
    world.journal_has(&session, &[]).await;
    world.finish().await;
}

/// The database is away: 503 within 3 s with Retry-After, and recovery by itself.
#[actix_web::test]
async fn the_database_is_away_and_comes_back() {
    let world = World::start(Topology::Split).await;
    world.disconnect_database();
    let begun = Instant::now();
    let answer = world.merchant.call("GET", "/v1/session/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112", None).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "SERVICE_UNAVAILABLE"), "{}", answer.text());
    assert!(
        answer.header("retry-after").is_some() && begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    world.reconnect_database();
    until("it recovers by itself", Duration::from_secs(20), async || {
        let answer = world.merchant.call("GET", "/v1/session/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112", None).await;
        (answer.status == 404).then_some(())
    })
    .await;
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    world.pay(&session, cards::VISA).await;
    world.receiver.expect(&session, &PAID).await;
    world.finish().await;
}

/// SIGTERM while a payment runs: it is finished first.
async fn a_graceful_stop_finishes_what_runs(topology: Topology) {
    let mut world = World::start(topology).await;
    world.faults(json!({"Mode": "slow", "DelayMs": 1200, "Remaining": 1, "Kinds": ["AUTHORIZE"]})).await;
    let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
    let shopper = world.shopper(&session);
    let attempt = shopper.stash("stop", cards::VISA).await;
    let (answer, ()) = join(shopper.try_submit(1, &attempt), async {
        until("the payment is under way", Duration::from_secs(10), async || {
            (shopper.progress().await["State"] == "PROCESSING").then_some(())
        })
        .await;
        let took = world.programs.process_of("checkout-api").stop(Duration::from_secs(20)).await;
        assert!(Duration::from_millis(200) < took, "it waited for the payment ({took:?})");
    })
    .await;
    let answer = answer.expect("the answer came before the end");
    assert_eq!((answer.status, answer.json()["State"].as_str()), (200, Some("COMPLETED")), "{}", answer.text());
    world.programs.process_of("checkout-api").restart();
    world.programs.wait_until_ready().await;
    world.receiver.expect(&session, &PAID[..2]).await;
    world.finish().await;
}

#[actix_web::test]
async fn a_graceful_stop_finishes_what_runs_all_in_one() {
    a_graceful_stop_finishes_what_runs(Topology::AllInOne).await;
}

#[actix_web::test]
async fn a_graceful_stop_finishes_what_runs_every_program() {
    a_graceful_stop_finishes_what_runs(Topology::Split).await;
}
