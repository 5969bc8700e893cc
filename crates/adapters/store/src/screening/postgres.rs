use std::collections::{BTreeMap, BTreeSet, HashMap};

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Nullable, Text};
use dropin_kernel::{MerchantId, OrderId};

use super::codec::{decode_counts, encode_keys};
use super::rows::{
    ChangedCounts, CountKey, CountRow, CountRows, CountedTry, Found, Shopper, ShopperKey, TryState, Wanted, read_hash,
    read_shopper, read_try,
};
use crate::fault::{Fault, InTable, corrupt};
use crate::sql::{Id, Instant, SqlId, SqlInstant};
use crate::statement::statement;

statement! {
    /// Writes tries down and tells whose Orders had none (their id alone), who has paid before (without a kind), and the rows of counts, which it locks.
    ///
    /// Rows are looked for one by one, in the order in which they are asked for: so each is found by its key, whatever the statistics say, and locked in
    /// that order.
    Begin<'a> {
        orders: Vec<Id> => Array<SqlId>,
        merchants: Vec<Id> => Array<SqlId>,
        times: Vec<Instant> => Array<SqlInstant>,
        keys: &'a [Vec<u8>] => Array<Binary>,
        count_merchants: Vec<Id> => Array<SqlId>,
        count_kinds: Vec<&'a str> => Array<Text>,
        count_hashes: Vec<&'a [u8]> => Array<Binary>,
        shopper_merchants: Vec<Id> => Array<SqlId>,
        shopper_hashes: Vec<&'a [u8]> => Array<Binary>,
    }
    on Pg, PgConnection, "WITH new_try AS ( \
        INSERT INTO payment_try (order_id, merchant_id, tried_at, keys, state) \
            SELECT input_row.*, 'TRIED' FROM unnest(?, ?, ?, ?) AS input_row (order_id, merchant_id, tried_at, keys) \
            ORDER BY order_id ON CONFLICT (order_id) DO NOTHING RETURNING order_id), \
        locked AS MATERIALIZED (SELECT found.* FROM unnest(?, ?, ?) AS input_row (merchant_id, kind, hash) CROSS JOIN LATERAL ( \
            SELECT c.merchant_id, c.kind, c.hash, c.revision, c.counts FROM velocity_count AS c \
            WHERE c.merchant_id = input_row.merchant_id AND c.kind = input_row.kind AND c.hash = input_row.hash FOR UPDATE) AS found) \
        SELECT order_id, NULL::TEXT, NULL::BYTEA, NULL::BIGINT, NULL::BYTEA, NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ FROM new_try \
        UNION ALL SELECT merchant_id, kind, hash, revision, counts, NULL, NULL FROM locked \
        UNION ALL SELECT found.merchant_id, NULL, found.hash, NULL, NULL, found.first_paid_at, found.seen_at \
            FROM unnest(?, ?) AS input_row (merchant_id, hash) CROSS JOIN LATERAL ( \
                SELECT * FROM known_shopper AS k WHERE k.merchant_id = input_row.merchant_id AND k.hash = input_row.hash LIMIT 1) AS found";
    returns (
        SqlId,
        Nullable<Text>,
        Nullable<Binary>,
        Nullable<BigInt>,
        Nullable<Binary>,
        Nullable<SqlInstant>,
        Nullable<SqlInstant>,
    );
}

statement! {
    /// Locks tries.
    LockTries<'a> { orders: &'a [Id] => Array<SqlId>, }
    on Pg, PgConnection, "SELECT order_id, merchant_id, tried_at, state, keys FROM payment_try WHERE order_id = ANY (?) \
        ORDER BY order_id FOR UPDATE";
    returns (SqlId, SqlId, SqlInstant, Text, Binary);
}

statement! {
    /// Says how far tries have been counted.
    SetStates<'a> { orders: Vec<Id> => Array<SqlId>, states: Vec<&'a str> => Array<Text>, }
    on Pg, PgConnection, "UPDATE payment_try SET state = input_row.state \
        FROM unnest(?, ?) AS input_row (order_id, state) WHERE payment_try.order_id = input_row.order_id";
}

statement! {
    /// Writes down who has paid.
    PutShoppers<'a> {
        merchants: Vec<Id> => Array<SqlId>,
        hashes: Vec<&'a [u8]> => Array<Binary>,
        first: Vec<Instant> => Array<SqlInstant>,
        seen: Vec<Instant> => Array<SqlInstant>,
    }
    on Pg, PgConnection, "INSERT INTO known_shopper (merchant_id, hash, first_paid_at, seen_at) \
        SELECT * FROM unnest(?, ?, ?, ?) AS input_row (merchant_id, hash, first_paid_at, seen_at) ORDER BY merchant_id, hash \
        ON CONFLICT (merchant_id, hash) DO UPDATE SET \
            first_paid_at = least(known_shopper.first_paid_at, excluded.first_paid_at), \
            seen_at = greatest(known_shopper.seen_at, excluded.seen_at)";
}

statement! {
    /// Forgets shoppers.
    DeleteShoppers<'a> { merchants: Vec<Id> => Array<SqlId>, hashes: Vec<&'a [u8]> => Array<Binary>, }
    on Pg, PgConnection, "DELETE FROM known_shopper USING unnest(?, ?) AS input_row (merchant_id, hash) \
        WHERE known_shopper.merchant_id = input_row.merchant_id AND known_shopper.hash = input_row.hash";
}

statement! {
    /// Writes rows of counts in the order in which they are given; one that another transaction has made meanwhile is left out.
    PutCounts<'a> {
        merchants: Vec<Id> => Array<SqlId>,
        kinds: Vec<&'a str> => Array<Text>,
        hashes: Vec<&'a [u8]> => Array<Binary>,
        counts: Vec<&'a [u8]> => Array<Binary>,
        revisions: Vec<i64> => Array<BigInt>,
        until: Vec<Instant> => Array<SqlInstant>,
    }
    on Pg, PgConnection, "INSERT INTO velocity_count (merchant_id, kind, hash, counts, revision, counts_until) \
        SELECT merchant_id, kind, hash, counts, revision, counts_until FROM unnest(?, ?, ?, ?, ?, ?) \
            WITH ORDINALITY AS input_row (merchant_id, kind, hash, counts, revision, counts_until, place) ORDER BY place \
        ON CONFLICT (merchant_id, kind, hash) DO UPDATE SET \
            counts = excluded.counts, revision = excluded.revision, counts_until = excluded.counts_until \
        WHERE velocity_count.revision = excluded.revision - 1";
}

/// A row of [`Begin`].
type BegunRow = (Id, Option<String>, Option<Vec<u8>>, Option<i64>, Option<Vec<u8>>, Option<Instant>, Option<Instant>);

impl Found {
    fn add(&mut self, row: BegunRow) -> Result<(), Fault> {
        let (id, kind, hash, revision, counts, first_paid_at, seen_at) = row;
        match (kind, hash, revision, counts, first_paid_at, seen_at) {
            (None, None, ..) => drop(self.new_tries.insert(OrderId::new(id.0))),
            (Some(kind), Some(hash), Some(revision), Some(counts), ..) => {
                let key = kind.parse().map_err(|_unknown| corrupt("velocity_count", "the kind is unknown"))?;
                let of = CountKey { merchant: MerchantId::new(id.0), key, hash: read_hash(&hash, "velocity_count")? };
                let row = CountRow { revision, counts: decode_counts(&counts)?, is_changed: false };
                self.counts.insert(of, row);
            }
            (None, Some(hash), _, _, Some(first_paid_at), Some(seen_at)) => {
                self.shoppers.extend([read_shopper((id, hash, first_paid_at, seen_at))?]);
            }
            _ => return Err(corrupt("velocity_count", "a column is empty")),
        }
        Ok(())
    }
}

impl CountRows for PgConnection {
    fn begin(&mut self, wanted: &Wanted<'_>) -> Result<Found, Fault> {
        let Wanted { tries, shoppers, counts } = wanted;
        let keys: Vec<_> =
            tries.iter().map(|one| encode_keys(one.keys.iter().map(|key| (key.key, &key.hash)))).collect();
        let begin = Begin {
            orders: tries.iter().map(|one| Id(one.order_id.uuid())).collect(),
            merchants: tries.iter().map(|one| Id(one.merchant_id.uuid())).collect(),
            times: tries.iter().map(|one| Instant(one.at)).collect(),
            keys: &keys,
            count_merchants: counts.iter().map(|of| Id(of.merchant.uuid())).collect(),
            count_kinds: counts.iter().map(|of| of.key.as_str()).collect(),
            count_hashes: counts.iter().map(|of| of.hash.0.as_slice()).collect(),
            shopper_merchants: shoppers.iter().map(|(merchant, _)| Id(merchant.uuid())).collect(),
            shopper_hashes: shoppers.iter().map(|(_, hash)| hash.0.as_slice()).collect(),
        };
        let rows: Vec<BegunRow> = begin.load(self).in_table("velocity_count")?;
        let mut found = Found::default();
        rows.into_iter().try_for_each(|row| found.add(row))?;
        Ok(found)
    }

    fn lock_tries(&mut self, orders: &BTreeSet<OrderId>) -> Result<HashMap<OrderId, CountedTry>, Fault> {
        let orders: Vec<_> = orders.iter().map(|id| Id(id.uuid())).collect();
        let found: Vec<_> = LockTries { orders: &orders }.load(self).in_table("payment_try")?;
        found.into_iter().map(read_try).collect()
    }

    fn set_states(&mut self, states: &BTreeMap<OrderId, TryState>) -> Result<(), Fault> {
        let set = SetStates {
            orders: states.keys().map(|id| Id(id.uuid())).collect(),
            states: states.values().map(|state| state.as_str()).collect(),
        };
        set.execute(self)?;
        Ok(())
    }

    fn put_shoppers(&mut self, shoppers: &BTreeMap<ShopperKey, Shopper>) -> Result<(), Fault> {
        let put = PutShoppers {
            merchants: shoppers.keys().map(|(merchant, _)| Id(merchant.uuid())).collect(),
            hashes: shoppers.keys().map(|(_, hash)| hash.0.as_slice()).collect(),
            first: shoppers.values().map(|shopper| Instant(shopper.first_paid_at)).collect(),
            seen: shoppers.values().map(|shopper| Instant(shopper.seen_at)).collect(),
        };
        put.execute(self)?;
        Ok(())
    }

    fn delete_shoppers(&mut self, shoppers: &BTreeSet<ShopperKey>) -> Result<(), Fault> {
        let delete = DeleteShoppers {
            merchants: shoppers.iter().map(|(merchant, _)| Id(merchant.uuid())).collect(),
            hashes: shoppers.iter().map(|(_, hash)| hash.0.as_slice()).collect(),
        };
        delete.execute(self)?;
        Ok(())
    }

    fn put_counts(&mut self, changed: &[ChangedCounts]) -> Result<(), Fault> {
        let put = PutCounts {
            merchants: changed.iter().map(|row| Id(row.of.merchant.uuid())).collect(),
            kinds: changed.iter().map(|row| row.of.key.as_str()).collect(),
            hashes: changed.iter().map(|row| row.of.hash.0.as_slice()).collect(),
            counts: changed.iter().map(|row| row.counts.as_slice()).collect(),
            revisions: changed.iter().map(|row| row.revision).collect(),
            until: changed.iter().map(|row| Instant(row.until)).collect(),
        };
        if put.execute(self)? == changed.len() { Ok(()) } else { Err(Fault::Retry) }
    }
}
