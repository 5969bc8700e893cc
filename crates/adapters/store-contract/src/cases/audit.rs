use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dropin_kernel::{MerchantId, OpId, OrderId, Timestamp};
use dropin_money::Currency;
use dropin_order::{Account, OpKind, OpState, STUCK_AFTER};
use dropin_ports::{
    AuditedOrder, AuthorizationPrepared, OrderChanged, OrderName, OrderRecords, Payment, PositionedOperation, Settled,
};

use crate::Harness;
use crate::harness::{capture, captured, outcome};
use crate::steps::{checkout, refunded, void};
use crate::values::{at, fresh, minor};

/// All Orders, read in pages of that size.
async fn pages(harness: &Harness, limit: u32) -> Vec<AuditedOrder> {
    let mut all = Vec::<AuditedOrder>::new();
    loop {
        let page = harness.audit.audit_orders(all.last().map(AuditedOrder::id), limit).await.unwrap();
        let ends = page.len() < limit as usize;
        all.extend(page);
        if ends {
            return all;
        }
    }
}

fn readable(order: AuditedOrder) -> OrderRecords {
    match order {
        AuditedOrder::Readable(records) => *records,
        AuditedOrder::Corrupt { .. } => panic!("{order:?}"),
    }
}

/// Minor units in an account, in US dollars.
fn balance(records: &OrderRecords, account: Account) -> i64 {
    let of = |balance: &&dropin_ports::Balance| balance.account == account && balance.currency == Currency::Usd;
    records.balances.iter().filter(of).map(|balance| balance.minor).sum()
}

/// One captured and refunded in part.
async fn returned(harness: &Harness, merchant: MerchantId) -> Payment {
    let payment = harness.processed(merchant).await;
    let given = harness.refunding(&payment, "return-1", Some(&minor(Currency::Usd, 990))).await;
    assert_eq!(harness.payments.settle(refunded(&given, true, at(41))).await, Ok(Settled::Done));
    let current = harness.payment(payment.operation.id).await;
    harness.refunding(&current, "return-2", Some(&minor(Currency::Usd, 500))).await;
    harness.payment(payment.operation.id).await
}

pub async fn records_are_read_whole_and_in_pages(harness: Arc<Harness>) {
    assert_eq!(pages(&harness, 2).await, []);
    let ((merchant, _), (other, _)) = (harness.merchant().await, harness.merchant().await);
    let returned = returned(&harness, merchant.id).await;
    let voiding = harness.authorized(other.id).await;
    assert_eq!(harness.ask(&void(&voiding, at(50))).await, Ok(OrderChanged::Done));
    let submitted = harness.submitted(merchant.id).await;
    let sold = checkout(merchant.id, "sale-1", at(60));
    let prepared = harness.payments.prepare_authorization(sold.clone()).await.unwrap();
    assert!(matches!(prepared, AuthorizationPrepared::Done(None)), "{prepared:?}");
    let expected: BTreeSet<OrderId> =
        [returned.order.id, voiding.order.id, submitted.order.id, sold.order.id].into_iter().collect();
    for limit in [1, 2, 3, 4, 5] {
        let read: Vec<_> = pages(&harness, limit).await.iter().map(AuditedOrder::id).collect();
        assert_eq!(read, expected.iter().copied().collect::<Vec<_>>(), "{limit} at once, shown or not, by id");
    }
    let records: BTreeMap<_, _> =
        pages(&harness, 100).await.into_iter().map(readable).map(|records| (records.order.id, records)).collect();
    let mut positions = BTreeSet::new();
    for records in records.values() {
        let operations: Vec<_> = records.operations.iter().map(|placed| placed.operation.clone()).collect();
        assert_eq!(harness.payments.list_operations(records.order.id).await, Ok(operations));
        assert!(records.operations.is_sorted_by_key(|placed| placed.position));
        assert!(records.operations.iter().all(|placed| positions.insert(placed.position)), "a position twice");
        assert_eq!(records.unbalanced, []);
        let own = harness.payment(records.operations[0].operation.id).await.order;
        assert_eq!(records.order, own);
    }
    let found = &records[&returned.order.id];
    let references: Vec<_> = found.refunds.iter().map(|refund| refund.reference.as_str()).collect();
    assert_eq!(references, ["return-1", "return-2"]);
    let balances = Account::ALL.map(|account| balance(found, account));
    assert_eq!(
        balances,
        [-2_990, 0, 2_000, 990, 0, 0],
        "shopper, authorized, captured, refunded, disputed, charged back"
    );
    let balances = Account::ALL.map(|account| balance(&records[&voiding.order.id], account));
    assert_eq!(balances, [-2_990, 2_990, 0, 0, 0, 0]);
    assert_eq!(records[&submitted.order.id].balances, []);
}

pub async fn operations_are_found_by_their_keys(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.processed(merchant.id).await;
    harness.submitted(merchant.id).await;
    let records: Vec<_> = pages(&harness, 100).await.into_iter().map(readable).collect();
    let own = records.iter().find(|records| records.order.id == payment.order.id).unwrap();
    let mut keys: Vec<_> = own.operations.iter().map(|placed| placed.operation.id).collect();
    keys.push(OpId::new(fresh()));
    let mut found = harness.audit.find_operations(keys).await.unwrap();
    found.sort_by_key(|placed| placed.position);
    assert_eq!(found, own.operations, "with the same positions, and nothing for a key that nobody knows");
    assert_eq!(harness.audit.find_operations(vec![]).await, Ok(vec![]));
    let many = (0..1_000).map(|_| OpId::new(fresh())).collect();
    assert_eq!(harness.audit.find_operations(many).await, Ok(vec![]));
}

pub async fn all_that_is_kept_about_an_order_is_shown(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = returned(&harness, merchant.id).await;
    let id = payment.order.id;
    let file = harness.audit.find_audit_trail(id).await.unwrap().unwrap();
    let order_details = harness.payments.find_order_details(merchant.id, &OrderName::Id(id)).await.unwrap().unwrap();
    assert_eq!((&file.records.order, &file.records.refunds), (&order_details.order, &order_details.refunds));
    assert_eq!((&file.history, &file.checkout), (&order_details.history, &None));
    let page = pages(&harness, 10).await.into_iter().map(readable).next().unwrap();
    assert_eq!(file.records, page);
    let hidden = harness.submitted(merchant.id).await.order;
    assert_eq!(harness.payments.find_order_details(merchant.id, &OrderName::Id(hidden.id)).await, Ok(None));
    let file = harness.audit.find_audit_trail(hidden.id).await.unwrap().unwrap();
    assert_eq!((file.records.order, file.history.len()), (hidden, 1));
    let sold = checkout(merchant.id, "sale-1", at(60));
    harness.payments.prepare_authorization(sold.clone()).await.unwrap();
    let file = harness.audit.find_audit_trail(sold.order.id).await.unwrap().unwrap();
    assert!(file.checkout.is_some_and(|checkout| checkout.document.contains("Zoë")));
    assert_eq!(harness.audit.find_audit_trail(OrderId::new(fresh())).await, Ok(None));
}

pub async fn a_damaged_row_is_told_and_the_others_are_read(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let damaged = returned(&harness, merchant.id).await.order.id;
    for _ in 0..3 {
        harness.authorized(merchant.id).await;
    }
    let of_order = format!("order_id = '{damaged}'");
    for (table, damage, mend, condition) in [
        ("purchase_order", "currency = 'ZZZ'", "currency = 'USD'", format!("id = '{damaged}'")),
        ("processor_op", "currency = 'ZZZ'", "currency = 'USD'", of_order.clone()),
        ("refund", "currency = 'ZZZ'", "currency = 'USD'", of_order),
    ] {
        harness.raw.execute(&format!("UPDATE {table} SET {damage} WHERE {condition}")).unwrap();
        let read = pages(&harness, 3).await;
        assert_eq!(read.len(), 4, "{table}");
        for order in read {
            match order {
                AuditedOrder::Corrupt { id, table: named, what } => {
                    assert_eq!((id, named), (damaged, table), "{what}");
                    assert!(!what.contains("ZZZ"), "{what}");
                }
                AuditedOrder::Readable(records) => assert_ne!(records.order.id, damaged, "{table}"),
            }
        }
        harness.raw.execute(&format!("UPDATE {table} SET {mend} WHERE {condition}")).unwrap();
    }
    assert!(pages(&harness, 3).await.into_iter().map(readable).any(|records| records.order.id == damaged), "mended");
}

pub async fn a_transaction_that_does_not_sum_to_zero_is_named(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    harness.authorized(merchant.id).await;
    // Each database has a trigger and a CHECK in the way, in words of its own.
    for off in [
        ["ALTER TABLE ledger_posting DISABLE TRIGGER USER", "DROP TRIGGER ledger_posting_no_update"],
        ["ALTER TABLE ledger_posting DROP CONSTRAINT ledger_posting_balanced", "PRAGMA ignore_check_constraints = ON"],
    ] {
        assert!(off.map(|statement| harness.raw.execute(statement)).iter().any(Result::is_ok), "{off:?}");
    }
    let lose = format!("UPDATE ledger_posting SET authorized_minor = 0 WHERE order_id = '{}'", payment.order.id);
    assert_eq!(harness.raw.execute(&lose), Ok(1));
    for records in pages(&harness, 10).await.into_iter().map(readable) {
        let expected = usize::from(records.order.id == payment.order.id);
        assert_eq!(records.unbalanced.len(), expected);
        assert_eq!(balance(&records, Account::Authorized), if expected == 1 { 0 } else { 2_990 });
    }
}

pub async fn stuck_operations_are_counted(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let count = |second| {
        let harness = harness.clone();
        async move { harness.audit.count_stuck_operations(at(second)).await.unwrap() }
    };
    // Written down at 10, and due at 20.
    let [unknown, pending, prepared, declined] = [
        harness.submitted(merchant.id).await,
        harness.submitted(merchant.id).await,
        harness.submitted(merchant.id).await,
        {
            let payment = harness.submitted(merchant.id).await;
            harness.payments.settle(outcome(payment.operation.id, OpState::Declined, at(11))).await.unwrap();
            payment
        },
    ];
    harness.payments.settle(outcome(unknown.operation.id, OpState::Unknown, at(500))).await.unwrap();
    harness.payments.settle(outcome(pending.operation.id, OpState::Pending, at(300))).await.unwrap();
    assert_eq!(harness.payment(prepared.operation.id).await.operation.due_at, at(20));
    assert_eq!(harness.payment(declined.operation.id).await.operation.state, OpState::Declined);
    assert_eq!(count(10).await, 0);
    assert_eq!(count(11).await, 1, "unknown since it was written down");
    assert_eq!(count(20).await, 1);
    assert_eq!(count(21).await, 2, "due, and nobody takes it up");
    assert_eq!(count(300).await, 2, "pending is looked at when it is due");
    assert_eq!(count(301).await, 3);
}

/// The statement counts what the domain calls stuck, whatever the reason.
pub async fn stuck_operations_are_those_of_the_domain(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    // Refused so often that the next try is ten minutes away and more: due at 611, written down at 10. And one a second less.
    for due in [611, 610] {
        harness.submitted(merchant.id).await;
        assert_eq!(harness.payments.claim_due_operations(at(20), at(due), 10).await.unwrap().len(), 1);
    }
    for (epoch, tries) in [(21, 0), (20, 0), (40, 20), (41, 20)] {
        let id = harness.submitted(merchant.id).await.operation.id;
        harness.payments.settle(outcome(id, OpState::Pending, at(900))).await.unwrap();
        let counted = format!("UPDATE processor_op SET epoch = {epoch}, tries = {tries} WHERE id = '{id}'");
        harness.raw.execute(&counted).unwrap();
    }
    let id = harness.submitted(merchant.id).await.operation.id;
    harness.payments.settle(outcome(id, OpState::Unknown, at(2_000))).await.unwrap();
    let open = harness.payments.list_open_operations(10).await.unwrap();
    for (now, expected) in [(20, 3), (610, 3), (611, 4), (1_210, 4), (1_211, 5), (1_500, 5), (1_501, 7)] {
        let since = now_minus(now, STUCK_AFTER);
        assert_eq!(harness.audit.count_stuck_operations(since).await, Ok(expected), "{now}");
        assert_eq!(open.iter().filter(|one| one.stuck(at(now)).is_some()).count() as u64, expected, "{now}");
    }
}

fn now_minus(now: u64, time: Duration) -> Timestamp {
    Timestamp::from_micros(at(now).micros() - i64::try_from(time.as_micros()).unwrap())
}

/// Whatever is written meanwhile, an Order fits its operations and its ledger.
pub async fn a_page_shows_one_state(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let mut payments = vec![];
    for _ in 0..24 {
        payments.push(harness.authorized(merchant.id).await);
    }
    let done = Arc::new(AtomicBool::new(false));
    let writer = {
        let (harness, done) = (harness.clone(), done.clone());
        tokio::spawn(async move {
            for payment in payments {
                let taken = capture(&payment, Some(&minor(Currency::Usd, 1_000)), at(30));
                assert_eq!(harness.ask(&taken).await, Ok(OrderChanged::Done));
                let (change, ledger) = captured(&taken.order.next, &taken.operation, at(31));
                let mut settlement = outcome(taken.operation.id, OpState::Approved, at(31));
                (settlement.order, settlement.ledger) = (Some(change), ledger);
                assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
            }
            done.store(true, Ordering::Relaxed);
        })
    };
    let mut looks = 0;
    while !done.load(Ordering::Relaxed) && !writer.is_finished() {
        for records in harness.audit.audit_orders(None, 100).await.unwrap().into_iter().map(readable) {
            let sum = |state: fn(OpState) -> bool| {
                let captures = |placed: &&PositionedOperation| {
                    placed.operation.kind == OpKind::Capture && state(placed.operation.state)
                };
                records.operations.iter().filter(captures).map(|placed| placed.operation.amount.minor()).sum::<i64>()
            };
            let amounts = &records.order.amounts;
            assert_eq!(sum(|state| state == OpState::Approved), amounts.captured().minor());
            assert_eq!(sum(OpState::is_open), amounts.capture_pending().minor());
            assert_eq!(balance(&records, Account::Captured), amounts.captured().minor());
        }
        looks += 1;
    }
    writer.await.unwrap();
    assert!(0 < looks, "nobody looked while it was written");
}
