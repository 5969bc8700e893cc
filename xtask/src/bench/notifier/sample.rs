//! What came of a scenario, and how it is shown.

use super::testbed::{Spent, Testbed};
use super::writers::Written;
use crate::bench::figures::{figure, percentile, table};
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
    /// Processor time of all programs, where it was measured, and of the server's processes that served the writers.
    pub(crate) spent: Option<Spent>,
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
        let (first, last) = (receipts.first(), receipts.last());
        let micros = first.zip(last).map_or(0, |(first, last)| last.at - first.at);
        let mut sample = Self {
            name: name.into(),
            deliveries: delivery_log.done(),
            seconds: micros as f64 / 1e6,
            delays: delivery_log.delays(is_timed),
            inversions: delivery_log.inversions(),
            duplicates: delivery_log.duplicates(),
            lost: delivery_log.lost(counts),
            ..Self::default()
        };
        if delivery_log.strange() > 0 {
            sample.broken.push(format!("{} notifications came that nobody had written", delivery_log.strange()));
        }
        sample
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.deliveries as f64 / self.seconds.max(1e-9)
    }

    /// Milliseconds of processor time per delivery: notifier, and the server without the writers' part.
    pub(crate) fn cpu(&self) -> Option<(f64, f64)> {
        let Spent { notifier, server, .. } = self.spent?;
        let server = (server.as_secs_f64() - self.writers).max(0.0);
        Some((self.per_delivery(notifier.as_secs_f64() * 1e3), self.per_delivery(server * 1e3)))
    }

    fn per_delivery(&self, amount: f64) -> f64 {
        amount / self.deliveries.max(1) as f64
    }

    pub(crate) fn delay(&self, percent: usize) -> Option<f64> {
        percentile(&self.delays, percent)
    }

    fn row(&self, has_server: bool) -> Vec<String> {
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
        let counted = |number: Option<u64>| shown(number.map(|number| self.per_delivery(number as f64)));
        let cpu = self.cpu();
        let bench = self.spent.map(|spent| self.per_delivery(spent.bench.as_secs_f64() * 1e3));
        vec![
            self.name.clone(),
            figure(self.per_second()),
            shown(self.delay(50)),
            shown(self.delay(99)),
            shown(cpu.map(|(notifier, _)| notifier)),
            shown(cpu.map(|(_, server)| server).filter(|_| has_server)),
            shown(cpu.map(|(notifier, server)| notifier + server)),
            shown(bench),
            counted(self.statements),
            counted(self.transactions),
            self.inversions.to_string(),
            self.duplicates.to_string(),
            self.lost.to_string(),
        ]
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

/// All scenarios on one database.
pub(crate) fn show(samples: &[Sample], has_server: bool) -> String {
    let head = [
        "Scenario",
        "Deliveries/s",
        "p50 ms",
        "p99 ms",
        "CPU ms: notifier",
        "PostgreSQL",
        "both",
        "the bench",
        "Statements",
        "Commits",
        "Inversions",
        "Duplicates",
        "Lost",
    ];
    let rows: Vec<_> = samples.iter().map(|sample| sample.row(has_server)).collect();
    let notes = samples.iter().flat_map(|sample| sample.notes.iter().map(|note| format!("{}: {note}\n", sample.name)));
    format!("{}\n{}", table(&head, &rows), notes.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sample() -> Sample {
        let spent =
            Spent { notifier: Duration::from_secs(2), server: Duration::from_secs(3), bench: Duration::from_secs(1) };
        Sample {
            name: "drain".to_owned(),
            deliveries: 10_000,
            seconds: 2.0,
            spent: Some(spent),
            writers: 1.0,
            statements: Some(500),
            ..Sample::default()
        }
    }

    #[test]
    fn figures_are_told_for_one_delivery() {
        let shown = show(&[sample()], true);
        let cells: Vec<&str> = shown.lines().nth(2).unwrap().split('|').map(str::trim).collect();
        let wanted = ["drain", "5000", "-", "-", "0.200", "0.200", "0.400", "0.100", "0.050", "-", "0", "0", "0"];
        assert_eq!(cells[1..14], wanted);
    }

    #[test]
    fn what_was_not_measured_is_no_zero() {
        let shown = show(&[Sample { spent: None, statements: None, ..sample() }], true);
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
