//! `cargo xtask package`: the domain crates as other teams get them.

use crate::command::{cargo, finished};
use crate::failure::Outcome;
use crate::layers::{self, workspace::Package};

/// Packs every domain crate and builds each from its package with every feature, runs their tests with every feature, and their examples.
pub(crate) fn check() -> Outcome<()> {
    let packages = layers::domain_packages()?;
    let chosen: Vec<&str> = packages.iter().flat_map(|package| ["--package", package.name.as_str()]).collect();
    // What is not committed yet is packed too: the same check serves a developer and CI.
    finished(cargo().args(["package", "--allow-dirty", "--all-features", "--quiet"]).args(&chosen))?;
    finished(cargo().args(["test", "--all-features", "--quiet"]).args(&chosen))?;
    packages.iter().try_for_each(run_examples)?;
    println!(
        "{} domain crates are packed, build from their packages, and keep their tests and examples",
        packages.len()
    );
    Ok(())
}

/// An example fails when what it shows is no longer true.
fn run_examples(package: &Package) -> Outcome<()> {
    package.examples.iter().try_for_each(|example| {
        let mut command = cargo();
        command.args(["run", "--quiet", "--all-features", "--package", &package.name, "--example", example]);
        finished(command.stdout(std::process::Stdio::null()))
    })
}
