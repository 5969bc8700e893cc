//! A merchant, or somebody for it, answers a dispute.

use dropin_access::AuditAction;
use dropin_kernel::{DisputeAnswerId, DisputeId, OrderId};
use dropin_order::{Dispute, DisputeAnswer, DisputeAnswerKind, DisputeAnswerState, DisputeState, WrongDisputeState};
use dropin_ports::{
    Acting, Actor, AnsweredDispute, ChangeDispute, DisputeAnswerRequest, DisputeChanged, DisputeReply, DisputeResponse,
    DisputeWithOrder, NewAuditEntry, NewDisputeAnswer, ReportedDispute, StoreError, StoredResponse,
};
use dropin_wire::audit_log::Document;

use super::draft::{Draft, answer_state};
use super::{ANSWER_LEASE, DisputeError, Disputes, MAX_ANSWER_PAUSE, MAX_CAS_RETRIES, busy, evidence};
use crate::audit_log::MerchantAct;
use crate::idempotency::IdempotentOutcome;

impl From<AnsweredDispute> for IdempotentOutcome {
    fn from(answered: AnsweredDispute) -> Self {
        let body = dropin_wire::dispute::dispute(&answered.dispute, answered.is_pending);
        Self::Unstored(StoredResponse { status: 200, etag: None, body })
    }
}

impl Disputes {
    /// Answers a dispute of the merchant's own Order. To accept what is accepted, or is about to be, tells how it stands; any other second answer is
    /// refused.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`DisputeError`].
    pub async fn answer(
        &self,
        act: &MerchantAct,
        order: OrderId,
        id: DisputeId,
        response: DisputeResponse,
    ) -> Result<AnsweredDispute, DisputeError> {
        let kind = response.kind();
        for round in 0..MAX_CAS_RETRIES {
            self.backoff(round).await;
            let found = self.own(act, order, id).await?;
            if let Some(answered) = repeated(&found, kind)? {
                return Ok(answered);
            }
            let (change, answer) = self.begun(&found, &act.by, &response).await?;
            match self.store.change_dispute(change).await? {
                DisputeChanged::Done => return self.give(&found.dispute, &answer, response).await,
                DisputeChanged::Stale | DisputeChanged::Known => {}
            }
        }
        Err(busy().into())
    }

    /// A dispute of the merchant's own Order, which it was told of.
    async fn own(&self, act: &MerchantAct, order: OrderId, id: DisputeId) -> Result<DisputeWithOrder, DisputeError> {
        let name = dropin_ports::OrderName::Id(order);
        self.orders.find_order(act.merchant, &name).await?.ok_or(DisputeError::NoOrder)?;
        let found = self.store.find_dispute(id).await?;
        found.filter(|found| found.order.id == order).ok_or(DisputeError::NotFound)
    }

    /// What is written before the processor is told.
    async fn begun(
        &self,
        found: &DisputeWithOrder,
        by: &Acting,
        response: &DisputeResponse,
    ) -> Result<(ChangeDispute, DisputeAnswer), DisputeError> {
        let now = self.clock.now();
        let wrong = |WrongDisputeState { found }| DisputeError::WrongState(found);
        found.dispute.check_answerable(now).map_err(wrong)?;
        let id = DisputeAnswerId::new(self.ids.ordered());
        let sealed = match response {
            DisputeResponse::Accept => None,
            DisputeResponse::Evidence(handed_in) => Some(evidence::seal(&*self.secrets, id, handed_in)?),
        };
        // Nobody here can tell the processor: the settler does at once.
        let is_ours = self.processors.find(&found.dispute.processor).await?.is_some();
        let answer = DisputeAnswer {
            id,
            dispute_id: found.dispute.id,
            merchant_id: found.dispute.merchant_id,
            kind: response.kind(),
            state: DisputeAnswerState::Open,
            tries: 0,
            due_at: if is_ours { now.plus(ANSWER_LEASE) } else { now },
            created_at: now,
        };
        let mut change = Draft::known(self, found, &by.actor, now).finish();
        change.begins = Some(NewDisputeAnswer { answer: answer.clone(), evidence: sealed });
        change.audit = Some(self.entry(found, by, response));
        Ok((change, answer))
    }

    /// The entry of the audit log: that evidence was handed in and how much, nothing of what it says.
    fn entry(&self, found: &DisputeWithOrder, by: &Acting, response: &DisputeResponse) -> NewAuditEntry {
        let dispute = &found.dispute;
        let document = Document::new()
            .text("DisputeId", dispute.id)
            .text("State", dispute.state)
            .text("Amount", format!("{:#}", dispute.amount));
        let (action, after) = match response {
            DisputeResponse::Accept => {
                (AuditAction::DisputeAccept, document.clone().text("Answer", DisputeAnswerKind::Accept))
            }
            DisputeResponse::Evidence(evidence) => {
                let characters = evidence.text().map_or(0, |text| text.chars().count());
                let files = evidence.files().iter().map(|file| format!("{}, {} bytes", file.media, file.content.len()));
                let after = document
                    .clone()
                    .number("TextCharacters", u64::try_from(characters).unwrap_or(u64::MAX))
                    .texts("Files", files);
                (AuditAction::DisputeEvidence, after)
            }
        };
        let (id, at) = (self.ids.ordered(), self.clock.now());
        let entry = NewAuditEntry::new(id, at, by.clone(), Some(dispute.merchant_id), action, dispute.order_id);
        entry.with_before(document.finish()).with_after(after.finish())
    }

    /// Tells the processor, and writes down what it says.
    async fn give(
        &self,
        dispute: &Dispute,
        answer: &DisputeAnswer,
        response: DisputeResponse,
    ) -> Result<AnsweredDispute, DisputeError> {
        // Where it cannot be found out, the settler gives the answer that is written down.
        let Ok(Some(processor)) = self.processors.find(&dispute.processor).await else {
            return Ok(AnsweredDispute { dispute: dispute.clone(), is_pending: true });
        };
        let request = DisputeAnswerRequest {
            key: answer.id,
            merchant_id: dispute.merchant_id,
            reference: dispute.reference.clone(),
            tries: answer.tries,
            response,
        };
        let reply = processor.api.answer_dispute(request).await;
        let concluded = self.conclude(answer, reply).await;
        // The processor was told: what is not written down now the settler finds out.
        concluded.map_err(|error| match error {
            DisputeError::Store(error) => DisputeError::Store(crate::payments::after_asking(error)),
            other => other,
        })
    }

    async fn conclude(&self, answer: &DisputeAnswer, reply: DisputeReply) -> Result<AnsweredDispute, DisputeError> {
        for round in 0..MAX_CAS_RETRIES {
            self.backoff(round).await;
            let found = self.store.find_dispute(answer.dispute_id).await?.ok_or(DisputeError::NotFound)?;
            let is_open = found.open_answer.as_ref().is_some_and(|open| open.id == answer.id);
            if !is_open {
                // Somebody else has concluded it.
                return Ok(AnsweredDispute { dispute: found.dispute, is_pending: false });
            }
            let change = match &reply {
                DisputeReply::Taken(reported) => self.taken(&found, answer, reported)?,
                DisputeReply::Refused { why } => {
                    log::warn!(dispute:% = answer.dispute_id, why = why.as_str(); "the processor does not take an answer to a dispute");
                    let mut change = Draft::known(self, &found, &Actor::System, self.clock.now()).finish();
                    change.ends = Some((answer.id, DisputeAnswerState::Refused));
                    change
                }
                DisputeReply::Unknown { why } => {
                    log::warn!(
                        dispute:% = answer.dispute_id, why = why.as_str();
                        "whether the processor has an answer to a dispute is not known: it is given again under its key"
                    );
                    let pause = std::time::Duration::from_secs(1).saturating_mul(1 << answer.tries.min(16));
                    let due_at = self.clock.now().plus(pause.min(MAX_ANSWER_PAUSE));
                    self.store.postpone_answer(answer.id, due_at).await?;
                    return Ok(AnsweredDispute { dispute: found.dispute, is_pending: true });
                }
            };
            let dispute = change.dispute.clone();
            if self.store.change_dispute(change).await? == DisputeChanged::Done {
                return match &reply {
                    DisputeReply::Refused { why } => Err(DisputeError::Refused(why.clone())),
                    _ => Ok(AnsweredDispute { dispute, is_pending: false }),
                };
            }
        }
        Err(busy().into())
    }

    /// The processor has the answer: what follows from it, and from what the bank may have decided at once.
    fn taken(
        &self,
        found: &DisputeWithOrder,
        answer: &DisputeAnswer,
        reported: &ReportedDispute,
    ) -> Result<ChangeDispute, DisputeError> {
        let mut draft = Draft::known(self, found, &Actor::System, self.clock.now());
        let wrong = |_refused| DisputeError::WrongState(found.dispute.state);
        // An inquiry that is accepted is closed and takes nothing: it is won, and no money is gone for good.
        let takes_nothing = answer.kind == DisputeAnswerKind::Accept && reported.state == DisputeState::Won;
        if found.dispute.state == DisputeState::NeedsResponse && !takes_nothing {
            draft.moved(answer.kind.trigger()).map_err(wrong)?;
        }
        draft.follow(reported).map_err(wrong)?;
        let state = answer_state(found, draft.dispute.state).unwrap_or(DisputeAnswerState::Taken);
        let mut change = draft.finish();
        change.ends = Some((answer.id, state));
        Ok(change)
    }

    /// Gives answers again whose outcome is open and whose time has come, at most `limit`; says how many.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn give_due(&self, limit: u32) -> Result<u32, StoreError> {
        let now = self.clock.now();
        let due = self.store.claim_due_answers(now, now.plus(ANSWER_LEASE), limit).await?;
        let count = u32::try_from(due.len()).unwrap_or(u32::MAX);
        for answer in due {
            if let Err(error) = self.give_again(&answer).await {
                log::warn!(dispute:% = answer.dispute_id, error:% = error; "an answer to a dispute is not given yet; it stays due");
            }
        }
        Ok(count)
    }

    async fn give_again(&self, answer: &DisputeAnswer) -> Result<(), DisputeError> {
        let found = self.store.find_dispute(answer.dispute_id).await?.ok_or(DisputeError::NotFound)?;
        let response = match answer.kind {
            DisputeAnswerKind::Accept => DisputeResponse::Accept,
            DisputeAnswerKind::Evidence => {
                let sealed = self.store.find_evidence(answer.id).await?;
                let missing = || StoreError::Corrupt { table: "dispute_evidence", what: "it is missing".to_owned() };
                DisputeResponse::Evidence(evidence::open(&*self.secrets, answer.id, &sealed.ok_or_else(missing)?)?)
            }
        };
        match self.give(&found.dispute, answer, response).await {
            // What the processor refuses is written down, and nobody waits to hear it.
            Ok(_) | Err(DisputeError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// How a dispute stands that was answered before.
fn repeated(found: &DisputeWithOrder, kind: DisputeAnswerKind) -> Result<Option<AnsweredDispute>, DisputeError> {
    let accepts = kind == DisputeAnswerKind::Accept;
    let stands = |is_pending| Ok(Some(AnsweredDispute { dispute: found.dispute.clone(), is_pending }));
    match &found.open_answer {
        Some(open) if accepts && open.kind == kind => stands(true),
        Some(_other) => Err(DisputeError::AnswerPending),
        None if accepts && found.dispute.state == DisputeState::Accepted => stands(false),
        None => Ok(None),
    }
}
