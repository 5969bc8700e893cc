//! `cargo xtask browser`: the tests of the drop-in, and those of them that take too long for CI.

use std::process::Command;

use clap::Args;

use crate::command::workspace_root;
use crate::failure::Outcome;
use crate::test::install;
use crate::test::run::Run;

/// The drop-in's own tests (`npm test` in crates/browser): Chromium, and a fixed part in Firefox and WebKit. The stage `browser` of
/// `cargo xtask test` is the same.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// In their place `npm run every`: all tests in all three engines, and axe in every language, scheme and state. Two hours on two cores
    #[arg(long)]
    all: bool,
}

pub(crate) fn task(options: &Options) -> Outcome<()> {
    install::install()?;
    let mut run = Run::new()?;
    let script = if options.all { "every" } else { "test" };
    let folder = workspace_root().join("crates/browser");
    let result = run.tests(Command::new("npm").args(["run", script]).current_dir(folder));
    let left = run.prove_nothing_is_left();
    result.and(left)
}
