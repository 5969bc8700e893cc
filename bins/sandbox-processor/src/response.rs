//! The shapes of answers: PascalCase JSON, amounts as exact decimals.

use dropin_kernel::Timestamp;
use dropin_money::{Amount, Currency};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::bank::BankDetails;
use crate::card::SandboxCard;
use crate::credential::CredentialView;
use crate::enums::{CardScheme, CredentialKind, Kind, Method, Outcome, Reason, Stage};
use crate::rows;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Method>,
    /// Approved, and the money is there: nothing to capture.
    #[serde(skip_serializing_if = "is_false")]
    captured: bool,
    #[serde(skip_serializing_if = "is_false")]
    under_review: bool,
    /// Pending, and the provider looks at it.
    #[serde(skip_serializing_if = "is_false")]
    review: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_details: Option<BankDetails>,
    /// What has arrived of a bank transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<Box<RawValue>>,
    /// Until when a bank transfer is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// Where somebody can play the bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_page: Option<String>,
    /// The card network's name of a payment that stored a card or was made by a stored one.
    #[serde(skip_serializing_if = "Option::is_none")]
    network_transaction_id: Option<String>,
    /// What may be charged again; until it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    credential: Option<IssuedCredential>,
    /// The card that was stored, or that was paid with by what is stored of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    card_summary: Option<CardSummary>,
    /// What the issuer said, when it declined a payment by a stored credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice_code: Option<String>,
    /// By which it pays, where that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<CardScheme>,
    /// What the issuer checked of a card that it approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Checks>,
}

/// What the issuer says beside its yes; what it does not say is left out.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Checks {
    #[serde(skip_serializing_if = "Option::is_none")]
    address_matches: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_matches: Option<bool>,
    authenticated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    card_country: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    card_funding: Option<&'static str>,
}

impl Checks {
    /// None where there is no card, and of a wallet's token whose shopper saw no page: how its device authenticated them, nobody tells.
    fn of(row: &rows::Operation) -> Option<Self> {
        let is_paid =
            row.kind == Kind::Authorize && row.outcome == Outcome::Approved && row.method == Some(Method::Card);
        let card = row.last4.as_deref().and_then(SandboxCard::of_last4);
        // A card's page comes up for one purpose only, and is there for good.
        let authenticated = row.page_token.is_some();
        let told = card.and_then(SandboxCard::told);
        (is_paid && (authenticated || card.is_some())).then(|| Self {
            address_matches: card.and_then(|card| card.address_matches(row.has_postcode)),
            code_matches: card.filter(|_| row.has_code).map(SandboxCard::code_matches),
            authenticated,
            card_country: told.map(|told| told.country),
            card_funding: told.map(|told| told.funding),
        })
    }
}

/// A credential, in the answer to the authorization that stored it.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct IssuedCredential {
    reference: String,
    kind: CredentialKind,
}

/// What may be shown of a card.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CardSummary {
    scheme: &'static str,
    last4: String,
    /// Its last good month, as `2031-12`.
    expiry: String,
}

impl CardSummary {
    fn of(credential: &rows::Credential) -> Self {
        let scheme = SandboxCard::of_last4(&credential.last4).map_or("VISA", SandboxCard::scheme_code);
        Self { scheme, last4: credential.last4.clone(), expiry: credential.expiry.clone() }
    }
}

/// A page of a merchant's credentials. The reference, by which a card is charged, is not shown here: its opening's key tells which it is.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Credentials {
    pub(crate) credentials: Vec<ListedCredential>,
}

/// A credential as it is listed.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListedCredential {
    number: i64,
    key: String,
    kind: CredentialKind,
    card_summary: CardSummary,
    stored_at: String,
}

impl From<rows::Credential> for ListedCredential {
    fn from(row: rows::Credential) -> Self {
        Self {
            card_summary: CardSummary::of(&row),
            number: row.number,
            key: row.key,
            kind: row.kind,
            stored_at: Timestamp::from_micros(row.stored_at).to_string(),
        }
    }
}

/// The answer to a deletion.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Deleted {
    /// Whether it was there until now; afterwards it is not.
    pub(crate) deleted: bool,
}

/// What the shopper has to do.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Action {
    redirect: String,
    expires_at: String,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Method>,
    #[serde(skip_serializing_if = "is_false")]
    captured: bool,
    #[serde(skip_serializing_if = "is_false")]
    review: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<Box<RawValue>>,
}

/// A stored amount is none of its currency: the file was changed by another program.
#[derive(Debug, thiserror::Error)]
#[error("the store holds an amount that makes no sense under key {0}")]
pub(crate) struct Corrupt(pub(crate) String);

impl Operation {
    /// Renders a row for a caller who reaches the pages under `base`.
    ///
    /// # Errors
    /// [`Corrupt`].
    pub(crate) fn render(row: rows::Operation, stored: Option<CredentialView>, base: &str) -> Result<Self, Corrupt> {
        let page = || row.page_token.as_ref().map(|token| format!("{base}/pages/{token}"));
        let until = || row.due_at.map(|due| Timestamp::from_micros(due).to_string());
        let transfer = row.stage == Some(Stage::Transfer);
        let action = match row.stage {
            Some(Stage::Page) => page().zip(until()).map(|(redirect, expires_at)| Action { redirect, expires_at }),
            _ => None,
        };
        let currency = row.currency.as_deref();
        let (terms, credential) = stored.map(|view| (view.terms, view.credential)).unzip();
        let credential: Option<rows::Credential> = credential.flatten();
        let checks = Checks::of(&row);
        let issued = credential.as_ref().filter(|one| one.key == row.key && one.deleted_at.is_none());
        Ok(Self {
            credential: issued.map(|one| IssuedCredential { reference: one.reference.clone(), kind: one.kind }),
            card_summary: credential.as_ref().map(CardSummary::of),
            response_code: terms.as_ref().and_then(|terms| terms.response_code.clone()),
            advice_code: terms.as_ref().and_then(|terms| terms.advice_code.clone()),
            network_transaction_id: terms
                .filter(|_| row.outcome == Outcome::Approved)
                .map(|terms| terms.network_transaction_id),
            amount: render(&row.key, row.amount, currency)?,
            received: render(&row.key, some_money(row.received), currency)?,
            captured: pays_at_once(row.kind, row.outcome, row.method),
            review: row.stage == Some(Stage::Review),
            action,
            bank_details: BankDetails::of(&row),
            expires_at: until().filter(|_| transfer),
            sandbox_page: page().filter(|_| transfer),
            key: row.key,
            kind: row.kind,
            outcome: row.outcome,
            reason: row.reason,
            retryable: row.retryable,
            reference: row.reference,
            currency: row.currency,
            method: row.method,
            under_review: row.under_review,
            scheme: row.scheme,
            checks,
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
            received: render(&row.key, some_money(row.received), row.currency.as_deref())?,
            captured: pays_at_once(row.kind, row.outcome, row.method),
            review: row.stage == Some(Stage::Review),
            method: row.method,
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

/// A stored amount, read back as strictly as a request's.
///
/// # Errors
/// [`Corrupt`].
pub(crate) fn stored_amount(key: &str, minor: i64, currency: &str) -> Result<Amount, Corrupt> {
    let corrupt = || Corrupt(key.to_owned());
    let currency: Currency = currency.parse().map_err(|_unknown| corrupt())?;
    Amount::from_minor(currency, minor).map_err(|_unbounded| corrupt())
}

fn render(key: &str, minor: Option<i64>, currency: Option<&str>) -> Result<Option<Box<RawValue>>, Corrupt> {
    let (Some(minor), Some(currency)) = (minor, currency) else {
        return Ok(None);
    };
    let amount = stored_amount(key, minor, currency)?;
    RawValue::from_string(amount.to_string()).map(Some).map_err(|_no_number| Corrupt(key.to_owned()))
}

fn pays_at_once(kind: Kind, outcome: Outcome, method: Option<Method>) -> bool {
    kind == Kind::Authorize && outcome == Outcome::Approved && method.is_some_and(Method::pays_at_once)
}

fn some_money(minor: i64) -> Option<i64> {
    (minor != 0).then_some(minor)
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}
