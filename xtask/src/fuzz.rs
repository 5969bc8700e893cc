//! `cargo xtask fuzz-api`: schemathesis against a running all-in-one, by the documents that it serves.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::command::{cargo, finished, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::programs::{Build, Credentials, Program, Programs, answers, free_address};
use crate::python::{PythonProgram, Requirements};

/// Service, where the all-in-one mounts it, and where its document is below that.
const SERVICES: [(&str, &str, &str); 4] = [
    ("session-api", "", ""),
    ("checkout-api", "/checkout", ""),
    ("shopper-api", "/asset", "/v1/shopper"),
    ("stash-api", "/stash", ""),
];
/// How long the service may take to be ready.
const START: Duration = Duration::from_secs(30);
/// How long schemathesis may take for one service, whatever it was asked for.
const MAX_RUN_TIME: Duration = Duration::from_secs(6 * 60 * 60);

/// Starts the all-in-one with a database of its own, creates a merchant, and has schemathesis try every operation of the
/// documents that the services serve: all checks, in the phases examples, coverage, fuzzing and stateful (with links). Fails on a
/// server error or an answer that the documents do not allow. Everything that was started is ended.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// 1,000 requests per operation and phase, in place of 50
    #[arg(long)]
    long: bool,
    /// One of the services alone
    #[arg(long, value_parser = PossibleValuesParser::new(SERVICES.map(|(name, ..)| name)))]
    service: Option<String>,
    /// Repeats a run that printed it (`cargo xtask test` has one of its own, so that it ends as it did before)
    #[arg(long)]
    seed: Option<u128>,
}

impl Options {
    fn examples(&self) -> u32 {
        if self.long { 1_000 } else { 50 }
    }
}

pub(crate) fn task(options: &Options) -> Outcome<()> {
    SCHEMATHESIS.install()?;
    let tool = SCHEMATHESIS.program("st");
    // The very build of the tests: for one package alone cargo chooses other features, and compiles half of everything again.
    finished(cargo().args(["build", "--workspace", "--all-targets"]))?;
    let service = Service::start()?;
    let chosen = SERVICES.iter().filter(|(name, ..)| options.service.as_deref().is_none_or(|only| only == *name));
    let failed = try_all(&tool, &service, chosen, options)?;
    let broken = service.stop()?;
    if !failed.is_empty() {
        return Err(Failure::new(format!("schemathesis found what stands above in: {}", failed.join(", "))));
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("the service logged errors:\n{}", broken.join("\n"))))
}

/// Tries services side by side: one run of schemathesis keeps one core busy. What each said stands together. The names of those in which it found something.
fn try_all<'service>(
    tool: &Path,
    service: &Service,
    chosen: impl Iterator<Item = &'service (&'static str, &'static str, &'static str)>,
    options: &Options,
) -> Outcome<Vec<&'static str>> {
    let runs: Vec<_> = chosen
        .map(|(name, prefix, below)| {
            let log = service.programs.folder().join(format!("schemathesis-{name}.log"));
            let file = fs::File::create(&log).context(|| format!("create {}", log.display()))?;
            let errors = file.try_clone().context(|| format!("write {}", log.display()))?;
            let mut command = schemathesis(tool, service, (prefix, below), options);
            let started = command.stdout(file).stderr(errors).spawn();
            Ok((*name, log, started.context(|| format!("start schemathesis for {name}"))?))
        })
        .collect::<Outcome<_>>()?;
    println!(
        "schemathesis tries {}; what it says follows",
        runs.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
    );
    let mut failed = Vec::new();
    for (name, log, mut run) in runs {
        let status = run.wait().context(|| format!("wait for schemathesis for {name}"))?;
        println!("\n-- {name}, {} examples per operation", options.examples());
        print!("{}", fs::read_to_string(&log).context(|| format!("read {}", log.display()))?);
        if !status.success() {
            eprintln!("{name}: schemathesis ended with {status}");
            failed.push(name);
        }
    }
    Ok(failed)
}

fn schemathesis(tool: &Path, service: &Service, (prefix, below): (&str, &str), options: &Options) -> Command {
    let (folder, merchant) = (workspace_root().join("xtask/fuzz"), &service.merchant);
    let mut command = service.programs.tool(tool, MAX_RUN_TIME);
    command
        .arg("--config-file")
        .arg(folder.join("schemathesis.toml"))
        .args(["run", &format!("{}{prefix}{below}/openapi.json", service.address)])
        // The tool does not resolve the document's relative server address against where it found the document.
        .args(["--url", &format!("{}{prefix}", service.address)])
        .args(["--phases", "examples,coverage,fuzzing,stateful", "--checks", "all"])
        .args(["--max-examples", &options.examples().to_string()])
        .args(["--auth", &format!("{}:{}", merchant.username, merchant.password)])
        .args(options.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]))
        .env("SCHEMATHESIS_HOOKS", folder.join("hooks.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("FUZZ_BASE", &service.address)
        .env("FUZZ_CHECKOUT", format!("{}/checkout", service.address))
        .env("FUZZ_ASSET", format!("{}/asset", service.address))
        .env("FUZZ_STASH", format!("{}/stash", service.address))
        .env("FUZZ_MERCHANT", &merchant.merchant_id)
        .env("FUZZ_USERNAME", &merchant.username)
        .env("FUZZ_PASSWORD", &merchant.password)
        .stdin(Stdio::null());
    command
}

/// schemathesis and what it needs.
pub(crate) const SCHEMATHESIS: PythonProgram = PythonProgram {
    name: "schemathesis",
    folder: "schemathesis",
    requirements: &[Requirements { file: "xtask/fuzz/requirements.txt", options: &[] }],
};

/// The all-in-one with data of its own, and a merchant.
struct Service {
    programs: Programs,
    dropin: Program,
    address: String,
    merchant: Credentials,
}

impl Service {
    fn start() -> Outcome<Self> {
        let mut programs = Programs::start("fuzz", Build::Debug)?;
        let merchant =
            Credentials::create(|| dropin(&programs), &["--name", "Fuzz", "--origin", "https://shop.example"])?;
        let listen = free_address()?;
        let mut command = dropin(&programs);
        // How much a client may ask is tested elsewhere.
        let command = command.args(["--no-demo", "--listen", &listen.to_string()]).envs([
            ("DROPIN_CLIENT_RATE", "0"),
            ("DROPIN_MERCHANT_RATE", "0"),
            ("DROPIN_EVENT_RATE", "0"),
            ("DROPIN_WRONG_PASSWORDS", "0"),
        ]);
        let mut dropin = programs.spawn("dropin", command)?;
        dropin.wait_until("ready", START, || answers(listen, "/readyz"))?;
        Ok(Self { programs, dropin, address: format!("http://{listen}"), merchant })
    }

    /// Stops it gracefully; what it logged as an error.
    fn stop(self) -> Outcome<Vec<String>> {
        let Self { mut programs, dropin, .. } = self;
        let file = dropin.log().to_path_buf();
        programs.end(dropin)?;
        let log = fs::read_to_string(&file).context(|| format!("read {}", file.display()))?;
        programs.finish()?;
        Ok(log
            .lines()
            .filter(|line| line.contains(" ERROR ") || line.contains("panicked"))
            .map(str::to_owned)
            .collect())
    }
}

fn dropin(programs: &Programs) -> Command {
    let mut command = programs.program("dropin");
    command.env("DROPIN_DATA", programs.folder().join("data"));
    command
}
