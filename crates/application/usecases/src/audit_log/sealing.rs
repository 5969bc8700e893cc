//! Sealing: each entry gets a number in its merchant's chain and a MAC over itself and the seal before it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{AuditEntryId, MerchantId};
use dropin_ports::{
    AuditChain, AuditEntry, AuditSeal, AuditSealStore, AuditSealer, Clock, KeyringError, Metric, MetricSource,
    SealingLease, SealsWritten, StoreError, Unsealed,
};

use super::{actor_words, chain_name};

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
    seen: Mutex<Seen>,
    sealed: AtomicU64,
}

/// The number and the MAC of a chain's last seal.
type Head = (i64, [u8; 32]);

/// What this program wrote and found for as long as it runs, so that a chain which is cut and sealed anew behind its back is noticed.
#[derive(Default)]
struct Seen {
    /// The last seals that it wrote.
    heads: HashMap<AuditChain, Head>,
    /// Chains that it seals no more.
    refused: HashSet<AuditChain>,
    /// Entries that were told of because somebody else had sealed them.
    foreign: HashSet<AuditEntryId>,
}

impl Sealing {
    /// Holds no lease yet.
    pub fn new(store: Arc<dyn AuditSealStore>, sealer: Arc<dyn AuditSealer>, clock: Arc<dyn Clock>) -> Self {
        Self { store, sealer, clock, lease: Mutex::default(), seen: Mutex::default(), sealed: AtomicU64::new(0) }
    }

    /// Seals what waits, at most `limit` entries; how many. None also where another program does so.
    ///
    /// A chain whose last seal is not what this program wrote any more is told of and sealed no further; the others go on.
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
        let refused = self.seen().refused.iter().copied().collect();
        let waiting = self.store.find_unsealed(limit, refused).await?;
        let seals = self.seal(waiting)?;
        if seals.is_empty() {
            return Ok(0);
        }
        let count = u32::try_from(seals.len()).unwrap_or(limit);
        let heads: Vec<_> = seals.iter().map(|seal| (seal.chain, (seal.sequence, seal.mac))).collect();
        match self.store.write_seals(lease, seals).await? {
            SealsWritten::Done => {
                self.seen().heads.extend(heads);
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
        let mut heads: HashMap<AuditChain, Head> =
            waiting.heads.into_iter().map(|head| (head.chain, (head.sequence, head.mac))).collect();
        let mut seen = self.seen();
        seen.tell_foreign(waiting.sealed);
        let chains: HashSet<AuditChain> = waiting.entries.iter().map(|entry| entry.merchant_id).collect();
        for chain in chains {
            seen.compare(chain, heads.get(&chain));
        }
        let mut seals = Vec::with_capacity(waiting.entries.len());
        for entry in waiting.entries {
            let (chain, sealed_at) = (entry.merchant_id, self.clock.now());
            if seen.refused.contains(&chain) {
                continue;
            }
            let head = heads.get(&chain);
            let Some(sequence) = head.map_or(Some(1), |(last, _)| last.checked_add(1)) else {
                seen.refuse(chain, "no number comes behind that of its last seal");
                continue;
            };
            let message = seal_message(&entry, chain, sequence, head.map(|(_, mac)| mac), sealed_at.micros());
            let (key_id, mac) = self.sealer.seal(&message)?;
            heads.insert(chain, (sequence, mac));
            seals.push(AuditSeal { entry: entry.id, chain, sequence, key_id, mac, sealed_at });
        }
        Ok(seals)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> Option<SealingLease> {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, lease: Option<SealingLease>) {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner) = lease;
    }
}

impl Seen {
    /// Refuses a chain whose head went back behind what was written, or became another one. One that went on was sealed by another program.
    fn compare(&mut self, chain: AuditChain, found: Option<&Head>) {
        let Some(written) = self.heads.get(&chain) else { return };
        let is_kept = found.is_some_and(|found| found == written || written.0 < found.0);
        if !is_kept {
            let found = found.map_or(0, |(sequence, _)| *sequence);
            let why = format!(
                "its seals went back or were exchanged: number {} was written, and it ends at {found}",
                written.0
            );
            self.refuse(chain, &why);
        }
    }

    fn refuse(&mut self, chain: AuditChain, why: &str) {
        if self.refused.insert(chain) {
            let chain = chain_name(chain);
            log::error!(
                chain = chain.as_str();
                "audit: the chain is sealed no further, {why}; run dropin audit verify with a head that was kept, and restart this \
                 program when the chain may go on (also after a restore)"
            );
        }
    }

    fn tell_foreign(&mut self, entries: Vec<AuditEntryId>) {
        for entry in entries {
            if self.foreign.insert(entry) {
                let entry = entry.to_string();
                log::error!(
                    entry = entry.as_str();
                    "audit: an entry that waits for its seal has one that no sealer wrote; dropin audit verify tells where"
                );
            }
        }
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
