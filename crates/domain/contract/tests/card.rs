//! The end of a card and what takes its place.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use common::{active, at, opening, visa};
use dropin_contract::{CardUpdateRefused, ContractEvent, ContractKind, ContractStateKind};

#[test]
fn the_merchant_is_told_once_for_each_card() {
    let contract = active(ContractKind::Recurring);
    assert!(contract.expiring(at("2031-11-30")).is_none(), "31 days before the last day");
    let step = contract.expiring(at("2031-12-01")).unwrap();
    assert_eq!(step.event, Some(ContractEvent::Expiring));
    let told = step.change.next;
    assert_eq!(told.card.unwrap().expiry_told_at, Some(at("2031-12-01")));
    assert_eq!(told.state.kind(), ContractStateKind::Active);
    for day in ["2031-12-01", "2031-12-31", "2032-01-01"] {
        assert!(told.expiring(at(day)).is_none(), "{day}");
    }
    let same = told.card_updated(visa("2031-12"), None, at("2031-12-20")).unwrap().change.next;
    assert!(same.expiring(at("2031-12-20")).is_none(), "the shopper authenticated with the same card");
    let next = told.card_updated(visa("2032-03"), None, at("2031-12-24")).unwrap().change.next;
    assert!(next.expiring(at("2032-02-28")).is_none());
    assert!(next.expiring(at("2032-03-01")).is_some(), "the new card has a notice of its own");
}

#[test]
fn no_notice_is_given_of_a_card_that_has_ended_or_may_not_be_charged() {
    let contract = active(ContractKind::Recurring);
    assert!(contract.expiring(at("2032-01-01")).is_none());
    let suspended = contract.expired(at("2032-01-01")).unwrap().change.next;
    assert!(suspended.expired(at("2032-01-02")).is_none(), "once");
    let closed = contract.close_by_merchant(at("2026-12-01")).unwrap().change.next;
    assert!(closed.expiring(at("2031-12-05")).is_none() && closed.expired(at("2032-01-01")).is_none());
    let opening = opening(ContractKind::Recurring);
    assert!(opening.expiring(at("2031-12-05")).is_none() && opening.expired(at("2032-01-01")).is_none());
}

#[test]
fn a_card_that_has_expired_takes_no_place() {
    let contract = active(ContractKind::Recurring);
    let refused = contract.card_updated(visa("2026-11"), None, at("2026-12-01"));
    assert_eq!(refused.err(), Some(CardUpdateRefused::Expired));
    let closed = contract.close_by_merchant(at("2026-12-01")).unwrap().change.next;
    let refused = closed.card_updated(visa("2036-12"), None, at("2026-12-01")).unwrap_err();
    assert_eq!(refused.to_string(), "the contract is CLOSED");
}

#[test]
fn the_network_id_is_kept_until_the_shopper_authenticates_anew() {
    let contract = active(ContractKind::Recurring);
    let by_updater = contract.card_updated(visa("2036-12"), None, at("2026-12-01")).unwrap().change.next;
    assert_eq!(by_updater.network_transaction_id, contract.network_transaction_id);
    let anew = "583297487231505".parse().ok();
    let by_shopper = contract.card_updated(visa("2036-12"), anew.clone(), at("2026-12-01")).unwrap().change.next;
    assert_eq!(by_shopper.network_transaction_id, anew);
}

#[test]
fn a_number_is_stored_since_it_changed() {
    let (stored, later) = (at("2026-11-23"), at("2026-12-01"));
    let contract = active(ContractKind::Recurring);
    let longer = contract.card_updated(visa("2036-12"), None, later).unwrap().change.next.card.unwrap();
    assert_eq!((longer.number_since, longer.updated_at), (stored, later));
    let other = dropin_contract::CardSummary { last_four: "1881".parse().unwrap(), ..visa("2036-12") };
    let other = contract.card_updated(other, None, later).unwrap().change.next.card.unwrap();
    assert_eq!((other.number_since, other.updated_at), (later, later));
}
