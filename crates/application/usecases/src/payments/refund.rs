//! The merchant gives captured money back (docs/SPECIFICATION.md#order-refund).

use dropin_access::AuditAction;
use dropin_kernel::{OrderId, RefundId, Violation, ViolationCode};
use dropin_money::{Amount, Decimal};
use dropin_order::{Channel, Operation, Order, OrderState, Refund, RefundRefused, RefundState, Step};
use dropin_ports::{KeyUse, OrderChanged, OrderName, StoreError};

use super::capture::{change, parse_amount};
use super::{Asker, MAX_CAS_RETRIES, Payments, busy, corrupt, response};
use crate::audit_log::{MerchantAct, refund_document};
use crate::idempotency::IdempotentOutcome;

/// A refund as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundAsk {
    /// The merchant's own name for it, unique per Order.
    pub reference: String,
    /// How much; all that is left when `None`.
    pub amount: Option<Decimal>,
    /// For the merchant's own records.
    pub description: Option<String>,
}

/// Why nothing was refunded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefundError {
    /// No such Order of this merchant.
    #[error("no such Order")]
    NotFound,
    /// Nothing was captured.
    #[error("the Order is {}", .0.as_str())]
    WrongState(OrderState),
    /// The amount is none, or the payment method gives nothing back.
    #[error("the amount cannot be refunded")]
    Amount(Violation),
    /// More than is left.
    #[error("at most {0} {currency} is left to be refunded", currency = .0.currency())]
    Exceeds(Amount),
    /// The Order has a refund with that reference and another amount.
    #[error("the reference belongs to a refund of another amount")]
    DuplicateReference,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Payments {
    /// Refunds `ask.amount`, or all that is left. The same reference with the same amount as was asked for, or none, tells of the first one.
    ///
    /// Must not be cancelled halfway; run it where a dropped connection cannot.
    ///
    /// # Errors
    /// [`RefundError`].
    pub async fn refund(
        &self,
        act: &MerchantAct,
        id: OrderId,
        ask: &RefundAsk,
        key_use: Option<KeyUse>,
    ) -> Result<IdempotentOutcome, RefundError> {
        for round in 0..MAX_CAS_RETRIES {
            self.backoff(round).await;
            let found = self.store.find_order(act.merchant, &OrderName::Id(id)).await?;
            let order = found.ok_or(RefundError::NotFound)?;
            let number = ask.amount.as_ref();
            let amount = number.map(|number| parse_amount(&order, number)).transpose().map_err(RefundError::Amount)?;
            if let Some(known) = self.store.find_refund_by_reference(order.id, &ask.reference).await? {
                return match amount {
                    Some(amount) if !self.was_asked(&known, &amount).await? => Err(RefundError::DuplicateReference),
                    _ => Ok(IdempotentOutcome::Unstored(response::known_refund(&known))),
                };
            }
            let (step, amount) = order.plan_refund(amount.as_ref(), self.clock.now()).map_err(refused)?;
            if !self.rules(&order).refunds() {
                return Err(RefundError::Amount(nothing_back()));
            }
            let settlement = self.share(&order, &amount).await?;
            let (operation, mut refund) = self.prepare_refund(&order, &step, amount, ask).await?;
            refund.settlement = settlement;
            let mut change = change(&order, &act.by.actor, step, Some(operation.clone()), key_use);
            let after = refund_document(&change.order.next, &refund).finish();
            change.refund = Some(refund);
            let mut change = self.audited(change, &act.by, AuditAction::OrderRefund, &order);
            change.audit = change.audit.map(|entry| entry.with_after(after));
            match self.store.change_order(change).await? {
                OrderChanged::Done => {
                    let conclusion = self.ask(order.merchant_id, &operation, Asker::Waiting).await?;
                    let refund = conclusion.refund.ok_or_else(|| corrupt("a refund's operation without its refund"))?;
                    return Ok(IdempotentOutcome::Concluded(response::refunded(&refund)));
                }
                OrderChanged::KeyTaken => return Ok(IdempotentOutcome::KeyTaken),
                OrderChanged::Stale | OrderChanged::DuplicateRefund => {}
            }
        }
        Err(busy("refunded").into())
    }

    /// What a refund of `amount` takes from the settlement, of a sale at a guaranteed rate. Whatever is refunded at the same time changes the
    /// Order, and this is decided anew.
    async fn share(&self, order: &Order, amount: &Amount) -> Result<Option<Amount>, StoreError> {
        let found = match order.session_id {
            None => None,
            Some(_) => self.store.find_order_anywhere(order.id).await?,
        };
        let Some(sale) = found.and_then(|(_, session)| session?.terms.rate.clone()) else { return Ok(None) };
        let details = self.store.find_order_details(order.merchant_id, &OrderName::Id(order.id)).await?;
        let before = details.map(|details| details.refunds).unwrap_or_default();
        let (mut refunded, mut settled) = (Amount::zero(sale.rate.quote()), Amount::zero(sale.rate.base()));
        for refund in before.iter().filter(|refund| refund.state != RefundState::Failed) {
            refunded = refunded.checked_add(&refund.amount).map_err(|_other| corrupt("refunds that do not add up"))?;
            if let Some(share) = &refund.settlement {
                settled = settled.checked_add(share).map_err(|_other| corrupt("settlements that do not add up"))?;
            }
        }
        let share = sale.rate.refund_share(&refunded, &settled, amount);
        share.map(Some).map_err(|_beyond| corrupt("a refund that is more than its sale"))
    }

    /// Whether `amount` is what the merchant asked for: the refund itself is of less where somebody accepted that the processor gave less.
    async fn was_asked(&self, known: &Refund, amount: &Amount) -> Result<bool, StoreError> {
        if *amount == known.amount {
            return Ok(true);
        }
        let operations = self.store.list_operations(known.order_id).await?;
        Ok(operations.iter().any(|operation| operation.refund == Some(known.id) && operation.amount == *amount))
    }

    async fn prepare_refund(
        &self,
        order: &Order,
        step: &Step,
        amount: Amount,
        ask: &RefundAsk,
    ) -> Result<(Operation, Refund), StoreError> {
        let now = step.change.next.updated_at;
        let authorization = self.authorization_of(order).await?;
        let refund = Refund {
            id: RefundId::new(self.ids.ordered()),
            order_id: order.id,
            merchant_id: order.merchant_id,
            reference: ask.reference.clone(),
            amount,
            settlement: None,
            description: ask.description.clone(),
            state: RefundState::InProgress,
            created_at: now,
            updated_at: now,
        };
        let operation = authorization.refund(self.op_id(), refund.id, amount, now, now.plus(self.timing.lease));
        // Both APIs answer a refund alike.
        Ok((operation.through(Channel::Order), refund))
    }
}

fn nothing_back() -> Violation {
    let message = "this payment method gives nothing back: pay the shopper in another way";
    Violation::new("Amount", ViolationCode::NotAllowed, message)
}

fn refused(refused: RefundRefused) -> RefundError {
    match refused {
        RefundRefused::NotCaptured { found } => RefundError::WrongState(found),
        RefundRefused::NothingAsked => {
            RefundError::Amount(Violation::new("Amount", ViolationCode::OutOfRange, "must be above zero"))
        }
        RefundRefused::ExceedsCaptured { left } => RefundError::Exceeds(left),
        other => RefundError::Store(corrupt(&other.to_string())),
    }
}
