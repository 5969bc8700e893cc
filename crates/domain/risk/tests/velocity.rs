//! Sliding windows: every try counts for its span, and for one bucket more at most, however the clocks of the programs differ.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_risk::{VelocityCounts, VelocityMeasure, VelocitySum, VelocityWindow};
use proptest::prelude::*;

const ONE: VelocityCounts = VelocityCounts {
    tries: 1,
    declines: 2,
    blocks: 3,
    alarm_challenges: 5,
    alarm_passes: 6,
    alarm_verifications: 7,
    amount_cents: 4,
};

/// Whether a try at `at` counts at `now`.
fn counts(window: VelocityWindow, at: Timestamp, now: Timestamp) -> bool {
    window.sum(now, [(window.bucket_start(at), ONE)]).tries == 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_try_counts_for_its_span_and_a_bucket_more_at_most(
        at in -1_000_000_000_000_000i64..2_000_000_000_000_000,
        later in 0i64..100_000_000_000,
        window in proptest::sample::select(VelocityWindow::ALL.to_vec()),
    ) {
        let (at, now) = (Timestamp::from_micros(at), Timestamp::from_micros(at + later));
        let (age, longest) = (now.since(at), window.span() + window.bucket());
        if age <= window.span() {
            prop_assert!(counts(window, at, now));
        }
        if longest <= age {
            prop_assert!(!counts(window, at, now));
        }
        let start = window.bucket_start(at);
        prop_assert!(start <= at && at < start.plus(window.bucket()));
        prop_assert_eq!(window.bucket_start(start), start);
        // Swept is what counts no more, at once.
        prop_assert_eq!(counts(window, at, now), now < window.ends_at(start));
    }

    #[test]
    fn sums_are_exact(
        ages in proptest::collection::vec(0u64..200_000, 0..60),
        window in proptest::sample::select(VelocityWindow::ALL.to_vec()),
    ) {
        let now = Timestamp::from_micros(1_795_000_000_000_000);
        let starts: Vec<Timestamp> =
            ages.iter().map(|age| window.bucket_start(now.minus(Duration::from_secs(*age)))).collect();
        let counting = starts.iter().filter(|start| window.oldest_bucket(now) <= **start).count();
        let sum = window.sum(now, starts.iter().map(|start| (*start, ONE)));
        let number = u32::try_from(counting).unwrap();
        let expected = VelocityCounts {
            tries: number,
            declines: 2 * number,
            blocks: 3 * number,
            alarm_challenges: 5 * number,
            alarm_passes: 6 * number,
            alarm_verifications: 7 * number,
            amount_cents: 4 * u64::from(number),
        };
        prop_assert_eq!(sum, expected);
        let cards = window.distinct(now, starts.iter().zip(ages.iter().map(|age| age % 7)).map(|(start, card)| (*start, card)));
        let different: std::collections::BTreeSet<u64> = starts.iter().zip(&ages)
            .filter(|(start, _)| window.oldest_bucket(now) <= **start).map(|(_, age)| age % 7).collect();
        prop_assert_eq!(cards, u32::try_from(different.len()).unwrap());
    }
}

#[test]
fn windows_end_where_they_should() {
    let at = |text: &str| format!("2026-11-26T{text}Z").parse::<Timestamp>().unwrap();
    let counts_at = |window, text| counts(window, at("10:44:30.000000"), at(text));
    assert!(
        counts_at(VelocityWindow::TenMinutes, "10:54:59.999999")
            && !counts_at(VelocityWindow::TenMinutes, "10:55:00.000000")
    );
    assert!(counts_at(VelocityWindow::Hour, "11:44:59.999999") && !counts_at(VelocityWindow::Hour, "11:45:00.000000"));
    let tomorrow = |text: &str| format!("2026-11-27T{text}Z").parse::<Timestamp>().unwrap();
    let counts_tomorrow = |text| counts(VelocityWindow::Day, at("10:44:30.000000"), tomorrow(text));
    assert!(counts_tomorrow("10:59:59.999999") && !counts_tomorrow("11:00:00.000000"));
    assert!(counts_at(VelocityWindow::TenMinutes, "10:40:00.000000"), "another program's clock is ahead");
}

#[test]
fn counts_have_an_end() {
    let full = VelocityCounts {
        tries: u32::MAX,
        declines: u32::MAX,
        blocks: u32::MAX,
        alarm_challenges: u32::MAX,
        alarm_passes: u32::MAX,
        alarm_verifications: u32::MAX,
        amount_cents: u64::MAX,
    };
    assert_eq!(full.plus(ONE), full);
    let sum = VelocitySum { counts: ONE, cards: 5 };
    assert_eq!(VelocityMeasure::ALL.map(|measure| sum.of(measure)), [1, 2, 3, 5, 0]);
    let euros = VelocityCounts { amount_cents: 1_99, ..ONE };
    assert_eq!(VelocitySum { counts: euros, cards: 0 }.of(VelocityMeasure::Amount), 1);
}
