//! What a card tester could try on screening itself: its alarm, whom it knows, how fast it answers, and what it cannot read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{IssuerChecks, PaymentTryOutcome, ProcessorReply};
use dropin_risk::Decision;

use super::counts::Trouble;
use super::screening::{BLOCK, LATER, VISA, checked, decision, last, page, pay, refused, seen, world};
use super::screening_reviews::{must_be_held, session_with_auto_capture};
use super::script::{Gate, approved, unclear};
use super::world::usd;

/// Whoever measures how long the answer takes learns no more than from its words.
#[tokio::test]
async fn a_block_takes_as_long_as_the_processor_took_last() {
    const TOOK: Duration = Duration::from_millis(400);
    let world = Arc::new(world("", None).await);
    let gate = Arc::new(Gate::default());
    *world.script.gate.lock().unwrap() = Some(gate.clone());
    world.script.say(OpKind::Authorize, refused(DeclineReason::Generic));
    let paying = world.clone();
    let asked = tokio::spawn(async move { pay(&paying).await.1 });
    gate.arrived.notified().await;
    tokio::time::sleep(TOOK).await;
    gate.open.notify_one();
    let declined = asked.await.unwrap();
    world.counts.say(BLOCK.0, BLOCK.1);
    let begun = Instant::now();
    let (_, blocked) = pay(&world).await;
    assert_eq!(seen(&blocked), seen(&declined));
    assert!(TOOK <= begun.elapsed(), "{:?}", begun.elapsed());
    assert_eq!(world.script.asked(OpKind::Authorize).len(), 1);
}

#[tokio::test]
async fn what_is_challenged_in_an_alarm_is_told_apart() {
    let world = world("[weights]\nNEW_SHOPPER = 10", None).await;
    pay(&world).await;
    world.counts.say_declined(20);
    world.script.say(OpKind::Authorize, page());
    pay(&world).await;
    world.script.know(approved(&usd(2_990)));
    world.settle_after(LATER).await;
    let outcomes = [PaymentTryOutcome::Paid, PaymentTryOutcome::Challenged, PaymentTryOutcome::Paid];
    assert_eq!((world.counts.outcomes(), world.counts.in_alarm()), (outcomes.to_vec(), vec![false, true, true]));
}

/// In a stream of the merchant's own, with the numbers that showed it; seen again it is not noted at each payment.
#[tokio::test]
async fn an_alarm_is_noted_once_a_minute_with_its_numbers() {
    let world = world("", None).await;
    pay(&world).await;
    assert_eq!(world.counts.alarms(), []);
    world.counts.say_declined(20);
    pay(&world).await;
    pay(&world).await;
    let [event] = &world.counts.alarms()[..] else { panic!("{:?}", world.counts.alarms()) };
    let merchant = world.caller.merchant.id;
    assert_eq!((event.merchant_id, event.payment_id.uuid()), (merchant, merchant.uuid()));
    let expected = format!(
        "{{\"EventType\":\"SCREENING_ALARM_RAISED\",\"Alarm\":{{\"MerchantId\":\"{merchant}\",\"RaisedAt\":\"{}\",\"Tries\":20,\"Declines\":20}}}}",
        event.at
    );
    assert_eq!(
        (event.event_type, String::from_utf8(event.body.clone()).unwrap()),
        ("SCREENING_ALARM_RAISED", expected)
    );
    world.advance(LATER);
    pay(&world).await;
    assert_eq!(world.counts.alarms().len(), 2, "the store tells whether it lasts");
}

/// A tester who pays with a card of his own until a person looks is no less a stranger.
#[tokio::test]
async fn nobody_is_known_by_a_payment_under_review() {
    let world = world("", None).await;
    let under_review = ProcessorReply::Approved {
        amount: Some(usd(2_990)),
        captured: false,
        under_review: true,
        credential: None,
        checks: IssuerChecks::default(),
    };
    world.script.say(OpKind::Authorize, under_review);
    let (id, _) = pay(&world).await;
    assert!(last(&world, id).await.under_review);
    assert_eq!((world.counts.tries().len(), world.counts.outcomes()), (1, vec![]));
    pay(&world).await;
    assert_eq!(world.counts.outcomes(), [PaymentTryOutcome::Paid]);
}

/// By a newer program that runs beside this one, or damaged.
#[tokio::test]
async fn a_payment_whose_screening_cannot_be_read_is_held() {
    let world = world("", None).await;
    let id = session_with_auto_capture(&world).await;
    world.script.say(OpKind::Authorize, unclear());
    world.submit_card(id, VISA).await.unwrap();
    let kept = world.counts.kept(last(&world, id).await.id).unwrap();
    assert_eq!(kept.decision(), Decision::Allow);
    world.counts.be_in(Some(Trouble::KeptIsUnreadable));
    world.script.know(checked(IssuerChecks { code_matches: Some(true), ..IssuerChecks::default() }));
    assert_eq!(world.settle_after(LATER).await, 1);
    let order = must_be_held(&world, id).await;
    assert_eq!(decision(&world, order).await, None, "its merchant reads the Order all the same");
    assert_eq!(world.counts.outcomes(), [PaymentTryOutcome::Authorized]);
    world.counts.be_in(None);
    assert_eq!(world.counts.kept(order), Some(kept), "what was kept stays");
}
