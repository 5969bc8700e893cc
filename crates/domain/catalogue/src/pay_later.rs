//! The pay-later method's regions (contract, Pay-later payment method properties). Which countries and currencies it has at all stands in the
//! table of methods.

use dropin_money::Currency;

use crate::locale::Locale;

/// Id of the pay-later method.
pub const PAY_LATER: &str = "PAYLATER";

/// A region of the pay-later provider: its own merchant accounts and its own messaging script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// Europe.
    Europe,
    /// North America.
    NorthAmerica,
    /// Oceania.
    Oceania,
}

/// One way of paying later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayOption {
    /// All of it, at once.
    Now,
    /// All of it, after so many days.
    After(u8),
    /// In so many equal parts.
    Instalments(u8),
}

impl Region {
    /// Every region.
    pub const ALL: [Self; 3] = [Self::Europe, Self::NorthAmerica, Self::Oceania];

    /// Its name in addresses and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Europe => "eu",
            Self::NorthAmerica => "na",
            Self::Oceania => "oc",
        }
    }

    /// The ways of paying that its shoppers are offered; the provider chooses among them for each shopper.
    pub const fn options(self) -> &'static [PayOption] {
        use PayOption::{After, Instalments, Now};
        match self {
            Self::Europe => &[Now, After(14), After(21), After(30), Instalments(3)],
            Self::NorthAmerica => &[Now, After(30), Instalments(4)],
            Self::Oceania => &[Now, Instalments(4)],
        }
    }

    /// That of a country where the method is offered.
    pub fn of_country(code: &str) -> Option<Self> {
        match code {
            "AT" | "BE" | "CH" | "DE" | "DK" | "ES" | "FI" | "FR" | "GB" | "IT" | "NL" | "NO" | "SE" => {
                Some(Self::Europe)
            }
            "US" => Some(Self::NorthAmerica),
            "AU" => Some(Self::Oceania),
            _ => None,
        }
    }

    /// That of a currency in which the method charges.
    pub fn of_currency(currency: Currency) -> Option<Self> {
        match currency {
            Currency::Chf | Currency::Dkk | Currency::Eur | Currency::Gbp | Currency::Nok | Currency::Sek => {
                Some(Self::Europe)
            }
            Currency::Usd => Some(Self::NorthAmerica),
            Currency::Aud => Some(Self::Oceania),
            _ => None,
        }
    }

    /// That of a shopper of whom some of this is known: the country decides, else the currency, else the locale's country (contract, Pay-later:
    /// one of them must be passed).
    pub fn of(country: Option<&str>, currency: Option<Currency>, locale: Option<&Locale>) -> Option<Self> {
        match (country, currency, locale) {
            (Some(country), _, _) => Self::of_country(country),
            (None, Some(currency), _) => Self::of_currency(currency),
            (None, None, Some(locale)) => Self::of_country(locale.country()),
            (None, None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_method;

    #[test]
    fn every_country_and_currency_of_the_method_has_a_region_and_no_other() {
        let method = find_method(PAY_LATER).expect("in the table");
        for letters in (b'A'..=b'Z').flat_map(|one| (b'A'..=b'Z').map(move |two| [one, two])) {
            let code = String::from_utf8_lossy(&letters).into_owned();
            assert_eq!(Region::of_country(&code).is_some(), method.countries.contains(&code.as_str()), "{code}");
        }
        for currency in Currency::ALL.iter().copied() {
            assert_eq!(Region::of_currency(currency).is_some(), method.currencies.contains(&currency), "{currency}");
        }
    }

    #[test]
    fn the_country_decides_before_the_currency_before_the_locale() {
        let locale = |text| Locale::parse(text);
        let of = |country, currency, text| Region::of(country, currency, locale(text).as_ref());
        assert_eq!(of(Some("US"), Some(Currency::Eur), "de_DE"), Some(Region::NorthAmerica));
        assert_eq!(of(None, Some(Currency::Aud), "de_DE"), Some(Region::Oceania));
        assert_eq!(of(None, None, "sv_SE"), Some(Region::Europe));
        assert_eq!(of(Some("BR"), Some(Currency::Eur), "de_DE"), None, "the country is known, and has none");
        assert_eq!(of(None, None, ""), None);
    }

    #[test]
    fn the_options_are_those_of_the_contract() {
        use PayOption::{After, Instalments, Now};
        let all: Vec<_> = Region::ALL.iter().flat_map(|region| region.options()).collect();
        for option in [Now, After(14), After(21), After(30), Instalments(3), Instalments(4)] {
            assert!(all.contains(&&option), "{option:?}");
        }
        let known = |option: &&PayOption| matches!(option, Now | After(14 | 21 | 30) | Instalments(3 | 4));
        assert!(all.iter().all(known), "{all:?}");
    }
}
