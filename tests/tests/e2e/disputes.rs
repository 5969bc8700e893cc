//! Disputes (docs/SPECIFICATION.md#disputes): the published number is paid, captured and disputed a few seconds later.

use std::time::Duration;

use dropin_tests::{Paid, Response, World, cards, until};
use serde_json::{Value, json};

use crate::{PAID, is_refused};

/// A payment of 29.90 that is disputed, and its dispute as the merchant was told of it.
pub(crate) async fn disputed(world: &World) -> (Paid, Value) {
    let paid = world.paid(cards::DISPUTED, json!({"AutoCapture": true})).await;
    let told = world.receiver.expect(&paid.session, &then(&["DISPUTE_OPENED"])).await;
    let body = told[PAID.len()].body.clone();
    assert_eq!((&body["Order"]["OrderId"], &body["Order"]["State"]), (&paid.order["OrderId"], &json!("PROCESSED")));
    let dispute = body["Dispute"].clone();
    assert_eq!((&dispute["State"], &dispute["Reason"]), (&json!("NEEDS_RESPONSE"), &json!("FRAUDULENT")), "{dispute}");
    assert_eq!((&dispute["Amount"], &dispute["Currency"]), (&json!(29.9), &json!("USD")));
    assert!(dispute["DueAt"].is_string() && dispute["CreatedAt"].is_string(), "{dispute}");
    (paid, dispute)
}

/// PAID and these.
pub(crate) fn then(events: &[&'static str]) -> Vec<&'static str> {
    [&PAID[..], events].concat()
}

async fn list(world: &World, paid: &Paid) -> Value {
    world.merchant.about("GET", &paid.order, "/dispute", None).await.json()["Disputes"].clone()
}

pub(crate) fn path(dispute: &Value, what: &str) -> String {
    format!("/dispute/{}/{what}", dispute["DisputeId"].as_str().unwrap())
}

/// A form with this text and a picture.
pub(crate) fn form(text: &str) -> Vec<u8> {
    let mut body = format!("--b\r\nContent-Disposition: form-data; name=\"Text\"\r\n\r\n{text}\r\n").into_bytes();
    body.extend_from_slice(
        b"--b\r\nContent-Disposition: form-data; name=\"Files\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n--b--\r\n",
    );
    body
}

pub(crate) async fn hand_in(world: &World, paid: &Paid, dispute: &Value, form: Vec<u8>, key: &str) -> Response {
    hand_in_between(world, paid, dispute, ("b", form), key).await
}

async fn hand_in_between(
    world: &World,
    paid: &Paid,
    dispute: &Value,
    (boundary, form): (&str, Vec<u8>),
    key: &str,
) -> Response {
    let media_type = format!("multipart/form-data; boundary={boundary}");
    let address = format!("/v1/order/{}{}", paid.order["OrderId"].as_str().unwrap(), path(dispute, "evidence"));
    let headers = [("content-type", media_type.as_str()), ("idempotency-key", key)];
    world.merchant.post_form(&address, &headers, form).await
}

#[track_caller]
fn is(answer: &Response, state: &str) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, body["State"].as_str()), (200, Some(state)), "{}", answer.text());
    body
}

crate::both! {
    /// Told, shown, counted by refunds, accepted; nothing is left of it.
    async fn a_dispute_is_told_and_accepted(world: &World) {
        let (paid, dispute) = disputed(world).await;
        let (merchant, order) = (&world.merchant, &paid.order);
        assert_eq!(list(world, &paid).await[0]["DisputeId"], dispute["DisputeId"]);
        is_refused(&merchant.refund(order, "disputed", Some("0.01")).await, 409, "REFUND_EXCEEDS_CAPTURED");
        is_refused(&merchant.refund(order, "disputed", None).await, 409, "REFUND_EXCEEDS_CAPTURED");
        for (body, status, code) in [
            (b"--b\r\nContent-Disposition: form-data; name=\"Text\"\r\n\r\n\r\n--b--".to_vec(), 400, "INVALID_REQUEST"),
            (b"no form".to_vec(), 400, "INVALID_REQUEST"),
            (form(&"x".repeat(20_001)), 400, "INVALID_REQUEST"),
            (form(&"x".repeat(5 * 512 * 1024)), 413, "PAYLOAD_TOO_LARGE"),
        ] {
            let key = uuid::Uuid::new_v4().to_string();
            is_refused(&hand_in(world, &paid, &dispute, body, &key).await, status, code);
        }
        let json = merchant.about("POST", order, &path(&dispute, "evidence"), Some("{}".to_owned())).await;
        is_refused(&json, 415, "UNSUPPORTED_MEDIA_TYPE");
        let stranger = world.another_merchant().await;
        for (method, what) in [("GET", "/dispute".to_owned()), ("POST", path(&dispute, "accept"))] {
            is_refused(&stranger.about(method, order, &what, None).await, 404, "ORDER_NOT_FOUND");
        }
        let unknown = json!({"DisputeId": uuid::Uuid::new_v4().to_string()});
        is_refused(&merchant.about("POST", order, &path(&unknown, "accept"), None).await, 404, "DISPUTE_NOT_FOUND");
        let accept = path(&dispute, "accept");
        is(&merchant.about("POST", order, &accept, None).await, "ACCEPTED");
        is(&merchant.about("POST", order, &accept, None).await, "ACCEPTED");
        is_refused(&hand_in(world, &paid, &dispute, form("too late"), "late").await, 409, "INVALID_DISPUTE_STATE");
        let told = world.receiver.expect(&paid.session, &then(&["DISPUTE_OPENED", "DISPUTE_CLOSED"])).await;
        assert_eq!(told[PAID.len() + 1].body["Dispute"]["State"], "ACCEPTED");
        is_refused(&merchant.refund(order, "disputed", None).await, 409, "REFUND_EXCEEDS_CAPTURED");
        // Another Order's dispute is not this one's.
        let other = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
        is_refused(&merchant.about("POST", &other.order, &accept, None).await, 404, "DISPUTE_NOT_FOUND");
        assert_eq!(list(world, &other).await, json!([]));
        world.receiver.expect(&other.session, &PAID).await;
    }

    /// Evidence wins or loses by its words; what is won can be refunded again.
    async fn evidence_decides(world: &World) {
        let (won, lost) = (world.paid(cards::DISPUTED, json!({"AutoCapture": true})).await, disputed(world).await);
        let told = world.receiver.expect(&won.session, &then(&["DISPUTE_OPENED"])).await;
        let won = (won, told[PAID.len()].body["Dispute"].clone());
        // As large as may be: 2 MiB of files.
        let mut largest = b"--b\r\nContent-Disposition: form-data; name=\"Files\"; filename=\"a.pdf\"\r\nContent-Type: application/pdf\r\n\r\n".to_vec();
        largest.resize(largest.len() + 2 * 1024 * 1024, b'x');
        largest.extend_from_slice(b"\r\n--b\r\nContent-Disposition: form-data; name=\"Text\"\r\n\r\nlosing_evidence\r\n--b--");
        for ((paid, dispute), form, end) in [(won, form("winning_evidence"), "WON"), (lost, largest, "LOST")] {
            let given = hand_in(world, &paid, &dispute, form.clone(), "evidence").await;
            is(&given, "UNDER_REVIEW");
            // A client finds another boundary for each request.
            let elsewhere = String::from_utf8_lossy(&form).replace("--b", "--c").into_bytes();
            let is_text = !form.contains(&0x89);
            let repeated = if is_text { ("c", elsewhere) } else { ("b", form) };
            let again = hand_in_between(world, &paid, &dispute, repeated, "evidence").await;
            assert_eq!((again.header("idempotent-replayed"), again.text()), (Some("true"), given.text()));
            let other = hand_in(world, &paid, &dispute, self::form("other words"), "evidence").await;
            is_refused(&other, 422, "IDEMPOTENCY_KEY_REUSED");
            let events = then(&["DISPUTE_OPENED", "DISPUTE_UPDATED", "DISPUTE_CLOSED"]);
            let told = world.receiver.expect(&paid.session, &events).await;
            let states = told[PAID.len()..].iter().map(|one| one.body["Dispute"]["State"].clone());
            assert_eq!(states.collect::<Vec<_>>(), ["NEEDS_RESPONSE", "UNDER_REVIEW", end]);
            let refund = world.merchant.refund(&paid.order, "after", None).await;
            if end == "WON" {
                assert_eq!((refund.status, refund.json()["Amount"].clone()), (201, json!(29.9)), "{}", refund.text());
                world.receiver.expect(&paid.session, &[&events[..], &["REFUND_SUCCEEDED"]].concat()).await;
            } else {
                is_refused(&refund, 409, "REFUND_EXCEEDS_CAPTURED");
            }
        }
    }

    /// The processor has the answer and says so to nobody: it is given again under its key, and counts once.
    async fn an_answer_whose_outcome_is_unknown_is_given_again(world: &World) {
        let (paid, dispute) = disputed(world).await;
        world.faults(json!({"Mode": "timeout_after_work", "DelayMs": 100, "Remaining": 1, "Kinds": ["DISPUTE"]})).await;
        let given = is(&hand_in(world, &paid, &dispute, form("winning_evidence"), "lost").await, "NEEDS_RESPONSE");
        assert_eq!(given["AnswerPending"], true, "{given}");
        let events = then(&["DISPUTE_OPENED", "DISPUTE_UPDATED", "DISPUTE_CLOSED"]);
        let told = world.receiver.expect(&paid.session, &events).await;
        assert_eq!(told.last().unwrap().body["Dispute"]["State"], "WON");
    }

    /// From the command line, by whoever runs the deployment.
    async fn an_operator_answers_a_dispute(world: &World) {
        let (paid, dispute) = disputed(world).await;
        let id = dispute["DisputeId"].as_str().unwrap();
        let shown = |command: &[&str]| -> Value { serde_json::from_str(&world.programs.run_dropin(command)).unwrap() };
        assert_eq!(shown(&["dispute", "list", "--open", "--json"])[0]["DisputeId"], id);
        assert_eq!(shown(&["dispute", "accept", id, "--note", "the shopper called", "--json"])["AnswerPending"], true);
        until("the settler tells the processor", Duration::from_secs(20), async || {
            (shown(&["dispute", "show", id, "--json"])["State"] == "ACCEPTED").then_some(())
        })
        .await;
        let (ok, report) = (world.programs.try_dropin(&["ledger", "verify"]), world.programs.try_dropin(&["dispute", "evidence", id, "--text", "x"]));
        assert!(ok.is_ok(), "{ok:?}");
        assert!(report.unwrap_err().contains("ACCEPTED"));
        world.receiver.expect(&paid.session, &then(&["DISPUTE_OPENED", "DISPUTE_CLOSED"])).await;
        let (paid, dispute) = disputed(world).await;
        let contested = dispute["DisputeId"].as_str().unwrap();
        shown(&["dispute", "evidence", contested, "--text", "sent by post", "--note", "tracked", "--json"]);
        world.receiver.expect(&paid.session, &then(&["DISPUTE_OPENED", "DISPUTE_UPDATED"])).await;
        for (action, note) in [("DISPUTE_ACCEPT", "the shopper called"), ("DISPUTE_EVIDENCE", "tracked")] {
            let entries = shown(&["audit", "list", "--action", action, "--json"]);
            assert_eq!((&entries[0]["Note"], &entries[1]), (&json!(note), &Value::Null), "{entries}");
        }
    }
}
