//! Disputes at the processor: their list, one of them, and the answers to it. As elsewhere, what is not understood whole is no answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dropin_order::{DisputeReason, Evidence, EvidenceFile};
use dropin_ports::{
    DisputeAnswerRequest, DisputeReply, DisputeResponse, DisputesUnavailable, ListedDispute, ReportedDispute,
};
use dropin_processor_transport::{Call, HttpReply};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::processor_reply::amount;

/// Most disputes of one page.
pub(crate) const MAX_PAGE: u32 = 1_000;
/// Longest reference that goes into an address.
const MAX_REFERENCE_BYTES: usize = 64;

pub(crate) fn list_call(after: u64, limit: u32) -> Call {
    Call::get_page(format!("/v1/disputes?after={after}&limit={limit}"))
}

/// The question about a dispute; `None` of what can be none of this processor's.
pub(crate) fn read_call(reference: &str) -> Option<Call> {
    is_reference(reference).then(|| Call::get(format!("/v1/disputes/{reference}")))
}

/// An answer to a dispute; `None` of what can be none of this processor's.
pub(crate) fn answer_call(request: &DisputeAnswerRequest) -> Option<Call> {
    let reference = &request.reference;
    if !is_reference(reference) {
        return None;
    }
    let (what, body) = match &request.response {
        DisputeResponse::Accept => ("accept", Zeroizing::new(b"{}".to_vec())),
        DisputeResponse::Evidence(evidence) => ("evidence", evidence_body(evidence)),
    };
    let path = format!("/v1/disputes/{reference}/{what}");
    Some(Call::post(path, Some(request.key.to_string()), "application/json", body))
}

/// What the processor gives is letters, digits and underscores.
fn is_reference(text: &str) -> bool {
    (1..=MAX_REFERENCE_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct EvidenceBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    files: Vec<FileBody<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct FileBody<'a> {
    name: &'a str,
    media_type: &'static str,
    content: String,
}

impl<'a> From<&'a EvidenceFile> for FileBody<'a> {
    fn from(file: &'a EvidenceFile) -> Self {
        Self { name: &file.name, media_type: file.media.as_str(), content: STANDARD.encode(&file.content) }
    }
}

fn evidence_body(evidence: &Evidence) -> Zeroizing<Vec<u8>> {
    let body = EvidenceBody { text: evidence.text(), files: evidence.files().iter().map(FileBody::from).collect() };
    Zeroizing::new(serde_json::to_vec(&body).expect("evidence has string keys and texts only"))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PageBody<'a> {
    #[serde(borrow)]
    disputes: Vec<DisputeBody<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DisputeBody<'a> {
    number: u64,
    reference: String,
    authorization_key: Option<String>,
    state: String,
    reason: String,
    #[serde(borrow)]
    amount: &'a RawValue,
    currency: String,
    due_at: Option<String>,
}

/// The number that a page ended with; zero before the first.
pub(crate) fn position(after: Option<&str>) -> Result<u64, DisputesUnavailable> {
    let number = after.map_or(Ok(0), str::parse);
    number.map_err(|_foreign| DisputesUnavailable("the position is none of this processor's".to_owned()))
}

/// Reads a page that was asked for.
pub(crate) fn page(reply: HttpReply, after: u64, limit: u32) -> Result<Vec<ListedDispute>, DisputesUnavailable> {
    let unavailable = |why: &str| DisputesUnavailable(why.to_owned());
    let body = answered(reply)?;
    let page: PageBody<'_> =
        serde_json::from_slice(&body).map_err(|_other| unavailable("the answer is no page of disputes"))?;
    let numbers: Vec<u64> = page.disputes.iter().map(|dispute| dispute.number).collect();
    let is_asked = numbers.first().is_none_or(|first| after < *first);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if !is_asked || !numbers.is_sorted_by(|one, next| one < next) || limit < numbers.len() {
        return Err(unavailable("the answer is another page than the one asked for"));
    }
    let listed = |body: DisputeBody<'_>| {
        let position = body.number.to_string();
        let dispute = reported(body);
        if dispute.is_none() {
            log::error!(
                "dispute {position} of the processor's list makes no sense and is passed over: see to it there"
            );
        }
        ListedDispute { position, dispute }
    };
    Ok(page.disputes.into_iter().map(listed).collect())
}

/// Reads the dispute that was asked about.
pub(crate) fn one(reply: HttpReply, reference: &str) -> Result<ReportedDispute, DisputesUnavailable> {
    read(&answered(reply)?, reference)
}

fn read(body: &[u8], reference: &str) -> Result<ReportedDispute, DisputesUnavailable> {
    let dispute = serde_json::from_slice(body).ok().and_then(reported);
    dispute
        .filter(|dispute| dispute.reference == reference)
        .ok_or_else(|| DisputesUnavailable("the answer is not about this dispute".to_owned()))
}

fn answered(reply: HttpReply) -> Result<Zeroizing<Vec<u8>>, DisputesUnavailable> {
    match reply {
        HttpReply::NotSent(why) | HttpReply::Unclear(why) => Err(DisputesUnavailable(why)),
        HttpReply::Answer { status: 200, body, .. } => Ok(body),
        HttpReply::Answer { status, .. } => Err(DisputesUnavailable(format!("HTTP {status}"))),
    }
}

/// What an answer to an answer means.
pub(crate) fn reply(reply: HttpReply, reference: &str) -> DisputeReply {
    match reply {
        HttpReply::NotSent(why) | HttpReply::Unclear(why) => DisputeReply::Unknown { why },
        HttpReply::Answer { status: 200, body, .. } => match read(&body, reference) {
            Ok(dispute) => DisputeReply::Taken(dispute),
            Err(DisputesUnavailable(why)) => DisputeReply::Unknown { why },
        },
        // It says so of this answer, and will never say otherwise.
        HttpReply::Answer { status: status @ (400 | 404 | 409 | 413 | 422), .. } => {
            DisputeReply::Refused { why: format!("HTTP {status}") }
        }
        HttpReply::Answer { status, .. } => DisputeReply::Unknown { why: format!("HTTP {status}") },
    }
}

fn reported(body: DisputeBody<'_>) -> Option<ReportedDispute> {
    Some(ReportedDispute {
        authorization: body.authorization_key.map(|key| key.parse()).transpose().ok()?,
        state: body.state.parse().ok()?,
        // A reason that is new there is no reason to lose the dispute.
        reason: body.reason.parse().unwrap_or(DisputeReason::General),
        amount: amount(Some(body.amount), Some(&body.currency)).ok()??,
        due_at: body.due_at.map(|due| due.parse()).transpose().ok()?,
        reference: body.reference,
    })
    .filter(|dispute| is_reference(&dispute.reference) && !dispute.amount.is_zero())
}

#[cfg(test)]
mod tests {
    use dropin_order::{DisputeReason, DisputeState, EvidenceMedia};
    use serde_json::{Value, json};

    use super::*;

    const KEY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

    fn dispute(number: u64) -> Value {
        json!({"Number": number, "Reference": format!("sbx_dp_{number}"), "AuthorizationKey": KEY, "State": "NEEDS_RESPONSE",
            "Reason": "FRAUDULENT", "Amount": 10.00, "Currency": "USD", "OpenedAt": "1970-01-01T00:00:00Z",
            "DueAt": "2026-12-01T00:00:00.000000Z"})
    }

    fn with(change: Value) -> Value {
        let mut body = dispute(5);
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    }

    fn answer(status: u16, body: &Value) -> HttpReply {
        HttpReply::Answer { status, retry_after: None, body: body.to_string().into_bytes().into() }
    }

    fn read_page(disputes: &[Value]) -> Result<Vec<ListedDispute>, DisputesUnavailable> {
        page(answer(200, &json!({"Disputes": disputes})), 4, 2)
    }

    #[test]
    fn disputes_are_read_whole() {
        let [first, second] = read_page(&[dispute(5), dispute(7)]).unwrap().try_into().unwrap();
        assert_eq!((first.position.as_str(), second.position.as_str()), ("5", "7"));
        let ReportedDispute { reference, authorization, state, reason, amount, due_at } = first.dispute.unwrap();
        assert_eq!((reference.as_str(), authorization), ("sbx_dp_5", KEY.parse().ok()));
        assert_eq!((state, reason), (DisputeState::NeedsResponse, DisputeReason::Fraudulent));
        assert_eq!((amount.minor(), due_at.unwrap().to_string().as_str()), (1_000, "2026-12-01T00:00:00.000000Z"));
        assert_eq!(position(Some("7")), Ok(7));
        assert!(position(Some("dp_7")).is_err() && position(None) == Ok(0));
    }

    #[test]
    fn what_was_not_asked_for_is_no_page() {
        for odd in [vec![dispute(4)], vec![dispute(6), dispute(5)], vec![dispute(5), dispute(6), dispute(7)]] {
            assert!(read_page(&odd).is_err(), "{odd:?}");
        }
        assert!(page(answer(500, &json!({"Disputes": []})), 0, 1).is_err());
        assert!(one(answer(200, &dispute(5)), "sbx_dp_6").is_err(), "another one");
        assert!(one(answer(200, &dispute(5)), "sbx_dp_5").is_ok());
    }

    #[test]
    fn what_makes_no_sense_keeps_no_other_dispute_from_being_read() {
        for odd in [
            json!({"State": "OPEN"}),
            json!({"Amount": "10"}),
            json!({"Amount": 0}),
            json!({"AuthorizationKey": "k"}),
            json!({"Reference": "../operations"}),
            json!({"DueAt": "soon"}),
        ] {
            let [odd, read] = read_page(&[with(odd), dispute(7)]).unwrap().try_into().unwrap();
            assert_eq!((odd.position.as_str(), odd.dispute), ("5", None), "the list goes on behind it");
            assert!(read.position == "7" && read.dispute.is_some());
        }
        let [read] = read_page(&[with(json!({"Reason": "BORED"}))]).unwrap().try_into().unwrap();
        assert_eq!(read.dispute.unwrap().reason, DisputeReason::General, "a reason that is new there");
    }

    #[test]
    fn only_what_it_says_of_this_answer_is_final() {
        let said = |status| reply(answer(status, &dispute(5)), "sbx_dp_5");
        assert!(matches!(said(200), DisputeReply::Taken(_)));
        for status in [400, 404, 409, 413, 422] {
            assert!(matches!(said(status), DisputeReply::Refused { .. }), "{status}");
        }
        for status in [201, 401, 403, 429, 500, 503, 504] {
            assert!(matches!(said(status), DisputeReply::Unknown { .. }), "{status}");
        }
        assert!(matches!(reply(answer(200, &dispute(5)), "sbx_dp_6"), DisputeReply::Unknown { .. }));
        assert!(matches!(reply(HttpReply::NotSent(String::new()), "sbx_dp_5"), DisputeReply::Unknown { .. }));
    }

    #[test]
    fn evidence_is_sent_as_it_is() {
        let file = EvidenceFile { name: "a.png".to_owned(), media: EvidenceMedia::Png, content: vec![0, 255] };
        let evidence = Evidence::new(Some("winning \"evidence\"".to_owned()), vec![file]).unwrap();
        let body: Value = serde_json::from_slice(&evidence_body(&evidence)).unwrap();
        let files = json!([{"Name": "a.png", "MediaType": "image/png", "Content": "AP8="}]);
        assert_eq!(body, json!({"Text": "winning \"evidence\"", "Files": files}));
    }
}
