//! What a report says of reasons, by what turned out about payments.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_risk::{CardFunding, Facts, Rules, Screening, ScreeningLabel, ScreeningReport};

/// A payment with up to three reasons: a new shopper, a prepaid card, a small amount.
fn screened(is_new: bool, is_prepaid: bool, is_small: bool) -> Screening {
    Rules::built_in().screen(Facts {
        known_days: (!is_new).then_some(7),
        funding: is_prepaid.then_some(CardFunding::Prepaid),
        amount_cents: is_small.then_some(1),
        ..Facts::default()
    })
}

#[test]
fn each_reason_has_its_share_of_what_it_applied_to_and_of_all_frauds() {
    use ScreeningLabel::{Fraud, Legitimate};
    let all = [
        (screened(true, true, false), Fraud),
        (screened(true, false, true), Fraud),
        (screened(false, true, false), Fraud),
        (screened(true, false, false), Legitimate),
        (screened(true, true, true), Legitimate),
        (screened(true, false, false), Legitimate),
        (screened(false, false, false), Legitimate),
    ];
    let report = ScreeningReport::of(all.iter().map(|(screening, label)| (screening, *label)));
    assert_eq!((report.fraud, report.legitimate), (3, 4));
    let seen: Vec<_> = report
        .reasons
        .iter()
        .map(|one| (one.code.to_string(), one.fraud, one.legitimate, one.precision(), report.recall(one)))
        .collect();
    let expected = [
        // Two of three, and two of the three frauds.
        ("CARD_IS_PREPAID".to_owned(), 2, 1, 66, 66),
        ("NEW_SHOPPER".to_owned(), 2, 3, 40, 66),
        ("AMOUNT_IS_SMALL".to_owned(), 1, 1, 50, 33),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn of_nothing_there_is_no_share() {
    let report = ScreeningReport::of([]);
    assert_eq!((report.fraud, report.legitimate, report.reasons.len()), (0, 0, 0));
    let legitimate = screened(true, false, false);
    let report = ScreeningReport::of([(&legitimate, ScreeningLabel::Legitimate)]);
    assert_eq!((report.reasons[0].precision(), report.recall(&report.reasons[0])), (0, 0));
}
