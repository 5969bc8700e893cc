use std::sync::Arc;

use dropin_kernel::{OpId, OrderId};
use dropin_money::Currency;
use dropin_order::{BankDetails, OpKind, OpState, Operation, Order, OrderState, VoidCause};
use dropin_ports::{
    Actor, ChangeOrder, Changed, LapsedOrder, OpenOperations, OrderChanged, OrderName, Payment, Settled, StoreError,
    StoredHistoryEntry,
};
use dropin_session::SessionState;

use crate::Harness;
use crate::harness::{approval, capture, outcome};
use crate::steps::{checkout, void};
use crate::values::edit;
use crate::values::{
    at, audited, bank_details, fresh, minor, new_session, of_order, of_session, order_event, posting, terms,
};

/// A change that no operation goes with.
pub(super) fn changing(order: dropin_kernel::Change<Order>) -> ChangeOrder {
    ChangeOrder { order, operation: None, refund: None, history: vec![], events: vec![], key_use: None, audit: None }
}

/// The shopper of a payment that was submitted is sent to a hosted page until second 900; the operation stays open until 60.
async fn redirected(harness: &Harness, payment: &Payment) -> Payment {
    let step = payment.order.redirected("https://bank.example/page?é=1".to_owned(), at(900), at(20)).unwrap();
    let mut settlement = outcome(payment.operation.id, OpState::Pending, at(60));
    settlement.order = Some(step.change);
    let session = payment.session.as_ref().map(|session| session.as_processing().unwrap().redirected(at(20)).0);
    settlement.session = session;
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    harness.payment(payment.operation.id).await
}

pub async fn a_hosted_page_comes_back_whole(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let submitted = harness.submitted(merchant.id).await;
    let away = redirected(&harness, &submitted).await;
    assert_eq!(away.operation, Operation { state: OpState::Pending, due_at: at(60), ..submitted.operation.clone() });
    assert_eq!(away.order.page.as_deref(), Some("https://bank.example/page?é=1"));
    assert_eq!((away.order.expires_at, away.order.revision), (Some(at(900)), submitted.order.revision.next()));
    let session = away.session.clone().unwrap();
    assert!(matches!(session.state, SessionState::Redirected { order, .. } if order == away.order.id));
    let found = harness.sessions.find_session(merchant.id, session.id).await.unwrap().unwrap();
    assert_eq!((found.session, found.order), (session.clone(), Some(away.order.clone())));
    // Decided on the Order of before, while the operation is still open.
    assert_eq!(harness.payments.settle(approval(&submitted)).await, Ok(Settled::Stale));
    let (back, _) = session.as_redirected().unwrap().returned(at(70));
    let (completed, _) = back.next.as_processing().unwrap().authorized(at(70));
    let step = away.order.authorized(&away.order.total, true, at(9_000), posting(), at(70)).unwrap();
    let mut settlement = outcome(away.operation.id, OpState::Approved, at(70));
    settlement.order = Some(step.change.clone());
    settlement.session = Some(back);
    assert_eq!(harness.payments.settle(settlement.clone()).await, Ok(Settled::Done));
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::AlreadySettled));
    let history = of_session(&completed.next, "COMPLETE", at(70));
    let written = harness.sessions.change_session(crate::harness::changing(completed, history, vec![])).await;
    assert_eq!(written, Ok(Changed::Done));
    assert_eq!(
        harness.payments.change_order(changing(step.change.next.clone().touched())).await,
        Ok(OrderChanged::Done)
    );
    let found = harness.payment(away.operation.id).await;
    assert_eq!(found.order, step.change.next.touched().next);
    assert_eq!((&found.order.page, found.order.under_review), (&None, true));
    assert!(matches!(found.session.unwrap().state, SessionState::Completed { .. }));
}

/// A change that moves nothing but the revision.
pub(super) trait Touched {
    fn touched(self) -> dropin_kernel::Change<Order>;
}

impl Touched for Order {
    fn touched(self) -> dropin_kernel::Change<Order> {
        let expected = self.revision;
        dropin_kernel::Change { next: self.at_revision(expected.next()), expected }
    }
}

pub async fn every_member_of_an_order_comes_back(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut prepare = checkout(merchant.id, "checkout-1", at(10));
    let page = Some("https://pay.example/v1/transfer/1".to_owned());
    prepare.order = prepare.order.with_transfer(Some("checkout-1".to_owned()), page);
    let (mut order, operation) = (prepare.order.clone(), prepare.operation.id);
    harness.payments.prepare_authorization(prepare).await.unwrap();
    assert_eq!(harness.payment(operation).await.order, order);
    let usd = |amount| minor(Currency::Usd, amount);
    let banks = [bank_details(), BankDetails::default()].map(|details| Some(Box::new(details)));
    let mut shapes: Vec<Order> = vec![];
    shapes.extend(banks.map(|bank_details| order.clone().edited(|parts| parts.bank_details = bank_details).unwrap()));
    shapes.extend(VoidCause::ALL.map(|cause| order.clone().edited(|parts| parts.voiding = Some(cause)).unwrap()));
    shapes.extend(
        [1, 2_990].map(|amount| order.clone().edited(|parts| parts.capture_promised = Some(usd(amount))).unwrap()),
    );
    shapes.push(
        order
            .clone()
            .edited(|parts| {
                parts.page = Some("https://bank.example/".to_owned());
                parts.expires_at = Some(at(99));
            })
            .unwrap(),
    );
    shapes.extend(OrderState::ALL.map(|state| {
        order
            .clone()
            .edited(|parts| {
                parts.state = state;
                parts.under_review = true;
            })
            .unwrap()
    }));
    shapes.push(order.clone());
    let entries_before = harness.count("audit_log", "1 = 1");
    // Each by a settlement, whose entry in the audit log is there too, and then by a change.
    for (number, shape) in shapes.iter().chain(&shapes).enumerate() {
        let change = shape.clone().edited(|parts| parts.revision = order.revision).unwrap().touched();
        order = change.next.clone();
        if number < shapes.len() {
            let mut settlement = outcome(operation, OpState::Pending, at(20));
            (settlement.order, settlement.audit) = (Some(change), Some(audited()));
            assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
            assert_eq!(harness.count("audit_log", "1 = 1"), entries_before + number + 1);
        } else {
            assert_eq!(harness.payments.change_order(changing(change)).await, Ok(OrderChanged::Done));
        }
        assert_eq!(harness.find_order(merchant.id, order.id).await, Ok(Some(order.clone())));
        assert_eq!(harness.payments.find_order_anywhere(order.id).await, Ok(Some((order.clone(), None))));
    }
}

pub async fn a_change_of_an_order_is_written_whole(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let asked = void(&payment, at(30));
    let told = vec![order_event(&asked.order.next, "FIRST", at(30)), order_event(&asked.order.next, "SECOND", at(30))];
    let mut change: ChangeOrder = asked.clone().into();
    change.events = told.clone();
    assert_eq!(harness.payments.change_order(change.clone()).await, Ok(OrderChanged::Done));
    let found = harness.payment(asked.operation.id).await;
    assert_eq!((found.operation, &found.order, found.refund), (asked.operation.clone(), &asked.order.next, None));
    assert_eq!(found.order.voiding, Some(VoidCause::Merchant));
    let events = harness.raw.values(&format!(
        "SELECT event_type AS value FROM outbox_event WHERE payment_id = '{}' ORDER BY sequence",
        payment.order.payment_id()
    ));
    assert_eq!(events, ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "FIRST", "SECOND"]);
    assert_eq!(harness.count("history", "what = 'VOID_REQUESTED'"), 1);
    // Whose answer got lost finds it written; what was decided on what is no more is not: neither writes a thing, and the void is settled.
    assert_eq!(harness.payments.change_order(change.clone()).await, Ok(OrderChanged::Done));
    let operation = Some(payment.operation.void(OpId::new(fresh()), at(30), at(40)));
    assert_eq!(harness.payments.change_order(ChangeOrder { operation, ..change }).await, Ok(OrderChanged::Stale));
    let step = found.order.voided(posting(), at(31)).unwrap();
    let mut settlement = outcome(asked.operation.id, OpState::Approved, at(31));
    (settlement.order, settlement.ledger) = (Some(step.change.clone()), step.ledger);
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    assert_eq!(harness.find_order(merchant.id, payment.order.id).await, Ok(Some(step.change.next.clone())));
    assert_eq!(step.change.next.state, OrderState::Cancelled);
    assert_eq!(harness.count("processor_op", "kind = 'VOID'") + harness.count("outbox_event", "1 = 1"), 5);
}

pub async fn a_change_that_is_stale_writes_nothing(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    let order = payment.order.clone();
    let mut late_order = order.clone().touched();
    late_order.expected = order.revision.next();
    edit(&mut late_order.next, |order| order.revision = order.revision.next());
    let operation = Some(payment.operation.void(OpId::new(fresh()), at(20), at(30)));
    let history = vec![of_order(&order, "TEST", at(20))];
    let events = vec![order_event(&order, "TEST", at(20))];
    let change = ChangeOrder { operation, history, events, ..changing(order.clone().touched()) };
    let stale = ChangeOrder { order: late_order, ..change.clone() };
    assert_eq!(harness.payments.change_order(stale).await, Ok(OrderChanged::Stale));
    assert_eq!(harness.payment(payment.operation.id).await, payment);
    assert_eq!(harness.count("processor_op", "kind = 'VOID'") + harness.count("outbox_event", "1 = 1"), 0);
    assert_eq!(harness.count("history", "what = 'TEST'"), 0);
    let mut jump = change.clone();
    edit(&mut jump.order.next, |order| order.revision = order.revision.next());
    let refused = harness.payments.change_order(jump).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    // Somebody else's merchant changes nothing either.
    let mut foreign = change.clone();
    let other = harness.merchant().await.0.id;
    edit(&mut foreign.order.next, |order| order.merchant_id = other);
    assert_eq!(harness.payments.change_order(foreign).await, Ok(OrderChanged::Stale));
    assert_eq!(harness.payments.change_order(change).await, Ok(OrderChanged::Done));
}

pub async fn one_open_ending_at_a_time(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let first = void(&payment, at(30));
    assert_eq!(harness.ask(&first).await, Ok(OrderChanged::Done));
    // A defect of ours that would capture while a void is in flight is stopped by the database, and nothing of it stays.
    let mut second = capture(&payment, None, at(31));
    second.order.expected = first.order.next.revision;
    edit(&mut second.order.next, |order| order.revision = first.order.next.revision.next());
    let refused = harness.ask(&second).await;
    assert!(
        matches!(&refused, Err(StoreError::Refused(why)) if why.contains("one_open_ending") || why.contains("order_id"))
    );
    assert_eq!(harness.find_order(merchant.id, payment.order.id).await, Ok(Some(first.order.next.clone())));
    // Once the void was refused, a capture may begin, as what follows from that.
    let step = first.order.next.void_refused(None, at(32)).unwrap();
    let mut settlement = outcome(first.operation.id, OpState::Declined, at(32));
    settlement.follow_up = Some(second.operation.clone());
    settlement.order = Some(step.change);
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    let kinds: Vec<_> =
        harness.payments.list_operations(payment.order.id).await.unwrap().into_iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [OpKind::Authorize, OpKind::Void, OpKind::Capture]);
}

pub async fn a_promised_capture_is_kept(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let review = payment.order.amount_differs(at(21)).unwrap();
    assert_eq!(harness.payments.change_order(changing(review.change.clone())).await, Ok(OrderChanged::Done));
    let half = minor(Currency::Usd, 1_495);
    let plan = review.change.next.plan_capture(Some(&half), at(22)).unwrap();
    let dropin_order::CapturePlan::UnderReview(Some(step)) = plan else { panic!("{plan:?}") };
    assert_eq!(harness.payments.change_order(changing(step.change)).await, Ok(OrderChanged::Done));
    let found = harness.find_order(merchant.id, payment.order.id).await.unwrap().unwrap();
    assert_eq!((found.capture_due(), found.under_review), (Some(half), true));
}

pub async fn lapsed_orders_come_oldest_end_first(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    assert_eq!(harness.payments.find_lapsed_orders(at(999_999), None, 10).await, Ok(vec![]));
    let mut shapes = vec![];
    for (number, end) in [300, 100, 200, 100, 400].into_iter().enumerate() {
        let prepare = checkout(merchant.id, &format!("lapsing-{number}"), at(10));
        let order = prepare.order.clone();
        harness.payments.prepare_authorization(prepare).await.unwrap();
        shapes.push(order.edited(|parts| parts.expires_at = Some(at(end))).unwrap());
    }
    edit(&mut shapes[2], |order| order.state = OrderState::PaymentAuthorized);
    let write = async |order: &Order| {
        let change = order.clone().touched();
        assert_eq!(harness.payments.change_order(changing(change.clone())).await, Ok(OrderChanged::Done));
        change.next
    };
    let mut orders = vec![];
    for shape in &shapes {
        orders.push(write(shape).await);
    }
    let lapsed = async |second, limit| {
        let found = harness.payments.find_lapsed_orders(at(second), None, limit).await.unwrap();
        let is_it = |one: &LapsedOrder, order: &Order| (order.id, order.expires_at) == (one.id, Some(one.end));
        found.iter().map(|one| orders.iter().position(|order| is_it(one, order)).unwrap()).collect::<Vec<_>>()
    };
    let of_one_end = |mut found: Vec<usize>| {
        found[..2].sort_unstable();
        found
    };
    assert_eq!(lapsed(99, 10).await, [0; 0]);
    assert_eq!(of_one_end(lapsed(300, 10).await), [1, 3, 2, 0], "the end of its time belongs to it no more");
    assert_eq!(of_one_end(lapsed(300, 3).await), [1, 3, 2]);
    let all = harness.payments.find_lapsed_orders(at(300), None, 10).await.unwrap();
    for (number, after) in all.iter().enumerate() {
        let rest = harness.payments.find_lapsed_orders(at(300), Some(*after), 10).await.unwrap();
        assert_eq!(rest, all[number + 1..], "those of the same end too");
    }
    // A void or a capture in flight, an end that came, and a review by the provider are left alone.
    let held = |order: &Order| order.clone().edited(|parts| parts.voiding = Some(VoidCause::Merchant)).unwrap();
    write(&held(&orders[1])).await;
    write(&orders[3].clone().edited(|parts| parts.state = OrderState::Cancelled).unwrap()).await;
    write(&orders[2].clone().edited(|parts| parts.state = OrderState::CommitAccepted).unwrap()).await;
    let amounts = dropin_order::Amounts::restore(
        minor(Currency::Usd, 9),
        minor(Currency::Usd, 0),
        minor(Currency::Usd, 0),
        minor(Currency::Usd, 9),
        minor(Currency::Usd, 0),
    );
    let capturing = orders[0]
        .clone()
        .edited(|parts| {
            parts.amounts = amounts.unwrap();
            parts.state = OrderState::PaymentAuthorized;
        })
        .unwrap();
    let capturing = write(&capturing).await;
    assert_eq!(lapsed(300, 10).await, [0; 0]);
    write(&capturing.edited(|parts| parts.amounts = orders[4].amounts.clone()).unwrap()).await;
    assert_eq!(harness.payments.find_lapsed_orders(at(300), None, 10).await.unwrap().len(), 1);
    // Without an end it never lapses, and a row that makes no sense is named as any other.
    write(&orders[4].clone().edited(|parts| parts.expires_at = None).unwrap()).await;
    harness.raw.execute(&format!("UPDATE purchase_order SET currency = 'ZZZ' WHERE id = '{}'", orders[0].id)).unwrap();
    let named = harness.payments.find_lapsed_orders(at(999_999), None, 10).await.unwrap();
    assert_eq!(named, [LapsedOrder { end: at(300), id: orders[0].id }]);
    assert!(matches!(harness.payments.find_order_anywhere(orders[0].id).await, Err(StoreError::Corrupt { .. })));
}

pub async fn an_order_is_found_by_its_reference(harness: Arc<Harness>) {
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let session = harness.session(merchant.id).await;
    // The Session has had another reference before.
    let (change, _) = session.as_created().unwrap().replace(terms(), at(5));
    let history = of_session(&change.next, "REPLACE", at(5));
    let replaced = change.next.clone();
    harness.sessions.replace_session(dropin_ports::ReplaceSession { change, history, response: None }).await.unwrap();
    let find = async |merchant: &dropin_access::Merchant, reference: &str| {
        let name = OrderName::Reference(reference.to_owned());
        let (order, order_details) =
            (harness.payments.find_order(merchant.id, &name), harness.payments.find_order_details(merchant.id, &name));
        let order = order.await.unwrap();
        assert_eq!(order_details.await.unwrap().map(|order_details| order_details.order), order);
        order
    };
    let reference = replaced.terms.merchant_reference.as_str();
    let payment = harness.submitted_with(&replaced).await;
    assert_eq!(find(&merchant, reference).await, None, "not shown yet");
    let payment = harness.settle_authorized(&payment).await;
    assert_eq!(find(&merchant, reference).await, Some(payment.order.clone()));
    assert_eq!(find(&merchant, session.terms.merchant_reference.as_str()).await, None, "the reference of before");
    assert_eq!(find(&other, reference).await, None);
    assert_eq!(find(&merchant, "nobody's").await, None);
    for name in ["paid-1", reference] {
        let prepare = checkout(other.id, name, at(10));
        let order = prepare.order.clone();
        harness.payments.prepare_authorization(prepare).await.unwrap();
        assert_eq!(find(&other, name).await, Some(order), "of a checkout, shown from the start");
    }
    assert_eq!(find(&merchant, reference).await, Some(payment.order));
    assert_eq!(find(&merchant, "paid-1").await, None);
}

pub async fn order_details_tell_the_life_in_order(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    let mut order = payment.order.clone();
    let actors =
        [Actor::Merchant("Zoë 🔑".to_owned()), Actor::Shopper, Actor::Operator("Bob".to_owned()), Actor::System];
    for actor in actors.clone() {
        let change = order.touched();
        order = change.next.clone();
        // Two steps at one moment, and one that a slow clock dates earlier.
        let mut step = of_order(&order, "TEST", at(7));
        (step.actor, step.before) = (actor, None);
        let change = ChangeOrder { history: vec![step.clone(), step], ..changing(change) };
        assert_eq!(harness.payments.change_order(change).await, Ok(OrderChanged::Done));
    }
    for (reference, amount) in [("z", 1), ("a", 2), ("m", 3)] {
        let current = harness.payment(payment.operation.id).await;
        harness.refunding(&current, reference, Some(&minor(Currency::Usd, amount))).await;
    }
    let name = OrderName::Id(order.id);
    let found = harness.payments.find_order_details(merchant.id, &name).await.unwrap().unwrap();
    assert_eq!(Some(found.order), harness.find_order(merchant.id, order.id).await.unwrap());
    assert_eq!(found.refunds.iter().map(|one| one.reference.as_str()).collect::<Vec<_>>(), ["z", "a", "m"]);
    let steps: Vec<_> = found.history.iter().map(|step| step.what.as_str()).collect();
    assert_eq!(steps[..3], ["START", "AUTHORIZED", "CAPTURE_REQUESTED"]);
    assert_eq!(steps[3..11], ["TEST"; 8]);
    assert_eq!(steps[11..], ["REFUND_REQUESTED"; 3]);
    let tested = |actor: &Actor| StoredHistoryEntry {
        actor: actor.clone(),
        what: "TEST".to_owned(),
        at: at(7),
        before: None,
        after: "PROCESSED".to_owned(),
    };
    let expected: Vec<_> = actors.iter().flat_map(|actor| [tested(actor), tested(actor)]).collect();
    assert_eq!(found.history[3..11], expected);
    assert_eq!(harness.payments.find_order_details(harness.merchant().await.0.id, &name).await, Ok(None));
    assert_eq!(harness.payments.find_order_details(merchant.id, &OrderName::Id(OrderId::new(fresh()))).await, Ok(None));
}

pub async fn any_order_is_found_for_those_who_may(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.submitted(merchant.id).await;
    let id = payment.order.id;
    assert_eq!(harness.payments.find_order_anywhere(id).await, Ok(Some((payment.order.clone(), payment.session))));
    assert_eq!(harness.payments.find_order_details(merchant.id, &OrderName::Id(id)).await, Ok(None), "not shown");
    assert_eq!(harness.payments.find_order_anywhere(OrderId::new(fresh())).await, Ok(None));
    assert_eq!(harness.payments.find_checkout(id).await, Ok(None), "of a Session");
    // An Order is made with its own Session or without any.
    let session = harness.session(merchant.id).await;
    let stash = harness.stashed(merchant.id).await;
    let mut prepare = harness.submit(&session, &stash.key, at(10));
    let other = Some(new_session(merchant.id, terms()).id);
    prepare.order = prepare.order.edited(|parts| parts.session_id = other).unwrap();
    let alone = dropin_ports::PrepareAuthorization { session: None, ..prepare.clone() };
    for strange in [prepare, alone] {
        let refused = harness.payments.prepare_authorization(strange).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    }
    assert_eq!(harness.stored(session.id).await, session);
}

pub async fn open_operations_are_counted_by_kind_and_state(harness: Arc<Harness>) {
    assert_eq!(harness.payments.count_open_operations().await, Ok(vec![]));
    let (merchant, _) = harness.merchant().await;
    harness.submitted(merchant.id).await;
    redirected(&harness, &harness.submitted(merchant.id).await).await;
    for second in [35, 33, 34] {
        let payment = harness.authorized(merchant.id).await;
        assert_eq!(harness.ask(&capture(&payment, None, at(second))).await, Ok(OrderChanged::Done));
    }
    let open = |kind, state, count, second| OpenOperations { kind, state, count, oldest: at(second) };
    assert_eq!(
        harness.payments.count_open_operations().await.unwrap(),
        [
            open(OpKind::Authorize, OpState::Pending, 1, 10),
            open(OpKind::Authorize, OpState::Prepared, 1, 10),
            open(OpKind::Capture, OpState::Prepared, 3, 33),
        ]
    );
}
