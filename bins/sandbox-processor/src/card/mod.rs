//! Published test numbers and what each of them does (docs/SPECIFICATION.md#test-numbers).

use std::fmt;

use time::OffsetDateTime;

use crate::enums::{CardScheme, CredentialUse, Reason, Scenario, Stage};

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
    contract: ContractBehaviour,
    failed_check: Option<IssuerCheck>,
    /// The schemes that may be chosen of a card that bears more than one; else none.
    schemes: &'static [CardScheme],
    told: Option<ToldCardFacts>,
}

/// What the sandbox tells of a card with its yes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToldCardFacts {
    /// The country of its issuer.
    pub(crate) country: &'static str,
    /// How it is funded.
    pub(crate) funding: &'static str,
}

/// What an issuer checks beside the payment itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IssuerCheck {
    /// Whether the billing address is the card's.
    Address,
    /// Whether the verification code is the card's.
    Code,
}

/// Every published test number (docs/SPECIFICATION.md#test-numbers). Pages, tools and documents that name a number take it from here.
pub const TEST_CARDS: [SandboxCard; 26] = [
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
        "4000000000000259",
        "Visa",
        "Pays, and is disputed a few seconds after it was captured",
        Verdict::Approve(Scenario::Disputed),
    ),
    test_card(
        "4000000000000119",
        "Visa",
        "Pays, though the processor answers with an error first",
        Verdict::Approve(Scenario::LostAnswer),
    ),
    differing_card("4000000000000036", "Pays, though the issuer knows another address", IssuerCheck::Address),
    differing_card("4000000000000101", "Pays, though the code is not the card's", IssuerCheck::Code),
    contract_card(
        "4000002500003155",
        "Pays; the bank's page comes up when it is stored",
        ContractBehaviour::AuthenticateToStore,
    ),
    contract_card(
        "4000002760003184",
        "Asks for 3-D Secure at every payment, so that a merchant alone cannot charge it",
        ContractBehaviour::AuthenticateAlways,
    ),
    contract_card(
        "4000008260003178",
        "Pays; the bank's page comes up when it is stored, and later payments lack money",
        ContractBehaviour::ShortOfMoneyLater,
    ),
    test_card("4000000000003014", "Visa", "Gets no answer from the processor; nothing is charged", Verdict::Silence),
    SandboxCard {
        schemes: &[CardScheme::Visa, CardScheme::CartesBancaires],
        ..test_card(
            "4000002500001001",
            "Visa",
            "Pays by the scheme that is chosen: it is a card of Cartes Bancaires too",
            Verdict::Approve(Scenario::Plain),
        )
    },
    told_card("4000000360000006", "Visa", "Pays; it is known to be an Australian credit card", "AU", "CREDIT"),
    told_card("5105105105105100", "Mastercard", "Pays; it is known to be a prepaid card of the USA", "US", "PREPAID"),
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
    let contract = ContractBehaviour::Plain;
    SandboxCard { number, scheme, does, verdict, contract, failed_check: None, schemes: &[], told: None }
}

/// One of the Visa numbers that pay, though what the issuer checks differs.
const fn differing_card(number: &'static str, does: &'static str, check: IssuerCheck) -> SandboxCard {
    SandboxCard { failed_check: Some(check), ..test_card(number, "Visa", does, Verdict::Approve(Scenario::Plain)) }
}

/// One of the numbers that are published for a country or a kind of funding.
const fn told_card(
    number: &'static str,
    scheme: &'static str,
    does: &'static str,
    country: &'static str,
    funding: &'static str,
) -> SandboxCard {
    let told = Some(ToldCardFacts { country, funding });
    SandboxCard { told, ..test_card(number, scheme, does, Verdict::Approve(Scenario::Plain)) }
}

/// One of the Visa numbers that are published for contracts.
const fn contract_card(number: &'static str, does: &'static str, contract: ContractBehaviour) -> SandboxCard {
    let verdict = match contract {
        ContractBehaviour::AuthenticateAlways => Verdict::Await(Stage::Page),
        _ => Verdict::Approve(Scenario::Plain),
    };
    SandboxCard { contract, ..test_card(number, "Visa", does, verdict) }
}

/// What a number does beside its verdict, when the card is stored or charged again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContractBehaviour {
    /// Nothing.
    Plain,
    /// The issuer wants the shopper to authenticate when the card is stored.
    AuthenticateToStore,
    /// The issuer wants the shopper to authenticate at every payment.
    AuthenticateAlways,
    /// The shopper authenticates when the card is stored; every later payment lacks money.
    ShortOfMoneyLater,
}

impl SandboxCard {
    /// The published card whose number ends so; no two end alike.
    pub(crate) fn of_last4(last4: &str) -> Option<&'static Self> {
        TEST_CARDS.iter().find(|card| card.number.ends_with(last4))
    }

    /// The code of the scheme.
    pub(crate) fn scheme_code(&self) -> &'static str {
        match self.scheme {
            "Visa" => "VISA",
            "Mastercard" => "MC",
            "American Express" => "AMEX",
            "Discover" => "DISC",
            "JCB" => "JCB",
            _ => "DINERS",
        }
    }

    /// American Express prints four digits, everybody else three.
    pub(crate) const fn code_length(&self) -> usize {
        if self.number.len() == 15 { 4 } else { 3 }
    }

    /// What happens when the card is presented by its number, to be stored or not.
    fn presented(&self, is_stored: bool, capabilities: CallerCapabilities) -> Verdict {
        match self.contract {
            ContractBehaviour::AuthenticateToStore | ContractBehaviour::ShortOfMoneyLater if is_stored => {
                authenticate(capabilities)
            }
            ContractBehaviour::AuthenticateAlways => authenticate(capabilities),
            _ if capabilities.is_exempted && matches!(self.verdict, Verdict::Await(_)) && !is_stored => {
                Verdict::Approve(Scenario::Plain)
            }
            // Whether the payment is declined, the issuer says after the page.
            _ if capabilities.challenge && self.verdict != Verdict::Silence => authenticate(capabilities),
            _ => self.verdict.when_possible(capabilities),
        }
    }

    /// What happens once the shopper has authenticated, whoever asked for that.
    pub(crate) fn authenticated(&self, review_allowed: bool) -> Verdict {
        match self.verdict {
            Verdict::Await(_) | Verdict::Silence => Verdict::Approve(Scenario::Plain),
            Verdict::ApproveUnderReview if !review_allowed => Verdict::Decline(Reason::GenericDecline),
            verdict => verdict,
        }
    }

    /// Whether the billing address is the card's; `None` where nothing of it was sent, unless the number says that it differs.
    pub(crate) fn address_matches(&self, has_postcode: bool) -> Option<bool> {
        let differs = self.failed_check == Some(IssuerCheck::Address);
        (differs || has_postcode).then_some(!differs)
    }

    /// What is told of it; `None` unless the number is published for that.
    pub(crate) const fn told(&self) -> Option<ToldCardFacts> {
        self.told
    }

    /// Whether a code that is sent is the card's.
    pub(crate) fn code_matches(&self) -> bool {
        self.failed_check != Some(IssuerCheck::Code)
    }

    /// What happens when the stored card is charged. The shopper has authenticated when it was stored, so a merchant is asked for no page but by the
    /// number that always wants one.
    pub(crate) fn charged_again(&self, credential_use: CredentialUse, capabilities: CallerCapabilities) -> Verdict {
        let is_by_merchant = credential_use.is_by_merchant();
        let capabilities =
            CallerCapabilities { return_url: capabilities.return_url && !is_by_merchant, ..capabilities };
        match (self.contract, self.verdict) {
            (ContractBehaviour::ShortOfMoneyLater, _) => Verdict::Decline(Reason::InsufficientFunds),
            (ContractBehaviour::AuthenticateAlways, _) => authenticate(capabilities),
            (_, verdict) if capabilities.challenge => verdict.challenged(capabilities),
            (_, Verdict::Await(_)) if is_by_merchant || capabilities.is_exempted => Verdict::Approve(Scenario::Plain),
            (_, Verdict::Await(_)) => authenticate(capabilities),
            (_, verdict) => verdict.when_possible(capabilities),
        }
    }
}

/// Card data as presented. It lives for one call: what is kept of it is [`Card::last4`] and a [`Verdict`].
pub(crate) struct Card {
    number: String,
    verification_code: Option<String>,
    expiry_year: u16,
    expiry_month: u8,
    scheme: Option<CardScheme>,
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

impl Verdict {
    /// The bank's page first, where a payment would be approved.
    pub(crate) fn challenged(self, capabilities: CallerCapabilities) -> Self {
        match self {
            Self::Approve(_) | Self::ApproveUnderReview | Self::Await(_) => authenticate(capabilities),
            Self::Decline(_) | Self::Silence => self,
        }
    }

    /// The same, unless the caller cannot do what it takes.
    fn when_possible(self, capabilities: CallerCapabilities) -> Self {
        match self {
            Self::Await(_) if !capabilities.return_url => Self::Decline(Reason::GenericDecline),
            Self::ApproveUnderReview if !capabilities.review => Self::Decline(Reason::GenericDecline),
            verdict => verdict,
        }
    }
}

/// The bank's page, where there is a shopper to be sent to it.
const fn authenticate(capabilities: CallerCapabilities) -> Verdict {
    if capabilities.return_url { Verdict::Await(Stage::Page) } else { Verdict::Decline(Reason::AuthenticationRequired) }
}

/// What the caller can do beyond yes and no, and what it asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallerCapabilities {
    /// Send the shopper to a page, and receive them again.
    pub(crate) return_url: bool,
    /// Have somebody look at a payment.
    pub(crate) review: bool,
    /// It asks that the shopper authenticate, whatever the card.
    pub(crate) challenge: bool,
    /// It asks that nobody authenticate; the number that always wants it refuses.
    pub(crate) is_exempted: bool,
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
        if verification_code.as_deref().is_some_and(|code| !is_verification_code(code)) {
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
            scheme: None,
        })
    }

    /// The same, to be paid by that scheme.
    pub(crate) fn paying_by(self, scheme: Option<CardScheme>) -> Self {
        Self { scheme, ..self }
    }

    /// By which it shall pay, where that was said.
    pub(crate) const fn scheme(&self) -> Option<CardScheme> {
        self.scheme
    }

    /// The last four digits, the only part of the number that is kept.
    pub(crate) fn last4(&self) -> &str {
        &self.number[self.number.len() - 4..]
    }

    /// Whether a code was sent.
    pub(crate) const fn has_code(&self) -> bool {
        self.verification_code.is_some()
    }

    /// The last month in which it is good, as `2031-12`.
    pub(crate) fn expiry(&self) -> String {
        format!("{:04}-{:02}", self.expiry_year, self.expiry_month)
    }

    /// What happens to an authorization with this card, at `now`, when the caller can do what `capabilities` says and has it stored or not.
    pub(crate) fn verdict(&self, now: OffsetDateTime, capabilities: CallerCapabilities, is_stored: bool) -> Verdict {
        let Some(published) = TEST_CARDS.iter().find(|card| card.number == self.number) else {
            return Verdict::Decline(Reason::InvalidCard);
        };
        let last_month = (i32::from(self.expiry_year), self.expiry_month);
        if last_month < (now.year(), u8::from(now.month())) {
            return Verdict::Decline(Reason::ExpiredCard);
        }
        if self.verification_code.as_deref().is_some_and(|code| code.len() != published.code_length()) {
            return Verdict::Decline(Reason::InvalidCard);
        }
        if self.scheme.is_some_and(|scheme| !published.schemes.contains(&scheme)) {
            return Verdict::Decline(Reason::InvalidCard);
        }
        published.presented(is_stored, capabilities)
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Card").field("last4", &self.last4()).finish_non_exhaustive()
    }
}

/// Whether a code has the form of one: 3 or 4 digits.
pub(crate) fn is_verification_code(code: &str) -> bool {
    (3..=4).contains(&code.len()) && digits(code)
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
mod tests;
