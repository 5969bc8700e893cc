//! Lives of Orders as the domain makes them, and both sides of the books over them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{LedgerTransactionId, MerchantId, OpId, OrderId, RefundId, SessionId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_order::{
    Account, Amounts, CapturePlan, FailureReason, LedgerTransaction, NewOrder, OpKind, OpState, Operation, Order,
    OrderParts, Refund, RefundState, Step, VoidPlan,
};
use dropin_ports::{
    AuditStore, AuditedOrder, Balance, Clock, CredentialTrace, JournalEntry, JournalUnavailable, OrderAuditTrail,
    OrderRecords, PositionedOperation, ProcessorJournal, StoreError,
};
use uuid::Uuid;

pub(super) const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

/// An id that was never given before, spread so that no order can be relied on.
pub(super) fn fresh() -> Uuid {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    Uuid::from_u64_pair(count.wrapping_mul(0x9E37_79B9_7F4A_7C15), count)
}

pub(super) fn usd(minor: i64) -> Amount {
    Amount::from_minor(Currency::Usd, minor).unwrap()
}

/// One Order of the books, and what the processor wrote down for it.
#[derive(Clone)]
pub(super) struct OrderLifecycle {
    pub(super) order: Order,
    pub(super) operations: Vec<Operation>,
    pub(super) refunds: Vec<Refund>,
    pub(super) ledger: Vec<LedgerTransaction>,
    pub(super) unbalanced: Vec<LedgerTransactionId>,
    pub(super) journal: Vec<JournalEntry>,
}

impl OrderLifecycle {
    /// Started, with its authorization prepared.
    pub(super) fn start() -> Self {
        let new = NewOrder {
            id: OrderId::new(fresh()),
            merchant_id: MerchantId::new(fresh()),
            session_id: Some(SessionId::new(fresh())),
            attempt_id: None,
            merchant_reference: "a reference".to_owned(),
            total: usd(3_000),
            auto_capture: false,
            payment_method: "VISA".to_owned(),
            return_url: None,
        };
        let order = Order::start(new, NOW);
        let authorization = Operation::authorize(OpId::new(fresh()), order.id, order.total, NOW, NOW);
        let (refunds, ledger, unbalanced, journal) = Default::default();
        Self { order, operations: vec![authorization], refunds, ledger, unbalanced, journal }
    }

    pub(super) fn step(&mut self, step: Step) {
        self.order = step.change.next;
        self.ledger.extend(step.ledger);
    }

    /// The operation of that kind that was written last.
    pub(super) fn last(&mut self, kind: OpKind) -> &mut Operation {
        self.operations.iter_mut().rev().find(|operation| operation.kind == kind).unwrap()
    }

    /// The processor approves it, and both sides write it down.
    pub(super) fn approve(&mut self, kind: OpKind, amount: Option<Amount>) {
        let operation = self.last(kind);
        operation.state = OpState::Approved;
        let entry = JournalEntry {
            number: 0,
            key: operation.id,
            kind: kind.as_str().to_owned(),
            outcome: "APPROVED".to_owned(),
            amount,
            authorization: operation.authorization,
            captured: false,
            at: NOW,
            order: Some(self.order.id),
        };
        self.journal.push(entry);
    }

    pub(super) fn authorized(amount: Amount) -> Self {
        let mut lifecycle = Self::start();
        lifecycle.approve(OpKind::Authorize, Some(amount));
        lifecycle
            .step(lifecycle.order.authorized(&amount, false, NOW.plus(Duration::from_secs(60)), id(), NOW).unwrap());
        lifecycle
    }

    pub(super) fn capturing(amount: i64) -> Self {
        let mut lifecycle = Self::authorized(usd(3_000));
        let CapturePlan::Ask { step, amount } = lifecycle.order.plan_capture(Some(&usd(amount)), NOW).unwrap() else {
            panic!("nothing is in flight")
        };
        lifecycle.step(*step);
        let capture = lifecycle.operations[0].capture(OpId::new(fresh()), amount, NOW, NOW);
        lifecycle.operations.push(capture);
        lifecycle
    }

    pub(super) fn captured(amount: i64) -> Self {
        let mut lifecycle = Self::capturing(amount);
        lifecycle.approve(OpKind::Capture, Some(usd(amount)));
        lifecycle.step(lifecycle.order.captured(&usd(amount), &usd(amount), id(), id(), NOW).unwrap());
        lifecycle
    }

    pub(super) fn refunding(mut self, amount: i64) -> Self {
        let (step, amount) = self.order.plan_refund(Some(&usd(amount)), NOW).unwrap();
        self.step(step);
        let refund = Refund {
            id: RefundId::new(fresh()),
            order_id: self.order.id,
            merchant_id: self.order.merchant_id,
            reference: "a refund".to_owned(),
            amount,
            settlement: None,
            description: None,
            state: RefundState::InProgress,
            created_at: NOW,
            updated_at: NOW,
        };
        let operation = self.operations[0].refund(OpId::new(fresh()), refund.id, amount, NOW, NOW);
        self.operations.push(operation);
        self.refunds.push(refund);
        self
    }

    pub(super) fn refunded(self, amount: i64) -> Self {
        let mut lifecycle = self.refunding(amount);
        lifecycle.approve(OpKind::Refund, Some(usd(amount)));
        let refund = lifecycle.refunds.last_mut().unwrap();
        *refund = refund.decided(true, NOW);
        lifecycle.step(lifecycle.order.refund_succeeded(&usd(amount), &usd(amount), id(), NOW).unwrap());
        lifecycle
    }

    pub(super) fn voiding(mut self) -> Self {
        let VoidPlan::Ask(step) = self.order.plan_cancel(NOW).unwrap() else { panic!("nothing is in flight") };
        self.step(*step);
        let void = self.operations[0].void(OpId::new(fresh()), NOW, NOW);
        self.operations.push(void);
        self
    }

    pub(super) fn voided(self) -> Self {
        let mut lifecycle = self.voiding();
        lifecycle.approve(OpKind::Void, None);
        lifecycle.step(lifecycle.order.voided(id(), NOW).unwrap());
        lifecycle
    }

    /// Taken with the authorization.
    pub(super) fn paid() -> Self {
        let mut lifecycle = Self::start();
        lifecycle.approve(OpKind::Authorize, Some(usd(3_000)));
        lifecycle.journal[0].captured = true;
        lifecycle.step(lifecycle.order.paid(&usd(3_000), id(), id(), NOW).unwrap());
        lifecycle
    }

    /// Refused while the authorization was under way, which was approved after all.
    pub(super) fn late() -> Self {
        let mut lifecycle = Self::start();
        lifecycle.step(lifecycle.order.refused(FailureReason::Declined, NOW).unwrap());
        lifecycle.approve(OpKind::Authorize, Some(usd(3_000)));
        lifecycle
    }

    /// Its amounts, edited.
    pub(super) fn amounts(&mut self, edit: impl FnOnce(&mut [i64; 5])) {
        let amounts = &self.order.amounts;
        let mut minor = [
            amounts.total_authorized(),
            amounts.captured(),
            amounts.refunded(),
            amounts.capture_pending(),
            amounts.refund_pending(),
        ]
        .map(Amount::minor);
        edit(&mut minor);
        let [authorized, captured, refunded, capturing, refunding] = minor.map(usd);
        let amounts = Amounts::restore(authorized, captured, refunded, capturing, refunding).unwrap();
        self.edit(|order| order.amounts = amounts);
    }

    pub(super) fn edit(&mut self, edit: impl FnOnce(&mut OrderParts)) {
        self.order = self.order.clone().edited(edit).unwrap();
    }

    pub(super) fn post(&mut self, from: Account, to: Account, amount: &Amount) {
        self.ledger.push(LedgerTransaction::transfer(id(), self.order.id, from, to, amount, NOW));
    }

    fn balances(&self) -> Vec<Balance> {
        let mut balances = Vec::<Balance>::new();
        for transaction in &self.ledger {
            for entry in transaction.entries() {
                let (account, currency) = (entry.account, transaction.currency);
                match balances.iter_mut().find(|one| (one.account, one.currency) == (account, currency)) {
                    Some(balance) => balance.minor += entry.minor,
                    None => balances.push(Balance { account, currency, minor: entry.minor }),
                }
            }
        }
        balances
    }
}

pub(super) fn id() -> LedgerTransactionId {
    LedgerTransactionId::new(fresh())
}

/// Both sides of the books, as the ports tell them.
pub(super) struct AuditFixture {
    pub(super) orders: Vec<AuditedOrder>,
    pub(super) operations: Vec<PositionedOperation>,
    pub(super) journal: Mutex<Vec<JournalEntry>>,
    /// What the processor writes down before the last page of Orders is read, and after those before it.
    pub(super) later: Mutex<Vec<JournalEntry>>,
}

impl AuditFixture {
    pub(super) fn of(lifecycles: &[OrderLifecycle]) -> Self {
        let mut lifecycles = lifecycles.to_vec();
        lifecycles.sort_by_key(|lifecycle| lifecycle.order.id);
        let mut position = 0;
        let (mut orders, mut operations, mut journal) = (vec![], vec![], vec![]);
        for lifecycle in &lifecycles {
            let place = |operation: &Operation| {
                position += 1;
                PositionedOperation { position, operation: operation.clone() }
            };
            let own: Vec<_> = lifecycle.operations.iter().map(place).collect();
            operations.extend(own.clone());
            journal.extend(lifecycle.journal.clone());
            orders.push(AuditedOrder::Readable(Box::new(OrderRecords {
                order: lifecycle.order.clone(),
                operations: own,
                refunds: lifecycle.refunds.clone(),
                disputes: Vec::new(),
                balances: lifecycle.balances(),
                unbalanced: lifecycle.unbalanced.clone(),
            })));
        }
        for (number, entry) in (1..).zip(&mut journal) {
            entry.number = number;
        }
        Self { orders, operations, journal: Mutex::new(journal), later: Mutex::default() }
    }
}

#[async_trait]
impl AuditStore for AuditFixture {
    async fn audit_orders(&self, after: Option<OrderId>, limit: u32) -> Result<Vec<AuditedOrder>, StoreError> {
        let behind = self.orders.iter().filter(|order| after.is_none_or(|after| after < order.id()));
        if behind.clone().count() < limit as usize {
            // Whatever is read here was at the processor before.
            self.journal.lock().unwrap().append(&mut self.later.lock().unwrap());
        }
        Ok(behind.take(limit as usize).cloned().collect())
    }

    async fn find_operations(&self, ids: Vec<OpId>) -> Result<Vec<PositionedOperation>, StoreError> {
        assert!(ids.len() <= 1_000);
        Ok(self.operations.iter().filter(|placed| ids.contains(&placed.operation.id)).cloned().collect())
    }

    async fn find_audit_trail(&self, _id: OrderId) -> Result<Option<OrderAuditTrail>, StoreError> {
        panic!("an audit reads pages")
    }

    async fn count_stuck_operations(&self, _since: Timestamp) -> Result<u64, StoreError> {
        panic!("an audit sees them")
    }

    async fn list_merchant_ids(&self, _after: Option<MerchantId>, _limit: u32) -> Result<Vec<MerchantId>, StoreError> {
        panic!("no cards are compared here")
    }

    async fn trace_credentials(&self, _opened_by: Vec<OpId>) -> Result<Vec<CredentialTrace>, StoreError> {
        panic!("no cards are compared here")
    }
}

#[async_trait]
impl ProcessorJournal for AuditFixture {
    async fn journal(&self, after: u64, limit: u32) -> Result<Vec<JournalEntry>, JournalUnavailable> {
        let journal = self.journal.lock().unwrap();
        Ok(journal.iter().filter(|entry| after < entry.number).take(limit as usize).cloned().collect())
    }
}

pub(super) struct At(pub(super) Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }
}
