//! The shapes of requests and answers: PascalCase JSON, amounts as exact decimals.
//!
//! A message about a bad request names the field and never repeats its value: it might be a card number.

use dropin_kernel::{OpId, Timestamp};
use dropin_money::{Amount, Currency, Decimal};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use time::OffsetDateTime;

use crate::card::Card;
use crate::request::Request;
use crate::rows;
use crate::words::{Kind, Outcome, Reason};

/// Longest OrderId, in characters.
const MAX_ORDER_ID: usize = 255;

/// A field whose type is checked by hand, so that no message repeats its value.
type Field = Option<Box<RawValue>>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Body {
    amount: Field,
    currency: Field,
    order_id: Field,
    authorization_key: Field,
    card: Option<CardBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CardBody {
    number: Field,
    verification_code: Field,
    expiry_year: Field,
    expiry_month: Field,
}

/// Reads the body of an effect call.
///
/// # Errors
/// A message for the caller.
pub(crate) fn parse(kind: Kind, body: &[u8], now: OffsetDateTime) -> Result<Request, String> {
    let body: Body = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    match kind {
        Kind::Authorize => {
            let card = parse_card(body.card.ok_or("Card is missing.")?)?;
            Ok(Request::Authorize {
                amount: parse_amount(body.amount, body.currency)?,
                order_id: parse_order_id(body.order_id)?,
                last4: card.last4().to_owned(),
                verdict: card.verdict(now),
            })
        }
        Kind::Capture => Ok(Request::Capture {
            authorization: parse_authorization(body.authorization_key)?,
            amount: parse_amount(body.amount, body.currency)?,
        }),
        Kind::Void => Ok(Request::Void { authorization: parse_authorization(body.authorization_key)? }),
        Kind::Refund => Ok(Request::Refund {
            authorization: parse_authorization(body.authorization_key)?,
            amount: parse_amount(body.amount, body.currency)?,
        }),
    }
}

/// Says where JSON is wrong, without what stands there.
pub(crate) fn malformed(error: &serde_json::Error) -> String {
    let what = if error.is_data() { "does not have the documented shape" } else { "is not valid JSON" };
    format!("The body {what}, at line {}, column {}.", error.line(), error.column())
}

fn parse_card(card: CardBody) -> Result<Card, String> {
    let code = card.verification_code.map(|code| text("Card.VerificationCode", Some(code))).transpose()?;
    // A stored card has no code; some callers send an empty one.
    let code = code.filter(|code| !code.is_empty());
    let year = text("Card.ExpiryYear", card.expiry_year)?;
    let month = text("Card.ExpiryMonth", card.expiry_month)?;
    Ok(Card::parse(text("Card.Number", card.number)?, code, &year, &month)?)
}

fn parse_amount(amount: Field, currency: Field) -> Result<Amount, String> {
    let amount = amount.ok_or("Amount is missing.")?;
    let currency: Currency = text("Currency", currency)?
        .parse()
        .map_err(|_unknown| "Currency must be one of the contract's ISO 4217 codes, such as \"USD\".")?;
    let number = Decimal::parse(amount.get()).map_err(|error| format!("Amount {error}."))?;
    let amount = Amount::from_decimal(currency, &number).map_err(|error| format!("Amount: {error}."))?;
    if amount.is_zero() { Err("Amount must be more than zero.".to_owned()) } else { Ok(amount) }
}

fn parse_order_id(order_id: Field) -> Result<String, String> {
    let order_id = text("OrderId", order_id)?;
    if (1..=MAX_ORDER_ID).contains(&order_id.chars().count()) {
        Ok(order_id)
    } else {
        Err(format!("OrderId must have 1 to {MAX_ORDER_ID} characters."))
    }
}

fn parse_authorization(key: Field) -> Result<OpId, String> {
    let key = text("AuthorizationKey", key)?;
    key.parse()
        .map_err(|_invalid| "AuthorizationKey must be the UUID under which the authorization was made.".to_owned())
}

fn text(name: &str, field: Field) -> Result<String, String> {
    let field = field.ok_or_else(|| format!("{name} is missing."))?;
    serde_json::from_str(field.get()).map_err(|_other_type| format!("{name} must be a text."))
}

/// An operation as it is answered.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Operation {
    key: String,
    kind: Kind,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
    reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

/// A page of the journal as it is answered.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Journal {
    pub(crate) entries: Vec<Entry>,
}

/// A journal entry as it is answered.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Entry {
    number: i64,
    at: String,
    key: String,
    kind: Kind,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last4: Option<String>,
}

/// A stored amount is none of its currency: the file was changed by another program.
#[derive(Debug, thiserror::Error)]
#[error("the store holds an amount that makes no sense under key {0}")]
pub(crate) struct Corrupt(String);

impl TryFrom<rows::Operation> for Operation {
    type Error = Corrupt;

    fn try_from(row: rows::Operation) -> Result<Self, Corrupt> {
        Ok(Self {
            amount: render(&row.key, row.amount, row.currency.as_deref())?,
            key: row.key,
            kind: row.kind,
            outcome: row.outcome,
            reason: row.reason,
            retryable: row.retryable,
            reference: row.reference,
            currency: row.currency,
        })
    }
}

impl TryFrom<rows::Entry> for Entry {
    type Error = Corrupt;

    fn try_from(row: rows::Entry) -> Result<Self, Corrupt> {
        Ok(Self {
            number: row.number,
            at: Timestamp::from_micros(row.at).to_string(),
            amount: render(&row.key, row.amount, row.currency.as_deref())?,
            key: row.key,
            kind: row.kind,
            outcome: row.outcome,
            currency: row.currency,
            order_id: row.order_id,
            authorization_key: row.authorization_key,
            last4: row.last4,
        })
    }
}

fn render(key: &str, minor: Option<i64>, currency: Option<&str>) -> Result<Option<Box<RawValue>>, Corrupt> {
    let (Some(minor), Some(currency)) = (minor, currency) else {
        return Ok(None);
    };
    let corrupt = || Corrupt(key.to_owned());
    let currency: Currency = currency.parse().map_err(|_unknown| corrupt())?;
    let amount = Amount::from_minor(currency, minor).map_err(|_unbounded| corrupt())?;
    RawValue::from_string(amount.to_string()).map(Some).map_err(|_no_number| corrupt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    fn refused(kind: Kind, body: &str) -> String {
        parse(kind, body.as_bytes(), datetime!(2026-11-21 12:00 UTC)).expect_err(body)
    }

    #[test]
    fn messages_name_the_field_and_never_its_value() {
        let card = r#"{"Number":4242424242424242,"VerificationCode":"987","ExpiryYear":"2030","ExpiryMonth":"12"}"#;
        let with = |card: &str| format!(r#"{{"Amount":1,"Currency":"USD","OrderId":"o","Card":{card}}}"#);
        for (kind, body, start) in [
            (Kind::Authorize, with(card), "Card.Number must be a text"),
            (Kind::Authorize, with("\"4242424242424242\""), "The body does not have the documented shape"),
            (Kind::Authorize, with("null"), "Card is missing"),
            (Kind::Authorize, with(r#"{"Number":"4242424242424242","Number":""}"#), "The body does not have"),
            (Kind::Authorize, r#"{"Card":{"Number":"4242424242424242""#.to_owned(), "The body is not valid JSON"),
            (Kind::Capture, r#"{"AuthorizationKey":4242424242424242}"#.to_owned(), "AuthorizationKey must be a text"),
            (Kind::Void, r#"{"AuthorizationKey":"4242424242424242"}"#.to_owned(), "AuthorizationKey must be the UUID"),
        ] {
            let message = refused(kind, &body);
            assert!(message.starts_with(start), "{message}");
            assert!(!message.contains("4242") && !message.contains("987"), "{message}");
        }
    }

    #[test]
    fn amounts_are_exact_and_positive() {
        for (amount, currency) in
            [("0", "USD"), ("-1", "USD"), ("0.001", "USD"), ("1e999999999", "USD"), ("\"1\"", "USD"), ("0.5", "JPY")]
        {
            let body = format!(
                r#"{{"AuthorizationKey":"00000000-0000-0000-0000-000000000001","Amount":{amount},"Currency":"{currency}"}}"#
            );
            assert!(refused(Kind::Capture, &body).starts_with("Amount"), "{amount}");
        }
    }
}
