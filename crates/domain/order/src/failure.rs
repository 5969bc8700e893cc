//! Why attempts to pay fail, and what follows from each reason: one table for the guards, the answers and the documents.

use crate::operation::DeclineReason;
use dropin_kernel::coded_enum;

coded_enum! {
    /// Why an attempt to pay failed: the exact code is stored, and shown to the merchant in `Attempts`.
    #[non_exhaustive]
    pub enum FailureReason: "reason of a failed attempt" {
        /// The issuer declined without saying why, or screening blocked it.
        Declined = "PAYMENT_DECLINED",
        /// The issuer says the account lacks the money.
        InsufficientFunds = "INSUFFICIENT_FUNDS",
        /// The card number, expiry or code is not valid.
        InvalidCard = "INVALID_CARD",
        /// The issuer forbids to try this card again.
        CardRefused = "CARD_REFUSED",
        /// The shopper cancelled on the hosted page.
        CancelledByShopper = "CANCELLED_BY_SHOPPER",
        /// The shopper left the hosted page and chose to pay another way.
        OtherWayChosen = "OTHER_WAY_CHOSEN",
        /// The shopper failed 3-D Secure.
        AuthenticationFailed = "AUTHENTICATION_FAILED",
        /// The hosted page's time was over.
        Expired = "PAYMENT_EXPIRED",
        /// The processor was never reached, or was told never to do it.
        ProcessorUnavailable = "PROCESSOR_UNAVAILABLE",
        /// The payment was stopped at the processor, and nobody here asked for that.
        Stopped = "PAYMENT_STOPPED",
    }
}

coded_enum! {
    /// What the shopper's browser hears of a failed attempt: never the exact reason, which would tell card testers which cards work.
    pub enum ShopperCode: "shopper code" {
        /// Check the details, or use another card.
        PaymentDeclined = "PAYMENT_DECLINED",
        /// 3-D Secure failed.
        AuthenticationFailed = "AUTHENTICATION_FAILED",
        /// The shopper left the hosted page.
        PageCancelled = "PAGE_CANCELLED",
        /// The hosted page's time was over.
        PageExpired = "PAGE_EXPIRED",
        /// Nothing was asked of the issuer; the same may work in a moment.
        TryLater = "TRY_LATER",
    }
}

/// What follows from a [`FailureReason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureRule {
    /// The reason.
    pub reason: FailureReason,
    /// What the shopper's browser hears.
    pub shopper_code: ShopperCode,
    /// Whether another try in the same Session may succeed.
    pub is_mendable: bool,
}

/// Every reason (docs/SPECIFICATION.md#mendable-failures, docs/SPECIFICATION.md#shopper-codes). Guards, answers and docs/state-machines.md read this table.
pub const FAILURE_RULES: &[FailureRule] = {
    use FailureReason as R;
    use ShopperCode as S;
    const fn row(reason: FailureReason, shopper_code: ShopperCode, is_mendable: bool) -> FailureRule {
        FailureRule { reason, shopper_code, is_mendable }
    }
    &[
        row(R::Declined, S::PaymentDeclined, true),
        row(R::InsufficientFunds, S::PaymentDeclined, true),
        row(R::InvalidCard, S::PaymentDeclined, true),
        row(R::CardRefused, S::PaymentDeclined, true),
        row(R::CancelledByShopper, S::PageCancelled, true),
        row(R::OtherWayChosen, S::PageCancelled, true),
        row(R::AuthenticationFailed, S::AuthenticationFailed, true),
        row(R::Expired, S::PageExpired, true),
        row(R::ProcessorUnavailable, S::TryLater, true),
        row(R::Stopped, S::PaymentDeclined, false),
    ]
};

impl FailureReason {
    /// What follows from it.
    ///
    /// ```
    /// use dropin_order::{FailureReason, ShopperCode};
    ///
    /// let rule = FailureReason::InsufficientFunds.rule();
    /// assert!(rule.is_mendable);
    /// assert_eq!(rule.shopper_code, ShopperCode::PaymentDeclined, "the shopper's browser never learns the exact reason");
    /// ```
    pub const fn rule(self) -> &'static FailureRule {
        let mut index = 0;
        while index < FAILURE_RULES.len() {
            if FAILURE_RULES[index].reason as u8 == self as u8 {
                return &FAILURE_RULES[index];
            }
            index += 1;
        }
        panic!("FAILURE_RULES has a row for every reason")
    }
}

impl From<DeclineReason> for FailureReason {
    /// Why an attempt failed that the processor answered so.
    fn from(reason: DeclineReason) -> Self {
        match reason {
            // The merchant hears of a block by the attempt's Screening; a code of its own would tell whoever sees it more.
            DeclineReason::Generic | DeclineReason::AlreadyCaptured | DeclineReason::Blocked => Self::Declined,
            DeclineReason::InsufficientFunds => Self::InsufficientFunds,
            DeclineReason::InvalidCard => Self::InvalidCard,
            DeclineReason::DoNotTryAgain => Self::CardRefused,
            DeclineReason::AuthenticationFailed => Self::AuthenticationFailed,
            DeclineReason::CancelledByShopper => Self::CancelledByShopper,
            DeclineReason::PageClosed => Self::OtherWayChosen,
            DeclineReason::Expired => Self::Expired,
            DeclineReason::NeverSent => Self::ProcessorUnavailable,
            DeclineReason::Voided => Self::Stopped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_reason_once() {
        let reasons: Vec<_> = FAILURE_RULES.iter().map(|rule| rule.reason).collect();
        assert_eq!(reasons, FailureReason::ALL);
        for reason in FailureReason::ALL {
            assert_eq!(reason.rule().reason, reason);
        }
    }

    #[test]
    fn card_testers_learn_nothing_from_the_browser() {
        use FailureReason::{CardRefused, Declined, InsufficientFunds, InvalidCard, Stopped};
        for reason in [Declined, InsufficientFunds, InvalidCard, CardRefused, Stopped] {
            assert_eq!(reason.rule().shopper_code, ShopperCode::PaymentDeclined, "{reason:?}");
        }
    }
}
