//! The counters of a service, in memory: buckets by key and window, with the crate's own arithmetic.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_risk::{Decision, Screening, Velocity, VelocityCounts, VelocityKey, VelocitySum, VelocityWindow};

use crate::shop::Try;

/// When the week begins: a Monday, 2026-11-23.
const WEEK_BEGIN: Timestamp = Timestamp::from_micros(1_795_392_000_000_000);

#[derive(Default)]
struct Bucket {
    counts: VelocityCounts,
    cards: BTreeSet<u64>,
}

/// The buckets of each window, in the order of the windows.
type Buckets = [BTreeMap<Timestamp, Bucket>; VelocityWindow::ALL.len()];

#[derive(Default)]
pub(crate) struct Counters(HashMap<(VelocityKey, u64), Buckets>);

/// The /24 or /48 around an address.
fn network(ip: IpAddr) -> u64 {
    match ip {
        IpAddr::V4(v4) => (v4.to_bits() >> 8).into(),
        IpAddr::V6(v6) => u64::try_from(v6.to_bits() >> 80).unwrap(),
    }
}

fn hash(subject: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    subject.hash(&mut hasher);
    hasher.finish()
}

/// What a try is counted by.
fn keys(one: &Try) -> Vec<(VelocityKey, u64)> {
    let facts = &one.facts;
    let text = |text: &Option<dropin_risk::FactText>| text.as_ref().map(|text| hash(text.as_str()));
    let keys = [
        (VelocityKey::Card, Some(one.card)),
        (VelocityKey::Device, text(&facts.device)),
        (VelocityKey::Ip, facts.ip.map(hash)),
        (VelocityKey::Network, facts.ip.map(network)),
        (VelocityKey::Email, text(&facts.email)),
        (VelocityKey::Profile, text(&facts.profile)),
        (VelocityKey::Session, Some(one.session)),
        (VelocityKey::Merchant, Some(0)),
    ];
    keys.into_iter().filter_map(|(key, subject)| Some((key, subject?))).collect()
}

impl Counters {
    /// What is counted for a try, itself included.
    pub(crate) fn with(&mut self, one: &Try) -> Velocity {
        let now = WEEK_BEGIN.plus(Duration::from_secs(one.at));
        let amount_cents = one.facts.amount_cents.unwrap_or(0);
        let this = VelocityCounts { tries: 1, amount_cents, ..VelocityCounts::default() };
        let mut velocity = Velocity::default();
        for key in keys(one) {
            let windows = self.0.entry(key).or_default();
            for (window, buckets) in VelocityWindow::ALL.into_iter().zip(windows) {
                while buckets.first_key_value().is_some_and(|(start, _)| window.ends_at(*start) <= now) {
                    buckets.pop_first();
                }
                let bucket = buckets.entry(window.bucket_start(now)).or_default();
                bucket.counts = bucket.counts.plus(this);
                // Those of a shop or a network are too many to keep, and no rule asks for them.
                if !matches!(key.0, VelocityKey::Merchant | VelocityKey::Network) {
                    bucket.cards.insert(one.card);
                }
                let counts = window.sum(now, buckets.iter().map(|(start, bucket)| (*start, bucket.counts)));
                let seen = buckets.iter().flat_map(|(start, bucket)| bucket.cards.iter().map(|card| (*start, *card)));
                velocity.set(key.0, window, VelocitySum { counts, cards: window.distinct(now, seen) });
            }
        }
        velocity
    }

    /// Notes what became of it. An attacker never passes a challenge; an owner's counts as one that was passed.
    pub(crate) fn count(&mut self, one: &Try, screening: &Screening) {
        let now = WEEK_BEGIN.plus(Duration::from_secs(one.at));
        let decision = screening.decision();
        let (is_blocked, asks) = (decision == Decision::Block, decision.asks_authentication());
        let is_paid = one.is_approved && (!asks || one.is_owner);
        let by_alarm =
            VelocityCounts { alarm_challenges: 1, alarm_passes: is_paid.into(), ..VelocityCounts::default() };
        let counted = VelocityCounts {
            blocks: is_blocked.into(),
            declines: (!is_blocked && !is_paid).into(),
            ..VelocityCounts::default()
        };
        for key in keys(one) {
            let more =
                if asks && screening.is_in_alarm() && key.0 == VelocityKey::Merchant { by_alarm } else { counted };
            let windows = self.0.get_mut(&key).unwrap();
            for (window, buckets) in VelocityWindow::ALL.into_iter().zip(windows) {
                let bucket = buckets.get_mut(&window.bucket_start(now)).unwrap();
                bucket.counts = bucket.counts.plus(more);
            }
        }
    }
}
