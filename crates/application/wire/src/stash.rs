//! The stash: the card or wallet token that the shopper's browser sends, and the answer (docs/SPECIFICATION.md#stash).
//!
//! Nothing here leaves a copy of either behind: its text is borrowed until each string is decoded, once, into memory of its full size that
//! is wiped when dropped. No Debug, no error and no message holds any of it.

use dropin_card::{Card, Wallet, WalletToken, Warning};
use dropin_kernel::{Violation, ViolationCode, Violations};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::schema;
use crate::strict_json::json_object;
use crate::text::characters;

/// Longest StashId (docs/SPECIFICATION.md#stash-id).
const MAX_STASH_ID: usize = 128;
/// Longest text of a card's member, in bytes; numbers, dates and names are far below.
const MAX_TEXT: usize = 512;

/// Longest payment object of a wallet, in bytes; Apple Pay's have some five thousand.
const MAX_TOKEN: usize = 16 * 1024;

/// Whether `text` is a StashId: 1 to 128 of `A-Za-z0-9._~-:@+=,` (docs/SPECIFICATION.md#stash-id).
pub fn is_stash_id(text: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || b"._~-:@+=,".contains(&c);
    (1..=MAX_STASH_ID).contains(&text.len()) && text.bytes().all(allowed)
}

/// Refuses a text that is no StashId, as the member StashId.
pub(crate) fn check_stash_id(text: &str) -> Result<(), Violation> {
    let form = "must be 1 to 128 of A-Z a-z 0-9 . _ ~ - : @ + = ,";
    if is_stash_id(text) { Ok(()) } else { Err(Violation::new("StashId", ViolationCode::Invalid, form)) }
}

/// The answer to a stashed card or token.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Stashed)]
pub struct StashBody<'a> {
    /// As it stood in the address.
    stash_id: &'a str,
    /// Last four digits of the card's number; left out for a wallet's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    last4: Option<&'a str>,
    /// What is wrong with the card; empty when it can be charged.
    #[schema(value_type = Vec<schema::CardWarning>)]
    warnings: Vec<&'static str>,
}

impl<'a> StashBody<'a> {
    /// `last4` is the most that may be shown of a number; a token has none.
    pub fn new(stash_id: &'a str, last4: Option<&'a str>, warnings: &[Warning]) -> Self {
        Self { stash_id, last4, warnings: warnings.iter().map(|warning| warning.as_str()).collect() }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", bound = "'de: 'a")]
struct CardDto<'a> {
    name: Option<&'a RawValue>,
    number: Option<&'a RawValue>,
    verification_code: Option<&'a RawValue>,
    expiry: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", bound = "'de: 'a")]
struct ExpiryDto<'a> {
    year: Option<&'a RawValue>,
    month: Option<&'a RawValue>,
}

/// Reads the form field `card`: `{Name, Number, VerificationCode, Expiry: {Year, Month}}`, strings. Whether they make a good card is not asked:
/// what is missing, of another type or too long is kept as an empty text, of which the card's warnings tell (docs/SPECIFICATION.md#stash-warnings).
///
/// # Errors
/// A violation at `card` when it is no JSON object; it repeats nothing of the card.
pub fn parse_card_json(json: &str) -> Result<Card, Violation> {
    let not_an_object =
        || Violation::new("card", ViolationCode::Invalid, "must be a JSON object with Number and Expiry");
    // The message of the strict reader could name a position in the card's text and nothing else, but the field error says enough.
    let text = json_object(json.as_bytes()).map_err(|_malformed| not_an_object())?;
    let dto: CardDto<'_> = serde_json::from_str(text).map_err(|_unreadable| not_an_object())?;
    let (year, month) = expiry(dto.expiry);
    // Taking the strings out moves their memory into the card, which wipes it.
    let [name, number, code, year, month] = [dto.name, dto.number, dto.verification_code, year, month]
        .map(|datum| std::mem::take(&mut *text_or_empty(datum)));
    Ok(Card::new(name, number, code, year, month))
}

/// The text of a card's datum; empty when it is missing or cannot be one.
fn text_or_empty(raw: Option<&RawValue>) -> Secret {
    optional(raw, "", &mut Violations::new()).unwrap_or_default()
}

/// Year and Month, as far as they are there.
fn expiry(raw: Option<&RawValue>) -> (Option<&RawValue>, Option<&RawValue>) {
    let object = raw.map(RawValue::get).filter(|token| token.starts_with('{'));
    let read = object.and_then(|token| serde_json::from_str::<ExpiryDto<'_>>(token).ok());
    read.map_or((None, None), |dto| (dto.year, dto.month))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", bound = "'de: 'a")]
struct TokenDto<'a> {
    r#type: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
}

/// Reads the form field `token_data`: `{Type, Data}`, both required. Type names the wallet; Data is its payment object, kept byte for byte.
///
/// # Errors
/// Violations below `token_data`, sorted by path; none repeats anything of the token.
pub fn parse_token_json(json: &str) -> Result<WalletToken, Vec<Violation>> {
    let not_an_object =
        || vec![Violation::new("token_data", ViolationCode::Invalid, "must be a JSON object with Type and Data")];
    let text = json_object(json.as_bytes()).map_err(|_malformed| not_an_object())?;
    let dto: TokenDto<'_> = serde_json::from_str(text).map_err(|_unreadable| not_an_object())?;
    let mut all = Violations::new();
    let wallet = required(dto.r#type, "token_data.Type", &mut all).and_then(|id| known_wallet(&id, &mut all));
    let data = payment_object(dto.data, &mut all);
    match (wallet, data) {
        (Some(wallet), Some(data)) => Ok(WalletToken::new(wallet, data)),
        _ => Err(all.into_sorted()),
    }
}

fn known_wallet(id: &str, all: &mut Violations) -> Option<Wallet> {
    let wallet = id.parse::<Wallet>().ok();
    if wallet.is_none() {
        let known = Wallet::ALL.map(Wallet::as_str).join(", ");
        all.push("token_data.Type", ViolationCode::NotAllowed, format!("must name a wallet: {known}"));
    }
    wallet
}

fn payment_object<'a>(raw: Option<&'a RawValue>, all: &mut Violations) -> Option<&'a str> {
    let data = raw.map_or("", RawValue::get);
    let field = "token_data.Data";
    if data.is_empty() {
        all.push(field, ViolationCode::Missing, "is required");
    } else if !data.starts_with('{') {
        all.push(field, ViolationCode::Invalid, "must be the wallet's payment object");
    } else if MAX_TOKEN < data.len() {
        all.push(field, ViolationCode::TooLong, "is longer than any wallet's payment object");
    } else {
        return Some(data);
    }
    None
}

type Secret = Zeroizing<String>;

fn required(raw: Option<&RawValue>, field: &str, all: &mut Violations) -> Option<Secret> {
    if raw.is_none() {
        all.push(field, ViolationCode::Missing, "is required");
        return None;
    }
    optional(raw, field, all)
}

/// The empty text when left out.
fn optional(raw: Option<&RawValue>, field: &str, all: &mut Violations) -> Option<Secret> {
    let token = raw.map_or("\"\"", RawValue::get);
    if !token.starts_with('"') {
        all.push(field, ViolationCode::Invalid, "must be a string");
        return None;
    }
    if MAX_TEXT < token.len() {
        all.push(field, ViolationCode::TooLong, "is longer than any card has it");
        return None;
    }
    // A decoded string is never longer than its token, so it grows in place and leaves no copy behind.
    let mut text = Zeroizing::new(String::with_capacity(token.len()));
    for c in characters(token) {
        let Ok(c) = c else {
            all.push(field, ViolationCode::Invalid, "must be a string");
            return None;
        };
        text.push(c);
    }
    Some(text)
}
