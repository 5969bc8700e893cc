#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diesel::connection::InstrumentationEvent;
use diesel::result::Error;
use dropin_kernel::{OpId, Timestamp};
use dropin_money::Amount;
use tempfile::TempDir;

use super::*;
use crate::card::Verdict;
use crate::credential::{self, AskedCredential, AskedTerms, CredentialPayment};
use crate::enums::{CredentialKind, CredentialUse, Method, Outcome, Reason, Scenario};
use crate::request::{Authorization, Request};
use crate::rules::CallContext;
use crate::{Waits, execution, operation_store};

const NOW: Timestamp = Timestamp::from_micros(1_000_000);

fn key(number: u32) -> OpId {
    format!("00000000-0000-4000-8000-{number:012}").parse().unwrap()
}

fn database() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("processor.db");
    (folder, path)
}

/// Keeps the store's thread busy until dropped, so that what is asked meanwhile waits together.
async fn occupied(store: &Store) -> std::sync::mpsc::Sender<()> {
    let (free, wait) = std::sync::mpsc::channel::<()>();
    let (begun, began) = oneshot::channel();
    let job: Job = Box::new(move |_| {
        let _nobody_waits = begun.send(());
        let _freed = wait.recv();
        Box::new(|| ())
    });
    store.jobs.send(job).await.unwrap();
    began.await.unwrap();
    free
}

#[actix_web::test]
async fn a_step_that_fails_leaves_its_neighbours_alone() {
    let (_folder, path) = database();
    let store = Store::open(&path).unwrap();
    let free = occupied(&store).await;
    let good = |number| store.run(move |store| execution::abandon(store, key(number), NOW));
    let bad = store.run(|store| {
        in_savepoint(store, |store| {
            execution::abandon(store, key(2), NOW)?;
            Err::<(), _>(Error::RollbackTransaction)
        })
    });
    let free = async move { drop(free) };
    let (one, two, three, ()) = futures_util::future::join4(good(1), bad, good(3), free).await;
    assert_eq!(
        (one.unwrap().is_ok(), two.unwrap(), three.unwrap().is_ok()),
        (true, Err(Error::RollbackTransaction), true)
    );
    let found = [1, 2, 3].map(|number| store.run(move |store| execution::look_up(store, key(number), NOW)));
    let found = futures_util::future::join_all(found).await;
    assert_eq!(
        found.into_iter().map(|found| found.unwrap().unwrap().is_some()).collect::<Vec<_>>(),
        [true, false, true]
    );
}

#[actix_web::test]
async fn nobody_is_answered_before_the_commit() {
    let (_folder, path) = database();
    let store = Store::open(&path).unwrap();
    let free = occupied(&store).await;
    let good = store.run(|store| execution::abandon(store, key(1), NOW));
    // What it writes is refused by the COMMIT only.
    let spoilt = store.run(|store| {
        store.batch_execute(
            "PRAGMA defer_foreign_keys = ON;
             INSERT INTO journal (at, key, kind, outcome) VALUES (0, 'nobody', 'AUTHORIZE', 'DECLINED')",
        )
    });
    let free = async move { drop(free) };
    let (good, spoilt, ()) = futures_util::future::join3(good, spoilt, free).await;
    assert!(good.is_err() && spoilt.is_err(), "{good:?} {spoilt:?}");
    // The store goes on, and holds nothing of it.
    let look_up = || store.run(|store| execution::look_up(store, key(1), NOW));
    assert!(look_up().await.unwrap().unwrap().is_none());
    store.run(|store| execution::abandon(store, key(1), NOW)).await.unwrap().unwrap();
    assert!(look_up().await.unwrap().unwrap().is_some());
}

/// An authorization of 29.90 EUR, in steps that go through every statement of a payment.
fn whole_life(store: &mut SqliteConnection, first: u32) {
    let amount = |minor| Amount::from_minor("EUR".parse().unwrap(), minor).unwrap();
    let context =
        |now| CallContext { now, capture_delay: Duration::from_secs(1), waits: Waits::default(), refuse: None };
    let authorize = |method: Method, verdict| {
        let has_code = method == Method::Card;
        Request::Authorize(Box::new(Authorization {
            amount: amount(2_990),
            order_id: "order-1".to_owned(),
            method,
            last4: None,
            verdict: Some(verdict),
            return_url: None,
            shopper_country: None,
            review_allowed: true,
            challenge: false,
            exemption: None,
            scheme: None,
            has_code,
            has_postcode: false,
            payment_reference: None,
            terms: None,
        }))
    };
    let mut number = first;
    let mut execute = |store: &mut SqliteConnection, request: Request, now| {
        number += 1;
        let done = execution::execute(store, key(number), &request, context(now)).unwrap();
        (key(number), done.operation.outcome)
    };
    let (authorization, _) = execute(store, authorize(Method::Card, Verdict::Approve(Scenario::PendingCapture)), NOW);
    let (_, captured) = execute(store, Request::Capture { authorization, amount: amount(2_000) }, NOW);
    let later = NOW.plus(Duration::from_secs(2));
    let (_, refunded) = execute(store, Request::Refund { authorization, amount: amount(1_000) }, later);
    let waiting = authorize(Method::Paypal, Verdict::Await(crate::enums::Stage::Page));
    let (pending, _) = execute(store, waiting, later);
    let about = AskedCredential::Store { kind: CredentialKind::Recurring, expiry: "2031-12".to_owned() };
    let merchant = "merchant-1".to_owned();
    let mut storing = authorize(Method::Card, Verdict::Approve(Scenario::Plain));
    if let Request::Authorize(asked) = &mut storing {
        asked.last4 = Some("4242".to_owned());
        asked.terms = Some(AskedTerms { merchant: merchant.clone(), about });
    }
    let (stored, _) = execute(store, storing, later);
    let (_, view) = execution::look_up(store, stored, later).unwrap().unwrap();
    let view = view.unwrap();
    let reference = view.credential.unwrap().reference;
    let payment = CredentialPayment {
        reference: reference.clone(),
        credential_use: CredentialUse::Recurring,
        linked_transaction_id: Some(view.terms.network_transaction_id),
        code_length: None,
    };
    let mut charging = authorize(Method::Card, Verdict::Silence);
    if let Request::Authorize(asked) = &mut charging {
        asked.verdict = None;
        asked.terms = Some(AskedTerms { merchant: merchant.clone(), about: AskedCredential::Pay(payment) });
    }
    assert_eq!(execute(store, charging, later).1, Outcome::Approved);
    assert_eq!(credential::list(store, &merchant, 0, 1_000).unwrap().last().unwrap().reference, reference);
    assert!(credential::delete(store, &merchant, &reference, later).unwrap());
    let (_, stopped) = execute(store, Request::Void { authorization: pending }, later);
    assert_eq!((captured, refunded, stopped), (Outcome::Pending, Outcome::Approved, Outcome::Approved));
    let (pending, _) = execution::look_up(store, pending, later).unwrap().unwrap();
    assert_eq!((pending.outcome, pending.reason), (Outcome::Declined, Some(Reason::Voided)));
    execution::abandon(store, key(first), later).unwrap();
    let account = operation_store::account(store, authorization).unwrap().unwrap();
    assert_eq!((account.captured, account.capture_pending, account.refunded), (2_000, 0, 1_000));
}

#[test]
fn every_statement_of_a_payment_is_prepared_once() {
    let (_folder, path) = database();
    let mut store = connect(&path).unwrap();
    let (run, kept) = <(Arc<Mutex<Vec<String>>>, Arc<Mutex<BTreeSet<String>>>)>::default();
    let (running, keeping) = (run.clone(), kept.clone());
    store.set_instrumentation(move |event: InstrumentationEvent<'_>| match event {
        InstrumentationEvent::StartQuery { query, .. } => running.lock().unwrap().push(query.to_string()),
        InstrumentationEvent::CacheQuery { sql, .. } => drop(keeping.lock().unwrap().insert(sql.to_owned())),
        _ => {}
    });
    let life = |store: &mut SqliteConnection, first| {
        let job: Job = Box::new(move |store| {
            whole_life(store, first);
            Box::new(|| ())
        });
        commit_batch(store, std::iter::once(job)).unwrap();
    };
    life(&mut store, 100);
    let prepared = kept.lock().unwrap().clone();
    run.lock().unwrap().clear();
    life(&mut store, 200);
    assert_eq!(*kept.lock().unwrap(), prepared, "nothing is prepared for the second time");
    let run = run.lock().unwrap();
    let text = |query: &String| query.split(" -- binds").next().unwrap_or_default().trim().to_owned();
    let not_kept: BTreeSet<_> = run.iter().map(text).filter(|text| !prepared.contains(text)).collect();
    assert_eq!(not_kept, ["BEGIN IMMEDIATE", "COMMIT"].map(str::to_owned).into(), "of {} statements", run.len());
}
