//! `cargo xtask bench …`: how fast everything is, beside what the machine and simpler programs give. docs/PERFORMANCE.md explains it.

mod compare;
mod contracts;
pub(crate) mod deployment;
mod figures;
mod fill;
pub(crate) mod load;
pub(crate) mod notifier;
mod panel;
pub(crate) mod payments;
mod pgbench;
mod receiver;
mod risk;
pub(crate) mod run;
mod sessions;
mod statements;
mod throughput;
mod usage;

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Instant;

use clap::{Args, Subcommand, value_parser};

use crate::command::{cargo, finished, succeeds, target_folder};
use crate::failure::{Failure, Outcome};
use crate::postgres;
use crate::programs::{Build, Programs};
use crate::test::install::{Need, answers, provide};
use compare::Rounds;
use deployment::Database;

/// What is measured. Each bench builds what it needs, installs the tools that the machine lacks, starts a PostgreSQL of its own and removes
/// everything again. Use a machine that does nothing else.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// How fast Sessions are, beside what the machine gives
    Sessions(sessions::Options),
    /// How many whole payments per second, and what each costs
    Payments(payments::Options),
    /// How many charges of contracts per second, beside checkouts by card, and how fast contracts are listed
    Contracts(contracts::Options),
    /// What screening stops, whom it bothers, and what it costs a payment
    Risk(risk::Options),
    /// How fast the admin panel's pages are with very many Orders, and what payments beside them lose
    Panel(panel::Options),
    /// How fast notifications are delivered, and what happens to them when things go wrong
    Notifier(notifier::Options),
    /// How often per second a merchant's exchange rates are shown
    ///
    /// Asks for one merchant's guaranteed rates, 60 currencies, as fast as answers come, over 32 connections: on PostgreSQL with
    /// session-api and settler, on SQLite with the all-in-one.
    Rates(RunOptions),
    /// How many cards per second the stash takes
    ///
    /// Stashes cards as fast as answers come, over 32 connections, each another browser's: on PostgreSQL with stash-api, on SQLite
    /// with the all-in-one. Every card is encrypted, checked and on the disk before its answer; afterwards the database must hold
    /// every one that was answered.
    Stash(RunOptions),
}

pub(crate) fn task(task: &Task) -> Outcome<()> {
    match task {
        Task::Sessions(options) => sessions::task(options),
        Task::Payments(options) => payments::task(options),
        Task::Contracts(options) => contracts::task(options),
        Task::Risk(options) => risk::task(options),
        Task::Panel(options) => panel::task(options),
        Task::Notifier(options) => notifier::task(options),
        Task::Rates(options) => throughput::task(options, &throughput::RATES),
        Task::Stash(options) => throughput::task(options, &throughput::STASH),
    }
}

// The options that choose the databases. No doc comment: clap would take it for that of the task.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DatabaseOptions {
    /// Only on PostgreSQL
    #[arg(long, conflicts_with = "sqlite")]
    postgres: bool,
    /// Only on SQLite
    #[arg(long)]
    sqlite: bool,
    /// Runs the programs as they were built last
    #[arg(long)]
    pub(crate) skip_build: bool,
}

impl DatabaseOptions {
    pub(crate) fn databases(self) -> Vec<Database> {
        let chosen = [(Database::Postgres, !self.sqlite), (Database::Sqlite, !self.postgres)];
        chosen.into_iter().filter(|(_, is_chosen)| *is_chosen).map(|(database, _)| database).collect()
    }
}

// The options of a bench whose runs take some seconds each.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) databases: DatabaseOptions,
    /// Length of one run, 1 to 60 [default: 8; 10 for payments]; everything is run 3 times
    #[arg(long, value_parser = value_parser!(u32).range(1..=60))]
    seconds: Option<u32>,
    /// One short run of little: tries the bench, measures nothing
    #[arg(long)]
    pub(crate) quick: bool,
}

impl RunOptions {
    /// Three runs of so many seconds, one of which is quick, unless told otherwise.
    fn rounds(self, seconds: u32, quick: u32) -> Rounds {
        let (seconds, count) = if self.quick { (quick, 1) } else { (seconds, 3) };
        Rounds { seconds: self.seconds.unwrap_or(seconds), count }
    }
}

/// What runs and reads both databases.
const DATABASE_NEEDS: [Need; 3] = [
    Need { what: "a PostgreSQL server", packages: &["postgresql"], is_there: postgres::is_installed },
    Need { what: "psql and pgbench", packages: &["postgresql"], is_there: has_clients },
    Need { what: "the SQLite shell", packages: &["sqlite3"], is_there: || answers("sqlite3", "-version") },
];

/// The load generator of the benches that send one kind of request.
const WRK: Need = Need { what: "wrk", packages: &["wrk"], is_there: has_wrk };

/// Above this, something else is running.
const IDLE_LOAD: f64 = 0.3;

/// This tool, where its own threads are part of what is measured.
const SELF: &str = "xtask";

/// Installs what is missing of `needs` and of [`DATABASE_NEEDS`], builds programs and has `work` done beside a PostgreSQL; fails with the
/// promises that it found broken.
pub(crate) fn run_with(
    build: Build,
    skip_build: bool,
    needs: &[Need],
    programs: &[&str],
    work: impl FnOnce(&mut Programs) -> Outcome<Vec<String>>,
) -> Outcome<()> {
    provide(&DATABASE_NEEDS)?;
    provide(needs)?;
    if !skip_build {
        let mut command = cargo();
        command.arg("build").args(programs.iter().flat_map(|name| ["-p", name]));
        finished(command.args(matches!(build, Build::Release).then_some("--release")))?;
    }
    if cfg!(debug_assertions) && programs.contains(&SELF) {
        // Receivers and writers are part of this program: they must not be slower than what they measure.
        let mut optimized = Command::new(target_folder().join("release").join(SELF));
        let failed = optimized.args(std::env::args_os().skip(1)).args((!skip_build).then_some("--skip-build")).exec();
        return Err(Failure::new(format!("cannot start {}: {failed}", optimized.get_program().display())));
    }
    let since = Instant::now();
    let mut bench = Programs::start_with_postgres("bench", build)?;
    let done = work(&mut bench);
    let ended = bench.finish();
    let broken = done?;
    ended?;
    println!("\nThe run took {:.0} s.", since.elapsed().as_secs_f64());
    if broken.is_empty() { Ok(()) } else { Err(Failure::new(broken.join("\n"))) }
}

/// Prints what the figures depend on; refuses a server that would not keep what it has promised.
fn describe(bench: &Programs) -> Outcome<()> {
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
    let is_off =
        |setting: &&str| setting.split_once(' ').is_some_and(|(name, value)| matters.contains(&name) && value != "on");
    settings.iter().copied().find(is_off)
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
        let databases = |postgres, sqlite| DatabaseOptions { postgres, sqlite, skip_build: false };
        assert_eq!(databases(false, false).databases(), [Database::Postgres, Database::Sqlite]);
        assert_eq!(databases(true, false).databases(), [Database::Postgres]);
        assert_eq!(databases(false, true).databases(), [Database::Sqlite]);
        let rounds = |seconds, quick| RunOptions { databases: databases(false, false), seconds, quick }.rounds(8, 1);
        assert_eq!(rounds(None, false), Rounds { seconds: 8, count: 3 });
        assert_eq!(rounds(Some(3), true), Rounds { seconds: 3, count: 1 });
        assert_eq!(rounds(None, true), Rounds { seconds: 1, count: 1 });
    }

    #[test]
    fn a_server_that_forgets_is_refused() {
        assert_eq!(unsafe_setting(&["server_version 15.1", "fsync on", "synchronous_commit on"]), None);
        assert_eq!(unsafe_setting(&["fsync on", "synchronous_commit off"]), Some("synchronous_commit off"));
        assert_eq!(unsafe_setting(&["fsync off"]), Some("fsync off"));
    }
}
