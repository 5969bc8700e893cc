//! What a machine must have, and how to get it on Debian.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::geteuid;

use crate::command::{captured, cargo, finished, rendered, succeeds, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::{fuzz, history, localstripe, postgres};

/// What it is, whether it is there, and what installs it.
type Tool = (&'static str, fn() -> bool, fn() -> Outcome<()>);

/// What npm and pip bring, in exactly the versions that committed files name.
pub(crate) const TOOLS: [Tool; 6] = [
    ("schemathesis", || fuzz::SCHEMATHESIS.is_installed(), || fuzz::SCHEMATHESIS.install()),
    ("the history of exchange rates", || history::lock().is_installed(), history::install),
    ("localstripe", || localstripe::LOCALSTRIPE.is_installed(), || localstripe::LOCALSTRIPE.install()),
    ("node_modules of crates/browser", || npm_lock(NPM[0]).is_installed(), || install_with_npm(NPM[0])),
    ("node_modules of tests/browser", || npm_lock(NPM[1]).is_installed(), || install_with_npm(NPM[1])),
    ("node_modules of the webhook client", || npm_lock(NPM[2]).is_installed(), || install_with_npm(NPM[2])),
];

/// The folders with a package.json.
const NPM: [&str; 3] = ["crates/browser", "tests/browser", "crates/adapters/webhook-client/tests/official"];

/// The oldest Node.js that the browser tools run on (`engines` of playwright-core); Debian has it since 13.
const NODE_MAJOR_MIN: u32 = 20;

pub(crate) struct Need {
    pub(crate) what: &'static str,
    /// Debian's packages that bring it.
    pub(crate) packages: &'static [&'static str],
    pub(crate) is_there: fn() -> bool,
}

/// In two steps: the Node.js of some package sources brings npm along and refuses Debian's.
const STEPS: [&[Need]; 2] =
    [&NEEDS, &[Need { what: "npm", packages: &["npm"], is_there: || answers("npm", "--version") }]];

const NEEDS: [Need; 9] = [
    Need { what: "a C compiler", packages: &["gcc", "libc6-dev"], is_there: || answers("cc", "--version") },
    Need { what: "pkg-config", packages: &["pkg-config"], is_there: || answers("pkg-config", "--version") },
    Need {
        what: "PostgreSQL's client library",
        packages: &["libpq-dev"],
        is_there: || succeeds(Command::new("pkg-config").args(["--exists", "libpq"])),
    },
    Need {
        what: "a PostgreSQL server",
        // Debian may start a server of its own with it; the tests do not touch that one.
        packages: &["postgresql"],
        is_there: postgres::is_installed,
    },
    Need {
        what: "Chromium",
        // The one without windows runs the same tests in half the time; the tests take the other where only that is there.
        packages: &["chromium-headless-shell", "fonts-dejavu-core"],
        is_there: || ["chromium-headless-shell", "chromium"].iter().any(|name| answers(name, "--version")),
    },
    Need { what: "Firefox", packages: &["firefox-esr"], is_there: || answers("firefox-esr", "--version") },
    Need {
        what: "WebKit, and a display that nobody sees",
        packages: &["webkit2gtk-driver", "xvfb"],
        // Debian 12's driver knows no --version, and the display's server tells nothing without starting.
        is_there: || answers("WebKitWebDriver", "--help") && succeeds(Command::new("which").arg("Xvfb")),
    },
    Need {
        what: "Python with virtual environments",
        packages: &["python3", "python3-venv"],
        is_there: || succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"])),
    },
    Need { what: "Node.js", packages: &["nodejs"], is_there: || answers("node", "--version") },
];

/// Everything that Debian's packages bring.
pub(crate) fn needs() -> impl Iterator<Item = &'static Need> {
    STEPS.into_iter().flatten()
}

/// Whether a program is there and runs.
pub(crate) fn answers(program: &str, argument: &str) -> bool {
    succeeds(Command::new(program).arg(argument))
}

/// Installs what is missing. Fails when something still is afterwards.
pub(crate) fn install() -> Outcome<()> {
    check_toolchain()?;
    STEPS.into_iter().try_for_each(provide)?;
    check_node()?;
    TOOLS.iter().try_for_each(|(_, _, install)| install())
}

/// Installs those of the needs that are missing.
pub(crate) fn provide(needs: &[Need]) -> Outcome<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !(need.is_there)()).collect();
    if needs.is_empty() {
        return Ok(());
    }
    if missing.is_empty() {
        println!("this machine has {}", needs.iter().map(|need| need.what).collect::<Vec<_>>().join(", "));
        return Ok(());
    }
    install_with_apt(&missing)
}

pub(crate) fn check_toolchain() -> Outcome<()> {
    for tool in ["fmt", "clippy"] {
        captured(cargo().args([tool, "--version"])).map_err(|failure| {
            Failure::new(format!(
                "{failure}\nThis Rust toolchain lacks `cargo {tool}`, or it is broken: run `rustup component add rustfmt \
                 clippy`, or install the distribution's packages of these names"
            ))
        })?;
    }
    Ok(())
}

fn install_with_apt(missing: &[&Need]) -> Outcome<()> {
    for need in missing {
        println!("missing: {} -> {}", need.what, need.packages.join(", "));
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    if !answers("apt-get", "--version") {
        return Err(Failure::new(format!(
            "this machine has no apt-get: install the counterparts of these Debian packages by hand: {}",
            packages.join(" ")
        )));
    }
    foreground(&mut apt(&["update"])?)?;
    foreground(apt(&["install", "--yes", "--no-install-recommends"])?.args(&packages))?;
    let still: Vec<&str> = missing.iter().filter(|need| !(need.is_there)()).map(|need| need.what).collect();
    if still.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("apt-get installed its packages, but this is still not usable: {}", still.join("; "))))
}

/// `apt-get` with the rights it needs.
fn apt(arguments: &[&str]) -> Outcome<Command> {
    let mut command = if geteuid().is_root() {
        Command::new("env")
    } else if answers("sudo", "--version") {
        let mut sudo = Command::new("sudo");
        sudo.arg("env");
        sudo
    } else {
        return Err(Failure::new(
            "there is no sudo on this machine: run `cargo xtask test --only install` once as root",
        ));
    };
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]).args(arguments);
    Ok(command)
}

/// Runs a program in our own process group with our standard input, since sudo may ask for a password.
fn foreground(command: &mut Command) -> Outcome<()> {
    println!("$ {}", rendered(command));
    finished(command)
}

pub(crate) fn check_node() -> Outcome<()> {
    let version = captured(Command::new("node").arg("--version"))?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|text| text.parse::<u32>().ok());
    if major.is_some_and(|major| major >= NODE_MAJOR_MIN) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "Node.js {NODE_MAJOR_MIN} or newer is needed and `node` on PATH is {}. Debian 13 has a newer one; on Debian 12 \
         take it from the Node.js project",
        version.trim()
    )))
}

/// A committed file that names versions, and the copy of it that is laid beside what was installed from it.
pub(crate) struct Lock {
    pub(crate) committed: PathBuf,
    pub(crate) installed: PathBuf,
}

impl Lock {
    /// Whether what is installed is what the committed file names.
    pub(crate) fn is_installed(&self) -> bool {
        fs::read(&self.committed)
            .is_ok_and(|wanted| fs::read(&self.installed).is_ok_and(|installed| installed == wanted))
    }

    /// Marks everything as installed.
    pub(crate) fn mark_installed(&self) -> Outcome<()> {
        fs::copy(&self.committed, &self.installed)
            .map(drop)
            .context(|| format!("copy {} to {}", self.committed.display(), self.installed.display()))
    }
}

fn npm_lock(folder: &str) -> Lock {
    let folder = workspace_root().join(folder);
    let installed = folder.join("node_modules/.xtask-installed-lock");
    Lock { committed: folder.join("package-lock.json"), installed }
}

/// Lays node_modules exactly as the lock file says, unless that was done already.
fn install_with_npm(name: &str) -> Outcome<()> {
    let (folder, lock) = (workspace_root().join(name), npm_lock(name));
    if lock.is_installed() {
        println!("{name}: node_modules is as package-lock.json says");
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder).stdin(Stdio::null());
    println!("in {name}:");
    foreground(&mut npm)?;
    fs::create_dir_all(folder.join("node_modules")).context(|| "create node_modules".to_owned())?;
    lock.mark_installed()
}
