//! `cargo xtask canary`: two hundred card numbers go through everything and are found nowhere afterwards.

use clap::Args;

use crate::command::cargo;
use crate::failure::Outcome;
use crate::test::install;
use crate::test::run::Run;

/// Sends 200 card numbers (the published test numbers, and more in the range of the first of them) through everything that a
/// card can go through, right and wrong, with the programs at debug level, on SQLite and on a PostgreSQL of its own. Then it
/// searches answers, notifications, logs, data folders, the dump, PostgreSQL's folder and its write-ahead log for every number
/// in every spelling (plain, grouped, hexadecimal, base64, percent-encoded, UTF-16 and others), finds none, and proves that it
/// would have: with one that it plants itself. `cargo xtask test` does the same with 20 numbers on SQLite. A few minutes.
#[derive(Args, Debug)]
pub(crate) struct Options {}

pub(crate) fn task() -> Outcome<()> {
    install::install()?;
    let mut run = Run::new()?;
    let result = search(&mut run);
    let left = run.prove_nothing_is_left();
    result.and(left)
}

fn search(run: &mut Run) -> Outcome<()> {
    run.tool(cargo().args(["build", "--workspace", "--bins"]))?;
    run.start_postgres()?;
    let test = ["test", "--package", "dropin-tests", "--test", "e2e", "--", "canary", "--include-ignored"];
    // One after the other: the second would search what the first is still writing.
    run.tests(cargo().args(test).args(["--test-threads", "1", "--nocapture"]))
}
