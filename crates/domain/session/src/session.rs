use dropin_kernel::{MerchantId, PaymentId, Revision, SessionId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_validation::{BillingProfile, Discount, Item, ShippingDetails, Text, WebUrl};

use crate::rate::SaleRate;
use crate::state::SessionState;

/// How the merchant named the billing profile: exactly one way (contract, note under the Session table).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BillingChoice {
    /// Supplied in full; a new profile was made of it.
    Supplied,
    /// By the merchant's own reference, which is echoed.
    ByReference(Text),
    /// By the id we generated.
    ById,
}

/// What the merchant asked for: the part of a Session that a PUT replaces entirely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTerms {
    /// Unique per merchant for ever.
    pub merchant_reference: Text,
    /// Whether funds are captured as soon as they are authorized.
    pub auto_capture: bool,
    /// Where the shopper goes when a redirect completes.
    pub complete_url: WebUrl,
    /// Where the shopper goes when a redirect fails or is cancelled.
    pub cancel_url: WebUrl,
    /// The currency of every amount of the Session.
    pub currency: Currency,
    /// At least one.
    pub items: Vec<Item>,
    /// Whether an agent places the Session for the consumer.
    pub via_agent: bool,
    /// Present when a physical good is shipped.
    pub shipping: Option<ShippingDetails>,
    /// Added to the total.
    pub tax: Option<Amount>,
    /// Each subtracted from the total; `None` when not supplied.
    pub discounts: Option<Vec<Discount>>,
    /// AllowContract as it was supplied, to be echoed; never true while no contracts are made here.
    pub allow_contract: Option<bool>,
    /// OpenContract as it was supplied, to be echoed; never true while no contracts are made here.
    pub open_contract: Option<bool>,
    /// The exact sum of the above (contract, Session.TotalAmount); positive.
    pub total: Amount,
    /// The guaranteed rate that it is priced by, when a RateOfferId was supplied.
    pub rate: Option<SaleRate>,
    /// How the billing profile was named.
    pub billing_choice: BillingChoice,
    /// The billing profile itself.
    pub billing: BillingProfile,
}

/// A Session as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Identifier that reaches the browser; random.
    pub id: SessionId,
    /// Whose Session it is.
    pub merchant_id: MerchantId,
    /// Counts changes; it is also the version that the shopper's page shows and names when paying.
    pub revision: Revision,
    /// Where it stands.
    pub state: SessionState,
    /// What is to be paid.
    pub terms: SessionTerms,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When an unpaid Session ends (decisions.md section 3: 24 h unless configured).
    pub expires_at: Timestamp,
}

impl Session {
    /// A new Session in state CREATED.
    pub fn create(
        id: SessionId,
        merchant_id: MerchantId,
        terms: SessionTerms,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Self {
        Self {
            id,
            merchant_id,
            revision: Revision::FIRST,
            state: SessionState::Created,
            terms,
            created_at: now,
            updated_at: now,
            expires_at,
        }
    }

    /// The stream its notifications are ordered in.
    pub fn payment_id(&self) -> PaymentId {
        self.id.into()
    }

    /// `{SessionId}` inside CompleteUrl and CancelUrl replaced (decisions.md section 2): (complete, cancel).
    pub fn return_urls(&self) -> (String, String) {
        let id = self.id.to_string();
        (self.terms.complete_url.with_session_id(&id), self.terms.cancel_url.with_session_id(&id))
    }
}
