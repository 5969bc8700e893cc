//! Captures and cancels of one Order at once (docs/SPECIFICATION.md#order-capture, docs/SPECIFICATION.md#order-cancel): money is taken once or
//! given up, never both, never in two parts.

use dropin_tests::{Response, World, cards, thousandths_of};
use serde_json::json;

use super::{CLIENTS, both_databases, only, race};
use crate::PAID;

both_databases! {
    /// All of it against a part.
    captures_race_captures: super::captures_race_captures => ["all", "a part"]
}
both_databases! {
    /// A capture against a cancel.
    captures_race_cancels: super::captures_race_cancels => ["captured", "cancelled"]
}

const CAPTURE_RESPONSES: [(u16, &str); 3] =
    [(200, "Captured"), (200, "PendingNotification"), (409, "INVALID_ORDER_STATE")];

async fn captures_race_captures(world: &World, round: usize) -> &'static str {
    let paid = world.authorized(cards::VISA).await;
    let half = || 0..CLIENTS / 2;
    let all = half().map(|_| world.merchant.capture(&paid.order, None)).collect();
    let parts = half().map(|_| world.merchant.capture(&paid.order, Some("10.00"))).collect();
    let (all, parts) = race(round, all, parts).await;
    only(&all, &CAPTURE_RESPONSES);
    only(&parts, &CAPTURE_RESPONSES);
    world.receiver.expect(&paid.session, &PAID).await;
    let shown = world.merchant.order_text(&paid.order).await;
    let (amount, outcome) = match thousandths_of(&shown, "CapturedAmount") {
        29_900 => ("29.90", "all"),
        10_000 => ("10.00", "a part"),
        other => panic!("{other} was captured: {shown}"),
    };
    // Every response that says Captured says how much.
    for answer in all.iter().chain(&parts).filter(|answer| answer.json()["Reason"]["Code"] == "Captured") {
        assert_eq!(thousandths_of(&answer.text(), "CapturedAmount"), thousandths_of(&shown, "CapturedAmount"));
    }
    assert!(all.iter().chain(&parts).any(|answer| answer.status == 200), "somebody captured it");
    world.journal_has(&paid.session, &[("AUTHORIZE", "APPROVED", "29.90"), ("CAPTURE", "APPROVED", amount)]).await;
    outcome
}

async fn captures_race_cancels(world: &World, round: usize) -> &'static str {
    let paid = world.authorized(cards::VISA).await;
    let half = || 0..CLIENTS / 2;
    let captures = half().map(|_| world.merchant.capture(&paid.order, None)).collect();
    let cancels = half().map(|_| world.merchant.cancel_order(&paid.order)).collect();
    let (captures, cancels) = race(round, captures, cancels).await;
    only(&captures, &CAPTURE_RESPONSES);
    for answer in &cancels {
        let body = answer.json();
        match (answer.status, body["State"].as_str()) {
            (200, Some("CANCELLED")) | (409, None) => {}
            // Being cancelled by another client.
            (200, Some("PAYMENT_AUTHORIZED")) => assert_eq!(body["Reason"]["Code"], "PendingNotification", "{body}"),
            other => panic!("{other:?}: {body}"),
        }
    }
    let refused = cancels.iter().filter(|answer| answer.status == 409);
    assert!(refused.map(Response::code).all(|code| code == "INVALID_ORDER_STATE"));
    let (captured, cancelled) =
        (captures.iter().any(|answer| answer.status == 200), cancels.iter().any(|answer| answer.status == 200));
    assert!(captured != cancelled, "one side alone");
    let (event, effect, outcome) = match captured {
        true => ("ORDER_PROCESSED", "CAPTURE", "captured"),
        false => ("ORDER_CANCELLED", "VOID", "cancelled"),
    };
    world.receiver.expect(&paid.session, &[PAID[0], PAID[1], event]).await;
    let state = &world.merchant.order(&paid.order).await["State"];
    assert_eq!(*state, json!(if captured { "PROCESSED" } else { "CANCELLED" }));
    world.journal_has(&paid.session, &[("AUTHORIZE", "APPROVED", "29.90"), (effect, "APPROVED", "29.90")]).await;
    outcome
}
