//! A range of the log as JSON lines, for an auditor: signed, so that the auditor need not trust the file's way.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use dropin_access::{AuditAction, AuditSubjectKind};
use dropin_kernel::{AuditEntryId, Timestamp};
use dropin_ports::{
    AuditLog, AuditQuery, AuditScope, AuditSeal, AuditSealStore, AuditSealer, AuditSubject, ExportSignature,
    KeyringError, StoreError,
};
use dropin_wire::audit_log::Document;
use sha2::{Digest, Sha256};

use super::{AuditWriter, entry_body, hex};

/// Entries that are read at once.
const PAGE: u32 = 500;

/// Why nothing was exported, or not all.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The keys failed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The file cannot be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
}

/// What was exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportSummary {
    /// How many entries.
    pub entries: u64,
    /// SHA-256 of the lines, in hexadecimal digits.
    pub sha256: String,
}

/// Exports the log.
#[derive(Clone)]
pub struct AuditExport {
    /// The log.
    pub log: Arc<dyn AuditLog>,
    /// Its seals.
    pub seals: Arc<dyn AuditSealStore>,
    /// Signs.
    pub sealer: Arc<dyn AuditSealer>,
    /// Who exports: an export is an act, and is in the log before its first line is written.
    pub writer: AuditWriter,
}

impl AuditExport {
    /// Hands out the entries that happened from `from` on and before `to`, oldest first, one JSON object a line.
    ///
    /// # Errors
    /// [`ExportError`].
    pub async fn run(
        &self,
        scope: AuditScope,
        from: Timestamp,
        to: Timestamp,
        mut write: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<ExportSummary, ExportError> {
        let (merchant, name) = match scope {
            AuditScope::Merchant(merchant) => (Some(merchant), merchant.to_string()),
            AuditScope::Deployment => (None, "deployment".to_owned()),
            AuditScope::All => (None, "all".to_owned()),
        };
        let subject = AuditSubject::new(AuditSubjectKind::AuditLog, name);
        let entry = self.writer.entry(merchant, AuditAction::AuditLogExport, subject);
        let range = Document::new().text("From", from).text("To", to).finish();
        self.log.append_audit_entry(entry.with_after(range)).await?;
        let mut query = AuditQuery {
            scope,
            since: Some(from),
            until: Some(to),
            oldest_first: true,
            limit: PAGE,
            ..AuditQuery::default()
        };
        let (mut hash, mut entries) = (Sha256::new(), 0);
        loop {
            let page = self.log.search_audit_log(query.clone()).await?;
            let ids = page.entries.iter().map(|entry| entry.id).collect();
            let seals = self.seals.find_audit_seals(ids).await?;
            let seals: HashMap<AuditEntryId, AuditSeal> = seals.into_iter().map(|seal| (seal.entry, seal)).collect();
            for entry in &page.entries {
                let line = entry_body(entry, seals.get(&entry.id)).line() + "\n";
                hash.update(line.as_bytes());
                write(line.as_bytes())?;
                entries += 1;
            }
            query.after = page.next;
            if query.after.is_none() {
                return Ok(ExportSummary { entries, sha256: hex(&hash.finalize()) });
            }
        }
    }

    /// Signs what names the exported file and its hash.
    ///
    /// # Errors
    /// [`KeyringError`].
    pub fn sign(&self, manifest: &str) -> Result<ExportSignature, KeyringError> {
        self.sealer.sign_export(manifest.as_bytes())
    }
}
