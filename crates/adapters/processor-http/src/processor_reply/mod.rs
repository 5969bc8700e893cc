//! Reads the processor's replies. A reply that is not understood whole is neither an approval nor a refusal.

use dropin_kernel::{OpId, Timestamp};
use dropin_money::{Amount, Currency, Decimal};
use dropin_order::{BankDetails, DeclineReason, OpKind};
use dropin_ports::{IssuerChecks, ProcessorReply, StatusReply, Waiting};
use dropin_processor_transport::HttpReply;
use serde::Deserialize;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::Url;

use crate::credential_reply::{self, CardBody, IssuedBody};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OperationBody<'a> {
    key: String,
    kind: String,
    outcome: String,
    reason: Option<String>,
    #[serde(default)]
    retryable: bool,
    #[serde(borrow)]
    amount: Option<&'a RawValue>,
    currency: Option<String>,
    #[serde(default)]
    captured: bool,
    #[serde(default)]
    under_review: bool,
    #[serde(default)]
    review: bool,
    action: Option<ActionBody>,
    bank_details: Option<BankDetailsBody>,
    expires_at: Option<String>,
    #[serde(borrow)]
    credential: Option<IssuedBody<'a>>,
    network_transaction_id: Option<String>,
    card_summary: Option<CardBody>,
    response_code: Option<String>,
    advice_code: Option<String>,
    checks: Option<ChecksBody>,
}

/// What the issuer checked; a check that is missing is not known.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ChecksBody {
    address_matches: Option<bool>,
    code_matches: Option<bool>,
    authenticated: Option<bool>,
    card_country: Option<String>,
    card_funding: Option<String>,
}

impl ChecksBody {
    fn checks(&self) -> IssuerChecks {
        IssuerChecks {
            address_matches: self.address_matches,
            code_matches: self.code_matches,
            authenticated: self.authenticated,
            card_country: self.card_country.as_deref().and_then(|code| code.parse().ok()),
            funding: self.card_funding.as_deref().and_then(|code| code.parse().ok()),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ActionBody {
    redirect: String,
    expires_at: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BankDetailsBody {
    account_holder: Option<String>,
    account_number: Option<String>,
    bank_name: Option<String>,
    city: Option<String>,
    country: Option<String>,
    iban: Option<String>,
    payment_reference: Option<String>,
    swift_code: Option<String>,
    extra_bank_data: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ErrorBody {
    code: String,
}

/// What an answer to a call with an effect means.
pub(crate) fn effect(reply: HttpReply, key: OpId, kind: OpKind) -> ProcessorReply {
    match reply {
        HttpReply::NotSent(_why) => ProcessorReply::NotSent,
        HttpReply::Unclear(why) => unclear(why),
        HttpReply::Answer { status: 200, body, .. } => operation(&body, key, kind),
        HttpReply::Answer { status: 409, body, .. } if error_code(&body).as_deref() == Some("KEY_ABANDONED") => {
            ProcessorReply::Abandoned
        }
        HttpReply::Answer { status, .. } => unclear(format!("HTTP {status}")),
    }
}

/// What an answer to a question about a key means.
pub(crate) fn status(reply: HttpReply, key: OpId, kind: OpKind) -> StatusReply {
    match reply {
        HttpReply::NotSent(why) | HttpReply::Unclear(why) => StatusReply::Unreachable { why },
        HttpReply::Answer { status: 200, body, .. } => match operation(&body, key, kind) {
            ProcessorReply::Unknown { why } => StatusReply::Unreachable { why },
            answer => StatusReply::Known(answer),
        },
        HttpReply::Answer { status: 404, body, .. } if error_code(&body).as_deref() == Some("OPERATION_NOT_FOUND") => {
            StatusReply::Absent
        }
        HttpReply::Answer { status, .. } => StatusReply::Unreachable { why: format!("HTTP {status}") },
    }
}

fn operation(body: &[u8], key: OpId, kind: OpKind) -> ProcessorReply {
    let Ok(message) = serde_json::from_slice::<OperationBody<'_>>(body) else {
        return unclear("the answer is no operation");
    };
    if message.key.parse() != Ok(key) {
        return unclear("the answer is about another operation");
    }
    if message.kind != kind.as_str() {
        return unclear("the answer is about another kind of operation than was asked for");
    }
    let read = match message.outcome.as_str() {
        "APPROVED" => approved(&message, kind),
        "DECLINED" => Ok(ProcessorReply::Declined {
            reason: match message.reason.as_deref() {
                // A void is refused with the same word.
                Some("ALREADY_CAPTURED") if kind == OpKind::Capture => DeclineReason::AlreadyCaptured,
                reason => reason.map_or(DeclineReason::Generic, decline_reason),
            },
            retryable: message.retryable,
            credential: credential_reply::decline(
                message.card_summary.as_ref(),
                message.response_code.as_deref(),
                message.advice_code.as_deref(),
            ),
        }),
        "PENDING" => waiting(message, kind).map(ProcessorReply::Pending),
        "ABANDONED" => Ok(ProcessorReply::Abandoned),
        _ => Err("an outcome that is not known here"),
    };
    read.unwrap_or_else(unclear)
}

fn unclear(why: impl Into<String>) -> ProcessorReply {
    ProcessorReply::Unknown { why: why.into() }
}

/// A yes. Only a void may leave out how much it was.
fn approved(message: &OperationBody<'_>, kind: OpKind) -> Result<ProcessorReply, &'static str> {
    let amount = amount(message.amount, message.currency.as_deref())
        .map_err(|Senseless| "approved, but the amount makes no sense")?;
    if amount.is_none() && kind != OpKind::Void {
        return Err("approved, but it does not say how much");
    }
    let card = message.card_summary.as_ref();
    let credential =
        credential_reply::approval(message.credential.as_ref(), card, message.network_transaction_id.as_deref())
            .map_err(|Senseless| "approved, but what it says of the stored card makes no sense")?;
    let checks = message.checks.as_ref().map(ChecksBody::checks).unwrap_or_default();
    Ok(ProcessorReply::Approved {
        amount,
        captured: message.captured,
        under_review: message.under_review,
        credential: credential.map(Box::new),
        checks,
    })
}

/// Not an amount of money.
#[derive(Debug)]
pub(crate) struct Senseless;

/// An amount and its currency; none when neither is there.
pub(crate) fn amount(number: Option<&RawValue>, currency: Option<&str>) -> Result<Option<Amount>, Senseless> {
    let (number, currency) = match (number, currency) {
        (None, None) => return Ok(None),
        (Some(number), Some(currency)) => (number, currency),
        _ => return Err(Senseless),
    };
    let currency: Currency = currency.parse().map_err(|_unknown| Senseless)?;
    let number = Decimal::parse(number.get()).map_err(|_no_number| Senseless)?;
    Amount::from_decimal(currency, &number).map(Some).map_err(|_no_amount| Senseless)
}

/// What is waited for. Only an authorization waits for anybody but the processor.
fn waiting(message: OperationBody<'_>, kind: OpKind) -> Result<Waiting, &'static str> {
    if kind != OpKind::Authorize {
        return Ok(Waiting::Processor);
    }
    if let Some(action) = message.action {
        let page = Url::parse(&action.redirect).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let page = page.ok_or("pending, but the page for the shopper has no http or https address")?.into();
        return Ok(Waiting::Shopper { page, until: instant(action.expires_at)? });
    }
    if let Some(account) = message.bank_details {
        let to = bank_details(account);
        if to == BankDetails::default() {
            return Err("pending, but the account for the transfer is empty");
        }
        return Ok(Waiting::Transfer { to: Box::new(to), until: instant(message.expires_at)? });
    }
    Ok(if message.review { Waiting::Review } else { Waiting::Processor })
}

fn instant(text: Option<String>) -> Result<Option<Timestamp>, &'static str> {
    let parsed = text.map(|text| OffsetDateTime::parse(&text, &Rfc3339)).transpose();
    parsed.map(|at| at.map(Timestamp::from)).map_err(|_no_time| "pending, until a time that makes no sense")
}

/// Where there is no such thing, some say nothing and some say an empty text.
fn bank_details(body: BankDetailsBody) -> BankDetails {
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    BankDetails {
        account_holder: said(body.account_holder),
        account_number: said(body.account_number),
        bank_name: said(body.bank_name),
        city: said(body.city),
        country: said(body.country),
        iban: said(body.iban),
        payment_reference: said(body.payment_reference),
        swift_code: said(body.swift_code),
        extra_bank_data: said(body.extra_bank_data),
    }
}

fn decline_reason(reason: &str) -> DeclineReason {
    match reason {
        "INSUFFICIENT_FUNDS" => DeclineReason::InsufficientFunds,
        "INVALID_CARD" | "EXPIRED_CARD" | "INVALID_CREDENTIAL" => DeclineReason::InvalidCard,
        "AUTHENTICATION_FAILED" | "AUTHENTICATION_REQUIRED" => DeclineReason::AuthenticationFailed,
        "CANCELLED" => DeclineReason::CancelledByShopper,
        "EXPIRED" => DeclineReason::Expired,
        "PAGE_CLOSED" => DeclineReason::PageClosed,
        "DO_NOT_TRY_AGAIN" => DeclineReason::DoNotTryAgain,
        "VOIDED" | "ALREADY_VOIDED" => DeclineReason::Voided,
        _ => DeclineReason::Generic,
    }
}

fn error_code(body: &[u8]) -> Option<String> {
    serde_json::from_slice::<ErrorBody>(body).ok().map(|error| error.code)
}

#[cfg(test)]
mod tests;
