//! The shopper pays: prepare, call, settle.

use dropin_catalogue::methods_for;
use dropin_kernel::{AttemptId, OpId, OrderId, Revision, SessionId, Timestamp, Violation, ViolationCode};
use dropin_order::{DeclineReason, OpKind, Operation, Order, OrderState, OrderTrigger};
use dropin_ports::{
    Actor, AuthorizationPrepared, AuthorizeRequest, History, PrepareAuthorization, ProcessorAnswer, SealedCard,
    StashKey, StashSummary, StoreError, Subject,
};
use dropin_session::{Session, SessionStateKind, SubmitRefused, WrongState};

use super::shopper::{Progress, Shopper};
use super::{Asker, Conclusion, DECISIONS, after_asking};

/// What the shopper's browser sends: no money fields at all, the total is the one of the version it names.
#[derive(Debug, Clone)]
pub struct Submit {
    /// The version of the Session that was on the screen.
    pub version: Revision,
    /// Made by the browser before sending, so that a repeat is recognised.
    pub attempt: AttemptId,
    /// Where the card waits.
    pub stash_id: String,
    /// Of the browser that stashed the card.
    pub fingerprint: String,
}

/// What a submit led to.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// For the shopper.
    pub progress: Progress,
    /// A capture to ask for now ([`super::Payments::finish_capture`]); the shopper need not wait for it.
    pub follow_up: Option<Operation>,
}

/// Why a payment was not started. Nothing was charged and nothing will be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// No such Session.
    #[error("no such Session")]
    NotFound,
    /// The Session changed after it was shown.
    #[error("the Session changed since it was shown")]
    Changed,
    /// Another attempt was made, or its time is over.
    #[error("the Session is {}", .0.as_str())]
    WrongState(SessionStateKind),
    /// The stashed card cannot be used.
    #[error("the stashed card cannot be used")]
    Card(Violation),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A payment that was written down and may now be asked for.
struct Prepared {
    operation: Operation,
    order: Order,
    sealed: SealedCard,
    key: StashKey,
}

impl Shopper {
    /// Pays a Session with a stashed card. Repeating it with the same attempt is harmless and tells how the first one stands.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`SubmitError`]; after [`StoreError::OutcomeUnknown`] the same attempt may be repeated.
    pub async fn submit(&self, id: SessionId, submit: Submit) -> Result<Submitted, SubmitError> {
        for _ in 0..DECISIONS {
            let session = self.load(id).await?.ok_or(SubmitError::NotFound)?.session;
            if session.state.attempt() == Some(submit.attempt) {
                return Ok(Submitted { progress: Progress::of(&session), follow_up: None });
            }
            match self.prepare(&session, &submit).await {
                Ok(Some(prepared)) => return Ok(self.authorize(prepared).await?),
                Ok(None) => {}
                // The entry may be gone because this very attempt, sent before, has used it: then its Session has moved.
                Err(SubmitError::Card(violation)) => {
                    let now = self.load(id).await?.ok_or(SubmitError::NotFound)?.session;
                    if now.revision == session.revision {
                        return Err(SubmitError::Card(violation));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Unavailable("the Session changes faster than it can be paid".to_owned()).into())
    }

    /// `None` when somebody else changed the Session first.
    async fn prepare(&self, session: &Session, submit: &Submit) -> Result<Option<Prepared>, SubmitError> {
        let now = self.payments.clock.now();
        let order_id = OrderId::new(self.payments.ids.random());
        let (change, row) = session
            .as_created()
            .map_err(|WrongState { found }| SubmitError::WrongState(found))?
            .submit(submit.version, order_id, submit.attempt, now)
            .map_err(|refused| match refused {
                SubmitRefused::Changed { .. } => SubmitError::Changed,
                SubmitRefused::Expired => SubmitError::WrongState(SessionStateKind::Cancelled),
            })?;
        let key = StashKey {
            merchant_id: session.merchant_id,
            stash_id: submit.stash_id.clone(),
            fingerprint: submit.fingerprint.clone(),
        };
        let (method, summary) = self.payment_method(session, &key, now).await?;
        let order = new_order(session, order_id, method, now);
        let operation = Operation::prepare(
            OpId::new(self.payments.ids.ordered()),
            order_id,
            OpKind::Authorize,
            order.total.clone(),
            None,
            now,
            now.plus(self.payments.timing.lease),
        );
        let step = |subject, what, before, after| History {
            merchant_id: session.merchant_id,
            subject,
            actor: Actor::Shopper,
            what,
            at: now,
            before,
            after,
        };
        let history = vec![
            step(Subject::Session(session.id), row.trigger.as_str(), row.from.map(|s| s.as_str()), row.to.as_str()),
            step(Subject::Order(order_id), OrderTrigger::Start.as_str(), None, OrderState::Processing.as_str()),
        ];
        let prepare = PrepareAuthorization {
            session: change,
            order: order.clone(),
            operation: operation.clone(),
            stash: key.clone(),
            summary,
            now,
            history,
        };
        match self.payments.store.prepare_authorization(prepare).await? {
            AuthorizationPrepared::Done(sealed) => Ok(Some(Prepared { operation, order, sealed, key })),
            // Missing now, and there a moment ago: used, expired, or replaced by another card. Look again.
            AuthorizationPrepared::Stale | AuthorizationPrepared::StashMissing => Ok(None),
        }
    }

    /// The catalogue's method for the stashed card, which must be usable here.
    async fn payment_method(
        &self,
        session: &Session,
        key: &StashKey,
        now: Timestamp,
    ) -> Result<(String, StashSummary), SubmitError> {
        let summary = self.stash.peek_stash(key, now).await?.ok_or_else(|| SubmitError::Card(stash_missing()))?;
        if !summary.usable {
            let why = "the card's number, expiry or code is not valid: stash it again, corrected";
            return Err(SubmitError::Card(Violation::new("StashId", ViolationCode::Invalid, why)));
        }
        let country = session.terms.billing.details.address.country.code();
        let scheme = summary.scheme.map(|scheme| scheme.as_str());
        methods_for(Some(country), Some(session.terms.currency))
            .into_iter()
            .find(|method| Some(method.id) == scheme)
            .map(|method| (method.id.to_owned(), summary))
            .ok_or_else(|| {
                let why = "cards of this scheme are not accepted for this payment: use another card";
                SubmitError::Card(Violation::new("StashId", ViolationCode::NotAllowed, why))
            })
    }

    /// Asks the processor and writes down what it said.
    async fn authorize(&self, prepared: Prepared) -> Result<Submitted, StoreError> {
        let Prepared { operation, order, sealed, key } = prepared;
        let answer = match self.vault.open(&sealed, &key) {
            Ok(card) => {
                let amount = operation.amount.clone();
                let request = AuthorizeRequest { key: operation.id, order_id: order.id, amount, card };
                self.payments.processor.authorize(request).await
            }
            Err(error) => {
                let operation = operation.id.to_string();
                log::error!(operation = operation.as_str(), error:% = error; "a stashed card cannot be opened: the attempt fails");
                ProcessorAnswer::Declined { reason: DeclineReason::NeverSent, retryable: false }
            }
        };
        let Conclusion { session, follow_up, .. } =
            self.payments.conclude(operation.id, answer, Asker::Nobody).await.map_err(after_asking)?;
        let session = session.ok_or_else(|| super::corrupt("an attempt in the drop-in without its Session"))?;
        Ok(Submitted { progress: Progress::of(&session), follow_up })
    }
}

fn new_order(session: &Session, id: OrderId, method: String, now: Timestamp) -> Order {
    Order::start(
        id,
        session.merchant_id,
        Some(session.id),
        session.terms.merchant_reference.as_str().to_owned(),
        session.terms.total.clone(),
        session.terms.auto_capture,
        method,
        now,
    )
}

fn stash_missing() -> Violation {
    Violation::new(
        "StashId",
        ViolationCode::NotFound,
        "is not stashed for this browser, was used before, or has expired",
    )
}
