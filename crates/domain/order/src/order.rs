use dropin_kernel::{MerchantId, OrderId, PaymentId, Revision, SessionId, Timestamp};
use dropin_money::Amount;

use crate::amounts::Amounts;
use crate::state::OrderState;

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
    /// Held by fraud review; orthogonal to the state.
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
    /// End of the capture window, once authorized (card: 7 days from authorization).
    pub capture_before: Option<Timestamp>,
}

impl Order {
    /// The Order of an attempt that starts now.
    #[expect(
        clippy::too_many_arguments,
        reason = "every one of them is decided by the caller; a builder would hide one"
    )]
    pub fn start(
        id: OrderId,
        merchant_id: MerchantId,
        session_id: Option<SessionId>,
        merchant_reference: String,
        total: Amount,
        auto_capture: bool,
        payment_method: String,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            merchant_id,
            session_id,
            merchant_reference,
            revision: Revision::FIRST,
            state: OrderState::Processing,
            under_review: false,
            shown: false,
            amounts: Amounts::none(total.currency()),
            total,
            auto_capture,
            payment_method,
            created_at: now,
            updated_at: now,
            capture_before: None,
        }
    }

    /// The stream its notifications are ordered in.
    pub fn payment_id(&self) -> PaymentId {
        self.session_id.map_or_else(|| PaymentId::new(self.id.uuid()), PaymentId::from)
    }
}
