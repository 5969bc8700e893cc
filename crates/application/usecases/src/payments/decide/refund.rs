//! What follows from the answer to a refund.

use std::time::Duration;

use dropin_money::Amount;
use dropin_order::{OpState, OrderState, Refund};
use dropin_ports::{ProcessorReply, StoreError};

use super::super::corrupt;
use super::draft::Draft;
use super::{Approved, DecisionPolicy, LONGEST_RETRY};

/// How long a refund that is refused for now is tried again.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn decide(draft: &mut Draft<'_>, answer: &ProcessorReply, policy: DecisionPolicy) -> Result<(), StoreError> {
    let operation = &draft.payment.operation;
    let refund = draft.payment.refund.as_ref().ok_or_else(|| corrupt("a refund's operation without its refund"))?;
    match answer {
        ProcessorReply::Approved { amount, .. } => match Approved::of(&operation.amount, amount.as_ref(), policy) {
            Approved::Usable(given) => succeeded(draft, refund, &given)?,
            Approved::Differs => draft.differs()?,
        },
        ProcessorReply::Declined { retryable, .. } => refused(draft, OpState::Declined, *retryable, refund)?,
        ProcessorReply::Abandoned => refused(draft, OpState::Abandoned, true, refund)?,
        ProcessorReply::Pending(_) => draft.poll_later(OpState::Pending),
        ProcessorReply::NotSent => draft.poll_later(OpState::Unknown),
        ProcessorReply::Unknown { why } => draft.unclear(why),
    }
    Ok(())
}

fn succeeded(draft: &mut Draft<'_>, refund: &Refund, given: &Amount) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    draft.settlement.state = OpState::Approved;
    let settlement = settled(draft, refund, given);
    draft.settlement.refund = Some(Refund { amount: *given, settlement, ..refund.decided(true, now) });
    let step = draft.order().refund_succeeded(&refund.amount, given, draft.ledger_id(), now);
    draft.order_step(step.map_err(|_refused| corrupt("a refund that the Order knows nothing of"))?);
    Ok(())
}

/// It had succeeded, and failed afterwards: the money is captured still.
pub(super) fn take_back(draft: &mut Draft<'_>) -> Result<(), StoreError> {
    let refund = draft.payment.refund.as_ref().ok_or_else(|| corrupt("a refund's operation without its refund"))?;
    let now = draft.settlement.now;
    draft.settlement.state = OpState::Declined;
    draft.settlement.refund = Some(refund.decided(false, now));
    let step = draft.order().refund_taken_back(&refund.amount, draft.ledger_id(), now);
    draft.order_step(step.map_err(|_refused| corrupt("a refund that the Order knows nothing of"))?);
    Ok(())
}

/// What it takes from the settlement. Where less is given than was asked for, less is taken too, and the next refund makes up for what is amiss.
fn settled(draft: &Draft<'_>, refund: &Refund, given: &Amount) -> Option<Amount> {
    let asked = refund.settlement?;
    let sale = draft.payment.session.as_ref().and_then(|session| session.terms.rate.as_ref());
    let less = sale.filter(|_| *given < refund.amount);
    let less = less.and_then(|sale| sale.rate.to_base(given).ok());
    Some(less.filter(|less| *less < asked).unwrap_or(asked))
}

fn refused(draft: &mut Draft<'_>, state: OpState, retryable: bool, refund: &Refund) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    draft.settlement.state = state;
    if draft.order().state != OrderState::Processed {
        // Nobody wants this money: giving up would keep it.
        let (operation, order) = (draft.payment.operation.id.to_string(), draft.order().id.to_string());
        log::error!(
            operation = operation.as_str(), order = order.as_str();
            "the processor refuses to refund what arrived after the Order's end: it is asked again, compare the Order with the processor's books"
        );
        draft.again_later(if retryable { Duration::ZERO } else { LONGEST_RETRY });
        return Ok(());
    }
    if retryable && now.since(refund.created_at) < PATIENCE {
        draft.again_later(Duration::ZERO);
        return Ok(());
    }
    draft.settlement.refund = Some(refund.decided(false, now));
    let step = draft.order().refund_failed(&refund.amount, now);
    draft.order_step(step.map_err(|_refused| corrupt("a refund that the Order knows nothing of"))?);
    Ok(())
}
