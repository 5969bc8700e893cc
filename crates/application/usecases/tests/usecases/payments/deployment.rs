//! A database and a simulated processor that outlive the programs which work on them.

use std::sync::Arc;
use std::time::Duration;

use crate::databases;
use dropin_card::{Card, CardHash, Scheme, StashContents, StashedData, StashedKind};
use dropin_catalogue::Catalogue;
use dropin_kernel::{ContractId, MerchantId, OrderId, SessionId, Timestamp};
use dropin_ports::{
    AccessStore, AttemptResult, Clock, CredentialVault, DeliveryResult, KeyringError, MerchantInserted, OutboxStore,
    PaymentStore, Processor, ScreeningStore, SealedCard, SealedCredential, SessionStore, StashBinding, StashEntry,
    StashKey, StashStore, StashSummary, StashVault, StoredCredential,
};
use dropin_risk::{Rules, RulesFile};
use dropin_session::Attempts;
use dropin_store::Store;
use dropin_store_contract::{fresh, insertable_with, new_merchant};
use dropin_usecases::access::{Caller, KnownMerchants};
use dropin_usecases::audit::Audit;
use dropin_usecases::contracts::{Contracts, CredentialDeletions};
use dropin_usecases::payments::{Payments, PollThrottle, Shopper, Timing};
use dropin_usecases::screening::{PaymentScreening, ScreeningRules};
use dropin_usecases::sessions::Sessions;
use dropin_usecases::wallet::WalletOffers;
use dropin_validation::UrlPolicy;
use tempfile::{TempDir, tempdir};

use super::counts::ReadableHashes;
use super::fault::{FaultPoint, Faulty};
use super::processor::{SimulatedProcessor, Verdict};
use super::world::{FreshIds, TestClock};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Of the one browser that all cards are typed in.
pub(crate) const BROWSER: &str = "browser";

/// Keeps cards as they are: these tests are about money.
struct PlainVault;

impl StashVault for PlainVault {
    fn seal(&self, contents: &StashContents, _: StashBinding<'_>, _: Timestamp) -> Result<SealedCard, KeyringError> {
        Ok(SealedCard { key_id: "plain".to_owned(), bytes: contents.to_sealed_plaintext().to_vec() })
    }

    fn open(&self, sealed: &SealedCard, _: StashBinding<'_>) -> Result<StashContents, KeyringError> {
        StashContents::from_sealed_plaintext(&sealed.bytes).map_err(|_malformed| KeyringError::CannotOpen)
    }

    fn hash_card(&self, _: MerchantId, digits: &str) -> Result<CardHash, KeyringError> {
        let mut hash = [0; 32];
        hash[..digits.len()].copy_from_slice(digits.as_bytes());
        Ok(CardHash(hash))
    }

    fn check_key(&self, _: &str) -> Result<(), KeyringError> {
        Ok(())
    }

    fn check(&self, _: Timestamp) -> Result<(), KeyringError> {
        Ok(())
    }
}

/// Keeps stored credentials as they are.
struct PlainCredentials;

impl CredentialVault for PlainCredentials {
    fn seal(
        &self,
        _: MerchantId,
        _: ContractId,
        credential: &StoredCredential,
    ) -> Result<SealedCredential, KeyringError> {
        Ok(SealedCredential { key_id: "plain".to_owned(), bytes: credential.expose().as_bytes().to_vec() })
    }

    fn open(&self, _: MerchantId, _: ContractId, sealed: &SealedCredential) -> Result<StoredCredential, KeyringError> {
        let text = std::str::from_utf8(&sealed.bytes).ok();
        text.and_then(|text| text.parse().ok()).ok_or(KeyringError::CannotOpen)
    }

    fn current_key_id(&self) -> Result<String, KeyringError> {
        Ok("plain".to_owned())
    }

    fn check(&self) -> Result<(), KeyringError> {
        Ok(())
    }
}

/// Counts as many tries as there are cases, and stops none.
fn allow_all(store: Store) -> ScreeningRules {
    let file = RulesFile::parse("[thresholds]\nCHALLENGE = 101\nREVIEW = 101\nBLOCK = 101").unwrap();
    ScreeningRules::new(Rules::built_in().with(&file).unwrap(), Arc::new(store))
}

pub(crate) struct Deployment {
    folder: TempDir,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) processor: Arc<SimulatedProcessor>,
    pub(crate) caller: Caller,
    /// Whether payments are screened, by rules that allow all of them.
    screened: bool,
}

/// A program that works on the deployment; its store is closed when it is dropped, so that the next one can open it.
pub(crate) struct Program {
    /// Without faults, for what the test itself wants to know.
    pub(crate) store: Store,
    pub(crate) payments: Payments,
    pub(crate) shopper: Shopper,
    pub(crate) sessions: Sessions,
    pub(crate) deletions: CredentialDeletions,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.store.close();
    }
}

impl Deployment {
    pub(crate) async fn new() -> Self {
        let clock = TestClock::start();
        let mut new = new_merchant(true);
        // Nothing is screened in a program without rules.
        new.merchant = new.merchant.edited(|parts| parts.screening.on = true).unwrap();
        let (username, permissions) = (new.user.username.clone(), new.user.permissions);
        let caller = Caller { username, merchant: new.merchant.clone(), permissions };
        let processor = Arc::new(SimulatedProcessor::new(clock.clone()));
        let deployment = Self { folder: tempdir().unwrap(), clock, processor, caller, screened: false };
        let program = deployment.start();
        assert_eq!(program.store.insert_merchant(new).await.unwrap(), MerchantInserted::Done);
        deployment
    }

    /// Another one like this, with its merchant; no program may run on this one.
    pub(crate) fn copy(&self) -> Self {
        let (folder, clock) = (tempdir().unwrap(), TestClock::start());
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        let processor = Arc::new(SimulatedProcessor::new(clock.clone()));
        Self { folder, clock, processor, caller: self.caller.clone(), screened: self.screened }
    }

    /// The same, whose processor names authorizations itself.
    pub(crate) fn registering(self) -> Self {
        Self { processor: Arc::new(SimulatedProcessor::registering(self.clock.clone())), ..self }
    }

    /// The same, whose payments are screened.
    pub(crate) fn screened(self) -> Self {
        Self { screened: true, ..self }
    }

    pub(crate) fn start(&self) -> Program {
        let store = databases::open(self.folder.path());
        let shared = Arc::new(store.clone());
        self.program(store, shared.clone(), shared.clone(), shared.clone(), shared, self.processor.clone())
    }

    /// The same program with a fault at this point; when either is dropped, the store of both is closed. What it knows of merchants comes from the
    /// store without faults: that is only read.
    pub(crate) fn with_fault(&self, program: &Program, point: &Arc<FaultPoint>) -> Program {
        let store = program.store.clone();
        let faulty = Arc::new(Faulty { inner: store.clone(), point: point.clone() });
        let inner: Arc<dyn Processor> = self.processor.clone();
        let processor = Arc::new(Faulty { inner, point: point.clone() });
        self.program(store, faulty.clone(), faulty.clone(), faulty.clone(), faulty, processor)
    }

    fn program(
        &self,
        store: Store,
        payment_store: Arc<dyn PaymentStore>,
        session_store: Arc<dyn SessionStore>,
        stash: Arc<dyn StashStore>,
        screening_store: Arc<dyn ScreeningStore>,
        processor: Arc<dyn Processor>,
    ) -> Program {
        let (clock, ids) = (self.clock.clone(), Arc::new(FreshIds));
        let shared = Arc::new(store.clone());
        let merchants = KnownMerchants::new(shared.clone());
        let screening = PaymentScreening::new(screening_store, shared, merchants, clock.clone());
        let screening = if self.screened {
            screening.with_rules(allow_all(store.clone())).with_keyring(Arc::<ReadableHashes>::default())
        } else {
            screening
        };
        let payments = Payments {
            store: payment_store,
            processor,
            clock: clock.clone(),
            ids: ids.clone(),
            credentials: Some(Arc::new(PlainCredentials)),
            catalogue: Arc::new(Catalogue::of_sandbox()),
            processors: Default::default(),
            timing: Timing::default(),
            screening,
            authorizations: Arc::default(),
        };
        let checkout_url = "http://localhost:8083".to_owned();
        let shopper = Shopper {
            poll_throttle: PollThrottle::default(),
            page_closings: PollThrottle::default(),
            sessions: session_store.clone(),
            merchants: KnownMerchants::new(Arc::new(store.clone())),
            stash,
            vault: Arc::new(PlainVault),
            payments: payments.clone(),
            contracts: Contracts { store: Arc::new(store.clone()), clock: clock.clone(), ids: ids.clone() },
            return_base: checkout_url.clone(),
            wallets: WalletOffers::new(Arc::new(store.clone()), clock.clone(), checkout_url),
            sandbox: true,
        };
        let contracts = Arc::new(store.clone());
        let sessions = Sessions { store: session_store, contracts, clock, ids, url_policy: UrlPolicy::Sandbox };
        let deletions = CredentialDeletions {
            store: Arc::new(store.clone()),
            vault: Arc::new(PlainCredentials),
            processor: payments.processor.clone(),
            clock: payments.clock.clone(),
            ids: payments.ids.clone(),
        };
        Program { store, payments, shopper, sessions, deletions }
    }
}

impl Program {
    /// A Session of 29.90 USD that lives for a day.
    pub(crate) async fn session(
        &self,
        deployment: &Deployment,
        attempts_allowed: u32,
        auto_capture: bool,
        opens_contract: bool,
        brings_back_to: Option<ContractId>,
    ) -> SessionId {
        let mut new = insertable_with(deployment.caller.merchant.id, |terms| {
            (terms.auto_capture, terms.open_contract) = (auto_capture, Some(opens_contract));
            terms.contract_id = brings_back_to;
        });
        let now = deployment.clock.now();
        let edited = new.session.edited(|parts| {
            (parts.created_at, parts.updated_at, parts.expires_at) = (now, now, now.plus(DAY));
            parts.attempts = Attempts::new(attempts_allowed).unwrap();
        });
        new.session = edited.unwrap();
        let id = new.session.id;
        self.store.insert_session(new).await.unwrap();
        id
    }

    /// Stashes a card that comes to this; its StashId.
    pub(crate) async fn stash(&self, deployment: &Deployment, verdict: Verdict) -> String {
        let stash_id = fresh().to_string();
        let (merchant_id, fingerprint) = (deployment.caller.merchant.id, BROWSER.to_owned());
        let key = StashKey { merchant_id, stash_id: stash_id.clone(), fingerprint };
        let card = StashedData::Card(Card::new("Ada", verdict.number(), "123", "2031", "12"));
        let now = deployment.clock.now();
        let entry = StashEntry {
            sealed: PlainVault.seal(&card.into(), &key, now).unwrap(),
            key,
            summary: StashSummary { kind: StashedKind::Card(Some(Scheme::Visa)), usable: true },
            created_at: now,
            expires_at: now.plus(DAY),
        };
        self.store.put_stash(entry).await.unwrap();
        stash_id
    }

    /// What merchants were told of this Session's payment since the last look; what they were told of others is gone then.
    pub(crate) async fn take_events(&self, now: Timestamp, session: SessionId) -> Vec<String> {
        let mut told = Vec::new();
        let lease_until = now.plus(Duration::from_secs(60));
        let mut batch = self.store.claim_deliveries(&[], now, lease_until, 100, 100).await.unwrap().deliveries;
        while !batch.is_empty() {
            let own = batch.iter().filter(|one| one.payment_id == session.into());
            told.extend(own.map(|one| one.event_type.clone()));
            let done = batch.iter().map(|one| AttemptResult::new(one.key, DeliveryResult::Acknowledged)).collect();
            batch = self.store.finish_deliveries(done, now, lease_until).await.unwrap().next;
        }
        told
    }

    /// What `dropin ledger verify` complains about, of these Orders.
    pub(crate) async fn findings(&self, of: impl Fn(Option<OrderId>) -> bool) -> Vec<String> {
        let (store, clock) = (Arc::new(self.store.clone()), self.payments.clock.clone());
        let report = Audit { store, journal: None, credentials: None, clock }.verify().await.unwrap();
        report
            .findings
            .into_iter()
            .filter(|finding| of(finding.order))
            .map(|finding| format!("{:?}: {}", finding.what, finding.words))
            .collect()
    }
}
