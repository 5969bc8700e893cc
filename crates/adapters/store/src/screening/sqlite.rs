use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::Sqlite;
use dropin_kernel::OrderId;
use dropin_ports::NewPaymentTry;

use super::codec::{decode_counts, encode_keys};
use super::rows::{
    ChangedCounts, CountKey, CountRow, CountRows, CountedTry, Shopper, ShopperKey, TryState, read_shopper, read_try,
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

/// There is one writer at a time, whose transaction is the lock.
impl CountRows for SqliteConnection {
    fn insert_tries(&mut self, tries: &[&NewPaymentTry]) -> Result<HashSet<OrderId>, Fault> {
        let mut inserted = HashSet::new();
        for one in tries {
            let keys = encode_keys(one.keys.iter().map(|key| (key.key, &key.hash)));
            let (order, merchant) = (Id(one.order_id.uuid()), Id(one.merchant_id.uuid()));
            if (InsertTry { order, merchant, at: Instant(one.at), keys: &keys }.execute(self)?) == 1 {
                inserted.insert(one.order_id);
            }
        }
        Ok(inserted)
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

    fn find_shoppers(&mut self, shoppers: &BTreeSet<ShopperKey>) -> Result<HashMap<ShopperKey, Shopper>, Fault> {
        let mut found = HashMap::new();
        for (merchant, hash) in shoppers {
            let row = known_shopper::table
                .find((Id(merchant.uuid()), hash.0.as_slice()))
                .first(self)
                .optional()
                .in_table("known_shopper")?;
            found.extend(row.map(read_shopper).transpose()?);
        }
        Ok(found)
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

    fn lock_counts(&mut self, keys: &BTreeSet<CountKey>) -> Result<HashMap<CountKey, CountRow>, Fault> {
        let mut found = HashMap::new();
        for of in keys {
            let row: Option<(i64, Vec<u8>)> = velocity_count::table
                .find((Id(of.merchant.uuid()), of.key.as_str(), of.hash.0.as_slice()))
                .select((velocity_count::revision, velocity_count::counts))
                .first(self)
                .optional()
                .in_table("velocity_count")?;
            if let Some((revision, counts)) = row {
                found.insert(*of, CountRow { revision, counts: decode_counts(&counts)?, is_changed: false });
            }
        }
        Ok(found)
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
