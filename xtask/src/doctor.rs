//! `cargo xtask doctor`: what a contributor's machine lacks, and how to get it. It installs nothing.

use std::process::Command;

use crate::command::{captured, workspace_root};
use crate::failure::{Failure, Outcome};
use crate::test::disk_space;
use crate::test::install;

/// The oldest Rust that builds the workspace: `rust-version` of Cargo.toml.
const RUST_MIN: &str = env!("CARGO_PKG_RUST_VERSION");

/// What installs everything that apt-get, npm, pip and cargo have.
const INSTALL: &str = "cargo xtask test --only install";

/// One thing that was looked at.
struct Finding {
    what: String,
    /// What to do when it is missing.
    remedy: Option<String>,
}

/// Prints every finding; fails when something is missing.
pub(crate) fn check() -> Outcome<()> {
    let findings = findings();
    for Finding { what, remedy } in &findings {
        match remedy {
            None => println!("ok       {what}"),
            Some(remedy) => println!("MISSING  {what}: {remedy}"),
        }
    }
    match findings.iter().filter(|finding| finding.remedy.is_some()).count() {
        0 => Ok(()),
        missing => Err(Failure::new(format!(
            "{missing} of {} are missing. `{INSTALL}` installs what apt-get, npm, pip and cargo have",
            findings.len()
        ))),
    }
}

fn findings() -> Vec<Finding> {
    let mut findings = vec![rust(), judged("cargo fmt and cargo clippy", install::check_toolchain())];
    findings.extend(install::needs().map(|need| {
        let remedy = (!(need.is_there)()).then(|| format!("apt-get install {}", need.packages.join(" ")));
        Finding { what: need.what.to_owned(), remedy }
    }));
    findings.push(judged("a Node.js that is new enough", install::check_node()));
    findings.extend(install::TOOLS.map(|(what, is_there, _)| {
        let remedy = (!is_there()).then(|| INSTALL.to_owned());
        Finding { what: what.to_owned(), remedy }
    }));
    findings.push(Finding {
        what: "room on the disk".to_owned(),
        remedy: disk_space::free().and_then(disk_space::warning),
    });
    findings
}

fn judged(what: &str, result: Outcome<()>) -> Finding {
    Finding { what: what.to_owned(), remedy: result.err().map(|failure| failure.to_string()) }
}

fn rust() -> Finding {
    let version = captured(Command::new("rustc").arg("--version").current_dir(workspace_root()));
    let is_enough = version.as_ref().is_ok_and(|version| is_at_least(version, RUST_MIN));
    let what = version.map_or_else(|_| "rustc".to_owned(), |version| version.trim().to_owned());
    let remedy = (!is_enough)
        .then(|| format!("Rust {RUST_MIN} or newer is needed: `rustup update stable`, or https://rustup.rs"));
    Finding { what, remedy }
}

/// Whether what `rustc --version` printed names `least` or a later version.
fn is_at_least(printed: &str, least: &str) -> bool {
    let parts = |text: &str| -> Option<(u32, u32)> {
        let (major, rest) = text.split_once('.')?;
        Some((major.parse().ok()?, rest.split('.').next()?.parse().ok()?))
    };
    let version = printed.split_whitespace().nth(1).and_then(parts);
    version.is_some_and(|version| parts(least).is_some_and(|least| least <= version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::install::Lock;

    #[test]
    fn versions_are_compared_as_numbers() {
        let is_enough = |printed| is_at_least(printed, "1.95");
        assert!(
            is_enough("rustc 1.95.0 (59807616e 2026-04-14)") && is_enough("rustc 1.100.2") && is_enough("rustc 2.0.0")
        );
        assert!(
            !is_enough("rustc 1.94.1 (abc)") && !is_enough("rustc 1.9.0") && !is_enough("") && !is_enough("rustc x.y")
        );
    }

    #[test]
    fn a_lock_is_installed_while_its_copy_is_the_same() {
        let folder = std::env::temp_dir().join(format!("dropin-lock-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let lock = Lock { committed: folder.join("committed"), installed: folder.join("installed") };
        assert!(!lock.is_installed(), "neither is there");
        std::fs::write(&lock.committed, "1.0").unwrap();
        assert!(!lock.is_installed());
        lock.mark_installed().unwrap();
        assert!(lock.is_installed());
        std::fs::write(&lock.committed, "1.1").unwrap();
        assert!(!lock.is_installed());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
