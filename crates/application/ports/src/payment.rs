use async_trait::async_trait;
use dropin_kernel::{Change, MerchantId, OpId, OrderId, Timestamp};
use dropin_order::{LedgerTransaction, OpState, Operation, Order};
use dropin_session::Session;

use crate::answers::{KeyUse, StoredAnswer};
use crate::keyring::SealedCard;
use crate::stash::{StashKey, StashSummary};
use crate::store::{Applied, Changed, History, NewEvent, StoreError};

/// Everything that is written before the processor is asked to authorize.
#[derive(Debug, Clone)]
pub struct PrepareAuthorization {
    /// The Session moving to PROCESSING; the winner of every race is decided by its revision.
    pub session: Change<Session>,
    /// The new Order.
    pub order: Order,
    /// The operation about to be asked.
    pub operation: Operation,
    /// The stash entry to consume, its code with it.
    pub stash: StashKey,
    /// What was known of the entry when this was decided; an entry that differs by now counts as missing.
    pub summary: StashSummary,
    /// Entries that expired by then do not count.
    pub now: Timestamp,
    /// Of the Session and the Order.
    pub history: Vec<History>,
}

/// What came of preparing an authorization.
#[derive(Debug, Clone)]
pub enum AuthorizationPrepared {
    /// Written; the stash entry is gone from the store and here.
    Done(SealedCard),
    /// The Session changed first: nothing was written, the stash entry is still there.
    Stale,
    /// The stash entry is unseen, used, expired or another one by now: nothing was written.
    StashMissing,
}

/// Everything that is written before the processor is asked to capture.
#[derive(Debug, Clone)]
pub struct PrepareCapture {
    /// The Order with the amount reserved.
    pub order: Change<Order>,
    /// The operation about to be asked.
    pub operation: Operation,
    /// Its history row.
    pub history: History,
    /// The request's key, if it carried one; answered when the operation's outcome, or that it is not known yet, is written.
    pub key_use: Option<KeyUse>,
}

/// An operation with the Order and Session it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// The operation.
    pub operation: Operation,
    /// Its Order.
    pub order: Order,
    /// Its Session; `None` for a server-to-server checkout.
    pub session: Option<Session>,
}

/// Everything that follows from an operation's outcome, written in one transaction.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The operation.
    pub operation: OpId,
    /// Its new state.
    pub state: OpState,
    /// When to look again, if that state is open.
    pub due_at: Timestamp,
    /// The Order's change, if any.
    pub order: Option<Change<Order>>,
    /// The Session's change, if any.
    pub session: Option<Change<Session>>,
    /// An operation that follows at once (a capture after its authorization).
    pub follow_up: Option<Operation>,
    /// What is posted.
    pub ledger: Vec<LedgerTransaction>,
    /// Who is told, in this order.
    pub events: Vec<NewEvent>,
    /// What is remembered.
    pub history: Vec<History>,
    /// What whoever asked for the operation with a key gets, unless they got something before.
    pub answer: Option<StoredAnswer>,
    /// When it was settled.
    pub now: Timestamp,
}

/// What came of settling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Written.
    Done,
    /// The operation was settled before, by somebody else: nothing was written, and that is fine.
    AlreadySettled,
    /// The Order or Session changed first: load and decide again.
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

/// Orders and the operations asked of the processor.
#[async_trait]
pub trait PaymentStore: Send + Sync {
    /// In one transaction: consume the stash entry, change the Session, insert the Order and the operation.
    async fn prepare_authorization(&self, prepare: PrepareAuthorization) -> Result<AuthorizationPrepared, StoreError>;

    /// In one transaction: reserve the amount on the Order, insert the operation and take the request's key for it.
    async fn prepare_capture(&self, prepare: PrepareCapture) -> Result<Changed, StoreError>;

    /// In one transaction: everything that follows from an outcome. Guarded by the operation being open, so that settling twice is harmless.
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

    /// Operations whose outcome is still open, oldest first, at most `limit`; for the operator's eyes, takes nothing over.
    async fn list_open_operations(&self, limit: u32) -> Result<Vec<Operation>, StoreError>;

    /// Keeps an open operation open and counts the try; `Stale` when somebody else took it over (another epoch) or settled it. `answer` is for
    /// whoever asked for the operation with a key and has got nothing yet.
    async fn postpone_operation(
        &self,
        claim: ClaimedOperation,
        state: OpState,
        due_at: Timestamp,
        answer: Option<StoredAnswer>,
    ) -> Result<Applied, StoreError>;

    /// The merchant's own Order; `None` also for another merchant's, and for one that was never shown.
    async fn find_order(&self, merchant: MerchantId, id: OrderId) -> Result<Option<Order>, StoreError>;

    /// The newest capture of an Order, with its state; tells how a capture ended.
    async fn find_last_capture(&self, order: OrderId) -> Result<Option<Operation>, StoreError>;

    /// The approved authorization of an Order.
    async fn find_authorization(&self, order: OrderId) -> Result<Option<Operation>, StoreError>;
}
