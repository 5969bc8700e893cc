//! The ledger audit: every Order against its operations, refunds and ledger, and all operations against the processor's journal.
//!
//! Nothing is changed, and payments may run meanwhile. A page of Orders is read in one state of the database, and the journal is read on to its end
//! after that: whatever was approved here by then stands in the journal, or is missing from it. What was approved there and is still open here is
//! only counted, unless nobody has settled it for too long. In memory stay two bits for each operation, and what the processor did in other
//! amounts than asked.

mod credentials;
mod journal;
mod open_work;
mod records;
mod report;
mod rules;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use dropin_kernel::{OrderId, Timestamp};
use dropin_ports::{
    AuditStore, AuditedOrder, Clock, CredentialListUnavailable, JournalUnavailable, ProcessorJournal,
    ProcessorRecordsUnavailable, StoreError, StoredCredentialList,
};

use self::journal::Journal;
pub use self::open_work::OpenWork;
pub use self::records::RecordAudit;
pub(crate) use self::records::{BEFORE, known_keys, read_list};
pub use self::report::{Disagreement, Finding, MAX_FINDINGS, Report};

/// Orders read in one state of the database.
const PAGE: u32 = 200;

/// Why the ledger could not be verified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// Ours cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The processor's cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalUnavailable),
    /// The list of the cards that it stored cannot be read.
    #[error(transparent)]
    Credentials(#[from] CredentialListUnavailable),
    /// Its list of payments or refunds cannot be read.
    #[error(transparent)]
    Records(#[from] ProcessorRecordsUnavailable),
}

/// Verifies the ledger.
#[derive(Clone)]
pub struct Audit {
    /// Our store.
    pub store: Arc<dyn AuditStore>,
    /// The processor's; `None` verifies ours by themselves.
    pub journal: Option<Arc<dyn ProcessorJournal>>,
    /// The cards that the processor stored; `None` leaves them out.
    pub credentials: Option<Arc<dyn StoredCredentialList>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Audit {
    /// Reads everything and reports every disagreement.
    ///
    /// # Errors
    /// [`AuditError`]: nothing is known then.
    pub async fn verify(&self) -> Result<Report, AuditError> {
        let mut report = Report::default();
        let mut journal = self.journal.as_ref().map(|source| Journal::new(source.clone()));
        let mut after = None;
        loop {
            let page = self.store.audit_orders(after, PAGE).await?;
            if let Some(journal) = &mut journal {
                journal.read_on(&*self.store, &mut report).await?;
                report.journal_entries = Some(journal.entries());
            }
            let now = self.clock.now();
            for order in &page {
                check(order, journal.as_ref(), now, &mut report);
            }
            match page.last() {
                Some(last) if page.len() == PAGE as usize => after = Some(last.id()),
                _ => break,
            }
        }
        if let Some(source) = &self.credentials {
            credentials::check(&*self.store, &**source, &mut report).await?;
        }
        Ok(report)
    }
}

fn check(order: &AuditedOrder, journal: Option<&Journal>, now: Timestamp, report: &mut Report) {
    report.orders += 1;
    match order {
        AuditedOrder::Readable(audited) => {
            report.operations += audited.operations.len() as u64;
            report.open += audited.operations.iter().filter(|placed| placed.operation.state.is_open()).count() as u64;
            rules::check(audited, journal, now, report);
        }
        AuditedOrder::Corrupt { id, table, what } => report.add(corrupt_row(*id, table, what)),
    }
}

fn corrupt_row(order: OrderId, table: &str, what: &str) -> Finding {
    Finding {
        what: Disagreement::CorruptRow,
        order: Some(order),
        operation: None,
        words: format!("a row of it in the table {table} makes no sense: {what}. Compare it with a backup"),
    }
}
