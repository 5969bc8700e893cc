//! `cargo xtask bench sessions`: the Session API beside its yardsticks.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, value_parser};
use serde::Deserialize;

use super::compare::{Contender, Rounds, Row, Sample, beside, compare, each};
use super::deployment::{ALL_IN_ONE, Database, Deployment, SERVICES, Service};
use super::figures::{figure, ratio, table};
use super::fill::{Copies, fill};
use super::load::{Load, SESSION};
use super::pgbench::{Script, sql_file};
use super::{RunOptions, WRK, describe, goal, run_with};
use crate::command::captured;
use crate::failure::{Context, Failure, Outcome};
use crate::http1::Client;
use crate::programs::{Build, Programs, free_address};

const BASELINE: &str = "dropin-baseline";

/// Whom a request goes to, or what takes its place.
enum Target {
    Service,
    /// A route of the yardsticks' program.
    Handler(&'static str),
    /// A script of pgbench, and its clients: as many as the service and the handlers have connections, and twice that, where it does best.
    Script(&'static str, u32),
}

/// What is compared: the method, and who takes it in turn. The service is the first.
const COMPARISONS: [(&str, &[(&str, Target)]); 3] = [
    (
        "POST",
        &[
            ("service: POST /v1/session", Target::Service),
            ("naive handler: four round trips", Target::Handler("/naive")),
            ("tuned handler: one statement", Target::Handler("/tuned")),
            ("bare route: JSON in, JSON out", Target::Handler("/bare")),
            ("pgbench: four round trips, 8 clients", Target::Script("transaction.sql", 8)),
            ("pgbench: one statement, 8 clients", Target::Script("statement.sql", 8)),
            ("pgbench: four round trips, 16 clients", Target::Script("transaction.sql", 16)),
            ("pgbench: one statement, 16 clients", Target::Script("statement.sql", 16)),
        ],
    ),
    (
        "GET",
        &[
            ("service: GET /v1/session/{id}", Target::Service),
            ("naive handler", Target::Handler("/naive")),
            ("tuned handler: no test query", Target::Handler("/tuned")),
            ("pgbench: join by id, 8 clients", Target::Script("find.sql", 8)),
        ],
    ),
    ("PUT", &[("service: PUT /v1/session/{id}", Target::Service)]),
];
const START: Duration = Duration::from_secs(60);

const P99_MAX_MS: f64 = 10.0;
const SQLITE_CREATES_MIN: f64 = 8_000.0;
const SQLITE_CREATES_STRETCH: f64 = 15_000.0;
const IDLE_MAX_MIB: f64 = 50.0;
/// A create may cost so much more at the large size than at the small one.
const COST_MAX: f64 = 1.2;
/// Runs at both sizes are short, so that the small size stays small.
const SIZED_SECONDS_MAX: u32 = 2;
/// Copies have ids, profiles and times of their own.
const SESSIONS: Copies<'static> = Copies {
    what: "Sessions",
    postgres: include_str!("fill_postgres.sql"),
    sqlite: include_str!("fill_sqlite.sql"),
    columns: "merchant_id, revision, state, currency, total_minor, terms, created_at, updated_at, expires_at",
    time_max: Duration::from_secs(15 * 60),
};

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

struct Plan {
    rounds: Rounds,
    /// Sessions that are created to be found and replaced.
    known: usize,
    /// Stored Sessions at which creates are compared.
    small: u64,
    large: u64,
}

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
        let idle = databases.iter().map(|database| measure(bench, &plan, *database)).collect::<Outcome<Vec<_>>>()?;
        measure_memory(bench, idle, has_postgres && !quick)?;
        let sizes = databases.into_iter().filter(|_| !options.skip_fill);
        sizes.into_iter().try_for_each(|database| at_sizes(bench, &plan, database))?;
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
struct Sessions {
    deployment: Deployment,
    service: Service,
    authorization: String,
    idle_mib: f64,
    /// File of ids and references of Sessions that exist.
    known: PathBuf,
}

impl Sessions {
    fn start(bench: &mut Programs, database: Database, known: usize) -> Outcome<Self> {
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

    fn run(&self, bench: &Programs, method: &'static str, seconds: u32, rate: Option<u32>) -> Outcome<Sample> {
        load(method, "/v1/session", &self.authorization, &self.known).run(bench, &self.service, seconds, rate)
    }

    /// Each of the methods at half of what it reached as fast as answers came.
    fn at_half(&self, bench: &Programs, plan: &Plan, reached: &[Vec<Row>]) -> Outcome<()> {
        let paced = COMPARISONS.iter().zip(reached).map(|((method, _), rows)| {
            let rate = ((rows[0].per_second() / 2.0) as u32).max(1);
            let run = move |seconds| self.run(bench, method, seconds, Some(rate));
            Contender::new(format!("{method} at {rate}/s"), run)
        });
        let halves = compare("half the ceiling", &paced.collect::<Vec<_>>(), plan.rounds)?;
        println!("\n### Half the ceiling on {}\n\n{}", self.deployment.database.name(), each(&halves));
        let most = halves.iter().map(|row| row.figure("p99 ms")).fold(0.0, f64::max);
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
struct Yardsticks {
    deployment: Deployment,
    service: Service,
    known: PathBuf,
    details: String,
    terms: String,
}

impl Yardsticks {
    fn start(bench: &mut Programs) -> Outcome<Self> {
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
        let service = Service { name: BASELINE, program, address, postmaster: Some(bench.postmaster()?) };
        Ok(Self { deployment, service, known, details, terms })
    }
}

/// One line of a comparison; the yardsticks are there on PostgreSQL alone.
fn contender<'a>(
    bench: &'a Programs,
    sessions: &'a Sessions,
    yardsticks: Option<&'a Yardsticks>,
    method: &'static str,
    (name, target): &'a (&'static str, Target),
) -> Option<Contender<'a>> {
    Some(match *target {
        Target::Service => Contender::new(*name, move |seconds| {
            let mut sample = sessions.run(bench, method, seconds, None)?;
            sample.figures.push(("idle MiB".to_owned(), sessions.idle_mib));
            Ok(sample)
        }),
        Target::Handler(path) => {
            let Yardsticks { service, known, .. } = yardsticks?;
            let load = load(method, path, "Basic YmVuY2g6YmVuY2g=", known);
            Contender::new(*name, move |seconds| load.run(bench, service, seconds, None))
        }
        Target::Script(file, clients) => {
            let Yardsticks { deployment, details, terms, .. } = yardsticks?;
            let script = Script { file, clients, details, terms };
            Contender::new(*name, move |seconds| script.run(bench, &deployment.postgres_url(bench), seconds))
        }
    })
}

/// The service, on PostgreSQL beside everything it is compared with. Returns which program it was, and its memory when idle.
fn measure(bench: &mut Programs, plan: &Plan, database: Database) -> Outcome<(&'static str, f64)> {
    let sessions = Sessions::start(bench, database, plan.known)?;
    let yardsticks = (database == Database::Postgres).then(|| Yardsticks::start(bench)).transpose()?;
    let mut reached = Vec::new();
    for (method, lines) in &COMPARISONS {
        let contender = |line| contender(bench, &sessions, yardsticks.as_ref(), method, line);
        let rows = compare(method, &lines.iter().filter_map(contender).collect::<Vec<_>>(), plan.rounds)?;
        println!("\n### {method} on {}\n\n{}", database.name(), beside(&rows));
        reached.push(rows);
    }
    let against = |method: usize, at: usize| reached[method][0].per_second() / reached[method][at].per_second();
    if database == Database::Postgres {
        for (at, method) in ["POST", "GET"].iter().enumerate() {
            let share = against(at, 1);
            print!("{}", goal(share >= 1.0, &format!("{method} is {share:.2} of the naive handler; wanted: 1")));
        }
        let [tuned, four, one] = [2, 4, 5].map(|at| against(0, at));
        println!(
            "       POST is {tuned:.2} of the tuned handler, {four:.2} of pgbench's four round trips and {one:.2} of its one statement"
        );
    } else {
        let creates = reached[0][0].per_second();
        let wanted = format!("wanted: {SQLITE_CREATES_MIN}, stretch {SQLITE_CREATES_STRETCH}");
        let told = format!("{creates:.0} durable creates per second; {wanted}");
        print!("{}", goal(creates >= SQLITE_CREATES_MIN, &told));
    }
    sessions.at_half(bench, plan, &reached)?;
    let name = sessions.service.name;
    let programs = [sessions.service].into_iter().chain(yardsticks.map(|yardsticks| yardsticks.service));
    programs.into_iter().try_for_each(|service| bench.end(service.program))?;
    Ok((name, sessions.idle_mib))
}

/// What every program holds when it has nothing to do; `measured` were seen before. The others are started on PostgreSQL.
fn measure_memory(bench: &mut Programs, mut measured: Vec<(&str, f64)>, with_others: bool) -> Outcome<()> {
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

/// Creates when few and when very many Sessions are stored, and how they relate.
fn at_sizes(bench: &mut Programs, plan: &Plan, database: Database) -> Outcome<()> {
    const COUNT: &str = "SELECT count(*) FROM session";
    let mut sessions = Sessions::start(bench, database, 1)?;
    let (mut rows, mut lines) = (Vec::<Row>::new(), Vec::new());
    for wanted in [plan.small, plan.large] {
        bench.end(sessions.service.program)?;
        let stored = sessions.deployment.number(bench, COUNT)?;
        fill(bench, &sessions.deployment, &SESSIONS, stored, wanted)?;
        let before = sessions.deployment.number(bench, COUNT)?;
        sessions.service = sessions.deployment.start(bench, "session-api")?;
        let create = Contender::new("create", |seconds| sessions.run(bench, "POST", seconds, None));
        let rounds = Rounds { seconds: plan.rounds.seconds.min(SIZED_SECONDS_MAX), ..plan.rounds };
        rows.extend(compare(&format!("{before} stored"), &[create], rounds)?);
        let (first, this) = (&rows[0], &rows[rows.len() - 1]);
        let (cost, cpu) = (ratio(first.per_second(), Some(this.per_second())), this.cpu(|_| true));
        let after = sessions.deployment.number(bench, COUNT)?.to_string();
        let in_cpu = ratio(cpu, Some(first.cpu(|_| true)));
        lines.push(vec![before.to_string(), after, this.show("per second"), cost, format!("{cpu:.0}"), in_cpu]);
    }
    bench.end(sessions.service.program)?;
    if let Some(database) = sessions.deployment.postgres_name() {
        bench.sql("postgres", &format!("DROP DATABASE {database}"))?;
    }
    let head =
        ["stored before", "after", "creates per second", "cost", "CPU us, program and PostgreSQL", "cost in CPU"];
    println!("\n### A create by the number of stored Sessions, {}\n\n{}", database.name(), table(&head, &lines));
    let cost = rows[0].per_second() / rows[1].per_second();
    let what =
        format!("a create at the large size costs {cost:.2} times one at the small size; wanted: less than {COST_MAX}");
    print!("{}", goal(cost < COST_MAX, &what));
    Ok(())
}
