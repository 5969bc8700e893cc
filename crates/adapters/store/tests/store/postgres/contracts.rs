//! Contracts that are opened and charged at the same moment and share a statement, with the test in the way.

use std::collections::HashMap;

use dropin_contract::{Contract, TryResult};
use dropin_kernel::{ContractId, MerchantId, OpId, OrderId, Revision};
use dropin_order::OpState;
use dropin_ports::{
    AuthorizationPrepared, ContractName, ContractStore, ContractUse, Payment, PaymentStore, PrepareAuthorization,
    Settled,
};
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::{Raw, charged, charging, fresh, new_contract, opening, stored};

use super::batches::STUCK;
use super::checkouts::{
    assert_no_deadlock, begin, is_done, keyed, opened, prepare, settle, settle_together, transactions,
};
use super::payments::holder;
use super::wait_for;
use crate::common::RawPostgres;

/// How many come at once.
const CONTRACTS: usize = 60;

/// The opening of a contract under a reference of its own.
fn new_opening(merchant: MerchantId) -> PrepareAuthorization {
    let prepare = keyed(merchant);
    let contract = new_contract(merchant, &format!("contract-{}", fresh()), prepare.now);
    PrepareAuthorization { key_use: prepare.key_use, ..opening(&contract, prepare.now) }
}

/// A charge of a contract as it is, under a reference of its own.
pub(crate) fn new_charge(contract: &Contract) -> PrepareAuthorization {
    let prepare = keyed(contract.merchant_id);
    let charge = charging(contract, &format!("charge-{}", fresh()), prepare.now);
    PrepareAuthorization { key_use: prepare.key_use, ..charge }
}

async fn payment(store: &Store, operation: OpId) -> Payment {
    store.find_payment(operation).await.unwrap().unwrap()
}

async fn found(store: &Store, contract: &Contract) -> Contract {
    store.find_contract(contract.merchant_id, &ContractName::Id(contract.id)).await.unwrap().unwrap()
}

/// What was prepared, as the store gives it, without asking that.
pub(crate) fn begun(prepare: &PrepareAuthorization) -> Payment {
    Payment {
        operation: prepare.operation.clone(),
        order: prepare.order.clone(),
        session: None,
        refund: None,
        contract: prepare.contract.as_ref().map(|using| using.contract().clone()),
        is_charge: matches!(prepare.contract, Some(ContractUse::Charges(_))),
    }
}

/// Contracts that may be charged.
pub(crate) async fn open(store: &Store, merchant: MerchantId, count: usize) -> Vec<Contract> {
    let mut contracts = vec![];
    for _ in 0..count {
        let opening = new_opening(merchant);
        assert!(is_done(&store.prepare_authorization(opening.clone()).await));
        let settlement = stored(&begun(&opening), opening.now);
        contracts.push(settlement.contract.as_ref().unwrap().change.next.clone());
        assert_eq!(store.settle(settlement).await, Ok(Settled::Done));
    }
    contracts
}

#[tokio::test(flavor = "multi_thread")]
async fn contracts_that_wait_together_are_opened_and_charged_in_few_transactions() {
    let (database, store, harness, merchant) = opened().await;
    let few = |tables: &[&str]| {
        for table in tables {
            let transactions = transactions(&harness, table);
            assert!(transactions <= 6, "{transactions} of {table} for {CONTRACTS}");
        }
    };
    let openings: Vec<_> = (0..CONTRACTS).map(|_| new_opening(merchant)).collect();
    let prepared = begin(&database, &store, &openings).await;
    assert!(prepared.iter().all(is_done), "{prepared:?}");
    few(&["contract", "purchase_order", "processor_op", "answer"]);
    let mut settlements = vec![];
    for one in &openings {
        settlements.push(stored(&payment(&store, one.operation.id).await, one.now));
    }
    let settled = settle_together(&database, &store, settlements).await;
    assert!(settled.iter().all(|one| *one == Ok(Settled::Done)), "{settled:?}");
    few(&["contract", "contract_credential", "outbox_event"]);
    let mut charges = vec![];
    for one in &openings {
        charges.push(new_charge(&found(&store, one.contract.as_ref().unwrap().contract()).await));
    }
    // Two of one contract: the second comes too late. And one that was decided before its contract was opened.
    let as_it_was = |charge: &PrepareAuthorization| charge.contract.as_ref().unwrap().contract().clone();
    charges[31] = new_charge(&as_it_was(&charges[30]).at_revision(Revision::new(2)));
    charges[45] = new_charge(&as_it_was(&charges[45]).at_revision(Revision::FIRST));
    let prepared = begin(&database, &store, &charges).await;
    let late: Vec<_> = (0..CONTRACTS).filter(|number| !is_done(&prepared[*number])).collect();
    assert!(matches!(late[..], [30 | 31, 45]), "{prepared:?}");
    assert!(late.iter().all(|number| matches!(prepared[*number], Ok(AuthorizationPrepared::Stale))));
    few(&["contract_try"]);
    let mut settlements = vec![];
    for (charge, prepared) in charges.iter().zip(&prepared) {
        if is_done(prepared) {
            let payment = payment(&store, charge.operation.id).await;
            settlements.push(charged(&payment, TryResult::Approved, charge.now));
        }
    }
    // One that was decided before its contract was charged.
    let change = &mut settlements[40].contract.as_mut().unwrap().change;
    change.expected = Revision::new(2);
    change.next = change.next.clone().at_revision(change.expected.next());
    let settled = settle_together(&database, &store, settlements).await;
    for (number, settled) in settled.into_iter().enumerate() {
        assert_eq!(settled, Ok(if number == 40 { Settled::Stale } else { Settled::Done }), "{number}");
    }
    few(&["contract_try"]);
    let approved = harness.raw.values("SELECT count(*)::text AS value FROM contract_try WHERE result = 'APPROVED'");
    assert_eq!(approved, [(CONTRACTS - 3).to_string()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_changes_meanwhile_leaves_those_beside_it_alone() {
    let (database, store, harness, merchant) = opened().await;
    let contracts = open(&store, merchant, 12).await;
    let charges: Vec<_> = contracts.iter().map(new_charge).collect();
    let change =
        |number: usize| format!("UPDATE contract SET revision = revision + 1 WHERE id = '{}'", contracts[number].id);
    let raw = RawPostgres::open(&database.url());
    // By its end, which is written while the others are begun.
    let hold = holder(&database, &change(7));
    let preparing: Vec<_> = charges.iter().map(|one| prepare(&store, one)).collect();
    wait_for(&raw, &format!("EXISTS ({STUCK})"));
    hold.execute("COMMIT").unwrap();
    for (number, one) in preparing.into_iter().enumerate() {
        let prepared = one.await.unwrap();
        match number {
            7 => assert!(matches!(prepared, Ok(AuthorizationPrepared::Stale)), "{prepared:?}"),
            _ => assert!(is_done(&prepared), "{number}: {prepared:?}"),
        }
    }
    let few = |of: &str| {
        let transactions = transactions(&harness, "contract_try");
        assert!(transactions <= 6, "{of}: the statement runs again, and not each alone: {transactions}");
    };
    few("prepared");
    let count = |rows: &str| harness.raw.values(&format!("SELECT count(*)::text AS value FROM {rows}")).remove(0);
    assert_eq!(count("contract_try"), "11", "nothing of the one that came too late");
    assert_eq!(count("merchant_reference WHERE reference LIKE 'charge-%'"), "11");
    // The same while they are settled.
    let mut payments = vec![];
    for (number, charge) in charges.iter().enumerate().filter(|(number, _)| *number != 7) {
        payments.push((number, payment(&store, charge.operation.id).await));
    }
    let hold = holder(&database, &change(4));
    let settling: Vec<_> = payments
        .iter()
        .map(|(_, payment)| settle(&store, charged(payment, TryResult::Approved, charges[0].now)))
        .collect();
    wait_for(&raw, &format!("EXISTS ({STUCK})"));
    hold.execute("COMMIT").unwrap();
    for ((number, before), one) in payments.iter().zip(settling) {
        let settled = one.await.unwrap();
        let operation = payment(&store, before.operation.id).await.operation;
        match number {
            4 => assert_eq!((settled, operation.state), (Ok(Settled::Stale), OpState::Prepared)),
            _ => assert_eq!((settled, operation.state), (Ok(Settled::Done), OpState::Approved), "{number}"),
        }
    }
    assert_eq!(count("contract_try WHERE result = 'APPROVED'"), "10");
    few("settled");
}

#[tokio::test(flavor = "multi_thread")]
async fn charges_of_the_same_contracts_never_wait_for_each_other_in_a_circle() {
    const COUNT: usize = 16;
    let (database, store, harness, merchant) = opened().await;
    assert!(is_done(&store.prepare_authorization(keyed(merchant)).await));
    let other = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    let contracts = open(&store, merchant, COUNT).await;
    // The merchant's references, which come first, lead one store through the contracts in one direction and the other in the other; both wait in the
    // middle.
    let named = |contract: &Contract, prefix: &str, number: usize| {
        let mut charge = new_charge(contract);
        let reference = format!("{prefix}-{number:02}");
        charge.order = charge.order.edited(|parts| parts.merchant_reference = reference).unwrap();
        charge
    };
    let forwards: Vec<_> = contracts.iter().enumerate().map(|(n, one)| named(one, "forwards", n)).collect();
    let backwards: Vec<_> = contracts.iter().rev().enumerate().map(|(n, one)| named(one, "backwards", n)).collect();
    let middle = format!("SELECT FROM contract WHERE id = '{}' FOR UPDATE", contracts[COUNT / 2].id);
    let hold = holder(&database, &middle);
    let both = forwards.iter().zip(&backwards);
    let preparing: Vec<_> = both.flat_map(|(one, two)| [prepare(&store, one), prepare(&other, two)]).collect();
    wait_for(&RawPostgres::open(&database.url()), &format!("2 <= (SELECT count(*) FROM ({STUCK}) AS stuck)"));
    hold.execute("ROLLBACK").unwrap();
    let mut charged_by: HashMap<ContractId, usize> = HashMap::new();
    let in_order = forwards.iter().zip(&backwards).flat_map(|(one, two)| [one, two]);
    for (charge, one) in in_order.zip(preparing) {
        match one.await.unwrap() {
            Ok(AuthorizationPrepared::Done(None)) => {
                *charged_by.entry(charge.order.contract_id.unwrap()).or_default() += 1
            }
            Ok(AuthorizationPrepared::Stale) => {}
            prepared => panic!("{prepared:?}"),
        }
    }
    assert_eq!((charged_by.len(), charged_by.values().sum::<usize>()), (COUNT, COUNT), "one of each");
    drop(harness);
    assert_no_deadlock(&database, &[store, other], "checkout");
}

#[tokio::test(flavor = "multi_thread")]
async fn settlements_of_the_same_contracts_never_wait_for_each_other_in_a_circle() {
    const COUNT: usize = 16;
    let (database, store, harness, merchant) = opened().await;
    assert!(is_done(&store.prepare_authorization(keyed(merchant)).await));
    let other = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    let contracts = open(&store, merchant, COUNT).await;
    // Two charges of each, begun one after the other: their Orders, which come first, lead one store through the contracts in one direction and the other in
    // the other.
    let mut begun = [vec![], vec![]];
    for (number, contract) in contracts.iter().enumerate() {
        for (direction, operations) in begun.iter_mut().enumerate() {
            let mut charge = new_charge(&found(&store, contract).await);
            let place = if direction == 0 { number } else { COUNT - number };
            let id = uuid::Uuid::from_u64_pair(direction as u64 + 1, place as u64);
            charge.order = charge.order.edited(|parts| parts.id = OrderId::new(id)).unwrap();
            charge.operation.order_id = charge.order.id;
            charge.history.clear();
            assert!(is_done(&store.prepare_authorization(charge.clone()).await));
            operations.push(charge.operation.id);
        }
    }
    let [forwards, backwards] = begun;
    let mut settlements = vec![];
    for (one, two) in forwards.into_iter().zip(backwards) {
        for operation in [one, two] {
            let payment = payment(&store, operation).await;
            settlements.push(charged(&payment, TryResult::Approved, payment.order.created_at));
        }
    }
    let middle = format!("SELECT FROM contract WHERE id = '{}' FOR UPDATE", contracts[COUNT / 2].id);
    let hold = holder(&database, &middle);
    let stores = [&store, &other];
    let settling: Vec<_> = settlements.iter().enumerate().map(|(n, one)| settle(stores[n % 2], one.clone())).collect();
    wait_for(&RawPostgres::open(&database.url()), &format!("2 <= (SELECT count(*) FROM ({STUCK}) AS stuck)"));
    hold.execute("ROLLBACK").unwrap();
    let mut done = 0;
    for one in settling {
        match one.await.unwrap() {
            Ok(Settled::Done) => done += 1,
            settled => assert_eq!(settled, Ok(Settled::Stale)),
        }
    }
    assert_eq!(done, COUNT, "one of each");
    drop(harness);
    assert_no_deadlock(&database, &[store, other], "checkout");
}
