use diesel::prelude::{Queryable, Selectable};
use dropin_kernel::{MerchantId, OrderId, RefundId};
use dropin_money::Amount;
use dropin_order::{Refund, RefundState};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant};

use super::values::{amount, currency, missing};
use crate::schema::refund;

const TABLE: &str = "refund";

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = refund)]
pub(crate) struct RefundRow {
    id: Id,
    order_id: Id,
    merchant_id: Id,
    reference: String,
    currency: String,
    amount_minor: i64,
    description: Option<String>,
    state: String,
    created_at: Instant,
    updated_at: Instant,
    settlement_currency: Option<String>,
    settlement_minor: Option<i64>,
}

impl RefundRow {
    /// Both columns or none, as a constraint says.
    fn settlement(&self) -> Result<Option<Amount>, Fault> {
        match (&self.settlement_currency, self.settlement_minor) {
            (None, None) => Ok(None),
            (Some(code), Some(minor)) => amount(TABLE, currency(TABLE, code)?, minor).map(Some),
            _ => Err(missing(TABLE, "half of the settlement")),
        }
    }

    pub(crate) fn restore(self) -> Result<Refund, Fault> {
        let amount = amount(TABLE, currency(TABLE, &self.currency)?, self.amount_minor)?;
        if amount.is_zero() {
            return Err(missing(TABLE, "the amount"));
        }
        let settlement = self.settlement()?;
        Ok(Refund {
            id: RefundId::new(self.id.0),
            order_id: OrderId::new(self.order_id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            reference: self.reference,
            settlement,
            amount,
            description: self.description,
            state: self.state.parse::<RefundState>().map_err(|_unknown| corrupt(TABLE, "the state is unknown"))?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        })
    }
}
