//! Runs of the payers against a deployment, and what the programs took meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Plan;
use super::deployment::Deployment;
use super::statements::{self, Statement};
use super::talk::{Load, Report};
use crate::bench::run::Bench;
use crate::bench::service::Kind;
use crate::bench::usage;
use crate::failure::{Context, Outcome};
use crate::programs::Dialogue;

/// Seconds of a run that do not count.
const WARM_UP: u32 = 2;

/// The names under which processor time is told that is not of our programs.
pub(crate) const POSTGRES: &str = "PostgreSQL";
const CLIENTS: &str = "load generator";
const RECEIVER: &str = "receiver";

/// One run's figures.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) report: Report,
    /// Processor time per payment, by program; microseconds.
    pub(crate) cpu: Vec<(String, f64)>,
    /// The same of the all-in-one, by the names of its threads.
    pub(crate) threads: Vec<(String, f64)>,
    /// What PostgreSQL did, when that was asked for.
    pub(crate) statements: Vec<Statement>,
    /// The machine's load average before.
    pub(crate) load1: f64,
}

impl Sample {
    pub(crate) fn per_second(&self) -> f64 {
        self.report.payments as f64 / self.report.seconds.max(f64::MIN_POSITIVE)
    }
}

/// Processor time so far.
struct Spent {
    programs: Vec<(String, Duration)>,
    threads: BTreeMap<String, Duration>,
}

impl Spent {
    fn read(bench: &Bench, deployment: &Deployment) -> Outcome<Self> {
        let mut spent = Self { programs: Vec::new(), threads: BTreeMap::new() };
        for (name, program) in &deployment.programs {
            spent.programs.push(((*name).to_owned(), usage::cpu_of(program.id())?));
        }
        if let [(_, program)] = deployment.programs.as_slice() {
            spent.threads = usage::cpu_by_thread(program.id())?;
        }
        if matches!(deployment.kind, Kind::Postgres(_)) {
            spent.programs.push((POSTGRES.to_owned(), usage::cpu_of_server(bench.postmaster())?));
        }
        Ok(spent)
    }
}

/// Runs the payers as often as planned; they must have met the deployment.
pub(crate) fn run(bench: &Bench, plan: &Plan, deployment: &Deployment, payers: &mut Dialogue) -> Outcome<Vec<Sample>> {
    let mut samples = Vec::new();
    for round in 1..=plan.rounds.count {
        let sample = run_once(bench, plan, deployment, payers)?;
        eprintln!("round {round} of {}: {:.0} payments/s", plan.rounds.count, sample.per_second());
        samples.push(sample);
    }
    Ok(samples)
}

fn run_once(bench: &Bench, plan: &Plan, deployment: &Deployment, payers: &mut Dialogue) -> Outcome<Sample> {
    let load = Load {
        way: plan.way,
        run: bench.new_name(),
        clients: plan.clients,
        warm_up: WARM_UP,
        seconds: plan.rounds.seconds,
    };
    let load1 = usage::load1()?;
    let database = match &deployment.kind {
        Kind::Postgres(database) if plan.statements => Some(database),
        _ => None,
    };
    payers.tell(&serde_json::to_string(&load).context(|| "write an order".to_owned())?)?;
    payers.hear("begun")?;
    let before = Spent::read(bench, deployment)?;
    database.map(|database| statements::forget(bench, database)).transpose()?;
    payers.hear("ended")?;
    let after = Spent::read(bench, deployment)?;
    let statements = database.map(|database| statements::read(bench, database)).transpose()?;
    let report: Report =
        serde_json::from_str(&payers.hear("report")?).context(|| "understand the report of the payers".to_owned())?;

    let per_payment = |seconds: f64| seconds * 1e6 / report.payments.max(1) as f64;
    let between = |before: Duration, after: Duration| per_payment(after.saturating_sub(before).as_secs_f64());
    let programs = before.programs.iter().zip(&after.programs);
    let mut cpu: Vec<_> = programs.map(|((name, was), (_, is))| (name.clone(), between(*was, *is))).collect();
    cpu.push((CLIENTS.to_owned(), per_payment(report.clients_cpu)));
    cpu.push((RECEIVER.to_owned(), per_payment(report.receiver_cpu)));
    let was = |name: &String| before.threads.get(name).copied().unwrap_or_default();
    let threads = after.threads.iter().map(|(name, is)| (name.clone(), between(was(name), *is))).collect();
    Ok(Sample { report, cpu, threads, statements: statements.unwrap_or_default(), load1 })
}
