//! `cargo xtask …`: the developer's tool. `cargo xtask help` lists what it does.

mod account;
mod command;
mod failure;
mod layers;
mod pg;
mod postgres;

use std::process::ExitCode;

use failure::{Failure, Outcome};

const HELP: &str = "\
cargo xtask pg start        a throw-away PostgreSQL for single tests; prints the line to paste into your shell
cargo xtask pg stop         stops it and removes its data
cargo xtask layers          does every package keep to its layer? (layers.toml)
cargo xtask help            this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Outcome<()> {
    match words {
        ["pg", "start"] => pg::start(),
        ["pg", "stop"] => pg::stop(),
        ["layers"] => layers::check(),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(Failure::new(format!("no such task: `{}`\n\n{HELP}", words.join(" ")))),
    }
}
