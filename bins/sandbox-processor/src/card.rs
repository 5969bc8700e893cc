//! Published test numbers and what each of them does (docs/SPECIFICATION.md#test-numbers).

use std::fmt;

use time::OffsetDateTime;

use crate::enums::{Reason, Scenario, Stage};

/// A published test number, and what the sandbox does with it.
#[derive(Debug, Clone, Copy)]
pub struct SandboxCard {
    /// The number, without spaces.
    pub number: &'static str,
    /// The scheme, as people call it.
    pub scheme: &'static str,
    /// What paying with it does, as a sentence without its full stop.
    pub does: &'static str,
    verdict: Verdict,
}

/// Every published test number (docs/SPECIFICATION.md#test-numbers). Pages, tools and documents that name a number take it from here.
pub const TEST_CARDS: [SandboxCard; 17] = [
    test_card("4242424242424242", "Visa", "Pays", Verdict::Approve(Scenario::Plain)),
    test_card("4000000000000002", "Visa", "Is declined", Verdict::Decline(Reason::GenericDecline)),
    test_card("4000000000009995", "Visa", "Is declined for lack of money", Verdict::Decline(Reason::InsufficientFunds)),
    test_card(
        "4000000000009979",
        "Visa",
        "Is declined as stolen: the same card is not asked for again in a Session",
        Verdict::Decline(Reason::DoNotTryAgain),
    ),
    test_card(
        "4000000000003220",
        "Visa",
        "Asks for 3-D Secure; the bank's page offers succeed, fail and cancel",
        Verdict::Await(Stage::Page),
    ),
    test_card("4000000000009235", "Visa", "Pays, and is held for a review", Verdict::ApproveUnderReview),
    test_card(
        "4000000000002016",
        "Visa",
        "Pays; its capture takes a few seconds",
        Verdict::Approve(Scenario::PendingCapture),
    ),
    test_card(
        "4000000000000341",
        "Visa",
        "Is authorized; its capture is refused for good",
        Verdict::Approve(Scenario::RefusedCapture),
    ),
    test_card(
        "4000000000007726",
        "Visa",
        "Pays; a refund succeeds after a few seconds",
        Verdict::Approve(Scenario::PendingRefund),
    ),
    test_card(
        "4000000000005126",
        "Visa",
        "Pays; a refund fails after a few seconds",
        Verdict::Approve(Scenario::FailingRefund),
    ),
    test_card(
        "4000000000000119",
        "Visa",
        "Pays, though the processor answers with an error first",
        Verdict::Approve(Scenario::LostAnswer),
    ),
    test_card("4000000000003014", "Visa", "Gets no answer from the processor; nothing is charged", Verdict::Silence),
    test_card("5555555555554444", "Mastercard", "Pays", Verdict::Approve(Scenario::Plain)),
    test_card(
        "378282246310005",
        "American Express",
        "Pays; its code has four digits",
        Verdict::Approve(Scenario::Plain),
    ),
    test_card("6011111111111117", "Discover", "Pays", Verdict::Approve(Scenario::Plain)),
    test_card("3530111333300000", "JCB", "Pays", Verdict::Approve(Scenario::Plain)),
    test_card("30569309025904", "Diners Club", "Pays", Verdict::Approve(Scenario::Plain)),
];

const fn test_card(number: &'static str, scheme: &'static str, does: &'static str, verdict: Verdict) -> SandboxCard {
    SandboxCard { number, scheme, does, verdict }
}

/// What a test card is wanted for, by tools that make something happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestPurpose {
    /// Authorized, captured and refunded at once.
    Pay,
    /// Declined.
    Decline,
    /// Authorized, and held for a review.
    Review,
    /// Authorized; the capture is refused for good.
    RefuseCapture,
    /// Paid; a refund fails.
    FailRefund,
}

impl SandboxCard {
    /// The first published card that does this.
    pub fn for_purpose(purpose: TestPurpose) -> &'static Self {
        let wanted = match purpose {
            TestPurpose::Pay => Verdict::Approve(Scenario::Plain),
            TestPurpose::Decline => Verdict::Decline(Reason::GenericDecline),
            TestPurpose::Review => Verdict::ApproveUnderReview,
            TestPurpose::RefuseCapture => Verdict::Approve(Scenario::RefusedCapture),
            TestPurpose::FailRefund => Verdict::Approve(Scenario::FailingRefund),
        };
        TEST_CARDS.iter().find(|card| card.verdict == wanted).expect("a published card does each of these")
    }
}

/// Card data as presented. It lives for one call: what is kept of it is [`Card::last4`] and a [`Verdict`].
pub(crate) struct Card {
    number: String,
    verification_code: Option<String>,
    expiry_year: u16,
    expiry_month: u8,
}

/// Why card data is malformed; the message names the field and never its value.
pub(crate) type Malformed = &'static str;

/// What the sandbox makes of an authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Authorized, and behaving so afterwards.
    Approve(Scenario),
    /// Authorized, but somebody should look at it before it is captured.
    ApproveUnderReview,
    /// Pending until the shopper, the provider or the money has come.
    Await(Stage),
    /// Declined.
    Decline(Reason),
    /// No answer in time, and nothing done.
    Silence,
}

/// What the caller can do beyond yes and no.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallerCapabilities {
    /// Send the shopper to a page, and receive them again.
    pub(crate) return_url: bool,
    /// Have somebody look at a payment.
    pub(crate) review: bool,
}

impl Card {
    /// Checks the form of the fields as they arrived.
    pub(crate) fn parse(
        number: String,
        verification_code: Option<String>,
        expiry_year: &str,
        expiry_month: &str,
    ) -> Result<Self, Malformed> {
        if !(12..=19).contains(&number.len()) || !digits(&number) || !passes_luhn(&number) {
            return Err("Card.Number must be 12 to 19 digits with a right check digit.");
        }
        if verification_code.as_deref().is_some_and(|code| !(3..=4).contains(&code.len()) || !digits(code)) {
            return Err("Card.VerificationCode must be 3 or 4 digits, or be left out.");
        }
        let year = (expiry_year.len() == 4 && digits(expiry_year)).then(|| expiry_year.parse().ok()).flatten();
        let month = (expiry_month.len() <= 2 && digits(expiry_month)).then(|| expiry_month.parse().ok()).flatten();
        Ok(Self {
            number,
            verification_code,
            expiry_year: year.ok_or("Card.ExpiryYear must be four digits in a text.")?,
            expiry_month: month
                .filter(|month| (1..=12).contains(month))
                .ok_or("Card.ExpiryMonth must be \"01\" to \"12\".")?,
        })
    }

    /// The last four digits, the only part of the number that is kept.
    pub(crate) fn last4(&self) -> &str {
        &self.number[self.number.len() - 4..]
    }

    /// What happens to an authorization with this card, at `now`, when the caller can do what `capabilities` says.
    pub(crate) fn verdict(&self, now: OffsetDateTime, capabilities: CallerCapabilities) -> Verdict {
        let Some(verdict) = published(&self.number) else {
            return Verdict::Decline(Reason::InvalidCard);
        };
        let last_month = (i32::from(self.expiry_year), self.expiry_month);
        if last_month < (now.year(), u8::from(now.month())) {
            return Verdict::Decline(Reason::ExpiredCard);
        }
        // American Express prints four digits, everybody else three.
        let code_length = if self.number.len() == 15 { 4 } else { 3 };
        if self.verification_code.as_deref().is_some_and(|code| code.len() != code_length) {
            return Verdict::Decline(Reason::InvalidCard);
        }
        match verdict {
            Verdict::Await(_) if !capabilities.return_url => Verdict::Decline(Reason::GenericDecline),
            Verdict::ApproveUnderReview if !capabilities.review => Verdict::Decline(Reason::GenericDecline),
            verdict => verdict,
        }
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Card").field("last4", &self.last4()).finish_non_exhaustive()
    }
}

/// What the sandbox makes of a published number; none for any other.
fn published(number: &str) -> Option<Verdict> {
    TEST_CARDS.iter().find(|card| card.number == number).map(|card| card.verdict)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// ISO/IEC 7812-1 annex B; `number` consists of digits.
fn passes_luhn(number: &str) -> bool {
    let sum: u32 = number
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, byte)| {
            let digit = u32::from(byte - b'0');
            match (place % 2, digit) {
                (0, digit) => digit,
                (_, digit @ 0..=4) => 2 * digit,
                (_, digit) => 2 * digit - 9,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    const NOW: OffsetDateTime = datetime!(2026-11-21 12:00 UTC);

    fn card(number: &str, code: Option<&str>, year: &str, month: &str) -> Result<Card, Malformed> {
        Card::parse(number.to_owned(), code.map(str::to_owned), year, month)
    }

    #[test]
    fn every_purpose_has_a_published_card() {
        let numbers = [
            TestPurpose::Pay,
            TestPurpose::Decline,
            TestPurpose::Review,
            TestPurpose::RefuseCapture,
            TestPurpose::FailRefund,
        ]
        .map(|purpose| &SandboxCard::for_purpose(purpose).number[12..]);
        assert_eq!(numbers, ["4242", "0002", "9235", "0341", "5126"]);
    }

    #[test]
    fn debug_shows_four_digits_only() {
        let shown = format!("{:?}", card("4242424242424242", Some("987"), "2030", "12").unwrap());
        assert_eq!(shown, "Card { last4: \"4242\", .. }");
    }

    #[test]
    fn a_card_is_good_through_its_last_month() {
        let verdict = |year, month| {
            card("4242424242424242", None, year, month).unwrap().verdict(NOW, CallerCapabilities::default())
        };
        assert_eq!(verdict("2026", "11"), Verdict::Approve(Scenario::Plain));
        assert_eq!(verdict("2026", "10"), Verdict::Decline(Reason::ExpiredCard));
        assert_eq!(verdict("2025", "12"), Verdict::Decline(Reason::ExpiredCard));
        assert_eq!(verdict("2027", "1"), Verdict::Approve(Scenario::Plain));
    }

    #[test]
    fn the_code_has_the_brands_length() {
        let verdict =
            |number, code| card(number, Some(code), "2030", "12").unwrap().verdict(NOW, CallerCapabilities::default());
        assert_eq!(verdict("378282246310005", "1234"), Verdict::Approve(Scenario::Plain));
        assert_eq!(verdict("378282246310005", "123"), Verdict::Decline(Reason::InvalidCard));
        assert_eq!(verdict("4242424242424242", "1234"), Verdict::Decline(Reason::InvalidCard));
    }

    #[test]
    fn what_the_caller_cannot_do_is_declined() {
        let verdict = |number, year, capabilities| card(number, None, year, "12").unwrap().verdict(NOW, capabilities);
        let (page, review) = (
            CallerCapabilities { return_url: true, review: false },
            CallerCapabilities { return_url: false, review: true },
        );
        let generic = Verdict::Decline(Reason::GenericDecline);
        assert_eq!(verdict("4000000000003220", "2030", page), Verdict::Await(Stage::Page));
        assert_eq!(verdict("4000000000003220", "2030", review), generic);
        assert_eq!(verdict("4000000000009235", "2030", review), Verdict::ApproveUnderReview);
        assert_eq!(verdict("4000000000009235", "2030", page), generic);
        assert_eq!(verdict("4000000000003220", "2020", page), Verdict::Decline(Reason::ExpiredCard));
    }

    #[test]
    fn form_is_checked_and_values_are_not_repeated() {
        for (number, code, year, month, field) in [
            ("0000000000000001", None, "2030", "12", "Card.Number"),
            ("4242", None, "2030", "12", "Card.Number"),
            ("", None, "2030", "12", "Card.Number"),
            ("000000000000000０", None, "2030", "12", "Card.Number"),
            ("4242424242424242", Some("12"), "2030", "12", "Card.VerificationCode"),
            ("4242424242424242", Some("12a"), "2030", "12", "Card.VerificationCode"),
            ("4242424242424242", None, "30", "12", "Card.ExpiryYear"),
            ("4242424242424242", None, "+203", "12", "Card.ExpiryYear"),
            ("4242424242424242", None, "2030", "13", "Card.ExpiryMonth"),
            ("4242424242424242", None, "2030", "0", "Card.ExpiryMonth"),
        ] {
            let message = card(number, code, year, month).unwrap_err();
            assert!(message.starts_with(field), "{message}");
            assert!(number.is_empty() || !message.contains(number), "{message}");
        }
    }
}
