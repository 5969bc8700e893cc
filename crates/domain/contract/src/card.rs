//! What may be shown of a stored card.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use dropin_card::{CardBrand, LastFour, Scheme};
use dropin_kernel::{Timestamp, time};
use time::{Date, Month};

const DAY: Duration = Duration::from_secs(86_400);
/// How long before a card's last valid day the merchant is told.
const NOTICE: Duration = Duration::from_secs(30 * 86_400);

/// The month that a card is good until, in UTC: its last day included.
///
/// Years 2000 to 2099, since a card carries two digits of the year (ISO/IEC 7813). Written `2031-12`, which sorts as it runs.
///
/// ```
/// use dropin_contract::CardExpiry;
///
/// let expiry: CardExpiry = "2031-12".parse().unwrap();
/// assert_eq!((expiry.short(), expiry.ends_at().to_string()), ("12/31".to_owned(), "2032-01-01T00:00:00.000000Z".to_owned()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CardExpiry {
    year: u16,
    month: u8,
}

/// The year and month, or the text, are no [`CardExpiry`].
///
/// ```
/// use dropin_contract::{CardExpiry, InvalidCardExpiry};
///
/// assert_eq!(CardExpiry::new(2031, 13), Err(InvalidCardExpiry));
/// assert_eq!(InvalidCardExpiry.to_string(), "must be a month of the years 2000 to 2099, such as 2031-12");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a month of the years 2000 to 2099, such as 2031-12")]
pub struct InvalidCardExpiry;

impl CardExpiry {
    /// From a year of four digits and a month from 1.
    ///
    /// # Errors
    /// [`InvalidCardExpiry`]: no such month, or a year that no card carries.
    ///
    /// ```
    /// # use dropin_contract::CardExpiry;
    /// assert_eq!(CardExpiry::new(2031, 2).map(|expiry| expiry.to_string()), Ok("2031-02".to_owned()));
    /// ```
    pub fn new(year: u16, month: u8) -> Result<Self, InvalidCardExpiry> {
        let is_month = (2000..=2099).contains(&year) && (1..=12).contains(&month);
        is_month.then_some(Self { year, month }).ok_or(InvalidCardExpiry)
    }

    /// The year, of four digits.
    ///
    /// ```
    /// # use dropin_contract::CardExpiry;
    /// assert_eq!(CardExpiry::new(2031, 2).unwrap().year(), 2031);
    /// ```
    pub const fn year(self) -> u16 {
        self.year
    }

    /// The month, 1 to 12.
    ///
    /// ```
    /// # use dropin_contract::CardExpiry;
    /// assert_eq!(CardExpiry::new(2031, 2).unwrap().month(), 2);
    /// ```
    pub const fn month(self) -> u8 {
        self.month
    }

    /// As a card shows it: `12/31`.
    pub fn short(self) -> String {
        format!("{:02}/{:02}", self.month, self.year % 100)
    }

    /// The first instant at which the card is no longer good: when the next month begins in UTC.
    pub fn ends_at(self) -> Timestamp {
        let (year, month) = if self.month == 12 { (self.year + 1, 1) } else { (self.year, self.month + 1) };
        let month = Month::try_from(month).expect("1 to 12 is a month");
        let next = Date::from_calendar_date(year.into(), month, 1).expect("every month has a first day");
        next.midnight().assume_utc().into()
    }

    /// Whether the card was no longer good at `now`.
    ///
    /// ```
    /// # use dropin_contract::CardExpiry;
    /// let expiry = CardExpiry::new(2026, 12).unwrap();
    /// assert!(!expiry.is_over("2026-12-31T23:59:59.999999Z".parse().unwrap()));
    /// assert!(expiry.is_over("2027-01-01T00:00:00.000000Z".parse().unwrap()));
    /// ```
    pub fn is_over(self, now: Timestamp) -> bool {
        self.ends_at() <= now
    }

    /// When the merchant is told that the card ends: 30 days before its last valid day begins.
    ///
    /// ```
    /// # use dropin_contract::CardExpiry;
    /// assert_eq!(CardExpiry::new(2026, 12).unwrap().notice_at().to_string(), "2026-12-01T00:00:00.000000Z");
    /// ```
    pub fn notice_at(self) -> Timestamp {
        self.ends_at().minus(DAY).minus(NOTICE)
    }
}

impl FromStr for CardExpiry {
    type Err = InvalidCardExpiry;

    /// Reads what [`Display`](fmt::Display) writes, and nothing else.
    fn from_str(text: &str) -> Result<Self, InvalidCardExpiry> {
        let (year, month) = text.split_once('-').ok_or(InvalidCardExpiry)?;
        let is_number = |part: &str, digits| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(year, 4) || !is_number(month, 2) {
            return Err(InvalidCardExpiry);
        }
        let invalid = |_too_large| InvalidCardExpiry;
        Self::new(year.parse().map_err(invalid)?, month.parse().map_err(invalid)?)
    }
}

impl fmt::Display for CardExpiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:04}-{:02}", self.year, self.month))
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(CardExpiry);

/// What merchants and shoppers are shown of a stored card. Displays as the drop-in lists it.
///
/// ```
/// use dropin_card::Scheme;
/// use dropin_contract::CardSummary;
///
/// let card = CardSummary {
///     scheme: Scheme::Visa,
///     last_four: "4242".parse().unwrap(),
///     expiry: "2031-12".parse().unwrap(),
/// };
/// assert_eq!(card.to_string(), "Visa •••• 4242, 12/31");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct CardSummary {
    /// Its scheme.
    pub scheme: Scheme,
    /// The end of its number. Serialized as `Last4`, as answers name it.
    #[cfg_attr(feature = "serde", serde(rename = "Last4"))]
    pub last_four: LastFour,
    /// Until when it is good.
    pub expiry: CardExpiry,
}

impl fmt::Display for CardSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, last_four, expiry } = self;
        f.pad(&format!("{} •••• {last_four}, {}", CardBrand::from(*scheme).name(), expiry.short()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_read_as_it_is_written() {
        for text in ["2000-01", "2026-02", "2028-02", "2099-12"] {
            assert_eq!(text.parse::<CardExpiry>().map(|expiry| expiry.to_string()), Ok(text.to_owned()));
        }
        for wrong in [
            "",
            "2031",
            "2031-",
            "-12",
            "2031-1",
            "2031-012",
            "31-12",
            "2031-00",
            "2031-13",
            "1999-12",
            "2100-01",
            "2031/12",
            "+031-12",
            "2031-+1",
            "2031-12-31",
            " 2031-12",
        ] {
            assert_eq!(wrong.parse::<CardExpiry>(), Err(InvalidCardExpiry), "{wrong}");
        }
    }

    #[test]
    fn a_card_ends_with_its_month_and_the_notice_comes_30_days_before_the_last_day() {
        for (expiry, notice, end) in [
            ("2026-11", "2026-10-31", "2026-12-01"),
            ("2026-12", "2026-12-01", "2027-01-01"),
            ("2027-02", "2027-01-29", "2027-03-01"),
            ("2028-02", "2028-01-30", "2028-03-01"),
            ("2099-12", "2099-12-01", "2100-01-01"),
        ] {
            let expiry: CardExpiry = expiry.parse().unwrap();
            let midnight = |day: &str| format!("{day}T00:00:00.000000Z").parse::<Timestamp>();
            assert_eq!((Ok(expiry.notice_at()), Ok(expiry.ends_at())), (midnight(notice), midnight(end)), "{expiry}");
        }
    }
}
