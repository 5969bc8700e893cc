//! `cargo xtask bench payments`: how many whole payments per second, and what each costs.

mod check;
pub(crate) mod client;
mod delivery_log;
pub(crate) mod site;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use clap::{Args, value_parser};

use super::compare::Rounds;
use super::deployment::{ALL_IN_ONE, Database, Deployment, SERVICES};
use super::figures::{Spread, figure, percentile, table};
use super::run::Bench;
use super::statements::{self, Statement};
use super::usage::{self, cpu_by_thread};
use super::{RunOptions, SELF, describe, goal, receiver, run_with};
use crate::failure::{Context, Failure, Outcome};
use crate::programs::Build;
use crate::test::install::Need;
use client::{Addresses, Client, Done, Paid, PaymentFlow};
use delivery_log::DeliveryLog;
use site::{Site, Topology};

/// Payments per second that we want to reach on PostgreSQL.
const POSTGRES_MIN: f64 = 800.0;
/// Before the seconds of a run that count.
const WARM_UP: Duration = Duration::from_secs(2);
/// Threads that take less of a payment than this many microseconds are not shown.
const THREAD_MIN: f64 = 1.0;
/// The name under which the processor time of the database is told.
const POSTGRES: &str = "PostgreSQL";

/// Pays as shoppers do and measures how many payments per second come to their end: a Session with AutoCapture is created,
/// a card stashed, the Session viewed and submitted, authorized and captured, and three notifications arrive at a receiver
/// of ours that verifies them. On PostgreSQL every service is a program of its own, on SQLite the all-in-one is all of them;
/// sandbox processor, receiver and load generator share the machine. Afterwards Orders and the processor's journal must
/// show every payment once.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    site: SiteOptions,
    /// The server-to-server checkout in place of Session, view and submit: two notifications
    #[arg(long)]
    checkout: bool,
}

// What pays, and where. No doc comment: clap would take it for that of the task.
#[derive(Args, Clone, Debug)]
pub(crate) struct SiteOptions {
    #[command(flatten)]
    pub(crate) run: RunOptions,
    /// Payments under way at once, 1 to 400
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u16).range(1..=400))]
    clients: u16,
    /// Merchants, each with an endpoint of its own, among whom they are spread, 1 to 16
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u16).range(1..=16))]
    merchants: u16,
    /// The all-in-one on PostgreSQL, too
    #[arg(long)]
    all_in_one: bool,
    /// Has PostgreSQL count what each statement takes; costs a little
    #[arg(long)]
    statements: bool,
    /// Payments begun per second, at most [default: as many as come to their end]
    #[arg(long, value_parser = value_parser!(u32).range(1..=10_000))]
    rate: Option<u32>,
    /// A program that is built and run beside the services.
    #[arg(skip)]
    program: Option<&'static str>,
}

impl SiteOptions {
    /// The same with so many payments per second, unless another rate was asked for.
    pub(crate) fn at_rate(&self, rate: u32) -> Self {
        Self { rate: self.rate.or(Some(rate)), ..self.clone() }
    }

    /// The same with one program more.
    pub(crate) fn with_program(self, program: &'static str) -> Self {
        Self { program: Some(program), ..self }
    }

    pub(crate) fn rounds(&self) -> Rounds {
        self.run.rounds(10, 2)
    }
}

/// Runs the task.
pub(crate) fn task(options: &Options) -> Outcome<()> {
    let flow = if options.checkout { PaymentFlow::Checkout } else { PaymentFlow::DropIn };
    run(&options.site, &[], &[flow], |_, site, rates| {
        if site.deployment.is_postgres() {
            let [rate] = rates else { return Ok(()) };
            print!(
                "{}",
                goal(*rate >= POSTGRES_MIN, &format!("{rate:.0} payments per second; wanted: {POSTGRES_MIN}"))
            );
        }
        Ok(())
    })
}

/// Measures each flow in turn on each database, checks what they left, and has `afterwards` look at the site and at the payments per second of each
/// flow; the programs run still.
pub(crate) fn run(
    options: &SiteOptions,
    needs: &[Need],
    flows: &[PaymentFlow],
    afterwards: impl Fn(&mut Bench, &mut Site, &[f64]) -> Outcome<()>,
) -> Outcome<()> {
    let mut programs = [&SERVICES[..], &[ALL_IN_ONE, SELF]].concat();
    programs.extend(options.program);
    run_with(Build::Release, options.run.databases.skip_build, needs, &programs, |bench| {
        if options.statements {
            statements::load(bench)?;
        }
        options.rounds().describe();
        describe(bench)?;
        println!("{} payments under way at once, of {} merchants.", options.clients, options.merchants);
        for database in options.run.databases.databases() {
            let (mut site, rates) = measure(bench, options, flows, database)?;
            afterwards(bench, &mut site, &rates)?;
            site.stop(bench)?;
        }
        Ok(Vec::new())
    })
}

fn measure(
    bench: &mut Bench,
    options: &SiteOptions,
    flows: &[PaymentFlow],
    database: Database,
) -> Outcome<(Site, Vec<f64>)> {
    let (name, topology) = match database {
        Database::Postgres if options.all_in_one => ("PostgreSQL, the all-in-one", Topology::AllInOne),
        Database::Postgres => ("PostgreSQL, every service a program of its own", Topology::Split),
        Database::Sqlite => ("SQLite, the all-in-one", Topology::AllInOne),
    };
    let deployment = Deployment::new(bench, database)?;
    let counted = deployment.postgres_name().filter(|_| options.statements).map(str::to_owned);
    counted.iter().try_for_each(|database| statements::prepare(bench, database))?;
    let site = Site::start(bench, deployment, topology, options.merchants.into())?;
    eprintln!("{name}");
    let mut measured: Vec<(PaymentFlow, Vec<Sample>)> = flows.iter().map(|flow| (*flow, Vec::new())).collect();
    let (mut paid, rounds) = (Vec::new(), options.rounds());
    for round in 1..=rounds.count {
        for (flow, samples) in &mut measured {
            let sample = run_once(bench, options, *flow, &site, counted.as_deref(), &mut paid)?;
            let (count, rate) = (rounds.count, sample.figures[0].1);
            eprintln!("round {round} of {count}: {rate:.0} payments/s {}", flow.name());
            samples.push(sample);
        }
    }
    for (flow, samples) in &measured {
        println!("\n### Payments {} on {name}\n\n{}", flow.name(), show_figures(samples));
        println!("{}{}", show_programs(bench, &site, samples)?, show_threads(samples));
        if let Some(last) = samples.last().filter(|sample| !sample.statements.is_empty()) {
            print!("\n{}", statements::show(&last.statements, last.payments));
        }
        samples.iter().enumerate().for_each(|(at, sample)| print!("{}", sample.anomalies.warnings(at + 1)));
    }
    check::run(bench, &site, &paid)?;
    println!(
        "All {} payments, warm-up included, stand once in the Orders and once in the processor's journal; the ledger fits.",
        paid.len()
    );
    let rate =
        |samples: &[Sample]| Spread::of(samples.iter().map(|one| one.figures[0].1)).map_or(0.0, |spread| spread.median);
    Ok((site, measured.iter().map(|(_, samples)| rate(samples)).collect()))
}

/// Names and figures, always in the same order.
type Figures = Vec<(String, f64)>;

/// One run's figures.
#[derive(Debug, Default)]
struct Sample {
    /// Payments whose ORDER_PROCESSED arrived while it counted, per second; what the steps took; the load before.
    figures: Figures,
    payments: u64,
    /// Processor time per payment, by program; microseconds.
    cpu: Figures,
    /// The same of the all-in-one, by the names of its threads.
    threads: Figures,
    /// What PostgreSQL did, when that was asked for.
    statements: Vec<Statement>,
    anomalies: Anomalies,
}

/// What must not happen when nothing fails; each a number of times, the warm-up and the end included.
#[derive(Clone, Debug, Default, PartialEq)]
struct Anomalies {
    /// Calls that were refused or not answered, and what was said to the first.
    refused: u64,
    first_refusal: Option<String>,
    /// Payments that were submitted and of which no ORDER_PROCESSED came.
    lost: u64,
    /// Notifications that came more than once, out of their order, with a wrong signature, or of no known event.
    again: u64,
    disordered: u64,
    forged: u64,
    strange: u64,
}

impl Anomalies {
    /// A line for everything that should not have happened; empty when nothing did.
    fn warnings(&self, run: usize) -> String {
        let refusal = self.first_refusal.as_deref().unwrap_or_default();
        let lines = [
            (self.refused, format!("calls were refused or not answered; the first: {refusal}")),
            (self.lost, "payments were submitted without an ORDER_PROCESSED in time".to_owned()),
            (self.again, "notifications came again".to_owned()),
            (self.disordered, "notifications came out of order".to_owned()),
            (self.forged, "notifications had a wrong signature".to_owned()),
            (self.strange, "notifications were of no known event or payment".to_owned()),
        ];
        let seen = lines.into_iter().filter(|(number, _)| *number > 0);
        seen.map(|(number, what)| format!("WARNING: in run {run} {number} {what}.\n")).collect()
    }
}

/// Processor time so far, by program and by thread of the all-in-one.
fn spent(bench: &Bench, site: &Site) -> Outcome<[Vec<(String, Duration)>; 2]> {
    let (mut programs, mut threads) = (Vec::new(), Vec::new());
    for service in &site.services {
        programs.push((service.name.to_owned(), usage::cpu_of(service.program.id())?));
    }
    if let [service] = site.services.as_slice() {
        threads.extend(cpu_by_thread(service.program.id())?);
    }
    if site.deployment.is_postgres() {
        programs.push((POSTGRES.to_owned(), site.deployment.server_cpu(bench)?));
    }
    let ours = cpu_by_thread(std::process::id())?;
    for thread in [client::THREAD, receiver::THREAD] {
        programs.push((thread.to_owned(), ours.get(thread).copied().unwrap_or_default()));
    }
    Ok([programs, threads])
}

/// Every client pays one after the other, each waiting for the ORDER_PROCESSED of its last. Adds what is paid to `all_paid`.
fn run_once(
    bench: &Bench,
    options: &SiteOptions,
    flow: PaymentFlow,
    site: &Site,
    counted: Option<&str>,
    all_paid: &mut Vec<(String, String)>,
) -> Outcome<Sample> {
    let (run, load1) = (bench.new_name(), usage::load1()?);
    let (completions, completed): (Vec<_>, Vec<_>) = (0..options.clients).map(|_| mpsc::channel()).unzip();
    let delivery_log = Arc::new(DeliveryLog::new(flow, completions));
    *site.delivery_log.lock().expect("nothing under this lock panics") = delivery_log.clone();
    let addresses = Addresses::new(|name, prefix| site.find(name, prefix))?;
    let stop = AtomicBool::new(false);
    let (done, measured) = std::thread::scope(|scope| {
        let threads = completed.into_iter().enumerate().map(|(number, completed)| {
            let mut client = Client::new(addresses, &site.shops[number % site.shops.len()], &run, number);
            client.every =
                options.rate.map(|rate| Duration::from_secs_f64(f64::from(options.clients) / f64::from(rate)));
            let (thread, stop) = (std::thread::Builder::new().name(client::THREAD.to_owned()), &stop);
            let paying = thread.spawn_scoped(scope, move || client.work(flow, &completed, stop));
            paying.context(|| "start a client".to_owned())
        });
        let threads: Vec<_> = threads.collect();
        std::thread::sleep(WARM_UP);
        let measured = measure_window(bench, site, counted, options.rounds().seconds);
        stop.store(true, Ordering::Relaxed);
        let done = threads
            .into_iter()
            .map(|thread| thread?.join().map_err(|_panicked| Failure::new("a client broke; its words stand above")));
        Ok::<_, Failure>((done.collect::<Outcome<Vec<Done>>>()?, measured?))
    })?;
    let Window { began, ended, before, after, statements } = measured;
    let counted: Vec<&Paid> =
        done.iter().flat_map(|client| &client.paid).filter(|paid| (began..ended).contains(&paid.done)).collect();
    let payments = counted.len() as u64;
    let mut figures = vec![("payments per second".to_owned(), payments as f64 / (ended - began).as_secs_f64())];
    let steps = flow.calls().iter().chain(&["from its answer until ORDER_PROCESSED", "whole payment"]);
    for (at, name) in steps.enumerate() {
        let mut micros: Vec<u64> = counted.iter().map(|paid| paid.micros[at]).collect();
        micros.sort_unstable();
        for percent in [50, 99] {
            figures.push((format!("{name}, p{percent} ms"), percentile(&micros, percent).unwrap_or_default()));
        }
    }
    figures.push(("load1".to_owned(), load1));
    let per_payment = |at: usize| -> Figures {
        let was =
            |name: &String| before[at].iter().find(|(known, _)| known == name).map_or(Duration::ZERO, |one| one.1);
        let micros = |spent: Duration| spent.as_secs_f64() * 1e6 / payments.max(1) as f64;
        after[at].iter().map(|(name, is)| (name.clone(), micros(is.saturating_sub(was(name))))).collect()
    };
    let mut anomalies = delivery_log.anomalies();
    for client in done.iter().map(|client| &client.anomalies) {
        anomalies.refused += client.refused;
        anomalies.lost += client.lost;
        anomalies.first_refusal = anomalies.first_refusal.or_else(|| client.first_refusal.clone());
    }
    all_paid.extend(delivery_log.paid());
    Ok(Sample { figures, payments, cpu: per_payment(0), threads: per_payment(1), statements, anomalies })
}

/// Payments per second of the drop-in on a site that runs, the median of all rounds.
pub(crate) fn rate(bench: &Bench, options: &SiteOptions, site: &Site) -> Outcome<f64> {
    let mut rates = Vec::new();
    for _ in 0..options.rounds().count {
        let sample = run_once(bench, options, PaymentFlow::DropIn, site, None, &mut Vec::new())?;
        print!("{}", sample.anomalies.warnings(rates.len() + 1));
        rates.push(sample.figures[0].1);
    }
    Ok(Spread::of(rates).map_or(0.0, |spread| spread.median))
}

/// The seconds that count, and what they took.
struct Window {
    began: Instant,
    ended: Instant,
    before: [Vec<(String, Duration)>; 2],
    after: [Vec<(String, Duration)>; 2],
    statements: Vec<Statement>,
}

fn measure_window(bench: &Bench, site: &Site, counted: Option<&str>, seconds: u32) -> Outcome<Window> {
    counted.map(|database| statements::forget(bench, database)).transpose()?;
    let (before, began) = (spent(bench, site)?, Instant::now());
    std::thread::sleep(Duration::from_secs(seconds.into()));
    let (after, ended) = (spent(bench, site)?, Instant::now());
    let statements = counted.map(|database| statements::read(bench, database)).transpose()?.unwrap_or_default();
    Ok(Window { began, ended, before, after, statements })
}

fn spread(values: impl IntoIterator<Item = f64>) -> String {
    Spread::of(values).map_or_else(|| "-".to_owned(), |spread| spread.to_string())
}

/// Median and spread of every figure.
fn show_figures(samples: &[Sample]) -> String {
    let names = samples.first().map_or(&[][..], |sample| &sample.figures).iter().enumerate();
    let rows = names.map(|(at, (name, _))| vec![name.clone(), spread(samples.iter().map(|one| one.figures[at].1))]);
    table(&["", "median (min..max)"], &rows.collect::<Vec<_>>())
}

/// What each program takes of the processor and of memory.
fn show_programs(bench: &Bench, site: &Site, samples: &[Sample]) -> Outcome<String> {
    let mut rows = Vec::new();
    for (at, (name, _)) in samples.first().map_or(&[][..], |sample| &sample.cpu).iter().enumerate() {
        let (now, peak) = match site.services.iter().find(|service| service.name == name) {
            Some(service) => {
                let memory = usage::memory_of(service.program.id())?;
                (figure(memory.now), figure(memory.peak))
            }
            None if name == POSTGRES => (figure(usage::memory_of_server(bench.postmaster())?), "-".to_owned()),
            None => ("-".to_owned(), "-".to_owned()),
        };
        rows.push(vec![name.clone(), spread(samples.iter().map(|sample| sample.cpu[at].1)), now, peak]);
    }
    let all = samples.iter().map(|sample| sample.cpu.iter().map(|(_, micros)| micros).sum());
    rows.push(vec!["all".to_owned(), spread(all), "-".to_owned(), "-".to_owned()]);
    Ok(table(&["program", "CPU us per payment", "MiB afterwards", "MiB at most"], &rows))
}

/// What the threads of the all-in-one take of the processor; empty when it was not measured.
fn show_threads(samples: &[Sample]) -> String {
    let Some(last) = samples.last().filter(|sample| !sample.threads.is_empty()) else {
        return String::new();
    };
    let mut threads: Vec<_> = last.threads.iter().filter(|(_, micros)| *micros >= THREAD_MIN).collect();
    threads.sort_by(|one, other| other.1.total_cmp(&one.1));
    let rows: Vec<_> = threads.into_iter().map(|(name, micros)| vec![name.clone(), figure(*micros)]).collect();
    format!("\n{}", table(&["threads of the all-in-one, last run", "CPU us per payment"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(per_second: f64) -> Sample {
        let threads = vec![("webhooks".to_owned(), 12.0), ("idle".to_owned(), 0.0)];
        Sample { figures: vec![("payments per second".to_owned(), per_second)], threads, ..Sample::default() }
    }

    #[test]
    fn every_figure_is_shown_by_its_median_and_spread() {
        let text = show_figures(&[sample(100.0), sample(400.0), sample(300.0)]);
        assert!(text.contains("payments per second | 300 (100..400)"), "{text}");
    }

    #[test]
    fn threads_that_do_nothing_are_left_out() {
        let text = show_threads(&[sample(1.0)]);
        assert!(text.contains("webhooks") && !text.contains("idle"), "{text}");
    }

    #[test]
    fn nothing_that_went_wrong_is_passed_over() {
        assert_eq!(Anomalies::default().warnings(1), "");
        let refusal = Some("POST /v1/session: 503".to_owned());
        let text = Anomalies { refused: 2, first_refusal: refusal, lost: 1, ..Anomalies::default() }.warnings(3);
        assert!(
            text.contains("in run 3 2 calls") && text.contains("503") && text.contains("1 payments were"),
            "{text}"
        );
    }
}
