//! `cargo xtask bench payments`: how many whole payments per second, and what each costs.

mod check;
mod deployment;
mod drive;
pub(crate) mod payer;
mod show;
pub(crate) mod statements;
mod talk;

use std::time::Instant;

use super::compare::Rounds;
use super::figures::Spread;
use super::run::Bench;
use super::service::Kind;
use super::{TOOLS, build_release, describe, goal, memory, read_number};
use crate::failure::{Context, Failure, Outcome};
use crate::test::install::provide;
use deployment::{Cut, Deployment};
use drive::Sample;
use talk::Way;

/// What `cargo xtask bench payments --help` prints.
pub(crate) const HELP: &str = "\
cargo xtask bench payments [--seconds N] [--clients N] [--merchants N] [--postgres | --sqlite] [--all-in-one]
                           [--checkout] [--statements] [--skip-build] [--quick]

Pays as shoppers do and measures how many payments per second come to their end: a Session with AutoCapture is created,
a card stashed, the Session viewed and submitted, authorized and captured, and three notifications arrive at an endpoint
of ours that verifies them. On PostgreSQL every service is a program of its own, on SQLite the all-in-one is all of them;
sandbox processor, endpoint and load generator share the machine. Afterwards Orders and the processor's journal must
show every payment once. It builds, installs, starts and removes what it needs. docs/PERFORMANCE.md explains the figures.

  --seconds N    length of one run, 1 to 60 [default: 10]; everything is run 3 times
  --clients N    payments under way at once, 1 to 400 [default: 64]
  --merchants N  merchants, each with an endpoint of its own, among whom they are spread, 1 to 16 [default: 1]
  --postgres     only on PostgreSQL
  --sqlite       only on SQLite
  --all-in-one   the all-in-one on PostgreSQL, too
  --checkout     the server-to-server checkout in place of Session, view and submit: two notifications
  --statements   has PostgreSQL count what each statement takes; costs a little
  --skip-build   measures the release programs as they were built last
  --quick        one run of two seconds: tries the bench, measures nothing
";

/// Payments per second that we want to reach on PostgreSQL.
const POSTGRES_MIN: f64 = 800.0;

/// What a run does.
#[derive(Clone, Debug, PartialEq)]
struct Plan {
    rounds: Rounds,
    clients: usize,
    merchants: usize,
    postgres: bool,
    sqlite: bool,
    on_postgres: Cut,
    way: Way,
    statements: bool,
    build: bool,
}

impl Plan {
    fn parse(arguments: &[&str]) -> Outcome<Self> {
        let mut plan = Self {
            rounds: Rounds { seconds: 10, count: 3 },
            clients: 64,
            merchants: 1,
            postgres: true,
            sqlite: true,
            on_postgres: Cut::Apart,
            way: Way::DropIn,
            statements: false,
            build: true,
        };
        let mut seconds = None;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--seconds" => seconds = Some(read_number(argument, arguments.next(), 1, 60)?),
                "--clients" => plan.clients = read_number(argument, arguments.next(), 1, 400)?,
                "--merchants" => plan.merchants = read_number(argument, arguments.next(), 1, 16)?,
                "--postgres" => plan.sqlite = false,
                "--sqlite" => plan.postgres = false,
                "--all-in-one" => plan.on_postgres = Cut::Together,
                "--checkout" => plan.way = Way::Checkout,
                "--statements" => plan.statements = true,
                "--skip-build" => plan.build = false,
                "--quick" => plan.rounds = Rounds { seconds: 2, count: 1 },
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
        let programs = memory::OTHERS.map(|(name, _)| name);
        build_release(programs.into_iter().chain(["session-api", "dropin", "xtask"]))?;
    }
    let since = Instant::now();
    let mut bench = Bench::start()?;
    let measured = measure(&mut bench, &plan);
    let finished = bench.finish();
    measured?;
    finished?;
    println!("\nThe run took {:.0} s.", since.elapsed().as_secs_f64());
    Ok(())
}

fn measure(bench: &mut Bench, plan: &Plan) -> Outcome<()> {
    if plan.statements && plan.postgres {
        statements::load(bench)?;
    }
    describe(bench, plan.rounds)?;
    println!("{} payments under way at once, of {} merchants.", plan.clients, plan.merchants);
    if plan.postgres {
        measure_on(bench, plan, Kind::Postgres("payments".to_owned()), plan.on_postgres)?;
    }
    if plan.sqlite {
        measure_on(bench, plan, Kind::Sqlite, Cut::Together)?;
    }
    Ok(())
}

fn measure_on(bench: &mut Bench, plan: &Plan, kind: Kind, cut: Cut) -> Outcome<()> {
    let name = match (&kind, cut) {
        (Kind::Postgres(_), Cut::Apart) => "PostgreSQL, every service a program of its own",
        (Kind::Postgres(_), Cut::Together) => "PostgreSQL, the all-in-one",
        (Kind::Sqlite, _) => "SQLite, the all-in-one",
    };
    let mut command = bench.program("xtask");
    let mut payers = bench.spawn_talking("payers", command.arg(payer::TASK))?;
    let hook = payers.hear("listening")?.parse().context(|| "understand where the payers listen".to_owned())?;
    let deployment = Deployment::start(bench, kind, cut, hook, plan.merchants)?;
    if let Kind::Postgres(database) = &deployment.kind
        && plan.statements
    {
        statements::prepare(bench, database)?;
    }
    payers.tell(&serde_json::to_string(&deployment.meeting).context(|| "introduce the payers".to_owned())?)?;
    eprintln!("{name}");
    let samples = drive::run(bench, plan, &deployment, &mut payers)?;
    println!("\n### Payments on {name}\n\n{}", show::runs(&samples));
    println!("{}{}", show::programs(bench, &deployment, &samples)?, show::threads(&samples));
    print!("{}{}", show::statements(&samples), show::troubles(&samples));
    if matches!(deployment.kind, Kind::Postgres(_)) {
        judge(&samples);
    }
    let checked = check::run(bench, &deployment)?;
    println!(
        "All {checked} payments, warm-up included, stand once in the Orders and once in the processor's journal; the ledger fits."
    );
    payers.end(bench)?;
    deployment.stop(bench)
}

fn judge(samples: &[Sample]) {
    let rate = Spread::of(samples.iter().map(Sample::per_second)).map_or(0.0, |spread| spread.median);
    print!("{}", goal(rate >= POSTGRES_MIN, &format!("{rate:.0} payments per second; wanted: {POSTGRES_MIN}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_both_databases_unless_told_otherwise() {
        let plan = Plan::parse(&[]).unwrap();
        assert!(plan.postgres && plan.sqlite && plan.build && !plan.statements);
        assert_eq!((plan.rounds, plan.clients, plan.merchants), (Rounds { seconds: 10, count: 3 }, 64, 1));
        assert_eq!((plan.on_postgres, plan.way), (Cut::Apart, Way::DropIn));
    }

    #[test]
    fn reads_the_options_in_any_order() {
        let words = "--seconds 3 --quick --clients 8 --postgres --merchants 2 --all-in-one --checkout --statements --skip-build";
        let plan = Plan::parse(&words.split(' ').collect::<Vec<_>>()).unwrap();
        assert_eq!((plan.rounds, plan.clients, plan.merchants), (Rounds { seconds: 3, count: 1 }, 8, 2));
        assert!(plan.postgres && !plan.sqlite && plan.statements && !plan.build);
        assert_eq!((plan.on_postgres, plan.way), (Cut::Together, Way::Checkout));
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for wrong in [
            "--clients",
            "--clients 0",
            "--clients 401",
            "--merchants 17",
            "--seconds 61",
            "--sqlite --postgres",
            "--fast",
        ] {
            assert!(Plan::parse(&wrong.split(' ').collect::<Vec<_>>()).is_err(), "{wrong}");
        }
    }
}
