//! A store on a file of its own, whose reads are counted, with a clock that the test moves.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::databases;
use async_trait::async_trait;
use dropin_access::{ApiUser, Endpoint, Merchant, Origin, PasswordHash, SealedSecret, TargetPolicy};
use dropin_kernel::{EndpointId, MerchantId, Timestamp};
use dropin_keyring::MasterKey;
use dropin_money::Currency;
use dropin_ports::{
    AccessStore, AccountChanged, Clock, EndpointChange, Fingerprint, IdSource, KeyringError, MerchantInserted,
    MerchantScreeningRules, MerchantSettings, NewAuditEntry, NewMerchant, ScreeningRulesChanged, Secrets, StoreError,
    UserChange, UserInserted,
};
use dropin_risk::Rules;
use dropin_store::Store;
use dropin_usecases::access::{
    AccountError, AuthenticateError, Authenticator, Caller, CreateMerchant, FailureLimit, MerchantCreated, Merchants,
};
use dropin_usecases::screening::ScreeningRules;
use uuid::Uuid;

pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
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
pub(crate) struct CountingSecrets {
    pub(crate) inner: Arc<MasterKey>,
    compared: AtomicUsize,
}

impl Secrets for CountingSecrets {
    fn hash_password(&self, password: &str) -> PasswordHash {
        self.inner.hash_password(password)
    }

    fn verify_password(&self, password: &str, hash: Option<&PasswordHash>) -> bool {
        self.compared.fetch_add(1, Ordering::SeqCst);
        self.inner.verify_password(password, hash)
    }

    fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint {
        self.inner.fingerprint(parts)
    }

    fn seal_secret(&self, owner: &str, secret: &[u8]) -> Result<SealedSecret, KeyringError> {
        self.inner.seal_secret(owner, secret)
    }

    fn open_secret(&self, owner: &str, sealed: &SealedSecret) -> Result<Vec<u8>, KeyringError> {
        self.inner.open_secret(owner, sealed)
    }
}

/// The real store, with its reads counted.
pub(crate) struct CountingStore {
    inner: Store,
    users: AtomicUsize,
    merchants: AtomicUsize,
    rules: AtomicUsize,
    rules_are_away: AtomicBool,
}

#[async_trait]
impl AccessStore for CountingStore {
    async fn insert_merchant(&self, new: NewMerchant) -> Result<MerchantInserted, StoreError> {
        self.inner.insert_merchant(new).await
    }

    async fn find_merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreError> {
        self.merchants.fetch_add(1, Ordering::SeqCst);
        self.inner.find_merchant(id).await
    }

    async fn list_merchants(&self) -> Result<Vec<Merchant>, StoreError> {
        self.inner.list_merchants().await
    }

    async fn set_merchant(
        &self,
        id: MerchantId,
        settings: MerchantSettings,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        self.inner.set_merchant(id, settings, audit).await
    }

    async fn find_screening_rules(&self, merchant: MerchantId) -> Result<Option<MerchantScreeningRules>, StoreError> {
        self.rules.fetch_add(1, Ordering::SeqCst);
        if self.rules_are_away.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("the test says so".to_owned()));
        }
        self.inner.find_screening_rules(merchant).await
    }

    async fn set_screening_rules(
        &self,
        merchant: MerchantId,
        decided_on: u64,
        text: Option<String>,
        on: Option<bool>,
        audit: NewAuditEntry,
    ) -> Result<ScreeningRulesChanged, StoreError> {
        self.inner.set_screening_rules(merchant, decided_on, text, on, audit).await
    }

    async fn find_user(&self, username: &str) -> Result<Option<ApiUser>, StoreError> {
        self.users.fetch_add(1, Ordering::SeqCst);
        self.inner.find_user(username).await
    }

    async fn insert_user(&self, user: ApiUser, audit: NewAuditEntry) -> Result<UserInserted, StoreError> {
        self.inner.insert_user(user, audit).await
    }

    async fn list_users(&self, merchant: MerchantId) -> Result<Vec<ApiUser>, StoreError> {
        self.inner.list_users(merchant).await
    }

    async fn change_user(
        &self,
        username: &str,
        change: UserChange,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        self.inner.change_user(username, change, audit).await
    }

    async fn insert_endpoint(&self, endpoint: Endpoint, audit: NewAuditEntry) -> Result<AccountChanged, StoreError> {
        self.inner.insert_endpoint(endpoint, audit).await
    }

    async fn list_endpoints(&self, merchant: MerchantId) -> Result<Vec<Endpoint>, StoreError> {
        self.inner.list_endpoints(merchant).await
    }

    async fn find_endpoint(&self, id: EndpointId) -> Result<Option<Endpoint>, StoreError> {
        self.inner.find_endpoint(id).await
    }

    async fn change_endpoint(
        &self,
        id: EndpointId,
        change: EndpointChange,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        self.inner.change_endpoint(id, change, audit).await
    }
}

/// Work done since it was asked last.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) compared: usize,
    pub(crate) users: usize,
    pub(crate) merchants: usize,
}

pub(crate) struct Harness {
    pub(crate) store: Store,
    pub(crate) secrets: Arc<CountingSecrets>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) merchants: Merchants,
    counting: Arc<CountingStore>,
    _folder: tempfile::TempDir,
}

/// Where requests come from.
pub(crate) const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

impl Harness {
    pub(crate) fn new() -> Self {
        Self::with_same_names(0)
    }

    /// A harness whose first `same` numbers give one user name.
    pub(crate) fn with_same_names(same: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = databases::create(folder.path());
        let inner = Arc::new(MasterKey::open_or_create(&folder.path().join("keys")).unwrap());
        let secrets = Arc::new(CountingSecrets { inner, compared: AtomicUsize::new(0) });
        let clock = Arc::new(TestClock(AtomicI64::new(1_795_000_000_000_000)));
        let merchants = Merchants {
            store: Arc::new(store.clone()),
            outbox: Arc::new(store.clone()),
            secrets: secrets.clone(),
            clock: clock.clone(),
            ids: Arc::new(CountingIds { next: AtomicUsize::new(1), same }),
            targets: TargetPolicy::sandbox(),
            by: dropin_ports::Acting::system(),
        };
        let zero = || AtomicUsize::new(0);
        let counting = Arc::new(CountingStore {
            inner: store.clone(),
            users: zero(),
            merchants: zero(),
            rules: zero(),
            rules_are_away: AtomicBool::new(false),
        });
        Self { store, secrets, clock, merchants, counting, _folder: folder }
    }

    pub(crate) fn authenticator(&self, sandbox: bool, per_minute: u32) -> Authenticator {
        let (store, secrets, clock) = (self.counting.clone(), self.secrets.clone(), self.clock.clone());
        Authenticator::new(store, secrets, clock, sandbox, FailureLimit { per_minute })
    }

    /// One authentication that remembers nothing.
    pub(crate) async fn once(&self, username: &str, password: &str) -> Result<Caller, AuthenticateError> {
        let now = self.clock.now();
        dropin_usecases::access::authenticate(&*self.counting, &*self.secrets, now, username, password).await
    }

    pub(crate) async fn create(&self, webhook_url: Option<&str>) -> MerchantCreated {
        let wanted = CreateMerchant { webhook_url: webhook_url.map(str::to_owned), ..wanted() };
        self.merchants.create(wanted).await.map_err(|error| error.to_string()).unwrap()
    }

    /// The merchant as it is stored now.
    pub(crate) async fn merchant(&self, id: MerchantId) -> Merchant {
        self.store.find_merchant(id).await.unwrap().unwrap()
    }

    /// Rules of screening over this store.
    pub(crate) fn screening_rules(&self, of_deployment: Rules) -> ScreeningRules {
        ScreeningRules::new(of_deployment, self.counting.clone())
    }

    /// How often merchants' rules were read since it was asked last.
    pub(crate) fn rules_read(&self) -> usize {
        self.counting.rules.swap(0, Ordering::SeqCst)
    }

    /// Whether merchants' rules can be read from now on.
    pub(crate) fn put_rules_away(&self, are_away: bool) {
        self.counting.rules_are_away.store(are_away, Ordering::SeqCst);
    }

    pub(crate) fn work(&self) -> Work {
        Work {
            compared: self.secrets.compared.swap(0, Ordering::SeqCst),
            users: self.counting.users.swap(0, Ordering::SeqCst),
            merchants: self.counting.merchants.swap(0, Ordering::SeqCst),
        }
    }
}

pub(crate) fn wanted() -> CreateMerchant {
    CreateMerchant {
        name: "Ana's mugs".to_owned(),
        webhook_url: None,
        origins: vec![Origin::parse("https://shop.example").unwrap()],
        currencies: vec![Currency::Usd],
    }
}

/// The fields that were refused.
#[track_caller]
pub(crate) fn fields<T>(refused: Result<T, AccountError>) -> Vec<String> {
    match refused {
        Err(AccountError::Invalid(violations)) => violations.into_iter().map(|one| one.field).collect(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it should have been refused"),
    }
}
