//! localstripe, a stand-in for Stripe that others wrote, for tests of `dropin-processor-stripe` and of the whole: a program that the tests start, by a
//! fixed version and checksum, and never a part of what is built.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{captured, target_folder, workspace_root};
use crate::failure::Outcome;
use crate::test::install::Lock;

/// The version of localstripe.
pub(crate) fn lock() -> Lock {
    let installed = environment().join("installed-requirements.txt");
    Lock { committed: committed("requirements.txt"), installed }
}

fn committed(name: &str) -> PathBuf {
    workspace_root().join("xtask/localstripe").join(name)
}

fn environment() -> PathBuf {
    target_folder().join("localstripe/venv")
}

/// Lays localstripe into a virtual environment below target/. It is published as source: what builds it goes before it, by its checksum too.
pub(crate) fn install() -> Outcome<()> {
    let (folder, lock) = (environment(), lock());
    if lock.is_installed() {
        return Ok(());
    }
    println!("installing localstripe into {}", folder.display());
    captured(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"];
    for (options, file) in [
        (["--only-binary", ":all:"].as_slice(), committed("needed.txt")),
        (&["--no-build-isolation"], lock.committed.clone()),
    ] {
        captured(Command::new(folder.join("bin/python")).args(pip).args(options).arg("--requirement").arg(file))?;
    }
    lock.mark_installed()
}
