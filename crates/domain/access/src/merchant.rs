use std::ops::Deref;
use std::time::Duration;

use dropin_catalogue::MerchantMethods;
use dropin_kernel::{MerchantId, Timestamp, coded_enum};
use dropin_money::Currency;

use crate::origin::Origin;
use crate::routing::ProcessorRouting;

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

/// How a merchant's payments are screened for fraud and card testing (docs/SPECIFICATION.md#screening-settings). By default they are not.
///
/// ```
/// use dropin_access::ScreeningSettings;
///
/// assert!(ScreeningSettings::of_new_merchant(false).on, "where money moves");
/// assert!(!ScreeningSettings::of_new_merchant(true).on, "in a sandbox");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScreeningSettings {
    /// Whether its payments are screened.
    pub on: bool,
    /// How often rules of its own were set or taken away; 0 where there never were any. Their text is kept apart, since it may be long.
    pub rules_revision: u64,
}

impl ScreeningSettings {
    /// Those of a merchant that is created: on where money moves, off in a sandbox.
    pub const fn of_new_merchant(sandbox: bool) -> Self {
        Self { on: !sandbox, rules_revision: 0 }
    }
}

/// Everything that a [`Merchant`] consists of, to be read, and to be stored and restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerchantParts {
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
    /// How its payments are screened.
    pub screening: ScreeningSettings,
    /// What is particular about the payment methods it offers.
    pub methods: MerchantMethods,
    /// Which of the deployment's processors its payments go to; without a rule, the main one.
    pub processors: ProcessorRouting,
    /// Whether it was made in a sandbox; fixed for ever, so that nobody charges real cards with an account made for trying out.
    pub sandbox: bool,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A merchant account: its parts, which belong together.
///
/// ```
/// use std::time::Duration;
///
/// use dropin_access::{InvalidMerchant, Merchant, MerchantParts};
/// use dropin_kernel::{MerchantId, Timestamp, uuid::Uuid};
/// use dropin_money::Currency;
///
/// let merchant = Merchant::restore(MerchantParts {
///     id: MerchantId::new(Uuid::from_u128(1)),
///     name: "Corner shop".to_owned(),
///     currencies: vec![Currency::Eur],
///     origins: vec!["https://shop.example".parse().unwrap()],
///     session_lifetime: Duration::from_secs(86_400),
///     attempts_allowed: 5,
///     saved_cards: Default::default(),
///     screening: Default::default(),
///     methods: Default::default(),
///     processors: Default::default(),
///     sandbox: false,
///     created_at: Timestamp::from_micros(0),
/// })
/// .unwrap();
/// assert!(merchant.accepts(Currency::Eur) && !merchant.accepts(Currency::Usd));
///
/// // Real cards are typed on pages that nobody reads along.
/// let plain = "http://shop.example".parse().unwrap();
/// assert_eq!(merchant.edited(|parts| parts.origins.push(plain)), Err(InvalidMerchant::PlainOrigin));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merchant(MerchantParts);

/// Why parts are no merchant.
///
/// ```
/// use dropin_access::InvalidMerchant;
///
/// assert_eq!(InvalidMerchant::Currencies.to_string(), "a merchant has at least one currency, and none twice");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidMerchant {
    /// Shoppers see it.
    #[error("a merchant has a name")]
    Name,
    /// None, or one twice.
    #[error("a merchant has at least one currency, and none twice")]
    Currencies,
    /// One twice, or too many: they stand in a header.
    #[error("a merchant has at most {} origins, and none twice", Merchant::MAX_ORIGINS)]
    Origins,
    /// A card is typed in a frame of these pages.
    #[error("the origins of a merchant that moves real money begin with https://")]
    PlainOrigin,
    /// A Session that ends before it is shown.
    #[error("the Sessions of a merchant live for some time")]
    SessionLifetime,
    /// A Session that nobody can pay.
    #[error("a merchant allows at least one attempt to pay")]
    Attempts,
}

impl Merchant {
    /// Most origins of one merchant.
    pub const MAX_ORIGINS: usize = 50;

    /// A merchant from its stored parts, or from those of a new one.
    ///
    /// # Errors
    /// [`InvalidMerchant`]: the parts do not belong together.
    pub fn restore(parts: MerchantParts) -> Result<Self, InvalidMerchant> {
        if parts.name.trim().is_empty() {
            return Err(InvalidMerchant::Name);
        }
        if parts.currencies.is_empty() || has_twice(&parts.currencies) {
            return Err(InvalidMerchant::Currencies);
        }
        if Self::MAX_ORIGINS < parts.origins.len() || has_twice(&parts.origins) {
            return Err(InvalidMerchant::Origins);
        }
        if !parts.sandbox && !parts.origins.iter().all(Origin::is_secure) {
            return Err(InvalidMerchant::PlainOrigin);
        }
        if parts.session_lifetime.is_zero() {
            return Err(InvalidMerchant::SessionLifetime);
        }
        if parts.attempts_allowed == 0 {
            return Err(InvalidMerchant::Attempts);
        }
        Ok(Self(parts))
    }

    /// The parts, to be stored.
    pub fn into_parts(self) -> MerchantParts {
        self.0
    }

    /// The same merchant with other parts, as [`Merchant::restore`] takes them.
    ///
    /// # Errors
    /// [`InvalidMerchant`]: the parts do not belong together.
    pub fn edited(mut self, edit: impl FnOnce(&mut MerchantParts)) -> Result<Self, InvalidMerchant> {
        edit(&mut self.0);
        Self::restore(self.0)
    }

    /// Whether it may charge in `currency`.
    pub fn accepts(&self, currency: Currency) -> bool {
        self.currencies.contains(&currency)
    }
}

/// Whether any of a few is there twice.
fn has_twice<T: PartialEq>(all: &[T]) -> bool {
    all.iter().enumerate().any(|(index, one)| all[..index].contains(one))
}

impl Deref for Merchant {
    type Target = MerchantParts;

    fn deref(&self) -> &MerchantParts {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> MerchantParts {
        MerchantParts {
            id: MerchantId::new(dropin_kernel::uuid::Uuid::from_u128(1)),
            name: "Shop".to_owned(),
            currencies: vec![Currency::Usd, Currency::Eur],
            origins: vec![Origin::parse("https://shop.example").unwrap()],
            session_lifetime: Duration::from_secs(60),
            attempts_allowed: 1,
            saved_cards: SavedCardSettings::default(),
            screening: ScreeningSettings::of_new_merchant(false),
            methods: MerchantMethods::default(),
            processors: ProcessorRouting::default(),
            sandbox: false,
            created_at: Timestamp::from_micros(0),
        }
    }

    #[test]
    fn parts_that_belong_together_come_back() {
        assert_eq!(Merchant::restore(parts()).map(Merchant::into_parts), Ok(parts()));
        let plain = Origin::parse("http://localhost:8081").unwrap();
        let sandbox = MerchantParts { sandbox: true, origins: vec![plain], ..parts() };
        assert_eq!(Merchant::restore(sandbox.clone()).map(Merchant::into_parts), Ok(sandbox));
    }

    #[test]
    fn parts_that_do_not_belong_together_are_refused() {
        let origin = |port: usize| Origin::parse(&format!("https://shop.example:{}", 1_000 + port)).unwrap();
        let many = (0..=Merchant::MAX_ORIGINS).map(origin).collect::<Vec<_>>();
        let most = MerchantParts { origins: many[1..].to_vec(), ..parts() };
        assert!(Merchant::restore(most).is_ok());
        let plain = Origin::parse("http://shop.example").unwrap();
        for (wrong, why) in [
            (MerchantParts { name: " \t".to_owned(), ..parts() }, InvalidMerchant::Name),
            (MerchantParts { currencies: vec![], ..parts() }, InvalidMerchant::Currencies),
            (MerchantParts { currencies: vec![Currency::Usd; 2], ..parts() }, InvalidMerchant::Currencies),
            (MerchantParts { origins: vec![origin(0), origin(1), origin(0)], ..parts() }, InvalidMerchant::Origins),
            (MerchantParts { origins: many, ..parts() }, InvalidMerchant::Origins),
            (MerchantParts { origins: vec![origin(0), plain], ..parts() }, InvalidMerchant::PlainOrigin),
            (MerchantParts { session_lifetime: Duration::ZERO, ..parts() }, InvalidMerchant::SessionLifetime),
            (MerchantParts { attempts_allowed: 0, ..parts() }, InvalidMerchant::Attempts),
        ] {
            assert_eq!(Merchant::restore(wrong), Err(why));
        }
    }
}
