//! Counting tries and what became of them, many at once: each try hears what was counted before it.
//!
//! A merchant's own row is changed with every row of counts of the merchant's. So tries are counted without a lock: all is read in one statement, and
//! written in another where that row is as it was read. Where it is not, they are counted once more, with that row locked.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use diesel::{Connection, PgConnection};
use dropin_kernel::{OrderId, Timestamp};
use dropin_ports::{
    CountableOutcome, CountedPaymentTry, NewPaymentTry, PaymentTryOutcome, ScreenedPaymentTry, TryScreening,
};
use dropin_risk::{Decision, VelocityKey};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::on_each;
use dropin_store_runtime::worker_pool::{ASYNC_COMMIT_SHORT_WAITS, Batchable, Batched, Kind, TxOutcome, Work};

use super::counters::{Counters, Step};
use super::document::Keeping;
use super::rows::{
    Changes, CountRows, CountedTry, Found, NewTry, ShopperKey, TryState, Wanted, counter_hash, has_row, hashes,
    merchant_hash,
};
use super::shoppers::{Shoppers, names_shopper};

/// What is to be counted.
pub(crate) enum Counting {
    /// A try, which is decided on.
    Try(UndecidedTry),
    /// What became of one.
    Outcome(ToldOutcome),
}

/// A try, and who decides on it.
pub(crate) struct UndecidedTry {
    pub(super) new: NewPaymentTry,
    pub(super) decision: TryScreening,
}

/// What became of the try of an Order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToldOutcome {
    pub(super) order: OrderId,
    pub(super) countable: CountableOutcome,
}

impl Work for Counting {
    /// `None` for an outcome.
    type Answer = Option<ScreenedPaymentTry>;

    fn run(&self, connection: &mut AnyConnection) -> Result<TxOutcome<Self::Answer>, Fault> {
        on_each!(connection, rows => self.count_locked(rows)).map(TxOutcome::Commit)
    }
}

impl Counting {
    fn count_locked(&self, rows: &mut impl CountRows) -> Result<Option<ScreenedPaymentTry>, Fault> {
        match self {
            Self::Try(one) => {
                let screened = screen_locked(rows, &[one])?.pop().flatten();
                // A merchant without a row cannot be locked: another program has made it meanwhile.
                screened.map(Some).ok_or(Fault::Retry)
            }
            Self::Outcome(told) => tell(rows, &[*told]).map(|()| None),
        }
    }
}

impl Batchable for Counting {
    const KIND: Kind = Kind::Write;
    /// Two would count for one merchant at once, and one of them in vain. A payment waits for a count for a moment and no longer.
    const THREADS: usize = 1;
    const THREAD: &'static str = "store-count";
    /// A crash of the server may lose counts and what was allowed; see [`Changes::is_durable`].
    const SETTINGS: &'static str = ASYNC_COMMIT_SHORT_WAITS;

    /// What fails is left out, to be done alone: what was done before it stays, and counts once.
    fn run_batched(connection: &mut PgConnection, all: &[&Self]) -> Result<Batched<Self::Answer>, Fault> {
        let (mut tries, mut told, mut answers) = (Vec::new(), Vec::new(), vec![None; all.len()]);
        for (index, one) in all.iter().enumerate() {
            match one {
                Self::Try(one) => tries.push((index, one)),
                Self::Outcome(one) => told.push((index, *one)),
            }
        }
        if !tries.is_empty() {
            let screened = screen(connection, &without_index(&tries))?;
            for ((index, _), screened) in tries.iter().zip(screened) {
                answers[*index] = screened.map(Some);
            }
        }
        tries.retain(|(index, _)| answers[*index].is_none());
        if !tries.is_empty() {
            let late = without_index(&tries);
            let screened = unless_lost(connection.transaction(|rows| screen_locked(rows, &late)))?;
            for ((index, _), screened) in tries.iter().zip(screened.unwrap_or_default()) {
                answers[*index] = screened.map(Some);
            }
        }
        let outcomes = without_index(&told);
        if !told.is_empty() && unless_lost(connection.transaction(|rows| tell(rows, &outcomes)))?.is_some() {
            told.iter().for_each(|(index, _)| answers[*index] = Some(None));
        }
        Ok(Batched::silent(answers))
    }
}

fn without_index<T: Copy>(all: &[(usize, T)]) -> Vec<T> {
    all.iter().map(|(_, one)| *one).collect()
}

/// `None` where nothing was done.
fn unless_lost<T>(done: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(fault) if fault.is_lost_connection() => Err(fault),
        Err(_undone) => Ok(None),
    }
}

impl Wanted {
    /// What tries are counted in, or were under older keys of the ring.
    fn of_tries(all: &[&UndecidedTry]) -> Self {
        let mut wanted = Self::default();
        for UndecidedTry { new, .. } in all {
            wanted.orders.push(new.order_id);
            wanted.counts.insert(merchant_hash(new.merchant_id));
            for key in &new.keys {
                let rows = hashes(key).map(|hash| counter_hash(&hash));
                match key.key {
                    VelocityKey::Session => wanted.sessions.extend(rows),
                    kind if has_row(kind) => wanted.counts.extend(rows),
                    _ => {}
                }
                if names_shopper(key.key) {
                    wanted.shoppers.extend(hashes(key).map(|hash| (new.merchant_id, hash)));
                }
            }
        }
        wanted
    }
}

/// Screens tries of merchants whose own rows are locked.
fn screen_locked(rows: &mut impl CountRows, all: &[&UndecidedTry]) -> Result<Vec<Option<ScreenedPaymentTry>>, Fault> {
    rows.lock_merchants(&all.iter().map(|one| one.new.merchant_id).collect())?;
    screen(rows, all)
}

/// Counts tries, decides on them and keeps that. `None` where somebody changed counts of the merchant's meanwhile, and for an Order that stands there twice.
fn screen(rows: &mut impl CountRows, all: &[&UndecidedTry]) -> Result<Vec<Option<ScreenedPaymentTry>>, Fault> {
    let Found { counted: counted_before, of_sessions, counts, shoppers } = rows.read(&Wanted::of_tries(all))?;
    let shoppers = Shoppers::of(shoppers, all.iter().map(|one| &one.new));
    shoppers.write(rows)?;
    let mut counts = Counters::of(counts, of_sessions);
    let (mut changes, mut orders, mut answers) = (Changes::default(), HashSet::new(), Vec::with_capacity(all.len()));
    for UndecidedTry { new, decision } in all.iter().copied() {
        if !orders.insert(new.order_id) {
            answers.push(None);
            continue;
        }
        let is_new = !counted_before.contains(&new.order_id);
        let counted = CountedPaymentTry { known_since: shoppers.known_since(new), ..counts.count(new, is_new) };
        let screening = decision(&counted);
        changes.is_durable |= Decision::Review <= screening.decision();
        changes.kept.push(Keeping::new(new.order_id, new.merchant_id, &screening)?);
        if is_new {
            changes.tries.push(NewTry::of(new));
        }
        answers.push(Some(ScreenedPaymentTry { counted, screening, is_kept: false }));
    }
    counts.write_to(&mut changes);
    let written = rows.write(&changes)?;
    for (UndecidedTry { new, .. }, answer) in all.iter().copied().zip(&mut answers) {
        if !written.merchants.contains(&new.merchant_id) {
            *answer = None;
        } else if let Some(answer) = answer {
            answer.is_kept = written.kept.contains(&new.order_id);
        }
    }
    Ok(answers)
}

/// Counts what became of tries.
fn tell(rows: &mut impl CountRows, told: &[ToldOutcome]) -> Result<(), Fault> {
    let Outcomes { steps, paid, states } = Outcomes::of(rows, told)?;
    if !states.is_empty() {
        rows.set_states(&states)?;
    }
    let changed: Vec<_> = steps.iter().filter(|step| !step.count_keys().is_empty()).collect();
    if !changed.is_empty() {
        let merchants: BTreeSet<_> = changed.iter().map(|step| step.counted.merchant).collect();
        rows.lock_merchants(&merchants)?;
        let wanted = changed.iter().flat_map(|step| step.count_keys()).map(|(_, hash)| hash);
        let found = rows.read(&Wanted { counts: wanted.collect(), ..Wanted::default() })?;
        let (mut counts, mut changes) = (Counters::of(found.counts, Vec::new()), Changes::default());
        changed.iter().for_each(|step| counts.step(step));
        counts.write_to(&mut changes);
        if rows.write(&changes)?.merchants != merchants.into_iter().collect() {
            return Err(Fault::Retry);
        }
    }
    // Last, as who screens a try with the merchant's row locked writes them.
    let mut shoppers = Shoppers::default();
    shoppers.pay(&paid);
    shoppers.write(rows)
}

/// What became of tries.
#[derive(Default)]
struct Outcomes {
    steps: Vec<Step>,
    paid: Vec<(ShopperKey, Timestamp)>,
    states: BTreeMap<OrderId, TryState>,
}

impl Outcomes {
    /// Locks the tries, and tells how far each goes.
    fn of(rows: &mut impl CountRows, told: &[ToldOutcome]) -> Result<Self, Fault> {
        let mut found = rows.lock_tries(&told.iter().map(|told| told.order).collect())?;
        let mut outcomes = Self::default();
        for ToldOutcome { order, countable } in told {
            let Some(counted) = found.get_mut(order) else { continue };
            let Some(to) = next_state(counted.state, countable.outcome) else { continue };
            if countable.outcome == PaymentTryOutcome::Paid {
                let named = counted.keys.iter().filter(|(key, _)| names_shopper(*key));
                outcomes.paid.extend(named.map(|(_, hash)| ((counted.merchant, *hash), counted.at)));
            }
            let before = CountedTry { keys: counted.keys.clone(), ..*counted };
            outcomes.steps.push(Step { counted: before, to, told: *countable });
            counted.state = to;
            outcomes.states.insert(*order, to);
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
