//! From the price list to the shopper's currency, by the rates that the payment service gives this merchant (`getRates`).
//!
//! A spot rate is an indication: the shop prices by it and names the currency. A rate offer is a promise: the shop prices by it and names the offer,
//! which then is the rate that the sale is settled at.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::catalogue::{BASE_CURRENCY, Currency};

/// Most digits of a rate that are read; the service sends fewer.
const MAX_DIGITS: usize = 22;

/// The answer of `GET /v2.2/getRates`: one of the two lists, by the merchant's account.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct RateList {
    #[serde(default)]
    rates: Vec<Line>,
    #[serde(default)]
    rate_offers: Vec<Line>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    currency: String,
    /// Of an offer.
    id: Option<String>,
    /// Kept as the digits that were sent.
    rate: Box<RawValue>,
}

/// How to price in one currency.
#[derive(Debug)]
pub(super) struct Pricing {
    pub(super) currency: Currency,
    /// The offer to name in place of the currency.
    pub(super) offer: Option<String>,
    rate: Rate,
}

/// Units of a currency for one of the settlement currency: `digits` / 10^`scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rate {
    digits: u128,
    scale: u32,
}

impl Pricing {
    /// In the currency of the price list, for which nobody has to be asked.
    pub(super) fn in_base_currency() -> Self {
        let currency = Currency::parse(BASE_CURRENCY).expect("it is an ISO 4217 code");
        Self { currency, offer: None, rate: Rate::ONE }
    }

    /// In `currency`, when there is a rate of it. The list is of units per one of the merchant's settlement currency, which is [`BASE_CURRENCY`].
    pub(super) fn by(list: &RateList, currency: Currency) -> Option<Self> {
        let line = list.rates.iter().chain(&list.rate_offers).find(|line| line.currency == currency.code)?;
        Some(Self { currency, offer: line.id.clone(), rate: Rate::parse(line.rate.get())? })
    }

    /// What `cents` of [`BASE_CURRENCY`] are, in the currency's smallest unit, halves rounded up, at least 1. `None` where that is absurdly
    /// much.
    pub(super) fn convert(&self, cents: u64) -> Option<u64> {
        let unit = 10_u128.checked_pow(self.currency.minor_units)?;
        let above = u128::from(cents).checked_mul(self.rate.digits)?.checked_mul(unit)?;
        let below = 10_u128.checked_pow(self.rate.scale + 2)?;
        let rounded = u64::try_from((above.checked_add(below / 2)?) / below).ok()?;
        Some(if cents == 0 { 0 } else { rounded.max(1) })
    }
}

impl Rate {
    const ONE: Self = Self { digits: 1, scale: 0 };

    /// A positive decimal number without an exponent.
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let scale = u32::try_from(fraction.len()).ok()?;
        digits.parse().ok().filter(|digits| *digits > 0).map(|digits| Self { digits, scale })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(code: &str, rate: &str, cents: u64) -> Option<u64> {
        let list = format!(r#"{{"Rates":[{{"Currency":"{code}","Rate":{rate}}}]}}"#);
        let list: RateList = serde_json::from_str(&list).unwrap();
        Pricing::by(&list, Currency::parse(code).unwrap())?.convert(cents)
    }

    #[test]
    fn prices_are_converted_exactly_into_the_smallest_unit() {
        for (code, rate, cents, expected) in [
            ("USD", "1.0850", 2400, Some(2604)),
            ("JPY", "163.5", 2400, Some(3924)),
            ("KWD", "0.3331", 2400, Some(7994)),
            ("VND", "27412.5", 1190, Some(326_209)),
            ("USD", "1.005", 100, Some(101)),
            ("USD", "1.0049", 100, Some(100)),
            ("JPY", "0.001", 490, Some(1)),
            ("USD", "1", 0, Some(0)),
            ("USD", "9999999999999999999999", u64::MAX, None),
            ("USD", "99999999999999999999999", 1, None),
            ("USD", "0", 100, None),
            ("USD", "-1", 100, None),
            ("USD", "1e2", 100, None),
        ] {
            assert_eq!(convert(code, rate, cents), expected, "{cents} cents at {rate} {code}");
        }
        assert_eq!(Pricing::in_base_currency().convert(1450), Some(1450));
    }

    #[test]
    fn an_offer_is_named_in_place_of_its_currency() {
        let list = r#"{"RateOffers":[{"Currency":"USD","Id":"offer-1","Expiry":"2026-11-22T20:00:00Z","Rate":1.1}]}"#;
        let list: RateList = serde_json::from_str(list).unwrap();
        let usd = Pricing::by(&list, Currency::parse("USD").unwrap()).unwrap();
        assert_eq!((usd.offer.as_deref(), usd.convert(1000)), (Some("offer-1"), Some(1100)));
        assert!(Pricing::by(&list, Currency::parse("GBP").unwrap()).is_none());
    }
}
