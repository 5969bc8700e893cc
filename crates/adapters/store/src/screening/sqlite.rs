use std::collections::{BTreeMap, BTreeSet, HashMap};

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::Sqlite;
use dropin_kernel::OrderId;

use super::codec::{decode_counts, encode_keys};
use super::rows::{
    ChangedCounts, CountKey, CountRow, CountRows, CountedTry, Found, Shopper, ShopperKey, TryState, Wanted,
    read_shopper, read_try,
};
use crate::fault::{Fault, InTable};
use crate::schema::{known_shopper, payment_try, velocity_count};
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::statement;

statement! {
    /// Writes a try down, unless its Order has one.
    InsertTry<'a> {
        order: Id => SqlId,
        merchant: Id => SqlId,
        at: Instant => SqlInstant,
        keys: &'a [u8] => Binary,
    }
    on Sqlite, SqliteConnection, "INSERT INTO payment_try (order_id, merchant_id, tried_at, keys, state) \
        VALUES (?, ?, ?, ?, 'TRIED') ON CONFLICT (order_id) DO NOTHING";
}

statement! {
    /// Writes down who has paid.
    PutShopper<'a> {
        merchant: Id => SqlId,
        hash: &'a [u8] => Binary,
        first: Instant => SqlInstant,
        seen: Instant => SqlInstant,
    }
    on Sqlite, SqliteConnection, "INSERT INTO known_shopper (merchant_id, hash, first_paid_at, seen_at) VALUES (?, ?, ?, ?) \
        ON CONFLICT (merchant_id, hash) DO UPDATE SET first_paid_at = min(first_paid_at, excluded.first_paid_at), \
            seen_at = max(seen_at, excluded.seen_at)";
}

statement! {
    /// Writes a row of counts.
    PutCounts<'a> {
        merchant: Id => SqlId,
        kind: &'a str => Text,
        hash: &'a [u8] => Binary,
        counts: &'a [u8] => Binary,
        revision: i64 => BigInt,
        until: Instant => SqlInstant,
    }
    on Sqlite, SqliteConnection, "INSERT INTO velocity_count (merchant_id, kind, hash, counts, revision, counts_until) \
        VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (merchant_id, kind, hash) DO UPDATE SET \
            counts = excluded.counts, revision = excluded.revision, counts_until = excluded.counts_until";
}

/// Looks for a profile or browser that has paid.
macro_rules! find_shopper {
    ($key:expr) => {{
        let (merchant, hash) = $key;
        known_shopper::table.find((Id(merchant.uuid()), hash.0.as_slice()))
    }};
}

/// Looks for a row of counts.
macro_rules! find_counts {
    ($key:expr) => {{
        let CountKey { merchant, key, hash } = $key;
        let row = velocity_count::table.find((Id(merchant.uuid()), key.as_str(), hash.0.as_slice()));
        row.select((velocity_count::revision, velocity_count::counts))
    }};
}

/// There is one writer at a time, whose transaction is the lock.
impl CountRows for SqliteConnection {
    fn begin(&mut self, wanted: &Wanted<'_>) -> Result<Found, Fault> {
        let mut found = Found::default();
        for one in wanted.tries {
            let keys = encode_keys(one.keys.iter().map(|key| (key.key, &key.hash)));
            let (order, merchant) = (Id(one.order_id.uuid()), Id(one.merchant_id.uuid()));
            if (InsertTry { order, merchant, at: Instant(one.at), keys: &keys }.execute(self)?) == 1 {
                found.new_tries.insert(one.order_id);
            }
        }
        for shopper in &wanted.shoppers {
            let row = find_shopper!(shopper).first(self).optional().in_table("known_shopper")?;
            found.shoppers.extend(row.map(read_shopper).transpose()?);
        }
        for of in &wanted.counts {
            let row: Option<(i64, Vec<u8>)> = find_counts!(of).first(self).optional().in_table("velocity_count")?;
            if let Some((revision, counts)) = row {
                found.counts.insert(*of, CountRow { revision, counts: decode_counts(&counts)?, is_changed: false });
            }
        }
        Ok(found)
    }

    fn lock_tries(&mut self, orders: &BTreeSet<OrderId>) -> Result<HashMap<OrderId, CountedTry>, Fault> {
        let mut found = HashMap::new();
        for order in orders {
            let row = payment_try::table
                .find(Id(order.uuid()))
                .select((
                    payment_try::order_id,
                    payment_try::merchant_id,
                    payment_try::tried_at,
                    payment_try::state,
                    payment_try::keys,
                ))
                .first(self)
                .optional()
                .in_table("payment_try")?;
            found.extend(row.map(read_try).transpose()?);
        }
        Ok(found)
    }

    fn set_states(&mut self, states: &BTreeMap<OrderId, TryState>) -> Result<(), Fault> {
        for (order, state) in states {
            let of = payment_try::table.find(Id(order.uuid()));
            diesel::update(of).set(payment_try::state.eq(state.as_str())).execute(self)?;
        }
        Ok(())
    }

    fn put_shoppers(&mut self, shoppers: &BTreeMap<ShopperKey, Shopper>) -> Result<(), Fault> {
        for ((merchant, hash), Shopper { first_paid_at, seen_at }) in shoppers {
            let (first, seen) = (Instant(*first_paid_at), Instant(*seen_at));
            PutShopper { merchant: Id(merchant.uuid()), hash: &hash.0, first, seen }.execute(self)?;
        }
        Ok(())
    }

    fn delete_shoppers(&mut self, shoppers: &BTreeSet<ShopperKey>) -> Result<(), Fault> {
        for (merchant, hash) in shoppers {
            diesel::delete(known_shopper::table.find((Id(merchant.uuid()), hash.0.as_slice()))).execute(self)?;
        }
        Ok(())
    }

    fn put_counts(&mut self, changed: &[ChangedCounts]) -> Result<(), Fault> {
        for ChangedCounts { of, revision, counts, until } in changed {
            let put = PutCounts {
                merchant: Id(of.merchant.uuid()),
                kind: of.key.as_str(),
                hash: &of.hash.0,
                counts,
                revision: *revision,
                until: Instant(*until),
            };
            put.execute(self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dropin_kernel::MerchantId;
    use dropin_kernel::uuid::Uuid;
    use dropin_ports::VelocityHash;
    use dropin_risk::VelocityKey;

    use super::*;
    use crate::query_plan;

    #[test]
    fn shoppers_and_counts_are_found_by_their_keys() {
        let mut connection = query_plan::empty_database();
        let shopper = (MerchantId::new(Uuid::from_u128(1)), VelocityHash([7; 32]));
        let of = CountKey { merchant: shopper.0, key: VelocityKey::Device, hash: shopper.1 };
        let queries = [
            diesel::debug_query::<Sqlite, _>(&find_shopper!(&shopper)).to_string(),
            diesel::debug_query::<Sqlite, _>(&find_counts!(&of)).to_string(),
        ];
        for query in queries {
            let steps = query_plan::of(&mut connection, &query);
            let [step] = &steps[..] else { panic!("{query}: {steps:?}") };
            let by_key = ["merchant_id=? AND hash=?", "merchant_id=? AND kind=? AND hash=?"];
            assert!(step.starts_with("SEARCH ") && by_key.iter().any(|key| step.contains(key)), "{query}: {step}");
        }
    }
}
