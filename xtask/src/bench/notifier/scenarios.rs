//! The scenarios: what is written, how the receivers behave, and what is wanted of the notifier meanwhile.

use std::time::Instant;

use super::delivery_log::PER_PAYMENT;
use super::endpoints::EndpointBehavior::{self, Acknowledging, Flaky, Slow, Unresponsive};
use super::kills::{INTERVAL, Victim};
use super::sample::Sample;
use super::sql::Due;
use super::testbed::{RunningNotifier, Testbed};
use super::writers::{Load, Written};
use crate::bench::deployment::Database;
use crate::bench::statements;
use crate::failure::Outcome;
use crate::programs::Programs;

/// Notifications that are written per second.
const PER_SECOND: u32 = 1_000;
/// How much is done, and shown.
pub(super) struct Plan {
    /// Length of what is steady.
    pub(super) seconds: u32,
    pub(super) kills: u32,
    /// Notifications of a backlog.
    pub(super) events: u32,
    pub(super) statements: bool,
    pub(super) threads: bool,
}

pub(super) struct Scenario {
    pub(super) letter: &'static str,
    name: &'static str,
    what: &'static str,
    /// None of them: as many that acknowledge as the backlog is enough for.
    endpoints: &'static [EndpointBehavior],
    work: Work,
    judge: fn(&mut Sample, Database),
}

/// What is to be delivered.
enum Work {
    /// Everything is waiting before, beside so many times as many that wait for another try. The second of the endpoints that acknowledge
    /// has half as much as the first, the third a third of it, and so on.
    Backlog { stuck: u32 },
    /// Notifications come one by one and are to arrive at once.
    Steady,
    /// The same, while the notifier is killed again and again and started again at once.
    Killed,
}

const BACKLOG_ENDPOINTS: [EndpointBehavior; 2] = [Acknowledging, Unresponsive];
const BLACK_HOLE: [EndpointBehavior; 11] = {
    let mut behaviors = [Acknowledging; 11];
    behaviors[10] = Unresponsive;
    behaviors
};

pub(super) const SCENARIOS: [Scenario; 7] = [
    Scenario {
        letter: "a",
        name: "(a) drain",
        what: "a backlog of 50,000 for one endpoint",
        endpoints: &BACKLOG_ENDPOINTS,
        work: Work::Backlog { stuck: 0 },
        judge: judge_drain,
    },
    Scenario {
        letter: "b",
        name: "(b) steady",
        what: "1,000 per second, as they are committed",
        endpoints: &[Acknowledging],
        work: Work::Steady,
        judge: judge_steady,
    },
    Scenario {
        letter: "c",
        name: "(c) black hole",
        what: "b with an endpoint that never answers",
        endpoints: &BLACK_HOLE,
        work: Work::Steady,
        judge: judge_black_hole,
    },
    Scenario {
        letter: "d",
        name: "(d) 10 % answer 500",
        what: "b with an endpoint that answers 500 to 10 %",
        endpoints: &[Flaky],
        work: Work::Steady,
        judge: |sample, _| sample.notes.push("delays are of the payments of which nothing was refused".to_owned()),
    },
    Scenario {
        letter: "e",
        name: "(e) 100,000 stuck",
        what: "a with 100,000 beside it that wait for another try",
        endpoints: &BACKLOG_ENDPOINTS,
        work: Work::Backlog { stuck: 2 },
        judge: |_, _| {},
    },
    Scenario {
        letter: "f",
        name: "(f) 1,000 endpoints",
        what: "a backlog for 1,000 endpoints, some with much more than others",
        endpoints: &[],
        work: Work::Backlog { stuck: 0 },
        judge: |sample, _| sample.notes.push("the first endpoint has about a tenth of all".to_owned()),
    },
    Scenario {
        letter: "g",
        name: "(g) kill -9 every 2 s",
        what: "b with a kill -9 of the notifier every 2 seconds for a minute",
        endpoints: &[Slow],
        work: Work::Killed,
        judge: |_, _| {},
    },
];

/// What they are, for a person who chooses.
pub(super) fn list() -> String {
    SCENARIOS.iter().map(|Scenario { letter, what, .. }| format!("  {letter}  {what}\n")).collect()
}

fn judge_drain(sample: &mut Sample, database: Database) {
    let rate = sample.per_second();
    sample.judge(rate >= 6_000.0, &format!("{rate:.0} deliveries per second; wanted: 6000"));
    if let Some(cpu) = sample.cpu_of_both().filter(|_| database == Database::Postgres) {
        sample.judge(cpu <= 0.30, &format!("{cpu:.3} ms of processor time per delivery; wanted: 0.30"));
    }
}

fn judge_steady(sample: &mut Sample, database: Database) {
    let (p50, p99) = delays(sample);
    if is_woken(sample, database) {
        sample.judge(p50 < 8.0 && p99 < 40.0, &format!("p50 {p50:.1} ms and p99 {p99:.1} ms; wanted: 8 and 40"));
    }
}

fn judge_black_hole(sample: &mut Sample, database: Database) {
    let (_, p99) = delays(sample);
    if is_woken(sample, database) {
        sample.judge(p99 < 250.0, &format!("p99 {p99:.1} ms at the healthy endpoints; wanted: 250"));
    }
}

/// Whether the notifier gets wake signals. On SQLite only the all-in-one itself sends them, and it does not write here.
fn is_woken(sample: &mut Sample, database: Database) -> bool {
    let is_woken = database == Database::Postgres;
    if !is_woken {
        let note = "written by another process, of which SQLite tells nobody: found by a look every 250 ms";
        sample.notes.push(note.to_owned());
    }
    is_woken
}

fn delays(sample: &Sample) -> (f64, f64) {
    let delay = |percent| sample.delay(percent).unwrap_or(f64::INFINITY);
    (delay(50), delay(99))
}

impl Scenario {
    pub(super) fn run(&self, bench: &mut Programs, plan: &Plan, database: Database) -> Outcome<Sample> {
        let mut sample = match self.work {
            Work::Backlog { stuck: 0 } => self.drain(bench, plan, database, 0)?,
            Work::Backlog { stuck } => {
                let alone = self.drain(bench, plan, database, 0)?.per_second();
                let mut sample = self.drain(bench, plan, database, stuck)?;
                let share = sample.per_second() / alone;
                let what = format!("{share:.2} of the rate without them, which was {alone:.0}; wanted: 0.90");
                sample.judge(share >= 0.9, &what);
                sample
            }
            Work::Steady => self.deliver(bench, plan, database, 0)?,
            Work::Killed => self.deliver(bench, plan, database, plan.kills)?,
        };
        (self.judge)(&mut sample, database);
        Ok(sample)
    }

    /// Has a backlog delivered, beside `stuck` times as many payments at all of the endpoints that wait for another try.
    fn drain(&self, bench: &mut Programs, plan: &Plan, database: Database, stuck: u32) -> Outcome<Sample> {
        let payments = plan.events / PER_PAYMENT;
        let many = vec![Acknowledging; (plan.events / 50).clamp(2, 1_000) as usize];
        let endpoints = if self.endpoints.is_empty() { many.as_slice() } else { self.endpoints };
        let healthy = endpoints.iter().filter(|endpoint| **endpoint == Acknowledging).count();
        let testbed = Testbed::set_up(bench, database, payments, endpoints)?;
        if stuck > 0 {
            let waiting = payments..payments + payments * stuck;
            let shares = waiting.map(|payment| (payment, payment as usize % endpoints.len()));
            testbed.write_backlog(bench, shares, Due::InAnHour)?;
        }
        testbed.write_backlog(bench, (0..payments).map(|payment| (payment, skewed(payment, healthy))), Due::Now)?;
        testbed.delivery_log.record_backlog(payments);
        let watch = Watch::begin(bench, &testbed)?;
        let mut running = testbed.start(bench)?;
        testbed.wait_for(&mut running, u64::from(payments * PER_PAYMENT))?;
        let mut sample = Sample::of(self.name, &testbed, |_| true, |_| false);
        if self.endpoints.is_empty() {
            sample.notes.push(format!("{healthy} endpoints"));
        }
        watch.end(bench, plan, &testbed, running, sample, Written::default())
    }

    /// Has notifications written and delivered, while the notifier is killed so often.
    fn deliver(&self, bench: &mut Programs, plan: &Plan, database: Database, kills: u32) -> Outcome<Sample> {
        let seconds = if kills > 0 { kills * INTERVAL.as_secs() as u32 } else { plan.seconds };
        let load = Load { per_second: PER_SECOND, seconds };
        let testbed = Testbed::set_up(bench, database, load.payments(), self.endpoints)?;
        let watch = Watch::begin(bench, &testbed)?;
        let mut running = [testbed.start(bench)?];
        let (deaths, written) = testbed.deliver(bench, &mut running, load, || {
            let began = Instant::now();
            (1..=kills).map(move |number| (began + INTERVAL * number, Victim::Notifier(0)))
        })?;
        // What waits behind a refused one waits for its next try.
        let tried_again = testbed.delivery_log.tried_again();
        let is_timed = |payment| {
            testbed.is_answered(payment) && !(self.endpoints.contains(&Flaky) && tried_again.contains(&payment))
        };
        let mut sample = Sample::of(self.name, &testbed, |payment| testbed.is_answered(payment), is_timed);
        sample.note_written(written);
        let [running] = running;
        if kills == 0 {
            return watch.end(bench, plan, &testbed, running, sample, written);
        }
        running.stop(bench)?;
        deaths.judge(&mut sample, &testbed.delivery_log.receipts());
        Ok(sample)
    }
}

/// Spread as one over the rank.
fn skewed(payment: u32, endpoints: usize) -> usize {
    let even = f64::from(payment.wrapping_mul(2_654_435_761)) / f64::from(u32::MAX);
    let rank = ((endpoints + 1) as f64).powf(even) as usize;
    rank.clamp(1, endpoints) - 1
}

/// What is counted while a scenario runs.
struct Watch {
    transactions: Option<u64>,
}

impl Watch {
    fn begin(bench: &Programs, testbed: &Testbed) -> Outcome<Self> {
        let transactions = testbed.transactions(bench)?;
        testbed.deployment.postgres_name().map(|database| statements::forget(bench, database)).transpose()?;
        Ok(Self { transactions })
    }

    /// Ends the notifier and completes the sample. `written`: not the notifier's part.
    fn end(
        self,
        bench: &mut Programs,
        plan: &Plan,
        testbed: &Testbed,
        running: RunningNotifier,
        mut sample: Sample,
        written: Written,
    ) -> Outcome<Sample> {
        (sample.cpu, sample.writers) = (running.spent()?, written.server);
        sample.statements = testbed.statements(bench)?;
        if let Some(database) = testbed.deployment.postgres_name().filter(|_| plan.statements) {
            let dearest = statements::read(bench, database)?;
            sample.notes.push(format!("statements\n{}", statements::show(&dearest, sample.deliveries)));
        }
        if plan.threads {
            sample.notes.push(running.show_threads(sample.deliveries)?);
        }
        running.stop(bench)?;
        let transactions = testbed.transactions(bench)?.zip(self.transactions);
        sample.transactions = transactions.map(|(after, before)| after.saturating_sub(before + written.transactions));
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_skewed() {
        let mut shares = vec![0_u32; 1_000];
        (0..16_666).for_each(|payment| shares[skewed(payment, 1_000)] += 1);
        assert!((1_500..1_900).contains(&shares[0]) && (850..1_100).contains(&shares[1]), "{:?}", &shares[..9]);
        assert!(shares.iter().filter(|share| **share > 0).count() > 900);
        assert!((0..100).all(|payment| skewed(payment, 1) == 0));
    }
}
