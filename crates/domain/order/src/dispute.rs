use dropin_kernel::{
    DisputeAnswerId, DisputeId, LedgerTransactionId, MerchantId, OrderId, ProcessorId, Revision, Timestamp, coded_enum,
};
use dropin_money::Amount;

use crate::ledger::Account;
use crate::order::Order;
use crate::state::OrderTrigger;
use crate::step::{Step, StepRefused};

coded_enum! {
    /// Where a dispute stands (docs/SPECIFICATION.md#disputes).
    pub enum DisputeState: "dispute state" {
        /// The merchant may accept it, or hand in evidence, until its due time.
        NeedsResponse = "NEEDS_RESPONSE",
        /// Evidence was handed in; the shopper's bank decides.
        UnderReview = "UNDER_REVIEW",
        /// Decided for the merchant: the money is back.
        Won = "WON",
        /// Decided for the shopper.
        Lost = "LOST",
        /// The merchant accepted it.
        Accepted = "ACCEPTED",
    }
}

impl DisputeState {
    /// Whether it is decided.
    ///
    /// ```
    /// use dropin_order::DisputeState;
    ///
    /// assert!(DisputeState::Won.is_final() && !DisputeState::UnderReview.is_final());
    /// ```
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Won | Self::Lost | Self::Accepted)
    }

    /// Whether it was decided for the shopper: its money is gone.
    pub const fn is_lost(self) -> bool {
        matches!(self, Self::Lost | Self::Accepted)
    }

    /// Whether its money cannot be refunded: all of it but what was won.
    pub const fn holds_money(self) -> bool {
        !matches!(self, Self::Won)
    }
}

coded_enum! {
    /// Why the shopper disputes a payment, as the processor says it.
    pub enum DisputeReason: "dispute reason" {
        /// The cardholder did not make the payment.
        Fraudulent = "FRAUDULENT",
        /// The same thing was charged twice.
        Duplicate = "DUPLICATE",
        /// What was bought did not arrive.
        ProductNotReceived = "PRODUCT_NOT_RECEIVED",
        /// What arrived is not what was bought.
        ProductUnacceptable = "PRODUCT_UNACCEPTABLE",
        /// A subscription was cancelled before it was charged.
        SubscriptionCancelled = "SUBSCRIPTION_CANCELLED",
        /// A promised refund was not made.
        CreditNotProcessed = "CREDIT_NOT_PROCESSED",
        /// The shopper does not recognize the payment.
        Unrecognized = "UNRECOGNIZED",
        /// Anything else.
        General = "GENERAL",
    }
}

coded_enum! {
    /// What makes a dispute change.
    pub enum DisputeTrigger: "dispute trigger" {
        /// The shopper's bank took the money back.
        Opened = "OPENED",
        /// Evidence was handed in.
        EvidenceHandedIn = "EVIDENCE_HANDED_IN",
        /// The bank's inquiry that was answered became a chargeback, which has to be answered too.
        Escalated = "ESCALATED",
        /// The merchant accepted it.
        Accepted = "ACCEPTED",
        /// Decided for the merchant.
        Won = "WON",
        /// Decided for the shopper, or nobody answered in time.
        Lost = "LOST",
    }
}

/// One allowed move of a dispute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisputeTransition {
    /// `None` for the start.
    pub from: Option<DisputeState>,
    /// What happens.
    pub trigger: DisputeTrigger,
    /// Where it leads.
    pub to: DisputeState,
    /// What that is to its Order, which also names the notification.
    pub order: OrderTrigger,
}

/// Every move of a dispute there is (docs/SPECIFICATION.md#disputes).
///
/// ```
/// use dropin_order::{DISPUTE_TRANSITIONS, DisputeState};
///
/// assert!(DISPUTE_TRANSITIONS.iter().all(|row| row.from.is_none_or(|from| !from.is_final())), "what is decided stays so");
/// ```
pub const DISPUTE_TRANSITIONS: &[DisputeTransition] = {
    use DisputeState::{Accepted, Lost, NeedsResponse, UnderReview, Won};
    use DisputeTrigger as T;
    use OrderTrigger::{DisputeClosed, DisputeOpened, DisputeUpdated};
    const fn row(
        from: Option<DisputeState>,
        trigger: DisputeTrigger,
        to: DisputeState,
        order: OrderTrigger,
    ) -> DisputeTransition {
        DisputeTransition { from, trigger, to, order }
    }
    &[
        row(None, T::Opened, NeedsResponse, DisputeOpened),
        row(Some(NeedsResponse), T::EvidenceHandedIn, UnderReview, DisputeUpdated),
        row(Some(NeedsResponse), T::Accepted, Accepted, DisputeClosed),
        row(Some(NeedsResponse), T::Won, Won, DisputeClosed),
        row(Some(NeedsResponse), T::Lost, Lost, DisputeClosed),
        row(Some(UnderReview), T::Escalated, NeedsResponse, DisputeUpdated),
        row(Some(UnderReview), T::Won, Won, DisputeClosed),
        row(Some(UnderReview), T::Lost, Lost, DisputeClosed),
    ]
};

/// What a dispute begins with.
#[derive(Debug, Clone)]
pub struct NewDispute {
    /// Identifier.
    pub id: DisputeId,
    /// Which of the deployment's processors told of it.
    pub processor: ProcessorId,
    /// The processor's own id of it.
    pub reference: String,
    /// Why.
    pub reason: DisputeReason,
    /// How much; may be more than is left of the Order.
    pub amount: Amount,
    /// Until when the merchant may answer; `None` where nobody may.
    pub due_at: Option<Timestamp>,
}

/// Money that a shopper wants back through their bank (a chargeback).
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Dispute {
    /// Identifier.
    pub id: DisputeId,
    /// The Order.
    pub order_id: OrderId,
    /// Whose Order it is.
    pub merchant_id: MerchantId,
    /// Which of the deployment's processors told of it.
    pub processor: ProcessorId,
    /// The processor's own id of it.
    pub reference: String,
    /// Counts changes.
    pub revision: Revision,
    /// Where it stands.
    pub state: DisputeState,
    /// Why.
    pub reason: DisputeReason,
    /// How much.
    pub amount: Amount,
    /// Until when the merchant may answer; `None` where nobody may.
    pub due_at: Option<Timestamp>,
    /// When it was recorded here.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The dispute is not in a state that allows this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the dispute is {}", .found.as_str())]
pub struct WrongDisputeState {
    /// The state it is in.
    pub found: DisputeState,
}

/// A decided change of a dispute and of its Order, which are written together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisputeStep {
    /// The dispute after it.
    pub dispute: Dispute,
    /// The row of the table.
    pub transition: DisputeTransition,
    /// The Order's part of it: the money, and what the merchant is told.
    pub order: Step,
}

/// Why a dispute does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DisputeStepRefused {
    /// The dispute's state does not allow it.
    #[error(transparent)]
    State(#[from] WrongDisputeState),
    /// Its Order does not.
    #[error(transparent)]
    Order(#[from] StepRefused),
}

impl Dispute {
    /// A dispute that its Order's processor has just told of, in [`DisputeState::NeedsResponse`].
    ///
    /// # Errors
    /// [`StepRefused`]: the Order's outcome is still open, or its money has another currency.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{Account, DisputeState, OrderState};
    /// let opened = disputed(&in_state(OrderState::Processed), 150);
    /// assert_eq!((opened.dispute.state, opened.order.change.next.state), (DisputeState::NeedsResponse, OrderState::Processed));
    /// assert_eq!(moves(&opened.order.ledger), [(Account::Captured, -150), (Account::Disputed, 150)]);
    /// ```
    pub fn open(
        new: NewDispute,
        order: &Order,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<DisputeStep, StepRefused> {
        let NewDispute { id, processor, reference, reason, amount, due_at } = new;
        let step = order.dispute_opened(&amount, ledger, now)?;
        let dispute = Self {
            id,
            order_id: order.id,
            merchant_id: order.merchant_id,
            processor,
            reference,
            revision: Revision::FIRST,
            state: DisputeState::NeedsResponse,
            reason,
            amount,
            due_at,
            created_at: now,
            updated_at: now,
        };
        Ok(DisputeStep { dispute, transition: DISPUTE_TRANSITIONS[0], order: step })
    }

    /// The move of the table for `trigger`, with the money that follows from it.
    ///
    /// # Errors
    /// [`DisputeStepRefused`].
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{Account, DisputeState, DisputeTrigger, OrderState};
    /// let opened = disputed(&in_state(OrderState::Processed), 150);
    /// let (dispute, order) = (&opened.dispute, &opened.order.change.next);
    /// let lost = dispute.moved(DisputeTrigger::Lost, order, id(6), LATER).unwrap();
    /// assert_eq!((lost.dispute.state, moves(&lost.order.ledger)[1]), (DisputeState::Lost, (Account::ChargedBack, 150)));
    /// assert!(lost.dispute.moved(DisputeTrigger::Won, order, id(7), LATER).is_err(), "what is decided stays so");
    /// ```
    pub fn moved(
        &self,
        trigger: DisputeTrigger,
        order: &Order,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<DisputeStep, DisputeStepRefused> {
        let row = DISPUTE_TRANSITIONS.iter().find(|row| row.from == Some(self.state) && row.trigger == trigger);
        let row = row.ok_or(WrongDisputeState { found: self.state })?;
        let step = match row.to {
            DisputeState::NeedsResponse | DisputeState::UnderReview => order.dispute_updated(now)?,
            DisputeState::Won => order.dispute_won(&self.amount, ledger, now)?,
            DisputeState::Lost | DisputeState::Accepted => order.dispute_lost(&self.amount, ledger, now)?,
        };
        let dispute = Self { state: row.to, revision: self.revision.next(), updated_at: now, ..self.clone() };
        Ok(DisputeStep { dispute, transition: *row, order: step })
    }

    /// Whether the merchant may answer it at `now`.
    ///
    /// # Errors
    /// [`WrongDisputeState`]: it was answered, decided, or its time is over.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::OrderState;
    /// let dispute = disputed(&in_state(OrderState::Processed), 150).dispute;
    /// assert!(dispute.check_answerable(NOW).is_ok() && dispute.check_answerable(LATER).is_err(), "it was due at LATER");
    /// ```
    pub fn check_answerable(&self, now: Timestamp) -> Result<(), WrongDisputeState> {
        let in_time = self.due_at.is_some_and(|due| now < due);
        if self.state == DisputeState::NeedsResponse && in_time {
            Ok(())
        } else {
            Err(WrongDisputeState { found: self.state })
        }
    }
}

impl Order {
    /// The shopper's bank took `amount` back, until the dispute is decided. What is left to be refunded shrinks by it.
    ///
    /// # Errors
    /// [`StepRefused`] while the Order's outcome is open, and in another currency.
    pub fn dispute_opened(
        &self,
        amount: &Amount,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        let amounts = self.amounts.hold_disputed(amount)?;
        let step = self.moved(OrderTrigger::DisputeOpened, now)?.with(|order| order.amounts = amounts);
        Ok(step.posting(ledger, Account::Captured, Account::Disputed, amount))
    }

    /// The dispute waits for the bank's decision: no money moves.
    ///
    /// # Errors
    /// [`StepRefused`] while the Order's outcome is open.
    pub fn dispute_updated(&self, now: Timestamp) -> Result<Step, StepRefused> {
        Ok(self.moved(OrderTrigger::DisputeUpdated, now)?)
    }

    /// The dispute was decided for the merchant: `amount` is back, and can be refunded again.
    ///
    /// # Errors
    /// [`StepRefused`] when that much is not disputed, and while the Order's outcome is open.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{Account, OrderState};
    /// let order = in_state(OrderState::Processed).dispute_opened(&usd(150), id(5), NOW).unwrap().change.next;
    /// let won = order.dispute_won(&usd(150), id(6), NOW).unwrap();
    /// assert_eq!(moves(&won.ledger), [(Account::Disputed, -150), (Account::Captured, 150)]);
    /// assert_eq!(won.change.next.amounts, in_state(OrderState::Processed).amounts);
    /// assert!(order.dispute_won(&usd(151), id(6), NOW).is_err());
    /// ```
    pub fn dispute_won(
        &self,
        amount: &Amount,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        let amounts = self.amounts.free_disputed(amount)?;
        let step = self.moved(OrderTrigger::DisputeClosed, now)?.with(|order| order.amounts = amounts);
        Ok(step.posting(ledger, Account::Disputed, Account::Captured, amount))
    }

    /// The dispute was lost or accepted: `amount` is gone for good.
    ///
    /// # Errors
    /// [`StepRefused`] when that much is not disputed, and while the Order's outcome is open.
    pub fn dispute_lost(
        &self,
        amount: &Amount,
        ledger: LedgerTransactionId,
        now: Timestamp,
    ) -> Result<Step, StepRefused> {
        self.amounts.free_disputed(amount)?;
        let step = self.moved(OrderTrigger::DisputeClosed, now)?;
        Ok(step.posting(ledger, Account::Disputed, Account::ChargedBack, amount))
    }
}

coded_enum! {
    /// How a merchant answers a dispute.
    pub enum DisputeAnswerKind: "kind of answer to a dispute" {
        /// The shopper keeps the money.
        Accept = "ACCEPT",
        /// Evidence that the payment was right.
        Evidence = "EVIDENCE",
    }
}

impl DisputeAnswerKind {
    /// What follows once the processor has taken it.
    pub const fn trigger(self) -> DisputeTrigger {
        match self {
            Self::Accept => DisputeTrigger::Accepted,
            Self::Evidence => DisputeTrigger::EvidenceHandedIn,
        }
    }

    /// Where that leads.
    pub const fn leads_to(self) -> DisputeState {
        match self {
            Self::Accept => DisputeState::Accepted,
            Self::Evidence => DisputeState::UnderReview,
        }
    }
}

coded_enum! {
    /// What is known of an answer at the processor.
    pub enum DisputeAnswerState: "state of an answer to a dispute" {
        /// Written down; whether the processor has it is not known yet.
        Open = "OPEN",
        /// The processor took it.
        Taken = "TAKEN",
        /// The processor refused it, or the dispute was decided first.
        Refused = "REFUSED",
    }
}

/// An answer to a dispute, written down before the processor is told. One is open at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DisputeAnswer {
    /// Identifier; the processor's idempotency key.
    pub id: DisputeAnswerId,
    /// The dispute.
    pub dispute_id: DisputeId,
    /// Whose it is.
    pub merchant_id: MerchantId,
    /// How it is answered.
    pub kind: DisputeAnswerKind,
    /// What is known of it.
    pub state: DisputeAnswerState,
    /// How often the processor was told without a clear reply.
    pub tries: u32,
    /// When it is told again, while open.
    pub due_at: Timestamp,
    /// When it was given.
    pub created_at: Timestamp,
}
