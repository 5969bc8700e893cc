//! The disputes of an Order, and answering one.

use dropin_kernel::{DisputeId, Timestamp, Violations};
use dropin_order::{Dispute, Evidence, EvidenceFile, Order};
use dropin_ports::{AnsweredDispute, DisputeResponse};
use dropin_usecases::disputes::DisputeError;

use super::acts::again;
use super::page::{Form, load};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::screens::{in_words, merchant_act, required_note};
use crate::show::{self, Html};
use crate::texts::{sentence, texts};

/// A dispute as the Order's page shows it.
pub(super) struct DisputeRow {
    pub(super) id: String,
    pub(super) reason: String,
    pub(super) amount: String,
    pub(super) state: Html,
    pub(super) due: Option<Html>,
}

impl From<&AnsweredDispute> for DisputeRow {
    fn from(AnsweredDispute { dispute, is_pending }: &AnsweredDispute) -> Self {
        Self {
            id: dispute.id.to_string(),
            reason: show::words(dispute.reason.as_str()),
            amount: show::money(&dispute.amount),
            state: match is_pending {
                true => show::badge("wait", texts().answer_on_its_way),
                false => show::dispute_badge(dispute.state),
            },
            due: dispute.due_at.filter(|_| !dispute.state.is_final()).map(show::instant),
        }
    }
}

/// The dispute that is to be answered next: none whose answer is on its way.
pub(super) fn to_answer(disputes: &[AnsweredDispute], now: Timestamp) -> Option<&Dispute> {
    let waits = |one: &&AnsweredDispute| !one.is_pending && one.dispute.check_answerable(now).is_ok();
    disputes.iter().find(waits).map(|one| &one.dispute)
}

/// The disputes of an Order with what is known of answers to them.
pub(super) async fn disputes_of(request: &PanelRequest, order: &Order) -> Result<Vec<AnsweredDispute>, Refusal> {
    match request.deps.disputes.of_order(order.merchant_id, order.id).await {
        Ok(disputes) => Ok(disputes),
        Err(DisputeError::Store(error)) => Err(error.into()),
        Err(_none_is_shown) => Ok(Vec::new()),
    }
}

/// The evidence of a form, or what is wrong with it.
fn evidence(request: &PanelRequest, wrong: &mut Vec<String>) -> Option<Evidence> {
    let text = request.fields.given("text");
    if text.is_none() && request.files.is_empty() {
        wrong.push(texts().write_the_evidence.to_owned());
        return None;
    }
    let mut files = Vec::new();
    for part in &request.files {
        let name = part.file_name.clone().unwrap_or_default();
        match part.media_type.as_deref().unwrap_or_default().to_ascii_lowercase().parse() {
            Ok(media) => files.push(EvidenceFile { name, media, content: part.content.clone() }),
            Err(_unknown) => wrong.push(texts().no_file_of_evidence(name)),
        }
    }
    let evidence = Evidence::new(text.map(str::to_owned), files);
    let told = |all: Violations| wrong.extend(in_words(&all.into_sorted()));
    evidence.map_err(told).ok()
}

/// Accepts a dispute, or hands in what was written and chosen as evidence.
pub(crate) async fn answer_dispute(request: PanelRequest) -> Answer {
    let (trail, _) = load(&request).await?;
    let order = &trail.records.order;
    let id = request.fields.text("dispute").parse::<DisputeId>();
    let id = id.map_err(|_no_id| Refusal::Invalid(texts().form_damaged.to_owned()))?;
    let mut wrong: Vec<String> = required_note(&request.fields).err().into_iter().collect();
    let response = match request.fields.text("answer") {
        "accept" => Some(DisputeResponse::Accept),
        "evidence" => evidence(&request, &mut wrong).map(DisputeResponse::Evidence),
        _ => return Err(Refusal::Invalid(texts().form_damaged.to_owned())),
    };
    let Some(response) = response.filter(|_| wrong.is_empty()) else {
        return again(&request, Form::Dispute, wrong).await;
    };
    let (disputes, act, order) = (request.deps.disputes.clone(), merchant_act(&request, order.merchant_id), order.id);
    let flow = async move { disputes.answer(&act, order, id, response).await };
    let done = match request.deps.flows.run(flow).await? {
        Ok(AnsweredDispute { is_pending: true, .. }) => "dispute-pending",
        Ok(AnsweredDispute { is_pending: false, .. }) => "dispute-answered",
        Err(DisputeError::Store(error)) => return Err(error.into()),
        Err(DisputeError::NoOrder | DisputeError::NotFound) => return Err(Refusal::NotFound("Dispute")),
        Err(refused) => return again(&request, Form::Dispute, vec![sentence(&refused)]).await,
    };
    Ok(see(format!("/orders/{order}?done={done}")))
}
