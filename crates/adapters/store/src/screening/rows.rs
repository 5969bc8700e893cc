//! The rows behind the counts, which the two databases lock and write in their own ways.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_ports::{NewPaymentTry, VelocityHash};
use dropin_risk::VelocityKey;

use super::codec::decode_keys;
use super::counts::KeyCounts;
use crate::fault::{Fault, corrupt};
use crate::sql::{Id, Instant};

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

    fn read(stored: &str) -> Result<Self, Fault> {
        let known = Self::ALL.into_iter().find(|state| state.as_str() == stored);
        known.ok_or_else(|| corrupt("payment_try", "the state is unknown"))
    }
}

/// Names a row of counts. Rows are locked and written in this order everywhere, so that two programs never wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CountKey {
    pub(super) merchant: MerchantId,
    pub(super) key: VelocityKey,
    pub(super) hash: VelocityHash,
}

/// The merchant's own row comes first: who has that one waits for nobody else of the merchant's, not even for a row that was made after the rows were looked
/// for.
impl Ord for CountKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |of: &Self| (of.merchant, of.key != VelocityKey::Merchant, of.key, of.hash);
        place(self).cmp(&place(other))
    }
}

impl PartialOrd for CountKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A row of counts in a transaction that has it locked.
#[derive(Debug, Default)]
pub(super) struct CountRow {
    /// 0 for a row that is not there yet.
    pub(super) revision: i64,
    pub(super) counts: KeyCounts,
    pub(super) is_changed: bool,
}

/// A row of counts to be written.
pub(super) struct ChangedCounts {
    pub(super) of: CountKey,
    /// The one that it gets.
    pub(super) revision: i64,
    pub(super) counts: Vec<u8>,
    pub(super) until: Timestamp,
}

/// A try that was counted.
#[derive(Debug)]
pub(super) struct CountedTry {
    pub(super) merchant: MerchantId,
    pub(super) at: Timestamp,
    pub(super) state: TryState,
    pub(super) keys: Vec<(VelocityKey, VelocityHash)>,
}

/// A profile or browser that has paid at a merchant.
pub(super) type ShopperKey = (MerchantId, VelocityHash);

/// When it did so first, and when it was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shopper {
    pub(super) first_paid_at: Timestamp,
    pub(super) seen_at: Timestamp,
}

/// What the counting of a batch begins with.
pub(super) struct Wanted<'a> {
    pub(super) tries: &'a [&'a NewPaymentTry],
    pub(super) shoppers: BTreeSet<ShopperKey>,
    pub(super) counts: BTreeSet<CountKey>,
}

impl Wanted<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.tries.is_empty() && self.shoppers.is_empty() && self.counts.is_empty()
    }
}

/// What there was of it.
#[derive(Default)]
pub(super) struct Found {
    /// Orders of tries that were not written down before.
    pub(super) new_tries: HashSet<OrderId>,
    pub(super) shoppers: HashMap<ShopperKey, Shopper>,
    pub(super) counts: HashMap<CountKey, CountRow>,
}

/// The rows on one of the databases, within a transaction.
pub(super) trait CountRows {
    /// Writes tries down, looks for who has paid before, and locks the rows of counts that there are, in their order.
    fn begin(&mut self, wanted: &Wanted<'_>) -> Result<Found, Fault>;

    /// Locks tries and tells what is known of them.
    fn lock_tries(&mut self, orders: &BTreeSet<OrderId>) -> Result<HashMap<OrderId, CountedTry>, Fault>;

    /// Writes down how far tries have been counted.
    fn set_states(&mut self, states: &BTreeMap<OrderId, TryState>) -> Result<(), Fault>;

    /// Writes down who has paid. The first time and the last sight stay, whatever is written.
    fn put_shoppers(&mut self, shoppers: &BTreeMap<ShopperKey, Shopper>) -> Result<(), Fault>;

    /// Forgets shoppers.
    fn delete_shoppers(&mut self, shoppers: &BTreeSet<ShopperKey>) -> Result<(), Fault>;

    /// Writes rows of counts in the order of their keys; [`Fault::Retry`] when one came to be meanwhile.
    fn put_counts(&mut self, changed: &[ChangedCounts]) -> Result<(), Fault>;
}

pub(super) fn read_hash(bytes: &[u8], table: &'static str) -> Result<VelocityHash, Fault> {
    bytes.try_into().map(VelocityHash).map_err(|_length| corrupt(table, "a hash has not 32 bytes"))
}

pub(super) fn read_try(
    (order, merchant, at, state, keys): (Id, Id, Instant, String, Vec<u8>),
) -> Result<(OrderId, CountedTry), Fault> {
    let counted = CountedTry {
        merchant: MerchantId::new(merchant.0),
        at: at.0,
        state: TryState::read(&state)?,
        keys: decode_keys(&keys)?,
    };
    Ok((OrderId::new(order.0), counted))
}

pub(super) fn read_shopper(
    (merchant, hash, first_paid_at, seen_at): (Id, Vec<u8>, Instant, Instant),
) -> Result<(ShopperKey, Shopper), Fault> {
    let key = (MerchantId::new(merchant.0), read_hash(&hash, "known_shopper")?);
    Ok((key, Shopper { first_paid_at: first_paid_at.0, seen_at: seen_at.0 }))
}
