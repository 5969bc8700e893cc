//! `cargo xtask bench …`. `sessions`: how fast the Session API is, beside what the machine and simpler programs give; `payments`: how many
//! whole payments per second; `notifier`: how many notifications; `rates`: how often exchange rates are
//! shown; `stash`: how many cards per second.

mod compare;
mod figures;
mod fill;
mod load;
mod memory;
pub(crate) mod notifier;
pub(crate) mod payments;
mod pgbench;
mod rates;
pub(crate) mod run;
pub(crate) mod service;
mod sessions;
mod size;
mod stash;
mod usage;

use std::process::Command;
use std::time::Instant;

use crate::command::{cargo, succeeds};
use crate::failure::{Context, Failure, Outcome};
use crate::postgres;
use crate::programs::Build;
use crate::test::install::{Need, answers, provide};
use compare::Rounds;
use load::Files;
use run::Bench;
use service::Kind;

const HELP: &str = "\
cargo xtask bench sessions [--seconds N] [--stored N] [--postgres | --sqlite] [--skip-fill] [--skip-build] [--quick]

Measures creating, finding and replacing Sessions over HTTP, beside pgbench, a bare route and simple handlers on the same
PostgreSQL, and prints tables. It builds what it needs, installs the tools that the machine lacks, starts a PostgreSQL of
its own and removes everything again. Use a machine that does nothing else. docs/PERFORMANCE.md explains the figures.

  --seconds N    length of one run, 1 to 60 [default: 8]; everything is run 3 times
  --stored N     how many stored Sessions are many, up to 10000000 [default: 5000000]
  --postgres     only on PostgreSQL
  --sqlite       only on SQLite
  --skip-fill    leaves out creates at few and at many stored Sessions, which take the longest
  --skip-build   measures the release programs as they were built last
  --quick        one run of a second each and few Sessions: tries the bench, measures nothing
";

pub(crate) const TOOLS: [Need; 4] = [
    Need { what: "a PostgreSQL server", packages: &["postgresql"], is_there: postgres::is_installed },
    Need { what: "psql and pgbench", packages: &["postgresql"], is_there: has_clients },
    Need { what: "wrk", packages: &["wrk"], is_there: has_wrk },
    Need { what: "the SQLite shell", packages: &["sqlite3"], is_there: || answers("sqlite3", "-version") },
];

/// Above this, something else is running.
const IDLE_LOAD: f64 = 0.3;

/// Most Sessions that a database is filled with.
const STORED_MAX: u64 = 10_000_000;

/// What a run does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) rounds: Rounds,
    /// Sessions that are created to be found and replaced.
    pub(crate) known: usize,
    /// Stored Sessions at which creates are compared.
    pub(crate) small: u64,
    pub(crate) large: u64,
    postgres: bool,
    sqlite: bool,
    fill: bool,
    build: bool,
    every_program: bool,
}

impl Plan {
    fn parse(arguments: &[&str]) -> Outcome<Self> {
        let mut plan = Self {
            rounds: Rounds { seconds: 8, count: 3 },
            known: 2_000,
            small: 10_000,
            large: 5_000_000,
            postgres: true,
            sqlite: true,
            fill: true,
            build: true,
            every_program: true,
        };
        let (mut seconds, mut stored) = (None, None);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--seconds" => seconds = Some(read_number(argument, arguments.next(), 1, 60)?),
                "--stored" => stored = Some(read_number(argument, arguments.next(), plan.small, STORED_MAX)?),
                "--postgres" => plan.sqlite = false,
                "--sqlite" => plan.postgres = false,
                "--skip-fill" => plan.fill = false,
                "--skip-build" => plan.build = false,
                "--quick" => {
                    plan.rounds = Rounds { seconds: 1, count: 1 };
                    (plan.known, plan.small, plan.large) = (200, 1_000, 20_000);
                    plan.every_program = false;
                }
                _ => return Err(Failure::new(format!("`{argument}` is no option of this task\n\n{HELP}"))),
            }
        }
        if !plan.postgres && !plan.sqlite {
            return Err(Failure::new(
                "--postgres and --sqlite leave nothing to measure; leave both out to measure both",
            ));
        }
        plan.rounds.seconds = seconds.unwrap_or(plan.rounds.seconds);
        plan.large = stored.unwrap_or(plan.large);
        Ok(plan)
    }
}

/// The number that follows an option.
pub(crate) fn read_number<T>(option: &str, text: Option<&&str>, least: T, most: T) -> Outcome<T>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let text = text.copied().unwrap_or_default();
    let number = text.parse().ok().filter(|number| (&least..=&most).contains(&number));
    number.ok_or_else(|| Failure::new(format!("{option} wants a number from {least} to {most}, not `{text}`")))
}

/// Runs the task.
pub(crate) fn task(arguments: &[&str]) -> Outcome<()> {
    let asks_for_help = arguments.iter().any(|option| matches!(*option, "--help" | "-h"));
    match arguments {
        ["sessions", options @ ..] if !asks_for_help => sessions_task(&Plan::parse(options)?),
        ["payments", options @ ..] if !asks_for_help => payments::task(options),
        ["notifier", options @ ..] if !asks_for_help => notifier::task(options),
        ["rates", options @ ..] if !asks_for_help => rates::task(options),
        ["stash", options @ ..] if !asks_for_help => stash::task(options),
        ["sessions", ..] => print_help(HELP),
        ["notifier", ..] => print_help(notifier::HELP),
        ["rates", ..] => print_help(rates::HELP),
        ["stash", ..] => print_help(stash::HELP),
        ["payments", ..] => print_help(payments::HELP),
        [] | ["--help" | "-h", ..] => print_help(&all_help()),
        [other, ..] => Err(Failure::new(format!("`{other}` is no bench\n\n{}", all_help()))),
    }
}

fn all_help() -> String {
    [HELP, payments::HELP, notifier::HELP, rates::HELP, stash::HELP].join("\n")
}

fn print_help(text: &str) -> Outcome<()> {
    print!("{text}");
    Ok(())
}

fn sessions_task(plan: &Plan) -> Outcome<()> {
    provide(&TOOLS)?;
    if plan.build {
        let others = memory::OTHERS.iter().filter(|_| plan.every_program).map(|(name, _)| *name);
        build_release(others.chain(["session-api", "dropin", "dropin-baseline"]))?;
    }
    let since = Instant::now();
    let mut bench = Bench::start()?;
    let measured = describe(&bench, plan.rounds).and_then(|()| measure(&mut bench, plan));
    let finished = bench.finish();
    measured?;
    finished?;
    println!("\nThe run took {:.0} s.", since.elapsed().as_secs_f64());
    Ok(())
}

fn measure(bench: &mut Bench, plan: &Plan) -> Outcome<()> {
    let files = Files::write(bench)?;
    let mut idle = Vec::new();
    if plan.postgres {
        idle.push(("session-api".to_owned(), sessions::on_postgres(bench, plan, &files)?));
    }
    if plan.sqlite {
        idle.push(("dropin (all-in-one)".to_owned(), sessions::on_sqlite(bench, plan, &files)?));
    }
    memory::run(bench, idle, plan.every_program)?;
    if plan.fill && plan.postgres {
        size::run(bench, plan, &files, Kind::Postgres("sizes".to_owned()))?;
    }
    if plan.fill && plan.sqlite {
        size::run(bench, plan, &files, Kind::Sqlite)?;
    }
    Ok(())
}

/// Builds packages as they are deployed.
fn build_release<'a>(packages: impl Iterator<Item = &'a str>) -> Outcome<()> {
    build(Build::Release, packages)
}

/// Builds packages.
pub(crate) fn build<'a>(build: Build, packages: impl Iterator<Item = &'a str>) -> Outcome<()> {
    let mut command = cargo();
    command.arg("build").args(packages.flat_map(|name| ["-p", name]));
    if matches!(build, Build::Release) {
        command.arg("--release");
    }
    let status = command.status().context(|| "start cargo".to_owned())?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new("the build failed; its own words stand above"))
}

/// Prints what the figures depend on; refuses a server that would not keep what it has promised.
fn describe(bench: &Bench, rounds: Rounds) -> Outcome<()> {
    let Rounds { seconds, count } = rounds;
    println!("\n{count} runs of {seconds} s each: median (min..max).");
    describe_server(bench)
}

/// The part of it that is the machine's and the server's.
fn describe_server(bench: &Bench) -> Outcome<()> {
    let settings = bench.sql(
        "postgres",
        "SELECT name || ' ' || current_setting(name) FROM unnest(ARRAY['server_version', 'fsync', 'synchronous_commit', \
         'full_page_writes', 'shared_buffers', 'max_wal_size', 'max_connections']) AS name",
    )?;
    let settings: Vec<&str> = settings.lines().collect();
    if let Some(off) = unsafe_setting(&settings) {
        return Err(Failure::new(format!("PostgreSQL runs with `{off}`: its commits would not be durable")));
    }
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    println!("{cores} cores; load generator, programs and database share them.");
    println!("PostgreSQL: {}.", settings.join(", "));
    let load1 = usage::load1()?;
    println!("load1 at the start: {load1}.");
    if load1 > IDLE_LOAD {
        println!("WARNING: the machine is not idle. These figures tell little.");
    }
    Ok(())
}

/// The first of "name value" that must be `on` and is not.
fn unsafe_setting<'a>(settings: &[&'a str]) -> Option<&'a str> {
    let matters = ["fsync", "synchronous_commit", "full_page_writes"];
    settings
        .iter()
        .copied()
        .find(|setting| setting.split_once(' ').is_some_and(|(name, value)| matters.contains(&name) && value != "on"))
}

/// A line that says whether a goal was reached.
fn goal(reached: bool, what: &str) -> String {
    format!("{} {what}\n", if reached { "[goal]" } else { "[MISS]" })
}

fn has_wrk() -> bool {
    // It has no way to succeed without an address; what counts is that there is one.
    succeeds(Command::new("sh").args(["-c", "command -v wrk"]))
}

fn has_clients() -> bool {
    answers("psql", "--version") && answers("pgbench", "--version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_everything_unless_told_otherwise() {
        let plan = Plan::parse(&[]).unwrap();
        assert!(plan.postgres && plan.sqlite && plan.fill && plan.build);
        assert_eq!((plan.rounds, plan.small, plan.large), (Rounds { seconds: 8, count: 3 }, 10_000, 5_000_000));
    }

    #[test]
    fn reads_the_options_in_any_order() {
        let words = ["--seconds", "3", "--stored", "1000000", "--quick", "--sqlite", "--skip-fill", "--skip-build"];
        let plan = Plan::parse(&words).unwrap();
        assert_eq!((plan.rounds, plan.large), (Rounds { seconds: 3, count: 1 }, 1_000_000));
        assert!(!plan.postgres && plan.sqlite && !plan.fill && !plan.build);
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for wrong in [
            &["--fast"][..],
            &["--seconds"],
            &["--seconds", "0"],
            &["--seconds", "61"],
            &["--stored", "9999"],
            &["--stored", "many"],
            &["--sqlite", "--postgres"],
        ] {
            assert!(Plan::parse(wrong).is_err(), "{wrong:?}");
        }
        assert!(task(&["orders"]).unwrap_err().to_string().contains("bench sessions"));
    }

    #[test]
    fn a_server_that_forgets_is_refused() {
        assert_eq!(unsafe_setting(&["server_version 15.1", "fsync on", "synchronous_commit on"]), None);
        assert_eq!(unsafe_setting(&["fsync on", "synchronous_commit off"]), Some("synchronous_commit off"));
        assert_eq!(unsafe_setting(&["fsync off"]), Some("fsync off"));
    }
}
