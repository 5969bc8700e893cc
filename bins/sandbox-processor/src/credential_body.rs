//! The shapes of requests about stored credentials, under the rules of [`request_body`](crate::request_body).

use serde::Deserialize;

use crate::card::is_verification_code;
use crate::credential::CredentialPayment;
use crate::enums::{CredentialKind, CredentialUse};
use crate::request_body::{Field, malformed, text};

/// Longest Merchant, in bytes.
const MAX_MERCHANT: usize = 64;
/// Longest transaction id of a card network, in bytes: ISO 20022's Max35Text.
const MAX_TRANSACTION_ID: usize = 35;

/// What is paid with, where the card was stored before.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct CredentialBody {
    reference: Field,
    r#use: Field,
    network_transaction_id: Field,
    verification_code: Field,
}

/// What a card is to be stored for.
///
/// # Errors
/// A message for the caller.
pub(crate) fn parse_kind(kind: Field) -> Result<CredentialKind, String> {
    CredentialKind::from_word(&text("Store", kind)?)
        .ok_or_else(|| "Store must be ONE_CLICK, RECURRING or UNSCHEDULED.".to_owned())
}

/// Reads what is paid with.
///
/// # Errors
/// A message for the caller.
pub(crate) fn parse_payment(credential: CredentialBody) -> Result<CredentialPayment, String> {
    let credential_use = CredentialUse::from_word(&text("Credential.Use", credential.r#use)?)
        .ok_or("Credential.Use must be FIRST, ONE_CLICK, RECURRING or UNSCHEDULED.")?;
    let linked = credential.network_transaction_id.map(|id| text("Credential.NetworkTransactionId", Some(id)));
    let linked_transaction_id = linked.transpose()?;
    let is_id = |id: &String| is_visible(id, MAX_TRANSACTION_ID);
    if linked_transaction_id.as_ref().is_some_and(|id| !is_id(id)) {
        return Err(format!(
            "Credential.NetworkTransactionId must be 1 to {MAX_TRANSACTION_ID} visible ASCII characters, or be left out."
        ));
    }
    let code = credential.verification_code.map(|code| text("Credential.VerificationCode", Some(code))).transpose()?;
    if code.as_deref().is_some_and(|code| credential_use.is_by_merchant() || !is_verification_code(code)) {
        return Err(
            "Credential.VerificationCode must be 3 or 4 digits, or be left out, as in a merchant's payment.".to_owned()
        );
    }
    Ok(CredentialPayment {
        reference: parse_reference("Credential.Reference", credential.reference)?,
        credential_use,
        linked_transaction_id,
        code_length: code.map(|code| code.len()),
    })
}

/// What the sandbox gave, known or not. Nothing else is kept: it might be a card number.
fn parse_reference(name: &str, reference: Field) -> Result<String, String> {
    let reference = text(name, reference)?;
    let is_reference = reference.strip_prefix("crd_").is_some_and(|random| {
        random.len() == 32 && random.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    });
    if is_reference { Ok(reference) } else { Err(format!("{name} must be what the sandbox gave.")) }
}

/// Checks a merchant's name.
///
/// # Errors
/// A message for the caller.
pub(crate) fn check_merchant(merchant: String) -> Result<String, String> {
    match is_visible(&merchant, MAX_MERCHANT) {
        true => Ok(merchant),
        false => Err(format!("Merchant must be 1 to {MAX_MERCHANT} visible ASCII characters.")),
    }
}

/// Reads whose shopper's card is meant.
///
/// # Errors
/// A message for the caller.
pub(crate) fn parse_merchant(merchant: Field) -> Result<String, String> {
    check_merchant(text("Merchant", merchant)?)
}

fn is_visible(text: &str, max_bytes: usize) -> bool {
    (1..=max_bytes).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DeletionBody {
    merchant: Field,
    reference: Field,
}

/// Reads which credential of which merchant is to be deleted: merchant and reference.
///
/// # Errors
/// A message for the caller.
pub(crate) fn parse_deletion(body: &[u8]) -> Result<(String, String), String> {
    let body: DeletionBody = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    Ok((parse_merchant(body.merchant)?, parse_reference("Reference", body.reference)?))
}
