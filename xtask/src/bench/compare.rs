//! Several contenders in turn, round after round, so that what drifts on the machine meets all of them.

use super::figures::{Spread, figure, ratio, table};
use super::load::Sample;
use crate::failure::Outcome;

/// A request may be sent this much later than planned before the table says so.
const LATE_MS: f64 = 2.0;

/// So many requests may wait for an answer when a run ends: one for each connection of a closed loop.
const UNANSWERED_MAX: f64 = 40.0;

/// What is measured: takes the seconds of one run.
type Run<'a> = Box<dyn Fn(u32) -> Outcome<Sample> + 'a>;

/// One line of a comparison.
pub(crate) struct Contender<'a> {
    name: String,
    idle_mib: Option<f64>,
    run: Run<'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        idle_mib: Option<f64>,
        run: impl Fn(u32) -> Outcome<Sample> + 'a,
    ) -> Self {
        Self { name: name.into(), idle_mib, run: Box::new(run) }
    }
}

/// A contender's figures.
#[derive(Debug)]
pub(crate) struct Row {
    name: String,
    idle_mib: Option<f64>,
    samples: Vec<Sample>,
}

/// How long and how often everything is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounds {
    pub(crate) seconds: u32,
    pub(crate) count: u32,
}

impl Rounds {
    /// Prints how the figures come about.
    pub(crate) fn describe(self) {
        println!("\n{} runs of {} s each: median (min..max).", self.count, self.seconds);
    }
}

/// Warms every contender up for a second, then measures all of them in each round.
pub(crate) fn compare(what: &str, contenders: &[Contender<'_>], rounds: Rounds) -> Outcome<Vec<Row>> {
    for contender in contenders {
        (contender.run)(1)?;
    }
    let mut rows: Vec<Row> = contenders
        .iter()
        .map(|one| Row { name: one.name.clone(), idle_mib: one.idle_mib, samples: Vec::new() })
        .collect();
    for round in 1..=rounds.count {
        for (contender, row) in contenders.iter().zip(&mut rows) {
            let sample = (contender.run)(rounds.seconds)?;
            eprintln!("{what}, round {round} of {}: {} {:.0}/s", rounds.count, row.name, sample.per_second);
            row.samples.push(sample);
        }
    }
    Ok(rows)
}

impl Row {
    /// The median of one of the figures; 0 when there was no run.
    pub(crate) fn median(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        Spread::of(self.samples.iter().map(of)).map_or(0.0, |spread| spread.median)
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.median(|sample| sample.per_second)
    }

    /// Median and spread of the rate.
    pub(crate) fn shown_rate(&self) -> String {
        self.show(|sample| Some(sample.per_second))
    }

    fn show(&self, of: impl Fn(&Sample) -> Option<f64>) -> String {
        Spread::of(self.samples.iter().filter_map(of)).map_or_else(|| "-".to_owned(), |spread| spread.to_string())
    }
}

/// A column: its head, and what it shows of a sample.
type Column = (&'static str, fn(&Sample) -> Option<f64>);

const CLOSED_LOOP: [Column; 7] = [
    ("p50 ms", |sample| Some(sample.p50_ms)),
    ("p99 ms", |sample| Some(sample.p99_ms)),
    ("refused", |sample| Some(sample.refused)),
    ("program CPU us", |sample| sample.program_cpu),
    ("PostgreSQL CPU us", |sample| sample.server_cpu),
    ("peak MiB", |sample| sample.peak_mib),
    ("load1", |sample| Some(sample.load1)),
];

const FIXED_RATE: [Column; 7] = [
    ("p50 ms", |sample| Some(sample.p50_ms)),
    ("p99 ms", |sample| Some(sample.p99_ms)),
    ("max ms", |sample| Some(sample.max_ms)),
    ("refused", |sample| Some(sample.refused)),
    ("unanswered", |sample| Some(sample.unanswered)),
    ("sent late, max ms", |sample| Some(sample.late_ms)),
    ("load1", |sample| Some(sample.load1)),
];

/// The first row beside its yardsticks: its rate is set against every other row's.
pub(crate) fn beside(rows: &[Row]) -> String {
    let first = rows.first().map_or(0.0, Row::per_second);
    show("closed loop", rows, &CLOSED_LOOP, |row| {
        let idle = row.idle_mib.map_or_else(|| "-".to_owned(), figure);
        vec![("service / this", ratio(first, Some(row.per_second()))), ("idle MiB", idle)]
    })
}

/// Rows that have nothing to do with each other.
pub(crate) fn each(rows: &[Row]) -> String {
    show("closed loop", rows, &CLOSED_LOOP, |row| {
        vec![("idle MiB", row.idle_mib.map_or_else(|| "-".to_owned(), figure))]
    })
}

/// What was seen at a fixed rate.
pub(crate) fn latencies(rows: &[Row]) -> String {
    show("fixed rate", rows, &FIXED_RATE, |_| Vec::new())
}

/// Rate, what is `beside` it, and the columns.
fn show(what: &str, rows: &[Row], columns: &[Column], beside: impl Fn(&Row) -> Vec<(&'static str, String)>) -> String {
    let more = rows.first().map(&beside).unwrap_or_default();
    let heads = more.iter().map(|(head, _)| *head).chain(columns.iter().map(|(head, _)| *head));
    let head: Vec<&str> = [what, "per second"].into_iter().chain(heads).collect();
    let line = |row: &Row| {
        let figures = columns.iter().map(|(_, of)| row.show(of));
        let beside = beside(row).into_iter().map(|(_, cell)| cell);
        [row.name.clone(), row.shown_rate()].into_iter().chain(beside).chain(figures).collect()
    };
    table(&head, &rows.iter().map(line).collect::<Vec<_>>()) + &warnings(rows)
}

/// What makes a table tell less than it seems to.
fn warnings(rows: &[Row]) -> String {
    let mut text = String::new();
    for (name, sample) in rows.iter().flat_map(|row| row.samples.iter().map(move |sample| (&row.name, sample))) {
        let Sample { refused, unanswered, late_ms, .. } = sample;
        if *refused > 0.0 {
            text += &format!("WARNING: {refused} requests were refused in a run of {name}; its rate counts them.\n");
        }
        if *unanswered > UNANSWERED_MAX {
            text += &format!(
                "WARNING: {unanswered} requests had no answer when a run of {name} ended, and are in no percentile.\n"
            );
        }
        if *late_ms > LATE_MS {
            text += &format!(
                "WARNING: in a run of {name} requests were sent up to {late_ms:.0} ms late; true latencies are higher.\n"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn contender<'a>(name: &'static str, rate: f64, log: &'a RefCell<Vec<(&'static str, u32)>>) -> Contender<'a> {
        Contender::new(name, Some(12.0), move |seconds| {
            log.borrow_mut().push((name, seconds));
            Ok(Sample { per_second: rate, program_cpu: Some(50.0), ..Sample::default() })
        })
    }

    #[test]
    fn everybody_is_warmed_up_and_then_measured_in_turn() {
        let log = RefCell::new(Vec::new());
        let contenders = [contender("a", 100.0, &log), contender("b", 400.0, &log)];
        let rows = compare("test", &contenders, Rounds { seconds: 5, count: 2 }).unwrap();
        assert_eq!(*log.borrow(), [("a", 1), ("b", 1), ("a", 5), ("b", 5), ("a", 5), ("b", 5)]);
        assert_eq!(rows.iter().map(|row| row.samples.len()).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn the_first_row_is_set_against_the_others() {
        let log = RefCell::new(Vec::new());
        let contenders = [contender("service", 100.0, &log), contender("yardstick", 400.0, &log)];
        let text = beside(&compare("test", &contenders, Rounds { seconds: 1, count: 1 }).unwrap());
        let cells: Vec<&str> = text.lines().nth(3).unwrap().split('|').map(str::trim).collect();
        assert_eq!(cells[1..4], ["yardstick", "400", "0.25"]);
        // No PostgreSQL was measured.
        assert_eq!((cells[4], cells[8], cells[9]), ("12.0", "50.0", "-"));
    }
    #[test]
    fn refusals_and_late_requests_are_not_passed_over() {
        let row = |refused, unanswered, late_ms| {
            let sample = Sample { refused, unanswered, late_ms, ..Sample::default() };
            Row { name: "POST".to_owned(), idle_mib: None, samples: vec![sample] }
        };
        assert_eq!(warnings(&[row(0.0, 32.0, 1.0)]), "");
        assert!(warnings(&[row(0.0, 0.0, 0.0), row(7.0, 0.0, 0.0)]).contains("7 requests were refused"));
        assert!(latencies(&[row(0.0, 0.0, 30.0)]).contains("30 ms late"));
        assert!(latencies(&[row(0.0, 200.0, 0.0)]).contains("200 requests had no answer"));
    }
}
