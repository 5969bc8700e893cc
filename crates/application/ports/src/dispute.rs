use async_trait::async_trait;
use dropin_access::SealedSecret;
use dropin_kernel::{Change, DisputeAnswerId, DisputeId, MerchantId, OpId, OrderId, ProcessorId, Revision, Timestamp};
use dropin_money::Amount;
use dropin_order::{
    Dispute, DisputeAnswer, DisputeAnswerKind, DisputeAnswerState, DisputeReason, DisputeState, Evidence,
    LedgerTransaction, Order,
};

use crate::audit_log::NewAuditEntry;
use crate::store::{Applied, NewEvent, NewHistoryEntry, StoreError};

/// A dispute as its processor tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedDispute {
    /// The processor's own id of it.
    pub reference: String,
    /// The authorization whose money is disputed, by our key; `None` where the processor does not know it by one of ours.
    pub authorization: Option<OpId>,
    /// Where it stands there.
    pub state: DisputeState,
    /// Why.
    pub reason: DisputeReason,
    /// How much.
    pub amount: Amount,
    /// Until when it may be answered.
    pub due_at: Option<Timestamp>,
}

/// One of a processor's disputes, and where its list goes on behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDispute {
    /// Where the list goes on behind it: opaque, at most 255 characters.
    pub position: String,
    /// The dispute; `None` for one that makes no sense, which the list goes on behind all the same.
    pub dispute: Option<ReportedDispute>,
}

/// A processor's disputes cannot be read now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the processor's disputes cannot be read: {0}")]
pub struct DisputesUnavailable(pub String);

/// How a dispute is answered at its processor.
#[derive(Debug, Clone)]
pub enum DisputeResponse {
    /// The shopper keeps the money.
    Accept,
    /// Evidence that the payment was right.
    Evidence(Evidence),
}

impl DisputeResponse {
    /// Of which kind it is.
    pub const fn kind(&self) -> DisputeAnswerKind {
        match self {
            Self::Accept => DisputeAnswerKind::Accept,
            Self::Evidence(_) => DisputeAnswerKind::Evidence,
        }
    }
}

/// An answer to give to the processor.
#[derive(Debug, Clone)]
pub struct DisputeAnswerRequest {
    /// Idempotency key.
    pub key: DisputeAnswerId,
    /// Whose payment it is.
    pub merchant_id: MerchantId,
    /// The processor's own id of the dispute.
    pub reference: String,
    /// How often it was given before without a clear reply, for a processor that repeats a failure under a key.
    pub tries: u32,
    /// The answer.
    pub response: DisputeResponse,
}

/// What a processor says to an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DisputeReply {
    /// It has it, and the dispute stands so.
    Taken(ReportedDispute),
    /// It does not take it, for good.
    Refused {
        /// Why, for a person; never anything of the evidence.
        why: String,
    },
    /// Nobody knows, or surely nothing was sent: told again under the same key.
    Unknown {
        /// For the log.
        why: String,
    },
}

/// Disputes at a payment processor. An answer is idempotent by its key; nothing here ever retries by itself.
#[async_trait]
pub trait ProcessorDisputes: Send + Sync {
    /// Disputes that were opened after that position of the list (from its beginning when `None`), in order, at most `limit`.
    async fn list_disputes(&self, after: Option<&str>, limit: u32) -> Result<Vec<ListedDispute>, DisputesUnavailable>;

    /// How a dispute stands.
    async fn read_dispute(&self, reference: &str) -> Result<ReportedDispute, DisputesUnavailable>;

    /// Gives an answer.
    async fn answer_dispute(&self, request: DisputeAnswerRequest) -> DisputeReply;
}

/// An answer that is begun, with what it says.
#[derive(Debug, Clone)]
pub struct NewDisputeAnswer {
    /// The answer, [`DisputeAnswerState::Open`].
    pub answer: DisputeAnswer,
    /// The evidence, sealed; of an answer with evidence only.
    pub evidence: Option<SealedSecret>,
}

/// A change of a dispute, with all that follows from it, written in one transaction.
#[derive(Debug, Clone)]
pub struct ChangeDispute {
    /// The dispute as it stands afterwards.
    pub dispute: Dispute,
    /// The revision that this was decided on; `None` of a new one.
    pub expected: Option<Revision>,
    /// The Order's change, if any.
    pub order: Option<Change<Order>>,
    /// The answer that is begun, if any.
    pub begins: Option<NewDisputeAnswer>,
    /// What became of the open answer, if this ends it.
    pub ends: Option<(DisputeAnswerId, DisputeAnswerState)>,
    /// What is posted.
    pub ledger: Vec<LedgerTransaction>,
    /// The history entries.
    pub history: Vec<NewHistoryEntry>,
    /// The events for the merchant, in this order.
    pub events: Vec<NewEvent>,
    /// The entry of the audit log, where a person, an API user or a command does this.
    pub audit: Option<NewAuditEntry>,
}

/// What came of a change of a dispute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisputeChanged {
    /// Written.
    Done,
    /// The dispute, its Order or its answer changed first: nothing was written; load and decide again.
    Stale,
    /// The processor's dispute is recorded already: nothing was written.
    Known,
}

/// A dispute, its Order, and the answer that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisputeWithOrder {
    /// The dispute.
    pub dispute: Dispute,
    /// Its Order.
    pub order: Order,
    /// The answer whose outcome is open, if any.
    pub open_answer: Option<DisputeAnswer>,
}

/// A dispute, and whether an answer to it is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredDispute {
    /// As it stands.
    pub dispute: Dispute,
    /// Whether the processor has not said yet that it has the answer; the settler gives it again.
    pub is_pending: bool,
}

/// Which disputes are listed, for those who run the deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisputeFilter {
    /// Of this merchant alone.
    pub merchant: Option<MerchantId>,
    /// Of this Order alone.
    pub order: Option<OrderId>,
    /// Only those that wait for the merchant or the bank.
    pub only_open: bool,
    /// Those older than this one.
    pub before: Option<DisputeId>,
}

/// How many disputes of a processor wait for the merchant or the bank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDisputes {
    /// The processor.
    pub processor: ProcessorId,
    /// Where they stand.
    pub state: DisputeState,
    /// How many.
    pub count: u64,
}

/// Disputes and the answers to them.
#[async_trait]
pub trait DisputeStore: Send + Sync {
    /// In one transaction: insert or change the dispute, change its Order, begin or end an answer, post, append history and events.
    async fn change_dispute(&self, change: ChangeDispute) -> Result<DisputeChanged, StoreError>;

    /// The disputes of the merchant's own Order, oldest first; none also of another merchant's.
    async fn list_order_disputes(
        &self,
        merchant: MerchantId,
        order: OrderId,
    ) -> Result<Vec<AnsweredDispute>, StoreError>;

    /// A dispute with its Order.
    async fn find_dispute(&self, id: DisputeId) -> Result<Option<DisputeWithOrder>, StoreError>;

    /// A dispute by its processor's id of it.
    async fn find_reported_dispute(
        &self,
        processor: &ProcessorId,
        reference: &str,
    ) -> Result<Option<DisputeId>, StoreError>;

    /// The Order of an authorization that this processor was asked for, or one of before processors were named.
    async fn find_disputed_order(
        &self,
        processor: &ProcessorId,
        authorization: OpId,
    ) -> Result<Option<Order>, StoreError>;

    /// Disputes of any merchant, newest first, at most `limit`.
    async fn list_disputes(&self, filter: DisputeFilter, limit: u32) -> Result<Vec<Dispute>, StoreError>;

    /// Undecided disputes of these merchants, or of all merchants, at most `limit`: first those that wait for an answer, soonest due first, so that those whose
    /// time is over lead.
    async fn list_open_disputes(
        &self,
        merchants: Option<Vec<MerchantId>>,
        limit: u32,
    ) -> Result<Vec<AnsweredDispute>, StoreError>;

    /// How many disputes are undecided, for each processor and state that has some.
    async fn count_open_disputes(&self) -> Result<Vec<OpenDisputes>, StoreError>;

    /// Takes over undecided disputes of a processor that were to be looked at by `now`, for until `next_look`; those that waited longest first, at most
    /// `limit`.
    async fn claim_undecided_disputes(
        &self,
        processor: &ProcessorId,
        now: Timestamp,
        next_look: Timestamp,
        limit: u32,
    ) -> Result<Vec<DisputeId>, StoreError>;

    /// Says when an undecided dispute is looked at again.
    async fn look_again(&self, id: DisputeId, at: Timestamp) -> Result<(), StoreError>;

    /// Takes over open answers that are due, for until `lease_until`, and counts the try; oldest first, at most `limit`.
    async fn claim_due_answers(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<DisputeAnswer>, StoreError>;

    /// Says when an open answer is given again; `Stale` when it is open no longer.
    async fn postpone_answer(&self, id: DisputeAnswerId, due_at: Timestamp) -> Result<Applied, StoreError>;

    /// The sealed evidence of an answer.
    async fn find_evidence(&self, id: DisputeAnswerId) -> Result<Option<SealedSecret>, StoreError>;

    /// How far a processor's list of disputes has been read.
    async fn find_dispute_position(&self, processor: &ProcessorId) -> Result<Option<String>, StoreError>;

    /// Keeps how far it has been read, unless somebody has read on meanwhile.
    async fn keep_dispute_position(
        &self,
        processor: &ProcessorId,
        old: Option<&str>,
        new: &str,
    ) -> Result<Applied, StoreError>;
}
