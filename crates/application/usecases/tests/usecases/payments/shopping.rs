//! Sessions whose shopper is sent elsewhere.

use std::sync::Arc;
use std::time::Duration;

use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{PaymentStore, ProcessorReply, SessionStore, Waiting};
use dropin_session::SessionStateKind;
use dropin_usecases::payments::ReturnDestination;

use super::script::{Gate, approved, unclear};
use super::world::{World, usd};

fn page() -> ProcessorReply {
    ProcessorReply::Pending(Waiting::Shopper { page: "https://bank.example/page".to_owned(), until: None })
}

async fn order_of(world: &World, id: dropin_kernel::SessionId) -> dropin_kernel::OrderId {
    let found = world.store.find_session_for_shopper(id).await.unwrap().unwrap();
    found.order.unwrap().id
}

async fn session(world: &World, id: dropin_kernel::SessionId) -> String {
    let progress = world.shopper.progress(id, SessionStateKind::Created, Duration::ZERO).await.unwrap();
    let failed = progress.failed_attempt.map(|failed| failed.code.as_str());
    format!("{} {}", progress.state.as_str(), progress.error_code.or(failed).unwrap_or("-"))
}

#[tokio::test]
async fn a_shopper_who_pays_on_the_page_comes_back_to_the_complete_url() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, submitted) = world.submitted("PAYPAL").await;
    let seen = submitted.progress.page.expect("a page to visit");
    assert_eq!((seen.url.as_str(), seen.challenge), ("https://bank.example/page", false));
    assert_eq!(session(&world, id).await, "REDIRECTED -");
    world.script.know(approved(&usd(2_990)));
    let back = world.shopper.return_shopper(order_of(&world, id).await, Duration::ZERO).await.unwrap();
    assert_eq!(back, ReturnDestination::To(format!("https://shop.example/paid?session={id}")));
    assert_eq!(session(&world, id).await, "COMPLETED -");
    assert_eq!(world.events().await, ["SESSION_COMPLETED", "ORDER_AUTHORIZED"]);
}

#[tokio::test]
async fn a_shopper_who_cancels_comes_back_to_the_cancel_url() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = world.submitted("PAYPAL").await;
    let reason = DeclineReason::CancelledByShopper;
    world.script.know(ProcessorReply::Declined { reason, retryable: false, credential: None });
    let back = world.shopper.return_shopper(order_of(&world, id).await, Duration::ZERO).await.unwrap();
    assert_eq!(back, ReturnDestination::To("http://127.0.0.1:8081/cart".to_owned()));
    assert_eq!(session(&world, id).await, "CREATED PAGE_CANCELLED");
    assert_eq!(world.events().await, [""; 0]);
}

#[tokio::test]
async fn a_shopper_who_never_comes_back_leaves_an_expired_session_and_a_void() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = world.submitted("PAYPAL").await;
    world.script.know(page());
    world.settle_after(Duration::from_secs(60)).await;
    assert_eq!(session(&world, id).await, "REDIRECTED -");
    world.advance(Duration::from_secs(48 * 3_600));
    assert_eq!(world.payments.expire_orders(10).await.unwrap(), 1);
    assert_eq!(session(&world, id).await, "CANCELLED SESSION_EXPIRED");
    assert_eq!(world.script.asked(OpKind::Void).len(), 1);
    assert_eq!(world.events().await, ["SESSION_CANCELLED"]);
}

#[tokio::test]
async fn a_shopper_who_pays_and_closes_the_page_has_paid() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = world.submitted("PAYPAL").await;
    world.script.know(approved(&usd(2_990)));
    world.settle_after(Duration::from_secs(1)).await;
    assert_eq!(session(&world, id).await, "COMPLETED -");
}

#[tokio::test]
async fn the_shopper_of_a_checkout_comes_back_with_order_and_state() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = world.checkout("PAYPAL", false).await;
    let expected =
        |state| ReturnDestination::To(format!("https://shop.example/back?cart=1&OrderId={id}&State={state}#top"));
    world.script.know(unclear());
    assert_eq!(
        world.shopper.return_shopper(id, Duration::ZERO).await.unwrap(),
        ReturnDestination::Waiting,
        "it may be paid"
    );
    world.advance(Duration::from_millis(500));
    world.script.know(page());
    let back = world.shopper.return_shopper(id, Duration::ZERO).await.unwrap();
    assert_eq!(back, expected("PROCESSING"), "nothing was decided on the page");
    world.advance(Duration::from_millis(500));
    world.script.know(approved(&usd(1_000)));
    let back = world.shopper.return_shopper(id, Duration::ZERO).await.unwrap();
    assert_eq!(back, expected("PAYMENT_AUTHORIZED"));
}

#[tokio::test]
async fn nobody_who_loads_the_page_ends_a_payment_that_is_being_asked_for() {
    let world = Arc::new(World::new().await);
    let gate = Arc::new(Gate::default());
    *world.script.gate.lock().unwrap() = Some(gate.clone());
    let paying = tokio::spawn({
        let world = world.clone();
        async move { world.checkout("PAYPAL", false).await.0 }
    });
    gate.arrived.notified().await;
    let [authorization] = &world.store.list_open_operations(10).await.unwrap()[..] else { panic!("an authorization") };
    let back = world.shopper.return_shopper(authorization.order_id, Duration::ZERO).await.unwrap();
    assert_eq!((back, world.script.questions()), (ReturnDestination::Waiting, 0), "its holder is still about to ask");
    gate.open.notify_one();
    assert_eq!(world.state(paying.await.unwrap()).await, "PAYMENT_AUTHORIZED");
}
