//! Finding and ending processes by what /proc says about them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::process_status::ProcessStatus;

/// Everything a watched program starts inherits this variable, so it is found even after it left its process group.
pub(crate) const MARKER_VARIABLE: &str = "DROPIN_XTASK_RUN";

/// How long ended programs may take to be gone.
const GRACE: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What a search looks for: one run's marker, or one of its process groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) marker: Option<String>,
    pub(crate) groups: BTreeSet<u32>,
}

/// A process that is still alive.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) id: u32,
    command: String,
    ports: BTreeSet<u16>,
}

impl fmt::Display for Process {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "process {} ({})", self.id, self.command)?;
        if self.ports.is_empty() {
            return Ok(());
        }
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        write!(out, ", listening on port {}", ports.join(", "))
    }
}

impl Wanted {
    /// The living processes that match, ourselves excluded.
    pub(crate) fn alive(&self) -> Vec<Process> {
        let listening = listening_sockets();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let found = ids.filter(|id| *id != std::process::id() && self.matches(*id));
        found.map(|id| describe(id, &listening)).collect()
    }

    /// Waits a moment for the processes to end by themselves; returns those that did not.
    pub(crate) fn alive_after_grace(&self) -> Vec<Process> {
        let deadline = Instant::now() + GRACE;
        loop {
            let alive = self.alive();
            if alive.is_empty() || Instant::now() >= deadline {
                return alive;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Asks the processes to end, then ends them.
    pub(crate) fn end(&self) {
        signal(Signal::TERM, &self.alive());
        signal(Signal::KILL, &self.alive_after_grace());
        self.alive_after_grace();
    }

    fn matches(&self, id: u32) -> bool {
        // A process may end while we look at it; then it is no longer alive.
        let Some(status) = ProcessStatus::of(id).ok().filter(|status| !status.is_dead) else { return false };
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        self.groups.contains(&status.group)
            || self.marker.as_ref().is_some_and(|marker| has_marker(&environment, marker))
    }
}

/// Whether the environment, as /proc shows it, carries the marker, or that of a run inside the run.
fn has_marker(environment: &[u8], marker: &str) -> bool {
    let wanted = format!("{MARKER_VARIABLE}={marker}");
    let rests = environment.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(wanted.as_bytes()));
    rests.into_iter().any(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn describe(id: u32, listening: &BTreeMap<String, u16>) -> Process {
    let folder = Path::new("/proc").join(id.to_string());
    let words = fs::read(folder.join("cmdline")).unwrap_or_default();
    let command: String = String::from_utf8_lossy(&words).replace('\0', " ").trim().chars().take(160).collect();
    let files = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
    let sockets = files.filter_map(|file| fs::read_link(file.path()).ok());
    let ports = sockets.filter_map(|socket| listening.get(socket.to_str()?).copied()).collect();
    Process { id, command, ports }
}

/// Ports that are listened on, by the name their socket has among a process's files.
fn listening_sockets() -> BTreeMap<String, u16> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines()).filter_map(listening_socket).collect()
}

/// One line of /proc/net/tcp: "sl local_address rem_address st … inode"; state 0A is "listening".
fn listening_socket(line: &str) -> Option<(String, u16)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, port) = fields.get(1)?.rsplit_once(':')?;
    let inode = fields.get(9).filter(|_| fields.get(3) == Some(&"0A"))?;
    Some((format!("socket:[{inode}]"), u16::from_str_radix(port, 16).ok()?))
}

fn signal(signal: Signal, processes: &[Process]) {
    for id in processes.iter().filter_map(|process| Pid::from_raw(process.id.try_into().ok()?)) {
        // It fails for one that ended in between, which is what was wanted.
        let _ = kill_process(id, signal);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn reads_listening_sockets_only() {
        let line = |state: &str| format!("0: 0100007F:1F90 00000000:0000 {state} 00000000:00000000 00:0 0 0 0 4711 1");
        assert_eq!(listening_socket(&line("0A")), Some(("socket:[4711]".to_owned(), 8080)));
        assert_eq!(listening_socket(&line("01")), None);
    }

    #[test]
    fn finds_a_process_by_its_marker_and_ends_it() {
        let marker = format!("unit-test-{}", std::process::id());
        let wanted = Wanted { marker: Some(marker.clone()), groups: BTreeSet::new() };
        assert!(wanted.alive().is_empty());
        let mut sleep = Command::new("sleep");
        let mut child = sleep.arg("600").env(MARKER_VARIABLE, &marker).stdin(Stdio::null()).spawn().unwrap();
        // Until the child has become `sleep` it may still look like this test.
        while wanted.alive().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(wanted.alive()[0].id, child.id());
        wanted.end();
        assert!(wanted.alive().is_empty());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn what_a_run_inside_the_run_started_is_the_runs_too() {
        let carries = |value: &str| has_marker(format!("A=b\0{MARKER_VARIABLE}={value}\0C=d").as_bytes(), "7-1");
        assert!(carries("7-1") && carries("7-1/fuzz-9"));
        assert!(!carries("7-12") && !carries("7-1.") && !carries("fuzz-9/7-1") && !carries(""));
    }

    #[test]
    fn names_the_ports_a_process_listens_on() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let told = describe(std::process::id(), &listening_sockets()).to_string();
        assert!(told.contains("listening on port") && told.contains(&port.to_string()), "{told}");
    }
}
