use std::time::Duration;

use dropin_kernel::{OpId, OrderId, ProcessorId, RefundId, Timestamp, coded_enum};
use dropin_money::Amount;

use crate::processor_reference::ProcessorReference;

/// How long an outcome may stay open without anybody's doing before somebody has to look (docs/SPECIFICATION.md#stuck-authorization).
pub const STUCK_AFTER: Duration = Duration::from_secs(10 * 60);
/// How many more times than its status was asked for in vain an operation may be taken over, before it is plain that what the processor says of it
/// cannot be written down.
pub const TAKEN_IN_VAIN: i64 = 20;

coded_enum! {
    /// What is asked of the processor.
    pub enum OpKind: "kind of operation" {
        /// Reserve money at the issuer.
        Authorize = "AUTHORIZE",
        /// Take reserved money.
        Capture = "CAPTURE",
        /// Release reserved money, or stop what still waits.
        Void = "VOID",
        /// Give captured money back.
        Refund = "REFUND",
    }
}

coded_enum! {
    /// What is known of an operation's outcome.
    pub enum OpState: "state of an operation" {
        /// Written down; it may be on its way to the processor right now.
        Prepared = "PREPARED",
        /// Asked, and the answer did not arrive or made no sense. Keeps its reservation; never turned into a failure by giving up.
        Unknown = "UNKNOWN",
        /// The processor has accepted it and will decide later.
        Pending = "PENDING",
        /// Done.
        Approved = "APPROVED",
        /// Refused by the processor or the issuer.
        Declined = "DECLINED",
        /// The processor was told to refuse its key for ever, and it had done nothing before; or it was surely never asked, and nobody will ask.
        Abandoned = "ABANDONED",
    }
}

impl OpState {
    /// Whether the outcome is still open and somebody must ask again.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OpKind, OpState, Operation, STUCK_AFTER, Stuck};
    /// assert!(OpState::Unknown.is_open() && !OpState::Approved.is_open());
    /// ```
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Prepared | Self::Unknown | Self::Pending)
    }
}

coded_enum! {
    /// Which API asked for an operation, and so what an answer to its repeat looks like.
    pub enum Channel: "channel" {
        /// None that is answered with it: the drop-in, an operator, or Dropin itself.
        Nobody = "NOBODY",
        /// The Order API.
        Order = "ORDER",
        /// The server-to-server checkout, `/v2.21`: the payment itself, with the capture that belongs to it.
        CheckoutPayment = "CHECKOUT_PAYMENT",
        /// The server-to-server checkout: whatever is done about an Order afterwards.
        Checkout = "CHECKOUT",
    }
}

coded_enum! {
    /// Why a processor refused.
    ///
    /// ```
    /// use dropin_order::DeclineReason;
    ///
    /// assert_eq!("INSUFFICIENT_FUNDS".parse(), Ok(DeclineReason::InsufficientFunds));
    /// ```
    pub enum DeclineReason: "reason of a decline" {
        /// No reason given, or one that the shopper must not learn.
        Generic = "GENERIC",
        /// The account lacks the money.
        InsufficientFunds = "INSUFFICIENT_FUNDS",
        /// Number, expiry or code is wrong.
        InvalidCard = "INVALID_CARD",
        /// The issuer forbids to try this card again.
        DoNotTryAgain = "DO_NOT_TRY_AGAIN",
        /// The shopper failed 3-D Secure.
        AuthenticationFailed = "AUTHENTICATION_FAILED",
        /// The shopper cancelled on the hosted page.
        CancelledByShopper = "CANCELLED_BY_SHOPPER",
        /// The hosted page was closed, because the shopper wanted to pay another way.
        PageClosed = "PAGE_CLOSED",
        /// The hosted page's or transfer's time was over.
        Expired = "EXPIRED",
        /// It was voided before.
        Voided = "VOIDED",
        /// The processor was never reached, or was told to refuse the key for ever.
        NeverSent = "NEVER_SENT",
        /// A capture was made before, under another key: the money is taken.
        AlreadyCaptured = "ALREADY_CAPTURED",
        /// Screening blocked it: nobody was asked.
        Blocked = "BLOCKED",
    }
}

coded_enum! {
    /// Why somebody has to look after an operation.
    ///
    /// ```
    /// use dropin_order::Stuck;
    ///
    /// assert_eq!(Stuck::Untouched.advice(), "nobody takes it up: does a settler run?");
    /// ```
    pub enum Stuck: "reason to look after an operation" {
        /// Its outcome has been unknown for too long.
        Unknown = "UNKNOWN",
        /// It is due, and nobody takes it up.
        Untouched = "UNTOUCHED",
        /// It is taken up again and again, and nothing comes of it: what the processor says of it cannot be written down.
        InVain = "IN_VAIN",
        /// The processor has refused it so often that it is asked for only seldom, or refused what our books call possible.
        Refused = "REFUSED",
    }
}

impl Stuck {
    /// A sentence for whoever looks after it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Unknown => {
                "its outcome is unknown for long: does the settler reach the processor, and what do its books say of the key?"
            }
            Self::Untouched => "nobody takes it up: does a settler run?",
            Self::InVain => "what the processor says of it cannot be written down: the settler's log says why",
            Self::Refused => "the processor refuses it again and again: compare the Order with its books",
        }
    }
}

/// One thing asked of the processor, written down before it is asked. Its id is the processor's idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Operation {
    /// Identifier, and idempotency key at the processor.
    pub id: OpId,
    /// The Order it belongs to.
    pub order_id: OrderId,
    /// What is asked.
    pub kind: OpKind,
    /// How much.
    pub amount: Amount,
    /// The authorization it is about; `None` for an authorization itself.
    pub authorization: Option<OpId>,
    /// The refund that a refund's operation is made for.
    pub refund: Option<RefundId>,
    /// The processor's own id of the authorization, where it gave one before anything could be reserved; of an operation about an authorization, that one's.
    #[cfg_attr(feature = "serde", serde(default))]
    pub reference: Option<ProcessorReference>,
    /// The processor that is asked, which is that of the authorization for ever; `None` for the deployment's main one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub processor: Option<ProcessorId>,
    /// Which API asked.
    pub channel: Channel,
    /// What is known.
    pub state: OpState,
    /// How often somebody took it over; a late answer of an earlier holder is recognised by it.
    pub epoch: i64,
    /// How often its status was asked for without a clear answer, and how often the same thing was refused before.
    pub tries: u32,
    /// When somebody must look after it again, while it is open.
    pub due_at: Timestamp,
    /// When it was written down.
    pub created_at: Timestamp,
}

impl Operation {
    /// A new authorization, held by its maker until `due_at`.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OpKind, OpState, Operation, STUCK_AFTER, Stuck};
    /// let authorization = Operation::authorize(id(4), id(1), usd(1_000), NOW, LATER);
    /// assert_eq!((authorization.kind, authorization.state), (OpKind::Authorize, OpState::Prepared));
    /// ```
    pub fn authorize(id: OpId, order_id: OrderId, amount: Amount, now: Timestamp, due_at: Timestamp) -> Self {
        Self {
            id,
            order_id,
            kind: OpKind::Authorize,
            amount,
            authorization: None,
            refund: None,
            reference: None,
            processor: None,
            channel: Channel::Nobody,
            state: OpState::Prepared,
            epoch: 0,
            tries: 0,
            due_at,
            created_at: now,
        }
    }

    /// A capture of `amount` from this authorization, held by its maker until `due_at`.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OpKind, OpState, Operation, STUCK_AFTER, Stuck};
    /// let authorization = Operation::authorize(id(4), id(1), usd(1_000), NOW, LATER);
    /// let capture = authorization.capture(id(5), usd(600), NOW, LATER);
    /// assert_eq!((capture.kind, capture.authorization), (OpKind::Capture, Some(authorization.id)));
    /// ```
    pub fn capture(&self, id: OpId, amount: Amount, now: Timestamp, due_at: Timestamp) -> Self {
        self.about(id, OpKind::Capture, amount, now, due_at)
    }

    /// A void of this authorization, held by its maker until `due_at`.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OpKind, OpState, Operation, STUCK_AFTER, Stuck};
    /// let authorization = Operation::authorize(id(4), id(1), usd(1_000), NOW, LATER);
    /// assert_eq!(authorization.void(id(5), NOW, LATER).amount, usd(1_000));
    /// ```
    pub fn void(&self, id: OpId, now: Timestamp, due_at: Timestamp) -> Self {
        self.about(id, OpKind::Void, self.amount, now, due_at)
    }

    /// A refund of `amount` of what was captured from this authorization, held by its maker until `due_at`.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OpKind, OpState, Operation, STUCK_AFTER, Stuck};
    /// let authorization = Operation::authorize(id(4), id(1), usd(1_000), NOW, LATER);
    /// let refund = authorization.refund(id(5), id(6), usd(100), NOW, LATER);
    /// assert_eq!((refund.kind, refund.refund), (OpKind::Refund, Some(id(6))));
    /// ```
    pub fn refund(&self, id: OpId, refund: RefundId, amount: Amount, now: Timestamp, due_at: Timestamp) -> Self {
        Self { refund: Some(refund), ..self.about(id, OpKind::Refund, amount, now, due_at) }
    }

    /// The same authorization, which the processor knows by `reference`; operations about it carry that along.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OpKind, OpState, Operation, STUCK_AFTER, Stuck};
    /// let reference: dropin_order::ProcessorReference = "pi_1".parse().unwrap();
    /// let authorization = Operation::authorize(id(4), id(1), usd(1_000), NOW, LATER).known_as(reference.clone());
    /// let capture = authorization.capture(id(5), usd(600), NOW, LATER);
    /// assert_eq!(capture.again(id(6), LATER, LATER).reference, Some(reference));
    /// ```
    #[must_use]
    pub fn known_as(self, reference: ProcessorReference) -> Self {
        Self { reference: Some(reference), ..self }
    }

    /// The same authorization, asked of `processor`; operations about it go there too.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OpKind, OpState, Operation, STUCK_AFTER, Stuck};
    /// let processor: Option<dropin_kernel::ProcessorId> = "stripe".parse().ok();
    /// let authorization = Operation::authorize(id(4), id(1), usd(1_000), NOW, LATER).at_processor(processor.clone());
    /// let refund = authorization.refund(id(5), id(6), usd(100), NOW, LATER);
    /// assert_eq!(refund.again(id(7), LATER, LATER).processor, processor);
    /// ```
    #[must_use]
    pub fn at_processor(self, processor: Option<ProcessorId>) -> Self {
        Self { processor, ..self }
    }

    /// The same, asked through `channel`.
    #[must_use]
    pub fn through(self, channel: Channel) -> Self {
        Self { channel, ..self }
    }

    /// Why somebody has to look after it at `now`, if so. One that the processor accepted may wait for a shopper or a bank for days, and is not stuck
    /// as long as it is asked about.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OpKind, OpState, Operation, STUCK_AFTER, Stuck};
    /// let authorization = Operation::authorize(id(4), id(1), usd(1_000), NOW, LATER);
    /// assert_eq!(authorization.stuck(LATER), None);
    /// assert_eq!(authorization.stuck(LATER.plus(STUCK_AFTER * 2)), Some(Stuck::Untouched));
    /// ```
    pub fn stuck(&self, now: Timestamp) -> Option<Stuck> {
        if !self.state.is_open() {
            return None;
        }
        if self.state == OpState::Unknown && STUCK_AFTER < now.since(self.created_at) {
            return Some(Stuck::Unknown);
        }
        if TAKEN_IN_VAIN < self.epoch.saturating_sub(self.tries.into()) {
            return Some(Stuck::InVain);
        }
        if self.state == OpState::Prepared && STUCK_AFTER < self.due_at.since(self.created_at) {
            return Some(Stuck::Refused);
        }
        let untouched = self.state != OpState::Unknown && STUCK_AFTER < now.since(self.due_at);
        untouched.then_some(Stuck::Untouched)
    }

    /// How often the same thing was refused before, now that it has an outcome: `tries` without the questions that had none, of which each takeover but
    /// the last asked one. One too many where whoever prepared it got no clear answer either.
    pub fn refusals(&self) -> u32 {
        let in_vain = u32::try_from(self.epoch.saturating_sub(1)).unwrap_or(0);
        self.tries.saturating_sub(in_vain)
    }

    /// The same thing asked once more under a new key, after this one was refused for now.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OpKind, OpState, Operation, STUCK_AFTER, Stuck};
    /// let authorization = Operation::authorize(id(4), id(1), usd(1_000), NOW, LATER);
    /// let again = authorization.again(id(5), LATER, LATER);
    /// assert_eq!((again.id, again.amount, again.refusals()), (id(5), usd(1_000), 1));
    /// ```
    pub fn again(&self, id: OpId, now: Timestamp, due_at: Timestamp) -> Self {
        let tries = self.refusals().saturating_add(1);
        Self { id, state: OpState::Prepared, epoch: 0, tries, due_at, created_at: now, ..self.clone() }
    }

    fn about(&self, id: OpId, kind: OpKind, amount: Amount, now: Timestamp, due_at: Timestamp) -> Self {
        let (authorization, reference, processor) = (Some(self.id), self.reference.clone(), self.processor.clone());
        Self { kind, authorization, reference, processor, ..Self::authorize(id, self.order_id, amount, now, due_at) }
    }
}

#[cfg(test)]
mod tests {
    use dropin_money::Currency;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000_000);

    fn id(number: u8) -> OpId {
        format!("00000000-0000-0000-0000-{number:012}").parse().unwrap()
    }

    fn void() -> Operation {
        let amount = Amount::from_minor(Currency::Eur, 100).unwrap();
        let authorization =
            Operation::authorize(id(1), "00000000-0000-0000-0000-000000000003".parse().unwrap(), amount, NOW, NOW);
        authorization.void(id(2), NOW, NOW.plus(Duration::from_secs(12)))
    }

    #[test]
    fn refusals_are_counted_and_questions_are_not() {
        let mut operation = void();
        assert_eq!(operation.refusals(), 0);
        for refused in 1..=5 {
            operation = operation.again(id(2), NOW, NOW);
            // Taken over and asked at once; or asked three times in vain before, without an end.
            for in_vain in [0, 3] {
                let asked = Operation { epoch: 1 + i64::from(in_vain), tries: refused + in_vain, ..operation.clone() };
                assert_eq!(asked.refusals(), refused, "{in_vain} questions");
            }
            operation = Operation { epoch: 4, tries: refused + 3, ..operation };
        }
        assert_eq!(Operation { epoch: 1, ..void() }.refusals(), 0, "whoever prepared it never asked");
        assert_eq!(Operation { epoch: i64::MAX, tries: 3, ..void() }.refusals(), 3);
    }

    #[test]
    fn every_sign_of_what_is_stuck_is_seen() {
        let (soon, later) = (NOW.plus(STUCK_AFTER), NOW.plus(STUCK_AFTER + Duration::from_secs(1)));
        let with = |state, epoch, due_at| Operation { state, epoch, due_at, ..void() };
        for (operation, at, expected) in [
            (with(OpState::Unknown, 3, later), soon, None),
            (with(OpState::Unknown, 3, later), later, Some(Stuck::Unknown)),
            (with(OpState::Prepared, 0, NOW), soon, None),
            (with(OpState::Prepared, 0, NOW), later, Some(Stuck::Untouched)),
            (with(OpState::Pending, 0, later), later, None),
            (with(OpState::Pending, 0, NOW), later, Some(Stuck::Untouched)),
            (with(OpState::Pending, TAKEN_IN_VAIN, later), NOW, None),
            (with(OpState::Pending, TAKEN_IN_VAIN + 1, later), NOW, Some(Stuck::InVain)),
            (Operation { tries: 1, ..with(OpState::Pending, TAKEN_IN_VAIN + 1, later) }, NOW, None),
            (with(OpState::Prepared, 0, soon), NOW, None),
            (with(OpState::Prepared, 0, later), NOW, Some(Stuck::Refused)),
            (with(OpState::Approved, 99, NOW), later, None),
        ] {
            assert_eq!(operation.stuck(at), expected, "{operation:?}");
        }
        let all = Stuck::ALL.map(Stuck::advice);
        assert!(all.iter().all(|advice| advice.contains(':')), "what it is, then what to do: {all:?}");
    }
}
