//! Both sides of the service on a real port over SQLite, with a processor that answers as the case says.

mod processor;
mod response;
mod vault;
mod wallet;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::http::header::CONTENT_TYPE;
use checkout_api::{CheckoutDeps, MerchantDeps, configure, configure_association, configure_checkout};
use dropin_access::{Origin, Permission, Permissions, TargetPolicy, WalletDomain, WalletHost, WalletHosts};
use dropin_boot::{SystemClock, SystemIds};
use dropin_card::{ClientFacts, StashedData};
use dropin_catalogue::Catalogue;
use dropin_http::{AuthState, Flows, RunningServer, Server};
use dropin_keyring::MasterKey;
use dropin_money::Currency;
use dropin_ports::{AccessStore, Clock, MerchantSettings, StoredResponse};
use dropin_risk::{Rules, RulesFile};
use dropin_session::Session;
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::{Authenticator, CreateMerchant, FailureLimit, KnownMerchants, Merchants};
use dropin_usecases::catalogue::MethodLists;
use dropin_usecases::contracts::Contracts;
use dropin_usecases::disputes::{DisputeProcessor, Disputes};
use dropin_usecases::idempotency::{IdempotencyService, IdempotentOutcome, KEEP, Reply};
use dropin_usecases::payments::{Checkouts, Payments, PollThrottle, Shopper, Timing};
use dropin_usecases::screening::{PaymentScreening, ScreeningRules};
use dropin_usecases::sessions::Sessions;
use dropin_usecases::stash::{NewEntry, StashLimits, StashQuota, Stashing};
use dropin_usecases::wallet::{AssociationFile, WalletOffers, WalletSessions, WalletSetup};
use dropin_validation::UrlPolicy;
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

pub(crate) use processor::{ProcessorStub, redirect};
pub(crate) use response::Answer;
use vault::PlainVault;
pub(crate) use vault::card;
pub(crate) use wallet::Gateway;

pub(crate) const CARD: &str = "4242424242424242";
pub(crate) const FINGERPRINT: &str = "a browser";

/// An API user.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) merchant: String,
}

pub(crate) struct Api {
    pub(crate) bank: Arc<ProcessorStub>,
    pub(crate) ana: User,
    pub(crate) bob: User,
    pub(crate) store: Store,
    merchants: Merchants,
    stashing: Stashing,
    auth: AuthState,
    sessions: Sessions,
    pub(crate) gateway: Arc<Gateway>,
    setup: WalletSetup,
    address: SocketAddr,
    client: awc::Client,
    _server: RunningServer,
    _flows: Flows,
    _stop: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

impl Api {
    pub(crate) async fn start() -> Self {
        Self::start_as(false).await
    }

    /// With the drop-in of a sandbox, or of production.
    pub(crate) async fn start_as(sandbox: bool) -> Self {
        Self::start_with(sandbox, None).await
    }

    /// Whose payments are screened by this file, laid over the rules that are built in.
    pub(crate) async fn start_screened(file: &str) -> Self {
        Self::start_with(false, Some(file)).await
    }

    async fn start_with(sandbox: bool, rules: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("dropin.db").display());
        let store = Store::open(StoreConfig::new(url, Role::Service)).unwrap();
        let shared = Arc::new(store.clone());
        let secrets = Arc::new(MasterKey::open_or_create(&folder.path().join("keys")).unwrap());
        let (clock, ids): (Arc<dyn Clock>, _) = (Arc::new(SystemClock), Arc::new(SystemIds));
        let merchants = Merchants {
            store: shared.clone(),
            outbox: shared.clone(),
            secrets: secrets.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            targets: TargetPolicy::production(),
            by: dropin_ports::Acting::system(),
        };
        let (ana, bob) = (create(&merchants, "Ana's mugs").await, create(&merchants, "Bob's books").await);
        let (bank, flows) = (Arc::new(ProcessorStub::default()), Flows::start().unwrap());
        let catalogue = Arc::new(Catalogue::of_sandbox());
        let known = KnownMerchants::new(shared.clone());
        let mut screening = PaymentScreening::new(shared.clone(), shared.clone(), known, clock.clone());
        if let Some(file) = rules {
            let file = RulesFile::parse(file).unwrap();
            let rules = ScreeningRules::new(Rules::built_in().with(&file).unwrap(), shared.clone());
            screening = screening.with_rules(rules);
        }
        let payments = Payments {
            store: shared.clone(),
            processor: bank.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            credentials: None,
            catalogue: catalogue.clone(),
            processors: Default::default(),
            timing: Timing::default(),
            screening,
            authorizations: Arc::default(),
        };
        let sessions = Sessions {
            store: shared.clone(),
            contracts: shared.clone(),
            clock: clock.clone(),
            ids,
            url_policy: UrlPolicy::Production,
        };
        let return_base = "https://assets.example".to_owned();
        let vault = Arc::new(PlainVault);
        let gateway = Arc::new(Gateway::default());
        let setup = WalletSetup {
            store: shared.clone(),
            secrets: secrets.clone(),
            provider: gateway.clone(),
            clock: clock.clone(),
            ids: Arc::new(SystemIds),
            by: dropin_ports::Acting::system(),
            sandbox: false,
        };
        let asset_origin = Origin::parse("https://assets.example").unwrap();
        let hosts = WalletHost::PUBLISHED.map(|name| WalletHost::parse(name).unwrap()).to_vec();
        let wallets = WalletSessions {
            store: shared.clone(),
            access: shared.clone(),
            secrets: secrets.clone(),
            provider: gateway.clone(),
            clock: clock.clone(),
            hosts: WalletHosts::new(hosts),
            asset_origin: asset_origin.clone(),
            sandbox: false,
        };
        let offers = WalletOffers::new(shared.clone(), clock.clone(), "https://pay.example".to_owned());
        let association = AssociationFile {
            store: shared.clone(),
            domain: Some(WalletDomain::parse("assets.example", false).unwrap()),
        };
        let limit = FailureLimit::default();
        let auth =
            AuthState(Arc::new(Authenticator::new(shared.clone(), secrets.clone(), clock.clone(), false, limit)));
        let merchant = MerchantDeps {
            auth: auth.clone(),
            checkouts: Checkouts {
                payments: payments.clone(),
                stash: shared.clone(),
                vault: vault.clone(),
                return_base: return_base.clone(),
                wallets: offers.clone(),
                contracts: shared.clone(),
            },
            contracts: Contracts { store: shared.clone(), clock: clock.clone(), ids: Arc::new(SystemIds) },
            answers: IdempotencyService { store: shared.clone(), clock: clock.clone(), keep: KEEP },
            flows: flows.clone(),
            url_policy: UrlPolicy::Production,
            wallets,
            disputes: Disputes {
                store: shared.clone(),
                orders: shared.clone(),
                processors: Arc::<Vec<DisputeProcessor>>::default(),
                secrets: secrets.clone(),
                clock: clock.clone(),
                ids: Arc::new(SystemIds),
                unreadable: Arc::default(),
            },
            events: Arc::default(),
            methods: MethodLists {
                processors: Arc::default(),
                merchants: KnownMerchants::new(shared.clone()),
                catalogue,
                wallets: offers.clone(),
                pay_later_script: Some("http://sandbox.example/onsite/{region}/script.js".to_owned()),
            },
        };
        let (stop, stopping) = watch::channel(false);
        let shopper = CheckoutDeps {
            shopper: Shopper {
                poll_throttle: PollThrottle::default(),
                page_closings: PollThrottle::default(),
                wallets: offers,
                sessions: shared.clone(),
                merchants: KnownMerchants::new(shared.clone()),
                stash: shared.clone(),
                vault: vault.clone(),
                payments,
                contracts: Contracts { store: shared.clone(), clock: clock.clone(), ids: Arc::new(SystemIds) },
                return_base,
                sandbox,
            },
            flows: flows.clone(),
            stash_url: "http://stash.example".to_owned(),
            stop: stopping,
        };
        let stashing = Stashing {
            store: shared.clone(),
            merchants: KnownMerchants::new(shared.clone()),
            sessions: shared.clone(),
            wallets: shared,
            vault,
            clock,
            asset_origin,
            lifetime: Duration::from_secs(1_800),
            quota: Arc::new(StashQuota::new(StashLimits::NONE, Duration::from_secs(1_800))),
        };
        let server = Server::new("checkout-api")
            .listen(SocketAddr::from(([127, 0, 0, 1], 0)))
            .unwrap()
            .mount("", configure_checkout(merchant))
            .mount("", configure(shopper))
            .mount("", configure_association(association))
            .start()
            .unwrap();
        let address = server.addresses()[0];
        // Where a browser is sent is what is tested.
        let client = awc::Client::builder().timeout(Duration::from_secs(20)).disable_redirects().finish();
        Self {
            bank,
            ana,
            bob,
            store,
            merchants,
            stashing,
            auth,
            sessions,
            gateway,
            setup,
            address,
            client,
            _server: server,
            _flows: flows,
            _stop: stop,
            _folder: folder,
        }
    }

    pub(crate) async fn send(
        &self,
        user: Option<&User>,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Answer {
        let mut request = self.client.request(method, format!("http://{}{path}", self.address));
        if let Some(user) = user {
            request = request.basic_auth(&user.name, &user.password);
        }
        let body = body.into();
        if !body.is_empty() {
            request = request.insert_header((CONTENT_TYPE, "application/json"));
        }
        for (name, value) in headers {
            request = request.append_header((*name, *value));
        }
        let mut response = request.send_body(body).await.unwrap();
        let bytes = response.body().await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Answer { status: response.status().as_u16(), headers: response.headers().clone(), bytes: bytes.to_vec(), text }
    }

    /// Ana asks; `what` follows the version.
    pub(crate) async fn ask(&self, what: &str, body: &Value) -> Answer {
        self.send(Some(&self.ana), Method::POST, &format!("/v2.21{what}"), &[], body.to_string()).await
    }

    /// Somebody's browser.
    pub(crate) async fn browse(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(None, Method::GET, path, headers, "").await
    }

    /// A new API user of Ana's.
    pub(crate) async fn user(&self, permissions: impl IntoIterator<Item = Permission>) -> User {
        let merchant = self.store.find_user(&self.ana.name).await.unwrap().unwrap().merchant_id;
        let permissions: Permissions = permissions.into_iter().collect();
        let added = self.merchants.add_user(merchant, permissions).await.map_err(|error| error.to_string()).unwrap();
        User { name: added.username, password: added.password, merchant: self.ana.merchant.clone() }
    }

    /// A payment of 20.00 USD of Ana's; `change` replaces members.
    pub(crate) fn cart(&self, reference: &str, change: Value) -> Value {
        let mut cart = json!({
            "MerchantId": self.ana.merchant, "ReferenceId": reference, "ConsumerCurrency": "USD", "PaymentMethod": "PAYPAL",
            "DeviceFingerprint": FINGERPRINT, "Return": "https://shop.example/back?cart=1#top",
            "Items": [{"Description": "Mug", "ConsumerPrice": 10, "Quantity": 2}],
            "Consumer": {"Name": "Ana", "Email": "ana@shop.example", "Address": "Hauptstr. 1", "City": "Berlin", "Country": "DE"},
        });
        for (name, value) in change.as_object().unwrap() {
            cart[name] = value.clone();
        }
        cart
    }

    /// A Session of Ana's over 10.00 USD, CREATED; its id.
    pub(crate) async fn session(&self) -> String {
        self.session_of("USD", "DE").await
    }

    /// The same in a currency, of a shopper of a country.
    pub(crate) async fn session_of(&self, currency: &str, country: &str) -> String {
        self.session_at(currency, json!({"Street": "Hauptstr. 1", "City": "Berlin", "Country": country})).await
    }

    /// The same, of a shopper with this billing address.
    pub(crate) async fn session_at(&self, currency: &str, address: Value) -> String {
        let here = IpAddr::from([127, 0, 0, 1]);
        let caller = self.auth.0.authenticate(here, &self.ana.name, &self.ana.password).await.unwrap();
        let body = json!({
            "MerchantReference": Uuid::new_v4(), "AutoCapture": true, "Currency": currency,
            "CompleteUrl": "https://paid.example/done", "CancelUrl": "https://shop.example/cart",
            "Items": [{"Name": "Mug", "Amount": 10, "Quantity": 1}],
            "BillingProfile": {"Name": "Ana", "Email": "ana@shop.example", "Address": address},
        });
        let render =
            |session: &Session| StoredResponse { status: 201, etag: None, body: session.id.to_string().into() };
        let told = self.sessions.create(&caller, body.to_string().as_bytes(), Reply { render, key_use: None }).await;
        match told.unwrap() {
            IdempotentOutcome::Stored(answer) => String::from_utf8(answer.body).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Puts a card or a token of Ana's shopper into the stash.
    pub(crate) async fn stash(&self, stash_id: &str, data: StashedData) {
        let merchant = self.stashing.merchant(self.ana.merchant.parse().unwrap()).await.unwrap();
        let (stash_id, fingerprint) = (stash_id.to_owned(), FINGERPRINT.to_owned());
        let entry = NewEntry { client: 0, session: None, stash_id, fingerprint, data, facts: ClientFacts::default() };
        self.stashing.put(&merchant, entry).await.unwrap();
    }

    /// One that is paid with a stashed card.
    pub(crate) async fn carded(&self, reference: &str, change: Value) -> Value {
        self.stash(reference, card(CARD)).await;
        let mut cart = self.cart(reference, json!({"PaymentMethod": "VISA", "StashId": reference}));
        for (name, value) in change.as_object().unwrap() {
            cart[name] = value.clone();
        }
        cart
    }

    /// Ana's origins.
    pub(crate) async fn origins(&self, origins: &[&str]) {
        let origins = origins.iter().map(|origin| Origin::parse(origin).unwrap()).collect();
        let settings = MerchantSettings { origins: Some(origins), ..MerchantSettings::default() };
        let set = self.merchants.set(self.ana.merchant.parse().unwrap(), settings).await;
        set.map_err(|error| error.to_string()).unwrap();
    }

    /// What is particular about a merchant's methods.
    pub(crate) async fn methods(&self, user: &User, methods: dropin_catalogue::MerchantMethods) {
        let settings = MerchantSettings { methods: Some(methods), ..MerchantSettings::default() };
        let set = self.merchants.set(user.merchant.parse().unwrap(), settings).await;
        set.map_err(|error| error.to_string()).unwrap();
    }

    /// What an action names.
    pub(crate) fn about(&self, order: &str) -> Value {
        json!({"MerchantId": self.ana.merchant, "OrderId": order})
    }
}

async fn create(merchants: &Merchants, name: &str) -> User {
    let wanted = CreateMerchant {
        name: name.to_owned(),
        webhook_url: Some("https://shop.example/hook".to_owned()),
        origins: Vec::new(),
        currencies: Currency::ALL.iter().copied().filter(|currency| *currency != Currency::Jpy).collect(),
    };
    let made = merchants.create(wanted).await.map_err(|error| error.to_string()).unwrap();
    User { name: made.username, password: made.password, merchant: made.merchant_id.to_string() }
}
