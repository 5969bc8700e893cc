//! What follows from a processor's answer: pure but for fresh ids and the time.

use std::time::Duration;

use dropin_kernel::{Change, EventId, LedgerTransactionId, OpId};
use dropin_order::{DeclineReason, OpKind, OpState, Operation, Order, Step};
use dropin_ports::{Actor, History, NewEvent, Payment, ProcessorAnswer, Settlement, StoreError, Subject};
use dropin_session::{FailureReason, Session, SessionEvent, Transition as SessionTransition};

use super::{Asker, Payments, corrupt};

/// An outcome that is unknown for longer than this is a fault that somebody must look at (decisions.md section 4).
const PAGE_AFTER: Duration = Duration::from_secs(10 * 60);
/// How often such an outcome is asked for.
const OVERDUE_PAUSE: Duration = Duration::from_secs(60);
/// Pause before a capture that was refused for now is tried again; doubled each time.
const FIRST_RETRY: Duration = Duration::from_secs(5);
/// Longest such pause.
const LONGEST_RETRY: Duration = Duration::from_secs(60 * 60);

pub(super) fn decide(
    with: &Payments,
    payment: &Payment,
    answer: &ProcessorAnswer,
    asker: Asker,
) -> Result<Settlement, StoreError> {
    let mut settlement = nothing_yet(with, payment);
    match (payment.operation.kind, answer) {
        (_, ProcessorAnswer::Approved { amount }) if *amount != payment.operation.amount => {
            log::error!(
                operation = payment.operation.id.to_string().as_str();
                "the processor approved another amount than was asked: left UNKNOWN, compare the Order with the processor's journal"
            );
            look_again(with, payment, OpState::Unknown, &mut settlement);
        }
        (OpKind::Authorize, ProcessorAnswer::Approved { .. }) => authorized(with, payment, &mut settlement)?,
        (OpKind::Authorize, ProcessorAnswer::Declined { reason, .. }) => {
            refused(with, payment, OpState::Declined, failure(*reason), &mut settlement)?;
        }
        (OpKind::Authorize, ProcessorAnswer::Abandoned | ProcessorAnswer::NotSent) => {
            refused(with, payment, OpState::Abandoned, FailureReason::ProcessorUnavailable, &mut settlement)?;
        }
        (OpKind::Capture, ProcessorAnswer::Approved { .. }) => captured(with, payment, &mut settlement)?,
        (OpKind::Capture, ProcessorAnswer::Declined { retryable, .. }) => {
            settlement.state = OpState::Declined;
            capture_refused(with, payment, *retryable, asker, &mut settlement)?;
        }
        // Nobody here abandons a capture; a processor that says so has surely taken nothing under this key.
        (OpKind::Capture, ProcessorAnswer::Abandoned) => {
            settlement.state = OpState::Abandoned;
            capture_refused(with, payment, true, asker, &mut settlement)?;
        }
        (_, ProcessorAnswer::Pending) => look_again(with, payment, OpState::Pending, &mut settlement),
        (OpKind::Capture, ProcessorAnswer::NotSent) => look_again(with, payment, OpState::Unknown, &mut settlement),
        (_, ProcessorAnswer::Unknown { why }) => {
            let (operation, why) = (payment.operation.id.to_string(), why.as_str());
            log::warn!(operation = operation.as_str(), why; "unknown outcome: the processor will be asked about the key");
            look_again(with, payment, OpState::Unknown, &mut settlement);
        }
    }
    Ok(settlement)
}

fn nothing_yet(with: &Payments, payment: &Payment) -> Settlement {
    let now = with.clock.now();
    Settlement {
        operation: payment.operation.id,
        state: payment.operation.state,
        due_at: now,
        order: None,
        session: None,
        follow_up: None,
        ledger: Vec::new(),
        events: Vec::new(),
        history: Vec::new(),
        answer: None,
        now,
    }
}

/// Stays open, reservation and all; only the next look is planned.
fn look_again(with: &Payments, payment: &Payment, state: OpState, settlement: &mut Settlement) {
    let age = settlement.now.since(payment.operation.created_at);
    let overdue = PAGE_AFTER < age && state == OpState::Unknown;
    if overdue {
        let (operation, kind) = (payment.operation.id.to_string(), payment.operation.kind.as_str());
        log::error!(
            operation = operation.as_str(), kind, minutes = age.as_secs() / 60;
            "an outcome has been unknown for long: compare the Order with the processor's books"
        );
    }
    // A clear PENDING is not unlearned by an unclear answer.
    settlement.state = if payment.operation.state == OpState::Pending { OpState::Pending } else { state };
    let pause = if overdue { OVERDUE_PAUSE } else { with.timing.pause(payment.operation.tries) };
    settlement.due_at = settlement.now.plus(pause);
}

fn authorized(with: &Payments, payment: &Payment, settlement: &mut Settlement) -> Result<(), StoreError> {
    let now = settlement.now;
    settlement.state = OpState::Approved;
    let step = payment
        .order
        .as_processing()
        .map_err(|_moved_on| corrupt("an open authorization of an Order that is not PROCESSING"))?
        .authorized(ledger_id(with), now);
    let order = step.change.next.clone();
    if let Some(session) = &payment.session {
        let processing = session
            .as_processing()
            .map_err(|_moved_on| corrupt("an open authorization of a Session that is not PROCESSING"))?;
        session_changed(with, processing.authorized(now), &order, session, settlement);
    }
    order_changed(with, &payment.order, step, settlement);
    if order.auto_capture && !order.under_review {
        capture_follows(with, payment.operation.id, &order, settlement)?;
    }
    Ok(())
}

/// AutoCapture: the capture is reserved and written down in the very transaction that makes the Order authorized.
fn capture_follows(
    with: &Payments,
    authorization: OpId,
    order: &Order,
    settlement: &mut Settlement,
) -> Result<(), StoreError> {
    let now = settlement.now;
    let amount = order.amounts.capturable();
    let step = order
        .as_authorized()
        .map_err(|_moved_on| corrupt("an authorized Order that is not PAYMENT_AUTHORIZED"))?
        .request_capture(&amount, now)
        .map_err(|_rule| corrupt("an authorized Order without an amount to capture"))?;
    settlement.follow_up = Some(Operation::prepare(
        OpId::new(with.ids.ordered()),
        order.id,
        OpKind::Capture,
        amount,
        Some(authorization),
        now,
        now.plus(with.timing.lease),
    ));
    order_changed(with, order, step, settlement);
    Ok(())
}

fn refused(
    with: &Payments,
    payment: &Payment,
    state: OpState,
    reason: FailureReason,
    settlement: &mut Settlement,
) -> Result<(), StoreError> {
    let now = settlement.now;
    settlement.state = state;
    let step = payment
        .order
        .as_processing()
        .map_err(|_moved_on| corrupt("an open authorization of an Order that is not PROCESSING"))?
        .refused(now);
    if let Some(session) = &payment.session {
        let processing = session
            .as_processing()
            .map_err(|_moved_on| corrupt("an open authorization of a Session that is not PROCESSING"))?;
        session_changed(with, processing.refused(reason, now), &step.change.next, session, settlement);
    }
    order_changed(with, &payment.order, step, settlement);
    Ok(())
}

fn captured(with: &Payments, payment: &Payment, settlement: &mut Settlement) -> Result<(), StoreError> {
    settlement.state = OpState::Approved;
    let step = payment
        .order
        .as_authorized()
        .map_err(|_moved_on| corrupt("an open capture of an Order that is not PAYMENT_AUTHORIZED"))?
        .captured(&payment.operation.amount, (ledger_id(with), ledger_id(with)), settlement.now)
        .ok_or_else(|| corrupt("a capture of more than was reserved"))?;
    order_changed(with, &payment.order, step, settlement);
    Ok(())
}

fn capture_refused(
    with: &Payments,
    payment: &Payment,
    retryable: bool,
    asker: Asker,
    settlement: &mut Settlement,
) -> Result<(), StoreError> {
    let (now, operation) = (settlement.now, &payment.operation);
    let in_time = payment.order.capture_before.is_none_or(|end| now < end);
    if retryable && asker == Asker::Nobody && in_time {
        // Nobody hears of this refusal, so it must not be the end: the reservation stays, and the settler asks under a new key.
        let pause = FIRST_RETRY.saturating_mul(1 << operation.tries.min(16)).min(LONGEST_RETRY);
        let (id, due_at) = (OpId::new(with.ids.ordered()), now.plus(pause));
        let again = Operation::prepare(
            id,
            operation.order_id,
            OpKind::Capture,
            operation.amount.clone(),
            operation.authorization,
            now,
            due_at,
        );
        settlement.follow_up = Some(Operation { tries: operation.tries.saturating_add(1), ..again });
        return Ok(());
    }
    let step = payment
        .order
        .as_authorized()
        .map_err(|_moved_on| corrupt("an open capture of an Order that is not PAYMENT_AUTHORIZED"))?
        .capture_refused(&operation.amount, retryable, now)
        .ok_or_else(|| corrupt("a capture of more than was reserved"))?;
    order_changed(with, &payment.order, step, settlement);
    Ok(())
}

/// Adds a change of the Session, its history and its event.
fn session_changed(
    with: &Payments,
    (change, row): (Change<Session>, SessionTransition),
    order: &Order,
    before: &Session,
    settlement: &mut Settlement,
) {
    if let Some(event) = row.event {
        let body = match event {
            SessionEvent::Completed => dropin_wire::event::session_completed(&change.next, order),
            SessionEvent::Failed => dropin_wire::event::session_failed(&change.next),
            SessionEvent::Cancelled => dropin_wire::event::session_cancelled(&change.next),
        };
        let event = new_event(with, order, event.as_str(), body, settlement);
        settlement.events.push(event);
    }
    settlement.history.push(History {
        merchant_id: before.merchant_id,
        subject: Subject::Session(before.id),
        actor: Actor::System,
        what: row.trigger.as_str(),
        at: settlement.now,
        before: Some(before.state.kind().as_str()),
        after: row.to.as_str(),
    });
    settlement.session = Some(change);
}

/// Adds a change of the Order, its ledger, its history and, when the Order has been shown, its event. A second change of the same settlement
/// builds on the first: one write, decided on the revision that was loaded.
fn order_changed(with: &Payments, before: &Order, step: Step, settlement: &mut Settlement) {
    let after = &step.change.next;
    if let Some(event) = step.transition.event.filter(|_| after.shown) {
        let body = dropin_wire::event::order_changed(event, after);
        let event = new_event(with, after, event.as_str(), body, settlement);
        settlement.events.push(event);
    }
    settlement.history.push(History {
        merchant_id: before.merchant_id,
        subject: Subject::Order(before.id),
        actor: Actor::System,
        what: step.transition.trigger.as_str(),
        at: settlement.now,
        before: Some(before.state.as_str()),
        after: step.transition.to.as_str(),
    });
    settlement.ledger.extend(step.ledger);
    let expected = settlement.order.as_ref().map_or(step.change.expected, |first| first.expected);
    let next = Order { revision: expected.next(), ..step.change.next };
    settlement.order = Some(Change { next, expected });
}

fn new_event(
    with: &Payments,
    order: &Order,
    event_type: &'static str,
    body: Vec<u8>,
    settlement: &Settlement,
) -> NewEvent {
    NewEvent {
        id: EventId::new(with.ids.ordered()),
        merchant_id: order.merchant_id,
        payment_id: order.payment_id(),
        event_type,
        body,
        at: settlement.now,
    }
}

fn ledger_id(with: &Payments) -> LedgerTransactionId {
    LedgerTransactionId::new(with.ids.ordered())
}

fn failure(reason: DeclineReason) -> FailureReason {
    match reason {
        DeclineReason::Generic => FailureReason::Declined,
        DeclineReason::InsufficientFunds => FailureReason::InsufficientFunds,
        DeclineReason::InvalidCard => FailureReason::InvalidCard,
        DeclineReason::NeverSent => FailureReason::ProcessorUnavailable,
    }
}
