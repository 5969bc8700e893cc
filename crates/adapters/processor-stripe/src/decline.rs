//! What Stripe's codes of a decline mean here. Sources: docs.stripe.com/declines/codes and docs.stripe.com/error-codes.

use dropin_contract::DeclineCategory;
use dropin_order::DeclineReason;

/// What a code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeclineRow {
    pub(crate) code: &'static str,
    pub(crate) reason: DeclineReason,
    /// Whether the same card may be good in a moment.
    pub(crate) retryable: bool,
    /// What it says of a stored card.
    pub(crate) category: DeclineCategory,
}

const fn row(code: &'static str, reason: DeclineReason, retryable: bool, category: DeclineCategory) -> DeclineRow {
    DeclineRow { code, reason, retryable, category }
}

/// Every code that is more than a plain no.
pub(crate) const ROWS: &[DeclineRow] = {
    use DeclineCategory as C;
    use DeclineReason as R;
    &[
        row("approve_with_id", R::Generic, true, C::TryLater),
        row("issuer_not_available", R::Generic, true, C::TryLater),
        row("processing_error", R::Generic, true, C::TryLater),
        row("reenter_transaction", R::Generic, true, C::TryLater),
        row("try_again_later", R::Generic, true, C::TryLater),
        row("card_velocity_exceeded", R::InsufficientFunds, false, C::TryLater),
        row("withdrawal_count_limit_exceeded", R::InsufficientFunds, false, C::TryLater),
        row("insufficient_funds", R::InsufficientFunds, false, C::InsufficientFunds),
        row("expired_card", R::InvalidCard, false, C::CardExpired),
        row("incorrect_cvc", R::InvalidCard, false, C::CardInvalid),
        row("incorrect_number", R::InvalidCard, false, C::CardInvalid),
        row("incorrect_zip", R::InvalidCard, false, C::CardInvalid),
        row("invalid_cvc", R::InvalidCard, false, C::CardInvalid),
        row("invalid_expiry_month", R::InvalidCard, false, C::CardInvalid),
        row("invalid_expiry_year", R::InvalidCard, false, C::CardInvalid),
        row("invalid_number", R::InvalidCard, false, C::CardInvalid),
        row("new_account_information_available", R::InvalidCard, false, C::CardInvalid),
        row("invalid_account", R::InvalidCard, false, C::AccountClosed),
        row("do_not_try_again", R::DoNotTryAgain, false, C::CardRefused),
        row("pickup_card", R::DoNotTryAgain, false, C::CardRefused),
        row("restricted_card", R::DoNotTryAgain, false, C::CardRefused),
        row("security_violation", R::DoNotTryAgain, false, C::CardRefused),
        row("lost_card", R::DoNotTryAgain, false, C::CardLost),
        row("stolen_card", R::DoNotTryAgain, false, C::CardLost),
        row("revocation_of_all_authorizations", R::DoNotTryAgain, false, C::AuthorizationRevoked),
        row("revocation_of_authorization", R::DoNotTryAgain, false, C::AuthorizationRevoked),
        row("stop_payment_order", R::DoNotTryAgain, false, C::AuthorizationRevoked),
        row("authentication_not_handled", R::AuthenticationFailed, false, C::AuthenticationRequired),
        row("authentication_required", R::AuthenticationFailed, false, C::AuthenticationRequired),
        row("payment_intent_authentication_failure", R::AuthenticationFailed, false, C::AuthenticationRequired),
        row("setup_intent_authentication_failure", R::AuthenticationFailed, false, C::AuthenticationRequired),
        row("payment_method_customer_decline", R::CancelledByShopper, false, C::DoNotHonor),
        row("payment_intent_payment_attempt_expired", R::Expired, false, C::DoNotHonor),
        row("payment_method_provider_timeout", R::Expired, false, C::DoNotHonor),
        row("charge_expired_for_capture", R::Expired, false, C::DoNotHonor),
    ]
};

/// A plain no: no more is known, or the shopper must not learn more.
const GENERIC: DeclineRow = row("", DeclineReason::Generic, false, DeclineCategory::DoNotHonor);

/// What a decline means: the issuer's code goes before Stripe's own.
pub(crate) fn meaning(decline_code: Option<&str>, code: Option<&str>) -> DeclineRow {
    let of = |code: &str| ROWS.iter().find(|row| row.code == code).copied();
    decline_code.and_then(of).or_else(|| code.and_then(of)).unwrap_or(GENERIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issuers_code_goes_first_and_what_is_unknown_is_a_plain_no() {
        let reason = |decline_code, code| meaning(decline_code, code).reason;
        assert_eq!(reason(Some("stolen_card"), Some("card_declined")), DeclineReason::DoNotTryAgain);
        assert_eq!(reason(Some("fraudulent"), Some("expired_card")), DeclineReason::InvalidCard);
        assert_eq!(reason(None, Some("expired_card")), DeclineReason::InvalidCard);
        for (decline_code, code) in [(None, None), (Some("fraudulent"), Some("card_declined")), (Some(""), Some(""))] {
            assert_eq!(meaning(decline_code, code), GENERIC);
        }
    }

    #[test]
    fn a_code_stands_once() {
        for (index, row) in ROWS.iter().enumerate() {
            assert!(ROWS[index + 1..].iter().all(|other| other.code != row.code), "{}", row.code);
        }
    }

    #[test]
    fn only_what_passes_by_itself_may_be_tried_again_at_once() {
        let retryable = ROWS.iter().filter(|row| row.retryable);
        assert!(retryable.into_iter().all(|row| row.category == DeclineCategory::TryLater));
    }
}
