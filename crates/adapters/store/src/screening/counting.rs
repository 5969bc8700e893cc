//! Counting tries and what became of them, many at once: what is locked is locked once, and each try hears what was counted before it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use diesel::{Connection, PgConnection};
use dropin_kernel::{OrderId, Timestamp};
use dropin_ports::{
    CardAuthentication, CountableOutcome, CountedPaymentTry, HashedVelocityKey, NewPaymentTry, PaymentTryOutcome,
    VelocityHash,
};
use dropin_risk::{ExemptedPayments, Velocity, VelocityKey, VelocityWindow};

use super::codec::encode_counts;
use super::rows::{
    ChangedCounts, CountKey, CountRow, CountRows, CountedTry, Found, Shopper, ShopperKey, TryState, Wanted,
};
use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::worker_pool::{ASYNC_COMMIT, Batchable, TxOutcome, Work};

/// So seldom is written down that a shopper who has paid before was seen again.
const SEEN_AGAIN: Duration = Duration::from_secs(7 * 86_400);

/// What is to be counted.
#[derive(Debug)]
pub(crate) enum Counting {
    /// A try.
    Try(NewPaymentTry),
    /// What became of one.
    Outcome(ToldOutcome),
}

/// What became of the try of an Order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToldOutcome {
    pub(super) order: OrderId,
    pub(super) countable: CountableOutcome,
}

impl Work for Counting {
    /// Nothing of it for an outcome.
    type Answer = CountedPaymentTry;

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<CountedPaymentTry>, Fault> {
        let counted = match connection {
            AnyConnection::Postgres(connection) => count(connection, &[self]),
            AnyConnection::Sqlite(connection) => count(connection, &[self]),
        };
        Ok(TxOutcome::Commit(counted?.pop().unwrap_or_default()))
    }
}

impl Batchable for Counting {
    /// A count that a crash of the server loses was followed by nothing: what is kept of the screening after it is committed to the disk, and all that
    /// was committed before with it.
    const SETTINGS: &'static str = ASYNC_COMMIT;

    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<CountedPaymentTry>>, Fault> {
        let counted = connection.transaction(|connection| count(connection, all))?;
        Ok(counted.into_iter().map(Some).collect())
    }
}

/// A shopper is known by its profile and its browser.
const fn names_shopper(key: VelocityKey) -> bool {
    matches!(key, VelocityKey::Profile | VelocityKey::Device)
}

/// Under what the shopper of a try may be known.
fn shopper_keys(new: &NewPaymentTry) -> impl Iterator<Item = ShopperKey> {
    let keys = new.keys.iter().filter(|key| names_shopper(key.key));
    keys.flat_map(hashes).map(move |hash| (new.merchant_id, hash))
}

/// The rows that a try is counted in, or was under older keys of the ring.
fn count_keys(new: &NewPaymentTry) -> impl Iterator<Item = CountKey> {
    let merchant = new.merchant_id;
    let of = move |key: VelocityKey| move |hash| CountKey { merchant, key, hash };
    new.keys.iter().flat_map(move |key| hashes(key).map(of(key.key)))
}

/// What a try is known by, now and under older keys of the ring.
fn hashes(key: &HashedVelocityKey) -> impl Iterator<Item = VelocityHash> {
    std::iter::once(key.hash).chain(key.former.iter().copied())
}

fn count(rows: &mut impl CountRows, all: &[&Counting]) -> Result<Vec<CountedPaymentTry>, Fault> {
    let tries: Vec<_> =
        all.iter().filter_map(|one| if let Counting::Try(new) = one { Some(new) } else { None }).collect();
    let mut outcomes = Outcomes::of(rows, all)?;
    let wanted = Wanted {
        tries: &tries,
        shoppers: tries.iter().flat_map(|new| shopper_keys(new)).collect(),
        counts: tries
            .iter()
            .flat_map(|new| count_keys(new))
            .chain(outcomes.steps.iter().flat_map(Step::count_keys))
            .collect(),
    };
    let Found { mut new_tries, shoppers, counts } =
        if wanted.is_empty() { Found::default() } else { rows.begin(&wanted)? };
    let mut shoppers = Shoppers::of(shoppers, &tries);
    shoppers.pay(&outcomes.paid);
    shoppers.write(rows)?;
    let mut counts = Counts(counts);
    let mut answers = Vec::with_capacity(all.len());
    for one in all {
        answers.push(match one {
            // An Order that stands twice in the batch is counted once.
            Counting::Try(new) => {
                let (velocity, exempted) = counts.count(new, new_tries.remove(&new.order_id));
                CountedPaymentTry { velocity, known_since: shoppers.known_since(new), exempted }
            }
            Counting::Outcome(_) => CountedPaymentTry::default(),
        });
    }
    for step in std::mem::take(&mut outcomes.steps) {
        counts.step(&step);
    }
    counts.write(rows)?;
    Ok(answers)
}

/// What follows for the counts from what became of a try.
struct Step {
    counted: CountedTry,
    to: TryState,
    told: CountableOutcome,
}

/// What became of tries.
#[derive(Default)]
struct Outcomes {
    steps: Vec<Step>,
    paid: Vec<(ShopperKey, Timestamp)>,
}

impl Outcomes {
    /// Locks the tries and writes their states down.
    fn of(rows: &mut impl CountRows, all: &[&Counting]) -> Result<Self, Fault> {
        let told = all.iter().filter_map(|one| if let Counting::Outcome(told) = one { Some(*told) } else { None });
        let told: Vec<_> = told.collect();
        if told.is_empty() {
            return Ok(Self::default());
        }
        let mut found = rows.lock_tries(&told.iter().map(|told| told.order).collect())?;
        let (mut outcomes, mut states) = (Self::default(), BTreeMap::new());
        for ToldOutcome { order, countable } in told {
            let Some(counted) = found.get_mut(&order) else { continue };
            let Some(to) = next_state(counted.state, countable.outcome) else { continue };
            if countable.outcome == PaymentTryOutcome::Paid {
                let named = counted.keys.iter().filter(|(key, _)| names_shopper(*key));
                outcomes.paid.extend(named.map(|(_, hash)| ((counted.merchant, *hash), counted.at)));
            }
            let before = CountedTry { keys: counted.keys.clone(), ..*counted };
            outcomes.steps.push(Step { counted: before, to, told: countable });
            counted.state = to;
            states.insert(order, to);
        }
        if !states.is_empty() {
            rows.set_states(&states)?;
        }
        Ok(outcomes)
    }
}

/// TRIED → CHALLENGED → DECLINED or PAID, and BLOCKED instead of all of them.
const fn next_state(state: TryState, outcome: PaymentTryOutcome) -> Option<TryState> {
    match (state, outcome) {
        (TryState::Tried, PaymentTryOutcome::Blocked) => Some(TryState::Blocked),
        (TryState::Tried, PaymentTryOutcome::Challenged) => Some(TryState::Challenged),
        (TryState::Tried | TryState::Challenged, PaymentTryOutcome::Declined) => Some(TryState::Declined),
        (TryState::Tried | TryState::Challenged, PaymentTryOutcome::Authorized | PaymentTryOutcome::Paid) => {
            Some(TryState::Paid)
        }
        _ => None,
    }
}

/// Who has paid before.
#[derive(Default)]
struct Shoppers {
    found: HashMap<ShopperKey, Shopper>,
    changed: BTreeMap<ShopperKey, Shopper>,
    /// What older keys of the ring hashed and the newest has hashed anew.
    moved: BTreeSet<ShopperKey>,
}

impl Shoppers {
    fn of(found: HashMap<ShopperKey, Shopper>, tries: &[&NewPaymentTry]) -> Self {
        let mut shoppers = Self { found, ..Self::default() };
        for new in tries {
            shoppers.see(new);
        }
        shoppers
    }

    /// Notes that a shopper was seen again, under the newest key of the ring.
    fn see(&mut self, new: &NewPaymentTry) {
        for key in new.keys.iter().filter(|key| names_shopper(key.key)) {
            let found = hashes(key).filter_map(|hash| self.found.get(&(new.merchant_id, hash)));
            let Some(known) = found.min_by_key(|known| known.first_paid_at).copied() else { continue };
            let newest = (new.merchant_id, key.hash);
            let is_long_ago = self.found.get(&newest).is_none_or(|known| known.seen_at.plus(SEEN_AGAIN) <= new.at);
            let former = key.former.iter().map(|hash| (new.merchant_id, *hash));
            let moved: Vec<_> = former.filter(|former| self.found.contains_key(former)).collect();
            if is_long_ago || !moved.is_empty() {
                self.note(newest, Shopper { seen_at: new.at, ..known });
            }
            self.moved.extend(moved);
        }
    }

    fn pay(&mut self, paid: &[(ShopperKey, Timestamp)]) {
        for (shopper, at) in paid {
            self.note(*shopper, Shopper { first_paid_at: *at, seen_at: *at });
        }
    }

    fn note(&mut self, key: ShopperKey, shopper: Shopper) {
        let noted = self.changed.entry(key).or_insert(shopper);
        noted.first_paid_at = noted.first_paid_at.min(shopper.first_paid_at);
        noted.seen_at = noted.seen_at.max(shopper.seen_at);
    }

    fn write(&self, rows: &mut impl CountRows) -> Result<(), Fault> {
        if !self.changed.is_empty() {
            rows.put_shoppers(&self.changed)?;
        }
        if self.moved.is_empty() { Ok(()) } else { rows.delete_shoppers(&self.moved) }
    }

    fn known_since(&self, new: &NewPaymentTry) -> Option<Timestamp> {
        let named = new.keys.iter().filter(|key| names_shopper(key.key)).flat_map(hashes);
        named.filter_map(|hash| self.found.get(&(new.merchant_id, hash))).map(|known| known.first_paid_at).min()
    }
}

/// The rows of counts that a batch changes.
struct Counts(HashMap<CountKey, CountRow>);

impl Counts {
    /// Counts a try, unless it was counted before, and tells what its keys have by now, and its card's exemptions.
    fn count(&mut self, new: &NewPaymentTry, is_new: bool) -> (Velocity, Option<ExemptedPayments>) {
        let card = new.keys.iter().find(|key| key.key == VelocityKey::Card);
        let (mut velocity, mut exempted) = (Velocity::default(), None);
        for key in &new.keys {
            let of = |hash| CountKey { merchant: new.merchant_id, key: key.key, hash };
            for former in &key.former {
                self.take_over(of(*former), of(key.hash));
            }
            let row = self.0.entry(of(key.hash)).or_default();
            if is_new {
                row.counts.count_try(new.at, new.amount_cents, card);
                row.is_changed = true;
            }
            for window in VelocityWindow::ALL {
                velocity.set(key.key, window, row.counts.sum(window, new.at));
            }
            if key.key == VelocityKey::Card {
                exempted = Some(row.counts.exempted(new.at));
            }
        }
        (velocity, exempted)
    }

    /// Moves what an older key of the ring counted under the newest. The row that is left is over, and swept.
    fn take_over(&mut self, former: CountKey, newest: CountKey) {
        let Some(row) = self.0.get_mut(&former).filter(|row| !row.counts.is_empty()) else { return };
        let counts = std::mem::take(&mut row.counts);
        row.is_changed = true;
        let row = self.0.entry(newest).or_default();
        row.counts.take_over(counts);
        row.is_changed = true;
    }

    /// Counts what became of a try where the try was counted.
    fn step(&mut self, step: &Step) {
        for of in step.count_keys() {
            let row = self.0.entry(of).or_default();
            row.is_changed = true;
            let by_alarm = step.told.in_alarm && of.key == VelocityKey::Merchant;
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
            if of.key == VelocityKey::Card {
                row.counts.authenticate(step.counted.at, step.told.authentication);
            }
        }
    }

    fn write(self, rows: &mut impl CountRows) -> Result<(), Fault> {
        let changed = self.0.into_iter().filter(|(_, row)| row.is_changed).map(|(of, row)| ChangedCounts {
            of,
            revision: row.revision + 1,
            counts: encode_counts(&row.counts),
            until: row.counts.until(),
        });
        let mut changed: Vec<_> = changed.collect();
        changed.sort_unstable_by_key(|row| row.of);
        if changed.is_empty() { Ok(()) } else { rows.put_counts(&changed) }
    }
}

impl Step {
    /// The rows that it changes: where a challenge ends in a decline, or a try in a payment, at most that of the card.
    fn count_keys(&self) -> Vec<CountKey> {
        let changes_nothing = matches!(
            (self.counted.state, self.to),
            (TryState::Challenged, TryState::Declined) | (TryState::Tried, TryState::Paid)
        );
        let is_of_card = |key| key == VelocityKey::Card && self.told.authentication != CardAuthentication::Unchanged;
        let keys = self.counted.keys.iter().filter(|(key, _)| !changes_nothing || is_of_card(*key));
        keys.map(|(key, hash)| CountKey { merchant: self.counted.merchant, key: *key, hash: *hash }).collect()
    }
}
