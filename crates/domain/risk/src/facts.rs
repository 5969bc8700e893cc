//! What is known of a payment when it is screened.

use std::fmt;
use std::net::IpAddr;

use dropin_card::Scheme;
use dropin_kernel::coded_enum;
use dropin_validation::Country;

use crate::exemption::ExemptedPayments;
use crate::outside::OutsideScore;
use crate::velocity::Velocity;

/// Most bytes that are kept of a text: those of the longest e-mail address (RFC 5321).
const MAX_TEXT_BYTES: usize = 254;

coded_enum! {
    /// How a card is funded.
    ///
    /// ```
    /// use dropin_risk::CardFunding;
    ///
    /// assert_eq!("PREPAID".parse(), Ok(CardFunding::Prepaid));
    /// ```
    #[non_exhaustive]
    pub enum CardFunding: "kind of funding" {
        /// Paid later.
        Credit = "CREDIT",
        /// Paid from an account at once.
        Debit = "DEBIT",
        /// Paid from what was loaded before.
        Prepaid = "PREPAID",
    }
}

/// A text that a shopper or browser sent: lower case without spaces around it, and cut after 254 bytes, so that it costs the same whatever was sent.
/// Debug shows nothing of it.
///
/// ```
/// use dropin_risk::FactText;
///
/// assert_eq!(FactText::new(" Jo@Example.COM ").as_str(), "jo@example.com");
/// assert_eq!(FactText::new(&"x".repeat(1_000_000)).as_str().len(), 254);
/// assert_eq!(format!("{:?}", FactText::new("jo@example.com")), "FactText(..)");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FactText(String);

impl FactText {
    /// Keeps what counts of `text`.
    pub fn new(text: &str) -> Self {
        let text = text.trim_start();
        let mut kept = String::new();
        // Lower case of a letter may be longer than the letter.
        for letter in text.chars().take(MAX_TEXT_BYTES).flat_map(char::to_lowercase) {
            if MAX_TEXT_BYTES < kept.len() + letter.len_utf8() {
                break;
            }
            kept.push(letter);
        }
        kept.truncate(kept.trim_end().len());
        Self(kept)
    }

    /// The text.
    ///
    /// ```
    /// # use dropin_risk::FactText;
    /// assert_eq!(FactText::new("a").as_str(), "a");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for FactText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FactText(..)")
    }
}

/// What the issuer said beside its yes: known after the authorization alone.
///
/// ```
/// use dropin_risk::IssuerChecks;
///
/// assert_eq!(IssuerChecks::default().code_matches, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, rename_all = "PascalCase", deny_unknown_fields))]
pub struct IssuerChecks {
    /// Whether the billing address is the card's (address verification).
    pub address_matches: Option<bool>,
    /// Whether the verification code is the card's.
    pub code_matches: Option<bool>,
    /// Whether the shopper authenticated, so that the issuer bears the loss.
    pub authenticated: Option<bool>,
    /// The country of the card's issuer.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub card_country: Option<Country>,
    /// How the card is funded.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub funding: Option<CardFunding>,
}

/// What is known of a payment. What is not known is `None`: its factor is absent, and nothing is guessed.
///
/// There is no card number in it, and no hash of one: cards are counted before, and the counts stand here.
///
/// ```
/// use dropin_risk::{Facts, Rules, Decision};
///
/// let facts = Facts { card_country: "US".parse().ok(), billing_country: "AT".parse().ok(), ..Facts::default() };
/// assert_eq!(Rules::built_in().screen(facts).decision(), Decision::Allow, "one factor decides nothing");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, rename_all = "PascalCase", deny_unknown_fields))]
pub struct Facts {
    /// The total in euro cents, at the newest rate.
    pub amount_cents: Option<u64>,
    /// The card's scheme.
    pub scheme: Option<Scheme>,
    /// How the card is funded, where that is known before the issuer is asked.
    pub funding: Option<CardFunding>,
    /// The country of the card's issuer, where that is known before it is asked.
    pub card_country: Option<Country>,
    /// The country of the billing address.
    pub billing_country: Option<Country>,
    /// The country of the shipping address.
    pub shipping_country: Option<Country>,
    /// The country of the telephone number.
    pub phone_country: Option<Country>,
    /// The country of the IP address.
    pub ip_country: Option<Country>,
    /// The country of the browser's time zone.
    pub time_zone_country: Option<Country>,
    /// The country of the browser's first language, as in `de_AT`.
    pub language_country: Option<Country>,
    /// The e-mail address.
    pub email: Option<FactText>,
    /// The fingerprint of the browser.
    pub device: Option<FactText>,
    /// The merchant's name for the shopper, BillingProfileReference.
    pub profile: Option<FactText>,
    /// The IP address that the card was posted from.
    pub ip: Option<IpAddr>,
    /// How many whole days ago this shopper first paid this merchant: the same BillingProfileReference or browser. `None` for one who never did; one who
    /// did on the same day is as new.
    pub known_days: Option<u32>,
    /// What was counted, this try included.
    pub velocity: Velocity,
    /// What the issuer said.
    pub issuer: IssuerChecks,
    /// Payments by this card under an exemption since the last authentication, this one left out. `None` where nobody counts them.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub exempted: Option<ExemptedPayments>,
    /// Whether the card is stored for later payments.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub is_stored: bool,
    /// What a service outside says; `None` where none was asked.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub outside: Option<OutsideScore>,
}

impl Facts {
    /// The country of the card's issuer, whenever that was heard of.
    pub(crate) fn country_of_card(&self) -> Option<Country> {
        self.card_country.or(self.issuer.card_country)
    }

    /// How the card is funded, whenever that was heard of.
    pub(crate) fn funding_of_card(&self) -> Option<CardFunding> {
        self.funding.or(self.issuer.funding)
    }
}
