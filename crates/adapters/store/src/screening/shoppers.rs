//! Profiles and browsers that have paid at a merchant.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_ports::NewPaymentTry;
use dropin_risk::VelocityKey;
use dropin_store_runtime::fault::Fault;

use super::rows::{CountRows, Shopper, ShopperKey, hashes};

/// So seldom is written down that a shopper who has paid before was seen again.
const SEEN_AGAIN: Duration = Duration::from_secs(7 * 86_400);

/// A shopper is known by its profile and its browser.
pub(super) const fn names_shopper(key: VelocityKey) -> bool {
    matches!(key, VelocityKey::Profile | VelocityKey::Device)
}

/// Who has paid before.
#[derive(Default)]
pub(super) struct Shoppers {
    found: HashMap<ShopperKey, Shopper>,
    changed: BTreeMap<ShopperKey, Shopper>,
    /// What older keys of the ring hashed and the newest has hashed anew.
    moved: BTreeSet<ShopperKey>,
}

impl Shoppers {
    /// Those who were found, of whom these tries are.
    pub(super) fn of<'a>(
        found: HashMap<ShopperKey, Shopper>,
        tries: impl IntoIterator<Item = &'a NewPaymentTry>,
    ) -> Self {
        let mut shoppers = Self { found, ..Self::default() };
        tries.into_iter().for_each(|new| shoppers.see(new));
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

    /// Notes who has paid.
    pub(super) fn pay(&mut self, paid: &[(ShopperKey, Timestamp)]) {
        for (shopper, at) in paid {
            self.note(*shopper, Shopper { first_paid_at: *at, seen_at: *at });
        }
    }

    fn note(&mut self, key: ShopperKey, shopper: Shopper) {
        let noted = self.changed.entry(key).or_insert(shopper);
        noted.first_paid_at = noted.first_paid_at.min(shopper.first_paid_at);
        noted.seen_at = noted.seen_at.max(shopper.seen_at);
    }

    /// Writes down what changed.
    pub(super) fn write(&self, rows: &mut impl CountRows) -> Result<(), Fault> {
        if !self.changed.is_empty() {
            rows.put_shoppers(&self.changed)?;
        }
        if self.moved.is_empty() { Ok(()) } else { rows.delete_shoppers(&self.moved) }
    }

    /// When the shopper of a try paid first.
    pub(super) fn known_since(&self, new: &NewPaymentTry) -> Option<Timestamp> {
        let named = new.keys.iter().filter(|key| names_shopper(key.key)).flat_map(hashes);
        named.filter_map(|hash| self.found.get(&(new.merchant_id, hash))).map(|known| known.first_paid_at).min()
    }
}
