//! The scenarios: what is written, how the receivers behave, and what is wanted of the notifier meanwhile.

use std::time::Duration;

use super::Plan;
use super::book::PER_PAYMENT;
use super::sample::Sample;
use super::sink::Manner;
use super::sql::Due;
use super::stage::{Running, Stage};
use super::writers::{Load, Writers};
use crate::bench::run::Bench;
use crate::bench::service::Kind;
use crate::failure::Outcome;

/// Notifications that are written per second.
pub(super) const PER_SECOND: u32 = 1_000;
/// Endpoints beside the one that never answers.
const HEALTHY: usize = 10;
/// How long the notifier has to write down the last acknowledgements.
pub(super) const WRITE_DOWN: Duration = Duration::from_millis(500);

/// (a) A backlog for one endpoint.
pub(super) fn drain(bench: &mut Bench, plan: &Plan, kind: &Kind) -> Outcome<Sample> {
    let mut sample = drain_of(bench, plan, kind, 0, "(a) drain")?;
    judge_drain(&mut sample, kind);
    Ok(sample)
}

fn judge_drain(sample: &mut Sample, kind: &Kind) {
    let (notifier, server) = sample.cpu();
    let (rate, cpu) = (sample.per_second(), notifier + server);
    sample.judge(rate >= 6_000.0, &format!("{rate:.0} deliveries per second; wanted: 6000"));
    if matches!(kind, Kind::Postgres(_)) {
        sample.judge(cpu <= 0.30, &format!("{cpu:.3} ms of processor time per delivery; wanted: 0.30"));
    }
}

/// Has the notifier deliver a backlog of the first `payments`.
fn empty(bench: &mut Bench, plan: &Plan, stage: &Stage, payments: u32, name: &str) -> Outcome<Sample> {
    stage.book.note_backlog(payments);
    let watch = Watch::begin(bench, stage)?;
    let mut running = stage.start(bench)?;
    stage.wait_for(&mut running, u64::from(payments * PER_PAYMENT))?;
    let sample = Sample::of(name, stage, |_| true, |_| false);
    watch.end(bench, plan, stage, running, sample, 0)
}

/// (b) Notifications come one by one and are to arrive at once.
pub(super) fn steady(bench: &mut Bench, plan: &Plan, kind: &Kind) -> Outcome<Sample> {
    let load = Load { per_second: PER_SECOND, seconds: plan.seconds };
    let stage = Stage::set(bench, kind, load.payments(), &[Manner::Kind])?;
    let mut sample = deliver(bench, plan, &stage, load, "(b) steady", |_| 0, |_| true)?;
    let (p50, p99) = delays(&sample);
    if is_woken(kind, &mut sample) {
        sample.judge(p50 < 8.0 && p99 < 40.0, &format!("p50 {p50:.1} ms and p99 {p99:.1} ms; wanted: 8 and 40"));
    }
    Ok(sample)
}

/// (c) One of the endpoints takes requests and never answers.
pub(super) fn black_hole(bench: &mut Bench, plan: &Plan, kind: &Kind) -> Outcome<Sample> {
    let load = Load { per_second: PER_SECOND, seconds: plan.seconds };
    let mut manners = [Manner::Kind; HEALTHY + 1];
    manners[HEALTHY] = Manner::Hole;
    let stage = Stage::set(bench, kind, load.payments(), &manners)?;
    let shop_of = |payment: u32| payment as usize % manners.len();
    let is_healthy = |payment| shop_of(payment) != HEALTHY;
    let mut sample = deliver(bench, plan, &stage, load, "(c) black hole", shop_of, is_healthy)?;
    let (_, p99) = delays(&sample);
    if is_woken(kind, &mut sample) {
        sample.judge(p99 < 250.0, &format!("p99 {p99:.1} ms at the healthy endpoints; wanted: 250"));
    }
    Ok(sample)
}

/// Whether somebody tells the notifier of what was written. On SQLite that is the all-in-one itself, which does not write here.
fn is_woken(kind: &Kind, sample: &mut Sample) -> bool {
    let is_woken = matches!(kind, Kind::Postgres(_));
    if !is_woken {
        sample
            .notes
            .push("written by another process, of which SQLite tells nobody: found by a look every 250 ms".to_owned());
    }
    is_woken
}

/// (d) A tenth of all tries is answered with 500.
pub(super) fn refusals(bench: &mut Bench, plan: &Plan, kind: &Kind) -> Outcome<Sample> {
    let load = Load { per_second: PER_SECOND, seconds: plan.seconds };
    let stage = Stage::set(bench, kind, load.payments(), &[Manner::Moody])?;
    let mut sample = deliver(bench, plan, &stage, load, "(d) 10 % answer 500", |_| 0, |_| true)?;
    // Who waits behind a refused one waits for its next try.
    sample.delays = stage.book.delays(|payment| stage.book.is_smooth(payment));
    sample.notes.push("delays are of the payments of which nothing was refused".to_owned());
    Ok(sample)
}

fn delays(sample: &Sample) -> (f64, f64) {
    let delay = |percent| sample.delay(percent).unwrap_or(f64::INFINITY);
    (delay(50), delay(99))
}

/// Has notifications written and delivered; `counts` names the payments that are to arrive.
fn deliver(
    bench: &mut Bench,
    plan: &Plan,
    stage: &Stage,
    load: Load,
    name: &str,
    shop_of: impl Fn(u32) -> usize + Sync,
    counts: impl Fn(u32) -> bool,
) -> Outcome<Sample> {
    let watch = Watch::begin(bench, stage)?;
    let mut running = stage.start(bench)?;
    let written = Writers::ready(bench, stage)?.write(stage, load, shop_of)?;
    let wanted = (0..load.payments()).filter(|payment| counts(*payment)).count() as u64 * u64::from(PER_PAYMENT);
    stage.wait_for(&mut running, wanted)?;
    let mut sample = Sample::of(name, stage, &counts, &counts);
    sample.writers = written.server;
    let late = written.late.as_millis();
    sample.notes.push(format!("{} were written, at most {late} ms late", written.events));
    watch.end(bench, plan, stage, running, sample, written.transactions)
}

/// (e) The same backlog beside streams that wait for another try.
pub(super) fn stuck(bench: &mut Bench, plan: &Plan, kind: &Kind) -> Outcome<Sample> {
    let payments = plan.events / PER_PAYMENT;
    let alone = drain_of(bench, plan, kind, 0, "(e) before")?;
    let mut sample = drain_of(bench, plan, kind, payments * 2, "(e) 100,000 stuck")?;
    let share = sample.per_second() / alone.per_second();
    sample.judge(
        share >= 0.9,
        &format!("{share:.2} of the rate without them, which was {:.0}; wanted: 0.90", alone.per_second()),
    );
    Ok(sample)
}

/// A backlog for one endpoint, beside `waiting` payments at it and at another one that wait for another try.
fn drain_of(bench: &mut Bench, plan: &Plan, kind: &Kind, waiting: u32, name: &str) -> Outcome<Sample> {
    let payments = plan.events / PER_PAYMENT;
    let stage = Stage::set(bench, kind, payments, &[Manner::Kind, Manner::Hole])?;
    if waiting > 0 {
        let shares = (payments..payments + waiting).map(|payment| (payment, payment as usize % 2));
        stage.write_backlog(bench, shares, Due::InAnHour)?;
    }
    stage.write_backlog(bench, (0..payments).map(|payment| (payment, 0)), Due::Now)?;
    empty(bench, plan, &stage, payments, name)
}

/// (f) A backlog for many endpoints: the second has half as much as the first, the third a third of it, and so on.
pub(super) fn many(bench: &mut Bench, plan: &Plan, kind: &Kind) -> Outcome<Sample> {
    let payments = plan.events / PER_PAYMENT;
    let endpoints = (plan.events / 50).clamp(2, 1_000) as usize;
    let stage = Stage::set(bench, kind, payments, &vec![Manner::Kind; endpoints])?;
    stage.write_backlog(bench, (0..payments).map(|payment| (payment, skewed(payment, endpoints))), Due::Now)?;
    let mut sample = empty(bench, plan, &stage, payments, "(f) 1,000 endpoints")?;
    sample.notes.push(format!("{endpoints} endpoints; the first has about a tenth of all"));
    Ok(sample)
}

/// Spread as one over the rank.
fn skewed(payment: u32, endpoints: usize) -> usize {
    let even = f64::from(payment.wrapping_mul(2_654_435_761)) / f64::from(u32::MAX);
    let rank = ((endpoints + 1) as f64).powf(even) as usize;
    rank.clamp(1, endpoints) - 1
}

/// What is counted while a scenario runs.
struct Watch {
    transactions: u64,
}

impl Watch {
    fn begin(bench: &Bench, stage: &Stage) -> Outcome<Self> {
        let transactions = stage.transactions(bench)?;
        stage.forget_statements(bench)?;
        Ok(Self { transactions })
    }

    /// Ends the notifier and completes the sample. `written`: transactions of whoever wrote.
    fn end(
        self,
        bench: &mut Bench,
        plan: &Plan,
        stage: &Stage,
        running: Running,
        mut sample: Sample,
        written: u64,
    ) -> Outcome<Sample> {
        std::thread::sleep(WRITE_DOWN);
        sample.spent = stage.spent(bench, &running)?;
        sample.statements = stage.statements(bench)?;
        if plan.statements {
            sample.notes.push(format!("statements\n{}", stage.show_statements(bench, sample.deliveries)?));
        }
        if plan.threads {
            sample.notes.push(running.show_threads(sample.deliveries)?);
        }
        running.stop(bench)?;
        sample.transactions = stage.transactions(bench)?.saturating_sub(self.transactions + written);
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
    }
}
