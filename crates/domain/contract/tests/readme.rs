//! The tables of the README are those of the code. A failure prints the table that belongs there.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_contract::{
    ContractEvent, ContractStateKind, DECLINE_RULES, DeclineEffect, DeclineRule, TRANSITIONS, TRY_LIMITS,
};
use dropin_kernel::write_span;

const README: &str = include_str!("../README.md");

/// A table in Markdown.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    line(&head) + &rule + &rows.map(|row| line(&row)).collect::<String>()
}

/// That the README has `table` between its marks.
#[track_caller]
fn has(mark: &str, table: &str) {
    let (_, rest) = README.split_once(&format!("<!-- {mark}: begin -->\n")).unwrap();
    let (found, _) = rest.split_once(&format!("<!-- {mark}: end -->")).unwrap();
    assert_eq!(found, table, "write this into README.md between the marks of `{mark}`:\n{table}");
}

#[test]
fn the_transitions() {
    let rows = TRANSITIONS.iter().map(|row| {
        let from = row.from.map_or("(none)", ContractStateKind::as_str);
        let event = row.event.map_or("", ContractEvent::as_str);
        [from, row.trigger.as_str(), row.to.as_str(), event].map(ToOwned::to_owned).to_vec()
    });
    has("transitions", &table(&["From", "Trigger", "To", "Event"], rows));
}

#[test]
fn the_declines() {
    let effect = |rule: &DeclineRule| match rule.effect {
        DeclineEffect::TryAgain { after } => format!("may be tried again after {}", write_span(after)),
        DeclineEffect::AskShopper => "the shopper has to authenticate".to_owned(),
        DeclineEffect::Suspend(reason) => format!("suspended: {reason}"),
        DeclineEffect::Close(reason) => format!("closed: {reason}"),
    };
    let rows = DECLINE_RULES.iter().map(|rule| vec![rule.category.to_string(), effect(rule), rule.source.to_owned()]);
    has("declines", &table(&["Decline", "What follows", "Source"], rows));
}

#[test]
fn the_limits() {
    let rows = TRY_LIMITS.iter().map(|limit| {
        let scheme = limit.scheme.map_or("all others", |scheme| scheme.as_str()).to_owned();
        vec![scheme, limit.max_tries.to_string(), write_span(limit.within), limit.source.to_owned()]
    });
    has("limits", &table(&["Scheme", "Tries", "Within", "Source"], rows));
}
