//! `cargo xtask bench notifier`: how fast notifications are delivered, what each costs, and what happens to them when things go wrong.

pub(crate) mod book;
pub(crate) mod kills;
pub(crate) mod sample;
mod scenarios;
pub(crate) mod sink;
mod sql;
pub(crate) mod stage;
mod wire;
pub(crate) mod writers;

use std::os::unix::process::CommandExt;
use std::time::Instant;

use super::payments::statements;
use super::run::Bench;
use super::service::Kind;
use super::{TOOLS, build_release, describe_server, read_number};
use crate::command::target_folder;
use crate::failure::{Failure, Outcome};
use crate::test::install::provide;
use sample::{Sample, show};

/// What `cargo xtask bench notifier --help` prints.
pub(crate) const HELP: &str = "\
cargo xtask bench notifier [--only a,b,...] [--seconds N] [--events N] [--postgres | --sqlite] [--statements] [--threads]
                           [--skip-build] [--quick]

Delivers notifications to receivers of its own, which do next to nothing, and measures how many per second, how long after
their commit and what each costs: on PostgreSQL with the program notifier, on SQLite with the all-in-one and that part alone.
It fails when a notification is lost, comes before its turn or comes again without a reason; speed that is missed is printed.
It builds, installs, starts and removes what it needs. docs/PERFORMANCE.md explains the figures.

  a  a backlog of 50,000 for one endpoint          e  a with 100,000 beside it that wait for another try
  b  1,000 per second, as they are committed       f  a backlog for 1,000 endpoints, some with much more than others
  c  b with an endpoint that never answers         g  b with a kill -9 of the notifier every 2 seconds for a minute
  d  b with an endpoint that answers 500 to 10 %

  --only LIST    only these [default: all]
  --seconds N    length of b, c and d, 3 to 120 [default: 20]
  --events N     notifications of a backlog, 300 to 300000 [default: 50000]
  --postgres     only on PostgreSQL
  --sqlite       only on SQLite
  --statements   shows what each statement takes of PostgreSQL
  --threads      shows what the notifier's threads take
  --skip-build   measures the release programs as they were built last
  --quick        little of everything: tries the bench, measures nothing
";

/// Measures one of them.
type Scenario = fn(&mut Bench, &Plan, &Kind) -> Outcome<Sample>;

const SCENARIOS: [(&str, Scenario); 7] = [
    ("a", scenarios::drain),
    ("b", scenarios::steady),
    ("c", scenarios::black_hole),
    ("d", scenarios::refusals),
    ("e", scenarios::stuck),
    ("f", scenarios::many),
    ("g", kills::run),
];

/// What a run does.
#[derive(Clone, Debug, PartialEq)]
struct Plan {
    only: Option<Vec<String>>,
    seconds: u32,
    kills: u32,
    events: u32,
    postgres: bool,
    sqlite: bool,
    statements: bool,
    threads: bool,
    build: bool,
}

impl Plan {
    fn parse(arguments: &[&str]) -> Outcome<Self> {
        let mut plan = Self {
            only: None,
            seconds: 20,
            kills: 30,
            events: 50_000,
            postgres: true,
            sqlite: true,
            statements: false,
            threads: false,
            build: true,
        };
        let (mut seconds, mut events) = (None, None);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--only" => plan.only = Some(read_list(arguments.next())?),
                "--seconds" => seconds = Some(read_number(argument, arguments.next(), 3, 120)?),
                "--events" => events = Some(read_number(argument, arguments.next(), 300, 300_000)?),
                "--postgres" => plan.sqlite = false,
                "--sqlite" => plan.postgres = false,
                "--statements" => plan.statements = true,
                "--threads" => plan.threads = true,
                "--skip-build" => plan.build = false,
                "--quick" => (plan.seconds, plan.kills, plan.events) = (3, 2, 3_000),
                _ => return Err(Failure::new(format!("`{argument}` is no option of this task\n\n{HELP}"))),
            }
        }
        if !plan.postgres && !plan.sqlite {
            return Err(Failure::new(
                "--postgres and --sqlite leave nothing to measure; leave both out to measure both",
            ));
        }
        plan.seconds = seconds.unwrap_or(plan.seconds);
        plan.events = events.unwrap_or(plan.events);
        Ok(plan)
    }

    fn wants(&self, letter: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|wanted| wanted == letter))
    }
}

fn read_list(text: Option<&&str>) -> Outcome<Vec<String>> {
    let list: Vec<String> = text.copied().unwrap_or_default().split(',').map(str::to_owned).collect();
    let is_known = |letter: &String| SCENARIOS.iter().any(|(known, _)| known == letter);
    if list.iter().all(is_known) {
        return Ok(list);
    }
    Err(Failure::new(format!("--only wants letters of scenarios with commas between them, such as a,c\n\n{HELP}")))
}

/// Runs the task.
pub(crate) fn task(options: &[&str]) -> Outcome<()> {
    let plan = Plan::parse(options)?;
    provide(&TOOLS)?;
    if plan.build {
        build_release(["notifier", "dropin", "xtask"].into_iter())?;
    }
    if cfg!(debug_assertions) {
        // Receivers and writers are part of this program: they must not be slower than what they measure.
        let mut optimized = std::process::Command::new(target_folder().join("release/xtask"));
        let failed = optimized.args(["bench", "notifier", "--skip-build"]).args(options).exec();
        return Err(Failure::new(format!("cannot start {}: {failed}", optimized.get_program().display())));
    }
    let since = Instant::now();
    let mut bench = Bench::start()?;
    let done = measure(&mut bench, &plan);
    let finished = bench.finish();
    let broken = done?;
    finished?;
    println!("\nThe run took {:.0} s.", since.elapsed().as_secs_f64());
    if broken.is_empty() { Ok(()) } else { Err(Failure::new(broken.join("\n"))) }
}

/// Runs the scenarios; the promises that were broken.
fn measure(bench: &mut Bench, plan: &Plan) -> Outcome<Vec<String>> {
    statements::load(bench)?;
    bench.sql("postgres", &format!("CREATE ROLE {} SUPERUSER LOGIN", stage::WRITER))?;
    describe_server(bench)?;
    let mut broken = Vec::new();
    let kinds = [(Kind::Postgres(String::new()), plan.postgres), (Kind::Sqlite, plan.sqlite)];
    for (kind, _) in kinds.into_iter().filter(|(_, wanted)| *wanted) {
        let mut samples = Vec::new();
        for (letter, scenario) in SCENARIOS.iter().filter(|(letter, _)| plan.wants(letter)) {
            let sample = scenario(bench, plan, &kind)?;
            eprintln!("{letter}: {:.0} deliveries/s", sample.per_second());
            broken.extend(sample.broken_promises());
            samples.push(sample);
        }
        let is_server = matches!(kind, Kind::Postgres(_));
        let name = if is_server { "PostgreSQL, the program notifier" } else { "SQLite, the all-in-one" };
        println!("\n### {name}\n\n{}", show(&samples, is_server));
    }
    Ok(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let plan = Plan::parse(&["--only", "a", "--seconds", "3", "--postgres", "--skip-build", "--quick"]).unwrap();
        assert!(plan.wants("a") && !plan.wants("b") && plan.postgres && !plan.sqlite && !plan.build);
        assert_eq!((plan.seconds, plan.events), (3, 3_000));
        for wrong in ["--only x", "--only", "--seconds 2", "--events 1", "--postgres --sqlite", "--fast"] {
            assert!(Plan::parse(&wrong.split(' ').collect::<Vec<_>>()).is_err(), "{wrong}");
        }
    }
}
