use std::ops::RangeInclusive;

use dropin_kernel::{Timestamp, coded_enum};

use crate::card::Card;
use crate::scheme::Scheme;

coded_enum! {
    /// What is wrong with a card (docs/SPECIFICATION.md#stash-warnings). A card with warnings can be kept; the issuer would refuse it.
    ///
    /// ```
    /// use dropin_card::Warning;
    ///
    /// assert_eq!(Warning::ALL[1].as_str(), "CardMonthInvalid");
    /// ```
    pub enum Warning: "card warning" {
        /// The number has a wrong check digit, a wrong length or something that is no digit.
        CardNumberInvalid = "CardNumberInvalid",
        /// The month or year is no date, or the month is over.
        CardMonthInvalid = "CardMonthInvalid",
        /// The code is missing or has the wrong length.
        CardVerificationCodeInvalid = "CardVerificationCodeInvalid",
    }
}

/// How many digits a card number has: ISO/IEC 7812-1 allows up to 19, and no scheme issues fewer than 12 (Maestro).
///
/// ```
/// assert!(dropin_card::NUMBER_LENGTHS.contains(&16));
/// ```
pub const NUMBER_LENGTHS: RangeInclusive<usize> = 12..=19;

impl Card {
    /// Everything that is wrong with the card at `now`, in the order of [`Warning`]; empty when it can be charged.
    ///
    /// A card is good until the end of its month in UTC. A number of a scheme that we do not know is right when its length and check digit are.
    ///
    /// ```
    /// use dropin_card::{Card, Warning};
    /// use dropin_kernel::Timestamp;
    ///
    /// let now = Timestamp::from_micros(1_796_083_200_000_000); // 2026-12-01
    /// assert_eq!(Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12").warnings(now), []);
    /// let over = Card::new("Ana", "4242 4242 4242 4242", "123", "2026", "11");
    /// assert_eq!(over.warnings(now), [Warning::CardMonthInvalid]);
    /// ```
    pub fn warnings(&self, now: Timestamp) -> Vec<Warning> {
        let scheme = self.scheme();
        let mut warnings = Vec::new();
        if !number_is_right(&self.expose_digits(), scheme) {
            warnings.push(Warning::CardNumberInvalid);
        }
        if !expiry_is_right(self.expiry_year(), self.expiry_month(), now) {
            warnings.push(Warning::CardMonthInvalid);
        }
        if !code_is_right(self.expose_verification_code(), scheme) {
            warnings.push(Warning::CardVerificationCodeInvalid);
        }
        warnings
    }
}

fn number_is_right(digits: &str, scheme: Option<Scheme>) -> bool {
    let length_is_right =
        scheme.map_or(NUMBER_LENGTHS.contains(&digits.len()), |scheme| scheme.lengths().contains(&digits.len()));
    length_is_right && all_digits(digits) && passes_luhn(digits)
}

/// The check digit of ISO/IEC 7812-1 annex B: from the right, every second digit counts double.
fn passes_luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| match u32::from(digit - b'0') {
            value if place % 2 == 0 => value,
            value if value < 5 => 2 * value,
            value => 2 * value - 9,
        })
        .sum();
    sum.is_multiple_of(10)
}

fn expiry_is_right(year: &str, month: &str, now: Timestamp) -> bool {
    let today = now.to_offset_date_time();
    let year: Option<i32> = (year.len() == 4 && all_digits(year)).then(|| year.parse().ok()).flatten();
    let month: Option<u8> = ((1..=2).contains(&month.len()) && all_digits(month)).then(|| month.parse().ok()).flatten();
    match (year, month) {
        (Some(year), Some(month @ 1..=12)) => (today.year(), u8::from(today.month())) <= (year, month),
        _ => false,
    }
}

fn code_is_right(code: &str, scheme: Option<Scheme>) -> bool {
    let length_is_right = scheme.map_or((3..=4).contains(&code.len()), |scheme| scheme.code_length() == code.len());
    length_is_right && all_digits(code)
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::Warning::{CardMonthInvalid, CardNumberInvalid, CardVerificationCodeInvalid};
    use super::*;

    /// 2026-11-30T23:59:59.999999Z, the last instant of that month.
    const END_OF_NOVEMBER: Timestamp = Timestamp::from_micros(1_796_083_199_999_999);

    fn warnings(number: &str, code: &str, year: &str, month: &str) -> Vec<Warning> {
        Card::new("Ana", number, code, year, month).warnings(END_OF_NOVEMBER)
    }

    #[test]
    fn a_test_number_of_each_scheme_is_right() {
        for number in ["4242424242424242", "5555555555554444", "6011111111111117", "3530111333300000", "30569309025904"]
        {
            assert_eq!(warnings(number, "123", "2030", "12"), [], "{}", &number[number.len() - 4..]);
        }
        assert_eq!(warnings("378282246310005", "1234", "2030", "1"), []);
    }

    #[test]
    fn one_changed_digit_is_noticed_at_every_place() {
        let right = b"4242424242424242";
        for place in 1..right.len() {
            let mut wrong = *right;
            wrong[place] = b'0' + (wrong[place] - b'0' + 1) % 10;
            let wrong = String::from_utf8(wrong.to_vec()).expect("digits");
            assert_eq!(warnings(&wrong, "123", "2030", "12"), [CardNumberInvalid], "{place}");
        }
    }

    #[test]
    fn length_counts_by_scheme() {
        assert_eq!(warnings(&"42".repeat(10), "123", "2030", "12"), [CardNumberInvalid], "20 digits");
        assert_eq!(warnings(&"0".repeat(14), "123", "2030", "12"), [], "an unknown scheme with 14 digits");
        assert_eq!(warnings(&"0".repeat(10), "123", "2030", "12"), [CardNumberInvalid], "10 digits");
        for not_digits in ["", "4242 4242 4242 424x", "４242424242424242", "+4242424242424242"] {
            assert_eq!(warnings(not_digits, "123", "2030", "12"), [CardNumberInvalid], "{not_digits}");
        }
    }

    #[test]
    fn a_card_is_good_until_its_month_ends_in_utc() {
        assert_eq!(warnings("4242424242424242", "123", "2026", "11"), []);
        let card = Card::new("Ana", "4242424242424242", "123", "2026", "11");
        assert_eq!(card.warnings(Timestamp::from_micros(END_OF_NOVEMBER.micros() + 1)), [CardMonthInvalid]);
        for (year, month) in [
            ("2026", "10"),
            ("2025", "12"),
            ("2030", "13"),
            ("2030", "0"),
            ("2030", ""),
            ("30", "12"),
            ("+203", "1"),
            ("2030", "012"),
            ("", ""),
        ] {
            assert_eq!(warnings("4242424242424242", "123", year, month), [CardMonthInvalid], "{year}/{month}");
        }
    }

    #[test]
    fn the_code_is_as_long_as_the_scheme_prints_it() {
        for (number, code, right) in [
            ("4242424242424242", "123", true),
            ("4242424242424242", "1234", false),
            ("378282246310005", "1234", true),
            ("378282246310005", "123", false),
            (&"0".repeat(14), "1234", true),
            ("4242424242424242", "", false),
            ("4242424242424242", "12a", false),
        ] {
            let expected: &[Warning] = if right { &[] } else { &[CardVerificationCodeInvalid] };
            assert_eq!(warnings(number, code, "2030", "12"), expected, "{code}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let all = [CardNumberInvalid, CardMonthInvalid, CardVerificationCodeInvalid];
        assert_eq!(warnings("", "", "", ""), all);
        assert_eq!(all.map(Warning::as_str).map(str::len), [17, 16, 27]);
    }
}
