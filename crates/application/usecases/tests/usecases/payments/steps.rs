//! What shoppers, merchants, banks and time do to one Session, and what must be so once all of it has come to rest.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dropin_contract::ContractState;
use dropin_kernel::{AttemptId, OrderId, Revision, SessionId};
use dropin_order::{OpState, Operation, Order, OrderState};
use dropin_ports::{Clock, ContractName, ContractStore, PaymentStore, SessionStore, StoreError, StoredResponse};
use dropin_session::{CancelReason, Session, SessionState, SessionStateKind};
use dropin_store_contract::fresh;
use dropin_usecases::idempotency::Reply;
use dropin_usecases::payments::{ShopperError, Submit, SubmitError, Submitted};
use dropin_usecases::sessions::{CancelSessionError, ReplaceSessionError};
use dropin_wire::checkout::ConsentRequest;
use dropin_wire::shopper::SubmitMeans;
use serde_json::json;

use super::deployment::{BROWSER, Deployment, Program};
use super::processor::{Choice, Verdict};

const CONTRACT_OPENED: &str = "CONTRACT_OPENED";
/// Longer than the longest pause between two questions about an operation.
const UNTIL_ALL_IS_DUE: Duration = Duration::from_secs(16 * 60);
/// Longer than the page of a card can be paid.
const UNTIL_PAGES_END: Duration = Duration::from_secs(31 * 60);
/// Longer than a Session lives.
const UNTIL_SESSIONS_END: Duration = Duration::from_secs(25 * 60 * 60);
/// Longer than the pause between two questions that shoppers cause.
const A_MOMENT: Duration = Duration::from_secs(1);

/// One thing that happens. Attempts are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The shopper submits the Session as it is shown, with a card that comes to this.
    Submit(Verdict),
    /// The browser sends the submit of this attempt again.
    SubmitAgain(usize),
    /// The shopper follows the way back from the page of this attempt.
    ComeBack(usize),
    /// The shopper leaves the page of this attempt.
    PayAnotherWay(usize),
    /// The shopper presses a button on the page of this attempt, open or not.
    Press(usize, Choice),
    /// The request of this attempt arrives at the processor after all.
    Deliver(usize),
    /// The settler polls every open operation.
    Settle,
    /// The time of all pages is over; with `in_name_only`, the processor says that they are closed, and they are not.
    EndPages { in_name_only: bool },
    /// The time of the Session is over.
    EndSession,
    /// PUT by the merchant.
    Replace,
    /// DELETE by the merchant.
    Cancel,
    /// From now on, the processor answers no question (or does again).
    BeAway(bool),
}

/// A submit as the browser sends it, however often.
struct Attempt {
    id: AttemptId,
    version: Revision,
    stash_id: String,
}

/// One Session, and the browser that it is paid in.
pub(crate) struct Payer {
    deployment: Arc<Deployment>,
    pub(crate) session: SessionId,
    attempts: Vec<Attempt>,
    received: Vec<String>,
    /// The Order that opened the contract which the Session brings the shopper back to.
    opened_by: Option<OrderId>,
}

impl Payer {
    pub(crate) async fn new(
        deployment: &Arc<Deployment>,
        program: &Program,
        attempts_allowed: u32,
        auto_capture: bool,
        opens_contract: bool,
    ) -> Self {
        let session = program.session(deployment, attempts_allowed, auto_capture, opens_contract, None).await;
        Self { deployment: deployment.clone(), session, attempts: Vec::new(), received: Vec::new(), opened_by: None }
    }

    /// Of a Session that brings the shopper back to a contract, each of whose cards is to take the place of the contract's.
    pub(crate) async fn brought_back(deployment: &Arc<Deployment>, program: &Program, attempts_allowed: u32) -> Self {
        let mut subscriber = Self::new(deployment, program, attempts_allowed, true, true).await;
        let step = Step::Submit(Verdict::Approve);
        subscriber.prepare(program, step).await;
        assert!(subscriber.take(program, step).await.unwrap(), "a contract is opened");
        let opening = subscriber.orders(program).await.remove(0);
        program.take_events(deployment.clock.now(), subscriber.session).await;
        let session = program.session(deployment, attempts_allowed, true, false, opening.contract_id).await;
        Self { session, attempts: Vec::new(), opened_by: Some(opening.id), ..subscriber }
    }

    /// What the browser does before it can take the step: a card is stashed for each attempt, under an id of its own.
    pub(crate) async fn prepare(&mut self, program: &Program, step: Step) {
        if let Step::Submit(verdict) = step {
            let stash_id = program.stash(&self.deployment, verdict).await;
            let version = self.stored(program).await.revision;
            self.attempts.push(Attempt { id: AttemptId::new(fresh()), version, stash_id });
        }
    }

    /// Takes the step; whether it was allowed. Taken again, a submit is the same request again.
    pub(crate) async fn take(&self, program: &Program, step: Step) -> Result<bool, StoreError> {
        let Deployment { clock, processor, .. } = &*self.deployment;
        clock.advance(A_MOMENT);
        match step {
            Step::Submit(_) => return self.submit(program, self.attempts.len() - 1).await,
            Step::SubmitAgain(number) => return self.submit(program, number).await,
            Step::ComeBack(number) => {
                let Some(order) = self.order_of(program, number).await else { return Ok(false) };
                program.shopper.return_shopper(order, Duration::ZERO).await.map_err(store_error)?;
            }
            Step::PayAnotherWay(number) => {
                let left = program.shopper.pay_another_way(self.session, self.attempts[number].id).await;
                follow_up(program, left.map_err(store_error)?).await?;
            }
            Step::Press(number, choice) => {
                self.order_of(program, number).await.inspect(|order| processor.press(*order, choice));
            }
            Step::Deliver(number) => {
                self.order_of(program, number).await.inspect(|order| processor.deliver(*order));
            }
            Step::Settle => {
                clock.advance(UNTIL_ALL_IS_DUE);
                for claim in program.payments.claim_due(100).await? {
                    program.payments.settle_one(claim).await?;
                }
                program.deletions.run_due(100).await?;
            }
            Step::EndPages { in_name_only } => {
                clock.advance(UNTIL_PAGES_END);
                processor.leave_pages_open(in_name_only);
                let ended = program.payments.expire_orders(10).await;
                processor.leave_pages_open(false);
                ended?;
                program.sessions.expire_due(10).await?;
            }
            Step::EndSession => clock.advance(UNTIL_SESSIONS_END),
            Step::Replace => return self.replace(program).await,
            Step::Cancel => return self.cancel(program).await,
            Step::BeAway(is_away) => processor.be_away(is_away),
        }
        Ok(true)
    }

    async fn submit(&self, program: &Program, number: usize) -> Result<bool, StoreError> {
        let Attempt { id, version, stash_id } = &self.attempts[number];
        let means = SubmitMeans::Stash { stash_id: stash_id.clone(), scheme: None };
        let consent = self
            .stored(program)
            .await
            .takes_cards_alone()
            .then(|| ConsentRequest { text_version: "2026-11".parse().unwrap(), locale: "de_AT".parse().unwrap() });
        let submit =
            Submit { version: *version, attempt: *id, means, fingerprint: BROWSER.to_owned(), consent, postcode: None };
        match program.shopper.submit(self.session, submit).await {
            Ok(submitted) => follow_up(program, submitted).await.map(|()| true),
            Err(SubmitError::Store(error)) => Err(error),
            Err(SubmitError::Changed | SubmitError::WrongState(_)) => Ok(false),
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn replace(&self, program: &Program) -> Result<bool, StoreError> {
        let body = json!({
            "MerchantReference": fresh().to_string(), "AutoCapture": self.stored(program).await.terms.auto_capture,
            "Currency": "USD", "Items": [{"Name": "Shirt", "Amount": 29.9, "Quantity": 1}],
            "CompleteUrl": "https://shop.example/paid", "CancelUrl": "https://shop.example/cart",
            "BillingProfile": {
                "Name": "Ana", "Email": "ana@shop.example",
                "Address": {"Street": "Hauptstr. 1", "City": "Berlin", "Country": "DE"},
            },
        });
        let body = body.to_string().into_bytes();
        match program.sessions.replace(&self.deployment.caller, self.session, &body, None, reply()).await {
            Ok(_) => Ok(true),
            Err(ReplaceSessionError::Store(error)) => Err(error),
            Err(ReplaceSessionError::WrongState(_)) => Ok(false),
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn cancel(&self, program: &Program) -> Result<bool, StoreError> {
        match program.sessions.cancel(&self.deployment.caller.act(None), self.session, None, reply()).await {
            Ok(_) => Ok(true),
            Err(CancelSessionError::Store(error)) => Err(error),
            Err(CancelSessionError::WrongState(_)) => Ok(false),
            Err(other) => panic!("{other:?}"),
        }
    }
}

fn reply() -> Reply<Session> {
    Reply { render: |_| StoredResponse { status: 200, etag: None, body: vec![] }, key_use: None }
}

/// Asks for the capture that follows, as the services do once the shopper has an answer.
async fn follow_up(program: &Program, submitted: Submitted) -> Result<(), StoreError> {
    match submitted.follow_up {
        Some(next) => program.payments.follow_up(next).await,
        None => Ok(()),
    }
}

fn store_error(error: ShopperError) -> StoreError {
    match error {
        ShopperError::Store(error) => error,
        ShopperError::NotFound => panic!("the Session is there"),
    }
}

impl Payer {
    pub(crate) async fn stored(&self, program: &Program) -> Session {
        program.store.find_session_for_shopper(self.session).await.unwrap().unwrap().session
    }

    pub(crate) async fn orders(&self, program: &Program) -> Vec<Order> {
        program.store.list_attempts(self.session).await.unwrap()
    }

    /// The Order of an attempt; none when it was never begun.
    async fn order_of(&self, program: &Program, number: usize) -> Option<OrderId> {
        let id = self.attempts[number].id;
        self.orders(program).await.iter().find(|order| order.attempt_id == Some(id)).map(|order| order.id)
    }

    /// The shopper presses a button on the page of the attempt that runs.
    pub(crate) async fn press_current(&self, program: &Program, choice: Choice) {
        let order = self.stored(program).await.state.order().unwrap();
        self.deployment.processor.press(order, choice);
    }

    /// The attempts for which the shopper's money is reserved or was taken.
    pub(crate) async fn attempts_with_money(&self, program: &Program) -> BTreeSet<usize> {
        let with_money = self.deployment.processor.orders_with_money();
        let orders = self.orders(program).await;
        let number = |order: &Order| self.attempts.iter().position(|attempt| order.attempt_id == Some(attempt.id));
        orders.iter().filter(|order| with_money.contains(&order.id)).filter_map(number).collect()
    }

    /// The attempt that the Session is about now.
    pub(crate) fn current(&self, session: &Session) -> Option<usize> {
        let current = session.state.attempt()?;
        self.attempts.iter().position(|attempt| attempt.id == current)
    }

    /// Once nothing is under way: of all attempts, the one that completed the Session has money, and no other; the merchant was received of that one
    /// alone, and once; the books agree.
    pub(crate) async fn must_be_at_rest(&mut self, program: &Program) {
        let (session, orders) = (self.stored(program).await, self.orders(program).await);
        self.received.extend(program.take_events(self.deployment.clock.now(), self.session).await);
        let completed = session.state.kind() == SessionStateKind::Completed;
        let shown: Vec<_> = orders.iter().filter(|order| order.shown).collect();
        assert_eq!(shown.len(), usize::from(completed), "Orders shown of a Session that is {:?}", session.state);
        assert_eq!(shown.first().map(|order| order.id), session.state.order().filter(|_| completed));
        let paid: BTreeSet<_> = shown.iter().filter(|order| is_paid(order)).map(|order| order.id).collect();
        let with_money = self.deployment.processor.orders_with_money();
        let own: BTreeSet<_> = orders.iter().map(|order| order.id).filter(|id| with_money.contains(id)).collect();
        assert_eq!(own, paid, "Orders with money at the processor; paid by our books");
        for order in &orders {
            let taken = order.state == OrderState::Processed;
            assert_eq!(
                self.deployment.processor.has_taken(order.id),
                taken,
                "taken of an Order that is {:?}",
                order.state
            );
        }
        let count = |state| orders.iter().filter(|order| order.state == state && !order.shown).count();
        let runs = matches!(session.state.kind(), SessionStateKind::Processing | SessionStateKind::Redirected);
        assert_eq!(count(OrderState::Processing), usize::from(runs), "attempts alive");
        assert_eq!(count(OrderState::ProcessingFailed), session.attempts.failed() as usize, "attempts that failed");
        let heard: Vec<_> = self.received.iter().filter(|event| *event != CONTRACT_OPENED).collect();
        assert_eq!(heard, events(&session, shown.first().copied()));
        let opened = self.received.iter().filter(|event| *event == CONTRACT_OPENED).count();
        assert_eq!(opened, usize::from(completed && session.opens_contract()), "{:?}", self.received);
        self.only_the_paid_card_is_stored(program, &orders).await;
        for order in &orders {
            let operations = program.store.list_operations(order.id).await.unwrap();
            let waits = |one: &Operation| one.state == OpState::Pending && order.page.is_some();
            let stuck: Vec<_> = operations.into_iter().filter(|one| one.state.is_open() && !waits(one)).collect();
            assert_eq!(stuck, [], "open for no page");
        }
        let own = |order: Option<OrderId>| order.is_none_or(|id| orders.iter().any(|order| order.id == id));
        assert_eq!(program.findings(own).await, [""; 0]);
    }
}

impl Payer {
    /// The processor has the card of the attempt that paid, and we what it is charged by; of no other attempt is anything left on either side.
    async fn only_the_paid_card_is_stored(&self, program: &Program, orders: &[Order]) {
        let with_credential = self.deployment.processor.orders_with_credential();
        if let Some(opened_by) = self.opened_by {
            let session = self.stored(program).await;
            let id = session.terms.contract_id.unwrap();
            let kept = orders.iter().find(|order| order.shown).map_or(opened_by, |order| order.id);
            let own: Vec<_> = orders.iter().map(|order| order.id).chain([opened_by]).collect();
            let stored: Vec<_> = own.into_iter().filter(|order| with_credential.contains(order)).collect();
            assert_eq!(stored, [kept], "cards at the processor");
            let sealed = program.store.find_credential(id).await.unwrap().unwrap();
            let authorization = program.store.list_operations(kept).await.unwrap().remove(0).id;
            assert_eq!(sealed.bytes, authorization.to_string().into_bytes(), "what the contract is charged by");
            let contract = program.store.find_contract(session.merchant_id, &ContractName::Id(id)).await.unwrap();
            assert_eq!(contract.map(|contract| contract.state), Some(ContractState::Active));
            return;
        }
        for order in orders {
            let Some(id) = order.contract_id else {
                assert!(!with_credential.contains(&order.id), "a card is stored for no contract");
                continue;
            };
            let name = ContractName::Id(id);
            let contract = program.store.find_contract(order.merchant_id, &name).await.unwrap();
            let state = contract.map(|contract| contract.state);
            assert_eq!(state, order.shown.then_some(ContractState::Active), "the contract of {order:?}");
            let sealed = program.store.find_credential(id).await.unwrap();
            let found = (with_credential.contains(&order.id), sealed.is_some());
            assert_eq!(found, (order.shown, order.shown), "stored at the processor, and here, of {order:?}");
        }
    }
}

fn is_paid(order: &Order) -> bool {
    matches!(order.state, OrderState::PaymentAuthorized | OrderState::Processed)
}

/// What the merchant must have been received.
fn events(session: &Session, order: Option<&Order>) -> Vec<&'static str> {
    match (&session.state, order.map(|order| order.state)) {
        (SessionState::Completed { .. }, Some(OrderState::PaymentAuthorized)) => {
            vec!["SESSION_COMPLETED", "ORDER_AUTHORIZED"]
        }
        (SessionState::Completed { .. }, Some(OrderState::Processed)) => {
            vec!["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"]
        }
        (SessionState::Completed { .. }, other) => panic!("completed by an Order that is {other:?}"),
        (SessionState::Failed { .. }, _) => vec!["SESSION_FAILED"],
        (SessionState::Cancelled { reason: CancelReason::Expired }, _) => vec!["SESSION_CANCELLED"],
        _ => vec![],
    }
}
