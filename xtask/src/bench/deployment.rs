//! A database of its own, and our programs on it, as they are deployed.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::command::captured;
use crate::failure::{Context, Outcome};
use crate::programs::{Credentials, Program, Programs, answers, free_address};

/// How long a program may take until it serves.
const START: Duration = Duration::from_secs(60);
/// How long one command on a database may take.
const SQL_TIMEOUT: Duration = Duration::from_secs(1_800);
/// All load comes from one merchant at one address: requests are counted as always, but never too many.
const HIGH_LIMITS: [(&str, &str); 6] = [
    ("DROPIN_MERCHANT_RATE", "1000000"),
    ("DROPIN_CLIENT_RATE", "1000000"),
    ("DROPIN_STASH_CLIENT_BYTES", "1000000000000"),
    ("DROPIN_STASH_MERCHANT_BYTES", "1000000000000"),
    ("DROPIN_STASH_BYTES", "1000000000000"),
    ("DROPIN_STASH_ENTRIES", "1000000000"),
];

pub(crate) const SANDBOX: &str = "sandbox-processor";
/// The key by which the services are known to the sandbox processor.
pub(crate) const PROCESSOR_KEY: &str = "bench";
/// Nobody listens there, unless a program is told of a processor.
const NO_PROCESSOR: &str = "http://127.0.0.1:9";

/// Every service is a program of its own, or the all-in-one is all of them.
pub(crate) const SERVICES: [&str; 6] = ["checkout-api", "notifier", SANDBOX, "session-api", "settler", "stash-api"];
pub(crate) const ALL_IN_ONE: &str = "dropin";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Database {
    Postgres,
    Sqlite,
}

impl Database {
    pub(crate) fn name(self) -> &'static str {
        if self == Self::Postgres { "PostgreSQL" } else { "SQLite" }
    }
}

/// A database, and a folder for what belongs to it.
#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) database: Database,
    pub(crate) folder: PathBuf,
    name: String,
}

#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    pub(crate) address: SocketAddr,
    /// PostgreSQL's main process, when the program uses it.
    pub(crate) postmaster: Option<u32>,
}

impl Deployment {
    /// Makes the folder and an empty database.
    pub(crate) fn new(bench: &Programs, database: Database) -> Outcome<Self> {
        let name = bench.new_name();
        let folder = bench.new_folder(&name)?;
        let name = name.replace('-', "_");
        if database == Database::Postgres {
            bench.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        }
        Ok(Self { database, folder, name })
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.database == Database::Postgres
    }

    /// The name of the database on the bench's PostgreSQL, when it is one.
    pub(crate) fn postgres_name(&self) -> Option<&str> {
        self.is_postgres().then_some(&self.name)
    }

    pub(crate) fn postgres_url(&self, bench: &Programs) -> String {
        bench.database_url(&self.name)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("dropin.db")
    }

    /// What SQL answers, unaligned and without heads.
    pub(crate) fn sql(&self, bench: &Programs, sql: &str) -> Outcome<String> {
        match self.database {
            Database::Postgres => bench.sql(&self.name, sql),
            Database::Sqlite => captured(self.sqlite(bench).arg(sql)),
        }
    }

    pub(crate) fn run_script(&self, bench: &Programs, script: &str) -> Outcome<()> {
        let file = bench.file(&format!("{}.sql", bench.new_name()), script)?;
        let mut tool = match self.database {
            Database::Postgres => self.psql(bench, [OsStr::new("-f"), file.as_os_str()]),
            Database::Sqlite => {
                let mut sqlite = self.sqlite(bench);
                sqlite.arg(format!(".read {}", file.display()));
                sqlite
            }
        };
        captured(&mut tool).map(drop)
    }

    pub(crate) fn psql<'a>(&self, bench: &Programs, arguments: impl IntoIterator<Item = &'a OsStr>) -> Command {
        let mut psql = bench.tool("psql", SQL_TIMEOUT);
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1"]).args(arguments).arg(self.postgres_url(bench));
        psql
    }

    fn sqlite(&self, bench: &Programs) -> Command {
        let mut sqlite = bench.tool("sqlite3", SQL_TIMEOUT);
        sqlite.args(["-batch", "-bail", "-cmd", ".timeout 60000"]).arg(self.file());
        sqlite
    }

    pub(crate) fn number(&self, bench: &Programs, sql: &str) -> Outcome<u64> {
        let said = self.sql(bench, sql)?;
        said.trim().parse().context(|| format!("understand the number `{}`", said.trim()))
    }

    /// One of our programs, told where database and keys are.
    pub(crate) fn command(&self, bench: &Programs, program: &str) -> Command {
        let url = match self.database {
            Database::Postgres => self.postgres_url(bench),
            Database::Sqlite => format!("sqlite://{}", self.file().display()),
        };
        let mut command = bench.program(program);
        command.env("DATABASE_URL", url).env("DROPIN_DATA", &self.folder).env("DROPIN_KEYS", self.folder.join("keys"));
        command
    }

    /// Prepares the database and creates a merchant.
    pub(crate) fn merchant(&self, bench: &Programs, options: &[&str]) -> Outcome<Credentials> {
        Credentials::create(|| self.command(bench, ALL_IN_ONE), &[&["--name", "Bench"][..], options].concat())
    }

    /// Starts a program: the service of that name on PostgreSQL, the all-in-one on SQLite.
    pub(crate) fn start(&self, bench: &mut Programs, service: &'static str) -> Outcome<Service> {
        match self.database {
            Database::Postgres => self.launch(bench, service, free_address()?, &[], &[]),
            Database::Sqlite => self.start_all_in_one(bench, &[]),
        }
    }

    /// Starts the all-in-one with its own processor.
    pub(crate) fn start_all_in_one(&self, bench: &mut Programs, settings: &[(&str, &str)]) -> Outcome<Service> {
        self.launch(bench, ALL_IN_ONE, free_address()?, &["--no-demo"], settings)
    }

    /// Starts a program and waits until it serves. Without other settings no processor is there.
    pub(crate) fn launch(
        &self,
        bench: &mut Programs,
        name: &'static str,
        address: SocketAddr,
        arguments: &[&str],
        settings: &[(&str, &str)],
    ) -> Outcome<Service> {
        let mut command = self.command(bench, name);
        command.args(arguments).envs(HIGH_LIMITS).env("PROCESSOR_KEY", PROCESSOR_KEY);
        if arguments != ["--no-demo"] {
            command.env("PROCESSOR_URL", NO_PROCESSOR);
        }
        let (listen, path) = if name == SANDBOX {
            command.env("SANDBOX_PROCESSOR_KEY", PROCESSOR_KEY);
            command.env("SANDBOX_PROCESSOR_DATABASE", self.folder.join("processor.db"));
            ("SANDBOX_PROCESSOR_LISTEN", "/healthz")
        } else {
            ("DROPIN_LISTEN", "/readyz")
        };
        let command = command.env(listen, address.to_string()).envs(settings.iter().copied());
        let mut program = bench.spawn(name, command)?;
        program.wait_until("ready", START, || answers(address, path))?;
        Ok(Service { name, program, address, postmaster: self.postmaster(bench)? })
    }

    /// The main process of PostgreSQL, when that is it.
    pub(crate) fn postmaster(&self, bench: &Programs) -> Outcome<Option<u32>> {
        self.is_postgres().then(|| bench.postmaster()).transpose()
    }
}
