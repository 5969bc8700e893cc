//! Figures of several runs, and tables of them.

use std::fmt;

/// Figures by what they are called, in the order in which they are shown.
pub(crate) type Figures = Vec<(String, f64)>;

/// The middle of several runs, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    /// `None` of nothing. Of an even number the lower one of the two in the middle.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let median = *values.get(values.len().checked_sub(1)? / 2)?;
        Some(Self { median, min: values[0], max: values[values.len() - 1] })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, min, max } = *self;
        if min == max {
            return out.write_str(&figure(median));
        }
        write!(out, "{} ({}..{})", figure(median), figure(min), figure(max))
    }
}

/// A figure with three digits that matter.
pub(crate) fn figure(value: f64) -> String {
    let size = value.abs();
    let decimals = if size >= 100.0 || value == 0.0 {
        0
    } else if size >= 10.0 {
        1
    } else if size >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.decimals$}")
}

/// Median and spread of several runs; a dash when there was none.
pub(crate) fn spread(values: impl IntoIterator<Item = f64>) -> String {
    Spread::of(values).map_or_else(|| "-".to_owned(), |spread| spread.to_string())
}

/// How a figure relates to another one; a dash when there is none.
pub(crate) fn ratio(value: f64, of: Option<f64>) -> String {
    match of {
        Some(of) if of > 0.0 => format!("{:.2}", value / of),
        _ => "-".to_owned(),
    }
}

/// A percentile of sorted microseconds, in milliseconds: a value that occurred. `None` of nothing.
pub(crate) fn percentile(sorted: &[u64], percent: usize) -> Option<f64> {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).map(|micros| *micros as f64 / 1e3)
}

/// A table in Markdown, its columns of even width.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let all = || std::iter::once(&head).chain(rows);
    let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
    let widths: Vec<usize> =
        (0..head.len()).map(|at| all().map(|row| cell(row, at).chars().count()).max().unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = widths.iter().enumerate().map(|(at, &width)| format!("{:width$}", cell(row, at)));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    let body: String = rows.iter().map(line).collect();
    format!("{}{}{body}", line(&head), line(&rule))
}

/// A table of who took how much, the dearest first, without those that took next to nothing.
pub(crate) fn dearest(head: [&str; 2], mut figures: Figures) -> String {
    figures.retain(|(_, value)| *value >= 0.1);
    figures.sort_by(|one, other| other.1.total_cmp(&one.1));
    let rows: Vec<_> = figures.into_iter().map(|(name, value)| vec![name, figure(value)]).collect();
    table(&head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        let spread = Spread::of([9.0, 1.0, 5.0]).unwrap();
        assert_eq!((spread.median, spread.to_string().as_str()), (5.0, "5.00 (1.00..9.00)"));
        assert_eq!(Spread::of([2.0, 1.0]).unwrap().median, 1.0);
        assert_eq!(Spread::of([7.0]).unwrap().to_string(), "7.00");
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn figures_keep_the_digits_that_matter() {
        assert_eq!(
            [5118.4, 186.2, 17.74, 5.808, 0.4321, 0.0].map(figure),
            ["5118", "186", "17.7", "5.81", "0.432", "0"]
        );
    }

    #[test]
    fn a_ratio_to_nothing_is_a_dash() {
        assert_eq!(
            (ratio(1.0, Some(2.0)), ratio(1.0, None), ratio(1.0, Some(0.0))),
            ("0.50".into(), "-".into(), "-".into())
        );
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let sorted: Vec<u64> = (1..=200).map(|number| number * 1000).collect();
        let at = |percent| percentile(&sorted, percent).unwrap();
        assert_eq!((at(50), at(99), at(100)), (100.0, 198.0, 200.0));
        assert_eq!(percentile(&[7000], 99), Some(7.0));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn tables_are_even() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["longer".to_owned()]];
        assert_eq!(table(&["name", "n"], &rows), "| name   | n |\n| ------ | - |\n| a      | 1 |\n| longer |   |\n");
    }

    #[test]
    fn who_takes_nothing_is_left_out_of_the_dearest() {
        let figures = [("idle", 0.0), ("readers", 3.0), ("writer", 12.0)].map(|(name, value)| (name.to_owned(), value));
        let shown = dearest(["thread", "us"], figures.to_vec());
        assert!(shown.find("writer") < shown.find("readers") && !shown.contains("idle"), "{shown}");
    }
}
