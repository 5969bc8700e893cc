use async_trait::async_trait;
use dropin_kernel::{LedgerTransactionId, MerchantId, OpId, OrderId, Timestamp};
use dropin_money::Currency;
use dropin_order::{Account, Dispute, Operation, Order, Refund};

use crate::payment::CheckoutRecord;
use crate::store::{StoreError, StoredHistoryEntry};

/// What the ledger of one Order says of one account in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// The account.
    pub account: Account,
    /// The currency of the transactions.
    pub currency: Currency,
    /// The sum of the account's entries, in minor units; negative where more left than came.
    pub minor: i64,
}

/// An operation with its position in the order of all operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionedOperation {
    /// Counts up from one in the order in which operations were written down, nearly without gaps.
    pub position: u64,
    /// The operation.
    pub operation: Operation,
}

/// All records of one Order, read in one snapshot of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRecords {
    /// The Order.
    pub order: Order,
    /// Its operations, oldest first.
    pub operations: Vec<PositionedOperation>,
    /// Its refunds, oldest first.
    pub refunds: Vec<Refund>,
    /// Its disputes, oldest first.
    pub disputes: Vec<Dispute>,
    /// Its ledger, one for each account and currency that was ever posted to.
    pub balances: Vec<Balance>,
    /// Its ledger transactions whose entries are not those that were declared, or do not sum to zero.
    pub unbalanced: Vec<LedgerTransactionId>,
}

/// All that is stored about one Order, for the operator; read in one snapshot of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderAuditTrail {
    /// The Order with its money.
    pub records: OrderRecords,
    /// Its life, oldest step first.
    pub history: Vec<StoredHistoryEntry>,
    /// What a server-to-server checkout said; `None` for an Order of a Session.
    pub checkout: Option<CheckoutRecord>,
}

/// What was found of one Order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditedOrder {
    /// It can be read; whether it adds up is for the auditor to say.
    Readable(Box<OrderRecords>),
    /// A row of it makes no sense.
    Corrupt {
        /// The Order.
        id: OrderId,
        /// The table.
        table: &'static str,
        /// What is wrong, without any stored value that could be personal.
        what: String,
    },
}

impl AuditedOrder {
    /// Which Order it is.
    pub fn id(&self) -> OrderId {
        match self {
            Self::Readable(records) => records.order.id,
            Self::Corrupt { id, .. } => *id,
        }
    }
}

/// What is kept here of the card that an authorization had stored at the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CredentialTrace {
    /// The authorization.
    pub operation: OpId,
    /// Its Order.
    pub order: OrderId,
    /// Whether its outcome is open: what the processor stored may still be taken up.
    pub is_open: bool,
    /// Whether the card can be charged or deleted from here.
    pub has_credential: bool,
}

/// The records of all merchants' Orders, shown or not, in pages, for the audit. Reads only, and takes no locks.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// Orders with an id above `after` (all when `None`), by id, at most `limit`; fewer only at the end. All of a page is read in one state of the
    /// database. An Order begun meanwhile may be passed over.
    async fn audit_orders(&self, after: Option<OrderId>, limit: u32) -> Result<Vec<AuditedOrder>, StoreError>;

    /// Those of the given operations that exist, in any order; at most 1,000 are asked for.
    async fn find_operations(&self, ids: Vec<OpId>) -> Result<Vec<PositionedOperation>, StoreError>;

    /// Any merchant's Order, shown or not, with all that is kept about it.
    async fn find_audit_trail(&self, id: OrderId) -> Result<Option<OrderAuditTrail>, StoreError>;

    /// How many operations are open that have been unknown since before `since`, or are due since before then; cheap enough to be asked every
    /// few seconds.
    async fn count_stuck_operations(&self, since: Timestamp) -> Result<u64, StoreError>;

    /// Merchants with an id above `after` (all when `None`), by id, at most `limit`; fewer only at the end.
    async fn list_merchant_ids(&self, after: Option<MerchantId>, limit: u32) -> Result<Vec<MerchantId>, StoreError>;

    /// What is kept of the cards that these authorizations stored, in any order; nothing of those that do not exist. At most 1,000 are asked for.
    async fn trace_credentials(&self, opened_by: Vec<OpId>) -> Result<Vec<CredentialTrace>, StoreError>;
}
