//! Notifiers and the server die while notifications come, and are started again at once.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::delivery_log::{NotificationKey, Receipt};
use super::sample::Sample;
use super::testbed::{RunningNotifier, Testbed};
use crate::bench::figures::figure;
use crate::failure::Outcome;
use crate::programs::Programs;

/// Between two kills.
pub(super) const INTERVAL: Duration = Duration::from_secs(2);
/// What a process that died had under way is taken over within this: its lease of 14.5 s, and the next poll.
const TAKE_OVER_MAX: Duration = Duration::from_millis(15_000);
/// An acknowledgement is written without waiting for the disk: a server that dies forgets those of so long before.
const ASYNC_COMMIT_LOSS: Duration = Duration::from_secs(2);

/// Who is to die.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Victim {
    /// One of those that run.
    Notifier(usize),
    Server,
}

/// What was under way when a notifier was killed.
#[derive(Clone, Debug)]
struct Kill {
    /// Microseconds since the scenario began.
    at: u64,
    leased: Vec<NotificationKey>,
}

/// What happened, and what it explains.
#[derive(Debug, Default)]
pub(crate) struct Deaths {
    kills: Vec<Kill>,
    /// When the server died and was back, in microseconds since the scenario began.
    crashes: Vec<(u64, u64)>,
}

impl Deaths {
    /// Kills one after the other, each at its moment, and starts it again.
    pub(crate) fn cause(
        bench: &mut Programs,
        testbed: &Testbed,
        running: &mut [RunningNotifier],
        victims: impl Iterator<Item = (Instant, Victim)>,
    ) -> Outcome<Self> {
        let mut deaths = Self::default();
        for (moment, victim) in victims {
            std::thread::sleep(moment.saturating_duration_since(Instant::now()));
            let at = testbed.delivery_log.now();
            match victim {
                Victim::Server => {
                    bench.crash_server()?;
                    deaths.crashes.push((at, testbed.delivery_log.now()));
                }
                Victim::Notifier(which) => {
                    running[which].kill(bench)?;
                    deaths.kills.push(Kill { at, leased: testbed.leased(bench)? });
                    running[which] = testbed.start(bench)?;
                }
            }
        }
        Ok(deaths)
    }

    /// How many notifiers and servers died.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.kills.len(), self.crashes.len())
    }

    /// How many may come twice: what was under way at each kill, and what came while the server was dying.
    pub(crate) fn explained(&self, receipts: &[Receipt]) -> u64 {
        let forgets = ASYNC_COMMIT_LOSS.as_micros() as u64;
        let is_forgotten = |at: u64| {
            self.crashes.iter().any(|(died, back)| (died.saturating_sub(forgets)..back + forgets).contains(&at))
        };
        let forgotten = receipts.iter().filter(|receipt| is_forgotten(receipt.at)).count();
        under_way(&self.kills, receipts) + forgotten as u64
    }

    /// Adds what they explain and what they show.
    pub(super) fn judge(&self, sample: &mut Sample, receipts: &[Receipt]) {
        sample.duplicates_max = self.explained(receipts);
        let (under_way, duplicates) = (sample.duplicates_max, sample.duplicates);
        let kills = self.kills.len();
        let note = format!("{kills} kills met {under_way} notifications under way; {duplicates} of them came twice");
        sample.notes.push(note);
        let longest = self.kills.iter().flat_map(|kill| taken_over(kill, receipts)).max().unwrap_or_default();
        let longest = longest as f64 / 1e6;
        sample.judge(
            longest <= TAKE_OVER_MAX.as_secs_f64(),
            &format!("what was under way was taken over after {} s at most; wanted: 15", figure(longest)),
        );
    }
}

/// How many notifications were under way at kills. What waits for the end of the lease of one that died before counts once, unless it came meanwhile.
fn under_way(kills: &[Kill], receipts: &[Receipt]) -> u64 {
    let mut before: Option<(u64, HashSet<NotificationKey>)> = None;
    let mut sum = 0;
    for kill in kills {
        let leased: HashSet<NotificationKey> = kill.leased.iter().copied().collect();
        let mut waits = HashSet::new();
        if let Some((at, leased_before)) = before {
            waits.extend(leased_before.intersection(&leased).copied());
            let from = receipts.partition_point(|receipt| receipt.at <= at);
            for receipt in receipts[from..].iter().take_while(|receipt| receipt.at <= kill.at) {
                waits.remove(&receipt.key);
            }
        }
        sum += leased.difference(&waits).count() as u64;
        before = Some((kill.at, leased));
    }
    sum
}

/// Microseconds until each notification that was under way came again.
fn taken_over(kill: &Kill, receipts: &[Receipt]) -> Vec<u64> {
    let mut waiting: HashSet<NotificationKey> = kill.leased.iter().copied().collect();
    let after = receipts.partition_point(|receipt| receipt.at <= kill.at);
    let mut times = Vec::new();
    for receipt in &receipts[after..] {
        if waiting.is_empty() {
            break;
        }
        if waiting.remove(&receipt.key) {
            times.push(receipt.at - kill.at);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(payment: u32) -> NotificationKey {
        NotificationKey { payment, sequence: 1 }
    }

    #[test]
    fn the_next_time_that_it_comes_counts() {
        let receipt = |at, payment| Receipt { at, key: key(payment) };
        let receipts = [receipt(5, 1), receipt(20, 2), receipt(30, 1), receipt(40, 1)];
        let kill = Kill { at: 10, leased: vec![key(1), key(9)] };
        assert_eq!(taken_over(&kill, &receipts), [20]);
        let waits = Kill { at: 15, leased: vec![key(1), key(3)] };
        let again = Kill { at: 35, leased: vec![key(1), key(3)] };
        assert_eq!(under_way(&[kill.clone(), waits, again], &receipts), 2 + 1 + 1);
        let mut sample = Sample::default();
        Deaths { kills: vec![kill], crashes: Vec::new() }.judge(&mut sample, &receipts);
        assert!(sample.duplicates_max == 2 && sample.notes.iter().any(|note| note.contains("[goal]")), "{sample:?}");
    }

    #[test]
    fn deaths_explain_what_was_under_way() {
        let receipt = |at| Receipt { at, key: key(1) };
        let kills = vec![Kill { at: 1, leased: vec![key(1), key(2)] }];
        let deaths = Deaths { kills, crashes: vec![(10_000_000, 11_000_000)] };
        let receipts = [receipt(7_000_000), receipt(9_000_000), receipt(10_500_000), receipt(14_000_000)];
        assert_eq!(deaths.explained(&receipts), 4);
    }
}
