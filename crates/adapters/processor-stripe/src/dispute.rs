//! Stripe's disputes (docs.stripe.com/api/disputes): their list, one of them, and the answers to it.

use dropin_kernel::Timestamp;
use dropin_order::{DisputeReason, DisputeState, Evidence, EvidenceMedia};
use dropin_ports::{
    DisputeAnswerRequest, DisputeReply, DisputeResponse, DisputesUnavailable, ListedDispute, ReportedDispute,
};

use crate::amount::from_units;
use crate::asking::{Asking, Said};
use crate::multipart::evidence_file;
use crate::names::{ACCEPTED, ANSWER, OPERATION, is_id};
use crate::object::{Dispute, DisputeList, Expandable, Identified};

/// Most disputes that are told at once.
const MAX_TOLD: u32 = 100;
/// Disputes of one page: each is shown with the text of its evidence.
const PAGE: u32 = 20;
/// Most pages that are read back to the beginning of the list.
const MAX_PAGES: u32 = 500;
/// What a page of the list shows in full: the payment, which has our operation's id.
const EXPAND_LISTED: &str = "expand[0]=data.payment_intent";
/// What an answer about one dispute shows in full.
const EXPANDED: (&str, &str) = ("expand[0]", "payment_intent");
/// Where a file goes whose name says nothing else; one can.
const ANY_FILE: &str = "uncategorized_file";
/// What a file of evidence may be to Stripe besides; it takes one of each. A file of that name goes there.
const FILE_KINDS: &[&str] = &[
    "cancellation_policy",
    "customer_communication",
    "customer_signature",
    "duplicate_charge_documentation",
    "receipt",
    "refund_policy",
    "service_documentation",
    "shipping_documentation",
];

fn unavailable(why: impl Into<String>) -> DisputesUnavailable {
    DisputesUnavailable(why.into())
}

/// Reads on behind a dispute, or from the beginning.
pub(crate) async fn list(
    asking: &mut Asking<'_>,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<ListedDispute>, DisputesUnavailable> {
    let limit = limit.clamp(1, MAX_TOLD);
    let newer = match after {
        Some(after) => newer(asking, after, limit).await?,
        None => None,
    };
    let disputes = match newer {
        Some(newer) => newer,
        None => oldest(asking, limit).await?,
    };
    let listed = |dispute: &Dispute| {
        let reported = reported(dispute);
        if reported.is_none() {
            let reference = dispute.id.as_str();
            log::error!(reference; "a dispute of Stripe's list makes no sense and is passed over: see to it there");
        }
        ListedDispute { position: dispute.id.clone(), dispute: reported }
    };
    // No list goes on behind what has no name.
    Ok(disputes.iter().filter(|dispute| is_id(&dispute.id)).map(listed).collect())
}

/// Those that follow this one, the oldest first. Stripe's list has the newest first, and goes back to where it ends before it. `None` when Stripe has no
/// such dispute any more.
async fn newer(asking: &mut Asking<'_>, after: &str, limit: u32) -> Result<Option<Vec<Dispute>>, DisputesUnavailable> {
    let (mut disputes, mut place, mut left) = (Vec::new(), after.to_owned(), limit);
    while 0 < left {
        if !is_id(&place) {
            return Err(unavailable("the position is none of Stripe's"));
        }
        asking.until = asking.transport.deadline();
        let size = left.min(PAGE);
        let path = format!("/v1/disputes?limit={size}&ending_before={place}&{EXPAND_LISTED}");
        let said = match asking.get_page(&path).await {
            Said::Refused { error, .. } if error.code() == Some("resource_missing") => {
                log::warn!(position = after; "Stripe does not know the dispute that was read last: its list is read from the beginning");
                return Ok(None);
            }
            said => said,
        };
        let DisputeList { mut data, has_more } = page(said, size)?;
        data.reverse();
        left = left.saturating_sub(u32::try_from(data.len()).unwrap_or(u32::MAX));
        let last = data.last().map(|dispute| dispute.id.clone());
        disputes.extend(data);
        match last.filter(|_| has_more) {
            Some(last) => place = last,
            None => break,
        }
    }
    Ok(Some(disputes))
}

/// The oldest of all, found by reading the list to its end.
async fn oldest(asking: &mut Asking<'_>, limit: u32) -> Result<Vec<Dispute>, DisputesUnavailable> {
    let (mut kept, mut place) = (Vec::new(), String::new());
    for _ in 0..MAX_PAGES {
        asking.until = asking.transport.deadline();
        let path = format!("/v1/disputes?limit={PAGE}{place}&{EXPAND_LISTED}");
        let DisputeList { data, has_more } = page(asking.get_page(&path).await, PAGE)?;
        let last = data.last().map(|dispute| dispute.id.clone());
        kept.extend(data);
        kept.drain(..kept.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX)));
        match last.filter(|_| has_more) {
            None => {
                kept.reverse();
                return Ok(kept);
            }
            Some(last) if is_id(&last) => place = format!("&starting_after={last}"),
            Some(_) => return Err(unavailable("a dispute has a name that makes no sense")),
        }
    }
    log::warn!("Stripe has more disputes than are looked through: the oldest are not taken up; see to them there");
    kept.reverse();
    Ok(kept)
}

fn page(said: Said<DisputeList>, limit: u32) -> Result<DisputeList, DisputesUnavailable> {
    match said {
        Said::Object(page) if page.data.len() <= usize::try_from(limit).unwrap_or(usize::MAX) => Ok(page),
        Said::Object(_longer) => Err(unavailable("the answer is another page than the one asked for")),
        said => Err(unavailable(said.why())),
    }
}

/// Reads one dispute.
pub(crate) async fn read(asking: &Asking<'_>, reference: &str) -> Result<ReportedDispute, DisputesUnavailable> {
    let dispute = find(asking, reference).await.map_err(unavailable)?;
    reported(&dispute).ok_or_else(|| unavailable("the answer makes no sense"))
}

/// A dispute by its id; why not, for the log.
async fn find(asking: &Asking<'_>, reference: &str) -> Result<Dispute, String> {
    if !is_id(reference) {
        return Err("the reference is none of Stripe's".to_owned());
    }
    match show(asking, reference).await {
        Said::Object(found) if found.id == reference => Ok(found),
        Said::Object(_other) => Err("the answer is about another dispute".to_owned()),
        said => Err(said.why()),
    }
}

async fn show(asking: &Asking<'_>, reference: &str) -> Said<Dispute> {
    let (name, value) = EXPANDED;
    asking.get(&format!("/v1/disputes/{reference}?{name}={value}")).await
}

/// Gives an answer.
pub(crate) async fn answer(asking: &Asking<'_>, request: &DisputeAnswerRequest) -> DisputeReply {
    if !is_id(&request.reference) {
        return refused("the reference is none of Stripe's");
    }
    if let Some(reply) = given_before(asking, request).await {
        return reply;
    }
    match &request.response {
        DisputeResponse::Accept => accept(asking, request).await,
        DisputeResponse::Evidence(evidence) => hand_in(asking, request, evidence).await,
    }
}

/// What is known of an answer that was given before without a clear reply; `None` when it is to be given.
async fn given_before(asking: &Asking<'_>, request: &DisputeAnswerRequest) -> Option<DisputeReply> {
    if request.tries == 0 {
        return None;
    }
    match show(asking, &request.reference).await {
        Said::Object(dispute) if is_given(request, &dispute) => {
            reported(&dispute).filter(|found| found.reference == request.reference).map(DisputeReply::Taken)
        }
        // Where Stripe refuses to show it, it refuses the answer, too.
        Said::Object(_) | Said::Refused { .. } => None,
        said => Some(DisputeReply::Unknown { why: said.why() }),
    }
}

/// Whether the dispute itself says that it was answered so.
fn is_given(request: &DisputeAnswerRequest, dispute: &Dispute) -> bool {
    match request.response {
        DisputeResponse::Accept => matches!(dispute.status.as_str(), "lost" | "warning_closed"),
        DisputeResponse::Evidence(_) => dispute.metadata.get(ANSWER) == Some(&request.key.to_string()),
    }
}

/// Under what this try is made. Stripe repeats its own failure under a key for a day: each try has another one.
fn try_key(request: &DisputeAnswerRequest) -> String {
    match request.tries {
        0 => request.key.to_string(),
        tries => format!("{}-{tries}", request.key),
    }
}

fn refused(why: impl Into<String>) -> DisputeReply {
    DisputeReply::Refused { why: why.into() }
}

/// Closes a dispute, which Stripe then calls lost, or an inquiry, which it calls closed. That it was accepted is written beside it before.
async fn accept(asking: &Asking<'_>, request: &DisputeAnswerRequest) -> DisputeReply {
    let (key, path, name) = (request.key.to_string(), path(request), format!("metadata[{ACCEPTED}]"));
    let once = try_key(request);
    // Nothing that somebody has prepared at Stripe is handed in by it.
    let fields = [(name.as_str(), key.as_str()), ("submit", "false"), EXPANDED];
    let said = match asking.post::<Dispute>(&path, Some(&format!("{once}-accept")), &fields).await {
        Said::Object(_marked) => {
            asking.post(&format!("{path}/close"), Some(&format!("{once}-close")), &[EXPANDED]).await
        }
        said => said,
    };
    concluded(asking, request, said).await
}

/// Sends the files, then what they are evidence of, and submits it to the bank.
async fn hand_in(asking: &Asking<'_>, request: &DisputeAnswerRequest, evidence: &Evidence) -> DisputeReply {
    let kinds = match file_kinds(evidence) {
        Ok(kinds) => kinds,
        Err(why) => return refused(why),
    };
    let (key, once) = (request.key.to_string(), try_key(request));
    let mut files = Vec::new();
    for (index, file) in evidence.files().iter().enumerate() {
        let number = index + 1;
        let upload = evidence_file(&format!("dropin-{key}"), file);
        match asking.upload::<Identified>(&format!("{once}-file-{number}"), &upload).await {
            Said::Object(file) => files.push(file.id),
            Said::Refused { status: 400 | 413, error } => {
                return refused(format!("Stripe does not take file {number}: {}", error.words()));
            }
            said => return DisputeReply::Unknown { why: said.why() },
        }
    }
    let names: Vec<_> = kinds.into_iter().map(|kind| format!("evidence[{kind}]")).collect();
    let mark = format!("metadata[{ANSWER}]");
    let mut fields = vec![(mark.as_str(), key.as_str()), ("submit", "true"), EXPANDED];
    fields.extend(evidence.text().map(|text| ("evidence[uncategorized_text]", text)));
    fields.extend(names.iter().map(String::as_str).zip(files.iter().map(String::as_str)));
    let said = asking.post::<Dispute>(&path(request), Some(&format!("{once}-evidence")), &fields).await;
    concluded(asking, request, said).await
}

fn path(request: &DisputeAnswerRequest) -> String {
    format!("/v1/disputes/{}", request.reference)
}

/// What is known of an answer after its last call. Of one that Stripe refuses, the dispute itself says whether it was given before.
async fn concluded(asking: &Asking<'_>, request: &DisputeAnswerRequest, said: Said<Dispute>) -> DisputeReply {
    let (dispute, error) = match said {
        Said::Object(dispute) => (dispute, None),
        Said::Refused { status: 400 | 404 | 409 | 422, error } => match find(asking, &request.reference).await {
            Ok(dispute) => (dispute, Some(error)),
            Err(_gone) if error.code() == Some("resource_missing") => return refused("Stripe has no such dispute"),
            Err(why) => return DisputeReply::Unknown { why },
        },
        said => return DisputeReply::Unknown { why: said.why() },
    };
    match (reported(&dispute), error) {
        (Some(_), Some(error)) if !is_given(request, &dispute) => refused(format!("Stripe says {}", error.words())),
        (Some(reported), _) if reported.reference == request.reference => DisputeReply::Taken(reported),
        _ => DisputeReply::Unknown { why: "the answer makes no sense".to_owned() },
    }
}

/// What each file is to Stripe.
fn file_kinds(evidence: &Evidence) -> Result<Vec<&'static str>, String> {
    let mut kinds = Vec::new();
    for (index, file) in evidence.files().iter().enumerate() {
        let number = index + 1;
        if file.media == EvidenceMedia::Text {
            return Err(format!("file {number} is a text, and Stripe takes PDF, JPEG and PNG: write it into Text"));
        }
        let stem = file.name.rsplit_once('.').map_or(file.name.as_str(), |(stem, _)| stem);
        let kind = FILE_KINDS.iter().find(|kind| stem.eq_ignore_ascii_case(kind)).copied().unwrap_or(ANY_FILE);
        if kinds.contains(&kind) {
            let known = FILE_KINDS.join(", ");
            return Err(format!(
                "file {number} is a second {kind}, and Stripe takes one: join the two, or name the file for what it is ({known})"
            ));
        }
        kinds.push(kind);
    }
    Ok(kinds)
}

/// A dispute as it is told; `None` when it makes no sense. One whose payment has no operation of ours is none of ours.
fn reported(dispute: &Dispute) -> Option<ReportedDispute> {
    let state = match dispute.status.as_str() {
        // What a bank only inquires about is followed like what it took back, for it may take it back later.
        "needs_response" | "warning_needs_response" => DisputeState::NeedsResponse,
        "under_review" | "warning_under_review" => DisputeState::UnderReview,
        // One that was prevented took nothing.
        "won" | "warning_closed" | "prevented" => DisputeState::Won,
        "lost" if dispute.metadata.contains_key(ACCEPTED) => DisputeState::Accepted,
        "lost" => DisputeState::Lost,
        _ => return None,
    };
    let intent = dispute.payment_intent.as_ref().and_then(Expandable::object);
    let due_by = dispute.evidence_details.as_ref().and_then(|details| details.due_by);
    Some(ReportedDispute {
        reference: dispute.id.clone(),
        authorization: intent.and_then(|intent| intent.metadata.get(OPERATION)?.parse().ok()),
        state,
        reason: reason(&dispute.reason),
        amount: from_units(&dispute.currency, dispute.amount).filter(|amount| !amount.is_zero())?,
        due_at: due_by.and_then(|seconds| Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?))),
    })
    .filter(|reported| is_id(&reported.reference))
}

/// A reason that has no word here is told as any other.
fn reason(text: &str) -> DisputeReason {
    match text {
        "fraudulent" => DisputeReason::Fraudulent,
        "duplicate" => DisputeReason::Duplicate,
        "product_not_received" => DisputeReason::ProductNotReceived,
        "product_unacceptable" => DisputeReason::ProductUnacceptable,
        "subscription_canceled" => DisputeReason::SubscriptionCancelled,
        "credit_not_processed" => DisputeReason::CreditNotProcessed,
        "unrecognized" => DisputeReason::Unrecognized,
        _ => DisputeReason::General,
    }
}

#[cfg(test)]
mod tests {
    use dropin_order::EvidenceFile;
    use serde_json::{Value, json};

    use super::*;

    const KEY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

    fn dispute(change: Value) -> Option<ReportedDispute> {
        let mut body = json!({"id": "du_1", "object": "dispute", "status": "needs_response", "reason": "fraudulent",
            "amount": 1_000, "currency": "usd", "metadata": {}, "evidence_details": {"due_by": 1_800_000_000},
            "payment_intent": {"id": "pi_1", "metadata": {"dropin_operation": KEY}}});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        reported(&serde_json::from_value(body).unwrap())
    }

    #[test]
    fn each_status_has_its_meaning() {
        use DisputeState::{Accepted, Lost, NeedsResponse, UnderReview, Won};
        for (status, state) in [
            ("needs_response", Some(NeedsResponse)),
            ("warning_needs_response", Some(NeedsResponse)),
            ("under_review", Some(UnderReview)),
            ("warning_under_review", Some(UnderReview)),
            ("won", Some(Won)),
            ("warning_closed", Some(Won)),
            ("prevented", Some(Won)),
            ("lost", Some(Lost)),
            ("bored", None),
        ] {
            assert_eq!(dispute(json!({"status": status})).map(|told| told.state), state, "{status}");
        }
        let accepted = dispute(json!({"status": "lost", "metadata": {"dropin_accepted": KEY}})).unwrap();
        assert_eq!(accepted.state, Accepted);
    }

    #[test]
    fn a_dispute_is_told_with_its_payment_and_its_due_time() {
        let told = dispute(json!({})).unwrap();
        assert_eq!((told.authorization, told.reason), (KEY.parse().ok(), DisputeReason::Fraudulent));
        assert_eq!((told.amount.minor(), told.due_at.unwrap().unix_seconds()), (1_000, 1_800_000_000));
        for foreign in [json!({"payment_intent": null}), json!({"payment_intent": "pi_1"})] {
            assert_eq!(dispute(foreign).unwrap().authorization, None);
        }
        assert_eq!(dispute(json!({"evidence_details": {"due_by": null}})).unwrap().due_at, None);
        assert_eq!(dispute(json!({"reason": "check_returned"})).unwrap().reason, DisputeReason::General);
        for odd in [json!({"amount": 0}), json!({"currency": "btc"}), json!({"id": "du_1/../x"})] {
            assert_eq!(dispute(odd.clone()), None, "{odd}");
        }
    }

    #[test]
    fn files_go_where_their_names_say_and_one_of_each_kind() {
        let kinds = |names: &[(&str, EvidenceMedia)]| {
            let file = |(name, media): &(&str, EvidenceMedia)| EvidenceFile {
                name: (*name).to_owned(),
                media: *media,
                content: vec![1],
            };
            file_kinds(&Evidence::new(None, names.iter().map(file).collect()).unwrap())
        };
        use EvidenceMedia::{Jpeg, Pdf, Png, Text};
        assert_eq!(
            kinds(&[("Receipt.pdf", Pdf), ("photo.of.parcel.jpg", Jpeg), ("customer_signature", Png)]).unwrap(),
            ["receipt", "uncategorized_file", "customer_signature"]
        );
        let two = kinds(&[("a.pdf", Pdf), ("b.pdf", Pdf)]).unwrap_err();
        assert!(two.starts_with("file 2 is a second uncategorized_file") && two.contains("receipt"), "{two}");
        assert!(kinds(&[("a.txt", Text)]).unwrap_err().contains("PDF"));
    }
}
