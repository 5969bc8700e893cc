//! Several contenders in turn, round after round, so that what drifts on the machine meets all of them.

use super::figures::{Figures, Spread, ratio, spread, table};
use crate::failure::Outcome;

/// One run's figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// The first is how many per second.
    pub(crate) figures: Figures,
    /// Processor time of each by program; microseconds.
    pub(crate) cpu: Figures,
    /// So many were done.
    pub(crate) done: u64,
    /// What makes the figures tell less than they seem to.
    pub(crate) warnings: Vec<String>,
    /// Tables that are of this run alone.
    pub(crate) notes: String,
}

impl Sample {
    pub(crate) fn per_second(&self) -> f64 {
        self.figures.first().map_or(0.0, |(_, rate)| *rate)
    }

    /// One of the figures, when it was measured.
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.figures.iter().chain(&self.cpu).find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// What is measured: takes the seconds of one run.
type Run<'a> = Box<dyn Fn(u32) -> Outcome<Sample> + 'a>;

/// One line of a comparison.
pub(crate) struct Contender<'a> {
    name: String,
    run: Run<'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, run: impl Fn(u32) -> Outcome<Sample> + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }
}

/// A contender's figures.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) samples: Vec<Sample>,
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
    in_turn(what, contenders, rounds)
}

/// Measures all contenders in each round; each warms itself up.
pub(crate) fn in_turn(what: &str, contenders: &[Contender<'_>], rounds: Rounds) -> Outcome<Vec<Row>> {
    let mut rows: Vec<Row> = contenders.iter().map(|one| Row { name: one.name.clone(), samples: Vec::new() }).collect();
    for round in 1..=rounds.count {
        for (contender, row) in contenders.iter().zip(&mut rows) {
            let sample = (contender.run)(rounds.seconds)?;
            eprintln!("{what}, round {round} of {}: {} {:.0}/s", rounds.count, row.name, sample.per_second());
            row.samples.push(sample);
        }
    }
    Ok(rows)
}

impl Row {
    /// The median of the rate; 0 when there was no run.
    pub(crate) fn per_second(&self) -> f64 {
        self.median(Sample::per_second)
    }

    pub(crate) fn figure(&self, name: &str) -> f64 {
        self.median(|sample| sample.get(name).unwrap_or_default())
    }

    /// The median of the processor time of the programs that `counts` names.
    pub(crate) fn cpu(&self, counts: impl Fn(&str) -> bool) -> f64 {
        self.median(|sample| sample.cpu.iter().filter(|(name, _)| counts(name)).map(|(_, micros)| micros).sum())
    }

    fn median(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        Spread::of(self.samples.iter().map(of)).map_or(0.0, |spread| spread.median)
    }

    /// Median and spread of one of the figures.
    pub(crate) fn show(&self, name: &str) -> String {
        spread(self.samples.iter().filter_map(|sample| sample.get(name)))
    }

    /// A table of the figures alone, one a line.
    pub(crate) fn show_figures(&self) -> String {
        let names = self.samples.iter().take(1).flat_map(|sample| &sample.figures);
        let rows: Vec<_> = names.map(|(name, _)| vec![name.clone(), self.show(name)]).collect();
        table(&["", "median (min..max)"], &rows)
    }

    /// What makes the runs tell less than they seem to.
    pub(crate) fn warnings(&self) -> String {
        let warnings = self.samples.iter().flat_map(|sample| &sample.warnings);
        warnings.map(|warning| format!("WARNING: in a run of {} {warning}.\n", self.name)).collect()
    }
}

/// The first row beside its yardsticks, if there are any: its rate is set against every other row's.
pub(crate) fn beside(rows: &[Row]) -> String {
    show(rows, (1 < rows.len()).then_some("service / this"))
}

/// Rows that have nothing to do with each other.
pub(crate) fn each(rows: &[Row]) -> String {
    show(rows, None)
}

/// A column for each figure of the first row, and what follows from them.
fn show(rows: &[Row], against: Option<&str>) -> String {
    let first = rows.iter().take(1).flat_map(|row| row.samples.first());
    let columns: Vec<&str> =
        first.flat_map(|sample| sample.figures.iter().chain(&sample.cpu)).map(|(name, _)| name.as_str()).collect();
    let head: Vec<&str> = [""].into_iter().chain(columns.iter().copied()).chain(against).collect();
    let line = |row: &Row| {
        let cells = columns.iter().map(|name| row.show(name));
        let ratio = against.map(|_| ratio(rows[0].per_second(), Some(row.per_second())));
        [row.name.clone()].into_iter().chain(cells).chain(ratio).collect()
    };
    table(&head, &rows.iter().map(line).collect::<Vec<_>>()) + &rows.iter().map(Row::warnings).collect::<String>()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn contender<'a>(name: &'static str, rate: f64, log: &'a RefCell<Vec<(&'static str, u32)>>) -> Contender<'a> {
        Contender::new(name, move |seconds| {
            log.borrow_mut().push((name, seconds));
            let figures = vec![("per second".to_owned(), rate)];
            let cpu = if name == "service" { vec![("program CPU us".to_owned(), 50.0)] } else { Vec::new() };
            let warnings = (rate > 300.0).then(|| "7 requests were refused".to_owned()).into_iter().collect();
            Ok(Sample { figures, cpu, warnings, ..Sample::default() })
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
        let rows = compare("test", &contenders, Rounds { seconds: 1, count: 1 }).unwrap();
        let text = beside(&rows);
        let cells: Vec<&str> = text.lines().nth(3).unwrap().split('|').map(str::trim).collect();
        assert_eq!(cells[1..5], ["yardstick", "400", "-", "0.25"], "its processor time was not measured");
        assert!(text.contains("WARNING: in a run of yardstick 7 requests were refused."), "{text}");
        assert_eq!((rows[0].figure("program CPU us"), rows[0].cpu(|_| true), rows[1].cpu(|_| true)), (50.0, 50.0, 0.0));
        assert!(rows[0].show_figures().contains("| per second | 100"), "{}", rows[0].show_figures());
    }
}
