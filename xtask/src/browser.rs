//! `cargo xtask browser`: the tests of the drop-in that take too long for CI.

use std::process::Command;

use crate::command::workspace_root;
use crate::failure::Outcome;
use crate::test::install;
use crate::test::run::Run;

pub(crate) fn task() -> Outcome<()> {
    install::install()?;
    let mut run = Run::new()?;
    let folder = workspace_root().join("crates/browser");
    let result = run.tests(Command::new("npm").args(["run", "every"]).current_dir(folder));
    let left = run.prove_nothing_is_left();
    result.and(left)
}
