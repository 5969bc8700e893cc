//! Notifiers and the server die at random moments while notifications come and a tenth of all tries is refused.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Plan;
use crate::bench::notifier::book::{PER_PAYMENT, Receipt};
use crate::bench::notifier::kills::{Kill, under_way};
use crate::bench::notifier::sample::Sample;
use crate::bench::notifier::sink::Manner;
use crate::bench::notifier::stage::{Running, Stage, WRITER};
use crate::bench::notifier::writers::{Load, Writers};
use crate::bench::run::Bench;
use crate::bench::service::Kind;
use crate::bench::{TOOLS, build, payments::statements};
use crate::failure::{Failure, Outcome};
use crate::programs::Build;
use crate::test::install::provide;

/// Little enough for debug builds that share two cores.
const PER_SECOND: u32 = 200;
const ENDPOINTS: usize = 3;
/// Tries follow each other quickly, so that what was refused comes while somebody dies.
const RETRY: &str = "1s;72h";
/// An acknowledgement is written without waiting for the disk: a server that dies forgets those of so long before.
const FORGETS: Duration = Duration::from_secs(2);
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
pub(super) fn run(plan: &Plan) -> Outcome<()> {
    provide(&TOOLS)?;
    if plan.build {
        build(Build::Debug, ["notifier", "dropin"].into_iter())?;
    }
    let mut bench = Bench::start_with(Build::Debug)?;
    let done = on_each(&mut bench, plan);
    let finished = bench.finish();
    let broken = done?;
    finished?;
    if broken.is_empty() { Ok(()) } else { Err(Failure::new(broken.join("\n"))) }
}

fn on_each(bench: &mut Bench, plan: &Plan) -> Outcome<Vec<String>> {
    statements::load(bench)?;
    bench.sql("postgres", &format!("CREATE ROLE {WRITER} SUPERUSER LOGIN"))?;
    let mut broken = Vec::new();
    if plan.postgres {
        broken.extend(torture(bench, plan, &Kind::Postgres(String::new()), 2)?);
    }
    if plan.sqlite {
        broken.extend(torture(bench, plan, &Kind::Sqlite, 1)?);
    }
    Ok(broken)
}

/// Returns the promises that were broken.
fn torture(bench: &mut Bench, plan: &Plan, kind: &Kind, notifiers: usize) -> Outcome<Vec<String>> {
    let load = Load { per_second: PER_SECOND, seconds: plan.time.as_secs() as u32 };
    let stage = Stage::set(bench, kind, load.payments(), &[Manner::Moody; ENDPOINTS])?;
    stage.sql(bench, &format!("UPDATE endpoint SET retry = '{RETRY}'"))?;
    let mut running = (0..notifiers).map(|_| stage.start(bench)).collect::<Outcome<Vec<_>>>()?;
    let writers = Writers::ready(bench, &stage)?;
    let (deaths, written) = std::thread::scope(|scope| {
        let writing = scope.spawn(|| writers.write(&stage, load, |payment| payment as usize % ENDPOINTS));
        let deaths = kill_at_random(bench, &stage, &mut running, plan.time);
        let written = writing.join().map_err(|_panicked| Failure::new("the writers broke; their words stand above"));
        Ok::<_, Failure>((deaths?, written??))
    })?;
    let all = u64::from(load.payments() * PER_PAYMENT);
    stage.wait_for(&mut running[0], all)?;
    let name = if notifiers > 1 { "PostgreSQL, two notifiers" } else { "SQLite, the all-in-one" };
    let mut sample = Sample::of(name, &stage, |_| true, |_| true);
    if written.events != all {
        sample.broken.push(format!("{} of {all} notifications were written", written.events));
    }
    wait_until_idle(bench, &stage, &mut sample)?;
    running.into_iter().try_for_each(|one| one.stop(bench))?;
    sample.duplicates_max = deaths.explained(&stage.book.receipts());
    let (kills, crashes) = (deaths.kills.len(), deaths.crashes.len());
    println!(
        "{name}: {all} notifications, {kills} kills, {crashes} crashes of the server; {} lost, {} before their turn, \
         {} came twice, of at most {} that were under way.",
        sample.lost, sample.inversions, sample.duplicates, sample.duplicates_max
    );
    Ok(sample.broken_promises())
}

fn kill_at_random(bench: &mut Bench, stage: &Stage, running: &mut [Running], time: Duration) -> Outcome<Deaths> {
    let (began, mut chance, mut deaths) = (Instant::now(), Chance::new(), Deaths::default());
    loop {
        let pause = Duration::from_millis(200 + chance.below(3_000));
        if time < began.elapsed() + pause {
            return Ok(deaths);
        }
        std::thread::sleep(pause);
        let at = stage.book.now();
        if matches!(stage.kind, Kind::Postgres(_)) && chance.below(DEATHS_PER_CRASH) == 0 {
            bench.crash_server()?;
            deaths.crashes.push((at, stage.book.now()));
            continue;
        }
        let which = chance.below(running.len() as u64) as usize;
        running[which].kill(bench)?;
        deaths.kills.push(Kill { at, leased: stage.leased(bench)? });
        running[which] = stage.start(bench)?;
    }
}

impl Deaths {
    /// How many may come twice: what was under way at each kill, and what came while the server was dying.
    fn explained(&self, receipts: &[Receipt]) -> u64 {
        let under_way = under_way(&self.kills, receipts);
        let forgets = FORGETS.as_micros() as u64;
        let is_forgotten = |at: u64| {
            self.crashes.iter().any(|(died, back)| (died.saturating_sub(forgets)..back + forgets).contains(&at))
        };
        under_way + receipts.iter().filter(|receipt| is_forgotten(receipt.at)).count() as u64
    }
}

/// Everything that was acknowledged is to be known as such, and nothing given up.
fn wait_until_idle(bench: &Bench, stage: &Stage, sample: &mut Sample) -> Outcome<()> {
    let since = Instant::now();
    let count = |sql: &str| stage.sql(bench, sql).map(|said| said.trim().to_owned());
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

/// Numbers that nobody foresees; the seed is printed so that a run can be told from others.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64 | 1);
        println!("seed {seed}");
        Self(seed)
    }

    /// From 0 to `end`, without it.
    fn below(&mut self, end: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end.max(1)
    }
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

    #[test]
    fn chance_reaches_everything() {
        let mut chance = Chance(7);
        let seen: std::collections::BTreeSet<u64> = (0..200).map(|_| chance.below(6)).collect();
        assert_eq!(seen.len(), 6);
    }
}
