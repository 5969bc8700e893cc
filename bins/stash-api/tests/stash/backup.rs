//! A backup of the database, restored later: what it holds of cards is noise.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dropin_access::Origin;
use dropin_card::{Card, ClientFacts, StashedData};
use dropin_kernel::Timestamp;
use dropin_keyring::StashKeys;
use dropin_ports::{
    Clock, SealedCard, StashEntry, StashFound, StashKey, StashStore, StashSummary, StashUsage, StashVault, StoreError,
};
use dropin_store::Store;
use dropin_usecases::access::KnownMerchants;
use dropin_usecases::stash::{KEY_PERIOD, NewEntry, STASH_LIFETIME, StashLimits, StashQuota, Stashing};

use crate::world::{ASSETS, MERCHANT, insert_merchant, open_store};

/// Somewhere in a period of the keys.
const BEGIN: i64 = (1_800_000_000 + 417) * 1_000_000;

struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

impl TestClock {
    fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

/// The store, and everything that it was given.
struct Watched(Store, Mutex<Vec<StashEntry>>);

#[async_trait]
impl StashStore for Watched {
    async fn put_stash(&self, entry: StashEntry) -> Result<(), StoreError> {
        self.1.lock().expect("no panic under this lock").push(entry.clone());
        self.0.put_stash(entry).await
    }

    async fn peek_stash(&self, key: &StashKey, now: Timestamp) -> Result<Option<StashFound>, StoreError> {
        self.0.peek_stash(key, now).await
    }

    async fn read_stash(
        &self,
        key: &StashKey,
        now: Timestamp,
    ) -> Result<Option<(StashSummary, SealedCard)>, StoreError> {
        self.0.read_stash(key, now).await
    }

    async fn stash_usage(&self, now: Timestamp) -> Result<Vec<StashUsage>, StoreError> {
        self.0.stash_usage(now).await
    }

    async fn purge_stash(&self, now: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.0.purge_stash(now, limit).await
    }
}

fn copy(from: &Path, to: &Path) -> Vec<u8> {
    fs::create_dir_all(to).expect("a folder");
    let mut bytes = Vec::new();
    for entry in fs::read_dir(from).expect("a folder").flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        bytes.extend(fs::read(entry.path()).expect("read"));
    }
    bytes
}

#[actix_web::test]
async fn a_backup_that_is_an_hour_old_opens_nothing_with_the_keys_of_today() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (live, backup, keys) = (folder.path().join("live"), folder.path().join("backup"), folder.path().join("keys"));
    fs::create_dir(&live).expect("a folder");
    let store = open_store(&live);
    insert_merchant(&store).await;
    let watched = Arc::new(Watched(store.clone(), Mutex::default()));
    let clock = Arc::new(TestClock(AtomicI64::new(BEGIN)));
    let vault = Arc::new(StashKeys::open(&keys, KEY_PERIOD, STASH_LIFETIME).expect("keys"));
    let stashing = Stashing {
        store: watched.clone(),
        merchants: KnownMerchants::new(Arc::new(store.clone())),
        sessions: Arc::new(store.clone()),
        wallets: Arc::new(store.clone()),
        vault: vault.clone(),
        clock: clock.clone(),
        asset_origin: Origin::parse(ASSETS).expect("an origin"),
        lifetime: STASH_LIFETIME,
        quota: Arc::new(StashQuota::new(StashLimits::NONE, STASH_LIFETIME)),
    };
    let merchant = stashing.merchant(MERCHANT).await.expect("the merchant");
    // Cards come all the time, for longer than any of them lives; none is purged.
    for minute in 0..70 {
        let card = StashedData::Card(Card::new("Ana", "4242 4242 4242 4242", "123", "2099", "12"));
        let (stash_id, browser) = (format!("cart-{minute}"), "browser".to_owned());
        stashing
            .put(
                &merchant,
                NewEntry {
                    client: 0,
                    session: None,
                    stash_id,
                    fingerprint: browser,
                    data: card,
                    facts: ClientFacts::default(),
                },
            )
            .await
            .expect("stashed");
        clock.pass(60);
        vault.rotate(clock.now()).expect("rotated");
    }
    let backed_up = copy(&live, &backup);
    let entries = watched.1.lock().expect("no panic under this lock").clone();
    let held = |entry: &&StashEntry| memchr::memmem::find(&backed_up, &entry.sealed.bytes).is_some();
    assert_eq!(entries.iter().filter(held).count(), 70, "the backup holds them all");
    let opened = |keys: &StashKeys| entries.iter().filter(|one| keys.open(&one.sealed, &one.key).is_ok()).count();
    let now = clock.now();
    let alive = entries.iter().filter(|entry| now < entry.expires_at).count();
    assert!(alive <= opened(&vault) && 29 <= alive, "cards that are alive can be paid with");
    // The service goes on for an hour; then somebody restores the backup beside today's keys.
    for _ in 0..60 {
        clock.pass(60);
        vault.rotate(clock.now()).expect("rotated");
    }
    store.close();
    let restored = open_store(&backup);
    let found = restored.stash_usage(now).await.expect("the restored store")[0].entries;
    assert_eq!(found as usize, alive, "the rows are back");
    restored.close();
    let today = StashKeys::open(&keys, KEY_PERIOD, STASH_LIFETIME).expect("keys");
    assert_eq!((opened(&today), opened(&vault)), (0, 0));
    let left: BTreeSet<_> = entries.iter().map(|entry| entry.sealed.key_id.as_str()).collect();
    assert!(3 < left.len() && left.iter().all(|key| !keys.join(format!("{key}.key")).exists()), "{left:?}");
    // What is stashed now is another matter.
    let (stash_id, browser) = ("new".to_owned(), "browser".to_owned());
    let stashed = vault.seal(
        &StashedData::Card(Card::new("", "", "", "", "")).into(),
        &StashKey { merchant_id: MERCHANT, stash_id, fingerprint: browser },
        clock.now(),
    );
    assert!(stashed.is_ok_and(|sealed| !left.contains(sealed.key_id.as_str())));
    assert!(KEY_PERIOD + STASH_LIFETIME + Duration::from_secs(2 * 60) <= Duration::from_secs(3_600));
}
