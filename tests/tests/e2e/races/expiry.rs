//! What ends by itself, at the very moment that somebody still uses it (decisions.md sections 3 and 4). Nobody can wait a week, so a settler in this process
//! lives in the future: it works on the deployment's own database and processor, and every guard has to hold across the two.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dropin_boot::{SystemClock, SystemIds};
use dropin_kernel::Timestamp;
use dropin_ports::{Clock, DeliveryResult, FinishedTry, OutboxStore};
use dropin_processor_http::{HttpProcessor, ProcessorConfig};
use dropin_store::{Role, Store, StoreConfig};
use dropin_tests::{World, cards, until};
use dropin_usecases::payments::{PROCESSOR_DEADLINE, Payments, Timing};
use dropin_usecases::sessions::Sessions;
use dropin_validation::UrlPolicy;
use futures_util::future::{join, join_all};
use serde_json::json;

use super::{CLIENTS, both_databases, only};
use crate::{CHARGED, PAID, head_start};

both_databases! {
    /// The capture window ends while the merchant captures.
    expiry_races_captures: super::expiry_races_captures => ["captured", "expired"]
}
both_databases! {
    /// A Session expires while the shopper submits it.
    expiry_races_submits: super::expiry_races_submits => ["expired", "paid"]
}

/// Longer than any window or lifetime.
const AHEAD: Duration = Duration::from_secs(8 * 24 * 60 * 60);
/// Sweepers at once.
const SWEEPERS: usize = 4;

struct Future;

impl Clock for Future {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus(AHEAD)
    }
}

struct Settler {
    store: Store,
    payments: Payments,
    sessions: Sessions,
}

impl Settler {
    fn of(world: &World) -> Self {
        let store = Store::open(StoreConfig::new(world.database_url(), Role::Tool)).expect("the deployment's database");
        let config = ProcessorConfig::new(&world.processor, world.programs.processor_key(), PROCESSOR_DEADLINE);
        let processor = HttpProcessor::start(config.expect("the processor's address")).expect("a thread");
        let (clock, ids) = (Arc::new(Future), Arc::new(SystemIds));
        let shared = Arc::new(store.clone());
        let payments = Payments {
            store: shared.clone(),
            processor: Arc::new(processor),
            clock: clock.clone(),
            ids: ids.clone(),
            timing: Timing::default(),
        };
        Self { store, payments, sessions: Sessions { store: shared, clock, ids, url_policy: UrlPolicy::Sandbox } }
    }
}

impl Settler {
    /// What that clock finds due for a payment: also what was written by it, for which the program's own notifier may wait for days. By webhook-id.
    async fn told(&self, session: &str) -> Vec<(String, String)> {
        let (now, mut told) = (Future.now(), Vec::new());
        let (store, lease) = (&self.store, now.plus(Duration::from_secs(60)));
        let claimed = store.claim_deliveries(&[], now, lease, 100, 100).await;
        let mut batch = claimed.expect("the deployment's database").deliveries;
        while !batch.is_empty() {
            let own = batch.iter().filter(|one| one.payment_id.to_string() == session);
            told.extend(own.map(|one| (one.event_id.to_string(), one.event_type.clone())));
            let done = batch.iter().map(|one| FinishedTry::new(one.key, DeliveryResult::Acknowledged)).collect();
            batch = store.finish_deliveries(done, now, lease).await.expect("the deployment's database").next;
        }
        told
    }
}

impl Drop for Settler {
    fn drop(&mut self) {
        self.store.close();
    }
}

async fn expiry_races_captures(world: &World, round: usize) -> &'static str {
    let settler = Settler::of(world);
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
    let ends = ends_told(world, &settler, &paid.session, &PAID[..2]).await;
    assert_eq!(ends, [if captured { PAID[2] } else { "ORDER_CANCELLED" }], "one end is told, and once");
    assert_eq!(world.merchant.order(&paid.order).await["State"], state);
    world.journal_has(&paid.session, &[CHARGED[0], (effect, "APPROVED", "29.90")]).await;
    outcome
}

/// What is told of a payment after `before`, once there is something: by the program's own notifier, or as what that clock finds due.
async fn ends_told(world: &World, settler: &Settler, session: &str, before: &[&str]) -> Vec<String> {
    let mut told = BTreeMap::new();
    until(&format!("an end of {session}"), Duration::from_secs(40), async || {
        told.extend(settler.told(session).await);
        told.extend(world.receiver.acknowledged(session).into_iter().map(|one| (one.id, one.event)));
        (before.len() < told.len()).then_some(())
    })
    .await;
    told.into_values().filter(|event| !before.contains(&event.as_str())).collect()
}

async fn expiry_races_submits(world: &World, round: usize) -> &'static str {
    let settler = Settler::of(world);
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
    assert_eq!(ends_told(world, &settler, &session, &[]).await, ["SESSION_CANCELLED"]);
    assert_eq!(world.merchant.session(&session).await["State"], "CANCELLED");
    world.journal_has(&session, &[]).await;
    "expired"
}
