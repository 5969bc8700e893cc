//! The shapes of requests: PascalCase JSON, amounts as exact decimals.
//!
//! A message about a bad request names the field and never repeats its value: it might be a card number.

use dropin_kernel::OpId;
use dropin_money::{Amount, Currency, Decimal};
use serde::Deserialize;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use url::Url;

use crate::card::{CallerCapabilities, Card, Verdict};
use crate::credential::{AskedCredential, AskedTerms};
use crate::credential_body::{CredentialBody, parse_kind, parse_merchant, parse_payment};
use crate::enums::{CardScheme, CredentialUse, Exemption, Kind, Method, Stage};
use crate::request::{Authorization, Request};
use crate::token;

/// Longest OrderId, in characters.
const MAX_ORDER_ID: usize = 255;
/// Longest PaymentReference, in characters: what a transfer carries.
const MAX_PAYMENT_REFERENCE: usize = 35;
/// Longest Card.Postcode, in characters.
const MAX_POSTCODE: usize = 255;
/// Longest ReturnUrl, in characters (docs/SPECIFICATION.md#urls).
const MAX_URL: usize = 2_048;

/// A field whose type is checked by hand, so that no message repeats its value.
pub(crate) type Field = Option<Box<RawValue>>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Body {
    amount: Field,
    currency: Field,
    order_id: Field,
    authorization_key: Field,
    card: Option<CardBody>,
    token: Option<TokenBody>,
    method: Field,
    return_url: Field,
    review_allowed: Field,
    challenge: Field,
    exemption: Field,
    shopper_country: Field,
    payment_reference: Field,
    merchant: Field,
    store: Field,
    credential: Option<CredentialBody>,
}

/// A wallet's token.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TokenBody {
    r#type: Field,
    data: Field,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CardBody {
    number: Field,
    verification_code: Field,
    expiry_year: Field,
    expiry_month: Field,
    scheme: Field,
    postcode: Field,
}

/// Reads the body of an effect call.
///
/// # Errors
/// A message for the caller.
pub(crate) fn parse(kind: Kind, body: &[u8], now: OffsetDateTime) -> Result<Request, String> {
    let body: Body = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    match kind {
        Kind::Authorize => Ok(Request::Authorize(Box::new(parse_authorize(body, now)?))),
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

fn parse_authorize(body: Body, now: OffsetDateTime) -> Result<Authorization, String> {
    let method = parse_method(body.method)?;
    let return_url = body.return_url.map(|url| parse_return_url(Some(url))).transpose()?;
    let review_allowed = parse_flag("ReviewAllowed", body.review_allowed)?;
    let challenge = parse_flag("Challenge", body.challenge)?;
    let exemption = body.exemption.map(|exemption| parse_exemption(exemption, challenge)).transpose()?;
    let capabilities = CallerCapabilities {
        return_url: return_url.is_some(),
        review: review_allowed,
        challenge,
        is_exempted: exemption.is_some(),
    };
    let kind = body.store.map(|kind| parse_kind(Some(kind))).transpose()?;
    let (mut about, mut has_code, mut scheme, mut has_postcode) = (None, false, None, false);
    let (last4, verdict) = match (method, body.card, body.token, body.credential) {
        (Method::Card, None, None, Some(_)) if kind.is_some() => {
            return Err("Store needs Card: what Credential names is stored already.".to_owned());
        }
        (Method::Card, None, None, Some(credential)) => {
            let payment = parse_payment(credential)?;
            has_code = payment.code_length.is_some();
            about = Some(AskedCredential::Pay(payment));
            (None, None)
        }
        (Method::Card, None, Some(_), None) if kind.is_some() => return Err("Store needs Card.".to_owned()),
        (Method::Card, None, Some(token), None) => (None, Some(parse_token(token, capabilities)?)),
        (Method::Card, card, None, None) => {
            let card = card.ok_or("Card is missing.")?;
            has_postcode = card.postcode.is_some();
            let card = parse_card(card)?;
            (has_code, scheme) = (card.has_code(), card.scheme());
            about = kind.map(|kind| AskedCredential::Store { kind, expiry: card.expiry() });
            (Some(card.last4().to_owned()), Some(card.verdict(now, capabilities, kind.is_some())))
        }
        (Method::Card, ..) => return Err("Send either Card, Token or Credential.".to_owned()),
        (_, _, Some(_), _) => return Err("Token must be left out unless Method is CARD.".to_owned()),
        (_, Some(_), ..) => return Err("Card must be left out unless Method is CARD.".to_owned()),
        (_, _, _, Some(_)) => return Err("Credential must be left out unless Method is CARD.".to_owned()),
        _ if kind.is_some() => return Err("Store must be left out unless Method is CARD.".to_owned()),
        (Method::BankTransfer, ..) => (None, Some(Verdict::Await(Stage::Transfer))),
        _ if return_url.is_none() => return Err("ReturnUrl is missing; this Method needs it.".to_owned()),
        _ => (None, Some(Verdict::Await(Stage::Page))),
    };
    let terms = match about {
        Some(about) => Some(AskedTerms { merchant: parse_merchant(body.merchant)?, about }),
        None => None,
    };
    Ok(Authorization {
        amount: parse_authorized(body.amount, body.currency, terms.as_ref())?,
        order_id: parse_order_id(body.order_id)?,
        method,
        last4,
        verdict,
        return_url,
        shopper_country: body.shopper_country.map(|country| parse_country(Some(country))).transpose()?,
        review_allowed,
        challenge,
        exemption,
        scheme,
        has_code,
        has_postcode,
        payment_reference: body.payment_reference.map(|text| parse_payment_reference(Some(text))).transpose()?,
        terms,
    })
}

/// A wallet's token stands for a card; nothing of it is kept.
fn parse_token(token: TokenBody, capabilities: CallerCapabilities) -> Result<Verdict, String> {
    let wallet = text("Token.Type", token.r#type)?;
    let data = token.data.ok_or("Token.Data is missing.")?;
    Ok(token::verdict(&wallet, data.get(), capabilities)?)
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct IdentityBody {
    merchant_identifier: Field,
}

/// Reads for which merchant a wallet certificate is asked.
///
/// # Errors
/// A message for the caller.
pub(crate) fn parse_identity(body: &[u8]) -> Result<String, String> {
    let body: IdentityBody = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    let identifier = text("MerchantIdentifier", body.merchant_identifier)?;
    // What an X.509 common name may hold (RFC 5280, ub-common-name).
    match (1..=64).contains(&identifier.len()) && identifier.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(identifier),
        false => Err("MerchantIdentifier must be 1 to 64 visible ASCII characters.".to_owned()),
    }
}

fn parse_method(method: Field) -> Result<Method, String> {
    match method {
        None => Ok(Method::Card),
        method => Method::from_word(&text("Method", method)?)
            .ok_or_else(|| "Method must be CARD, PAYPAL, IDEAL, PAYLATER, BANKTRANSFER or an id of your own: 1 to 32 of A-Z and 0-9.".to_owned()),
    }
}

/// Gives the normal form of the URL: what a header can carry, and what every browser takes for the same address.
fn parse_return_url(url: Field) -> Result<String, String> {
    let written = text("ReturnUrl", url)?;
    let parsed = Url::parse(&written).ok().filter(|url| {
        let bare = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && bare && written.chars().count() <= MAX_URL
    });
    parsed.map(String::from).ok_or_else(|| {
        format!("ReturnUrl must be an absolute http or https URL of at most {MAX_URL} characters, without user name and password.")
    })
}

fn parse_country(country: Field) -> Result<String, String> {
    let country = text("ShopperCountry", country)?;
    match country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_uppercase()) {
        true => Ok(country),
        false => Err("ShopperCountry must be two capital letters, such as \"NL\".".to_owned()),
    }
}

fn parse_exemption(exemption: Box<RawValue>, challenge: bool) -> Result<Exemption, String> {
    match Exemption::from_word(&text("Exemption", Some(exemption))?) {
        Some(_) if challenge => Err("Exemption must be left out where Challenge is true.".to_owned()),
        Some(exemption) => Ok(exemption),
        None => {
            Err("Exemption must be MERCHANT_INITIATED, ONE_LEG_OUT, LOW_VALUE or TRANSACTION_RISK_ANALYSIS.".to_owned())
        }
    }
}

fn parse_flag(name: &str, field: Field) -> Result<bool, String> {
    let flag = field.map(|field| serde_json::from_str(field.get())).transpose();
    flag.map(Option::unwrap_or_default).map_err(|_other_type| format!("{name} must be true or false."))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReviewBody {
    decision: Field,
}

/// Reads the body of a review's decision: whether the provider approves.
///
/// # Errors
/// A message for the caller.
pub(crate) fn parse_review(body: &[u8]) -> Result<bool, String> {
    let body: ReviewBody = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    match text("Decision", body.decision)?.as_str() {
        "approve" => Ok(true),
        "decline" => Ok(false),
        _ => Err("Decision must be \"approve\" or \"decline\".".to_owned()),
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
    let scheme = card.scheme.map(parse_scheme).transpose()?;
    let postcode = card.postcode.map(|postcode| text("Card.Postcode", Some(postcode))).transpose()?;
    if postcode.is_some_and(|postcode| !(1..=MAX_POSTCODE).contains(&postcode.chars().count())) {
        return Err(format!("Card.Postcode must be 1 to {MAX_POSTCODE} characters, or be left out."));
    }
    Ok(Card::parse(text("Card.Number", card.number)?, code, &year, &month)?.paying_by(scheme))
}

fn parse_scheme(scheme: Box<RawValue>) -> Result<CardScheme, String> {
    CardScheme::from_word(&text("Card.Scheme", Some(scheme))?)
        .ok_or_else(|| "Card.Scheme must be VISA, MC or CB, or be left out.".to_owned())
}

fn parse_amount(amount: Field, currency: Field) -> Result<Amount, String> {
    let (amount, currency) = parse_money(amount, currency)?;
    positive_amount(amount.get(), currency)
}

fn parse_money(amount: Field, currency: Field) -> Result<(Box<RawValue>, Currency), String> {
    let amount = amount.ok_or("Amount is missing.")?;
    let currency: Currency = text("Currency", currency)?
        .parse()
        .map_err(|_unknown| "Currency must be one of the ISO 4217 codes that the sandbox knows, such as \"USD\".")?;
    Ok((amount, currency))
}

/// What an authorization reserves: nothing, where the shopper is there to agree that the card is charged later.
fn parse_authorized(amount: Field, currency: Field, terms: Option<&AskedTerms>) -> Result<Amount, String> {
    let may_verify = terms.is_some_and(|terms| match &terms.about {
        AskedCredential::Store { .. } => true,
        AskedCredential::Pay(payment) => payment.credential_use == CredentialUse::First,
    });
    let (amount, currency) = parse_money(amount, currency)?;
    if may_verify { any_amount(amount.get(), currency) } else { positive_amount(amount.get(), currency) }
}

fn any_amount(written: &str, currency: Currency) -> Result<Amount, String> {
    let number = Decimal::parse(written).map_err(|error| format!("Amount {error}."))?;
    Amount::from_decimal(currency, &number).map_err(|error| format!("Amount: {error}."))
}

/// An amount as it was written, more than nothing.
///
/// # Errors
/// A message for whoever wrote it.
pub(crate) fn positive_amount(written: &str, currency: Currency) -> Result<Amount, String> {
    let amount = any_amount(written, currency)?;
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

fn parse_payment_reference(reference: Field) -> Result<String, String> {
    let reference = text("PaymentReference", reference)?;
    let carried = |c: char| c.is_ascii_alphanumeric() || "/-?:().,'+ ".contains(c);
    if (1..=MAX_PAYMENT_REFERENCE).contains(&reference.len()) && reference.chars().all(carried) {
        Ok(reference)
    } else {
        Err(format!("PaymentReference must have 1 to {MAX_PAYMENT_REFERENCE} characters of the SEPA set."))
    }
}

fn parse_authorization(key: Field) -> Result<OpId, String> {
    let key = text("AuthorizationKey", key)?;
    key.parse()
        .map_err(|_invalid| "AuthorizationKey must be the UUID under which the authorization was made.".to_owned())
}

pub(crate) fn text(name: &str, field: Field) -> Result<String, String> {
    let field = field.ok_or_else(|| format!("{name} is missing."))?;
    serde_json::from_str(field.get()).map_err(|_other_type| format!("{name} must be a text."))
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
        let paying = |reference: &str, credential_use: &str| {
            format!(
                r#"{{"Amount":1,"Currency":"USD","OrderId":"o","Merchant":"m","Credential":{{"Reference":{reference},"Use":"{credential_use}","VerificationCode":"987"}}}}"#
            )
        };
        for (kind, body, start) in [
            (Kind::Authorize, with(card), "Card.Number must be a text"),
            (Kind::Authorize, with("\"4242424242424242\""), "The body does not have the documented shape"),
            (Kind::Authorize, with("null"), "Card is missing"),
            (Kind::Authorize, with(r#"{"Number":"4242424242424242","Number":""}"#), "The body does not have"),
            (Kind::Authorize, with(r#"{},"Credential":{}"#), "Send either Card, Token or Credential"),
            (Kind::Authorize, paying(r#""4242424242424242""#, "FIRST"), "Credential.Reference must be what"),
            (Kind::Authorize, paying("4242424242424242", "FIRST"), "Credential.Reference must be a text"),
            (Kind::Authorize, paying("\"\"", "4242424242424242"), "Credential.Use must be FIRST"),
            (Kind::Authorize, paying("\"\"", "RECURRING"), "Credential.VerificationCode must be"),
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
