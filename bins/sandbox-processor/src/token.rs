//! Simulated tokens of the mobile wallet, and what each of them does.

use serde_json::Value;

use crate::card::{CallerCapabilities, Malformed, Verdict};
use crate::enums::{Reason, Scenario, Stage};

/// The wallets whose tokens are taken, each with where its payment object says what a simulated one wants: in the member `sandbox` beside or in place of
/// a real one's ciphertext.
const WALLETS: [(&str, &str); 2] =
    [("APPLEPAY", "/token/paymentData/sandbox"), ("GOOGLEPAY", "/tokenizationData/sandbox")];

/// What happens to an authorization with the payment object `data` of `wallet`, when the caller can do what `capabilities` says. A payment object that
/// does not say what it wants is approved.
pub(crate) fn verdict(wallet: &str, data: &str, capabilities: CallerCapabilities) -> Result<Verdict, Malformed> {
    let known = WALLETS.iter().find(|(known, _)| *known == wallet);
    let (_, place) = known.ok_or("Token.Type must be APPLEPAY or GOOGLEPAY.")?;
    let data: Value = serde_json::from_str(data).map_err(|_malformed| "Token.Data must be a JSON object.")?;
    if !data.is_object() {
        return Err("Token.Data must be a JSON object.");
    }
    let wanted = match data.pointer(place) {
        None => "approve",
        Some(word) => word.as_str().unwrap_or_default(),
    };
    let verdict = match wanted {
        "approve" => Verdict::Approve(Scenario::Plain),
        "decline" => Verdict::Decline(Reason::GenericDecline),
        "insufficient_funds" => Verdict::Decline(Reason::InsufficientFunds),
        "review" if capabilities.review => Verdict::ApproveUnderReview,
        "review" => Verdict::Decline(Reason::GenericDecline),
        "challenge" if capabilities.return_url => Verdict::Await(Stage::Page),
        "challenge" => Verdict::Decline(Reason::GenericDecline),
        "pending_capture" => Verdict::Approve(Scenario::PendingCapture),
        "refused_capture" => Verdict::Approve(Scenario::RefusedCapture),
        "pending_refund" => Verdict::Approve(Scenario::PendingRefund),
        "failing_refund" => Verdict::Approve(Scenario::FailingRefund),
        "lost_answer" => Verdict::Approve(Scenario::LostAnswer),
        "silence" => Verdict::Silence,
        _ => {
            return Err(
                "Token.Data.token.paymentData.sandbox must be approve, decline, insufficient_funds, review, challenge, pending_capture, \
                        refused_capture, pending_refund, failing_refund, lost_answer or silence; GOOGLEPAY has it in Token.Data.tokenizationData.",
            );
        }
    };
    Ok(if capabilities.challenge { verdict.challenged(capabilities) } else { verdict })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_what_it_says() {
        let with = |word: &str| format!(r#"{{"token":{{"paymentData":{{"sandbox":{word}}}}}}}"#);
        let all = CallerCapabilities { return_url: true, review: true, ..CallerCapabilities::default() };
        for (word, expected) in [
            ("\"approve\"", Verdict::Approve(Scenario::Plain)),
            ("\"decline\"", Verdict::Decline(Reason::GenericDecline)),
            ("\"insufficient_funds\"", Verdict::Decline(Reason::InsufficientFunds)),
            ("\"review\"", Verdict::ApproveUnderReview),
            ("\"challenge\"", Verdict::Await(Stage::Page)),
            ("\"pending_capture\"", Verdict::Approve(Scenario::PendingCapture)),
            ("\"refused_capture\"", Verdict::Approve(Scenario::RefusedCapture)),
            ("\"pending_refund\"", Verdict::Approve(Scenario::PendingRefund)),
            ("\"failing_refund\"", Verdict::Approve(Scenario::FailingRefund)),
            ("\"lost_answer\"", Verdict::Approve(Scenario::LostAnswer)),
            ("\"silence\"", Verdict::Silence),
        ] {
            assert_eq!(verdict("APPLEPAY", &with(word), all), Ok(expected), "{word}");
            let google = format!(r#"{{"tokenizationData":{{"sandbox":{word}}}}}"#);
            assert_eq!(verdict("GOOGLEPAY", &google, all), Ok(expected), "{word}");
        }
        for limited in ["\"review\"", "\"challenge\""] {
            let alone = verdict("APPLEPAY", &with(limited), CallerCapabilities::default());
            assert_eq!(alone, Ok(Verdict::Decline(Reason::GenericDecline)), "what the caller cannot do");
        }
        for wrong in ["\"\"", "1", "null", "\"4242424242424242\""] {
            let message = verdict("APPLEPAY", &with(wrong), all).unwrap_err();
            assert!(!message.contains("4242"), "{message}");
        }
    }

    #[test]
    fn a_token_that_says_nothing_is_approved() {
        for data in ["{}", r#"{"token":{}}"#, r#"{"token":{"paymentData":{"version":"EC_v1"}}}"#] {
            for (wallet, _) in WALLETS {
                let plain = verdict(wallet, data, CallerCapabilities::default());
                assert_eq!(plain, Ok(Verdict::Approve(Scenario::Plain)), "{wallet} {data}");
            }
        }
        for none in ["", "[]", "1", "null"] {
            assert!(verdict("APPLEPAY", none, CallerCapabilities::default()).is_err(), "{none}");
        }
    }
}
