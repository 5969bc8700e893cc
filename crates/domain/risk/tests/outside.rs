//! The score of a service outside: its weight, its default, and that it can be decided again.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_risk::{Decision, Facts, OutsideScore, Rules, RulesFile, Score, Screening};

fn screened(file: &str, outside: Option<OutsideScore>) -> Screening {
    let rules = Rules::built_in().with(&RulesFile::parse(file).unwrap()).unwrap();
    let screening = rules.screen(Facts { known_days: Some(3), outside, ..Facts::default() });
    assert_eq!(screening.repeat(&rules), screening);
    screening
}

fn said(score: i64, reasons: &[&str]) -> Option<OutsideScore> {
    let reasons = reasons.iter().map(|name| name.parse().unwrap()).collect();
    Some(OutsideScore { score: Some(Score::of_points(score)), reasons })
}

fn reasons(screening: &Screening) -> Vec<String> {
    screening.reasons().iter().map(ToString::to_string).collect()
}

#[test]
fn a_score_adds_its_share_of_the_weight() {
    for (weight, score, expected) in [(40, 100, 40), (40, 50, 20), (40, 2, 0), (40, 3, 1), (100, 100, 100), (1, 99, 0)]
    {
        let screening = screened(&format!("[outside]\nWEIGHT = {weight}"), said(score, &[]));
        assert_eq!(screening.score().value(), expected, "{score} of {weight}");
        assert_eq!(screening.reasons().len(), usize::from(expected != 0), "what adds nothing is no reason");
    }
    let blocked = screened("[outside]\nWEIGHT = 85", said(100, &["PROXY", "STOLEN"]));
    assert_eq!(blocked.decision(), Decision::Block);
    assert_eq!(reasons(&blocked), ["OUTSIDE_SAYS_PROXY +0", "OUTSIDE_SAYS_STOLEN +0", "OUTSIDE_SCORE +85"]);
}

#[test]
fn the_default_stands_for_an_answer_that_did_not_come() {
    let rules = "[outside]\nWEIGHT = 50\nDEFAULT = 80";
    assert_eq!(reasons(&screened(rules, Some(OutsideScore::default()))), ["OUTSIDE_SCORE +40"]);
    assert_eq!(reasons(&screened(rules, None)), [""; 0], "nobody was asked");
    assert_eq!(reasons(&screened(rules, said(0, &[]))), [""; 0]);
    assert_eq!(reasons(&screened("[outside]\nDEFAULT = 80", said(100, &["PROXY"]))), [""; 0], "without a weight");
}
