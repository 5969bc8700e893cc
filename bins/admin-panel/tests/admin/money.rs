//! What operators do that moves money: once, within their limits, and never after it was refused.

use std::time::Duration;

use crate::common::{Page, World, request};
use actix_web::http::{Method, StatusCode};
use dropin_access::operator::{MoneyKind, MoneyRequest, MoneyRequestState, OperatorRole};
use dropin_kernel::{DisputeId, LedgerTransactionId, MoneyRequestId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_order::{Dispute, DisputeReason, NewDispute, Refund};
use dropin_ports::{Acting, AuditLog, AuditQuery, ChangeDispute, DisputeStore, MoneyRequested, PaymentStore};
use dropin_usecases::audit_log::MerchantAct;
use dropin_usecases::operators::{CurrentOperator, Operators};
use dropin_usecases::payments::RefundAsk;
use uuid::Uuid;

impl World {
    async fn current(&self, session: &str) -> CurrentOperator {
        self.deps.operators.current(session).await.unwrap()
    }

    async fn refunds(&self, order: OrderId) -> Vec<Refund> {
        self.deps.audit.find_audit_trail(order).await.unwrap().unwrap().records.refunds
    }

    /// Every refund of Ana's above half a dollar needs two operators.
    async fn limit_anas_refunds(&self, owner: &str) {
        let path = format!("/merchants/{}/limits", self.ana);
        let set = self.post(owner, &path, &[("limits", "0.50 USD")]).await;
        assert_eq!(set.status, StatusCode::SEE_OTHER, "{}", set.text);
    }

    async fn refund(&self, session: &str, order: OrderId, key: &str, amount: &str) -> Page {
        let fields = [("key", key), ("amount", amount), ("note", "lost parcel")];
        self.post(session, &format!("/orders/{order}/refund"), &fields).await
    }

    fn key(&self) -> String {
        self.deps.ids.random().to_string()
    }

    /// A request of this operator about Ana's Order, as a program that stopped in the midst of it left it.
    async fn interrupted(&self, by: &CurrentOperator, state: MoneyRequestState, age: Duration) -> MoneyRequest {
        let now = self.deps.clock.now();
        let (usd, since) = (Currency::Usd, now.minus(Duration::from_secs(48 * 60 * 60)));
        let request = MoneyRequest {
            id: MoneyRequestId::new(self.deps.ids.random()),
            kind: MoneyKind::Refund,
            merchant: self.ana,
            order: self.order_of_ana,
            amount: Amount::from_minor(usd, 100).unwrap(),
            note: "lost parcel".to_owned(),
            requested_by: by.operator.id,
            requested_at: now.minus(age),
            state,
            decided_by: None,
            decided_at: None,
        };
        let store = &self.harness.operators;
        let basis = store.money_basis(by.operator.id, self.ana, self.order_of_ana, usd, since).await.unwrap();
        let written = store.insert_money_request(request.clone(), basis, since, None).await;
        assert_eq!(written, Ok(MoneyRequested::Done));
        request
    }
}

#[actix_web::test]
async fn a_refund_that_a_second_operator_refused_is_not_made_when_its_form_is_sent_again() {
    let world = World::new().await;
    let (owner, reviewer) =
        (world.operator(OperatorRole::Owner, None).await, world.operator(OperatorRole::Reviewer, None).await);
    world.limit_anas_refunds(&owner).await;
    let (refused, taken_back) = (world.key(), world.key());
    for key in [&refused, &taken_back] {
        let asked = world.refund(&owner, world.order_of_ana, key, "1.00").await;
        assert!(asked.location().ends_with("?done=refund-waits"), "{}", asked.text);
    }
    let decided = world.post(&reviewer, &format!("/approvals/{refused}"), &[("decision", "refuse")]).await;
    assert_eq!(decided.status, StatusCode::SEE_OTHER, "{}", decided.text);
    let withdrawn = world.post(&owner, &format!("/approvals/{taken_back}/withdraw"), &[]).await;
    assert_eq!(withdrawn.status, StatusCode::SEE_OTHER, "{}", withdrawn.text);
    for key in [&refused, &taken_back] {
        let again = world.refund(&owner, world.order_of_ana, key, "1.00").await;
        assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", again.location());
        assert_ne!(again.field("key"), *key, "the form names another request now");
    }
    assert_eq!(world.refunds(world.order_of_ana).await, []);
}

/// Two and a half, as most of Europe writes it, is not two hundred and fifty; and what is left is another amount the second time.
#[actix_web::test]
async fn an_amount_that_can_be_read_in_two_ways_moves_nothing() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    for amount in ["2,50", "1,000", "0,01", ""] {
        let page = world.refund(&owner, world.order_of_ana, &world.key(), amount).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{amount}: {}", page.location());
        assert!(
            page.text.contains(&format!("name=\"amount\" inputmode=\"decimal\" value=\"{amount}\"")),
            "what was typed stays"
        );
    }
    assert_eq!(world.refunds(world.order_of_ana).await, []);
    let page = world.refund(&owner, world.order_of_ana, &world.key(), "1.00").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.text);
}

/// Whoever sends a form about an Order that somebody else changed meanwhile gets it back as it was typed, beside the Order as it is.
#[actix_web::test]
async fn a_form_about_an_order_that_changed_does_nothing_and_comes_back() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let order = world.harness.authorized(world.ana).await.order;
    for (act, field, value) in
        [("capture", "amount", "1.00"), ("cancel", "note", ""), ("review", "decision", "approve")]
    {
        let path = format!("/orders/{}/{act}", order.id);
        let fields = [(field, value), ("note", "a long story"), ("revision", "1")];
        let stale = world.post(&owner, &path, &fields).await;
        assert_eq!(stale.status, StatusCode::CONFLICT, "{act}: {}", stale.text);
        assert!(stale.text.contains("a long story</textarea>"), "{act}: what was typed stays: {}", stale.text);
        assert!(stale.text.contains("The Order changed after the page was loaded"), "{act}: {}", stale.text);
        let again = stale.text.split(&format!("action=\"{}\"", path)).nth(1).unwrap();
        let revision = format!("name=\"revision\" value=\"{}\"", order.revision.number());
        assert!(again.split("</form>").next().unwrap().contains(&revision), "{act}: it can be sent again: {again}");
        let damaged = world.post(&owner, &path, &[("note", "x"), ("revision", "x")]).await;
        assert_eq!(damaged.status, StatusCode::BAD_REQUEST, "{act}");
    }
    let kept = world.deps.payments.store.find_order_anywhere(order.id).await.unwrap().unwrap().0;
    assert_eq!(kept, order, "nothing was done");
}

#[actix_web::test]
async fn refunds_that_were_not_possible_are_not_made_later_by_the_same_forms() {
    let world = World::new().await;
    let support = world.operator(OperatorRole::Support, None).await;
    let by = world.current(&support).await;
    let order = world.harness.authorized(world.ana).await.order.id;
    let keys = [world.key(), world.key(), world.key()];
    for key in &keys {
        let asked = world.refund(&support, order, key, "1.00").await;
        assert_eq!(asked.status, StatusCode::UNPROCESSABLE_ENTITY, "nothing is captured: {}", asked.location());
        let id: MoneyRequestId = key.parse().unwrap();
        assert_eq!(world.harness.operators.find_money_request(id).await, Ok(None), "it counts to no limit");
    }
    // One that was granted and surely moved nothing.
    let released = world.interrupted(&by, MoneyRequestState::Granted, Duration::ZERO).await;
    world.deps.operators.release_money(&by, released.id).await.unwrap();
    let again = world.refund(&support, world.order_of_ana, &released.id.to_string(), "1.00").await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", again.location());
    assert_eq!(world.refunds(world.order_of_ana).await, []);
}

#[actix_web::test]
async fn a_granted_refund_that_was_interrupted_is_finished_by_its_form_within_a_day() {
    let world = World::new().await;
    let support = world.operator(OperatorRole::Support, None).await;
    let by = world.current(&support).await;
    let (hour, order) = (Duration::from_secs(60 * 60), world.order_of_ana);
    let old = world.interrupted(&by, MoneyRequestState::Granted, 25 * hour).await;
    let late = world.refund(&support, order, &old.id.to_string(), "1.00").await;
    assert_eq!(late.status, StatusCode::UNPROCESSABLE_ENTITY, "it counts to no limit any more: {}", late.location());
    assert_eq!(world.refunds(order).await, []);

    let fresh = world.interrupted(&by, MoneyRequestState::Granted, 23 * hour).await;
    let path = format!("/orders/{order}");
    assert!(world.get(Some(&support), &path).await.text.contains(&fresh.id.to_string()), "the Order's page offers it");
    for _ in 0..2 {
        let made = world.refund(&support, order, &fresh.id.to_string(), "1.00").await;
        assert_eq!(made.location(), format!("{path}?done=refunded"), "{}", made.text);
    }
    assert_eq!(world.refunds(order).await.len(), 1);

    // Of one that was made, the same form tells for ever.
    let ask = RefundAsk { reference: old.id.to_string(), amount: Some(old.amount.to_decimal()), description: None };
    let act = MerchantAct { merchant: world.ana, by: Acting::system() };
    world.deps.payments.refund(&act, order, &ask, None).await.unwrap();
    let told = world.refund(&support, order, &old.id.to_string(), "1.00").await;
    assert_eq!(told.location(), format!("{path}?done=refunded"), "{}", told.text);
    assert_eq!(world.refunds(order).await.len(), 2);
}

#[actix_web::test]
async fn an_approval_that_was_interrupted_is_finished_by_the_one_who_approved() {
    let world = World::new().await;
    let (owner, reviewer, other) = (
        world.operator(OperatorRole::Owner, None).await,
        world.operator(OperatorRole::Reviewer, None).await,
        world.operator(OperatorRole::Reviewer, None).await,
    );
    world.limit_anas_refunds(&owner).await;
    let key = world.key();
    world.refund(&owner, world.order_of_ana, &key, "1.00").await;
    // The program stops between the approval and the refund.
    world.deps.operators.approve_money(&world.current(&reviewer).await, key.parse().unwrap()).await.unwrap();
    let listed = world.get(Some(&reviewer), "/approvals").await.text;
    assert!(listed.contains("lost parcel") && listed.contains("Make the refund"), "{listed}");
    let approve = [("decision", "approve")];
    let not_its_own = world.post(&other, &format!("/approvals/{key}"), &approve).await;
    assert_eq!(not_its_own.status, StatusCode::CONFLICT);
    assert!(
        not_its_own.text.contains("approved already") && !not_its_own.text.contains("anew"),
        "{}",
        not_its_own.text
    );
    for _ in 0..2 {
        let finished = world.post(&reviewer, &format!("/approvals/{key}"), &approve).await;
        assert_eq!(finished.location(), format!("/orders/{}?done=refunded", world.order_of_ana), "{}", finished.text);
    }
    assert_eq!(world.refunds(world.order_of_ana).await.len(), 1);
    assert!(!world.get(Some(&reviewer), "/approvals").await.text.contains("lost parcel"), "it is made");
}

#[actix_web::test]
async fn support_takes_its_own_request_back_and_asks_for_no_more_than_is_left() {
    let world = World::new().await;
    let (owner, support) =
        (world.operator(OperatorRole::Owner, None).await, world.operator(OperatorRole::Support, None).await);
    world.limit_anas_refunds(&owner).await;
    let path = format!("/orders/{}", world.order_of_ana);
    let too_much = world.refund(&support, world.order_of_ana, &world.key(), "100000.00").await;
    assert_eq!(too_much.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", too_much.location());
    assert!(too_much.text.contains("29.90 USD of the Order can be refunded"), "{}", too_much.text);

    let (own, foreign) = (world.key(), world.key());
    world.refund(&support, world.order_of_ana, &own, "1.00").await;
    world.refund(&owner, world.order_of_ana, &foreign, "1.00").await;
    let page = world.get(Some(&support), &path).await.text;
    assert!(page.contains(&format!("/approvals/{own}/withdraw")), "{page}");
    assert!(!page.contains(&format!("/approvals/{foreign}/withdraw")), "only its own");
    let withdraw = async |key: &str| world.post(&support, &format!("/approvals/{key}/withdraw"), &[]).await;
    assert_eq!(withdraw(&foreign).await.status, StatusCode::NOT_FOUND);
    assert_eq!(withdraw(&own).await.location(), format!("{path}?done=withdrawn"));
    assert_eq!(withdraw(&own).await.status, StatusCode::CONFLICT);
    let state = async |key: &str| {
        let id: MoneyRequestId = key.parse().unwrap();
        world.harness.operators.find_money_request(id).await.unwrap().unwrap().state
    };
    assert_eq!((state(&own).await, state(&foreign).await), (MoneyRequestState::Refused, MoneyRequestState::Waiting));
}

#[actix_web::test]
async fn only_an_owner_makes_api_users_that_move_money() {
    let world = World::new().await;
    let (owner, developer) =
        (world.operator(OperatorRole::Owner, None).await, world.operator(OperatorRole::Developer, None).await);
    let users = format!("/merchants/{}/users", world.ana);
    let add = async |session: &str, permission: &str| {
        world.post(session, &users, &[("permission[]", "order:read"), ("permission[]", permission)]).await.status
    };
    for permission in ["order:refund", "order:capture", "checkout"] {
        assert_eq!(add(&developer, permission).await, StatusCode::FORBIDDEN, "{permission}");
    }
    assert_eq!(add(&developer, "session:write").await, StatusCode::OK);
    assert_eq!(add(&owner, "order:refund").await, StatusCode::OK);
    let users_of_ana = world.deps.access.list_users(world.ana).await.unwrap();
    assert_eq!(users_of_ana.len(), 3, "the harness made one with every permission");
    for user in users_of_ana {
        let path = format!("{users}/{}/password", user.username);
        let moves_money = user.permissions.contains(dropin_access::Permission::OrderRefund);
        let rotated = world.post(&developer, &path, &[("overlap", "24")]).await;
        assert_eq!(rotated.status == StatusCode::FORBIDDEN, moves_money, "{:?}: {}", user.permissions, rotated.status);
        assert_eq!(world.post(&owner, &path, &[("overlap", "24")]).await.status, StatusCode::OK);
    }
}

/// A dispute of this Order that waits for an answer for so many seconds.
async fn disputed(world: &World, order: OrderId, reference: &str, seconds: u64) -> DisputeId {
    let order = world.store.find_order_anywhere(order).await.unwrap().unwrap().0;
    let new = NewDispute {
        id: DisputeId::new(Uuid::now_v7()),
        processor: "sandbox".parse().unwrap(),
        reference: reference.to_owned(),
        reason: DisputeReason::ProductNotReceived,
        amount: Amount::from_minor(order.total.currency(), 500).unwrap(),
        due_at: Some(world.deps.clock.now().plus(Duration::from_secs(seconds))),
    };
    let step = Dispute::open(new, &order, LedgerTransactionId::new(Uuid::now_v7()), world.deps.clock.now()).unwrap();
    let id = step.dispute.id;
    let change = ChangeDispute {
        dispute: step.dispute,
        expected: None,
        order: Some(step.order.change),
        begins: None,
        ends: None,
        ledger: step.order.ledger,
        history: Vec::new(),
        events: Vec::new(),
        audit: None,
    };
    world.store.change_dispute(change).await.unwrap();
    id
}

/// Sends a form with a file of this name and media type, as a browser does.
async fn post_file(
    world: &World,
    session: &str,
    path: &str,
    fields: &[(&str, &str)],
    (name, media): (&str, &str),
) -> Page {
    let csrf = Operators::csrf_token(session);
    let mut body = String::new();
    for (field, value) in [("csrf", csrf.as_str())].iter().chain(fields) {
        body += &format!("--b\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n");
    }
    let content = if name.is_empty() { "" } else { "%PDF-1.7" };
    body += &format!(
        "--b\r\nContent-Disposition: form-data; name=\"files[]\"; filename=\"{name}\"\r\nContent-Type: {media}\r\n\r\n{content}\r\n--b--\r\n"
    );
    let sent = request(Method::POST, path, Some(session)).insert_header(("origin", "https://panel.example"));
    world.send(sent.insert_header(("content-type", "multipart/form-data; boundary=b")).set_payload(body)).await
}

#[actix_web::test]
async fn a_dispute_is_shown_and_answered_once_by_those_who_may() {
    let world = World::new().await;
    let id = disputed(&world, world.order_of_ana, "dp_1", 600).await;
    let (viewer, support) = (OperatorRole::Viewer, OperatorRole::Support);
    let (viewer, support) = (world.operator(viewer, None).await, world.operator(support, None).await);
    let path = format!("/orders/{}", world.order_of_ana);
    let seen = world.get(Some(&viewer), &path).await;
    assert!(seen.text.contains("Product not received") && seen.text.contains("Needs response"), "{}", seen.text);
    assert!(!seen.text.contains("/dispute\""), "a viewer has no form");
    let (answer, dispute) = (format!("{path}/dispute"), id.to_string());
    let accept = [("dispute", dispute.as_str()), ("answer", "accept"), ("text", ""), ("note", "the shopper called")];
    assert_eq!(world.post(&viewer, &answer, &accept).await.status, StatusCode::FORBIDDEN);
    let evidence = |text, note| [("dispute", dispute.as_str()), ("answer", "evidence"), ("text", text), ("note", note)];
    let (nothing, script) = (("", "application/octet-stream"), ("a.js", "text/javascript"));
    for (fields, file) in [
        (evidence("", "why"), nothing),
        (evidence("It was delivered.", ""), nothing),
        (evidence("It was delivered.", "why"), script),
    ] {
        let refused = post_file(&world, &support, &answer, &fields, file).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
    }
    let pdf = ("receipt.pdf", "application/pdf");
    // What a form with files says is not even read of an operator who may not send it.
    let unread = post_file(&world, &viewer, &answer, &[("of_no_form", "x")], pdf).await;
    assert_eq!(unread.status, StatusCode::FORBIDDEN, "{}", unread.text);
    let stranger = post_file(&world, "nobody", &answer, &evidence("", "why"), pdf).await;
    assert!(stranger.location().starts_with("/sign-in"), "{}", stranger.text);
    let told = post_file(&world, &support, &answer, &evidence("", "by the carrier's note"), pdf).await;
    assert_eq!(
        (told.status, told.location()),
        (StatusCode::SEE_OTHER, format!("{path}?done=dispute-pending").as_str()),
        "{}",
        told.text
    );
    let again = world.post(&support, &answer, &accept).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.text.contains("on its way to the processor"), "{}", again.text);
    let query = AuditQuery { action: Some("DISPUTE_EVIDENCE".to_owned()), limit: 10, ..AuditQuery::default() };
    let entries = world.store.search_audit_log(query).await.unwrap().entries;
    assert_eq!(entries.len(), 1);
    let after = entries[0].after.clone().unwrap_or_default();
    assert!(
        after.contains("application/pdf, 8 bytes") && !after.contains("receipt"),
        "nothing of what it says: {after}"
    );
    let foreign = format!("/orders/{}/dispute", world.order_of_bob);
    assert_eq!(world.post(&support, &foreign, &accept).await.status, StatusCode::NOT_FOUND);
}

#[actix_web::test]
async fn open_disputes_are_listed_for_their_merchants_soonest_due_first() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    assert!(world.get(Some(&owner), "/disputes").await.text.contains("No dispute waits"));
    disputed(&world, world.order_of_ana, "dp_1", 900).await;
    disputed(&world, world.order_of_bob, "dp_2", 600).await;
    let (ana, bob) = (world.order_of_ana.to_string(), world.order_of_bob.to_string());
    let all = world.get(Some(&owner), "/disputes").await.text;
    assert!(all.find(&bob).unwrap() < all.find(&ana).unwrap() && all.contains("sandbox"), "{all}");
    let narrowed = world.get(Some(&owner), &format!("/disputes?merchant={}", world.ana)).await.text;
    assert!(narrowed.contains(&ana) && !narrowed.contains(&bob), "{narrowed}");
    let of_ana = world.operator(OperatorRole::Viewer, Some(world.ana)).await;
    let own = world.get(Some(&of_ana), "/disputes").await.text;
    assert!(own.contains(&ana) && !own.contains(&bob), "{own}");
    assert!(!all.contains("Overdue") && !all.contains("answer on its way"), "{all}");
    // What is overdue leads, and an answer that is on its way is told.
    let answered = disputed(&world, world.order_of_bob, "dp_3", 700).await.to_string();
    let accept = [("dispute", answered.as_str()), ("answer", "accept"), ("text", ""), ("note", "the shopper called")];
    let told = world.post(&owner, &format!("/orders/{bob}/dispute"), &accept).await;
    assert_eq!(told.status, StatusCode::SEE_OTHER, "{}", told.text);
    disputed(&world, world.order_of_ana, "dp_4", 0).await;
    let all = world.get(Some(&owner), "/disputes").await.text;
    let places =
        ["Overdue", &bob, "answer on its way"].map(|text| all.find(text).unwrap_or_else(|| panic!("{text}: {all}")));
    assert!(places.is_sorted(), "{places:?} {all}");
}
