//! What the rules make of facts: each factor alone, at its limit and beside it; thresholds, lists and exact rules.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod counts;
mod exact_rules;
use dropin_card::Scheme;
use dropin_risk::{
    CardFunding, Decision, FactText, Facts, IssuerChecks, Rules, RulesFile, Screening, VelocityMeasure, VelocitySum,
    dry_run,
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
