//! A store whose chain reads as if somebody had changed the database past the log.

use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;
use dropin_kernel::{AuditEntryId, Timestamp};
use dropin_ports::{
    AuditChain, AuditHead, AuditSeal, AuditSealStore, SealedAuditEntry, SealingLease, SealsWritten, StoreError,
    Unsealed, UnsealedAuditEntry, UnsealedCount,
};
use dropin_store::Store;

type Alter = Box<dyn Fn(&mut SealedAuditEntry) + Send + Sync>;

pub(crate) struct Tampered {
    inner: Arc<Store>,
    chain: AuditChain,
    altered: Option<(i64, Alter)>,
    gone: Option<RangeInclusive<i64>>,
    renumbered: bool,
    unqueued: bool,
}

impl Tampered {
    pub(crate) fn new(inner: Arc<Store>, chain: AuditChain) -> Self {
        Self { inner, chain, altered: None, gone: None, renumbered: false, unqueued: false }
    }

    /// With one seal or entry changed.
    pub(crate) fn altering(self, sequence: i64, alter: impl Fn(&mut SealedAuditEntry) + Send + Sync + 'static) -> Self {
        Self { altered: Some((sequence, Box::new(alter))), ..self }
    }

    /// Without some seals and their entries.
    pub(crate) fn without(self, gone: RangeInclusive<i64>) -> Self {
        Self { gone: Some(gone), ..self }
    }

    /// With the numbers moved together over what is gone.
    pub(crate) fn renumbered(self) -> Self {
        Self { renumbered: true, ..self }
    }

    /// With nothing in the queue of what waits.
    pub(crate) fn unqueued(self) -> Self {
        Self { unqueued: true, ..self }
    }

    async fn whole(&self, chain: AuditChain) -> Result<Vec<SealedAuditEntry>, StoreError> {
        let mut all = self.inner.read_audit_chain(chain, 0, 1_000).await?;
        if chain != self.chain {
            return Ok(all);
        }
        if let Some(gone) = &self.gone {
            all.retain(|one| !gone.contains(&one.seal.sequence));
        }
        for (number, one) in (1..).zip(&mut all) {
            if self.renumbered {
                one.seal.sequence = number;
            }
            if let Some((_, alter)) = self.altered.as_ref().filter(|(sequence, _)| *sequence == one.seal.sequence) {
                alter(one);
            }
        }
        Ok(all)
    }
}

#[async_trait]
impl AuditSealStore for Tampered {
    async fn count_unsealed(&self) -> Result<UnsealedCount, StoreError> {
        self.inner.count_unsealed().await
    }

    async fn claim_sealing(
        &self,
        held: Option<SealingLease>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Option<SealingLease>, StoreError> {
        self.inner.claim_sealing(held, now, lease_until).await
    }

    async fn find_unsealed(&self, limit: u32, except: Vec<AuditChain>) -> Result<Unsealed, StoreError> {
        self.inner.find_unsealed(limit, except).await
    }

    async fn write_seals(&self, lease: SealingLease, seals: Vec<AuditSeal>) -> Result<SealsWritten, StoreError> {
        self.inner.write_seals(lease, seals).await
    }

    async fn list_audit_heads(&self) -> Result<Vec<AuditHead>, StoreError> {
        let mut heads = self.inner.list_audit_heads().await?;
        for head in &mut heads {
            if let Some(last) = self.whole(head.chain).await?.pop() {
                let AuditSeal { sequence, mac, sealed_at, .. } = last.seal;
                *head = AuditHead { chain: head.chain, sequence, mac, sealed_at };
            }
        }
        Ok(heads)
    }

    async fn read_audit_chain(
        &self,
        chain: AuditChain,
        after: i64,
        limit: u32,
    ) -> Result<Vec<SealedAuditEntry>, StoreError> {
        let mut all = self.whole(chain).await?;
        all.retain(|one| after < one.seal.sequence);
        all.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(all)
    }

    async fn list_unsealed(&self, after: i64, limit: u32) -> Result<Vec<UnsealedAuditEntry>, StoreError> {
        let mut found = self.inner.list_unsealed(after, limit).await?;
        found.iter_mut().for_each(|one| one.is_queued &= !self.unqueued);
        Ok(found)
    }

    async fn find_audit_seals(&self, entries: Vec<AuditEntryId>) -> Result<Vec<AuditSeal>, StoreError> {
        self.inner.find_audit_seals(entries).await
    }

    async fn count_seals_by_key(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.inner.count_seals_by_key().await
    }

    async fn has_audit_seals(&self) -> Result<bool, StoreError> {
        self.inner.has_audit_seals().await
    }
}
