//! The Order against a reference model that is too simple to be wrong: numbers and a few flags, no types, no table. Whatever merchants, processors
//! and clocks do in whatever order, both agree on state and money, and the ledger says the same as the amounts.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use std::collections::BTreeMap;

use common::{LATER, NOW, id, started, usd};
use dropin_kernel::Timestamp;
use dropin_order::{Account, CapturePlan, FailureReason, Order, OrderState, Step, VoidPlan};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

#[derive(Debug, Clone, Copy)]
enum Move {
    Authorize {
        minor: i64,
        review: bool,
    },
    Pay,
    TakeIntoReview,
    ProviderApproves,
    Refuse,
    AskCapture(Option<i64>),
    CaptureTaken,
    CaptureRefused {
        retryable: bool,
    },
    Cancel,
    Lapse,
    Decline,
    Approve,
    VoidDone,
    VoidRefused,
    AskRefund(Option<i64>),
    RefundDone,
    RefundFailed,
    /// The processor reserves after the Order's life is over.
    AuthorizeLate {
        minor: i64,
    },
    /// The processor takes money after the Order's life is over.
    PayLate {
        minor: i64,
    },
    /// What was reserved late is released.
    LateVoidDone,
}

/// What must be so, said as simply as it can be.
#[derive(Debug, Clone)]
struct Model {
    state: &'static str,
    held: bool,
    voiding: Option<&'static str>,
    promised: Option<i64>,
    authorized: i64,
    capturing: i64,
    captured: i64,
    refunds: Vec<i64>,
    refunded: i64,
    lapsed: bool,
    /// Reserved after the end, until that is voided.
    late: i64,
}

impl Model {
    /// Whether it ended, and no money of it ever moved.
    fn ended_untouched(&self) -> bool {
        (self.state == "PROCESSING_FAILED" || self.state == "CANCELLED") && self.authorized == 0
    }

    fn live(&self) -> bool {
        self.state == "PAYMENT_AUTHORIZED" || self.state == "COMMIT_ACCEPTED"
    }

    fn void(&mut self, cause: &'static str) {
        if self.capturing == 0 && self.voiding.is_none() && self.live() {
            self.voiding = Some(cause);
        }
    }

    fn ask_capture(&mut self, asked: Option<i64>) {
        let most = if self.state == "COMMIT_ACCEPTED" { 1_000 } else { self.authorized };
        let amount = asked.unwrap_or(most);
        let sensible = 0 < amount && amount <= most;
        if !self.live() || self.voiding.is_some() {
            return;
        }
        if 0 < self.capturing {
            if amount == self.capturing || asked.is_none() {
                self.promised = self.promised.or(Some(self.capturing));
            }
        } else if self.state == "COMMIT_ACCEPTED" || self.held {
            if sensible && !(self.state == "PAYMENT_AUTHORIZED" && self.lapsed) {
                self.promised = self.promised.or(Some(amount));
            }
        } else if sensible && !self.lapsed {
            self.capturing = amount;
        }
    }
}

impl Model {
    fn after(mut self, step: Move) -> Self {
        match step {
            Move::Authorize { minor, review } if self.state == "PROCESSING" => {
                self.state = "PAYMENT_AUTHORIZED";
                self.authorized = minor.min(1_000);
                self.held = review || minor != 1_000;
            }
            Move::Pay if self.state == "PROCESSING" => {
                self.state = "PROCESSED";
                (self.authorized, self.captured) = (1_000, 1_000);
            }
            Move::TakeIntoReview if self.state == "PROCESSING" => self.state = "COMMIT_ACCEPTED",
            // A capture that was promised is reserved in the same step, unless it is being voided.
            Move::ProviderApproves if self.state == "COMMIT_ACCEPTED" => {
                (self.state, self.authorized) = ("PAYMENT_AUTHORIZED", 1_000);
                if self.voiding.is_none() {
                    self.capturing = self.promised.unwrap_or(0);
                }
            }
            Move::Refuse if self.state == "PROCESSING" || (self.state == "COMMIT_ACCEPTED" && self.authorized == 0) => {
                self.state = "PROCESSING_FAILED";
                self.voiding = None;
            }
            Move::AskCapture(asked) => self.ask_capture(asked),
            Move::CaptureTaken if 0 < self.capturing => {
                self.state = "PROCESSED";
                (self.captured, self.capturing, self.held) = (self.capturing, 0, false);
            }
            Move::CaptureRefused { retryable } if 0 < self.capturing => {
                let again = retryable && self.state == "PAYMENT_AUTHORIZED";
                if again || !retryable {
                    self.capturing = 0;
                }
                if !retryable {
                    (self.state, self.held) = ("PROCESSING_FAILED", false);
                }
            }
            Move::Cancel => self.void("MERCHANT"),
            Move::Lapse if self.live() => {
                self.lapsed = self.state == "PAYMENT_AUTHORIZED";
                if self.lapsed {
                    self.void("EXPIRED");
                }
            }
            Move::Decline if self.state == "PAYMENT_AUTHORIZED" && self.held && !self.lapsed => self.void("REVIEW"),
            Move::Approve
                if self.state == "PAYMENT_AUTHORIZED" && self.held && self.voiding.is_none() && !self.lapsed =>
            {
                self.held = false;
            }
            Move::VoidDone => {
                if let Some(cause) = self.voiding.take() {
                    let declined = cause == "REVIEW" && self.state == "PAYMENT_AUTHORIZED";
                    (self.state, self.held) = (if declined { "DECLINED" } else { "CANCELLED" }, false);
                }
            }
            Move::VoidRefused => self.voiding = None,
            Move::AskRefund(asked) if self.state == "PROCESSED" => {
                let left = self.captured - self.refunded - self.refunds.iter().sum::<i64>();
                let amount = asked.unwrap_or(left);
                if 0 < amount && amount <= left {
                    self.refunds.push(amount);
                }
            }
            Move::RefundDone => {
                if let Some(amount) = self.refunds.pop() {
                    self.refunded += amount;
                }
            }
            // What came late is given back, however often that is refused.
            Move::RefundFailed if self.state == "PROCESSED" => {
                self.refunds.pop();
            }
            Move::AuthorizeLate { minor } if self.ended_untouched() => {
                self.late = minor.min(1_000);
                self.authorized = self.late;
            }
            Move::PayLate { minor } if self.ended_untouched() && minor <= 1_000 => {
                (self.authorized, self.captured) = (minor, minor);
                self.refunds.push(minor);
            }
            Move::LateVoidDone if 0 < self.late => (self.late, self.authorized) = (0, 0),
            _ => {}
        }
        self
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Move;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self {
            state: "PROCESSING",
            held: false,
            voiding: None,
            promised: None,
            authorized: 0,
            capturing: 0,
            captured: 0,
            refunds: Vec::new(),
            refunded: 0,
            lapsed: false,
            late: 0,
        })
        .boxed()
    }

    fn transitions(_state: &Self) -> BoxedStrategy<Move> {
        let amount = proptest::option::of(0_i64..=1_100);
        prop_oneof![
            4 => (prop_oneof![4 => Just(1_000), 1 => 1_i64..=1_100], any::<bool>())
                .prop_map(|(minor, review)| Move::Authorize { minor, review }),
            1 => Just(Move::Pay),
            1 => Just(Move::TakeIntoReview),
            1 => Just(Move::ProviderApproves),
            1 => Just(Move::Refuse),
            4 => amount.clone().prop_map(Move::AskCapture),
            3 => Just(Move::CaptureTaken),
            1 => any::<bool>().prop_map(|retryable| Move::CaptureRefused { retryable }),
            1 => Just(Move::Cancel),
            1 => Just(Move::Lapse),
            1 => Just(Move::Decline),
            2 => Just(Move::Approve),
            2 => Just(Move::VoidDone),
            1 => Just(Move::VoidRefused),
            4 => amount.prop_map(Move::AskRefund),
            3 => Just(Move::RefundDone),
            1 => Just(Move::RefundFailed),
            1 => (1_i64..=1_100).prop_map(|minor| Move::AuthorizeLate { minor }),
            1 => (1_i64..=1_100).prop_map(|minor| Move::PayLate { minor }),
            1 => Just(Move::LateVoidDone),
        ]
        .boxed()
    }

    fn apply(model: Self, step: &Move) -> Self {
        model.after(*step)
    }
}

/// The Order with what is under way at the processor, and the sums of its ledger.
struct Real {
    order: Order,
    now: Timestamp,
    refunds: Vec<i64>,
    ledger: BTreeMap<Account, i64>,
    /// A void of what was reserved late is under way.
    voiding_late: bool,
}

impl Real {
    fn take(&mut self, step: Step) {
        assert_eq!(step.change.expected, self.order.revision);
        for posted in &step.ledger {
            for entry in posted.entries() {
                *self.ledger.entry(entry.account).or_default() += entry.minor;
            }
        }
        self.order = step.change.next;
    }

    fn take_some(&mut self, step: Option<Step>) {
        if let Some(step) = step {
            self.take(step);
        }
    }

    fn take_void(&mut self, plan: Result<VoidPlan, impl std::fmt::Debug>) {
        if let Ok(VoidPlan::Ask(step)) = plan {
            self.take(*step);
        }
    }

    fn ask_capture(&mut self, asked: Option<i64>) {
        match self.order.plan_capture(asked.map(usd).as_ref(), self.now) {
            Ok(CapturePlan::Ask { step, .. }) => self.take(*step),
            Ok(CapturePlan::InFlight(promise) | CapturePlan::UnderReview(promise)) => {
                self.take_some(promise.map(|step| *step));
            }
            Ok(CapturePlan::AlreadyCaptured) | Err(_) => {}
        }
    }

    fn provider_approves(&mut self) {
        let Ok(step) = self.order.provider_approved(&usd(1_000), LATER, id(4), self.now) else { return };
        self.take(step);
        if let Some(amount) = self.order.capture_due().filter(|_| self.order.voiding.is_none()) {
            let step = self.order.request_capture(&amount, self.now).unwrap();
            self.take(step);
        }
    }
}

impl Real {
    fn after(mut self, step: Move) -> Self {
        let now = self.now;
        let pending = *self.order.amounts.capture_pending();
        let live = matches!(self.order.state, OrderState::PaymentAuthorized | OrderState::CommitAccepted);
        match step {
            Move::Authorize { minor, review } => {
                let step = self.order.authorized(&usd(minor), review, LATER, id(4), now).ok();
                self.take_some(step);
            }
            Move::Pay => self.take_some(self.order.paid(&usd(1_000), id(5), id(6), now).ok()),
            Move::TakeIntoReview => self.take_some(self.order.taken_into_review(now).ok()),
            Move::ProviderApproves => self.provider_approves(),
            Move::Refuse if self.order.amounts.total_authorized().is_zero() => {
                self.take_some(self.order.refused(FailureReason::Declined, now).ok());
            }
            Move::AskCapture(asked) => self.ask_capture(asked),
            Move::CaptureTaken if !pending.is_zero() => {
                self.take_some(self.order.captured(&pending, &pending, id(5), id(6), now).ok());
            }
            Move::CaptureRefused { retryable } if !pending.is_zero() => {
                self.take_some(self.order.capture_refused(&pending, retryable, id(4), now).ok());
            }
            Move::Cancel if self.order.state != OrderState::Processing => self.take_void(self.order.plan_cancel(now)),
            Move::Lapse if live => {
                if self.order.state == OrderState::PaymentAuthorized {
                    self.now = LATER;
                }
                self.take_void(self.order.plan_expiry(self.now));
            }
            Move::Decline => self.take_void(self.order.decline_review(now)),
            Move::Approve => self.take_some(self.order.approve_review(now).ok()),
            Move::VoidDone if self.order.voiding.is_some() => self.take_some(self.order.voided(id(4), now).ok()),
            Move::VoidRefused if self.order.voiding.is_some() => {
                self.take_some(self.order.void_refused(None, now).ok())
            }
            Move::AskRefund(asked) => {
                if let Ok((step, amount)) = self.order.plan_refund(asked.map(usd).as_ref(), now) {
                    self.take(step);
                    self.refunds.push(amount.minor());
                }
            }
            Move::RefundDone => {
                if let Some(minor) = self.refunds.pop() {
                    let step = self.order.refund_succeeded(&usd(minor), &usd(minor), id(4), now);
                    self.take_some(step.ok());
                }
            }
            Move::AuthorizeLate { minor } => {
                if let Ok(step) = self.order.authorized_late(&usd(minor), id(4), now) {
                    self.take(step);
                    self.voiding_late = true;
                }
            }
            Move::PayLate { minor } => {
                if let Ok(step) = self.order.paid_late(&usd(minor), id(5), id(6), now) {
                    self.take(step);
                    self.refunds.push(minor);
                }
            }
            Move::LateVoidDone if self.voiding_late => {
                self.take(self.order.voided(id(4), now).unwrap());
                self.voiding_late = false;
            }
            Move::RefundFailed if self.order.state == OrderState::Processed => {
                if let Some(minor) = self.refunds.pop() {
                    self.take_some(self.order.refund_failed(&usd(minor), now).ok());
                }
            }
            _ => {}
        }
        self
    }
}

impl StateMachineTest for Real {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(_model: &Model) -> Self {
        let order = started().edited(|parts| parts.shown = true).unwrap();
        Self { order, now: NOW, refunds: Vec::new(), ledger: BTreeMap::new(), voiding_late: false }
    }

    fn apply(real: Self, _model: &Model, step: Move) -> Self {
        real.after(step)
    }

    fn check_invariants(real: &Self, model: &Model) {
        let (order, amounts) = (&real.order, &real.order.amounts);
        assert_eq!(order.state.as_str(), model.state);
        assert_eq!(order.under_review, model.held, "under review");
        assert_eq!(order.voiding.map(|cause| cause.as_str()), model.voiding, "voiding");
        assert_eq!(amounts.total_authorized().minor(), model.authorized, "authorized");
        assert_eq!(amounts.capture_pending().minor(), model.capturing, "capture pending");
        assert_eq!(amounts.captured().minor(), model.captured, "captured");
        assert_eq!(amounts.refund_pending().minor(), model.refunds.iter().sum::<i64>(), "refund pending");
        assert_eq!(amounts.refunded().minor(), model.refunded, "refunded");
        let held = |account| real.ledger.get(&account).copied().unwrap_or_default();
        assert_eq!(real.ledger.values().sum::<i64>(), 0, "the ledger does not sum to zero");
        let reserved = if model.live() { model.authorized } else { model.late };
        assert_eq!(held(Account::Authorized), reserved, "ledger: authorized");
        assert_eq!(held(Account::Captured), model.captured - model.refunded, "ledger: captured");
        assert_eq!(held(Account::Refunded), model.refunded, "ledger: refunded");
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_order_agrees_with_the_model(sequential 1..40 => Real);
}
