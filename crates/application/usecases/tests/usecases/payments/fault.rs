//! Faults at one call of a program to its store or its processor, counted from its start.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use dropin_kernel::{BillingProfileId, MerchantId, OpId, OrderId, RateOfferId, RefundId, SessionId, Timestamp};
use dropin_order::{OpState, Operation, Order, ProcessorReference, Refund};
use dropin_ports::{
    Applied, AuthorizationPrepared, AuthorizeRequest, CaptureRequest, ChangeOrder, ChangeSession, Changed,
    CheckoutRecord, ClaimedOperation, CountableOutcome, CredentialDeletion, DeleteCredentialRequest, Inserted,
    LapsedOrder, NewEvent, NewPaymentTry, NewSession, OpenOperations, OperationQuery, OrderChanged, OrderDetails,
    OrderName, Payment, PaymentStore, PrepareAuthorization, Processor, ProcessorReply, RefundRequest, Registration,
    ReplaceSession, Replaced, ScreenedPaymentTry, ScreeningStore, SealedCard, SessionStore, SessionWithOrder, Settled,
    Settlement, StashEntry, StashFound, StashKey, StashStore, StashSummary, StashUsage, StatusReply, StoreError,
    StoredResponse, TryScreening, VoidRequest,
};
use dropin_rates::Offer;
use dropin_risk::{Screening, ScreeningLabel};
use dropin_session::Session;
use dropin_store::Store;
use dropin_validation::{BillingProfile, Text};
use tokio::sync::Notify;

/// What happens at that call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is done, and the program dies before it hears of that.
    Killed,
    /// It is done, and nobody says so.
    AnswerLost,
    /// It is not done, and nobody says so.
    RequestLost,
}

/// The call at which a program meets its fault.
pub(crate) struct FaultPoint {
    fault: Fault,
    at_call: usize,
    calls: AtomicUsize,
    killed: Notify,
}

impl FaultPoint {
    /// Faults at the call with this number, from 1.
    pub(crate) fn new(fault: Fault, at_call: usize) -> Arc<Self> {
        Arc::new(Self { fault, at_call, calls: AtomicUsize::new(0), killed: Notify::new() })
    }

    pub(crate) fn was_reached(&self) -> bool {
        self.at_call <= self.calls.load(Ordering::SeqCst)
    }

    /// What `work` comes to; `None` when the program dies meanwhile: nothing of it runs after that.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.killed.notified() => None,
            done = work => Some(done),
        }
    }

    async fn pass<T>(&self, call: impl Future<Output = T>, lost: T) -> T {
        if self.calls.fetch_add(1, Ordering::SeqCst) + 1 != self.at_call {
            return call.await;
        }
        if self.fault != Fault::RequestLost {
            drop(call.await);
        }
        if self.fault == Fault::Killed {
            self.killed.notify_one();
            std::future::pending::<()>().await;
        }
        lost
    }

    async fn store<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let lost = match self.fault {
            Fault::RequestLost => StoreError::Unavailable("lost".to_owned()),
            Fault::AnswerLost | Fault::Killed => StoreError::OutcomeUnknown,
        };
        self.pass(call, Err(lost)).await
    }

    async fn answer(&self, call: impl Future<Output = ProcessorReply>) -> ProcessorReply {
        self.pass(call, ProcessorReply::Unknown { why: "lost".to_owned() }).await
    }

    async fn status(&self, call: impl Future<Output = StatusReply>) -> StatusReply {
        self.pass(call, StatusReply::Unreachable { why: "lost".to_owned() }).await
    }
}

/// A store or a processor whose calls are counted.
pub(crate) struct Faulty<T> {
    pub(crate) inner: T,
    pub(crate) point: Arc<FaultPoint>,
}

macro_rules! faulty {
    ($port:ident { $(fn $method:ident($($argument:ident: $kind:ty),*) -> $done:ty;)+ }) => {
        #[async_trait]
        impl $port for Faulty<Store> {
            $(async fn $method(&self, $($argument: $kind),*) -> Result<$done, StoreError> {
                self.point.store($port::$method(&self.inner, $($argument),*)).await
            })+
        }
    };
}

faulty! {
    PaymentStore {
        fn prepare_authorization(prepare: PrepareAuthorization) -> AuthorizationPrepared;
        fn take_back_refund(settlement: Settlement) -> Settled;
        fn keep_reference(authorization: OpId, reference: &ProcessorReference, due_at: Timestamp) -> Applied;
        fn change_order(change: ChangeOrder) -> OrderChanged;
        fn settle(settlement: Settlement) -> Settled;
        fn find_payment(operation: OpId) -> Option<Payment>;
        fn claim_due_operations(now: Timestamp, lease_until: Timestamp, limit: u32) -> Vec<ClaimedOperation>;
        fn make_due(operations: &[OpId], now: Timestamp) -> ();
        fn list_open_operations(limit: u32) -> Vec<Operation>;
        fn count_open_operations() -> Vec<OpenOperations>;
        fn postpone_operation(
            claim: ClaimedOperation, state: OpState, due_at: Timestamp, answer: Option<StoredResponse>
        ) -> Applied;
        fn find_lapsed_orders(now: Timestamp, after: Option<LapsedOrder>, limit: u32) -> Vec<LapsedOrder>;
        fn find_order(merchant: MerchantId, name: &OrderName) -> Option<Order>;
        fn find_order_details(merchant: MerchantId, name: &OrderName) -> Option<OrderDetails>;
        fn find_order_anywhere(id: OrderId) -> Option<(Order, Option<Session>)>;
        fn find_refund(merchant: MerchantId, order: OrderId, id: RefundId) -> Option<Refund>;
        fn find_refund_by_reference(order: OrderId, reference: &str) -> Option<Refund>;
        fn list_operations(order: OrderId) -> Vec<Operation>;
        fn find_checkout(order: OrderId) -> Option<CheckoutRecord>;
    }
}

faulty! {
    SessionStore {
        fn insert_session(new: NewSession) -> Inserted;
        fn find_session(merchant: MerchantId, id: SessionId) -> Option<SessionWithOrder>;
        fn find_session_for_shopper(id: SessionId) -> Option<SessionWithOrder>;
        fn list_attempts(id: SessionId) -> Vec<Order>;
        fn replace_session(replacement: ReplaceSession) -> Replaced;
        fn change_session(change: ChangeSession) -> Changed;
        fn find_profile(merchant: MerchantId, id: BillingProfileId) -> Option<BillingProfile>;
        fn find_profile_by_reference(merchant: MerchantId, reference: &Text) -> Option<BillingProfile>;
        fn find_rate_offer(merchant: MerchantId, id: RateOfferId) -> Option<Offer>;
        fn find_expired_sessions(now: Timestamp, limit: u32) -> Vec<Session>;
    }
}

faulty! {
    StashStore {
        fn put_stash(entry: StashEntry) -> ();
        fn peek_stash(key: &StashKey, now: Timestamp) -> Option<StashFound>;
        fn read_stash(key: &StashKey, now: Timestamp) -> Option<(StashSummary, SealedCard)>;
        fn stash_usage(now: Timestamp) -> Vec<StashUsage>;
        fn purge_stash(now: Timestamp, limit: u32) -> u32;
    }
}

faulty! {
    ScreeningStore {
        fn screen_try(payment_try: NewPaymentTry, decision: TryScreening) -> ScreenedPaymentTry;
        fn count_outcome(order: OrderId, countable: CountableOutcome) -> ();
        fn note_alarm(event: NewEvent) -> bool;
        fn put_screening(order: OrderId, merchant: MerchantId, screening: Screening) -> ();
        fn find_screening(merchant: MerchantId, order: OrderId) -> Option<Screening>;
        fn list_screenings(merchant: MerchantId, since: Timestamp, limit: u32) -> Vec<(OrderId, Screening)>;
        fn list_labelled_screenings(merchant: MerchantId, since: Timestamp, limit: u32) -> Vec<(Screening, ScreeningLabel)>;
        fn purge_screening(now: Timestamp, facts_before: Timestamp, limit: u32) -> u32;
    }
}

#[async_trait]
impl Processor for Faulty<Arc<dyn Processor>> {
    async fn register(&self, request: &AuthorizeRequest) -> Registration {
        // No call of a processor that needs none.
        match self.inner.register(request).await {
            Registration::Unneeded => Registration::Unneeded,
            done => {
                let lost = Registration::NotRegistered { why: "lost".to_owned() };
                self.point.pass(async { done }, lost).await
            }
        }
    }

    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply {
        self.point.answer(self.inner.authorize(request)).await
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        self.point.answer(self.inner.capture(request)).await
    }

    async fn void(&self, request: VoidRequest) -> ProcessorReply {
        self.point.answer(self.inner.void(request)).await
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        self.point.answer(self.inner.refund(request)).await
    }

    async fn status(&self, question: OperationQuery) -> StatusReply {
        self.point.status(self.inner.status(question)).await
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        self.point.status(self.inner.abandon(question)).await
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        let lost = CredentialDeletion::Unknown { why: "lost".to_owned() };
        self.point.pass(self.inner.delete_credential(request), lost).await
    }
}
