use std::fmt;
use std::time::Duration;

use dropin_money::{Amount, Currency};

use crate::locale::Name;

const DAY: u64 = 24 * 60 * 60;

/// How a method is paid with (contract, PaymentMethods entry; decisions.md section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The shopper types a card, or a wallet hands one over.
    Card,
    /// The shopper is sent to a hosted page.
    Online,
    /// The shopper pays later and elsewhere: a bank transfer, a voucher.
    Offline,
}

impl Class {
    /// The contract's spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Card => "Card",
            Self::Online => "Online",
            Self::Offline => "Offline",
        }
    }
}

/// When the time to capture an authorization begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowFrom {
    /// When it was authorized.
    Authorization,
    /// When the Order was created (contract, Limits: pay-later).
    Creation,
}

/// Where a payment is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// In the drop-in, by the shopper.
    DropIn,
    /// From server to server, by the merchant.
    Checkout,
}

impl Channel {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::DropIn, Self::Checkout];

    /// Its name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DropIn => "drop-in",
            Self::Checkout => "checkout",
        }
    }
}

/// What may be paid with a method in one currency, both ends included, in the currency's minor unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The currency.
    pub currency: Currency,
    /// The least; 0 for no limit.
    pub least: i64,
    /// The most; `None` for no limit.
    pub most: Option<i64>,
}

impl Range {
    /// Whether `amount` is within; an amount of another currency is none of its business.
    pub fn holds(&self, amount: &Amount) -> bool {
        amount.currency() != self.currency
            || (self.least <= amount.minor() && self.most.is_none_or(|most| amount.minor() <= most))
    }
}

/// As people read it: `5.00 to 49999.99 BRL`.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { currency, least, most } = *self;
        let text = |minor| Amount::from_minor(currency, minor).map_or_else(|_| minor.to_string(), |it| it.to_string());
        match (least, most) {
            (least, None) => write!(f, "at least {} {}", text(least), currency.code()),
            (0, Some(most)) => write!(f, "at most {} {}", text(most), currency.code()),
            (least, Some(most)) => write!(f, "{} to {} {}", text(least), text(most), currency.code()),
        }
    }
}

/// A payment method: what is publicly known of it. Where it may be used is for [`crate::Catalogue`] alone to say, so that nobody else decides it.
#[derive(Debug)]
pub struct Method {
    /// Identifier on every wire.
    pub id: &'static str,
    /// Name shown to shoppers, in English or as the brand writes it.
    pub name: &'static str,
    /// How it is paid with.
    pub class: Class,
    /// Whether it is a wallet that hands over a token (contract, TokenMethods): it is listed apart, and its charges are a card's.
    pub token: bool,
    /// Whether it belongs to a country or region, as a scheme of its banks does, and is not used all over the world.
    pub local: bool,
    /// How long the shopper may take on the hosted page (decisions.md section 3: 3-D Secure 15 minutes, pay-later 48 hours), or to pay elsewhere.
    pub patience: Duration,
    /// How long an authorization may be captured (decisions.md section 4).
    pub capture_window: Duration,
    /// From when.
    pub window_from: WindowFrom,
    /// Whether less than what is authorized may be captured, once (decisions.md section 4: cards and pay-later).
    pub partial_capture: bool,
    /// Whether money is given back the way it came; where not, the merchant has to transfer it.
    pub refunds: bool,
    /// Whether the merchant may charge again later without the shopper.
    pub recurring: bool,
    /// Where its facts were read.
    pub source: &'static str,
    /// Its name in other languages.
    pub(crate) names: Name,
    /// Currencies it can charge; empty for all of the contract's.
    pub(crate) currencies: &'static [Currency],
    /// Billing countries it is offered in, ISO 3166-1 alpha-2; empty for all.
    pub(crate) countries: &'static [&'static str],
    /// How much, in the currencies that have a limit.
    pub(crate) amounts: &'static [Range],
    /// Where it can be paid with.
    pub(crate) channels: &'static [Channel],
    /// Whether the sandbox processor can do it (decisions.md section 10).
    pub(crate) sandbox: bool,
}

impl Method {
    /// How a card works; a start for every other entry.
    pub(crate) const fn card(id: &'static str, name: &'static str, source: &'static str) -> Self {
        Self {
            id,
            name,
            class: Class::Card,
            token: false,
            local: false,
            patience: Duration::from_secs(15 * 60),
            capture_window: Duration::from_secs(7 * DAY),
            window_from: WindowFrom::Authorization,
            partial_capture: true,
            refunds: true,
            recurring: true,
            source,
            names: Name::Brand,
            currencies: &[],
            countries: &[],
            amounts: &[],
            channels: &Channel::ALL,
            sandbox: false,
        }
    }

    /// How a method with a hosted page works.
    pub(crate) const fn online(id: &'static str, name: &'static str, source: &'static str) -> Self {
        let patience = Duration::from_secs(2 * DAY);
        let class = Class::Online;
        Self { class, patience, partial_capture: false, recurring: false, ..Self::card(id, name, source) }
    }

    /// How a voucher or a transfer works that is waited for this many days.
    pub(crate) const fn offline(id: &'static str, name: &'static str, days: u64, source: &'static str) -> Self {
        let patience = Duration::from_secs(days * DAY);
        let class = Class::Offline;
        Self { class, patience, partial_capture: false, recurring: false, ..Self::card(id, name, source) }
    }

    /// The same, used in these countries and currencies only.
    pub(crate) const fn only(mut self, countries: &'static [&'static str], currencies: &'static [Currency]) -> Self {
        self.local = true;
        self.countries = countries;
        self.currencies = currencies;
        self
    }

    /// The same, with these limits.
    pub(crate) const fn within(mut self, amounts: &'static [Range]) -> Self {
        self.amounts = amounts;
        self
    }

    /// The same; the sandbox processor can do it.
    pub(crate) const fn in_sandbox(mut self) -> Self {
        self.sandbox = true;
        self
    }

    /// Its name in `language` (ISO 639), and the language that this is: English where no other is known. A brand is the same everywhere.
    pub fn name_in<'a>(&self, language: &'a str) -> (&'static str, &'a str) {
        match self.names {
            Name::Brand => (self.name, language),
            Name::Translated(names) => {
                let found = names.iter().find(|(known, _)| *known == language);
                found.map_or((self.name, "en"), |(_, name)| (*name, language))
            }
        }
    }

    /// Where it may be used, for people to read: billing countries, currencies and limits.
    pub fn reach(&self) -> [String; 3] {
        let currencies: Vec<_> = self.currencies.iter().map(|currency| currency.code()).collect();
        let amounts: Vec<_> = self.amounts.iter().map(Range::to_string).collect();
        let or = |words: Vec<String>, all: &str| if words.is_empty() { all.to_owned() } else { words.join(" ") };
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        [or(owned(self.countries), "all"), or(owned(&currencies), "all"), amounts.join(", ")]
    }

    /// Whether the sandbox processor can do it (decisions.md section 10).
    pub const fn is_in_sandbox(&self) -> bool {
        self.sandbox
    }
}
