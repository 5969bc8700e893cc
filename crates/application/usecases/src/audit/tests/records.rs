//! A processor's lists against Orders: what fits is silent, each difference is named once, what moves is left out.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{OpId, Timestamp};
use dropin_money::Amount;
use dropin_order::{OpKind, OpState};
use dropin_ports::{
    ProcessorRecord, ProcessorRecordPage, ProcessorRecords, ProcessorRecordsUnavailable, RecordList, RecordSpan,
    RecordedMoney,
};

use super::lifecycles::{At, AuditFixture, NOW, OrderLifecycle, fresh, usd};
use super::{AuditError, Disagreement, Report};
use crate::audit::RecordAudit;

const MINUTE: Duration = Duration::from_secs(60);

/// What a processor's lists have.
#[derive(Default, Clone)]
struct Lists {
    payments: Vec<ProcessorRecord>,
    refunds: Vec<ProcessorRecord>,
    is_away: bool,
}

#[async_trait]
impl ProcessorRecords for Lists {
    async fn list_records(
        &self,
        list: RecordList,
        span: RecordSpan,
        next: Option<&str>,
    ) -> Result<ProcessorRecordPage, ProcessorRecordsUnavailable> {
        if self.is_away {
            return Err(ProcessorRecordsUnavailable("nobody listens".to_owned()));
        }
        let all = match list {
            RecordList::Payments => &self.payments,
            RecordList::Refunds => &self.refunds,
        };
        let begin: usize = next.map_or(0, |next| next.parse().unwrap());
        let in_span = all.iter().filter(|record| (span.from..span.until).contains(&record.created_at));
        // Pages of one.
        let records: Vec<_> = in_span.clone().skip(begin).take(1).cloned().collect();
        let next = (begin + 1 < in_span.count()).then(|| (begin + 1).to_string());
        Ok(ProcessorRecordPage { records, next })
    }
}

impl Lists {
    /// What a processor has that did as it was asked.
    fn add(&mut self, lifecycle: &OrderLifecycle) {
        let order = &lifecycle.order;
        let captured = *order.amounts.captured();
        for operation in lifecycle.operations.iter().filter(|operation| operation.state == OpState::Approved) {
            let is_voided = lifecycle.operations.iter().any(|one| one.kind == OpKind::Void);
            let (list, money) = match operation.kind {
                OpKind::Authorize if is_voided => (&mut self.payments, RecordedMoney::None),
                OpKind::Authorize if captured.is_zero() => {
                    (&mut self.payments, RecordedMoney::Reserved(operation.amount))
                }
                OpKind::Authorize => (&mut self.payments, RecordedMoney::Captured(captured)),
                OpKind::Refund => (&mut self.refunds, RecordedMoney::Refunded(operation.amount)),
                OpKind::Capture | OpKind::Void => continue,
            };
            list.push(ProcessorRecord { order: Some(order.id), ..record(Some(operation.id), money) });
        }
    }
}

fn record(operation: Option<OpId>, money: RecordedMoney) -> ProcessorRecord {
    ProcessorRecord {
        reference: "pi_1".to_owned(),
        created_at: NOW,
        operation,
        order: None,
        merchant: None,
        merchant_reference: None,
        payment_method: None,
        capture: None,
        money,
    }
}

async fn verify(lifecycles: &[OrderLifecycle], lists: &Lists) -> Result<Report, AuditError> {
    verify_at(NOW.plus(MINUTE), lifecycles, lists).await
}

async fn verify_at(now: Timestamp, lifecycles: &[OrderLifecycle], lists: &Lists) -> Result<Report, AuditError> {
    let audit = RecordAudit {
        store: Arc::new(AuditFixture::of(lifecycles)),
        records: Arc::new(lists.clone()),
        processor: "stripe".parse().unwrap(),
        is_main: true,
        clock: Arc::new(At(now)),
    };
    audit.verify(RecordSpan { from: NOW, until: NOW.plus(MINUTE) }).await
}

async fn found(lifecycles: &[OrderLifecycle], lists: &Lists) -> Vec<Disagreement> {
    verify(lifecycles, lists).await.unwrap().findings.iter().map(|finding| finding.what).collect()
}

fn lives() -> Vec<OrderLifecycle> {
    vec![
        OrderLifecycle::authorized(usd(3_000)),
        OrderLifecycle::captured(3_000),
        OrderLifecycle::captured(1),
        OrderLifecycle::captured(3_000).refunded(500).refunded(700),
        OrderLifecycle::paid(),
        OrderLifecycle::authorized(usd(3_000)).voided(),
    ]
}

#[tokio::test]
async fn lists_of_a_processor_that_did_as_it_was_asked_fit() {
    let (lives, mut lists) = (lives(), Lists::default());
    lives.iter().for_each(|life| lists.add(life));
    let report = verify(&lives, &lists).await.unwrap();
    assert_eq!((report.findings, report.orders, report.journal_entries), (vec![], 6, Some(8)));
    // Of another processor's Orders nothing is expected.
    let mut elsewhere = OrderLifecycle::captured(3_000);
    elsewhere.operations.iter_mut().for_each(|operation| operation.processor = "other".parse().ok());
    let report = verify(&[elsewhere], &Lists::default()).await.unwrap();
    assert_eq!((report.found, report.orders), (0, 0));
}

#[tokio::test]
async fn each_difference_to_a_processors_lists_is_named() {
    let authorized = || OrderLifecycle::authorized(usd(3_000));
    let refunded = || OrderLifecycle::captured(3_000).refunded(500);
    let declined = {
        let mut life = authorized();
        life.operations[0].state = OpState::Declined;
        life
    };
    let payment = |life: OrderLifecycle, money: RecordedMoney, expected: &[Disagreement]| {
        let mut lists = Lists::default();
        lists.add(&life);
        lists.payments = vec![record(Some(life.operations[0].id), money)];
        (life, lists, expected.to_vec())
    };
    let refund = |money: Option<RecordedMoney>, expected: &[Disagreement]| {
        let (life, mut lists) = (refunded(), Lists::default());
        lists.add(&life);
        let key = life.operations.iter().find(|operation| operation.kind == OpKind::Refund).unwrap().id;
        lists.refunds = money.map(|money| record(Some(key), money)).into_iter().collect();
        (life, lists, expected.to_vec())
    };
    let taken = |minor: i64| RecordedMoney::Captured(usd(minor));
    let reserved = || RecordedMoney::Reserved(usd(3_000));
    use Disagreement::{Mismatch, MissingLocally, NotAtProcessor, UnexplainedMoney};
    for (life, lists, expected) in [
        payment(OrderLifecycle::captured(3_000), taken(2_999), &[Mismatch]),
        payment(OrderLifecycle::captured(3_000), reserved(), &[Mismatch]),
        payment(OrderLifecycle::captured(3_000), RecordedMoney::None, &[NotAtProcessor]),
        payment(authorized(), RecordedMoney::None, &[NotAtProcessor]),
        payment(authorized(), taken(3_000), &[Mismatch]),
        payment(authorized().voided(), reserved(), &[UnexplainedMoney]),
        payment(declined.clone(), reserved(), &[MissingLocally]),
        payment(declined, RecordedMoney::None, &[]),
        payment(authorized(), RecordedMoney::Open, &[]),
        refund(None, &[NotAtProcessor]),
        refund(Some(RecordedMoney::None), &[NotAtProcessor]),
        refund(Some(RecordedMoney::Refunded(usd(499))), &[Mismatch]),
        refund(Some(RecordedMoney::Open), &[]),
    ] {
        assert_eq!(
            found(std::slice::from_ref(&life), &lists).await,
            expected,
            "{:?} {:?}",
            lists.payments,
            lists.refunds
        );
    }
    assert_eq!(found(&[authorized()], &Lists::default()).await, [NotAtProcessor]);
}

#[tokio::test]
async fn a_second_payment_of_one_operation_is_named_and_one_that_came_to_nothing_hides_none() {
    let (life, mut lists) = (OrderLifecycle::captured(3_000), Lists::default());
    lists.add(&life);
    let operation = Some(life.operations[0].id);
    let second = |money| ProcessorRecord { reference: "pi_2".to_owned(), ..record(operation, money) };
    for place in [0, 1] {
        let mut lists = lists.clone();
        lists.payments.insert(place, second(RecordedMoney::None));
        assert_eq!(found(std::slice::from_ref(&life), &lists).await, [], "{place}");
    }
    lists.payments.push(second(RecordedMoney::Captured(usd(3_000))));
    let report = verify(std::slice::from_ref(&life), &lists).await.unwrap();
    let [twice] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((twice.what, twice.operation), (Disagreement::UnexplainedMoney, operation));
    assert!(twice.words.contains("pi_1") && twice.words.contains("pi_2"), "{}", twice.words);
}

#[tokio::test]
async fn what_only_the_processor_has_is_named_with_all_that_it_says() {
    let (unknown, order) = (OpId::new(fresh()), OrderLifecycle::start().order);
    let told = |money| ProcessorRecord {
        order: Some(order.id),
        merchant: Some(order.merchant_id),
        ..record(Some(unknown), money)
    };
    let amount: Amount = usd(1_250);
    let by_hand = ProcessorRecord { reference: "re_9".to_owned(), ..record(None, RecordedMoney::Refunded(amount)) };
    let lists = Lists {
        payments: vec![
            told(RecordedMoney::Captured(amount)),
            // Outside the span, and nothing at all.
            ProcessorRecord {
                created_at: NOW.minus(MINUTE),
                ..record(Some(OpId::new(fresh())), RecordedMoney::Captured(amount))
            },
            record(Some(OpId::new(fresh())), RecordedMoney::None),
        ],
        refunds: vec![by_hand],
        is_away: false,
    };
    let report = verify(&[], &lists).await.unwrap();
    let [payment, refund] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(
        (payment.what, payment.order, payment.operation),
        (Disagreement::MissingLocally, Some(order.id), Some(unknown))
    );
    for part in ["stripe (pi_1)", &order.merchant_id.to_string(), "12.50 USD was captured", "backup"] {
        assert!(payment.words.contains(part), "{part}: {}", payment.words);
    }
    assert!(refund.words.contains("re_9") && refund.words.contains("by hand"), "{}", refund.words);
    let away = verify(&[], &Lists { is_away: true, ..Lists::default() }).await;
    assert!(matches!(away, Err(AuditError::Records(_))), "{away:?}");
}

#[tokio::test]
async fn what_moves_is_counted_and_not_compared() {
    let refunding = OrderLifecycle::captured(3_000).refunding(500);
    let report = verify(&[refunding], &Lists::default()).await.unwrap();
    assert_eq!((report.found, report.orders, report.open), (0, 1, 1));
    // It changed while the lists were read.
    let report = verify_at(NOW, &[OrderLifecycle::captured(3_000)], &Lists::default()).await.unwrap();
    assert_eq!((report.found, report.orders, report.open), (0, 1, 0));
}
