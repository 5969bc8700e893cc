//! Taking up what a processor has done and this deployment does not know, after an old backup was put back (docs/SPECIFICATION.md#ledger-import).
//!
//! What is missing is written down as it was before the processor was asked, under the key that the processor knows, and then asked about like anything
//! whose outcome is open. So everything that follows from an outcome follows here, too, and nothing is asked for that could move money.

mod capture_or_refund;

use std::sync::Arc;
use std::time::Duration;

use dropin_access::AuditAction;
use dropin_kernel::{MerchantId, OpId, OrderId, ProcessorId};
use dropin_money::Amount;
use dropin_order::{NewOrder, OpKind, Operation, Order, OrderState, OrderTrigger};
use dropin_ports::{
    AccessStore, Acting, AuditStore, AuthorizationPrepared, NewHistoryEntry, OperationQuery, PrepareAuthorization,
    ProcessorRecord, ProcessorRecords, ProcessorRecordsUnavailable, ProcessorReply, RecordList, RecordSpan,
    RecordedMoney, StatusReply, StoreError, Subject,
};
use dropin_validation::Text;

use super::{Payments, corrupt};
use crate::audit::{BEFORE, known_keys, read_list};

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
}
