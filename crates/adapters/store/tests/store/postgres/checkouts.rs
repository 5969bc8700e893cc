//! Server-to-server checkouts that are begun and settled at the same moment and share a statement, with the test in the way.

use std::sync::Arc;

use dropin_contract::{Consent, Contract, ContractKind, ContractOrigin, NewContract};
use dropin_kernel::{AttemptId, ContractId, MerchantId, OpId, RefundId, Timestamp};
use dropin_money::Currency;
use dropin_order::{OpState, Operation, Refund, RefundState};
use dropin_ports::{
    AuthorizationPrepared, CheckoutRecord, ContractUse, Inserted, KeyUse, NewSession, PaymentStore,
    PrepareAuthorization, ReplaceSession, ResponseStore, ResponseStored, ResponseToStore, SessionStore, Settled,
    Settlement, StoreError, StoredResponse,
};
use dropin_session::Session;
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::{
    Harness, Raw, audited, checkout, checkout_approval, fresh, insertable, insertable_with, new_key, new_merchant,
};
use dropin_validation::Text;
use tokio::task::JoinHandle;

use super::batches::STUCK;
use super::contracts::open;
use super::payments::holder;
use super::{migrated, wait_for};
use crate::common::RawPostgres;
use crate::common::postgres::Database;

/// How many come at once.
const CHECKOUTS: usize = 60;

pub(crate) async fn opened() -> (Arc<Database>, Store, Harness, MerchantId) {
    let (database, store) = migrated();
    let database = Arc::new(database);
    let harness = Harness::new(store.clone(), RawPostgres::open(&database.url()), database.clone());
    let (merchant, _) = harness.merchant().await;
    (database, store, harness, merchant.id)
}

/// A checkout under a reference and a key of its own.
pub(crate) fn keyed(merchant: MerchantId) -> PrepareAuthorization {
    let prepare = checkout(merchant, &format!("checkout-{}", fresh()), new_key(merchant).at);
    PrepareAuthorization { key_use: Some(new_key(merchant)), ..prepare }
}

pub(crate) type Preparing = JoinHandle<Result<AuthorizationPrepared, StoreError>>;

pub(crate) fn prepare(store: &Store, prepare: &PrepareAuthorization) -> Preparing {
    let (store, prepare) = (store.clone(), prepare.clone());
    tokio::spawn(async move { store.prepare_authorization(prepare).await })
}

pub(crate) fn settle(store: &Store, settlement: Settlement) -> JoinHandle<Result<Settled, StoreError>> {
    let store = store.clone();
    tokio::spawn(async move { store.settle(settlement).await })
}

/// Begins `all` while nothing can be written into the history, so that they come to wait together, and answers in their order.
pub(crate) async fn begin(
    database: &Database,
    store: &Store,
    all: &[PrepareAuthorization],
) -> Vec<Result<AuthorizationPrepared, StoreError>> {
    let holder = holder(database, "LOCK TABLE history IN SHARE ROW EXCLUSIVE MODE");
    let (first, rest) = all.split_at(2);
    let mut preparing: Vec<_> = first.iter().map(|one| prepare(store, one)).collect();
    tokio::task::yield_now().await;
    wait_for(&RawPostgres::open(&database.url()), &format!("EXISTS ({STUCK})"));
    preparing.extend(rest.iter().map(|one| prepare(store, one)));
    tokio::task::yield_now().await;
    holder.execute("ROLLBACK").unwrap();
    let mut prepared = vec![];
    for one in preparing {
        prepared.push(one.await.unwrap());
    }
    prepared
}

/// The same for settlements.
pub(crate) async fn settle_together(
    database: &Database,
    store: &Store,
    all: Vec<Settlement>,
) -> Vec<Result<Settled, StoreError>> {
    let holder = holder(database, "LOCK TABLE history IN SHARE ROW EXCLUSIVE MODE");
    let mut all = all.into_iter();
    let mut settling: Vec<_> = all.by_ref().take(2).map(|one| settle(store, one)).collect();
    tokio::task::yield_now().await;
    wait_for(&RawPostgres::open(&database.url()), &format!("EXISTS ({STUCK})"));
    settling.extend(all.map(|one| settle(store, one)));
    tokio::task::yield_now().await;
    holder.execute("ROLLBACK").unwrap();
    let mut settled = vec![];
    for one in settling {
        settled.push(one.await.unwrap());
    }
    settled
}

/// Lets a settlement of a checkout begin a refund of all, as of money that came too late.
fn begin_refund(settlement: &mut Settlement, authorization: &Operation) {
    let order = settlement.order.as_ref().unwrap().next.clone();
    let refund = Refund {
        id: RefundId::new(fresh()),
        order_id: order.id,
        merchant_id: order.merchant_id,
        reference: "dropin-1".to_owned(),
        amount: order.total,
        settlement: None,
        description: None,
        state: RefundState::InProgress,
        created_at: settlement.now,
        updated_at: settlement.now,
    };
    let operation = authorization.refund(OpId::new(fresh()), refund.id, refund.amount, settlement.now, settlement.now);
    (settlement.new_refund, settlement.follow_up) = (Some(refund), Some(operation));
}

pub(crate) fn is_done(prepared: &Result<AuthorizationPrepared, StoreError>) -> bool {
    matches!(prepared, Ok(AuthorizationPrepared::Done(None)))
}

async fn answer(store: &Store, key_use: &KeyUse) -> Option<String> {
    let record = store.find_response(key_use.key, key_use.at).await.unwrap().unwrap();
    record.answer.map(|answer| String::from_utf8(answer.body).unwrap())
}

pub(crate) fn transactions(harness: &Harness, table: &str) -> usize {
    let counted = harness.raw.values(&format!("SELECT count(DISTINCT xmin::text)::text AS value FROM {table}"));
    counted[0].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn checkouts_that_wait_together_are_begun_and_settled_in_few_transactions() {
    let (database, store, harness, merchant) = opened().await;
    // With a key and without, and three that come too late in the middle of them.
    let mut all: Vec<_> = (0..CHECKOUTS).map(|_| keyed(merchant)).collect();
    all.iter_mut().step_by(3).for_each(|one| one.key_use = None);
    // Transfers, and what an operator takes up.
    for one in all.iter_mut().step_by(4) {
        let reference = one.order.merchant_reference.clone();
        one.order = one.order.clone().with_transfer(Some(reference), None);
    }
    all.iter_mut().step_by(5).for_each(|one| one.audit = Some(audited()));
    all[29].key_use = all[28].key_use;
    let reference = all[31].order.merchant_reference.clone();
    all[32].order = all[32].order.clone().edited(|parts| parts.merchant_reference = reference).unwrap();
    let used = StoredResponse { status: 200, etag: None, body: vec![] };
    let used = ResponseToStore { key_use: all[41].key_use.unwrap(), answer: used };
    assert_eq!(store.store_response(used).await, Ok(ResponseStored::Done));
    let prepared = begin(&database, &store, &all).await;
    let late: Vec<_> = prepared.iter().enumerate().filter(|(_, one)| !is_done(one)).map(|(number, _)| number).collect();
    assert!(matches!(late[..], [28 | 29, 31 | 32, 41]), "{prepared:?}");
    assert!([late[0], 41].iter().all(|number| matches!(prepared[*number], Ok(AuthorizationPrepared::KeyTaken))));
    assert!(matches!(prepared[late[1]], Ok(AuthorizationPrepared::DuplicateReference)));
    for table in ["purchase_order", "processor_op", "merchant_reference", "checkout", "answer"] {
        let transactions = transactions(&harness, table);
        assert!(transactions <= 6, "{transactions} of {table} for {CHECKOUTS}");
    }
    let begun: Vec<_> = all.iter().zip(&prepared).filter(|(_, one)| is_done(one)).map(|(one, _)| one).collect();
    let bodies: Vec<_> = begun.iter().map(|one| one.operation.id.to_string()).collect();
    let mut settlements: Vec<_> = begun.iter().zip(&bodies).map(|(one, body)| checkout_approval(one, body)).collect();
    settlements.iter_mut().step_by(4).for_each(|one| one.audit = Some(audited()));
    for (settlement, one) in settlements.iter_mut().zip(&begun).skip(1).step_by(3) {
        begin_refund(settlement, &one.operation);
    }
    let refunds = settlements.iter().filter(|one| one.new_refund.is_some()).count();
    let settled = settle_together(&database, &store, settlements).await;
    assert!(settled.iter().all(|one| *one == Ok(Settled::Done)), "{settled:?}");
    for table in ["purchase_order", "answer"] {
        let transactions = transactions(&harness, table);
        assert!(transactions <= 6, "{transactions} of {table} to settle {CHECKOUTS}");
    }
    let count = |rows: &str| harness.raw.values(&format!("SELECT count(*)::text AS value FROM {rows}")).remove(0);
    assert_eq!(count("refund"), refunds.to_string());
    assert_eq!(count("processor_op WHERE refund_id IS NOT NULL"), refunds.to_string());
    for (one, body) in begun.iter().zip(bodies) {
        if let Some(key_use) = &one.key_use {
            assert_eq!(answer(&store, key_use).await, Some(body));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_is_refused_leaves_those_beside_it_alone() {
    let (database, store, harness, merchant) = opened().await;
    let mut all: Vec<_> = (0..20).map(|_| keyed(merchant)).collect();
    // JSON that PostgreSQL does not store, and a merchant that does not exist.
    all[3].checkout = Some(CheckoutRecord { document: "{\"Name\":\"\\u0000\"}".to_owned() });
    all[7] = keyed(new_merchant(false).merchant.id);
    let prepared = begin(&database, &store, &all).await;
    for (number, one) in prepared.iter().enumerate() {
        match number {
            3 | 7 => assert!(matches!(one, Err(StoreError::Refused(_))), "{number}: {one:?}"),
            _ => assert!(is_done(one), "{number}: {one:?}"),
        }
    }
    for table in ["purchase_order", "merchant_reference", "checkout", "answer"] {
        let kept = harness.raw.values(&format!("SELECT count(*)::text AS value FROM {table}"));
        assert_eq!(kept, ["18"], "{table}");
    }
    let begun: Vec<_> = all.iter().zip(&prepared).filter(|(_, one)| is_done(one)).map(|(one, _)| one).collect();
    let mut settlements: Vec<_> = begun.iter().map(|one| checkout_approval(one, "{}")).collect();
    // An answer that cannot be stored.
    settlements[5].answer.as_mut().unwrap().status = 999;
    let settled = settle_together(&database, &store, settlements).await;
    for (number, (one, settled)) in begun.iter().zip(settled).enumerate() {
        let operation = store.find_payment(one.operation.id).await.unwrap().unwrap().operation;
        let told = answer(&store, one.key_use.as_ref().unwrap()).await;
        if number == 5 {
            assert!(matches!(settled, Err(StoreError::Refused(_))), "{settled:?}");
            assert_eq!((operation.state, told), (OpState::Prepared, None), "nothing of it");
        } else {
            assert_eq!(settled, Ok(Settled::Done), "{number}");
            assert_eq!((operation.state, told.as_deref()), (OpState::Approved, Some("{}")), "{number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_written_meanwhile_stays() {
    let (database, store, _harness, merchant) = opened().await;
    let all = [keyed(merchant), keyed(merchant)];
    for one in &all {
        assert!(is_done(&store.prepare_authorization(one.clone()).await));
    }
    let write =
        format!("UPDATE answer SET status = 202, body = 'first' WHERE operation_id = '{}'", all[0].operation.id);
    let holder = holder(&database, &write);
    let settling: Vec<_> = all.iter().map(|one| settle(&store, checkout_approval(one, "second"))).collect();
    wait_for(&RawPostgres::open(&database.url()), &format!("EXISTS ({STUCK})"));
    holder.execute("COMMIT").unwrap();
    for one in settling {
        assert_eq!(one.await.unwrap(), Ok(Settled::Done));
    }
    assert_eq!(answer(&store, all[0].key_use.as_ref().unwrap()).await.as_deref(), Some("first"));
    assert_eq!(answer(&store, all[1].key_use.as_ref().unwrap()).await.as_deref(), Some("second"));
}

fn terms_under(merchant: MerchantId, reference: &str) -> NewSession {
    insertable_with(merchant, |terms| terms.merchant_reference = Text::restore(reference).unwrap())
}

/// Replaces a Session by one under `reference`, unless it was submitted.
async fn replace(store: Store, session: Session, reference: String, now: Timestamp) {
    let terms = terms_under(session.merchant_id, &reference);
    let (change, _) = session.as_created().unwrap().replace(terms.session.terms.clone(), now);
    let replacement = ReplaceSession { change, history: terms.history, response: None };
    let replaced = store.replace_session(replacement).await;
    assert!(replaced.is_ok(), "{replaced:?}");
}

/// The payment of a Session as it is, ready to be written.
fn submitting(session: &Session, now: Timestamp) -> PrepareAuthorization {
    let mut prepare = checkout(session.merchant_id, session.terms.merchant_reference.as_str(), now);
    let attempt = AttemptId::new(fresh());
    let order = prepare.order.clone().edited(|parts| {
        parts.session_id = Some(session.id);
        parts.attempt_id = Some(attempt);
    });
    prepare.order = order.unwrap();
    let (change, _) = session.as_created().unwrap().submit(session.revision, prepare.order.id, attempt, now).unwrap();
    (prepare.session, prepare.checkout) = (Some(change), None);
    prepare
}

/// Pays a Session as it is, unless it was replaced.
async fn submit(store: Store, session: Session, now: Timestamp) {
    let prepared = store.prepare_authorization(submitting(&session, now)).await;
    assert!(prepared.is_ok(), "{prepared:?}");
}

/// The same, which opens a contract.
fn submitting_with_contract(session: &Session, now: Timestamp) -> PrepareAuthorization {
    let mut prepare = submitting(session, now);
    let new = NewContract {
        id: ContractId::new(fresh()),
        merchant_id: session.merchant_id,
        kind: ContractKind::Recurring,
        origin: ContractOrigin::Session { session: session.id, order: prepare.order.id },
        payment_method: "VISA".to_owned(),
        currency: Currency::Usd,
        billing_profile_reference: Some(Text::restore("customer-7").unwrap()),
        consent: Consent { text_version: "2026-11".parse().unwrap(), locale: "de_AT".parse().unwrap(), at: now },
    };
    let contract = Contract::open(new, now).unwrap();
    prepare.order = prepare.order.with_contract(contract.id);
    prepare.contract = Some(ContractUse::Opens(Box::new(contract)));
    prepare
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_submits_of_a_session_one_with_a_contract_neither_waits_for_the_other_in_a_circle() {
    let (database, store, _harness, merchant) = opened().await;
    assert!(is_done(&store.prepare_authorization(keyed(merchant)).await));
    let new = insertable(merchant);
    assert_eq!(store.insert_session(new.clone()).await, Ok(Inserted::Done));
    let now = new_key(merchant).at;
    // The first holds the Session and waits to write its contract, since another has written one of that id; then the second comes.
    open(&store, merchant, 1).await;
    let with_contract = submitting_with_contract(&new.session, now);
    let id = with_contract.contract.as_ref().unwrap().contract().id;
    let same = format!(
        "INSERT INTO contract SELECT (jsonb_populate_record(NULL::contract, \
             to_jsonb(contract) || jsonb_build_object('id', '{id}', 'reference', 'same'))).* FROM contract"
    );
    let holder = holder(&database, &same);
    let raw = RawPostgres::open(&database.url());
    let first = prepare(&store, &with_contract);
    wait_for(&raw, &format!("EXISTS ({STUCK})"));
    let second = prepare(&store, &submitting(&new.session, now));
    wait_for(&raw, &format!("2 = (SELECT count(*) FROM ({STUCK}) AS stuck)"));
    holder.execute("ROLLBACK").unwrap();
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert!(is_done(&first), "{first:?}");
    assert!(matches!(second, Ok(AuthorizationPrepared::Stale)), "{second:?}");
    assert_no_deadlock(&database, &[store], "checkout");
}

#[tokio::test(flavor = "multi_thread")]
async fn checkouts_creates_and_changes_of_sessions_never_wait_for_each_other_in_a_circle() {
    let (database, store, harness, merchant) = opened().await;
    let other = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    for _ in 0..60 {
        let references = [(); 3].map(|()| format!("reference-{}", fresh()));
        let keys = [(); 3].map(|()| new_key(merchant));
        let mut sessions = vec![];
        for _ in 0..6 {
            let new = insertable(merchant);
            assert_eq!(store.insert_session(new.clone()).await, Ok(Inserted::Done));
            sessions.push(new.session);
        }
        let (mut preparing, mut changing) = (vec![], vec![]);
        for number in 0..18 {
            let (store, now) = (if number % 2 == 0 { &store } else { &other }, keys[0].at);
            // Each of 3 keys with each of 3 references.
            let reference = &references[number / 3 % 3];
            let one = checkout(merchant, reference, now);
            preparing.push(prepare(store, &PrepareAuthorization { key_use: Some(keys[number % 3]), ..one }));
            if let Some(session) = sessions.get(number / 3).filter(|_| number % 3 == 0) {
                changing.push(tokio::spawn(submit(store.clone(), session.clone(), now)));
                changing.push(tokio::spawn(replace(other.clone(), session.clone(), reference.clone(), now)));
            }
            let (store, new) = (store.clone(), terms_under(merchant, reference));
            changing.push(tokio::spawn(async move {
                let inserted = store.insert_session(new).await;
                assert!(inserted.is_ok(), "{inserted:?}");
            }));
        }
        let mut done = 0;
        for one in preparing {
            done += usize::from(is_done(&one.await.unwrap()));
        }
        assert!(done <= 3, "one for each key and reference");
        for one in changing {
            one.await.unwrap();
        }
    }
    let keys = harness.raw.values("SELECT count(*)::text AS value FROM answer");
    assert_eq!(keys, harness.raw.values("SELECT count(*)::text AS value FROM checkout"));
    assert_no_deadlock(&database, &[store, other], "checkout");
}

/// Of all that these stores did, which are the only ones to fill `table`.
pub(crate) fn assert_no_deadlock(database: &Database, stores: &[Store], table: &str) {
    // A connection says what it has seen when it ends.
    stores.iter().for_each(Store::close);
    let raw = RawPostgres::open(&database.url());
    wait_for(&raw, &format!("(SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = '{table}') > 0"));
    let deadlocks = "SELECT deadlocks::text AS value FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(raw.values(deadlocks), ["0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn checkouts_with_the_same_keys_never_wait_for_each_other_in_a_circle() {
    const ROUNDS: usize = 3;
    const KEYS: usize = 16;
    let (database, store, harness, merchant) = opened().await;
    let other = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    for _ in 0..ROUNDS {
        let keys: Vec<_> = (0..KEYS).map(|_| new_key(merchant)).collect();
        // Their references, which come first, lead one store through the keys in one direction and the other in the other; both wait in the middle.
        let [forwards, backwards] = [keys.clone(), keys.iter().rev().copied().collect()].map(|keys: Vec<KeyUse>| {
            let prepare = |key_use| PrepareAuthorization { key_use: Some(key_use), ..keyed(merchant) };
            keys.into_iter().map(prepare).collect::<Vec<_>>()
        });
        let digest: String = keys[KEYS / 2].key.digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let middle = format!(
            "INSERT INTO answer (merchant_id, digest, fingerprint, status, body, created_at, expires_at) \
             VALUES ('{merchant}', '\\x{digest}', sha256(''), 200, '', now(), now())"
        );
        let holder = holder(&database, &middle);
        let both = forwards.iter().zip(&backwards);
        let preparing: Vec<_> = both.flat_map(|(one, two)| [prepare(&store, one), prepare(&other, two)]).collect();
        wait_for(&RawPostgres::open(&database.url()), &format!("2 <= (SELECT count(*) FROM ({STUCK}) AS stuck)"));
        holder.execute("ROLLBACK").unwrap();
        let mut done = 0;
        for one in preparing {
            match one.await.unwrap() {
                Ok(AuthorizationPrepared::Done(None)) => done += 1,
                Ok(AuthorizationPrepared::KeyTaken) => {}
                prepared => panic!("{prepared:?}"),
            }
        }
        assert_eq!(done, KEYS, "one for each key");
    }
    assert_eq!(harness.raw.values("SELECT count(*)::text AS value FROM answer"), [(ROUNDS * KEYS).to_string()]);
    assert_no_deadlock(&database, &[store, other], "checkout");
}

/// A transfer with this reference. Many a merchant's reference makes the same one.
fn transfer(merchant: MerchantId, reference: &str) -> PrepareAuthorization {
    let mut prepare = keyed(merchant);
    prepare.order = prepare.order.with_transfer(Some(reference.to_owned()), None);
    prepare
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_of_one_reference_leave_those_beside_them_in_the_batch() {
    let (database, store, harness, merchant) = opened().await;
    assert!(is_done(&store.prepare_authorization(transfer(merchant, "OPEN")).await));
    let mut all: Vec<_> = (0..CHECKOUTS).map(|_| keyed(merchant)).collect();
    for (number, reference) in [(10, "OPEN"), (30, "TWICE"), (31, "TWICE"), (50, "OPEN")] {
        all[number] = transfer(merchant, reference);
    }
    let prepared = begin(&database, &store, &all).await;
    let late: Vec<_> = prepared.iter().enumerate().filter(|(_, one)| !is_done(one)).map(|(number, _)| number).collect();
    assert!(matches!(late[..], [10, 30 | 31, 50]), "{prepared:?}");
    assert!(late.iter().all(|number| matches!(prepared[*number], Ok(AuthorizationPrepared::TransferReferenceTaken))));
    let transactions = transactions(&harness, "purchase_order");
    assert!(transactions <= 6, "{transactions} for {CHECKOUTS}");
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_with_the_same_references_never_wait_for_each_other_in_a_circle() {
    const REFERENCES: usize = 16;
    let (database, store, harness, merchant) = opened().await;
    let other = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    assert!(is_done(&store.prepare_authorization(transfer(merchant, "before")).await));
    let references: Vec<_> = (0..REFERENCES).map(|number| format!("transfer-{number:02}")).collect();
    // The merchant's references, which come first, lead one store through the transfers in one direction and the other in the other.
    let named = |number: usize, reference: &String, prefix: &str| {
        let mut prepare = transfer(merchant, reference);
        let own = format!("{prefix}-{number:02}");
        prepare.order = prepare.order.edited(|parts| parts.merchant_reference = own).unwrap();
        prepare
    };
    let forwards = references.iter().enumerate().map(|(number, reference)| named(number, reference, "forwards"));
    let backwards =
        references.iter().rev().enumerate().map(|(number, reference)| named(number, reference, "backwards"));
    // Both wait in the middle.
    let middle = format!(
        "INSERT INTO purchase_order SELECT (jsonb_populate_record(o, jsonb_build_object('id', gen_random_uuid(), \
         'merchant_reference', 'middle', 'transfer_reference', '{}'))).* FROM purchase_order AS o WHERE o.transfer_reference = 'before'",
        references[REFERENCES / 2]
    );
    let holder = holder(&database, &middle);
    let both = forwards.zip(backwards);
    let preparing: Vec<_> = both.flat_map(|(one, two)| [prepare(&store, &one), prepare(&other, &two)]).collect();
    wait_for(&RawPostgres::open(&database.url()), &format!("2 <= (SELECT count(*) FROM ({STUCK}) AS stuck)"));
    holder.execute("ROLLBACK").unwrap();
    let mut done = 0;
    for one in preparing {
        match one.await.unwrap() {
            Ok(AuthorizationPrepared::Done(None)) => done += 1,
            Ok(AuthorizationPrepared::TransferReferenceTaken) => {}
            prepared => panic!("{prepared:?}"),
        }
    }
    assert_eq!(done, REFERENCES, "one for each reference");
    drop(harness);
    assert_no_deadlock(&database, &[store, other], "checkout");
}
