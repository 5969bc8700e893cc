//! Stripe's objects, as far as anything here depends on them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// An id, or the object itself where it was asked for.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Expandable<T> {
    Id(String),
    Object(T),
}

impl<T> Expandable<T> {
    pub(crate) const fn object(&self) -> Option<&T> {
        match self {
            Self::Id(_) => None,
            Self::Object(object) => Some(object),
        }
    }
}

/// An account at Stripe.
#[derive(Deserialize)]
pub(crate) struct Account {
    pub(crate) id: String,
}

/// A PaymentIntent or a SetupIntent.
#[derive(Deserialize)]
pub(crate) struct Intent {
    pub(crate) id: String,
    pub(crate) status: String,
    /// Of a PaymentIntent.
    pub(crate) amount: Option<i64>,
    pub(crate) amount_received: Option<i64>,
    pub(crate) currency: Option<String>,
    pub(crate) capture_method: Option<String>,
    #[serde(default)]
    pub(crate) metadata: BTreeMap<String, String>,
    /// Of the last try to pay, or to set up.
    #[serde(alias = "last_setup_error")]
    pub(crate) last_payment_error: Option<ErrorObject>,
    pub(crate) next_action: Option<NextAction>,
    pub(crate) latest_charge: Option<Expandable<Charge>>,
    pub(crate) payment_method: Option<Expandable<PaymentMethod>>,
    pub(crate) customer: Option<Expandable<Identified>>,
    pub(crate) cancellation_reason: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Identified {
    pub(crate) id: String,
}

#[derive(Deserialize)]
pub(crate) struct NextAction {
    pub(crate) redirect_to_url: Option<RedirectToUrl>,
}

#[derive(Deserialize)]
pub(crate) struct RedirectToUrl {
    pub(crate) url: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Charge {
    pub(crate) payment_method_details: Option<PaymentMethodDetails>,
}

#[derive(Deserialize)]
pub(crate) struct PaymentMethodDetails {
    pub(crate) card: Option<CardObject>,
}

#[derive(Deserialize)]
pub(crate) struct PaymentMethod {
    pub(crate) id: String,
    pub(crate) card: Option<CardObject>,
    pub(crate) customer: Option<Expandable<Identified>>,
}

#[derive(Deserialize)]
pub(crate) struct CardObject {
    pub(crate) brand: Option<String>,
    pub(crate) last4: Option<String>,
    pub(crate) exp_month: Option<u8>,
    pub(crate) exp_year: Option<u16>,
    pub(crate) country: Option<String>,
    pub(crate) funding: Option<String>,
    pub(crate) checks: Option<Checks>,
    pub(crate) three_d_secure: Option<ThreeDSecure>,
}

#[derive(Deserialize)]
pub(crate) struct Checks {
    pub(crate) address_line1_check: Option<String>,
    pub(crate) address_postal_code_check: Option<String>,
    pub(crate) cvc_check: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct ThreeDSecure {
    pub(crate) result: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Refund {
    pub(crate) id: String,
    pub(crate) status: Option<String>,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    #[serde(default)]
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) payment_intent: Option<Expandable<Identified>>,
}

#[derive(Deserialize)]
pub(crate) struct RefundList {
    pub(crate) data: Vec<Refund>,
    pub(crate) has_more: bool,
}

#[derive(Deserialize)]
pub(crate) struct Dispute {
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    #[serde(default)]
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) payment_intent: Option<Expandable<DisputedIntent>>,
    pub(crate) evidence_details: Option<EvidenceDetails>,
}

#[derive(Deserialize)]
pub(crate) struct DisputedIntent {
    #[serde(default)]
    pub(crate) metadata: BTreeMap<String, String>,
}

#[derive(Deserialize)]
pub(crate) struct EvidenceDetails {
    /// In seconds since 1970.
    pub(crate) due_by: Option<i64>,
}

#[derive(Deserialize)]
pub(crate) struct DisputeList {
    pub(crate) data: Vec<Dispute>,
    pub(crate) has_more: bool,
}

#[derive(Deserialize)]
pub(crate) struct ErrorEnvelope {
    pub(crate) error: ErrorObject,
}

/// What Stripe says of a failure. Its message may repeat what was sent, so it is not even read.
#[derive(Deserialize)]
pub(crate) struct ErrorObject {
    r#type: Option<String>,
    code: Option<String>,
    decline_code: Option<String>,
}

impl ErrorObject {
    pub(crate) fn is_of_type(&self, name: &str) -> bool {
        self.r#type.as_deref() == Some(name)
    }

    pub(crate) fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    pub(crate) fn decline_code(&self) -> Option<&str> {
        self.decline_code.as_deref()
    }

    /// Its codes for the log, where they are words of Stripe's and nothing else.
    pub(crate) fn words(&self) -> String {
        let words = [self.r#type.as_deref(), self.code(), self.decline_code()];
        let is_word = |word: &&str| {
            (1..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        let words: Vec<_> = words.into_iter().flatten().filter(is_word).collect();
        if words.is_empty() { "no code".to_owned() } else { words.join(" ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_of_stripes_reach_a_log() {
        let read = |text: &str| serde_json::from_str::<ErrorObject>(text).unwrap().words();
        let error = r#"{"type":"card_error","code":"4242424242424242","decline_code":"lost card","message":"4242424242424242"}"#;
        assert_eq!(read(error), "card_error");
        assert_eq!(read("{}"), "no code");
        assert_eq!(
            read(r#"{"type":"card_error","code":"card_declined","decline_code":"lost_card"}"#),
            "card_error card_declined lost_card"
        );
    }
}
