//! The rows behind the counts, which the two databases lock and write in their own ways.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_ports::{HashedVelocityKey, NewPaymentTry, VelocityHash};
use dropin_risk::VelocityKey;
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant};

use super::codec::{are_newer_counts, decode_counts, decode_keys, encode_keys};
use super::counts::KeyCounts;
use super::document::Keeping;

/// How far a try has been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TryState {
    /// It was counted itself.
    Tried,
    /// It was blocked.
    Blocked,
    /// The shopper was asked to authenticate.
    Challenged,
    /// It was refused.
    Declined,
    /// It was authorized.
    Paid,
}

impl TryState {
    const ALL: [Self; 5] = [Self::Tried, Self::Blocked, Self::Challenged, Self::Declined, Self::Paid];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Tried => "TRIED",
            Self::Blocked => "BLOCKED",
            Self::Challenged => "CHALLENGED",
            Self::Declined => "DECLINED",
            Self::Paid => "PAID",
        }
    }

    pub(super) fn read(stored: &str) -> Result<Self, Fault> {
        let known = Self::ALL.into_iter().find(|state| state.as_str() == stored);
        known.ok_or_else(|| corrupt("payment_try", "the state is unknown"))
    }
}

/// Names a row of counts, or a Session among tries: the first half of its hash, which is another for each merchant and kind of key.
pub(super) type CounterHash = [u8; 16];

pub(super) fn counter_hash(hash: &VelocityHash) -> CounterHash {
    let (first, _) = hash.0.split_first_chunk().unwrap_or((&[0; 16], &[]));
    *first
}

/// Names the merchant's own row, which whoever changes counts of the merchant's changes with them: where it is as it was read, all others are, too.
pub(super) fn merchant_hash(merchant: MerchantId) -> CounterHash {
    *merchant.uuid().as_bytes()
}

/// A row of counts.
#[derive(Debug, Default)]
pub(super) struct CountRow {
    /// The one that was read.
    pub(super) revision: i64,
    pub(super) counts: KeyCounts,
}

impl CountRow {
    /// Damaged counts begin anew: else nothing would be counted by that key until they are over, and whatever is counted with it alone. Those of a newer
    /// program stay.
    pub(super) fn read(revision: i64, stored: &[u8]) -> Result<Self, Fault> {
        let counts = decode_counts(stored).or_else(|damaged| {
            if are_newer_counts(stored) {
                return Err(damaged);
            }
            log::error!("corrupt row in velocity_counter: its counts cannot be read, and begin anew");
            Ok(KeyCounts::default())
        })?;
        Ok(Self { revision, counts })
    }
}

/// A row of counts to be written.
#[derive(Debug)]
pub(super) struct ChangedCounts {
    pub(super) merchant: MerchantId,
    pub(super) hash: CounterHash,
    /// The one that it gets.
    pub(super) revision: i64,
    pub(super) counts: Vec<u8>,
    pub(super) until: Timestamp,
}

/// A try to be written down.
pub(super) struct NewTry<'a> {
    pub(super) new: &'a NewPaymentTry,
    pub(super) keys: Vec<u8>,
    pub(super) session: Option<CounterHash>,
    pub(super) amount_cents: i64,
}

impl<'a> NewTry<'a> {
    pub(super) fn of(new: &'a NewPaymentTry) -> Self {
        Self {
            new,
            keys: encode_keys(new.keys.iter().map(|key| (key.key, &key.hash))),
            session: find_key(new, VelocityKey::Session).map(|key| counter_hash(&key.hash)),
            amount_cents: i64::try_from(new.amount_cents).unwrap_or(i64::MAX),
        }
    }
}

/// What a try is counted by of that kind.
pub(super) fn find_key(new: &NewPaymentTry, kind: VelocityKey) -> Option<&HashedVelocityKey> {
    new.keys.iter().find(|key| key.key == kind)
}

/// Whether it has rows of counts of its own: a Session has its tries, and the merchant's is known by its id.
pub(super) const fn has_row(key: VelocityKey) -> bool {
    !matches!(key, VelocityKey::Session | VelocityKey::Merchant)
}

/// What a try is known by, now and under older keys of the ring.
pub(super) fn hashes(key: &HashedVelocityKey) -> impl Iterator<Item = VelocityHash> {
    std::iter::once(key.hash).chain(key.former.iter().copied())
}

/// A try that was counted.
#[derive(Debug)]
pub(super) struct CountedTry {
    pub(super) merchant: MerchantId,
    pub(super) at: Timestamp,
    pub(super) state: TryState,
    pub(super) keys: Vec<(VelocityKey, VelocityHash)>,
    pub(super) amount_cents: u64,
}

/// A profile or browser that has paid at a merchant.
pub(super) type ShopperKey = (MerchantId, VelocityHash);

/// When it did so first, and when it was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shopper {
    pub(super) first_paid_at: Timestamp,
    pub(super) seen_at: Timestamp,
}

/// What is looked for.
#[derive(Default)]
pub(super) struct Wanted {
    /// Of the tries that are to be counted.
    pub(super) orders: Vec<OrderId>,
    pub(super) sessions: BTreeSet<CounterHash>,
    pub(super) counts: BTreeSet<CounterHash>,
    pub(super) shoppers: BTreeSet<ShopperKey>,
}

/// What there was of it.
#[derive(Default)]
pub(super) struct Found {
    /// Orders whose tries were counted before.
    pub(super) counted: HashSet<OrderId>,
    /// Earlier tries of the Sessions.
    pub(super) of_sessions: Vec<(CounterHash, CountedTry)>,
    pub(super) counts: HashMap<CounterHash, CountRow>,
    pub(super) shoppers: HashMap<ShopperKey, Shopper>,
}

/// What is written of a merchant's where the merchant's own row is as it was read.
#[derive(Default)]
pub(super) struct Changes<'a> {
    /// Own rows of merchants, in their order.
    pub(super) merchants: Vec<ChangedCounts>,
    /// The other rows of counts, in the order of merchants and hashes.
    pub(super) counts: Vec<ChangedCounts>,
    pub(super) tries: Vec<NewTry<'a>>,
    /// Kept where nothing was kept before: whoever waited no longer for a count has decided without it, and the payment goes by that.
    pub(super) kept: Vec<Keeping>,
    /// Whether the disk is waited for.
    pub(super) is_durable: bool,
}

/// What became of that.
#[derive(Default)]
pub(super) struct Written {
    /// Merchants whose changes are written.
    pub(super) merchants: HashSet<MerchantId>,
    /// Orders whose screening is kept.
    pub(super) kept: HashSet<OrderId>,
}

/// The rows on one of the databases.
pub(super) trait CountRows {
    /// Locks the own rows of merchants, in their order: nobody changes counts of theirs meanwhile.
    fn lock_merchants(&mut self, merchants: &BTreeSet<MerchantId>) -> Result<(), Fault>;

    /// Looks for all of it in one state of the database.
    fn read(&mut self, wanted: &Wanted) -> Result<Found, Fault>;

    /// Writes the changes of each merchant's, all or none.
    fn write(&mut self, changes: &Changes<'_>) -> Result<Written, Fault>;

    /// Locks tries and tells what is known of them.
    fn lock_tries(&mut self, orders: &BTreeSet<OrderId>) -> Result<HashMap<OrderId, CountedTry>, Fault>;

    /// Writes down how far tries have been counted.
    fn set_states(&mut self, states: &BTreeMap<OrderId, TryState>) -> Result<(), Fault>;

    /// Writes down who has paid. The first time and the last sight stay, whatever is written.
    fn put_shoppers(&mut self, shoppers: &BTreeMap<ShopperKey, Shopper>) -> Result<(), Fault>;

    /// Forgets shoppers.
    fn delete_shoppers(&mut self, shoppers: &BTreeSet<ShopperKey>) -> Result<(), Fault>;
}

pub(super) fn read_hash(bytes: &[u8], table: &'static str) -> Result<VelocityHash, Fault> {
    bytes.try_into().map(VelocityHash).map_err(|_length| corrupt(table, "a hash has not 32 bytes"))
}

pub(super) fn read_counter_hash(bytes: &[u8]) -> Result<CounterHash, Fault> {
    bytes.try_into().map_err(|_length| corrupt("velocity_counter", "a hash has not 16 bytes"))
}

/// A row of `payment_try` without its Order.
pub(super) type TryRow = (Id, Instant, String, Vec<u8>, Option<i64>);

pub(super) fn read_try((merchant, at, state, keys, amount_cents): TryRow) -> Result<CountedTry, Fault> {
    Ok(CountedTry {
        merchant: MerchantId::new(merchant.0),
        at: at.0,
        state: TryState::read(&state)?,
        keys: decode_keys(&keys)?,
        amount_cents: amount_cents.and_then(|cents| u64::try_from(cents).ok()).unwrap_or_default(),
    })
}

pub(super) fn read_shopper(
    (merchant, hash, first_paid_at, seen_at): (Id, Vec<u8>, Instant, Instant),
) -> Result<(ShopperKey, Shopper), Fault> {
    let key = (MerchantId::new(merchant.0), read_hash(&hash, "known_shopper")?);
    Ok((key, Shopper { first_paid_at: first_paid_at.0, seen_at: seen_at.0 }))
}
