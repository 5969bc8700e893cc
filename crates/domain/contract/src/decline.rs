//! What follows from a declined payment with a stored credential: one table for the guards and the documents.

use std::time::Duration;

use dropin_card::Scheme;
use dropin_kernel::coded_enum;
use dropin_order::DeclineReason;

use crate::codes::{ADVICE_CODES, AdviceCode, RESPONSE_CODES};
use crate::state::{CloseReason, SuspendReason};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

coded_enum! {
    /// What a decline says of the stored credential. It is coarser than what issuers say, and finer than [`DeclineReason`].
    ///
    /// ```
    /// use dropin_contract::DeclineCategory;
    /// use dropin_order::DeclineReason;
    ///
    /// assert_eq!(DeclineCategory::of_reason(DeclineReason::Generic), Some(DeclineCategory::DoNotHonor));
    /// assert_eq!(DeclineCategory::of_reason(DeclineReason::NeverSent), None, "the issuer said nothing");
    /// ```
    #[non_exhaustive]
    pub enum DeclineCategory: "decline category" {
        /// The account lacks the money.
        InsufficientFunds = "INSUFFICIENT_FUNDS",
        /// The issuer declines without saying why.
        DoNotHonor = "DO_NOT_HONOR",
        /// The issuer cannot approve now: it is out of reach, or a limit of the card is used up.
        TryLater = "TRY_LATER",
        /// The issuer wants the shopper to authenticate.
        AuthenticationRequired = "AUTHENTICATION_REQUIRED",
        /// The card has ended.
        CardExpired = "CARD_EXPIRED",
        /// The issuer does not know the number, or its data has changed.
        CardInvalid = "CARD_INVALID",
        /// The issuer forbids to try this card again.
        CardRefused = "CARD_REFUSED",
        /// The card is lost or stolen.
        CardLost = "CARD_LOST",
        /// The account is closed.
        AccountClosed = "ACCOUNT_CLOSED",
        /// The shopper revoked the merchant's permission at the issuer.
        AuthorizationRevoked = "AUTHORIZATION_REVOKED",
    }
}

/// What follows from a decline.
///
/// ```
/// use dropin_contract::{CloseReason, DeclineCategory, DeclineEffect};
///
/// assert_eq!(DeclineCategory::CardLost.rule().effect, DeclineEffect::Close(CloseReason::CardLost));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclineEffect {
    /// The merchant may try again, no sooner than this after the decline, within the limits of [`TRY_LIMITS`](crate::TRY_LIMITS).
    TryAgain {
        /// The shortest wait.
        after: Duration,
    },
    /// The merchant brings the shopper back to authenticate (docs/SPECIFICATION.md#contract-checkout: 402 SHOPPER_AUTHENTICATION_REQUIRED).
    AskShopper,
    /// The contract is suspended: it needs another card.
    Suspend(SuspendReason),
    /// The contract is closed.
    Close(CloseReason),
}

impl DeclineEffect {
    /// The place in order of severity: the later forbids what the earlier allows.
    const fn severity(self) -> u8 {
        match self {
            Self::TryAgain { .. } => 0,
            Self::AskShopper => 1,
            Self::Suspend(_) => 2,
            Self::Close(_) => 3,
        }
    }
}

/// What follows from a [`DeclineCategory`], and who says so.
///
/// ```
/// use dropin_contract::DECLINE_RULES;
///
/// assert!(DECLINE_RULES.iter().all(|rule| !rule.source.is_empty()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeclineRule {
    /// The category.
    pub category: DeclineCategory,
    /// What follows.
    pub effect: DeclineEffect,
    /// Whose rule it is; "ours" where the schemes leave it open.
    pub source: &'static str,
}

/// Every category. Guards and documentation read this table.
///
/// Visa's categories are the decline response categories of the Visa Core Rules and Visa Product and Service Rules: 1, the issuer will never approve;
/// 2, it cannot approve now; 3, the data has to be checked; 4, no reason is given.
///
/// ```
/// use dropin_contract::{DECLINE_RULES, DeclineCategory};
///
/// assert_eq!(DECLINE_RULES.len(), DeclineCategory::ALL.len());
/// ```
pub const DECLINE_RULES: &[DeclineRule] = {
    use DeclineCategory as C;
    use DeclineEffect::{AskShopper, Close, Suspend, TryAgain};
    const fn row(category: DeclineCategory, effect: DeclineEffect, source: &'static str) -> DeclineRule {
        DeclineRule { category, effect, source }
    }
    &[
        row(C::InsufficientFunds, TryAgain { after: DAY }, "Visa category 2 allows another try; the day is ours"),
        row(C::DoNotHonor, TryAgain { after: DAY }, "Visa category 4 allows another try; the day is ours"),
        row(C::TryLater, TryAgain { after: HOUR }, "Visa category 2, Mastercard advice code 02; the hour is ours"),
        row(
            C::AuthenticationRequired,
            AskShopper,
            "Commission Delegated Regulation (EU) 2018/389; Visa 1A, Mastercard 65",
        ),
        row(C::CardExpired, Suspend(SuspendReason::CardExpired), "Visa category 3: new data before another try"),
        row(C::CardInvalid, Suspend(SuspendReason::CardInvalid), "Visa category 3, Mastercard advice code 01"),
        row(C::CardRefused, Suspend(SuspendReason::IssuerStopped), "Visa category 1, Mastercard advice code 03"),
        row(C::CardLost, Close(CloseReason::CardLost), "Visa category 1"),
        row(C::AccountClosed, Close(CloseReason::AccountClosed), "Visa category 1"),
        row(
            C::AuthorizationRevoked,
            Close(CloseReason::AuthorizationRevoked),
            "Visa R0, R1, R3; Mastercard advice code 21",
        ),
    ]
};

impl DeclineCategory {
    /// What follows from it.
    ///
    /// ```
    /// use dropin_contract::{DeclineCategory, DeclineEffect};
    ///
    /// assert_eq!(DeclineCategory::AuthenticationRequired.rule().effect, DeclineEffect::AskShopper);
    /// ```
    pub const fn rule(self) -> &'static DeclineRule {
        let mut index = 0;
        while index < DECLINE_RULES.len() {
            if DECLINE_RULES[index].category as u8 == self as u8 {
                return &DECLINE_RULES[index];
            }
            index += 1;
        }
        panic!("DECLINE_RULES has a row for every category")
    }

    /// What a processor's reason says of the stored credential; `None` where the issuer was not asked or the payment was stopped.
    ///
    /// The reasons of processors that tell no more are read with care: InvalidCard is CARD_INVALID, also where the card has ended.
    ///
    /// ```
    /// use dropin_contract::DeclineCategory;
    /// use dropin_order::DeclineReason;
    ///
    /// assert_eq!(DeclineCategory::of_reason(DeclineReason::DoNotTryAgain), Some(DeclineCategory::CardRefused));
    /// ```
    pub const fn of_reason(reason: DeclineReason) -> Option<Self> {
        match reason {
            DeclineReason::Generic => Some(Self::DoNotHonor),
            DeclineReason::InsufficientFunds => Some(Self::InsufficientFunds),
            DeclineReason::InvalidCard => Some(Self::CardInvalid),
            DeclineReason::DoNotTryAgain => Some(Self::CardRefused),
            DeclineReason::AuthenticationFailed => Some(Self::AuthenticationRequired),
            DeclineReason::CancelledByShopper
            | DeclineReason::PageClosed
            | DeclineReason::Expired
            | DeclineReason::Voided
            | DeclineReason::NeverSent
            | DeclineReason::AlreadyCaptured
            | DeclineReason::Blocked => None,
        }
    }
}

/// A decline of a payment with a stored credential: what it says, and how long the issuer wants to be left alone.
///
/// ```
/// use std::time::Duration;
///
/// use dropin_contract::{CredentialDecline, DeclineCategory};
///
/// let decline = CredentialDecline::from(DeclineCategory::DoNotHonor);
/// assert_eq!(decline.wait(), Some(Duration::from_secs(86_400)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CredentialDecline {
    /// What it says.
    pub category: DeclineCategory,
    /// The wait that the issuer asked for, where it named one.
    pub asked_wait: Option<Duration>,
}

impl From<DeclineCategory> for CredentialDecline {
    /// Without a wait that the issuer asked for.
    fn from(category: DeclineCategory) -> Self {
        Self { category, asked_wait: None }
    }
}

impl CredentialDecline {
    /// Reads what the issuer and the network answered: the response code of ISO 8583, field 39, and Mastercard's merchant advice code.
    ///
    /// Of the two the one counts that allows less. Without a known code it is DO_NOT_HONOR.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use dropin_card::Scheme;
    /// use dropin_contract::{CredentialDecline, DeclineCategory};
    ///
    /// let stop = CredentialDecline::of_codes(Some(Scheme::Visa), Some("R1"), None);
    /// assert_eq!(stop.category, DeclineCategory::AuthorizationRevoked);
    ///
    /// let later = CredentialDecline::of_codes(Some(Scheme::Mastercard), Some("51"), Some("26"));
    /// assert_eq!((later.category, later.wait()), (DeclineCategory::InsufficientFunds, Some(Duration::from_secs(2 * 86_400))));
    /// ```
    pub fn of_codes(scheme: Option<Scheme>, response: Option<&str>, advice: Option<&str>) -> Self {
        let said = response.and_then(|code| category_of_response(scheme, code));
        let advised = advice.filter(|_| scheme == Some(Scheme::Mastercard)).and_then(find_advice);
        let asked_wait = advised.and_then(|row| row.wait);
        let category = match (said, advised.map(|row| row.category)) {
            (Some(said), Some(advised)) => stricter(said, advised),
            (said, advised) => said.or(advised).unwrap_or(DeclineCategory::DoNotHonor),
        };
        Self { category, asked_wait }
    }

    /// The shortest time until another try; `None` where the merchant may not try again with this card alone.
    pub fn wait(self) -> Option<Duration> {
        match self.category.rule().effect {
            DeclineEffect::TryAgain { after } => Some(self.asked_wait.map_or(after, |asked| asked.max(after))),
            DeclineEffect::AskShopper | DeclineEffect::Suspend(_) | DeclineEffect::Close(_) => None,
        }
    }
}

/// The one that allows less; the first of two that allow the same.
fn stricter(first: DeclineCategory, second: DeclineCategory) -> DeclineCategory {
    let severity = |category: DeclineCategory| category.rule().effect.severity();
    if severity(first) < severity(second) { second } else { first }
}

/// A scheme's own meaning of a code goes before what the code means to all.
fn category_of_response(scheme: Option<Scheme>, code: &str) -> Option<DeclineCategory> {
    let of = |scheme| RESPONSE_CODES.iter().find(|row| row.code == code && row.scheme == scheme);
    of(scheme).or_else(|| of(None)).map(|row| row.category)
}

fn find_advice(code: &str) -> Option<&'static AdviceCode> {
    ADVICE_CODES.iter().find(|row| row.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_category_once() {
        let categories: Vec<_> = DECLINE_RULES.iter().map(|rule| rule.category).collect();
        assert_eq!(categories, DeclineCategory::ALL);
        for category in DeclineCategory::ALL {
            assert_eq!(category.rule().category, category);
        }
    }

    #[test]
    fn of_two_codes_the_one_counts_that_allows_less() {
        use DeclineCategory::{
            AuthorizationRevoked, CardInvalid, CardLost, CardRefused, DoNotHonor, InsufficientFunds,
        };
        for (response, advice, category) in [
            (Some("05"), Some("03"), CardRefused),
            (Some("43"), Some("03"), CardLost),
            (Some("43"), Some("21"), CardLost),
            (Some("51"), Some("21"), AuthorizationRevoked),
            (Some("51"), Some("24"), InsufficientFunds),
            (Some("79"), Some("01"), CardInvalid),
            (Some("79"), None, DoNotHonor),
            (Some("79"), Some("99"), DoNotHonor),
            (None, Some("21"), AuthorizationRevoked),
            (None, None, DoNotHonor),
        ] {
            let decline = CredentialDecline::of_codes(Some(Scheme::Mastercard), response, advice);
            assert_eq!(decline.category, category, "{response:?} {advice:?}");
        }
    }

    #[test]
    fn a_code_means_what_its_scheme_says() {
        use DeclineCategory::{AuthenticationRequired, AuthorizationRevoked, DoNotHonor, TryLater};
        for (scheme, code, category) in [
            (Some(Scheme::Mastercard), "65", AuthenticationRequired),
            (Some(Scheme::Visa), "65", TryLater),
            (None, "65", TryLater),
            (Some(Scheme::Visa), "1A", AuthenticationRequired),
            (Some(Scheme::Visa), "R3", AuthorizationRevoked),
            (Some(Scheme::Mastercard), "R3", DoNotHonor),
            (Some(Scheme::Visa), "r3", DoNotHonor),
        ] {
            assert_eq!(CredentialDecline::of_codes(scheme, Some(code), None).category, category, "{scheme:?} {code}");
        }
        let foreign = CredentialDecline::of_codes(Some(Scheme::Visa), Some("51"), Some("21"));
        assert_eq!(foreign.category, DeclineCategory::InsufficientFunds, "advice codes are Mastercard's");
    }

    #[test]
    fn an_asked_wait_only_lengthens() {
        let wait = |category, asked| CredentialDecline { category, asked_wait: Some(asked) }.wait();
        assert_eq!(wait(DeclineCategory::DoNotHonor, HOUR), Some(DAY));
        assert_eq!(wait(DeclineCategory::TryLater, 2 * DAY), Some(2 * DAY));
        assert_eq!(wait(DeclineCategory::CardLost, HOUR), None);
    }
}
