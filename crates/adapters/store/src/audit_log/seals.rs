//! Sealing: one holder of a lease at a time, fenced by its epoch.

use std::collections::BTreeSet;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable};
use dropin_kernel::{AuditEntryId, Timestamp};
use dropin_ports::{
    AuditChain, AuditEntry, AuditHead, AuditSeal, AuditSealStore, SealedAuditEntry, SealingLease, SealsWritten,
    StoreError, Unsealed, UnsealedAuditEntry, UnsealedCount,
};
use dropin_store_runtime::connection::{AnyConnection, MultiBackend};
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::TxOutcome;
use dropin_store_runtime::{on_each, statement};

use super::rows::{EntryRow, HeadRow, SealRow, chain_id, head};
use crate::schema::{audit_log, audit_seal, audit_sealer, audit_unsealed};
use crate::store::Store;

const SEAL: &str = "audit_seal";

#[async_trait]
impl AuditSealStore for Store {
    async fn count_unsealed(&self) -> Result<UnsealedCount, StoreError> {
        self.read(count).await
    }

    async fn claim_sealing(
        &self,
        held: Option<SealingLease>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Option<SealingLease>, StoreError> {
        self.write(move |connection| claim(connection, held, now, lease_until).map(TxOutcome::Commit)).await
    }

    async fn find_unsealed(&self, limit: u32, except: Vec<AuditChain>) -> Result<Unsealed, StoreError> {
        self.read(move |connection| unsealed(connection, limit, &except)).await
    }

    async fn write_seals(&self, lease: SealingLease, seals: Vec<AuditSeal>) -> Result<SealsWritten, StoreError> {
        self.write(move |connection| write(connection, lease, &seals)).await
    }

    async fn list_audit_heads(&self) -> Result<Vec<AuditHead>, StoreError> {
        self.read(|connection| {
            let rows: Vec<HeadRow> = on_each!(connection, inner => Heads {}.load(inner)).in_table(SEAL)?;
            rows.into_iter().map(head).collect()
        })
        .await
    }

    async fn read_audit_chain(
        &self,
        chain: AuditChain,
        after: i64,
        limit: u32,
    ) -> Result<Vec<SealedAuditEntry>, StoreError> {
        self.read(move |connection| {
            let rows: Vec<(SealRow, Option<EntryRow>)> = audit_seal::table
                .left_join(audit_log::table.on(audit_log::id.eq(audit_seal::entry_id)))
                .filter(audit_seal::chain_id.eq(chain_id(chain)))
                .filter(audit_seal::sequence.gt(after))
                .order(audit_seal::sequence)
                .limit(i64::from(limit))
                .select((SealRow::as_select(), Option::<EntryRow>::as_select()))
                .load(connection)
                .in_table(SEAL)?;
            let restore = |(seal, entry): (SealRow, Option<EntryRow>)| {
                Ok(SealedAuditEntry { seal: seal.restore()?, entry: entry.map(EntryRow::restore).transpose()? })
            };
            rows.into_iter().map(restore).collect()
        })
        .await
    }

    async fn list_unsealed(&self, after: i64, limit: u32) -> Result<Vec<UnsealedAuditEntry>, StoreError> {
        self.read(move |connection| without_seal(connection, after, limit)).await
    }

    async fn find_audit_seals(&self, entries: Vec<AuditEntryId>) -> Result<Vec<AuditSeal>, StoreError> {
        let ids: Vec<Id> = entries.into_iter().map(|entry| Id(entry.uuid())).collect();
        self.read(move |connection| {
            let rows: Vec<SealRow> = audit_seal::table
                .filter(audit_seal::entry_id.eq_any(&ids))
                .select(SealRow::as_select())
                .load(connection)
                .in_table(SEAL)?;
            rows.into_iter().map(SealRow::restore).collect()
        })
        .await
    }

    async fn count_seals_by_key(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.read(|connection| {
            let rows: Vec<(String, i64)> = audit_seal::table
                .group_by(audit_seal::key_id)
                .order(audit_seal::key_id)
                .select((audit_seal::key_id, diesel::dsl::count_star()))
                .load(connection)
                .in_table(SEAL)?;
            Ok(rows.into_iter().map(|(key, count)| (key, u64::try_from(count).unwrap_or(0))).collect())
        })
        .await
    }

    async fn has_audit_seals(&self) -> Result<bool, StoreError> {
        self.read(|connection| {
            let any: Option<i64> =
                audit_seal::table.select(audit_seal::sequence).first(connection).optional().in_table(SEAL)?;
            Ok(any.is_some())
        })
        .await
    }
}

statement! {
    /// How many entries wait, and when the oldest of them happened.
    Count {}
    both "SELECT count(*), min(entry.happened_at) FROM audit_unsealed AS queued JOIN audit_log AS entry ON entry.position = queued.position";
    returns (BigInt, Nullable<SqlInstant>);
}

fn count(connection: &mut AnyConnection) -> Result<UnsealedCount, Fault> {
    let (count, oldest): (i64, Option<Instant>) =
        on_each!(connection, inner => Count {}.get_result(inner)).in_table("audit_unsealed")?;
    let count = u64::try_from(count).map_err(|_negative| corrupt("audit_unsealed", "it cannot be counted"))?;
    Ok(UnsealedCount { count, oldest: oldest.map(|at| at.0) })
}

fn claim(
    connection: &mut AnyConnection,
    held: Option<SealingLease>,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Option<SealingLease>, Fault> {
    if let Some(SealingLease { epoch }) = held {
        let renewed = diesel::update(audit_sealer::table.find(1))
            .filter(audit_sealer::epoch.eq(epoch))
            .set(audit_sealer::lease_until.eq(Instant(lease_until)))
            .execute(connection)?;
        if renewed == 1 {
            return Ok(held);
        }
    }
    let epoch: Option<i64> = diesel::update(audit_sealer::table.find(1))
        .filter(audit_sealer::lease_until.le(Instant(now)))
        .set((audit_sealer::epoch.eq(audit_sealer::epoch + 1), audit_sealer::lease_until.eq(Instant(lease_until))))
        .returning(audit_sealer::epoch)
        .get_result(connection)
        .optional()?;
    Ok(epoch.map(|epoch| SealingLease { epoch }))
}

fn unsealed(connection: &mut AnyConnection, limit: u32, except: &[AuditChain]) -> Result<Unsealed, Fault> {
    let limit = i64::from(limit);
    let merchants: Vec<_> = except.iter().flatten().map(|merchant| Id(merchant.uuid())).collect();
    let seal = audit_seal::table.filter(audit_seal::entry_id.eq(audit_log::id));
    let mut waiting = audit_log::table
        .inner_join(audit_unsealed::table.on(audit_unsealed::position.eq(audit_log::position)))
        .filter(diesel::dsl::not(diesel::dsl::exists(seal)))
        .order(audit_log::position)
        .limit(limit)
        .select(EntryRow::as_select())
        .into_boxed::<MultiBackend>();
    if except.contains(&None) {
        waiting = waiting.filter(audit_log::merchant_id.is_not_null());
    }
    if !merchants.is_empty() {
        waiting = waiting.filter(audit_log::merchant_id.is_null().or(audit_log::merchant_id.ne_all(merchants)));
    }
    let rows: Vec<EntryRow> = waiting.load(connection).in_table("audit_log")?;
    let sealed: Vec<Id> = audit_unsealed::table
        .inner_join(audit_log::table.on(audit_log::position.eq(audit_unsealed::position)))
        .inner_join(audit_seal::table.on(audit_seal::entry_id.eq(audit_log::id)))
        .order(audit_unsealed::position)
        .limit(limit)
        .select(audit_log::id)
        .load(connection)
        .in_table(SEAL)?;
    let sealed = sealed.into_iter().map(|id| AuditEntryId::new(id.0)).collect();
    let entries: Vec<AuditEntry> = rows.into_iter().map(EntryRow::restore).collect::<Result<_, _>>()?;
    let chains: BTreeSet<Id> = entries.iter().map(|entry| chain_id(entry.merchant_id)).collect();
    let mut heads = Vec::with_capacity(chains.len());
    for chain in chains {
        let row: Option<HeadRow> = audit_seal::table
            .filter(audit_seal::chain_id.eq(chain))
            .order(audit_seal::sequence.desc())
            .select((audit_seal::chain_id, audit_seal::sequence, audit_seal::mac, audit_seal::sealed_at))
            .first(connection)
            .optional()
            .in_table(SEAL)?;
        heads.extend(row.map(head).transpose()?);
    }
    Ok(Unsealed { entries, heads, sealed })
}

statement! {
    /// Locks the lease for the holder of that epoch.
    Hold { epoch: i64 => BigInt, }
    both "UPDATE audit_sealer SET epoch = epoch WHERE id = 1 AND epoch = $1";
}

statement! {
    /// Takes a sealed entry off what waits.
    Dequeue { entry: Id => SqlId, }
    both "DELETE FROM audit_unsealed WHERE position = (SELECT position FROM audit_log WHERE audit_log.id = $1)";
}

fn write(
    connection: &mut AnyConnection,
    lease: SealingLease,
    seals: &[AuditSeal],
) -> Result<TxOutcome<SealsWritten>, Fault> {
    let hold = Hold { epoch: lease.epoch };
    if on_each!(connection, inner => hold.execute(inner))? == 0 {
        return Ok(TxOutcome::Rollback(SealsWritten::LeaseLost));
    }
    for seal in seals {
        diesel::insert_into(audit_seal::table).values(SealRow::new(seal)).execute(connection)?;
        let dequeue = Dequeue { entry: Id(seal.entry.uuid()) };
        on_each!(connection, inner => dequeue.execute(inner))?;
    }
    Ok(TxOutcome::Commit(SealsWritten::Done))
}

statement! {
    /// The last seal of each chain.
    Heads {}
    both "SELECT seal.chain_id, seal.sequence, seal.mac, seal.sealed_at FROM audit_seal AS seal \
        JOIN (SELECT chain_id, max(sequence) AS last FROM audit_seal GROUP BY chain_id) AS head \
            ON head.chain_id = seal.chain_id \
            AND head.last = seal.sequence \
        ORDER BY seal.chain_id";
    returns (SqlId, BigInt, Binary, SqlInstant);
}

fn without_seal(connection: &mut AnyConnection, after: i64, limit: u32) -> Result<Vec<UnsealedAuditEntry>, Fault> {
    let sealed = audit_seal::table.filter(audit_seal::entry_id.eq(audit_log::id));
    let rows: Vec<(EntryRow, Option<i64>)> = audit_log::table
        .left_join(audit_unsealed::table.on(audit_unsealed::position.eq(audit_log::position)))
        .filter(audit_log::position.gt(after))
        .filter(diesel::dsl::not(diesel::dsl::exists(sealed)))
        .order(audit_log::position)
        .limit(i64::from(limit))
        .select((EntryRow::as_select(), audit_unsealed::position.nullable()))
        .load(connection)
        .in_table("audit_log")?;
    let restore = |(entry, queued): (EntryRow, Option<i64>)| {
        Ok(UnsealedAuditEntry { entry: entry.restore()?, is_queued: queued.is_some() })
    };
    rows.into_iter().map(restore).collect()
}
