//! `cargo xtask …`: the developer's tool. `cargo xtask help` lists what it does.

mod account;
mod bench;
mod canary;
mod command;
mod docs;
mod failure;
mod fuzz;
mod history;
mod http1;
mod layers;
mod openapi;
mod pg;
mod postgres;
mod programs;
mod test;
mod torture;

use std::process::ExitCode;

use failure::{Failure, Outcome};

const HELP: &str = "\
cargo xtask test            every check and test; installs what the machine lacks (`cargo xtask test --help`)
cargo xtask bench sessions  how fast Sessions are, beside what the machine gives (`cargo xtask bench --help`)
cargo xtask bench payments  how many whole payments per second, and what each costs
cargo xtask bench notifier  how fast notifications are delivered, and what happens to them when things go wrong
cargo xtask bench rates     how often per second a merchant's exchange rates are shown
cargo xtask bench stash     how many cards per second the stash takes
cargo xtask docs            writes docs/errors.md, docs/state-machines.md and docs/payment-methods.md from the code
cargo xtask openapi         writes docs/openapi from the code and what the running service answers
cargo xtask fuzz-api        schemathesis against the running service (`cargo xtask fuzz-api --help`)
cargo xtask canary          200 card numbers go through everything and are found nowhere (`cargo xtask canary --help`)
cargo xtask torture         kills the notifier and PostgreSQL for minutes, and meets receivers that mean harm (`cargo xtask torture --help`)
cargo xtask layers          does every package keep to its layer? (layers.toml)
cargo xtask pg start        a throw-away PostgreSQL for single tests; prints the line to paste into your shell
cargo xtask pg stop         stops it and removes its data
cargo xtask help            this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nxtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Outcome<()> {
    match words {
        ["test", options @ ..] => test::task(options),
        ["bench", options @ ..] => bench::task(options),
        ["canary", options @ ..] => canary::task(options),
        ["docs"] => docs::write(),
        ["openapi"] => openapi::write(),
        ["fuzz-api", options @ ..] => fuzz::task(options),
        ["torture", options @ ..] => torture::task(options),
        ["layers"] => layers::check(),
        ["pg", "start"] => pg::start(),
        ["pg", "stop"] => pg::stop(),
        [test::guard::TASK, marker] => test::guard::run(marker),
        [bench::payments::payer::TASK] => bench::payments::payer::run(),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(Failure::new(format!("no such task: `{}`\n\n{HELP}", words.join(" ")))),
    }
}
