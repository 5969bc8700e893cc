use std::time::Duration;

use dropin_catalogue::MerchantMethods;
use dropin_kernel::{MerchantId, Timestamp, coded_enum};
use dropin_money::Currency;

use crate::origin::Origin;

coded_enum! {
    /// The kind of contract under which a shopper saves a card by choice (docs/SPECIFICATION.md#allow-contract).
    ///
    /// ```
    /// use dropin_access::SavedCardKind;
    ///
    /// assert_eq!(SavedCardKind::default().as_str(), "ONE_CLICK");
    /// ```
    #[derive(Default)]
    pub enum SavedCardKind: "kind of saved card" {
        /// The shopper alone pays with it.
        #[default]
        OneClick = "ONE_CLICK",
        /// The merchant may charge it later, too; the text that the shopper agrees to says so.
        Unscheduled = "UNSCHEDULED",
    }
}

/// What a merchant has set for cards that shoppers save. By default none is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SavedCardSettings {
    /// Whether returning shoppers are offered the cards that they saved: a BillingProfileReference then stands for a customer who is logged in.
    pub offered: bool,
    /// What AllowContract opens.
    pub kind: SavedCardKind,
}

/// A merchant account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merchant {
    /// Identifier; public.
    pub id: MerchantId,
    /// Name shown to shoppers.
    pub name: String,
    /// Currencies it may charge in; INVALID_CURRENCY for any other.
    pub currencies: Vec<Currency>,
    /// Origins whose pages may embed the drop-in and post to the stash.
    pub origins: Vec<Origin>,
    /// How long an unpaid Session lives (docs/SPECIFICATION.md#session-lifetime: 24 h unless configured).
    pub session_lifetime: Duration,
    /// How many attempts to pay a Session allows, the failed ones included: 1 to 20, 5 unless configured.
    pub attempts_allowed: u32,
    /// Cards that its shoppers save (docs/SPECIFICATION.md#one-click).
    pub saved_cards: SavedCardSettings,
    /// What is particular about the payment methods it offers.
    pub methods: MerchantMethods,
    /// Whether it was made in a sandbox; fixed for ever, so that nobody charges real cards with an account made for trying out.
    pub sandbox: bool,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Merchant {
    /// Whether it may charge in `currency`.
    pub fn accepts(&self, currency: Currency) -> bool {
        self.currencies.contains(&currency)
    }
}
