#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::Duration;

use dropin_money::Currency;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How a method is paid with (contract, PaymentMethods entry; decisions.md section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The shopper types a card.
    Card,
    /// The shopper is sent to a hosted page.
    Online,
    /// The shopper pays later and elsewhere: a bank transfer.
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

/// A payment method of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// Identifier on every wire.
    pub id: &'static str,
    /// Name shown to shoppers.
    pub name: &'static str,
    /// How it is paid with.
    pub class: Class,
    /// How long the shopper may take on the hosted page (decisions.md section 3: 3-D Secure 15 minutes, pay-later 48 hours), or to transfer the money.
    pub patience: Duration,
    /// How long an authorization may be captured (decisions.md section 4).
    pub capture_window: Duration,
    /// From when.
    pub window_from: WindowFrom,
    /// Whether less than what is authorized may be captured, once (decisions.md section 4: cards and pay-later).
    pub partial_capture: bool,
    /// Currencies it can charge; empty for all of the contract's.
    currencies: &'static [Currency],
    /// Billing countries it is offered in, ISO 3166-1 alpha-2; empty for all.
    countries: &'static [&'static str],
}

const fn card(id: &'static str, name: &'static str) -> Method {
    Method {
        id,
        name,
        class: Class::Card,
        patience: Duration::from_secs(15 * 60),
        capture_window: Duration::from_secs(7 * DAY.as_secs()),
        window_from: WindowFrom::Authorization,
        partial_capture: true,
        currencies: &[],
        countries: &[],
    }
}

const fn online(id: &'static str, name: &'static str) -> Method {
    let patience = Duration::from_secs(2 * DAY.as_secs());
    Method { class: Class::Online, patience, partial_capture: false, ..card(id, name) }
}

/// The sandbox catalogue (decisions.md section 10). Schemes charge in any currency and country; what a real acquirer is contracted for narrows
/// this. The pay-later method is narrowed as the contract says.
const METHODS: &[Method] = &[
    card("VISA", "Visa"),
    card("MC", "Mastercard"),
    card("AMEX", "American Express"),
    card("DISC", "Discover"),
    card("JCB", "JCB"),
    card("DINERS", "Diners Club"),
    online("PAYPAL", "PayPal"),
    Method { currencies: &[Currency::Eur], countries: &["NL"], ..online("IDEAL", "iDEAL") },
    Method {
        window_from: WindowFrom::Creation,
        partial_capture: true,
        currencies: &[
            Currency::Aud,
            Currency::Chf,
            Currency::Dkk,
            Currency::Eur,
            Currency::Gbp,
            Currency::Nok,
            Currency::Sek,
            Currency::Usd,
        ],
        countries: &["AT", "AU", "BE", "DK", "FI", "FR", "DE", "IT", "NL", "NO", "ES", "SE", "CH", "GB", "US"],
        ..online("PAYLATER", "Pay later")
    },
    Method {
        class: Class::Offline,
        patience: Duration::from_secs(14 * DAY.as_secs()),
        partial_capture: false,
        ..card("BANKTRANSFER", "Bank transfer")
    },
];

impl Method {
    /// Whether it may be used in that billing country and currency; what is not known does not narrow.
    pub fn is_eligible(&self, country: Option<&str>, currency: Option<Currency>) -> bool {
        let country = country.is_none_or(|country| self.countries.is_empty() || self.countries.contains(&country));
        let currency =
            currency.is_none_or(|currency| self.currencies.is_empty() || self.currencies.contains(&currency));
        country && currency
    }
}

/// The methods that may be used in that billing country and currency, in the order they are shown.
pub fn methods_for(country: Option<&str>, currency: Option<Currency>) -> Vec<Method> {
    METHODS.iter().filter(|method| method.is_eligible(country, currency)).copied().collect()
}

/// The method with that id, wherever it may be used.
pub fn find_method(id: &str) -> Option<Method> {
    METHODS.iter().find(|method| method.id == id).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique() {
        for (index, method) in METHODS.iter().enumerate() {
            assert!(METHODS[..index].iter().all(|other| other.id != method.id), "{}", method.id);
        }
    }

    #[test]
    fn a_narrow_method_is_listed_only_where_it_belongs() {
        let ideal = find_method("IDEAL").expect("a method of the sandbox");
        assert!(ideal.is_eligible(Some("NL"), Some(Currency::Eur)) && ideal.is_eligible(None, None));
        assert!(
            !ideal.is_eligible(Some("DE"), Some(Currency::Eur)) && !ideal.is_eligible(Some("NL"), Some(Currency::Usd))
        );
        let pay_later = find_method("PAYLATER").expect("a method of the sandbox");
        assert!(pay_later.is_eligible(Some("GB"), Some(Currency::Gbp)));
        assert!(!pay_later.is_eligible(Some("BR"), Some(Currency::Usd)));
    }

    #[test]
    fn every_scheme_is_offered_for_every_currency() {
        for currency in Currency::ALL.iter().copied() {
            let cards = methods_for(Some("BR"), Some(currency)).into_iter().filter(|one| one.class == Class::Card);
            assert_eq!(cards.count(), 6, "{currency}");
        }
    }
}
