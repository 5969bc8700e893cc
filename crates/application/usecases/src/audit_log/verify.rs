//! Proving that the audit log is what was written: every seal is made again and compared.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{AuditEntryId, MerchantId, Timestamp};
use dropin_ports::{
    AuditChain, AuditHead, AuditSealStore, AuditSealer, Clock, KeyringError, SealedAuditEntry, StoreError,
};

use super::sealing::seal_message;
use super::{chain_name, hex};

/// Seals or entries that are read at once.
const PAGE: u32 = 500;

/// How long an entry may wait for its seal before that is told.
const SEALED_WITHIN: Duration = Duration::from_secs(60);

/// How long after its entry a seal is made at most, unless no settler ran or somebody wrote the chain anew.
const SEALED_LATE: Duration = Duration::from_secs(60 * 60);

/// A head that was written down elsewhere: `CHAIN:NUMBER:MAC`, as `dropin audit head` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHead {
    /// The chain.
    pub chain: AuditChain,
    /// The number of its last seal then.
    pub sequence: i64,
    /// Its MAC.
    pub mac: [u8; 32],
}

impl From<&AuditHead> for KnownHead {
    fn from(head: &AuditHead) -> Self {
        Self { chain: head.chain, sequence: head.sequence, mac: head.mac }
    }
}

impl fmt::Display for KnownHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", chain_name(self.chain), self.sequence, hex(&self.mac))
    }
}

/// The text is no head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a head as `dropin audit head` prints it: the merchant's id or `deployment`, the number and the MAC, with colons between"
)]
pub struct InvalidHead;

impl FromStr for KnownHead {
    type Err = InvalidHead;

    fn from_str(text: &str) -> Result<Self, InvalidHead> {
        let mut parts = text.trim().split(':');
        let (Some(chain), Some(sequence), Some(digits), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidHead);
        };
        let chain = match chain {
            "deployment" => None,
            id => Some(id.parse::<MerchantId>().map_err(|_no_id| InvalidHead)?),
        };
        let sequence = sequence.parse().ok().filter(|number| 0 < *number).ok_or(InvalidHead)?;
        Ok(Self { chain, sequence, mac: mac(digits).ok_or(InvalidHead)? })
    }
}

fn mac(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut mac = [0; 32];
    for (place, byte) in mac.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(mac)
}

/// Why the log could not be verified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The keys failed.
    #[error(transparent)]
    Keyring(KeyringError),
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditFinding {
    /// The entry or its seal was altered: the MAC does not fit.
    Altered {
        /// The chain.
        chain: AuditChain,
        /// The number in it.
        sequence: i64,
        /// The entry.
        entry: AuditEntryId,
    },
    /// The seal stands and its entry is gone.
    EntryDropped {
        /// The chain.
        chain: AuditChain,
        /// The number in it.
        sequence: i64,
        /// The entry.
        entry: AuditEntryId,
    },
    /// Seals are gone, with their entries or without.
    SealsDropped {
        /// The chain.
        chain: AuditChain,
        /// The first number that is missing.
        first: i64,
        /// The last one.
        last: i64,
    },
    /// The key of a seal is not there.
    KeyMissing {
        /// The chain.
        chain: AuditChain,
        /// The number in it.
        sequence: i64,
        /// The key.
        key_id: String,
    },
    /// An entry has no seal and waits for none: it was written past the log, or its seal was taken away.
    Inserted {
        /// The entry.
        entry: AuditEntryId,
        /// Its chain.
        chain: AuditChain,
        /// When it says that it happened.
        at: Timestamp,
    },
    /// The chain ends before a head that was written down elsewhere.
    Cut {
        /// The chain.
        chain: AuditChain,
        /// The number that was written down.
        known: i64,
        /// The last number that there is.
        found: i64,
    },
    /// The seal of that number is another one than was written down elsewhere.
    HeadDiffers {
        /// The chain.
        chain: AuditChain,
        /// The number.
        sequence: i64,
    },
    /// Seals in a row that were made over an hour after their entries happened, with no head written down since: no settler ran, or somebody had
    /// the chain sealed anew.
    SealedLate {
        /// The chain.
        chain: AuditChain,
        /// The first number.
        first: i64,
        /// The last one.
        last: i64,
    },
}

impl fmt::Display for AuditFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |chain: &AuditChain| chain_name(*chain);
        match self {
            Self::Altered { chain, sequence, entry } => {
                write!(f, "{} number {sequence}: entry {entry} or its seal was altered", name(chain))
            }
            Self::EntryDropped { chain, sequence, entry } => {
                write!(f, "{} number {sequence}: entry {entry} was deleted, its seal stands", name(chain))
            }
            Self::SealsDropped { chain, first, last } => {
                write!(f, "{} numbers {first} to {last}: deleted", name(chain))
            }
            Self::KeyMissing { chain, sequence, key_id } => {
                write!(f, "{} number {sequence}: its key {key_id} is missing; restore it from your backup", name(chain))
            }
            Self::Inserted { entry, chain, at } => {
                write!(f, "{}: entry {entry} of {at} has no seal and waits for none", name(chain))
            }
            Self::Cut { chain, known, found } => {
                write!(f, "{}: ends at number {found}, and there was a number {known}", name(chain))
            }
            Self::HeadDiffers { chain, sequence } => {
                write!(f, "{} number {sequence}: another seal than was written down", name(chain))
            }
            Self::SealedLate { chain, first, last } => {
                write!(
                    f,
                    "{} numbers {first} to {last}: sealed late, over an hour after they happened; when no settler ran then, keep a head of now and give it",
                    name(chain)
                )
            }
        }
    }
}

/// A chain that was walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// Its head when it was walked.
    pub head: AuditHead,
    /// How many seals there were.
    pub seals: u64,
}

/// What was found of the whole log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// Its chains.
    pub chains: Vec<ChainReport>,
    /// What is not as it was written; empty when the log is whole.
    pub findings: Vec<AuditFinding>,
    /// Entries that wait for their seal.
    pub waiting: u64,
    /// Of these, such that have waited for over a minute: does a settler run?
    pub overdue: u64,
}

impl AuditReport {
    /// Whether nothing was found and no entry is overdue for its seal.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.overdue == 0
    }
}

/// Verifies the log.
#[derive(Clone)]
pub struct AuditVerification {
    /// Where it is.
    pub store: Arc<dyn AuditSealStore>,
    /// Makes the MACs again.
    pub sealer: Arc<dyn AuditSealer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl AuditVerification {
    /// Walks every chain up to its head of now, looks for entries without a seal, and compares with heads that were written down elsewhere.
    ///
    /// # Errors
    /// [`VerifyError`] where it could not be verified.
    pub async fn verify(&self, known: &[KnownHead]) -> Result<AuditReport, VerifyError> {
        let mut report = AuditReport::default();
        let heads = self.store.list_audit_heads().await?;
        for one in known {
            let found = heads.iter().find(|head| head.chain == one.chain).map_or(0, |head| head.sequence);
            if found < one.sequence {
                report.findings.push(AuditFinding::Cut { chain: one.chain, known: one.sequence, found });
            }
        }
        for head in heads {
            let of_chain: Vec<_> = known.iter().filter(|one| one.chain == head.chain).collect();
            let seals = self.walk(&head, &of_chain, &mut report.findings).await?;
            report.chains.push(ChainReport { head, seals });
        }
        self.look_for_unsealed(&mut report).await?;
        Ok(report)
    }

    async fn walk(
        &self,
        head: &AuditHead,
        known: &[&KnownHead],
        findings: &mut Vec<AuditFinding>,
    ) -> Result<u64, VerifyError> {
        let (chain, mut last, mut seals) = (head.chain, 0, 0);
        let mut late = Late::default();
        let mut previous: Option<[u8; 32]> = None;
        while last < head.sequence {
            let page = self.store.read_audit_chain(chain, last, PAGE).await?;
            if page.is_empty() {
                // It was cut while it was walked.
                findings.push(AuditFinding::Cut { chain, known: head.sequence, found: last });
                break;
            }
            for sealed in page {
                let sequence = sealed.seal.sequence;
                let is_next = sequence == last + 1;
                if !is_next {
                    findings.push(AuditFinding::SealsDropped { chain, first: last + 1, last: sequence - 1 });
                }
                // Behind a gap the seal before is not known: that this one is right is not proved, and not denied.
                let found = match is_next {
                    true => self.check(&sealed, previous.as_ref())?,
                    false if sealed.entry.is_none() => {
                        Some(AuditFinding::EntryDropped { chain, sequence, entry: sealed.seal.entry })
                    }
                    false => None,
                };
                // What was altered says nothing of when it happened.
                if found.is_none() {
                    late.note(&sealed);
                }
                findings.extend(found);
                for one in known.iter().filter(|one| one.sequence == sequence) {
                    if one.mac == sealed.seal.mac {
                        late = Late::default();
                    } else {
                        findings.push(AuditFinding::HeadDiffers { chain, sequence });
                    }
                }
                (last, previous, seals) = (sequence, Some(sealed.seal.mac), seals + 1);
            }
        }
        findings.extend(late.0.into_iter().map(|(first, last)| AuditFinding::SealedLate { chain, first, last }));
        Ok(seals)
    }

    fn check(
        &self,
        sealed: &SealedAuditEntry,
        previous: Option<&[u8; 32]>,
    ) -> Result<Option<AuditFinding>, VerifyError> {
        let SealedAuditEntry { seal, entry } = sealed;
        let (chain, sequence) = (seal.chain, seal.sequence);
        let Some(entry) = entry else {
            return Ok(Some(AuditFinding::EntryDropped { chain, sequence, entry: seal.entry }));
        };
        let message = seal_message(entry, chain, sequence, previous, seal.sealed_at.micros());
        match self.sealer.verify(&seal.key_id, &message, &seal.mac) {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(AuditFinding::Altered { chain, sequence, entry: seal.entry })),
            Err(KeyringError::CannotOpen) => {
                Ok(Some(AuditFinding::KeyMissing { chain, sequence, key_id: seal.key_id.clone() }))
            }
            Err(error) => Err(VerifyError::Keyring(error)),
        }
    }

    async fn look_for_unsealed(&self, report: &mut AuditReport) -> Result<(), VerifyError> {
        let (mut after, now) = (0, self.clock.now());
        loop {
            let page = self.store.list_unsealed(after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.entry.position;
            for unsealed in page {
                let entry = unsealed.entry;
                if unsealed.is_queued {
                    report.waiting += 1;
                    report.overdue += u64::from(entry.at.plus(SEALED_WITHIN) < now);
                } else {
                    let chain = entry.merchant_id;
                    report.findings.push(AuditFinding::Inserted { entry: entry.id, chain, at: entry.at });
                }
            }
        }
    }
}

/// Rows of numbers whose seals were made late, behind the last head that was written down.
#[derive(Default)]
struct Late(Vec<(i64, i64)>);

impl Late {
    fn note(&mut self, sealed: &SealedAuditEntry) {
        let SealedAuditEntry { seal, entry } = sealed;
        if entry.as_ref().is_none_or(|entry| seal.sealed_at <= entry.at.plus(SEALED_LATE)) {
            return;
        }
        match self.0.last_mut() {
            Some((_, last)) if *last + 1 == seal.sequence => *last = seal.sequence,
            _ => self.0.push((seal.sequence, seal.sequence)),
        }
    }
}
