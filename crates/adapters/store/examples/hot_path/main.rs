//! Measures the store alone on its hot path: many callers who create, find or pay Sessions at once, closed loop.
//!
//! ```text
//! cargo run --release -p dropin-store --example hot_path -- URL fill ROWS
//! cargo run --release -p dropin-store --example hot_path -- URL create|create-with-key|find|pay [CALLERS [SECONDS [THREADS]]]
//! ```
//! URL names a database for nothing else: `sqlite://path` or `postgres://…`. `fill` adds Sessions in SQL, so that millions are quick.
#![allow(clippy::unwrap_used, reason = "what fails here fails the measurement")]

mod database;
mod payment;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::Database;
use dropin_kernel::{MerchantId, SessionId};
use dropin_ports::{Inserted, NewSession, SessionStore};
use dropin_store::{Role, Store, StoreConfig};

const USAGE: &str = "hot_path URL fill ROWS | URL create|create-with-key|find|pay [CALLERS [SECONDS [THREADS]]]";

/// Sessions that are made for `find` to look for.
const KNOWN: usize = 2_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |at: usize, otherwise: usize| words.get(at).map_or(otherwise, |word| word.parse().expect(USAGE));
    let [url, what, ..] = words[..] else { panic!("{USAGE}") };
    let (callers, seconds) = (number(2, 32), number(3, 5));
    let mut config = StoreConfig::new(url, Role::Service);
    config.threads = number(4, config.threads);
    let store = Store::open(config).unwrap();
    store.migrate().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut database = Database::open(url);
    let merchant_id = database.add_merchant();
    match what {
        "fill" => database.fill(merchant_id, number(2, 0)),
        "create" | "create-with-key" => {
            let with_key = what != "create";
            let run = Run { callers, length: Duration::from_secs(seconds as u64) };
            runtime.block_on(run.measure(what, &mut database, {
                let store = store.clone();
                let known = Arc::new(values::session(merchant_id));
                move |_turn| create(store.clone(), known.clone(), with_key)
            }));
        }
        "pay" => {
            runtime.block_on(payment::listen(&store, merchant_id));
            let run = Run { callers, length: Duration::from_secs(seconds as u64) };
            runtime.block_on(run.measure(what, &mut database, {
                let store = store.clone();
                let known = Arc::new(values::session(merchant_id));
                move |_turn| pay(store.clone(), known.clone())
            }));
        }
        "find" => {
            let known: Arc<[SessionId]> = runtime.block_on(known(&store, merchant_id)).into();
            let run = Run { callers, length: Duration::from_secs(seconds as u64) };
            runtime.block_on(run.measure("find", &mut database, {
                let store = store.clone();
                move |turn| find(store.clone(), merchant_id, known[turn % known.len()])
            }));
        }
        _ => panic!("{USAGE}"),
    }
    store.close();
}

async fn create(store: Store, known: Arc<NewSession>, with_key: bool) {
    let inserted = store.insert_session(values::like(&known, with_key)).await;
    assert_eq!(inserted, Ok(Inserted::Done));
}

async fn pay(store: Store, known: Arc<NewSession>) {
    payment::pay(&store, &known).await;
}

async fn find(store: Store, merchant: MerchantId, id: SessionId) {
    assert!(store.find_session(merchant, id).await.unwrap().is_some());
}

async fn known(store: &Store, merchant: MerchantId) -> Vec<SessionId> {
    let mut known = Vec::with_capacity(KNOWN);
    for _ in 0..KNOWN {
        let new = values::session(merchant);
        known.push(new.session.id);
        assert_eq!(store.insert_session(new).await, Ok(Inserted::Done));
    }
    known
}

/// A closed loop.
struct Run {
    callers: usize,
    length: Duration,
}

impl Run {
    async fn measure<F>(
        self,
        what: &str,
        database: &mut Database,
        step: impl Fn(usize) -> F + Send + Sync + Clone + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        // Connections open, statements prepared, caches warm.
        self.turn(Duration::from_secs(1), step.clone()).await;
        let (before, begun) = (database.look(), Instant::now());
        let mut taken = self.turn(self.length, step).await;
        let (wall, after) = (begun.elapsed(), database.look());
        taken.sort_unstable();
        let steps = taken.len().max(1);
        let at =
            |share: f64| taken.get((steps as f64 * share) as usize).copied().unwrap_or_default().as_secs_f64() * 1e3;
        println!(
            "{what} callers {} steps/s {:.0} p50 {:.2} p99 {:.2} ms, CPU per step: store {:.1} us, server {:.1} us, commits per step {:.2}",
            self.callers,
            steps as f64 / wall.as_secs_f64(),
            at(0.5),
            at(0.99),
            (after.own_cpu - before.own_cpu).as_secs_f64() * 1e6 / steps as f64,
            (after.server_cpu.saturating_sub(before.server_cpu)).as_secs_f64() * 1e6 / steps as f64,
            (after.commits - before.commits) as f64 / steps as f64,
        );
    }

    async fn turn<F>(
        &self,
        length: Duration,
        step: impl Fn(usize) -> F + Send + Sync + Clone + 'static,
    ) -> Vec<Duration>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let over = Arc::new(AtomicBool::new(false));
        let callers: Vec<_> = (0..self.callers)
            .map(|caller| {
                let (over, step) = (over.clone(), step.clone());
                tokio::spawn(async move {
                    let mut taken = Vec::new();
                    let mut turn = caller;
                    while !over.load(Ordering::Relaxed) {
                        let begun = Instant::now();
                        step(turn).await;
                        taken.push(begun.elapsed());
                        turn += 7;
                    }
                    taken
                })
            })
            .collect();
        tokio::time::sleep(length).await;
        over.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for caller in callers {
            all.extend(caller.await.unwrap());
        }
        all
    }
}
