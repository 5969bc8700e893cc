//! Tries that are counted while another program holds the merchant's row, and what a commit of theirs waits for.

use std::sync::Arc;

use dropin_ports::{NewPaymentTry, Payment, ScreenedPaymentTry, ScreeningStore, StoreError, TryScreening};
use dropin_risk::{Decision, Facts, IssuerChecks, Rules, Screening};
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::{Raw, any_decision};
use tokio::task::JoinHandle;

use super::batches::STUCK;
use super::payments::{holder, submitted};
use super::{migrated, wait_for};
use crate::common::RawPostgres;
use crate::common::postgres::Database;
use crate::common::screening::{is_counted_by_two_programs, new_try};

#[tokio::test(flavor = "multi_thread")]
async fn tries_that_two_programs_count_at_once_each_hear_of_those_before() {
    let (database, store) = migrated();
    let beside = Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap();
    is_counted_by_two_programs(&store, &beside).await;
}

/// A try of a payment's Order.
fn try_of(payment: &Payment) -> NewPaymentTry {
    let order = &payment.order;
    NewPaymentTry { order_id: order.id, ..new_try(order.merchant_id) }
}

fn screen(
    store: &Store,
    payment: &Payment,
    decision: TryScreening,
) -> JoinHandle<Result<ScreenedPaymentTry, StoreError>> {
    let (store, new) = (store.clone(), try_of(payment));
    tokio::spawn(async move { store.screen_try(new, decision).await })
}

/// What a person has to look at.
fn review() -> Screening {
    let rules = dropin_risk::RulesFile::parse("[weights]\nISSUER_CODE_DIFFERS = 75").unwrap();
    let issuer = IssuerChecks { code_matches: Some(false), ..IssuerChecks::default() };
    let review = Rules::built_in().with(&rules).unwrap().screen(Facts { issuer, ..Facts::default() });
    assert_eq!(review.decision(), Decision::Review);
    review
}

fn deciding_review() -> TryScreening {
    let review = review();
    Arc::new(move |_| review.clone())
}

const HOLD_COUNTS: &str = "UPDATE velocity_counter SET revision = revision + 1";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_decided_while_a_count_waits_for_a_row_stays() {
    let (database, store, harness, payments) = submitted(12).await;
    store.screen_try(try_of(&payments[0]), any_decision()).await.unwrap();
    let watching = RawPostgres::open(&database.url());
    for payment in &payments[1..] {
        let holder = holder(&database, HOLD_COUNTS);
        let late = screen(&store, payment, any_decision());
        wait_for(&watching, &format!("EXISTS ({STUCK})"));
        let (order, merchant) = (payment.order.id, payment.order.merchant_id);
        store.put_screening(order, merchant, review()).await.unwrap();
        holder.execute("COMMIT").unwrap();
        // A count waits for a row 0.3 s; where this machine took longer, it counted nothing.
        let counted = late.await.unwrap();
        assert_eq!(harness.screening.find_screening(merchant, order).await, Ok(Some(review())));
        if let Ok(counted) = counted {
            assert!(!counted.is_kept, "{counted:?}");
            return;
        }
    }
    panic!("no count came late");
}

/// Has each transaction that writes a screening note, as it commits, whether that waits for the disk.
const NOTE_COMMITS: [&str; 4] = [
    "CREATE TABLE noted_commit (order_id UUID, mode TEXT)",
    "CREATE FUNCTION note_commit() RETURNS TRIGGER LANGUAGE plpgsql AS \
        $$ BEGIN INSERT INTO noted_commit VALUES (NEW.order_id, current_setting('synchronous_commit')); RETURN NULL; END $$",
    "CREATE CONSTRAINT TRIGGER note_commit AFTER INSERT ON screening DEFERRABLE INITIALLY DEFERRED \
        FOR EACH ROW EXECUTE FUNCTION note_commit()",
    // No other setting is this one.
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = local', current_database()); END $$",
];

fn mode(raw: &RawPostgres, payment: &Payment) -> Vec<String> {
    raw.values(&format!("SELECT mode AS value FROM noted_commit WHERE order_id = '{}'", payment.order.id))
}

fn noting(database: &Database) -> (RawPostgres, Store) {
    let raw = RawPostgres::open(&database.url());
    for sql in NOTE_COMMITS {
        raw.execute(sql).unwrap();
    }
    (raw, Store::open(StoreConfig::new(database.url(), Role::Service)).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_waits_for_the_disk_and_what_is_allowed_does_not() {
    let (database, _, _bench, payments) = submitted(7).await;
    let (raw, store) = noting(&database);
    for (payment, (decision, expected)) in
        payments.iter().zip([(any_decision(), "off"), (deciding_review(), "local"), (any_decision(), "off")])
    {
        assert!(store.screen_try(try_of(payment), decision).await.unwrap().is_kept);
        assert_eq!(mode(&raw, payment), [expected]);
    }
    store.put_screening(payments[6].order.id, payments[6].order.merchant_id, review()).await.unwrap();
    assert_eq!(mode(&raw, &payments[6]), ["local"]);
    // Those whose merchant's row somebody has changed meanwhile are counted once more, in a transaction in which a savepoint asks for the disk.
    for (payment, (decision, expected)) in
        payments[3..6].iter().zip([(any_decision(), "off"), (deciding_review(), "local"), (any_decision(), "off")])
    {
        let holder = holder(&database, HOLD_COUNTS);
        let screening = screen(&store, payment, decision);
        wait_for(&raw, &format!("EXISTS ({STUCK})"));
        holder.execute("COMMIT").unwrap();
        assert!(screening.await.unwrap().unwrap().is_kept);
        assert_eq!(mode(&raw, payment), [expected]);
    }
}
