//! The serialized forms: what is stored with a payment, and what comes back of it.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_risk::{
    Decision, ExemptedPayments, FactText, Facts, OutsideScore, ReasonCode, Rules, RulesFile, Score, Screening,
    VelocityCounts, VelocityKey, VelocitySum, VelocityWindow,
};

fn facts() -> Facts {
    let mut facts = Facts {
        amount_cents: Some(1_00),
        scheme: "VISA".parse().ok(),
        funding: "PREPAID".parse().ok(),
        card_country: "US".parse().ok(),
        email: Some(FactText::new("Jo@example.com")),
        ip: "2001:db8::7".parse().ok(),
        ..Facts::default()
    };
    let counts = VelocityCounts { tries: 9, declines: 8, blocks: 7, amount_cents: 6, ..VelocityCounts::default() };
    facts.velocity.set(VelocityKey::Device, VelocityWindow::TenMinutes, VelocitySum { counts, cards: 5 });
    facts
}

#[test]
fn a_screening_is_what_it_was() {
    let screening = Rules::built_in().screen(facts());
    let json = serde_json::to_string(&screening).unwrap();
    let expected = concat!(
        r#"{"Decision":"CHALLENGE","Score":45,"Reasons":[{"Code":"DEVICE_CARDS_TEN_MINUTES","Points":30},"#,
        r#"{"Code":"NEW_SHOPPER","Points":5},{"Code":"CARD_IS_PREPAID","Points":5},{"Code":"AMOUNT_IS_SMALL","Points":5}],"#,
        r#""Rules":""#
    );
    assert!(json.starts_with(expected), "{json}");
    let facts = concat!(
        r#""AmountCents":100,"Scheme":"VISA","Funding":"PREPAID","CardCountry":"US","BillingCountry":null,"#,
        r#""ShippingCountry":null,"PhoneCountry":null,"IpCountry":null,"TimeZoneCountry":null,"LanguageCountry":null,"#,
        r#""Email":"jo@example.com","Device":null,"Profile":null,"Ip":"2001:db8::7","KnownDays":null,"#,
        r#""Velocity":{"DEVICE":{"TEN_MINUTES":{"Tries":9,"Declines":8,"Blocks":7,"Cards":5,"AmountCents":6}}},"#,
        r#""Issuer":{"AddressMatches":null,"CodeMatches":null,"Authenticated":null}"#
    );
    assert!(json.contains(facts), "{json}");
    let back: Screening = serde_json::from_str(&json).unwrap();
    assert_eq!(back, screening);
    assert_eq!(back.repeat(&Rules::built_in()), screening);
}

#[test]
fn what_only_an_alarm_counts_stands_there_where_it_was_counted() {
    let mut facts = Facts::default();
    let counts =
        VelocityCounts { alarm_challenges: 3, alarm_passes: 2, alarm_verifications: 1, ..VelocityCounts::default() };
    facts.velocity.set(VelocityKey::Merchant, VelocityWindow::Hour, VelocitySum { counts, cards: 0 });
    let json = serde_json::to_string(&facts).unwrap();
    assert!(
        json.contains(r#""Blocks":0,"AlarmChallenges":3,"AlarmPasses":2,"AlarmVerifications":1,"Cards":0"#),
        "{json}"
    );
    assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), facts);
}

#[test]
fn an_exemption_stands_there_where_one_is_asked_for() {
    let file = RulesFile::parse("[exemptions]\nLOW_VALUE = '30.00 EUR'").unwrap();
    let rules = Rules::built_in().with(&file).unwrap();
    let exempted = Some(ExemptedPayments { payments: 2, amount_cents: 3_00 });
    let mut facts =
        Facts { amount_cents: Some(4_00), scheme: "VISA".parse().ok(), exempted, is_stored: false, ..Facts::default() };
    facts.velocity.set(VelocityKey::Merchant, VelocityWindow::TenMinutes, VelocitySum::default());
    let screening = rules.screen(facts.clone());
    let json = serde_json::to_string(&screening).unwrap();
    for part in [r#","Exemption":"LOW_VALUE","#, r#","Exempted":{"Payments":2,"AmountCents":300}}"#] {
        assert!(json.contains(part), "{json}");
    }
    assert_eq!(serde_json::from_str::<Screening>(&json).unwrap(), screening);
    let plain = serde_json::to_string(&Rules::built_in().screen(Facts { exempted: None, ..facts.clone() })).unwrap();
    assert!(!plain.contains("Exempt") && !plain.contains("IsStored"), "a program of before reads it: {plain}");
    let stored = Facts { is_stored: true, ..facts };
    assert_eq!(serde_json::from_str::<Facts>(&serde_json::to_string(&stored).unwrap()).unwrap(), stored);
}

#[test]
fn a_score_from_outside_stands_there_where_one_was_asked_for() {
    let outside = OutsideScore { score: Score::try_from(73).ok(), reasons: vec!["PROXY".parse().unwrap()] };
    let facts = Facts { outside: Some(outside), ..Facts::default() };
    let json = serde_json::to_string(&facts).unwrap();
    assert!(json.contains(r#","Outside":{"Score":73,"Reasons":["PROXY"]}"#), "{json}");
    assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), facts);
    assert!(serde_json::from_str::<Facts>(&json.replace("PROXY", "a proxy")).is_err());
    assert!(!serde_json::to_string(&Facts::default()).unwrap().contains("Outside"));
}

#[test]
fn facts_of_an_older_program_lack_what_it_did_not_know() {
    let old: Facts = serde_json::from_str(r#"{"AmountCents":100,"Issuer":{"CodeMatches":false}}"#).unwrap();
    let mut expected = Facts { amount_cents: Some(100), ..Facts::default() };
    expected.issuer.code_matches = Some(false);
    assert_eq!(old, expected);
}

#[test]
fn a_reason_of_another_release_stays_as_it_is() {
    let screening = Rules::built_in().screen(facts());
    let json = serde_json::to_string(&screening).unwrap().replace("NEW_SHOPPER", "MERCHANT_CARDS_DAY");
    let read: Screening = serde_json::from_str(&json).unwrap();
    let unknown = ReasonCode::Unknown("MERCHANT_CARDS_DAY".to_owned());
    assert!(read.reasons().iter().any(|reason| reason.code == unknown && reason.points == 5), "{read:?}");
    assert_eq!((serde_json::to_string(&read).unwrap(), unknown.to_string()), (json, "MERCHANT_CARDS_DAY".to_owned()));
    assert_eq!(read.decision(), screening.decision());
    assert_eq!(read.repeat(&Rules::built_in()).reasons(), screening.reasons(), "decided again it is gone");
    let long = "A".repeat(80);
    assert!(serde_json::from_str::<ReasonCode>(&format!("\"{long}\"")).is_ok());
    for text in ["", "merchant", "A-B", &format!("{long}A"), "Ä"] {
        assert!(serde_json::from_str::<ReasonCode>(&format!("\"{text}\"")).is_err(), "{text}");
    }
    assert!("MERCHANT_CARDS_DAY".parse::<ReasonCode>().is_err(), "it is no reason that rules may name");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let json = serde_json::to_string(&Rules::built_in().screen(facts())).unwrap();
    for (part, broken, why) in [
        ("\"CHALLENGE\"", "\"ASK\"", "is no decision of screening; there are ALLOW,"),
        ("\"Score\":45", "\"Score\":101", "must be a score from 0 to 100"),
        ("NEW_SHOPPER", "new shopper", "is no reason of screening"),
        ("\"VISA\"", "\"VISTA\"", "is no card scheme"),
        ("\"Rules\":\"", "\"Rules\":\"x", "must be 16 hexadecimal digits in lower case"),
        ("\"DEVICE\"", "\"BROWSER\"", "is no key of velocity"),
        ("TEN_MINUTES\":{", "WEEK\":{", "is no window of velocity"),
        ("\"Tries\":9", "\"Tries\":-9", "invalid value"),
        ("\"Tries\":9", "\"Trials\":9", "unknown field `Trials`"),
        ("\"Device\":null", "\"Browser\":null", "unknown field `Browser`"),
        ("\"Code\":", "\"Name\":", "unknown field `Name`"),
    ] {
        assert!(json.contains(part), "{part}");
        let error = serde_json::from_str::<Screening>(&json.replacen(part, broken, 1)).unwrap_err().to_string();
        assert!(error.starts_with(why), "{broken}: {error}");
    }
}

#[test]
fn codes_are_texts() {
    assert_eq!(serde_json::to_string(&Decision::Block).unwrap(), r#""BLOCK""#);
    assert_eq!(serde_json::to_string(&Score::MAX).unwrap(), "100");
    assert_eq!(serde_json::from_str::<Score>("100").unwrap(), Score::MAX);
    let code: ReasonCode = serde_json::from_str(r#""RULE_LARGE""#).unwrap();
    assert_eq!(code.to_string(), "RULE_LARGE");
    let rules = Rules::built_in().with(&RulesFile::parse("[weights]\nNEW_SHOPPER = 6").unwrap()).unwrap();
    let json = serde_json::to_string(&rules.fingerprint()).unwrap();
    assert_eq!(json, format!("\"{}\"", rules.fingerprint()));
}
