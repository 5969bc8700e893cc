//! The log of acts and its seals. What appends an entry in the transaction of an effect is the port of the effect.

mod append;
mod batch;
mod rows;
mod seals;
mod search;

use async_trait::async_trait;
use dropin_ports::{AuditLog, AuditPage, AuditQuery, NewAuditEntry, StoreError};
use dropin_store_runtime::worker_pool::TxOutcome;

use crate::store::Store;

pub(crate) use append::{append, append_with_history};
pub(crate) use batch::{AuditEntries, audit_row};

#[async_trait]
impl AuditLog for Store {
    async fn append_audit_entry(&self, entry: NewAuditEntry) -> Result<(), StoreError> {
        self.write(move |connection| append(connection, &entry).map(TxOutcome::Commit)).await
    }

    async fn search_audit_log(&self, query: AuditQuery) -> Result<AuditPage, StoreError> {
        self.read(move |connection| search::search(connection, &query)).await
    }
}
