//! The feed comes into force as it should, and what is amiss is told. The store is the real one; the feed says what each case scripts.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::databases;
use async_trait::async_trait;
use dropin_kernel::Timestamp;
use dropin_money::Currency;
use dropin_ports::{
    Applied, Clock, MetricSource, RateSource, RateSourceCheck, RateSourceError, RateStore, Refreshed, SourceFailure,
};
use dropin_rates::{Dated, QuoteRefusal, RateSourceLimits, Source, SourceTable, Table};
use dropin_store::Store;
use dropin_usecases::rates::RateRefresher;
use time::Date;
use time::macros::date;

struct TestClock(AtomicI64);

impl TestClock {
    fn is_noon_of(&self, day: Date) {
        let noon = Timestamp::from(day.with_hms(12, 0, 0).unwrap().assume_utc());
        self.0.store(noon.micros(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Says what it is told to say, through the domain's own rules.
struct Script {
    says: Mutex<Result<SourceTable, RateSourceError>>,
    /// Somebody else's refresh comes first, once.
    overtaking: Mutex<Option<(Store, RateSourceCheck)>>,
}

#[async_trait]
impl RateSource for Script {
    async fn refresh(&self, former: &Table, now: Timestamp) -> Refreshed {
        let overtaking = self.overtaking.lock().unwrap().take();
        if let Some((store, refresh)) = overtaking {
            assert_eq!(store.record_source_check(refresh).await, Ok(Applied::Done));
        }
        match self.says.lock().unwrap().clone() {
            Ok(table) => {
                let merged = former.merge(&[table], now, &RateSourceLimits::default());
                let changed = merged.table != *former;
                Refreshed { table: merged.table, changed, refused: merged.refused, failures: vec![] }
            }
            Err(error) => {
                let failures = vec![SourceFailure { source: Source::Primary, error }];
                Refreshed { table: former.clone(), changed: false, refused: vec![], failures }
            }
        }
    }
}

struct World {
    _folder: tempfile::TempDir,
    store: Store,
    clock: Arc<TestClock>,
    script: Arc<Script>,
    refresher: RateRefresher,
}

const FRIDAY: Date = date!(2026 - 11 - 20);
const MONDAY: Date = date!(2026 - 11 - 23);

fn says(day: Date, rates: &[(Currency, &str)]) -> Result<SourceTable, RateSourceError> {
    let rates = rates.iter().map(|(currency, rate)| (*currency, rate.parse().unwrap())).collect();
    Ok(SourceTable { source: Source::Primary, dated: Dated::On(day), rates })
}

impl World {
    fn new(first: Result<SourceTable, RateSourceError>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = databases::create(folder.path());
        let clock = Arc::new(TestClock(AtomicI64::new(0)));
        clock.is_noon_of(FRIDAY);
        let script = Arc::new(Script { says: Mutex::new(first), overtaking: Mutex::default() });
        let refresher = RateRefresher {
            source: script.clone(),
            store: Arc::new(store.clone()),
            clock: clock.clone(),
            limits: RateSourceLimits::default(),
            every: Duration::from_secs(900),
        };
        Self { _folder: folder, store, clock, script, refresher }
    }

    fn says(&self, said: Result<SourceTable, RateSourceError>) {
        *self.script.says.lock().unwrap() = said;
    }

    async fn refresh(&self) -> dropin_ports::RatesInForce {
        self.refresher.refresh().await.unwrap();
        self.store.find_rates().await.unwrap().unwrap()
    }

    /// The numbers for whoever watches, by their names; refusals added up.
    async fn numbers(&self) -> Vec<(&'static str, u64)> {
        let all = self.refresher.collect_metrics().await.unwrap();
        let sum = |measure: &dropin_ports::Metric| measure.samples().iter().map(|reading| reading.value).sum();
        all.iter().map(|measure| (measure.name.trim_start_matches("dropin_rates_"), sum(measure))).collect()
    }
}

#[tokio::test]
async fn a_table_comes_into_force_once_and_grows_old() {
    let world = World::new(says(FRIDAY, &[(Currency::Usd, "1.1"), (Currency::Try, "50")]));
    assert_eq!(world.numbers().await, [("refused", 0), ("unreadable", 1), ("stale", 1), ("left_behind", 0)]);
    let first = world.refresh().await;
    assert_eq!(first.table.per_euro(Currency::Usd).unwrap().to_string(), "1.1");
    assert_eq!(first.state.next_at.since(first.state.checked_at), Duration::from_secs(900));
    assert_eq!(first.state.stale_at.unwrap().to_string(), "2026-11-24T17:00:00.000000Z");
    assert_eq!(world.refresh().await.number, first.number, "nothing new, no new table");
    assert_eq!(world.numbers().await, [("refused", 0), ("unreadable", 0), ("stale", 0), ("left_behind", 0)]);
    world.clock.is_noon_of(MONDAY);
    world.says(says(MONDAY, &[(Currency::Usd, "1.12"), (Currency::Try, "50")]));
    assert_eq!(world.refresh().await.number, first.number + 1);
    world.clock.is_noon_of(date!(2026 - 11 - 30));
    assert!(world.refresh().await.is_stale(world.clock.now()));
    assert_eq!(world.numbers().await[2], ("stale", 1));
}

#[tokio::test]
async fn what_cannot_be_read_or_believed_stays_as_it_was() {
    let world = World::new(says(FRIDAY, &[(Currency::Usd, "1.1"), (Currency::Try, "50")]));
    let first = world.refresh().await;
    world.clock.is_noon_of(MONDAY);
    world.says(Err(RateSourceError::Status(503)));
    let broken = world.refresh().await;
    assert_eq!((broken.number, &broken.table), (first.number, &first.table));
    let problem = broken.state.problem.as_deref().unwrap();
    assert!(problem.starts_with("primary: ") && problem.contains("503"), "{problem}");
    assert_eq!(world.numbers().await[..2], [("refused", 0), ("unreadable", 1)]);
    world.says(says(MONDAY, &[(Currency::Usd, "1.12"), (Currency::Try, "5")]));
    let jumped = world.refresh().await;
    assert_eq!(jumped.state.problem, None);
    let kept = |currency| jumped.table.per_euro(currency).unwrap().to_string();
    assert_eq!((kept(Currency::Usd), kept(Currency::Try)), ("1.12".to_owned(), "50".to_owned()));
    let refused: Vec<_> = jumped.state.refused.iter().map(|one| (one.currency, one.why)).collect();
    assert_eq!(refused, [(Currency::Try, QuoteRefusal::Jump)]);
    assert_eq!(world.numbers().await[..2], [("refused", 1), ("unreadable", 0)]);
    world.says(says(MONDAY, &[(Currency::Usd, "1.12"), (Currency::Try, "51")]));
    assert_eq!(world.refresh().await.state.refused, []);
}

#[tokio::test]
async fn a_refresh_that_was_overtaken_is_decided_anew() {
    let world = World::new(says(FRIDAY, &[(Currency::Usd, "1.1")]));
    let before = world.refresh().await;
    let theirs = says(FRIDAY, &[(Currency::Usd, "1.11"), (Currency::Gbp, "0.84")]).unwrap();
    let theirs = before.table.merge(&[theirs], world.clock.now(), &RateSourceLimits::default()).table;
    let refresh = RateSourceCheck { expected: before.number, table: Some(theirs), state: before.state.clone() };
    *world.script.overtaking.lock().unwrap() = Some((world.store.clone(), refresh));
    world.says(says(FRIDAY, &[(Currency::Usd, "1.12")]));
    let after = world.refresh().await;
    let of = |currency| after.table.per_euro(currency).unwrap().to_string();
    assert_eq!((of(Currency::Usd), of(Currency::Gbp)), ("1.12".to_owned(), "0.84".to_owned()), "both are in it");
    assert_eq!(after.number, before.number + 2);
}
