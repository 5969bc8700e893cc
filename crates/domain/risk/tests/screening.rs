//! What the rules make of facts: each factor alone, at its limit and beside it; thresholds, lists and exact rules.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_card::Scheme;
use dropin_risk::{
    CardFunding, Decision, FactText, Facts, IssuerChecks, Rules, RulesFile, Screening, VelocityCounts, VelocityKey,
    VelocityMeasure, VelocityName, VelocitySum, VelocityWindow, dry_run,
};
use dropin_validation::Country;

fn country(code: &str) -> Option<Country> {
    Some(code.parse().unwrap())
}

fn text(text: &str) -> Option<FactText> {
    Some(FactText::new(text))
}

/// A shopper of long standing with nothing against the payment and nothing for it.
fn plain() -> Facts {
    Facts {
        amount_cents: Some(29_90),
        scheme: Some(Scheme::Visa),
        funding: Some(CardFunding::Debit),
        card_country: country("AT"),
        billing_country: country("AT"),
        shipping_country: country("AT"),
        phone_country: country("AT"),
        ip_country: country("AT"),
        time_zone_country: country("AT"),
        language_country: country("AT"),
        email: text("anna@example.com"),
        device: text("browser-7"),
        profile: text("customer-7"),
        ip: "203.0.113.7".parse().ok(),
        known_days: Some(29),
        ..Facts::default()
    }
}

fn rules(file: &str) -> Rules {
    Rules::built_in().with(&RulesFile::parse(file).unwrap()).unwrap()
}

fn reasons(screening: &Screening) -> Vec<String> {
    screening.reasons().iter().map(ToString::to_string).collect()
}

/// A count of `number` and nothing else.
fn counted(measure: VelocityMeasure, number: u32) -> VelocitySum {
    let mut sum = VelocitySum::default();
    match measure {
        VelocityMeasure::Tries => sum.counts.tries = number,
        VelocityMeasure::Declines => sum.counts.declines = number,
        VelocityMeasure::Blocks => sum.counts.blocks = number,
        VelocityMeasure::Cards => sum.cards = number,
        _ => sum.counts.amount_cents = u64::from(number) * 100,
    }
    sum
}

/// Changes one thing of plain facts.
type Change = fn(&mut Facts);

#[test]
fn each_factor_applies_from_its_limit_on_and_no_sooner() {
    let factors: &[(&str, Change)] = &[
        ("", |_| {}),
        ("NEW_SHOPPER +5", |facts| facts.known_days = None),
        ("RETURNING_SHOPPER -15", |facts| facts.known_days = Some(30)),
        ("NEW_SHOPPER +5", |facts| facts.known_days = Some(0)),
        ("", |facts| facts.known_days = Some(1)),
        ("CARD_COUNTRY_IS_NOT_BILLING +15", |facts| {
            facts.billing_country = country("US");
            facts.shipping_country = None;
            facts.phone_country = None;
        }),
        ("CARD_COUNTRY_IS_NOT_IP +5", |facts| {
            facts.ip_country = country("US");
            facts.time_zone_country = None;
        }),
        ("BILLING_IS_NOT_SHIPPING +10", |facts| facts.shipping_country = country("US")),
        ("TIME_ZONE_IS_NOT_IP +10", |facts| facts.time_zone_country = country("US")),
        ("LANGUAGE_IS_FOREIGN +5", |facts| facts.language_country = country("US")),
        ("", |facts| {
            facts.language_country = country("US");
            (facts.card_country, facts.billing_country, facts.ip_country) = (None, None, None);
        }),
        ("LANGUAGE_IS_FOREIGN +5", |facts| {
            facts.language_country = country("US");
            (facts.card_country, facts.billing_country) = (None, None);
        }),
        ("PHONE_IS_NOT_BILLING +5", |facts| facts.phone_country = country("US")),
        ("EMAIL_IS_DISPOSABLE +15", |facts| facts.email = text("Anna@YOPmail.com")),
        ("", |facts| facts.email = text("yopmail.com@example.com")),
        ("", |facts| facts.email = text("anna@not-yopmail.com")),
        ("EMAIL_IS_GENERATED +10", |facts| facts.email = text("k3j4h5@example.com")),
        ("CARD_IS_PREPAID +5", |facts| facts.funding = Some(CardFunding::Prepaid)),
        ("", |facts| facts.funding = Some(CardFunding::Credit)),
        ("AMOUNT_IS_LARGE +10", |facts| facts.amount_cents = Some(50_001)),
        ("", |facts| facts.amount_cents = Some(50_000)),
        ("AMOUNT_IS_SMALL +5", |facts| facts.amount_cents = Some(2_99)),
        ("", |facts| facts.amount_cents = Some(3_00)),
        ("AMOUNT_IS_SMALL +5", |facts| facts.amount_cents = Some(0)),
        ("ISSUER_ADDRESS_DIFFERS +20", |facts| facts.issuer.address_matches = Some(false)),
        ("ISSUER_CODE_DIFFERS +45", |facts| facts.issuer.code_matches = Some(false)),
        ("AUTHENTICATED -40", |facts| facts.issuer.authenticated = Some(true)),
        ("", |facts| {
            let (yes, no) = (Some(true), Some(false));
            facts.issuer = IssuerChecks { address_matches: yes, code_matches: yes, authenticated: no, ..facts.issuer };
        }),
    ];
    for (index, (reason, change)) in factors.iter().enumerate() {
        let mut facts = plain();
        change(&mut facts);
        let screening = Rules::built_in().screen(facts);
        let expected: Vec<&str> = (!reason.is_empty()).then_some(*reason).into_iter().collect();
        assert_eq!(reasons(&screening), expected, "change {index}");
        let points: i64 = reason.split_once(' ').map_or(0, |(_, points)| points.parse().unwrap());
        assert_eq!(i64::from(screening.score().value()), points.max(0), "change {index}");
    }
}

#[test]
fn three_countries_are_more_than_two() {
    let screened = |card, billing, ip| {
        let (card_country, billing_country, ip_country) = (country(card), country(billing), country(ip));
        let facts = Facts { card_country, billing_country, ip_country, known_days: Some(1), ..Facts::default() };
        let all = reasons(&Rules::built_in().screen(facts));
        all.contains(&"COUNTRIES_ALL_DIFFER +20".to_owned())
    };
    assert!(screened("US", "AT", "BG"));
    assert!(!screened("US", "AT", "AT") && !screened("US", "AT", "US") && !screened("AT", "AT", "US"));
}

#[test]
fn a_fact_that_is_not_known_says_nothing() {
    let unknown = Facts { known_days: Some(1), ..Facts::default() };
    assert_eq!(reasons(&Rules::built_in().screen(unknown)), [""; 0]);
    let changes: [Change; 7] = [
        |facts| facts.card_country = None,
        |facts| facts.billing_country = None,
        |facts| facts.shipping_country = None,
        |facts| facts.phone_country = None,
        |facts| facts.ip_country = None,
        |facts| facts.time_zone_country = None,
        |facts| facts.language_country = None,
    ];
    for change in changes {
        let mut facts = plain();
        change(&mut facts);
        assert_eq!(reasons(&Rules::built_in().screen(facts)), [""; 0]);
    }
}

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

#[test]
fn the_score_reaches_a_threshold_or_does_not() {
    let rules = rules("[thresholds]\nCHALLENGE = 41\nREVIEW = 61\nBLOCK = 81\n[velocity]\nCARD_TRIES_DAY = [1, 1]");
    let decided = |points: i16| {
        let file = format!("[weights]\nCARD_IS_PREPAID = {points}");
        let rules = rules.with(&RulesFile::parse(&file).unwrap()).unwrap();
        let screening = rules.screen(Facts { funding: Some(CardFunding::Prepaid), ..plain() });
        assert_eq!(screening.score().value(), u8::try_from(points).unwrap());
        screening.decision()
    };
    let decisions = [40, 41, 60, 61, 80, 81, 100].map(decided);
    use Decision::{Allow, Block, Challenge, Review};
    assert_eq!(decisions, [Allow, Challenge, Challenge, Review, Review, Block, Block]);
    // Points beyond the end of the scale count against what speaks for the shopper.
    let mut facts = Facts { funding: Some(CardFunding::Prepaid), known_days: Some(99), ..plain() };
    facts.issuer.code_matches = Some(false);
    let file = RulesFile::parse("[weights]\nCARD_IS_PREPAID = 100").unwrap();
    assert_eq!(rules.with(&file).unwrap().screen(facts).score().value(), 100, "100 + 45 - 15");
    let never =
        self::rules("[thresholds]\nCHALLENGE = 101\nREVIEW = 101\nBLOCK = 101\n[weights]\nCARD_IS_PREPAID = 100");
    let screening = never.screen(Facts { funding: Some(CardFunding::Prepaid), ..plain() });
    assert_eq!((screening.score().value(), screening.decision()), (100, Allow));
}

#[test]
fn reasons_are_sorted_by_what_they_weigh() {
    let mut facts =
        Facts { known_days: None, funding: Some(CardFunding::Prepaid), card_country: country("US"), ..plain() };
    facts.issuer.authenticated = Some(true);
    let rules = rules(
        "[rules]\nB = 'NEW_SHOPPER then REVIEW'\nA = 'NEW_SHOPPER then CHALLENGE'\n[block]\nDEVICES = ['Browser-7']\n[allow]\nEMAILS = ['anna@EXAMPLE.com']",
    );
    let expected = [
        "BLOCK_DEVICES +0",
        "ALLOW_EMAILS +0",
        "RULE_A +0",
        "RULE_B +0",
        "AUTHENTICATED -40",
        "CARD_COUNTRY_IS_NOT_BILLING +15",
        "NEW_SHOPPER +5",
        "CARD_COUNTRY_IS_NOT_IP +5",
        "CARD_IS_PREPAID +5",
    ];
    let screening = rules.screen(facts);
    assert_eq!(reasons(&screening), expected);
    assert_eq!((screening.decision(), screening.score().value()), (Decision::Block, 0));
}

#[test]
fn every_list_holds_what_it_names() {
    for (entry, change) in [
        ("EMAILS = ['ANNA@example.com ']", (|facts: &mut Facts| facts.email = text("ann@example.com")) as Change),
        ("EMAIL_DOMAINS = ['EXAMPLE.com']", |facts| facts.email = text("anna@sub.example.com")),
        ("DEVICES = ['browser-7']", |facts| facts.device = text("browser-70")),
        ("PROFILES = ['customer-7']", |facts| facts.profile = None),
        ("NETWORKS = ['192.0.2.1', '203.0.113.0/24']", |facts| facts.ip = "203.0.112.255".parse().ok()),
        ("CARD_COUNTRIES = ['US', 'AT']", |facts| facts.card_country = country("DE")),
        ("BILLING_COUNTRIES = ['AT']", |facts| facts.billing_country = country("DE")),
        ("IP_COUNTRIES = ['AT']", |facts| facts.ip_country = None),
    ] {
        let kind = entry.split(' ').next().unwrap();
        let block = rules(&format!("[block]\n{entry}"));
        let screening = block.screen(plain());
        assert_eq!((screening.decision(), reasons(&screening)), (Decision::Block, vec![format!("BLOCK_{kind} +0")]));
        let mut other = plain();
        change(&mut other);
        assert_eq!(block.screen(other.clone()).decision(), Decision::Allow, "{kind}");
        if kind.ends_with("COUNTRIES") {
            continue;
        }
        let allow = rules(&format!("[allow]\n{entry}\n[rules]\nALL = 'not NEW_SHOPPER then BLOCK'"));
        let screening = allow.screen(plain());
        assert_eq!((screening.decision(), &reasons(&screening)[0]), (Decision::Allow, &format!("ALLOW_{kind} +0")));
        assert_eq!(allow.screen(other).decision(), Decision::Block, "{kind}");
        let both = rules(&format!("[allow]\n{entry}\n[block]\n{entry}"));
        assert_eq!(both.screen(plain()).decision(), Decision::Block, "to block outweighs to allow");
    }
}

#[test]
fn an_address_inside_another_is_blocked_and_not_allowed() {
    let carried = Facts { ip: "64:ff9b::203.0.113.7".parse().ok(), ..plain() };
    let block = rules("[block]\nNETWORKS = ['203.0.113.0/24']");
    assert_eq!(block.screen(carried.clone()).decision(), Decision::Block);
    let allow = rules("[allow]\nNETWORKS = ['203.0.113.0/24']\n[rules]\nALL = 'not NEW_SHOPPER then BLOCK'");
    assert_eq!(allow.screen(carried).decision(), Decision::Block);
    assert_eq!(allow.screen(Facts { ip: "::ffff:203.0.113.7".parse().ok(), ..plain() }).decision(), Decision::Allow);
}

#[test]
fn exact_rules_apply_when_all_their_conditions_do() {
    let mut facts = plain();
    facts.velocity.set(VelocityKey::Device, VelocityWindow::Hour, counted(VelocityMeasure::Tries, 3));
    for (rule, applies) in [
        ("CARD_COUNTRY = BILLING_COUNTRY", true),
        ("CARD_COUNTRY != BILLING_COUNTRY", false),
        ("CARD_COUNTRY = AT", true),
        ("CARD_COUNTRY != AT", false),
        ("CARD_COUNTRY != DE", true),
        ("CARD_COUNTRY in DE,AT", true),
        ("CARD_COUNTRY in DE,CH", false),
        ("CARD_COUNTRY not_in DE,AT", false),
        ("CARD_COUNTRY not_in DE,CH", true),
        ("SCHEME = VISA", true),
        ("SCHEME != VISA", false),
        ("SCHEME = MC", false),
        ("SCHEME != MC", true),
        ("FUNDING = DEBIT", true),
        ("FUNDING != DEBIT", false),
        ("FUNDING != PREPAID", true),
        ("AMOUNT > 29.89 EUR", true),
        ("AMOUNT > 29.90 EUR", false),
        ("AMOUNT < 29.91 EUR", true),
        ("AMOUNT < 29.90 EUR", false),
        ("DEVICE_TRIES_HOUR > 2", true),
        ("DEVICE_TRIES_HOUR > 3", false),
        ("DEVICE_TRIES_HOUR < 4", true),
        ("DEVICE_TRIES_HOUR < 3", false),
        ("NEW_SHOPPER", false),
        ("not NEW_SHOPPER", true),
        ("not AMOUNT_IS_SMALL and SCHEME = VISA", true),
        ("NEW_SHOPPER and SCHEME = VISA", false),
        ("SCHEME = VISA and NEW_SHOPPER", false),
    ] {
        let rules = rules(&format!("[rules]\nR = '{rule} then REVIEW'"));
        let expected = if applies { Decision::Review } else { Decision::Allow };
        assert_eq!(rules.screen(facts.clone()).decision(), expected, "{rule}");
        // The text of the rules means the same.
        let text = RulesFile::parse(&rules.to_string()).unwrap();
        assert_eq!(Rules::built_in().with(&text).unwrap().screen(facts.clone()).decision(), expected, "{rule}");
    }
    for rule in [
        "CARD_COUNTRY != AT",
        "CARD_COUNTRY not_in AT",
        "CARD_COUNTRY = BILLING_COUNTRY",
        "CARD_COUNTRY != BILLING_COUNTRY",
        "SHIPPING_COUNTRY != AT",
        "PHONE_COUNTRY != AT",
        "IP_COUNTRY != AT",
        "TIME_ZONE_COUNTRY != AT",
        "LANGUAGE_COUNTRY != AT",
        "SCHEME != VISA",
        "FUNDING != DEBIT",
        "AMOUNT < 5 EUR",
        "CARD_TRIES_HOUR < 5",
    ] {
        let unknown = Facts { known_days: Some(1), ..Facts::default() };
        let decision = rules(&format!("[rules]\nR = '{rule} then BLOCK'")).screen(unknown).decision();
        assert_eq!(decision, Decision::Allow, "{rule}: nothing is known");
    }
}

#[test]
fn each_country_is_the_one_that_a_rule_names() {
    let facts = Facts {
        card_country: country("AT"),
        billing_country: country("BE"),
        shipping_country: country("CH"),
        phone_country: country("DE"),
        ip_country: country("ES"),
        time_zone_country: country("FR"),
        language_country: country("GR"),
        ..Facts::default()
    };
    let names = ["CARD", "BILLING", "SHIPPING", "PHONE", "IP", "TIME_ZONE", "LANGUAGE"];
    for (name, code) in names.into_iter().zip(["AT", "BE", "CH", "DE", "ES", "FR", "GR"]) {
        let rules = rules(&format!("[rules]\nR = '{name}_COUNTRY = {code} then BLOCK'"));
        assert_eq!(rules.screen(facts.clone()).decision(), Decision::Block, "{name}");
    }
}

#[test]
fn the_strictest_of_score_and_rules_decides() {
    let rules = rules(
        "[rules]\nA = 'SCHEME = VISA then CHALLENGE'\nB = 'AMOUNT > 20 EUR then REVIEW'\nC = 'AMOUNT > 90 EUR then BLOCK'",
    );
    let decided = |amount_cents| rules.screen(Facts { amount_cents: Some(amount_cents), ..plain() }).decision();
    assert_eq!([10_00, 30_00, 99_00].map(decided), [Decision::Challenge, Decision::Review, Decision::Block]);
    let mut blocked = plain();
    blocked.velocity.set(VelocityKey::Card, VelocityWindow::Day, counted(VelocityMeasure::Declines, 11));
    assert_eq!(rules.screen(blocked).decision(), Decision::Block, "by its score");
}

#[test]
fn what_is_large_and_goes_through_three_countries_is_reviewed() {
    let facts =
        Facts { billing_country: country("US"), shipping_country: country("BG"), phone_country: None, ..plain() };
    let decided =
        |amount_cents| Rules::built_in().screen(Facts { amount_cents: Some(amount_cents), ..facts.clone() }).decision();
    assert_eq!([50_000, 50_001].map(decided), [Decision::Allow, Decision::Review]);
}

#[test]
fn a_decision_is_repeated_from_what_it_holds() {
    let rules = rules("[weights]\nCARD_IS_PREPAID = 41");
    let one = rules.screen(Facts { funding: Some(CardFunding::Prepaid), ..plain() });
    assert_eq!((one.repeat(&rules), one.rules()), (one.clone(), rules.fingerprint()));
    let other = one.repeat(&Rules::built_in());
    assert_eq!((other.decision(), other.rules()), (Decision::Allow, Rules::built_in().fingerprint()));
    assert_eq!(other.facts(), one.facts());
}

#[test]
fn a_dry_run_tells_what_would_change() {
    let rules = Rules::built_in();
    let screened = |code: &str| rules.screen(Facts { card_country: country(code), ..plain() });
    let past: Vec<(usize, Screening)> = ["AT", "US", "DE", "US"].map(screened).into_iter().enumerate().collect();
    let new = self::rules("[rules]\nA = 'CARD_COUNTRY = US then REVIEW'\nB = 'CARD_COUNTRY = DE then BLOCK'");
    let run = dry_run(past.iter().map(|(id, one)| (*id, one)), &new);
    let changes: Vec<_> =
        run.changes.iter().map(|change| (change.id, change.before, change.after.decision())).collect();
    use Decision::{Allow, Block, Challenge, Review};
    assert_eq!((run.screened, changes), (4, vec![(1, Allow, Review), (2, Allow, Block), (3, Allow, Review)]));
    assert_eq!((run.count(Allow, Review), run.count(Allow, Block), run.count(Review, Allow)), (2, 1, 0));
    assert_eq!((run.count(Allow, Challenge), run.count(Allow, Allow)), (0, 0));
    assert_eq!(dry_run(past.iter().map(|(id, one)| (*id, one)), &rules).changes, []);
}

#[test]
fn what_the_issuer_tells_of_a_card_counts_as_what_was_known_of_it() {
    let file = concat!(
        "[rules]\nABROAD = 'CARD_COUNTRY = US then REVIEW'\nGIFT = 'FUNDING = PREPAID then CHALLENGE'\n",
        "[block]\nCARD_COUNTRIES = ['KP']\n",
    );
    let rules = Rules::built_in().with(&RulesFile::parse(file).unwrap()).unwrap();
    let codes = |facts: &Facts| -> Vec<String> {
        rules.screen(facts.clone()).reasons().iter().map(|reason| reason.code.to_string()).collect()
    };
    for (country, funding) in [("US", "PREPAID"), ("AT", "CREDIT"), ("KP", "DEBIT"), ("BR", "PREPAID")] {
        let facts = Facts {
            billing_country: "AT".parse().ok(),
            ip_country: "DE".parse().ok(),
            language_country: "US".parse().ok(),
            ..Facts::default()
        };
        let before = Facts { card_country: country.parse().ok(), funding: funding.parse().ok(), ..facts.clone() };
        let issuer = IssuerChecks {
            card_country: country.parse().ok(),
            funding: funding.parse().ok(),
            ..IssuerChecks::default()
        };
        let after = Facts { issuer, ..facts.clone() };
        assert_ne!((country, codes(&after)), ("US", codes(&facts)), "nothing was known");
        assert_eq!(codes(&after), codes(&before), "{country} {funding}");
        // What was known before stands, whatever is told later.
        let both = Facts { issuer: IssuerChecks { card_country: "FR".parse().ok(), ..issuer }, ..before.clone() };
        assert_eq!(codes(&both), codes(&before));
    }
}
