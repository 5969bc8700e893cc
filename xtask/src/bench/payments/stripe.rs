//! `--processor stripe`: what a payment takes of our programs at Stripe's API, beside what it takes at the sandbox processor's. Stripe is localstripe behind
//! the proxy of the tests, whose own processor time is told apart.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::{SiteOptions, measure};
use crate::bench::compare::Row;
use crate::bench::deployment::{ALL_IN_ONE, Database, SANDBOX, SERVICES};
use crate::bench::payments::client::PaymentFlow;
use crate::bench::{SELF, describe, goal, run_with};
use crate::command::{captured, cargo};
use crate::failure::{Context, Failure, Outcome};
use crate::localstripe::LOCALSTRIPE;
use crate::programs::{Build, Program, Programs};

/// The name under which its processor time is told.
pub(super) const NAME: &str = "localstripe and its proxy";
/// The key that the proxy takes.
const KEY: &str = "sk_test_of_localstripe";
/// The test that serves until it is ended, and where it writes its address.
const SERVER: &str = "at_localstripe::localstripe_serves_until_it_is_ended";
const ADDRESS_FILE: &str = "LOCALSTRIPE_ADDRESS_FILE";
/// How long it may take until it serves.
const START: Duration = Duration::from_secs(60);
/// How much more than at the sandbox processor a payment may take of our programs.
const RATIO_MAX: f64 = 1.3;

/// A localstripe that runs.
pub(super) struct Localstripe {
    pub(super) url: String,
    program: Program,
}

impl Localstripe {
    fn start(bench: &mut Programs, server: &Path) -> Outcome<Self> {
        let file = bench.folder().join(bench.new_name());
        let mut command = Command::new(server);
        command.args(["--ignored", "--exact", SERVER, "--nocapture"]).env(ADDRESS_FILE, &file);
        let mut program = bench.spawn("localstripe", &mut command)?;
        program.wait_until("ready", START, || file.exists())?;
        let address = std::fs::read_to_string(&file).context(|| format!("read {}", file.display()))?;
        Ok(Self { url: format!("http://{}", address.trim()), program })
    }

    pub(super) fn id(&self) -> u32 {
        self.program.id()
    }

    /// By what a program is told of it.
    pub(super) fn settings(&self) -> [(&'static str, &str); 3] {
        [("PROCESSOR", "stripe"), ("PROCESSOR_URL", &self.url), ("PROCESSOR_KEY", KEY)]
    }
}

/// Measures both on PostgreSQL, where every service is a program of its own.
pub(super) fn task(options: &SiteOptions, flow: PaymentFlow) -> Outcome<()> {
    let programs = [&SERVICES[..], &[ALL_IN_ONE, SELF]].concat();
    run_with(Build::Release, options.run.databases.skip_build, &[], &programs, |bench| {
        LOCALSTRIPE.install()?;
        let server = build()?;
        options.rounds().describe();
        describe(bench)?;
        let localstripe = Localstripe::start(bench, &server)?;
        let (mut site, at_stripe) = measure(bench, options, &[flow], Database::Postgres, Some(&localstripe))?;
        site.stop(bench)?;
        bench.end(localstripe.program)?;
        // At the rate that localstripe kept up with: what our programs do each second anyhow is spread over as many payments.
        let rate = (at_stripe[0].per_second().round() as u32).max(1);
        println!("\nAt the sandbox processor's, begun at most {rate} times per second:");
        let at_rate = options.at_rate(rate);
        let (mut site, at_sandbox) = measure(bench, &at_rate, &[flow], Database::Postgres, None)?;
        site.stop(bench)?;
        let ours = |rows: &[Row]| rows[0].cpu(|name| name != SANDBOX && SERVICES.contains(&name));
        let (stripe, sandbox) = (ours(&at_stripe), ours(&at_sandbox));
        let told = format!(
            "a payment takes {stripe:.0} us of our programs at Stripe's API and {sandbox:.0} us at the sandbox processor's, {:.2} x at {rate} per second; wanted: {RATIO_MAX} x",
            stripe / sandbox
        );
        print!("{}", goal(stripe <= RATIO_MAX * sandbox, &told));
        Ok(Vec::new())
    })
}

/// Builds the tests of the adapter, one of which serves localstripe behind its proxy; their program.
fn build() -> Outcome<PathBuf> {
    // With the features of the whole workspace, of which there mostly is a build.
    let test = ["test", "--workspace", "--test", "stripe", "--no-run", "--message-format=json"];
    let told = captured(cargo().args(test))?;
    let messages = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built = messages.filter(|message| message["target"]["name"] == "stripe");
    let program = built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    program.ok_or_else(|| Failure::new("cargo does not tell where it built the tests of dropin-processor-stripe"))
}
