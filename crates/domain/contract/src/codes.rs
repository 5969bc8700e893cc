//! What issuers and networks answer, as data.

use std::time::Duration;

use dropin_card::Scheme;

use crate::decline::DeclineCategory;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// A response code (ISO 8583, field 39) and what it says of a stored credential.
///
/// ```
/// use dropin_contract::{DeclineCategory, RESPONSE_CODES};
///
/// let no_money = RESPONSE_CODES.iter().find(|row| row.code == "51");
/// assert_eq!(no_money.map(|row| row.category), Some(DeclineCategory::InsufficientFunds));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseCode {
    /// The scheme that means this by it; `None` where all do.
    pub scheme: Option<Scheme>,
    /// Two capital letters or digits.
    pub code: &'static str,
    /// What it says.
    pub category: DeclineCategory,
}

/// The response codes that say something of a stored credential; any other is DO_NOT_HONOR. By ISO 8583:1987, field 39, and the schemes' own codes
/// in the Visa Core Rules and in Mastercard's Transaction Processing Rules.
///
/// ```
/// use dropin_contract::RESPONSE_CODES;
///
/// assert!(RESPONSE_CODES.iter().all(|row| row.code.len() == 2));
/// ```
pub const RESPONSE_CODES: &[ResponseCode] = {
    use DeclineCategory as C;
    const ALL: Option<Scheme> = None;
    const VISA: Option<Scheme> = Some(Scheme::Visa);
    const MASTERCARD: Option<Scheme> = Some(Scheme::Mastercard);
    const fn row(scheme: Option<Scheme>, code: &'static str, category: DeclineCategory) -> ResponseCode {
        ResponseCode { scheme, code, category }
    }
    &[
        // Pick up the card: nothing is said of a loss.
        row(ALL, "04", C::CardRefused),
        row(ALL, "05", C::DoNotHonor),
        // Pick up the card, fraud.
        row(ALL, "07", C::CardLost),
        // No such transaction for this card.
        row(VISA, "12", C::CardRefused),
        // No such number; no such issuer.
        row(ALL, "14", C::CardInvalid),
        row(ALL, "15", C::CardInvalid),
        // Enter again.
        row(ALL, "19", C::TryLater),
        row(ALL, "33", C::CardExpired),
        row(ALL, "41", C::CardLost),
        row(ALL, "43", C::CardLost),
        row(ALL, "46", C::AccountClosed),
        row(ALL, "51", C::InsufficientFunds),
        row(ALL, "54", C::CardExpired),
        // Not permitted to the cardholder.
        row(VISA, "57", C::CardRefused),
        // More than the card's amount or number of payments in its period.
        row(ALL, "61", C::TryLater),
        row(ALL, "65", C::TryLater),
        // In Europe Mastercard's issuers ask for authentication with it.
        row(MASTERCARD, "65", C::AuthenticationRequired),
        row(VISA, "1A", C::AuthenticationRequired),
        row(VISA, "70", C::AuthenticationRequired),
        // The issuer is out of reach, or its system fails.
        row(ALL, "91", C::TryLater),
        row(ALL, "96", C::TryLater),
        // The shopper stops this payment, those of the merchant, or all.
        row(VISA, "R0", C::AuthorizationRevoked),
        row(VISA, "R1", C::AuthorizationRevoked),
        row(VISA, "R3", C::AuthorizationRevoked),
    ]
};

/// A Mastercard merchant advice code and what it says of a stored credential.
///
/// ```
/// use std::time::Duration;
///
/// use dropin_contract::ADVICE_CODES;
///
/// let hour = ADVICE_CODES.iter().find(|row| row.code == "24");
/// assert_eq!(hour.and_then(|row| row.wait), Some(Duration::from_secs(3_600)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdviceCode {
    /// Two digits.
    pub code: &'static str,
    /// What it says.
    pub category: DeclineCategory,
    /// How long to leave the card alone, where it says so.
    pub wait: Option<Duration>,
}

/// The merchant advice codes that say something of a stored credential (Mastercard Transaction Processing Rules; data element 48, subelement 84).
///
/// ```
/// use dropin_contract::ADVICE_CODES;
///
/// assert!(ADVICE_CODES.iter().all(|row| row.code.len() == 2));
/// ```
pub const ADVICE_CODES: &[AdviceCode] = {
    use DeclineCategory as C;
    const fn row(code: &'static str, category: DeclineCategory) -> AdviceCode {
        AdviceCode { code, category, wait: None }
    }
    const fn later(code: &'static str, wait: Duration) -> AdviceCode {
        AdviceCode { code, category: C::TryLater, wait: Some(wait) }
    }
    &[
        // There is new data of the card.
        row("01", C::CardInvalid),
        row("02", C::TryLater),
        row("03", C::CardRefused),
        // The shopper cancelled the payments.
        row("21", C::AuthorizationRevoked),
        later("24", HOUR),
        later("25", DAY),
        later("26", Duration::from_secs(2 * DAY.as_secs())),
        later("27", Duration::from_secs(4 * DAY.as_secs())),
        later("28", Duration::from_secs(6 * DAY.as_secs())),
        later("29", Duration::from_secs(8 * DAY.as_secs())),
        later("30", Duration::from_secs(10 * DAY.as_secs())),
        // Prepaid cards that are not filled again, and virtual cards for a single use.
        row("40", C::CardRefused),
        row("41", C::CardRefused),
    ]
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_code_has_one_row_for_each_scheme() {
        let responses: BTreeSet<_> = RESPONSE_CODES.iter().map(|row| (row.scheme, row.code)).collect();
        let advice: BTreeSet<_> = ADVICE_CODES.iter().map(|row| row.code).collect();
        assert_eq!((responses.len(), advice.len()), (RESPONSE_CODES.len(), ADVICE_CODES.len()));
        let is_code = |code: &str| code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        assert!(responses.iter().all(|(_, code)| is_code(code)) && advice.iter().all(|code| is_code(code)));
    }
}
