//! `cargo xtask torture …`: what `cargo xtask test` does for seconds, for minutes.

mod hostile;
mod notifier;

use std::time::Duration;

use crate::bench::read_number;
use crate::failure::{Failure, Outcome};

const HELP: &str = "\
cargo xtask torture [--minutes N] [--postgres | --sqlite] [--skip-build] [notifier | hostile | all]

notifier  writes notifications while endpoints answer 500 to a tenth of all tries, and kills notifiers (kill -9) and
          PostgreSQL (pg_ctl restart -m immediate) at random moments: two notifiers on PostgreSQL, the all-in-one on
          SQLite. Fails when a notification is lost, when one comes before its turn for the first time, or when more
          come twice than were under way.
hostile   receivers that drip, flood, stall and lie, again and again: memory and slots must stay within their limits.

  --minutes N    length of each part, 1 to 120 [default: 5]
  --postgres     the notifier only on PostgreSQL
  --sqlite       the notifier only on SQLite
  --skip-build   runs the programs as they were built last
";

/// What a run does.
#[derive(Clone, Debug, PartialEq)]
struct Plan {
    time: Duration,
    postgres: bool,
    sqlite: bool,
    build: bool,
    notifier: bool,
    hostile: bool,
}

impl Plan {
    fn parse(arguments: &[&str]) -> Outcome<Self> {
        let mut plan = Self {
            time: Duration::from_secs(5 * 60),
            postgres: true,
            sqlite: true,
            build: true,
            notifier: true,
            hostile: true,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--minutes" => plan.time = Duration::from_secs(60 * read_number(argument, arguments.next(), 1, 120)?),
                "--postgres" => plan.sqlite = false,
                "--sqlite" => plan.postgres = false,
                "--skip-build" => plan.build = false,
                "notifier" => plan.hostile = false,
                "hostile" => plan.notifier = false,
                "all" => (plan.notifier, plan.hostile) = (true, true),
                _ => return Err(Failure::new(format!("`{argument}` is no option of this task\n\n{HELP}"))),
            }
        }
        if (plan.postgres || plan.sqlite) && (plan.notifier || plan.hostile) {
            return Ok(plan);
        }
        Err(Failure::new(format!("these options leave nothing to do\n\n{HELP}")))
    }
}

/// Runs the task.
pub(crate) fn task(options: &[&str]) -> Outcome<()> {
    if options.iter().any(|option| matches!(*option, "--help" | "-h")) {
        print!("{HELP}");
        return Ok(());
    }
    let plan = Plan::parse(options)?;
    if plan.notifier {
        notifier::run(&plan)?;
    }
    if plan.hostile {
        hostile::run(&plan)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(words: &str) -> Outcome<Plan> {
        Plan::parse(&words.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let all = Plan::parse(&[]).unwrap();
        assert!(all.notifier && all.hostile && all.postgres && all.sqlite && all.build);
        let one = plan("notifier --minutes 2 --sqlite --skip-build").unwrap();
        assert!(one.notifier && !one.hostile && !one.postgres && one.sqlite && !one.build);
        assert_eq!(one.time, Duration::from_secs(120));
        for wrong in ["--minutes 0", "--minutes 121", "notifier hostile", "--postgres --sqlite", "everything"] {
            assert!(plan(wrong).is_err(), "{wrong}");
        }
    }
}
