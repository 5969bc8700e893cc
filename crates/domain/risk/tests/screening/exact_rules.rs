//! Lists and exact rules, which decide beside the score.

use dropin_risk::{Decision, Facts, Rules, RulesFile, VelocityKey, VelocityMeasure, VelocityWindow};

use super::{Change, counted, country, plain, reasons, rules, text};

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
