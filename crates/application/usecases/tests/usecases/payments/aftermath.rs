//! What is left when others have had their answer: late money, second cancels, repeats, damaged rows, refusals for ever.

use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{OpId, OrderId};
use dropin_order::{BankDetails, Channel, NewOrder, OpKind, Operation, Order, OrderState, Stuck};
use dropin_ports::{
    Acting, AuthorizationPrepared, CheckoutRecord, IssuerChecks, PaymentStore, PrepareAuthorization, ProcessorReply,
    StatusReply, Waiting,
};
use dropin_session::SessionStateKind;
use dropin_usecases::payments::{RefundError, ReturnDestination, ReviewError};

use super::script::{Gate, approved, declined, unclear};
use super::world::{World, answer, body, usd};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn page() -> ProcessorReply {
    ProcessorReply::Pending(Waiting::Shopper { page: "https://bank.example/page".to_owned(), until: None })
}

fn paid() -> ProcessorReply {
    ProcessorReply::Approved {
        amount: Some(usd(1_000)),
        captured: true,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    }
}

async fn cancel(world: &World, id: OrderId) -> u16 {
    world.payments.cancel(&world.caller.act(None), id, Channel::Order, None).await.map(answer).unwrap().status
}

async fn open(world: &World) -> Vec<Operation> {
    world.store.list_open_operations(10).await.unwrap()
}

#[tokio::test]
async fn money_for_an_order_whose_life_is_over_is_in_sight_until_somebody_gave_it_back() {
    let world = World::new().await;
    let transfer = Waiting::Transfer { to: Box::new(BankDetails::default()), until: None };
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(transfer));
    let (id, _) = world.checkout("BANKTRANSFER", true).await;
    assert_eq!((cancel(&world, id).await, world.state(id).await), (200, "CANCELLED"));
    // More than was asked for cannot be booked, and so is not given back by itself.
    let too_much = || ProcessorReply::Approved {
        amount: Some(usd(1_001)),
        captured: true,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    };
    for _ in 0..2 {
        world.script.know(too_much());
        assert_eq!(world.settle_after(20 * MINUTE).await, 1);
        let [late] = &open(&world).await[..] else { panic!("it is out of sight") };
        assert_eq!((late.kind, late.stuck(world.now())), (OpKind::Authorize, Some(Stuck::Unknown)));
    }
    assert_eq!(world.payments.review(id, false, "ana", &Acting::system()).await, Err(ReviewError::MoneyMoved));
    world.script.know(too_much());
    let outcome = world.payments.review(id, true, "ana", &Acting::system()).await.unwrap();
    assert_eq!((outcome.order.state, outcome.pending), (OrderState::Cancelled, false));
    assert!(open(&world).await.is_empty());
    assert_eq!(world.events().await, ["ORDER_PROCESSING", "ORDER_CANCELLED"], "nothing changed for the merchant");
}

#[tokio::test]
async fn a_transfer_that_arrives_after_its_order_was_cancelled_is_given_back() {
    let world = World::new().await;
    let transfer = Waiting::Transfer { to: Box::new(BankDetails::default()), until: None };
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(transfer));
    let (id, _) = world.checkout("BANKTRANSFER", true).await;
    assert_eq!((cancel(&world, id).await, world.state(id).await), (200, "CANCELLED"));
    world.script.know(paid());
    assert_eq!(world.settle_after(20 * MINUTE).await, 1);
    assert!(open(&world).await.is_empty());
    let order = world.order(id).await;
    assert_eq!((order.state, order.amounts.refunded()), (OrderState::Cancelled, &usd(1_000)));
    assert_eq!(world.events().await, ["ORDER_PROCESSING", "ORDER_CANCELLED"], "no event of the late money");
}

#[tokio::test]
async fn a_second_cancel_finds_the_refusal_of_the_void_in_the_life_of_the_order() {
    let world = Arc::new(World::new().await);
    let id = world.authorized().await;
    let gate = Arc::new(Gate::default());
    *world.script.gate.lock().unwrap() = Some(gate.clone());
    world.script.say(OpKind::Void, declined(false));
    let first = tokio::spawn({
        let world = world.clone();
        async move { cancel(&world, id).await }
    });
    gate.arrived.notified().await;
    let second = world.payments.cancel(&world.caller.act(None), id, Channel::Order, None).await.map(answer).unwrap();
    assert!(body(&second).contains("PendingNotification"), "{}", body(&second));
    gate.open.notify_one();
    assert_eq!(first.await.unwrap(), 409);
    let (order, told) = (world.order(id).await, world.events().await);
    assert_eq!(
        (order.state, order.voiding),
        (OrderState::PaymentAuthorized, None),
        "it may be captured or cancelled again"
    );
    assert_eq!(told, ["ORDER_AUTHORIZED"], "no event is about a void that was refused");
    let life = world.store_history(id).await;
    assert_eq!(life.last().map(String::as_str), Some("VOID_REFUSED by SYSTEM"), "{life:?}");
}

#[tokio::test]
async fn whoever_loads_the_page_again_and_again_asks_the_processor_twice_a_second() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = world.checkout("PAYPAL", false).await;
    for _ in 0..5 {
        for load in 0..4 {
            world.script.know(page());
            let back = world.shopper.return_shopper(id, Duration::ZERO).await.unwrap();
            let is_sent_on = matches!(&back, ReturnDestination::To(url) if url.contains("&State=PROCESSING"));
            assert!(if load == 0 { is_sent_on } else { back == ReturnDestination::Waiting }, "{load}: {back:?}");
        }
        world.advance(Duration::from_millis(500));
    }
    assert_eq!(world.script.questions(), 5);
}

#[tokio::test]
async fn a_session_is_processing_again_once_the_processor_waits_for_nobody() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = world.submitted("PAYPAL").await;
    let state = async || world.shopper.progress(id, SessionStateKind::Created, Duration::ZERO).await.unwrap().state;
    let [authorization] = &open(&world).await[..] else { panic!("an authorization") };
    world.script.know(page());
    let back = world.shopper.return_shopper(authorization.order_id, Duration::ZERO).await.unwrap();
    let cancel = ReturnDestination::To(world.stored(id).await.return_urls().1);
    assert_eq!((back, state().await), (cancel, SessionStateKind::Redirected), "the drop-in offers the page again");
    world.script.know(ProcessorReply::Pending(Waiting::Processor));
    world.settle_after(MINUTE).await;
    assert_eq!(state().await, SessionStateKind::Processing);
    world.script.know(approved(&usd(2_990)));
    world.settle_after(MINUTE).await;
    assert_eq!(state().await, SessionStateKind::Completed);
    assert_eq!(world.events().await, ["SESSION_COMPLETED", "ORDER_AUTHORIZED"]);
}

/// The page was finished late, or the transfer has come: nobody need look after a payment that ends by itself. Any other is the operator's.
#[tokio::test]
async fn a_decision_that_does_not_come_is_the_operators_business_where_nothing_ends_it() {
    let undecided = || ProcessorReply::Pending(Waiting::Processor);
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (late, _) = world.submitted("PAYPAL").await;
    world.script.know(undecided());
    world.settle_after(11 * MINUTE).await;
    let state = world.shopper.progress(late, SessionStateKind::Created, Duration::ZERO).await.unwrap().state;
    assert_eq!((state, open(&world).await[0].stuck(world.now())), (SessionStateKind::Processing, None));
    let world = World::new().await;
    let transfer = Waiting::Transfer { to: Box::default(), until: None };
    world.script.say(OpKind::Authorize, ProcessorReply::Pending(transfer));
    drop(world.checkout("BANKTRANSFER", true).await);
    world.script.know(undecided());
    world.settle_after(11 * MINUTE).await;
    assert_eq!(open(&world).await[0].stuck(world.now()), None);
    let world = World::new().await;
    world.script.say(OpKind::Authorize, undecided());
    drop(world.submitted("PAYPAL").await);
    world.script.know(undecided());
    world.settle_after(MINUTE).await;
    assert_eq!(open(&world).await[0].stuck(world.now()), None);
    world.script.know(undecided());
    world.settle_after(11 * MINUTE).await;
    assert_eq!(open(&world).await[0].stuck(world.now()), Some(Stuck::Unknown));
    world.script.know(approved(&usd(2_990)));
    world.settle_after(MINUTE).await;
    assert_eq!(world.events().await, ["SESSION_COMPLETED", "ORDER_AUTHORIZED"]);
}

#[tokio::test]
async fn a_payment_that_never_reached_the_processor_blames_no_means_of_payment() {
    let world = World::new().await;
    for (said, blames) in [(declined(false), true), (ProcessorReply::NotSent, false)] {
        world.script.say(OpKind::Authorize, said);
        let (_, told) = world.checkout("PAYPAL", true).await;
        assert_eq!(told.status, 402);
        assert!(body(&told).contains("PAYMENT_DECLINED"), "{}", body(&told));
        assert_eq!(body(&told).contains("another means of payment"), blames, "{}", body(&told));
    }
}

#[tokio::test]
async fn a_refund_that_was_accepted_smaller_is_the_one_that_was_asked_for() {
    let world = World::new().await;
    let id = world.captured().await;
    world.script.say(OpKind::Refund, approved(&usd(300)));
    drop(world.refund(id, "r1", Some("4.00")).await.unwrap());
    world.script.know(approved(&usd(300)));
    drop(world.payments.review(id, true, "ana", &Acting::system()).await.unwrap());
    for asked in [Some("4.00"), Some("3.00"), None] {
        let again = world.refund(id, "r1", asked).await.unwrap();
        assert_eq!(again.status, 200);
        assert!(body(&again).contains("\"Amount\":3.00"), "{}", body(&again));
    }
    assert_eq!(world.refund(id, "r1", Some("3.50")).await, Err(RefundError::DuplicateReference));
    assert_eq!(world.script.asked(OpKind::Refund).len(), 1);
}

#[tokio::test]
async fn a_refund_that_fails_after_it_succeeded_can_be_made_again() {
    let world = World::new().await;
    let id = world.captured().await;
    drop(world.refund(id, "r1", Some("4.00")).await.unwrap());
    let key = world.script.asked(OpKind::Refund)[0];
    let state = async || world.refunds(id).await[0].state.as_str();
    drop(world.events().await);
    // Another event about it, and one while the processor is away: that has to be sent again.
    for (reply, is_heard) in
        [(StatusReply::Known(approved(&usd(400))), true), (StatusReply::Unreachable { why: "away".to_owned() }, false)]
    {
        world.script.know_status(reply);
        assert_eq!(world.payments.look_at_refunds(&[key]).await.is_ok(), is_heard);
        assert_eq!(state().await, "SUCCEEDED");
    }
    world.script.know(declined(false));
    // Doubled, and beside what is no refund of ours.
    for _ in 0..2 {
        world.payments.look_at_refunds(&[OpId::new(uuid::Uuid::nil()), key]).await.unwrap();
        assert_eq!(state().await, "FAILED");
    }
    assert_eq!((world.script.questions(), world.events().await), (3, vec!["REFUND_FAILED".to_owned()]));
    assert_eq!(world.refund(id, "r2", Some("10.00")).await.unwrap().status, 201);
}

#[tokio::test]
async fn questions_without_an_answer_do_not_put_off_the_next_try() {
    let world = World::new().await;
    let id = world.captured().await;
    world.script.say(OpKind::Refund, declined(true));
    drop(world.refund(id, "r1", None).await.unwrap());
    // The second try is unclear for long, then refused.
    world.script.say(OpKind::Refund, unclear());
    assert_eq!(world.settle_after(Duration::from_secs(5)).await, 1);
    for _ in 0..8 {
        world.script.know(unclear());
        assert_eq!(world.settle_after(MINUTE).await, 1);
    }
    world.script.know(declined(true));
    assert_eq!(world.settle_after(MINUTE).await, 1);
    assert_eq!(world.settle_after(Duration::from_secs(9)).await, 0);
    assert_eq!(world.settle_after(Duration::from_secs(1)).await, 1, "ten seconds after the second refusal");
    assert_eq!(world.refunds(id).await[0].state.as_str(), "SUCCEEDED");
}

#[tokio::test]
async fn a_void_that_is_refused_for_ever_is_stuck() {
    let world = World::new().await;
    let id = world.authorized().await;
    world.advance(7 * DAY);
    world.script.say(OpKind::Void, declined(false));
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 1);
    let [next] = &open(&world).await[..] else { panic!("it is tried again") };
    assert_eq!((next.order_id, next.kind, next.stuck(world.now())), (id, OpKind::Void, Some(Stuck::Refused)));
}

/// An Order whose only operation is none that an Order begins with: it cannot be voided.
async fn damaged(world: &World) -> OrderId {
    let now = world.now();
    let new = NewOrder {
        id: OrderId::new(dropin_store_contract::fresh()),
        merchant_id: world.caller.merchant.id,
        session_id: None,
        attempt_id: None,
        merchant_reference: format!("damaged-{}", dropin_store_contract::fresh()),
        total: usd(1_000),
        auto_capture: false,
        payment_method: "PAYPAL".to_owned(),
        return_url: None,
    };
    let order = Order::start(new, now).edited(|parts| parts.expires_at = Some(now.plus(MINUTE))).unwrap();
    let key = OpId::new(dropin_store_contract::fresh());
    let authorization = Operation::authorize(key, order.id, usd(1_000), now, now.plus(30 * DAY));
    let prepare = PrepareAuthorization {
        session: None,
        order: order.clone(),
        checkout: Some(CheckoutRecord { document: "{}".to_owned() }),
        contract: None,
        operation: authorization.void(key, now, now.plus(30 * DAY)),
        stash: None,
        now,
        history: Vec::new(),
        key_use: None,
        audit: None,
    };
    assert!(matches!(world.store.prepare_authorization(prepare).await, Ok(AuthorizationPrepared::Done(None))));
    order.id
}

#[tokio::test]
async fn orders_that_cannot_be_ended_keep_no_other_from_its_end() {
    let world = World::new().await;
    for _ in 0..5 {
        damaged(&world).await;
    }
    let id = world.authorized().await;
    world.advance(7 * DAY);
    assert!(world.payments.expire_orders(2).await.is_err(), "somebody has to look at the damaged ones");
    assert_eq!(world.state(id).await, "CANCELLED");
}

#[tokio::test]
async fn what_a_processor_says_otherwise_is_said_in_words() {
    let world = World::new().await;
    let id = world.authorized().await;
    world.script.say(OpKind::Capture, approved(&usd(900)));
    drop(world.capture(id, None).await.unwrap());
    for otherwise in [
        StatusReply::Known(declined(false)),
        StatusReply::Known(page()),
        StatusReply::Known(ProcessorReply::Abandoned),
        StatusReply::Absent,
    ] {
        world.script.know_status(otherwise);
        let Err(ReviewError::NotAcceptable(why)) = world.payments.review(id, true, "ana", &Acting::system()).await
        else {
            panic!()
        };
        assert!(why.contains(' ') && !why.contains(['{', '(', ':']), "{why}");
    }
}
