//! What follows from the answer to an authorization.

use dropin_catalogue::{WindowFrom, find_method};
use dropin_kernel::Timestamp;
use dropin_money::Amount;
use dropin_order::{BankDetails, DeclineReason, OpState, Order, OrderState, VoidCause};
use dropin_ports::{ProcessorAnswer, StoreError, Waiting};
use dropin_session::{FailureReason, SessionStateKind};

use super::super::corrupt;
use super::draft::Draft;
use super::{Approved, PAGE_AFTER, PENDING_PAUSE, Terms};

pub(super) fn decide(draft: &mut Draft<'_>, answer: &ProcessorAnswer, terms: Terms) -> Result<(), StoreError> {
    match answer {
        ProcessorAnswer::Unknown { why } => draft.unclear(why),
        _ if draft.order().state.is_final() => late(draft, answer, terms),
        ProcessorAnswer::Approved { amount: None, .. } => draft.unclear("approved, but no amount was named"),
        ProcessorAnswer::Approved { amount: Some(amount), captured, under_review } => {
            match (draft.order().state, captured) {
                (OrderState::CommitAccepted, _) => provider_approved(draft, amount, *captured, terms)?,
                (_, true) => paid(draft, amount, terms)?,
                (_, false) => authorized(draft, amount, *under_review)?,
            }
        }
        ProcessorAnswer::Declined { reason, .. } => refused(draft, OpState::Declined, *reason)?,
        ProcessorAnswer::Abandoned | ProcessorAnswer::NotSent => {
            refused(draft, OpState::Abandoned, DeclineReason::NeverSent)?;
        }
        ProcessorAnswer::Pending(waiting) => pending(draft, waiting)?,
    }
    Ok(())
}

/// The Order's life is over, so nobody wants the money any more: what is reserved is voided at once; what was taken is for a person to give back, and
/// stays open, and so in sight, until somebody says that this was done.
fn late(draft: &mut Draft<'_>, answer: &ProcessorAnswer, terms: Terms) {
    let operation = &draft.payment.operation;
    let (id, order, now) = (operation.id.to_string(), operation.order_id.to_string(), draft.settlement.now);
    match answer {
        ProcessorAnswer::Approved { captured: true, .. } if terms.accept => draft.settlement.state = OpState::Approved,
        ProcessorAnswer::Approved { captured: true, .. } => {
            log::error!(
                operation = id.as_str(), order = order.as_str();
                "money arrived for an Order whose life is over: give it back at the processor, then say so with `dropin order review ORDER approve`"
            );
            draft.settlement.state = OpState::Unknown;
            draft.settlement.due_at = now.plus(PENDING_PAUSE.1);
        }
        ProcessorAnswer::Approved { captured: false, .. } => {
            log::warn!(operation = id.as_str(), order = order.as_str(); "authorized after the Order's end: voided at once");
            let void = operation.void(draft.with.op_id(), now, now.plus(draft.with.timing.lease));
            draft.settlement.follow_up = Some(void);
            draft.settlement.state = OpState::Approved;
        }
        ProcessorAnswer::Declined { .. } => draft.settlement.state = OpState::Declined,
        ProcessorAnswer::Abandoned | ProcessorAnswer::NotSent => draft.settlement.state = OpState::Abandoned,
        ProcessorAnswer::Pending(_) | ProcessorAnswer::Unknown { .. } => draft.look_again(OpState::Pending),
    }
}

fn authorized(draft: &mut Draft<'_>, amount: &Amount, under_review: bool) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    draft.settlement.state = OpState::Approved;
    if *amount != draft.order().total {
        let order = draft.order().id.to_string();
        log::error!(order = order.as_str(); "the processor authorized another amount than was asked: held for review");
    }
    let until = capture_before(draft.order(), now);
    let step = draft.order().authorized(amount, under_review, until, draft.ledger_id(), now);
    let step = step.map_err(|_moved_on| corrupt("an open authorization of an Order that is not PROCESSING"))?;
    shopper_is_done(draft, &step.change.next.clone(), true)?;
    draft.order_step(step);
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
    let (id, due_at) = (draft.with.op_id(), now.plus(draft.with.timing.lease));
    let authorization = &draft.payment.operation;
    let capture = authorization.capture(id, amount.clone(), now, due_at).through(authorization.channel);
    draft.settlement.follow_up = Some(capture);
    Ok(())
}

fn provider_approved(draft: &mut Draft<'_>, amount: &Amount, captured: bool, terms: Terms) -> Result<(), StoreError> {
    let Approved::Usable(amount) = Approved::of(&draft.order().total, Some(amount), terms) else {
        return draft.differs();
    };
    let now = draft.settlement.now;
    draft.settlement.state = OpState::Approved;
    let step = draft.order().provider_approved(&amount, draft.ledger_id(), now);
    draft.order_step(step.map_err(|_moved_on| corrupt("an approval of an Order that is not COMMIT_ACCEPTED"))?);
    // What is being voided is not captured; what was captured already is, whoever wants to void it.
    if draft.order().voiding.is_some() && !captured {
        return Ok(());
    }
    let promised = draft.order().capture_promised.clone().filter(|promised| *promised < amount);
    let due = promised.filter(|_| !captured).unwrap_or(amount);
    capture_follows(draft, &due)?;
    if captured {
        draft.settlement.follow_up = None;
        let step = draft.order().captured(&due, &due, draft.ledger_ids(), now);
        draft.order_step(step.ok_or_else(|| corrupt("a capture of more than was reserved"))?);
    }
    Ok(())
}

fn paid(draft: &mut Draft<'_>, amount: &Amount, terms: Terms) -> Result<(), StoreError> {
    let Approved::Usable(amount) = Approved::of(&draft.order().total, Some(amount), terms) else {
        return draft.differs();
    };
    draft.settlement.state = OpState::Approved;
    let step = draft.order().paid(&amount, draft.ledger_ids(), draft.settlement.now);
    let step = step.map_err(|_moved_on| corrupt("a payment of an Order that is not PROCESSING"))?;
    shopper_is_done(draft, &step.change.next.clone(), true)?;
    draft.order_step(step);
    Ok(())
}

/// Refused, cancelled by the shopper, expired or stopped. An Order that was stopped on request, or shown and not paid in time, is CANCELLED.
fn refused(draft: &mut Draft<'_>, state: OpState, reason: DeclineReason) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    draft.settlement.state = state;
    let order = draft.order();
    let stopped = order.voiding.is_some() && reason == DeclineReason::Voided;
    let lapsed = reason == DeclineReason::Expired && order.shown && order.state == OrderState::Processing;
    let step = if stopped || lapsed { order.voided(draft.ledger_id(), now) } else { order.refused(now) };
    let failure = match order.voiding {
        Some(VoidCause::Expired) if reason == DeclineReason::Voided => FailureReason::Expired,
        _ => failure(reason),
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
        // Nobody is waited for that anybody knows of, and nothing ends it: somebody has to ask the processor.
        Waiting::Processor if fresh && PAGE_AFTER < draft.settlement.now.since(draft.payment.operation.created_at) => {
            let (operation, order) = (draft.payment.operation.id.to_string(), draft.order().id.to_string());
            log::error!(
                operation = operation.as_str(), order = order.as_str();
                "the processor has not decided an authorization for long, and names nobody that it waits for"
            );
        }
        Waiting::Processor if fresh => shopper_is_back(draft),
        Waiting::Shopper { .. } | Waiting::Transfer { .. } | Waiting::Review | Waiting::Processor => {}
    }
    draft.look_again(OpState::Pending);
    Ok(())
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
    let until = patience(draft.order(), until, now);
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
    let until = patience(draft.order(), until, now);
    let step = draft.order().transfer_awaited(Box::new(to.clone()), until, now);
    let step = step.map_err(|_moved_on| corrupt("a transfer for an Order that is not PROCESSING"))?;
    shopper_is_done(draft, &step.change.next.clone(), false)?;
    draft.order_step(step);
    Ok(())
}

/// The Session is completed, unless it was before; the event of that comes before the Order's own. One that is REDIRECTED comes back first.
fn shopper_is_done(draft: &mut Draft<'_>, order: &Order, authorized: bool) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let Some(session) = draft.session() else { return Ok(()) };
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

/// The Session fails, unless the shopper had finished before.
pub(super) fn attempt_failed(draft: &mut Draft<'_>, reason: FailureReason, order: &Order) {
    let now = draft.settlement.now;
    let Some(session) = draft.session() else { return };
    let change = match (session.as_processing(), session.as_redirected()) {
        (Ok(processing), _) => processing.refused(reason, now),
        (_, Ok(redirected)) => redirected.refused(reason, now),
        _ => return,
    };
    draft.session_step(change, order);
}

/// End of the time to capture (decisions.md section 4).
fn capture_before(order: &Order, now: Timestamp) -> Timestamp {
    let method = find_method(&order.payment_method);
    let from = match method.map(|method| method.window_from) {
        Some(WindowFrom::Creation) => order.created_at,
        Some(WindowFrom::Authorization) | None => now,
    };
    let window = method.map_or(std::time::Duration::from_secs(7 * 24 * 60 * 60), |method| method.capture_window);
    from.plus(window)
}

/// Until when the shopper is waited for: the method's own limit, or the processor's when that is sooner.
fn patience(order: &Order, processor: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let ours = find_method(&order.payment_method).map(|method| now.plus(method.patience));
    match (ours, processor) {
        (Some(ours), Some(theirs)) => ours.min(theirs),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => now.plus(std::time::Duration::from_secs(15 * 60)),
    }
}

fn failure(reason: DeclineReason) -> FailureReason {
    match reason {
        DeclineReason::Generic | DeclineReason::Voided => FailureReason::Declined,
        DeclineReason::InsufficientFunds => FailureReason::InsufficientFunds,
        DeclineReason::InvalidCard => FailureReason::InvalidCard,
        DeclineReason::AuthenticationFailed => FailureReason::AuthenticationFailed,
        DeclineReason::CancelledByShopper => FailureReason::CancelledByShopper,
        DeclineReason::Expired => FailureReason::Expired,
        DeclineReason::NeverSent => FailureReason::ProcessorUnavailable,
    }
}
