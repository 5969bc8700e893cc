use std::fmt;

use dropin_kernel::{Violation, ViolationCode};
use time::Date;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use crate::text::Text;

/// `yyyy-MM-dd` (contract, BillingProfile.BirthDate).
const DAY: &[BorrowedFormatItem<'static>] = format_description!("[year]-[month]-[day]");

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
    pub fn parse(field: impl fmt::Display, raw: &str) -> Result<Self, Violation> {
        Self::of(Text::parse(&field, raw)?).ok_or_else(|| {
            let why = "must be an e-mail address such as ana@shop.example";
            Violation::new(field.to_string(), ViolationCode::Invalid, why)
        })
    }

    /// Reads a stored address back; `None` when it is not one as [`Email::parse`] makes them: the row is corrupt.
    pub fn restore(stored: &str) -> Option<Self> {
        Text::restore(stored).and_then(Self::of)
    }

    fn of(text: Text) -> Option<Self> {
        let is_email = is_plain_email(text.as_str()) || validator::ValidateEmail::validate_email(&text.as_str());
        is_email.then(|| Self(text.into_string()))
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether it is an address of the usual letters, told without a regular expression. What is not may be an address all the same.
fn is_plain_email(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(plain) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.split_once('@').is_some_and(|(user, domain)| {
        (1..=64).contains(&user.len())
            && user.bytes().all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'+'))
            && domain.len() <= 255
            && domain.split('.').all(label)
    })
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
    pub fn parse(field: impl fmt::Display, raw: &str) -> Result<Self, Violation> {
        Self::of(Text::parse(&field, raw)?).ok_or_else(|| {
            let why = "must be a phone number of 5 to 15 digits such as +1 213 373 4253";
            Violation::new(field.to_string(), ViolationCode::Invalid, why)
        })
    }

    /// Reads a stored number back; `None` when it is not one as [`Phone::parse`] makes them: the row is corrupt.
    pub fn restore(stored: &str) -> Option<Self> {
        Text::restore(stored).and_then(Self::of)
    }

    fn of(text: Text) -> Option<Self> {
        let rest = text.as_str().strip_prefix('+').unwrap_or(text.as_str());
        let digits = rest.bytes().filter(u8::is_ascii_digit).count();
        let allowed = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '.' | '-' | '/' | '(' | ')');
        let well_formed = rest.len() <= 40 && rest.chars().all(allowed) && PHONE_DIGITS.contains(&digits);
        well_formed.then(|| Self(text.into_string()))
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
    /// Reads `yyyy-MM-dd`; `today` is the day in UTC, given by the caller (decisions.md section 2: a real past date).
    ///
    /// # Errors
    /// A violation at `field`: FIELD_INVALID for another form or a day that does not exist, VALUE_OUT_OF_RANGE when it is not
    /// in the past.
    pub fn parse(field: impl fmt::Display, raw: &str, today: Date) -> Result<Self, Violation> {
        let text = Text::parse(&field, raw)?;
        let text = text.as_str();
        // time's parser also takes a sign before the year.
        let date = text.as_bytes().first().is_some_and(u8::is_ascii_digit).then(|| Date::parse(text, DAY).ok());
        let date = date.flatten().and_then(Self::restore).ok_or_else(|| {
            Violation::new(field.to_string(), ViolationCode::Invalid, "must be a day that exists, written yyyy-MM-dd")
        })?;
        if today <= date.0 {
            return Err(Violation::new(field.to_string(), ViolationCode::OutOfRange, "must be in the past"));
        }
        Ok(date)
    }

    /// Reads a stored day back; `None` for a year that `yyyy-MM-dd` cannot write: the row is corrupt.
    pub fn restore(stored: Date) -> Option<Self> {
        (1..=9_999).contains(&stored.year()).then_some(Self(stored))
    }

    /// The day.
    pub const fn date(self) -> Date {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::date;

    #[test]
    fn email_has_the_form_of_the_html_standard() {
        let ok = |raw: &str| Email::parse("Email", raw).is_ok();
        assert!(ok("ana@shop.example") && ok(" ana.b+c@localhost ") && ok("very.long@x.co"));
        for wrong in
            ["ana", "ana@", "@shop.example", "a b@c.de", "a@b..com", "a@-b.com", "a@b\u{202e}.com", "", "a\n@b.c"]
        {
            assert!(!ok(wrong), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_plain_email_is_one_to_the_validator(text in "[a-zA-Z0-9._+-]{0,66}@[a-zA-Z0-9-]{0,65}(\\.[a-zA-Z0-9-]{0,3}){0,3}") {
            let full = validator::ValidateEmail::validate_email(&text.as_str());
            proptest::prop_assert_eq!(is_plain_email(&text), full, "{}", text);
        }
    }

    #[test]
    fn phone_is_loosely_e164() {
        let ok = |raw: &str| Phone::parse("Phone", raw).is_ok();
        for right in
            ["+12133734253", "+1 (213) 373-4253", "2133734253", "030/901820", "+49 30 90 18 20", "11.987.654.321"]
        {
            assert!(ok(right), "{right}");
        }
        for wrong in ["1234", "+1234567890123456", "1+2345678", "++4930901820", "tel:+4930901820", "030-CALL-ME", "+"] {
            assert!(!ok(wrong), "{wrong}");
        }
        assert!(!ok(&format!("1{}2345", "-".repeat(60))));
    }

    #[test]
    fn birth_date_is_a_real_day_in_the_past() {
        let today = date!(2026 - 11 - 21);
        let code = |raw: &str| BirthDate::parse("BirthDate", raw, today).map(BirthDate::date).map_err(|v| v.code);
        assert_eq!(code("2000-02-29"), Ok(date!(2000 - 02 - 29)));
        assert_eq!(code("2026-11-20"), Ok(date!(2026 - 11 - 20)));
        for future in ["2026-11-21", "2026-11-22", "9999-12-31"] {
            assert_eq!(code(future), Err(ViolationCode::OutOfRange), "{future}");
        }
        for wrong in
            ["2001-02-29", "29.02.2000", "2000-2-9", "+2000-02-29", "-2000-02-29", "0000-01-01", "2000-02-29T00:00:00Z"]
        {
            assert_eq!(code(wrong), Err(ViolationCode::Invalid), "{wrong}");
        }
    }

    /// E-mail addresses, things that resemble them, and spaces around both.
    const ALMOST_EMAILS: &str = "[ \u{a0}]?[a-z.!#$%&'*/=?^_`{|}~@é-]{0,6}@[a-zA-Z0-9é.\\[\\]:-]{0,12}[ \t]?";
    /// The same of phone numbers.
    const ALMOST_PHONES: &str = "[ .]?[+]?[0-9 ()./-]{3,18}[ ]?";

    proptest::proptest! {
        #[test]
        fn an_email_that_came_in_is_read_back_and_no_other(raw in ALMOST_EMAILS) {
            let parsed = Email::parse("Email", &raw).ok();
            if let Some(email) = &parsed {
                proptest::prop_assert_eq!(Email::restore(email.as_str()), Some(email.clone()));
            }
            let kept = parsed.filter(|email| email.as_str() == raw);
            proptest::prop_assert_eq!(Email::restore(&raw), kept, "{:?}", raw);
        }

        #[test]
        fn a_phone_that_came_in_is_read_back_and_no_other(raw in ALMOST_PHONES) {
            let parsed = Phone::parse("Phone", &raw).ok();
            if let Some(phone) = &parsed {
                proptest::prop_assert_eq!(Phone::restore(phone.as_str()), Some(phone.clone()));
            }
            let kept = parsed.filter(|phone| phone.as_str() == raw);
            proptest::prop_assert_eq!(Phone::restore(&raw), kept, "{:?}", raw);
        }
    }

    #[test]
    fn stored_values_are_checked_when_read_back() {
        for right in ["ana@shop.example", "a'b!c@bücher.example", "a@[127.0.0.1]"] {
            assert_eq!(Email::restore(right).map(|email| email.0).as_deref(), Some(right));
        }
        for wrong in ["ana", "ana@", " ana@shop.example", "a@b..com", "a@-b.com", "a@b@c.de", "a@b\u{202e}.com"] {
            assert_eq!(Email::restore(wrong), None, "{wrong}");
        }
        assert_eq!(Email::restore(&format!("a@{}", "b.".repeat(126) + "example")), None);
        assert!(Phone::restore("+12133734253").is_some() && Phone::restore("12").is_none());
        assert!(
            BirthDate::restore(date!(1980 - 01 - 01)).is_some() && BirthDate::restore(date!(-0001 - 01 - 01)).is_none()
        );
    }
}
