//! A listening stash-api on a store of its own, and a client that sends the bytes it is given.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dropin_access::{
    ApiUser, Merchant, MerchantIdentifier, MerchantParts, Origin, PasswordHash, Permissions, SealedSecret,
    WalletIdentity,
};
use dropin_boot::{SystemClock, SystemIds};
use dropin_http::{Limits, RunningServer, Server};
use dropin_kernel::{ApiUserId, MerchantId, Timestamp};
use dropin_keyring::StashKeys;
use dropin_money::Currency;
use dropin_ports::{
    AccessStore, Clock, NewMerchant, StashKey, StashStore, StashSummary, StashVault, StoredResponse, WalletStore,
};
use dropin_session::Session;
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::{Caller, KnownMerchants};
use dropin_usecases::idempotency::{IdempotentOutcome, Reply};
use dropin_usecases::sessions::Sessions;
use dropin_usecases::stash::{KEY_PERIOD, STASH_LIFETIME, StashLimits, StashQuota, Stashing};
use dropin_validation::UrlPolicy;
use stash_api::{StashApiDeps, configure};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use uuid::Uuid;

pub(crate) const SHOP: &str = "https://shop.example";
pub(crate) const ASSETS: &str = "https://assets.example";
pub(crate) const MERCHANT: MerchantId = MerchantId::new(Uuid::from_u128(0x6f1c_3b2a_1d2e_4f3a_8b4c_5d6e_7f80_9112));

pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
    server: RunningServer,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Status, code, and the fields that are wrong.
    pub(crate) fn error(&self) -> (u16, String, Vec<String>) {
        let body = self.json();
        let fields = body["FieldErrors"].as_array().cloned().unwrap_or_default();
        let fields = fields.iter().map(|one| one["Field"].as_str().expect("a field").to_owned()).collect();
        (self.status, body["Code"].as_str().expect("a code").to_owned(), fields)
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_with(Limits::default(), StashLimits::NONE).await
    }

    /// With these limits of the listener, and of the stash.
    pub(crate) async fn start_with(limits: Limits, stash: StashLimits) -> Self {
        Self::start_server(Server::new("stash-api").limits(limits), stash).await
    }

    /// With a proxy in front, which tells where its requests come from.
    pub(crate) async fn start_behind_proxy() -> Self {
        Self::start_server(Server::new("stash-api").behind_proxy(true), StashLimits::NONE).await
    }

    async fn start_server(server: Server, stash: StashLimits) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = open_store(folder.path());
        insert_merchant(&store).await;
        let keys = StashKeys::open(&folder.path().join("keys"), KEY_PERIOD, STASH_LIFETIME);
        let stashing = Stashing {
            store: Arc::new(store.clone()),
            merchants: KnownMerchants::new(Arc::new(store.clone())),
            sessions: Arc::new(store.clone()),
            wallets: Arc::new(store.clone()),
            vault: Arc::new(keys.expect("keys")),
            clock: Arc::new(SystemClock),
            asset_origin: Origin::parse(ASSETS).expect("an origin"),
            lifetime: STASH_LIFETIME,
            quota: Arc::new(StashQuota::new(stash, STASH_LIFETIME)),
        };
        let server = server.listen(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
        // Under a prefix, as in the all-in-one.
        let deps = StashApiDeps { stashing };
        let server = server.mount("/stash", configure(deps)).start().expect("listening");
        Self { folder, store, server }
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
        self.store.close();
    }

    /// Sends a request as it is written and reads the answer to its end.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send_from(Ipv4Addr::LOCALHOST, method, path, headers, body).await
    }

    /// The same from one of this machine's addresses, as a client of its own.
    async fn send_from(
        &self,
        client: Ipv4Addr,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request =
            format!("{method} /stash/{path} HTTP/1.1\r\nHost: stash\r\nConnection: close\r\n").into_bytes();
        for (name, value) in headers {
            request.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        request.extend_from_slice(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((client, 0))).expect("a client's address");
        let mut stream = socket.connect(self.server.addresses()[0]).await.expect("connected");
        stream.write_all(&request).await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Posts a form from a page of `origin`, or from no page.
    pub(crate) async fn post(&self, path: &str, origin: Option<&str>, form: &str) -> Answer {
        let mut headers = vec![("Content-Type", "application/x-www-form-urlencoded")];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        self.send("POST", path, &headers, form).await
    }

    /// Posts a form from another address.
    pub(crate) async fn post_from(&self, client: Ipv4Addr, path: &str, form: &str) -> Answer {
        self.send_from(client, "POST", path, &[("Content-Type", "application/x-www-form-urlencoded")], form).await
    }

    /// A new Session of the merchant of these tests.
    pub(crate) async fn session(&self) -> String {
        let merchant = self.store.find_merchant(MERCHANT).await.expect("the store").expect("the merchant");
        let caller = Caller { username: "api".to_owned(), merchant, permissions: Permissions::all() };
        let store = Arc::new(self.store.clone());
        let (clock, ids) = (Arc::new(SystemClock), Arc::new(SystemIds));
        let sessions = Sessions { contracts: store.clone(), store, clock, ids, url_policy: UrlPolicy::Sandbox };
        let body = serde_json::json!({
            "MerchantReference": Uuid::new_v4(), "AutoCapture": true, "Currency": "USD",
            "CompleteUrl": "https://shop.example/paid", "CancelUrl": "https://shop.example/cart",
            "Items": [{"Name": "Mug", "Amount": 10, "Quantity": 1}],
            "BillingProfile": {
                "Name": "Ana", "Email": "ana@shop.example",
                "Address": {"Street": "Hauptstr. 1", "City": "Berlin", "Country": "DE"},
            },
        });
        let render =
            |session: &Session| StoredResponse { status: 201, etag: None, body: session.id.to_string().into() };
        match sessions.create(&caller, body.to_string().as_bytes(), Reply { render, key_use: None }).await {
            Ok(IdempotentOutcome::Stored(answer)) => String::from_utf8(answer.body).expect("an id"),
            other => panic!("{other:?}"),
        }
    }

    /// Lets the merchant take the wallet.
    pub(crate) async fn set_wallet_up(&self) {
        let now = SystemClock.now();
        let identity = WalletIdentity {
            merchant_id: MERCHANT,
            identifier: MerchantIdentifier::parse("merchant.example.shop").expect("an identifier"),
            country: "DE".to_owned(),
            sealed: SealedSecret(vec![7]),
            expires_at: now.plus(Duration::from_secs(3_600)),
            set_at: now,
        };
        self.store.put_wallet(identity, audited()).await.expect("the store");
    }

    /// What the entry tells of its client, as a payment opens it: address, time zone and language.
    pub(crate) async fn client_of(&self, stash_id: &str) -> (Option<IpAddr>, Option<String>, Option<String>) {
        let key = key_of(stash_id, "browser");
        let found = self.store.read_stash(&key, SystemClock.now()).await.expect("the store").expect("an entry");
        let keys = StashKeys::open(&self.folder.path().join("keys"), KEY_PERIOD, STASH_LIFETIME).expect("keys");
        let client = keys.open(&found.1, &key).expect("opened").client;
        (client.address(), client.time_zone().map(str::to_owned), client.language().map(str::to_owned))
    }

    pub(crate) async fn stashed(&self, stash_id: &str, fingerprint: &str) -> Option<StashSummary> {
        let key = key_of(stash_id, fingerprint);
        let found = self.store.peek_stash(&key, SystemClock.now()).await.expect("the store");
        found.map(|found| found.summary)
    }
}

fn key_of(stash_id: &str, fingerprint: &str) -> StashKey {
    StashKey { merchant_id: MERCHANT, stash_id: stash_id.to_owned(), fingerprint: fingerprint.to_owned() }
}

pub(crate) fn open_store(folder: &Path) -> Store {
    let url = format!("sqlite://{}", folder.join("dropin.db").display());
    Store::open(StoreConfig::new(url, Role::Service)).expect("a store")
}

/// Makes the merchant of these tests.
pub(crate) async fn insert_merchant(store: &Store) {
    let parts = MerchantParts {
        id: MERCHANT,
        name: "Shop".to_owned(),
        currencies: vec![Currency::Usd],
        origins: vec![Origin::parse(SHOP).expect("an origin")],
        session_lifetime: Duration::from_secs(86_400),
        attempts_allowed: 5,
        saved_cards: Default::default(),
        screening: Default::default(),
        processors: Default::default(),
        methods: Default::default(),
        sandbox: true,
        created_at: Timestamp::from_micros(0),
    };
    let merchant = Merchant::restore(parts).expect("a merchant");
    let (id, password) = (ApiUserId::new(Uuid::from_u128(1)), PasswordHash(vec![0; 32]));
    let user = ApiUser::new(id, MERCHANT, "api".to_owned(), password, Permissions::all());
    store.insert_merchant(NewMerchant { merchant, user, endpoint: None, audit: audited() }).await.expect("a merchant");
}

/// The address of a stash entry of the merchant.
pub(crate) fn at(stash_id: &str) -> String {
    format!("{MERCHANT}/{stash_id}")
}

pub(crate) fn form(number: &str, code: &str) -> String {
    let card = format!(
        r#"{{"Name":"Ana","Number":"{number}","VerificationCode":"{code}","Expiry":{{"Year":"2035","Month":"12"}}}}"#
    );
    format!("DeviceFingerprint=browser&card={}", percent(&card))
}

pub(crate) fn token_form(wallet: &str, data: &str) -> String {
    let token = format!(r#"{{"Type":"{wallet}","Data":{data}}}"#);
    format!("DeviceFingerprint=browser&token_data={}", percent(&token))
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// An entry of the audit log where it does not matter which.
pub(crate) fn audited() -> dropin_ports::NewAuditEntry {
    let (id, at) = (dropin_ports::IdSource::ordered(&SystemIds), Timestamp::from_micros(0));
    let (by, action) = (dropin_ports::Acting::system(), dropin_access::AuditAction::MerchantChange);
    dropin_ports::NewAuditEntry::new(id, at, by, None, action, dropin_ports::AuditSubject::deployment())
}
