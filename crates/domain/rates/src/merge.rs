use std::collections::BTreeMap;

use dropin_kernel::{Timestamp, coded_enum};
use dropin_money::Currency;
use time::Date;

use crate::{Dated, Quote, Rate, RateSourceLimits, Source, Table, conversion_on};

/// What one source says of one day.
///
/// ```
/// use dropin_money::Currency;
/// use time::macros::date;
/// use dropin_rates::{Dated, Rate, Source, SourceTable};
///
/// let rates = [(Currency::Usd, Rate::parse("1.1172").unwrap())].into();
/// let friday = SourceTable { source: Source::Primary, dated: Dated::On(date!(2026 - 11 - 20)), rates };
/// assert_eq!(friday.dated.to_string(), "2026-11-20");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct SourceTable {
    /// Who says it.
    pub source: Source,
    /// Of which day.
    pub dated: Dated,
    /// Units for one euro.
    #[cfg_attr(feature = "serde", serde(with = "crate::serialized::by_currency"))]
    pub rates: BTreeMap<Currency, Rate>,
}

coded_enum! {
    /// Why a quote was not taken over.
    ///
    /// ```
    /// assert_eq!("jump".parse(), Ok(dropin_rates::QuoteRefusal::Jump));
    /// ```
    pub enum QuoteRefusal: "reason to refuse a quote" {
        /// It is further from the former rate than the limit allows: the operator has to look, then confirm it or repair the source.
        Jump = "jump",
        /// It is older than what is already there: the source went back in time.
        Older = "older",
        /// It is of a day that has not begun anywhere on earth.
        Future = "future",
    }
}

/// A quote that was not taken over: [`Table::merge`] tells them.
///
/// ```
/// use dropin_money::Currency;
/// use dropin_rates::{Dated, Quote, QuoteRefusal, Rate, RefusedQuote, Source};
///
/// let quote = |rate| Quote { rate: Rate::parse(rate).unwrap(), dated: Dated::Always, source: Source::Primary };
/// let why = QuoteRefusal::Jump;
/// let refused = RefusedQuote { currency: Currency::Usd, why, former: Some(quote("1.1172")), offered: quote("11.172") };
/// assert_eq!(format!("{}: {}", refused.currency, refused.why), "USD: jump");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct RefusedQuote {
    /// Of which currency.
    pub currency: Currency,
    /// Why.
    pub why: QuoteRefusal,
    /// What stands and goes on standing; `None` when there is nothing.
    pub former: Option<Quote>,
    /// What was offered.
    pub offered: Quote,
}

/// A table with what the sources had to say taken into it.
///
/// ```
/// use dropin_kernel::Timestamp;
/// use dropin_rates::{Merged, RateSourceLimits, Table};
///
/// let nothing = Table::default().merge(&[], Timestamp::from_micros(0), &RateSourceLimits::default());
/// assert_eq!(nothing, Merged { table: Table::default(), refused: Vec::new() });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct Merged {
    /// The new table.
    pub table: Table,
    /// What was not taken over, for the alarm.
    pub refused: Vec<RefusedQuote>,
}

impl Table {
    /// Takes what the sources say into this table. Order does not matter.
    ///
    /// - A withdrawn currency has its conversion rate from its first day on, whatever a source says.
    /// - The main feed's word counts before the supplement's, unless the main feed's is stale by the supplement's day.
    /// - A quote of a future day, one older than what stands, and one that jumps beyond the limit are refused, each for itself: the former
    ///   quote stays and grows old. A jump stays refused until a person confirms it or the source comes back into the limit.
    /// - A currency that a source no longer quotes keeps its last quote, which is left behind in time ([`Table::left_behind`]).
    /// - Invented and real rates never stand side by side: real ones remove those of the sandbox, and the sandbox everything else.
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use time::macros::{date, datetime};
    /// use dropin_rates::{Dated, QuoteRefusal, Rate, RateSourceLimits, Source, SourceTable, Table};
    ///
    /// let (now, limits) = (datetime!(2026-11-20 18:00 UTC).into(), RateSourceLimits::default());
    /// let dollar = |day, rate| SourceTable {
    ///     source: Source::Primary,
    ///     dated: Dated::On(day),
    ///     rates: [(Currency::Usd, Rate::parse(rate).unwrap())].into(),
    /// };
    /// let first = Table::default().merge(&[dollar(date!(2026 - 11 - 19), "1.1")], now, &limits).table;
    /// // A slipped point is not believed: the former rate stays.
    /// let next = first.merge(&[dollar(date!(2026 - 11 - 20), "11.172")], now, &limits);
    /// assert_eq!(next.refused[0].why, QuoteRefusal::Jump);
    /// assert_eq!(next.table.per_euro(Currency::Usd).unwrap().to_string(), "1.1");
    /// ```
    #[must_use]
    pub fn merge(&self, sources: &[SourceTable], now: Timestamp, limits: &RateSourceLimits) -> Merged {
        let sandbox = sources.iter().any(|table| table.source == Source::Sandbox);
        let mut sources: Vec<_> = sources.iter().filter(|table| (table.source == Source::Sandbox) == sandbox).collect();
        sources.sort_by_key(|table| table.source);
        let mut quotes = self.quotes.clone();
        if !sources.is_empty() {
            quotes.retain(|_, quote| (quote.source == Source::Sandbox) == sandbox);
        }
        let today = now.to_offset_date_time().date();
        let mut refused = Vec::new();
        for table in sources {
            for (currency, rate) in &table.rates {
                let offered = Quote { rate: *rate, dated: table.dated, source: table.source };
                let former = quotes.get(currency).copied();
                match decide(*currency, former, offered, today, limits) {
                    Verdict::Take => drop(quotes.insert(*currency, offered)),
                    Verdict::Leave => {}
                    Verdict::Refuse(why) => refused.push(RefusedQuote { currency: *currency, why, former, offered }),
                }
            }
        }
        for fixed in conversion_on(today) {
            let quote = Quote { rate: fixed.rate(), dated: Dated::Always, source: Source::Fixed };
            quotes.insert(fixed.currency, quote);
        }
        Merged { table: quotes.into_iter().collect(), refused }
    }
}

enum Verdict {
    Take,
    Leave,
    Refuse(QuoteRefusal),
}

fn decide(
    currency: Currency,
    former: Option<Quote>,
    offered: Quote,
    today: Date,
    limits: &RateSourceLimits,
) -> Verdict {
    let withdrawn = conversion_on(today).any(|fixed| fixed.currency == currency);
    if currency == Currency::Eur || withdrawn {
        return Verdict::Leave;
    }
    let Dated::On(day) = offered.dated else {
        return Verdict::Take;
    };
    // Somewhere on earth tomorrow has begun.
    if today.next_day().is_some_and(|tomorrow| tomorrow < day) {
        return Verdict::Refuse(QuoteRefusal::Future);
    }
    let Some(former) = former else {
        return Verdict::Take;
    };
    match (former.source, offered.source) {
        (Source::Primary, Source::Supplement) if former.stale_on(limits).is_none_or(|stale| day < stale) => {
            return Verdict::Leave;
        }
        (one, other) if one == other && matches!(former.dated, Dated::On(known) if day < known) => {
            return Verdict::Refuse(QuoteRefusal::Older);
        }
        _ => {}
    }
    if !limits.is_confirmed(currency) && former.rate.is_far_from(offered.rate, limits.jump_percent()) {
        return Verdict::Refuse(QuoteRefusal::Jump);
    }
    Verdict::Take
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::date;

    fn says(source: Source, day: Date, rates: &[(&str, &str)]) -> SourceTable {
        let rates = rates.iter().map(|(code, rate)| (code.parse().unwrap(), rate.parse().unwrap())).collect();
        SourceTable { source, dated: Dated::On(day), rates }
    }

    fn noon(day: Date) -> Timestamp {
        day.with_hms(12, 0, 0).unwrap().assume_utc().into()
    }

    fn shown(table: &Table) -> Vec<String> {
        table.quotes().map(|(code, quote)| format!("{code} {} {}", quote.rate, quote.source.as_str())).collect()
    }

    const MONDAY: Date = date!(2026 - 11 - 16);
    const TUESDAY: Date = date!(2026 - 11 - 17);

    #[test]
    fn the_supplement_fills_the_gaps_and_the_law_overrules_both() {
        let primary = says(Source::Primary, MONDAY, &[("USD", "1.1"), ("BGN", "1.9")]);
        let second = says(Source::Supplement, MONDAY, &[("USD", "1.2"), ("AED", "4.1"), ("EUR", "1")]);
        let wanted =
            ["USD 1.1 primary", "AED 4.1 supplement", "HRK 7.5345 fixed", "BGN 1.95583 fixed"].map(str::to_owned);
        for order in [[primary.clone(), second.clone()], [second, primary]] {
            let merged = Table::default().merge(&order, noon(MONDAY), &RateSourceLimits::default());
            assert_eq!(shown(&merged.table), wanted);
            assert_eq!(merged.refused, []);
            // What nobody is asked about any more raises no alarm.
            let absurd = says(Source::Primary, MONDAY, &[("BGN", "9"), ("HRK", "1"), ("EUR", "3")]);
            let again = merged.table.merge(&[absurd], noon(MONDAY), &RateSourceLimits::default());
            assert_eq!(again, Merged { table: merged.table, refused: Vec::new() });
        }
        // Sources that contradict each other: the main feed is not held against the supplement of the same look.
        let other =
            [says(Source::Supplement, MONDAY, &[("USD", "9")]), says(Source::Primary, MONDAY, &[("USD", "1.1")])];
        let merged = Table::default().merge(&other, noon(MONDAY), &RateSourceLimits::default());
        assert_eq!((shown(&merged.table)[0].as_str(), merged.refused.len()), ("USD 1.1 primary", 0));
    }

    #[test]
    fn a_jump_is_refused_until_it_is_confirmed() {
        let limits = RateSourceLimits::default();
        let before = says(Source::Primary, MONDAY, &[("USD", "1.1"), ("TRY", "40")]);
        let before = Table::default().merge(&[before], noon(MONDAY), &limits).table;
        let after = says(Source::Primary, TUESDAY, &[("USD", "1.3"), ("TRY", "4")]);
        let merged = before.merge(std::slice::from_ref(&after), noon(TUESDAY), &limits);
        let refused: Vec<_> = merged.refused.iter().map(|quote| (quote.currency, quote.why)).collect();
        assert_eq!(refused, [(Currency::Try, QuoteRefusal::Jump)]);
        assert_eq!(merged.refused[0].former.unwrap().rate.to_string(), "40");
        assert_eq!(shown(&merged.table)[..2], ["USD 1.3 primary", "TRY 40 primary"]);
        assert_eq!(merged.table.quotes().nth(1).unwrap().1.dated, Dated::On(MONDAY));
        // The next day says the same: still nobody has looked.
        let wednesday = date!(2026 - 11 - 18);
        let again = says(Source::Primary, wednesday, &[("TRY", "4"), ("USD", "1.3")]);
        let merged = merged.table.merge(std::slice::from_ref(&again), noon(wednesday), &limits);
        assert_eq!((merged.refused.len(), merged.table.left_behind(&limits)), (1, vec![Currency::Try]));
        let merged = merged.table.merge(&[again], noon(wednesday), &limits.with_confirmed([Currency::Try]));
        assert_eq!((merged.refused.len(), shown(&merged.table)[1].as_str()), (0, "TRY 4 primary"));
    }

    #[test]
    fn days_that_cannot_be_are_refused() {
        let limits = RateSourceLimits::default();
        let before =
            Table::default().merge(&[says(Source::Primary, TUESDAY, &[("USD", "1.1")])], noon(TUESDAY), &limits);
        for (day, why) in [(MONDAY, QuoteRefusal::Older), (date!(2026 - 11 - 19), QuoteRefusal::Future)] {
            let merged = before.table.merge(&[says(Source::Primary, day, &[("USD", "1.12")])], noon(TUESDAY), &limits);
            assert_eq!(merged.refused.iter().map(|quote| quote.why).collect::<Vec<_>>(), [why]);
            assert_eq!(merged.table, before.table);
        }
        let tomorrow = says(Source::Primary, date!(2026 - 11 - 18), &[("USD", "1.12")]);
        assert_eq!(before.table.merge(&[tomorrow], noon(TUESDAY), &limits).refused, []);
        let corrected = says(Source::Primary, TUESDAY, &[("USD", "1.12")]);
        assert_eq!(shown(&before.table.merge(&[corrected], noon(TUESDAY), &limits).table)[0], "USD 1.12 primary");
    }

    #[test]
    fn the_supplement_takes_over_what_the_main_feed_dropped() {
        let limits = RateSourceLimits::default();
        let long_ago = date!(2022 - 03 - 01);
        let before =
            Table::default().merge(&[says(Source::Primary, long_ago, &[("RUB", "95")])], noon(long_ago), &limits);
        let now = says(Source::Supplement, TUESDAY, &[("RUB", "94")]);
        let merged = before.table.merge(&[now], noon(TUESDAY), &limits);
        assert_eq!(shown(&merged.table)[0], "RUB 94 supplement");
        // Not before the main feed has missed as many publications as make it stale.
        let before = Table::default().merge(&[says(Source::Primary, MONDAY, &[("RUB", "95")])], noon(MONDAY), &limits);
        for (day, source) in [(TUESDAY, "RUB 95 primary"), (date!(2026 - 11 - 18), "RUB 94 supplement")] {
            let offered = says(Source::Supplement, day, &[("RUB", "94")]);
            assert_eq!(shown(&before.table.merge(&[offered], noon(day), &limits).table)[0], source);
        }
        // And gives it back, even when the main feed's day is a little older.
        let earlier = says(Source::Primary, MONDAY, &[("RUB", "93")]);
        assert_eq!(shown(&merged.table.merge(&[earlier], noon(TUESDAY), &limits).table)[0], "RUB 93 primary");
        let quoted_again = says(Source::Primary, TUESDAY, &[("RUB", "93")]);
        assert_eq!(shown(&merged.table.merge(&[quoted_again], noon(TUESDAY), &limits).table)[0], "RUB 93 primary");
    }

    #[test]
    fn invented_rates_never_stand_beside_real_ones() {
        let limits = RateSourceLimits::default();
        let invented = SourceTable {
            source: Source::Sandbox,
            dated: Dated::Always,
            rates: [(Currency::Usd, Rate::ONE), (Currency::Jpy, Rate::ONE)].into(),
        };
        let real = says(Source::Primary, MONDAY, &[("USD", "1.1"), ("GBP", "0.8")]);
        let sandbox = Table::default().merge(std::slice::from_ref(&invented), noon(MONDAY), &limits).table;
        let production = sandbox.merge(std::slice::from_ref(&real), noon(MONDAY), &limits);
        assert_eq!(shown(&production.table)[..2], ["USD 1.1 primary", "GBP 0.8 primary"]);
        assert_eq!((production.refused.len(), production.table.quotes().count()), (0, 4));
        assert_eq!(production.table.merge(&[real, invented.clone()], noon(MONDAY), &limits).table, sandbox);
        assert_eq!(production.table.merge(&[invented], noon(MONDAY), &limits).table, sandbox);
        for table in [sandbox, production.table] {
            assert_eq!(table.merge(&[], noon(MONDAY), &limits).table, table);
        }
    }
}
