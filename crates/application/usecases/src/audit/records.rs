//! A processor's own lists of payments and refunds against our Orders, for a span of time.
//!
//! The lists are read first, then every Order. An Order that changed since, or has an operation whose outcome is open, is counted and not compared.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{OpId, ProcessorId, Timestamp};
use dropin_order::{OpKind, OpState, Operation, OrderState};
use dropin_ports::{
    AuditStore, AuditedOrder, Clock, OrderRecords, ProcessorRecord, ProcessorRecords, ProcessorRecordsUnavailable,
    RecordList, RecordSpan, RecordedMoney, StoreError,
};

use super::report::{Disagreement, Finding, Report};
use super::rules::money;
use super::{AuditError, PAGE, corrupt_row};

/// How long before the span the lists are read: by another clock.
pub(crate) const BEFORE: Duration = Duration::from_secs(60 * 60);
/// How long behind the span: an operation is written down before it is asked for, and asked for again while the processor is away.
const BEHIND: Duration = Duration::from_secs(25 * 60 * 60);
/// Keys that are looked up at once.
const MAX_KEYS: usize = 1_000;

/// A whole list.
pub(crate) async fn read_list(
    records: &dyn ProcessorRecords,
    list: RecordList,
    span: RecordSpan,
) -> Result<Vec<ProcessorRecord>, ProcessorRecordsUnavailable> {
    let (mut all, mut next) = (Vec::new(), None::<String>);
    loop {
        let page = records.list_records(list, span, next.as_deref()).await?;
        all.extend(page.records);
        if page.next.is_some() && page.next == next {
            return Err(ProcessorRecordsUnavailable("its pages do not go forward".to_owned()));
        }
        next = page.next;
        if next.is_none() {
            return Ok(all);
        }
    }
}

/// Which of these operations are here.
pub(crate) async fn known_keys(store: &dyn AuditStore, keys: &[OpId]) -> Result<BTreeSet<OpId>, StoreError> {
    let mut known = BTreeSet::new();
    for some in keys.chunks(MAX_KEYS) {
        known.extend(store.find_operations(some.to_vec()).await?.into_iter().map(|placed| placed.operation.id));
    }
    Ok(known)
}

/// Compares our Orders with a processor's lists.
#[derive(Clone)]
pub struct RecordAudit {
    /// Our store.
    pub store: Arc<dyn AuditStore>,
    /// The processor's lists.
    pub records: Arc<dyn ProcessorRecords>,
    /// The processor.
    pub processor: ProcessorId,
    /// Whether it is the deployment's main one, which operations of before processors were named are of.
    pub is_main: bool,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// What the lists have, by our keys.
#[derive(Default)]
struct Listed {
    known: BTreeMap<OpId, ProcessorRecord>,
    /// Refunds that nobody here asked for.
    by_hand: Vec<ProcessorRecord>,
}

impl RecordAudit {
    /// Reads what was created in the span, and reports every disagreement.
    ///
    /// # Errors
    /// [`AuditError`]: nothing is known then.
    pub async fn verify(&self, span: RecordSpan) -> Result<Report, AuditError> {
        let (began, mut report) = (self.clock.now(), Report::default());
        let mut listed = self.read_lists(span, &mut report).await?;
        let mut after = None;
        loop {
            let page = self.store.audit_orders(after, PAGE).await?;
            for order in &page {
                match order {
                    AuditedOrder::Readable(audited) => {
                        self.compare(audited, &mut listed, (span, began), &mut report);
                    }
                    AuditedOrder::Corrupt { id, table, what } => report.add(corrupt_row(*id, table, what)),
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE as usize => after = Some(last.id()),
                _ => break,
            }
        }
        self.report_unknown(listed, span, &mut report).await?;
        Ok(report)
    }

    async fn read_lists(&self, span: RecordSpan, report: &mut Report) -> Result<Listed, AuditError> {
        let around = RecordSpan { from: span.from.minus(BEFORE), until: span.until.plus(BEHIND) };
        let (mut listed, mut read) = (Listed::default(), 0);
        for list in [RecordList::Payments, RecordList::Refunds] {
            for record in read_list(&*self.records, list, around).await? {
                read += 1;
                match record.operation {
                    Some(operation) => {
                        if let Some(twice) = self.keep(&mut listed, operation, record, span) {
                            report.add(twice);
                        }
                    }
                    None => listed.by_hand.push(record),
                }
            }
        }
        report.journal_entries = Some(read);
        Ok(listed)
    }

    /// Keeps what the processor has of an operation. Of two, the one with money; two with money in the span are a finding.
    fn keep(&self, listed: &mut Listed, operation: OpId, record: ProcessorRecord, span: RecordSpan) -> Option<Finding> {
        let mut place = match listed.known.entry(operation) {
            Entry::Vacant(place) => {
                place.insert(record);
                return None;
            }
            Entry::Occupied(place) => place,
        };
        let kept = place.get();
        let is_meant = |one: &ProcessorRecord| (span.from..span.until).contains(&one.created_at);
        let twice = match (kept.money.amount(), record.money.amount()) {
            (Some(first), Some(second))
                if kept.reference != record.reference && (is_meant(kept) || is_meant(&record)) =>
            {
                let (processor, first, second) = (&self.processor, money(first), money(second));
                let words = format!(
                    "at {processor}: {first} ({}) and {second} ({}) for one operation. Void or refund one of them there, when the shopper paid twice",
                    kept.reference, record.reference
                );
                let order = kept.order.or(record.order);
                Some(Finding { what: Disagreement::UnexplainedMoney, order, operation: Some(operation), words })
            }
            _ => None,
        };
        if weight(kept) < weight(&record) {
            place.insert(record);
        }
        twice
    }

    fn is_asked(&self, operation: &Operation) -> bool {
        match &operation.processor {
            Some(processor) => *processor == self.processor,
            None => self.is_main,
        }
    }

    fn compare(
        &self,
        audited: &OrderRecords,
        listed: &mut Listed,
        (span, began): (RecordSpan, Timestamp),
        report: &mut Report,
    ) {
        let operations = audited.operations.iter().map(|placed| &placed.operation);
        let asked = operations.filter(|operation| self.is_asked(operation));
        let asked: Vec<_> = asked.filter(|one| matches!(one.kind, OpKind::Authorize | OpKind::Refund)).collect();
        let is_meant = |one: &&Operation| (span.from..span.until).contains(&one.created_at);
        if !asked.iter().any(|one| is_meant(one) || listed.known.contains_key(&one.id)) {
            return;
        }
        report.orders += 1;
        let open = audited.operations.iter().filter(|placed| placed.operation.state.is_open()).count() as u64;
        let is_moving = 0 < open || began <= audited.order.updated_at;
        report.open += open;
        for operation in asked {
            let record = listed.known.remove(&operation.id);
            if record.is_none() && !is_meant(&operation) {
                continue;
            }
            report.operations += 1;
            if is_moving {
                continue;
            }
            let found = match operation.kind {
                OpKind::Authorize => of_payment(audited, operation, record.as_ref()),
                _ => of_refund(audited, operation, record.as_ref()),
            };
            if let Some((what, words)) = found {
                let reference = record.map(|record| format!(" ({})", record.reference)).unwrap_or_default();
                let (processor, merchant) = (&self.processor, audited.order.merchant_id);
                let words = format!("at {processor}{reference}, merchant {merchant}: {words}");
                report.add(Finding { what, order: Some(audited.order.id), operation: Some(operation.id), words });
            }
        }
    }

    /// What the processor has and nobody here asked for.
    async fn report_unknown(&self, listed: Listed, span: RecordSpan, report: &mut Report) -> Result<(), AuditError> {
        let is_meant = |record: &ProcessorRecord| {
            (span.from..span.until).contains(&record.created_at) && record.money.amount().is_some()
        };
        let left: Vec<_> = listed.known.into_iter().filter(|(_, record)| is_meant(record)).collect();
        // One that was begun while the Orders were read is here.
        let known = known_keys(&*self.store, &left.iter().map(|(key, _)| *key).collect::<Vec<_>>()).await?;
        for (_, record) in left.iter().filter(|(key, _)| !known.contains(key)) {
            let why = "and nothing here asked for it. Was the database restored from a backup? `dropin ledger import` takes it up";
            report.add(self.unknown(record, why));
        }
        for record in listed.by_hand.iter().filter(|record| is_meant(record)) {
            let why = "and nobody here asked for it: it was made by hand. Refund so much less of that Order here";
            report.add(self.unknown(record, why));
        }
        Ok(())
    }

    fn unknown(&self, record: &ProcessorRecord, why: &str) -> Finding {
        let ProcessorRecord { reference, created_at, operation, order, merchant, money: done, .. } = record;
        let amount = done.amount().map(money).unwrap_or_default();
        let merchant = merchant.map(|merchant| format!(", merchant {merchant}")).unwrap_or_default();
        let words =
            format!("at {} ({reference}){merchant}: {amount} {} of {created_at}, {why}", self.processor, did(done));
        Finding { what: Disagreement::MissingLocally, order: *order, operation: *operation, words }
    }
}

/// How much a record says: one that came to nothing hides no other.
const fn weight(record: &ProcessorRecord) -> u8 {
    match record.money {
        RecordedMoney::Reserved(_) | RecordedMoney::Captured(_) | RecordedMoney::Refunded(_) => 2,
        RecordedMoney::Open => 1,
        RecordedMoney::None => 0,
    }
}

const fn did(money: &RecordedMoney) -> &'static str {
    match money {
        RecordedMoney::Reserved(_) => "is reserved",
        RecordedMoney::Captured(_) => "was captured",
        RecordedMoney::Refunded(_) => "was refunded",
        RecordedMoney::None => "is nothing",
        RecordedMoney::Open => "is open",
    }
}

type Found = Option<(Disagreement, String)>;

fn of_payment(audited: &OrderRecords, operation: &Operation, record: Option<&ProcessorRecord>) -> Found {
    let order = &audited.order;
    let (captured, state) = (order.amounts.captured(), order.state.as_str());
    let ended = matches!(order.state, OrderState::ProcessingFailed | OrderState::Cancelled | OrderState::Declined);
    let is_alive = matches!(order.state, OrderState::PaymentAuthorized | OrderState::CommitAccepted);
    match (operation.state, record.map(|record| &record.money)) {
        // A verification charges nothing, and is in no list of payments.
        (OpState::Approved, None) if !operation.amount.is_zero() => {
            let asked = money(&operation.amount);
            let words =
                format!("{asked} is approved here, and its list knows of no such payment. Is it the right account?");
            Some((Disagreement::NotAtProcessor, words))
        }
        (OpState::Approved, Some(RecordedMoney::None)) if !captured.is_zero() || is_alive => {
            let words = format!(
                "the Order is {state} with {} captured, and nothing is held there. See what was done by hand",
                money(captured)
            );
            Some((Disagreement::NotAtProcessor, words))
        }
        (OpState::Approved, Some(RecordedMoney::Reserved(amount))) if !captured.is_zero() => {
            let (there, here) = (money(amount), money(captured));
            Some((
                Disagreement::Mismatch,
                format!("{there} is only reserved there, and {here} captured here. Capture it there"),
            ))
        }
        (OpState::Approved, Some(RecordedMoney::Reserved(amount))) if ended => {
            let there = money(amount);
            Some((
                Disagreement::UnexplainedMoney,
                format!("{there} is reserved there, and the Order is {state}. Void it there"),
            ))
        }
        // Of an Order whose life is over nothing counts as captured: it is refunded in full, or a refund of it is open.
        (OpState::Approved, Some(RecordedMoney::Captured(amount)))
            if amount != captured && !(ended && captured.is_zero()) =>
        {
            let (there, here) = (money(amount), money(captured));
            Some((
                Disagreement::Mismatch,
                format!("{there} was captured there, and {here} here. See what was done by hand"),
            ))
        }
        (OpState::Declined | OpState::Abandoned, Some(done)) if done.amount().is_some() => {
            let amount = done.amount().map(money).unwrap_or_default();
            let here = operation.state.as_str();
            let words = format!("{amount} {}, and here it is {here}. Void or refund it there", did(done));
            Some((Disagreement::MissingLocally, words))
        }
        _ => None,
    }
}

fn of_refund(audited: &OrderRecords, operation: &Operation, record: Option<&ProcessorRecord>) -> Found {
    let refund = audited.refunds.iter().find(|refund| operation.refund == Some(refund.id));
    let (reference, given) =
        refund.map_or(("", &operation.amount), |refund| (refund.reference.as_str(), &refund.amount));
    let here = money(given);
    match (operation.state, record.map(|record| &record.money)) {
        (OpState::Approved, None) => {
            let words = format!("its refund {reference} of {here} is approved here, and its list knows of none");
            Some((Disagreement::NotAtProcessor, words))
        }
        (OpState::Approved, Some(RecordedMoney::None)) => {
            let words = format!(
                "its refund {reference} of {here} succeeded, and failed afterwards there: the shopper does not have the money. Have the processor send its event of that again: it is FAILED here then, and can be refunded anew"
            );
            Some((Disagreement::NotAtProcessor, words))
        }
        (OpState::Approved, Some(RecordedMoney::Refunded(amount))) if amount != given => {
            Some((Disagreement::Mismatch, format!("{} was refunded there, and {here} here", money(amount))))
        }
        (OpState::Declined | OpState::Abandoned, Some(RecordedMoney::Refunded(amount))) => {
            let state = operation.state.as_str();
            let words = format!("{} was refunded there, and here the refund {reference} is {state}", money(amount));
            Some((Disagreement::MissingLocally, words))
        }
        _ => None,
    }
}
