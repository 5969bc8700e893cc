//! Cards that the processor keeps, with and without a contract here.

use std::sync::Mutex;

use async_trait::async_trait;
use dropin_card::Scheme;
use dropin_contract::{CardSummary, ContractKind};
use dropin_kernel::{MerchantId, OpId, OrderId, Timestamp};
use dropin_ports::{
    AuditStore, AuditedOrder, CredentialCursor, CredentialListEntry, CredentialListPage, CredentialListQuery,
    CredentialListUnavailable, CredentialTrace, OrderAuditTrail, PositionedOperation, StoreError, StoredCredentialList,
};

use super::super::credentials::check;
use super::super::{AuditError, Disagreement, Report};
use super::lifecycles::{NOW, fresh};

/// Both sides, of 1,001 merchants; what is deleted leaves the list after it was read once.
#[derive(Default)]
struct Sides {
    merchants: Vec<MerchantId>,
    stored: Mutex<Vec<(MerchantId, OpId)>>,
    deleted: Vec<OpId>,
    traces: Vec<CredentialTrace>,
    is_away: bool,
}

impl Sides {
    fn new() -> Self {
        let mut merchants: Vec<_> = (0..1_001).map(|_| MerchantId::new(fresh())).collect();
        merchants.sort_unstable();
        Self { merchants, ..Self::default() }
    }

    /// A card of the merchant at this place in the list, with what is here of it.
    fn store(&mut self, merchant: usize, here: Option<(bool, bool)>) -> OpId {
        let operation = OpId::new(fresh());
        self.stored.lock().unwrap().push((self.merchants[merchant], operation));
        self.traces.extend(here.map(|(is_open, has_credential)| CredentialTrace {
            operation,
            order: OrderId::new(fresh()),
            is_open,
            has_credential,
        }));
        operation
    }

    async fn report(&self) -> Report {
        let mut report = Report::default();
        check(self, self, &mut report).await.unwrap();
        report
    }
}

#[async_trait]
impl StoredCredentialList for Sides {
    async fn list_credentials(
        &self,
        query: CredentialListQuery,
    ) -> Result<CredentialListPage, CredentialListUnavailable> {
        if self.is_away {
            return Err(CredentialListUnavailable("nobody listens".to_owned()));
        }
        let mut stored = self.stored.lock().unwrap();
        // Pages of two.
        let from: usize = query.after.map_or(0, |cursor| cursor.0.parse().unwrap());
        let own: Vec<_> = stored.iter().filter(|(merchant, _)| *merchant == query.merchant_id).copied().collect();
        let entry = |(_, opened_by): &(MerchantId, OpId)| CredentialListEntry {
            opened_by: *opened_by,
            kind: ContractKind::Recurring,
            card: CardSummary {
                scheme: Scheme::Visa,
                last_four: "4242".parse().unwrap(),
                expiry: "2031-12".parse().unwrap(),
            },
            stored_at: NOW,
        };
        let entries = own.iter().skip(from).take(2).map(entry).collect();
        let next = (from + 2 < own.len()).then(|| CredentialCursor((from + 2).to_string()));
        stored.retain(|(_, operation)| !self.deleted.contains(operation));
        Ok(CredentialListPage { entries, next })
    }
}

#[async_trait]
impl AuditStore for Sides {
    async fn audit_orders(&self, _: Option<OrderId>, _: u32) -> Result<Vec<AuditedOrder>, StoreError> {
        panic!("cards alone are compared here")
    }

    async fn find_operations(&self, _: Vec<OpId>) -> Result<Vec<PositionedOperation>, StoreError> {
        panic!("cards alone are compared here")
    }

    async fn find_audit_trail(&self, _: OrderId) -> Result<Option<OrderAuditTrail>, StoreError> {
        panic!("cards alone are compared here")
    }

    async fn count_stuck_operations(&self, _: Timestamp) -> Result<u64, StoreError> {
        panic!("cards alone are compared here")
    }

    async fn list_merchant_ids(&self, after: Option<MerchantId>, limit: u32) -> Result<Vec<MerchantId>, StoreError> {
        let behind = self.merchants.iter().filter(|id| after.is_none_or(|after| after < **id));
        Ok(behind.take(limit as usize).copied().collect())
    }

    async fn trace_credentials(&self, opened_by: Vec<OpId>) -> Result<Vec<CredentialTrace>, StoreError> {
        Ok(self.traces.iter().filter(|trace| opened_by.contains(&trace.operation)).copied().collect())
    }
}

#[tokio::test]
async fn a_card_that_nobody_here_can_charge_or_delete_is_an_orphan() {
    let mut sides = Sides::new();
    let charged = (false, true);
    for merchant in [0, 0, 0, 1_000] {
        sides.store(merchant, Some(charged));
    }
    sides.store(1_000, Some((true, false)));
    let report = sides.report().await;
    assert_eq!((report.credentials, report.findings), (Some(5), vec![]), "charged, or still being taken up");

    let unknown = sides.store(0, None);
    let let_go = sides.store(1_000, Some((false, false)));
    let report = sides.report().await;
    assert_eq!((report.credentials, report.found), (Some(7), 2));
    let found: Vec<_> = report.findings.iter().map(|finding| (finding.what, finding.operation)).collect();
    let orphan = Disagreement::OrphanedCredential;
    assert_eq!(found, [(orphan, Some(unknown)), (orphan, Some(let_go))]);
    assert_eq!(report.findings.iter().map(|finding| finding.order.is_some()).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn a_card_that_is_deleted_meanwhile_is_no_orphan() {
    let mut sides = Sides::new();
    let deleted = sides.store(7, Some((false, false)));
    sides.deleted.push(deleted);
    assert_eq!(sides.report().await.findings, vec![]);
}

#[tokio::test]
async fn a_list_that_cannot_be_read_ends_it() {
    let sides = Sides { is_away: true, ..Sides::new() };
    let failed = check(&sides, &sides, &mut Report::default()).await;
    assert!(matches!(failed, Err(AuditError::Credentials(_))), "{failed:?}");
}
