use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dropin_kernel::{MerchantId, OpId, OrderId, Timestamp};
use dropin_money::Currency;
use dropin_order::{Account, OpKind, OpState, STUCK_AFTER};
use dropin_ports::{
    AuditedOrder, AuthorizationPrepared, OrderBooks, OrderChanged, OrderName, Payment, PlacedOperation, Settled,
};

use crate::Bench;
use crate::bench::{capture, captured, outcome};
use crate::steps::{checkout, refunded, void};
use crate::values::{at, fresh, minor};

/// All Orders, read in pages of that size.
async fn pages(bench: &Bench, limit: u32) -> Vec<AuditedOrder> {
    let mut all = Vec::<AuditedOrder>::new();
    loop {
        let page = bench.audit.audit_orders(all.last().map(AuditedOrder::id), limit).await.unwrap();
        let ends = page.len() < limit as usize;
        all.extend(page);
        if ends {
            return all;
        }
    }
}

fn readable(order: AuditedOrder) -> OrderBooks {
    match order {
        AuditedOrder::Readable(books) => *books,
        AuditedOrder::Corrupt { .. } => panic!("{order:?}"),
    }
}

/// Minor units in an account, in US dollars.
fn balance(books: &OrderBooks, account: Account) -> i64 {
    let of = |balance: &&dropin_ports::Balance| balance.account == account && balance.currency == Currency::Usd;
    books.balances.iter().filter(of).map(|balance| balance.minor).sum()
}

/// One captured and refunded in part.
async fn returned(bench: &Bench, merchant: MerchantId) -> Payment {
    let payment = bench.processed(merchant).await;
    let given = bench.refunding(&payment, "return-1", Some(&minor(Currency::Usd, 990))).await;
    assert_eq!(bench.payments.settle(refunded(&given, true, at(41))).await, Ok(Settled::Done));
    let current = bench.payment(payment.operation.id).await;
    bench.refunding(&current, "return-2", Some(&minor(Currency::Usd, 500))).await;
    bench.payment(payment.operation.id).await
}

pub async fn books_are_read_whole_and_in_pages(bench: Arc<Bench>) {
    assert_eq!(pages(&bench, 2).await, []);
    let ((merchant, _), (other, _)) = (bench.merchant().await, bench.merchant().await);
    let returned = returned(&bench, merchant.id).await;
    let voiding = bench.authorized(other.id).await;
    assert_eq!(bench.ask(&void(&voiding, at(50))).await, Ok(OrderChanged::Done));
    let submitted = bench.submitted(merchant.id).await;
    let sold = checkout(merchant.id, "sale-1", at(60));
    let prepared = bench.payments.prepare_authorization(sold.clone()).await.unwrap();
    assert!(matches!(prepared, AuthorizationPrepared::Done(None)), "{prepared:?}");
    let expected: BTreeSet<OrderId> =
        [returned.order.id, voiding.order.id, submitted.order.id, sold.order.id].into_iter().collect();
    for limit in [1, 2, 3, 4, 5] {
        let read: Vec<_> = pages(&bench, limit).await.iter().map(AuditedOrder::id).collect();
        assert_eq!(read, expected.iter().copied().collect::<Vec<_>>(), "{limit} at once, shown or not, by id");
    }
    let books: BTreeMap<_, _> =
        pages(&bench, 100).await.into_iter().map(readable).map(|books| (books.order.id, books)).collect();
    let mut positions = BTreeSet::new();
    for books in books.values() {
        let operations: Vec<_> = books.operations.iter().map(|placed| placed.operation.clone()).collect();
        assert_eq!(bench.payments.list_operations(books.order.id).await, Ok(operations));
        assert!(books.operations.is_sorted_by_key(|placed| placed.position));
        assert!(books.operations.iter().all(|placed| positions.insert(placed.position)), "a position twice");
        assert_eq!(books.unbalanced, []);
        let own = bench.payment(books.operations[0].operation.id).await.order;
        assert_eq!(books.order, own);
    }
    let found = &books[&returned.order.id];
    let references: Vec<_> = found.refunds.iter().map(|refund| refund.reference.as_str()).collect();
    assert_eq!(references, ["return-1", "return-2"]);
    let balances = Account::ALL.map(|account| balance(found, account));
    assert_eq!(balances, [-2_990, 0, 2_000, 990], "shopper, authorized, captured, refunded");
    let balances = Account::ALL.map(|account| balance(&books[&voiding.order.id], account));
    assert_eq!(balances, [-2_990, 2_990, 0, 0]);
    assert_eq!(books[&submitted.order.id].balances, []);
}

pub async fn operations_are_found_by_their_keys(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let payment = bench.processed(merchant.id).await;
    bench.submitted(merchant.id).await;
    let books: Vec<_> = pages(&bench, 100).await.into_iter().map(readable).collect();
    let own = books.iter().find(|books| books.order.id == payment.order.id).unwrap();
    let mut keys: Vec<_> = own.operations.iter().map(|placed| placed.operation.id).collect();
    keys.push(OpId::new(fresh()));
    let mut found = bench.audit.find_operations(keys).await.unwrap();
    found.sort_by_key(|placed| placed.position);
    assert_eq!(found, own.operations, "with the same positions, and nothing for a key that nobody knows");
    assert_eq!(bench.audit.find_operations(vec![]).await, Ok(vec![]));
    let many = (0..1_000).map(|_| OpId::new(fresh())).collect();
    assert_eq!(bench.audit.find_operations(many).await, Ok(vec![]));
}

pub async fn all_that_is_kept_about_an_order_is_shown(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let payment = returned(&bench, merchant.id).await;
    let id = payment.order.id;
    let file = bench.audit.find_order_file(id).await.unwrap().unwrap();
    let dossier = bench.payments.find_dossier(merchant.id, &OrderName::Id(id)).await.unwrap().unwrap();
    assert_eq!((&file.books.order, &file.books.refunds), (&dossier.order, &dossier.refunds));
    assert_eq!((&file.history, &file.checkout), (&dossier.history, &None));
    let page = pages(&bench, 10).await.into_iter().map(readable).next().unwrap();
    assert_eq!(file.books, page);
    let hidden = bench.submitted(merchant.id).await.order;
    assert_eq!(bench.payments.find_dossier(merchant.id, &OrderName::Id(hidden.id)).await, Ok(None));
    let file = bench.audit.find_order_file(hidden.id).await.unwrap().unwrap();
    assert_eq!((file.books.order, file.history.len()), (hidden, 1));
    let sold = checkout(merchant.id, "sale-1", at(60));
    bench.payments.prepare_authorization(sold.clone()).await.unwrap();
    let file = bench.audit.find_order_file(sold.order.id).await.unwrap().unwrap();
    assert!(file.checkout.is_some_and(|checkout| checkout.document.contains("Zoë")));
    assert_eq!(bench.audit.find_order_file(OrderId::new(fresh())).await, Ok(None));
}

pub async fn a_damaged_row_is_told_and_the_others_are_read(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let damaged = returned(&bench, merchant.id).await.order.id;
    for _ in 0..3 {
        bench.authorized(merchant.id).await;
    }
    let of_order = format!("order_id = '{damaged}'");
    for (table, damage, mend, condition) in [
        ("purchase_order", "currency = 'ZZZ'", "currency = 'USD'", format!("id = '{damaged}'")),
        ("processor_op", "currency = 'ZZZ'", "currency = 'USD'", of_order.clone()),
        ("refund", "currency = 'ZZZ'", "currency = 'USD'", of_order),
    ] {
        bench.raw.execute(&format!("UPDATE {table} SET {damage} WHERE {condition}")).unwrap();
        let read = pages(&bench, 3).await;
        assert_eq!(read.len(), 4, "{table}");
        for order in read {
            match order {
                AuditedOrder::Corrupt { id, table: named, what } => {
                    assert_eq!((id, named), (damaged, table), "{what}");
                    assert!(!what.contains("ZZZ"), "{what}");
                }
                AuditedOrder::Readable(books) => assert_ne!(books.order.id, damaged, "{table}"),
            }
        }
        bench.raw.execute(&format!("UPDATE {table} SET {mend} WHERE {condition}")).unwrap();
    }
    assert!(pages(&bench, 3).await.into_iter().map(readable).any(|books| books.order.id == damaged), "mended");
}

pub async fn a_transaction_that_lost_an_entry_is_named(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let payment = bench.authorized(merchant.id).await;
    bench.authorized(merchant.id).await;
    // Each database has triggers in the way, in words of its own.
    let off = ["ALTER TABLE ledger_entry DISABLE TRIGGER USER", "DROP TRIGGER ledger_entry_no_delete"];
    assert!(off.map(|statement| bench.raw.execute(statement)).iter().any(Result::is_ok));
    let own = format!("SELECT id FROM ledger_transaction WHERE order_id = '{}'", payment.order.id);
    let delete = format!("DELETE FROM ledger_entry WHERE account = 'AUTHORIZED' AND transaction_id IN ({own})");
    assert_eq!(bench.raw.execute(&delete), Ok(1));
    for books in pages(&bench, 10).await.into_iter().map(readable) {
        let expected = usize::from(books.order.id == payment.order.id);
        assert_eq!(books.unbalanced.len(), expected);
        assert_eq!(balance(&books, Account::Authorized), if expected == 1 { 0 } else { 2_990 });
    }
    assert_eq!(bench.count("ledger_unbalanced", "1 = 1"), 1, "the database's own list agrees");
}

pub async fn stuck_operations_are_counted(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let count = |second| {
        let bench = bench.clone();
        async move { bench.audit.count_stuck_operations(at(second)).await.unwrap() }
    };
    // Written down at 10, and due at 20.
    let [unknown, pending, prepared, declined] =
        [bench.submitted(merchant.id).await, bench.submitted(merchant.id).await, bench.submitted(merchant.id).await, {
            let payment = bench.submitted(merchant.id).await;
            bench.payments.settle(outcome(payment.operation.id, OpState::Declined, at(11))).await.unwrap();
            payment
        }];
    bench.payments.settle(outcome(unknown.operation.id, OpState::Unknown, at(500))).await.unwrap();
    bench.payments.settle(outcome(pending.operation.id, OpState::Pending, at(300))).await.unwrap();
    assert_eq!(bench.payment(prepared.operation.id).await.operation.due_at, at(20));
    assert_eq!(bench.payment(declined.operation.id).await.operation.state, OpState::Declined);
    assert_eq!(count(10).await, 0);
    assert_eq!(count(11).await, 1, "unknown since it was written down");
    assert_eq!(count(20).await, 1);
    assert_eq!(count(21).await, 2, "due, and nobody takes it up");
    assert_eq!(count(300).await, 2, "pending is looked at when it is due");
    assert_eq!(count(301).await, 3);
}

/// The statement counts what the domain calls stuck, whatever the reason.
pub async fn stuck_operations_are_those_of_the_domain(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    // Refused so often that the next try is ten minutes away and more: due at 611, written down at 10. And one a second less.
    for due in [611, 610] {
        bench.submitted(merchant.id).await;
        assert_eq!(bench.payments.claim_due_operations(at(20), at(due), 10).await.unwrap().len(), 1);
    }
    for (epoch, tries) in [(21, 0), (20, 0), (40, 20), (41, 20)] {
        let id = bench.submitted(merchant.id).await.operation.id;
        bench.payments.settle(outcome(id, OpState::Pending, at(900))).await.unwrap();
        let counted = format!("UPDATE processor_op SET epoch = {epoch}, tries = {tries} WHERE id = '{id}'");
        bench.raw.execute(&counted).unwrap();
    }
    let id = bench.submitted(merchant.id).await.operation.id;
    bench.payments.settle(outcome(id, OpState::Unknown, at(2_000))).await.unwrap();
    let open = bench.payments.list_open_operations(10).await.unwrap();
    for (now, expected) in [(20, 3), (610, 3), (611, 4), (1_210, 4), (1_211, 5), (1_500, 5), (1_501, 7)] {
        let since = now_minus(now, STUCK_AFTER);
        assert_eq!(bench.audit.count_stuck_operations(since).await, Ok(expected), "{now}");
        assert_eq!(open.iter().filter(|one| one.stuck(at(now)).is_some()).count() as u64, expected, "{now}");
    }
}

fn now_minus(now: u64, time: Duration) -> Timestamp {
    Timestamp::from_micros(at(now).micros() - i64::try_from(time.as_micros()).unwrap())
}

/// Whatever is written meanwhile, an Order fits its operations and its ledger.
pub async fn a_page_shows_one_state(bench: Arc<Bench>) {
    let (merchant, _) = bench.merchant().await;
    let mut payments = vec![];
    for _ in 0..24 {
        payments.push(bench.authorized(merchant.id).await);
    }
    let done = Arc::new(AtomicBool::new(false));
    let writer = {
        let (bench, done) = (bench.clone(), done.clone());
        tokio::spawn(async move {
            for payment in payments {
                let taken = capture(&payment, Some(&minor(Currency::Usd, 1_000)), at(30));
                assert_eq!(bench.ask(&taken).await, Ok(OrderChanged::Done));
                let (change, ledger) = captured(&taken.order.next, &taken.operation, at(31));
                let mut settlement = outcome(taken.operation.id, OpState::Approved, at(31));
                (settlement.order, settlement.ledger) = (Some(change), ledger);
                assert_eq!(bench.payments.settle(settlement).await, Ok(Settled::Done));
            }
            done.store(true, Ordering::Relaxed);
        })
    };
    let mut looks = 0;
    while !done.load(Ordering::Relaxed) && !writer.is_finished() {
        for books in bench.audit.audit_orders(None, 100).await.unwrap().into_iter().map(readable) {
            let sum = |state: fn(OpState) -> bool| {
                let captures = |placed: &&PlacedOperation| {
                    placed.operation.kind == OpKind::Capture && state(placed.operation.state)
                };
                books.operations.iter().filter(captures).map(|placed| placed.operation.amount.minor()).sum::<i64>()
            };
            let amounts = &books.order.amounts;
            assert_eq!(sum(|state| state == OpState::Approved), amounts.captured().minor());
            assert_eq!(sum(OpState::is_open), amounts.capture_pending().minor());
            assert_eq!(balance(&books, Account::Captured), amounts.captured().minor());
        }
        looks += 1;
    }
    writer.await.unwrap();
    assert!(0 < looks, "nobody looked while it was written");
}
