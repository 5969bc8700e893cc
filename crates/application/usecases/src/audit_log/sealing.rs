//! Sealing: each entry gets a number in its merchant's chain and a MAC over itself and the seal before it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::MerchantId;
use dropin_ports::{
    AuditChain, AuditEntry, AuditSeal, AuditSealStore, AuditSealer, Clock, KeyringError, Metric, MetricSource,
    SealingLease, SealsWritten, StoreError, Unsealed,
};

use super::actor_words;

/// How long the right to seal is one program's: longer than a round, and how long sealing pauses at most after a crash.
const LEASE: Duration = Duration::from_secs(5);

/// Says what a message of this key is, and of which form.
const FORM: &[u8] = b"dropin audit seal 1";

/// Why nothing was sealed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The keys failed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
}

/// Seals what was appended to the audit log. Several programs may run one; the lease lets one of them work.
pub struct Sealing {
    store: Arc<dyn AuditSealStore>,
    sealer: Arc<dyn AuditSealer>,
    clock: Arc<dyn Clock>,
    lease: Mutex<Option<SealingLease>>,
    sealed: AtomicU64,
}

impl Sealing {
    /// Holds no lease yet.
    pub fn new(store: Arc<dyn AuditSealStore>, sealer: Arc<dyn AuditSealer>, clock: Arc<dyn Clock>) -> Self {
        Self { store, sealer, clock, lease: Mutex::default(), sealed: AtomicU64::new(0) }
    }

    /// Seals what waits, at most `limit` entries; how many. None also where another program does so.
    ///
    /// # Errors
    /// [`SealError`]; what waits goes on waiting.
    pub async fn run_due(&self, limit: u32) -> Result<u32, SealError> {
        if self.store.count_unsealed().await?.count == 0 {
            return Ok(0);
        }
        let now = self.clock.now();
        let lease = self.store.claim_sealing(self.held(), now, now.plus(LEASE)).await?;
        self.hold(lease);
        let Some(lease) = lease else { return Ok(0) };
        let waiting = self.store.find_unsealed(limit).await?;
        let seals = self.seal(waiting)?;
        let count = u32::try_from(seals.len()).unwrap_or(limit);
        match self.store.write_seals(lease, seals).await? {
            SealsWritten::Done => {
                self.sealed.fetch_add(count.into(), Ordering::Relaxed);
                Ok(count)
            }
            SealsWritten::LeaseLost => {
                self.hold(None);
                Ok(0)
            }
        }
    }

    fn seal(&self, waiting: Unsealed) -> Result<Vec<AuditSeal>, KeyringError> {
        let mut heads: HashMap<AuditChain, (i64, [u8; 32])> =
            waiting.heads.into_iter().map(|head| (head.chain, (head.sequence, head.mac))).collect();
        let mut seals = Vec::with_capacity(waiting.entries.len());
        for entry in waiting.entries {
            let (chain, sealed_at) = (entry.merchant_id, self.clock.now());
            let head = heads.get(&chain);
            let (sequence, previous) = (head.map_or(1, |(last, _)| last + 1), head.map(|(_, mac)| mac));
            let message = seal_message(&entry, chain, sequence, previous, sealed_at.micros());
            let (key_id, mac) = self.sealer.seal(&message)?;
            heads.insert(chain, (sequence, mac));
            seals.push(AuditSeal { entry: entry.id, chain, sequence, key_id, mac, sealed_at });
        }
        Ok(seals)
    }

    fn held(&self) -> Option<SealingLease> {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, lease: Option<SealingLease>) {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner) = lease;
    }
}

#[async_trait]
impl MetricSource for Sealing {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let waiting = self.store.count_unsealed().await.map_err(|error| error.to_string())?;
        let age = waiting.oldest.map_or(Duration::ZERO, |oldest| self.clock.now().since(oldest));
        let sealed = self.sealed.load(Ordering::Relaxed);
        Ok(vec![
            Metric::gauge("dropin_audit_unsealed", "Entries of the audit log that wait for their seal.", waiting.count),
            Metric::gauge(
                "dropin_audit_unsealed_age_seconds",
                "How long the oldest entry of the audit log without a seal has waited.",
                age.as_secs(),
            ),
            Metric::counter("dropin_audit_sealed_total", "Entries of the audit log that this program sealed.", sealed),
        ])
    }
}

/// What a seal's MAC is over: every part of the entry and the seal, each with its length before it, so that no two give the same bytes.
pub(super) fn seal_message(
    entry: &AuditEntry,
    chain: AuditChain,
    sequence: i64,
    previous: Option<&[u8; 32]>,
    sealed_at_micros: i64,
) -> Vec<u8> {
    let AuditEntry { position: _, id, merchant_id, acting, action, subject_kind, subject_id, before, after, at } =
        entry;
    let (actor, name) = actor_words(&acting.actor);
    let address = acting.address.map(|address| address.to_string());
    let uuid = |merchant: &Option<MerchantId>| merchant.map(|merchant| *merchant.uuid().as_bytes());
    let (chain, merchant) = (uuid(&chain), uuid(merchant_id));
    let mut message = Message::default();
    message.some(FORM);
    message.maybe(chain.as_ref().map(<[u8; 16]>::as_slice));
    message.some(&sequence.to_be_bytes());
    message.maybe(previous.map(<[u8; 32]>::as_slice));
    message.some(&sealed_at_micros.to_be_bytes());
    message.some(id.uuid().as_bytes());
    message.maybe(merchant.as_ref().map(<[u8; 16]>::as_slice));
    message.some(actor.as_bytes());
    for text in [name, address.as_deref(), acting.note.as_deref()] {
        message.maybe(text.map(str::as_bytes));
    }
    for text in [action, subject_kind, subject_id] {
        message.some(text.as_bytes());
    }
    for text in [before, after] {
        message.maybe(text.as_deref().map(str::as_bytes));
    }
    message.some(&at.micros().to_be_bytes());
    message.0
}

#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn some(&mut self, part: &[u8]) {
        self.maybe(Some(part));
    }

    fn maybe(&mut self, part: Option<&[u8]>) {
        let Some(part) = part else { return self.0.push(0) };
        self.0.push(1);
        self.0.extend_from_slice(&(part.len() as u64).to_be_bytes());
        self.0.extend_from_slice(part);
    }
}
