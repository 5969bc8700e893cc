//! `cargo xtask bench payments`: how many whole payments per second, and what each costs.

mod check;
pub(crate) mod client;
mod delivery_log;
mod growth;
pub(crate) mod site;
mod stripe;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum, value_parser};

use super::compare::{Contender, Rounds, Row, Sample, in_turn};
use super::deployment::{ALL_IN_ONE, Database, Deployment, SERVICES, Service};
use super::figures::{Figures, dearest, figure, percentile, spread, table};
use super::statements;
use super::usage::{self, CpuMeter, CpuSource, per};
use super::{RunOptions, SELF, describe, goal, receiver, run_with};
use crate::failure::{Context, Failure, Outcome};
use crate::programs::{Build, Programs};
use crate::test::install::Need;
use check::Problems;
use client::{Addresses, Client, Done, PaymentFlow};
use delivery_log::DeliveryLog;
use growth::GrowthOptions;
use site::{Site, Topology};
use stripe::Localstripe;

/// Payments per second that we want to reach on PostgreSQL.
const POSTGRES_MIN: f64 = 800.0;
/// Before the seconds of a run that count.
const WARM_UP: Duration = Duration::from_secs(2);
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
    /// Whose API the payments are made by; stripe: on PostgreSQL, at localstripe, and once more at the sandbox processor's to compare with
    #[arg(long, value_enum, default_value_t = BenchedProcessor::Sandbox)]
    processor: BenchedProcessor,
    #[command(flatten)]
    growth: GrowthOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum BenchedProcessor {
    Sandbox,
    Stripe,
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
    /// Payments begun per second, at most; `None` is as many as come to their end.
    #[arg(skip)]
    rate: Option<u32>,
    /// A program that is built and run beside the services.
    #[arg(skip)]
    program: Option<&'static str>,
}

impl SiteOptions {
    /// The same with so many payments per second.
    pub(crate) fn at_rate(&self, rate: u32) -> Self {
        Self { rate: Some(rate), ..self.clone() }
    }

    /// The same with one program more.
    pub(crate) fn with_program(self, program: &'static str) -> Self {
        Self { program: Some(program), ..self }
    }

    pub(crate) fn rounds(&self) -> Rounds {
        self.run.rounds(10, 2)
    }
}

pub(crate) fn task(options: &Options) -> Outcome<()> {
    let flow = if options.checkout { PaymentFlow::Checkout } else { PaymentFlow::DropIn };
    if options.processor == BenchedProcessor::Stripe {
        return stripe::task(&options.site, flow);
    }
    run(&options.site, &[], &[flow], |bench, site, rows| {
        let rate = rows[0].per_second();
        if site.deployment.is_postgres() {
            let told = format!("{rate:.0} payments per second; wanted: {POSTGRES_MIN}");
            print!("{}", goal(rate >= POSTGRES_MIN, &told));
        }
        growth::measure(bench, &options.site, options.growth, site, rate)
    })
}

/// Measures each flow in turn on each database, checks what they left, and has `afterwards` look at the site and at what each flow came to; the programs
/// run still.
pub(crate) fn run(
    options: &SiteOptions,
    needs: &[Need],
    flows: &[PaymentFlow],
    afterwards: impl Fn(&mut Programs, &mut Site, &[Row]) -> Outcome<()>,
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
            let (mut site, rows) = measure(bench, options, flows, database, None)?;
            afterwards(bench, &mut site, &rows)?;
            site.stop(bench)?;
        }
        Ok(Vec::new())
    })
}

fn measure(
    bench: &mut Programs,
    options: &SiteOptions,
    flows: &[PaymentFlow],
    database: Database,
    localstripe: Option<&Localstripe>,
) -> Outcome<(Site, Vec<Row>)> {
    let (name, topology) = match database {
        Database::Postgres if options.all_in_one => ("PostgreSQL, the all-in-one", Topology::AllInOne),
        Database::Postgres => ("PostgreSQL, every service a program of its own", Topology::Split),
        Database::Sqlite => ("SQLite, the all-in-one", Topology::AllInOne),
    };
    let deployment = Deployment::new(bench, database)?;
    counted(options, &deployment).map(|database| statements::prepare(bench, database)).transpose()?;
    let of_flow = |is_screened| flows.iter().any(|flow| (*flow == PaymentFlow::Screened) == is_screened);
    let kinds = [false, true].into_iter().filter(|is_screened| of_flow(*is_screened));
    let merchants: Vec<_> = kinds.flat_map(|is_screened| vec![is_screened; options.merchants.into()]).collect();
    let site = Site::start(bench, deployment, topology, &merchants, localstripe)?;
    eprintln!("{name}");
    let paid = RefCell::new(Vec::new());
    let contender = |flow: &PaymentFlow| {
        let (bench, site, paid, flow) = (&*bench, &site, &paid, *flow);
        Contender::new(flow.name(), move |seconds| {
            let (sample, mut more) = run_once(bench, options, flow, site, seconds)?;
            paid.borrow_mut().append(&mut more);
            Ok(sample)
        })
    };
    let rows = in_turn(name, &flows.iter().map(contender).collect::<Vec<_>>(), options.rounds())?;
    for row in &rows {
        println!("\n### {} on {name}\n\n{}", row.name, row.show_figures());
        let notes = row.samples.last().map_or("", |last| &last.notes);
        print!("{}{notes}{}", show_programs(bench, &site, row)?, row.warnings());
    }
    let paid = paid.into_inner();
    check::run(bench, &site, &paid)?;
    println!(
        "\nAll {} payments, warm-up included, stand once in the Orders and once in the processor's journal or lists; the ledger fits.",
        paid.len()
    );
    Ok((site, rows))
}

/// Whether a program is measured, or a part of this one that measures.
pub(crate) fn is_measured(program: &str) -> bool {
    ![client::THREAD, receiver::THREAD].contains(&program)
}

/// The database whose statements are counted, where that was asked for.
fn counted<'a>(options: &SiteOptions, deployment: &'a Deployment) -> Option<&'a str> {
    deployment.postgres_name().filter(|_| options.statements)
}

/// Every client pays one after the other, each waiting for the ORDER_PROCESSED of its last. What it took, and all that was paid.
fn run_once(
    bench: &Programs,
    options: &SiteOptions,
    flow: PaymentFlow,
    site: &Site,
    seconds: u32,
) -> Outcome<(Sample, Vec<(String, String)>)> {
    let (run, load1) = (bench.new_name(), usage::load1()?);
    let (completions, completed): (Vec<_>, Vec<_>) = (0..options.clients).map(|_| mpsc::channel()).unzip();
    let delivery_log = Arc::new(DeliveryLog::new(flow, completions));
    *site.delivery_log.lock().expect("nothing under this lock panics") = delivery_log.clone();
    let addresses = Addresses::new(|name, prefix| site.find(name, prefix))?;
    let shops: Vec<_> = site.shops.iter().filter(|shop| shop.is_screened == (flow == PaymentFlow::Screened)).collect();
    let every = options.rate.map(|rate| Duration::from_secs_f64(f64::from(options.clients) / f64::from(rate)));
    let stop = AtomicBool::new(false);
    let (done, window) = std::thread::scope(|scope| {
        let threads = completed.into_iter().enumerate().map(|(number, completed)| {
            let mut client = Client::new(addresses, shops[number % shops.len()], &run, number);
            client.every = every;
            let (thread, stop) = (std::thread::Builder::new().name(client::THREAD.to_owned()), &stop);
            let paying = thread.spawn_scoped(scope, move || client.work(flow, &completed, stop));
            paying.context(|| "start a client".to_owned())
        });
        let threads: Vec<_> = threads.collect();
        std::thread::sleep(WARM_UP);
        let window = Window::measure(bench, site, counted(options, &site.deployment), seconds);
        stop.store(true, Ordering::Relaxed);
        let done = threads
            .into_iter()
            .map(|thread| thread?.join().map_err(|_panicked| Failure::new("a client broke; its words stand above")));
        Ok::<_, Failure>((done.collect::<Outcome<Vec<Done>>>()?, window?))
    })?;
    let mut problems = delivery_log.problems();
    let mut paid = Vec::new();
    for client in done {
        problems.extend(client.problems);
        paid.extend(client.paid.into_iter().filter(|paid| (window.began..window.ended).contains(&paid.done)));
    }
    let steps = flow.calls().iter().chain(&["from its answer until ORDER_PROCESSED", "whole payment"]);
    let took =
        steps.enumerate().map(|(at, name)| (*name, paid.iter().map(|paid| paid.micros[at]).collect::<Vec<u64>>()));
    Ok((window.sample(paid.len() as u64, took, load1, &problems), delivery_log.paid()))
}

/// Payments per second of the drop-in on a site that runs, the median of all rounds.
pub(crate) fn rate(bench: &Programs, options: &SiteOptions, site: &Site) -> Outcome<f64> {
    let pay = |seconds| run_once(bench, options, PaymentFlow::DropIn, site, seconds).map(|(sample, _)| sample);
    let row = in_turn("payments", &[Contender::new(PaymentFlow::DropIn.name(), pay)], options.rounds())?.remove(0);
    print!("{}", row.warnings());
    Ok(row.per_second())
}

/// The seconds that count, and what they took.
struct Window {
    began: Instant,
    ended: Instant,
    cpu: Figures,
    /// Of the all-in-one.
    threads: Figures,
    /// What PostgreSQL did, when that was asked for.
    statements: Vec<statements::Statement>,
    /// Bytes that PostgreSQL wrote to its log.
    wal: Option<u64>,
}

/// Where PostgreSQL's log ends.
fn wal(bench: &Programs, site: &Site) -> Outcome<Option<u64>> {
    let end = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')";
    site.deployment.is_postgres().then(|| site.deployment.number(bench, end)).transpose()
}

impl Window {
    fn measure(bench: &Programs, site: &Site, counted: Option<&str>, seconds: u32) -> Outcome<Self> {
        counted.map(|database| statements::forget(bench, database)).transpose()?;
        let wal = wal(bench, site)?;
        let process = |service: &Service| (service.name.to_owned(), CpuSource::Process(service.program.id()));
        let server = site.deployment.postmaster(bench)?;
        let server = server.map(|postmaster| (POSTGRES.to_owned(), CpuSource::Server(postmaster)));
        let ours = [client::THREAD, receiver::THREAD].map(|name| (name.to_owned(), CpuSource::Thread(name)));
        let stand_in = site.localstripe.as_ref().map(|(id, _)| (stripe::NAME.to_owned(), CpuSource::Server(*id)));
        let programs = site.services.iter().map(process).chain(stand_in).chain(server).chain(ours);
        let threads = match site.services.as_slice() {
            [service] => vec![(String::new(), CpuSource::ThreadsOf(service.program.id()))],
            _ => Vec::new(),
        };
        let (programs, threads, began) =
            (CpuMeter::start(programs.collect())?, CpuMeter::start(threads)?, Instant::now());
        std::thread::sleep(Duration::from_secs(seconds.into()));
        let (cpu, threads, ended) = (programs.read()?, threads.read()?, Instant::now());
        let statements = counted.map(|database| statements::read(bench, database)).transpose()?.unwrap_or_default();
        let wal = self::wal(bench, site)?.zip(wal).map(|(after, before)| after.saturating_sub(before));
        Ok(Self { began, ended, cpu, threads, statements, wal })
    }

    /// What so many payments took, each of their steps in microseconds.
    fn sample<'a>(
        self,
        payments: u64,
        steps: impl Iterator<Item = (&'a str, Vec<u64>)>,
        load1: f64,
        problems: &Problems,
    ) -> Sample {
        let rate = payments as f64 / (self.ended - self.began).as_secs_f64();
        let mut figures = vec![("payments per second".to_owned(), rate)];
        for (name, mut micros) in steps {
            micros.sort_unstable();
            for percent in [50, 99] {
                figures.push((format!("{name}, p{percent} ms"), percentile(&micros, percent).unwrap_or_default()));
            }
        }
        figures
            .extend(self.wal.map(|bytes| ("WAL bytes per payment".to_owned(), bytes as f64 / payments.max(1) as f64)));
        figures.push(("load1".to_owned(), load1));
        let mut notes = String::new();
        if !self.threads.is_empty() {
            let head = ["threads of the all-in-one, last run", "CPU us per payment"];
            notes = format!("\n{}", dearest(head, per(self.threads, payments)));
        }
        if !self.statements.is_empty() {
            notes += &format!("\n{}", statements::show(&self.statements, payments));
        }
        Sample { figures, cpu: per(self.cpu, payments), done: payments, warnings: problems.lines(), notes }
    }
}

/// What each program takes of the processor and of memory.
fn show_programs(bench: &Programs, site: &Site, row: &Row) -> Outcome<String> {
    let mut rows = Vec::new();
    for (name, _) in row.samples.iter().take(1).flat_map(|sample| &sample.cpu) {
        let (now, peak) = match site.services.iter().find(|service| service.name == name) {
            Some(service) => {
                let memory = usage::memory_of(service.program.id())?;
                (figure(memory.now), figure(memory.peak))
            }
            None if name == POSTGRES => (figure(usage::memory_of_server(bench.postmaster()?)?), "-".to_owned()),
            None => ("-".to_owned(), "-".to_owned()),
        };
        rows.push(vec![name.clone(), row.show(name), now, peak]);
    }
    let all = row.samples.iter().map(|sample| sample.cpu.iter().map(|(_, micros)| micros).sum());
    rows.push(vec!["all".to_owned(), spread(all), "-".to_owned(), "-".to_owned()]);
    Ok(table(&["program", "CPU us per payment", "MiB afterwards", "MiB at most"], &rows))
}
