use diesel::prelude::{Queryable, Selectable};
use dropin_kernel::{OpId, OrderId, ProcessorId, RefundId};
use dropin_order::{Channel, OpKind, OpState, Operation, ProcessorReference};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant};

use super::values::{amount, currency, missing};
use crate::schema::processor_op;

const TABLE: &str = "processor_op";

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = processor_op)]
pub(crate) struct OpRow {
    id: Id,
    order_id: Id,
    kind: String,
    state: String,
    currency: String,
    amount_minor: i64,
    authorization_id: Option<Id>,
    refund_id: Option<Id>,
    processor_reference: Option<String>,
    processor_id: Option<String>,
    channel: String,
    epoch: i64,
    tries: i32,
    due_at: Instant,
    created_at: Instant,
}

impl OpRow {
    pub(crate) fn restore(self) -> Result<Operation, Fault> {
        Ok(Operation {
            id: OpId::new(self.id.0),
            order_id: OrderId::new(self.order_id.0),
            kind: read_kind(&self.kind)?,
            amount: amount(TABLE, currency(TABLE, &self.currency)?, self.amount_minor)?,
            authorization: self.authorization_id.map(|authorization| OpId::new(authorization.0)),
            refund: self.refund_id.map(|refund| RefundId::new(refund.0)),
            reference: self.processor_reference.as_deref().map(read_reference).transpose()?,
            processor: self.processor_id.as_deref().map(read_processor).transpose()?,
            channel: self.channel.parse::<Channel>().map_err(|_unknown| corrupt(TABLE, "the channel is unknown"))?,
            state: read_state(&self.state)?,
            epoch: self.epoch,
            tries: u32::try_from(self.tries).map_err(|_negative| missing(TABLE, "tries"))?,
            due_at: self.due_at.0,
            created_at: self.created_at.0,
        })
    }
}

fn read_reference(text: &str) -> Result<ProcessorReference, Fault> {
    text.parse().map_err(|_invalid| corrupt(TABLE, "the processor's reference makes no sense"))
}

fn read_processor(text: &str) -> Result<ProcessorId, Fault> {
    text.parse().map_err(|_invalid| corrupt(TABLE, "the processor's name makes no sense"))
}

/// A stored kind.
pub(crate) fn read_kind(code: &str) -> Result<OpKind, Fault> {
    code.parse::<OpKind>().map_err(|_unknown| corrupt(TABLE, "the kind is unknown"))
}

/// A stored state.
pub(crate) fn read_state(code: &str) -> Result<OpState, Fault> {
    code.parse::<OpState>().map_err(|_unknown| corrupt(TABLE, "the state is unknown"))
}
