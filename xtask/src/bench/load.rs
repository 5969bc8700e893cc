//! The load generator: wrk, and what its requests cost. As fast as answers come (closed loop), or at a fixed rate whatever comes (open loop).

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::deployment::Service;
use super::run::Bench;
use super::usage;
use crate::command::captured;
use crate::failure::{Failure, Outcome};

/// Connections of a closed loop, as in the ceilings measured before.
const CLOSED_CONNECTIONS: u32 = 32;
/// Connections at a fixed rate: many more than answers are waited for at once.
const PACED_CONNECTIONS: u32 = 256;
const THREADS: u32 = 2;

const SCRIPT: &str = include_str!("load.lua");
/// The body of a Session, with a place for the reference and one for a number.
pub(crate) const SESSION: &str = include_str!("session.json");

/// What is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load<'a> {
    pub(crate) method: &'static str,
    /// After a slash at its end follows the request's own name, or the id of something that exists.
    pub(crate) path: String,
    /// Lines such as "Name: value"; the value `@REFERENCE@` is the request's own name.
    pub(crate) headers: Vec<String>,
    /// Has a place for the request's own name, and may have one for its number.
    pub(crate) body: Option<&'static str>,
    /// File of ids and references, one pair a line, for what works on one that exists.
    pub(crate) known: Option<&'a Path>,
}

/// One run's figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
    /// Answers below 400.
    pub(crate) accepted: u64,
    /// Answers of 400 and above.
    pub(crate) refused: f64,
    /// Requests without an answer when the run ended: their latency is in no percentile.
    pub(crate) unanswered: f64,
    /// By how much the load generator missed a moment, at worst.
    pub(crate) late_ms: f64,
    /// Processor time per request, of the program and of PostgreSQL; microseconds.
    pub(crate) program_cpu: Option<f64>,
    pub(crate) server_cpu: Option<f64>,
    pub(crate) peak_mib: Option<f64>,
    /// The machine's load average before.
    pub(crate) load1: f64,
}

impl Load<'_> {
    /// Runs the load and measures what it takes. `rate` in requests per second; `None`: as fast as answers come.
    pub(crate) fn run(&self, bench: &Bench, service: &Service, seconds: u32, rate: Option<u32>) -> Outcome<Sample> {
        let mut wrk = self.wrk(bench, service, seconds, rate)?;
        let load1 = usage::load1()?;
        let process = service.program.id();
        let server_cpu = || service.postmaster.map(usage::cpu_of_server).transpose();
        let (program_before, server_before) = (usage::cpu_of(process)?, server_cpu()?);
        let said = captured(&mut wrk)?;
        let (program_after, server_after) = (usage::cpu_of(process)?, server_cpu()?);
        let report = Report::read(&said)?;
        if report.broken > 0 {
            eprintln!("warning: {} of {} requests got no answer", report.broken, report.requests + report.broken);
        }
        let per_request = |spent: Duration| spent.as_secs_f64() * 1e6 / report.requests.max(1) as f64;
        let server = server_before.zip(server_after).map(|(before, after)| after.saturating_sub(before));
        Ok(Sample {
            program_cpu: Some(per_request(program_after.saturating_sub(program_before))),
            server_cpu: server.map(per_request),
            peak_mib: Some(usage::memory_of(process)?.peak),
            load1,
            ..report.sample()
        })
    }

    fn wrk(&self, bench: &Bench, service: &Service, seconds: u32, rate: Option<u32>) -> Outcome<std::process::Command> {
        let connections = if rate.is_some() { PACED_CONNECTIONS } else { CLOSED_CONNECTIONS };
        let body = self.body.map(|body| bench.file("body", body.trim_end())).transpose()?;
        let nothing = Path::new("-");
        let mut wrk = bench.tool("wrk", Duration::from_secs(u64::from(seconds) + 30));
        wrk.arg("-s").arg(bench.file("load.lua", SCRIPT)?).arg(format!("-t{THREADS}")).arg(format!("-c{connections}"));
        wrk.arg(format!("-d{seconds}s")).args(["--timeout", "10s"]).arg(format!("http://{}", service.address));
        wrk.args(["--", self.method, &self.path, &bench.new_name()]);
        wrk.args([rate.unwrap_or(0).to_string(), THREADS.to_string()]);
        wrk.arg(body.as_deref().unwrap_or(nothing)).arg(self.known.unwrap_or(nothing)).args(&self.headers);
        Ok(wrk)
    }
}

/// What the script says at the end.
#[derive(Debug, Deserialize, PartialEq)]
struct Report {
    requests: u64,
    micros: u64,
    p50: f64,
    p99: f64,
    max: f64,
    refused: u64,
    broken: u64,
    late: f64,
    sent: u64,
}

impl Report {
    fn read(said: &str) -> Outcome<Self> {
        let line = said.lines().find_map(|line| line.strip_prefix("wrk {"));
        let read = line.and_then(|rest| serde_json::from_str(&format!("{{{rest}")).ok());
        let report: Self = read.ok_or_else(|| Failure::new(format!("wrk did not report; it said:\n{said}")))?;
        if report.requests == 0 || report.micros == 0 {
            return Err(Failure::new(format!("wrk got no answer at all; it said:\n{said}")));
        }
        Ok(report)
    }

    fn sample(&self) -> Sample {
        Sample {
            per_second: self.requests as f64 * 1e6 / self.micros as f64,
            p50_ms: self.p50 / 1e3,
            p99_ms: self.p99 / 1e3,
            max_ms: self.max / 1e3,
            accepted: self.requests.saturating_sub(self.refused),
            refused: self.refused as f64,
            unanswered: self.sent.saturating_sub(self.requests) as f64,
            late_ms: self.late / 1e3,
            ..Sample::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Running 1s test\n  2 threads\nwrk {\"requests\":5000,\"micros\":2000000,\"p50\":5800,\"p99\":17700,\
                        \"max\":30000,\"refused\":3,\"broken\":0,\"late\":1500,\"sent\":5016}\n";

    #[test]
    fn reads_what_the_script_reports() {
        let sample = Report::read(SAID).unwrap().sample();
        assert_eq!((sample.per_second, sample.p50_ms, sample.p99_ms), (2500.0, 5.8, 17.7));
        assert_eq!(sample.accepted, 4_997);
        assert_eq!((sample.max_ms, sample.refused, sample.unanswered, sample.late_ms), (30.0, 3.0, 16.0, 1.5));
    }

    #[test]
    fn silence_and_a_run_without_answers_are_failures() {
        assert!(Report::read("Running 1s test\n").unwrap_err().to_string().contains("Running 1s test"));
        assert!(Report::read(&SAID.replace("\"requests\":5000", "\"requests\":0")).is_err());
    }

    #[test]
    fn the_body_is_json_of_a_realistic_size_with_its_two_places() {
        let body: serde_json::Value = serde_json::from_str(SESSION).unwrap();
        assert!((1_000..1_600).contains(&SESSION.len()), "{}", SESSION.len());
        assert_eq!(body["MerchantReference"], "@REFERENCE@");
        assert_eq!(body["Items"].as_array().unwrap().len(), 2);
        assert_eq!((SESSION.matches("@REFERENCE@").count(), SESSION.matches("@NUMBER@").count()), (1, 1));
        assert!(SESSION.find("@REFERENCE@") < SESSION.find("@NUMBER@"));
    }
}
