use std::collections::{BTreeMap, BTreeSet, HashMap};

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable};
use dropin_kernel::{MerchantId, OrderId};
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::statement;

use super::rows::{
    ChangedCounts, Changes, CountRow, CountRows, CountedTry, CounterHash, Found, NewTry, Shopper, ShopperKey, TryRow,
    TryState, Wanted, Written, read_counter_hash, read_shopper, read_try,
};
use crate::schema::{known_shopper, payment_try};

statement! {
    /// Writes a try down, unless its Order has one.
    InsertTry<'a> {
        order: Id => SqlId,
        merchant: Id => SqlId,
        at: Instant => SqlInstant,
        keys: &'a [u8] => Binary,
        session: Option<&'a [u8]> => Nullable<Binary>,
        amount: i64 => BigInt,
    }
    sqlite "INSERT INTO payment_try (order_id, merchant_id, tried_at, keys, session_hash, amount_cents, state) \
        VALUES ($1, $2, $3, $4, $5, $6, 'TRIED') \
        ON CONFLICT (order_id) DO NOTHING";
}

statement! {
    /// Writes down who has paid.
    PutShopper<'a> {
        merchant: Id => SqlId,
        hash: &'a [u8] => Binary,
        first: Instant => SqlInstant,
        seen: Instant => SqlInstant,
    }
    sqlite "INSERT INTO known_shopper (merchant_id, hash, first_paid_at, seen_at) \
        VALUES ($1, $2, $3, $4) \
        ON CONFLICT (merchant_id, hash) DO UPDATE \
        SET first_paid_at = min(first_paid_at, excluded.first_paid_at), seen_at = max(seen_at, excluded.seen_at)";
}

statement! {
    /// Writes a row of counts.
    PutCounts<'a> {
        hash: &'a [u8] => Binary,
        counts: &'a [u8] => Binary,
        revision: i64 => BigInt,
        until: Instant => SqlInstant,
    }
    sqlite "INSERT INTO velocity_counter (hash, counts, revision, counts_until) \
        VALUES ($1, $2, $3, $4) \
        ON CONFLICT (hash) DO UPDATE \
        SET counts = excluded.counts, revision = excluded.revision, counts_until = excluded.counts_until";
}

/// So many rows of counts are looked for by one statement: more than a try has without older keys of the ring.
const COUNTS: usize = 8;

const FIND_COUNTS: &str =
    "SELECT hash, revision, counts FROM velocity_counter WHERE hash IN ($1, $2, $3, $4, $5, $6, $7, $8)";

statement! {
    /// Looks for rows of counts. None has an empty hash.
    FindCounts<'a> {
        first: &'a [u8] => Binary,
        second: &'a [u8] => Binary,
        third: &'a [u8] => Binary,
        fourth: &'a [u8] => Binary,
        fifth: &'a [u8] => Binary,
        sixth: &'a [u8] => Binary,
        seventh: &'a [u8] => Binary,
        eighth: &'a [u8] => Binary,
    }
    sqlite FIND_COUNTS;
    returns (Binary, BigInt, Binary);
}

/// A hash, its revision and its counts.
type CountsRow = (Vec<u8>, i64, Vec<u8>);

fn find_counts(connection: &mut SqliteConnection, hashes: &[CounterHash]) -> Result<Vec<CountsRow>, Fault> {
    let mut slots: [&[u8]; COUNTS] = [&[]; COUNTS];
    slots.iter_mut().zip(hashes).for_each(|(slot, hash)| *slot = hash);
    let [first, second, third, fourth, fifth, sixth, seventh, eighth] = slots;
    let find = FindCounts { first, second, third, fourth, fifth, sixth, seventh, eighth };
    find.load(connection).in_table("velocity_counter")
}

/// Looks for a profile or browser that has paid.
macro_rules! find_shopper {
    ($key:expr) => {{
        let (merchant, hash) = $key;
        known_shopper::table.find((Id(merchant.uuid()), hash.0.as_slice()))
    }};
}

/// Looks for the tries of a Session.
macro_rules! find_tries {
    ($session:expr) => {
        payment_try::table.filter(payment_try::session_hash.eq($session.as_slice())).select(TRY)
    };
}

type TryColumns =
    (payment_try::merchant_id, payment_try::tried_at, payment_try::state, payment_try::keys, payment_try::amount_cents);
const TRY: TryColumns =
    (payment_try::merchant_id, payment_try::tried_at, payment_try::state, payment_try::keys, payment_try::amount_cents);

/// There is one writer at a time, whose transaction is the lock.
impl CountRows for SqliteConnection {
    fn lock_merchants(&mut self, _: &BTreeSet<MerchantId>) -> Result<(), Fault> {
        Ok(())
    }

    fn read(&mut self, wanted: &Wanted) -> Result<Found, Fault> {
        let mut found = Found::default();
        for order in &wanted.orders {
            let known = payment_try::table.find(Id(order.uuid())).select(payment_try::order_id);
            let known: Option<Id> = known.first(self).optional().in_table("payment_try")?;
            found.counted.extend(known.map(|id| OrderId::new(id.0)));
        }
        for session in &wanted.sessions {
            let tries: Vec<TryRow> = find_tries!(session).load(self).in_table("payment_try")?;
            for one in tries {
                found.of_sessions.push((*session, read_try(one)?));
            }
        }
        let hashes: Vec<_> = wanted.counts.iter().copied().collect();
        for hashes in hashes.chunks(COUNTS) {
            for (hash, revision, counts) in find_counts(self, hashes)? {
                found.counts.insert(read_counter_hash(&hash)?, CountRow::read(revision, &counts)?);
            }
        }
        for shopper in &wanted.shoppers {
            let row = find_shopper!(shopper).first(self).optional().in_table("known_shopper")?;
            found.shoppers.extend(row.map(read_shopper).transpose()?);
        }
        Ok(found)
    }

    fn write(&mut self, changes: &Changes<'_>) -> Result<Written, Fault> {
        let mut written = Written::default();
        for ChangedCounts { merchant, hash, revision, counts, until } in changes.merchants.iter().chain(&changes.counts)
        {
            PutCounts { hash, counts, revision: *revision, until: Instant(*until) }.execute(self)?;
            written.merchants.insert(*merchant);
        }
        for NewTry { new, keys, session, amount_cents } in &changes.tries {
            let (order, merchant) = (Id(new.order_id.uuid()), Id(new.merchant_id.uuid()));
            let session = session.as_ref().map(CounterHash::as_slice);
            InsertTry { order, merchant, at: Instant(new.at), keys, session, amount: *amount_cents }.execute(self)?;
        }
        for keeping in &changes.kept {
            if keeping.keep_first(self)? {
                written.kept.insert(keeping.order);
            }
        }
        Ok(written)
    }

    fn lock_tries(&mut self, orders: &BTreeSet<OrderId>) -> Result<HashMap<OrderId, CountedTry>, Fault> {
        let mut found = HashMap::new();
        for order in orders {
            let row = payment_try::table.find(Id(order.uuid())).select(TRY);
            let row: Option<TryRow> = row.first(self).optional().in_table("payment_try")?;
            found.extend(row.map(read_try).transpose()?.map(|counted| (*order, counted)));
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
}

#[cfg(test)]
mod tests {
    use diesel::sqlite::Sqlite;
    use dropin_kernel::uuid::Uuid;
    use dropin_ports::VelocityHash;

    use super::*;
    use crate::query_plan;

    #[test]
    fn what_a_try_is_counted_by_is_found_by_its_keys() {
        let mut connection = query_plan::empty_database();
        let shopper = (MerchantId::new(Uuid::from_u128(1)), VelocityHash([7; 32]));
        let hash: CounterHash = [7; 16];
        for (query, by) in [
            (diesel::debug_query::<Sqlite, _>(&find_shopper!(&shopper)).to_string(), "merchant_id=? AND hash=?"),
            (FIND_COUNTS.to_owned(), "hash=?"),
            (diesel::debug_query::<Sqlite, _>(&find_tries!(hash)).to_string(), "session_hash=?"),
        ] {
            let steps = query_plan::of(&mut connection, &query);
            let [step] = &steps[..] else { panic!("{query}: {steps:?}") };
            assert!(step.starts_with("SEARCH ") && step.contains(by), "{query}: {step}");
        }
    }
}
