//! Programs that a task of this tool starts, and a folder for what they write. Nothing of either stays behind, however the task ends.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use crate::command::{captured, target_folder};
use crate::failure::{Context, Failure, Outcome};
use crate::http1::Client;
use crate::postgres;
use crate::processes::MARKER_VARIABLE;
use crate::test::guard::Guard;

/// How long a program may take to end after it was asked to.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// So many lines of a log tell why a program failed.
const MAX_LOG_TAIL_LINES: usize = 30;

/// Which of cargo's builds are run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Build {
    Debug,
    Release,
}

/// The programs of one run of a task, and a folder for what is theirs.
#[derive(Debug)]
pub(crate) struct Programs {
    guard: Guard,
    /// Unlike that of any other run.
    name: String,
    marker: String,
    folder: PathBuf,
    build: Build,
    names: Cell<u32>,
    /// The address of a PostgreSQL in the same folder, if there is one.
    pub(crate) postgres_url: Option<String>,
}

impl Programs {
    /// Starts the guard and makes the folder.
    pub(crate) fn start(task: &str, build: Build) -> Outcome<Self> {
        let mut programs = Self::guarded(task, build, |name| Ok(std::env::temp_dir().join(format!("dropin-{name}"))))?;
        programs.guard.remove(&programs.folder)?;
        fs::create_dir(&programs.folder).context(|| format!("create {}", programs.folder.display()))?;
        Ok(programs)
    }

    /// The same, beside a PostgreSQL.
    pub(crate) fn start_with_postgres(task: &str, build: Build) -> Outcome<Self> {
        let mut programs = Self::guarded(task, build, |name| {
            postgres::reachable_folder(&target_folder().join(format!("xtask-{name}")))
        })?;
        programs.postgres_url = Some(programs.guard.start_postgres(&programs.folder)?);
        Ok(programs)
    }

    fn guarded(task: &str, build: Build, folder: impl Fn(&str) -> Outcome<PathBuf>) -> Outcome<Self> {
        let name = format!("{task}-{}", std::process::id());
        // A task that another one runs: what this one starts is the other's, too.
        let outer = std::env::var(MARKER_VARIABLE).map(|outer| format!("{outer}/")).unwrap_or_default();
        let (marker, folder) = (format!("{outer}{name}"), folder(&name)?);
        let (guard, names) = (Guard::start(&marker)?, Cell::new(0));
        Ok(Self { guard, name, marker, folder, build, names, postgres_url: None })
    }

    /// Where everything of the run is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new folder that goes with the run.
    pub(crate) fn new_folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir(&folder).context(|| format!("create {}", folder.display()))?;
        Ok(folder)
    }

    /// Writes a file that goes with the run.
    pub(crate) fn file(&self, name: &str, content: &str) -> Outcome<PathBuf> {
        let path = self.folder.join(name);
        fs::write(&path, content).context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// A name that nothing of this run had yet.
    pub(crate) fn new_name(&self) -> String {
        self.names.set(self.names.get() + 1);
        format!("{}-{}", self.name, self.names.get())
    }

    /// A tool that the guard finds when the run is cut off, and that is ended when it takes too long.
    pub(crate) fn tool(&self, program: impl AsRef<OsStr>, timeout: Duration) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--foreground", "--kill-after=5"]).arg(timeout.as_secs().to_string()).arg(program);
        command.env(MARKER_VARIABLE, &self.marker).env("LC_ALL", "C").current_dir(&self.folder);
        command
    }

    /// One of our programs in a clean environment; nothing of the developer's shell reaches it.
    pub(crate) fn program(&self, name: &str) -> Command {
        let profile = match self.build {
            Build::Debug => "debug",
            Build::Release => "release",
        };
        let mut command = Command::new(target_folder().join(profile).join(name));
        command.env_clear().env(MARKER_VARIABLE, &self.marker).current_dir(&self.folder);
        // Nobody distributes requests to it.
        command.env("DROPIN_DRAIN_DELAY", "0").env("DROPIN_ADMIN_LISTEN", "127.0.0.1:0");
        command
    }

    /// Starts a program that stays; what it says goes to a file.
    pub(crate) fn spawn(&mut self, name: &str, command: &mut Command) -> Outcome<Program> {
        let log = self.folder.join(format!("{name}-{}.log", self.new_name()));
        let output = File::create(&log).context(|| format!("create {}", log.display()))?;
        let errors = output.try_clone().context(|| "share the log".to_owned())?;
        let command = command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.process_group(0).spawn().context(|| format!("start {name}; was it built?"))?;
        self.guard.watch(child.id())?;
        Ok(Program { name: name.to_owned(), child, log })
    }

    /// Asks a program to end and waits for it; fails when it has ended by itself.
    pub(crate) fn end(&mut self, mut program: Program) -> Outcome<()> {
        if !program.is_running()? {
            self.guard.forget(program.id())?;
            return Err(program.failure("it has ended by itself"));
        }
        let asked = kill_process(Pid::from_child(&program.child), Signal::TERM);
        asked.context(|| format!("ask {} to end", program.name))?;
        let since = Instant::now();
        while program.is_running()? {
            if since.elapsed() > STOP_TIMEOUT {
                self.kill(&mut program)?;
                return Err(program.failure("it did not end when it was asked to"));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        self.guard.forget(program.id())
    }

    /// Kills a program without asking, as a power cut would end it.
    pub(crate) fn kill(&mut self, program: &mut Program) -> Outcome<()> {
        let is_running = program.is_running()?;
        program.child.kill().context(|| format!("kill {}", program.name))?;
        program.child.wait().context(|| format!("wait for {}", program.name))?;
        self.guard.forget(program.id())?;
        if is_running { Ok(()) } else { Err(program.failure("it has ended by itself")) }
    }

    /// Stops everything and removes the folder.
    pub(crate) fn finish(mut self) -> Outcome<()> {
        self.guard.finish()
    }
}

#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Program {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn is_running(&mut self) -> Outcome<bool> {
        let ended = self.child.try_wait().context(|| format!("look at {}", self.name))?;
        Ok(ended.is_none())
    }

    /// Waits until the program is as it should be; fails when it ends before.
    pub(crate) fn wait_until(&mut self, what: &str, timeout: Duration, mut is_so: impl FnMut() -> bool) -> Outcome<()> {
        let since = Instant::now();
        while !is_so() {
            if !self.is_running()? {
                return Err(self.failure("it has ended"));
            }
            if since.elapsed() > timeout {
                return Err(self.failure(&format!("it was not {what} within {} s", timeout.as_secs())));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    fn failure(&self, why: &str) -> Failure {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        Failure::new(format!("{}: {why}. Its last words:\n{}", self.name, tail(&log)))
    }
}

/// A merchant of the run's own.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Credentials {
    pub(crate) merchant_id: String,
    pub(crate) username: String,
    pub(crate) password: String,
    /// Signs notifications, when there is somewhere to send them.
    pub(crate) webhook_secret: Option<String>,
}

impl Credentials {
    /// Prepares the database and creates a merchant with these options of `dropin merchant create`. `dropin` knows the database.
    pub(crate) fn create(dropin: impl Fn() -> Command, options: &[&str]) -> Outcome<Self> {
        captured(dropin().arg("migrate"))?;
        let said = captured(dropin().args(["merchant", "create", "--json"]).args(options))?;
        serde_json::from_str(&said).context(|| "understand what `dropin merchant create --json` prints".to_owned())
    }

    /// The header that proves it is the merchant.
    pub(crate) fn authorization(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.username, self.password)))
    }
}

/// Whether a program answers a GET with 200.
pub(crate) fn answers(address: SocketAddr, path: &str) -> bool {
    let answer = Client::connect(address, "").and_then(|mut client| client.send("GET", path, ""));
    answer.is_ok_and(|(status, _)| status == 200)
}

/// An address on this machine that nobody listens on.
pub(crate) fn free_address() -> Outcome<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context(|| "find a free port".to_owned())?;
    listener.local_addr().context(|| "read the free port".to_owned())
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(MAX_LOG_TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_shown() {
        let log: String = (0..40).map(|line| format!("{line}\n")).collect();
        assert!(tail(&log).starts_with("10\n") && tail(&log).ends_with("39") && tail("").is_empty());
    }
}
