//! The file formats. A file that is wrong anywhere is refused whole: half a table is worse than yesterday's.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use dropin_money::Currency;
use dropin_rates::{ExchangeRate, Rate, RateError};
use time::macros::date;
use time::{Date, Month};

use crate::{archive, csv, xml};

/// Most bytes of a file, packed or not: the ECB's whole history as XML, the largest of its files, is about half of it.
///
/// ```
/// let larger = vec![b'<'; dropin_ecb_rates::MAX_BYTES + 1];
/// assert_eq!(dropin_ecb_rates::read_days(&larger).unwrap_err().wrong, dropin_ecb_rates::Wrong::TooLarge);
/// ```
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The first day on which the euro had a rate.
const FIRST_DAY: Date = date!(1999 - 01 - 04);

/// What one euro cost, by day. Currencies that [`Currency`] does not have are left out, as are those without a rate on that day. No day is without
/// any rate.
///
/// ```
/// let days = dropin_ecb_rates::read_days(b"Date,USD,CYP\n1999-01-04,1.1789,0.58231\n").unwrap();
/// assert_eq!(days.values().next().unwrap().len(), 1); // the dollar; the Cypriot pound is withdrawn
/// ```
pub type Days = BTreeMap<Date, BTreeMap<Currency, Rate>>;

/// Where in a file something is wrong.
///
/// ```
/// use dropin_ecb_rates::{Place, read_days};
///
/// assert_eq!(read_days(b"Date,USD\n2026-11-20,0\n").unwrap_err().place, Place::Line(2));
/// assert_eq!(Place::Byte(17).to_string(), "byte 17");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from one.
    Line(usize),
    /// A byte, counted from zero.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.pad("the file"),
            Self::Line(line) => f.pad(&format!("line {line}")),
            Self::Byte(byte) => f.pad(&format!("byte {byte}")),
        }
    }
}

/// What is wrong. Nothing of the file's own text is in it.
///
/// ```
/// use dropin_ecb_rates::{Wrong, read_days};
///
/// assert_eq!(read_days(b"<Envelope>").unwrap_err().wrong, Wrong::Truncated);
/// assert_eq!(read_days(b"<!DOCTYPE a><Envelope/>").unwrap_err().wrong, Wrong::Entity);
/// assert_eq!(read_days(b"Date,USD\n2026-11-31,1.1\n").unwrap_err().wrong, Wrong::Date);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Wrong {
    /// Larger than [`MAX_BYTES`], or unpacks to more.
    #[error("is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// Not UTF-8.
    #[error("is no UTF-8 text")]
    NotText,
    /// The archive cannot be read, or does not hold exactly one file.
    #[error("is no usable zip archive: {0}")]
    Archive(&'static str),
    /// It ends in the middle.
    #[error("is cut off")]
    Truncated,
    /// It breaks the rules of XML.
    #[error("is no well-formed XML")]
    Syntax,
    /// It declares a document type or refers to an entity.
    #[error("declares or uses XML entities, which are never read")]
    Entity,
    /// Well-formed, and yet not a table of rates.
    #[error("is not laid out as the ECB's files are: {0}")]
    Layout(&'static str),
    /// No day of the calendar since the euro began.
    #[error("has a date that is no day since {FIRST_DAY}")]
    Date,
    /// The same day twice.
    #[error("has the same day twice")]
    RepeatedDay,
    /// A currency is named by something else than three capital letters.
    #[error("has a currency that is not three capital letters")]
    Code,
    /// A rate that is none.
    #[error("has a wrong rate for {0}: it {1}")]
    Rate(Currency, RateError),
    /// The same currency twice on one day.
    #[error("has {0} twice")]
    Repeated(Currency),
    /// A rate of the euro to itself.
    #[error("quotes the euro, which is what all rates are for one of")]
    Base,
    /// Not a single rate of a currency that [`Currency`] has.
    #[error("has no rate")]
    NoRate,
}

/// A file that cannot be used.
///
/// ```
/// let error = dropin_ecb_rates::read_days(b"Date,USD\n2026-11-20,0\n").unwrap_err();
/// assert_eq!(error.to_string(), "line 2 has a wrong rate for USD: it must be greater than zero");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
#[error("{place} {wrong}")]
pub struct FormatError {
    /// Where.
    pub place: Place,
    /// What.
    pub wrong: Wrong,
}

impl Place {
    pub(crate) fn is(self, wrong: Wrong) -> FormatError {
        FormatError { place: self, wrong }
    }
}

/// Reads a file in any of the formats, told apart by their first bytes: `eurofxref-daily.xml`, `eurofxref-hist.xml`, `eurofxref.csv`,
/// `eurofxref-hist.csv`, or one of the latter two in its zip archive, as the European Central Bank publishes them.
///
/// # Errors
/// [`FormatError`] when anything in it is wrong: half a table is worse than yesterday's.
///
/// ```
/// use time::macros::date;
/// use dropin_money::Currency;
///
/// let days = dropin_ecb_rates::read_days(b"Date, USD, GBP, \n30 October 2026, 1.1172, 0.83380, \n").unwrap();
/// assert_eq!(days[&date!(2026 - 10 - 30)][&Currency::Gbp].to_string(), "0.8338");
/// ```
pub fn read_days(bytes: &[u8]) -> Result<Days, FormatError> {
    if MAX_BYTES < bytes.len() {
        return Err(Place::File.is(Wrong::TooLarge));
    }
    let bytes = if bytes.starts_with(archive::MAGIC) {
        Cow::Owned(archive::only_entry(bytes).map_err(|wrong| Place::File.is(wrong))?)
    } else {
        Cow::Borrowed(bytes)
    };
    let text = std::str::from_utf8(&bytes).map_err(|_other| Place::File.is(Wrong::NotText))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut days = if text.trim_start().starts_with('<') { xml::days(text)? } else { csv::days(text)? };
    days.retain(|_, rates| !rates.is_empty());
    if days.is_empty() { Err(Place::File.is(Wrong::NoRate)) } else { Ok(days) }
}

/// The rates of one day with their pairs: what one euro, the base of each, cost.
///
/// ```
/// use dropin_ecb_rates::{exchange_rates, read_days};
///
/// let days = read_days(b"Date,USD,JPY\n2026-11-20,1.1172,175.68\n").unwrap();
/// let (_, rates) = days.last_key_value().unwrap();
/// let shown: Vec<_> = exchange_rates(rates).map(|rate| rate.to_string()).collect();
/// assert_eq!(shown, ["EUR/USD 1.1172", "EUR/JPY 175.68"]);
/// ```
pub fn exchange_rates(day: &BTreeMap<Currency, Rate>) -> impl Iterator<Item = ExchangeRate> {
    day.iter().filter_map(|(currency, rate)| ExchangeRate::new(Currency::Eur, *currency, *rate).ok())
}

/// `2026-11-20`, or `20 November 2026` as the ECB's daily CSV has it.
pub(crate) fn day(text: &str) -> Result<Date, Wrong> {
    let mut parts = text.split('-');
    let (year, month, day) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(year), Some(month), Some(day), None) if month.len() == 2 && day.len() == 2 => {
            let month = number::<u8>(month).and_then(|month| Month::try_from(month).ok());
            (year, month.ok_or(Wrong::Date)?, day)
        }
        _ => {
            let (day, rest) = text.split_once(' ').ok_or(Wrong::Date)?;
            let (month, year) = rest.split_once(' ').ok_or(Wrong::Date)?;
            (year, month.parse().map_err(|_unknown| Wrong::Date)?, day)
        }
    };
    let year: u16 = if year.len() == 4 { number(year).ok_or(Wrong::Date)? } else { return Err(Wrong::Date) };
    let day = number(day).ok_or(Wrong::Date)?;
    let date = Date::from_calendar_date(i32::from(year), month, day).map_err(|_no_such_day| Wrong::Date)?;
    if date < FIRST_DAY { Err(Wrong::Date) } else { Ok(date) }
}

/// Digits only: `parse` alone would take a sign.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// A known currency; `None` for any other that is spelled like one.
pub(crate) fn currency(code: &str) -> Result<Option<Currency>, Wrong> {
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(Wrong::Code);
    }
    match code.parse() {
        Ok(Currency::Eur) => Err(Wrong::Base),
        known => Ok(known.ok()),
    }
}

/// Adds one rate to a day.
pub(crate) fn add(day: &mut BTreeMap<Currency, Rate>, currency: Currency, rate: &str) -> Result<(), Wrong> {
    let rate = Rate::parse(rate).map_err(|error| Wrong::Rate(currency, error))?;
    if day.insert(currency, rate).is_some() { Err(Wrong::Repeated(currency)) } else { Ok(()) }
}

/// Adds a finished day to the others.
pub(crate) fn finish(days: &mut Days, date: Date, rates: BTreeMap<Currency, Rate>) -> Result<(), Wrong> {
    if days.insert(date, rates).is_some() { Err(Wrong::RepeatedDay) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_in_both_spellings() {
        for (text, date) in [
            ("2026-10-30", date!(2026 - 10 - 30)),
            ("30 October 2026", date!(2026 - 10 - 30)),
            ("1 March 2028", date!(2028 - 03 - 01)),
            ("1999-01-04", FIRST_DAY),
        ] {
            assert_eq!(day(text), Ok(date), "{text}");
        }
        for text in [
            "",
            "2026",
            "2026-2-3",
            "2026-02-30",
            "2026-13-01",
            "2026-02-03-04",
            "02026-02-03",
            "+026-02-03",
            "2026-02-+3",
            "-2026-02-03",
            "1998-12-31",
            "30 Oct 2026",
            "30 October 26",
            "31 November 2026",
            "30/10/2026",
            "October",
        ] {
            assert_eq!(day(text), Err(Wrong::Date), "{text}");
        }
    }
}
