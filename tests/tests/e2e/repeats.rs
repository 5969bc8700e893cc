//! Requests that are repeated, at once, later and over a kill: one effect, one answer (docs/SPECIFICATION.md#idempotency).

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use dropin_tests::{Merchant, Response, Topology, World, cards, until};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{AUTHORIZED, CHARGED, PAID, head_start};

/// Rounds of a race, at least, and at most until every outcome was seen.
const MIN_ROUNDS: usize = 12;
const MAX_ROUNDS: usize = 120;
/// Kills in one test, at least, and at most until so many hit: when some requests were answered and others were not.
const MIN_KILLS: usize = 4;
const MAX_KILLS: usize = 12;
const MIN_HITS: usize = 3;

/// The answer of `first`, byte for byte and marked.
#[track_caller]
fn is_replay(answer: &Response, first: &Response) {
    assert_eq!(
        (answer.status, answer.header("idempotent-replayed")),
        (first.status, Some("true")),
        "{}",
        answer.text()
    );
    assert_eq!((answer.text(), answer.header("etag")), (first.text(), first.header("etag")));
    assert_ne!(answer.header("x-request-id"), first.header("x-request-id"));
}

fn body(merchant: &Merchant, change: Value) -> Option<Vec<u8>> {
    Some(merchant.session_request(change).to_string().into_bytes())
}

/// A Session that was paid and waits for its capture; the address to capture it.
async fn authorized(world: &World) -> (String, String) {
    let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
    world.pay(&session, cards::VISA).await;
    world.receiver.expect(&session, &AUTHORIZED).await;
    let order = world.merchant.order_of(&session).await["OrderId"].as_str().unwrap().to_owned();
    (session, format!("/v1/order/{order}/capture"))
}

crate::both! {
    /// Every mutating call of a merchant, sent twice: the second changes nothing and is answered like the first.
    async fn every_call_may_be_sent_twice(world: &World) {
        let merchant = &world.merchant;
        let created = body(merchant, json!({"AutoCapture": false}));
        let first = merchant.keyed("POST", "/v1/session", "create", created.clone()).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (201, None), "{}", first.text());
        is_replay(&merchant.keyed("POST", "/v1/session", "create", created).await, &first);
        let session = first.json()["SessionId"].as_str().unwrap().to_owned();
        let path = format!("/v1/session/{session}");
        let replaced = body(merchant, json!({"AutoCapture": false}));
        let second = merchant.keyed("PUT", &path, "replace", replaced.clone()).await;
        assert_eq!((second.status, second.header("idempotent-replayed")), (200, None), "{}", second.text());
        is_replay(&merchant.keyed("PUT", &path, "replace", replaced).await, &second);
        let reused = merchant.keyed("PUT", &path, "replace", body(merchant, json!({}))).await;
        assert_eq!((reused.status, reused.code().as_str()), (422, "IDEMPOTENCY_KEY_REUSED"));
        assert_eq!(world.pay(&session, cards::VISA).await["State"], "COMPLETED");
        // Too late: refused, and the refusal is what every repeat gets.
        let refused = merchant.keyed("DELETE", &path, "cancel", None).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "INVALID_SESSION_STATE"));
        is_replay(&merchant.keyed("DELETE", &path, "cancel", None).await, &refused);
        let order = merchant.order_of(&session).await["OrderId"].as_str().unwrap().to_owned();
        let capture = format!("/v1/order/{order}/capture");
        let captured = merchant.keyed("POST", &capture, "capture", None).await;
        assert_eq!((captured.status, captured.json()["State"].as_str()), (200, Some("PROCESSED")), "{}", captured.text());
        is_replay(&merchant.keyed("POST", &capture, "capture", None).await, &captured);
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
        let cancelled = format!("/v1/session/{}", merchant.create_session(json!({})).await);
        let gone = merchant.keyed("DELETE", &cancelled, "cancel", None).await;
        assert_eq!((gone.status, gone.text().as_str()), (204, ""));
        is_replay(&merchant.keyed("DELETE", &cancelled, "cancel", None).await, &gone);
    }

    /// While the processor is asked, the same key is told to wait; then everybody gets the one answer.
    async fn a_capture_with_one_key_twice_at_once_is_one_capture(world: &World) {
        let (session, capture) = authorized(world).await;
        world.faults(json!({"Mode": "slow", "DelayMs": 1500, "Remaining": 1, "Kinds": ["CAPTURE"]})).await;
        let ask = || world.merchant.keyed("POST", &capture, "one", None);
        let (first, second) = join(ask(), ask()).await;
        let (winner, loser) = if first.status == 200 { (first, second) } else { (second, first) };
        assert_eq!((winner.status, winner.json()["Reason"]["Code"].as_str()), (200, Some("Captured")), "{}", winner.text());
        assert_eq!((loser.status, loser.code().as_str()), (409, "DUPLICATE_REQUEST"), "{}", loser.text());
        assert!(loser.header("retry-after").is_some());
        is_replay(&ask().await, &winner);
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    }

    /// 64 at once with one MerchantReference and keys of their own, and 32 at once with one key.
    async fn many_creates_at_once_make_one_session(world: &World) {
        let request = body(&world.merchant, json!({}));
        let keys: Vec<_> = (0..64).map(|number| format!("reference {number}")).collect();
        let one_reference = keys.iter().map(|key| world.merchant.keyed("POST", "/v1/session", key, request.clone()));
        let answers = join_all(one_reference).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        assert_eq!(answers.iter().filter(|answer| answer.code() == "DUPLICATE_MERCHANT_REFERENCE_ID").count(), 63);
        let request = body(&world.merchant, json!({}));
        let one_key = (0..32).map(|_| world.merchant.keyed("POST", "/v1/session", "one key", request.clone()));
        let answers = join_all(one_key).await;
        let told: BTreeSet<_> = answers.iter().map(|answer| (answer.status, answer.text())).collect();
        assert!(told.len() == 1 && answers[0].status == 201, "{told:?}");
        assert_eq!(answers.iter().filter(|answer| answer.header("idempotent-replayed").is_none()).count(), 1);
    }

    /// Each of the three wins some rounds; never two, and the shopper never pays a total that was not shown.
    async fn of_replace_cancel_and_submit_at_once_one_wins(world: &World) {
        let merchant = &world.merchant;
        let mut won = BTreeSet::new();
        for round in 0..MAX_ROUNDS {
            if MIN_ROUNDS <= round && won.len() == 4 {
                break;
            }
            let session = merchant.create_session(json!({"AutoCapture": true})).await;
            let shopper = world.shopper(&session);
            let attempt = shopper.stash("race", cards::VISA).await;
            let path = format!("/v1/session/{session}");
            let dearer = json!({"AutoCapture": true, "Items": [{"Name": "Red mug", "Amount": 99, "Quantity": 1}]});
            let (method, change) = if round % 2 == 0 { ("PUT", body(merchant, dearer)) } else { ("DELETE", None) };
            let changes = async {
                head_start(round / 2, 1).await;
                let ask = || merchant.keyed(method, &path, "race", change.clone());
                join(ask(), ask()).await
            };
            let pays = async {
                head_start(round / 2, 0).await;
                shopper.submit(1, &attempt).await
            };
            let (paid, (changed, again)) = join(pays, changes).await;
            assert_eq!((changed.status, changed.text()), (again.status, again.text()), "one key, one answer");
            let state = merchant.session(&session).await;
            won.insert((method, changed.status < 300));
            if changed.status < 300 {
                assert_eq!((paid.status, paid.json()["State"].is_null()), (409, true), "{} {}", changed.text(), paid.text());
                assert_eq!(state["State"], if method == "PUT" { "CREATED" } else { "CANCELLED" });
                world.journal_has(&session, &[]).await;
            } else {
                assert_eq!((changed.status, changed.code().as_str()), (409, "INVALID_SESSION_STATE"), "{}", changed.text());
                assert_eq!((paid.status, &state["State"]), (200, &json!("COMPLETED")), "{}", paid.text());
                world.journal_has(&session, &CHARGED).await;
            }
        }
        let all = [("DELETE", false), ("DELETE", true), ("PUT", false), ("PUT", true)];
        assert_eq!(won, BTreeSet::from(all), "who changed the Session, and whether that won, in {MAX_ROUNDS} rounds");
    }
}

/// kill -9 while a capture waits for the processor: its key replays or becomes answerable, and the money moves once.
async fn killed_while_a_capture_is_asked(topology: Topology) {
    let mut world = World::start(topology).await;
    let (session, capture) = authorized(&world).await;
    world.faults(json!({"Mode": "slow", "DelayMs": 3000, "Remaining": 1, "Kinds": ["CAPTURE"]})).await;
    let merchant = world.merchant.clone();
    let (asked, ()) = join(merchant.try_keyed("POST", &capture, "kill", None), async {
        until("the capture is under way", Duration::from_secs(10), async || {
            // Nothing can never be captured; while a capture is under way, any other amount is refused because of that.
            let probe = merchant.call("POST", &capture, Some(b"{\"Amount\": 0}".to_vec())).await;
            (probe.status == 409).then_some(())
        })
        .await;
        world.programs.process_of("session-api").kill();
    })
    .await;
    assert!(asked.is_err(), "the connection died with the process: {asked:?}");
    world.programs.process_of("session-api").restart();
    world.programs.wait_until_ready().await;
    let answer = until("the key is answered", Duration::from_secs(60), async || {
        let answer = merchant.keyed("POST", &capture, "kill", None).await;
        if answer.code() == "DUPLICATE_REQUEST" {
            return None;
        }
        Some(answer)
    })
    .await;
    let code = answer.json()["Reason"]["Code"].as_str().unwrap_or_default().to_owned();
    assert!(answer.status == 200 && ["Captured", "PendingNotification"].contains(&&*code), "{}", answer.text());
    world.receiver.expect(&session, &PAID).await;
    world.journal_has(&session, &CHARGED).await;
    is_same(&merchant.keyed("POST", &capture, "kill", None).await, &answer);
    world.finish().await;
}

#[track_caller]
fn is_same(answer: &Response, first: &Response) {
    assert_eq!(
        (answer.status, answer.text(), answer.header("etag")),
        (first.status, first.text(), first.header("etag"))
    );
}

#[actix_web::test]
async fn killed_while_a_capture_is_asked_all_in_one_on_sqlite() {
    killed_while_a_capture_is_asked(Topology::AllInOne).await;
}

#[actix_web::test]
async fn killed_while_a_capture_is_asked_every_program_on_postgresql() {
    killed_while_a_capture_is_asked(Topology::Split).await;
}

/// kill -9 in the middle of creates with keys: repeated, every key has its one Session, and who was answered gets the same answer.
async fn killed_while_sessions_are_created(topology: Topology) {
    let mut world = World::start(topology).await;
    let merchant = world.merchant.clone();
    let (mut all, mut hits) = (Vec::new(), 0);
    for round in 0..MAX_KILLS {
        if MIN_KILLS <= round && MIN_HITS <= hits {
            break;
        }
        let requests: Vec<_> =
            (0..48).map(|number| (format!("key {round} {number}"), body(&merchant, json!({})))).collect();
        let (answered, enough) = (Cell::new(0), Notify::new());
        let creates = requests.iter().map(|(key, request)| {
            let (merchant, answered, enough) = (&merchant, &answered, &enough);
            async move {
                let answer = merchant.try_keyed("POST", "/v1/session", key, request.clone()).await.ok();
                answered.set(answered.get() + usize::from(answer.is_some()));
                // Killed at another point each round.
                if round % 4 * 8 < answered.get() {
                    enough.notify_one();
                }
                answer
            }
        });
        let (answers, ()) = join(join_all(creates), async {
            enough.notified().await;
            world.programs.process_of("session-api").kill();
        })
        .await;
        world.programs.process_of("session-api").restart();
        world.programs.wait_until_ready().await;
        hits += usize::from(answers.iter().any(Option::is_none));
        all.extend(requests.into_iter().zip(answers));
    }
    assert!(MIN_HITS <= hits, "only {hits} kills of {MAX_KILLS} hit in the middle");
    let mut sessions = BTreeSet::new();
    for ((key, request), answer) in &all {
        let again = merchant.keyed("POST", "/v1/session", key, request.clone()).await;
        assert_eq!(again.status, 201, "{}", again.text());
        if let Some(first) = answer {
            is_replay(&again, first);
        }
        sessions.insert(again.json()["SessionId"].as_str().unwrap().to_owned());
        is_replay(&merchant.keyed("POST", "/v1/session", key, request.clone()).await, &again);
    }
    assert_eq!(sessions.len(), all.len());
    world.finish().await;
}

#[actix_web::test]
async fn killed_while_sessions_are_created_all_in_one_on_sqlite() {
    killed_while_sessions_are_created(Topology::AllInOne).await;
}

#[actix_web::test]
async fn killed_while_sessions_are_created_every_program_on_postgresql() {
    killed_while_sessions_are_created(Topology::Split).await;
}
