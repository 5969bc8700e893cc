//! The Session API beside its yardsticks.

use std::path::Path;
use std::time::Duration;

use super::Plan;
use super::compare::{Contender, Row, beside, compare, each, latencies};
use super::load::{BODY, Files, Load, Sample, Target};
use super::pgbench::{Script, sql_file};
use super::run::Bench;
use super::service::{Kind, Service};
use crate::command::captured;
use crate::failure::{Context, Outcome};
use crate::programs::{Program, free_address};

/// Where the yardsticks' tables are.
const YARDSTICK: &str = "yardstick";
/// Clients of pgbench: as many as the service and the handlers have connections, and twice that, where it does best.
const CLIENTS: [u32; 2] = [8, 16];
const START: Duration = Duration::from_secs(60);

const P99_MAX_MS: f64 = 10.0;
const SQLITE_CREATES_MIN: f64 = 8_000.0;
const SQLITE_CREATES_STRETCH: f64 = 15_000.0;

/// The handlers and pgbench's scripts on tables of their own.
#[derive(Debug)]
struct Yardsticks {
    program: Program,
    target: Target,
    known: std::path::PathBuf,
    details: String,
    terms: String,
}

impl Yardsticks {
    fn start(bench: &mut Bench) -> Outcome<Self> {
        bench.sql("postgres", &format!("CREATE DATABASE {YARDSTICK}"))?;
        let (details, terms) = documents()?;
        let mut psql = bench.tool("psql", START);
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-v", &format!("details={details}")]);
        psql.args(["-v", &format!("terms={terms}"), "-f"]).arg(sql_file("tables.sql"));
        captured(psql.arg(bench.database_url(YARDSTICK)))?;
        let known = bench.sql(YARDSTICK, "SELECT id || ' ' || reference FROM session")?;
        let known = bench.file("yardstick-known", &known)?;
        let address = free_address()?;
        let mut command = bench.program("dropin-baseline");
        command.arg(address.to_string()).env("DATABASE_URL", bench.database_url(YARDSTICK));
        let mut program = bench.spawn("dropin-baseline", &mut command)?;
        program.wait_until("listening", START, || std::net::TcpStream::connect(address).is_ok())?;
        let (process, postmaster) = (program.id(), Some(bench.postmaster()));
        let target = Target { address, authorization: "Basic YmVuY2g6YmVuY2g=".to_owned(), process, postmaster };
        Ok(Self { program, target, known, details, terms })
    }

    fn script<'a>(&'a self, bench: &'a Bench, name: &str, file: &'static str, clients: u32) -> Contender<'a> {
        let script = Script { file, clients, details: &self.details, terms: &self.terms };
        Contender::new(format!("pgbench: {name}, {clients} clients"), None, move |seconds| {
            script.run(bench, YARDSTICK, seconds)
        })
    }
}

/// Billing profile and terms of the body, as the handlers keep them.
fn documents() -> Outcome<(String, String)> {
    let mut terms: serde_json::Value = serde_json::from_str(BODY).context(|| "read the body".to_owned())?;
    let details = terms["BillingProfile"].take();
    Ok((details.to_string(), terms.to_string()))
}

/// Creating, finding and replacing.
struct Operations<'a> {
    bench: &'a Bench,
    files: &'a Files,
    service: &'a Service,
}

impl<'a> Operations<'a> {
    fn contender(&self, name: &str, method: &'static str) -> Contender<'a> {
        let Self { bench, files, service } = *self;
        let load = load(method, "/v1/session", &service.known);
        Contender::new(name, Some(service.idle_mib), move |seconds| {
            load.run(bench, files, &service.target, seconds, None)
        })
    }

    /// Each of the methods at half of what it reached as fast as answers came.
    fn at_half(&self, plan: &Plan, reached: [(&'static str, f64); 3]) -> Outcome<Vec<Row>> {
        let Self { bench, files, service } = *self;
        let paced = reached.map(|(method, per_second)| {
            let rate = ((per_second / 2.0) as u32).max(1);
            let load = load(method, "/v1/session", &service.known);
            Contender::new(format!("{method} at {rate}/s"), None, move |seconds| {
                load.run(bench, files, &service.target, seconds, Some(rate))
            })
        });
        compare("half the ceiling", &paced, plan.rounds)
    }
}

fn load<'a>(method: &'static str, path: &'static str, known: &'a Path) -> Load<'a> {
    Load { method, path, known: (method != "POST").then_some(known) }
}

/// The service on PostgreSQL beside everything it is compared with. Returns the memory of the idle service.
pub(crate) fn on_postgres(bench: &mut Bench, plan: &Plan, files: &Files) -> Outcome<f64> {
    let service = Service::start(bench, Kind::Postgres("service".to_owned()), plan.known)?;
    let yardsticks = Yardsticks::start(bench)?;
    let idle = service.idle_mib;
    compare_on_postgres(bench, plan, files, &service, &yardsticks)?;
    bench.end(yardsticks.program)?;
    service.stop(bench)?;
    Ok(idle)
}

fn compare_on_postgres(
    bench: &Bench,
    plan: &Plan,
    files: &Files,
    service: &Service,
    yardsticks: &Yardsticks,
) -> Outcome<()> {
    let operations = Operations { bench, files, service };
    let handler = |name: &str, method, path| {
        let load = load(method, path, &yardsticks.known);
        Contender::new(name, None, move |seconds| load.run(bench, files, &yardsticks.target, seconds, None))
    };
    let mut contenders = vec![
        operations.contender("service: POST /v1/session", "POST"),
        handler("naive handler: four round trips", "POST", "/naive"),
        handler("tuned handler: one statement", "POST", "/tuned"),
        handler("bare route: JSON in, JSON out", "POST", "/bare"),
    ];
    for clients in CLIENTS {
        contenders.push(yardsticks.script(bench, "four round trips", "transaction.sql", clients));
        contenders.push(yardsticks.script(bench, "one statement", "statement.sql", clients));
    }
    let creates = compare("POST", &contenders, plan.rounds)?;
    println!("\n### POST on PostgreSQL\n\n{}", beside(&creates));
    let contenders = [
        operations.contender("service: GET /v1/session/{id}", "GET"),
        handler("naive handler", "GET", "/naive"),
        handler("tuned handler: no test query", "GET", "/tuned"),
        yardsticks.script(bench, "join by id", "find.sql", CLIENTS[0]),
    ];
    let finds = compare("GET", &contenders, plan.rounds)?;
    println!("\n### GET on PostgreSQL\n\n{}", beside(&finds));
    let replaces = compare("PUT", &[operations.contender("service: PUT /v1/session/{id}", "PUT")], plan.rounds)?;
    println!("\n### PUT on PostgreSQL\n\n{}", each(&replaces));
    let halves = operations.at_half(
        plan,
        [("POST", creates[0].per_second()), ("GET", finds[0].per_second()), ("PUT", replaces[0].per_second())],
    )?;
    println!("\n### Half the ceiling on PostgreSQL\n\n{}", latencies(&halves));
    let against = |rows: &[Row], at: usize| rows[0].per_second() / rows[at].per_second();
    let goals = [
        (against(&creates, 1) >= 1.0, format!("POST is {:.2} of the naive handler; wanted: 1", against(&creates, 1))),
        (against(&finds, 1) >= 1.0, format!("GET is {:.2} of the naive handler; wanted: 1", against(&finds, 1))),
    ];
    goals.iter().for_each(|(reached, what)| print!("{}", super::goal(*reached, what)));
    println!(
        "       POST is {:.2} of the tuned handler, {:.2} of pgbench's four round trips and {:.2} of its one statement",
        against(&creates, 2),
        against(&creates, 4),
        against(&creates, 5)
    );
    judge_latency(&halves);
    Ok(())
}

/// The service on SQLite. Returns the memory of the idle service.
pub(crate) fn on_sqlite(bench: &mut Bench, plan: &Plan, files: &Files) -> Outcome<f64> {
    let service = Service::start(bench, Kind::Sqlite, plan.known)?;
    let operations = Operations { bench, files, service: &service };
    let rows = compare(
        "SQLite",
        &[
            operations.contender("service: POST /v1/session", "POST"),
            operations.contender("service: GET /v1/session/{id}", "GET"),
            operations.contender("service: PUT /v1/session/{id}", "PUT"),
        ],
        plan.rounds,
    )?;
    println!("\n### SQLite, the all-in-one\n\n{}", each(&rows));
    let creates = rows[0].per_second();
    let halves =
        operations.at_half(plan, [("POST", creates), ("GET", rows[1].per_second()), ("PUT", rows[2].per_second())])?;
    println!("\n### Half the ceiling on SQLite\n\n{}", latencies(&halves));
    let wanted = format!(
        "{creates:.0} durable creates per second; wanted: {SQLITE_CREATES_MIN}, stretch {SQLITE_CREATES_STRETCH}"
    );
    print!("{}", super::goal(creates >= SQLITE_CREATES_MIN, &wanted));
    judge_latency(&halves);
    let idle = service.idle_mib;
    service.stop(bench)?;
    Ok(idle)
}

fn judge_latency(halves: &[Row]) {
    let p99 = |sample: &Sample| sample.p99_ms;
    let most = halves.iter().map(|row| row.median(p99)).fold(0.0, f64::max);
    let what = format!("p99 at half the ceiling is at most {most:.2} ms; wanted: less than {P99_MAX_MS} ms");
    print!("{}", super::goal(most < P99_MAX_MS, &what));
}
