//! `cargo xtask torture …`: what `cargo xtask test` does for seconds, for minutes.

mod notifier;
mod restarts;

use std::time::Duration;

use clap::{Args, ValueEnum, value_parser};

use crate::bench::DatabaseOptions;
use crate::bench::deployment::Database;
use crate::command::{cargo, finished};
use crate::failure::{Failure, Outcome};

/// Does for minutes what `cargo xtask test` does for seconds.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[arg(value_enum, default_value = "all")]
    part: Part,
    #[command(flatten)]
    databases: DatabaseOptions,
    /// Length of each part, 1 to 120
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u64).range(1..=120))]
    minutes: u64,
    /// So many restarts, 1 to 1000
    #[arg(long, default_value_t = 30, value_parser = value_parser!(u64).range(1..=1_000))]
    restarts: u64,
    /// Seconds for which a program goes on after it was told to stop, 0 to 60
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u64).range(0..=60))]
    drain_delay: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Part {
    /// Writes notifications while endpoints answer 500 to a tenth of all tries, and kills notifiers (kill -9) and PostgreSQL
    /// (pg_ctl restart -m immediate) at random moments: two notifiers on PostgreSQL, the all-in-one on SQLite. Fails when a
    /// notification is lost, when one comes before its turn for the first time, or when more come twice than were under way
    Notifier,
    /// Receivers that drip, flood, stall and lie, again and again: memory and slots must stay within their limits
    Hostile,
    /// Restarts two programs behind haproxy, with its default checks, in turn, while shoppers pay on PostgreSQL. Fails when a
    /// request does. Not part of all: it needs haproxy
    Restarts,
    /// The notifier and the hostile receivers
    All,
}

impl Options {
    fn time(&self) -> Duration {
        Duration::from_secs(60 * self.minutes)
    }
}

pub(crate) fn task(options: &Options) -> Outcome<()> {
    let Options { part, databases, .. } = options;
    if *part == Part::Restarts && !databases.databases().contains(&Database::Postgres) {
        return Err(Failure::new("`restarts` needs PostgreSQL, which serves several programs: leave --sqlite out"));
    }
    if matches!(part, Part::Notifier | Part::All) {
        notifier::run(options)?;
    }
    if matches!(part, Part::Hostile | Part::All) {
        // The notifier's own tests do it, in their long form.
        let suite = ["test", "-p", "notifier", "--test", "hostile", "--", "--ignored", "--nocapture"];
        finished(cargo().args(suite).env("HOSTILE_SECONDS", options.time().as_secs().to_string()))?;
    }
    if *part == Part::Restarts { restarts::run(options) } else { Ok(()) }
}
