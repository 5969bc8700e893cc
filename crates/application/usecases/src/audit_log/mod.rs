//! The audit log (docs/SPECIFICATION.md#audit-log): its entries, their seals, and proving that nothing of it was altered.
//!
//! Not to be mixed up with [`crate::audit`], which compares the ledger with the processor's journal.

mod documents;
mod export;
mod sealing;
mod verify;

use std::sync::Arc;

use dropin_access::AuditAction;
use dropin_kernel::MerchantId;
use dropin_ports::{Acting, Actor, AuditChain, AuditEntry, AuditSeal, AuditSubject, Clock, IdSource, NewAuditEntry};
use dropin_wire::audit_log::{EntryBody, Json, SealBody};

pub(crate) use documents::{
    contract_document, endpoint_document, merchant_document, order_document, processor_account_document,
    rates_document, refund_document, session_document, settings_document, user_document, wallet_document,
};
pub use export::{AuditExport, ExportError, ExportSummary};
pub use sealing::{SealError, Sealing};
pub use verify::{AuditFinding, AuditReport, AuditVerification, ChainReport, KnownHead, VerifyError};

/// Makes the entries of one actor's acts.
#[derive(Clone)]
pub struct AuditWriter {
    /// Who acts, from where and why.
    pub by: Acting,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
}

impl AuditWriter {
    /// The entry of an act that is done now.
    pub fn entry(
        &self,
        merchant: Option<MerchantId>,
        action: AuditAction,
        subject: impl Into<AuditSubject>,
    ) -> NewAuditEntry {
        NewAuditEntry::new(self.ids.ordered(), self.clock.now(), self.by.clone(), merchant, action, subject)
    }
}

/// A merchant's affair, and who sees to it: an API user of the merchant, an operator or a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerchantAct {
    /// The merchant.
    pub merchant: MerchantId,
    /// Who, from where, why.
    pub by: Acting,
}

/// What an actor is called in the log, and its name.
pub fn actor_words(actor: &Actor) -> (&'static str, Option<&str>) {
    match actor {
        Actor::Merchant(username) => ("MERCHANT", Some(username)),
        Actor::Shopper => ("SHOPPER", None),
        Actor::Operator(name) => ("OPERATOR", Some(name)),
        Actor::CommandLine(name) => ("COMMAND_LINE", Some(name)),
        Actor::System => ("SYSTEM", None),
    }
}

/// How a chain is written: the merchant's id, or `deployment`.
pub fn chain_name(chain: AuditChain) -> String {
    chain.map_or_else(|| "deployment".to_owned(), |merchant| merchant.to_string())
}

/// An entry as it is shown and exported.
pub fn entry_body<'a>(entry: &'a AuditEntry, seal: Option<&AuditSeal>) -> EntryBody<'a> {
    let (actor, name) = actor_words(&entry.acting.actor);
    EntryBody {
        entry_id: entry.id.to_string(),
        at: entry.at.to_string(),
        merchant_id: entry.merchant_id.map(|merchant| merchant.to_string()),
        actor,
        name,
        address: entry.acting.address.map(|address| address.to_string()),
        action: &entry.action,
        subject: &entry.subject_kind,
        subject_id: &entry.subject_id,
        before: entry.before.as_deref().map(Json),
        after: entry.after.as_deref().map(Json),
        note: entry.acting.note.as_deref(),
        seal: seal.map(|seal| SealBody {
            chain: chain_name(seal.chain),
            sequence: seal.sequence,
            key_id: seal.key_id.clone(),
            mac: hex(&seal.mac),
            sealed_at: seal.sealed_at.to_string(),
        }),
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
