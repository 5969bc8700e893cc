//! What follows from the answer to an authorization.

use dropin_kernel::RefundId;
use dropin_kernel::Timestamp;
use dropin_money::Amount;
use dropin_order::{
    BankDetails, DeclineReason, FailureReason, OpState, Order, OrderState, Refund, RefundState, Step, VoidCause,
};
use dropin_ports::{ProcessorReply, StoreError, Waiting};
use dropin_session::SessionStateKind;

use super::super::corrupt;
use super::draft::Draft;
use super::{ALERT_AFTER, Approved, DecisionPolicy, OVERDUE_PAUSE, PENDING_PAUSE};

pub(super) fn decide(draft: &mut Draft<'_>, answer: &ProcessorReply, policy: DecisionPolicy) -> Result<(), StoreError> {
    match answer {
        ProcessorReply::Unknown { why } => draft.unclear(why),
        _ if draft.order().state.is_final() => late(draft, answer, policy)?,
        ProcessorReply::Approved { amount: None, .. } => draft.unclear("approved, but no amount was named"),
        // The void at the end of its page may take this payment away again. Its outcome decides: the attempt failed, or goes on.
        ProcessorReply::Approved { .. } | ProcessorReply::Pending(Waiting::Review)
            if is_being_voided_unshown(draft.order()) =>
        {
            draft.poll_later(OpState::Pending);
        }
        ProcessorReply::Approved { amount: Some(amount), captured, under_review, .. } => {
            match (draft.order().state, captured) {
                (OrderState::CommitAccepted, _) => provider_approved(draft, amount, *captured, policy)?,
                (_, true) if !draft.order().total.is_zero() => paid(draft, amount, policy)?,
                _ => authorized(draft, amount, *under_review)?,
            }
        }
        ProcessorReply::Declined { reason, .. } => refused(draft, OpState::Declined, *reason)?,
        ProcessorReply::Abandoned | ProcessorReply::NotSent => {
            refused(draft, OpState::Abandoned, DeclineReason::NeverSent)?;
        }
        ProcessorReply::Pending(waiting) => pending(draft, waiting)?,
    }
    Ok(())
}

fn is_being_voided_unshown(order: &Order) -> bool {
    !order.shown && order.voiding.is_some()
}

/// The Order's life is over, so nobody wants the money any more: what is reserved is voided at once, and what was taken is given back in full. What
/// cannot be booked (another currency, or more than was asked for) is for the operator to give back, and stays open, and so in sight, until the
/// operator says that this was done.
fn late(draft: &mut Draft<'_>, answer: &ProcessorReply, policy: DecisionPolicy) -> Result<(), StoreError> {
    let operation = &draft.payment.operation;
    let (id, order, now) = (operation.id.to_string(), operation.order_id.to_string(), draft.settlement.now);
    match answer {
        // Only a card was verified: there is nothing to give back.
        ProcessorReply::Approved { amount: Some(amount), .. } if draft.order().total.is_zero() && amount.is_zero() => {
            draft.settlement.state = OpState::Approved;
        }
        ProcessorReply::Approved { captured: true, amount, .. } => {
            let booked = amount
                .as_ref()
                .map(|amount| draft.order().paid_late(amount, draft.ledger_id(), draft.ledger_id(), now));
            match (booked, amount) {
                (Some(Ok(step)), Some(amount)) => give_back(draft, step, amount),
                _ if policy.accept => draft.settlement.state = OpState::Approved,
                _ => {
                    log::error!(
                        operation = id.as_str(), order = order.as_str();
                        "money arrived for an Order whose life is over, and its amount is not what was asked for: give it back at the processor, then say so with `dropin order review ORDER approve`"
                    );
                    draft.settlement.state = OpState::Unknown;
                    draft.settlement.due_at = now.plus(PENDING_PAUSE.1);
                }
            }
        }
        ProcessorReply::Approved { captured: false, amount, .. } => {
            log::error!(operation = id.as_str(), order = order.as_str(); "authorized after the Order's end: voided at once, nothing to do");
            let amount = (*amount).unwrap_or(operation.amount);
            let void = operation.void(draft.with.op_id(), now, now.plus(draft.with.timing.lease));
            let step = draft.order().authorized_late(&amount, draft.ledger_id(), now);
            draft.order_step(step.map_err(|_moved_on| corrupt("an open authorization of an Order that has money"))?);
            draft.settlement.follow_up = Some(void);
            draft.settlement.state = OpState::Approved;
        }
        ProcessorReply::Declined { .. } => draft.settlement.state = OpState::Declined,
        ProcessorReply::Abandoned | ProcessorReply::NotSent => draft.settlement.state = OpState::Abandoned,
        ProcessorReply::Pending(_) | ProcessorReply::Unknown { .. } => draft.poll_later(OpState::Pending),
    }
    Ok(())
}

/// Money that was taken after the Order's end is booked, and its refund is written down in the same settlement.
fn give_back(draft: &mut Draft<'_>, step: Step, amount: &Amount) {
    let authorization = &draft.payment.operation;
    let (id, order, now) = (authorization.id.to_string(), draft.order().id.to_string(), draft.settlement.now);
    log::error!(
        operation = id.as_str(), order = order.as_str();
        "money arrived for an Order whose life is over: it is refunded in full, nothing to do unless `dropin ledger verify` says otherwise"
    );
    let refund = Refund {
        id: RefundId::new(draft.with.ids.ordered()),
        order_id: draft.order().id,
        merchant_id: draft.order().merchant_id,
        reference: format!("dropin-{}", authorization.id),
        amount: *amount,
        // Nothing was sold.
        settlement: None,
        description: Some("Paid after the payment had failed: refunded by Dropin.".to_owned()),
        state: RefundState::InProgress,
        created_at: now,
        updated_at: now,
    };
    let (op_id, due_at) = (draft.with.op_id(), now.plus(draft.with.timing.lease));
    draft.settlement.follow_up = Some(authorization.refund(op_id, refund.id, *amount, now, due_at));
    draft.settlement.new_refund = Some(refund);
    draft.settlement.state = OpState::Approved;
    draft.order_step(step);
}

fn authorized(draft: &mut Draft<'_>, amount: &Amount, under_review: bool) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    draft.settlement.state = OpState::Approved;
    if *amount != draft.order().total {
        let order = draft.order().id.to_string();
        log::error!(order = order.as_str(); "the processor authorized another amount than was asked: held for review");
    }
    let until = capture_before(draft);
    // Of nothing there is nothing to review.
    let under_review = under_review && !draft.order().total.is_zero();
    let step = draft.order().authorized(amount, under_review, until, draft.ledger_id(), now);
    let step = step.map_err(|_moved_on| corrupt("an open authorization of an Order that is not PROCESSING"))?;
    shopper_is_done(draft, &step.change.next.clone(), true)?;
    draft.order_step(step);
    if draft.order().total.is_zero() && !draft.order().under_review {
        let verified = draft.order().verified(now).map_err(|_moved_on| corrupt("an authorized Order that is not"))?;
        draft.order_step(verified);
        return Ok(());
    }
    let order = draft.order();
    if order.under_review || order.voiding.is_some() {
        return Ok(());
    }
    match order.capture_due() {
        Some(due) => capture_follows(draft, &due),
        None => Ok(()),
    }
}

/// The capture is reserved and written down in the very transaction that makes it possible.
fn capture_follows(draft: &mut Draft<'_>, amount: &Amount) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let step = draft.order().request_capture(amount, now);
    draft.order_step(step.map_err(|_rule| corrupt("an authorized Order without an amount to capture"))?);
    let id = draft.policy.capture_key.unwrap_or_else(|| draft.with.op_id());
    let due_at = now.plus(draft.with.timing.lease);
    let authorization = &draft.payment.operation;
    let capture = authorization.capture(id, *amount, now, due_at).through(authorization.channel);
    draft.settlement.follow_up = Some(capture);
    Ok(())
}

fn provider_approved(
    draft: &mut Draft<'_>,
    amount: &Amount,
    captured: bool,
    policy: DecisionPolicy,
) -> Result<(), StoreError> {
    let Approved::Usable(amount) = Approved::of(&draft.order().total, Some(amount), policy) else {
        return draft.differs();
    };
    let now = draft.settlement.now;
    draft.settlement.state = OpState::Approved;
    let until = capture_before(draft);
    let step = draft.order().provider_approved(&amount, until, draft.ledger_id(), now);
    draft.order_step(step.map_err(|_moved_on| corrupt("an approval of an Order that is not COMMIT_ACCEPTED"))?);
    if captured {
        return captured_with_it(draft, &amount);
    }
    let order = draft.order();
    // An Order that is being voided is not captured; nor is one that nobody asked to capture.
    match order.capture_due().filter(|_| order.voiding.is_none()) {
        Some(due) => capture_follows(draft, if due < amount { &due } else { &amount }),
        None => Ok(()),
    }
}

/// The processor took `amount` with the authorization itself.
fn captured_with_it(draft: &mut Draft<'_>, amount: &Amount) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let step = draft.order().request_capture(amount, now);
    draft.order_step(step.map_err(|_rule| corrupt("a payment without an amount"))?);
    let step = draft.order().captured(amount, amount, draft.ledger_id(), draft.ledger_id(), now);
    draft.order_step(step.map_err(|_refused| corrupt("a capture of more than was reserved"))?);
    Ok(())
}

fn paid(draft: &mut Draft<'_>, amount: &Amount, policy: DecisionPolicy) -> Result<(), StoreError> {
    let Approved::Usable(amount) = Approved::of(&draft.order().total, Some(amount), policy) else {
        return draft.differs();
    };
    draft.settlement.state = OpState::Approved;
    let (order, now) = (draft.order(), draft.settlement.now);
    // The merchant was told ORDER_PROCESSING of a transfer, which is never authorized; every other payment is, and captured with it.
    let transfer = order.bank_details.is_some();
    let step = if transfer {
        order.paid(&amount, draft.ledger_id(), draft.ledger_id(), now)
    } else {
        order.authorized(&amount, false, capture_before(draft), draft.ledger_id(), now).map_err(Into::into)
    };
    let step = step.map_err(|_moved_on| corrupt("a payment of an Order that is not PROCESSING"))?;
    shopper_is_done(draft, &step.change.next.clone(), true)?;
    draft.order_step(step);
    if transfer { Ok(()) } else { captured_with_it(draft, &amount) }
}

/// Refused, cancelled by the shopper, expired or stopped. An Order that was stopped on request, or shown and not paid in time, is CANCELLED.
fn refused(draft: &mut Draft<'_>, state: OpState, reason: DeclineReason) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    draft.settlement.state = state;
    let order = draft.order();
    let stopped = order.voiding.is_some() && reason == DeclineReason::Voided;
    let lapsed = reason == DeclineReason::Expired && order.shown && order.state == OrderState::Processing;
    let failure = match reason {
        DeclineReason::Voided if order.voiding == Some(VoidCause::Expired) => FailureReason::Expired,
        _ => reason.into(),
    };
    let step = match (stopped || lapsed) && order.shown {
        true => order.voided(draft.ledger_id(), now),
        false => order.refused(failure, now),
    };
    let step = step.map_err(|_moved_on| corrupt("an open authorization of an Order that is authorized"))?;
    attempt_failed(draft, failure, &step.change.next.clone());
    draft.order_step(step);
    Ok(())
}

fn pending(draft: &mut Draft<'_>, waiting: &Waiting) -> Result<(), StoreError> {
    let fresh = draft.order().state == OrderState::Processing;
    match waiting {
        Waiting::Shopper { page, until } if fresh && draft.order().page.is_none() => redirect(draft, page, *until)?,
        Waiting::Transfer { to, until } if fresh && draft.order().bank_details.is_none() => {
            await_transfer(draft, to, *until)?;
        }
        Waiting::Review if fresh => {
            let step = draft.order().taken_into_review(draft.settlement.now);
            let step = step.map_err(|_moved_on| corrupt("a review of an Order that is not PROCESSING"))?;
            shopper_is_done(draft, &step.change.next.clone(), false)?;
            draft.order_step(step);
        }
        Waiting::Processor if fresh => {
            shopper_is_back(draft);
            let age = draft.settlement.now.since(draft.payment.operation.created_at);
            // Without a page or a transfer nothing ends this attempt but the processor's decision.
            let ends_by_itself = draft.order().page.is_some() || draft.order().bank_details.is_some();
            if !ends_by_itself && ALERT_AFTER < age {
                undecided(draft);
                return Ok(());
            }
        }
        Waiting::Shopper { .. } | Waiting::Transfer { .. } | Waiting::Review | Waiting::Processor => {}
    }
    draft.poll_later(OpState::Pending);
    Ok(())
}

/// The processor should have decided long ago. UNKNOWN puts the operation among those that the operator sees as stuck.
fn undecided(draft: &mut Draft<'_>) {
    let (operation, order) = (draft.payment.operation.id.to_string(), draft.order().id.to_string());
    log::error!(
        operation = operation.as_str(), order = order.as_str(), minutes = ALERT_AFTER.as_secs() / 60;
        "the processor has not decided an authorization for long, and waits for neither the shopper nor a review: ask the processor"
    );
    draft.settlement.state = OpState::Unknown;
    draft.settlement.due_at = draft.settlement.now.plus(OVERDUE_PAUSE);
}

/// The processor waits for nobody but itself: the shopper has done their part on the page.
fn shopper_is_back(draft: &mut Draft<'_>) {
    let now = draft.settlement.now;
    let returned = draft.session().and_then(|session| session.as_redirected().ok().map(|there| there.returned(now)));
    if let Some(returned) = returned {
        let order = draft.order().clone();
        draft.session_step(returned, &order);
    }
}

fn redirect(draft: &mut Draft<'_>, page: &str, until: Option<Timestamp>) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let until = draft.with.rules(draft.order()).pay_before(until, now);
    let step = draft.order().redirected(page.to_owned(), until, now);
    draft.order_step(step.map_err(|_moved_on| corrupt("a hosted page for an Order that is not PROCESSING"))?);
    let Some(session) = draft.session() else { return Ok(()) };
    let processing = session.as_processing();
    let moved = processing.map_err(|_moved_on| corrupt("a hosted page for a Session that is not PROCESSING"))?;
    let (change, order) = (moved.redirected(now), draft.order().clone());
    draft.session_step(change, &order);
    Ok(())
}

fn await_transfer(draft: &mut Draft<'_>, to: &BankDetails, until: Option<Timestamp>) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let until = draft.with.rules(draft.order()).pay_before(until, now);
    let step = draft.order().transfer_awaited(Box::new(to.clone()), until, now);
    let step = step.map_err(|_moved_on| corrupt("a transfer for an Order that is not PROCESSING"))?;
    shopper_is_done(draft, &step.change.next.clone(), false)?;
    draft.order_step(step);
    Ok(())
}

/// The Session is completed, unless it was before; the event of that comes before the Order's own. One that is REDIRECTED comes back first.
fn shopper_is_done(draft: &mut Draft<'_>, order: &Order, authorized: bool) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let Some(session) = draft.session() else {
        // Never two attempts paid: the other way round, a Session would be completed by money of an attempt that it knows nothing of.
        let gone_on = draft.payment.session.is_some() && !draft.order().shown;
        return if gone_on { Err(corrupt("an open attempt of a Session that has gone on to another")) } else { Ok(()) };
    };
    if session.state.kind() == SessionStateKind::Completed {
        return Ok(());
    }
    if let Ok(redirected) = session.as_redirected() {
        let returned = redirected.returned(now);
        draft.session_step(returned, order);
    }
    let Some(session) = draft.session() else { return Ok(()) };
    let processing = session
        .as_processing()
        .map_err(|_moved_on| corrupt("an open authorization of a Session that is neither PROCESSING nor REDIRECTED"))?;
    let change = if authorized { processing.authorized(now) } else { processing.accepted(now) };
    draft.session_step(change, order);
    Ok(())
}

/// The attempt failed, unless the shopper had finished before: the Session says what that leads to.
pub(super) fn attempt_failed(draft: &mut Draft<'_>, reason: FailureReason, order: &Order) {
    let now = draft.settlement.now;
    let Some(session) = draft.session() else { return };
    let change = match (session.as_processing(), session.as_redirected()) {
        (Ok(processing), _) => processing.attempt_failed(reason, now),
        (_, Ok(redirected)) => redirected.attempt_failed(reason, now),
        _ => return,
    };
    draft.session_step(change, order);
}

/// End of the time to capture (docs/SPECIFICATION.md#capture-window).
fn capture_before(draft: &Draft<'_>) -> Timestamp {
    let order = draft.order();
    draft.with.rules(order).capture_before(order.created_at, draft.settlement.now)
}
