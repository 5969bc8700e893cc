use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use dropin_kernel::{Violation, ViolationCode};
use time::Date;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use crate::invalid_value::InvalidValue;
use crate::text::Text;

/// `yyyy-MM-dd` (docs/SPECIFICATION.md#contact).
const DAY: &[BorrowedFormatItem<'static>] = format_description!("[year]-[month]-[day]");

/// Fewest and most digits of a phone number; E.164 has 15 at most, and the shortest subscriber numbers in use have 5.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 5..=15;

/// An e-mail address (HTML Living Standard, valid e-mail address), at most 255 characters (docs/SPECIFICATION.md#contact).
///
/// Names in other scripts and addresses in brackets are domains, too: `ana@bücher.example`, `ana@[127.0.0.1]`. Quoted users are none.
///
/// ```
/// use dropin_validation::Email;
///
/// let email: Email = " ana.b+shop@shop.example ".parse().unwrap();
/// assert_eq!((email.as_str(), email.domain()), ("ana.b+shop@shop.example", "shop.example"));
/// assert!("ana@shop..example".parse::<Email>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Email(String);

impl Email {
    /// Trims and checks the form, as [`FromStr`] does, for the field at `field`.
    ///
    /// ```
    /// # use dropin_validation::Email;
    /// assert_eq!(Email::parse("BillingProfile.Email", "ana").unwrap_err().field, "BillingProfile.Email");
    /// ```
    ///
    /// # Errors
    /// A violation at `field`: FIELD_INVALID for another form, and those of [`Text::parse`].
    pub fn parse(field: impl fmt::Display, raw: &str) -> Result<Self, Violation> {
        raw.parse().map_err(|refused: InvalidValue| refused.at(field))
    }

    /// Reads a stored address back; `None` when it is not one as [`Email::parse`] makes them: the row is corrupt.
    ///
    /// ```
    /// # use dropin_validation::Email;
    /// assert!(Email::restore("ana@shop.example").is_some() && Email::restore(" ana@shop.example").is_none());
    /// ```
    pub fn restore(stored: &str) -> Option<Self> {
        Text::restore(stored).and_then(Self::of)
    }

    fn of(text: Text) -> Option<Self> {
        is_email(text.as_str()).then(|| Self(text.into_string()))
    }

    /// The address.
    ///
    /// ```
    /// # use dropin_validation::Email;
    /// assert_eq!("ana@shop.example".parse::<Email>().unwrap().as_str(), "ana@shop.example");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands behind the last `@`, as written.
    ///
    /// ```
    /// # use dropin_validation::Email;
    /// assert_eq!("ana@Shop.example".parse::<Email>().unwrap().domain(), "Shop.example");
    /// ```
    pub fn domain(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, domain)| domain)
    }
}

impl FromStr for Email {
    type Err = InvalidValue;

    /// Trims and checks the form.
    fn from_str(raw: &str) -> Result<Self, InvalidValue> {
        let why = "must be an e-mail address such as ana@shop.example";
        Self::of(raw.parse()?).ok_or_else(|| InvalidValue::new(ViolationCode::Invalid, why))
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Whether it is an address as HTML forms take it (HTML Standard, valid e-mail address), with the lengths of RFC 5321 section 4.5.3.1. The domain may be
/// an international one, or an address in brackets (RFC 5321 section 4.1.3).
fn is_email(text: &str) -> bool {
    let of_user = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    text.rsplit_once('@').is_some_and(|(user, domain)| {
        (1..=64).contains(&user.len())
            && user.bytes().all(of_user)
            && domain.chars().count() <= 255
            && (is_host(domain) || idna::domain_to_ascii(domain).is_ok_and(|ascii| is_host(&ascii)))
    })
}

/// Whether it is a name of ASCII labels, or an address in brackets.
fn is_host(domain: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    domain.split('.').all(label) || literal.is_some_and(|address| address.parse::<IpAddr>().is_ok())
}

/// A phone number as written, loosely E.164: an optional plus, 5 to 15 digits, and spaces, dots, dashes, slashes or
/// parentheses between; at most 41 characters (docs/SPECIFICATION.md#contact).
///
/// ```
/// use dropin_validation::Phone;
///
/// let phone: Phone = "+1 (213) 373-4253".parse().unwrap();
/// assert_eq!((phone.as_str(), phone.digits().as_str()), ("+1 (213) 373-4253", "12133734253"));
/// assert!("213-CALL-ME".parse::<Phone>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phone(String);

impl Phone {
    /// Trims and checks the form, as [`FromStr`] does, for the field at `field`.
    ///
    /// ```
    /// # use dropin_validation::Phone;
    /// assert_eq!(Phone::parse("ShippingDetails.Phone", "1234").unwrap_err().field, "ShippingDetails.Phone");
    /// ```
    ///
    /// # Errors
    /// A violation at `field`: FIELD_INVALID for another form, and those of [`Text::parse`].
    pub fn parse(field: impl fmt::Display, raw: &str) -> Result<Self, Violation> {
        raw.parse().map_err(|refused: InvalidValue| refused.at(field))
    }

    /// Reads a stored number back; `None` when it is not one as [`Phone::parse`] makes them: the row is corrupt.
    ///
    /// ```
    /// # use dropin_validation::Phone;
    /// assert!(Phone::restore("030/901820").is_some() && Phone::restore("12").is_none());
    /// ```
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
    ///
    /// ```
    /// # use dropin_validation::Phone;
    /// assert_eq!("030/901820".parse::<Phone>().unwrap().as_str(), "030/901820");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its digits alone, 5 to 15, without the plus: what two spellings of one number share.
    ///
    /// ```
    /// # use dropin_validation::Phone;
    /// assert_eq!("030/901820".parse::<Phone>().unwrap().digits(), "030901820");
    /// ```
    pub fn digits(&self) -> String {
        self.0.chars().filter(char::is_ascii_digit).collect()
    }

    /// Whether it begins with a plus, so that the digits after it begin with the code of its country.
    ///
    /// ```
    /// # use dropin_validation::Phone;
    /// assert!("+49 30 901820".parse::<Phone>().unwrap().is_international());
    /// ```
    pub fn is_international(&self) -> bool {
        self.0.starts_with('+')
    }
}

impl FromStr for Phone {
    type Err = InvalidValue;

    /// Trims and checks the form.
    fn from_str(raw: &str) -> Result<Self, InvalidValue> {
        let why = "must be a phone number of 5 to 15 digits such as +1 213 373 4253";
        Self::of(raw.parse()?).ok_or_else(|| InvalidValue::new(ViolationCode::Invalid, why))
    }
}

impl fmt::Display for Phone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Email, Phone);

/// A real day in the past, of the years 1 to 9999, written `yyyy-MM-dd` (docs/SPECIFICATION.md#contact).
///
/// Its serialized form is that text; what day it is when it is restored is not asked.
///
/// ```
/// use dropin_kernel::ViolationCode;
/// use dropin_validation::BirthDate;
/// use time::macros::date;
///
/// let today = date!(2026 - 11 - 23);
/// assert_eq!(BirthDate::parse("BirthDate", "2000-02-29", today).unwrap().to_string(), "2000-02-29");
/// assert_eq!(BirthDate::parse("BirthDate", "2026-11-23", today).unwrap_err().code, ViolationCode::OutOfRange);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BirthDate(Date);

impl BirthDate {
    /// Reads `yyyy-MM-dd`; `today` is the day in UTC, given by the caller (docs/SPECIFICATION.md#contact: a real past date).
    ///
    /// ```
    /// # use {dropin_validation::BirthDate, time::macros::date};
    /// assert!(BirthDate::parse("BirthDate", "29.02.2000", date!(2026 - 11 - 23)).is_err());
    /// ```
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
    ///
    /// ```
    /// # use {dropin_validation::BirthDate, time::macros::date};
    /// assert!(BirthDate::restore(date!(1980 - 05 - 04)).is_some());
    /// ```
    pub fn restore(stored: Date) -> Option<Self> {
        (1..=9_999).contains(&stored.year()).then_some(Self(stored))
    }

    /// The day.
    ///
    /// ```
    /// # use {dropin_validation::BirthDate, time::macros::date};
    /// assert_eq!(BirthDate::restore(date!(1980 - 05 - 04)).unwrap().date(), date!(1980 - 05 - 04));
    /// ```
    pub const fn date(self) -> Date {
        self.0
    }
}

impl fmt::Display for BirthDate {
    /// `yyyy-MM-dd`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.format(DAY).map_err(|_unformattable| fmt::Error)?)
    }
}

#[cfg(feature = "serde")]
crate::stored::serialize_as_stored!(BirthDate, |text| Self::parse("", text, Date::MAX).ok());

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::date;

    #[test]
    fn email_has_the_form_of_the_html_standard() {
        let ok = |raw: &str| Email::parse("Email", raw).is_ok();
        assert!(ok("ana@shop.example") && ok(" ana.b+c@localhost ") && ok("very.long@x.co"));
        assert!(ok("o'neil@bücher.example") && ok("a@[127.0.0.1]") && ok("a@[::1]"));
        for wrong in [
            "ana",
            "ana@",
            "@shop.example",
            "a b@c.de",
            "a@b..com",
            "a@-b.com",
            "a@b\u{202e}.com",
            "",
            "a\n@b.c",
            "a@[1.2.3]",
            "a@x[127.0.0.1]",
        ] {
            assert!(!ok(wrong), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn an_email_is_what_a_second_implementation_takes(
            text in "[a-zA-Z0-9._+'!@ -]{0,66}@(\\[?[a-zA-Z0-9:.é-]{0,65}\\]?|[a-z]{1,3}(\\.[a-zA-Zäß0-9-]{0,3}){0,3}|\\[[0-9]{1,3}(\\.[0-9]{1,3}){3}\\])"
        ) {
            // That one takes a name in front of an address in brackets.
            proptest::prop_assume!(text.rsplit('@').next().is_none_or(|domain| domain.find('[').is_none_or(|at| at == 0)));
            let second = validator::ValidateEmail::validate_email(&text.as_str());
            proptest::prop_assert_eq!(is_email(&text), second, "{}", text);
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
