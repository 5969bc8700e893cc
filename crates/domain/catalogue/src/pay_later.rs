//! The pay-later method's regions (docs/SPECIFICATION.md#pay-later). Which countries and currencies it has at all stands in the
//! table of methods.

use std::fmt;
use std::str::FromStr;

use dropin_kernel::coded_enum;
use dropin_money::Currency;

use crate::locale::Locale;

/// Id of the pay-later method.
///
/// ```
/// assert!(dropin_catalogue::find_method(dropin_catalogue::PAY_LATER).is_some());
/// ```
pub const PAY_LATER: &str = "PAYLATER";

coded_enum! {
    /// A region of the pay-later provider: its own merchant accounts and its own messaging script.
    ///
    /// ```
    /// use dropin_catalogue::PayLaterRegion;
    ///
    /// assert_eq!(PayLaterRegion::ALL.map(PayLaterRegion::as_str), ["eu", "na", "oc"]);
    /// ```
    pub enum PayLaterRegion: "pay-later region" {
        /// Europe.
        Europe = "eu",
        /// North America.
        NorthAmerica = "na",
        /// Oceania.
        Oceania = "oc",
    }
}

/// One way of paying later. As text, and with the feature `serde`: `now`, `after 30 days`, `in 4 instalments`.
///
/// ```
/// use dropin_catalogue::PayOption;
///
/// assert_eq!(PayOption::After(30).to_string(), "after 30 days");
/// assert_eq!("in 4 instalments".parse(), Ok(PayOption::Instalments(4)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PayOption {
    /// All of it, at once.
    Now,
    /// All of it, after so many days.
    After(u8),
    /// In so many equal parts.
    Instalments(u8),
}

/// The text is no [`PayOption`].
///
/// ```
/// use dropin_catalogue::PayOption;
///
/// let refused = "soon".parse::<PayOption>().unwrap_err();
/// assert_eq!(refused.to_string(), "is no way of paying later: write now, after 30 days or in 4 instalments");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InvalidPayOption;

impl fmt::Display for InvalidPayOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is no way of paying later: write now, after 30 days or in 4 instalments")
    }
}

impl std::error::Error for InvalidPayOption {}

impl fmt::Display for PayOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.pad("now"),
            Self::After(days) => f.pad(&format!("after {days} days")),
            Self::Instalments(parts) => f.pad(&format!("in {parts} instalments")),
        }
    }
}

impl FromStr for PayOption {
    type Err = InvalidPayOption;

    fn from_str(text: &str) -> Result<Self, InvalidPayOption> {
        if text == "now" {
            return Ok(Self::Now);
        }
        let days = text.strip_prefix("after ").and_then(|rest| rest.strip_suffix(" days")).map(str::parse);
        let parts = text.strip_prefix("in ").and_then(|rest| rest.strip_suffix(" instalments")).map(str::parse);
        match (days, parts) {
            (Some(Ok(days)), _) => Ok(Self::After(days)),
            (_, Some(Ok(parts))) => Ok(Self::Instalments(parts)),
            _ => Err(InvalidPayOption),
        }
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(PayOption);

impl PayLaterRegion {
    /// The ways of paying that its shoppers are offered; the provider chooses among them for each shopper.
    ///
    /// ```
    /// # use dropin_catalogue::{PayLaterRegion, PayOption};
    /// assert!(PayLaterRegion::Europe.options().contains(&PayOption::Instalments(3)));
    /// ```
    pub const fn options(self) -> &'static [PayOption] {
        use PayOption::{After, Instalments, Now};
        match self {
            Self::Europe => &[Now, After(14), After(21), After(30), Instalments(3)],
            Self::NorthAmerica => &[Now, After(30), Instalments(4)],
            Self::Oceania => &[Now, Instalments(4)],
        }
    }

    /// That of a country where the method is offered.
    ///
    /// ```
    /// # use dropin_catalogue::PayLaterRegion;
    /// assert_eq!(PayLaterRegion::of_country("AU"), Some(PayLaterRegion::Oceania));
    /// ```
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
    ///
    /// ```
    /// # use dropin_catalogue::PayLaterRegion;
    /// # use dropin_money::Currency;
    /// assert_eq!(PayLaterRegion::of_currency(Currency::Usd), Some(PayLaterRegion::NorthAmerica));
    /// ```
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

    /// That of a shopper of whom some of this is known: the country decides, else the currency, else the locale's country
    /// (docs/SPECIFICATION.md#pay-later-parameters).
    ///
    /// ```
    /// # use dropin_catalogue::PayLaterRegion;
    /// # use dropin_money::Currency;
    /// assert_eq!(PayLaterRegion::of(Some("US"), Some(Currency::Eur), None), Some(PayLaterRegion::NorthAmerica));
    /// ```
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
            assert_eq!(
                PayLaterRegion::of_country(&code).is_some(),
                method.countries.iter().any(|one| *one == code),
                "{code}"
            );
        }
        for currency in Currency::ALL.iter().copied() {
            assert_eq!(
                PayLaterRegion::of_currency(currency).is_some(),
                method.currencies.contains(&currency),
                "{currency}"
            );
        }
    }

    #[test]
    fn the_country_decides_before_the_currency_before_the_locale() {
        let locale = |text| Locale::parse(text);
        let of = |country, currency, text| PayLaterRegion::of(country, currency, locale(text).as_ref());
        assert_eq!(of(Some("US"), Some(Currency::Eur), "de_DE"), Some(PayLaterRegion::NorthAmerica));
        assert_eq!(of(None, Some(Currency::Aud), "de_DE"), Some(PayLaterRegion::Oceania));
        assert_eq!(of(None, None, "sv_SE"), Some(PayLaterRegion::Europe));
        assert_eq!(of(Some("BR"), Some(Currency::Eur), "de_DE"), None, "the country is known, and has none");
        assert_eq!(of(None, None, ""), None);
    }

    #[test]
    fn an_option_is_read_as_it_is_written() {
        for option in PayLaterRegion::ALL.iter().flat_map(|region| region.options()) {
            assert_eq!(option.to_string().parse(), Ok(*option));
        }
        for text in ["", "Now", "after days", "after 300 days", "after 14", "in x instalments", "in -1 instalments"] {
            assert_eq!(text.parse::<PayOption>(), Err(InvalidPayOption), "{text}");
        }
    }

    #[test]
    fn the_options_are_those_of_the_specification() {
        use PayOption::{After, Instalments, Now};
        let all: Vec<_> = PayLaterRegion::ALL.iter().flat_map(|region| region.options()).collect();
        for option in [Now, After(14), After(21), After(30), Instalments(3), Instalments(4)] {
            assert!(all.contains(&&option), "{option:?}");
        }
        let known = |option: &&PayOption| matches!(option, Now | After(14 | 21 | 30) | Instalments(3 | 4));
        assert!(all.iter().all(known), "{all:?}");
    }
}
