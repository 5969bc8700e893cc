//! What a request about an Order leads to, decided before the processor is asked.

use dropin_kernel::Timestamp;
use dropin_money::Amount;

use crate::order::{Order, VoidCause};
use crate::state::{OrderState, OrderTrigger};
use crate::step::{Step, WrongState};

/// Why a capture is not started (docs/SPECIFICATION.md#order-capture).
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// let refused = authorized().plan_capture(Some(&usd(0)), NOW).unwrap_err();
/// assert_eq!(refused.to_string(), "the amount must be above zero and at most what was authorized");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureRefused {
    /// In a state without anything to capture, or captured, in flight or promised with another amount.
    #[error("the Order is {}", .found.as_str())]
    WrongState {
        /// The state it is in, or is about to be.
        found: OrderState,
    },
    /// Zero, or more than was authorized.
    #[error("the amount must be above zero and at most what was authorized")]
    AmountOutOfRange,
}

/// What a request to capture leads to.
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// # use dropin_order::CapturePlan;
/// let asked = authorized().request_capture(&usd(600), NOW).unwrap().change.next;
/// // The same once more: nothing moves twice.
/// assert!(matches!(asked.plan_capture(Some(&usd(600)), NOW), Ok(CapturePlan::InFlight(Some(_)))));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapturePlan {
    /// Ask the processor for this much; the change reserves it.
    Ask {
        /// The reservation.
        step: Box<Step>,
        /// How much to ask for.
        amount: Amount,
    },
    /// It was captured before, with this very amount: nothing moves twice.
    AlreadyCaptured,
    /// A capture is in flight. The step, if any, must be written before anybody is told so: it keeps the promise that a notification follows.
    InFlight(Option<Box<Step>>),
    /// Held by review; captured when the review is approved. The step, if any, must be written before anybody is told so.
    UnderReview(Option<Box<Step>>),
}

/// What a request to end an Order before capture leads to.
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// # use dropin_order::{OrderState, VoidPlan};
/// assert_eq!(in_state(OrderState::Cancelled).plan_cancel(NOW), Ok(VoidPlan::AlreadyDone));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VoidPlan {
    /// Ask the processor; the change keeps everything else away meanwhile.
    Ask(Box<Step>),
    /// A void is in flight.
    InFlight,
    /// It ended that way before.
    AlreadyDone,
}

/// Why a review's decision is not carried out.
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// let refused = authorized().approve_review(NOW).unwrap_err();
/// assert_eq!(refused.to_string(), "the Order is PAYMENT_AUTHORIZED and not under review");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReviewRefused {
    /// Not under review, or not in a state to be decided.
    #[error("the Order is {} and not under review", .found.as_str())]
    NotUnderReview {
        /// The state it is in.
        found: OrderState,
    },
    /// The processor reserved nothing that can be captured: it can only be declined.
    #[error("nothing usable was authorized: the review can only be declined")]
    NothingAuthorized,
}

/// Why a refund is not started (docs/SPECIFICATION.md#order-refund).
///
/// ```
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
/// # use common::*;
/// let refused = authorized().plan_refund(None, NOW).unwrap_err();
/// assert_eq!(refused.to_string(), "the Order is PAYMENT_AUTHORIZED");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefundRefused {
    /// Nothing was captured.
    #[error("the Order is {}", .found.as_str())]
    NotCaptured {
        /// The state it is in.
        found: OrderState,
    },
    /// Zero.
    #[error("the amount must be above zero")]
    NothingAsked,
    /// More than is left of what was captured and is not disputed.
    #[error("at most {left} {} is left to be refunded", .left.currency())]
    ExceedsCaptured {
        /// What is left.
        left: Amount,
    },
}

impl Order {
    /// Decides what a request to capture `amount` (all that is authorized when `None`) leads to.
    ///
    /// # Errors
    /// [`CaptureRefused`].
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{CapturePlan, CaptureRefused};
    /// let CapturePlan::Ask { step, amount } = authorized().plan_capture(Some(&usd(600)), NOW).unwrap() else { panic!("nothing is in flight") };
    /// assert_eq!((amount, *step.change.next.amounts.capture_pending()), (usd(600), usd(600)));
    /// let all = authorized().plan_capture(None, NOW).unwrap();
    /// assert!(matches!(all, CapturePlan::Ask { amount, .. } if amount == usd(1_000)));
    /// assert_eq!(authorized().plan_capture(Some(&usd(1_001)), NOW), Err(CaptureRefused::AmountOutOfRange));
    /// ```
    pub fn plan_capture(&self, amount: Option<&Amount>, now: Timestamp) -> Result<CapturePlan, CaptureRefused> {
        match self.state {
            OrderState::Processed if amount.is_none_or(|asked| asked == self.amounts.captured()) => {
                Ok(CapturePlan::AlreadyCaptured)
            }
            OrderState::CommitAccepted | OrderState::PaymentAuthorized if self.voiding.is_some() => {
                Err(CaptureRefused::WrongState { found: OrderState::Cancelled })
            }
            OrderState::CommitAccepted | OrderState::PaymentAuthorized if !self.amounts.capture_pending().is_zero() => {
                if amount.is_some_and(|asked| asked != self.amounts.capture_pending()) {
                    return Err(CaptureRefused::WrongState { found: self.state });
                }
                Ok(CapturePlan::InFlight(self.promise(self.amounts.capture_pending(), now)?))
            }
            OrderState::CommitAccepted => Ok(CapturePlan::UnderReview(self.promise_once(amount, &self.total, now)?)),
            OrderState::PaymentAuthorized if self.has_lapsed(now) => {
                Err(CaptureRefused::WrongState { found: OrderState::Cancelled })
            }
            OrderState::PaymentAuthorized if self.under_review => {
                Ok(CapturePlan::UnderReview(self.promise_once(amount, &self.amounts.capturable(), now)?))
            }
            OrderState::PaymentAuthorized => {
                let amount = amount.cloned().unwrap_or_else(|| self.amounts.capturable());
                let step = self.request_capture(&amount, now)?;
                Ok(CapturePlan::Ask { step: Box::new(step), amount })
            }
            found => Err(CaptureRefused::WrongState { found }),
        }
    }

    /// Reserves `amount` before the processor is asked.
    ///
    /// # Errors
    /// [`CaptureRefused`].
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let order = authorized().request_capture(&usd(600), NOW).unwrap().change.next;
    /// assert_eq!(order.amounts.capturable(), usd(400));
    /// ```
    pub fn request_capture(&self, amount: &Amount, now: Timestamp) -> Result<Step, CaptureRefused> {
        if amount.is_zero() {
            return Err(CaptureRefused::AmountOutOfRange);
        }
        let amounts = self.amounts.reserve_capture(amount).map_err(|_rule| CaptureRefused::AmountOutOfRange)?;
        let moved = self.moved(OrderTrigger::CaptureRequested, now);
        let step = moved.map_err(|WrongState { found }| CaptureRefused::WrongState { found })?;
        Ok(step.with(|order| {
            order.amounts = amounts;
            order.capture_promised = self.capture_promised.as_ref().map(|_promised| *amount);
        }))
    }

    /// What is captured when nobody asks again: what was promised, all with AutoCapture, or nothing.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let auto = authorized().edited(|parts| parts.auto_capture = true).unwrap();
    /// assert_eq!((authorized().capture_due(), auto.capture_due()), (None, Some(usd(1_000))));
    /// ```
    pub fn capture_due(&self) -> Option<Amount> {
        let all = || self.auto_capture.then(|| self.amounts.capturable());
        self.capture_promised.or_else(all)
    }

    fn promise_once(
        &self,
        asked: Option<&Amount>,
        most: &Amount,
        now: Timestamp,
    ) -> Result<Option<Box<Step>>, CaptureRefused> {
        let amount = asked.unwrap_or(most);
        if amount.is_zero() || amount.partial_cmp(most).is_none_or(std::cmp::Ordering::is_gt) {
            return Err(CaptureRefused::AmountOutOfRange);
        }
        match &self.capture_promised {
            Some(promised) if asked.is_some_and(|asked| asked != promised) => {
                Err(CaptureRefused::WrongState { found: self.state })
            }
            _ => self.promise(amount, now),
        }
    }

    fn promise(&self, amount: &Amount, now: Timestamp) -> Result<Option<Box<Step>>, CaptureRefused> {
        if self.capture_promised.is_some() {
            return Ok(None);
        }
        let moved = self.moved(OrderTrigger::CapturePromised, now);
        let step = moved.map_err(|WrongState { found }| CaptureRefused::WrongState { found })?;
        Ok(Some(Box::new(step.with(|order| order.capture_promised = Some(*amount)))))
    }

    /// Decides what the merchant's cancel leads to (docs/SPECIFICATION.md#order-cancel).
    ///
    /// # Errors
    /// [`WrongState`] after capture, while a capture is in flight, or while the authorization itself is; also when other money than was asked for
    /// has arrived, which a reviewer decides about.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OrderState, VoidPlan};
    /// let asked = void_asked(&authorized()).unwrap().change.next;
    /// assert_eq!(asked.plan_cancel(NOW), Ok(VoidPlan::InFlight));
    /// assert!(in_state(OrderState::Processed).plan_cancel(NOW).is_err(), "it was captured");
    /// ```
    pub fn plan_cancel(&self, now: Timestamp) -> Result<VoidPlan, WrongState> {
        let waits = self.page.is_some() || self.bank_details.is_some();
        match self.state {
            OrderState::Cancelled => Ok(VoidPlan::AlreadyDone),
            OrderState::Processing if !waits || self.under_review => Err(WrongState { found: self.state }),
            OrderState::Processing | OrderState::CommitAccepted | OrderState::PaymentAuthorized => {
                self.plan_void(VoidCause::Merchant, now)
            }
            found => Err(WrongState { found }),
        }
    }

    /// Decides what the end of its time leads to; the sweeper's counterpart of [`Order::plan_cancel`].
    ///
    /// # Errors
    /// [`WrongState`] when its time is not over or its life is, and while a capture is in flight.
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::VoidPlan;
    /// assert!(authorized().plan_expiry(NOW).is_err(), "its time is not over");
    /// assert!(matches!(authorized().plan_expiry(LATER), Ok(VoidPlan::Ask(_))));
    /// ```
    pub fn plan_expiry(&self, now: Timestamp) -> Result<VoidPlan, WrongState> {
        if self.state.is_final() || !self.has_lapsed(now) {
            return Err(WrongState { found: self.state });
        }
        self.plan_void(VoidCause::Expired, now)
    }

    fn plan_void(&self, cause: VoidCause, now: Timestamp) -> Result<VoidPlan, WrongState> {
        if !self.amounts.capture_pending().is_zero() {
            return Err(WrongState { found: self.state });
        }
        if self.voiding.is_some() {
            return Ok(VoidPlan::InFlight);
        }
        let step = self.moved(OrderTrigger::VoidRequested, now)?;
        Ok(VoidPlan::Ask(Box::new(step.with(|order| order.voiding = Some(cause)))))
    }

    /// The reviewer approves: it may be captured now.
    ///
    /// # Errors
    /// [`ReviewRefused`].
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// let held = started().authorized(&usd(900), false, LATER, id(4), NOW).unwrap().change.next;
    /// assert!(held.is_held() && !held.approve_review(NOW).unwrap().change.next.is_held());
    /// ```
    pub fn approve_review(&self, now: Timestamp) -> Result<Step, ReviewRefused> {
        self.reviewable(now)?;
        if self.amounts.total_authorized().is_zero() {
            return Err(ReviewRefused::NothingAuthorized);
        }
        let found = self.state;
        let moved = self.moved(OrderTrigger::ReviewApproved, now);
        let step = moved.map_err(|_wrong| ReviewRefused::NotUnderReview { found })?;
        Ok(step.with(|order| order.under_review = false))
    }

    /// The reviewer declines: the authorization is voided, then the Order is DECLINED.
    ///
    /// # Errors
    /// [`ReviewRefused`].
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OrderState, VoidPlan};
    /// let held = started().authorized(&usd(900), false, LATER, id(4), NOW).unwrap().change.next;
    /// let VoidPlan::Ask(asked) = held.decline_review(NOW).unwrap() else { panic!("nothing is in flight") };
    /// assert_eq!(asked.change.next.voided(id(5), NOW).unwrap().change.next.state, OrderState::Declined);
    /// ```
    pub fn decline_review(&self, now: Timestamp) -> Result<VoidPlan, ReviewRefused> {
        if self.state == OrderState::Declined {
            return Ok(VoidPlan::AlreadyDone);
        }
        if self.state == OrderState::PaymentAuthorized && self.voiding == Some(VoidCause::Review) {
            return Ok(VoidPlan::InFlight);
        }
        self.reviewable(now)?;
        self.plan_void(VoidCause::Review, now).map_err(|WrongState { found }| ReviewRefused::NotUnderReview { found })
    }

    fn reviewable(&self, now: Timestamp) -> Result<(), ReviewRefused> {
        let in_time = self.voiding.is_none() && !self.has_lapsed(now);
        match self.state {
            OrderState::PaymentAuthorized if self.under_review && in_time => Ok(()),
            found => Err(ReviewRefused::NotUnderReview { found }),
        }
    }

    /// Reserves `amount` (all that is left when `None`) for a refund.
    ///
    /// # Errors
    /// [`RefundRefused`].
    ///
    /// ```
    /// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/mod.rs")); }
    /// # use common::*;
    /// # use dropin_order::{OrderState, RefundRefused};
    /// // 5.00 are captured, of which 1.00 is refunded and 2.00 are being so.
    /// let order = in_state(OrderState::Processed);
    /// assert_eq!(order.plan_refund(None, NOW).unwrap().1, usd(200));
    /// let refused = order.plan_refund(Some(&usd(201)), NOW).unwrap_err();
    /// assert_eq!(refused, RefundRefused::ExceedsCaptured { left: usd(200) });
    /// ```
    pub fn plan_refund(&self, amount: Option<&Amount>, now: Timestamp) -> Result<(Step, Amount), RefundRefused> {
        let step = self
            .moved(OrderTrigger::RefundRequested, now)
            .map_err(|WrongState { found }| RefundRefused::NotCaptured { found })?;
        let left = self.amounts.refundable();
        let amount = match amount {
            Some(asked) if asked.is_zero() => return Err(RefundRefused::NothingAsked),
            Some(asked) => *asked,
            None if left.is_zero() => return Err(RefundRefused::ExceedsCaptured { left }),
            None => left,
        };
        if amount.partial_cmp(&left).is_none_or(std::cmp::Ordering::is_gt) {
            return Err(RefundRefused::ExceedsCaptured { left });
        }
        let amounts = self.amounts.reserve_refund(&amount).map_err(|_rule| RefundRefused::ExceedsCaptured { left })?;
        Ok((step.with(|order| order.amounts = amounts), amount))
    }
}
