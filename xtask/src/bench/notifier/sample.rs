//! What came of a scenario, and how it is shown.

use super::delivery_log::Counts;
use super::testbed::{NOTIFIER, OURS, SERVER, Testbed};
use super::writers::Written;
use crate::bench::figures::{Figures, figure, percentile, table};
use crate::bench::goal;

/// A scenario's figures.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    pub(crate) name: String,
    /// Notifications that were acknowledged, and the seconds from the first that came to the last.
    pub(crate) deliveries: u64,
    pub(crate) seconds: f64,
    /// Microseconds from commit to receipt, sorted; empty where everything was committed before.
    pub(crate) delays: Vec<u64>,
    /// Processor time of all programs in microseconds, where it was measured, and that of the server's processes that served the writers in seconds.
    pub(crate) cpu: Figures,
    pub(crate) writers: f64,
    /// Statements of the notifier, and transactions but the writers', where they were counted.
    pub(crate) statements: Option<u64>,
    pub(crate) transactions: Option<u64>,
    pub(crate) inversions: u64,
    pub(crate) duplicates: u64,
    pub(crate) lost: u64,
    /// Duplicates that are explained, by what was under way when somebody was killed.
    pub(crate) duplicates_max: u64,
    /// What else is to be said.
    pub(crate) notes: Vec<String>,
    /// Promises that were broken beside those that the figures tell.
    pub(crate) broken: Vec<String>,
}

impl Sample {
    /// The figures of a testbed's delivery log; `counts` names the payments that are to arrive, and `is_timed` those whose delay counts.
    pub(crate) fn of(
        name: impl Into<String>,
        testbed: &Testbed,
        counts: impl Fn(u32) -> bool,
        is_timed: impl Fn(u32) -> bool,
    ) -> Self {
        let delivery_log = &testbed.delivery_log;
        let receipts = delivery_log.receipts();
        let micros = receipts.first().zip(receipts.last()).map_or(0, |(first, last)| last.at - first.at);
        let Counts { done, duplicates, inversions, strange } = delivery_log.counts();
        let broken = (strange > 0).then(|| format!("{strange} notifications came that nobody had written"));
        Self {
            name: name.into(),
            deliveries: done,
            seconds: micros as f64 / 1e6,
            delays: delivery_log.delays(is_timed),
            inversions,
            duplicates,
            lost: delivery_log.lost(counts),
            broken: broken.into_iter().collect(),
            ..Self::default()
        }
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.deliveries as f64 / self.seconds.max(1e-9)
    }

    /// Milliseconds of processor time per delivery; of the server without the writers' part.
    fn cpu_of(&self, name: &str) -> Option<f64> {
        let micros = self.cpu.iter().find(|(known, _)| known == name)?.1;
        let writers = if name == SERVER { self.writers * 1e6 } else { 0.0 };
        Some(self.per_delivery((micros - writers).max(0.0) / 1e3))
    }

    /// The same of notifier and server.
    pub(crate) fn cpu_of_both(&self) -> Option<f64> {
        Some(self.cpu_of(NOTIFIER)? + self.cpu_of(SERVER).unwrap_or_default())
    }

    fn per_delivery(&self, amount: f64) -> f64 {
        amount / self.deliveries.max(1) as f64
    }

    pub(crate) fn delay(&self, percent: usize) -> Option<f64> {
        percentile(&self.delays, percent)
    }

    /// What must not be, whatever the speed.
    pub(crate) fn broken_promises(&self) -> Vec<String> {
        let mut broken = self.broken.clone();
        if self.lost > 0 {
            broken.push(format!("{} notifications were committed and never acknowledged", self.lost));
        }
        if self.inversions > 0 {
            broken.push(format!("{} notifications came before the one before them was acknowledged", self.inversions));
        }
        if self.duplicates > self.duplicates_max {
            let Self { duplicates, duplicates_max, .. } = self;
            broken.push(format!("{duplicates} notifications came again, of at most {duplicates_max} that may"));
        }
        broken.into_iter().map(|what| format!("{}: {what}", self.name)).collect()
    }

    pub(crate) fn note_written(&mut self, written: Written) {
        self.notes.push(format!("{} were written, at most {} ms late", written.events, written.late.as_millis()));
    }

    /// Prints a goal beside what was reached.
    pub(crate) fn judge(&mut self, reached: bool, what: &str) {
        self.notes.push(goal(reached, what).trim_end().to_owned());
    }
}

/// What is told of a scenario, and how it is called.
type Column<T> = (&'static str, fn(&Sample) -> T);

/// Where they were measured.
const COLUMNS: [Column<Option<f64>>; 9] = [
    ("Deliveries/s", |sample| Some(sample.per_second())),
    ("p50 ms", |sample| sample.delay(50)),
    ("p99 ms", |sample| sample.delay(99)),
    ("CPU ms: notifier", |sample| sample.cpu_of(NOTIFIER)),
    ("PostgreSQL", |sample| sample.cpu_of(SERVER)),
    ("both", Sample::cpu_of_both),
    ("the bench", |sample| sample.cpu_of(OURS)),
    ("Statements", |sample| sample.statements.map(|count| sample.per_delivery(count as f64))),
    ("Commits", |sample| sample.transactions.map(|count| sample.per_delivery(count as f64))),
];
const COUNTS: [Column<u64>; 3] = [
    ("Inversions", |sample| sample.inversions),
    ("Duplicates", |sample| sample.duplicates),
    ("Lost", |sample| sample.lost),
];

/// All scenarios on one database.
pub(crate) fn show(samples: &[Sample]) -> String {
    let heads = COLUMNS.iter().map(|(head, _)| *head).chain(COUNTS.iter().map(|(head, _)| *head));
    let head: Vec<&str> = ["Scenario"].into_iter().chain(heads).collect();
    let row = |sample: &Sample| {
        let figures = COLUMNS.iter().map(|(_, of)| of(sample).map_or_else(|| "-".to_owned(), figure));
        let counts = COUNTS.iter().map(|(_, of)| of(sample).to_string());
        [sample.name.clone()].into_iter().chain(figures).chain(counts).collect()
    };
    let rows: Vec<_> = samples.iter().map(row).collect();
    let notes = samples.iter().flat_map(|sample| sample.notes.iter().map(|note| format!("{}: {note}\n", sample.name)));
    format!("{}\n{}", table(&head, &rows), notes.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sample {
        let cpu = [(NOTIFIER, 2e6), (SERVER, 3e6), (OURS, 1e6)];
        Sample {
            cpu: cpu.map(|(name, micros)| (name.to_owned(), micros)).to_vec(),
            name: "drain".to_owned(),
            deliveries: 10_000,
            seconds: 2.0,
            writers: 1.0,
            statements: Some(500),
            ..Sample::default()
        }
    }

    #[test]
    fn figures_are_told_for_one_delivery() {
        let shown = show(&[sample()]);
        let cells: Vec<&str> = shown.lines().nth(2).unwrap().split('|').map(str::trim).collect();
        let wanted = ["drain", "5000", "-", "-", "0.200", "0.200", "0.400", "0.100", "0.050", "-", "0", "0", "0"];
        assert_eq!(cells[1..14], wanted);
    }

    #[test]
    fn what_was_not_measured_is_no_zero() {
        let shown = show(&[Sample { cpu: Vec::new(), statements: None, ..sample() }]);
        let cells: Vec<&str> = shown.lines().nth(2).unwrap().split('|').map(str::trim).collect();
        assert_eq!(cells[3..11], ["-"; 8]);
    }

    #[test]
    fn broken_promises_are_named() {
        assert_eq!(sample().broken_promises(), [""; 0]);
        let broken = Sample { lost: 1, inversions: 2, duplicates: 4, duplicates_max: 3, ..sample() };
        assert_eq!(broken.broken_promises().len(), 3);
        assert_eq!(Sample { duplicates: 3, duplicates_max: 3, ..sample() }.broken_promises(), [""; 0]);
    }
}
