use async_trait::async_trait;
use dropin_contract::Contract;
use dropin_kernel::{Change, MerchantId, OpId, OrderId, RefundId, Timestamp};
use dropin_order::{LedgerTransaction, OpKind, OpState, Operation, Order, ProcessorReference, Refund};
use dropin_session::{SaleRate, Session};

use crate::audit_log::NewAuditEntry;
use crate::contract::{ContractSettlement, ContractUse};
use crate::idempotency::{KeyUse, StoredResponse};
use crate::keyring::SealedCard;
use crate::stash::{StashKey, StashSummary};
use crate::store::{Applied, NewEvent, NewHistoryEntry, StoreError, StoredHistoryEntry};

/// The stash entry that an authorization uses up.
#[derive(Debug, Clone)]
pub struct StashUse {
    /// The entry, its code with it.
    pub key: StashKey,
    /// What was known of it when this was decided; an entry that differs by now counts as missing.
    pub summary: StashSummary,
}

/// Everything that is written before the processor is asked to authorize.
#[derive(Debug, Clone)]
pub struct PrepareAuthorization {
    /// The Session moving to PROCESSING; the winner of every race is decided by its revision. `None` for a server-to-server checkout, whose
    /// reference is taken here instead.
    pub session: Option<Change<Session>>,
    /// The new Order.
    pub order: Order,
    /// What a server-to-server checkout said of consumer and items, as it is kept; `None` with a Session.
    pub checkout: Option<CheckoutRecord>,
    /// The contract that the Order opens or is made under.
    pub contract: Option<ContractUse>,
    /// The operation about to be asked.
    pub operation: Operation,
    /// The stash entry to consume; `None` for a method without a card.
    pub stash: Option<StashUse>,
    /// Entries that expired by then do not count.
    pub now: Timestamp,
    /// Of the Session and the Order.
    pub history: Vec<NewHistoryEntry>,
    /// The request's key, if it carried one; answered when the operation's outcome, or that it is not known yet, is written.
    pub key_use: Option<KeyUse>,
    /// The entry of the audit log, where a command takes up what the processor has had all along.
    pub audit: Option<NewAuditEntry>,
}

/// What the merchant said in a server-to-server checkout, kept beside its Order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutRecord {
    /// Consumer and Items as JSON.
    pub document: String,
}

/// What came of preparing an authorization.
#[derive(Debug, Clone)]
pub enum AuthorizationPrepared {
    /// Written; the stash entry is gone from the store and here.
    Done(Option<SealedCard>),
    /// The Session or the contract changed first: nothing was written, the stash entry is still there.
    Stale,
    /// The stash entry is unseen, used, expired or another one by now: nothing was written.
    StashMissing,
    /// The Session had an attempt of that id before: nothing was written.
    AttemptUsed,
    /// The merchant used the reference before: nothing was written.
    DuplicateReference,
    /// Another open transfer of the merchant has its reference: nothing was written; prepare it with another.
    TransferReferenceTaken,
    /// The request's key was used before: nothing was written.
    KeyTaken,
}

/// A change of an Order that no processor's answer causes: what is written before one is asked, or a decision that needs none.
#[derive(Debug, Clone)]
pub struct ChangeOrder {
    /// The Order.
    pub order: Change<Order>,
    /// The operation about to be asked, if any.
    pub operation: Option<Operation>,
    /// The refund that is begun, if any.
    pub refund: Option<Refund>,
    /// The history entries.
    pub history: Vec<NewHistoryEntry>,
    /// The events for the merchant, in this order.
    pub events: Vec<NewEvent>,
    /// The request's key, if it carried one: answered when the operation's outcome, or that it is not known yet, is written.
    pub key_use: Option<KeyUse>,
    /// The entry of the audit log, where a person, an API user or a command does this.
    pub audit: Option<NewAuditEntry>,
}

/// What came of a change of an Order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderChanged {
    /// Written.
    Done,
    /// Another change came first: nothing was written; load and decide again.
    Stale,
    /// The request's key was used before: nothing was written.
    KeyTaken,
    /// The Order has a refund with that reference: nothing was written.
    DuplicateRefund,
}

/// An operation with the Order, Session and refund it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// The operation.
    pub operation: Operation,
    /// Its Order.
    pub order: Order,
    /// Its Session; `None` for a server-to-server checkout.
    pub session: Option<Session>,
    /// The refund it is made for; of a refund's operation only.
    pub refund: Option<Refund>,
    /// The contract that the Order opens or is made under.
    pub contract: Option<Contract>,
    /// Whether its Order is a try to charge the contract's card; else the Order brings the contract a card.
    pub is_charge: bool,
}

/// Everything that follows from an operation's outcome, written in one transaction.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The operation.
    pub operation: OpId,
    /// Its new state; an open one when the answer changes the Order and the outcome is still to come.
    pub state: OpState,
    /// When to look again, if that state is open.
    pub due_at: Timestamp,
    /// The Order's change, if any.
    pub order: Option<Change<Order>>,
    /// The Session's change, if any.
    pub session: Option<Change<Session>>,
    /// What changes of the contract that the Order opens or is made under.
    pub contract: Option<Box<ContractSettlement>>,
    /// The refund as it stands now, if it changed.
    pub refund: Option<Refund>,
    /// A refund that is begun here, of money that was taken after the Order's life was over; the operation that follows asks for it.
    pub new_refund: Option<Refund>,
    /// An operation that follows (a capture after its authorization, the same thing again after a refusal for now, a void).
    pub follow_up: Option<Operation>,
    /// What is posted.
    pub ledger: Vec<LedgerTransaction>,
    /// The events for the merchant, in this order.
    pub events: Vec<NewEvent>,
    /// The history entries.
    pub history: Vec<NewHistoryEntry>,
    /// What whoever asked for the operation with a key gets, unless they got something before. Without one the follow-up's answer will be theirs.
    pub answer: Option<StoredResponse>,
    /// When it was settled.
    pub now: Timestamp,
    /// The entry of the audit log, where an operator accepts what the processor did.
    pub audit: Option<NewAuditEntry>,
}

/// What came of settling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Written.
    Done,
    /// The operation was settled before by another process: nothing was written.
    AlreadySettled,
    /// The Order, Session or contract changed first: load and decide again.
    Stale,
}

/// An open operation that was taken over for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedOperation {
    /// The operation.
    pub id: OpId,
    /// The epoch of this claim.
    pub epoch: i64,
}

/// The number of open operations of one kind and state, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOperations {
    /// What was asked.
    pub kind: OpKind,
    /// What is known.
    pub state: OpState,
    /// How many.
    pub count: u64,
    /// When the oldest was written down.
    pub oldest: Timestamp,
}

/// An Order whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LapsedOrder {
    /// When it was.
    pub end: Timestamp,
    /// The Order.
    pub id: OrderId,
}

/// How the merchant names an Order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderName {
    /// By its id.
    Id(OrderId),
    /// By the merchant's reference: MerchantReference of the Session, or ReferenceId of the checkout.
    Reference(String),
}

/// Everything that is kept about one Order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderDetails {
    /// The Order.
    pub order: Order,
    /// Its refunds, oldest first.
    pub refunds: Vec<Refund>,
    /// Its life, oldest step first.
    pub history: Vec<StoredHistoryEntry>,
    /// The guaranteed rate that its Session was priced by.
    pub rate: Option<SaleRate>,
}

/// Orders and the operations asked of the processor.
#[async_trait]
pub trait PaymentStore: Send + Sync {
    /// In one transaction: consume the stash entry, change the Session (or take the reference), insert the Order and the operation, and take the
    /// request's key for it.
    async fn prepare_authorization(&self, prepare: PrepareAuthorization) -> Result<AuthorizationPrepared, StoreError>;

    /// Keeps the processor's own id of an authorization that was prepared and that nobody has taken over, and leaves it alone until `due_at`: the
    /// processor may be asked for it afterwards.
    /// `Stale` when somebody has taken it over, or has kept one before: then it must not be asked.
    async fn keep_reference(
        &self,
        authorization: OpId,
        reference: &ProcessorReference,
        due_at: Timestamp,
    ) -> Result<Applied, StoreError>;

    /// In one transaction: change the Order, insert the operation and the refund, and take the request's key for the operation. One whose operation is
    /// written already is done, and is not written again.
    async fn change_order(&self, change: ChangeOrder) -> Result<OrderChanged, StoreError>;

    /// In one transaction: everything that follows from an answer. Guarded by the operation being open, so that settling twice is harmless.
    async fn settle(&self, settlement: Settlement) -> Result<Settled, StoreError>;

    /// An operation with all that is needed to settle it.
    async fn find_payment(&self, operation: OpId) -> Result<Option<Payment>, StoreError>;

    /// Takes over open operations that are due, for until `lease_until`; oldest first, at most `limit`.
    async fn claim_due_operations(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedOperation>, StoreError>;

    /// Writes that a refund that had succeeded failed after all, in one transaction: what `settlement` says of its operation, the refund and the Order, what is
    /// posted, history and events. [`Settled::AlreadySettled`] unless the operation is an approved one of that refund.
    async fn take_back_refund(&self, settlement: Settlement) -> Result<Settled, StoreError>;

    /// Makes these operations due at `now`, where the processor was asked before and their outcome is open: something seems to have happened to them. One
    /// that its maker still holds stays so, and one that is unknown here is passed over.
    async fn make_due(&self, operations: &[OpId], now: Timestamp) -> Result<(), StoreError>;

    /// Operations whose outcome is still open, oldest first, at most `limit`; for the operator's eyes, takes nothing over.
    async fn list_open_operations(&self, limit: u32) -> Result<Vec<Operation>, StoreError>;

    /// Open operations counted by kind and state; cheap enough to be asked every few seconds.
    async fn count_open_operations(&self) -> Result<Vec<OpenOperations>, StoreError>;

    /// Keeps an open operation open and counts the try; `Stale` when somebody else took it over (another epoch) or settled it. `answer` is for
    /// whoever asked for the operation with a key and has got nothing yet.
    async fn postpone_operation(
        &self,
        claim: ClaimedOperation,
        state: OpState,
        due_at: Timestamp,
        answer: Option<StoredResponse>,
    ) -> Result<Applied, StoreError>;

    /// Orders whose time was over at `now` (page, transfer or capture window), without a void or capture in flight; oldest end first, those behind
    /// `after`, at most `limit`. Those whose rows make no sense are named too.
    async fn find_lapsed_orders(
        &self,
        now: Timestamp,
        after: Option<LapsedOrder>,
        limit: u32,
    ) -> Result<Vec<LapsedOrder>, StoreError>;

    /// The merchant's own Order; `None` also for another merchant's, and for one that was never shown.
    async fn find_order(&self, merchant: MerchantId, name: &OrderName) -> Result<Option<Order>, StoreError>;

    /// The merchant's own Order with refunds and history; `None` as for [`PaymentStore::find_order`].
    async fn find_order_details(
        &self,
        merchant: MerchantId,
        name: &OrderName,
    ) -> Result<Option<OrderDetails>, StoreError>;

    /// Any merchant's Order, shown or not, with its Session: for the operator, and for the shopper who comes back from a hosted page.
    async fn find_order_anywhere(&self, id: OrderId) -> Result<Option<(Order, Option<Session>)>, StoreError>;

    /// A refund of the merchant's own Order, by its id; `None` also for another Order's.
    async fn find_refund(
        &self,
        merchant: MerchantId,
        order: OrderId,
        id: RefundId,
    ) -> Result<Option<Refund>, StoreError>;

    /// A refund of an Order by the merchant's reference.
    async fn find_refund_by_reference(&self, order: OrderId, reference: &str) -> Result<Option<Refund>, StoreError>;

    /// The operations of an Order, oldest first.
    async fn list_operations(&self, order: OrderId) -> Result<Vec<Operation>, StoreError>;

    /// What a server-to-server checkout said; `None` for an Order of a Session.
    async fn find_checkout(&self, order: OrderId) -> Result<Option<CheckoutRecord>, StoreError>;
}
