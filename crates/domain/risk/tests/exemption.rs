//! Exemptions from strong authentication: each where it applies, at its limits, and none where a payment is suspicious.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_risk::{
    Decision, ExemptedPayments, Facts, IssuerChecks, Rules, RulesFile, ScaExemption, Velocity, VelocityCounts,
    VelocityKey, VelocitySum, VelocityWindow,
};

use ScaExemption::{LowValue, OneLegOut, TransactionRiskAnalysis};

const ALL: &str =
    "[exemptions]\nONE_LEG_OUT = 'ON'\nLOW_VALUE = '30.00 EUR'\nTRANSACTION_RISK_ANALYSIS = '100.00 EUR'\n";

fn rules(file: &str) -> Rules {
    Rules::built_in().with(&RulesFile::parse(file).unwrap()).unwrap()
}

/// A card of a country where authentication is required, with nothing against it.
fn payment(amount_cents: u64) -> Facts {
    let mut velocity = Velocity::default();
    velocity.set(VelocityKey::Merchant, VelocityWindow::TenMinutes, VelocitySum::default());
    Facts {
        velocity,
        amount_cents: Some(amount_cents),
        scheme: "VISA".parse().ok(),
        card_country: "AT".parse().ok(),
        known_days: Some(3),
        exempted: Some(ExemptedPayments::default()),
        ..Facts::default()
    }
}

fn asked(file: &str, facts: Facts) -> Option<ScaExemption> {
    let rules = rules(file);
    let screening = rules.screen(facts);
    assert_eq!(screening.repeat(&rules), screening);
    screening.exemption()
}

#[test]
fn each_is_asked_for_up_to_its_limit() {
    for (cents, expected) in [
        (1, Some(LowValue)),
        (30_00, Some(LowValue)),
        (30_01, Some(TransactionRiskAnalysis)),
        (10_000, Some(TransactionRiskAnalysis)),
        (10_001, None),
    ] {
        assert_eq!(asked(ALL, payment(cents)), expected, "{cents}");
    }
    assert_eq!(asked("[exemptions]\nLOW_VALUE = '10.00 EUR'", payment(10_00)), Some(LowValue));
    assert_eq!(asked("[exemptions]\nLOW_VALUE = '10.00 EUR'", payment(10_01)), None);
    let off = format!("{}\n", ALL.replace("'30.00 EUR'", "'OFF'"));
    assert_eq!(asked(&off, payment(1_00)), Some(TransactionRiskAnalysis));
    assert_eq!(asked("", payment(1_00)), None, "none is built in");
}

#[test]
fn low_value_ends_after_five_payments_or_a_hundred_euros() {
    let low = "[exemptions]\nLOW_VALUE = '30.00 EUR'";
    for (payments, amount_cents, expected) in [
        (0, 0, Some(LowValue)),
        (4, 4_00, Some(LowValue)),
        (5, 5_00, None),
        (3, 75_00, Some(LowValue)),
        (3, 75_01, None),
        (0, u64::MAX, None),
    ] {
        let exempted = Some(ExemptedPayments { payments, amount_cents });
        let facts = Facts { exempted, ..payment(25_00) };
        assert_eq!(asked(low, facts), expected, "after {payments} of {amount_cents}");
    }
    assert_eq!(asked(low, Facts { exempted: None, ..payment(25_00) }), None, "nobody counts them");
}

#[test]
fn a_card_from_elsewhere_is_out_of_scope_whatever_it_pays() {
    let abroad = |code: &str| Facts { card_country: code.parse().ok(), ..payment(40_000) };
    for (code, expected) in [("US", Some(OneLegOut)), ("CH", Some(OneLegOut)), ("GB", None), ("NO", None), ("DE", None)]
    {
        assert_eq!(asked(ALL, abroad(code)), expected, "{code}");
    }
    assert_eq!(asked(ALL, Facts { card_country: None, ..payment(40_000) }), None, "an unknown country is not guessed");
    let first = Facts { amount_cents: Some(1_00), ..abroad("US") };
    assert_eq!(asked(ALL, first), Some(OneLegOut), "what is out of scope needs no exemption");
}

#[test]
fn a_payment_that_is_suspicious_stored_or_of_unknown_worth_is_never_exempted() {
    let counted = |key, counts, cards| {
        let mut facts = payment(5_00);
        for window in VelocityWindow::ALL {
            facts.velocity.set(key, window, VelocitySum { counts, cards });
        }
        facts
    };
    let many = counted(VelocityKey::Device, VelocityCounts::default(), 7);
    assert_eq!(asked(ALL, many), None, "a block");
    let asks = format!("{ALL}[rules]\nA = 'AMOUNT > 4.00 EUR then CHALLENGE'");
    assert_eq!(asked(&asks, payment(5_00)), None, "a challenge");
    let counts = VelocityCounts { tries: 20, declines: 20, ..VelocityCounts::default() };
    let alarm = counted(VelocityKey::Merchant, counts, 0);
    let screening = rules(ALL).screen(alarm);
    assert!(screening.is_in_alarm() && screening.decision() == Decision::Allow);
    assert_eq!(screening.exemption(), None, "an alarm");
    let silent = format!("{ALL}[weights]\nMERCHANT_ALARM = 0");
    assert_eq!(asked(&silent, screening.facts().clone()), None, "an alarm without points");
    for (facts, why) in [
        (payment(0), "a card that is verified"),
        (Facts { is_stored: true, ..payment(5_00) }, "a card that is stored"),
        (Facts { amount_cents: None, ..payment(5_00) }, "no rate"),
        (Facts { scheme: None, ..payment(5_00) }, "no card"),
    ] {
        assert_eq!(asked(ALL, facts), None, "{why}");
    }
}

#[test]
fn what_the_issuer_says_later_changes_nothing_of_what_was_asked() {
    for issuer in [
        IssuerChecks { code_matches: Some(false), ..IssuerChecks::default() },
        IssuerChecks { authenticated: Some(true), ..IssuerChecks::default() },
    ] {
        assert_eq!(asked(ALL, Facts { issuer, ..payment(5_00) }), Some(LowValue), "{issuer:?}");
    }
    // What nobody knew when the processor was asked exempts from nothing.
    let abroad = IssuerChecks { card_country: "US".parse().ok(), ..IssuerChecks::default() };
    let only_abroad = "[exemptions]\nONE_LEG_OUT = 'ON'\n";
    assert_eq!(asked(only_abroad, Facts { issuer: abroad, ..payment(5_00) }), None);
    assert_eq!(
        asked(only_abroad, Facts { card_country: "US".parse().ok(), issuer: abroad, ..payment(5_00) }),
        Some(OneLegOut)
    );
    // Challenged before the issuer spoke, and allowed by the authentication.
    let asks = format!("{ALL}[weights]\nAMOUNT_IS_SMALL = 50");
    let issuer = IssuerChecks { authenticated: Some(true), ..IssuerChecks::default() };
    let screening = rules(&asks).screen(Facts { issuer, ..payment(2_00) });
    assert_eq!((screening.decision(), screening.exemption()), (Decision::Allow, None));
}
