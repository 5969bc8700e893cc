//! `cargo xtask test`: everything that must hold before a change lands, on a bare Debian with a Rust toolchain.

pub(crate) mod guard;
pub(crate) mod install;
pub(crate) mod processes;
mod room;
pub(crate) mod run;
mod stages;

use std::io::Write;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use run::Run;
use stages::{STAGES, Stage};

/// What `cargo xtask test --help` prints.
pub(crate) const HELP: &str = "\
cargo xtask test [--only STAGE[,STAGE]…] [--skip-install] [--list]

Runs every check and test of this repository. It installs what the machine lacks (as root or with sudo, saying what it
does), starts a PostgreSQL of its own and removes it again. The first stage that fails ends the run.

  --only           these stages alone
  --skip-install   all but `install`
  --list           the stages and what they do
";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Options {
    only: Vec<String>,
    skip_install: bool,
    list: bool,
    help: bool,
}

/// Runs the task.
pub(crate) fn task(arguments: &[&str]) -> Outcome<()> {
    let options = Options::parse(arguments)?;
    if options.help {
        print!("{HELP}");
        return Ok(());
    }
    if options.list {
        STAGES.iter().for_each(|stage| println!("{:<10} {}", stage.name, stage.what));
        return Ok(());
    }
    let stages: Vec<&Stage> = STAGES.iter().filter(|stage| options.wants(stage.name)).collect();
    run_all(&stages)
}

impl Options {
    fn parse(arguments: &[&str]) -> Outcome<Self> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.split_once('=').unwrap_or((argument, "")) {
                ("--only", "") => options.add_stages(arguments.next().copied().unwrap_or_default())?,
                ("--only", names) => options.add_stages(names)?,
                ("--skip-install", "") => options.skip_install = true,
                ("--list", "") => options.list = true,
                ("--help" | "-h", "") => options.help = true,
                _ => return Err(Failure::new(format!("`{argument}` is no option of this task\n\n{HELP}"))),
            }
        }
        Ok(options)
    }

    fn add_stages(&mut self, names: &str) -> Outcome<()> {
        for name in names.split(',') {
            if !STAGES.iter().any(|stage| stage.name == name) {
                let known = STAGES.map(|stage| stage.name).join(", ");
                return Err(Failure::new(format!("`{name}` is no stage; the stages are {known}")));
            }
            self.only.push(name.to_owned());
        }
        Ok(())
    }

    fn wants(&self, stage: &str) -> bool {
        if self.skip_install && stage == "install" {
            return false;
        }
        self.only.is_empty() || self.only.iter().any(|name| name == stage)
    }
}

/// How a stage went, and how long it took.
enum Ending {
    Passed(Duration),
    Failed(Duration),
}

fn run_all(stages: &[&Stage]) -> Outcome<()> {
    let mut run = Run::new()?;
    let mut endings = Vec::new();
    let mut result = Ok(());
    if let Some(warning) = room::free().and_then(room::warning) {
        println!("{warning}");
    }
    for (index, stage) in stages.iter().enumerate() {
        println!("\n== {} ({} of {}): {}", stage.name, index + 1, stages.len(), stage.what);
        let start = Instant::now();
        result = (stage.run)(&mut run);
        // What our children print goes to the same place: keep the order.
        let _ = std::io::stdout().flush();
        let took = start.elapsed();
        endings.push(if result.is_ok() { Ending::Passed(took) } else { Ending::Failed(took) });
        println!("== {}: {:.1} s{}", stage.name, took.as_secs_f64(), room::told(room::free()));
        if result.is_err() {
            break;
        }
    }
    drop(run);
    print!("\n{}", summary(stages, &endings));
    result.map_err(|failure| {
        let alone = stages[endings.len() - 1].alone;
        let room = room::free().and_then(room::advice).map_or_else(String::new, |advice| format!("\n\n{advice}"));
        Failure::new(format!("{failure}{room}\n\nto run just this again: cargo xtask test --only {alone}"))
    })
}

/// A table of all stages, those not reached included.
fn summary(stages: &[&Stage], endings: &[Ending]) -> String {
    let mut text = String::new();
    let mut total = Duration::ZERO;
    for (index, stage) in stages.iter().enumerate() {
        let (word, took) = match endings.get(index) {
            Some(Ending::Passed(took)) => ("passed", *took),
            Some(Ending::Failed(took)) => ("FAILED", *took),
            None => ("not run", Duration::ZERO),
        };
        total += took;
        text += &format!("{:<10} {word:<8} {:>8.1} s\n", stage.name, took.as_secs_f64());
    }
    text + &format!("{:<10} {:<8} {:>8.1} s\n", "all", "", total.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_stages_to_run() {
        let options = Options::parse(&["--only", "fmt,clippy", "--only=tests"]).unwrap();
        let wanted: Vec<&str> = STAGES.iter().map(|stage| stage.name).filter(|name| options.wants(name)).collect();
        assert_eq!(wanted, ["fmt", "clippy", "tests"]);
    }

    #[test]
    fn skips_the_installation_only() {
        let options = Options::parse(&["--skip-install"]).unwrap();
        assert!(!options.wants("install") && STAGES[1..].iter().all(|stage| options.wants(stage.name)));
    }

    #[test]
    fn an_unknown_stage_or_option_is_refused_with_the_known_ones() {
        assert!(Options::parse(&["--only", "lint"]).unwrap_err().to_string().contains("install, fmt, layers"));
        assert!(Options::parse(&["--only"]).is_err());
        assert!(Options::parse(&["--fast"]).unwrap_err().to_string().contains("--skip-install"));
        assert!(Options::parse(&["--list=yes"]).is_err());
    }

    #[test]
    fn what_a_stage_needs_to_run_alone_exists_and_contains_it() {
        for stage in &STAGES {
            let options = Options::parse(&["--only", stage.alone]).unwrap();
            assert!(options.wants(stage.name), "{}", stage.name);
        }
    }

    #[test]
    fn the_summary_names_what_failed_and_what_was_not_reached() {
        let stages: Vec<&Stage> = STAGES[..3].iter().collect();
        let second = Duration::from_secs(1);
        let text = summary(&stages, &[Ending::Passed(second), Ending::Failed(second)]);
        let words: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(words, ["passed", "FAILED", "not", "2.0"]);
    }
}
