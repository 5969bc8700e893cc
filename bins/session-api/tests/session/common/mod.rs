//! The service on a real port over SQLite, with a clock that the test moves and a store that the test can make fail.

mod processor;
mod store;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use actix_web::http::Method;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use dropin_boot::SystemIds;
use dropin_catalogue::Catalogue;
use dropin_http::{AuthState, Flows, RunningServer, Server};
use dropin_kernel::{SessionId, Timestamp};
use dropin_keyring::MasterKey;
use dropin_money::Currency;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, Clock, CredentialDeletion, DeleteCredentialRequest, OperationQuery, Processor,
    ProcessorReply, RefundRequest, StatusReply, VoidRequest,
};
use dropin_rates::OfferPolicy;
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::{Authenticator, CreateMerchant, FailureLimit, KnownMerchants, Merchants};
use dropin_usecases::contracts::Contracts;
use dropin_usecases::disputes::{DisputeProcessor, Disputes};
use dropin_usecases::events::Events;
use dropin_usecases::idempotency::{IdempotencyService, KEEP};
use dropin_usecases::payments::{Payments, Timing};
use dropin_usecases::rates::Rates;
use dropin_usecases::screening::PaymentScreening;
use dropin_usecases::sessions::Sessions;
use dropin_validation::UrlPolicy;
use serde_json::{Value, json};
use session_api::SessionApiDeps;

pub(crate) use processor::{ProcessorStub, declined};
pub(crate) use store::{FaultInjectingStore, InjectedFault};

/// A clock that stands still until it is moved.
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

/// Nothing here may ask a processor.
struct NoProcessor;

#[async_trait::async_trait]
impl Processor for NoProcessor {
    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply {
        panic!("authorization {} was asked", request.key)
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        panic!("capture {} was asked", request.key)
    }

    async fn void(&self, request: VoidRequest) -> ProcessorReply {
        panic!("void {} was asked", request.key)
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        panic!("refund {} was asked", request.key)
    }

    async fn status(&self, question: OperationQuery) -> StatusReply {
        panic!("the status of {} was asked", question.key)
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        panic!("{} was abandoned", question.key)
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        panic!("the deletion {} was asked", request.key)
    }
}

/// An API user.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
}

pub(crate) struct Api {
    pub(crate) store: Arc<FaultInjectingStore>,
    pub(crate) outbox: Store,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) sessions: Sessions,
    /// What the settler works with.
    pub(crate) payments: Payments,
    pub(crate) answers: IdempotencyService,
    /// The operator's side.
    pub(crate) merchants: Merchants,
    /// A merchant with all currencies but yen.
    pub(crate) ana: User,
    /// Another merchant.
    pub(crate) bob: User,
    address: SocketAddr,
    client: awc::Client,
    _server: RunningServer,
    _flows: Flows,
    _folder: tempfile::TempDir,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    /// Amounts in it have passed through a float: compare those in `text`.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The SessionId of a Session answer with that status.
    #[track_caller]
    pub(crate) fn session_id(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        self.json()["SessionId"].as_str().unwrap().to_owned()
    }

    /// An Error object, whole and with the headers that every answer has.
    #[track_caller]
    pub(crate) fn is_error(&self, status: u16, code: &str) {
        let error = self.json();
        assert_eq!((self.status, error["Code"].as_str()), (status, Some(code)), "{self:?}");
        assert!(error["Message"].as_str().is_some_and(|message| !message.is_empty()), "{self:?}");
        assert!(!self.header("x-request-id").is_empty(), "{self:?}");
        assert_eq!(self.header("content-type"), "application/json", "{self:?}");
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
}

impl Api {
    pub(crate) async fn start() -> Self {
        Self::with(Arc::new(NoProcessor)).await
    }

    /// With this processor behind it.
    pub(crate) async fn with(processor: Arc<dyn Processor>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("dropin.db").display());
        let inner = Store::open(StoreConfig::new(url, Role::Service)).unwrap();
        let secrets = Arc::new(MasterKey::open_or_create(&folder.path().join("keys")).unwrap());
        let clock = Arc::new(TestClock(AtomicI64::new(1_795_000_000_000_000)));
        let ids = Arc::new(SystemIds);
        let merchants = Merchants {
            store: Arc::new(inner.clone()),
            outbox: Arc::new(inner.clone()),
            secrets: secrets.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            targets: dropin_access::TargetPolicy::production(),
            by: dropin_ports::Acting::system(),
        };
        let ana = create(&merchants, "Ana's mugs").await;
        let bob = create(&merchants, "Bob's books").await;
        let store = Arc::new(FaultInjectingStore::new(inner.clone()));
        let sessions = Sessions {
            store: store.clone(),
            contracts: Arc::new(inner.clone()),
            clock: clock.clone(),
            ids: ids.clone(),
            url_policy: UrlPolicy::Production,
        };
        let answers = IdempotencyService { store: Arc::new(inner.clone()), clock: clock.clone(), keep: KEEP };
        let rates = Rates::new(
            Arc::new(inner.clone()),
            Arc::new(inner.clone()),
            clock.clone(),
            ids.clone(),
            OfferPolicy::default(),
        );
        let flows = Flows::start().unwrap();
        let shared = Arc::new(inner.clone());
        let known = KnownMerchants::new(shared.clone());
        let screening = PaymentScreening::new(shared.clone(), shared, known, clock.clone());
        let payments = Payments {
            store: Arc::new(inner.clone()),
            processor,
            clock: clock.clone(),
            ids,
            credentials: None,
            catalogue: Arc::new(Catalogue::of_sandbox()),
            processors: Default::default(),
            timing: Timing::default(),
            screening,
            authorizations: Arc::default(),
        };
        let limit = FailureLimit::default();
        let auth = AuthState(Arc::new(Authenticator::new(
            Arc::new(inner.clone()),
            secrets.clone(),
            clock.clone(),
            false,
            limit,
        )));
        let deps = SessionApiDeps {
            auth,
            sessions: sessions.clone(),
            rates,
            disputes: Disputes {
                store: Arc::new(inner.clone()),
                orders: Arc::new(inner.clone()),
                processors: Arc::<Vec<DisputeProcessor>>::default(),
                secrets: secrets.clone(),
                clock: clock.clone(),
                ids: Arc::new(SystemIds),
                unreadable: Arc::default(),
            },
            contracts: Contracts { store: Arc::new(inner.clone()), clock: clock.clone(), ids: Arc::new(SystemIds) },
            events: Events { store: Arc::new(inner.clone()) },
            answers: answers.clone(),
            payments: payments.clone(),
            flows: flows.clone(),
        };
        let server = Server::new("session-api")
            .listen(SocketAddr::from(([127, 0, 0, 1], 0)))
            .unwrap()
            .mount("", session_api::configure(deps))
            .start()
            .unwrap();
        let address = server.addresses()[0];
        let client = awc::Client::builder().timeout(Duration::from_secs(20)).finish();
        Self {
            store,
            outbox: inner,
            clock,
            sessions,
            payments,
            answers,
            merchants,
            ana,
            bob,
            address,
            client,
            _server: server,
            _flows: flows,
            _folder: folder,
        }
    }

    /// A request with any headers; `content-type: application/json` goes with a body unless `headers` has one.
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
        let typed = headers.iter().any(|(name, _)| *name == "content-type");
        if !body.is_empty() && !typed {
            request = request.insert_header((CONTENT_TYPE, "application/json"));
        }
        for (name, value) in headers {
            request = request.append_header((*name, *value));
        }
        let mut response = request.send_body(body).await.unwrap();
        let bytes = response.body().limit(16 << 20).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: response.status().as_u16(), headers: response.headers().clone(), text }
    }

    pub(crate) async fn create(&self, user: &User, body: &Value) -> Answer {
        self.send(Some(user), Method::POST, "/v1/session", &[], body.to_string()).await
    }

    pub(crate) async fn get(&self, user: &User, id: &str) -> Answer {
        self.send(Some(user), Method::GET, &format!("/v1/session/{id}"), &[], "").await
    }

    pub(crate) async fn put(&self, user: &User, id: &str, body: &Value) -> Answer {
        self.send(Some(user), Method::PUT, &format!("/v1/session/{id}"), &[], body.to_string()).await
    }

    pub(crate) async fn delete(&self, user: &User, id: &str) -> Answer {
        self.send(Some(user), Method::DELETE, &format!("/v1/session/{id}"), &[], "").await
    }

    /// The address of a new authorized Order, 29.00 USD, below which it is captured.
    pub(crate) async fn authorized(&self, reference: &str) -> String {
        let id = self.created(reference).await;
        self.store.pay(session_id(&id), true).await;
        let order = self.get(&self.ana, &id).await.json()["Order"]["OrderId"].as_str().unwrap().to_owned();
        format!("/v1/order/{order}")
    }

    /// Ana reads something.
    pub(crate) async fn read(&self, path: &str) -> Answer {
        self.send(Some(&self.ana), Method::GET, path, &[], "").await
    }

    /// What the settler does once everything that is open is due.
    pub(crate) async fn settle(&self) {
        self.clock.advance(Duration::from_secs(60));
        for claim in self.payments.claim_due(10).await.unwrap() {
            self.payments.settle_one(claim).await.unwrap();
        }
    }

    /// A new Session's id.
    pub(crate) async fn created(&self, reference: &str) -> String {
        self.create(&self.ana, &request(reference)).await.session_id(201)
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
    User { name: made.username, password: made.password }
}

/// A valid request.
pub(crate) fn request(reference: &str) -> Value {
    json!({
        "MerchantReference": reference, "AutoCapture": true, "Currency": "USD",
        "CompleteUrl": "https://shop.example/paid", "CancelUrl": "https://shop.example/cart",
        "Items": [{"Name": "Mug", "Amount": 29, "Quantity": 1}],
        "BillingProfile": {"Name": "Ana", "Email": "ana@shop.example",
            "Address": {"Street": "Hauptstr. 1", "City": "Berlin", "Country": "DE"}},
    })
}

pub(crate) fn session_id(text: &str) -> SessionId {
    text.parse().unwrap()
}

/// An entry of the audit log where it does not matter which.
pub(crate) fn audited() -> dropin_ports::NewAuditEntry {
    let (id, at) = (dropin_ports::IdSource::ordered(&SystemIds), Timestamp::from_micros(0));
    let (by, action) = (dropin_ports::Acting::system(), dropin_access::AuditAction::MerchantChange);
    dropin_ports::NewAuditEntry::new(id, at, by, None, action, dropin_ports::AuditSubject::deployment())
}
