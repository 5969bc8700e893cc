use std::any::Any;
use std::sync::Arc;

use dropin_access::{Endpoint, Merchant};
use dropin_kernel::{AttemptId, Change, MerchantId, OpId, OrderId, SessionId, Timestamp};
use dropin_money::Amount;
use dropin_order::{Account, CapturePlan, LedgerTransaction, OpState, Operation, Order, Refund};
use dropin_ports::{
    AccessStore, ActivityStore, AttemptResult, AuditLog, AuditSealStore, AuditStore, AuthorizationPrepared,
    BackOfficeStore, BacklogStore, ChangeOrder, ChangeSession, Changed, ContractStore, Delivery, DeliveryKey,
    DeliveryResult, DisputeStore, EventLog, Inserted, KeyUse, MerchantInserted, NewEvent, NewHistoryEntry, NewSession,
    NotificationStore, OperatorStore, OrderChanged, OrderName, OutboxStore, Payment, PaymentStore,
    PrepareAuthorization, ProcessorAccountStore, RateStore, ResponseStore, ScreeningStore, SealedStore, SessionStore,
    Settled, Settlement, StashEntry, StashKey, StashStore, StashUse, StoreError, StoreHealth, WalletStore,
};
use dropin_session::{Session, SessionTerms};

use crate::values::{
    VISA, at, authorization, entry, event, fresh, new_merchant, new_order, new_session, of_order, of_session, posting,
    seconds, terms,
};

/// Looks behind the ports, in the SQL that both dialects share.
pub trait Raw: Send + Sync {
    /// Runs one statement; how many rows it touched, or the database's message.
    ///
    /// # Errors
    /// What the database says.
    fn execute(&self, sql: &str) -> Result<usize, String>;

    /// Runs a query with one text column called `value`.
    fn values(&self, sql: &str) -> Vec<String>;
}

/// An empty store, by its ports, and a way behind them.
pub struct Harness {
    /// Merchants.
    pub access: Arc<dyn AccessStore>,
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Orders and operations.
    pub payments: Arc<dyn PaymentStore>,
    /// All records, for the audit.
    pub audit: Arc<dyn AuditStore>,
    /// The log of acts.
    pub audit_log: Arc<dyn AuditLog>,
    /// Its seals.
    pub seals: Arc<dyn AuditSealStore>,
    /// Responses to requests with a key.
    pub responses: Arc<dyn ResponseStore>,
    /// Cards.
    pub stash: Arc<dyn StashStore>,
    /// Counts of tries and screenings.
    pub screening: Arc<dyn ScreeningStore>,
    /// Wallets.
    pub wallets: Arc<dyn WalletStore>,
    /// Merchants' accounts at processors.
    pub processor_accounts: Arc<dyn ProcessorAccountStore>,
    /// Contracts.
    pub contracts: Arc<dyn ContractStore>,
    /// Disputes.
    pub disputes: Arc<dyn DisputeStore>,
    /// What is sealed under a long-lived key.
    pub sealed: Arc<dyn SealedStore>,
    /// Operators of the admin panel.
    pub operators: Arc<dyn OperatorStore>,
    /// Exchange rates.
    pub rates: Arc<dyn RateStore>,
    /// Notifications.
    pub outbox: Arc<dyn OutboxStore>,
    /// Searches of those who run the deployment.
    pub back_office: Arc<dyn BackOfficeStore>,
    /// Whether anything happened.
    pub activity: Arc<dyn ActivityStore>,
    /// The state of the queue.
    pub backlog: Arc<dyn BacklogStore>,
    /// Notifications as people see them.
    pub notifications: Arc<dyn NotificationStore>,
    /// The event log.
    pub event_log: Arc<dyn EventLog>,
    /// Readiness.
    pub health: Arc<dyn StoreHealth>,
    /// Behind the ports.
    pub raw: Box<dyn Raw>,
    _kept: Box<dyn Any + Send + Sync>,
}

impl Harness {
    /// A harness over `store`; `kept` lives as long (a temporary folder, a database to drop).
    pub fn new<S, K>(store: S, raw: impl Raw + 'static, kept: K) -> Self
    where
        S: AccessStore
            + SessionStore
            + PaymentStore
            + AuditStore
            + AuditLog
            + AuditSealStore
            + ResponseStore
            + StashStore
            + ScreeningStore
            + WalletStore
            + ProcessorAccountStore
            + ContractStore
            + DisputeStore
            + SealedStore
            + OperatorStore
            + RateStore
            + OutboxStore
            + BackOfficeStore
            + ActivityStore
            + BacklogStore
            + NotificationStore
            + EventLog
            + StoreHealth
            + 'static,
        K: Send + Sync + 'static,
    {
        let store = Arc::new(store);
        Self {
            access: store.clone(),
            sessions: store.clone(),
            payments: store.clone(),
            audit: store.clone(),
            audit_log: store.clone(),
            seals: store.clone(),
            responses: store.clone(),
            stash: store.clone(),
            screening: store.clone(),
            wallets: store.clone(),
            processor_accounts: store.clone(),
            contracts: store.clone(),
            disputes: store.clone(),
            sealed: store.clone(),
            operators: store.clone(),
            rates: store.clone(),
            outbox: store.clone(),
            back_office: store.clone(),
            activity: store.clone(),
            backlog: store.clone(),
            notifications: store.clone(),
            event_log: store.clone(),
            health: store,
            raw: Box::new(raw),
            _kept: Box::new(kept),
        }
    }

    /// How many rows of `table` fit `condition`.
    pub(crate) fn count(&self, table: &str, condition: &str) -> usize {
        let counted =
            self.raw.values(&format!("SELECT CAST(count(*) AS TEXT) AS value FROM {table} WHERE {condition}"));
        counted[0].parse().unwrap()
    }

    /// What each account of the ledger comes to, of those that something was posted to.
    pub(crate) fn ledger_balances(&self) -> Vec<String> {
        let of = |account: Account| {
            let name = account.as_str();
            format!("SELECT '{name}' AS account, {}_minor AS minor FROM ledger_posting", name.to_lowercase())
        };
        self.raw.values(&format!(
            "SELECT account || ' ' || CAST(sum(minor) AS TEXT) AS value FROM ({}) AS entry \
             WHERE minor <> 0 GROUP BY account ORDER BY account",
            Account::ALL.map(of).join(" UNION ALL ")
        ))
    }

    /// That rows of `table` are not exchanged by the statement of SQLite that deletes past the triggers. PostgreSQL has none.
    pub(crate) fn cannot_be_replaced(&self, table: &str) {
        let why = self.raw.execute(&format!("INSERT OR REPLACE INTO {table} SELECT * FROM {table}")).unwrap_err();
        assert!(
            why.contains(&format!("{table}_append_only")) || why.contains("syntax error at or near"),
            "{table}: {why}"
        );
    }

    /// A merchant with an endpoint.
    pub async fn merchant(&self) -> (Merchant, Endpoint) {
        let new = new_merchant(true);
        let found = (new.merchant.clone(), new.endpoint.clone().unwrap());
        assert_eq!(self.access.insert_merchant(new).await, Ok(MerchantInserted::Done));
        found
    }

    /// A Session that nobody has submitted.
    pub async fn session(&self, merchant: MerchantId) -> Session {
        self.session_with(merchant, terms()).await
    }

    pub(crate) async fn session_with(&self, merchant: MerchantId, terms: SessionTerms) -> Session {
        let session = new_session(merchant, terms);
        assert_eq!(self.insert(&session).await, Inserted::Done);
        session
    }

    pub(crate) async fn insert(&self, session: &Session) -> Inserted {
        let history = of_session(session, "CREATE", session.created_at);
        self.sessions.insert_session(NewSession { session: session.clone(), history, response: None }).await.unwrap()
    }

    /// The Session as it is stored now.
    pub(crate) async fn stored(&self, id: SessionId) -> Session {
        self.sessions.find_session_for_shopper(id).await.unwrap().unwrap().session
    }

    pub(crate) async fn cancel(&self, session: &Session) -> Changed {
        let (change, _) = session.as_created().unwrap().cancel(at(5));
        let history = of_session(&change.next, "CANCEL", at(5));
        self.sessions.change_session(changing(change, history, vec![])).await.unwrap()
    }

    /// A stash entry of half an hour.
    pub async fn stashed(&self, merchant: MerchantId) -> StashEntry {
        let entry = entry(merchant, at(1_800));
        self.stash.put_stash(entry.clone()).await.unwrap();
        entry
    }

    /// A submit of `session` that pays with `stash`, ready to be written.
    pub fn submit(&self, session: &Session, stash: &StashKey, now: Timestamp) -> PrepareAuthorization {
        let attempt = AttemptId::new(fresh());
        let order = new_order(session, now).edited(|parts| parts.attempt_id = Some(attempt)).unwrap();
        let (change, _) = session.as_created().unwrap().submit(session.revision, order.id, attempt, now).unwrap();
        PrepareAuthorization {
            history: vec![of_session(&change.next, "SUBMIT", now), of_order(&order, "START", now)],
            contract: None,
            operation: authorization(&order, now),
            session: Some(change),
            order,
            checkout: None,
            stash: Some(StashUse { key: stash.clone(), summary: VISA }),
            key_use: None,
            audit: None,
            now,
        }
    }

    /// A Session that was submitted, with its operation open.
    pub async fn submitted(&self, merchant: MerchantId) -> Payment {
        let session = self.session(merchant).await;
        self.submitted_with(&session).await
    }

    pub(crate) async fn submitted_with(&self, session: &Session) -> Payment {
        let stash = self.stashed(session.merchant_id).await;
        let prepare = self.submit(session, &stash.key, at(10));
        let operation = prepare.operation.id;
        let prepared = self.payments.prepare_authorization(prepare).await.unwrap();
        assert!(matches!(prepared, AuthorizationPrepared::Done(Some(card)) if card == stash.sealed));
        self.payments.find_payment(operation).await.unwrap().unwrap()
    }

    /// A payment that was authorized and told to the merchant: SESSION_COMPLETED, ORDER_AUTHORIZED.
    pub async fn authorized(&self, merchant: MerchantId) -> Payment {
        let payment = self.submitted(merchant).await;
        self.settle_authorized(&payment).await
    }

    pub(crate) async fn settle_authorized(&self, payment: &Payment) -> Payment {
        assert_eq!(self.payments.settle(approval(payment)).await, Ok(Settled::Done));
        self.payments.find_payment(payment.operation.id).await.unwrap().unwrap()
    }

    /// Writes what comes before the processor is asked.
    pub(crate) async fn ask(&self, asking: &Asking) -> Result<OrderChanged, StoreError> {
        self.payments.change_order(asking.clone().into()).await
    }

    /// The merchant's own Order, by its id.
    pub(crate) async fn find_order(&self, merchant: MerchantId, id: OrderId) -> Result<Option<Order>, StoreError> {
        self.payments.find_order(merchant, &OrderName::Id(id)).await
    }

    /// The payment as it is stored now.
    pub(crate) async fn payment(&self, operation: OpId) -> Payment {
        self.payments.find_payment(operation).await.unwrap().unwrap()
    }

    /// Claims with a lease of 15 s, far more than there is.
    pub(crate) async fn claim(&self, now: Timestamp) -> Vec<Delivery> {
        self.outbox.claim_deliveries(&[], now, now.plus(seconds(15)), 100, 1_000).await.unwrap().deliveries
    }

    /// When the first of all that waits is due; `None` when nothing waits.
    pub(crate) async fn next_due(&self) -> Option<Timestamp> {
        let backlog = self.backlog.find_backlog().await.unwrap();
        backlog.endpoints.iter().map(|one| one.oldest_due).min()
    }

    pub(crate) async fn finish(&self, key: DeliveryKey, result: DeliveryResult, now: Timestamp) -> Vec<Delivery> {
        self.outbox
            .finish_deliveries(vec![AttemptResult::new(key, result)], now, now.plus(seconds(15)))
            .await
            .unwrap()
            .next
    }
}

/// A change that nobody asked for with a key.
pub(crate) fn changing(change: Change<Session>, history: NewHistoryEntry, events: Vec<NewEvent>) -> ChangeSession {
    ChangeSession { change, history, events, response: None, audit: None }
}

/// What follows from the approval of a payment's authorization.
pub fn approval(payment: &Payment) -> Settlement {
    let now = at(20);
    let session = payment.session.as_ref().unwrap();
    let (session_change, _) = session.as_processing().unwrap().authorized(now);
    let step = payment.order.authorized(&payment.order.total, false, at(604_800), posting(), now).unwrap();
    Settlement {
        operation: payment.operation.id,
        state: OpState::Approved,
        due_at: now,
        contract: None,
        refund: None,
        new_refund: None,
        follow_up: None,
        ledger: step.ledger,
        events: vec![event(session, "SESSION_COMPLETED", now), event(session, "ORDER_AUTHORIZED", now)],
        history: vec![
            of_session(&session_change.next, "AUTHORIZED", now),
            of_order(&step.change.next, "AUTHORIZED", now),
        ],
        order: Some(step.change),
        session: Some(session_change),
        answer: None,
        now,
        audit: None,
    }
}

/// What is written before the processor is asked for something after the authorization.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) order: Change<Order>,
    pub(crate) operation: Operation,
    pub(crate) refund: Option<Refund>,
    pub(crate) history: Vec<NewHistoryEntry>,
    pub(crate) key_use: Option<KeyUse>,
}

impl From<Asking> for ChangeOrder {
    fn from(asking: Asking) -> Self {
        Self {
            order: asking.order,
            operation: Some(asking.operation),
            refund: asking.refund,
            history: asking.history,
            events: vec![],
            key_use: asking.key_use,
            audit: None,
        }
    }
}

/// A capture of `amount` (all when `None`) of an authorized payment, ready to be written.
pub(crate) fn capture(payment: &Payment, amount: Option<&Amount>, now: Timestamp) -> Asking {
    let plan = payment.order.plan_capture(amount, now).unwrap();
    let CapturePlan::Ask { step, amount } = plan else { panic!("{plan:?}") };
    let operation = payment.operation.capture(OpId::new(fresh()), amount, now, now.plus(seconds(10)));
    let history = vec![of_order(&step.change.next, "CAPTURE_REQUESTED", now)];
    Asking { history, order: step.change, operation, refund: None, key_use: None }
}

/// A settlement that only says what became of an operation.
pub(crate) fn outcome(operation: OpId, state: OpState, due_at: Timestamp) -> Settlement {
    Settlement {
        operation,
        state,
        due_at,
        order: None,
        session: None,
        contract: None,
        refund: None,
        new_refund: None,
        follow_up: None,
        ledger: vec![],
        events: vec![],
        history: vec![],
        answer: None,
        now: due_at,
        audit: None,
    }
}

/// What follows when a capture of `amount` was approved, on the Order as it is stored now.
pub(crate) fn captured(order: &Order, capture: &Operation, now: Timestamp) -> (Change<Order>, Vec<LedgerTransaction>) {
    let step = order.captured(&capture.amount, &capture.amount, posting(), posting(), now).unwrap();
    (step.change, step.ledger)
}
