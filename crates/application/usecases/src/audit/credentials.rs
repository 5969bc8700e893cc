//! The cards that the processor stored against the contracts here: none may be left there that nobody here can charge or delete.

use std::collections::{BTreeMap, BTreeSet};

use dropin_kernel::MerchantId;
use dropin_ports::{AuditStore, CredentialListEntry, CredentialListQuery, StoreError, StoredCredentialList};

use super::AuditError;
use super::report::{Disagreement, Finding, Report};

/// Merchants, and entries of a merchant's list, read at once.
const PAGE: u32 = 1_000;

/// Reads the lists of all merchants.
pub(super) async fn check(
    store: &dyn AuditStore,
    source: &dyn StoredCredentialList,
    report: &mut Report,
) -> Result<(), AuditError> {
    report.credentials = Some(0);
    let mut after = None;
    loop {
        let merchants = store.list_merchant_ids(after, PAGE).await?;
        for merchant in &merchants {
            check_merchant(store, source, *merchant, report).await?;
        }
        match merchants.last() {
            Some(last) if merchants.len() == PAGE as usize => after = Some(*last),
            _ => return Ok(()),
        }
    }
}

async fn check_merchant(
    store: &dyn AuditStore,
    source: &dyn StoredCredentialList,
    merchant_id: MerchantId,
    report: &mut Report,
) -> Result<(), AuditError> {
    let mut after = None;
    loop {
        let query = CredentialListQuery { merchant_id, after, limit: PAGE };
        let page = source.list_credentials(query.clone()).await?;
        report.credentials = report.credentials.map(|read| read + page.entries.len() as u64);
        let mut findings = orphans(store, &page.entries).await?;
        if !findings.is_empty() {
            // What was deleted there while it was looked up here is none.
            let left = source.list_credentials(query).await?.entries;
            let left: BTreeSet<_> = left.iter().map(|entry| entry.opened_by).collect();
            findings.retain(|finding| finding.operation.is_some_and(|key| left.contains(&key)));
        }
        findings.into_iter().for_each(|finding| report.add(finding));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

async fn orphans(store: &dyn AuditStore, entries: &[CredentialListEntry]) -> Result<Vec<Finding>, StoreError> {
    let traces = store.trace_credentials(entries.iter().map(|entry| entry.opened_by).collect()).await?;
    let traces: BTreeMap<_, _> = traces.into_iter().map(|trace| (trace.operation, trace)).collect();
    let orphan = |entry: &CredentialListEntry| {
        let trace = traces.get(&entry.opened_by);
        if trace.is_some_and(|trace| trace.is_open || trace.has_credential) {
            return None;
        }
        let why = match trace {
            Some(_) => "its contract here has let go of it.",
            None => "nothing here asked for it: was the database restored from a backup?",
        };
        Some(Finding {
            what: Disagreement::OrphanedCredential,
            order: trace.map(|trace| trace.order),
            operation: Some(entry.opened_by),
            words: format!("the processor keeps a card since {}, and {why} Delete it there", entry.stored_at),
        })
    };
    Ok(entries.iter().filter_map(orphan).collect())
}
