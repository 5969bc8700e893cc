//! The JSON between us and the processor, and what each answer means.

use dropin_kernel::OpId;
use dropin_money::{Amount, Currency, Decimal};
use dropin_order::DeclineReason;
use dropin_ports::{AuthorizeRequest, CaptureRequest, ProcessorAnswer, StatusAnswer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::client::Reply;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Authorization<'a> {
    amount: Box<RawValue>,
    currency: &'static str,
    order_id: String,
    card: CardMessage<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CardMessage<'a> {
    number: &'a str,
    verification_code: &'a str,
    expiry_year: &'a str,
    expiry_month: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Capture {
    authorization_key: String,
    amount: Box<RawValue>,
    currency: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OperationMessage<'a> {
    key: &'a str,
    outcome: &'a str,
    reason: Option<&'a str>,
    #[serde(default)]
    retryable: bool,
    #[serde(borrow)]
    amount: Option<&'a RawValue>,
    currency: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ErrorMessage<'a> {
    code: &'a str,
}

pub(crate) fn authorization(request: &AuthorizeRequest) -> Zeroizing<Vec<u8>> {
    let card = &request.card;
    let number = card.expose_digits();
    bytes(&Authorization {
        amount: number_token(&request.amount),
        currency: request.amount.currency().code(),
        order_id: request.order_id.to_string(),
        card: CardMessage {
            number: &number,
            verification_code: card.expose_verification_code(),
            expiry_year: card.expiry_year(),
            expiry_month: card.expiry_month(),
            name: card.name(),
        },
    })
}

pub(crate) fn capture(request: &CaptureRequest) -> Zeroizing<Vec<u8>> {
    bytes(&Capture {
        authorization_key: request.authorization.to_string(),
        amount: number_token(&request.amount),
        currency: request.amount.currency().code(),
    })
}

/// Large enough that writing never reallocates and leaves an unwiped copy behind.
fn bytes(message: &impl Serialize) -> Zeroizing<Vec<u8>> {
    let mut body = Zeroizing::new(Vec::with_capacity(4_096));
    serde_json::to_writer(&mut *body, message).expect("strings and numbers always serialize");
    body
}

fn number_token(amount: &Amount) -> Box<RawValue> {
    RawValue::from_string(amount.to_string()).expect("an amount displays as a JSON number")
}

/// What an answer to a call with an effect means; `asked` is the amount it was for.
pub(crate) fn effect(reply: Reply, key: OpId, asked: &Amount) -> ProcessorAnswer {
    match reply {
        Reply::NotSent(_why) => ProcessorAnswer::NotSent,
        Reply::Unclear(why) => ProcessorAnswer::Unknown { why },
        Reply::Answer { status: 200, body } => operation(&body, key),
        Reply::Answer { status: 409, body } if error_code(&body) == Some("KEY_ABANDONED") => ProcessorAnswer::Abandoned,
        Reply::Answer { status, .. } => {
            ProcessorAnswer::Unknown { why: format!("HTTP {status} to a call for {} {asked}", asked.currency()) }
        }
    }
}

/// What an answer to a question about a key means.
pub(crate) fn status(reply: Reply, key: OpId) -> StatusAnswer {
    match reply {
        Reply::NotSent(why) | Reply::Unclear(why) => StatusAnswer::Unreachable { why },
        Reply::Answer { status: 200, body } => match operation(&body, key) {
            ProcessorAnswer::Unknown { why } => StatusAnswer::Unreachable { why },
            answer => StatusAnswer::Known(answer),
        },
        Reply::Answer { status: 404, body } if error_code(&body) == Some("OPERATION_NOT_FOUND") => StatusAnswer::Absent,
        Reply::Answer { status, .. } => StatusAnswer::Unreachable { why: format!("HTTP {status}") },
    }
}

fn operation(body: &[u8], key: OpId) -> ProcessorAnswer {
    let unclear = |why: &str| ProcessorAnswer::Unknown { why: why.to_owned() };
    let Ok(message) = serde_json::from_slice::<OperationMessage<'_>>(body) else {
        return unclear("the answer is no operation");
    };
    if message.key.parse() != Ok(key) {
        return unclear("the answer is about another operation");
    }
    match message.outcome {
        "APPROVED" => match approved_amount(&message) {
            Some(amount) => ProcessorAnswer::Approved { amount },
            None => unclear("approved, but the amount makes no sense"),
        },
        "DECLINED" => ProcessorAnswer::Declined {
            reason: message.reason.map_or(DeclineReason::Generic, decline_reason),
            retryable: message.retryable,
        },
        "PENDING" => ProcessorAnswer::Pending,
        "ABANDONED" => ProcessorAnswer::Abandoned,
        _ => unclear("an outcome that is not known here"),
    }
}

fn approved_amount(message: &OperationMessage<'_>) -> Option<Amount> {
    let currency: Currency = message.currency?.parse().ok()?;
    Amount::from_decimal(currency, &Decimal::parse(message.amount?.get()).ok()?).ok()
}

fn decline_reason(reason: &str) -> DeclineReason {
    match reason {
        "INSUFFICIENT_FUNDS" => DeclineReason::InsufficientFunds,
        "INVALID_CARD" | "EXPIRED_CARD" => DeclineReason::InvalidCard,
        _ => DeclineReason::Generic,
    }
}

fn error_code(body: &[u8]) -> Option<&str> {
    serde_json::from_slice::<ErrorMessage<'_>>(body).ok().map(|error| error.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Reply {
        Reply::Answer { status, body: body.as_bytes().to_vec() }
    }

    fn key() -> OpId {
        "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse().unwrap()
    }

    #[test]
    fn an_answer_about_another_operation_is_no_answer() {
        let other =
            r#"{"Key":"00000000-1d2e-4f3a-8b4c-5d6e7f809112","Outcome":"APPROVED","Amount":10.00,"Currency":"USD"}"#;
        assert!(matches!(effect(answer(200, other), key(), &ten()), ProcessorAnswer::Unknown { .. }));
        assert!(matches!(status(answer(200, other), key()), StatusAnswer::Unreachable { .. }));
    }

    fn ten() -> Amount {
        Amount::from_minor(Currency::Usd, 1_000).unwrap()
    }

    #[test]
    fn only_a_whole_and_sensible_answer_is_a_yes() {
        let yes = r#"{"Key":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112","Kind":"AUTHORIZE","Outcome":"APPROVED","Reference":"r","Amount":10.00,"Currency":"USD"}"#;
        assert_eq!(effect(answer(200, yes), key(), &ten()), ProcessorAnswer::Approved { amount: ten() });
        for odd in [
            "",
            "null",
            "{}",
            r#"{"Outcome":"APPROVED"}"#,
            r#"{"Outcome":"APPROVED","Amount":"10","Currency":"USD"}"#,
            r#"{"Outcome":"APPROVED","Amount":1e400,"Currency":"USD"}"#,
            r#"{"Outcome":"FINE"}"#,
            &yes[..40],
        ] {
            assert!(matches!(effect(answer(200, odd), key(), &ten()), ProcessorAnswer::Unknown { .. }), "{odd}");
        }
        for status in [201, 204, 302, 400, 401, 404, 408, 409, 422, 429, 500, 502, 503] {
            assert!(matches!(effect(answer(status, yes), key(), &ten()), ProcessorAnswer::Unknown { .. }), "{status}");
        }
    }

    #[test]
    fn absent_only_when_the_processor_says_so_itself() {
        assert_eq!(status(answer(404, r#"{"Code":"OPERATION_NOT_FOUND","Message":"m"}"#), key()), StatusAnswer::Absent);
        for (code, body) in [(404, "not found"), (404, r#"{"Code":"NOT_FOUND"}"#), (500, "{}"), (200, "{}")] {
            assert!(matches!(status(answer(code, body), key()), StatusAnswer::Unreachable { .. }), "{code} {body}");
        }
    }

    #[test]
    fn an_abandoned_key_is_told_apart_from_other_conflicts() {
        assert_eq!(effect(answer(409, r#"{"Code":"KEY_ABANDONED"}"#), key(), &ten()), ProcessorAnswer::Abandoned);
        assert!(matches!(effect(answer(409, r#"{"Code":"OTHER"}"#), key(), &ten()), ProcessorAnswer::Unknown { .. }));
    }
}
