//! `cargo xtask test`: everything that must hold before a change lands, on a bare Debian with a Rust toolchain.

mod changed;
pub(crate) mod disk_space;
mod failed_tests;
pub(crate) mod guard;
pub(crate) mod install;
pub(crate) mod run;
mod stages;

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::failure::{Failure, Outcome};
use changed::Scope;
use run::Run;
use stages::{STAGES, Stage};

/// Runs every check and test of this repository. It installs what the machine lacks (as root or with sudo, saying what it
/// does), starts a PostgreSQL of its own and removes it again. The first stage that fails ends the run.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// These stages alone
    #[arg(long, value_name = "STAGE", value_delimiter = ',')]
    #[arg(value_parser = PossibleValuesParser::new(STAGES.map(|stage| stage.name)))]
    only: Vec<String>,
    /// Formatting, layers, lints and tests of the packages that differ from where this branch left BASE (`main` unless named), and
    /// of those that depend on them: uncommitted and new files count. The end-to-end tests run when a program changed. When nothing
    /// but documents changed, their tests alone run; when a file changed that every package depends on (Cargo.lock), all packages
    /// are tested. It installs nothing: see `cargo xtask doctor`. Run `cargo xtask test` before a change lands.
    #[arg(long, value_name = "BASE", num_args = 0..=1, require_equals = true, default_missing_value = "main")]
    changed: Option<String>,
    /// The stages and what they do
    #[arg(long)]
    list: bool,
}

pub(crate) fn task(options: Options) -> Outcome<()> {
    if options.list {
        STAGES.iter().for_each(|stage| println!("{:<10} {}", stage.name, stage.what));
        return Ok(());
    }
    let scope = options.changed.as_deref().map(Scope::since).transpose()?;
    let is_needed = |stage: &Stage| scope.as_ref().is_none_or(|scope| scope.stages().contains(&stage.name));
    let stages: Vec<&Stage> = STAGES.iter().filter(|stage| options.wants(stage.name) && is_needed(stage)).collect();
    if let Some(scope) = &scope {
        println!("{}", scope.description());
    }
    if stages.is_empty() {
        println!("there is nothing to run");
        return Ok(());
    }
    let changed = options.changed.map_or_else(String::new, |base| format!(" --changed={base}"));
    run_all(&stages, scope.unwrap_or_default(), &changed)
}

/// Whether a stage has this name.
#[cfg(test)]
fn is_stage(name: &str) -> bool {
    STAGES.iter().any(|stage| stage.name == name)
}

impl Options {
    fn wants(&self, stage: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == stage)
    }
}

/// Whether a stage passed, and how long it took.
type Ending = (bool, Duration);

/// `changed`: the option that chose the scope, for the command that repeats the run.
fn run_all(stages: &[&Stage], scope: Scope, changed: &str) -> Outcome<()> {
    let mut run = Run::new()?;
    run.scope = scope;
    let mut endings = Vec::new();
    let mut result = Ok(());
    if let Some(warning) = disk_space::free().and_then(disk_space::warning) {
        println!("{warning}");
    }
    for (index, stage) in stages.iter().enumerate() {
        println!("\n== {} ({} of {}): {}", stage.name, index + 1, stages.len(), stage.what);
        let start = Instant::now();
        result = (stage.run)(&mut run);
        // What our children print goes to the same place: keep the order.
        let _ = std::io::stdout().flush();
        let took = start.elapsed();
        endings.push((result.is_ok(), took));
        println!("== {}: {:.1} s{}", stage.name, took.as_secs_f64(), disk_space::summary(disk_space::free()));
        if result.is_err() {
            break;
        }
    }
    drop(run);
    print!("\n{}", summary(stages, &endings));
    result.map_err(|failure| {
        let alone = stages[endings.len() - 1].alone;
        let room =
            disk_space::free().and_then(disk_space::advice).map_or_else(String::new, |advice| format!("\n\n{advice}"));
        Failure::new(format!("{failure}{room}\n\nto run just this again: cargo xtask test{changed} --only {alone}"))
    })
}

/// A table of all stages, those not reached included.
fn summary(stages: &[&Stage], endings: &[Ending]) -> String {
    let mut text = String::new();
    let mut total = Duration::ZERO;
    for (index, stage) in stages.iter().enumerate() {
        let (word, took) = match endings.get(index) {
            Some((is_passed, took)) => (if *is_passed { "passed" } else { "FAILED" }, *took),
            None => ("not run", Duration::ZERO),
        };
        total += took;
        text += &format!("{:<10} {word:<8} {:>8.1} s\n", stage.name, took.as_secs_f64());
    }
    text + &format!("{:<10} {:<8} {:>8.1} s\n", "all", "", total.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn options(words: &str) -> Options {
        Line::parse_from(["test"].into_iter().chain(words.split_whitespace())).options
    }

    #[test]
    fn reads_the_stages_to_run() {
        let options = options("--only fmt,clippy --only=tests");
        let wanted: Vec<&str> = STAGES.iter().map(|stage| stage.name).filter(|name| options.wants(name)).collect();
        assert_eq!(wanted, ["fmt", "clippy", "tests"]);
    }

    #[test]
    fn what_changed_is_held_against_main_unless_another_base_is_named() {
        assert_eq!(options("--changed").changed.as_deref(), Some("main"));
        assert_eq!(options("--changed=origin/next").changed.as_deref(), Some("origin/next"));
        assert_eq!(options("").changed, None);
    }

    #[test]
    fn what_a_stage_needs_to_run_alone_exists_and_contains_it() {
        for stage in &STAGES {
            let options = options(&format!("--only {}", stage.alone));
            assert!(options.wants(stage.name), "{}", stage.name);
        }
    }

    #[test]
    fn the_summary_names_what_failed_and_what_was_not_reached() {
        let stages: Vec<&Stage> = STAGES[..3].iter().collect();
        let second = Duration::from_secs(1);
        let text = summary(&stages, &[(true, second), (false, second)]);
        let words: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(words, ["passed", "FAILED", "not", "2.0"]);
    }
}
