use dropin_kernel::{Violation, ViolationCode};
use time::Date;

use crate::text::Text;

/// Fewest and most digits of a phone number; E.164 has 15 at most, and the shortest subscriber numbers in use have 5.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 5..=15;

/// An e-mail address (HTML Living Standard, valid e-mail address).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Email(String);

impl Email {
    /// Trims and checks the form (decisions.md section 2).
    ///
    /// # Errors
    /// A violation at `field`.
    pub fn parse(field: &str, raw: &str) -> Result<Self, Violation> {
        let text = Text::parse(field, raw)?;
        Self::restore(text.as_str()).ok_or_else(|| {
            Violation::new(field, ViolationCode::Invalid, "must be an e-mail address such as ana@shop.example")
        })
    }

    /// Reads a stored address back; `None` when it is no e-mail address: the row is corrupt.
    pub fn restore(stored: &str) -> Option<Self> {
        validator::ValidateEmail::validate_email(&stored).then(|| Self(stored.to_owned()))
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A phone number as written, loosely E.164: an optional plus, 5 to 15 digits, and spaces, dots, dashes, slashes or
/// parentheses between (decisions.md section 2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phone(String);

impl Phone {
    /// Trims and checks the form.
    ///
    /// # Errors
    /// A violation at `field`.
    pub fn parse(field: &str, raw: &str) -> Result<Self, Violation> {
        let text = Text::parse(field, raw)?;
        Self::restore(text.as_str()).ok_or_else(|| {
            let why = "must be a phone number of 5 to 15 digits such as +1 213 373 4253";
            Violation::new(field, ViolationCode::Invalid, why)
        })
    }

    /// Reads a stored number back; `None` when it is no phone number: the row is corrupt.
    pub fn restore(stored: &str) -> Option<Self> {
        let rest = stored.strip_prefix('+').unwrap_or(stored);
        let digits = rest.bytes().filter(u8::is_ascii_digit).count();
        let allowed = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '.' | '-' | '/' | '(' | ')');
        let well_formed = rest.len() <= 40 && rest.chars().all(allowed) && PHONE_DIGITS.contains(&digits);
        well_formed.then(|| Self(stored.to_owned()))
    }

    /// The number as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A real day in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BirthDate(Date);

impl BirthDate {
    /// Reads a stored day back; `None` for a year that `yyyy-MM-dd` cannot write: the row is corrupt.
    pub fn restore(stored: Date) -> Option<Self> {
        (1..=9_999).contains(&stored.year()).then_some(Self(stored))
    }

    /// The day.
    pub const fn date(self) -> Date {
        self.0
    }
}
