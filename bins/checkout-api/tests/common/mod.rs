//! Both sides of the service on a real port over SQLite, with a processor that answers as the case says.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    reason = "every test file takes what it needs; tests fail by panicking"
)]

mod processor;
mod wallet;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use checkout_api::{CheckoutDeps, MerchantDeps, configure, configure_association, configure_checkout};
use dropin_access::{Origin, Permission, Permissions, TargetPolicy, WalletDomain, WalletHost, WalletHosts};
use dropin_boot::{SystemClock, SystemIds};
use dropin_card::{Card, StashedData, Wallet, WalletToken};
use dropin_catalogue::Catalogue;
use dropin_http::{Flows, Gate, Running, Server};
use dropin_kernel::Timestamp;
use dropin_keyring::MasterKey;
use dropin_money::Currency;
use dropin_ports::{
    AccessStore, Clock, KeyringError, MerchantSettings, SealedCard, StashBinding, StashVault, WalletCredentials,
};
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::{Authenticator, CreateMerchant, FailureLimit, KnownMerchants, Merchants};
use dropin_usecases::answers::{Answers, KEEP};
use dropin_usecases::catalogue::MethodLists;
use dropin_usecases::payments::{Checkouts, Looks, Payments, Shopper, Timing};
use dropin_usecases::stash::{Door, Stashing};
use dropin_usecases::wallet::{AssociationFile, SetWallet, WalletOffers, WalletSessions, WalletSetup};
use dropin_validation::UrlPolicy;
use serde_json::{Value, json};
use tokio::sync::watch;

pub(crate) use processor::{Bank, redirect};
pub(crate) use wallet::Gateway;

pub(crate) const CARD: &str = "4242424242424242";
const FINGERPRINT: &str = "a browser";

/// A vault that seals nothing: every card in it is the same published test number, and tokens are as they came.
struct OneCard;

impl StashVault for OneCard {
    fn seal(&self, data: &StashedData, _: StashBinding<'_>, _: Timestamp) -> Result<SealedCard, KeyringError> {
        let bytes = match data {
            StashedData::Card(_) => vec![0; 64],
            StashedData::WalletToken(token) => token.expose_data().as_bytes().to_vec(),
        };
        Ok(SealedCard { key_id: "none".to_owned(), bytes })
    }

    fn open(&self, sealed: &SealedCard, _: StashBinding<'_>) -> Result<StashedData, KeyringError> {
        if sealed.bytes[0] == 0 {
            return Ok(card());
        }
        let data = String::from_utf8(sealed.bytes.clone()).unwrap();
        Ok(StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, data)))
    }
}

fn card() -> StashedData {
    let text = str::to_owned;
    StashedData::Card(Card::new(text("Ana"), text(CARD), text("123"), text("2099"), text("12")))
}

/// An API user.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) merchant: String,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn is_error(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.json()["Code"].as_str()), (status, Some(code)), "{self:?}");
    }

    /// 400 INVALID_REQUEST with exactly these fields, as `Field CODE`.
    #[track_caller]
    pub(crate) fn is_refused_for(&self, fields: &[&str]) {
        self.is_error(400, "INVALID_REQUEST");
        let error = self.json();
        let found: Vec<_> = (error["FieldErrors"].as_array().unwrap().iter())
            .map(|one| format!("{} {}", one["Field"].as_str().unwrap(), one["Code"].as_str().unwrap()))
            .collect();
        assert_eq!(found, fields, "{self:?}");
    }

    /// Authorized, Captured and Completed.
    #[track_caller]
    pub(crate) fn flags(&self) -> (bool, bool, bool) {
        assert_eq!(self.status, 200, "{self:?}");
        let body = self.json();
        let flag = |name: &str| body[name].as_bool().unwrap();
        (flag("Authorized"), flag("Captured"), flag("Completed"))
    }

    pub(crate) fn order(&self) -> String {
        self.json()["OrderId"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

pub(crate) struct Api {
    pub(crate) bank: Arc<Bank>,
    pub(crate) ana: User,
    pub(crate) bob: User,
    store: Store,
    merchants: Merchants,
    stashing: Stashing,
    pub(crate) gateway: Arc<Gateway>,
    setup: WalletSetup,
    address: SocketAddr,
    client: awc::Client,
    _server: Running,
    _flows: Flows,
    _stop: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

impl Api {
    pub(crate) async fn start() -> Self {
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
        };
        let (ana, bob) = (create(&merchants, "Ana's mugs").await, create(&merchants, "Bob's books").await);
        let (bank, flows) = (Arc::new(Bank::default()), Flows::start().unwrap());
        let payments = Payments {
            store: shared.clone(),
            processor: bank.clone(),
            clock: clock.clone(),
            ids,
            timing: Timing::default(),
        };
        let return_base = "http://assets.example".to_owned();
        let catalogue = Arc::new(Catalogue::of_sandbox());
        let vault = Arc::new(OneCard);
        let gateway = Arc::new(Gateway::default());
        let setup = WalletSetup {
            store: shared.clone(),
            secrets: secrets.clone(),
            provider: gateway.clone(),
            clock: clock.clone(),
            sandbox: false,
        };
        let asset_origin = Origin::parse("http://assets.example").unwrap();
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
        let offers = WalletOffers {
            store: shared.clone(),
            clock: clock.clone(),
            checkout_url: "https://pay.example".to_owned(),
        };
        let association = AssociationFile {
            store: shared.clone(),
            domain: Some(WalletDomain::parse("assets.example", false).unwrap()),
        };
        let limit = FailureLimit::default();
        let gate = Gate(Arc::new(Authenticator::new(shared.clone(), secrets, clock.clone(), false, limit)));
        let merchant = MerchantDeps {
            gate,
            checkouts: Checkouts {
                payments: payments.clone(),
                stash: shared.clone(),
                vault: vault.clone(),
                return_base: return_base.clone(),
                catalogue: catalogue.clone(),
                wallets: offers.clone(),
            },
            answers: Answers { store: shared.clone(), clock: clock.clone(), keep: KEEP },
            flows: flows.clone(),
            url_policy: UrlPolicy::Production,
            wallets,
            methods: MethodLists {
                merchants: KnownMerchants::new(shared.clone()),
                catalogue: catalogue.clone(),
                wallets: offers.clone(),
                pay_later_script: Some("http://sandbox.example/onsite/{region}/script.js".to_owned()),
            },
        };
        let (stop, stopping) = watch::channel(false);
        let shopper = CheckoutDeps {
            shopper: Shopper {
                looks: Looks::default(),
                wallets: offers,
                sessions: shared.clone(),
                merchants: KnownMerchants::new(shared.clone()),
                stash: shared.clone(),
                vault: vault.clone(),
                payments,
                return_base,
                catalogue,
            },
            flows: flows.clone(),
            stash_url: "http://stash.example".to_owned(),
            sandbox: false,
            stop: stopping,
        };
        let stashing = Stashing {
            store: shared.clone(),
            access: shared,
            vault,
            clock,
            asset_origin,
            lifetime: Duration::from_secs(1_800),
            door: Arc::new(Door::new(0)),
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
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: response.status().as_u16(), headers: response.headers().clone(), text }
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

    /// One that is paid with a stashed card.
    pub(crate) async fn carded(&self, reference: &str, change: Value) -> Value {
        let merchant = self.stashing.merchant(self.ana.merchant.parse().unwrap()).await.unwrap();
        self.stashing.put(&merchant, reference.to_owned(), FINGERPRINT.to_owned(), card()).await.unwrap();
        let mut cart = self.cart(reference, json!({"PaymentMethod": "VISA", "StashId": reference}));
        for (name, value) in change.as_object().unwrap() {
            cart[name] = value.clone();
        }
        cart
    }

    /// A wallet for Ana, whose button may stand on `domain`.
    pub(crate) async fn wallet(&self, domain: &str) {
        let credentials = WalletCredentials { certificate: "certificate".to_owned(), key: "key".to_owned().into() };
        let identifier = "merchant.example.shop".to_owned();
        let id = self.ana.merchant.parse().unwrap();
        self.setup.set(id, SetWallet { identifier, country: "NL".to_owned(), credentials }).await.unwrap();
        self.setup.add_domain(id, domain, wallet::FILE).await.unwrap();
        self.setup.check_domain(id, domain).await.unwrap();
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

    /// One that is paid with a wallet's stashed token.
    pub(crate) async fn tokened(&self, reference: &str, data: &str, change: Value) -> Value {
        let merchant = self.stashing.merchant(self.ana.merchant.parse().unwrap()).await.unwrap();
        let token = StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, data));
        self.stashing.put(&merchant, reference.to_owned(), FINGERPRINT.to_owned(), token).await.unwrap();
        let mut cart = self.cart(reference, json!({"PaymentMethod": null, "StashId": reference, "Return": null}));
        for (name, value) in change.as_object().unwrap() {
            cart[name] = value.clone();
        }
        cart
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
