//! How a merchant comes to be, and how its API user is let in, over the real store and keys.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dropin_access::{Origin, PasswordHash, SealedSecret};
use dropin_kernel::Timestamp;
use dropin_keyring::MasterKey;
use dropin_money::Currency;
use dropin_ports::{AccessStore, Clock, IdSource, KeyringError, Secrets};
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::{AuthenticateError, CreateMerchant, MerchantCreated, Merchants, authenticate};
use uuid::Uuid;

struct StandingClock;

impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_795_000_000_000_000)
    }
}

/// Counts up; its secrets repeat in their first six bytes as often as the test wants.
struct CountingIds {
    next: AtomicUsize,
    same: usize,
}

impl IdSource for CountingIds {
    fn random(&self) -> Uuid {
        Uuid::from_u128(self.next.fetch_add(1, Ordering::SeqCst) as u128)
    }

    fn ordered(&self) -> Uuid {
        self.random()
    }

    fn secret(&self) -> [u8; 32] {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let mut secret = [7; 32];
        secret[31] = u8::try_from(number % 256).unwrap();
        secret[0] = if number < self.same { 0 } else { secret[31] };
        secret
    }
}

/// Counts how much work an authentication does.
struct CountingSecrets {
    inner: MasterKey,
    compared: AtomicUsize,
}

impl Secrets for CountingSecrets {
    fn hash_password(&self, password: &str) -> PasswordHash {
        self.inner.hash_password(password)
    }

    fn verify_password(&self, password: &str, hash: &PasswordHash) -> bool {
        self.compared.fetch_add(1, Ordering::SeqCst);
        self.inner.verify_password(password, hash)
    }

    fn seal_secret(&self, owner: &str, secret: &[u8]) -> Result<SealedSecret, KeyringError> {
        self.inner.seal_secret(owner, secret)
    }

    fn open_secret(&self, owner: &str, sealed: &SealedSecret) -> Result<Vec<u8>, KeyringError> {
        self.inner.open_secret(owner, sealed)
    }
}

struct Bench {
    store: Store,
    secrets: Arc<CountingSecrets>,
    merchants: Merchants,
    _folder: tempfile::TempDir,
}

fn bench(same: usize) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("dropin.db").display());
    let store = Store::open(StoreConfig::new(url, Role::Service)).unwrap();
    let inner = MasterKey::open_or_create(&folder.path().join("keys")).unwrap();
    let secrets = Arc::new(CountingSecrets { inner, compared: AtomicUsize::new(0) });
    let ids = Arc::new(CountingIds { next: AtomicUsize::new(1), same });
    let merchants =
        Merchants { store: Arc::new(store.clone()), secrets: secrets.clone(), clock: Arc::new(StandingClock), ids };
    Bench { store, secrets, merchants, _folder: folder }
}

async fn create(bench: &Bench, webhook_url: Option<&str>) -> MerchantCreated {
    let wanted = CreateMerchant {
        name: "Ana's mugs".to_owned(),
        webhook_url: webhook_url.map(str::to_owned),
        origins: vec![Origin::parse("https://shop.example").unwrap()],
        currencies: vec![Currency::Usd],
    };
    bench.merchants.create(wanted).await.map_err(|error| error.to_string()).unwrap()
}

#[tokio::test]
async fn a_new_merchant_is_let_in_with_what_was_shown_once() {
    let bench = bench(0);
    let made = create(&bench, None).await;
    assert!(made.password.len() == 64 && made.password.bytes().all(|c| c.is_ascii_hexdigit()));
    assert_eq!(made.webhook_secret, None);
    let caller = authenticate(&bench.store, &*bench.secrets, &made.username, &made.password).await.unwrap();
    assert_eq!((caller.username, caller.merchant.id), (made.username.clone(), made.merchant_id));
    assert_eq!(caller.merchant.session_lifetime.as_secs(), 24 * 3_600);
    let stored = bench.store.find_credentials(&made.username).await.unwrap().unwrap();
    assert!(!stored.user.password.0.windows(8).any(|part| made.password.as_bytes().starts_with(part)));
}

#[tokio::test]
async fn the_webhook_secret_is_32_bytes_and_kept_sealed() {
    let bench = bench(0);
    let made = create(&bench, Some("https://shop.example/hook")).await;
    let shown = made.webhook_secret.unwrap();
    let secret = STANDARD.decode(shown.strip_prefix("whsec_").unwrap()).unwrap();
    assert_eq!(secret.len(), 32);
    let endpoints = bench.store.list_endpoints(made.merchant_id).await.unwrap();
    assert_eq!(endpoints.len(), 1);
    assert!(!endpoints[0].secret.0.windows(16).any(|part| secret.starts_with(part)));
    let owner = endpoints[0].id.to_string();
    assert_eq!(bench.secrets.open_secret(&owner, &endpoints[0].secret), Ok(secret));
}

#[tokio::test]
async fn a_user_name_that_is_taken_is_drawn_again() {
    // A merchant's first user name is its fourth number; the second merchant draws the same one first.
    let bench = bench(7);
    let (first, second) = (create(&bench, None).await, create(&bench, None).await);
    assert_ne!(first.username, second.username);
    assert_eq!(bench.store.list_merchants().await.unwrap().len(), 2);
}

#[tokio::test]
async fn wrong_credentials_are_one_answer_and_one_amount_of_work() {
    let bench = bench(0);
    let made = create(&bench, None).await;
    for (username, password) in
        [(made.username.as_str(), "wrong"), (made.username.as_str(), ""), ("nobody", made.password.as_str()), ("", "")]
    {
        bench.secrets.compared.store(0, Ordering::SeqCst);
        let refused = authenticate(&bench.store, &*bench.secrets, username, password).await;
        assert_eq!(refused, Err(AuthenticateError::Invalid), "{username}");
        assert_eq!(bench.secrets.compared.load(Ordering::SeqCst), 1, "{username}");
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_no_wrong_password() {
    let bench = bench(0);
    let made = create(&bench, None).await;
    bench.store.close();
    let refused = authenticate(&bench.store, &*bench.secrets, &made.username, &made.password).await;
    assert!(matches!(refused, Err(AuthenticateError::Store(_))), "{refused:?}");
}
