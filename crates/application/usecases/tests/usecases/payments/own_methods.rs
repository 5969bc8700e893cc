//! Payments by methods that the deployment's file adds, whose rules differ from those of a method that is not known.

use std::sync::Arc;
use std::time::Duration;

use dropin_catalogue::{Catalogue, Class, Method, WindowFrom};
use dropin_kernel::{OrderId, Timestamp};
use dropin_money::Decimal;
use dropin_order::{Channel, OpKind};
use dropin_ports::{ProcessorReply, Waiting};
use dropin_usecases::payments::{CaptureError, Payments, RefundAsk, RefundError};

use super::script::{approved, unclear};
use super::world::{World, answer, usd};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Two hours to pay, three days to capture from the Order's creation, all of it only.
fn whole() -> Method {
    let builder = Method::builder("WHOLE", "Whole", Class::Online).patience(HOUR * 2).capture_later(true);
    builder.capture_window(DAY * 3, WindowFrom::Creation).sandbox(true).build().unwrap()
}

/// As its class, and captured in part.
fn parts() -> Method {
    let builder = Method::builder("PARTS", "Parts", Class::Online).capture_later(true).partial_capture(true);
    builder.sandbox(true).build().unwrap()
}

/// Paid in cash: nothing goes back the way it came.
fn cash() -> Method {
    Method::builder("CASH", "Cash", Class::Online).refunds(false).sandbox(true).build().unwrap()
}

async fn world() -> World {
    World::with(Catalogue::of_sandbox().with([whole(), parts(), cash()]).unwrap()).await
}

/// The same deployment's payments in another program, with another file.
fn elsewhere(world: &World, catalogue: Catalogue) -> Payments {
    Payments { catalogue: Arc::new(catalogue), ..world.payments.clone() }
}

fn page(until: Option<Timestamp>) -> ProcessorReply {
    ProcessorReply::Pending(Waiting::Shopper { page: "https://bank.example/page".to_owned(), until })
}

/// Looks at what is due, as the settler does.
async fn settle(payments: &Payments) {
    let claims = payments.claim_due(100).await.unwrap();
    assert_eq!(claims.len(), 1);
    payments.settle_one(claims[0]).await.unwrap();
}

async fn end(world: &World, id: OrderId) -> Timestamp {
    world.order(id).await.expires_at.unwrap()
}

/// What the server-to-server checkout was told.
fn expiry(body: &[u8]) -> String {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap();
    body["Expiry"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_shopper_has_as_long_as_the_method_says() {
    let world = world().await;
    for (until, expected) in [(None, HOUR * 2), (Some(HOUR * 9), HOUR * 2), (Some(HOUR), HOUR)] {
        world.script.say(OpKind::Authorize, page(until.map(|span| world.now().plus(span))));
        let (id, told) = world.checkout("WHOLE", false).await;
        assert_eq!(end(&world, id).await, world.now().plus(expected), "{until:?}");
        assert_eq!(expiry(&told.body), world.now().plus(expected).to_string());
    }
}

#[tokio::test]
async fn an_answer_without_an_end_counts_by_the_methods_own_times() {
    let world = world().await;
    world.script.say(OpKind::Authorize, unclear());
    let (_id, told) = world.checkout("WHOLE", false).await;
    assert_eq!(expiry(&told.body), world.now().plus(HOUR * 2).to_string());
}

#[tokio::test]
async fn it_is_captured_within_its_own_window() {
    let world = world().await;
    world.script.say(OpKind::Authorize, page(None));
    let (id, _told) = world.checkout("WHOLE", false).await;
    let created = world.now();
    world.script.know(approved(&usd(1_000)));
    assert_eq!(world.settle_after(HOUR).await, 1);
    assert_eq!((world.state(id).await, end(&world, id).await), ("PAYMENT_AUTHORIZED", created.plus(DAY * 3)));
}

#[tokio::test]
async fn it_is_captured_in_part_when_it_says_so() {
    let world = world().await;
    let (whole, _told) = world.checkout("WHOLE", false).await;
    let refused = world.capture(whole, Some("4.00")).await.unwrap_err();
    let CaptureError::Amount(violation) = refused else { panic!("{refused:?}") };
    assert!(violation.message.contains("send all of it, 10.00 USD"), "{}", violation.message);
    assert_eq!(world.capture(whole, Some("10.00")).await.unwrap().status, 200);
    let (parts, _told) = world.checkout("PARTS", false).await;
    assert_eq!(world.capture(parts, Some("4.00")).await.unwrap().status, 200);
    assert_eq!(world.order(parts).await.amounts.captured(), &usd(400));
}

#[tokio::test]
async fn it_is_refunded_when_it_says_so() {
    let world = world().await;
    let (whole, _told) = world.checkout("WHOLE", true).await;
    assert_eq!(world.refund(whole, "r1", Some("4.00")).await.unwrap().status, 201);
    let (cash, _told) = world.checkout("CASH", true).await;
    for amount in [None, Some("4.00")] {
        let refused = world.refund(cash, "r1", amount).await.unwrap_err();
        let RefundError::Amount(violation) = refused else { panic!("{refused:?}") };
        assert!(violation.message.contains("gives nothing back"), "{}", violation.message);
    }
    assert_eq!(world.refunds(cash).await, []);
    // A program whose file has no such method leaves it to the processor.
    let forgotten = elsewhere(&world, Catalogue::of_sandbox());
    let ask = RefundAsk { reference: "r1".to_owned(), amount: None, description: None };
    assert_eq!(answer(forgotten.refund(&world.caller.act(None), cash, &ask, None).await.unwrap()).status, 201);
}

/// session-api and the settler offer nothing: they know the methods of the file.
#[tokio::test]
async fn a_program_that_offers_nothing_knows_the_same_rules() {
    let world = world().await;
    let known = Catalogue::new(|_| false, &Default::default()).with_known([whole(), parts()]).unwrap();
    let elsewhere = elsewhere(&world, known);
    world.script.say(OpKind::Authorize, page(None));
    let (id, _told) = world.checkout("WHOLE", false).await;
    let created = world.now();
    world.script.know(approved(&usd(1_000)));
    world.advance(HOUR);
    settle(&elsewhere).await;
    assert_eq!(end(&world, id).await, created.plus(DAY * 3));
    let part = Decimal::parse("4.00").unwrap();
    let refused = elsewhere.capture(&world.caller.act(None), id, Some(&part), Channel::Order, None).await.unwrap_err();
    assert!(matches!(refused, CaptureError::Amount(_)), "{refused:?}");
}

/// The operator took the method out of the file while a payment by it went on.
#[tokio::test]
async fn a_payment_outlasts_its_method() {
    let world = world().await;
    world.script.say(OpKind::Authorize, page(None));
    let (id, _told) = world.checkout("WHOLE", false).await;
    let forgotten = elsewhere(&world, Catalogue::of_sandbox());
    world.script.know(approved(&usd(1_000)));
    world.advance(HOUR);
    settle(&forgotten).await;
    assert_eq!((world.state(id).await, end(&world, id).await), ("PAYMENT_AUTHORIZED", world.now().plus(DAY * 7)));
    let part = Decimal::parse("4.00").unwrap();
    let told = answer(forgotten.capture(&world.caller.act(None), id, Some(&part), Channel::Order, None).await.unwrap());
    assert_eq!((told.status, world.state(id).await), (200, "PROCESSED"), "the processor refuses what it cannot do");
}
