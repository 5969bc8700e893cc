//! Does a create cost more when millions of Sessions are stored?

use super::Plan;
use super::compare::{Contender, Rounds, Row, compare};
use super::figures::{ratio, table};
use super::fill::Place;
use super::load::{Files, Load};
use super::run::Bench;
use super::service::{Kind, Service};
use crate::failure::Outcome;

/// Runs are short, so that the small size stays small.
const SECONDS_MAX: u32 = 2;
/// A create may cost so much more at the large size than at the small one.
const COST_MAX: f64 = 1.2;

/// One size's figures.
struct Measured {
    before: u64,
    after: u64,
    row: Row,
}

/// Measures creates at both sizes and prints how they relate.
pub(crate) fn run(bench: &mut Bench, plan: &Plan, files: &Files, kind: Kind) -> Outcome<()> {
    let name = match kind {
        Kind::Postgres(_) => "PostgreSQL",
        Kind::Sqlite => "SQLite",
    };
    let mut service = Service::start(bench, kind.clone(), 1)?;
    let file = service.file();
    let place = match &kind {
        Kind::Postgres(database) => Place::Postgres(database),
        Kind::Sqlite => Place::Sqlite(&file),
    };
    let mut sizes = Vec::new();
    for wanted in [plan.small, plan.large] {
        service = service.while_stopped(bench, |bench| place.fill(bench, wanted))?;
        let before = place.count(bench)?;
        let row = creates(bench, plan, files, &service, &format!("{name}, {before} stored"))?;
        sizes.push(Measured { before, after: place.count(bench)?, row });
    }
    service.stop(bench)?;
    if let Kind::Postgres(database) = &kind {
        bench.sql("postgres", &format!("DROP DATABASE {database}"))?;
    }
    println!("\n### A create by the number of stored Sessions, {name}\n\n{}", show(&sizes));
    Ok(())
}

fn creates(bench: &Bench, plan: &Plan, files: &Files, service: &Service, what: &str) -> Outcome<Row> {
    let load = Load { method: "POST", path: "/v1/session", known: None };
    let create = Contender::new("create", None, |seconds| load.run(bench, files, &service.target, seconds, None));
    let rounds = Rounds { seconds: plan.rounds.seconds.min(SECONDS_MAX), ..plan.rounds };
    let mut rows = compare(what, &[create], rounds)?;
    Ok(rows.remove(0))
}

fn show(sizes: &[Measured]) -> String {
    let head =
        ["stored before", "after", "creates per second", "cost", "CPU us, program and PostgreSQL", "cost in CPU"];
    let first = &sizes[0].row;
    let cpu =
        |row: &Row| row.median(|sample| sample.program_cpu.unwrap_or_default() + sample.server_cpu.unwrap_or_default());
    let line = |size: &Measured| {
        vec![
            size.before.to_string(),
            size.after.to_string(),
            size.row.shown_rate(),
            ratio(first.per_second(), Some(size.row.per_second())),
            format!("{:.0}", cpu(&size.row)),
            ratio(cpu(&size.row), Some(cpu(first))),
        ]
    };
    let cost = sizes.last().map_or(0.0, |last| first.per_second() / last.row.per_second());
    let judged = super::goal(
        cost < COST_MAX,
        &format!(
            "a create at the large size costs {cost:.2} times one at the small size; wanted: less than {COST_MAX}"
        ),
    );
    format!("{}\n{judged}", table(&head, &sizes.iter().map(line).collect::<Vec<_>>()))
}
