use std::collections::BTreeMap;

use dropin_kernel::Timestamp;
use dropin_money::Currency;
use time::Date;

use crate::{Limits, Rate, nth_publication_after, overdue_at};

/// Where a quote comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The main feed: the ECB's euro reference rates, or whatever file in their format a deployment names.
    Primary,
    /// The second file, for currencies that the main feed does not quote.
    Supplement,
    /// A withdrawn currency's conversion rate, which is law.
    Fixed,
    /// Invented rates for trying things out.
    Sandbox,
}

impl Source {
    /// Every source.
    pub const ALL: [Self; 4] = [Self::Primary, Self::Supplement, Self::Fixed, Self::Sandbox];

    /// The spelling in the database, in logs and for operators.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Supplement => "supplement",
            Self::Fixed => "fixed",
            Self::Sandbox => "sandbox",
        }
    }

    /// Reads the stored spelling back.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == code)
    }
}

/// Which day a quote is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dated {
    /// The day of its publication; it grows old.
    On(Date),
    /// It holds for ever: conversion rates and the sandbox's.
    Always,
}

/// What one euro costs in some currency, and where that is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    pub(crate) fn stale_on(&self, limits: &Limits) -> Option<Date> {
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    pub(crate) quotes: BTreeMap<Currency, Quote>,
}

impl FromIterator<(Currency, Quote)> for Table {
    /// From stored quotes; one for the euro is ignored.
    fn from_iter<I: IntoIterator<Item = (Currency, Quote)>>(quotes: I) -> Self {
        Self { quotes: quotes.into_iter().filter(|(currency, _)| *currency != Currency::Eur).collect() }
    }
}

impl Table {
    /// Every quote, by currency, without the euro.
    pub fn quotes(&self) -> impl Iterator<Item = (Currency, Quote)> {
        self.quotes.iter().map(|(currency, quote)| (*currency, *quote))
    }

    /// Whether nothing was ever read into it.
    pub fn is_empty(&self) -> bool {
        self.quotes.is_empty()
    }

    /// The day that the table is of: the newest of the main feed's quotes, or of the supplement's when there is no main feed. `None` when
    /// nothing in it has a day.
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
    pub fn stale_at(&self, limits: &Limits) -> Option<Timestamp> {
        let newest = self.date()?;
        let of_that_day = self.quotes.values().filter(|quote| quote.dated == Dated::On(newest));
        of_that_day.filter_map(|quote| quote.stale_on(limits)).min().map(overdue_at)
    }

    /// Whether the table is too old to guarantee anything by it, or holds nothing.
    pub fn is_stale(&self, now: Timestamp, limits: &Limits) -> bool {
        self.is_empty() || self.stale_at(limits).is_some_and(|at| at <= now)
    }

    /// The currencies whose quotes are so much older than the rest that they count as missing: their source no longer quotes them (RUB, which
    /// the ECB stopped quoting in 2022), or keeps jumping, or the second file is no longer kept up.
    pub fn left_behind(&self, limits: &Limits) -> Vec<Currency> {
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

    /// The table without the quotes that are left behind: what prices are made of.
    #[must_use]
    pub fn current(&self, limits: &Limits) -> Self {
        let behind = self.left_behind(limits);
        self.quotes().filter(|(currency, _)| !behind.contains(currency)).collect()
    }

    /// Units of `currency` for one euro.
    pub fn per_euro(&self, currency: Currency) -> Option<Rate> {
        if currency == Currency::Eur { Some(Rate::ONE) } else { self.quotes.get(&currency).map(|quote| quote.rate) }
    }

    /// Units of `shopper` for one unit of `settlement`, raised by `basis_points`; the exact quotient rounded once.
    pub(crate) fn cross_raised(&self, settlement: Currency, shopper: Currency, basis_points: u16) -> Option<Rate> {
        self.per_euro(shopper)?.per(self.per_euro(settlement)?, basis_points).ok()
    }

    /// Units of `shopper` for one unit of `settlement` (decisions.md section 5), without any markup: the quotient of their prices of one euro,
    /// rounded once, half to even, to ten significant digits. Exactly one between a currency and itself.
    ///
    /// `None` when either is not quoted, or the quotient is no [`Rate`].
    pub fn cross(&self, settlement: Currency, shopper: Currency) -> Option<Rate> {
        self.cross_raised(settlement, shopper, 0)
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
            assert!(!of(day).is_stale(fresh, &Limits::default()), "{day}");
            assert!(of(day).is_stale(stale, &Limits::default()), "{day}");
        }
        assert!(Table::default().is_stale(Timestamp::from_micros(0), &Limits::default()));
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
        let limits = Limits::default();
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
        assert_eq!(table.left_behind(&Limits::default()), []);
        assert_eq!(table.date(), Some(date!(2026 - 11 - 18)));
        assert!(table.is_stale(at(date!(2026 - 11 - 20), 17), &Limits::default()));
    }

    #[test]
    fn crosses_go_through_the_euro() {
        let today = date!(2026 - 11 - 20);
        let table = Table::from_iter([
            (Currency::Usd, quote("1.1172", Source::Primary, today)),
            (Currency::Gbp, quote("0.8338", Source::Primary, today)),
        ]);
        let cross = |from, to| table.cross(from, to).map(|rate| rate.to_string());
        assert_eq!(cross(Currency::Eur, Currency::Usd), Some("1.1172".to_owned()));
        assert_eq!(cross(Currency::Gbp, Currency::Usd), Some("1.339889662".to_owned()));
        assert_eq!(cross(Currency::Gbp, Currency::Gbp), Some("1".to_owned()));
        assert_eq!(cross(Currency::Eur, Currency::Eur), Some("1".to_owned()));
        assert_eq!(cross(Currency::Usd, Currency::Rub), None);
        assert_eq!(cross(Currency::Rub, Currency::Rub), None);
        let stored = Table::from_iter([(Currency::Eur, quote("2", Source::Primary, today))]);
        assert_eq!((stored.is_empty(), stored.per_euro(Currency::Eur)), (true, Some(Rate::ONE)));
    }
}
