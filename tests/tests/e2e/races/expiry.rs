//! What ends by itself, at the very moment that somebody still uses it (docs/SPECIFICATION.md#session-lifetime, docs/SPECIFICATION.md#capture-window).
//! A test cannot wait a week, so the clock of a settler in this process is ahead. It works on the deployment's own database and processor, and every
//! guard has to hold across the two.

use std::collections::BTreeMap;
use std::time::Duration;

use dropin_tests::{World, cards, until};
use futures_util::future::{join, join_all};
use serde_json::json;

use super::settler::{Settler, with_settler};
use super::{CLIENTS, both_databases, only};
use crate::{CHARGED, PAID, head_start};

both_databases! {
    /// The capture window ends while the merchant captures.
    expiry_races_captures: super::with_settler(super::AHEAD, super::expiry_races_captures) => ["captured", "expired"]
}
both_databases! {
    /// A Session expires while the shopper submits it.
    expiry_races_submits: super::with_settler(super::AHEAD, super::expiry_races_submits) => ["expired", "paid"]
}

/// Longer than any window or lifetime.
const AHEAD: Duration = Duration::from_secs(8 * 24 * 60 * 60);
/// Sweepers at once.
const SWEEPERS: usize = 4;

async fn expiry_races_captures(world: &World, settler: &Settler, round: usize) -> &'static str {
    let paid = world.authorized(cards::VISA).await;
    let captures = async {
        head_start(round, 0).await;
        join_all((0..CLIENTS / 2).map(|_| world.merchant.capture(&paid.order, None))).await
    };
    let sweeps = async {
        head_start(round, 1).await;
        join_all((0..SWEEPERS).map(|_| settler.payments.expire_orders(10))).await
    };
    let (captures, sweeps) = join(captures, sweeps).await;
    only(&captures, &[(200, "Captured"), (200, "PendingNotification"), (409, "INVALID_ORDER_STATE")]);
    assert!(sweeps.iter().all(Result::is_ok), "{sweeps:?}");
    let captured = captures.iter().any(|answer| answer.status == 200);
    let (effect, state, outcome) = match captured {
        true => ("CAPTURE", "PROCESSED", "captured"),
        false => ("VOID", "CANCELLED", "expired"),
    };
    let ends = end_events(world, settler, &paid.session, &PAID[..2]).await;
    assert_eq!(ends, [if captured { PAID[2] } else { "ORDER_CANCELLED" }], "one end is announced, and once");
    assert_eq!(world.merchant.order(&paid.order).await["State"], state);
    world.journal_has(&paid.session, &[CHARGED[0], (effect, "APPROVED", "29.90")]).await;
    outcome
}

/// The events of a payment after `before`, once there are some: sent by the program's own notifier, or due by the clock that is ahead.
async fn end_events(world: &World, settler: &Settler, session: &str, before: &[&str]) -> Vec<String> {
    let mut events = BTreeMap::new();
    until(&format!("an end of {session}"), Duration::from_secs(40), async || {
        events.extend(settler.due_events(session).await);
        events.extend(world.receiver.acknowledged(session).into_iter().map(|one| (one.id, one.event)));
        (before.len() < events.len()).then_some(())
    })
    .await;
    events.into_values().filter(|event| !before.contains(&event.as_str())).collect()
}

async fn expiry_races_submits(world: &World, settler: &Settler, round: usize) -> &'static str {
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    let shopper = world.shopper(&session);
    let attempt = shopper.stash("race", cards::VISA).await;
    let submits = async {
        head_start(round, 0).await;
        join_all((0..CLIENTS / 2).map(|_| shopper.submit(1, &attempt))).await
    };
    let sweeps = async {
        head_start(round, 1).await;
        join_all((0..SWEEPERS).map(|_| settler.sessions.expire_due(10))).await
    };
    let (submits, sweeps) = join(submits, sweeps).await;
    only(&submits, &[(200, "COMPLETED"), (200, "PROCESSING"), (409, "INVALID_SESSION_STATE")]);
    assert!(sweeps.iter().all(Result::is_ok), "{sweeps:?}");
    if submits.iter().any(|answer| answer.status == 200) {
        assert!(submits.iter().all(|answer| answer.status == 200), "one attempt has one answer");
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
        return "paid";
    }
    assert_eq!(end_events(world, settler, &session, &[]).await, ["SESSION_CANCELLED"]);
    assert_eq!(world.merchant.session(&session).await["State"], "CANCELLED");
    world.journal_has(&session, &[]).await;
    "expired"
}
