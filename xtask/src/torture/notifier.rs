//! Notifiers and the server die at random moments while notifications come and a tenth of all tries is refused.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::Options;
use crate::bench::deployment::Database;
use crate::bench::notifier::delivery_log::PER_PAYMENT;
use crate::bench::notifier::endpoints::EndpointBehavior;
use crate::bench::notifier::kills::Victim;
use crate::bench::notifier::sample::Sample;
use crate::bench::notifier::testbed::Testbed;
use crate::bench::notifier::writers::Load;
use crate::bench::run_with;
use crate::failure::Outcome;
use crate::programs::{Build, Programs};

/// Little enough for debug builds that share two cores.
const PER_SECOND: u32 = 200;
const ENDPOINTS: usize = 3;
/// Tries follow each other quickly, so that what was refused comes while somebody dies.
const RETRY: &str = "1s;72h";
/// Of so many deaths one is the server's.
const DEATHS_PER_CRASH: u64 = 6;

pub(super) fn run(options: &Options) -> Outcome<()> {
    run_with(Build::Debug, options.databases.skip_build, &[], &["notifier", "dropin"], |bench| {
        Testbed::prepare(bench)?;
        let databases = options.databases.databases().into_iter();
        let broken = databases.map(|database| torture(bench, options.time(), database));
        Ok(broken.collect::<Outcome<Vec<_>>>()?.concat())
    })
}

/// Returns the promises that were broken.
fn torture(bench: &mut Programs, time: Duration, database: Database) -> Outcome<Vec<String>> {
    let (notifiers, name) = match database {
        Database::Postgres => (2, "PostgreSQL, two notifiers"),
        Database::Sqlite => (1, "SQLite, the all-in-one"),
    };
    let load = Load { per_second: PER_SECOND, seconds: time.as_secs() as u32 };
    let testbed = Testbed::set_up(bench, database, load.payments(), &[EndpointBehavior::Flaky; ENDPOINTS])?;
    testbed.deployment.sql(bench, &format!("UPDATE endpoint SET retry = '{RETRY}'"))?;
    let mut running = (0..notifiers).map(|_| testbed.start(bench)).collect::<Outcome<Vec<_>>>()?;
    let victims = || victims(time, notifiers, testbed.deployment.is_postgres());
    let (deaths, written) = testbed.deliver(bench, &mut running, load, victims)?;
    let all = u64::from(load.payments() * PER_PAYMENT);
    let mut sample = Sample::of(name, &testbed, |_| true, |_| true);
    if written.events != all {
        sample.broken.push(format!("{} of {all} notifications were written", written.events));
    }
    wait_until_idle(bench, &testbed, &mut sample)?;
    running.into_iter().try_for_each(|one| one.stop(bench))?;
    sample.duplicates_max = deaths.explained(&testbed.delivery_log.receipts());
    let (kills, crashes) = deaths.count();
    println!(
        "{name}: {all} notifications, {kills} kills, {crashes} crashes of the server; {} lost, {} before their turn, \
         {} came twice, of at most {} that were under way.",
        sample.lost, sample.inversions, sample.duplicates, sample.duplicates_max
    );
    Ok(sample.broken_promises())
}

/// Who dies at which moment, until the time is over: each a while after the one before is back.
fn victims(time: Duration, notifiers: usize, has_server: bool) -> impl Iterator<Item = (Instant, Victim)> {
    let (until, mut random) = (Instant::now() + time, Rng::new());
    // So that a run can be told from others.
    println!("seed {}", random.get_seed());
    std::iter::from_fn(move || {
        let moment = Instant::now() + Duration::from_millis(200 + random.u64(..3_000));
        let is_server = has_server && random.u64(..DEATHS_PER_CRASH) == 0;
        let victim = if is_server { Victim::Server } else { Victim::Notifier(random.usize(..notifiers)) };
        (moment <= until).then_some((moment, victim))
    })
}

/// Everything that was acknowledged is to be known as such, and nothing given up.
fn wait_until_idle(bench: &Programs, testbed: &Testbed, sample: &mut Sample) -> Outcome<()> {
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
