use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use dropin_kernel::{MerchantId, OpId, OrderId, Revision, SessionId};
use dropin_order::{Amounts, OpKind, OpState, Operation, Order, OrderState};

use super::{amount, currency, missing};
use crate::fault::{Fault, corrupt};
use crate::schema::{processor_op, purchase_order};
use crate::sql::{Id, Instant};

const TABLE: &str = "purchase_order";
const OPS: &str = "processor_op";

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = purchase_order)]
pub(crate) struct OrderRow {
    id: Id,
    merchant_id: Id,
    session_id: Option<Id>,
    merchant_reference: String,
    revision: i64,
    state: String,
    under_review: bool,
    shown: bool,
    currency: String,
    total_minor: i64,
    authorized_minor: i64,
    captured_minor: i64,
    capture_pending_minor: i64,
    refunded_minor: i64,
    refund_pending_minor: i64,
    auto_capture: bool,
    payment_method: String,
    created_at: Instant,
    updated_at: Instant,
    capture_before: Option<Instant>,
}

/// The columns that a change of an Order writes.
#[derive(Debug, Clone, AsChangeset)]
#[diesel(table_name = purchase_order, treat_none_as_null = true)]
pub(crate) struct OrderChange {
    revision: i64,
    state: &'static str,
    under_review: bool,
    shown: bool,
    authorized_minor: i64,
    captured_minor: i64,
    capture_pending_minor: i64,
    refunded_minor: i64,
    refund_pending_minor: i64,
    updated_at: Instant,
    capture_before: Option<Instant>,
}

impl OrderChange {
    pub(crate) fn new(order: &Order) -> Self {
        Self {
            revision: order.revision.number(),
            state: order.state.as_str(),
            under_review: order.under_review,
            shown: order.shown,
            authorized_minor: order.amounts.total_authorized().minor(),
            captured_minor: order.amounts.captured().minor(),
            capture_pending_minor: order.amounts.capture_pending().minor(),
            refunded_minor: order.amounts.refunded().minor(),
            refund_pending_minor: order.amounts.refund_pending().minor(),
            updated_at: Instant(order.updated_at),
            capture_before: order.capture_before.map(Instant),
        }
    }
}

impl OrderRow {
    pub(crate) fn new(order: &Order) -> Self {
        let change = OrderChange::new(order);
        Self {
            id: Id(order.id.uuid()),
            merchant_id: Id(order.merchant_id.uuid()),
            session_id: order.session_id.map(|session| Id(session.uuid())),
            merchant_reference: order.merchant_reference.clone(),
            revision: change.revision,
            state: change.state.to_owned(),
            under_review: change.under_review,
            shown: change.shown,
            currency: order.total.currency().code().to_owned(),
            total_minor: order.total.minor(),
            authorized_minor: change.authorized_minor,
            captured_minor: change.captured_minor,
            capture_pending_minor: change.capture_pending_minor,
            refunded_minor: change.refunded_minor,
            refund_pending_minor: change.refund_pending_minor,
            auto_capture: order.auto_capture,
            payment_method: order.payment_method.clone(),
            created_at: Instant(order.created_at),
            updated_at: change.updated_at,
            capture_before: change.capture_before,
        }
    }

    pub(crate) fn restore(self) -> Result<Order, Fault> {
        let currency = currency(TABLE, &self.currency)?;
        let minor = |minor| amount(TABLE, currency, minor);
        let amounts = Amounts::restore(
            minor(self.authorized_minor)?,
            minor(self.captured_minor)?,
            minor(self.refunded_minor)?,
            minor(self.capture_pending_minor)?,
            minor(self.refund_pending_minor)?,
        )
        .map_err(|rule| corrupt(TABLE, rule.to_string()))?;
        if self.revision < Revision::FIRST.number() {
            return Err(missing(TABLE, "revision"));
        }
        Ok(Order {
            id: OrderId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            session_id: self.session_id.map(|session| SessionId::new(session.0)),
            merchant_reference: self.merchant_reference,
            revision: Revision::new(self.revision),
            state: OrderState::from_code(&self.state).ok_or_else(|| corrupt(TABLE, "the state is unknown"))?,
            under_review: self.under_review,
            shown: self.shown,
            total: minor(self.total_minor)?,
            amounts,
            auto_capture: self.auto_capture,
            payment_method: self.payment_method,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            capture_before: self.capture_before.map(|end| end.0),
        })
    }
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = processor_op)]
pub(crate) struct OpRow {
    id: Id,
    order_id: Id,
    kind: String,
    state: String,
    currency: String,
    amount_minor: i64,
    authorization_id: Option<Id>,
    epoch: i64,
    tries: i32,
    due_at: Instant,
    created_at: Instant,
}

impl OpRow {
    pub(crate) fn new(operation: &Operation) -> Result<Self, Fault> {
        Ok(Self {
            id: Id(operation.id.uuid()),
            order_id: Id(operation.order_id.uuid()),
            kind: operation.kind.as_str().to_owned(),
            state: operation.state.as_str().to_owned(),
            currency: operation.amount.currency().code().to_owned(),
            amount_minor: operation.amount.minor(),
            authorization_id: operation.authorization.map(|authorization| Id(authorization.uuid())),
            epoch: operation.epoch,
            tries: i32::try_from(operation.tries)
                .map_err(|_beyond| Fault::Refused("too many tries to be stored".to_owned()))?,
            due_at: Instant(operation.due_at),
            created_at: Instant(operation.created_at),
        })
    }

    pub(crate) fn restore(self) -> Result<Operation, Fault> {
        Ok(Operation {
            id: OpId::new(self.id.0),
            order_id: OrderId::new(self.order_id.0),
            kind: OpKind::from_code(&self.kind).ok_or_else(|| corrupt(OPS, "the kind is unknown"))?,
            amount: amount(OPS, currency(OPS, &self.currency)?, self.amount_minor)?,
            authorization: self.authorization_id.map(|authorization| OpId::new(authorization.0)),
            state: OpState::from_code(&self.state).ok_or_else(|| corrupt(OPS, "the state is unknown"))?,
            epoch: self.epoch,
            tries: u32::try_from(self.tries).map_err(|_negative| missing(OPS, "tries"))?,
            due_at: self.due_at.0,
            created_at: self.created_at.0,
        })
    }
}
