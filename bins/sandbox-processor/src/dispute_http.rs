//! The routes of disputes: their list, one of them, and the answers to it.

use actix_web::{HttpRequest, HttpResponse, web};
use dropin_kernel::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::dispute::{self, Answer, Answered};
use crate::enums::{Call, DisputeState};
use crate::faults::Mode;
use crate::http::{Body, MAX_PAGE, Page, Processor, Refusal, idempotency_key, read};
use crate::perform::{self, now};
use crate::response::{Corrupt, stored_amount};
use crate::rows;

/// Largest body with evidence: 2 MiB of files as base64, and the text.
pub(crate) const MAX_EVIDENCE_BODY: usize = 4 * 1024 * 1024;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Dispute {
    number: i64,
    reference: String,
    authorization_key: String,
    state: DisputeState,
    reason: &'static str,
    amount: Box<RawValue>,
    currency: String,
    opened_at: String,
    due_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Disputes {
    disputes: Vec<Dispute>,
}

impl TryFrom<rows::Dispute> for Dispute {
    type Error = Corrupt;

    fn try_from(row: rows::Dispute) -> Result<Self, Corrupt> {
        let amount = stored_amount(&row.authorization_key, row.amount, &row.currency)?;
        let no_number = |_other| Corrupt(row.authorization_key.clone());
        Ok(Self {
            amount: RawValue::from_string(amount.to_string()).map_err(no_number)?,
            number: row.number,
            reference: row.reference,
            authorization_key: row.authorization_key,
            state: row.state,
            reason: "FRAUDULENT",
            currency: row.currency,
            opened_at: Timestamp::from_micros(row.opened_at).to_string(),
            due_at: Timestamp::from_micros(row.due_at).to_string(),
        })
    }
}

/// Evidence, of which nothing is kept: its text decides, its files are looked at for their form alone.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Evidence {
    #[serde(default)]
    text: String,
    #[serde(default)]
    files: Vec<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct File {
    name: String,
    media_type: String,
    content: String,
}

impl File {
    fn is_one(&self) -> bool {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        !self.name.is_empty() && self.media_type.contains('/') && self.content.bytes().all(is_base64)
    }
}

/// Disputes behind a number, oldest first.
pub(crate) async fn list(
    processor: Processor,
    page: Result<web::Query<Page>, actix_web::Error>,
) -> Result<HttpResponse, Refusal> {
    let malformed = || Refusal::Malformed(format!("after must be a number, limit a number from 1 to {MAX_PAGE}."));
    let page = page.map_err(|_not_numbers| malformed())?;
    let (after, limit) = (page.after.unwrap_or(0), page.limit.unwrap_or(MAX_PAGE));
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(malformed());
    }
    let rows = processor.store().run(move |store| dispute::list(store, after, limit, now())).await??;
    let disputes = rows.into_iter().map(Dispute::try_from).collect::<Result<_, _>>()?;
    Ok(HttpResponse::Ok().json(Disputes { disputes }))
}

/// How a dispute stands.
pub(crate) async fn get(processor: Processor, reference: web::Path<String>) -> Result<HttpResponse, Refusal> {
    let found = processor.store().run(move |store| dispute::find(store, &reference, now())).await??;
    Ok(HttpResponse::Ok().json(Dispute::try_from(found.ok_or(Refusal::NoDispute)?)?))
}

/// The shopper keeps the money.
pub(crate) async fn accept(
    processor: Processor,
    http: HttpRequest,
    reference: web::Path<String>,
) -> Result<HttpResponse, Refusal> {
    take(&processor, &http, reference.into_inner(), Answer::Accept).await
}

/// Evidence that the payment was right.
pub(crate) async fn hand_in(
    processor: Processor,
    http: HttpRequest,
    reference: web::Path<String>,
    body: Body,
) -> Result<HttpResponse, Refusal> {
    let malformed =
        || Refusal::Malformed("Text must be a text, Files a list of Name, MediaType and Content in base64.".to_owned());
    let evidence: Evidence = serde_json::from_slice(&read(body)?).map_err(|_other| malformed())?;
    if !evidence.files.iter().all(File::is_one) || (evidence.text.is_empty() && evidence.files.is_empty()) {
        return Err(malformed());
    }
    take(&processor, &http, reference.into_inner(), Answer::of_evidence(&evidence.text)).await
}

async fn take(
    processor: &Processor,
    http: &HttpRequest,
    reference: String,
    answer: Answer,
) -> Result<HttpResponse, Refusal> {
    let key = idempotency_key(http)?.to_string();
    let fault = processor.faults().take(Call::Dispute, None);
    let work = move |store: &mut _, context: crate::rules::CallContext| match context.refuse {
        Some(_) => Ok(Answered::Closed),
        None => dispute::answer(store, &reference, &key, &answer, context),
    };
    let answered = perform::run(processor, fault, work).await??;
    if fault.mode == Mode::TimeoutAfterWork {
        return Err(perform::time_out(fault.silence(processor.silence())).await);
    }
    match answered {
        Answered::Unknown => Err(Refusal::NoDispute),
        Answered::Closed => Err(Refusal::DisputeClosed),
        Answered::Taken(dispute, replayed) => {
            let mut response = HttpResponse::Ok();
            if replayed {
                response.insert_header(("Idempotent-Replayed", "true"));
            }
            Ok(response.json(Dispute::try_from(dispute)?))
        }
    }
}
