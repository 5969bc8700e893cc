//! What the outcome of an Order means for the contract that it opens or is made under.

use dropin_contract::{
    Contract, ContractOrigin, ContractStateKind, ContractStep, CredentialDecline, DeclineCategory, DeclineEffect,
    TryResult,
};
use dropin_order::{DeclineReason, FailureReason, OpKind, Order, OrderState};
use dropin_ports::{
    ChargeOutcome, ConcludedCharge, CredentialApproval, CredentialChange, ProcessorReply, StoreError, StoredCredential,
};

use super::super::corrupt;
use super::draft::Draft;

/// Adds what follows for the contract, once what follows for the Order is decided.
pub(super) fn follow(draft: &mut Draft<'_>, answer: &ProcessorReply) -> Result<(), StoreError> {
    let Some(contract) = draft.payment.contract.clone() else { return Ok(()) };
    let is_authorization = draft.payment.operation.kind == OpKind::Authorize;
    if is_opened_by(&contract, &draft.payment.order) {
        let waits = is_authorization && draft.settlement.state.is_open();
        return if waits {
            Ok(())
        } else {
            opening(draft, &contract, approval_of(answer).filter(|_| is_authorization))
        };
    }
    match (is_authorization, draft.payment.is_charge) {
        (false, _) => Ok(()),
        (true, true) => charge(draft, &contract, answer),
        (true, false) => replacement(draft, &contract, answer),
    }
}

/// Whether this is the Order by which the contract comes into being, not one that is made under it.
fn is_opened_by(contract: &Contract, order: &Order) -> bool {
    match contract.origin {
        ContractOrigin::Session { order: opens, .. } => opens == order.id,
        ContractOrigin::Server { .. } => order.is_verification(),
    }
}

fn approval_of(answer: &ProcessorReply) -> Option<&CredentialApproval> {
    match answer {
        ProcessorReply::Approved { credential, .. } => credential.as_deref(),
        _ => None,
    }
}

/// The card is stored, or it never will be. A credential that comes for a contract that cannot be charged is deleted at the processor.
fn opening(
    draft: &mut Draft<'_>,
    contract: &Contract,
    approval: Option<&CredentialApproval>,
) -> Result<(), StoreError> {
    let (order, now) = (draft.order(), draft.settlement.now);
    let given = approval.and_then(|approval| approval.stored.as_ref());
    let is_paid = matches!(order.state, OrderState::PaymentAuthorized | OrderState::Processed);
    let failure = order.failure;
    if contract.state.kind() != ContractStateKind::Opening {
        return given.map_or(Ok(()), |given| delete(draft, contract, None, given));
    }
    match (approval, given) {
        (Some(CredentialApproval { card: Some(card), network_transaction_id, .. }), Some(given)) if is_paid => {
            let opened = contract.credential_stored(*card, network_transaction_id.clone(), now);
            let opened = opened.map_err(|_wrong| corrupt("an OPENING contract that does not open"))?;
            let credential = CredentialChange::Store(draft.seal(contract, given)?);
            draft.contract_step(contract, Some(opened), credential, None);
            Ok(())
        }
        (Some(_), _) if is_paid => {
            let id = contract.id.to_string();
            log::error!(contract = id.as_str(); "the processor approved the payment that opens a contract, and stored no card: the contract is closed");
            fail(draft, contract, FailureReason::ProcessorUnavailable, given)
        }
        _ if order.state.is_final() => fail(draft, contract, failure.unwrap_or(FailureReason::Expired), given),
        _ => Ok(()),
    }
}

fn fail(
    draft: &mut Draft<'_>,
    contract: &Contract,
    failure: FailureReason,
    given: Option<&StoredCredential>,
) -> Result<(), StoreError> {
    let failed = contract.opening_failed(failure, draft.settlement.now);
    let failed = failed.map_err(|_wrong| corrupt("an OPENING contract that does not end"))?;
    match given {
        Some(given) => delete(draft, contract, Some(failed), given),
        None => {
            draft.contract_step(contract, Some(failed), CredentialChange::Keep, None);
            Ok(())
        }
    }
}

fn delete(
    draft: &mut Draft<'_>,
    contract: &Contract,
    step: Option<ContractStep>,
    given: &StoredCredential,
) -> Result<(), StoreError> {
    let credential = CredentialChange::StoreToDelete(draft.seal(contract, given)?);
    draft.contract_step(contract, step, credential, None);
    Ok(())
}

/// Another card takes the place of the contract's once it is stored; whatever else becomes of the payment changes nothing of the contract. A credential that comes
/// for a contract that has ended, or with a payment that nobody wants, is deleted at the processor.
fn replacement(draft: &mut Draft<'_>, contract: &Contract, answer: &ProcessorReply) -> Result<(), StoreError> {
    if draft.settlement.state.is_open() {
        return Ok(());
    }
    let Some(CredentialApproval { stored: Some(given), card, network_transaction_id }) = approval_of(answer) else {
        if matches!(answer, ProcessorReply::Approved { .. }) {
            let id = contract.id.to_string();
            log::error!(contract = id.as_str(); "the processor approved the payment that brings a contract another card, and stored none: it keeps its card");
        }
        return Ok(());
    };
    let (order, now) = (draft.order(), draft.settlement.now);
    let is_paid = matches!(order.state, OrderState::PaymentAuthorized | OrderState::Processed);
    let updated = card.filter(|_| is_paid).map(|card| contract.card_updated(card, network_transaction_id.clone(), now));
    match updated {
        Some(Ok(step)) => {
            let credential = CredentialChange::Replace(draft.seal(contract, given)?);
            draft.contract_step(contract, Some(step), credential, None);
            Ok(())
        }
        Some(Err(_)) | None => delete(draft, contract, None, given),
    }
}

/// What the issuer said of the card, once it has.
fn charge(draft: &mut Draft<'_>, contract: &Contract, answer: &ProcessorReply) -> Result<(), StoreError> {
    if draft.settlement.state.is_open() {
        return Ok(());
    }
    let (order, now) = (&draft.payment.order, draft.settlement.now);
    let concluded = |outcome| Some(ConcludedCharge { order: order.id, outcome });
    let tried_at = order.created_at;
    match answer {
        ProcessorReply::Approved { .. } => {
            let charge = concluded(ChargeOutcome::Tried(TryResult::Approved));
            approved(draft, contract, approval_of(answer), charge)
        }
        // Nobody was asked: it counts as no try of the card.
        ProcessorReply::Declined { reason: DeclineReason::Blocked, .. }
        | ProcessorReply::Abandoned
        | ProcessorReply::NotSent => {
            let charge = concluded(ChargeOutcome::NeverAsked);
            draft.contract_step(contract, None, CredentialChange::Keep, charge);
            Ok(())
        }
        ProcessorReply::Declined { reason, credential, .. } => {
            let Some(decline) = credential.or_else(|| coarse_decline(order, *reason)) else {
                let charge = concluded(ChargeOutcome::Tried(TryResult::Unknown));
                draft.contract_step(contract, None, CredentialChange::Keep, charge);
                return Ok(());
            };
            let step = contract.declined(decline.category, tried_at, now);
            let ends = step.is_some() && matches!(decline.category.rule().effect, DeclineEffect::Close(_));
            let credential = if ends { CredentialChange::Delete } else { CredentialChange::Keep };
            let charge = concluded(ChargeOutcome::Tried(TryResult::Declined(decline)));
            draft.contract_step(contract, step, credential, charge);
            Ok(())
        }
        ProcessorReply::Pending(_) | ProcessorReply::Unknown { .. } => Ok(()),
    }
}

/// What a reason says of the stored card where the issuer says no more. A shopper may have mistyped the verification code: that a card is not valid is
/// not held against it then.
fn coarse_decline(order: &Order, reason: DeclineReason) -> Option<CredentialDecline> {
    let is_by_shopper = order.session_id.is_some();
    let category = match DeclineCategory::of_reason(reason) {
        Some(DeclineCategory::CardInvalid) if is_by_shopper => Some(DeclineCategory::DoNotHonor),
        category => category,
    };
    category.map(CredentialDecline::from)
}

/// An approval may tell of a newer card. The shopper whom the merchant brought back has authenticated for the charges to come, which name this payment from
/// now on. One that comes after the contract's end changes nothing of it.
fn approved(
    draft: &mut Draft<'_>,
    contract: &Contract,
    approval: Option<&CredentialApproval>,
    charge: Option<ConcludedCharge>,
) -> Result<(), StoreError> {
    let now = draft.settlement.now;
    let is_over = contract.state.kind().is_final();
    let known = contract.card.as_ref().map(|card| card.summary);
    let told = approval.and_then(|approval| approval.card);
    let is_return = draft.payment.order.session_id.is_some() && contract.kind.allows_merchant_charges();
    let transaction = approval.and_then(|approval| approval.network_transaction_id.clone()).filter(|_| is_return);
    let current = told.or(known).filter(|card| (is_return || Some(*card) != known) && !is_over);
    let step = current.and_then(|card| contract.card_updated(card, transaction, now).ok());
    let given = approval.and_then(|approval| approval.stored.as_ref()).filter(|_| !is_over);
    let credential = match given {
        Some(given) => CredentialChange::Store(draft.seal(contract, given)?),
        None => CredentialChange::Keep,
    };
    draft.contract_step(contract, step, credential, charge);
    Ok(())
}
