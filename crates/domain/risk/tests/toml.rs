//! What this crate reads is TOML, and means what TOML says.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_risk::{BUILT_IN_RULES, Rules, RulesFile};
use proptest::prelude::*;

/// Pieces of which files are put together, right and wrong ones.
const PIECES: &[&str] = &[
    "[weights]",
    "[limits]",
    "[block]",
    "[rules]",
    "[ velocity ]",
    "[weights",
    "NEW_SHOPPER",
    "EMAILS",
    "A_B-1",
    " = ",
    "=",
    "5",
    "-7",
    "+3",
    "0",
    "007",
    "1_000",
    "5.0",
    "\"a\"",
    "'b\\c'",
    "\"q",
    "\"\\n\"",
    "'it''s'",
    "\"\"\"x\"\"\"",
    "['a', 'b',]",
    "[1, 2]",
    "[",
    "]",
    ",",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "\r",
    " ",
    "\t",
    "# remark\n",
    "#",
    "true",
    "ä",
    "\u{0}",
    "a.b",
    "CARD_TRIES_HOUR = [5, 40]\n",
    "CARD_IS_PREPAID = 1\n",
];

fn pieces() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PIECES), 0..14).prop_map(|pieces| pieces.concat())
}

/// `[weights]` and a value for a factor, so that many files are right.
fn weights() -> impl Strategy<Value = String> {
    let value = proptest::sample::select(vec![
        "5", "-7", "+3", "0", "-0", "007", "1_0", "5.0", "0x5", "1e1", "101", "'5'", "", "5 # five", "5\t", "5\r",
    ]);
    (value, proptest::sample::select(vec!["", " ", "\t", "\n\n", "#x\n"]))
        .prop_map(|(value, end)| format!("[weights]\nNEW_SHOPPER = {value}{end}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_accepted_is_toml(text in prop_oneof![pieces(), weights(), any::<String>()]) {
        if RulesFile::parse(&text).is_ok() {
            prop_assert!(toml::from_str::<toml::Table>(&text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn numbers_mean_the_same(text in weights()) {
        if let Ok(file) = RulesFile::parse(&text) {
            let table: toml::Table = toml::from_str(&text).unwrap();
            let points = table["weights"]["NEW_SHOPPER"].as_integer().unwrap();
            let rules = Rules::built_in().with(&file).unwrap().to_string();
            let has_line = rules.contains(&format!("\nNEW_SHOPPER = {points}\n"));
            prop_assert_eq!(has_line, points != 0, "{}", rules);
        }
    }
}

#[test]
fn the_built_in_rules_are_toml_and_mean_the_same() {
    let table: toml::Table = toml::from_str(BUILT_IN_RULES).unwrap();
    let written: toml::Table = toml::from_str(&Rules::built_in().to_string()).unwrap();
    for section in ["thresholds", "limits", "weights", "velocity", "rules", "disposable"] {
        assert_eq!(table[section], written[section], "{section}");
    }
    assert!(table["allow"].as_table().unwrap().is_empty() && written["block"].as_table().unwrap().is_empty());
}
