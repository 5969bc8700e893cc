//! Refunds by operators: what one may do alone, what needs a second one, and what nobody may do.

use std::time::Duration;

use dropin_kernel::{MerchantId, MoneyRequestId, OperatorId, OrderId, Timestamp, coded_enum};
use dropin_money::Amount;

use super::OperatorRights;

/// The time within which refunds count towards a limit.
pub const REFUND_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a request is open: it waits for a second operator, or may be made, only as long as it counts.
pub const APPROVAL_LIFETIME: Duration = REFUND_WINDOW;

coded_enum! {
    /// What moves money.
    #[non_exhaustive]
    pub enum MoneyKind: "kind of request" {
        /// A refund.
        Refund = "REFUND",
    }
}

coded_enum! {
    /// What came of a request to move money.
    pub enum MoneyRequestState: "state of a request" {
        /// Waits for a second operator.
        Waiting = "WAITING",
        /// To be done now: it needed no second operator, or one approved it. Counts towards the limits.
        Granted = "GRANTED",
        /// A second operator refused it, or the one who asked took it back.
        Refused = "REFUSED",
        /// Was granted and surely moved no money. Counts towards no limit.
        Released = "RELEASED",
    }
}

/// An operator's request to move money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoneyRequest {
    /// Identifier; also what the refund is called, so that it is made once.
    pub id: MoneyRequestId,
    /// What it asks for.
    pub kind: MoneyKind,
    /// The Order's merchant.
    pub merchant: MerchantId,
    /// The Order.
    pub order: OrderId,
    /// How much.
    pub amount: Amount,
    /// Why, in the operator's words.
    pub note: String,
    /// Who asked.
    pub requested_by: OperatorId,
    /// When.
    pub requested_at: Timestamp,
    /// What came of it.
    pub state: MoneyRequestState,
    /// The second operator, who approved or refused it.
    pub decided_by: Option<OperatorId>,
    /// When it was approved, refused, taken back or released.
    pub decided_at: Option<Timestamp>,
}

impl MoneyRequest {
    /// Until when a second operator can approve it, and it can be made.
    pub fn expires_at(&self) -> Timestamp {
        self.requested_at.plus(APPROVAL_LIFETIME)
    }

    /// Whether it waits for a second operator at `now`.
    pub fn is_waiting(&self, now: Timestamp) -> bool {
        self.state == MoneyRequestState::Waiting && now < self.expires_at()
    }

    /// Whether it may be made at `now`: it was granted, and still counts towards the limits.
    pub fn may_be_made(&self, now: Timestamp) -> bool {
        self.state == MoneyRequestState::Granted && now < self.expires_at()
    }

    /// Why it cannot be decided on any more.
    pub const fn decided(&self) -> MoneyRefused {
        match self.state {
            MoneyRequestState::Granted => MoneyRefused::Granted,
            _ => MoneyRefused::NotWaiting,
        }
    }

    /// Whether an operator may approve or refuse it at `now`.
    ///
    /// # Errors
    /// [`MoneyRefused::NotWaiting`], [`MoneyRefused::OwnRequest`].
    pub fn check_second(&self, second: OperatorId, now: Timestamp) -> Result<(), MoneyRefused> {
        if !self.is_waiting(now) {
            Err(self.decided())
        } else if second == self.requested_by {
            Err(MoneyRefused::OwnRequest)
        } else {
            Ok(())
        }
    }
}

/// What was asked for within [`REFUND_WINDOW`] and may move money, in the Order's currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoneyTotals {
    /// About the Order, by whomever, and by the operator, about whichever Order; what is both counts once.
    pub order_and_operator: Amount,
    /// About the Order, by whomever.
    pub order: Amount,
}

/// What a refund needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoneyDecision {
    /// The operator may make it alone.
    Alone,
    /// A second operator has to approve it.
    SecondOperator,
}

/// Why a request to move money is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoneyRefused {
    /// The operator's refunds and the Order's of 24 hours would pass the operator's limit.
    #[error("the refunds of 24 hours would come to {would_be}, and the operator's limit is {limit}: ask an owner")]
    OverLimit {
        /// The limit.
        limit: Amount,
        /// What the refunds would come to, this one included.
        would_be: Amount,
    },
    /// A sum is too large to be one.
    #[error("the amount is out of range")]
    OutOfRange,
    /// It was refused, taken back or released, or its time is over.
    #[error(
        "this request is over: it was refused, taken back or not possible, or its 24 hours are over; ask for the refund anew"
    )]
    NotWaiting,
    /// It was approved before.
    #[error("the request was approved already: look at the refunds of its Order")]
    Granted,
    /// Who asked cannot approve.
    #[error("a second operator has to approve it, and this one asked for it")]
    OwnRequest,
}

/// Decides what a refund of `amount` needs: `rights` are those of the operator who asks, `merchant_limit` is the amount above which the merchant's refunds
/// need two operators (`None`: never), counted over an Order's refunds of 24 hours so that parts make no difference.
///
/// ```
/// use dropin_access::operator::{MoneyDecision, MoneyTotals, OperatorRights, decide_refund};
/// use dropin_money::{Amount, Currency};
///
/// let eur = |minor| Amount::from_minor(Currency::Eur, minor).unwrap();
/// let before = MoneyTotals { order_and_operator: eur(0), order: eur(8_000) };
/// let limit = Some(eur(10_000));
/// let decide = |minor| decide_refund(&OperatorRights::owner(), &eur(minor), &before, limit.as_ref());
/// assert_eq!(decide(2_000), Ok(MoneyDecision::Alone));
/// assert_eq!(decide(2_001), Ok(MoneyDecision::SecondOperator));
/// ```
///
/// # Errors
/// [`MoneyRefused::OverLimit`], [`MoneyRefused::OutOfRange`].
pub fn decide_refund(
    rights: &OperatorRights,
    amount: &Amount,
    before: &MoneyTotals,
    merchant_limit: Option<&Amount>,
) -> Result<MoneyDecision, MoneyRefused> {
    let with = |sum: &Amount| sum.checked_add(amount).map_err(|_too_large| MoneyRefused::OutOfRange);
    if rights.roles.refund_is_limited() {
        let (limit, would_be) = (rights.refund_limits.of(amount.currency()), with(&before.order_and_operator)?);
        if limit.minor() < would_be.minor() {
            return Err(MoneyRefused::OverLimit { limit, would_be });
        }
    }
    let of_order = with(&before.order)?;
    let needs_second = merchant_limit.is_some_and(|limit| limit.minor() < of_order.minor());
    Ok(if needs_second { MoneyDecision::SecondOperator } else { MoneyDecision::Alone })
}
