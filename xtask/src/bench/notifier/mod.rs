//! `cargo xtask bench notifier`: how fast notifications are delivered, what each costs, and what happens to them when things go wrong.

pub(crate) mod delivery_log;
pub(crate) mod endpoints;
pub(crate) mod kills;
pub(crate) mod sample;
mod scenarios;
mod sql;
pub(crate) mod testbed;
pub(crate) mod writers;

use clap::builder::PossibleValuesParser;
use clap::{Args, value_parser};

use super::deployment::{ALL_IN_ONE, Database};
use super::{DatabaseOptions, SELF, describe, run_with};
use crate::failure::Outcome;
use crate::programs::{Build, Programs};
use sample::show;
use scenarios::{Plan, SCENARIOS};
use testbed::Testbed;

/// Delivers notifications to receivers of its own, which do next to nothing, and measures how many per second, how long after
/// their commit and what each costs: on PostgreSQL with the program notifier, on SQLite with the all-in-one and that part alone.
/// It fails when a notification is lost, comes before its turn or comes again without a reason; speed that is missed is printed.
#[derive(Args, Debug)]
#[command(after_help = scenarios::list())]
pub(crate) struct Options {
    #[command(flatten)]
    databases: DatabaseOptions,
    /// Only these scenarios, such as a,c
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(value_parser = PossibleValuesParser::new(SCENARIOS.each_ref().map(|scenario| scenario.letter)))]
    only: Vec<String>,
    /// Length of b, c and d, 3 to 120 [default: 20]
    #[arg(long, value_parser = value_parser!(u32).range(3..=120))]
    seconds: Option<u32>,
    /// Notifications of a backlog, 300 to 300000 [default: 50000]
    #[arg(long, value_parser = value_parser!(u32).range(300..=300_000))]
    events: Option<u32>,
    /// Shows what each statement takes of PostgreSQL
    #[arg(long)]
    statements: bool,
    /// Shows what the notifier's threads take
    #[arg(long)]
    threads: bool,
    /// Little of everything: tries the bench, measures nothing
    #[arg(long)]
    quick: bool,
}

pub(crate) fn task(options: &Options) -> Outcome<()> {
    let (seconds, kills, events) = if options.quick { (3, 2, 3_000) } else { (20, 30, 50_000) };
    let plan = Plan {
        seconds: options.seconds.unwrap_or(seconds),
        kills,
        events: options.events.unwrap_or(events),
        statements: options.statements,
        threads: options.threads,
    };
    run_with(Build::Release, options.databases.skip_build, &[], &["notifier", ALL_IN_ONE, SELF], |bench| {
        Testbed::prepare(bench)?;
        describe(bench)?;
        let databases = options.databases.databases().into_iter();
        let broken = databases.map(|database| measure(bench, options, &plan, database));
        Ok(broken.collect::<Outcome<Vec<_>>>()?.concat())
    })
}

/// Runs the scenarios; the promises that were broken.
fn measure(bench: &mut Programs, options: &Options, plan: &Plan, database: Database) -> Outcome<Vec<String>> {
    let is_wanted = |letter: &str| options.only.is_empty() || options.only.iter().any(|wanted| wanted == letter);
    let (mut samples, mut broken) = (Vec::new(), Vec::new());
    for scenario in SCENARIOS.iter().filter(|scenario| is_wanted(scenario.letter)) {
        let sample = scenario.run(bench, plan, database)?;
        eprintln!("{}: {:.0} deliveries/s", scenario.letter, sample.per_second());
        broken.extend(sample.broken_promises());
        samples.push(sample);
    }
    let program = if database == Database::Postgres { "the program notifier" } else { "the all-in-one" };
    println!("\n### {}, {program}\n\n{}", database.name(), show(&samples));
    Ok(broken)
}
