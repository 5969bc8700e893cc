//! Stored credentials: what a call says of them, what the issuer makes of a payment by one, and their rows.

use std::fmt;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_kernel::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::card::{CallerCapabilities, SandboxCard, Verdict};
use crate::enums::{CredentialKind, CredentialUse, Kind, Outcome, Reason};
use crate::operation_store::secret;
use crate::request::Authorization;
use crate::rows::{Credential, CredentialTerms, Operation};
use crate::statement::statement;
use crate::store::{credential_terms, credentials, operations};

/// What an authorization says of a stored credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedTerms {
    /// Whose shopper's card it is.
    pub(crate) merchant: String,
    pub(crate) about: AskedCredential,
}

/// What an authorization wants with a stored credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AskedCredential {
    /// The card is stored when it is approved.
    Store { kind: CredentialKind, expiry: String },
    /// It is paid by one.
    Pay(CredentialPayment),
}

/// A payment by a stored credential. Of a code its length is kept, for the one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CredentialPayment {
    pub(crate) reference: String,
    pub(crate) credential_use: CredentialUse,
    /// The payment in which the shopper agreed.
    pub(crate) linked_transaction_id: Option<String>,
    pub(crate) code_length: Option<usize>,
}

impl AskedTerms {
    /// Whether `earlier` was made by the same call. A code that is typed again makes no difference.
    pub(crate) fn matches(&self, earlier: &CredentialTerms) -> bool {
        let same = match &self.about {
            AskedCredential::Store { kind, expiry } => {
                earlier.store == Some(*kind) && earlier.expiry.as_ref() == Some(expiry)
            }
            AskedCredential::Pay(payment) => {
                earlier.credential.as_ref() == Some(&payment.reference)
                    && earlier.credential_use == Some(payment.credential_use)
                    && earlier.linked_transaction_id == payment.linked_transaction_id
            }
        };
        same && earlier.merchant == self.merchant
    }

    /// The credential that is paid by.
    pub(crate) const fn payment(&self) -> Option<&CredentialPayment> {
        match &self.about {
            AskedCredential::Pay(payment) => Some(payment),
            AskedCredential::Store { .. } => None,
        }
    }
}

/// Two capital letters or digits, as issuers answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IssuerCode([u8; 2]);

impl fmt::Display for IssuerCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

impl Serialize for IssuerCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IssuerCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let code = <[u8; 2]>::try_from(text.as_bytes()).ok();
        let code = code.filter(|code| code.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()));
        code.map(Self).ok_or_else(|| serde::de::Error::custom("a code is two capital letters or digits"))
    }
}

/// What an issuer says beside a decline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IssuerCodes {
    /// ISO 8583 field 39.
    pub(crate) response: Option<IssuerCode>,
    /// Mastercard's merchant advice.
    pub(crate) advice: Option<IssuerCode>,
}

/// The response code of a decline; none where no issuer was asked.
const fn response_code(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::GenericDecline => Some("05"),
        Reason::InvalidCard => Some("14"),
        Reason::InsufficientFunds => Some("51"),
        Reason::ExpiredCard => Some("54"),
        // Visa's; each published number that asks for authentication is one of Visa.
        Reason::AuthenticationRequired => Some("1A"),
        _ => None,
    }
}

/// What the shopper's card comes to, when it is charged by what was stored of it.
pub(crate) fn verdict(
    credential: Option<&Credential>,
    payment: &CredentialPayment,
    is_linked: bool,
    capabilities: CallerCapabilities,
    now: Timestamp,
) -> Verdict {
    let Some(credential) = credential.filter(|credential| credential.deleted_at.is_none()) else {
        return Verdict::Decline(Reason::InvalidCredential);
    };
    let Some(card) = SandboxCard::of_last4(&credential.last4) else {
        return Verdict::Decline(Reason::InvalidCard);
    };
    if !payment.credential_use.is_agreed(credential.kind) {
        return Verdict::Decline(Reason::UseNotAgreed);
    }
    if !is_linked {
        return Verdict::Decline(Reason::TransactionIdMismatch);
    }
    // Both are a year and a month, which sort as they run.
    if credential.expiry.as_str() < now.to_string().get(..7).unwrap_or_default() {
        return Verdict::Decline(Reason::ExpiredCard);
    }
    if payment.code_length.is_some_and(|length| length != card.code_length()) {
        return Verdict::Decline(Reason::InvalidCard);
    }
    card.charged_again(payment.credential_use, capabilities)
}

/// The verdict of a payment by a stored credential, and the credential.
pub(crate) fn judge(
    store: &mut SqliteConnection,
    asked: &Authorization,
    merchant: &str,
    payment: &CredentialPayment,
    now: Timestamp,
) -> QueryResult<(Verdict, Option<Credential>)> {
    let credential = find(store, merchant, &payment.reference)?;
    let is_linked = match (&credential, &payment.linked_transaction_id) {
        (Some(credential), Some(id)) => is_agreement(store, credential, id)?,
        (_, linked) => linked.is_none() && !payment.credential_use.is_by_merchant(),
    };
    let capabilities = CallerCapabilities {
        return_url: asked.return_url.is_some(),
        review: asked.review_allowed,
        challenge: asked.challenge,
        is_exempted: asked.exemption.is_some(),
    };
    Ok((verdict(credential.as_ref(), payment, is_linked, capabilities, now), credential))
}

/// Whether the shopper agreed to later payments in the payment of this id.
fn is_agreement(store: &mut SqliteConnection, credential: &Credential, id: &str) -> QueryResult<bool> {
    let named = credential_terms::table
        .filter(credential_terms::network_transaction_id.eq(id))
        .select(CredentialTerms::as_select())
        .first(store)
        .optional()?;
    let is_first = |terms: &CredentialTerms| {
        let again = terms.credential_use == Some(CredentialUse::First);
        terms.key == credential.key || again && terms.credential.as_ref() == Some(&credential.reference)
    };
    let Some(terms) = named.filter(is_first) else {
        return Ok(false);
    };
    let outcome = operations::table.find(&terms.key).select(operations::outcome).first::<Outcome>(store)?;
    Ok(outcome == Outcome::Approved)
}

fn find(store: &mut SqliteConnection, merchant: &str, reference: &str) -> QueryResult<Option<Credential>> {
    credentials::table
        .filter(credentials::reference.eq(reference).and(credentials::merchant.eq(merchant)))
        .select(Credential::as_select())
        .first(store)
        .optional()
}

/// The terms of an authorization, where it had any.
pub(crate) fn terms(store: &mut SqliteConnection, key: &str) -> QueryResult<Option<CredentialTerms>> {
    credential_terms::table.find(key).select(CredentialTerms::as_select()).first(store).optional()
}

/// Writes what an authorization said of a credential, beside its operation, and stores the card if that is approved.
pub(crate) fn keep_terms(
    store: &mut SqliteConnection,
    asked: &AskedTerms,
    operation: &Operation,
    issuer: IssuerCodes,
    now: Timestamp,
) -> QueryResult<()> {
    let (stored, payment) = match &asked.about {
        AskedCredential::Store { kind, expiry } => (Some((*kind, expiry.clone())), None),
        AskedCredential::Pay(payment) => (None, Some(payment.clone())),
    };
    let (kind, expiry) = stored.unzip();
    let said = operation.reason.filter(|_| payment.is_some());
    let codes = said.map(|reason| match issuer.response {
        Some(code) => (Some(code.to_string()), issuer.advice.map(|code| code.to_string())),
        None => (response_code(reason).map(str::to_owned), issuer.advice.map(|code| code.to_string())),
    });
    let (response_code, advice_code) = codes.unwrap_or_default();
    let terms = CredentialTerms {
        key: operation.key.clone(),
        merchant: asked.merchant.clone(),
        store: kind,
        expiry,
        credential: payment.as_ref().map(|payment| payment.reference.clone()),
        credential_use: payment.as_ref().map(|payment| payment.credential_use),
        linked_transaction_id: payment.and_then(|payment| payment.linked_transaction_id),
        network_transaction_id: transaction_id(store)?,
        response_code,
        advice_code,
    };
    diesel::insert_into(credential_terms::table).values(&terms).execute(store)?;
    issue(store, operation, now)
}

/// 15 digits, as Visa's.
fn transaction_id(store: &mut SqliteConnection) -> QueryResult<String> {
    let random = secret(store)?;
    let number = u64::from_str_radix(random.get(..15).unwrap_or_default(), 16).unwrap_or_default();
    Ok(format!("{:015}", number % 1_000_000_000_000_000))
}

/// Stores the card of an authorization that was approved and asked for it.
pub(crate) fn issue(store: &mut SqliteConnection, operation: &Operation, now: Timestamp) -> QueryResult<()> {
    if operation.kind != Kind::Authorize || operation.outcome != Outcome::Approved {
        return Ok(());
    }
    let Some(CredentialTerms { merchant, store: Some(kind), expiry: Some(expiry), .. }) = terms(store, &operation.key)?
    else {
        return Ok(());
    };
    diesel::insert_into(credentials::table)
        .values((
            credentials::key.eq(&operation.key),
            credentials::merchant.eq(merchant),
            credentials::kind.eq(kind),
            credentials::last4.eq(operation.last4.as_deref().unwrap_or_default()),
            credentials::expiry.eq(expiry),
            credentials::stored_at.eq(now.micros()),
        ))
        .execute(store)
        .map(drop)
}

/// What an answer says of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CredentialView {
    pub(crate) terms: CredentialTerms,
    /// The one that the authorization stored or was paid by.
    pub(crate) credential: Option<Credential>,
}

/// What is to be said of a credential in an answer about `operation`.
pub(crate) fn view(store: &mut SqliteConnection, operation: &Operation) -> QueryResult<Option<CredentialView>> {
    if operation.kind != Kind::Authorize {
        return Ok(None);
    }
    let Some(terms) = terms(store, &operation.key)? else {
        return Ok(None);
    };
    let credential = match &terms.credential {
        Some(reference) => find(store, &terms.merchant, reference)?,
        None => credentials::table
            .filter(credentials::key.eq(&operation.key))
            .select(Credential::as_select())
            .first(store)
            .optional()?,
    };
    Ok(Some(CredentialView { terms, credential }))
}

statement! {
    /// The end of a credential.
    Delete<'a> {
        now: i64 => BigInt,
        merchant: &'a str => Text,
        reference: &'a str => Text,
    }
    "UPDATE credentials SET deleted_at = ? WHERE merchant = ? AND reference = ? AND deleted_at IS NULL";
}

/// Deletes a merchant's credential. Whether it was there until now; afterwards it is not.
pub(crate) fn delete(
    store: &mut SqliteConnection,
    merchant: &str,
    reference: &str,
    now: Timestamp,
) -> QueryResult<bool> {
    let deleted = Delete { now: now.micros(), merchant, reference }.execute(store)?;
    Ok(0 < deleted)
}

/// Up to `limit` of a merchant's credentials after number `after`, oldest first; deleted ones are left out.
pub(crate) fn list(
    store: &mut SqliteConnection,
    merchant: &str,
    after: i64,
    limit: i64,
) -> QueryResult<Vec<Credential>> {
    credentials::table
        .filter(credentials::merchant.eq(merchant).and(credentials::number.gt(after)))
        .filter(credentials::deleted_at.is_null())
        .order(credentials::number)
        .limit(limit)
        .select(Credential::as_select())
        .load(store)
}

#[cfg(test)]
mod tests;
