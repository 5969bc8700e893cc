//! What counts do: the limits on them, and the alarm of a merchant whose payments are declined more than chance explains.

use dropin_risk::{Rules, VelocityCounts, VelocityKey, VelocityMeasure, VelocityName, VelocitySum, VelocityWindow};

use super::{counted, plain, reasons, rules};

#[test]
fn a_merchants_declines_are_an_alarm_when_chance_does_not_explain_them() {
    /// Tries, declines and blocks of ten minutes, an hour and a day.
    type Counted = [(u32, u32, u32); 3];
    let screened = |rules: &Rules, counted: Counted| {
        let mut facts = plain();
        for (window, (tries, declines, blocks)) in VelocityWindow::ALL.into_iter().zip(counted) {
            let counts = VelocityCounts { tries, declines, blocks, ..VelocityCounts::default() };
            facts.velocity.set(VelocityKey::Merchant, window, VelocitySum { counts, cards: 0 });
        }
        reasons(&rules.screen(facts)) == ["MERCHANT_ALARM +35"]
    };
    let built_in = Rules::built_in();
    for (is_alarm, counted, why) in [
        (false, [(0, 0, 0); 3], "nothing"),
        (false, [(11, 11, 0), (11, 11, 0), (11, 11, 0)], "few"),
        (true, [(12, 12, 0), (12, 12, 0), (12, 12, 0)], "the first tries of a new merchant"),
        // 10 of 100 are usual: of 100 tries 10 are expected, and 6 times the root of 10 are 18.97.
        (false, [(100, 28, 0), (100, 28, 0), (100, 28, 0)], "18 above what is expected"),
        (true, [(100, 29, 0), (100, 29, 0), (100, 29, 0)], "19 above it"),
        (false, [(40, 15, 0); 3], "4 are expected, and 6 times the root of 4 are 12"),
        (true, [(40, 16, 0); 3], "just that"),
        (false, [(4_000, 519, 0); 3], "400 and 6 times 20"),
        (true, [(4_000, 520, 0); 3], "just that"),
        (
            false,
            [(10_000, 2_268, 0), (10_000, 2_268, 0), (20_000, 7_268, 0)],
            "2,000 and 6 times 44.7, of half that was usual",
        ),
        (true, [(10_000, 2_269, 0), (10_000, 2_269, 0), (20_000, 7_269, 0)], "one more"),
        // The day without the hour has 1,900 and 190 and with the 100 and 10 two of twenty.
        (false, [(100, 28, 0), (500, 400, 0), (2_400, 590, 0)], "the hour says nothing of what is usual"),
        (true, [(100, 29, 0), (500, 400, 0), (2_400, 590, 0)], "19 above it"),
        // 400 of 2,000 are 20 per cent: 20 are expected, and 6 times the root of 20 are 26.83.
        (false, [(100, 46, 0), (100, 46, 0), (2_000, 436, 0)], "26 above what is expected"),
        (true, [(100, 47, 0), (100, 47, 0), (2_000, 437, 0)], "27 above it"),
        (true, [(100, 47, 0), (100, 47, 0), (2_000, 1_900, 0)], "a long attack never becomes usual"),
        (false, [(100, 46, 0), (100, 46, 0), (2_000, 1_900, 0)], "and 46 of 100 may be"),
        (true, [(1_100, 29, 1_000), (1_100, 29, 1_000), (1_100, 29, 1_000)], "what was blocked hides nothing"),
        (false, [(1_100, 28, 1_000), (1_100, 28, 1_000), (1_100, 28, 1_000)], "and is no decline"),
        (true, [(100, 29, 0), (100, 29, 0), (90_100, 29, 90_000)], "nor does what was blocked before"),
        (true, [(1, 35, 5), (1, 35, 5), (1, 35, 5)], "a try of the bucket before"),
        (false, [(0, 0, 0), (99, 99, 0), (99, 99, 0)], "it ends with its ten minutes"),
        (true, [(u32::MAX, u32::MAX, 0), (0, 0, 0), (u32::MAX, 0, 0)], "numbers without room"),
    ] {
        assert_eq!(screened(&built_in, counted), is_alarm, "{why}");
    }
    let hundred = |declines| [(100, declines, 0); 3];
    let looser = rules("[limits]\nALARM_DEVIATIONS = 10");
    assert!(!screened(&looser, hundred(41)) && screened(&looser, hundred(42)), "10 and 10 times the root of 10");
    let stricter = rules("[limits]\nALARM_PERCENT = 5\nALARM_DECLINES = 20");
    assert!(!screened(&stricter, hundred(19)) && screened(&stricter, hundred(20)), "5 and 6 times the root of 5");
}

#[test]
fn an_alarm_lasts_while_hardly_anybody_passes_its_challenges() {
    let screened = |rules: &Rules, counts: VelocityCounts| {
        let mut facts = plain();
        facts.velocity.set(VelocityKey::Merchant, VelocityWindow::TenMinutes, VelocitySum { counts, cards: 0 });
        let screening = rules.screen(facts);
        assert_eq!(screening.is_in_alarm(), reasons(&screening) == ["MERCHANT_ALARM +35"]);
        screening.is_in_alarm()
    };
    let challenged = |alarm_challenges, alarm_passes| VelocityCounts {
        tries: alarm_challenges,
        alarm_challenges,
        alarm_passes,
        ..VelocityCounts::default()
    };
    let built_in = Rules::built_in();
    for (is_alarm, challenges, passes) in [
        (false, 11, 0),
        (true, 12, 0),
        (true, 12, 3),
        (false, 12, 4),
        (true, 301, 100),
        (false, 300, 100),
        (false, 30, 40),
        (true, u32::MAX, u32::MAX / 3 - 1),
    ] {
        assert_eq!(screened(&built_in, challenged(challenges, passes)), is_alarm, "{passes} of {challenges}");
    }
    // What was passed for nothing neither shortens an alarm nor keeps it alive, and hides no decline.
    let verified = |challenges: u32, passes, alarm_verifications| VelocityCounts {
        alarm_verifications,
        ..challenged(challenges + alarm_verifications, passes)
    };
    for verifications in [0, 5, 5_000] {
        for (is_alarm, challenges, passes) in [(true, 12, 3), (false, 12, 4), (false, 11, 0), (true, 12, 0)] {
            let counts = verified(challenges, passes, verifications);
            assert_eq!(screened(&built_in, counts), is_alarm, "{passes} of {challenges} beside {verifications}");
        }
        let declined = |declines| VelocityCounts {
            tries: 100 + verifications,
            declines,
            alarm_challenges: verifications,
            alarm_verifications: verifications,
            ..VelocityCounts::default()
        };
        assert!(screened(&built_in, declined(29)) && !screened(&built_in, declined(28)), "{verifications}");
    }
    let later = rules("[limits]\nALARM_DECLINES = 20");
    assert!(!screened(&later, challenged(19, 0)) && screened(&later, challenged(20, 0)));
    // What nobody passed hides no decline: of 100 tries that were heard of 29 are too many.
    let heard = |unpassed: u32, declines| VelocityCounts {
        tries: 90 + 2 * unpassed,
        declines,
        alarm_challenges: 10 + unpassed,
        alarm_passes: 10,
        blocks: unpassed,
        ..VelocityCounts::default()
    };
    let tries = |counts: VelocityCounts| VelocityCounts { tries: counts.tries + 10, ..counts };
    for unpassed in [0, 20] {
        assert!(screened(&built_in, tries(heard(unpassed, 29))) && !screened(&built_in, tries(heard(unpassed, 28))));
    }
}

#[test]
fn every_limit_on_counts_applies_above_its_number() {
    let built_in: toml::Table = toml::from_str(dropin_risk::BUILT_IN_RULES).unwrap();
    let limits = built_in["velocity"].as_table().unwrap();
    assert!(15 < limits.len());
    for (name, limit) in limits {
        let (most, points) = (limit[0].as_integer().unwrap(), limit[1].as_integer().unwrap());
        let VelocityName { key, measure, window } = name.parse().unwrap();
        let screened = |number: i64| {
            let mut facts = plain();
            facts.velocity.set(key, window, counted(measure, u32::try_from(number).unwrap()));
            reasons(&Rules::built_in().screen(facts))
        };
        assert_eq!(screened(most), [""; 0], "{name}");
        assert_eq!(screened(most + 1), [format!("{name} +{points}")], "{name}");
    }
}

#[test]
fn every_measure_of_every_key_and_window_can_be_limited() {
    for key in VelocityKey::ALL {
        let counts = |measure: &VelocityMeasure| key != VelocityKey::Merchant || *measure != VelocityMeasure::Cards;
        for measure in VelocityMeasure::ALL.into_iter().filter(counts) {
            for window in VelocityWindow::ALL {
                let name = VelocityName { key, measure, window };
                let rules = rules(&format!("[velocity]\n{name} = [7, 9]"));
                let screened = |number| {
                    let mut facts = plain();
                    facts.velocity.set(key, window, counted(measure, number));
                    let all = reasons(&rules.screen(facts));
                    all.contains(&format!("{name} +9"))
                };
                assert!(!screened(7) && screened(8), "{name}");
                let number_of = |found: &str| rules.screen(plain()).facts().velocity.number(found.parse().unwrap());
                assert_eq!(number_of(&name.to_string()), None, "nothing was counted");
            }
        }
    }
}
