//! The service as it is measured: the release build with everything on, a merchant of its own, and Sessions to work on.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::load::{BODY, Target};
use super::run::Bench;
use crate::failure::{Context, Failure, Outcome};
use crate::http1::Client;
use crate::programs::{Credentials, Program, answers, free_address};

/// How long a program may take until it serves.
pub(crate) const START: Duration = Duration::from_secs(60);
/// All load comes from one merchant at one address: requests are counted as always, but never too many.
pub(crate) const HIGH_LIMITS: [(&str, &str); 2] =
    [("DROPIN_MERCHANT_RATE", "1000000"), ("DROPIN_CLIENT_RATE", "1000000")];

/// Nobody listens there: no Session of the bench is paid.
pub(crate) const NO_PROCESSOR: [(&str, &str); 2] =
    [("PROCESSOR_URL", "http://127.0.0.1:9"), ("PROCESSOR_KEY", "bench")];

/// Which program, on which database.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// session-api on one of the databases of the bench's PostgreSQL.
    Postgres(String),
    /// The all-in-one on a file.
    Sqlite,
}

/// A running service.
#[derive(Debug)]
pub(crate) struct Service {
    kind: Kind,
    folder: PathBuf,
    program: Program,
    pub(crate) target: Target,
    /// Ids and references of Sessions that exist.
    pub(crate) known: PathBuf,
    pub(crate) idle_mib: f64,
}

/// What the answer to POST /v1/session tells.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Created {
    pub(crate) session_id: String,
}

impl Service {
    /// Prepares the database, starts the program and creates Sessions to work on.
    pub(crate) fn start(bench: &mut Bench, kind: Kind, known: usize) -> Outcome<Self> {
        let folder = bench.new_folder(&bench.new_name())?;
        if let Kind::Postgres(name) = &kind {
            bench.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        }
        let credentials = Credentials::create(|| configured(bench, "dropin", &kind, &folder), &["--name", "Bench"])?;
        let authorization = credentials.authorization();
        let (program, target) = launch(bench, &kind, &folder, authorization)?;
        let known_file = folder.join("known");
        let mut service = Self { kind, folder, program, target, known: known_file, idle_mib: 0.0 };
        service.idle_mib = service.program.idle_memory()?;
        service.create(bench, known)?;
        Ok(service)
    }

    /// Stops the program.
    pub(crate) fn stop(self, bench: &mut Bench) -> Outcome<()> {
        bench.end(self.program)
    }

    /// Stops the program, does something to its database, and starts it again.
    pub(crate) fn while_stopped(self, bench: &mut Bench, work: impl FnOnce(&Bench) -> Outcome<()>) -> Outcome<Self> {
        let Self { kind, folder, program, target, known, idle_mib } = self;
        bench.end(program)?;
        work(bench)?;
        let (program, target) = launch(bench, &kind, &folder, target.authorization)?;
        Ok(Self { kind, folder, program, target, known, idle_mib })
    }

    /// Another program on the same database, with all that any of them wants to know but where to listen.
    pub(crate) fn neighbour(&self, bench: &Bench, name: &str) -> Command {
        let mut command = configured(bench, name, &self.kind, &self.folder);
        command.envs(NO_PROCESSOR).env("SANDBOX_PROCESSOR_KEY", "bench");
        command.env("SANDBOX_PROCESSOR_DATABASE", self.folder.join("processor.db"));
        command
    }

    /// The SQLite file, when it is one.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("dropin.db")
    }

    /// Creates Sessions one after the other and notes their ids and references.
    fn create(&self, bench: &Bench, count: usize) -> Outcome<()> {
        let mut client = Client::connect(self.target.address, &self.target.authorization)?;
        let run = bench.new_name();
        let mut lines = String::new();
        for number in 0..count {
            let reference = format!("{run}-{number}");
            let body = BODY.replace("@REFERENCE@", &reference).replace("@NUMBER@", &number.to_string());
            let (status, answer) = client.send("POST", "/v1/session", &body)?;
            if status != 201 {
                return Err(Failure::new(format!("a Session of the bench was refused ({status}): {answer}")));
            }
            let created: Created = serde_json::from_str(&answer).context(|| format!("understand {answer}"))?;
            let _infallible = writeln!(lines, "{} {reference}", created.session_id);
        }
        std::fs::write(&self.known, lines).context(|| format!("write {}", self.known.display()))
    }
}

fn launch(bench: &mut Bench, kind: &Kind, folder: &Path, authorization: String) -> Outcome<(Program, Target)> {
    let address = free_address()?;
    let name = match kind {
        Kind::Postgres(_) => "session-api",
        Kind::Sqlite => "dropin",
    };
    let mut command = configured(bench, name, kind, folder);
    command.env("DROPIN_LISTEN", address.to_string()).envs(HIGH_LIMITS);
    match kind {
        Kind::Postgres(_) => command.envs(NO_PROCESSOR),
        Kind::Sqlite => command.arg("--no-demo"),
    };
    let mut program = bench.spawn(name, &mut command)?;
    program.wait_until("ready", START, || answers(address, "/readyz"))?;
    let postmaster = matches!(kind, Kind::Postgres(_)).then(|| bench.postmaster());
    let target = Target { address, authorization, process: program.id(), postmaster };
    Ok((program, target))
}

/// One of our programs, told where database and keys are.
pub(crate) fn configured(bench: &Bench, name: &str, kind: &Kind, folder: &Path) -> Command {
    let url = match kind {
        Kind::Postgres(database) => bench.database_url(database),
        Kind::Sqlite => format!("sqlite://{}", folder.join("dropin.db").display()),
    };
    let mut command = bench.program(name);
    command.env("DATABASE_URL", url).env("DROPIN_DATA", folder).env("DROPIN_KEYS", folder.join("keys"));
    command
}
