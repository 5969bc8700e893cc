//! The same transaction by pgbench: what PostgreSQL gives when nothing stands before it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::compare::Sample;
use super::figures::percentile;
use super::usage::{self, CpuMeter, CpuSource, per};
use crate::command::{captured, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::programs::Programs;

const THREADS: u32 = 2;

/// One of the scripts beside the baseline's sources.
#[derive(Clone, Debug)]
pub(crate) struct Script<'a> {
    pub(crate) file: &'static str,
    pub(crate) clients: u32,
    pub(crate) details: &'a str,
    pub(crate) terms: &'a str,
}

pub(crate) fn sql_file(name: &str) -> PathBuf {
    workspace_root().join("tests/baseline/src").join(name)
}

impl Script<'_> {
    /// Runs the script on a database of the bench's server with prepared statements.
    pub(crate) fn run(&self, bench: &Programs, url: &str, seconds: u32) -> Outcome<Sample> {
        let logs = bench.new_folder(&bench.new_name())?;
        let mut pgbench = bench.tool("pgbench", Duration::from_secs(u64::from(seconds) + 30));
        pgbench.args(["-M", "prepared", "-n", "-l"]).arg(format!("--log-prefix={}", logs.join("log").display()));
        pgbench.args(["-c", &self.clients.to_string(), "-j", &THREADS.to_string(), "-T", &seconds.to_string()]);
        pgbench.args(["-D", &format!("details={}", self.details), "-D", &format!("terms={}", self.terms)]);
        pgbench.arg("-f").arg(sql_file(self.file)).arg(url);
        let load1 = usage::load1()?;
        let server = ("PostgreSQL CPU us".to_owned(), CpuSource::Server(bench.postmaster()?));
        let meter = CpuMeter::start(vec![server])?;
        let (said, spent) = (captured(&mut pgbench)?, meter.read()?);
        let mut micros = Vec::new();
        for entry in fs::read_dir(&logs).context(|| format!("list {}", logs.display()))?.flatten() {
            let text = fs::read_to_string(entry.path()).context(|| "read pgbench's log".to_owned())?;
            micros.extend(text.lines().filter_map(latency));
        }
        fs::remove_dir_all(&logs).context(|| format!("remove {}", logs.display()))?;
        micros.sort_unstable();
        let at = |percent| percentile(&micros, percent).ok_or_else(|| Failure::new("pgbench finished no transaction"));
        let figures = [("per second", per_second(&said)?), ("p50 ms", at(50)?), ("p99 ms", at(99)?), ("load1", load1)];
        let done = micros.len() as u64;
        let figures = figures.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Ok(Sample { figures, cpu: per(spent, done), done, ..Sample::default() })
    }
}

/// Transactions per second, from "tps = 8892.1 (without initial connection time)".
fn per_second(said: &str) -> Outcome<f64> {
    let line = said.lines().find_map(|line| line.strip_prefix("tps = "));
    let read = line.and_then(|rest| rest.split(' ').next()?.parse().ok());
    read.ok_or_else(|| Failure::new(format!("pgbench did not tell its transactions per second; it said:\n{said}")))
}

/// Microseconds, from a line "client transaction latency …" of the log.
fn latency(line: &str) -> Option<u64> {
    line.split(' ').nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_transactions_per_second() {
        let said = "latency average = 0.9 ms\ninitial connection time = 3 ms\ntps = 8892.125 (without initial connection time)\n";
        assert_eq!(per_second(said).unwrap(), 8892.125);
        assert!(per_second("pgbench: error").unwrap_err().to_string().contains("pgbench: error"));
    }

    #[test]
    fn reads_the_latency_of_a_line_of_the_log() {
        assert_eq!(latency("0 199 2241 0 1175850568 995598"), Some(2241));
        assert_eq!(latency("0 199 skipped 0 1175850568 995598"), None);
    }
}
