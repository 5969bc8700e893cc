//! What programs use, as /proc tells it: processor time and memory.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use super::figures::Figures;
use crate::failure::{Context, Failure, Outcome};
use crate::processes::ProcessStatus;

/// Clock ticks per second in /proc, on every Linux.
const TICKS: u64 = 100;

const KIB_PER_MIB: f64 = 1024.0;

/// Whose processor time, user and system, is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CpuSource {
    /// A process with all its threads.
    Process(u32),
    /// A process's living threads by their own names; those with one name are counted together.
    ThreadsOf(u32),
    /// Those of this process with this name.
    Thread(&'static str),
    /// This process, and those that it started and waited for.
    Ours,
    /// A PostgreSQL server: its main process, those that it waited for, and those that live.
    Server(u32),
}

/// Measures what several spend, each under a name.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    of: Vec<(String, CpuSource)>,
    before: BTreeMap<String, Duration>,
}

impl CpuMeter {
    pub(crate) fn start(of: Vec<(String, CpuSource)>) -> Outcome<Self> {
        Ok(Self { before: spent(&of)?.into_iter().collect(), of })
    }

    /// Measures from their beginning.
    pub(crate) fn of_lifetime(of: Vec<(String, CpuSource)>) -> Self {
        Self { of, before: BTreeMap::new() }
    }

    /// What was spent since the start, in microseconds.
    pub(crate) fn read(&self) -> Outcome<Figures> {
        let since = |(name, spent): (String, Duration)| {
            let before = self.before.get(&name).copied().unwrap_or_default();
            (name, spent.saturating_sub(before).as_secs_f64() * 1e6)
        };
        Ok(spent(&self.of)?.into_iter().map(since).collect())
    }
}

fn spent(of: &[(String, CpuSource)]) -> Outcome<Vec<(String, Duration)>> {
    let spent = of.iter().map(|(name, source)| source.spent(name)).collect::<Outcome<Vec<_>>>()?;
    Ok(spent.concat())
}

impl CpuSource {
    fn spent(self, name: &str) -> Outcome<Vec<(String, Duration)>> {
        let spent = match self {
            Self::ThreadsOf(process) => return Ok(cpu_by_thread(process)?.into_iter().collect()),
            Self::Thread(name) => cpu_by_thread(std::process::id())?.get(name).copied().unwrap_or_default(),
            Self::Process(process) => cpu_of(process)?,
            Self::Ours => {
                let ProcessStatus { own, waited_for, .. } = ProcessStatus::of(std::process::id())?;
                in_time(own + waited_for)
            }
            Self::Server(postmaster) => {
                let main = ProcessStatus::of(postmaster)?;
                // A process may end while we look at it; then the main process has waited for it by the next look.
                let children = children_of(postmaster)?.map(|(_, child)| child.own).sum::<u64>();
                in_time(main.own + main.waited_for + children)
            }
        };
        Ok(vec![(name.to_owned(), spent)])
    }
}

/// What was spent on one of so many.
pub(crate) fn per(figures: Figures, count: u64) -> Figures {
    figures.into_iter().map(|(name, micros)| (name, micros / count.max(1) as f64)).collect()
}

pub(crate) fn cpu_of(process: u32) -> Outcome<Duration> {
    Ok(in_time(ProcessStatus::of(process)?.own))
}

fn children_of(parent: u32) -> Outcome<impl Iterator<Item = (u32, ProcessStatus)>> {
    let entries = fs::read_dir("/proc").context(|| "list /proc".to_owned())?.flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Ok(ids.filter_map(|id| Some((id, ProcessStatus::of(id).ok()?))).filter(move |(_, status)| status.parent == parent))
}

/// Processor time of a process's living threads by their names; threads with one name are counted together.
fn cpu_by_thread(process: u32) -> Outcome<BTreeMap<String, Duration>> {
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
    pub(crate) now: f64,
    pub(crate) peak: f64,
}

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
    let of_server = children_of(postmaster)?.map(|(id, _)| id).chain([postmaster]);
    let shares = of_server.filter_map(|id| fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok());
    Ok(shares.filter_map(|text| mebibytes(&text, "Pss:")).sum())
}

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
