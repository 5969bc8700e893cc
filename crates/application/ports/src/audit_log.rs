use std::net::IpAddr;

use async_trait::async_trait;
use dropin_access::{AuditAction, AuditSubjectKind};
use dropin_kernel::{AuditEntryId, ContractId, EndpointId, MerchantId, OrderId, SessionId, Timestamp};
use uuid::Uuid;

use crate::keyring::KeyringError;
use crate::store::{Actor, StoreError};

/// Who acts, from where and why: what is known of an act before it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acting {
    /// Who. Never the shopper, whose acts are history alone.
    pub actor: Actor,
    /// The client's address, where there is one.
    pub address: Option<IpAddr>,
    /// Why, in the person's own words; at most [`Acting::MAX_NOTE_CHARACTERS`].
    pub note: Option<String>,
}

impl Acting {
    /// Most characters of a note.
    pub const MAX_NOTE_CHARACTERS: usize = 500;

    /// Dropin itself.
    pub const fn system() -> Self {
        Self::new(Actor::System, None)
    }

    /// Without a note.
    pub const fn new(actor: Actor, address: Option<IpAddr>) -> Self {
        Self { actor, address, note: None }
    }
}

/// What an entry of the audit log is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSubject {
    /// Its kind.
    pub kind: AuditSubjectKind,
    /// Its id, user name or name.
    pub id: String,
}

impl AuditSubject {
    /// Of that kind and id.
    pub fn new(kind: AuditSubjectKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }

    /// The deployment as a whole.
    pub fn deployment() -> Self {
        Self::new(AuditSubjectKind::Deployment, "deployment")
    }
}

/// Ids that say what they name.
macro_rules! subject_of {
    ($($id:ty => $kind:ident;)+) => {$(
        impl From<$id> for AuditSubject {
            fn from(id: $id) -> Self {
                Self::new(AuditSubjectKind::$kind, id.to_string())
            }
        }
    )+};
}

subject_of! {
    MerchantId => Merchant;
    EndpointId => Endpoint;
    SessionId => Session;
    OrderId => Order;
    ContractId => Contract;
}

/// An entry to append to the audit log: one act of a person, an API user or a command. Written in the transaction of its effect, never changed.
///
/// `before` and `after` are small JSON objects (`dropin_wire::audit_log::Document` makes them), and never hold a secret or a card number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEntry {
    /// Identifier; of UUID version 7.
    pub id: AuditEntryId,
    /// Whose it is; `None` for the deployment.
    pub merchant_id: Option<MerchantId>,
    /// Who, from where, why.
    pub acting: Acting,
    /// What was done.
    pub action: AuditAction,
    /// To what.
    pub subject: AuditSubject,
    /// What stood before, as a JSON object; `None` where nothing did, or it does not matter.
    pub before: Option<String>,
    /// What stands now, as a JSON object.
    pub after: Option<String>,
    /// When.
    pub at: Timestamp,
}

impl NewAuditEntry {
    /// An entry of an act by `acting`, which says nothing yet of before and after. `merchant_id` is `None` for the deployment's.
    pub fn new(
        id: Uuid,
        at: Timestamp,
        acting: Acting,
        merchant_id: Option<MerchantId>,
        action: AuditAction,
        subject: impl Into<AuditSubject>,
    ) -> Self {
        let id = AuditEntryId::new(id);
        Self { id, merchant_id, acting, action, subject: subject.into(), before: None, after: None, at }
    }

    /// With what stood before.
    #[must_use]
    pub fn with_before(self, document: String) -> Self {
        Self { before: Some(document), ..self }
    }

    /// With what stands now.
    #[must_use]
    pub fn with_after(self, document: String) -> Self {
        Self { after: Some(document), ..self }
    }
}

/// An entry of the audit log as it is read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Counts up in the order in which entries were written, not without gaps.
    pub position: i64,
    /// Identifier.
    pub id: AuditEntryId,
    /// Whose it is; `None` for the deployment.
    pub merchant_id: Option<MerchantId>,
    /// Who, from where, why.
    pub acting: Acting,
    /// What was done: the code of an [`AuditAction`], perhaps of a later version.
    pub action: String,
    /// To what: the code of an [`AuditSubjectKind`], perhaps of a later version.
    pub subject_kind: String,
    /// Its id, user name or name.
    pub subject_id: String,
    /// What stood before, as a JSON object.
    pub before: Option<String>,
    /// What stands now, as a JSON object.
    pub after: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Whose entries are meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuditScope {
    /// Everybody's.
    #[default]
    All,
    /// Those of no merchant.
    Deployment,
    /// One merchant's.
    Merchant(MerchantId),
}

/// Where a search of the audit log goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditCursor {
    /// When the last entry that was seen happened.
    pub at: Timestamp,
    /// Its position.
    pub position: i64,
}

/// A search of the audit log, newest first; everything that is `None` leaves the choice open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Whose.
    pub scope: AuditScope,
    /// That happened then or later.
    pub since: Option<Timestamp>,
    /// That happened before then.
    pub until: Option<Timestamp>,
    /// Of that code.
    pub action: Option<String>,
    /// By an actor of that name: API user, operator or OS user.
    pub actor_name: Option<String>,
    /// About a subject of that id.
    pub subject_id: Option<String>,
    /// Those behind this one.
    pub after: Option<AuditCursor>,
    /// Oldest first; else newest first.
    pub oldest_first: bool,
    /// At most so many.
    pub limit: u32,
}

/// A part of what was searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// In their order.
    pub entries: Vec<AuditEntry>,
    /// Where to go on; `None` at the end.
    pub next: Option<AuditCursor>,
}

/// The log of acts: who changed what on whose behalf. What appends to it in the transaction of an effect are the ports of the effects.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Appends an entry of an act whose effect is not in the database, or that has none there: a key file, an export, a refused sign-in.
    async fn append_audit_entry(&self, entry: NewAuditEntry) -> Result<(), StoreError>;

    /// Searches the log.
    async fn search_audit_log(&self, query: AuditQuery) -> Result<AuditPage, StoreError>;
}

/// A chain of seals: the deployment's, or one merchant's.
pub type AuditChain = Option<MerchantId>;

/// The seal of an entry: its place in its chain, and a MAC over the entry and the seal before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSeal {
    /// The entry.
    pub entry: AuditEntryId,
    /// Its chain.
    pub chain: AuditChain,
    /// Its number in the chain, from 1, without gaps.
    pub sequence: i64,
    /// The key that sealed it.
    pub key_id: String,
    /// HMAC-SHA256.
    pub mac: [u8; 32],
    /// When it was sealed.
    pub sealed_at: Timestamp,
}

/// The last seal of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditHead {
    /// The chain.
    pub chain: AuditChain,
    /// The number of its last seal.
    pub sequence: i64,
    /// Its MAC.
    pub mac: [u8; 32],
    /// When it was sealed.
    pub sealed_at: Timestamp,
}

/// The one sealer's right to seal, until another one takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealingLease {
    /// Counts up with each sealer that takes over; one of a lower epoch writes nothing any more.
    pub epoch: i64,
}

/// What waits to be sealed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unsealed {
    /// Entries without a seal, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The heads of their chains; none of a chain that is new.
    pub heads: Vec<AuditHead>,
    /// Entries that wait although they have a seal, which was written past the sealers; at most as many.
    pub sealed: Vec<AuditEntryId>,
}

/// How much waits to be sealed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnsealedCount {
    /// So many entries.
    pub count: u64,
    /// When the oldest of them happened.
    pub oldest: Option<Timestamp>,
}

/// A seal with its entry, read back to be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedAuditEntry {
    /// The seal.
    pub seal: AuditSeal,
    /// The entry; `None` where it is gone.
    pub entry: Option<AuditEntry>,
}

/// An entry without a seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsealedAuditEntry {
    /// The entry.
    pub entry: AuditEntry,
    /// Whether it waits to be sealed; one that does not was written past the log.
    pub is_queued: bool,
}

/// What came of writing seals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealsWritten {
    /// Written.
    Done,
    /// Another sealer took over: nothing was written.
    LeaseLost,
}

/// The seals of the audit log: written by one sealer at a time, and read to be verified.
#[async_trait]
pub trait AuditSealStore: Send + Sync {
    /// How much waits to be sealed; cheap enough to be asked several times in a second.
    async fn count_unsealed(&self) -> Result<UnsealedCount, StoreError>;

    /// Takes the right to seal, for until `lease_until`, where no other sealer has it at `now`, or renews it for `held`.
    async fn claim_sealing(
        &self,
        held: Option<SealingLease>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Option<SealingLease>, StoreError>;

    /// Entries that wait to be sealed, oldest first, at most `limit`, with the heads of their chains. None of the chains in `except`.
    async fn find_unsealed(&self, limit: u32, except: Vec<AuditChain>) -> Result<Unsealed, StoreError>;

    /// Writes seals, whole or not at all.
    async fn write_seals(&self, lease: SealingLease, seals: Vec<AuditSeal>) -> Result<SealsWritten, StoreError>;

    /// The head of every chain, that of the deployment first.
    async fn list_audit_heads(&self) -> Result<Vec<AuditHead>, StoreError>;

    /// The seals of a chain behind number `after`, in their order, at most `limit`, each with its entry.
    async fn read_audit_chain(
        &self,
        chain: AuditChain,
        after: i64,
        limit: u32,
    ) -> Result<Vec<SealedAuditEntry>, StoreError>;

    /// Entries without a seal behind position `after`, in their order, at most `limit`. Reads the whole log.
    async fn list_unsealed(&self, after: i64, limit: u32) -> Result<Vec<UnsealedAuditEntry>, StoreError>;

    /// The seals of entries, in any order; at most 1,000 are asked for.
    async fn find_audit_seals(&self, entries: Vec<AuditEntryId>) -> Result<Vec<AuditSeal>, StoreError>;

    /// How many seals each key made, by its id. Reads every seal.
    async fn count_seals_by_key(&self) -> Result<Vec<(String, u64)>, StoreError>;

    /// Whether any seal was ever written, so that the key ring knows whether a key must be there.
    async fn has_audit_seals(&self) -> Result<bool, StoreError>;
}

/// Makes and checks the MACs of seals, by keys outside the database.
pub trait AuditSealer: Send + Sync {
    /// The MAC of `message` by the key that seals now, and that key's id.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`].
    fn seal(&self, message: &[u8]) -> Result<(String, [u8; 32]), KeyringError>;

    /// Whether `mac` is that of `message` by the key `key_id`; compares in constant time.
    ///
    /// # Errors
    /// [`KeyringError::CannotOpen`] where that key is not there, [`KeyringError::Unavailable`].
    fn verify(&self, key_id: &str, message: &[u8], mac: &[u8; 32]) -> Result<bool, KeyringError>;

    /// Signs an export by Ed25519 (RFC 8032) with the newest key.
    ///
    /// # Errors
    /// [`KeyringError::Unavailable`].
    fn sign_export(&self, message: &[u8]) -> Result<ExportSignature, KeyringError>;
}

/// The signature of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportSignature {
    /// The key of the audit ring that the signing key is derived from.
    pub key_id: String,
    /// The Ed25519 public key.
    pub public_key: [u8; 32],
    /// The signature.
    pub signature: [u8; 64],
}
