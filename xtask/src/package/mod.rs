//! `cargo xtask package`: the domain crates as other teams get them.

mod public_api;

use std::fs;
use std::process::{Command, Stdio};

use clap::Args;

use crate::command::{captured, cargo, finished, target_folder, workspace_root};
use crate::failure::{Context, Outcome};
use crate::layers::{self, workspace::Package};

/// Compares the public API of each domain crate with its `public-api.txt`, packs the crates as for a registry, compiles each alone from its package with every
/// feature, and runs their tests and examples.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Writes public-api.txt of each domain crate, and nothing else: after a change of a public API that was meant
    #[arg(long)]
    record: bool,
    /// Says which changes since this commit call for a new major or minor version of a crate, and nothing else; `cargo-semver-checks` judges, which you install
    #[arg(long, value_name = "COMMIT", conflicts_with = "record")]
    semver: Option<String>,
    /// Leaves tests and examples to the stages `build` and `tests` of `cargo xtask test`
    #[arg(long, conflicts_with_all = ["record", "semver"])]
    untested: bool,
}

pub(crate) fn task(options: &Options) -> Outcome<()> {
    let packages = layers::domain_packages()?;
    if let Some(commit) = &options.semver {
        return compare_versions(&packages, commit);
    }
    if options.record {
        return public_api::record(&packages);
    }
    public_api::check(&packages)?;
    check_packed(&packages)?;
    if options.untested {
        return Ok(());
    }
    let chosen = packages.iter().flat_map(|package| ["--package", package.name.as_str()]);
    finished(cargo().args(["test", "--all-features", "--quiet"]).args(chosen))?;
    run_examples(&packages)
}

/// Not part of CI, where its build alone takes five minutes.
fn compare_versions(packages: &[Package], commit: &str) -> Outcome<()> {
    captured(cargo().args(["semver-checks", "--version"]))
        .context(|| "use cargo-semver-checks (`cargo install --locked cargo-semver-checks` brings it)".to_owned())?;
    let chosen = packages.iter().flat_map(|package| ["--package", package.name.as_str()]);
    finished(cargo().args(["semver-checks", "--baseline-rev", commit]).args(chosen))
}

/// Packs the crates and compiles each alone from its package: a file or a dependency that it lacks is found. `cargo package` would do that in a target
/// folder of its own, in which every dependency is built anew; here they are those that the stage before has checked.
fn check_packed(packages: &[Package]) -> Outcome<()> {
    let chosen = packages.iter().flat_map(|package| ["--package", package.name.as_str()]);
    // What is not committed yet is packed too: the same check serves a developer and CI.
    finished(cargo().args(["package", "--no-verify", "--allow-dirty", "--quiet"]).args(chosen))?;
    let archives = target_folder().join("package");
    let unpacked = archives.join("unpacked");
    if unpacked.is_dir() {
        fs::remove_dir_all(&unpacked).context(|| format!("remove {}", unpacked.display()))?;
    }
    fs::create_dir_all(&unpacked).context(|| format!("create {}", unpacked.display()))?;
    for package in packages {
        let archive = archives.join(folder_of(package) + ".crate");
        captured(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&unpacked))?;
    }
    let root = workspace_root();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context(|| "read Cargo.toml".to_owned())?;
    let written = fs::write(unpacked.join("Cargo.toml"), workspace_of(packages, &manifest))
        .and_then(|()| fs::copy(root.join("Cargo.lock"), unpacked.join("Cargo.lock")));
    written.context(|| format!("write below {}", unpacked.display()))?;
    packages.iter().try_for_each(|package| {
        let mut check = cargo();
        check.args(["check", "--quiet", "--all-features", "--package", &package.name]).current_dir(&unpacked);
        finished(check.arg("--target-dir").arg(target_folder()))
    })?;
    println!("{} domain crates are packed, and each compiles alone from its package", packages.len());
    Ok(())
}

/// The manifest of a workspace of unpacked crates, which find each other as if they came from the registry; with the profiles of ours, so that their
/// dependencies are those that are there already.
fn workspace_of(packages: &[Package], ours: &str) -> String {
    let profiles = ours.find("\n[profile.").map_or("", |at| &ours[at..]);
    let patch = |package: &Package| format!("{} = {{ path = \"{}\" }}\n", package.name, folder_of(package));
    let patches: String = packages.iter().map(patch).collect();
    format!("[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\n{patches}{profiles}")
}

/// How a packed crate's archive and folder are called.
fn folder_of(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

/// Runs the examples of the domain crates as they were built just before: one fails when what it shows is no longer true.
pub(crate) fn run_examples(packages: &[Package]) -> Outcome<()> {
    for example in packages.iter().flat_map(Package::examples) {
        let program = target_folder().join("debug/examples").join(example);
        finished(Command::new(program).current_dir(workspace_root()).stdout(Stdio::null()))?;
        println!("the example {example} is true");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_crates_are_a_workspace_with_our_profiles() {
        let package = Package { name: "dropin-money".to_owned(), version: "1.2.3".to_owned(), ..Package::default() };
        let ours = fs::read_to_string(workspace_root().join("Cargo.toml")).unwrap();
        let table = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        let (ours, made) = (table(&ours), table(&workspace_of(&[package], &ours)));
        assert_eq!(made["profile"], ours["profile"]);
        assert_eq!(made["patch"]["crates-io"]["dropin-money"]["path"].as_str(), Some("dropin-money-1.2.3"));
        assert_eq!(made.len(), 3, "{made:?}");
    }
}
