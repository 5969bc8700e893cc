//! Markups on exchange rates, as a merchant's settings show and take them.

use std::collections::BTreeMap;

use dropin_money::Currency;
use dropin_rates::Markup;

use crate::texts::texts;

/// One a line: a currency and hundredths of a percent.
pub(super) fn write_markups(markups: &BTreeMap<Currency, Markup>) -> String {
    let lines = markups.iter().filter(|(_, markup)| **markup != Markup::NONE);
    lines.map(|(code, markup)| format!("{code} {}", markup.basis_points())).collect::<Vec<_>>().join("\n")
}

/// The markups as they were typed, and none for those that are there and were not typed.
pub(super) fn read_markups(
    text: &str,
    before: &BTreeMap<Currency, Markup>,
) -> Result<BTreeMap<Currency, Markup>, Vec<String>> {
    let mut all: BTreeMap<_, _> = before.keys().map(|code| (*code, Markup::NONE)).collect();
    let mut wrong = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let parts = line.split_once([' ', '=']).and_then(|(code, points)| {
            Some((code.trim().to_ascii_uppercase().parse::<Currency>().ok()?, points.trim().parse::<u16>().ok()?))
        });
        match parts.map(|(code, points)| (code, Markup::from_basis_points(points))) {
            Some((code, Ok(markup))) => {
                all.insert(code, markup);
            }
            Some((_, Err(error))) => wrong.push(format!("{line}: {}.", texts().domain(&error.to_string()))),
            None => wrong.push(texts().no_markup(line)),
        }
    }
    if wrong.is_empty() { Ok(all) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markups_are_typed_one_a_line_and_those_left_out_end() {
        let before = [(Currency::Brl, Markup::from_basis_points(250).unwrap())].into();
        let typed = read_markups("usd 100\nJPY=1", &before).unwrap();
        let points: Vec<_> = typed.iter().map(|(code, markup)| (code.code(), markup.basis_points())).collect();
        assert!(points.len() == 3 && points.contains(&("BRL", 0)) && points.contains(&("USD", 100)), "{points:?}");
        assert_eq!(write_markups(&typed.into_iter().filter(|(code, _)| *code == Currency::Usd).collect()), "USD 100");
        assert_eq!(read_markups("USD 2.5\nXXX 1\nEUR 2001", &before).unwrap_err().len(), 3);
    }
}
