//! What programs use, as /proc tells it: processor time and memory.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::failure::{Context, Failure, Outcome};
use crate::processes::ProcessStatus;

/// Clock ticks per second in /proc, on every Linux.
const TICKS: u64 = 100;

const KIB_PER_MIB: f64 = 1024.0;

/// User and system time of a process with all its threads.
pub(crate) fn cpu_of(process: u32) -> Outcome<Duration> {
    Ok(in_time(ProcessStatus::of(process)?.own))
}

/// The same of this process, and of those that it started and waited for.
pub(crate) fn cpu_of_ours() -> Outcome<Duration> {
    let ProcessStatus { own, waited_for, .. } = ProcessStatus::of(std::process::id())?;
    Ok(in_time(own + waited_for))
}

/// User and system time of a PostgreSQL server: its main process, those that it waited for, and those that live.
pub(crate) fn cpu_of_server(postmaster: u32) -> Outcome<Duration> {
    let main = ProcessStatus::of(postmaster)?;
    let entries = fs::read_dir("/proc").context(|| "list /proc".to_owned())?.flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // A process may end while we look at it; then the main process has waited for it by the next look.
    let children = ids.filter_map(|id| ProcessStatus::of(id).ok()).filter(|status| status.parent == postmaster);
    Ok(in_time(main.own + main.waited_for + children.map(|child| child.own).sum::<u64>()))
}

/// Processor time of a process's living threads by their names; threads with one name are counted together.
pub(crate) fn cpu_by_thread(process: u32) -> Outcome<BTreeMap<String, Duration>> {
    let folder = format!("/proc/{process}/task");
    let entries = fs::read_dir(&folder).context(|| format!("list {folder}; has the program ended?"))?.flatten();
    let mut spent = BTreeMap::new();
    for entry in entries {
        let read = |name| fs::read_to_string(entry.path().join(name));
        // A thread may end while we look at it.
        let (Ok(name), Ok(times)) = (read("comm"), read("schedstat")) else { continue };
        let nanos = times.split(' ').next().and_then(|word| word.parse().ok());
        let nanos =
            nanos.ok_or_else(|| Failure::new(format!("the schedstat of a thread is not understood: {times}")))?;
        *spent.entry(name.trim_end().to_owned()).or_default() += Duration::from_nanos(nanos);
    }
    Ok(spent)
}

/// Memory of a process in MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Memory {
    /// What it holds now.
    pub(crate) now: f64,
    /// The most it ever held.
    pub(crate) peak: f64,
}

/// The resident memory of a process.
pub(crate) fn memory_of(process: u32) -> Outcome<Memory> {
    let path = format!("/proc/{process}/status");
    let text = fs::read_to_string(&path).context(|| format!("read {path}"))?;
    read_memory(&text).ok_or_else(|| Failure::new(format!("{path} does not tell the resident memory")))
}

fn read_memory(text: &str) -> Option<Memory> {
    Some(Memory { now: mebibytes(text, "VmRSS:")?, peak: mebibytes(text, "VmHWM:")? })
}

/// A line such as "VmRSS:   10240 kB".
fn mebibytes(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / KIB_PER_MIB)
}

/// Memory of a PostgreSQL server in MiB, what its processes share counted once.
pub(crate) fn memory_of_server(postmaster: u32) -> Outcome<f64> {
    let entries = fs::read_dir("/proc").context(|| "list /proc".to_owned())?.flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let of_server =
        ids.filter(|id| *id == postmaster || ProcessStatus::of(*id).is_ok_and(|status| status.parent == postmaster));
    let shares = of_server.filter_map(|id| fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok());
    Ok(shares.filter_map(|text| mebibytes(&text, "Pss:")).sum())
}

/// The machine's load average over the last minute.
pub(crate) fn load1() -> Outcome<f64> {
    let text = fs::read_to_string("/proc/loadavg").context(|| "read /proc/loadavg".to_owned())?;
    let first = text.split(' ').next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| Failure::new("/proc/loadavg is not understood"))
}

fn in_time(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_ten_milliseconds() {
        assert_eq!(in_time(250), Duration::from_millis(2_500));
    }

    #[test]
    fn reads_memory_in_mebibytes() {
        let text = "VmPeak:\t  99999 kB\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\n";
        assert_eq!(read_memory(text), Some(Memory { now: 10.0, peak: 20.0 }));
        assert_eq!(read_memory("VmRSS:\t 1 kB"), None);
    }

    #[test]
    fn time_is_told_by_the_names_of_threads() {
        let (stop, until) = std::sync::mpsc::channel::<()>();
        let named = std::thread::Builder::new().name("a (b) c".to_owned());
        let thread = named.spawn(move || until.recv()).unwrap();
        // A thread takes its name when it begins to run.
        while !cpu_by_thread(std::process::id()).unwrap().contains_key("a (b) c") {
            std::thread::yield_now();
        }
        drop(stop);
        assert!(thread.join().unwrap().is_err());
    }

    #[test]
    fn this_process_has_memory() {
        assert!(memory_of(std::process::id()).unwrap().now > 0.1);
        assert!(memory_of_server(std::process::id()).unwrap() > 0.1);
        assert!(load1().unwrap() >= 0.0);
    }
}
