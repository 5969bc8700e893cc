//! What the processor says of stored cards. As elsewhere, what is not understood whole is no answer.

use std::borrow::Cow;

use dropin_card::Scheme;
use dropin_contract::{CardSummary, ContractKind, CredentialDecline};
use dropin_kernel::Timestamp;
use dropin_ports::{
    CredentialApproval, CredentialCursor, CredentialDeletion, CredentialListEntry, CredentialListPage,
    CredentialListUnavailable,
};
use dropin_processor_transport::HttpReply;
use serde::Deserialize;

use crate::processor_reply::Senseless;

/// A stored credential, where an approval issued one. No copy of it is left behind.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct IssuedBody<'a> {
    #[serde(borrow)]
    reference: Cow<'a, str>,
}

/// What may be shown of a card.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct CardBody {
    scheme: String,
    last4: String,
    expiry: String,
}

impl CardBody {
    fn scheme(&self) -> Option<Scheme> {
        self.scheme.parse().ok()
    }

    fn summary(&self) -> Result<CardSummary, Senseless> {
        Ok(CardSummary {
            scheme: self.scheme().ok_or(Senseless)?,
            last_four: self.last4.parse().map_err(|_no_digits| Senseless)?,
            expiry: self.expiry.parse().map_err(|_no_month| Senseless)?,
        })
    }
}

/// What an approval says of a stored card; none where it says nothing.
pub(crate) fn approval(
    issued: Option<&IssuedBody<'_>>,
    card: Option<&CardBody>,
    network_transaction_id: Option<&str>,
) -> Result<Option<CredentialApproval>, Senseless> {
    if issued.is_none() && card.is_none() && network_transaction_id.is_none() {
        return Ok(None);
    }
    let stored = issued.map(|issued| issued.reference.parse()).transpose().map_err(|_no_credential| Senseless)?;
    let card = card.map(CardBody::summary).transpose()?;
    // Without its card a contract cannot be shown, and it does not know when it ends.
    if stored.is_some() && card.is_none() {
        return Err(Senseless);
    }
    let network_transaction_id = network_transaction_id.map(str::parse).transpose().map_err(|_no_id| Senseless)?;
    Ok(Some(CredentialApproval { stored, card, network_transaction_id }))
}

/// What the issuer said of a stored card when it declined; none where it was not asked.
pub(crate) fn decline(
    card: Option<&CardBody>,
    response: Option<&str>,
    advice: Option<&str>,
) -> Option<CredentialDecline> {
    let has_said = response.is_some() || advice.is_some();
    has_said.then(|| CredentialDecline::of_codes(card.and_then(CardBody::scheme), response, advice))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DeletedBody {
    #[serde(rename = "Deleted")]
    _was_there: bool,
}

/// What an answer to a deletion means.
pub(crate) fn deletion(reply: HttpReply) -> CredentialDeletion {
    match reply {
        HttpReply::NotSent(_why) => CredentialDeletion::NotSent,
        HttpReply::Unclear(why) => CredentialDeletion::Unknown { why },
        HttpReply::Answer { status: 200, body, .. } => match serde_json::from_slice::<DeletedBody>(&body) {
            Ok(_) => CredentialDeletion::Gone,
            Err(_other) => CredentialDeletion::Unknown { why: "the answer is about no deletion".to_owned() },
        },
        HttpReply::Answer { status, .. } => CredentialDeletion::Unknown { why: format!("HTTP {status}") },
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PageBody {
    credentials: Vec<EntryBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EntryBody {
    number: u64,
    key: String,
    kind: String,
    card_summary: CardBody,
    stored_at: String,
}

/// The number that a page ended with; zero before the first.
pub(crate) fn position(after: Option<&CredentialCursor>) -> Result<u64, CredentialListUnavailable> {
    let number = after.map_or(Ok(0), |cursor| cursor.0.parse());
    number.map_err(|_foreign| CredentialListUnavailable("the cursor is none of this processor".to_owned()))
}

/// Reads a page that was asked for. A page that makes no sense is none: the ledger audit must not compare guesses.
pub(crate) fn page(reply: HttpReply, after: u64, limit: u32) -> Result<CredentialListPage, CredentialListUnavailable> {
    let unavailable = |why: &str| CredentialListUnavailable(why.to_owned());
    let body = match reply {
        HttpReply::NotSent(why) | HttpReply::Unclear(why) => return Err(CredentialListUnavailable(why)),
        HttpReply::Answer { status: 200, body, .. } => body,
        HttpReply::Answer { status, .. } => return Err(CredentialListUnavailable(format!("HTTP {status}"))),
    };
    let page: PageBody =
        serde_json::from_slice(&body).map_err(|_other| unavailable("the answer is no page of credentials"))?;
    let numbers: Vec<u64> = page.credentials.iter().map(|entry| entry.number).collect();
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let is_asked = numbers.first().is_none_or(|first| after < *first);
    if !is_asked || !numbers.is_sorted_by(|one, next| one < next) || limit < numbers.len() {
        return Err(unavailable("the answer is another page than the one asked for"));
    }
    let entries = page.credentials.into_iter().map(entry).collect::<Option<Vec<_>>>();
    let entries = entries.ok_or_else(|| unavailable("an entry makes no sense"))?;
    let next = numbers.last().filter(|_| numbers.len() == limit).map(|last| CredentialCursor(last.to_string()));
    Ok(CredentialListPage { entries, next })
}

fn entry(body: EntryBody) -> Option<CredentialListEntry> {
    let stored_at: Timestamp = body.stored_at.parse().ok()?;
    let kind: ContractKind = body.kind.parse().ok()?;
    Some(CredentialListEntry {
        opened_by: body.key.parse().ok()?,
        kind,
        card: body.card_summary.summary().ok()?,
        stored_at,
    })
}

#[cfg(test)]
mod tests;
