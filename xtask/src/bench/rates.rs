//! `cargo xtask bench rates`: how often per second a merchant's exchange rates are shown.

use std::time::{Duration, Instant};

use super::compare::{Contender, Rounds, compare, each};
use super::load::{Files, Load, Target};
use super::run::Bench;
use super::service::{HIGH_LIMITS, Kind, NO_PROCESSOR, START, configured};
use super::{TOOLS, build_release, describe, goal, read_number};
use crate::failure::{Failure, Outcome};
use crate::http1::Client;
use crate::programs::{Credentials, Program, answers, free_address};
use crate::test::install::provide;

/// What `cargo xtask bench rates --help` prints.
pub(crate) const HELP: &str = "\
cargo xtask bench rates [--seconds N] [--postgres | --sqlite] [--skip-build] [--quick]

Asks for one merchant's guaranteed rates, 60 currencies, as fast as answers come, over 32 connections, and measures how often
per second: on PostgreSQL with session-api and settler, on SQLite with the all-in-one. It builds, installs, starts and removes
what it needs. docs/PERFORMANCE.md explains the figures.

  --seconds N    length of one run, 1 to 60 [default: 8]; everything is run 3 times
  --postgres     only on PostgreSQL
  --sqlite       only on SQLite
  --skip-build   measures the release programs as they were built last
  --quick        one run of a second: tries the bench, measures nothing
";

/// Answers per second that we want to reach on PostgreSQL.
const POSTGRES_MIN: f64 = 10_000.0;

/// How long the settler may take to read the feed.
const FEED: Duration = Duration::from_secs(30);

/// What a run does.
#[derive(Clone, Debug, PartialEq)]
struct Plan {
    rounds: Rounds,
    postgres: bool,
    sqlite: bool,
    build: bool,
}

impl Plan {
    fn parse(arguments: &[&str]) -> Outcome<Self> {
        let mut plan = Self { rounds: Rounds { seconds: 8, count: 3 }, postgres: true, sqlite: true, build: true };
        let mut seconds = None;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--seconds" => seconds = Some(read_number(argument, arguments.next(), 1, 60)?),
                "--postgres" => plan.sqlite = false,
                "--sqlite" => plan.postgres = false,
                "--skip-build" => plan.build = false,
                "--quick" => plan.rounds = Rounds { seconds: 1, count: 1 },
                _ => return Err(Failure::new(format!("`{argument}` is no option of this task\n\n{HELP}"))),
            }
        }
        if !plan.postgres && !plan.sqlite {
            return Err(Failure::new(
                "--postgres and --sqlite leave nothing to measure; leave both out to measure both",
            ));
        }
        plan.rounds.seconds = seconds.unwrap_or(plan.rounds.seconds);
        Ok(plan)
    }
}

/// Runs the task.
pub(crate) fn task(options: &[&str]) -> Outcome<()> {
    let plan = Plan::parse(options)?;
    provide(&TOOLS)?;
    if plan.build {
        build_release(["session-api", "settler", "dropin"].into_iter())?;
    }
    let since = Instant::now();
    let mut bench = Bench::start()?;
    let done = measure(&mut bench, &plan);
    let finished = bench.finish();
    done?;
    finished?;
    println!("\nThe run took {:.0} s.", since.elapsed().as_secs_f64());
    Ok(())
}

fn measure(bench: &mut Bench, plan: &Plan) -> Outcome<()> {
    describe(bench, plan.rounds)?;
    if plan.postgres {
        let reached = measure_on(bench, plan, Kind::Postgres("rates".to_owned()))?;
        let what = format!("{reached:.0} answers per second on PostgreSQL; wanted: {POSTGRES_MIN}");
        print!("{}", goal(reached >= POSTGRES_MIN, &what));
    }
    if plan.sqlite {
        measure_on(bench, plan, Kind::Sqlite)?;
    }
    Ok(())
}

/// Whoever shows rates on one database, and a merchant to show them of.
struct Shown {
    programs: Vec<Program>,
    target: Target,
    idle_mib: f64,
    path: String,
}

fn measure_on(bench: &mut Bench, plan: &Plan, kind: Kind) -> Outcome<f64> {
    let name = match kind {
        Kind::Postgres(_) => "session-api on PostgreSQL",
        Kind::Sqlite => "the all-in-one on SQLite",
    };
    let (shown, files) = (Shown::start(bench, &kind)?, Files::write(bench)?);
    let load = Load { method: "GET", path: &shown.path, known: None };
    let contender = Contender::new(name, Some(shown.idle_mib), |seconds| {
        let sample = load.run(bench, &files, &shown.target, seconds, None)?;
        if sample.refused > 0.0 {
            return Err(Failure::new(format!("{} answers were refusals", sample.refused)));
        }
        Ok(sample)
    });
    let rows = compare(name, &[contender], plan.rounds)?;
    println!("\n### {name}\n\n{}", each(&rows));
    for program in shown.programs {
        bench.end(program)?;
    }
    Ok(rows[0].per_second())
}

impl Shown {
    fn start(bench: &mut Bench, kind: &Kind) -> Outcome<Self> {
        let folder = bench.new_folder(&bench.new_name())?;
        if let Kind::Postgres(name) = kind {
            bench.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        }
        let options = ["--name", "Bench", "--rates", "guaranteed"];
        let merchant = Credentials::create(|| configured(bench, "dropin", kind, &folder), &options)?;
        let (address, mut programs) = (free_address()?, Vec::new());
        let name = match kind {
            Kind::Postgres(_) => "session-api",
            Kind::Sqlite => "dropin",
        };
        let mut command = configured(bench, name, kind, &folder);
        command.env("DROPIN_LISTEN", address.to_string()).envs(HIGH_LIMITS);
        match kind {
            Kind::Postgres(_) => command.envs(NO_PROCESSOR),
            Kind::Sqlite => command.arg("--no-demo"),
        };
        let mut program = bench.spawn(name, &mut command)?;
        program.wait_until("ready", START, || answers(address, "/readyz"))?;
        if matches!(kind, Kind::Postgres(_)) {
            let mut settler = configured(bench, "settler", kind, &folder);
            settler.envs(NO_PROCESSOR).env("DROPIN_LISTEN", free_address()?.to_string());
            programs.push(bench.spawn("settler", &mut settler)?);
        }
        let path = format!("/v2.2/getRates?merchantId={}", merchant.merchant_id);
        program.wait_until("showing rates", FEED, || answers(address, &path))?;
        let (_, body) = Client::connect(address, "")?.send("GET", &path, "")?;
        if body.matches("\"Rate\"").count() != 60 {
            return Err(Failure::new(format!("60 offers should be shown, and this is: {body}")));
        }
        let idle_mib = program.idle_memory()?;
        let postmaster = matches!(kind, Kind::Postgres(_)).then(|| bench.postmaster());
        let target = Target { address, authorization: String::new(), process: program.id(), postmaster };
        programs.push(program);
        Ok(Self { programs, target, idle_mib, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let plan = Plan::parse(&["--seconds", "3", "--sqlite", "--skip-build"]).unwrap();
        let rounds = Rounds { seconds: 3, count: 3 };
        assert_eq!(plan, Plan { rounds, postgres: false, sqlite: true, build: false });
        assert_eq!(Plan::parse(&["--quick"]).unwrap().rounds, Rounds { seconds: 1, count: 1 });
        for wrong in [&["--fast"][..], &["--seconds"], &["--seconds", "0"], &["--postgres", "--sqlite"]] {
            assert!(Plan::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
