//! What a batch of tries and outcomes changes of the counts.

use std::collections::{BTreeSet, HashMap};

use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{
    CardAuthentication, CardFacts, CountableOutcome, CountedPaymentTry, HashedVelocityKey, NewPaymentTry,
    PaymentTryOutcome,
};
use dropin_risk::{VelocityKey, VelocityWindow};

use super::codec::encode_counts;
use super::counts::KeyCounts;
use super::rows::{
    ChangedCounts, Changes, CountRow, CountedTry, CounterHash, TryState, counter_hash, find_key, has_row, hashes,
    merchant_hash,
};

/// What follows for the counts from what became of a try.
pub(super) struct Step {
    pub(super) counted: CountedTry,
    pub(super) to: TryState,
    pub(super) told: CountableOutcome,
}

/// The rows of counts that a batch changes.
#[derive(Default)]
pub(super) struct Counters {
    rows: HashMap<CounterHash, CountRow>,
    changed: BTreeSet<(MerchantId, CounterHash)>,
    /// Tries of before, by Session.
    of_sessions: HashMap<CounterHash, Vec<CountedTry>>,
    /// What they come to, with those of the batch.
    sessions: HashMap<CounterHash, KeyCounts>,
}

/// Of a row that is not there yet: none that somebody else makes at the same time has its revision.
fn first_revision(at: Timestamp) -> i64 {
    at.micros().saturating_mul(1_024)
}

impl Counters {
    pub(super) fn of(rows: HashMap<CounterHash, CountRow>, of_sessions: Vec<(CounterHash, CountedTry)>) -> Self {
        let mut counts = Self { rows, ..Self::default() };
        for (session, counted) in of_sessions {
            counts.of_sessions.entry(session).or_default().push(counted);
        }
        counts
    }

    /// Counts a try, unless it was counted before, and tells what the merchant and its keys have by now, and what is known of its card. Who has paid before
    /// stands elsewhere.
    pub(super) fn count(&mut self, new: &NewPaymentTry, is_new: bool) -> CountedPaymentTry {
        let card = find_key(new, VelocityKey::Card);
        let CountedPaymentTry { mut velocity, known_since, mut exempted, card: mut facts } =
            CountedPaymentTry::default();
        let mut count = |kind, counts: &mut KeyCounts, card: Option<&HashedVelocityKey>| {
            if is_new {
                counts.count_try(new.at, new.amount_cents, card);
            }
            for window in VelocityWindow::ALL {
                velocity.set(kind, window, counts.sum(window, new.at));
            }
        };
        let own = self.row(new.merchant_id, merchant_hash(new.merchant_id), new.at);
        count(VelocityKey::Merchant, &mut own.counts, None);
        for key in &new.keys {
            if key.key == VelocityKey::Session {
                count(key.key, self.session(key), card);
            } else if has_row(key.key) {
                let counts = self.newest(new, key);
                count(key.key, counts, card);
                if key.key == VelocityKey::Card {
                    (exempted, facts) = (Some(counts.exempted(new.at)), counts.card_facts(new.at));
                }
            }
        }
        CountedPaymentTry { velocity, known_since, exempted, card: facts }
    }

    /// A row that is written.
    fn row(&mut self, merchant: MerchantId, hash: CounterHash, at: Timestamp) -> &mut CountRow {
        self.changed.insert((merchant, hash));
        let missing = || CountRow { revision: first_revision(at), counts: KeyCounts::default() };
        self.rows.entry(hash).or_insert_with(missing)
    }

    /// The counts under the newest key of the ring, with what older ones counted. The rows that are left of those are over, and swept.
    fn newest(&mut self, new: &NewPaymentTry, key: &HashedVelocityKey) -> &mut KeyCounts {
        let mut moved = Vec::new();
        for former in key.former.iter().map(counter_hash) {
            if let Some(row) = self.rows.get_mut(&former).filter(|row| !row.counts.is_empty()) {
                moved.push(std::mem::take(&mut row.counts));
                self.changed.insert((new.merchant_id, former));
            }
        }
        let counts = &mut self.row(new.merchant_id, counter_hash(&key.hash), new.at).counts;
        moved.into_iter().for_each(|former| counts.take_over(former));
        counts
    }

    /// What the tries of a Session come to.
    fn session(&mut self, key: &HashedVelocityKey) -> &mut KeyCounts {
        let before = hashes(key).filter_map(|hash| self.of_sessions.get(&counter_hash(&hash))).flatten();
        self.sessions.entry(counter_hash(&key.hash)).or_insert_with(|| {
            let mut counts = KeyCounts::default();
            before.for_each(|counted| counts.repeat_try(counted));
            counts
        })
    }

    /// Counts what became of a try where the try was counted.
    pub(super) fn step(&mut self, step: &Step) {
        for (key, hash) in step.count_keys() {
            let row = self.row(step.counted.merchant, hash, step.counted.at);
            let by_alarm = step.told.in_alarm && key == VelocityKey::Merchant;
            let is_paid = step.told.outcome == PaymentTryOutcome::Paid;
            row.counts.change(step.counted.at, |counts| match (step.counted.state, step.to) {
                (_, TryState::Blocked) => counts.blocks = counts.blocks.saturating_add(1),
                (_, TryState::Challenged) if by_alarm => {
                    counts.alarm_challenges = counts.alarm_challenges.saturating_add(1);
                }
                (TryState::Challenged, TryState::Paid) if by_alarm && is_paid => {
                    counts.alarm_passes = counts.alarm_passes.saturating_add(1);
                }
                (TryState::Challenged, TryState::Paid) if by_alarm => {
                    counts.alarm_verifications = counts.alarm_verifications.saturating_add(1);
                }
                (TryState::Challenged, TryState::Declined) => {}
                (_, TryState::Challenged | TryState::Declined) => counts.declines = counts.declines.saturating_add(1),
                (TryState::Challenged, TryState::Paid) => counts.declines = counts.declines.saturating_sub(1),
                _ => {}
            });
            if key == VelocityKey::Card {
                row.counts.authenticate(step.counted.at, step.told.authentication);
                row.counts.tell_card(step.counted.at, step.told.card);
            }
        }
    }

    /// What is written of them.
    pub(super) fn write_to(mut self, changes: &mut Changes<'_>) {
        for (merchant, hash) in self.changed {
            let Some(CountRow { revision, counts }) = self.rows.remove(&hash) else { continue };
            let until = counts.until();
            let row = ChangedCounts { merchant, hash, revision: revision + 1, counts: encode_counts(&counts), until };
            let is_own = hash == merchant_hash(merchant);
            if is_own { changes.merchants.push(row) } else { changes.counts.push(row) }
        }
    }
}

impl KeyCounts {
    /// Counts a try of before, and what has become of it.
    fn repeat_try(&mut self, counted: &CountedTry) {
        let card = counted.keys.iter().find(|(key, _)| *key == VelocityKey::Card);
        let card = card.map(|(key, hash)| HashedVelocityKey { key: *key, hash: *hash, former: Vec::new() });
        self.count_try(counted.at, counted.amount_cents, card.as_ref());
        self.change(counted.at, |counts| match counted.state {
            TryState::Blocked => counts.blocks += 1,
            TryState::Challenged | TryState::Declined => counts.declines += 1,
            TryState::Tried | TryState::Paid => {}
        });
    }
}

impl Step {
    /// The rows that it changes: where a challenge ends in a decline, or a try in a payment, at most that of the card. The merchant's own is with them.
    pub(super) fn count_keys(&self) -> Vec<(VelocityKey, CounterHash)> {
        let changes_nothing = matches!(
            (self.counted.state, self.to),
            (TryState::Challenged, TryState::Declined) | (TryState::Tried, TryState::Paid)
        );
        let tells = self.told.authentication != CardAuthentication::Unchanged || self.told.card != CardFacts::default();
        let changed = |key| has_row(key) && (!changes_nothing || (tells && key == VelocityKey::Card));
        let keys = self.counted.keys.iter().filter(|(key, _)| changed(*key));
        let mut keys: Vec<_> = keys.map(|(key, hash)| (*key, counter_hash(hash))).collect();
        if !(changes_nothing && keys.is_empty()) {
            keys.push((VelocityKey::Merchant, merchant_hash(self.counted.merchant)));
        }
        keys
    }
}
