//! What follows from the answer to a refund.

use std::time::Duration;

use dropin_money::Amount;
use dropin_order::{OpState, Refund};
use dropin_ports::{ProcessorAnswer, StoreError};
use dropin_rates::settlement_amount;

use super::super::corrupt;
use super::draft::Draft;
use super::{Approved, Terms};

/// How long a refund that is refused for now is tried again.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn decide(draft: &mut Draft<'_>, answer: &ProcessorAnswer, terms: Terms) -> Result<(), StoreError> {
    let operation = &draft.payment.operation;
    let refund = draft.payment.refund.as_ref().ok_or_else(|| corrupt("a refund's operation without its refund"))?;
    match answer {
        ProcessorAnswer::Approved { amount, .. } => match Approved::of(&operation.amount, amount.as_ref(), terms) {
            Approved::Usable(given) => succeeded(draft, refund, &given)?,
            Approved::Differs => draft.differs()?,
        },
        ProcessorAnswer::Declined { retryable, .. } => refused(draft, OpState::Declined, *retryable, refund)?,
        ProcessorAnswer::Abandoned => refused(draft, OpState::Abandoned, true, refund)?,
        ProcessorAnswer::Pending(_) => draft.look_again(OpState::Pending),
        ProcessorAnswer::NotSent => draft.look_again(OpState::Unknown),
        ProcessorAnswer::Unknown { why } => draft.unclear(why),
    }
    Ok(())
}

fn succeeded(draft: &mut Draft<'_>, refund: &Refund, given: &Amount) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    draft.settlement.state = OpState::Approved;
    let settlement = settled(draft, refund, given);
    draft.settlement.refund = Some(Refund { amount: given.clone(), settlement, ..refund.decided(true, now) });
    let step = draft.order().refund_succeeded(&refund.amount, given, draft.ledger_id(), now);
    draft.order_step(step.ok_or_else(|| corrupt("a refund that the Order knows nothing of"))?);
    Ok(())
}

/// What it takes from the settlement. Where less is given than was asked for, less is taken too, and the next refund makes up for what is amiss.
fn settled(draft: &Draft<'_>, refund: &Refund, given: &Amount) -> Option<Amount> {
    let asked = refund.settlement.clone()?;
    let sale = draft.payment.session.as_ref().and_then(|session| session.terms.rate.as_ref());
    let less = sale.filter(|_| *given < refund.amount);
    let less = less.and_then(|sale| settlement_amount(given, asked.currency(), sale.rate).ok());
    Some(less.filter(|less| *less < asked).unwrap_or(asked))
}

fn refused(draft: &mut Draft<'_>, state: OpState, retryable: bool, refund: &Refund) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    draft.settlement.state = state;
    if retryable && now.since(refund.created_at) < PATIENCE {
        draft.again_later(Duration::ZERO);
        return Ok(());
    }
    draft.settlement.refund = Some(refund.decided(false, now));
    let step = draft.order().refund_failed(&refund.amount, now);
    draft.order_step(step.ok_or_else(|| corrupt("a refund that the Order knows nothing of"))?);
    Ok(())
}
