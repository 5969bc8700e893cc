use dropin_kernel::{MerchantId, OrderId, PaymentId, Revision, SessionId, Timestamp};
use dropin_money::Amount;

use crate::amounts::Amounts;
use crate::bank::BankDetails;
use crate::state::OrderState;

/// Why an authorization, or what still waits, is being voided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoidCause {
    /// The merchant cancelled.
    Merchant,
    /// Its time is over: the hosted page's, the transfer's or the capture window's.
    Expired,
    /// The reviewer declined.
    Review,
}

impl VoidCause {
    /// Every cause; the CHECK constraints of both databases are tested against this list.
    pub const ALL: [Self; 3] = [Self::Merchant, Self::Expired, Self::Review];

    /// The stored spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Merchant => "MERCHANT",
            Self::Expired => "EXPIRED",
            Self::Review => "REVIEW",
        }
    }

    /// Reads the stored spelling back.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == code)
    }
}

/// What an Order begins with; every member is decided by the caller.
#[derive(Debug, Clone)]
pub struct NewOrder {
    /// Identifier; random, since it stands in the address that a hosted page sends the shopper back to.
    pub id: OrderId,
    /// Whose Order it is.
    pub merchant_id: MerchantId,
    /// The Session it comes from; `None` for a server-to-server checkout.
    pub session_id: Option<SessionId>,
    /// The merchant's reference, checked when it came in.
    pub merchant_reference: String,
    /// What is to be paid.
    pub total: Amount,
    /// Whether it is captured as soon as it is authorized.
    pub auto_capture: bool,
    /// Id of the payment method in the catalogue.
    pub payment_method: String,
    /// Where the shopper of a server-to-server checkout comes back to.
    pub return_url: Option<String>,
}

/// An Order as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Identifier.
    pub id: OrderId,
    /// Whose Order it is.
    pub merchant_id: MerchantId,
    /// The Session it came from; `None` for a server-to-server checkout.
    pub session_id: Option<SessionId>,
    /// The merchant's reference, checked when it came in.
    pub merchant_reference: String,
    /// Counts changes.
    pub revision: Revision,
    /// Where it stands.
    pub state: OrderState,
    /// Held by our own review; orthogonal to the state. Merchants are told [`Order::is_held`].
    pub under_review: bool,
    /// Whether the merchant has been told of it; an attempt that fails inside its Session never is.
    pub shown: bool,
    /// What is to be paid.
    pub total: Amount,
    /// What was reserved, taken and given back.
    pub amounts: Amounts,
    /// Whether it is captured as soon as it is authorized.
    pub auto_capture: bool,
    /// Id of the payment method in the catalogue, for example `VISA`.
    pub payment_method: String,
    /// When the attempt was started.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it ends by itself unless something happens: the hosted page's or the transfer's limit while PROCESSING, then the end of the capture
    /// window.
    pub expires_at: Option<Timestamp>,
    /// The hosted page that the shopper has to visit, while PROCESSING.
    pub page: Option<String>,
    /// Where the shopper transfers the money to, when paid by bank transfer.
    pub bank_details: Option<Box<BankDetails>>,
    /// A void is in flight: nothing else may begin.
    pub voiding: Option<VoidCause>,
    /// Somebody was told that this much will be captured without asking again.
    pub capture_promised: Option<Amount>,
    /// Where the shopper of a server-to-server checkout comes back to.
    pub return_url: Option<String>,
}

impl Order {
    /// The Order of an attempt that starts now. One of a server-to-server checkout is shown from the start, since the answer names it.
    pub fn start(new: NewOrder, now: Timestamp) -> Self {
        Self {
            id: new.id,
            merchant_id: new.merchant_id,
            session_id: new.session_id,
            merchant_reference: new.merchant_reference,
            revision: Revision::FIRST,
            state: OrderState::Processing,
            under_review: false,
            shown: new.session_id.is_none(),
            amounts: Amounts::none(new.total.currency()),
            total: new.total,
            auto_capture: new.auto_capture,
            payment_method: new.payment_method,
            created_at: now,
            updated_at: now,
            expires_at: None,
            page: None,
            bank_details: None,
            voiding: None,
            capture_promised: None,
            return_url: new.return_url,
        }
    }

    /// The stream its notifications are ordered in.
    pub fn payment_id(&self) -> PaymentId {
        self.session_id.map_or_else(|| PaymentId::new(self.id.uuid()), PaymentId::from)
    }

    /// Whether it is held by a review, so that a capture waits: ours, or the pay-later provider's as long as that has approved nothing. What merchants
    /// are told as UnderReview, in every answer and notification.
    pub fn is_held(&self) -> bool {
        let theirs = self.state == OrderState::CommitAccepted && self.amounts.total_authorized().is_zero();
        self.under_review || theirs
    }

    /// Whether its time was over at `now`; written down by a sweeper a little later.
    pub fn has_lapsed(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}
