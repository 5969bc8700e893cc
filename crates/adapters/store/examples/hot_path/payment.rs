//! Whole payments, as far as the store takes part: created, submitted with a stashed card, authorized, captured.

use dropin_access::{Endpoint, SealedSecret};
use dropin_card::{Scheme, StashedKind};
use dropin_kernel::{
    AttemptId, Change, EndpointId, EventId, LedgerTransactionId, MerchantId, OpId, OrderId, SessionId, Timestamp,
};
use dropin_order::{LedgerTransaction, NewOrder, OpState, Operation, Order};
use dropin_ports::{
    AccessStore, AccountChanged, Actor, AuthorizationPrepared, History, Inserted, NewEvent, NewSession, Payment,
    PaymentStore, PrepareAuthorization, SealedCard, SessionStore, Settled, Settlement, StashEntry, StashKey,
    StashStore, StashSummary, StashUse, Subject,
};
use dropin_session::Session;
use dropin_store::Store;

use crate::values::{like, random};

/// Adds an endpoint, to which every payment has something to tell.
pub(crate) async fn listen(store: &Store, merchant: MerchantId) {
    let endpoint = Endpoint::new(
        EndpointId::new(random()),
        merchant,
        "https://shop.example/hook".to_owned(),
        SealedSecret(vec![7; 60]),
    );
    assert_eq!(store.insert_endpoint(endpoint).await, Ok(AccountChanged::Done));
}

/// Pays a Session like `known`, with one call of the port after the other.
pub(crate) async fn pay(store: &Store, known: &NewSession) {
    let new = like(known, false);
    let session = new.session.clone();
    assert_eq!(store.insert_session(new).await, Ok(Inserted::Done));
    let now = session.created_at;
    let prepare = submit(&session, stash(store, &session).await);
    let authorization = prepare.operation.clone();
    let prepared = store.prepare_authorization(prepare).await.unwrap();
    assert!(matches!(prepared, AuthorizationPrepared::Done(Some(_))), "{prepared:?}");
    let payment = store.find_payment(authorization.id).await.unwrap().unwrap();
    let capture = authorization.capture(OpId::new(random()), authorization.amount.clone(), now, now);
    assert_eq!(store.settle(authorized(&payment, capture.clone())).await, Ok(Settled::Done));
    let payment = store.find_payment(capture.id).await.unwrap().unwrap();
    assert_eq!(store.settle(captured(&payment)).await, Ok(Settled::Done));
}

async fn stash(store: &Store, session: &Session) -> StashUse {
    let summary = StashSummary { kind: StashedKind::Card(Some(Scheme::Visa)), usable: true };
    let key = StashKey {
        merchant_id: session.merchant_id,
        stash_id: random().to_string(),
        fingerprint: "browser".to_owned(),
    };
    let entry = StashEntry {
        key: key.clone(),
        sealed: SealedCard { key_id: "2026112110".to_owned(), bytes: vec![7; 150] },
        summary,
        created_at: session.created_at,
        expires_at: session.expires_at,
    };
    store.put_stash(entry).await.unwrap();
    StashUse { key, summary }
}

fn submit(session: &Session, stash: StashUse) -> PrepareAuthorization {
    let now = session.created_at;
    let new = NewOrder {
        id: OrderId::new(random()),
        merchant_id: session.merchant_id,
        session_id: Some(session.id),
        merchant_reference: session.terms.merchant_reference.as_str().to_owned(),
        total: session.terms.total.clone(),
        auto_capture: true,
        payment_method: "VISA".to_owned(),
        return_url: None,
    };
    let order = Order::start(new, now);
    let attempt = AttemptId::new(random());
    let (change, _) = session.as_created().unwrap().submit(session.revision, order.id, attempt, now).unwrap();
    PrepareAuthorization {
        session: Some(change),
        operation: Operation::authorize(OpId::new(random()), order.id, order.total.clone(), now, now),
        checkout: None,
        stash: Some(stash),
        now,
        history: vec![of_session(session.id, &order, now), of_order(&order, now)],
        key_use: None,
        order,
    }
}

/// The authorization was approved, and the capture follows.
fn authorized(payment: &Payment, capture: Operation) -> Settlement {
    let session = payment.session.as_ref().unwrap();
    let (order, now) = (&payment.order, session.created_at);
    let (completed, _) = session.as_processing().unwrap().authorized(now);
    let mut step = order.authorized(&order.total, false, session.expires_at, posting(), now).unwrap();
    let asked = step.change.next.request_capture(&order.total, now).unwrap();
    step.change.next.amounts = asked.change.next.amounts;
    Settlement {
        session: Some(completed),
        follow_up: Some(capture),
        history: vec![of_session(session.id, order, now), of_order(order, now), of_order(order, now)],
        events: vec![event(order, "SESSION_COMPLETED", now), event(order, "ORDER_AUTHORIZED", now)],
        ..settlement(payment, step.change, step.ledger, now)
    }
}

fn captured(payment: &Payment) -> Settlement {
    let (order, now) = (&payment.order, payment.order.created_at);
    let step = order.captured(&order.total, &order.total, (posting(), posting()), now).unwrap();
    Settlement {
        history: vec![of_order(order, now)],
        events: vec![event(order, "ORDER_PROCESSED", now)],
        ..settlement(payment, step.change, step.ledger, now)
    }
}

fn settlement(payment: &Payment, order: Change<Order>, ledger: Vec<LedgerTransaction>, now: Timestamp) -> Settlement {
    Settlement {
        operation: payment.operation.id,
        state: OpState::Approved,
        due_at: now,
        order: Some(order),
        session: None,
        refund: None,
        follow_up: None,
        ledger,
        events: vec![],
        history: vec![],
        answer: None,
        now,
    }
}

fn posting() -> LedgerTransactionId {
    LedgerTransactionId::new(random())
}

fn event(order: &Order, event_type: &'static str, at: Timestamp) -> NewEvent {
    NewEvent {
        id: EventId::new(random()),
        merchant_id: order.merchant_id,
        payment_id: order.payment_id(),
        event_type,
        body: vec![b' '; 600],
        at,
    }
}

fn of_session(session: SessionId, order: &Order, at: Timestamp) -> History {
    History { subject: Subject::Session(session), ..of_order(order, at) }
}

fn of_order(order: &Order, at: Timestamp) -> History {
    History {
        merchant_id: order.merchant_id,
        subject: Subject::Order(order.id),
        actor: Actor::Shopper,
        what: "BENCH",
        at,
        before: Some("PROCESSING"),
        after: order.state.as_str(),
    }
}
