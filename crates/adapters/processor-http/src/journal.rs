//! The processor's journal, a page at a time.

use dropin_ports::{JournalEntry, JournalUnavailable};
use dropin_processor_transport::HttpReply;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::processor_reply::amount;

/// Most entries of one page.
pub(crate) const MAX_PAGE: u32 = 1_000;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PageBody<'a> {
    #[serde(borrow)]
    entries: Vec<EntryBody<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EntryBody<'a> {
    number: u64,
    key: String,
    kind: String,
    outcome: String,
    #[serde(borrow)]
    amount: Option<&'a RawValue>,
    currency: Option<String>,
    authorization_key: Option<String>,
    #[serde(default)]
    captured: bool,
    at: String,
    order_id: Option<String>,
}

/// Reads a page that was asked for. A page that makes no sense is none: the ledger audit must not compare guesses.
pub(crate) fn page(reply: HttpReply, after: u64, limit: u32) -> Result<Vec<JournalEntry>, JournalUnavailable> {
    let unavailable = |why: &str| JournalUnavailable(why.to_owned());
    let body = match reply {
        HttpReply::NotSent(why) | HttpReply::Unclear(why) => return Err(JournalUnavailable(why)),
        HttpReply::Answer { status: 200, body, .. } => body,
        HttpReply::Answer { status, .. } => return Err(JournalUnavailable(format!("HTTP {status}"))),
    };
    let page: PageBody<'_> =
        serde_json::from_slice(&body).map_err(|_other| unavailable("the answer is no page of a journal"))?;
    let entries = page.entries.into_iter().map(entry).collect::<Option<Vec<_>>>();
    let entries = entries.ok_or_else(|| unavailable("an entry makes no sense"))?;
    let ascending = entries.is_sorted_by(|one, next| one.number < next.number);
    let asked = entries.first().is_none_or(|first| after < first.number);
    if !ascending || !asked || entries.len() > usize::try_from(limit).unwrap_or(usize::MAX) {
        return Err(unavailable("the answer is another page than the one asked for"));
    }
    Ok(entries)
}

fn entry(body: EntryBody<'_>) -> Option<JournalEntry> {
    Some(JournalEntry {
        number: body.number,
        key: body.key.parse().ok()?,
        amount: amount(body.amount, body.currency.as_deref()).ok()?,
        authorization: body.authorization_key.map(|key| key.parse()).transpose().ok()?,
        kind: body.kind,
        outcome: body.outcome,
        captured: body.captured,
        at: body.at.parse().ok()?,
        order: body.order_id.and_then(|order| order.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const KEY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

    fn read(entries: &[Value]) -> Result<Vec<JournalEntry>, JournalUnavailable> {
        let body = json!({"Entries": entries}).to_string().into_bytes();
        page(HttpReply::Answer { status: 200, retry_after: None, body: body.into() }, 4, 2)
    }

    fn entry(number: u64) -> Value {
        json!({"Number": number, "At": "1970-01-01T00:00:00Z", "Key": KEY, "Kind": "CAPTURE", "Outcome": "APPROVED",
            "Amount": 10.00, "Currency": "USD", "OrderId": "o", "AuthorizationKey": KEY, "Last4": "4242"})
    }

    fn with(change: Value) -> Value {
        let mut body = entry(5);
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    }

    #[test]
    fn entries_are_read_whole() {
        let read = read(&[
            entry(5),
            json!({"Number": 7, "At": "1970-01-01T00:00:01Z", "Key": KEY, "Kind": "AUTHORIZE", "Outcome": "ABANDONED"}),
        ]);
        let [first, second] = read.unwrap().try_into().unwrap();
        assert_eq!(
            (first.number, first.kind.as_str(), first.outcome.as_str(), first.captured),
            (5, "CAPTURE", "APPROVED", false)
        );
        assert_eq!(first.amount.unwrap().minor(), 1_000);
        assert_eq!(first.authorization, KEY.parse().ok());
        assert_eq!((second.number, second.amount, second.authorization), (7, None, None));
    }

    #[test]
    fn what_was_not_asked_for_or_makes_no_sense_is_no_page() {
        for odd in [
            vec![entry(4)],
            vec![entry(6), entry(5)],
            vec![entry(5), entry(5)],
            vec![entry(5), entry(6), entry(7)],
            vec![with(json!({"Key": "k"}))],
            vec![with(json!({"Amount": "10"}))],
            vec![with(json!({"AuthorizationKey": 5}))],
            vec![with(json!({"AuthorizationKey": "k"}))],
            vec![with(json!({"Number": -5}))],
            vec![with(json!({"At": "yesterday"}))],
        ] {
            assert!(read(&odd).is_err(), "{odd:?}");
        }
        for (status, body) in [(500, "{\"Entries\":[]}"), (200, "[]"), (200, "")] {
            assert!(
                page(HttpReply::Answer { status, retry_after: None, body: body.as_bytes().to_vec().into() }, 0, 1)
                    .is_err(),
                "{status} {body}"
            );
        }
        assert!(page(HttpReply::NotSent("nobody there".to_owned()), 0, 1).is_err());
    }
}
