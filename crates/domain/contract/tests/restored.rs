//! Contracts from stored parts: what fits comes back equal, what does not is refused with the reason.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use common::{active, at, opening};
use dropin_contract::{
    CloseReason, Contract, ContractKind, ContractOrigin, ContractParts, ContractState, InvalidContract, SuspendReason,
};
use dropin_order::FailureReason;

const FAILED: ContractState =
    ContractState::Closed { reason: CloseReason::OpeningFailed, failure: Some(FailureReason::Declined) };

fn closed(reason: CloseReason, failure: Option<FailureReason>) -> ContractState {
    ContractState::Closed { reason, failure }
}

/// What becomes of a contract whose parts are changed so.
fn with(contract: Contract, edit: impl FnOnce(&mut ContractParts)) -> Option<InvalidContract> {
    contract.edited(edit).err()
}

#[test]
fn what_was_stored_comes_back_equal() {
    for kind in ContractKind::ALL {
        let suspended = active(kind).expired(at("2032-01-01")).unwrap().change.next;
        let failed = opening(kind).opening_failed(FailureReason::Expired, at("2026-11-24")).unwrap().change.next;
        for contract in [opening(kind), active(kind), suspended, failed] {
            assert_eq!(Contract::restore(contract.clone().into_parts()), Ok(contract));
        }
    }
}

#[test]
fn a_contract_has_a_card_exactly_when_it_was_opened() {
    let (missing, extra) = (InvalidContract::CardMissing, InvalidContract::CardTooEarly);
    let suspended = ContractState::Suspended { reason: SuspendReason::CardInvalid };
    for state in [ContractState::Active, suspended, closed(CloseReason::Merchant, None)] {
        assert_eq!(with(active(ContractKind::Recurring), |parts| parts.state = state), None, "{state:?}");
        assert_eq!(with(opening(ContractKind::Recurring), |parts| parts.state = state), Some(missing), "{state:?}");
    }
    for state in [ContractState::Opening, FAILED] {
        assert_eq!(with(opening(ContractKind::Recurring), |parts| parts.state = state), None, "{state:?}");
        assert_eq!(with(active(ContractKind::Recurring), |parts| parts.state = state), Some(extra), "{state:?}");
    }
    let id = "483297487231504".parse().ok();
    assert_eq!(with(opening(ContractKind::Recurring), |parts| parts.network_transaction_id = id), Some(extra));
    assert_eq!(with(active(ContractKind::Recurring), |parts| parts.network_transaction_id = None), None);
}

#[test]
fn a_failure_belongs_to_a_failed_opening() {
    let failure = Some(FailureReason::Declined);
    let refused = with(active(ContractKind::Recurring), |parts| parts.state = closed(CloseReason::Merchant, failure));
    assert_eq!(refused, Some(InvalidContract::Failure));
    let refused =
        with(opening(ContractKind::Recurring), |parts| parts.state = closed(CloseReason::OpeningFailed, None));
    assert_eq!(refused, Some(InvalidContract::Failure));
}

#[test]
fn a_shopper_closes_one_click_alone() {
    let by_shopper = |kind| with(active(kind), |parts| parts.state = closed(CloseReason::Shopper, None));
    assert_eq!(by_shopper(ContractKind::OneClick), None);
    assert_eq!(by_shopper(ContractKind::Unscheduled), Some(InvalidContract::ClosedByShopper));
}

#[test]
fn a_kind_fits_its_origin() {
    let from_session = active(ContractKind::OneClick).into_parts().origin;
    for kind in ContractKind::ALL {
        let origin = from_session.clone();
        assert_eq!(with(active(kind), |parts| parts.origin = origin), None, "{kind}: a Session makes each kind");
        let server = ContractOrigin::Server { reference: "subscription-7".parse().unwrap() };
        let expected = (kind == ContractKind::OneClick).then_some(InvalidContract::KindOfOrigin);
        assert_eq!(with(active(kind), |parts| parts.origin = server), expected, "{kind}");
    }
}

#[test]
fn the_id_of_a_payment_method_has_the_form_of_the_catalogue() {
    let of = |id: &str| with(active(ContractKind::Recurring), |parts| parts.payment_method = id.to_owned());
    for id in ["VISA", "P24", &"A".repeat(32)] {
        assert_eq!(of(id), None, "{id}");
    }
    for id in ["", "visa", "PAY PAL", "É", &"A".repeat(33)] {
        assert_eq!(of(id), Some(InvalidContract::PaymentMethod), "{id}");
    }
}
