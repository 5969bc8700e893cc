//! Co-badged cards: which schemes beside their own a number's first digits tell.

use std::sync::LazyLock;

use crate::iin_range::IinRange;
use crate::scheme::Scheme;

static RANGES: LazyLock<Vec<IinRange<Scheme>>> = LazyLock::new(|| ranges(include_str!("co_badges.txt")).collect());

/// The schemes, beside the one that it is numbered by, whose mark a card of this number bears.
pub(crate) fn of_number(digits: &str) -> Option<Scheme> {
    RANGES.iter().find(|range| range.has(digits)).map(|range| range.0)
}

/// What stands in the file. A line that makes no sense stands for nothing; a test holds that there is none.
fn ranges(text: &'static str) -> impl Iterator<Item = IinRange<Scheme>> {
    text.lines().filter(|line| !line.starts_with('#')).flat_map(|line| {
        let mut words = line.split_whitespace();
        let scheme: Option<Scheme> = words.next().and_then(|code| code.parse().ok());
        words.filter_map(move |range| {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            scheme.map(|scheme| IinRange(scheme, low, high))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_file_is_read() {
        let text = include_str!("co_badges.txt");
        let lines = || text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        assert!(lines().all(|line| line.split(' ').next().is_some_and(|code| code.parse::<Scheme>().is_ok())));
        let words = lines().map(|line| line.split(' ').count() - 1).sum::<usize>();
        assert_eq!(RANGES.len(), words);
        assert!(100 < words, "{words}");
    }

    #[test]
    fn a_range_lies_within_that_of_another_scheme() {
        for IinRange(scheme, low, high) in RANGES.iter() {
            assert!(low.len() == high.len() && low <= high, "{low} {high}");
            assert!(low.bytes().chain(high.bytes()).all(|byte| byte.is_ascii_digit()), "{low} {high}");
            let own = Scheme::of_number(low);
            assert!(own.is_some() && own == Scheme::of_number(high) && own != Some(*scheme), "{low} {high}");
        }
    }

    #[test]
    fn a_number_of_a_range_bears_both_marks() {
        for (number, expected) in [
            ("4000002500001001", Some(Scheme::CartesBancaires)),
            ("513799", Some(Scheme::CartesBancaires)),
            ("513800", None),
            ("497010", Some(Scheme::CartesBancaires)),
            ("497", None),
            ("4000002500003155", None),
            ("4242424242424242", None),
            ("", None),
        ] {
            assert_eq!(of_number(number), expected, "{number}");
        }
    }
}
