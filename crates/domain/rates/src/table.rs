use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use dropin_kernel::{Timestamp, coded_enum};
use dropin_money::Currency;
use time::Date;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use crate::{ExchangeRate, Rate, RateSourceLimits, nth_publication_after, overdue_at};

coded_enum! {
    /// Where a quote comes from.
    ///
    /// ```
    /// use dropin_rates::Source;
    ///
    /// assert_eq!("primary".parse(), Ok(Source::Primary));
    /// assert_eq!(Source::ALL.map(Source::as_str), ["primary", "supplement", "fixed", "sandbox"]);
    /// ```
    pub enum Source: "source of rates" {
        /// The main feed: the ECB's euro reference rates, or whatever file in their format a deployment names.
        Primary = "primary",
        /// The second file, for currencies that the main feed does not quote.
        Supplement = "supplement",
        /// A withdrawn currency's conversion rate, which is law.
        Fixed = "fixed",
        /// Invented rates for trying things out.
        Sandbox = "sandbox",
    }
}

const ISO_DATE: &[BorrowedFormatItem<'static>] = format_description!("[year]-[month]-[day]");

/// Which day a quote is of. Displays as `2026-11-20` or `always`, its serialized form too.
///
/// ```
/// use dropin_rates::Dated;
/// use time::macros::date;
///
/// assert_eq!("2026-11-20".parse(), Ok(Dated::On(date!(2026 - 11 - 20))));
/// assert_eq!(Dated::Always.to_string(), "always");
/// assert!("2026-02-30".parse::<Dated>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dated {
    /// The day of its publication; it grows old.
    On(Date),
    /// It holds for ever: conversion rates and the sandbox's.
    Always,
}

/// The text is neither a day nor `always`.
///
/// ```
/// let error = "20.11.2026".parse::<dropin_rates::Dated>().unwrap_err();
/// assert_eq!(error.to_string(), "must be a day such as 2026-11-20, or always");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("must be a day such as 2026-11-20, or always")]
#[non_exhaustive]
pub struct ParseDatedError;

impl fmt::Display for Dated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(day) => f.pad(&day.to_string()),
            Self::Always => f.pad("always"),
        }
    }
}

impl FromStr for Dated {
    type Err = ParseDatedError;

    /// Reads exactly what Display writes.
    fn from_str(text: &str) -> Result<Self, ParseDatedError> {
        if text == "always" {
            return Ok(Self::Always);
        }
        let day = Date::parse(text, ISO_DATE).ok().map(Self::On);
        day.filter(|day| day.to_string() == text).ok_or(ParseDatedError)
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Dated);

/// What one euro costs in some currency, and where that is from.
///
/// ```
/// use dropin_rates::{Dated, Quote, Rate, Source};
///
/// let kuna = Quote { rate: Rate::parse("7.5345").unwrap(), dated: Dated::Always, source: Source::Fixed };
/// assert_eq!(format!("1 EUR = {} HRK, {}, {}", kuna.rate, kuna.dated, kuna.source), "1 EUR = 7.5345 HRK, always, fixed");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct Quote {
    /// Units for one euro.
    pub rate: Rate,
    /// Of which day.
    pub dated: Dated,
    /// From where.
    pub source: Source,
}

impl Quote {
    /// The first publication day on which this quote is stale; `None` when it never is.
    pub(crate) fn stale_on(&self, limits: &RateSourceLimits) -> Option<Date> {
        let missed = match self.source {
            Source::Supplement => limits.supplement_stale_after(),
            Source::Primary | Source::Fixed | Source::Sandbox => limits.stale_after(),
        };
        match self.dated {
            Dated::On(day) => Some(nth_publication_after(day, missed)),
            Dated::Always => None,
        }
    }
}

/// What one euro costs in every currency that some source quotes. The euro itself is in every table, at exactly one.
///
/// Serialized as a map from currency codes to quotes; a quote for the euro, an unknown code and one that stands there twice are refused.
///
/// ```
/// use dropin_money::Currency;
/// use dropin_rates::{Dated, Quote, Source, Table};
///
/// let quote = |rate: &str| Quote { rate: rate.parse().unwrap(), dated: Dated::Always, source: Source::Sandbox };
/// let table = Table::from_iter([(Currency::Usd, quote("1.1172")), (Currency::Gbp, quote("0.8338"))]);
/// assert_eq!(table.cross(Currency::Gbp, Currency::Usd).unwrap().to_string(), "GBP/USD 1.339889662");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Table {
    pub(crate) quotes: BTreeMap<Currency, Quote>,
}

#[cfg(feature = "serde")]
impl serde::Serialize for Table {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::serialized::by_currency::serialize(&self.quotes, serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Table {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let quotes = crate::serialized::by_currency::deserialize(deserializer)?;
        if quotes.contains_key(&Currency::Eur) {
            return Err(serde::de::Error::custom("quotes the euro, which is what all rates are for one of"));
        }
        Ok(Self { quotes })
    }
}

impl FromIterator<(Currency, Quote)> for Table {
    /// From stored quotes; one for the euro is ignored.
    fn from_iter<I: IntoIterator<Item = (Currency, Quote)>>(quotes: I) -> Self {
        Self { quotes: quotes.into_iter().filter(|(currency, _)| *currency != Currency::Eur).collect() }
    }
}

impl Table {
    /// Every quote, by currency, without the euro.
    ///
    /// ```
    /// assert_eq!(dropin_rates::Table::default().quotes().count(), 0);
    /// ```
    pub fn quotes(&self) -> impl Iterator<Item = (Currency, Quote)> {
        self.quotes.iter().map(|(currency, quote)| (*currency, *quote))
    }

    /// Whether nothing was ever read into it.
    ///
    /// ```
    /// assert!(dropin_rates::Table::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.quotes.is_empty()
    }

    /// The day that the table is of: the newest of the main feed's quotes, or of the supplement's when there is no main feed. `None` when
    /// nothing in it has a day.
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use time::macros::date;
    /// use dropin_rates::{Dated, Quote, Rate, Source, Table};
    ///
    /// let friday = date!(2026 - 11 - 20);
    /// let dollar = Quote { rate: Rate::parse("1.1172").unwrap(), dated: Dated::On(friday), source: Source::Primary };
    /// assert_eq!(Table::from_iter([(Currency::Usd, dollar)]).date(), Some(friday));
    /// assert_eq!(Table::default().date(), None);
    /// ```
    pub fn date(&self) -> Option<Date> {
        self.newest(Source::Primary).or_else(|| self.newest(Source::Supplement))
    }

    fn newest(&self, of: Source) -> Option<Date> {
        let days = self.quotes.values().filter(|quote| quote.source == of).filter_map(|quote| match quote.dated {
            Dated::On(day) => Some(day),
            Dated::Always => None,
        });
        days.max()
    }

    /// When the table as a whole becomes stale; `None` when it never does, as the sandbox's.
    ///
    /// A supplement that is late does not make the table stale; its quotes are left behind.
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use time::macros::date;
    /// use dropin_rates::{Dated, Quote, Rate, RateSourceLimits, Source, Table};
    ///
    /// let friday = Dated::On(date!(2026 - 11 - 20));
    /// let dollar = Quote { rate: Rate::parse("1.1172").unwrap(), dated: friday, source: Source::Primary };
    /// let stale_at = Table::from_iter([(Currency::Usd, dollar)]).stale_at(&RateSourceLimits::default());
    /// // Monday's publication and Tuesday's did not come.
    /// assert_eq!(stale_at.unwrap().to_string(), "2026-11-24T17:00:00.000000Z");
    /// ```
    pub fn stale_at(&self, limits: &RateSourceLimits) -> Option<Timestamp> {
        let newest = self.date()?;
        let of_that_day = self.quotes.values().filter(|quote| quote.dated == Dated::On(newest));
        of_that_day.filter_map(|quote| quote.stale_on(limits)).min().map(overdue_at)
    }

    /// Whether the table is too old to guarantee anything by it, or holds nothing.
    ///
    /// ```
    /// use dropin_kernel::Timestamp;
    /// use dropin_rates::{RateSourceLimits, Table};
    ///
    /// assert!(Table::default().is_stale(Timestamp::from_micros(0), &RateSourceLimits::default()));
    /// ```
    pub fn is_stale(&self, now: Timestamp, limits: &RateSourceLimits) -> bool {
        self.is_empty() || self.stale_at(limits).is_some_and(|at| at <= now)
    }

    /// The currencies whose quotes are so much older than the rest that they count as missing: their source no longer quotes them (RUB, which
    /// the ECB stopped quoting in 2022), or keeps jumping, or the second file is no longer kept up.
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use time::macros::date;
    /// use dropin_rates::{Dated, Quote, Rate, RateSourceLimits, Source, Table};
    ///
    /// let on = |day| Quote { rate: Rate::ONE, dated: Dated::On(day), source: Source::Primary };
    /// let (new, old) = (on(date!(2026 - 11 - 20)), on(date!(2022 - 03 - 01)));
    /// let table = Table::from_iter([(Currency::Usd, new), (Currency::Rub, old)]);
    /// assert_eq!(table.left_behind(&RateSourceLimits::default()), [Currency::Rub]);
    /// assert_eq!(table.current(&RateSourceLimits::default()).per_euro(Currency::Rub), None);
    /// ```
    pub fn left_behind(&self, limits: &RateSourceLimits) -> Vec<Currency> {
        let Some(newest) = self.quotes.values().filter_map(|quote| self.day_of(quote)).max() else {
            return Vec::new();
        };
        let behind = |quote: &Quote| quote.stale_on(limits).is_some_and(|stale| stale <= newest);
        self.quotes.iter().filter(|(_, quote)| behind(quote)).map(|(currency, _)| *currency).collect()
    }

    /// The day of a quote that tells how new the table is: the table's own source only.
    fn day_of(&self, quote: &Quote) -> Option<Date> {
        let own = if self.newest(Source::Primary).is_some() { Source::Primary } else { Source::Supplement };
        match quote.dated {
            Dated::On(day) if quote.source == own => Some(day),
            _ => None,
        }
    }

    /// The table without the quotes that are left behind ([`left_behind`](Self::left_behind)): what prices are made of.
    ///
    /// ```
    /// use dropin_rates::{RateSourceLimits, Table};
    ///
    /// assert!(Table::default().current(&RateSourceLimits::default()).is_empty());
    /// ```
    #[must_use]
    pub fn current(&self, limits: &RateSourceLimits) -> Self {
        let behind = self.left_behind(limits);
        self.quotes().filter(|(currency, _)| !behind.contains(currency)).collect()
    }

    /// Units of `currency` for one euro; `None` when no source quotes it.
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use dropin_rates::{Rate, Table};
    ///
    /// assert_eq!(Table::default().per_euro(Currency::Eur), Some(Rate::ONE));
    /// assert_eq!(Table::default().per_euro(Currency::Usd), None);
    /// ```
    pub fn per_euro(&self, currency: Currency) -> Option<Rate> {
        if currency == Currency::Eur { Some(Rate::ONE) } else { self.quotes.get(&currency).map(|quote| quote.rate) }
    }

    /// What one unit of `base` costs in `quote`, raised by `basis_points`; the exact quotient rounded once.
    pub(crate) fn cross_raised(&self, base: Currency, quote: Currency, basis_points: u16) -> Option<ExchangeRate> {
        let rate = self.per_euro(quote)?.per(self.per_euro(base)?, basis_points).ok()?;
        ExchangeRate::new(base, quote, rate).ok()
    }

    /// What one unit of `base` costs in `quote`, without any markup: the quotient of their prices of one euro, rounded once, half to even, to ten
    /// significant digits (docs/SPECIFICATION.md#rate). Exactly one between a currency and itself.
    ///
    /// `None` when either is not quoted, or the quotient is no [`Rate`].
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use dropin_rates::{Dated, Quote, Rate, Source, Table};
    ///
    /// let dollar = Quote { rate: Rate::parse("1.1172").unwrap(), dated: Dated::Always, source: Source::Sandbox };
    /// let table = Table::from_iter([(Currency::Usd, dollar)]);
    /// assert_eq!(table.cross(Currency::Eur, Currency::Usd).unwrap().to_string(), "EUR/USD 1.1172");
    /// assert_eq!(table.cross(Currency::Eur, Currency::Jpy), None);
    /// ```
    pub fn cross(&self, base: Currency, quote: Currency) -> Option<ExchangeRate> {
        self.cross_raised(base, quote, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::date;

    fn quote(rate: &str, source: Source, day: Date) -> Quote {
        Quote { rate: Rate::parse(rate).unwrap(), dated: Dated::On(day), source }
    }

    fn at(day: Date, hour: u8) -> Timestamp {
        day.with_hms(hour, 0, 0).unwrap().assume_utc().into()
    }

    #[test]
    fn stale_when_the_second_publication_is_overdue() {
        let of = |day| Table::from_iter([(Currency::Usd, quote("1.1", Source::Primary, day))]);
        for (day, fresh, stale) in [
            (date!(2026 - 11 - 16), at(date!(2026 - 11 - 18), 16), at(date!(2026 - 11 - 18), 17)),
            // Over a weekend, and over Easter.
            (date!(2026 - 11 - 20), at(date!(2026 - 11 - 24), 16), at(date!(2026 - 11 - 24), 17)),
            (date!(2026 - 04 - 02), at(date!(2026 - 04 - 08), 16), at(date!(2026 - 04 - 08), 17)),
        ] {
            assert!(!of(day).is_stale(fresh, &RateSourceLimits::default()), "{day}");
            assert!(of(day).is_stale(stale, &RateSourceLimits::default()), "{day}");
        }
        assert!(Table::default().is_stale(Timestamp::from_micros(0), &RateSourceLimits::default()));
    }

    #[test]
    fn what_its_source_dropped_is_left_behind_and_what_is_fixed_is_not() {
        let today = date!(2026 - 11 - 20);
        let fixed = Quote { rate: Rate::parse("7.5345").unwrap(), dated: Dated::Always, source: Source::Fixed };
        let table = Table::from_iter([
            (Currency::Usd, quote("1.1", Source::Primary, today)),
            (Currency::Gbp, quote("0.83", Source::Primary, date!(2026 - 11 - 19))),
            (Currency::Rub, quote("117.201", Source::Primary, date!(2022 - 03 - 01))),
            (Currency::Try, quote("55", Source::Primary, date!(2026 - 11 - 18))),
            (Currency::Aed, quote("4.1", Source::Supplement, date!(2026 - 11 - 16))),
            (Currency::Sar, quote("4.2", Source::Supplement, date!(2026 - 11 - 13))),
            (Currency::Hrk, fixed),
        ]);
        let limits = RateSourceLimits::default();
        assert_eq!(table.left_behind(&limits), [Currency::Sar, Currency::Rub, Currency::Try]);
        let current = table.current(&limits);
        assert_eq!((current.per_euro(Currency::Rub), current.per_euro(Currency::Hrk)), (None, Some(fixed.rate)));
        assert_eq!(current.date(), Some(today));
        let never = Table::from_iter([(Currency::Hrk, fixed)]);
        assert!(!never.is_stale(Timestamp::from_micros(i64::MAX), &limits));
    }

    #[test]
    fn a_newer_supplement_makes_no_main_feed_old() {
        let table = Table::from_iter([
            (Currency::Usd, quote("1.1", Source::Primary, date!(2026 - 11 - 18))),
            (Currency::Aed, quote("4.1", Source::Supplement, date!(2026 - 11 - 20))),
        ]);
        assert_eq!(table.left_behind(&RateSourceLimits::default()), []);
        assert_eq!(table.date(), Some(date!(2026 - 11 - 18)));
        assert!(table.is_stale(at(date!(2026 - 11 - 20), 17), &RateSourceLimits::default()));
    }

    #[test]
    fn a_day_is_written_in_one_way() {
        for text in ["2026-11-20", "1999-01-04", "always"] {
            assert_eq!(text.parse::<Dated>().map(|dated| dated.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "Always", "2026-11-31", "2026-1-02", "+2026-11-20", "2026-11-20 ", "20.11.2026"] {
            assert_eq!(text.parse::<Dated>(), Err(ParseDatedError), "{text}");
        }
        assert_eq!(format!("{:>8}|{:12}|", Dated::Always, Dated::On(date!(2026 - 11 - 20))), "  always|2026-11-20  |");
    }

    #[test]
    fn crosses_go_through_the_euro() {
        let today = date!(2026 - 11 - 20);
        let table = Table::from_iter([
            (Currency::Usd, quote("1.1172", Source::Primary, today)),
            (Currency::Gbp, quote("0.8338", Source::Primary, today)),
        ]);
        let cross = |from, to| table.cross(from, to).map(|cross| cross.rate().to_string());
        assert_eq!(cross(Currency::Eur, Currency::Usd), Some("1.1172".to_owned()));
        assert_eq!(cross(Currency::Gbp, Currency::Usd), Some("1.339889662".to_owned()));
        assert_eq!(cross(Currency::Gbp, Currency::Gbp), Some("1".to_owned()));
        assert_eq!(cross(Currency::Eur, Currency::Eur), Some("1".to_owned()));
        assert_eq!(cross(Currency::Usd, Currency::Rub), None);
        assert_eq!(cross(Currency::Rub, Currency::Rub), None);
        let pair = table.cross(Currency::Gbp, Currency::Usd).unwrap();
        assert_eq!((pair.base(), pair.quote()), (Currency::Gbp, Currency::Usd));
        let stored = Table::from_iter([(Currency::Eur, quote("2", Source::Primary, today))]);
        assert_eq!((stored.is_empty(), stored.per_euro(Currency::Eur)), (true, Some(Rate::ONE)));
    }
}
