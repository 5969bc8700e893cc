//! Which payments a contract allows, and when a declined one may be tried again.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use std::time::Duration;

use common::{active, at, eur, opening, visa};
use dropin_card::Scheme;
use dropin_contract::{
    CardSummary, ChargeRefused, ChargeTry, ContractKind, ContractStateKind, CredentialDecline, DeclineCategory,
    PaymentMark, StoredCard, StoredCredentialUse, TRY_LIMITS, TryDecision, TryResult, WrongState, decide_try,
};
use dropin_kernel::Timestamp;
use dropin_money::{Amount, Currency};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

fn declined(at: Timestamp, category: DeclineCategory) -> ChargeTry {
    ChargeTry { at, result: TryResult::Declined(category.into()) }
}

fn card_of(scheme: Scheme) -> StoredCard {
    StoredCard::new(CardSummary { scheme, ..visa("2031-12") }, at("2026-01-01"))
}

#[test]
fn a_payment_is_marked_by_the_kind_of_its_contract() {
    let now = at("2026-12-23");
    for (kind, by_merchant, by_shopper) in [
        (ContractKind::OneClick, Err(ChargeRefused::Kind), StoredCredentialUse::OneClick),
        (ContractKind::Recurring, Ok(StoredCredentialUse::Recurring), StoredCredentialUse::First),
        (ContractKind::Unscheduled, Ok(StoredCredentialUse::Unscheduled), StoredCredentialUse::First),
    ] {
        let contract = active(kind);
        let charge = contract.plan_merchant_charge(&eur(9_90), &[], now);
        let network_transaction_id = contract.network_transaction_id.clone();
        let mark = |credential_use| PaymentMark { credential_use, network_transaction_id };
        assert_eq!(charge, by_merchant.map(mark), "{kind}");
        let payment = contract.plan_shopper_payment(&eur(9_90), now).unwrap();
        assert_eq!(payment.credential_use, by_shopper, "{kind}");
        let names_first = payment.network_transaction_id.is_some();
        assert_eq!(names_first, by_shopper != StoredCredentialUse::First, "{kind}");
    }
}

#[test]
fn what_is_wrong_with_a_request_is_said_before_the_state() {
    let (now, usd) = (at("2026-12-23"), Amount::from_minor(Currency::Usd, 9_90).unwrap());
    let closed = |kind| active(kind).close_by_merchant(now).unwrap().change.next;
    let state = ChargeRefused::State(WrongState { found: ContractStateKind::Closed });
    let agreed = ChargeRefused::Currency { agreed: Currency::Eur };
    for (kind, amount, refused) in [
        (ContractKind::OneClick, &usd, ChargeRefused::Kind),
        (ContractKind::Recurring, &usd, agreed),
        (ContractKind::Recurring, &eur(0), ChargeRefused::Zero),
        (ContractKind::Recurring, &eur(1), state),
    ] {
        assert_eq!(closed(kind).plan_merchant_charge(amount, &[], now), Err(refused), "{kind} {amount}");
    }
    assert_eq!(closed(ContractKind::OneClick).plan_shopper_payment(&usd, now), Err(agreed));
    assert_eq!(closed(ContractKind::OneClick).plan_shopper_payment(&eur(1), now), Err(state));
    let opening = opening(ContractKind::Recurring).plan_merchant_charge(&eur(1), &[], now);
    assert_eq!(opening, Err(ChargeRefused::State(WrongState { found: ContractStateKind::Opening })));
}

#[test]
fn a_card_is_charged_until_its_last_instant() {
    let end = at("2032-01-01");
    for (kind, now, expected) in [
        (ContractKind::Recurring, end.minus(Duration::from_micros(1)), None),
        (ContractKind::Recurring, end, Some(ChargeRefused::CardExpired)),
    ] {
        assert_eq!(active(kind).plan_merchant_charge(&eur(1), &[], now).err(), expected);
        assert_eq!(active(kind).plan_shopper_payment(&eur(1), now).err(), expected);
    }
}

#[test]
fn the_tries_decide_about_a_charge() {
    let (tried, now) = (at("2026-12-23"), at("2026-12-23").plus(HOUR));
    for (category, expected) in [
        (DeclineCategory::InsufficientFunds, Some(ChargeRefused::NotBefore { at: tried.plus(DAY) })),
        (DeclineCategory::DoNotHonor, Some(ChargeRefused::NotBefore { at: tried.plus(DAY) })),
        (DeclineCategory::TryLater, None),
        (DeclineCategory::AuthenticationRequired, Some(ChargeRefused::ShopperRequired)),
        (DeclineCategory::CardLost, Some(ChargeRefused::Never { category: DeclineCategory::CardLost })),
    ] {
        let contract = active(ContractKind::Unscheduled);
        let charge = contract.plan_merchant_charge(&eur(1), &[declined(tried, category)], now);
        assert_eq!(charge.err(), expected, "{category}");
        assert!(contract.plan_shopper_payment(&eur(1), now).is_ok(), "the shopper may always pay: {category}");
    }
}

#[test]
fn an_approval_and_a_new_card_end_what_declines_began() {
    let day = |number: u32| at(&format!("2026-12-{number:02}"));
    let approved = |at| ChargeTry { at, result: TryResult::Approved };
    let card = card_of(Scheme::Visa);
    let asked = declined(day(1), DeclineCategory::AuthenticationRequired);
    let stolen = declined(day(2), DeclineCategory::CardLost);
    assert_eq!(decide_try(&card, &[asked], day(20)), TryDecision::ShopperRequired);
    assert_eq!(decide_try(&card, &[approved(day(3)), asked, stolen], day(20)), TryDecision::Allowed);
    assert_eq!(decide_try(&card, &[approved(day(1)), stolen], day(20)), TryDecision::Never(DeclineCategory::CardLost));
    let at_once = decide_try(&card, &[approved(day(2)), stolen], day(20));
    assert_eq!(at_once, TryDecision::Never(DeclineCategory::CardLost), "of the same instant, the decline counts");
    let updated = StoredCard { updated_at: day(2), ..card };
    assert_eq!(decide_try(&updated, &[stolen], day(3)), TryDecision::Never(DeclineCategory::CardLost));
    let updated = StoredCard { updated_at: day(3), ..card };
    assert_eq!(decide_try(&updated, &[asked, stolen], day(3)), TryDecision::Allowed);
}

#[test]
fn the_shopper_is_asked_for_within_a_month() {
    let (card, asked) = (card_of(Scheme::Visa), at("2026-12-01"));
    let tries = [declined(asked, DeclineCategory::AuthenticationRequired)];
    let end = asked.plus(30 * DAY);
    assert_eq!(decide_try(&card, &tries, end.minus(Duration::from_micros(1))), TryDecision::ShopperRequired);
    assert_eq!(decide_try(&card, &tries, end), TryDecision::Allowed);
    let lost = [declined(asked, DeclineCategory::CardLost)];
    assert_eq!(decide_try(&card, &lost, end), TryDecision::Never(DeclineCategory::CardLost), "that never ends");
}

#[test]
fn an_asked_wait_is_kept_to_the_instant() {
    let tried = at("2026-12-01");
    let decline = CredentialDecline::of_codes(Some(Scheme::Mastercard), Some("51"), Some("30"));
    let tries = [ChargeTry { at: tried, result: TryResult::Declined(decline) }];
    let (card, end) = (card_of(Scheme::Mastercard), tried.plus(10 * DAY));
    let before = end.minus(Duration::from_micros(1));
    assert_eq!(decide_try(&card, &tries, before), TryDecision::NotBefore(end));
    assert_eq!(decide_try(&card, &tries, end), TryDecision::Allowed);
}

#[test]
fn no_scheme_sees_more_tries_than_it_bears() {
    let start = at("2026-03-01");
    for scheme in Scheme::ALL {
        let card = card_of(scheme);
        let (mut tries, mut now) = (Vec::new(), start);
        // A merchant who tries as soon as it is allowed, for half a year.
        while now < start.plus(180 * DAY) {
            match decide_try(&card, &tries, now) {
                TryDecision::Allowed => tries.push(declined(now, DeclineCategory::TryLater)),
                TryDecision::NotBefore(at) => {
                    assert!(now < at, "{scheme}");
                    now = at;
                }
                other => panic!("{scheme}: {other:?}"),
            }
        }
        let own: Vec<_> = TRY_LIMITS.iter().filter(|limit| limit.scheme == Some(scheme)).collect();
        let rest: Vec<_> = TRY_LIMITS.iter().filter(|limit| limit.scheme.is_none()).collect();
        for limit in if own.is_empty() { rest } else { own } {
            let most = (tries.iter())
                .map(|first| {
                    tries.iter().filter(|one| first.at <= one.at && one.at < first.at.plus(limit.within)).count()
                })
                .max();
            assert!(most.is_some_and(|most| most <= limit.max_tries), "{scheme}: {most:?} in {:?}", limit.within);
        }
        let expected = if scheme == Scheme::Mastercard { 35 } else { 15 };
        let month = tries.iter().filter(|one| one.at < start.plus(30 * DAY)).count();
        assert_eq!(month, expected, "{scheme}: as many as are allowed");
    }
}

#[test]
fn limits_count_open_outcomes_and_the_number_but_no_approval() {
    let start = at("2026-12-01");
    let hours = |from: u32| start.plus(from * HOUR);
    let with = |result| (0..15).map(move |hour| ChargeTry { at: hours(hour), result }).collect::<Vec<_>>();
    let card = StoredCard { updated_at: hours(14), ..card_of(Scheme::Visa) };
    let (open, approved) = (with(TryResult::Unknown), with(TryResult::Approved));
    assert_eq!(decide_try(&card, &approved, hours(15)), TryDecision::Allowed);
    assert_eq!(decide_try(&card, &open[..14], hours(15)), TryDecision::Allowed);
    let free = TryDecision::NotBefore(start.plus(30 * DAY));
    assert_eq!(decide_try(&card, &open, hours(15)), free, "a later expiry is the same number");
    let reversed: Vec<_> = open.iter().rev().copied().collect();
    assert_eq!(decide_try(&card, &reversed, hours(15)), free, "in any order");
    let other = StoredCard { number_since: hours(1), ..card };
    assert_eq!(decide_try(&other, &open, hours(15)), TryDecision::Allowed);
}
