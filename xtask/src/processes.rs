//! Finding and ending processes by what /proc says about them.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::{Context, Failure, Outcome};

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

#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) id: u32,
    command: String,
}

impl fmt::Display for Process {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "process {} ({})", self.id, self.command)
    }
}

impl Wanted {
    /// The living processes that match, ourselves excluded.
    pub(crate) fn alive(&self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let found = ids.filter(|id| *id != std::process::id() && self.matches(*id));
        found.map(describe).collect()
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

fn describe(id: u32) -> Process {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&words).replace('\0', " ").trim().chars().take(160).collect();
    Process { id, command }
}

/// The part of /proc/*/stat that this tool needs; times in clock ticks.
#[derive(Debug, PartialEq)]
pub(crate) struct ProcessStatus {
    pub(crate) is_dead: bool,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// User and system time of all its threads.
    pub(crate) own: u64,
    /// The same of the processes that it started and waited for.
    pub(crate) waited_for: u64,
}

impl ProcessStatus {
    /// Of a process that exists.
    pub(crate) fn of(process: u32) -> Outcome<Self> {
        let path = format!("/proc/{process}/stat");
        let text = fs::read_to_string(&path).context(|| format!("read {path}; has the program ended?"))?;
        Self::parse(&text).ok_or_else(|| Failure::new(format!("{path} is not understood")))
    }

    /// Reads "id (name) state parent group …"; the name may contain anything, so the last `)` counts.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            is_dead: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            waited_for: ticks(13)? + ticks(14)?,
        })
    }
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
        assert_eq!(wanted.alive()[0].to_string(), format!("process {} (sleep 600)", child.id()));
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
    fn a_status_is_read_behind_a_name_with_brackets() {
        let text = "42 (a ) b) S 7 41 42 0 -1 4194560 9 8 0 0 150 50 30 20 20 0 3 0 1 2 3";
        let expected = ProcessStatus { is_dead: false, parent: 7, group: 41, own: 200, waited_for: 50 };
        assert_eq!(ProcessStatus::parse(text), Some(expected));
        assert_eq!(ProcessStatus::parse(&text.replace(") S", ") Z")).map(|status| status.is_dead), Some(true));
        assert_eq!(ProcessStatus::parse("42 (a) S 7"), None);
        assert!(ProcessStatus::of(std::process::id()).unwrap().parent > 0);
    }
}
