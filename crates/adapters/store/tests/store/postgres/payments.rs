//! Payments that are settled at the same moment and share a statement, with the test in the way.

use std::sync::Arc;

use dropin_kernel::LedgerTransactionId;
use dropin_money::Amount;
use dropin_order::{Amounts, OpState};
use dropin_ports::{AttemptResult, DeliveryResult, OutboxStore, Payment, PaymentStore, Settled, StoreError};
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::{Harness, Raw, approval};
use tokio::task::JoinHandle;

use super::batches::{STUCK, expect_logged, record};
use super::{migrated, wait_for};
use crate::common::RawPostgres;
use crate::common::postgres::Database;

type Settling = JoinHandle<Result<Settled, StoreError>>;

/// A store in which `count` payments wait for their processor's answer.
pub(crate) async fn submitted(count: usize) -> (Arc<Database>, Store, Harness, Vec<Payment>) {
    let (database, store) = migrated();
    let database = Arc::new(database);
    let harness = Harness::new(store.clone(), RawPostgres::open(&database.url()), database.clone());
    let (merchant, _) = harness.merchant().await;
    let mut payments = vec![];
    for _ in 0..count {
        payments.push(harness.submitted(merchant.id).await);
    }
    (database, store, harness, payments)
}

fn settle(store: &Store, payment: &Payment) -> Settling {
    let (store, settlement) = (store.clone(), approval(payment));
    tokio::spawn(async move { store.settle(settlement).await })
}

/// Whoever holds locks until told otherwise.
pub(crate) fn holder(database: &Database, statement: &str) -> RawPostgres {
    let holder = RawPostgres::open(&database.url());
    holder.execute("BEGIN").unwrap();
    holder.execute(statement).unwrap();
    holder
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_that_wait_together_are_settled_in_few_transactions() {
    let (database, store, harness, payments) = submitted(60).await;
    let holder = holder(&database, "LOCK TABLE ledger_posting IN SHARE ROW EXCLUSIVE MODE");
    let mut settling: Vec<_> = payments[..2].iter().map(|payment| settle(&store, payment)).collect();
    let watching = RawPostgres::open(&database.url());
    wait_for(&watching, &format!("EXISTS ({STUCK})"));
    settling.extend(payments[2..].iter().map(|payment| settle(&store, payment)));
    // All of them are in the queue when the first go on.
    tokio::task::yield_now().await;
    holder.execute("ROLLBACK").unwrap();
    for one in settling {
        assert_eq!(one.await.unwrap(), Ok(Settled::Done));
    }
    let transactions = harness.raw.values("SELECT count(DISTINCT xmin::text)::text AS value FROM ledger_posting");
    assert!(transactions[0].parse::<usize>().unwrap() <= 30, "{transactions:?} for 60");
}

/// Settles 20 payments at once while somebody makes `change` of one, and expects that one as the other left it, and those beside it settled.
async fn settle_while_one_changes(change: impl Fn(&Payment) -> String, expected: (Settled, OpState)) {
    let (database, store, harness, payments) = submitted(20).await;
    let changed = &payments[7];
    let holder = holder(&database, &change(changed));
    let settling: Vec<_> = payments.iter().map(|payment| settle(&store, payment)).collect();
    wait_for(&RawPostgres::open(&database.url()), &format!("EXISTS ({STUCK})"));
    holder.execute("COMMIT").unwrap();
    for (one, payment) in settling.into_iter().zip(&payments) {
        let is_changed = payment.order.id == changed.order.id;
        let (settled, state) = if is_changed { expected } else { (Settled::Done, OpState::Approved) };
        assert_eq!(one.await.unwrap(), Ok(settled));
        let (operation, order) = (payment.operation.id, payment.order.id);
        let stored = store.find_payment(operation).await.unwrap().unwrap();
        let count = |table: &str, condition: &str| {
            harness.raw.values(&format!("SELECT count(*)::text AS value FROM {table} WHERE {condition}")).remove(0)
        };
        let session = payment.session.as_ref().unwrap().id;
        let written = [
            count("ledger_posting", &format!("order_id = '{order}'")),
            count("history", &format!("subject_id IN ('{order}', '{session}')")),
            count("outbox_event", &format!("payment_id = '{session}'")),
            count("outbox_stream", &format!("payment_id = '{session}'")),
        ];
        let all_or_nothing = if is_changed { ["0", "3", "0", "0"] } else { ["1", "5", "2", "1"] };
        assert_eq!((stored.operation.state, written), (state, all_or_nothing.map(str::to_owned)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_somebody_changes_meanwhile_leaves_those_beside_it_alone() {
    record();
    let change =
        |of: &Payment| format!("UPDATE purchase_order SET revision = revision + 1 WHERE id = '{}'", of.order.id);
    settle_while_one_changes(change, (Settled::Stale, OpState::Prepared)).await;
    expect_logged(&["INFO a shared statement of ", "each is done alone", "too many writers at once"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_whose_session_changes_meanwhile_leaves_those_beside_it_alone() {
    let session = |of: &Payment| of.session.as_ref().unwrap().id;
    let change = |of: &Payment| format!("UPDATE session SET revision = revision + 1 WHERE id = '{}'", session(of));
    settle_while_one_changes(change, (Settled::Stale, OpState::Prepared)).await;
}

/// As by a settlement of the operation alone, which asks again under another key.
#[tokio::test(flavor = "multi_thread")]
async fn one_whose_operation_is_closed_meanwhile_leaves_those_beside_it_alone() {
    let change = |of: &Payment| format!("UPDATE processor_op SET state = 'DECLINED' WHERE id = '{}'", of.operation.id);
    settle_while_one_changes(change, (Settled::AlreadySettled, OpState::Declined)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_the_database_refuses_leaves_those_beside_it_alone() {
    let (database, store, harness, payments) = submitted(20).await;
    let holder = holder(&database, "LOCK TABLE ledger_posting IN SHARE ROW EXCLUSIVE MODE");
    let spoilt = |number: usize, payment: &Payment| {
        let mut settlement = approval(payment);
        match number {
            // More than the total, one event twice, and two ledger transactions of one name.
            3 => {
                let order = &mut settlement.order.as_mut().unwrap().next;
                let more = Amount::from_minor(order.total.currency(), order.total.minor() + 1).unwrap();
                *order = order.clone().edited(|parts| parts.amounts = Amounts::authorized(more)).unwrap();
            }
            7 => settlement.events[0].id = settlement.events[1].id,
            11 | 12 => settlement.ledger[0].id = LedgerTransactionId::new(payments[2].order.id.uuid()),
            _ => {}
        }
        settlement
    };
    let settling: Vec<_> = payments
        .iter()
        .enumerate()
        .map(|(number, payment)| {
            let (store, settlement) = (store.clone(), spoilt(number, payment));
            tokio::spawn(async move { store.settle(settlement).await })
        })
        .collect();
    wait_for(&RawPostgres::open(&database.url()), &format!("EXISTS ({STUCK})"));
    holder.execute("ROLLBACK").unwrap();
    let mut refused = Vec::new();
    for (number, one) in settling.into_iter().enumerate() {
        match one.await.unwrap() {
            Ok(settled) => assert_eq!(settled, Settled::Done, "{number}"),
            Err(StoreError::Refused(_)) => refused.push(number),
            Err(error) => panic!("{number}: {error}"),
        }
    }
    let of_two = refused.iter().filter(|number| [11, 12].contains(*number)).count();
    assert!(refused.contains(&3) && refused.contains(&7) && refused.len() == 3 && of_two == 1, "{refused:?}");
    let count = |rows: &str| harness.raw.values(&format!("SELECT count(*)::text AS value FROM {rows}")).remove(0);
    let kept = [count("ledger_posting"), count("outbox_event"), count("processor_op WHERE state = 'APPROVED'")];
    assert_eq!(kept, ["17", "34", "17"], "nothing of a refused one");
}

#[tokio::test(flavor = "multi_thread")]
async fn settlements_and_results_of_deliveries_never_wait_for_each_other_in_a_circle() {
    let (database, store, _bench, payments) = submitted(96).await;
    let other = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    let settling: Vec<_> = payments
        .iter()
        .rev()
        .enumerate()
        .map(|(number, payment)| settle(if number.is_multiple_of(2) { &store } else { &other }, payment))
        .collect();
    let mut sent = 0;
    let at = |second: u64| payments[0].order.created_at.plus(std::time::Duration::from_secs(second));
    while sent < 2 * payments.len() {
        let mut leased = other.claim_deliveries(&[], at(100), at(115), 100, 1_000).await.unwrap().deliveries;
        while !leased.is_empty() {
            sent += leased.len();
            let results = leased.iter().map(|one| AttemptResult::new(one.key, DeliveryResult::Acknowledged)).collect();
            leased = other.finish_deliveries(results, at(101), at(116)).await.unwrap().next;
        }
    }
    for one in settling {
        assert_eq!(one.await.unwrap(), Ok(Settled::Done));
    }
    let raw = RawPostgres::open(&database.url());
    // A connection says what it has seen when it ends.
    store.close();
    other.close();
    wait_for(&raw, "(SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'ledger_posting') = 96");
    let deadlocks = "SELECT deadlocks::text AS value FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(raw.values(deadlocks), ["0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_already_is_not_read_to_pay() {
    const PAYMENTS: usize = 100;
    let (database, store, _bench, payments) = submitted(PAYMENTS).await;
    for payment in &payments {
        assert_eq!(settle(&store, payment).await.unwrap(), Ok(Settled::Done));
    }
    store.close();
    let raw = RawPostgres::open(&database.url());
    wait_for(
        &raw,
        &format!("(SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'ledger_posting') = {PAYMENTS}"),
    );
    let read = raw.values(
        "SELECT relname || ' ' || (seq_tup_read + coalesce(idx_tup_fetch, 0)) AS value FROM pg_stat_user_tables \
         WHERE relname NOT IN ('merchant', 'endpoint') AND relname NOT LIKE 'merchant%' ORDER BY 1",
    );
    // Each payment looks at its own rows a few times; to look at all of them would be a hundred times as much.
    for table in read {
        let (_, rows) = table.split_once(' ').unwrap();
        assert!(rows.parse::<usize>().unwrap() <= 20 * PAYMENTS, "{table} rows for {PAYMENTS} payments");
    }
}
