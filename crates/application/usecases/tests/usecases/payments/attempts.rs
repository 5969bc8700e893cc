//! Several attempts to pay one Session (docs/SPECIFICATION.md#session-attempts).

use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{AttemptId, OrderId, SessionId};
use dropin_order::{DeclineReason, OpKind};
use dropin_ports::{IssuerChecks, ProcessorReply, SessionStore, StatusReply, Waiting};
use dropin_session::SessionStateKind;
use dropin_store_contract::fresh;
use dropin_usecases::audit::Audit;
use dropin_usecases::payments::{Progress, ReturnDestination, SubmitError};

use super::script::{Gate, approved, declined, unclear};
use super::world::{World, usd};

pub(super) const TOTAL: i64 = 2_990;

fn page() -> ProcessorReply {
    ProcessorReply::Pending(Waiting::Shopper { page: "https://bank.example/page".to_owned(), until: None })
}

pub(super) fn page_for_half_an_hour(world: &World) -> ProcessorReply {
    let until = Some(world.now().plus(Duration::from_secs(1_800)));
    ProcessorReply::Pending(Waiting::Shopper { page: "https://bank.example/page".to_owned(), until })
}

pub(super) fn paid(minor: i64) -> ProcessorReply {
    ProcessorReply::Approved {
        amount: Some(usd(minor)),
        captured: true,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    }
}

fn refused(reason: DeclineReason) -> ProcessorReply {
    ProcessorReply::Declined { reason, retryable: false, credential: None }
}

pub(super) fn attempt() -> AttemptId {
    AttemptId::new(fresh())
}

/// State, what the browser hears of the failed attempt, and how many are left.
fn told(progress: &Progress) -> String {
    let failed = progress.failed_attempt.map(|failed| format!(" {} {}", failed.code.as_str(), failed.attempts_left));
    let ended = progress.error_code.map(|code| format!(" {code}"));
    let checking = if progress.checking { " checking" } else { "" };
    format!("{}{}{checking}", progress.state.as_str(), failed.or(ended).unwrap_or_default())
}

pub(super) async fn progress(world: &World, id: SessionId) -> String {
    told(&world.shopper.progress(id, SessionStateKind::Created, Duration::ZERO).await.unwrap())
}

pub(super) async fn orders(world: &World, id: SessionId) -> Vec<(OrderId, String)> {
    let orders = world.store.list_attempts(id).await.unwrap();
    orders
        .into_iter()
        .map(|order| {
            let code = order.failure.map_or("", |failure| failure.as_str());
            (order.id, format!("{} {code}", order.state.as_str()).trim_end().to_owned())
        })
        .collect()
}

pub(super) async fn nothing_is_open(world: &World) -> bool {
    world.payments.store.list_open_operations(10).await.unwrap().is_empty()
}

/// The ledger, the amounts and the operations of every Order agree.
pub(super) async fn ledger_agrees(world: &World) {
    let (store, clock) = (Arc::new(world.store.clone()), world.payments.clock.clone());
    let report = Audit { store, journal: None, credentials: None, clock }.verify().await.unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[tokio::test]
async fn declined_then_paid_in_the_same_session() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, refused(DeclineReason::InsufficientFunds));
    let first = attempt();
    let id = world.session().await;
    let submitted = world.submit(id, first, "PAYPAL").await.unwrap();
    assert_eq!(told(&submitted.progress), "CREATED PAYMENT_DECLINED 4", "never the exact reason");
    assert_eq!(submitted.progress.failed_attempt.unwrap().attempt, first);
    let view = world.shopper.view(id).await.unwrap();
    assert_eq!((view.failed_attempt.unwrap().attempt, view.session.attempts.left()), (first, 4));
    let submitted = world.submit(id, attempt(), "PAYPAL").await.unwrap();
    assert_eq!(told(&submitted.progress), "COMPLETED");
    let shown = submitted.progress.order.unwrap();
    assert_eq!((shown.state.as_str(), shown.payment_method.as_str()), ("PAYMENT_AUTHORIZED", "PAYPAL"));
    let states: Vec<_> = orders(&world, id).await.into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, ["PROCESSING_FAILED INSUFFICIENT_FUNDS", "PAYMENT_AUTHORIZED"]);
    assert_eq!(world.events().await, ["SESSION_COMPLETED", "ORDER_AUTHORIZED"]);
    ledger_agrees(&world).await;
}

#[tokio::test]
async fn the_last_attempt_allowed_ends_the_session_and_tells_that_alone() {
    let world = World::new().await;
    let id = world.session().await;
    for left in (0..5).rev() {
        world.script.say(OpKind::Authorize, declined(false));
        let submitted = world.submit(id, attempt(), "PAYPAL").await.unwrap();
        let expected =
            if left == 0 { "FAILED PAYMENT_DECLINED".to_owned() } else { format!("CREATED PAYMENT_DECLINED {left}") };
        assert_eq!(told(&submitted.progress), expected);
    }
    let refused = world.submit(id, attempt(), "PAYPAL").await.unwrap_err();
    assert_eq!(refused, SubmitError::WrongState(SessionStateKind::Failed));
    assert_eq!(world.script.asked(OpKind::Authorize).len(), 5);
    assert_eq!(world.events().await, ["SESSION_FAILED"]);
}

#[tokio::test]
async fn an_attempt_id_never_starts_a_second_attempt() {
    let world = World::new().await;
    let id = world.session().await;
    let (first, second) = (attempt(), attempt());
    world.script.say(OpKind::Authorize, refused(DeclineReason::AuthenticationFailed));
    world.submit(id, first, "PAYPAL").await.unwrap();
    world.script.say(OpKind::Authorize, declined(false));
    world.submit(id, second, "PAYPAL").await.unwrap();
    for (repeated, expected) in [(first, "CREATED AUTHENTICATION_FAILED 3"), (second, "CREATED PAYMENT_DECLINED 3")] {
        let submitted = world.submit(id, repeated, "PAYPAL").await.unwrap();
        assert_eq!(told(&submitted.progress), expected);
        assert_eq!(submitted.progress.failed_attempt.unwrap().attempt, repeated);
    }
    assert_eq!(world.script.asked(OpKind::Authorize).len(), 2);
    world.submit(id, attempt(), "PAYPAL").await.unwrap();
    assert_eq!(told(&world.submit(id, first, "PAYPAL").await.unwrap().progress), "COMPLETED");
    assert_eq!(world.script.asked(OpKind::Authorize).len(), 3);
}

#[tokio::test]
async fn no_way_back_without_the_processors_final_answer() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, unclear());
    let (id, submitted) = world.submitted("PAYPAL").await;
    assert_eq!(told(&submitted.progress), "PROCESSING checking");
    assert_eq!(progress(&world, id).await, "PROCESSING checking");
    let refused_submit = world.submit(id, attempt(), "PAYPAL").await.unwrap_err();
    assert_eq!(refused_submit, SubmitError::WrongState(SessionStateKind::Processing));
    world.script.know_status(StatusReply::Unreachable { why: "away".to_owned() });
    world.settle_after(Duration::from_secs(1)).await;
    assert_eq!(progress(&world, id).await, "PROCESSING checking");
    // Absent, and then refused for ever: now it is final.
    world.settle_after(Duration::from_secs(5)).await;
    assert_eq!(progress(&world, id).await, "CREATED TRY_LATER 4");
    assert_eq!(world.events().await, [""; 0]);
}

#[tokio::test]
async fn what_takes_long_is_called_being_checked() {
    let world = Arc::new(World::new().await);
    let id = world.session().await;
    let gate = Arc::new(Gate::default());
    *world.script.gate.lock().unwrap() = Some(gate.clone());
    let paying = tokio::spawn({
        let world = world.clone();
        async move { told(&world.submit(id, attempt(), "PAYPAL").await.unwrap().progress) }
    });
    gate.arrived.notified().await;
    assert_eq!(progress(&world, id).await, "PROCESSING");
    world.advance(Duration::from_secs(11));
    assert_eq!(progress(&world, id).await, "PROCESSING checking");
    gate.open.notify_one();
    assert_eq!(paying.await.unwrap(), "COMPLETED");
}

#[tokio::test]
async fn back_after_the_end_of_the_session_is_its_end() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = world.submitted("PAYPAL").await;
    world.advance(Duration::from_secs(25 * 3_600));
    assert_eq!(progress(&world, id).await, "REDIRECTED", "the page is still payable");
    world.script.know(refused(DeclineReason::CancelledByShopper));
    let order = orders(&world, id).await[0].0;
    let back = world.shopper.return_shopper(order, Duration::ZERO).await.unwrap();
    assert_eq!(back, ReturnDestination::To("http://127.0.0.1:8081/cart".to_owned()));
    assert_eq!(progress(&world, id).await, "CANCELLED SESSION_EXPIRED");
    assert_eq!(world.events().await, ["SESSION_CANCELLED"]);
}

#[tokio::test]
async fn an_old_way_back_leads_to_the_page_with_the_drop_in() {
    let world = World::new().await;
    world.script.say(OpKind::Authorize, page());
    let (id, _) = world.submitted("PAYPAL").await;
    let first = orders(&world, id).await[0].0;
    world.script.know(refused(DeclineReason::CancelledByShopper));
    world.shopper.return_shopper(first, Duration::ZERO).await.unwrap();
    world.script.say(OpKind::Authorize, page());
    world.submit(id, attempt(), "PAYPAL").await.unwrap();
    let back = world.shopper.return_shopper(first, Duration::ZERO).await.unwrap();
    assert_eq!(
        back,
        ReturnDestination::To("http://127.0.0.1:8081/cart".to_owned()),
        "whatever the second attempt does"
    );
}

#[tokio::test]
async fn pay_another_way_closes_the_page_first() {
    let world = World::new().await;
    let id = world.session().await;
    let first = attempt();
    world.script.say(OpKind::Authorize, page());
    world.submit(id, first, "PAYPAL").await.unwrap();
    let other = world.shopper.pay_another_way(id, attempt()).await.unwrap();
    assert_eq!(told(&other.progress), "REDIRECTED", "another attempt's page is none of its business");
    world.advance(Duration::from_secs(11 * 60));
    world.script.on_abandon(StatusReply::Unreachable { why: "away".to_owned() });
    let unclear = world.shopper.pay_another_way(id, first).await.unwrap();
    assert_eq!(told(&unclear.progress), "REDIRECTED checking", "it may be closed, and it may be paid");
    assert_eq!(progress(&world, id).await, "REDIRECTED checking", "after a reload, too");
    world.script.know(page());
    // The question is new, however old the page is: it is asked again as soon as any other.
    world.settle_after(Duration::from_secs(20)).await;
    assert_eq!(progress(&world, id).await, "REDIRECTED", "the processor says that it is still open");
    world.script.on_abandon(StatusReply::Known(refused(DeclineReason::PageClosed)));
    let closed = world.shopper.pay_another_way(id, first).await.unwrap();
    assert_eq!(told(&closed.progress), "CREATED PAGE_CANCELLED 4");
    assert_eq!(told(&world.shopper.pay_another_way(id, first).await.unwrap().progress), "CREATED PAGE_CANCELLED 4");
    assert_eq!(orders(&world, id).await[0].1, "PROCESSING_FAILED OTHER_WAY_CHOSEN");
    assert_eq!(told(&world.submit(id, attempt(), "PAYPAL").await.unwrap().progress), "COMPLETED");
    assert!(nothing_is_open(&world).await);
    ledger_agrees(&world).await;
}

#[tokio::test]
async fn what_was_paid_while_paying_another_way_wins() {
    let world = World::new().await;
    let id = world.session().await;
    let first = attempt();
    world.script.say(OpKind::Authorize, page());
    world.submit(id, first, "PAYPAL").await.unwrap();
    world.script.on_abandon(StatusReply::Known(approved(&usd(TOTAL))));
    let submitted = world.shopper.pay_another_way(id, first).await.unwrap();
    assert_eq!(told(&submitted.progress), "COMPLETED");
    assert_eq!(world.events().await, ["SESSION_COMPLETED", "ORDER_AUTHORIZED"]);
}

/// A processor may close a page in the moment in which it was paid: what was told as authorized is cancelled, and told so.
#[tokio::test]
async fn what_was_closed_while_it_was_paid_is_cancelled() {
    let world = World::new().await;
    let id = world.session().await;
    let first = attempt();
    world.script.say(OpKind::Authorize, page());
    world.submit(id, first, "PAYPAL").await.unwrap();
    let gate = Arc::new(Gate::default());
    *world.script.gate.lock().unwrap() = Some(gate.clone());
    world.script.on_abandon(StatusReply::Known(refused(DeclineReason::PageClosed)));
    world.script.say(OpKind::Void, approved(&usd(TOTAL)));
    let leaving = tokio::spawn({
        let shopper = world.shopper.clone();
        async move { shopper.pay_another_way(id, first).await.map(drop) }
    });
    gate.arrived.notified().await;
    world.script.know(approved(&usd(TOTAL)));
    world.settle_after(Duration::from_secs(30)).await;
    assert_eq!(progress(&world, id).await, "COMPLETED");
    gate.open.notify_one();
    leaving.await.unwrap().unwrap();
    assert_eq!(world.events().await, ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_CANCELLED"]);
    assert!(nothing_is_open(&world).await);
    ledger_agrees(&world).await;
}

#[tokio::test]
async fn a_page_that_was_closed_and_not_written_down_is_found_out_by_the_settler() {
    let world = World::new().await;
    let id = world.session().await;
    let first = attempt();
    world.script.say(OpKind::Authorize, page());
    world.submit(id, first, "PAYPAL").await.unwrap();
    world.script.know(page());
    world.settle_after(Duration::from_secs(3_600)).await;
    // The answer is lost, as it is when the program dies right after the call.
    world.script.on_abandon(StatusReply::Unreachable { why: "reset".to_owned() });
    world.shopper.pay_another_way(id, first).await.unwrap();
    world.script.know(refused(DeclineReason::PageClosed));
    world.settle_after(Duration::from_secs(15 * 60)).await;
    assert_eq!(progress(&world, id).await, "CREATED PAGE_CANCELLED 4");
}
