//! `cargo xtask …`: the developer's tool. `cargo xtask help` lists what it does.

mod bench;
mod browser;
mod canary;
mod command;
mod docs;
mod doctor;
mod failure;
mod fuzz;
mod history;
mod http1;
mod layers;
mod localstripe;
mod package;
mod postgres;
mod processes;
mod programs;
mod python;
mod supply;
mod test;
mod torture;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Outcome;

/// The developer's tool.
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct CommandLine {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Every check and test; installs what the machine lacks
    Test(test::Options),
    /// What this machine lacks for the tests, and how to get it; installs nothing
    Doctor,
    /// The drop-in's tests; with --all in every language and engine
    Browser(browser::Options),
    /// How fast everything is, and what it costs
    #[command(subcommand)]
    Bench(bench::Task),
    /// Writes the generated pages of docs from the code: errors, state machines, methods, settings, metrics
    Docs,
    /// Writes docs/openapi from the code and what the running service answers; the services embed it, so build them again
    Openapi,
    /// Schemathesis against the running service
    FuzzApi(fuzz::Options),
    /// 200 card numbers go through everything and are found nowhere
    Canary(canary::Options),
    /// Kills the notifier and PostgreSQL for minutes, and meets receivers that mean harm
    Torture(torture::Options),
    /// May every dependency be there? (deny.toml; advisories where cargo-deny is installed)
    Deny,
    /// Writes what the programs are made of, as CycloneDX 1.5
    Sbom { file: Option<PathBuf> },
    /// Are the domain crates fit for other teams? Their public APIs are the recorded ones; they are packed, built, tested
    Package(package::Options),
    /// Does every package keep to its layer? (layers.toml)
    Layers,
    /// A throw-away PostgreSQL for single tests
    #[command(subcommand)]
    Pg(postgres::Task),
    /// Ends what a run started when that run's pipe closes
    #[command(name = test::guard::TASK, hide = true)]
    Guard { marker: String },
}

fn main() -> ExitCode {
    match run(CommandLine::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nxtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Outcome<()> {
    match task {
        Task::Test(options) => test::task(options),
        Task::Doctor => doctor::check(),
        Task::Browser(options) => browser::task(&options),
        Task::Bench(bench) => bench::task(&bench),
        Task::Docs => docs::write_pages(),
        Task::Openapi => docs::write_openapi(),
        Task::FuzzApi(options) => fuzz::task(&options),
        Task::Canary(_) => canary::task(),
        Task::Torture(options) => torture::task(&options),
        Task::Deny => supply::deny(),
        Task::Sbom { file } => supply::write(file),
        Task::Package(options) => package::task(&options),
        Task::Layers => layers::check(),
        Task::Pg(task) => postgres::task(&task),
        Task::Guard { marker } => test::guard::run(&marker),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::command::workspace_root;

    /// What a command line asks for; the words of the refusal when it is refused.
    fn parsed(words: &str) -> Result<Task, String> {
        let line = CommandLine::try_parse_from(["xtask"].into_iter().chain(words.split_whitespace()));
        line.map(|line| line.task).map_err(|error| error.to_string())
    }

    /// The documents of the root and of these folders.
    fn documents() -> Vec<PathBuf> {
        let folders = ["", "docs", "docs/design", "docs/adr", "xtask"].map(|folder| workspace_root().join(folder));
        let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
    }

    /// The words behind `cargo xtask` and `release/xtask` in a text, up to what ends a command line: a quote, a bracket, a cell, a comment.
    fn command_lines(text: &str) -> impl Iterator<Item = &str> {
        let starts = ["cargo xtask ", "release/xtask "];
        let after = text.lines().flat_map(move |line| starts.into_iter().flat_map(|start| line.split(start).skip(1)));
        after.map(|rest| {
            rest.split(['`', ')', '|', '#']).next().unwrap_or_default().split("  ").next().unwrap_or_default()
        })
    }

    #[test]
    fn every_documented_command_line_is_understood() {
        let (mut checked, mut unknown) = (0, Vec::new());
        for path in documents() {
            let text = std::fs::read_to_string(&path).unwrap();
            for words in command_lines(&text).filter(|words| *words != "help") {
                checked += 1;
                let refusal = parsed(words).err().map(|why| format!("{}: {words}: {why}", path.display()));
                unknown.extend(refusal);
            }
        }
        assert!(60 < checked, "only {checked} were found: this test looks in the wrong place");
        assert!(unknown.is_empty(), "xtask does not understand:\n{}", unknown.join("\n"));
    }

    #[test]
    fn a_command_line_ends_where_the_prose_goes_on() {
        let text = "Run `cargo xtask a --b c`, then\n$(cargo xtask d)\" x\ncargo xtask e --f    words\n| cargo xtask g | `target/release/xtask h`\n\
                    cargo xtask i # j";
        assert_eq!(command_lines(text).map(str::trim).collect::<Vec<_>>(), ["a --b c", "d", "e --f", "g", "h", "i"]);
    }

    #[test]
    fn the_options_do_not_contradict_each_other() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [
            "test --only lint",
            "test --only",
            "test --fast",
            "test --list=yes",
            "browser --every",
            "bench orders",
            "bench sessions --seconds 0",
            "bench sessions --seconds 61",
            "bench sessions --stored 9999",
            "bench sessions --stored many",
            "bench sessions --sqlite --postgres",
            "bench payments --clients 0",
            "bench payments --clients 401",
            "bench payments --merchants 17",
            "bench payments --seconds",
            "bench notifier --only x",
            "bench notifier --only",
            "bench notifier --seconds 2",
            "bench notifier --events 1",
            "bench rates --postgres --sqlite",
            "bench stash --fast",
            "fuzz-api --service settler",
            "fuzz-api --seed x",
            "torture --minutes 0",
            "torture --minutes 121",
            "torture notifier hostile",
            "torture --postgres --sqlite",
            "torture everything",
            "package dropin-money",
            "pg",
        ] {
            assert!(parsed(words).is_err(), "{words}: {:?}", parsed(words));
        }
        assert!(parsed("test --only lint").unwrap_err().contains("install, fmt, layers"));
    }
}
