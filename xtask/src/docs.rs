//! `cargo xtask docs` and `cargo xtask openapi`: write the documents that are generated from the code.

use crate::command::{cargo, finished, workspace_root};
use crate::failure::Outcome;

/// Writes docs/errors.md, docs/state-machines.md, docs/payment-methods.md and docs/operator-roles.md, then docs/settings.md and docs/metrics.md.
pub(crate) fn write_pages() -> Outcome<()> {
    write(&["--package", "dropin-tests", "--test", "generated"], "docs")?;
    write(&["--package", "dropin", "--test", "cli", "documents::the_page"], "docs")
}

/// Writes docs/openapi, by what the code says and what the running service answers.
pub(crate) fn write_openapi() -> Outcome<()> {
    finished(cargo().args(["build", "--package", "dropin"]).env(REGENERATE, "1"))?;
    write(
        &["--package", "dropin-tests", "--test", "openapi", "documents_show_what_the_running_service_does"],
        "docs/openapi",
    )
}

/// Tells a test that compares a document with the code to write it instead.
const REGENERATE: &str = "DROPIN_REGENERATE";

fn write(test: &[&str], folder: &str) -> Outcome<()> {
    finished(cargo().arg("test").args(test).env(REGENERATE, "1"))?;
    println!("written below {}", workspace_root().join(folder).display());
    Ok(())
}
