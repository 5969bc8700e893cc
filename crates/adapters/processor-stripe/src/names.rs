//! The names that we give and that Stripe keeps, and those of its own.

use dropin_card::Scheme;

/// Our operation's id, in the metadata of an intent or a refund.
pub(crate) const OPERATION: &str = "dropin_operation";
/// The Order's id.
pub(crate) const ORDER: &str = "dropin_order";
/// The merchant's reference of the Order.
pub(crate) const REFERENCE: &str = "dropin_reference";
/// Id of the payment method in the catalogue.
pub(crate) const METHOD: &str = "dropin_method";
/// The merchant's id.
pub(crate) const MERCHANT: &str = "dropin_merchant";
/// The id of the operation that captured it.
pub(crate) const CAPTURE: &str = "dropin_capture";
/// The currency of a verification that charges nothing.
pub(crate) const CURRENCY: &str = "dropin_currency";
/// The id of the answer that a dispute was last given, in the dispute's own metadata.
pub(crate) const ANSWER: &str = "dropin_answer";
/// The id of the answer that accepts a dispute, in the dispute's own metadata: what is lost afterwards was accepted.
pub(crate) const ACCEPTED: &str = "dropin_accepted";
/// Its card is stored.
pub(crate) const STORES: &str = "dropin_stores";
/// It is paid with a stored card.
pub(crate) const PAYS_STORED: &str = "dropin_pays_stored";

/// Longest id of Stripe's.
const MAX_ID_BYTES: usize = 255;

/// Why we cancel an intent, in one of the words that Stripe knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CancellationReason {
    /// Its key is refused for ever, or its page closed.
    Abandoned,
    /// What it reserved is released.
    Voided,
}

impl CancellationReason {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Abandoned => "abandoned",
            Self::Voided => "requested_by_customer",
        }
    }

    pub(crate) fn of(text: &str) -> Option<Self> {
        [Self::Abandoned, Self::Voided].into_iter().find(|reason| reason.as_str() == text)
    }
}

/// Whether this is one of Stripe's ids, and so may stand in a path.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=MAX_ID_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Stripe's word for a scheme that a co-badged card may be paid by; `None` where nobody may choose it there.
pub(crate) const fn network(scheme: Scheme) -> Option<&'static str> {
    match scheme {
        Scheme::CartesBancaires => Some("cartes_bancaires"),
        Scheme::Mastercard => Some("mastercard"),
        Scheme::Visa => Some("visa"),
        _ => None,
    }
}

/// A method of the catalogue without a card that is paid on a page: its id, Stripe's word for it, and whether it can be captured later.
pub(crate) const PAGE_METHODS: &[(&str, &str, bool)] = &[("IDEAL", "ideal", false), ("PAYPAL", "paypal", true)];
