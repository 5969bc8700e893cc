//! `cargo xtask docs`: writes the pages of docs that are generated from the code.

use crate::command::{cargo, workspace_root};
use crate::failure::{Context, Failure, Outcome};

/// Runs the test that compares docs/errors.md, docs/state-machines.md and docs/payment-methods.md, told to write them instead.
pub(crate) fn write() -> Outcome<()> {
    let mut command = cargo();
    command.args(["test", "--package", "dropin-tests", "--test", "generated"]).env("DROPIN_REGENERATE", "1");
    let status = command.status().context(|| "start cargo".to_owned())?;
    if !status.success() {
        return Err(Failure::new(format!("the pages could not be made ({status}); the test's words stand above")));
    }
    println!("written below {}", workspace_root().join("docs").display());
    Ok(())
}
