//! The stages of a run, in order.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::changed::COMMAND_LINE_TEST;
use super::install;
use super::run::Run;
use crate::command::{cargo, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::{layers, package, supply};

/// One stage.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    /// One line for `--list`.
    pub(crate) what: &'static str,
    /// What to pass to `--only` to run this stage by itself.
    pub(crate) alone: &'static str,
    pub(crate) run: fn(&mut Run) -> Outcome<()>,
}

/// Cheap ones first. Everything builds into one target folder: checks, clippy and docs share their metadata, and the
/// tests run what `build` has built.
pub(crate) const STAGES: [Stage; 13] = [
    Stage {
        name: "install",
        what: "what this machine lacks, with apt-get, npm and pip",
        alone: "install",
        run: |_| install::install(),
    },
    Stage {
        name: "fmt",
        what: "formatting (`cargo fmt --all` repairs it)",
        alone: "fmt",
        run: |run| run.tool(cargo().args(["fmt", "--all", "--check"])),
    },
    Stage { name: "layers", what: "every package keeps to layers.toml", alone: "layers", run: |_| layers::check() },
    Stage {
        name: "supply",
        what: "licenses, sources and bans of every dependency (deny.toml); `cargo xtask deny` looks at advisories, too",
        alone: "supply",
        run: |_| supply::check(),
    },
    Stage {
        name: "check",
        what: "each domain crate compiles alone and from its package, and has the recorded public API",
        alone: "check",
        run: check,
    },
    Stage { name: "clippy", what: "lints, warnings are errors", alone: "clippy", run: clippy },
    Stage { name: "docs", what: "the documentation builds without warnings", alone: "docs", run: docs },
    Stage {
        name: "build",
        what: "every program and test; the examples of the domain crates are true",
        alone: "build",
        run: build,
    },
    Stage {
        name: "tests",
        what: "every test, on SQLite and on a throw-away PostgreSQL, end to end and in Chromium",
        alone: "build,tests",
        run: tests,
    },
    Stage {
        name: "fuzz",
        what: "schemathesis finds nothing in the running service (`cargo xtask fuzz-api --long` looks longer)",
        alone: "fuzz",
        run: fuzz,
    },
    Stage {
        name: "browser",
        what: "the drop-in's own tests (npm test)",
        alone: "browser",
        run: |run| run.tests(Command::new("npm").arg("test").current_dir(workspace_root().join(BROWSER))),
    },
    Stage { name: "bundle", what: "the committed bundle is what the sources give", alone: "bundle", run: bundle },
    Stage {
        name: "leftovers",
        what: "no process, port or folder of this run is left",
        alone: "tests,leftovers",
        run: Run::prove_nothing_is_left,
    },
];

const BROWSER: &str = "crates/browser";

fn check(run: &mut Run) -> Outcome<()> {
    let packages = layers::domain_packages()?;
    packages.iter().try_for_each(|package| run.tool(cargo().args(["check", "--package", &package.name])))?;
    run.tool(cargo().args(["xtask", "package", "--untested"]))
}

/// What is said to clippy itself.
const LINTS: [&str; 2] = ["--deny", "warnings"];

fn clippy(run: &mut Run) -> Outcome<()> {
    let mut command = cargo();
    command.arg("clippy").args(run.scope.packages().unwrap_or_default());
    run.tool(command.args(["--all-targets", "--all-features", "--"]).args(LINTS))
}

/// With the targets, the features and the compiler that clippy had, neither dependencies nor our own crates are checked a second time.
fn docs(run: &mut Run) -> Outcome<()> {
    let targets = ["--lib", "--bins", "--examples"];
    let mut command = cargo();
    command.args(["doc", "--no-deps", "--workspace", "--all-features"]).args(targets);
    let driver = Path::new(command.get_program()).with_file_name("clippy-driver");
    if driver.is_file() {
        // As `cargo clippy` calls it, in its own words: with others, our crates are checked again.
        let words = LINTS.map(|word| format!("{word}__CLIPPY_HACKERY__")).concat();
        command.env("RUSTC_WORKSPACE_WRAPPER", driver).env("CLIPPY_ARGS", words);
    }
    run.tool(command.env("RUSTDOCFLAGS", "--deny warnings"))
}

fn build(run: &mut Run) -> Outcome<()> {
    let mut command = cargo();
    command.arg("build").args(run.scope.build()).arg("--all-targets");
    run.tool(&mut command)?;
    if run.scope.is_whole() { package::run_examples(&layers::domain_packages()?) } else { Ok(()) }
}

fn tests(run: &mut Run) -> Outcome<()> {
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let (packages, documents) = (run.scope.packages().map(owned), run.scope.document_tests().map(owned));
    if let Some(documents) = documents {
        run.cargo_test(cargo().arg("test").args(documents))?;
        run.cargo_test(cargo().args(["test", "--package", "xtask", "--bin", "xtask", COMMAND_LINE_TEST]))?;
    }
    packages.map_or(Ok(()), |packages| package_tests(run, &packages))
}

fn package_tests(run: &mut Run, packages: &[String]) -> Outcome<()> {
    run.start_postgres()?;
    let mut command = cargo();
    command.arg("test").args(packages).arg("--no-fail-fast");
    if std::env::var_os(THREADS_VARIABLE).is_none() {
        // The long ones wait: for a program to start, a page to settle, a lock to be released. With two for each core the cores were idle for half of the end-to-end tests.
        let cores = std::thread::available_parallelism().map_or(2, NonZeroUsize::get);
        command.env(THREADS_VARIABLE, (3 * cores).to_string());
    }
    run.cargo_test(&mut command)
}

/// How many tests of one program run at once; a developer's own choice stands.
const THREADS_VARIABLE: &str = "RUST_TEST_THREADS";

fn fuzz(run: &mut Run) -> Outcome<()> {
    // Through cargo: the build before may have replaced the very program that runs here.
    run.tests(cargo().args(["xtask", "fuzz-api", "--seed", SEED]))
}

/// What a run finds must not depend on luck: the same requests each time. `cargo xtask fuzz-api` alone throws the dice.
const SEED: &str = "20261122";

fn bundle(run: &mut Run) -> Outcome<()> {
    let browser = workspace_root().join(BROWSER);
    let committed = files_below(&browser.join("dist"))?;
    run.tests(Command::new("npm").args(["run", "build"]).current_dir(&browser))?;
    let built = files_below(&browser.join("dist"))?;
    let names = committed.keys().chain(built.keys());
    let mut stale: Vec<String> = names
        .filter(|name| committed.get(*name) != built.get(*name))
        .map(|name| name.strip_prefix(&browser).unwrap_or(name).display().to_string())
        .collect();
    stale.sort();
    stale.dedup();
    if stale.is_empty() {
        println!("all {} files of {BROWSER}/dist are fresh", built.len());
        return Ok(());
    }
    Err(Failure::new(format!(
        "{BROWSER}/dist was not built from these sources. It is now: commit it. Different: {}",
        stale.join(", ")
    )))
}

/// Every file below a folder with its content.
fn files_below(folder: &Path) -> Outcome<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).context(|| format!("list {}", folder.display()))? {
        let path = entry.context(|| format!("list {}", folder.display()))?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            let content = fs::read(&path).context(|| format!("read {}", path.display()))?;
            files.insert(path, content);
        }
    }
    Ok(files)
}
