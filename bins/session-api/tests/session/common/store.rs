//! The real store, with something happening right before the next write.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dropin_card::StashedKind;
use dropin_kernel::LedgerTransactionId;
use dropin_kernel::{AttemptId, BillingProfileId, MerchantId, OpId, OrderId, RateOfferId, SessionId, Timestamp};
use dropin_order::FailureReason;
use dropin_order::{NewOrder, OpState, Operation, Order};
use dropin_ports::{
    Actor, AuthorizationPrepared, ChangeSession, Changed, IdSource, Inserted, NewHistoryEntry, NewSession,
    PaymentStore, PrepareAuthorization, ReplaceSession, Replaced, SealedCard, SessionStore, SessionWithOrder, Settled,
    Settlement, StashEntry, StashKey, StashStore, StashSummary, StashUse, StoreError, Subject,
};
use dropin_rates::Offer;
use dropin_session::{Session, SessionStateKind};
use dropin_store::Store;
use dropin_validation::{BillingProfile, Text};

/// What happens right before the next write to a Session.
#[derive(Debug)]
pub(crate) enum InjectedFault {
    /// Somebody else replaces it with the same terms.
    Replaced,
    /// The shopper submits.
    Submitted,
    /// The write fails like this.
    Fails(StoreError),
}

pub(crate) struct FaultInjectingStore {
    inner: Store,
    next: Mutex<Option<InjectedFault>>,
}

impl FaultInjectingStore {
    pub(crate) fn new(inner: Store) -> Self {
        Self { inner, next: Mutex::new(None) }
    }

    pub(crate) fn before_next_write(&self, trouble: InjectedFault) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
    }

    async fn meddle(&self, id: SessionId) -> Result<(), StoreError> {
        let trouble = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        match trouble {
            None => Ok(()),
            Some(InjectedFault::Fails(error)) => Err(error),
            Some(InjectedFault::Submitted) => {
                self.submit(id).await;
                Ok(())
            }
            Some(InjectedFault::Replaced) => {
                let session = self.load(id).await;
                let billing = BillingProfileId::new(dropin_boot::SystemIds.ordered());
                let terms = session.terms.clone().edited(|terms| terms.billing.id = billing).unwrap();
                let (change, row) = session.as_created().unwrap().replace(terms, session.updated_at);
                let history = history(&session, row.trigger.as_str(), row.to);
                assert_eq!(
                    self.inner.replace_session(ReplaceSession { change, history, response: None }).await,
                    Ok(Replaced::Done)
                );
                Ok(())
            }
        }
    }

    async fn load(&self, id: SessionId) -> Session {
        self.inner.find_session_for_shopper(id).await.unwrap().unwrap().session
    }

    /// What a shopper's submit writes before the processor is asked: the Session is PROCESSING afterwards.
    pub(crate) async fn submit(&self, id: SessionId) -> (Order, Operation) {
        let ids = dropin_boot::SystemIds;
        let session = self.load(id).await;
        let now = session.updated_at;
        let key = StashKey { merchant_id: session.merchant_id, stash_id: "s".to_owned(), fingerprint: "f".to_owned() };
        let summary = StashSummary { kind: StashedKind::Card(None), usable: true };
        let entry = StashEntry {
            key: key.clone(),
            sealed: SealedCard { key_id: "none".to_owned(), bytes: vec![0; 64] },
            summary,
            created_at: now,
            expires_at: now.plus(Duration::from_secs(60)),
        };
        self.inner.put_stash(entry).await.unwrap();
        let order_id = OrderId::new(ids.random());
        let attempt = AttemptId::new(ids.random());
        let (change, row) = (session.as_created().unwrap()).submit(session.revision, order_id, attempt, now).unwrap();
        let new = NewOrder {
            id: order_id,
            merchant_id: session.merchant_id,
            session_id: Some(id),
            attempt_id: Some(attempt),
            merchant_reference: session.terms.merchant_reference.as_str().to_owned(),
            total: session.terms.total,
            // So that it is captured when the merchant asks, and only then.
            auto_capture: false,
            payment_method: "VISA".to_owned(),
            return_url: None,
        };
        let order = Order::start(new, now);
        let operation = Operation::authorize(OpId::new(ids.ordered()), order_id, order.total, now, now);
        let prepare = PrepareAuthorization {
            session: Some(change),
            order: order.clone(),
            checkout: None,
            contract: None,
            operation: operation.clone(),
            stash: Some(StashUse { key, summary }),
            now,
            history: vec![history(&session, row.trigger.as_str(), row.to)],
            key_use: None,
            audit: None,
        };
        let prepared = self.inner.prepare_authorization(prepare).await.unwrap();
        assert!(matches!(prepared, AuthorizationPrepared::Done(_)), "{prepared:?}");
        (order, operation)
    }

    /// Submits and lets the processor say yes or no: the Session is COMPLETED or FAILED afterwards.
    pub(crate) async fn pay(&self, id: SessionId, approved: bool) {
        let ids = dropin_boot::SystemIds;
        let (order, operation) = self.submit(id).await;
        let session = self.load(id).await;
        let now = session.updated_at;
        let processing = session.as_processing().unwrap();
        let ((session_change, row), step, state) = if approved {
            let ledger = LedgerTransactionId::new(ids.ordered());
            let window = now.plus(Duration::from_secs(7 * 24 * 60 * 60));
            let step = order.authorized(&order.total.clone(), false, window, ledger, now);
            (processing.authorized(now), step, OpState::Approved)
        } else {
            // The only way to fail at once, whatever the number of attempts.
            let reason = FailureReason::Stopped;
            (processing.attempt_failed(reason, now), order.refused(reason, now), OpState::Declined)
        };
        let step = step.unwrap();
        let settlement = Settlement {
            operation: operation.id,
            state,
            due_at: now,
            order: Some(step.change),
            session: Some(session_change),
            contract: None,
            refund: None,
            new_refund: None,
            follow_up: None,
            ledger: step.ledger,
            events: Vec::new(),
            history: vec![history(&session, row.trigger.as_str(), row.to)],
            answer: None,
            now,
            audit: None,
        };
        assert_eq!(self.inner.settle(settlement).await, Ok(Settled::Done));
    }
}

fn history(session: &Session, what: &'static str, after: SessionStateKind) -> NewHistoryEntry {
    NewHistoryEntry {
        merchant_id: session.merchant_id,
        subject: Subject::Session(session.id),
        actor: Actor::System,
        what,
        at: session.updated_at,
        before: Some(session.state.kind().as_str()),
        after: after.as_str(),
    }
}

#[async_trait]
impl SessionStore for FaultInjectingStore {
    async fn insert_session(&self, new: NewSession) -> Result<Inserted, StoreError> {
        self.meddle(new.session.id).await?;
        self.inner.insert_session(new).await
    }

    async fn find_session(&self, merchant: MerchantId, id: SessionId) -> Result<Option<SessionWithOrder>, StoreError> {
        self.inner.find_session(merchant, id).await
    }

    async fn list_attempts(&self, id: SessionId) -> Result<Vec<Order>, StoreError> {
        self.inner.list_attempts(id).await
    }

    async fn find_session_for_shopper(&self, id: SessionId) -> Result<Option<SessionWithOrder>, StoreError> {
        self.inner.find_session_for_shopper(id).await
    }

    async fn replace_session(&self, replacement: ReplaceSession) -> Result<Replaced, StoreError> {
        self.meddle(replacement.change.next.id).await?;
        self.inner.replace_session(replacement).await
    }

    async fn change_session(&self, change: ChangeSession) -> Result<Changed, StoreError> {
        self.meddle(change.change.next.id).await?;
        self.inner.change_session(change).await
    }

    async fn find_profile(
        &self,
        merchant: MerchantId,
        id: BillingProfileId,
    ) -> Result<Option<BillingProfile>, StoreError> {
        self.inner.find_profile(merchant, id).await
    }

    async fn find_profile_by_reference(
        &self,
        merchant: MerchantId,
        reference: &Text,
    ) -> Result<Option<BillingProfile>, StoreError> {
        self.inner.find_profile_by_reference(merchant, reference).await
    }

    async fn find_rate_offer(&self, merchant: MerchantId, id: RateOfferId) -> Result<Option<Offer>, StoreError> {
        self.inner.find_rate_offer(merchant, id).await
    }

    async fn find_expired_sessions(&self, now: Timestamp, limit: u32) -> Result<Vec<Session>, StoreError> {
        self.inner.find_expired_sessions(now, limit).await
    }
}
