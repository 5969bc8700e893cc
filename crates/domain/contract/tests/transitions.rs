//! Every state against every trigger: what the steps allow is what the table says, and nothing else.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use common::{active, at, opening, visa};
use dropin_contract::{
    CloseReason, Contract, ContractEvent, ContractKind, ContractState, ContractStateKind, ContractStep,
    ContractTransition, ContractTrigger, DeclineCategory, SuspendReason, TRANSITIONS, WrongState,
};
use dropin_kernel::Revision;
use dropin_order::FailureReason;

/// A day on which the card of [`active`] is told to end, and one on which it has ended.
const LAST_MONTH: &str = "2031-12-05";
const AFTER_ITS_END: &str = "2032-01-01";

fn in_state(kind: ContractStateKind) -> Contract {
    let state = match kind {
        ContractStateKind::Opening => return opening(ContractKind::OneClick),
        ContractStateKind::Active => ContractState::Active,
        ContractStateKind::Suspended => ContractState::Suspended { reason: SuspendReason::IssuerStopped },
        ContractStateKind::Closed => ContractState::Closed { reason: CloseReason::Merchant, failure: None },
    };
    active(ContractKind::OneClick).edited(|parts| (parts.state, parts.revision) = (state, Revision::new(7))).unwrap()
}

/// What the steps make of a trigger.
fn pull(contract: &Contract, trigger: ContractTrigger) -> Option<ContractStep> {
    let now = at(LAST_MONTH);
    let declined = |category| contract.declined(category, now, now);
    match trigger {
        // The opening has no state before it.
        ContractTrigger::Open => None,
        ContractTrigger::CredentialStored => contract.credential_stored(visa("2031-12"), None, now).ok(),
        ContractTrigger::OpeningFailed => contract.opening_failed(FailureReason::Declined, now).ok(),
        ContractTrigger::CardExpiring => contract.expiring(now),
        ContractTrigger::CardExpired => contract.expired(at(AFTER_ITS_END)),
        ContractTrigger::CardInvalid => declined(DeclineCategory::CardInvalid),
        ContractTrigger::IssuerStopped => declined(DeclineCategory::CardRefused),
        ContractTrigger::CardUpdated => contract.card_updated(visa("2036-12"), None, now).ok(),
        ContractTrigger::ClosedByIssuer => declined(DeclineCategory::AccountClosed),
        ContractTrigger::ClosedByMerchant => contract.close_by_merchant(now).ok(),
        ContractTrigger::ClosedByShopper => contract.close_by_shopper(now).ok(),
        ContractTrigger::ClosedByOperator => contract.close_by_operator(now).ok(),
        other => panic!("{other} is not tried here"),
    }
}

fn row(from: ContractStateKind, trigger: ContractTrigger) -> Option<&'static ContractTransition> {
    TRANSITIONS.iter().find(|row| row.from == Some(from) && row.trigger == trigger)
}

#[test]
fn every_state_against_every_trigger() {
    for state in ContractStateKind::ALL {
        for trigger in ContractTrigger::ALL {
            let contract = in_state(state);
            let (step, row) = (pull(&contract, trigger), row(state, trigger));
            assert_eq!(step.as_ref().map(|step| &step.transition), row, "{state} {trigger}");
            let (Some(step), Some(row)) = (step, row) else { continue };
            let next = &step.change.next;
            assert_eq!((next.state.kind(), step.change.expected), (row.to, contract.revision), "{state} {trigger}");
            assert_eq!(next.revision, contract.revision.next(), "{state} {trigger}");
            assert_eq!(Contract::restore(next.clone().into_parts()).as_ref(), Ok(next), "{state} {trigger}");
            let expected = row.event.filter(|_| trigger != ContractTrigger::OpeningFailed);
            assert_eq!(step.event, expected, "{state} {trigger}");
        }
    }
}

#[test]
fn the_table_has_each_move_once_and_each_trigger() {
    for (index, row) in TRANSITIONS.iter().enumerate() {
        let twice = TRANSITIONS[..index].iter().any(|other| (other.from, other.trigger) == (row.from, row.trigger));
        assert!(!twice, "{row:?}");
    }
    for trigger in ContractTrigger::ALL {
        assert!(TRANSITIONS.iter().any(|row| row.trigger == trigger), "{trigger}");
    }
    for event in ContractEvent::ALL {
        assert!(TRANSITIONS.iter().any(|row| row.event == Some(event)), "{event}");
    }
    let open = TRANSITIONS.iter().find(|row| row.from.is_none()).map(|row| (row.trigger, row.to, row.event));
    assert_eq!(open, Some((ContractTrigger::Open, ContractStateKind::Opening, None)));
}

#[test]
fn the_merchant_is_told_of_each_change_of_state_and_of_the_end_of_the_card() {
    for row in TRANSITIONS.iter().filter(|row| row.from.is_some()) {
        let expected = match row.to {
            ContractStateKind::Opening => None,
            _ if row.trigger == ContractTrigger::CardExpiring => Some(ContractEvent::Expiring),
            to if row.from == Some(to) => None,
            ContractStateKind::Active => Some(ContractEvent::Opened),
            ContractStateKind::Suspended => Some(ContractEvent::Suspended),
            ContractStateKind::Closed => Some(ContractEvent::Closed),
        };
        assert_eq!(row.event, expected, "{row:?}");
    }
}

#[test]
fn a_state_is_left_unless_it_is_final() {
    for state in ContractStateKind::ALL {
        let is_left = TRANSITIONS.iter().any(|row| row.from == Some(state));
        assert_eq!(is_left, !state.is_final(), "{state}");
    }
}

#[test]
fn a_failed_opening_is_told_to_whom_the_contract_was_shown() {
    for (kind, event) in [
        (ContractKind::OneClick, None),
        (ContractKind::Recurring, Some(ContractEvent::Closed)),
        (ContractKind::Unscheduled, Some(ContractEvent::Closed)),
    ] {
        let step = opening(kind).opening_failed(FailureReason::Expired, at("2026-11-24")).unwrap();
        assert_eq!(step.event, event, "{kind}");
        let state = ContractState::Closed { reason: CloseReason::OpeningFailed, failure: Some(FailureReason::Expired) };
        assert_eq!(step.change.next.state, state);
        let late = step.change.next.credential_stored(visa("2031-12"), None, at("2026-11-24"));
        assert_eq!(
            late.err(),
            Some(WrongState { found: ContractStateKind::Closed }),
            "its credential has to be deleted"
        );
    }
}

#[test]
fn a_reason_is_kept_with_each_decline() {
    let suspended = |reason| Some(ContractState::Suspended { reason });
    let closed = |reason| Some(ContractState::Closed { reason, failure: None });
    let now = at("2026-12-23");
    for category in DeclineCategory::ALL {
        let expected = match category {
            DeclineCategory::CardExpired => suspended(SuspendReason::CardExpired),
            DeclineCategory::CardInvalid => suspended(SuspendReason::CardInvalid),
            DeclineCategory::CardRefused => suspended(SuspendReason::IssuerStopped),
            DeclineCategory::CardLost => closed(CloseReason::CardLost),
            DeclineCategory::AccountClosed => closed(CloseReason::AccountClosed),
            DeclineCategory::AuthorizationRevoked => closed(CloseReason::AuthorizationRevoked),
            _ => None,
        };
        let step = active(ContractKind::Recurring).declined(category, now, now);
        assert_eq!(step.map(|step| step.change.next.state), expected, "{category}");
    }
}

#[test]
fn a_decline_of_the_card_before_does_not_stop_the_new_one() {
    let (tried, updated, now) = (at("2026-12-23"), at("2026-12-24"), at("2026-12-25"));
    let contract = active(ContractKind::Recurring).card_updated(visa("2036-12"), None, updated).unwrap().change.next;
    for category in [DeclineCategory::CardExpired, DeclineCategory::CardRefused, DeclineCategory::CardLost] {
        assert_eq!(contract.declined(category, tried, now), None, "{category}");
        assert!(contract.declined(category, updated, now).is_some(), "{category}");
    }
    assert!(contract.declined(DeclineCategory::AuthorizationRevoked, tried, now).is_some());
}
