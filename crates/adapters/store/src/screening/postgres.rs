use std::collections::{BTreeMap, BTreeSet, HashMap};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Integer, Nullable, Text};
use dropin_kernel::uuid::Uuid;
use dropin_kernel::{MerchantId, OrderId};
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{rows, statement, statement_about};

use super::rows::{
    Changes, CountRow, CountRows, CountedTry, CounterHash, Found, Shopper, ShopperKey, TryRow, TryState, Wanted,
    Written, merchant_hash, read_counter_hash, read_shopper, read_try,
};

statement! {
    /// Locks the own rows of merchants.
    LockMerchants<'a> { hashes: Vec<&'a [u8]> => Array<Binary>, }
    postgres "SELECT found.hash FROM unnest($1::bytea[]) AS input_row (hash) \
        CROSS JOIN LATERAL (SELECT c.hash FROM velocity_counter AS c WHERE c.hash = input_row.hash FOR UPDATE) AS found";
    returns Binary;
}

statement! {
    Read<'a> {
        orders: Vec<Id> => Array<SqlId>,
        sessions: Vec<&'a [u8]> => Array<Binary>,
        counts: Vec<&'a [u8]> => Array<Binary>,
        shopper_merchants: Vec<Id> => Array<SqlId>,
        shopper_hashes: Vec<&'a [u8]> => Array<Binary>,
    }
    postgres include_str!("read_counts.postgres.sql");
    returns (
        Integer,
        Nullable<SqlId>,
        Nullable<Binary>,
        Nullable<Binary>,
        Nullable<BigInt>,
        Nullable<Text>,
        Nullable<SqlInstant>,
        Nullable<SqlInstant>,
    );
}

statement! {
    Write<'a> {
        own_hashes: Vec<&'a [u8]> => Array<Binary>,
        own_counts: Vec<&'a [u8]> => Array<Binary>,
        own_revisions: Vec<i64> => Array<BigInt>,
        own_until: Vec<Instant> => Array<SqlInstant>,
        count_merchants: Vec<Id> => Array<SqlId>,
        count_hashes: Vec<&'a [u8]> => Array<Binary>,
        counts: Vec<&'a [u8]> => Array<Binary>,
        revisions: Vec<i64> => Array<BigInt>,
        until: Vec<Instant> => Array<SqlInstant>,
        tries: Vec<Id> => Array<SqlId>,
        try_merchants: Vec<Id> => Array<SqlId>,
        times: Vec<Instant> => Array<SqlInstant>,
        keys: Vec<&'a [u8]> => Array<Binary>,
        sessions: Vec<Option<&'a [u8]>> => Array<Nullable<Binary>>,
        amounts: Vec<i64> => Array<BigInt>,
        kept: Vec<Id> => Array<SqlId>,
        kept_merchants: Vec<Id> => Array<SqlId>,
        verdicts: Vec<&'a str> => Array<Text>,
        facts: Vec<&'a str> => Array<Text>,
        velocities: Vec<&'a [u8]> => Array<Binary>,
    }
    postgres include_str!("write_counts.postgres.sql");
    returns (Nullable<Binary>, Nullable<SqlId>);
}

statement! {
    /// Locks tries.
    LockTries<'a> { orders: &'a [Id] => Array<SqlId>, }
    postgres "SELECT order_id, merchant_id, tried_at, state, keys, amount_cents FROM payment_try \
        WHERE order_id = ANY ($1) ORDER BY order_id FOR UPDATE";
    returns (SqlId, (SqlId, SqlInstant, Text, Binary, Nullable<BigInt>));
}

statement! {
    /// Says how far tries have been counted.
    SetStates<'a> { orders: Vec<Id> => Array<SqlId>, states: Vec<&'a str> => Array<Text>, }
    postgres "UPDATE payment_try SET state = input_row.state \
        FROM unnest($1::uuid[], $2::text[]) AS input_row (order_id, state) WHERE payment_try.order_id = input_row.order_id";
}

rows! {
    /// Shoppers who have paid.
    PaidRows of PaidRow<'a> {
        merchant_id: Id => SqlId,
        hash: &'a [u8] => Binary,
        first_paid_at: Instant => SqlInstant,
        seen_at: Instant => SqlInstant,
    }
}

statement_about! {
    PutShoppers { shoppers: PaidRows, }
    include_str!("put_shoppers.postgres.sql");
}

statement! {
    /// Forgets shoppers.
    DeleteShoppers<'a> { merchants: Vec<Id> => Array<SqlId>, hashes: Vec<&'a [u8]> => Array<Binary>, }
    postgres "DELETE FROM known_shopper \
        USING unnest($1::uuid[], $2::bytea[]) AS input_row (merchant_id, hash) \
        WHERE known_shopper.merchant_id = input_row.merchant_id AND known_shopper.hash = input_row.hash";
}

/// A row of [`Read`].
type ReadRow =
    (i32, Option<Id>, Option<Vec<u8>>, Option<Vec<u8>>, Option<i64>, Option<String>, Option<Instant>, Option<Instant>);

impl Found {
    fn add(&mut self, row: ReadRow) -> Result<(), Fault> {
        match row {
            (1, Some(order), ..) => drop(self.counted.insert(OrderId::new(order.0))),
            (2, Some(merchant), Some(session), Some(keys), amount, Some(state), Some(at), _) => {
                let counted = read_try((merchant, at, state, keys, amount))?;
                self.of_sessions.push((read_counter_hash(&session)?, counted));
            }
            (3, None, Some(hash), Some(counts), Some(revision), ..) => {
                self.counts.insert(read_counter_hash(&hash)?, CountRow::read(revision, &counts)?);
            }
            (4, Some(merchant), Some(hash), _, _, _, Some(first_paid_at), Some(seen_at)) => {
                self.shoppers.extend([read_shopper((merchant, hash, first_paid_at, seen_at))?]);
            }
            _ => return Err(corrupt("velocity_counter", "a column is empty")),
        }
        Ok(())
    }
}

fn slices(hashes: &BTreeSet<CounterHash>) -> Vec<&[u8]> {
    hashes.iter().map(CounterHash::as_slice).collect()
}

fn write(connection: &mut PgConnection, changes: &Changes<'_>) -> Result<Written, Fault> {
    let Changes { merchants, counts, tries, kept, is_durable: _ } = changes;
    let write = Write {
        own_hashes: merchants.iter().map(|row| row.hash.as_slice()).collect(),
        own_counts: merchants.iter().map(|row| row.counts.as_slice()).collect(),
        own_revisions: merchants.iter().map(|row| row.revision).collect(),
        own_until: merchants.iter().map(|row| Instant(row.until)).collect(),
        count_merchants: counts.iter().map(|row| Id(row.merchant.uuid())).collect(),
        count_hashes: counts.iter().map(|row| row.hash.as_slice()).collect(),
        counts: counts.iter().map(|row| row.counts.as_slice()).collect(),
        revisions: counts.iter().map(|row| row.revision).collect(),
        until: counts.iter().map(|row| Instant(row.until)).collect(),
        tries: tries.iter().map(|one| Id(one.new.order_id.uuid())).collect(),
        try_merchants: tries.iter().map(|one| Id(one.new.merchant_id.uuid())).collect(),
        times: tries.iter().map(|one| Instant(one.new.at)).collect(),
        keys: tries.iter().map(|one| one.keys.as_slice()).collect(),
        sessions: tries.iter().map(|one| one.session.as_ref().map(CounterHash::as_slice)).collect(),
        amounts: tries.iter().map(|one| one.amount_cents).collect(),
        kept: kept.iter().map(|one| Id(one.order.uuid())).collect(),
        kept_merchants: kept.iter().map(|one| Id(one.merchant.uuid())).collect(),
        verdicts: kept.iter().map(|one| one.verdict.as_str()).collect(),
        facts: kept.iter().map(|one| one.facts.as_str()).collect(),
        velocities: kept.iter().map(|one| one.velocity.as_slice()).collect(),
    };
    let rows: Vec<(Option<Vec<u8>>, Option<Id>)> = write.load(connection).in_table("velocity_counter")?;
    let mut written = Written::default();
    for (hash, order) in rows {
        if let Some(hash) = hash {
            let id = Uuid::from_bytes(read_counter_hash(&hash)?);
            written.merchants.insert(MerchantId::new(id));
        }
        written.kept.extend(order.map(|id| OrderId::new(id.0)));
    }
    Ok(written)
}

impl CountRows for PgConnection {
    fn lock_merchants(&mut self, merchants: &BTreeSet<MerchantId>) -> Result<(), Fault> {
        let hashes: Vec<_> = merchants.iter().map(|merchant| merchant_hash(*merchant)).collect();
        let lock = LockMerchants { hashes: hashes.iter().map(CounterHash::as_slice).collect() };
        let _locked: Vec<Vec<u8>> = lock.load(self).in_table("velocity_counter")?;
        Ok(())
    }

    fn read(&mut self, wanted: &Wanted) -> Result<Found, Fault> {
        let Wanted { orders, sessions, counts, shoppers } = wanted;
        let read = Read {
            orders: orders.iter().map(|order| Id(order.uuid())).collect(),
            sessions: slices(sessions),
            counts: slices(counts),
            shopper_merchants: shoppers.iter().map(|(merchant, _)| Id(merchant.uuid())).collect(),
            shopper_hashes: shoppers.iter().map(|(_, hash)| hash.0.as_slice()).collect(),
        };
        let rows: Vec<ReadRow> = read.load(self).in_table("velocity_counter")?;
        let mut found = Found::default();
        rows.into_iter().try_for_each(|row| found.add(row))?;
        Ok(found)
    }

    fn write(&mut self, changes: &Changes<'_>) -> Result<Written, Fault> {
        if !changes.is_durable {
            return write(self, changes);
        }
        self.transaction(|connection| {
            connection.batch_execute("SET LOCAL synchronous_commit TO DEFAULT")?;
            write(connection, changes)
        })
    }

    fn lock_tries(&mut self, orders: &BTreeSet<OrderId>) -> Result<HashMap<OrderId, CountedTry>, Fault> {
        let orders: Vec<_> = orders.iter().map(|id| Id(id.uuid())).collect();
        let found: Vec<(Id, TryRow)> = LockTries { orders: &orders }.load(self).in_table("payment_try")?;
        let read = |(order, row): (Id, TryRow)| Ok((OrderId::new(order.0), read_try(row)?));
        found.into_iter().map(read).collect()
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
        let shoppers = shoppers.iter().map(|((merchant, hash), shopper)| PaidRow {
            merchant_id: Id(merchant.uuid()),
            hash: hash.0.as_slice(),
            first_paid_at: Instant(shopper.first_paid_at),
            seen_at: Instant(shopper.seen_at),
        });
        PutShoppers { shoppers: shoppers.collect() }.execute(self)?;
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
}
