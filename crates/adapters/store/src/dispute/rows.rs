use diesel::prelude::{Insertable, Queryable, Selectable};
use dropin_kernel::{DisputeAnswerId, DisputeId, MerchantId, OrderId, Revision};
use dropin_order::{Dispute, DisputeAnswer, DisputeAnswerKind, DisputeAnswerState, DisputeReason, DisputeState};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant};

use crate::rows::{amount, currency, missing};
use crate::schema::{dispute, dispute_answer};

pub(super) const TABLE: &str = "dispute";
pub(super) const ANSWERS: &str = "dispute_answer";

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = dispute)]
pub(crate) struct DisputeRow {
    id: Id,
    order_id: Id,
    merchant_id: Id,
    processor: String,
    reference: String,
    revision: i64,
    state: String,
    reason: String,
    currency: String,
    amount_minor: i64,
    due_at: Option<Instant>,
    created_at: Instant,
    updated_at: Instant,
    look_at: Instant,
}

impl DisputeRow {
    /// The row of a new dispute, whose processor may be asked at once how it stands.
    pub(crate) fn new(dispute: &Dispute) -> Self {
        Self {
            id: Id(dispute.id.uuid()),
            order_id: Id(dispute.order_id.uuid()),
            merchant_id: Id(dispute.merchant_id.uuid()),
            processor: dispute.processor.to_string(),
            reference: dispute.reference.clone(),
            revision: dispute.revision.number(),
            state: dispute.state.as_str().to_owned(),
            reason: dispute.reason.as_str().to_owned(),
            currency: dispute.amount.currency().code().to_owned(),
            amount_minor: dispute.amount.minor(),
            due_at: dispute.due_at.map(Instant),
            created_at: Instant(dispute.created_at),
            updated_at: Instant(dispute.updated_at),
            look_at: Instant(dispute.created_at),
        }
    }

    pub(crate) fn restore(self) -> Result<Dispute, Fault> {
        let amount = amount(TABLE, currency(TABLE, &self.currency)?, self.amount_minor)?;
        if amount.is_zero() {
            return Err(missing(TABLE, "the amount"));
        }
        if self.revision < Revision::FIRST.number() {
            return Err(missing(TABLE, "revision"));
        }
        Ok(Dispute {
            id: DisputeId::new(self.id.0),
            order_id: OrderId::new(self.order_id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            processor: self.processor.parse().map_err(|_no_name| corrupt(TABLE, "the processor's name is none"))?,
            reference: self.reference,
            revision: Revision::new(self.revision),
            state: self.state.parse::<DisputeState>().map_err(|_unknown| corrupt(TABLE, "the state is unknown"))?,
            reason: self.reason.parse::<DisputeReason>().map_err(|_unknown| corrupt(TABLE, "the reason is unknown"))?,
            amount,
            due_at: self.due_at.map(|due| due.0),
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        })
    }
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = dispute_answer)]
pub(crate) struct AnswerRow {
    id: Id,
    dispute_id: Id,
    merchant_id: Id,
    kind: String,
    state: String,
    tries: i32,
    due_at: Instant,
    created_at: Instant,
}

impl AnswerRow {
    /// The row of a new answer.
    pub(crate) fn new(answer: &DisputeAnswer) -> Self {
        Self {
            id: Id(answer.id.uuid()),
            dispute_id: Id(answer.dispute_id.uuid()),
            merchant_id: Id(answer.merchant_id.uuid()),
            kind: answer.kind.as_str().to_owned(),
            state: answer.state.as_str().to_owned(),
            tries: i32::try_from(answer.tries).unwrap_or(i32::MAX),
            due_at: Instant(answer.due_at),
            created_at: Instant(answer.created_at),
        }
    }

    pub(crate) fn restore(self) -> Result<DisputeAnswer, Fault> {
        Ok(DisputeAnswer {
            id: DisputeAnswerId::new(self.id.0),
            dispute_id: DisputeId::new(self.dispute_id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            kind: self.kind.parse::<DisputeAnswerKind>().map_err(|_unknown| corrupt(ANSWERS, "the kind is unknown"))?,
            state: self
                .state
                .parse::<DisputeAnswerState>()
                .map_err(|_unknown| corrupt(ANSWERS, "the state is unknown"))?,
            tries: u32::try_from(self.tries).map_err(|_negative| corrupt(ANSWERS, "less than no tries"))?,
            due_at: self.due_at.0,
            created_at: self.created_at.0,
        })
    }
}
