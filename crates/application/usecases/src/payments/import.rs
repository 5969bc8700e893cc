//! Taking up what a processor has done and this deployment does not know, after an old backup was put back (docs/SPECIFICATION.md#ledger-import).
//!
//! What is missing is written down as it was before the processor was asked, under the key that the processor knows, and then asked about like anything
//! whose outcome is open. So everything that follows from an outcome follows here, too, and nothing is asked for that could move money.

use std::sync::Arc;
use std::time::Duration;

use dropin_access::AuditAction;
use dropin_kernel::{MerchantId, OpId, OrderId, ProcessorId, RefundId, Timestamp};
use dropin_money::Amount;
use dropin_order::{
    CapturePlan, CaptureRefused, DeclineReason, NewOrder, OpKind, OpState, Operation, Order, OrderState, OrderTrigger,
    Refund, RefundState,
};
use dropin_ports::{
    AccessStore, Acting, AuditStore, AuthorizationPrepared, ChangeOrder, NewHistoryEntry, OperationQuery, OrderChanged,
    PrepareAuthorization, ProcessorRecord, ProcessorRecords, ProcessorRecordsUnavailable, ProcessorReply, RecordList,
    RecordSpan, RecordedMoney, StatusReply, StoreError, Subject,
};
use dropin_validation::Text;

use super::capture::change;
use super::decide::DecisionPolicy;
use super::{Asker, MAX_CAS_RETRIES, Payments, busy, corrupt, question};
use crate::audit::{BEFORE, known_keys, read_list};
use crate::audit_log::refund_document;

/// How long before a span a payment may have begun that was captured within it: longer than any scheme or method lets it wait.
const LONGEST_WAIT_FOR_CAPTURE: Duration = Duration::from_secs(31 * 24 * 60 * 60);
/// Something that a processor has done and that is not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRecord {
    /// What was asked for.
    pub kind: OpKind,
    /// The key under which it was.
    pub operation: OpId,
    /// The payment or the refund, as the processor's list has it.
    pub record: ProcessorRecord,
}

/// What a person says of a payment that its processor's list does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingNames {
    /// The merchant.
    pub merchant: Option<MerchantId>,
    /// The merchant's reference; goes before the list's, for one that is taken.
    pub reference: Option<String>,
    /// Id of the payment method in the catalogue; goes before the list's.
    pub method: Option<String>,
}

/// A member of [`MissingNames`] that is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingName {
    /// The merchant.
    Merchant,
    /// The merchant's reference.
    Reference,
    /// The payment method.
    Method,
}

/// Why something was not taken up. Nothing was written, and it can be tried again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportRefused {
    /// The processor's list does not say it, and nobody did.
    #[error("the processor's list does not say whose it is, or under which reference or method")]
    Unnamed(MissingName),
    /// The list does not say which Order it is of.
    #[error("the processor's list does not say of which Order it is")]
    NoOrder,
    /// The merchant is not here.
    #[error("there is no merchant {0} here: create it from a newer backup first")]
    NoMerchant(MerchantId),
    /// The Order of a capture or a refund is not here.
    #[error("there is no Order {0} here: take up its authorization first")]
    OrderMissing(OrderId),
    /// A Session, an Order or a contract of the merchant has the reference.
    #[error("the merchant's reference {0} is taken here")]
    ReferenceTaken(String),
    /// The processor has not decided it.
    #[error("the processor has not decided it yet")]
    Undecided,
    /// Asked about the key, the processor says that it holds or moved no money under it, or another amount.
    #[error("asked about it, the processor says that it did nothing, or another amount")]
    NothingHeld,
    /// The Order of a capture or a refund is another merchant's here, or was paid at another processor.
    #[error("the Order {0} is another merchant's here, or was paid at another processor")]
    NotItsOrder(OrderId),
    /// Something else of the Order is on its way.
    #[error("something else of the Order is on its way here")]
    InFlight,
    /// The Order's authorization is open here, and a capture follows it that is not the one to take up: of another amount, or before a refund.
    #[error(
        "the Order's authorization is open here, and its whole amount is captured as soon as it is known: this is no such capture"
    )]
    CaptureFollows,
    /// The Order waits for a review.
    #[error("the Order is under review here")]
    UnderReview,
    /// The Order has a refund of that reference.
    #[error("the Order has a refund {0} here")]
    RefundTaken(String),
    /// The processor does not answer.
    #[error("the processor did not say what became of it: {0}")]
    Unanswered(String),
    /// The Order is in a state that has no place for it.
    #[error("the Order is {} here", .0.as_str())]
    WrongState(OrderState),
    /// It is more than is left of the Order's money.
    #[error("{0} {currency} is more than is left of the Order here", currency = .0.currency())]
    Exceeds(Amount),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why what is missing cannot be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingUnknown {
    /// Ours cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The processor's cannot be read.
    #[error(transparent)]
    Records(#[from] ProcessorRecordsUnavailable),
}

/// Takes up what a processor has and this deployment does not know.
#[derive(Clone)]
pub struct RecordImport {
    /// Orders, and the processors.
    pub payments: Payments,
    /// Tells which keys are known.
    pub audit: Arc<dyn AuditStore>,
    /// Tells which merchants there are.
    pub access: Arc<dyn AccessStore>,
    /// The processor's lists.
    pub records: Arc<dyn ProcessorRecords>,
    /// The processor.
    pub processor: ProcessorId,
}

impl RecordImport {
    /// What the processor did in the span, or has not decided, and is not here: in the order in which it can be taken up. Its lists tell when a payment
    /// began and not when it was captured, so a capture counts whose payment began up to 31 days before the span.
    ///
    /// # Errors
    /// [`MissingUnknown`].
    pub async fn find_missing(&self, span: RecordSpan) -> Result<Vec<MissingRecord>, MissingUnknown> {
        let mut all = Vec::new();
        let begun = RecordSpan { from: span.from.minus(BEFORE), until: span.until };
        let earlier = RecordSpan { from: span.from.minus(LONGEST_WAIT_FOR_CAPTURE), until: span.until };
        for (list, kind, read) in
            [(RecordList::Payments, OpKind::Authorize, earlier), (RecordList::Refunds, OpKind::Refund, begun)]
        {
            for record in read_list(&*self.records, list, read).await? {
                // Of a list by whole seconds, what lies beside them.
                if !(read.from..read.until).contains(&record.created_at) {
                    continue;
                }
                let is_nothing = record.money == RecordedMoney::None;
                let Some(operation) = record.operation.filter(|_| !is_nothing) else { continue };
                let capture = record.capture.filter(|_| kind == OpKind::Authorize);
                if begun.from <= record.created_at {
                    all.push(MissingRecord { kind, operation, record: record.clone() });
                }
                all.extend(capture.map(|operation| MissingRecord { kind: OpKind::Capture, operation, record }));
            }
        }
        let known = known_keys(&*self.audit, &all.iter().map(|one| one.operation).collect::<Vec<_>>()).await?;
        all.retain(|one| !known.contains(&one.operation));
        Ok(all)
    }

    /// Takes one up; the Order as it stands then. While its outcome cannot be learned, the settler asks on.
    ///
    /// # Errors
    /// [`ImportRefused`].
    pub async fn take_up(
        &self,
        missing: &MissingRecord,
        names: &MissingNames,
        by: &Acting,
    ) -> Result<Order, ImportRefused> {
        if missing.record.money == RecordedMoney::Open {
            return Err(ImportRefused::Undecided);
        }
        let id = missing.record.order.ok_or(ImportRefused::NoOrder)?;
        if missing.kind == OpKind::Authorize {
            self.begin_order(id, missing, names, by).await?;
        } else {
            self.begin_operation(id, missing, by).await?;
        }
        self.payments.poll_processor(missing.operation).await?;
        let found = self.payments.store.find_order_anywhere(id).await?;
        found.map(|(order, _session)| order).ok_or_else(|| corrupt("an Order that was just written is gone").into())
    }

    /// Writes the Order of an authorization down, under the merchant's reference, so that nothing is charged under that again.
    async fn begin_order(
        &self,
        id: OrderId,
        missing: &MissingRecord,
        names: &MissingNames,
        by: &Acting,
    ) -> Result<(), ImportRefused> {
        let MissingRecord { operation: key, record, .. } = missing;
        let unnamed = ImportRefused::Unnamed;
        let merchant_id = record.merchant.or(names.merchant).ok_or(unnamed(MissingName::Merchant))?;
        let merchant_reference = names.reference.as_ref().or(record.merchant_reference.as_ref());
        let merchant_reference = merchant_reference.and_then(|named| Text::parse("MerchantReference", named).ok());
        let merchant_reference = merchant_reference.ok_or(unnamed(MissingName::Reference))?.into_string();
        let payment_method = names.method.as_ref().or(record.payment_method.as_ref());
        let payment_method = payment_method.filter(|method| self.payments.catalogue.method(method).is_some());
        let payment_method = payment_method.ok_or(unnamed(MissingName::Method))?.clone();
        if self.access.find_merchant(merchant_id).await?.is_none() {
            return Err(ImportRefused::NoMerchant(merchant_id));
        }
        let total = self.reserved(*key, merchant_id, record).await?;
        let now = self.payments.clock.now();
        let new = NewOrder {
            id,
            merchant_id,
            session_id: None,
            attempt_id: None,
            merchant_reference: merchant_reference.clone(),
            total,
            auto_capture: false,
            payment_method,
            return_url: None,
        };
        // Of now: how long it may wait for its capture is counted from then, and what was captured meanwhile must not be over when it is taken up.
        let order = Order::start(new, now);
        let operation = Operation::authorize(*key, id, total, record.created_at, now.plus(self.payments.timing.lease));
        let operation = operation.at_processor(Some(self.processor.clone()));
        let operation = match record.reference.parse() {
            Ok(reference) => operation.known_as(reference),
            Err(_none_that_could_be_asked_by) => operation,
        };
        let history = NewHistoryEntry {
            merchant_id,
            subject: Subject::Order(id),
            actor: by.actor.clone(),
            what: OrderTrigger::Start.as_str(),
            at: now,
            before: None,
            after: order.state.as_str(),
        };
        let audit = self.payments.order_entry(by, AuditAction::OrderImport, &order);
        let prepare = PrepareAuthorization {
            session: None,
            checkout: None,
            contract: None,
            operation,
            stash: None,
            now,
            history: vec![history],
            key_use: None,
            audit: Some(audit),
            order,
        };
        match self.payments.store.prepare_authorization(prepare).await? {
            AuthorizationPrepared::Done(_no_card) => Ok(()),
            AuthorizationPrepared::DuplicateReference => Err(ImportRefused::ReferenceTaken(merchant_reference)),
            _ => Err(corrupt("an Order without Session, contract and card was not written").into()),
        }
    }

    /// How much the processor says was approved under the key: what a list says may be the rest of it.
    async fn reserved(
        &self,
        key: OpId,
        merchant_id: MerchantId,
        record: &ProcessorRecord,
    ) -> Result<Amount, ImportRefused> {
        let question = OperationQuery {
            key,
            processor: Some(self.processor.clone()),
            merchant_id,
            kind: OpKind::Authorize,
            reference: record.reference.parse().ok(),
        };
        self.approved(question).await
    }

    /// How much was approved, as the processor says when it is asked.
    async fn approved(&self, question: OperationQuery) -> Result<Amount, ImportRefused> {
        match self.payments.processor.status(question).await {
            StatusReply::Known(ProcessorReply::Approved { amount: Some(amount), .. }) if !amount.is_zero() => {
                Ok(amount)
            }
            StatusReply::Known(ProcessorReply::Unknown { why }) | StatusReply::Unreachable { why } => {
                Err(ImportRefused::Unanswered(why))
            }
            StatusReply::Known(ProcessorReply::Pending(_)) => Err(ImportRefused::Undecided),
            StatusReply::Known(_) | StatusReply::Absent => Err(ImportRefused::NothingHeld),
        }
    }

    /// Writes a capture or a refund down of an Order that is here.
    async fn begin_operation(&self, id: OrderId, missing: &MissingRecord, by: &Acting) -> Result<(), ImportRefused> {
        let amount = *missing.record.money.amount().ok_or(ImportRefused::NothingHeld)?;
        for round in 0..MAX_CAS_RETRIES {
            self.payments.backoff(round).await;
            let found = self.payments.store.find_order_anywhere(id).await?;
            let (order, _session) = found.ok_or(ImportRefused::OrderMissing(id))?;
            let authorization = self.payments.authorization_of(&order).await?;
            let is_of_merchant = missing.record.merchant.is_none_or(|merchant| merchant == order.merchant_id);
            let is_of_processor = authorization.processor.as_ref().is_none_or(|processor| *processor == self.processor);
            if !(is_of_merchant && is_of_processor) {
                return Err(ImportRefused::NotItsOrder(id));
            }
            if authorization.state.is_open() {
                // Of what is not authorized here yet, all will be captured.
                let due = order.capture_due().map(|due| if due.is_zero() { order.total } else { due });
                match due {
                    // Written down by a run that was killed, or that heard nothing.
                    None => drop(self.payments.poll_processor(authorization.id).await?),
                    Some(due) if missing.kind == OpKind::Capture && due == amount => {
                        self.settle_with_capture(&order, &authorization, missing.operation, &due, by).await?;
                    }
                    Some(_due) => return Err(ImportRefused::CaptureFollows),
                }
                continue;
            }
            if authorization.state != OpState::Approved {
                return Err(ImportRefused::WrongState(order.state));
            }
            if self.payments.store.find_payment(missing.operation).await?.is_some() {
                return Ok(());
            }
            let open = self.open_capture(&order).await?.filter(|_| missing.kind == OpKind::Capture);
            if let Some(open) = open {
                self.replace_capture(&order, &open, missing.operation, &amount, by).await?;
                continue;
            }
            let change = match missing.kind {
                OpKind::Capture => self.capture(&order, &authorization, missing.operation, &amount, by)?,
                OpKind::Refund => self.refund(&order, &authorization, missing, &amount, by)?,
                OpKind::Authorize | OpKind::Void => return Err(corrupt("it is neither a capture nor a refund").into()),
            };
            // What it never did would be asked for again where the outcome is looked for.
            if let Some(operation) = &change.operation
                && self.approved(question(order.merchant_id, operation)).await? != amount
            {
                return Err(ImportRefused::NothingHeld);
            }
            match self.payments.store.change_order(change).await? {
                OrderChanged::Done => return Ok(()),
                OrderChanged::Stale => {}
                OrderChanged::DuplicateRefund => {
                    return Err(ImportRefused::RefundTaken(missing.record.reference.clone()));
                }
                OrderChanged::KeyTaken => return Err(corrupt("what is taken up carries no request's key").into()),
            }
        }
        Err(busy("taken up").into())
    }

    /// Learns the outcome of an authorization whose capture follows by itself, and writes that capture down under the key under which the processor made
    /// it: it is asked about, and asked for by nobody.
    async fn settle_with_capture(
        &self,
        order: &Order,
        authorization: &Operation,
        key: OpId,
        due: &Amount,
        by: &Acting,
    ) -> Result<(), ImportRefused> {
        let now = self.payments.clock.now();
        let capture = authorization.capture(key, *due, now, now);
        if self.approved(question(order.merchant_id, &capture)).await? != *due {
            return Err(ImportRefused::NothingHeld);
        }
        self.approved(question(order.merchant_id, authorization)).await?;
        let policy = DecisionPolicy { capture_key: Some(key), ..DecisionPolicy::of(Asker::Nobody) };
        let entry = self.payments.order_entry(by, AuditAction::OrderImport, order);
        self.payments.poll_as(authorization.id, policy, Some(entry)).await?;
        Ok(())
    }

    /// The capture of an Order whose outcome is open.
    async fn open_capture(&self, order: &Order) -> Result<Option<Operation>, StoreError> {
        if order.amounts.capture_pending().is_zero() {
            return Ok(None);
        }
        let operations = self.payments.store.list_operations(order.id).await?;
        Ok(operations.into_iter().find(|one| one.kind == OpKind::Capture && one.state.is_open()))
    }

    /// Ends a capture that is open here for one that the processor made: an authorization is captured once, so it never makes the open one. That of the
    /// same amount goes on under the key under which it was made. So does one of an Order whose capture was promised, or follows by itself: an amount
    /// that differs from what is owed is for a review. Of another amount, any other Order may be captured again, and is by the next round.
    async fn replace_capture(
        &self,
        order: &Order,
        open: &Operation,
        key: OpId,
        amount: &Amount,
        by: &Acting,
    ) -> Result<(), ImportRefused> {
        let made = Operation { id: key, amount: *amount, ..open.clone() };
        if self.approved(question(order.merchant_id, &made)).await? != *amount {
            return Err(ImportRefused::NothingHeld);
        }
        let is_owed = order.state != OrderState::PaymentAuthorized || order.capture_due().is_some();
        let policy = if open.amount == *amount || is_owed {
            DecisionPolicy { capture_key: Some(key), ..DecisionPolicy::of(Asker::Nobody) }
        } else {
            DecisionPolicy::of(Asker::Waiting)
        };
        let entry = self.payments.order_entry(by, AuditAction::OrderImport, order);
        let refused = ProcessorReply::Declined { reason: DeclineReason::NeverSent, retryable: true, credential: None };
        self.payments.conclude_from(open.id, None, refused, policy, Some(entry)).await?;
        Ok(())
    }

    fn capture(
        &self,
        order: &Order,
        authorization: &Operation,
        key: OpId,
        amount: &Amount,
        by: &Acting,
    ) -> Result<ChangeOrder, ImportRefused> {
        let now = self.payments.clock.now();
        let plan = match order.plan_capture(Some(amount), now) {
            // It was taken in time: that the Order has lapsed here since does not undo it.
            Err(CaptureRefused::WrongState { .. }) if is_only_lapsed(order, now) => order
                .request_capture(amount, now)
                .map(|step| CapturePlan::Ask { step: Box::new(step), amount: *amount }),
            plan => plan,
        };
        let (step, amount) = match plan {
            Ok(CapturePlan::Ask { step, amount }) => (step, amount),
            Ok(CapturePlan::InFlight(_)) => return Err(ImportRefused::InFlight),
            Err(CaptureRefused::AmountOutOfRange) => return Err(ImportRefused::Exceeds(*amount)),
            Ok(CapturePlan::UnderReview(_)) => return Err(ImportRefused::UnderReview),
            Ok(CapturePlan::AlreadyCaptured) | Err(_) => return Err(ImportRefused::WrongState(order.state)),
        };
        let operation = authorization.capture(key, amount, now, now.plus(self.payments.timing.lease));
        let change = change(order, &by.actor, *step, Some(operation), None);
        Ok(self.payments.audited(change, by, AuditAction::OrderImport, order))
    }

    /// Its RefundReference is the processor's own id of it: what the merchant called it is not known any more.
    fn refund(
        &self,
        order: &Order,
        authorization: &Operation,
        missing: &MissingRecord,
        amount: &Amount,
        by: &Acting,
    ) -> Result<ChangeOrder, ImportRefused> {
        let now = self.payments.clock.now();
        if !order.amounts.capture_pending().is_zero() {
            return Err(ImportRefused::InFlight);
        }
        if order.state != OrderState::Processed {
            return Err(ImportRefused::WrongState(order.state));
        }
        let (step, amount) =
            order.plan_refund(Some(amount), now).map_err(|_more_than_left| ImportRefused::Exceeds(*amount))?;
        let refund = Refund {
            id: RefundId::new(self.payments.ids.ordered()),
            order_id: order.id,
            merchant_id: order.merchant_id,
            reference: missing.record.reference.clone(),
            amount,
            settlement: None,
            description: None,
            state: RefundState::InProgress,
            created_at: missing.record.created_at,
            updated_at: now,
        };
        let due_at = now.plus(self.payments.timing.lease);
        let operation = authorization.refund(missing.operation, refund.id, amount, now, due_at);
        let mut change = change(order, &by.actor, step, Some(operation), None);
        let after = refund_document(&change.order.next, &refund).finish();
        change.refund = Some(refund);
        let entry = self.payments.order_entry(by, AuditAction::OrderImport, order);
        change.audit = Some(entry.with_after(after));
        Ok(change)
    }
}

/// Whether nothing but the end of its capture window keeps an Order from being captured.
fn is_only_lapsed(order: &Order, now: Timestamp) -> bool {
    order.state == OrderState::PaymentAuthorized
        && order.voiding.is_none()
        && !order.under_review
        && order.amounts.capture_pending().is_zero()
        && order.has_lapsed(now)
}
