//! The load generator: wrk, and what its requests cost. As fast as answers come (closed loop), or at a fixed rate whatever comes (open loop).

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::compare::Sample;
use super::deployment::Service;
use super::usage::{self, CpuMeter, CpuSource, per};
use crate::command::captured;
use crate::failure::{Failure, Outcome};
use crate::programs::Programs;

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

/// Requests may be sent this much later than planned before a warning says so.
const LATE_MS: f64 = 2.0;
/// So many requests may wait for an answer when a run ends: one for each connection of a closed loop.
const UNANSWERED_MAX: u64 = 40;

impl Load<'_> {
    /// Runs the load and measures what it takes. `rate` in requests per second; `None`: as fast as answers come.
    pub(crate) fn run(&self, bench: &Programs, service: &Service, seconds: u32, rate: Option<u32>) -> Outcome<Sample> {
        let mut wrk = self.wrk(bench, service, seconds, rate)?;
        let load1 = usage::load1()?;
        let process = service.program.id();
        let program = ("program CPU us".to_owned(), CpuSource::Process(process));
        let server =
            service.postmaster.map(|postmaster| ("PostgreSQL CPU us".to_owned(), CpuSource::Server(postmaster)));
        let meter = CpuMeter::start([program].into_iter().chain(server).collect())?;
        let said = captured(&mut wrk)?;
        let spent = meter.read()?;
        let report = Report::read(&said)?;
        let mut sample = report.sample(rate.is_some());
        if rate.is_none() {
            sample.cpu = per(spent, report.requests);
            sample.figures.push(("peak MiB".to_owned(), usage::memory_of(process)?.peak));
        }
        sample.figures.push(("load1".to_owned(), load1));
        Ok(sample)
    }

    fn wrk(
        &self,
        bench: &Programs,
        service: &Service,
        seconds: u32,
        rate: Option<u32>,
    ) -> Outcome<std::process::Command> {
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

    /// What is shown of a closed loop, or of a fixed rate.
    fn sample(&self, is_paced: bool) -> Sample {
        let (late_ms, unanswered) = (self.late / 1e3, self.sent.saturating_sub(self.requests));
        let mut figures = vec![
            ("per second", self.requests as f64 * 1e6 / self.micros as f64),
            ("p50 ms", self.p50 / 1e3),
            ("p99 ms", self.p99 / 1e3),
            ("refused", self.refused as f64),
        ];
        if is_paced {
            let paced = [("max ms", self.max / 1e3), ("unanswered", unanswered as f64), ("sent late, max ms", late_ms)];
            figures.extend(paced);
        }
        let warnings = [
            (self.broken > 0, format!("{} requests got no answer", self.broken)),
            (self.refused > 0, format!("{} requests were refused; its rate counts them", self.refused)),
            (
                unanswered > UNANSWERED_MAX,
                format!("{unanswered} requests had no answer at its end, and are in no percentile"),
            ),
            (late_ms > LATE_MS, format!("requests were sent up to {late_ms:.0} ms late; true latencies are higher")),
        ];
        Sample {
            figures: figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            done: self.requests.saturating_sub(self.refused),
            warnings: warnings.into_iter().filter(|(is_so, _)| *is_so).map(|(_, warning)| warning).collect(),
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
        let sample = Report::read(SAID).unwrap().sample(true);
        let values: Vec<f64> = sample.figures.iter().map(|(_, value)| *value).collect();
        assert_eq!((values, sample.done), (vec![2500.0, 5.8, 17.7, 3.0, 30.0, 16.0, 1.5], 4_997));
        assert_eq!(sample.warnings, ["3 requests were refused; its rate counts them"]);
        let late = SAID.replace("\"late\":1500,\"sent\":5016", "\"late\":30000,\"sent\":5200");
        let warnings = Report::read(&late).unwrap().sample(false).warnings.join("\n");
        assert!(warnings.contains("30 ms late") && warnings.contains("200 requests had no answer"), "{warnings}");
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
