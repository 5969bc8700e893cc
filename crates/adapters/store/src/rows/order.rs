use diesel::prelude::{Queryable, Selectable};
use dropin_card::LastFour;
use dropin_kernel::{AttemptId, ContractId, MerchantId, OrderId, Revision, SessionId};
use dropin_money::{Amount, Currency};
use dropin_order::{Amounts, FailureReason, Order, OrderParts, OrderState, VoidCause};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant, JsonDocument};

use super::bank;
use super::values::{amount, card_hash, currency, missing};
use crate::schema::purchase_order;

const TABLE: &str = "purchase_order";

#[derive(Debug, Clone, Queryable, Selectable)]
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
    expires_at: Option<Instant>,
    page: Option<String>,
    bank_details: Option<JsonDocument>,
    voiding: Option<String>,
    capture_promised_minor: Option<i64>,
    return_url: Option<String>,
    attempt_id: Option<Id>,
    failure: Option<String>,
    transfer_reference: Option<String>,
    transfer_page: Option<String>,
    card_hash: Option<Vec<u8>>,
    contract_id: Option<Id>,
    card_last_four: Option<String>,
    disputed_minor: i64,
}

/// The account that the shopper of an Order transfers the money to, as it is stored.
pub(crate) fn bank_document(order: &Order) -> Result<Option<JsonDocument>, Fault> {
    order.bank_details.as_deref().map(bank::write).transpose()
}

impl OrderRow {
    pub(crate) fn restore(self) -> Result<Order, Fault> {
        let currency = currency(TABLE, &self.currency)?;
        let minor = |minor| amount(TABLE, currency, minor);
        let disputed = minor(self.disputed_minor)?;
        let amounts = Amounts::restore(
            minor(self.authorized_minor)?,
            minor(self.captured_minor)?,
            minor(self.refunded_minor)?,
            minor(self.capture_pending_minor)?,
            minor(self.refund_pending_minor)?,
        )
        .and_then(|amounts| amounts.with_disputed(disputed))
        .map_err(|rule| corrupt(TABLE, rule.to_string()))?;
        if self.revision < Revision::FIRST.number() {
            return Err(missing(TABLE, "revision"));
        }
        let state = self.state.parse::<OrderState>().map_err(|_unknown| corrupt(TABLE, "the state is unknown"))?;
        if self.page.is_some() && state != OrderState::Processing {
            return Err(corrupt(TABLE, format!("a hosted page while {}", state.as_str())));
        }
        let order = Order::restore(OrderParts {
            id: OrderId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            session_id: self.session_id.map(|session| SessionId::new(session.0)),
            attempt_id: self.attempt_id.map(|attempt| AttemptId::new(attempt.0)),
            merchant_reference: self.merchant_reference,
            revision: Revision::new(self.revision),
            state,
            under_review: self.under_review,
            shown: self.shown,
            total: minor(self.total_minor)?,
            amounts,
            auto_capture: self.auto_capture,
            payment_method: self.payment_method,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            expires_at: self.expires_at.map(|end| end.0),
            page: self.page,
            bank_details: self.bank_details.map(|stored| bank::read(TABLE, &stored)).transpose()?,
            voiding: self.voiding.map(|code| void_cause(&code)).transpose()?,
            capture_promised: self.capture_promised_minor.map(|minor| promised(currency, minor)).transpose()?,
            return_url: self.return_url,
            failure: self.failure.map(|code| failure(&code)).transpose()?,
            transfer_reference: self.transfer_reference,
            transfer_page: self.transfer_page,
            contract_id: self.contract_id.map(|contract| ContractId::new(contract.0)),
            card: self.card_hash.map(|bytes| card_hash(TABLE, bytes)).transpose()?,
            last_four: self.card_last_four.map(|digits| last_four(&digits)).transpose()?,
        });
        order.map_err(|invalid| corrupt(TABLE, invalid.to_string()))
    }
}

fn last_four(digits: &str) -> Result<LastFour, Fault> {
    digits.parse().map_err(|_no_digits| missing(TABLE, "the end of the card's number"))
}

fn failure(code: &str) -> Result<FailureReason, Fault> {
    code.parse::<FailureReason>().map_err(|_unknown| corrupt(TABLE, "the reason of the failure is unknown"))
}

fn void_cause(code: &str) -> Result<VoidCause, Fault> {
    code.parse::<VoidCause>().map_err(|_unknown| corrupt(TABLE, "the cause of the void is unknown"))
}

/// Nobody is ever promised nothing.
fn promised(currency: Currency, minor: i64) -> Result<Amount, Fault> {
    let promised = amount(TABLE, currency, minor)?;
    if promised.is_zero() { Err(missing(TABLE, "the promised capture")) } else { Ok(promised) }
}
