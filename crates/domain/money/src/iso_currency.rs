use std::fmt;
use std::str::FromStr;

use crate::amount::bounded;
use crate::{AmountError, Currency, Decimal, UnknownCurrency};

/// Codes by the decimals of their minor unit: ISO 4217 list one as published on 2026-01-01, without the codes that have no minor
/// unit (metals, units of account, XTS, XXX).
const ACTIVE: [(u8, &str); 4] = [
    (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
    (
        2,
        "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU \
         CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES \
         KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR \
         NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP \
         TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG",
    ),
    (3, "BHD IQD JOD KWD LYD OMR TND"),
    (4, "CLF UYW"),
];

/// Codes of list three (withdrawn) that [`Currency`] still has.
const WITHDRAWN: (u8, &str) = (2, "BGN HRK");

/// The text is no code of [`IsoCurrency`].
///
/// ```
/// use dropin_money::{IsoCurrency, UnknownIsoCurrency};
///
/// assert_eq!("XXX".parse::<IsoCurrency>(), Err(UnknownIsoCurrency));
/// assert_eq!(UnknownIsoCurrency.to_string(), "is not a currency of ISO 4217 with a minor unit, such as USD");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("is not a currency of ISO 4217 with a minor unit, such as USD")]
pub struct UnknownIsoCurrency;

/// A currency of ISO 4217: every active code that has a minor unit, funds included, and every [`Currency`].
///
/// It is for what a program sees of other currencies than the 60 of Dropin: feeds of rates, files of banks. There are no amounts in
/// them; [`minor_units`](Self::minor_units) and [`to_decimal`](Self::to_decimal) convert numbers exactly.
///
/// ```
/// use dropin_money::{Currency, Decimal, IsoCurrency, UnknownCurrency};
///
/// let dinar: IsoCurrency = "JOD".parse()?;
/// assert_eq!((dinar.code(), dinar.exponent()), ("JOD", 3));
/// assert_eq!(dinar.minor_units(&Decimal::parse("1.5")?)?, 1500);
/// assert_eq!(Currency::try_from(dinar), Err(UnknownCurrency));
/// assert_eq!(Currency::try_from("USD".parse::<IsoCurrency>()?), Ok(Currency::Usd));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IsoCurrency {
    code: &'static str,
    exponent: u8,
}

impl IsoCurrency {
    /// Every active currency, by its minor unit and then by its code. Those that ISO has withdrawn are not among them.
    ///
    /// ```
    /// use dropin_money::IsoCurrency;
    ///
    /// let of_four: Vec<_> = IsoCurrency::active().filter(|one| one.exponent() == 4).map(IsoCurrency::code).collect();
    /// assert_eq!(of_four, ["CLF", "UYW"]);
    /// assert!(IsoCurrency::active().all(|one| one.code() != "HRK"));
    /// ```
    pub fn active() -> impl Iterator<Item = Self> {
        ACTIVE.into_iter().flat_map(listed)
    }

    /// The alphabetic code.
    ///
    /// ```
    /// use dropin_money::{Currency, IsoCurrency};
    ///
    /// assert_eq!(IsoCurrency::from(Currency::Usd).code(), "USD");
    /// ```
    pub const fn code(self) -> &'static str {
        self.code
    }

    /// How many decimals the minor unit has: 0, 2, 3 or 4.
    ///
    /// ```
    /// use dropin_money::IsoCurrency;
    ///
    /// assert_eq!("XAF".parse::<IsoCurrency>()?.exponent(), 0);
    /// # Ok::<(), dropin_money::UnknownIsoCurrency>(())
    /// ```
    pub const fn exponent(self) -> u8 {
        self.exponent
    }

    /// The number in minor units, exactly, by the rules of an [`Amount`](crate::Amount).
    ///
    /// # Errors
    /// [`AmountError`] when it is negative, has more than twelve integer digits, or more decimals than the minor unit (zeros at the
    /// end do not count).
    ///
    /// ```
    /// use dropin_money::{Decimal, IsoCurrency};
    ///
    /// let naira: IsoCurrency = "NGN".parse()?;
    /// assert_eq!(naira.minor_units(&"1500.50".parse()?)?, 150_050);
    /// assert_eq!(naira.minor_units(&"0.005".parse()?).unwrap_err().to_string(), "NGN has 2 decimals at most");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn minor_units(self, number: &Decimal) -> Result<i64, AmountError> {
        if number.is_negative() {
            return Err(AmountError::Negative);
        }
        let (digits, exact) = number.shifted(self.exponent);
        if !exact {
            return Err(AmountError::TooPrecise { currency: self });
        }
        bounded(self.exponent, i64::try_from(digits).map_err(|_beyond| AmountError::TooLarge)?)
    }

    /// The number that so many minor units are, with all decimals of the currency.
    ///
    /// ```
    /// use dropin_money::IsoCurrency;
    ///
    /// assert_eq!("TND".parse::<IsoCurrency>()?.to_decimal(1500).to_string(), "1.500");
    /// # Ok::<(), dropin_money::UnknownIsoCurrency>(())
    /// ```
    pub fn to_decimal(self, minor_units: i64) -> Decimal {
        Decimal::with_decimals(minor_units.into(), self.exponent)
    }
}

fn listed((exponent, codes): (u8, &'static str)) -> impl Iterator<Item = IsoCurrency> {
    codes.split(' ').map(move |code| IsoCurrency { code, exponent })
}

impl From<Currency> for IsoCurrency {
    fn from(currency: Currency) -> Self {
        Self { code: currency.code(), exponent: currency.exponent() }
    }
}

impl TryFrom<IsoCurrency> for Currency {
    type Error = UnknownCurrency;

    fn try_from(currency: IsoCurrency) -> Result<Self, UnknownCurrency> {
        currency.code.parse()
    }
}

impl fmt::Display for IsoCurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code)
    }
}

impl FromStr for IsoCurrency {
    type Err = UnknownIsoCurrency;

    /// Codes in upper case only.
    fn from_str(code: &str) -> Result<Self, UnknownIsoCurrency> {
        Self::active().chain(listed(WITHDRAWN)).find(|currency| currency.code == code).ok_or(UnknownIsoCurrency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_that_of_2026() {
        let mut codes: Vec<_> = IsoCurrency::active().map(IsoCurrency::code).collect();
        assert_eq!(codes.len(), 165); // 178 of list one without the 13 that have no minor unit
        assert!(codes.iter().all(|code| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), 165);
        for (exponent, list) in ACTIVE {
            assert!(list.split(' ').is_sorted(), "{exponent}");
        }
        for gone in ["ANG", "BGN", "CUC", "HRK", "SLL", "ZWL", "XAU", "XDR", "XTS", "XXX"] {
            assert!(!codes.contains(&gone), "{gone}");
        }
    }

    #[test]
    fn every_currency_of_ours_is_one_of_iso() {
        for currency in Currency::ALL.iter().copied() {
            let iso: IsoCurrency = currency.code().parse().unwrap();
            assert_eq!((iso, iso.exponent()), (currency.into(), currency.exponent()));
            assert_eq!(Currency::try_from(iso), Ok(currency));
        }
        assert_eq!(IsoCurrency::active().filter(|iso| Currency::try_from(*iso).is_ok()).count(), 58);
    }

    #[test]
    fn codes_parse_back_and_nothing_else_does() {
        for currency in IsoCurrency::active() {
            assert_eq!(currency.to_string().parse(), Ok(currency));
        }
        for text in ["", " ", "usd", "US", "USD EUR", "AED AFN", "XXX"] {
            assert_eq!(text.parse::<IsoCurrency>(), Err(UnknownIsoCurrency), "{text:?}");
        }
        assert_eq!(format!("[{:>5}]", IsoCurrency::from(Currency::Usd)), "[  USD]");
    }

    #[test]
    fn numbers_are_converted_exactly_or_refused() {
        let unit: IsoCurrency = "CLF".parse().unwrap();
        let minor = |text: &str| unit.minor_units(&text.parse().unwrap());
        assert_eq!(minor("999999999999.9999"), Ok(9_999_999_999_999_999));
        assert_eq!(minor("1000000000000"), Err(AmountError::TooLarge));
        assert_eq!(minor("0.00001"), Err(AmountError::TooPrecise { currency: unit }));
        assert_eq!(minor("-0.0001"), Err(AmountError::Negative));
        assert_eq!(unit.to_decimal(i64::MIN).to_string(), "-922337203685477.5808");
    }
}
