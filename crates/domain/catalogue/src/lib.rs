#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

use dropin_money::Currency;

/// How a method is paid with (contract, PaymentMethods entry; decisions.md section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The shopper types a card.
    Card,
}

impl Class {
    /// The contract's spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Card => "Card",
        }
    }
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
    /// Currencies it can charge; empty for all of the contract's.
    currencies: &'static [Currency],
    /// Billing countries it is offered in, ISO 3166-1 alpha-2; empty for all.
    countries: &'static [&'static str],
}

const fn card(id: &'static str, name: &'static str) -> Method {
    Method { id, name, class: Class::Card, currencies: &[], countries: &[] }
}

/// The card schemes of the sandbox catalogue (decisions.md section 10). Schemes charge in any currency and country; what a real acquirer is
/// contracted for narrows this.
const METHODS: &[Method] = &[
    card("VISA", "Visa"),
    card("MC", "Mastercard"),
    card("AMEX", "American Express"),
    card("DISC", "Discover"),
    card("JCB", "JCB"),
    card("DINERS", "Diners Club"),
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
        let narrow = Method { currencies: &[Currency::Eur], countries: &["NL"], ..card("IDEAL", "iDEAL") };
        assert!(narrow.is_eligible(Some("NL"), Some(Currency::Eur)) && narrow.is_eligible(None, None));
        assert!(
            !narrow.is_eligible(Some("DE"), Some(Currency::Eur))
                && !narrow.is_eligible(Some("NL"), Some(Currency::Usd))
        );
    }

    #[test]
    fn every_scheme_is_offered_for_every_currency() {
        assert!(Currency::ALL.iter().all(|currency| methods_for(Some("BR"), Some(*currency)).len() == 6));
    }
}
