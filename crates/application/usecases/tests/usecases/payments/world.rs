//! A store on a file of its own, a clock that the case moves, and one merchant with an endpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::databases;
use dropin_access::Origin;
use dropin_card::{Card, ClientFacts, StashedData};
use dropin_catalogue::Catalogue;
use dropin_kernel::{AttemptId, OrderId, SessionId, Timestamp};
use dropin_keyring::StashKeys;
use dropin_money::{Amount, Currency, Decimal};
use dropin_order::{Channel, Order, Refund};
use dropin_ports::{
    AccessStore, Actor, AttemptResult, Clock, DeliveryResult, IdSource, KeyUse, MerchantInserted, OrderName,
    OutboxStore, PaymentStore, RequestKey, ScreeningStore, SessionStore, StoredResponse,
};
use dropin_risk::{Rules, RulesFile};
use dropin_session::Session;
use dropin_store::Store;
use dropin_store_contract::{fresh, insertable, new_merchant};
use dropin_usecases::access::{Caller, KnownMerchants};
use dropin_usecases::contracts::Contracts;
use dropin_usecases::idempotency::IdempotentOutcome;
use dropin_usecases::payments::{
    CaptureError, CheckoutAsk, Checkouts, Payments, PollThrottle, RefundAsk, RefundError, Shopper, Submit, SubmitError,
    Submitted, Timing,
};
use dropin_usecases::screening::{PaymentScreening, ScreeningRules};
use dropin_usecases::stash::{KEY_PERIOD, NewEntry, STASH_LIFETIME, StashLimits, StashQuota, Stashing};
use dropin_usecases::wallet::WalletOffers;
use dropin_wire::shopper::SubmitMeans;
use uuid::Uuid;

use super::counts::{Counts, ReadableHashes};
use super::script::Script;

pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn start() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(1_790_000_010_000_000)))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

pub(crate) struct FreshIds;

impl IdSource for FreshIds {
    fn random(&self) -> Uuid {
        fresh()
    }

    fn ordered(&self) -> Uuid {
        fresh()
    }

    fn secret(&self) -> [u8; 32] {
        [7; 32]
    }
}

pub(crate) struct World {
    _folder: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) script: Arc<Script>,
    clock: Arc<TestClock>,
    pub(crate) caller: Caller,
    pub(crate) payments: Payments,
    pub(crate) shopper: Shopper,
    pub(crate) checkouts: Checkouts,
    pub(crate) counts: Arc<Counts>,
    pub(crate) keyring: Arc<ReadableHashes>,
    rules: ScreeningRules,
    stashing: Stashing,
}

pub(crate) fn usd(minor: i64) -> Amount {
    Amount::from_minor(Currency::Usd, minor).unwrap()
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Catalogue::of_sandbox()).await
    }

    /// One whose deployment has these methods.
    pub(crate) async fn with(catalogue: Catalogue) -> Self {
        Self::start(catalogue, None).await
    }

    /// One whose merchant's payments are screened by this file, laid over the rules that are built in.
    pub(crate) async fn screened(file: &str) -> Self {
        Self::start(Catalogue::of_sandbox(), Some(file)).await
    }

    async fn start(catalogue: Catalogue, rules: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = databases::create(folder.path());
        let mut new = new_merchant(true);
        new.merchant = new.merchant.edited(|parts| parts.screening.on = rules.is_some()).unwrap();
        let permissions = new.user.permissions;
        let caller = Caller { username: new.user.username.clone(), merchant: new.merchant.clone(), permissions };
        assert_eq!(store.insert_merchant(new).await.unwrap(), MerchantInserted::Done);
        let clock = TestClock::start();
        let vault = Arc::new(StashKeys::open(&folder.path().join("keys"), KEY_PERIOD, STASH_LIFETIME).unwrap());
        let (shared, script) = (Arc::new(store.clone()), Arc::new(Script::default()));
        let file = RulesFile::parse(rules.unwrap_or_default()).unwrap();
        let rules = ScreeningRules::new(Rules::built_in().with(&file).unwrap(), shared.clone());
        let (counts, keyring) = (Arc::new(Counts::default()), Arc::new(ReadableHashes::default()));
        let merchants = KnownMerchants::new(shared.clone());
        let screening = PaymentScreening::new(counts.clone(), shared.clone(), merchants, clock.clone());
        let payments = Payments {
            store: shared.clone(),
            processor: script.clone(),
            clock: clock.clone(),
            ids: Arc::new(FreshIds),
            credentials: None,
            catalogue: Arc::new(catalogue),
            processors: Default::default(),
            timing: Timing::default(),
            screening: screening.with_rules(rules.clone()).with_keyring(keyring.clone()),
            authorizations: Arc::default(),
        };
        let return_base = "http://localhost:8083".to_owned();
        let (store_of, clock_of) = (shared.clone(), clock.clone());
        let wallets = WalletOffers::new(store_of, clock_of, return_base.clone());
        let shopper = Shopper {
            poll_throttle: PollThrottle::default(),
            page_closings: PollThrottle::default(),
            sessions: shared.clone(),
            merchants: KnownMerchants::new(shared.clone()),
            stash: shared.clone(),
            vault: vault.clone(),
            payments: payments.clone(),
            contracts: Contracts { store: shared.clone(), clock: clock.clone(), ids: Arc::new(FreshIds) },
            return_base: return_base.clone(),
            wallets: wallets.clone(),
            sandbox: true,
        };
        let stashing = Stashing {
            store: shared.clone(),
            merchants: shopper.merchants.clone(),
            sessions: shared.clone(),
            wallets: shared.clone(),
            vault: vault.clone(),
            clock: clock.clone(),
            asset_origin: Origin::parse(&return_base).unwrap(),
            lifetime: STASH_LIFETIME,
            quota: Arc::new(StashQuota::new(StashLimits::NONE, STASH_LIFETIME)),
        };
        let payments_of = payments.clone();
        let contracts = shared.clone();
        let checkouts = Checkouts { payments: payments_of, stash: shared, vault, return_base, wallets, contracts };
        Self {
            _folder: folder,
            store,
            script,
            clock,
            caller,
            payments,
            shopper,
            checkouts,
            counts,
            keyring,
            rules,
            stashing,
        }
    }

    /// What another program screens with, which opens no card.
    pub(crate) fn screening_elsewhere(&self) -> PaymentScreening {
        self.screening_with(self.counts.clone())
    }

    /// Screening that counts and keeps in `counts`.
    pub(crate) fn screening_with(&self, counts: Arc<dyn ScreeningStore>) -> PaymentScreening {
        let shared = Arc::new(self.store.clone());
        let merchants = KnownMerchants::new(shared.clone());
        PaymentScreening::new(counts, shared, merchants, self.clock.clone()).with_rules(self.rules.clone())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// A checkout of 10.00 USD with a method without a card; says what the merchant was told.
    pub(crate) async fn checkout(&self, method: &str, capture: bool) -> (OrderId, StoredResponse) {
        self.checkout_with(method, capture, None).await
    }

    /// The use of a key that was never used before.
    pub(crate) fn key_use(&self) -> KeyUse {
        let mut digest = [0; 32];
        digest[..16].copy_from_slice(fresh().as_bytes());
        let at = self.clock.now();
        let key = RequestKey { merchant_id: self.caller.merchant.id, digest };
        KeyUse { key, fingerprint: [1; 32], at, until: at.plus(Duration::from_secs(3_600)) }
    }

    pub(crate) async fn checkout_with(
        &self,
        method: &str,
        capture: bool,
        key_use: Option<KeyUse>,
    ) -> (OrderId, StoredResponse) {
        self.checkout_named(&format!("ref-{}", fresh()), method, capture, key_use).await
    }

    pub(crate) async fn checkout_named(
        &self,
        reference: &str,
        method: &str,
        capture: bool,
        key_use: Option<KeyUse>,
    ) -> (OrderId, StoredResponse) {
        let reference = reference.to_owned();
        let ask = CheckoutAsk {
            reference: reference.clone(),
            total: usd(1_000),
            country: "US".to_owned(),
            method: Some(method.to_owned()),
            stash_id: None,
            email: "ana@shop.example".to_owned(),
            fingerprint: "browser".to_owned(),
            capture,
            return_url: Some("https://shop.example/back?cart=1#top".to_owned()),
            document: "{}".to_owned(),
        };
        let told = self.checkouts.pay(&self.caller, &ask, key_use).await.unwrap();
        let name = OrderName::Reference(reference);
        let order = self.store.find_order(self.caller.merchant.id, &name).await.unwrap().unwrap();
        (order.id, answer(told))
    }

    /// An authorized checkout of 10.00 USD.
    pub(crate) async fn authorized(&self) -> OrderId {
        self.checkout("PAYPAL", false).await.0
    }

    /// A captured one.
    pub(crate) async fn captured(&self) -> OrderId {
        let id = self.checkout("PAYPAL", true).await.0;
        assert_eq!(self.state(id).await, "PROCESSED");
        id
    }

    /// A Session of 29.90 USD that nobody has tried to pay.
    pub(crate) async fn session(&self) -> SessionId {
        let new = insertable(self.caller.merchant.id);
        let id = new.session.id;
        self.store.insert_session(new).await.unwrap();
        id
    }

    /// A Session of 29.90 USD that a shopper submits with a method.
    pub(crate) async fn submitted(&self, method: &str) -> (SessionId, Submitted) {
        let id = self.session().await;
        (id, self.submit(id, AttemptId::new(fresh()), method).await.unwrap())
    }

    /// The shopper submits the Session as it is now.
    pub(crate) async fn submit(
        &self,
        id: SessionId,
        attempt: AttemptId,
        method: &str,
    ) -> Result<Submitted, SubmitError> {
        let version = self.stored(id).await.revision;
        let means = SubmitMeans::Method(method.to_owned());
        let submit =
            Submit { version, attempt, means, fingerprint: "browser".to_owned(), consent: None, postcode: None };
        self.shopper.submit(id, submit).await
    }

    /// The shopper types a card and submits the Session as it is now.
    pub(crate) async fn submit_card(&self, id: SessionId, number: &str) -> Result<Submitted, SubmitError> {
        self.submit_card_to(&self.shopper, id, number).await
    }

    /// The same where the flows are `shopper`'s.
    pub(crate) async fn submit_card_to(
        &self,
        shopper: &Shopper,
        id: SessionId,
        number: &str,
    ) -> Result<Submitted, SubmitError> {
        let stash_id = self.stash(StashedData::Card(Card::new("Ana", number, "123", "2099", "12"))).await;
        let fingerprint = "browser".to_owned();
        let (version, attempt) = (self.stored(id).await.revision, AttemptId::new(fresh()));
        shopper
            .submit(
                id,
                Submit {
                    version,
                    attempt,
                    means: SubmitMeans::Stash { stash_id, scheme: None },
                    fingerprint,
                    consent: None,
                    postcode: None,
                },
            )
            .await
    }

    /// Stashes it in the browser; its StashId.
    pub(crate) async fn stash(&self, data: StashedData) -> String {
        let (stash_id, fingerprint) = (fresh().to_string(), "browser".to_owned());
        let entry = NewEntry {
            client: 1,
            session: None,
            stash_id: stash_id.clone(),
            fingerprint,
            data,
            facts: ClientFacts::new("192.0.2.7".parse().ok(), Some("Europe/Vienna"), Some("de-DE")),
        };
        self.stashing.put(&self.caller.merchant, entry).await.unwrap();
        stash_id
    }

    pub(crate) async fn stored(&self, id: SessionId) -> Session {
        self.store.find_session_for_shopper(id).await.unwrap().unwrap().session
    }

    pub(crate) async fn order(&self, id: OrderId) -> Order {
        self.store.find_order_anywhere(id).await.unwrap().unwrap().0
    }

    pub(crate) async fn state(&self, id: OrderId) -> &'static str {
        self.order(id).await.state.as_str()
    }

    pub(crate) async fn capture(&self, id: OrderId, amount: Option<&str>) -> Result<StoredResponse, CaptureError> {
        let amount = amount.map(|text| Decimal::parse(text).unwrap());
        self.payments.capture(&self.caller.act(None), id, amount.as_ref(), Channel::Order, None).await.map(answer)
    }

    pub(crate) async fn refund(
        &self,
        id: OrderId,
        name: &str,
        amount: Option<&str>,
    ) -> Result<StoredResponse, RefundError> {
        let amount = amount.map(|text| Decimal::parse(text).unwrap());
        let ask = RefundAsk { reference: name.to_owned(), amount, description: None };
        self.payments.refund(&self.caller.act(None), id, &ask, None).await.map(answer)
    }

    pub(crate) async fn refunds(&self, id: OrderId) -> Vec<Refund> {
        self.payments.refunds(&self.caller, id).await.unwrap()
    }

    /// Lets `by` pass and does what is due then; says how many operations were looked after.
    pub(crate) async fn settle_after(&self, by: Duration) -> usize {
        self.advance(by);
        let claims = self.payments.claim_due(100).await.unwrap();
        for claim in &claims {
            self.payments.settle_one(*claim).await.unwrap();
        }
        claims.len()
    }

    /// The steps of an Order's life, and who took them.
    pub(crate) async fn store_history(&self, id: OrderId) -> Vec<String> {
        let details = self.payments.order(&self.caller, &OrderName::Id(id)).await.unwrap();
        let by = |actor: &Actor| match actor {
            Actor::Merchant(_) => "MERCHANT".to_owned(),
            Actor::Shopper => "SHOPPER".to_owned(),
            Actor::System => "SYSTEM".to_owned(),
            Actor::Operator(name) | Actor::CommandLine(name) => format!("OPERATOR {name}"),
        };
        details.history.iter().map(|step| format!("{} by {}", step.what, by(&step.actor))).collect()
    }

    /// What the merchant was told since the last look, in order of each payment.
    pub(crate) async fn events(&self) -> Vec<String> {
        let now = self.clock.now();
        let mut told = Vec::new();
        let lease_until = now.plus(Duration::from_secs(60));
        let mut batch = self.store.claim_deliveries(&[], now, lease_until, 100, 100).await.unwrap().deliveries;
        while !batch.is_empty() {
            told.extend(batch.iter().map(|one| one.event_type.clone()));
            let done = batch.iter().map(|one| AttemptResult::new(one.key, DeliveryResult::Acknowledged)).collect();
            batch = self.store.finish_deliveries(done, now, lease_until).await.unwrap().next;
        }
        told
    }
}

/// The answer, however it is kept.
pub(crate) fn answer(told: IdempotentOutcome) -> StoredResponse {
    match told {
        IdempotentOutcome::Stored(answer)
        | IdempotentOutcome::Unstored(answer)
        | IdempotentOutcome::Concluded(answer) => answer,
        IdempotentOutcome::KeyTaken => panic!("no key was sent"),
    }
}

pub(crate) fn body(answer: &StoredResponse) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}
