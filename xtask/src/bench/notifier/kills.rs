//! The notifier is killed again and again while notifications come, and started again at once.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::delivery_log::Receipt;
use super::sample::Sample;
use super::testbed::{RunningNotifier, Testbed};
use crate::bench::figures::figure;
use crate::bench::run::Bench;
use crate::failure::Outcome;

/// Between two kills.
pub(super) const INTERVAL: Duration = Duration::from_secs(2);
/// What a process that died had under way is taken over within this: its lease of 14.5 s, and the next poll.
pub(crate) const TAKE_OVER_MAX: Duration = Duration::from_millis(15_000);

/// What was under way when a notifier was killed.
#[derive(Clone, Debug)]
pub(crate) struct Kill {
    /// Microseconds since the scenario began.
    pub(crate) at: u64,
    /// Payment and sequence.
    pub(crate) leased: Vec<(u32, u32)>,
}

/// Kills the notifier and starts it again, so many times.
pub(super) fn kill_often(
    bench: &mut Bench,
    testbed: &Testbed,
    running: &mut RunningNotifier,
    kills: u32,
) -> Outcome<Vec<Kill>> {
    let began = Instant::now();
    (1..=kills)
        .map(|number| {
            std::thread::sleep((began + INTERVAL * number).saturating_duration_since(Instant::now()));
            let at = testbed.delivery_log.now();
            running.kill(bench)?;
            let leased = testbed.leased(bench)?;
            *running = testbed.start(bench)?;
            Ok(Kill { at, leased })
        })
        .collect()
}

/// Adds what the kills explain and what they show.
pub(super) fn judge(sample: &mut Sample, kills: &[Kill], receipts: &[Receipt]) {
    let under_way = under_way(kills, receipts);
    sample.duplicates_max = under_way;
    let longest = kills.iter().flat_map(|kill| taken_over(kill, receipts)).max().unwrap_or_default();
    let (kills, duplicates) = (kills.len(), sample.duplicates);
    sample
        .notes
        .push(format!("{kills} kills met {under_way} notifications under way; {duplicates} of them came twice"));
    let longest = longest as f64 / 1e6;
    let is_in_time = longest <= TAKE_OVER_MAX.as_secs_f64();
    sample.judge(
        is_in_time,
        &format!("what was under way was taken over after {} s at most; wanted: 15", figure(longest)),
    );
}

/// How many notifications were under way at kills. What waits for the end of the lease of one that died before counts once, unless it came meanwhile.
pub(crate) fn under_way(kills: &[Kill], receipts: &[Receipt]) -> u64 {
    let mut before: Option<(u64, HashSet<(u32, u32)>)> = None;
    let mut sum = 0;
    for kill in kills {
        let leased: HashSet<(u32, u32)> = kill.leased.iter().copied().collect();
        let mut waits = HashSet::new();
        if let Some((at, leased_before)) = before {
            waits.extend(leased_before.intersection(&leased).copied());
            let from = receipts.partition_point(|receipt| receipt.at <= at);
            for receipt in receipts[from..].iter().take_while(|receipt| receipt.at <= kill.at) {
                waits.remove(&(receipt.payment, receipt.sequence));
            }
        }
        sum += leased.difference(&waits).count() as u64;
        before = Some((kill.at, leased));
    }
    sum
}

/// Microseconds until each notification that was under way came again.
fn taken_over(kill: &Kill, receipts: &[Receipt]) -> Vec<u64> {
    let mut waiting: HashSet<(u32, u32)> = kill.leased.iter().copied().collect();
    let after = receipts.partition_point(|receipt| receipt.at <= kill.at);
    let mut times = Vec::new();
    for receipt in &receipts[after..] {
        if waiting.is_empty() {
            break;
        }
        if waiting.remove(&(receipt.payment, receipt.sequence)) {
            times.push(receipt.at - kill.at);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time_that_it_comes_counts() {
        let receipt = |at, payment| Receipt { at, payment, sequence: 1 };
        let receipts = [receipt(5, 1), receipt(20, 2), receipt(30, 1), receipt(40, 1)];
        let kill = Kill { at: 10, leased: vec![(1, 1), (9, 1)] };
        assert_eq!(taken_over(&kill, &receipts), [20]);
        let waits = Kill { at: 15, leased: vec![(1, 1), (3, 1)] };
        let again = Kill { at: 35, leased: vec![(1, 1), (3, 1)] };
        assert_eq!(under_way(&[kill.clone(), waits, again], &receipts), 2 + 1 + 1);
        let mut sample = Sample::default();
        judge(&mut sample, &[kill], &receipts);
        assert!(sample.duplicates_max == 2 && sample.notes.iter().any(|note| note.contains("[goal]")), "{sample:?}");
    }
}
