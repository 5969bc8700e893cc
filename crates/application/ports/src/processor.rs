use async_trait::async_trait;
use dropin_card::{Card, Scheme, WalletToken};
use dropin_contract::{ContractKind, CredentialDecline};
use dropin_kernel::{MerchantId, OpId, OrderId, ProcessorId, Timestamp};
use dropin_money::Amount;
use dropin_order::{BankDetails, DeclineReason, OpKind, ProcessorReference};
use dropin_risk::{IssuerChecks, ScaExemption};

use crate::credential::{
    CredentialApproval, CredentialDeletion, DeleteCredentialRequest, StoredCredential, StoredCredentialPayment,
};

/// What an authorization is paid with, as the processor gets it.
#[derive(Debug)]
pub enum PaymentMethodData {
    /// A card; wiped when dropped.
    Card(Card),
    /// What a wallet gave instead of a card, byte for byte; wiped when dropped.
    WalletToken(WalletToken),
    /// What the processor stored of a card before; wiped when dropped.
    StoredCredential(Box<StoredCredentialPayment>),
    /// A method of the catalogue without a card, by its id, for example `PAYPAL`.
    Method(String),
}

/// An authorization to ask for.
#[derive(Debug)]
pub struct AuthorizeRequest {
    /// Idempotency key.
    pub key: OpId,
    /// The deployment's processor that is asked; `None` for its main one.
    pub processor: Option<ProcessorId>,
    /// Whose payment it is: merchants share the way to the processor fairly.
    pub merchant_id: MerchantId,
    /// What the processor gave for this at [`Processor::register`]; `None` where it gives nothing.
    pub reference: Option<ProcessorReference>,
    /// The Order, for the processor's own records.
    pub order_id: OrderId,
    /// The merchant's reference of the payment, for the same.
    pub merchant_reference: String,
    /// Id of the payment method in the catalogue, for the same.
    pub payment_method: String,
    /// How much to reserve. Zero verifies the card and charges nothing: where it is stored, or the shopper authenticates anew for a contract.
    pub amount: Amount,
    /// What with.
    pub method_data: PaymentMethodData,
    /// Of a card that bears more than one: the scheme to pay by, as was chosen. A processor that lets nobody choose leaves it out.
    pub scheme: Option<Scheme>,
    /// What the card is stored for once this is approved; `None` to store nothing. For a card alone.
    pub store: Option<ContractKind>,
    /// What the shopper shall write on a transfer; `None` for methods without one.
    pub payment_reference: Option<String>,
    /// Where a hosted page sends the shopper back; `None` when there is nobody to send.
    pub return_url: Option<String>,
    /// The shopper's billing country, ISO 3166-1 alpha-2.
    pub country: Option<String>,
    /// The postcode of a new card's billing address, for its issuer to compare; `None` where it shall not. A processor that has none compared leaves
    /// it out.
    pub postcode: Option<String>,
    /// Whether the shopper shall authenticate (3-D Secure), whatever the issuer would ask for. Methods without a card take no notice of it.
    pub challenge: bool,
    /// Why the card's issuer may do without an authentication; `None` to ask for nothing. Never with [`challenge`](Self::challenge). Where the issuer refuses
    /// it, the processor sends the shopper to authenticate under the same key, or declines where there is nobody to send. A processor that takes none
    /// leaves it out.
    pub exemption: Option<ScaExemption>,
}

/// A capture to ask for.
#[derive(Debug, Clone)]
pub struct CaptureRequest {
    /// Idempotency key.
    pub key: OpId,
    /// The deployment's processor that is asked; `None` for its main one.
    pub processor: Option<ProcessorId>,
    /// Whose payment it is: merchants share the way to the processor fairly.
    pub merchant_id: MerchantId,
    /// The authorization to take from.
    pub authorization: OpId,
    /// What the processor gave for that at [`Processor::register`].
    pub reference: Option<ProcessorReference>,
    /// How much to take; the rest is released.
    pub amount: Amount,
}

/// A void to ask for: all of an authorization is released, or one that still waits for the shopper is stopped.
#[derive(Debug, Clone)]
pub struct VoidRequest {
    /// Idempotency key.
    pub key: OpId,
    /// The deployment's processor that is asked; `None` for its main one.
    pub processor: Option<ProcessorId>,
    /// Whose payment it is: merchants share the way to the processor fairly.
    pub merchant_id: MerchantId,
    /// The authorization to end.
    pub authorization: OpId,
    /// What the processor gave for that at [`Processor::register`].
    pub reference: Option<ProcessorReference>,
}

/// A refund to ask for.
#[derive(Debug, Clone)]
pub struct RefundRequest {
    /// Idempotency key.
    pub key: OpId,
    /// The deployment's processor that is asked; `None` for its main one.
    pub processor: Option<ProcessorId>,
    /// Whose payment it is: merchants share the way to the processor fairly.
    pub merchant_id: MerchantId,
    /// The authorization whose captured money is given back.
    pub authorization: OpId,
    /// What the processor gave for that at [`Processor::register`].
    pub reference: Option<ProcessorReference>,
    /// How much.
    pub amount: Amount,
}

/// A query for the status of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationQuery {
    /// Its idempotency key.
    pub key: OpId,
    /// The deployment's processor that is asked; `None` for its main one.
    pub processor: Option<ProcessorId>,
    /// Whose payment it is: merchants share the way to the processor fairly.
    pub merchant_id: MerchantId,
    /// What was asked under the key; an answer about anything else is none.
    pub kind: OpKind,
    /// What the processor gave at [`Processor::register`] for the authorization that it is, or is about; `None` when nothing was kept of it.
    pub reference: Option<ProcessorReference>,
}

/// What a pending operation waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// The processor itself; it will decide.
    Processor,
    /// The shopper, on a hosted page.
    Shopper {
        /// The page.
        page: String,
        /// When the processor closes it, if it says so.
        until: Option<Timestamp>,
    },
    /// A transfer from the shopper's bank to this account.
    Transfer {
        /// The account.
        to: Box<BankDetails>,
        /// When it is waited for no longer, if the processor says so.
        until: Option<Timestamp>,
    },
    /// The pay-later provider's own review.
    Review,
}

/// What a processor says of an operation (docs/SPECIFICATION.md#processor-outcomes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessorReply {
    /// Done.
    Approved {
        /// What the processor says it did, in whatever currency it says; `None` when it names none, as for a void. A different amount than
        /// asked is for the caller to notice.
        amount: Option<Amount>,
        /// Whether the money is taken already: there is nothing to capture (iDEAL, bank transfer).
        captured: bool,
        /// Whether the processor holds it for a review of ours.
        under_review: bool,
        /// What there is to know of the stored card; `None` where nothing was stored or paid by what is.
        credential: Option<Box<CredentialApproval>>,
        /// What the issuer said of an authorization beside its yes; what the processor does not tell is unknown.
        checks: IssuerChecks,
    },
    /// Refused.
    Declined {
        /// Why.
        reason: DeclineReason,
        /// Whether another try may succeed.
        retryable: bool,
        /// What the issuer said of a payment by a stored credential; `None` where it was not asked, or the processor tells no more than `reason`.
        credential: Option<CredentialDecline>,
    },
    /// Accepted; the outcome comes later and is asked for by key.
    Pending(Waiting),
    /// The processor refuses this key for ever; nothing was done under it.
    Abandoned,
    /// Nobody knows: time-out, reset, 5xx or an answer that makes no sense. Ask again by key.
    Unknown {
        /// For the log; never card data.
        why: String,
    },
    /// Surely never sent: no connection could be made, or our own guard in front of a failing processor held it back.
    NotSent,
}

/// What a processor says to an authorization that is about to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registration {
    /// It knows operations by our keys alone.
    Unneeded,
    /// It knows the authorization by this from now on, and reserves nothing before [`Processor::authorize`] names it.
    Registered(ProcessorReference),
    /// It refuses already, for example an amount that it cannot charge. Nothing was reserved.
    Declined {
        /// Why.
        reason: DeclineReason,
        /// Whether another try may succeed.
        retryable: bool,
    },
    /// It gave none. Whatever it has written down, nothing can be reserved under it.
    NotRegistered {
        /// For the log; never card data.
        why: String,
    },
}

/// What a processor says when asked for the status by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusReply {
    /// It knows the key.
    Known(ProcessorReply),
    /// It surely never did anything under the key (it may still arrive late).
    Absent,
    /// It cannot be asked now.
    Unreachable {
        /// For the log.
        why: String,
    },
}

/// Whether a processor takes authorizations now, as far as that can be told before one is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Nothing speaks against asking it.
    Ready,
    /// Our own guard holds calls back, since it answers nobody.
    HeldBack,
    /// It would refuse every call: it refuses the key that it knows us by, or the deployment has it no longer.
    Unusable,
}

/// A deployment's payment processors: one, or several behind one that passes each call on to the one that it names. Every operation is idempotent by its key; nothing here ever retries by itself.
#[async_trait]
pub trait Processor: Send + Sync {
    /// Whether an authorization may be prepared at `processor` now. It is asked before anything is written down, and answers within a second or two.
    async fn readiness(&self, _processor: Option<&ProcessorId>) -> Readiness {
        Readiness::Ready
    }

    /// Which of the deployment's processors keeps the card that this charges (`None` for its main one), and what that one knows it by.
    fn holder(&self, credential: StoredCredential) -> (Option<ProcessorId>, StoredCredential) {
        (None, credential)
    }

    /// Writes an authorization down at the processor before any money can move, where it names such things itself: what it gives is committed with the
    /// operation before [`Processor::authorize`] is called with it, once. What was never committed was never authorized.
    async fn register(&self, _request: &AuthorizeRequest) -> Registration {
        Registration::Unneeded
    }

    /// Reserves money, or begins what the shopper or a bank has to finish.
    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply;

    /// Takes reserved money.
    async fn capture(&self, request: CaptureRequest) -> ProcessorReply;

    /// Releases reserved money, or stops what still waits.
    async fn void(&self, request: VoidRequest) -> ProcessorReply;

    /// Gives captured money back.
    async fn refund(&self, request: RefundRequest) -> ProcessorReply;

    /// What became of the operation with this key.
    async fn status(&self, question: OperationQuery) -> StatusReply;

    /// Makes the processor refuse the key for ever, unless it has moved money under it already: then that is the answer. A hosted page that waits for
    /// the shopper is closed by it: afterwards nobody can pay it. Where a processor cannot do that in one step with being paid, it may also release what
    /// was paid a moment before, and says that it is closed: the caller then voids what it was told before. What waits for a bank transfer or for the provider's
    /// own review stays, and that is the answer.
    async fn abandon(&self, question: OperationQuery) -> StatusReply;

    /// Deletes what was stored of a card. It may be asked again, and an authorization by it that comes later is declined.
    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion;
}

/// One entry of the processor's journal: an effect, or a change of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// Its number in the journal, counting up.
    pub number: u64,
    /// The key that we asked under.
    pub key: OpId,
    /// What was asked: AUTHORIZE, CAPTURE, VOID or REFUND.
    pub kind: String,
    /// APPROVED, DECLINED, PENDING or ABANDONED.
    pub outcome: String,
    /// How much, when there is an amount.
    pub amount: Option<Amount>,
    /// The authorization it is about; `None` for an authorization.
    pub authorization: Option<OpId>,
    /// Whether an authorization was paid at once.
    pub captured: bool,
    /// When it was written.
    pub at: Timestamp,
    /// The Order, as it was told.
    pub order: Option<OrderId>,
}

/// The journal cannot be read now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the processor's journal cannot be read: {0}")]
pub struct JournalUnavailable(pub String);

/// The processor's journal, which the audit compares with our records. A processor without a journal has a settlement report instead.
#[async_trait]
pub trait ProcessorJournal: Send + Sync {
    /// Entries with a number above `after`, in order, at most `limit` (at most 1,000).
    async fn journal(&self, after: u64, limit: u32) -> Result<Vec<JournalEntry>, JournalUnavailable>;
}
