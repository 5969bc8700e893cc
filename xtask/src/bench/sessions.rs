//! `cargo xtask bench sessions`: the Session API beside its yardsticks.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, value_parser};
use serde::Deserialize;

use super::compare::{Contender, Rounds, Row, beside, compare, each, latencies};
use super::deployment::{ALL_IN_ONE, Database, Deployment, SERVICES, Service};
use super::figures::{figure, table};
use super::load::{Load, SESSION, Sample};
use super::pgbench::{Script, sql_file};
use super::run::Bench;
use super::{RunOptions, WRK, describe, fill, goal, run_with};
use crate::command::captured;
use crate::failure::{Context, Failure, Outcome};
use crate::http1::Client;
use crate::programs::{Build, free_address};

/// The yardsticks' program.
const BASELINE: &str = "dropin-baseline";
/// Clients of pgbench: as many as the service and the handlers have connections, and twice that, where it does best.
const CLIENTS: [u32; 2] = [8, 16];
const START: Duration = Duration::from_secs(60);

const P99_MAX_MS: f64 = 10.0;
const SQLITE_CREATES_MIN: f64 = 8_000.0;
const SQLITE_CREATES_STRETCH: f64 = 15_000.0;
const IDLE_MAX_MIB: f64 = 50.0;

/// Measures creating, finding and replacing Sessions over HTTP, beside pgbench, a bare route and simple handlers on the same
/// PostgreSQL, and prints tables.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    run: RunOptions,
    /// How many stored Sessions are many, 10000 to 10000000 [default: 5000000]
    #[arg(long, value_parser = value_parser!(u64).range(10_000..=10_000_000))]
    stored: Option<u64>,
    /// Leaves out creates at few and at many stored Sessions, which take the longest
    #[arg(long)]
    skip_fill: bool,
}

/// How much is done.
pub(super) struct Plan {
    pub(super) rounds: Rounds,
    /// Sessions that are created to be found and replaced.
    known: usize,
    /// Stored Sessions at which creates are compared.
    pub(super) small: u64,
    pub(super) large: u64,
}

/// Runs the task.
pub(crate) fn task(options: &Options) -> Outcome<()> {
    let quick = options.run.quick;
    let (known, small, large) = if quick { (200, 1_000, 20_000) } else { (2_000, 10_000, 5_000_000) };
    let plan = Plan { rounds: options.run.rounds(8, 1), known, small, large: options.stored.unwrap_or(large) };
    let databases = options.run.databases.databases();
    let has_postgres = databases.contains(&Database::Postgres);
    let programs = programs(has_postgres, quick);
    run_with(Build::Release, options.run.databases.skip_build, &[WRK], &programs, |bench| {
        plan.rounds.describe();
        describe(bench)?;
        let mut idle = Vec::new();
        for database in &databases {
            idle.push(match database {
                Database::Postgres => ("session-api", on_postgres(bench, &plan)?),
                Database::Sqlite => ("dropin (all-in-one)", on_sqlite(bench, &plan)?),
            });
        }
        measure_memory(bench, idle, has_postgres && !quick)?;
        let sizes = databases.into_iter().filter(|_| !options.skip_fill);
        sizes.into_iter().try_for_each(|database| fill::run(bench, &plan, database))?;
        Ok(Vec::new())
    })
}

/// The programs to build. The yardsticks and the services that are programs of their own run on PostgreSQL alone.
fn programs(has_postgres: bool, quick: bool) -> Vec<&'static str> {
    let others: &[&str] = match (has_postgres, quick) {
        (false, _) => &[],
        (true, true) => &["session-api"],
        (true, false) => &SERVICES,
    };
    [others, &[ALL_IN_ONE]].concat().into_iter().chain(has_postgres.then_some(BASELINE)).collect()
}

/// What the answer to POST /v1/session tells.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Created {
    pub(crate) session_id: String,
}

/// The service with everything on, a merchant of its own, and Sessions to work on.
pub(super) struct Sessions {
    pub(super) deployment: Deployment,
    pub(super) service: Service,
    authorization: String,
    idle_mib: f64,
    /// File of ids and references of Sessions that exist.
    known: PathBuf,
}

impl Sessions {
    pub(super) fn start(bench: &mut Bench, database: Database, known: usize) -> Outcome<Self> {
        let deployment = Deployment::new(bench, database)?;
        let authorization = deployment.merchant(bench, &[])?.authorization();
        let service = deployment.start(bench, "session-api")?;
        let idle_mib = service.program.idle_memory()?;
        let mut client = Client::connect(service.address, &authorization)?;
        let run = bench.new_name();
        let mut lines = String::new();
        for number in 0..known {
            let reference = format!("{run}-{number}");
            let body = SESSION.replace("@REFERENCE@", &reference).replace("@NUMBER@", &number.to_string());
            let (status, answer) = client.send("POST", "/v1/session", &body)?;
            if status != 201 {
                return Err(Failure::new(format!("a Session of the bench was refused ({status}): {answer}")));
            }
            let created: Created = serde_json::from_str(&answer).context(|| format!("understand {answer}"))?;
            let _infallible = writeln!(lines, "{} {reference}", created.session_id);
        }
        let known = bench.file(&bench.new_name(), &lines)?;
        Ok(Self { deployment, service, authorization, idle_mib, known })
    }

    /// Creates, finds or replaces Sessions.
    pub(super) fn run(&self, bench: &Bench, method: &'static str, seconds: u32, rate: Option<u32>) -> Outcome<Sample> {
        load(method, "/v1/session", &self.authorization, &self.known).run(bench, &self.service, seconds, rate)
    }

    fn contender<'a>(&'a self, bench: &'a Bench, method: &'static str) -> Contender<'a> {
        let path = if method == "POST" { "/v1/session" } else { "/v1/session/{id}" };
        Contender::new(format!("service: {method} {path}"), Some(self.idle_mib), move |seconds| {
            self.run(bench, method, seconds, None)
        })
    }

    /// Each of the methods at half of what it reached as fast as answers came.
    fn at_half(&self, bench: &Bench, plan: &Plan, name: &str, reached: [(&'static str, &Row); 3]) -> Outcome<()> {
        let paced = reached.map(|(method, row)| {
            let rate = ((row.per_second() / 2.0) as u32).max(1);
            Contender::new(format!("{method} at {rate}/s"), None, move |seconds| {
                self.run(bench, method, seconds, Some(rate))
            })
        });
        let halves = compare("half the ceiling", &paced, plan.rounds)?;
        println!("\n### Half the ceiling on {name}\n\n{}", latencies(&halves));
        let most = halves.iter().map(|row| row.median(|sample| sample.p99_ms)).fold(0.0, f64::max);
        let what = format!("p99 at half the ceiling is at most {most:.2} ms; wanted: less than {P99_MAX_MS} ms");
        print!("{}", goal(most < P99_MAX_MS, &what));
        Ok(())
    }
}

fn load<'a>(method: &'static str, path: &str, authorization: &str, known: &'a std::path::Path) -> Load<'a> {
    let is_new = method == "POST";
    let mut headers = vec![format!("Authorization: {authorization}")];
    let body = (method != "GET").then_some(SESSION);
    if body.is_some() {
        headers.extend(["Content-Type: application/json", "Idempotency-Key: @REFERENCE@"].map(str::to_owned));
    }
    let path = if is_new { path.to_owned() } else { format!("{path}/") };
    Load { method, path, headers, body, known: (!is_new).then_some(known) }
}

/// The handlers and pgbench's scripts on tables of their own.
#[derive(Debug)]
struct Yardsticks {
    deployment: Deployment,
    service: Service,
    known: PathBuf,
    details: String,
    terms: String,
}

impl Yardsticks {
    fn start(bench: &mut Bench) -> Outcome<Self> {
        let deployment = Deployment::new(bench, Database::Postgres)?;
        // Billing profile and terms of the body, as the handlers keep them.
        let mut terms: serde_json::Value = serde_json::from_str(SESSION).context(|| "read the body".to_owned())?;
        let (details, terms) = (terms["BillingProfile"].take().to_string(), terms.to_string());
        let (file, variables) = (sql_file("tables.sql"), [format!("details={details}"), format!("terms={terms}")]);
        let [one, other] = variables.each_ref().map(OsStr::new);
        let (variable, script) = (OsStr::new("-v"), OsStr::new("-f"));
        captured(&mut deployment.psql(bench, [variable, one, variable, other, script, file.as_os_str()]))?;
        let known = deployment.sql(bench, "SELECT id || ' ' || reference FROM session")?;
        let known = bench.file("yardstick-known", &known)?;
        let address = free_address()?;
        let mut command = bench.program(BASELINE);
        command.arg(address.to_string()).env("DATABASE_URL", deployment.postgres_url(bench));
        let mut program = bench.spawn(BASELINE, &mut command)?;
        program.wait_until("listening", START, || std::net::TcpStream::connect(address).is_ok())?;
        let service = Service { name: BASELINE, program, address, postmaster: Some(bench.postmaster()) };
        Ok(Self { deployment, service, known, details, terms })
    }

    fn script<'a>(&'a self, bench: &'a Bench, name: &str, file: &'static str, clients: u32) -> Contender<'a> {
        let script = Script { file, clients, details: &self.details, terms: &self.terms };
        Contender::new(format!("pgbench: {name}, {clients} clients"), None, move |seconds| {
            script.run(bench, &self.deployment.postgres_url(bench), seconds)
        })
    }

    fn handler<'a>(&'a self, bench: &'a Bench, name: &str, method: &'static str, path: &str) -> Contender<'a> {
        let load = load(method, path, "Basic YmVuY2g6YmVuY2g=", &self.known);
        Contender::new(name, None, move |seconds| load.run(bench, &self.service, seconds, None))
    }
}

/// The service on PostgreSQL beside everything it is compared with. Returns the memory of the idle service.
fn on_postgres(bench: &mut Bench, plan: &Plan) -> Outcome<f64> {
    let sessions = Sessions::start(bench, Database::Postgres, plan.known)?;
    let yardsticks = Yardsticks::start(bench)?;
    compare_on_postgres(bench, plan, &sessions, &yardsticks)?;
    bench.end(yardsticks.service.program)?;
    bench.end(sessions.service.program)?;
    Ok(sessions.idle_mib)
}

fn compare_on_postgres(bench: &Bench, plan: &Plan, sessions: &Sessions, yardsticks: &Yardsticks) -> Outcome<()> {
    let mut contenders = vec![
        sessions.contender(bench, "POST"),
        yardsticks.handler(bench, "naive handler: four round trips", "POST", "/naive"),
        yardsticks.handler(bench, "tuned handler: one statement", "POST", "/tuned"),
        yardsticks.handler(bench, "bare route: JSON in, JSON out", "POST", "/bare"),
    ];
    for clients in CLIENTS {
        contenders.push(yardsticks.script(bench, "four round trips", "transaction.sql", clients));
        contenders.push(yardsticks.script(bench, "one statement", "statement.sql", clients));
    }
    let creates = compare("POST", &contenders, plan.rounds)?;
    println!("\n### POST on PostgreSQL\n\n{}", beside(&creates));
    let contenders = [
        sessions.contender(bench, "GET"),
        yardsticks.handler(bench, "naive handler", "GET", "/naive"),
        yardsticks.handler(bench, "tuned handler: no test query", "GET", "/tuned"),
        yardsticks.script(bench, "join by id", "find.sql", CLIENTS[0]),
    ];
    let finds = compare("GET", &contenders, plan.rounds)?;
    println!("\n### GET on PostgreSQL\n\n{}", beside(&finds));
    let replaces = compare("PUT", &[sessions.contender(bench, "PUT")], plan.rounds)?;
    println!("\n### PUT on PostgreSQL\n\n{}", each(&replaces));
    let against = |rows: &[Row], at: usize| rows[0].per_second() / rows[at].per_second();
    for (method, rows) in [("POST", &creates), ("GET", &finds)] {
        let share = against(rows, 1);
        print!("{}", goal(share >= 1.0, &format!("{method} is {share:.2} of the naive handler; wanted: 1")));
    }
    println!(
        "       POST is {:.2} of the tuned handler, {:.2} of pgbench's four round trips and {:.2} of its one statement",
        against(&creates, 2),
        against(&creates, 4),
        against(&creates, 5)
    );
    sessions.at_half(bench, plan, "PostgreSQL", [("POST", &creates[0]), ("GET", &finds[0]), ("PUT", &replaces[0])])
}

/// The service on SQLite. Returns the memory of the idle service.
fn on_sqlite(bench: &mut Bench, plan: &Plan) -> Outcome<f64> {
    let sessions = Sessions::start(bench, Database::Sqlite, plan.known)?;
    let rows = compare("SQLite", &["POST", "GET", "PUT"].map(|method| sessions.contender(bench, method)), plan.rounds)?;
    println!("\n### SQLite, the all-in-one\n\n{}", each(&rows));
    let creates = rows[0].per_second();
    let wanted = format!(
        "{creates:.0} durable creates per second; wanted: {SQLITE_CREATES_MIN}, stretch {SQLITE_CREATES_STRETCH}"
    );
    print!("{}", goal(creates >= SQLITE_CREATES_MIN, &wanted));
    sessions.at_half(bench, plan, "SQLite", [("POST", &rows[0]), ("GET", &rows[1]), ("PUT", &rows[2])])?;
    bench.end(sessions.service.program)?;
    Ok(sessions.idle_mib)
}

/// What every program holds when it has nothing to do; `measured` were seen before. The others are started on PostgreSQL.
fn measure_memory(bench: &mut Bench, mut measured: Vec<(&str, f64)>, with_others: bool) -> Outcome<()> {
    if with_others {
        let deployment = Deployment::new(bench, Database::Postgres)?;
        deployment.merchant(bench, &[])?;
        for name in SERVICES {
            if measured.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let service = deployment.start(bench, name)?;
            measured.push((name, service.program.idle_memory()?));
            bench.end(service.program)?;
        }
    }
    let rows: Vec<Vec<String>> = measured.iter().map(|(name, mib)| vec![(*name).to_owned(), figure(*mib)]).collect();
    println!("\n### Memory when idle\n\n{}", table(&["program", "MiB"], &rows));
    let most = measured.iter().map(|(_, mib)| *mib).fold(0.0, f64::max);
    print!("{}", goal(most < IDLE_MAX_MIB, &format!("at most {most:.1} MiB idle; wanted: less than {IDLE_MAX_MIB}")));
    Ok(())
}
