//! `cargo xtask package`: the domain crates as other teams get them.

pub(crate) mod public_api;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::command::{captured, cargo, finished, target_folder};
use crate::failure::{Context, Outcome};
use crate::layers::{self, workspace::Package};

/// Compares the public API of each domain crate with its `public-api.txt`, packs the crates as for a registry, builds each from its package, and runs their
/// tests and examples with every feature.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Writes public-api.txt of each domain crate, and nothing else: after a change of a public API that was meant
    #[arg(long)]
    record: bool,
    /// Says which changes since this commit call for a new major or minor version of a crate, and nothing else; `cargo-semver-checks` judges, which you install
    #[arg(long, value_name = "COMMIT", conflicts_with = "record")]
    semver: Option<String>,
}

pub(crate) fn task(options: &Options) -> Outcome<()> {
    let packages = layers::domain_packages()?;
    if let Some(commit) = &options.semver {
        return compare_versions(&packages, commit);
    }
    if options.record { public_api::record(&packages) } else { check(&packages) }
}

/// Not part of CI, where its build alone takes five minutes.
fn compare_versions(packages: &[Package], commit: &str) -> Outcome<()> {
    captured(cargo().args(["semver-checks", "--version"]))
        .context(|| "use cargo-semver-checks (`cargo install --locked cargo-semver-checks` brings it)".to_owned())?;
    let chosen = packages.iter().flat_map(|package| ["--package", package.name.as_str()]);
    finished(cargo().args(["semver-checks", "--baseline-rev", commit]).args(chosen))
}

fn check(packages: &[Package]) -> Outcome<()> {
    public_api::check(packages)?;
    let chosen: Vec<&str> = packages.iter().flat_map(|package| ["--package", package.name.as_str()]).collect();
    let folder = target_folder().join("package-check");
    forget_built(&folder, packages)?;
    // What is not committed yet is packed too: the same check serves a developer and CI.
    let mut pack = cargo();
    pack.args(["package", "--allow-dirty", "--all-features", "--quiet", "--target-dir"]).arg(&folder).args(&chosen);
    // Nothing of it runs.
    pack.args(["--config", "profile.dev.package.'*'.opt-level=0"]);
    finished(&mut pack)?;
    finished(cargo().args(["test", "--all-features", "--quiet"]).args(&chosen))?;
    packages.iter().try_for_each(run_examples)?;
    println!(
        "{} domain crates are packed, build from their packages, and keep their tests and examples",
        packages.len()
    );
    Ok(())
}

/// To cargo a packed crate never changes under its version. It unpacks the packages that it builds against each other below its home, and never again while a
/// folder of that name and version is there, and builds them once: an earlier check's would be taken for what is packed now.
fn forget_built(built: &Path, packages: &[Package]) -> Outcome<()> {
    if built.is_dir() {
        fs::remove_dir_all(built).context(|| format!("remove {}", built.display()))?;
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let Some(unpacked) = home.map(|home| home.join("registry/src")).filter(|folder| folder.is_dir()) else {
        return Ok(());
    };
    let told = |folder: &Path| format!("read {}", folder.display());
    for registry in fs::read_dir(&unpacked).context(|| told(&unpacked))? {
        let registry = registry.context(|| told(&unpacked))?.path();
        for package in packages {
            let folder = registry.join(format!("{}-{}", package.name, package.version));
            if folder.is_dir() {
                fs::remove_dir_all(&folder).context(|| format!("remove {}", folder.display()))?;
            }
        }
    }
    Ok(())
}

/// An example fails when what it shows is no longer true.
fn run_examples(package: &Package) -> Outcome<()> {
    package.examples().try_for_each(|example| {
        let mut command = cargo();
        command.args(["run", "--quiet", "--all-features", "--package", &package.name, "--example", example]);
        finished(command.stdout(std::process::Stdio::null()))
    })
}
