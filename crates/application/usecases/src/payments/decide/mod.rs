//! What follows from a processor's answer: pure but for fresh ids and the time.

mod authorization;
mod capture;
mod contract;
mod draft;
mod refund;
mod void;

use std::time::Duration;

use dropin_kernel::OpId;
use dropin_money::Amount;
use dropin_order::{OpKind, OpState, OrderState};
use dropin_ports::{Payment, ProcessorReply, Settlement, StoreError};

use self::draft::Draft;
use super::{Asker, Payments};

/// After this time an unknown outcome is logged as a fault for the operator (docs/SPECIFICATION.md#stuck-authorization).
pub(super) const ALERT_AFTER: Duration = Duration::from_secs(10 * 60);
/// How often such an outcome is asked for.
const OVERDUE_PAUSE: Duration = Duration::from_secs(60);
/// Pause before something that was refused for now is tried again; doubled each time.
const FIRST_RETRY: Duration = Duration::from_secs(5);
/// Longest such pause.
const LONGEST_RETRY: Duration = Duration::from_secs(60 * 60);
/// Shortest and longest pause between two looks at something that waits for a person or a bank: tens of thousands may wait for days, and must
/// not keep the settler from what is unknown.
const PENDING_PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15 * 60));

/// Policy of a decision: who waits for it, and what is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecisionPolicy {
    /// Who hears of a refusal that need not be for good.
    pub(super) asker: Asker,
    /// Somebody has looked at it: another amount than was asked for is taken as it is, as long as it is less.
    pub(super) accept: bool,
    /// The processor was asked to close the hosted page.
    pub(super) closing: bool,
    /// The key under which the capture that follows, or that is refused under another key, was asked for before, by a program whose books are lost; `None` for a new one.
    pub(super) capture_key: Option<OpId>,
}

impl DecisionPolicy {
    /// As `asker` asks for itself.
    pub(super) const fn of(asker: Asker) -> Self {
        Self { asker, accept: false, closing: false, capture_key: None }
    }
}

pub(super) fn decide(
    with: &Payments,
    payment: &Payment,
    answer: &ProcessorReply,
    policy: DecisionPolicy,
) -> Result<Settlement, StoreError> {
    let mut draft = Draft::new(with, payment, policy);
    match payment.operation.kind {
        OpKind::Authorize => authorization::decide(&mut draft, answer, policy)?,
        OpKind::Capture => capture::decide(&mut draft, answer, policy)?,
        OpKind::Void => void::decide(&mut draft, answer, policy)?,
        OpKind::Refund => refund::decide(&mut draft, answer, policy)?,
    }
    contract::follow(&mut draft, answer)?;
    Ok(draft.settlement)
}

/// What follows when a refund that had succeeded failed afterwards.
pub(super) fn take_back_refund(with: &Payments, payment: &Payment) -> Result<Settlement, StoreError> {
    let mut draft = Draft::new(with, payment, DecisionPolicy::of(Asker::Nobody));
    refund::take_back(&mut draft)?;
    Ok(draft.settlement)
}

/// How the amount of an approval compares with what was asked.
enum Approved {
    /// As asked, or accepted by somebody who has looked at it.
    Usable(Amount),
    /// Another amount or currency, or none: never accepted silently.
    Differs,
}

impl Approved {
    fn of(asked: &Amount, answered: Option<&Amount>, policy: DecisionPolicy) -> Self {
        match answered {
            Some(amount) if amount == asked => Self::Usable(*amount),
            Some(amount) if policy.accept && !amount.is_zero() && amount < asked => Self::Usable(*amount),
            _ => Self::Differs,
        }
    }
}

impl Draft<'_> {
    /// Stays open with its reservation; only the next poll is scheduled.
    fn poll_later(&mut self, state: OpState) {
        let operation = &self.payment.operation;
        let age = self.settlement.now.since(operation.created_at);
        // A clear PENDING is not unlearned by an unclear answer, but by one to the request to close the page: it may be closed or paid.
        let pending = operation.state == OpState::Pending && !self.policy.closing;
        let state = if pending { OpState::Pending } else { state };
        // A page may be old when the shopper asks to close it; that question is new.
        let overdue = ALERT_AFTER < age && state == OpState::Unknown && !self.policy.closing;
        if overdue {
            let (id, kind) = (operation.id.to_string(), operation.kind.as_str());
            log::error!(
                operation = id.as_str(), kind, minutes = age.as_secs() / 60;
                "an outcome has been unknown for long: compare the Order with the processor's books"
            );
        }
        let pause = match state {
            // What has waited for long may wait a little longer: an eighth of its age.
            OpState::Pending => (age / 8).clamp(PENDING_PAUSE.0, PENDING_PAUSE.1),
            _ if overdue => OVERDUE_PAUSE,
            _ => self.with.timing.pause(operation.tries),
        };
        self.settlement.state = state;
        self.settlement.due_at = self.settlement.now.plus(pause);
    }

    fn unclear(&mut self, why: &str) {
        let operation = self.payment.operation.id.to_string();
        log::warn!(operation = operation.as_str(), why; "unknown outcome: the processor will be asked about the key");
        self.poll_later(OpState::Unknown);
    }

    /// Money has moved, and not as asked: the Order is held for review and the operation stays open until somebody decides.
    fn differs(&mut self) -> Result<(), StoreError> {
        let (operation, order) = (self.payment.operation.id.to_string(), self.payment.order.id.to_string());
        log::error!(
            operation = operation.as_str(), order = order.as_str();
            "the processor did another amount than was asked: held for review; see `dropin order show`, then `dropin order review`"
        );
        // An Order that ended unpaid stays as it ended: its open operation says what is amiss.
        let state = self.order().state;
        if !self.order().under_review && (state == OrderState::Processed || !state.is_final()) {
            let step = self.order().amount_differs(self.settlement.now);
            self.order_step(step.map_err(|_wrong| super::corrupt("an open operation of an Order whose life is over"))?);
        }
        self.settlement.state = OpState::Unknown;
        self.settlement.due_at = self.settlement.now.plus(OVERDUE_PAUSE);
        Ok(())
    }

    /// The same thing is asked again later under a new key, or under the one under which it was made: the reservation stays.
    fn again_later(&mut self, at_least: Duration) {
        let operation = &self.payment.operation;
        let pause = FIRST_RETRY.saturating_mul(1 << operation.refusals().min(16)).min(LONGEST_RETRY).max(at_least);
        let due_at = self.settlement.now.plus(pause);
        let key = self.policy.capture_key.unwrap_or_else(|| self.with.op_id());
        self.settlement.follow_up = Some(operation.again(key, self.settlement.now, due_at));
    }
}
