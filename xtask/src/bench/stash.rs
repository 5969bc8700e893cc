//! `cargo xtask bench stash`: how many cards per second the stash takes.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::compare::{Contender, Rounds, compare, each};
use super::load::{CLOSED_CONNECTIONS, Sample, THREADS, Target, measured};
use super::run::Bench;
use super::service::{HIGH_LIMITS, Kind, START, configured};
use super::{TOOLS, build_release, describe, goal, read_number};
use crate::failure::{Context, Failure, Outcome};
use crate::programs::{Credentials, Program, answers, free_address};
use crate::test::install::provide;

/// What `cargo xtask bench stash --help` prints.
pub(crate) const HELP: &str = "\
cargo xtask bench stash [--seconds N] [--postgres | --sqlite] [--skip-build] [--quick]

Stashes cards as fast as answers come, over 32 connections, each another browser's, and measures how many per second: on
PostgreSQL with stash-api, on SQLite with the all-in-one. Every card is encrypted, checked and on the disk before its
answer; afterwards the database must hold every one that was answered. It builds, installs, starts and removes what it
needs. docs/PERFORMANCE.md explains the figures.

  --seconds N    length of one run, 1 to 60 [default: 8]; everything is run 3 times
  --postgres     only on PostgreSQL
  --sqlite       only on SQLite
  --skip-build   measures the release programs as they were built last
  --quick        one run of a second: tries the bench, measures nothing
";

/// Cards per second that we want to reach on PostgreSQL.
const POSTGRES_MIN: f64 = 5_000.0;

const SCRIPT: &str = include_str!("stash.lua");

/// A form as browsers send it, with a place for the fingerprint: a published test number (decisions.md section 10).
const FORM: &str = "DeviceFingerprint=@NAME@&card=%7B%22Name%22%3A%22Ada+Lovelace%22%2C%22Number%22%3A%224242+4242+4242+4242%22%2C\
    %22VerificationCode%22%3A%22123%22%2C%22Expiry%22%3A%7B%22Year%22%3A%222099%22%2C%22Month%22%3A%2212%22%7D%7D";

/// All cards are for one merchant, and more of them than one may have at once.
const ANY_NUMBER_OF_CARDS: (&str, &str) = ("DROPIN_STASH_ENTRIES", "0");

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
        build_release(["stash-api", "dropin"].into_iter())?;
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
        let reached = measure_on(bench, plan, Kind::Postgres("stash".to_owned()))?;
        let what = format!("{reached:.0} cards per second on PostgreSQL; wanted: {POSTGRES_MIN}");
        print!("{}", goal(reached >= POSTGRES_MIN, &what));
    }
    if plan.sqlite {
        measure_on(bench, plan, Kind::Sqlite)?;
    }
    Ok(())
}

/// The stash on one database, and a merchant to stash for.
struct Stash {
    kind: Kind,
    program: Program,
    target: Target,
    idle_mib: f64,
    /// The merchant's address.
    path: String,
    script: PathBuf,
    form: PathBuf,
}

fn measure_on(bench: &mut Bench, plan: &Plan, kind: Kind) -> Outcome<f64> {
    let stash = Stash::start(bench, kind)?;
    let answered = RefCell::new(0.0);
    let name = match stash.kind {
        Kind::Postgres(_) => "stash-api on PostgreSQL",
        Kind::Sqlite => "the all-in-one on SQLite",
    };
    let contender = Contender::new(name, Some(stash.idle_mib), |seconds| {
        let sample = stash.load(bench, seconds)?;
        *answered.borrow_mut() += sample.per_second * f64::from(seconds);
        Ok(sample)
    });
    let rows = compare(name, &[contender], plan.rounds)?;
    println!("\n### {name}\n\n{}", each(&rows));
    stash.must_hold(bench, answered.into_inner())?;
    bench.end(stash.program)?;
    Ok(rows[0].per_second())
}

impl Stash {
    fn start(bench: &mut Bench, kind: Kind) -> Outcome<Self> {
        let folder = bench.new_folder(&bench.new_name())?;
        if let Kind::Postgres(name) = &kind {
            bench.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        }
        let merchant = Credentials::create(|| configured(bench, "dropin", &kind, &folder), &["--name", "Bench"])?;
        let address = free_address()?;
        let (name, prefix) = match kind {
            Kind::Postgres(_) => ("stash-api", ""),
            Kind::Sqlite => ("dropin", "/stash"),
        };
        let mut command = configured(bench, name, &kind, &folder);
        command.env("DROPIN_LISTEN", address.to_string()).envs(HIGH_LIMITS).envs([ANY_NUMBER_OF_CARDS]);
        if matches!(kind, Kind::Sqlite) {
            command.arg("--no-demo");
        }
        let mut program = bench.spawn(name, &mut command)?;
        program.wait_until("ready", START, || answers(address, "/readyz"))?;
        let idle_mib = program.idle_memory()?;
        let postmaster = matches!(kind, Kind::Postgres(_)).then(|| bench.postmaster());
        let target = Target { address, authorization: String::new(), process: program.id(), postmaster };
        let path = format!("{prefix}/{}", merchant.merchant_id);
        let (script, form) = (bench.file("stash.lua", SCRIPT)?, bench.file("stash.form", FORM)?);
        Ok(Self { kind, program, target, idle_mib, path, script, form })
    }

    fn load(&self, bench: &Bench, seconds: u32) -> Outcome<Sample> {
        let mut wrk = bench.tool("wrk", Duration::from_secs(u64::from(seconds) + 30));
        wrk.arg("-s").arg(&self.script).arg(format!("-t{THREADS}")).arg(format!("-c{CLOSED_CONNECTIONS}"));
        wrk.arg(format!("-d{seconds}s")).args(["--timeout", "10s"]).arg(format!("http://{}", self.target.address));
        wrk.arg("--").args([&self.path, &bench.new_name()]).arg(&self.form);
        measured(&mut wrk, &self.target)
    }

    /// Fails when the database holds fewer entries than were answered.
    fn must_hold(&self, bench: &Bench, answered: f64) -> Outcome<()> {
        // A run may end between two answers that it counts in one of its seconds.
        let least = (answered * 0.98) as u64;
        let Kind::Postgres(database) = &self.kind else { return Ok(()) };
        let held = bench.sql(database, "SELECT count(*) FROM stash")?;
        let held: u64 = held.trim().parse().context(|| format!("understand {held}"))?;
        println!("{held} cards are in the stash; about {answered:.0} were answered.");
        if held < least {
            return Err(Failure::new(format!(
                "only {held} cards are in the stash of about {answered:.0} that were answered"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_has_one_place_for_a_name_and_a_published_number() {
        assert_eq!((FORM.matches("@NAME@").count(), FORM.matches("4242+4242+4242+4242").count()), (1, 1));
        assert!(!FORM.contains([' ', '\n', '"', '{']), "{FORM}");
    }

    #[test]
    fn options_are_read() {
        let plan = Plan::parse(&["--seconds", "3", "--postgres", "--skip-build"]).unwrap();
        let rounds = Rounds { seconds: 3, count: 3 };
        assert_eq!(plan, Plan { rounds, postgres: true, sqlite: false, build: false });
        assert_eq!(Plan::parse(&["--quick"]).unwrap().rounds, Rounds { seconds: 1, count: 1 });
        for wrong in [&["--fast"][..], &["--seconds"], &["--seconds", "0"], &["--postgres", "--sqlite"]] {
            assert!(Plan::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
