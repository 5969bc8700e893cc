use std::ops::Deref;

use dropin_card::{CardHash, LastFour};
use dropin_kernel::coded_enum;
use dropin_kernel::{AttemptId, ContractId, MerchantId, OrderId, PaymentId, Revision, SessionId, Timestamp};
use dropin_money::Amount;

use crate::amounts::Amounts;
use crate::bank::BankDetails;
use crate::failure::FailureReason;
use crate::state::OrderState;

coded_enum! {
    /// Why an authorization, or what still waits, is being voided.
    pub enum VoidCause: "cause of a void" {
        /// The merchant cancelled.
        Merchant = "MERCHANT",
        /// Its time is over: the hosted page's, the transfer's or the capture window's.
        Expired = "EXPIRED",
        /// The reviewer declined.
        Review = "REVIEW",
    }
}

/// What an Order begins with; every member is decided by the caller.
#[derive(Debug, Clone)]
pub struct NewOrder {
    /// Identifier; random, since it stands in the address that a hosted page sends the shopper back to.
    pub id: OrderId,
    /// Whose Order it is.
    pub merchant_id: MerchantId,
    /// The Session it comes from; `None` for a server-to-server checkout.
    pub session_id: Option<SessionId>,
    /// The attempt to pay that Session, as the shopper's browser named it; `None` for a server-to-server checkout.
    pub attempt_id: Option<AttemptId>,
    /// The merchant's reference, checked when it came in.
    pub merchant_reference: String,
    /// What is to be paid.
    pub total: Amount,
    /// Whether it is captured as soon as it is authorized.
    pub auto_capture: bool,
    /// Id of the payment method in the catalogue.
    pub payment_method: String,
    /// Where the shopper of a server-to-server checkout comes back to.
    pub return_url: Option<String>,
}

/// Everything that an [`Order`] consists of, to be read, and to be stored and restored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OrderParts {
    /// Identifier.
    pub id: OrderId,
    /// Whose Order it is.
    pub merchant_id: MerchantId,
    /// The Session it came from; `None` for a server-to-server checkout.
    pub session_id: Option<SessionId>,
    /// The attempt to pay that Session, as the shopper's browser named it; `None` for a server-to-server checkout, and for Orders of before
    /// attempts were kept.
    pub attempt_id: Option<AttemptId>,
    /// The merchant's reference, checked when it came in.
    pub merchant_reference: String,
    /// Counts changes.
    pub revision: Revision,
    /// Where it stands.
    pub state: OrderState,
    /// Held by our own review; orthogonal to the state. Merchants are told [`Order::is_held`].
    pub under_review: bool,
    /// Whether the merchant has been told of it; an attempt that fails inside its Session never is.
    pub shown: bool,
    /// What is to be paid.
    pub total: Amount,
    /// What was reserved, taken and given back.
    pub amounts: Amounts,
    /// Whether it is captured as soon as it is authorized.
    pub auto_capture: bool,
    /// Id of the payment method in the catalogue, for example `VISA`.
    pub payment_method: String,
    /// When the attempt was started.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it ends by itself unless something happens: the hosted page's or the transfer's limit while PROCESSING, then the end of the capture
    /// window.
    pub expires_at: Option<Timestamp>,
    /// The hosted page that the shopper has to visit, while PROCESSING.
    pub page: Option<String>,
    /// Where the shopper transfers the money to, when paid by bank transfer.
    pub bank_details: Option<Box<BankDetails>>,
    /// A void is in flight: nothing else may begin.
    pub voiding: Option<VoidCause>,
    /// Somebody was told that this much will be captured without asking again.
    pub capture_promised: Option<Amount>,
    /// Where the shopper of a server-to-server checkout comes back to.
    pub return_url: Option<String>,
    /// Why it failed, while PROCESSING_FAILED; `None` also of a capture that was refused for good.
    pub failure: Option<FailureReason>,
    /// What the shopper writes on a transfer: unique among the merchant's Orders that are PROCESSING. Of methods that are paid elsewhere only.
    pub transfer_reference: Option<String>,
    /// Our page that shows the shopper of a server-to-server checkout where to transfer the money to.
    pub transfer_page: Option<String>,
    /// The contract that it opens or is made under; `None` of any other payment. An Order of before contracts has none.
    #[cfg_attr(feature = "serde", serde(default))]
    pub contract_id: Option<ContractId>,
    /// The card of an attempt to pay a Session, while its outcome is missing and when it failed with [`FailureReason::CardRefused`]: so that the issuer is
    /// not asked again in the same Session. It is card data and not serialized: an Order that is restored from its serialized form has none.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub card: Option<CardHash>,
    /// The end of the number of the card that it was paid with, or was to be, from when the processor was asked. Not serialized, as [`OrderParts::card`].
    #[cfg_attr(feature = "serde", serde(skip))]
    pub last_four: Option<LastFour>,
}

/// An Order: its parts, which only the steps of its life change.
///
/// ```
/// use dropin_kernel::{MerchantId, OrderId, Timestamp, uuid::Uuid};
/// use dropin_money::{Amount, Currency};
/// use dropin_order::{InvalidOrder, NewOrder, Order, OrderState};
///
/// let new = NewOrder {
///     id: OrderId::new(Uuid::from_u128(1)),
///     merchant_id: MerchantId::new(Uuid::from_u128(2)),
///     session_id: None,
///     attempt_id: None,
///     merchant_reference: "order-1001".to_owned(),
///     total: Amount::from_minor(Currency::Eur, 29_90).unwrap(),
///     auto_capture: false,
///     payment_method: "VISA".to_owned(),
///     return_url: None,
/// };
/// let order = Order::start(new, Timestamp::from_micros(0));
/// assert_eq!((order.state, order.total.minor()), (OrderState::Processing, 29_90));
///
/// let mut parts = order.into_parts();
/// assert_eq!(Order::restore(parts.clone()).unwrap().into_parts(), parts);
/// parts.total = Amount::from_minor(Currency::Jpy, 29).unwrap();
/// assert_eq!(Order::restore(parts), Err(InvalidOrder::MixedCurrencies));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "OrderParts", into = "OrderParts")
)]
pub struct Order(OrderParts);

impl TryFrom<OrderParts> for Order {
    type Error = InvalidOrder;

    fn try_from(parts: OrderParts) -> Result<Self, InvalidOrder> {
        Self::restore(parts)
    }
}

impl From<Order> for OrderParts {
    fn from(order: Order) -> Self {
        order.0
    }
}

impl Deref for Order {
    type Target = OrderParts;

    fn deref(&self) -> &OrderParts {
        &self.0
    }
}

/// Why parts are no Order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOrder {
    /// The total, what moved, and what is promised have one currency.
    #[error("the amounts have different currencies")]
    MixedCurrencies,
}

impl Order {
    /// An Order from its stored parts. One of which more was authorized than its total can be read, so that an operator can mend it; no step leads there.
    ///
    /// # Errors
    /// [`InvalidOrder`]: the parts do not belong together.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::Order;
    /// let parts = authorized().into_parts();
    /// assert_eq!(Order::restore(parts).unwrap(), authorized());
    /// ```
    pub fn restore(parts: OrderParts) -> Result<Self, InvalidOrder> {
        let currency = parts.total.currency();
        let promised = parts.capture_promised.as_ref().is_none_or(|promised| promised.currency() == currency);
        if promised && parts.amounts.currency() == currency {
            Ok(Self(parts))
        } else {
            Err(InvalidOrder::MixedCurrencies)
        }
    }

    /// The parts, to be stored.
    pub fn into_parts(self) -> OrderParts {
        self.0
    }

    /// The same Order with other parts, as [`Order::restore`] takes them: for repairs and for the state that a test begins in. What happens in an
    /// Order's life has methods of its own.
    ///
    /// # Errors
    /// [`InvalidOrder`]: the parts do not belong together.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let dear = started().edited(|parts| parts.total = usd(5_000)).unwrap();
    /// assert_eq!(dear.total, usd(5_000));
    /// ```
    pub fn edited(mut self, edit: impl FnOnce(&mut OrderParts)) -> Result<Self, InvalidOrder> {
        edit(&mut self.0);
        Self::restore(self.0)
    }

    /// Changes parts by a rule of this crate.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut OrderParts)) {
        edit(&mut self.0);
    }

    /// The same Order at `revision`: steps that are written together count as one change.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let (before, after) = (started(), authorized().at_revision(started().revision.next()));
    /// assert_eq!(after.revision, before.revision.next());
    /// ```
    #[must_use]
    pub fn at_revision(mut self, revision: Revision) -> Self {
        self.0.revision = revision;
        self
    }

    /// The same Order with the hash of the card that its open authorization is paid with.
    #[must_use]
    pub fn with_card(mut self, card: CardHash) -> Self {
        self.0.card = Some(card);
        self
    }

    /// The same Order with the end of the number of the card that it is paid with.
    #[must_use]
    pub fn with_last_four(mut self, last_four: LastFour) -> Self {
        self.0.last_four = Some(last_four);
        self
    }

    /// The same Order with what the shopper of a transfer needs: what to write on it, and our page that says so.
    #[must_use]
    pub fn with_transfer(mut self, reference: Option<String>, page: Option<String>) -> Self {
        (self.0.transfer_reference, self.0.transfer_page) = (reference, page);
        self
    }

    /// The Order of an attempt that starts now. One of a server-to-server checkout is shown from the start, since the answer names it; one that only
    /// verifies a card ([`Order::is_verification`]) never is.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::OrderState;
    /// let order = started();
    /// assert_eq!((order.state, order.shown), (OrderState::Processing, false), "the merchant is told of its Session");
    /// ```
    pub fn start(new: NewOrder, now: Timestamp) -> Self {
        Self(OrderParts {
            id: new.id,
            merchant_id: new.merchant_id,
            session_id: new.session_id,
            attempt_id: new.attempt_id,
            merchant_reference: new.merchant_reference,
            revision: Revision::FIRST,
            state: OrderState::Processing,
            under_review: false,
            shown: new.session_id.is_none() && !new.total.is_zero(),
            amounts: Amounts::none(new.total.currency()),
            total: new.total,
            auto_capture: new.auto_capture,
            payment_method: new.payment_method,
            created_at: now,
            updated_at: now,
            expires_at: None,
            page: None,
            bank_details: None,
            voiding: None,
            capture_promised: None,
            return_url: new.return_url,
            failure: None,
            transfer_reference: None,
            transfer_page: None,
            contract_id: None,
            card: None,
            last_four: None,
        })
    }

    /// The Order that opens a contract, or is made under one.
    ///
    /// ```
    /// use dropin_kernel::{ContractId, MerchantId, OrderId, Timestamp, uuid::Uuid};
    /// use dropin_money::{Amount, Currency};
    /// use dropin_order::{NewOrder, Order};
    ///
    /// let new = NewOrder {
    ///     id: OrderId::new(Uuid::from_u128(1)),
    ///     merchant_id: MerchantId::new(Uuid::from_u128(2)),
    ///     session_id: None,
    ///     attempt_id: None,
    ///     merchant_reference: "subscription-7".to_owned(),
    ///     total: Amount::zero(Currency::Eur),
    ///     auto_capture: true,
    ///     payment_method: "VISA".to_owned(),
    ///     return_url: None,
    /// };
    /// let contract = ContractId::new(Uuid::from_u128(3));
    /// let order = Order::start(new, Timestamp::from_micros(0)).with_contract(contract);
    /// assert_eq!(order.contract_id, Some(contract));
    /// assert!(order.is_verification() && !order.shown);
    /// ```
    #[must_use]
    pub fn with_contract(mut self, contract: ContractId) -> Self {
        self.0.contract_id = Some(contract);
        self
    }

    /// Whether it only verifies the card of a contract that the merchant's server opens: nothing is charged, and it is shown to nobody
    /// (docs/SPECIFICATION.md#open-contract). The contract is what the merchant sees.
    pub fn is_verification(&self) -> bool {
        self.session_id.is_none() && self.total.is_zero()
    }

    /// The stream its notifications are ordered in.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// assert_eq!(started().payment_id(), started().session_id.unwrap().into());
    /// ```
    pub fn payment_id(&self) -> PaymentId {
        self.session_id.map_or_else(|| PaymentId::new(self.id.uuid()), PaymentId::from)
    }

    /// Whether it is held by a review, so that a capture waits: ours, or the pay-later provider's as long as that has approved nothing. What merchants
    /// are told as UnderReview, in every answer and notification.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let less = started().authorized(&usd(999), false, LATER, id(4), NOW).unwrap().change.next;
    /// assert!(less.is_held() && !authorized().is_held());
    /// ```
    pub fn is_held(&self) -> bool {
        let theirs = self.state == OrderState::CommitAccepted && self.amounts.total_authorized().is_zero();
        self.under_review || theirs
    }

    /// Whether the shopper is still to transfer the money: nothing has arrived, and nobody has stopped waiting for it.
    pub fn awaits_transfer(&self) -> bool {
        let waits = self.state == OrderState::Processing && self.voiding.is_none() && !self.under_review;
        waits && self.bank_details.is_some()
    }

    /// Whether its time was over at `now`; written down by a sweeper a little later.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// assert!(!authorized().has_lapsed(NOW) && authorized().has_lapsed(LATER));
    /// ```
    pub fn has_lapsed(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}
