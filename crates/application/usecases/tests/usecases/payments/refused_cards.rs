//! A card that its issuer forbids to try again is refused unasked, per Session (docs/SPECIFICATION.md#forbidden-cards).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dropin_kernel::{SessionId, Timestamp};
use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{Clock, ProcessorReply, SessionStore, Waiting};
use dropin_session::SessionStateKind;
use dropin_usecases::payments::Shopper;

use super::script::unclear;
use super::world::World;

const STOLEN: &str = "4000000000009979";
/// The same card, as people type it.
const STOLEN_AGAIN: &str = "4000 0000-0000 9979";
const OTHER: &str = "4242424242424242";

fn refuse(world: &World, reason: DeclineReason) {
    world.script.say(OpKind::Authorize, ProcessorReply::Declined { reason, retryable: false, credential: None });
}

fn asked(world: &World) -> usize {
    world.script.asked(OpKind::Authorize).len()
}

/// Submits the card; state, what the browser hears, and how many attempts are left.
async fn pay(world: &World, id: SessionId, number: &str) -> (&'static str, Option<(&'static str, u32)>) {
    world.advance(Duration::from_secs(1));
    let progress = world.submit_card(id, number).await.unwrap().progress;
    (progress.state.as_str(), progress.failed_attempt.map(|failed| (failed.code.as_str(), failed.attempts_left)))
}

/// How each attempt ended, and whether its card is still known.
async fn attempts(world: &World, id: SessionId) -> Vec<(&'static str, bool)> {
    let orders = world.store.list_attempts(id).await.unwrap();
    let ended = |failure: Option<dropin_order::FailureReason>| failure.map_or("", |failure| failure.as_str());
    orders.iter().map(|order| (ended(order.failure), order.card.is_some())).collect()
}

/// A Session whose first attempt failed because the issuer forbids to try the card again.
async fn refused(world: &World) -> SessionId {
    let id = world.session().await;
    refuse(world, DeclineReason::DoNotTryAgain);
    assert_eq!(pay(world, id, STOLEN).await, ("CREATED", Some(("PAYMENT_DECLINED", 4))));
    id
}

#[tokio::test]
async fn a_refused_card_is_refused_unasked_and_any_other_is_asked() {
    let world = World::new().await;
    let id = refused(&world).await;
    assert_eq!(pay(&world, id, STOLEN_AGAIN).await, ("CREATED", Some(("PAYMENT_DECLINED", 3))));
    assert_eq!(asked(&world), 1, "the processor heard of the first alone");
    assert_eq!(world.script.questions(), 0);
    assert!(world.payments.store.list_open_operations(10).await.unwrap().is_empty());
    // An attempt with another card, declined for another reason, says nothing of either.
    refuse(&world, DeclineReason::InsufficientFunds);
    assert_eq!(pay(&world, id, OTHER).await, ("CREATED", Some(("PAYMENT_DECLINED", 2))));
    assert_eq!(pay(&world, id, STOLEN).await, ("CREATED", Some(("PAYMENT_DECLINED", 1))));
    assert_eq!(pay(&world, id, OTHER).await, ("COMPLETED", None));
    assert_eq!(asked(&world), 3);
    let refused = ("CARD_REFUSED", true);
    assert_eq!(attempts(&world, id).await, [refused, refused, ("INSUFFICIENT_FUNDS", false), refused, ("", false)]);
    assert_eq!(world.events().await, ["SESSION_COMPLETED", "ORDER_AUTHORIZED"]);
}

#[tokio::test]
async fn another_session_asks_for_a_refused_card() {
    let world = World::new().await;
    refused(&world).await;
    let other = world.session().await;
    refuse(&world, DeclineReason::Generic);
    pay(&world, other, OTHER).await;
    assert_eq!(pay(&world, other, STOLEN).await, ("COMPLETED", None));
    assert_eq!(asked(&world), 3);
}

#[tokio::test]
async fn a_card_that_was_declined_for_another_reason_is_asked_again() {
    let world = World::new().await;
    let id = world.session().await;
    refuse(&world, DeclineReason::Generic);
    pay(&world, id, OTHER).await;
    assert_eq!((pay(&world, id, OTHER).await, asked(&world)), (("COMPLETED", None), 2));
}

/// The processor decides after it was asked: the card is kept until then.
#[tokio::test]
async fn a_card_that_is_refused_later_is_not_asked_again() {
    for undecided in [ProcessorReply::Pending(Waiting::Processor), unclear()] {
        let world = World::new().await;
        let id = world.session().await;
        world.script.say(OpKind::Authorize, undecided.clone());
        assert_eq!(pay(&world, id, STOLEN).await, ("PROCESSING", None));
        assert_eq!(attempts(&world, id).await, [("", true)]);
        world.script.know(undecided);
        world.settle_after(Duration::from_secs(60)).await;
        world.script.know(ProcessorReply::Declined {
            reason: DeclineReason::DoNotTryAgain,
            retryable: false,
            credential: None,
        });
        world.settle_after(Duration::from_secs(60)).await;
        assert_eq!(attempts(&world, id).await, [("CARD_REFUSED", true)]);
        assert_eq!(pay(&world, id, STOLEN).await, ("CREATED", Some(("PAYMENT_DECLINED", 3))));
        assert_eq!((pay(&world, id, OTHER).await, asked(&world)), (("COMPLETED", None), 2));
        assert!(attempts(&world, id).await.ends_with(&[("", false)]));
    }
}

#[tokio::test]
async fn the_last_attempt_with_a_refused_card_ends_the_session() {
    let world = World::new().await;
    let id = refused(&world).await;
    for left in (1..4).rev() {
        assert_eq!(pay(&world, id, STOLEN).await, ("CREATED", Some(("PAYMENT_DECLINED", left))));
    }
    let last = world.submit_card(id, STOLEN).await.unwrap().progress;
    assert_eq!((last.state, last.error_code), (SessionStateKind::Failed, Some("PAYMENT_DECLINED")));
    assert_eq!((asked(&world), world.events().await), (1, vec!["SESSION_FAILED".to_owned()]));
}

/// Tells the time so often, and ends the program then.
struct Dying {
    clock: Arc<dyn Clock>,
    left: AtomicUsize,
}

impl Clock for Dying {
    fn now(&self) -> Timestamp {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        assert!(0 < left, "the program dies");
        self.clock.now()
    }
}

#[tokio::test]
async fn an_attempt_that_was_about_to_be_refused_unasked_is_recovered_after_a_crash() {
    let world = Arc::new(World::new().await);
    let id = refused(&world).await;
    // Dies later each time, until the attempt was written down and not how it ended.
    for looks in 1.. {
        let mut shopper: Shopper = world.shopper.clone();
        let clock = shopper.payments.clock.clone();
        shopper.payments.clock = Arc::new(Dying { clock, left: AtomicUsize::new(looks) });
        let dying = world.clone();
        let submit = tokio::spawn(async move { dying.submit_card_to(&shopper, id, STOLEN).await.map(drop) });
        assert!(submit.await.is_err(), "the program was to die");
        if world.stored(id).await.state.kind() == SessionStateKind::Processing {
            break;
        }
    }
    assert_eq!(attempts(&world, id).await, [("CARD_REFUSED", true), ("", false)]);
    assert_eq!(world.settle_after(Duration::from_secs(60)).await, 1);
    // Nothing was ever asked under its key, and nothing ever will be.
    assert_eq!(attempts(&world, id).await, [("CARD_REFUSED", true), ("PROCESSOR_UNAVAILABLE", false)]);
    assert_eq!((asked(&world), world.script.questions()), (1, 1));
    assert_eq!(pay(&world, id, STOLEN).await, ("CREATED", Some(("PAYMENT_DECLINED", 2))));
    assert_eq!(pay(&world, id, OTHER).await, ("COMPLETED", None));
    assert_eq!(asked(&world), 2);
}
