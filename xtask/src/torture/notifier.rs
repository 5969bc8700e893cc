//! Notifiers and the server die at random moments while notifications come and a tenth of all tries is refused.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::Options;
use crate::bench::deployment::Database;
use crate::bench::notifier::delivery_log::{PER_PAYMENT, Receipt};
use crate::bench::notifier::endpoints::EndpointBehavior;
use crate::bench::notifier::kills::{Kill, under_way};
use crate::bench::notifier::sample::Sample;
use crate::bench::notifier::testbed::{RunningNotifier, Testbed};
use crate::bench::notifier::writers::{Load, Writers};
use crate::bench::run::Bench;
use crate::bench::run_with;
use crate::failure::Outcome;
use crate::programs::Build;

/// Little enough for debug builds that share two cores.
const PER_SECOND: u32 = 200;
const ENDPOINTS: usize = 3;
/// Tries follow each other quickly, so that what was refused comes while somebody dies.
const RETRY: &str = "1s;72h";
/// An acknowledgement is written without waiting for the disk: a server that dies forgets those of so long before.
const ASYNC_COMMIT_LOSS: Duration = Duration::from_secs(2);
/// Of so many deaths one is the server's.
const DEATHS_PER_CRASH: u64 = 6;

/// What happened, and what it explains.
#[derive(Debug, Default)]
struct Deaths {
    kills: Vec<Kill>,
    /// When the server died and was back, in microseconds since the scenario began.
    crashes: Vec<(u64, u64)>,
}

/// Runs it on each database.
pub(super) fn run(options: &Options) -> Outcome<()> {
    run_with(Build::Debug, options.databases.skip_build, &[], &["notifier", "dropin"], |bench| {
        Testbed::prepare(bench)?;
        let databases = options.databases.databases().into_iter();
        let broken = databases.map(|database| torture(bench, options.time(), database));
        Ok(broken.collect::<Outcome<Vec<_>>>()?.concat())
    })
}

/// Returns the promises that were broken.
fn torture(bench: &mut Bench, time: Duration, database: Database) -> Outcome<Vec<String>> {
    let (notifiers, name) = match database {
        Database::Postgres => (2, "PostgreSQL, two notifiers"),
        Database::Sqlite => (1, "SQLite, the all-in-one"),
    };
    let load = Load { per_second: PER_SECOND, seconds: time.as_secs() as u32 };
    let testbed = Testbed::set_up(bench, database, load.payments(), &[EndpointBehavior::Flaky; ENDPOINTS])?;
    testbed.deployment.sql(bench, &format!("UPDATE endpoint SET retry = '{RETRY}'"))?;
    let mut running = (0..notifiers).map(|_| testbed.start(bench)).collect::<Outcome<Vec<_>>>()?;
    let writers = Writers::ready(bench, &testbed)?;
    let kill = || kill_at_random(bench, &testbed, &mut running, time);
    let (deaths, written) = writers.write_while(&testbed, load, |payment| payment as usize % ENDPOINTS, kill)?;
    let all = u64::from(load.payments() * PER_PAYMENT);
    testbed.wait_for(&mut running[0], all)?;
    let mut sample = Sample::of(name, &testbed, |_| true, |_| true);
    if written.events != all {
        sample.broken.push(format!("{} of {all} notifications were written", written.events));
    }
    wait_until_idle(bench, &testbed, &mut sample)?;
    running.into_iter().try_for_each(|one| one.stop(bench))?;
    sample.duplicates_max = deaths.explained(&testbed.delivery_log.receipts());
    let (kills, crashes) = (deaths.kills.len(), deaths.crashes.len());
    println!(
        "{name}: {all} notifications, {kills} kills, {crashes} crashes of the server; {} lost, {} before their turn, \
         {} came twice, of at most {} that were under way.",
        sample.lost, sample.inversions, sample.duplicates, sample.duplicates_max
    );
    Ok(sample.broken_promises())
}

fn kill_at_random(
    bench: &mut Bench,
    testbed: &Testbed,
    running: &mut [RunningNotifier],
    time: Duration,
) -> Outcome<Deaths> {
    let (began, mut random, mut deaths) = (Instant::now(), Rng::new(), Deaths::default());
    // So that a run can be told from others.
    println!("seed {}", random.get_seed());
    loop {
        let pause = Duration::from_millis(200 + random.u64(..3_000));
        if time < began.elapsed() + pause {
            return Ok(deaths);
        }
        std::thread::sleep(pause);
        let at = testbed.delivery_log.now();
        if testbed.deployment.is_postgres() && random.u64(..DEATHS_PER_CRASH) == 0 {
            bench.crash_server()?;
            deaths.crashes.push((at, testbed.delivery_log.now()));
            continue;
        }
        let which = random.usize(..running.len());
        running[which].kill(bench)?;
        deaths.kills.push(Kill { at, leased: testbed.leased(bench)? });
        running[which] = testbed.start(bench)?;
    }
}

impl Deaths {
    /// How many may come twice: what was under way at each kill, and what came while the server was dying.
    fn explained(&self, receipts: &[Receipt]) -> u64 {
        let under_way = under_way(&self.kills, receipts);
        let forgets = ASYNC_COMMIT_LOSS.as_micros() as u64;
        let is_forgotten = |at: u64| {
            self.crashes.iter().any(|(died, back)| (died.saturating_sub(forgets)..back + forgets).contains(&at))
        };
        under_way + receipts.iter().filter(|receipt| is_forgotten(receipt.at)).count() as u64
    }
}

/// Everything that was acknowledged is to be known as such, and nothing given up.
fn wait_until_idle(bench: &Bench, testbed: &Testbed, sample: &mut Sample) -> Outcome<()> {
    let since = Instant::now();
    let count = |sql: &str| testbed.deployment.sql(bench, sql).map(|said| said.trim().to_owned());
    while count("SELECT count(*) FROM outbox_stream WHERE next_sequence <= last_sequence")? != "0" {
        if since.elapsed() > Duration::from_secs(30) {
            sample.broken.push("what was acknowledged is still queued half a minute later".to_owned());
            break;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let parked = count("SELECT count(*) FROM outbox_parked")?;
    if parked != "0" {
        sample.broken.push(format!("{parked} notifications were given up"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths_explain_what_was_under_way() {
        let receipt = |at| Receipt { at, payment: 1, sequence: 1 };
        let kills = vec![Kill { at: 1, leased: vec![(1, 1), (2, 1)] }];
        let deaths = Deaths { kills, crashes: vec![(10_000_000, 11_000_000)] };
        let receipts = [receipt(7_000_000), receipt(9_000_000), receipt(10_500_000), receipt(14_000_000)];
        assert_eq!(deaths.explained(&receipts), 4);
    }
}
