//! One run: starts programs so that nothing of them can stay behind, and holds the throw-away PostgreSQL.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::StatVfsMountFlags;

use super::changed::Scope;
use super::failed_tests;
use super::guard::Guard;
use crate::command::{judged, rendered, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::postgres::{self, URL_VARIABLE};
use crate::processes::{MARKER_VARIABLE, Wanted};

/// Variables of a developer's shell that would change what the tests see.
const SCRUBBED: [&str; 4] = ["DROPIN_", "PG", "DATABASE_URL", "RUST_LOG"];

/// The state that stages share.
#[derive(Debug)]
pub(crate) struct Run {
    /// The whole workspace, unless set.
    pub(crate) scope: Scope,
    guard: Guard,
    marker: String,
    /// In memory, where tests lay what they need for a moment; none where there is no room.
    memory: Option<PathBuf>,
    server: Option<StartedServer>,
}

#[derive(Debug)]
struct StartedServer {
    url: String,
    folder: PathBuf,
}

impl Run {
    pub(crate) fn new() -> Outcome<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context(|| "read the clock".to_owned())?;
        let marker = format!("{}-{}", std::process::id(), now.as_millis());
        let mut guard = Guard::start(&marker)?;
        let memory = memory_folder(&format!("dropin-{marker}"));
        if let Some(folder) = &memory {
            guard.remove(folder)?;
        }
        Ok(Self { scope: Scope::default(), guard, marker, memory, server: None })
    }

    /// Runs a build tool to its end.
    pub(crate) fn tool(&mut self, command: &mut Command) -> Outcome<()> {
        let Ended { group, status, .. } = self.spawn_and_wait(command)?;
        self.guard.forget(group)?;
        judged(command, status)
    }

    /// Runs `cargo test`; the failure says what the failed tests said.
    pub(crate) fn cargo_test(&mut self, command: &mut Command) -> Outcome<()> {
        self.tests(command.stdout(Stdio::piped()))
    }

    /// Runs a program that runs our code: in a clean environment, and nothing it started may outlive it.
    pub(crate) fn tests(&mut self, command: &mut Command) -> Outcome<()> {
        for (name, _) in std::env::vars_os() {
            if SCRUBBED.iter().any(|start| name.to_string_lossy().starts_with(start)) {
                command.env_remove(name);
            }
        }
        if let Some(server) = &self.server {
            command.env(URL_VARIABLE, &server.url);
            // Debian's psql and pg_dump are scripts that look for these, at three times their cost.
            command.env("PATH", postgres::first_on_path()?);
        }
        if let Some(folder) = &self.memory {
            command.env("TMPDIR", folder);
        }
        command.env(MARKER_VARIABLE, &self.marker);
        let Ended { group, status, failed } = self.spawn_and_wait(command)?;
        let wanted = Wanted { marker: Some(self.marker.clone()), groups: BTreeSet::from([group]) };
        let left = wanted.alive_after_grace();
        wanted.end();
        self.guard.forget(group)?;
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        if !left.is_empty() {
            eprintln!("still alive after `{}`, ended now:\n  {}", rendered(command), left.join("\n  "));
        }
        let failed = failed.and_then(|failed| failed.join().ok()).unwrap_or_default();
        judged(command, status).map_err(|failure| match failed.as_str() {
            "" => failure,
            failed => Failure::new(format!("{failure}. The failed tests:\n\n{failed}")),
        })?;
        if left.is_empty() {
            return Ok(());
        }
        Err(Failure::new("the tests passed but left the processes above running: stop what a test starts when it ends"))
    }

    /// Starts the PostgreSQL of this run, once.
    pub(crate) fn start_postgres(&mut self) -> Outcome<()> {
        if self.server.is_some() {
            return Ok(());
        }
        let on_disk = || workspace_root().join(format!("target/xtask-test-{}", std::process::id()));
        let wished = self.memory.as_ref().map_or_else(on_disk, |folder| folder.join("postgres"));
        let folder = postgres::reachable_folder(&wished)?;
        let url = self.guard.start_postgres(&folder)?;
        println!("throw-away PostgreSQL: {URL_VARIABLE}={url}");
        self.server = Some(StartedServer { url, folder });
        Ok(())
    }

    /// Stops everything and proves that nothing of this run is left: no process, no port, no folder.
    pub(crate) fn prove_nothing_is_left(&mut self) -> Outcome<()> {
        self.guard.finish()?;
        let wanted = Wanted { marker: Some(self.marker.clone()), groups: BTreeSet::new() };
        let mut left: Vec<String> = wanted.alive_after_grace().iter().map(ToString::to_string).collect();
        if let Some(server) = self.server.as_ref().filter(|server| answers(&server.url)) {
            left.push(format!("the throw-away PostgreSQL still answers at {}", server.url));
        }
        let folders = self.memory.iter().chain(self.server.iter().map(|server| &server.folder));
        left.extend(folders.filter(|folder| folder.exists()).map(|folder| format!("the folder {}", folder.display())));
        if left.is_empty() {
            println!("no process, port or folder of this run is left");
            return Ok(());
        }
        Err(Failure::new(format!("this run left behind:\n  {}", left.join("\n  "))))
    }

    fn spawn_and_wait(&mut self, command: &mut Command) -> Outcome<Ended> {
        println!("$ {}", rendered(command));
        let mut child = command.stdin(Stdio::null()).process_group(0).spawn().context(|| {
            format!("start `{}`; is it installed (`cargo xtask test --only install`)?", rendered(command))
        })?;
        let group = child.id();
        self.guard.watch(group)?;
        let printed = child.stdout.take();
        let failed = printed.map(|printed| {
            let pass_on = || failed_tests::pass_on(BufReader::new(printed), std::io::stdout());
            thread::spawn(move || pass_on().unwrap_or_else(|error| format!("(what they printed was lost: {error})")))
        });
        let status = child.wait().context(|| format!("wait for `{}`", rendered(command)))?;
        Ok(Ended { group, status, failed })
    }
}

/// How a program ended.
struct Ended {
    /// The process group that it led.
    group: u32,
    status: ExitStatus,
    /// What its failed tests said, once nobody prints any more; of a program whose output is passed on.
    failed: Option<JoinHandle<String>>,
}

/// Where Linux keeps files in memory.
const MEMORY: &str = "/dev/shm";
/// What must be free there, and of memory as a whole: PostgreSQL's log of writes alone grows to a gigabyte, and the browsers want their share.
const MIN_FREE_MEMORY_BYTES: u64 = 6_000_000_000;

/// Creates a folder in memory, if there is room, and programs may run from there as document tests do. A test creates hundreds of files and removes them a second later: on a disk that was a fifth of the
/// processor time of the end-to-end tests.
fn memory_folder(name: &str) -> Option<PathBuf> {
    let disk = rustix::fs::statvfs(MEMORY).ok().filter(|disk| !disk.f_flag.contains(StatVfsMountFlags::NOEXEC))?;
    let memory = fs::read_to_string("/proc/meminfo").map_or(0, |text| available_bytes(&text));
    let bytes = (disk.f_bavail * disk.f_frsize).min(memory).min(left_to_container().unwrap_or(u64::MAX));
    let folder = Path::new(MEMORY).join(name);
    (MIN_FREE_MEMORY_BYTES <= bytes && fs::create_dir(&folder).is_ok()).then_some(folder)
}

/// What a container may still take, where it has a limit.
fn left_to_container() -> Option<u64> {
    let read = |name| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    // As the second version of control groups calls them, and the first.
    let names = [("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")];
    names.into_iter().find_map(|(most, taken)| Some(read(most)?.saturating_sub(read(taken)?)))
}

/// What `/proc/meminfo` tells of the memory that can be had.
fn available_bytes(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes: Option<u64> = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Whether somebody accepts connections at the port of a database address.
fn answers(url: &str) -> bool {
    let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next()).and_then(|port| port.parse().ok());
    port.is_some_and(|port: u16| TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(available_bytes("MemTotal:       24684140 kB\nMemAvailable:   23990000 kB\n"), 24_565_760_000);
        assert_eq!(available_bytes("MemTotal: 1 kB\n"), 0);
    }
}
