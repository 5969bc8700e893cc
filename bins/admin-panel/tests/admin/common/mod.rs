//! The panel over SQLite, with merchants, payments and operators of each role.

use std::sync::{Arc, Mutex};

use actix_web::body::to_bytes;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::header::{CONTENT_TYPE, COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use actix_web::http::{Method, StatusCode};
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, Error};
use admin_panel::{PanelDeps, SandboxServices, configure};
use async_trait::async_trait;
use dropin_access::operator::{OperatorRights, OperatorRole, OperatorScope, RefundLimits};
use dropin_access::{TargetPolicy, WalletDomain};
use dropin_boot::{SystemClock, SystemIds};
use dropin_catalogue::Catalogue;
use dropin_http::Flows;
use dropin_kernel::{MerchantId, OrderId, SessionId, Timestamp};
use dropin_keyring::MasterKey;
use dropin_money::{Amount, Currency};
use dropin_notification::AttemptOutcome;
use dropin_ports::{
    Acting, AuthorizeRequest, CaptureRequest, CredentialDeletion, DeleteCredentialRequest, IssuerChecks,
    OperationQuery, Payment, Processor, ProcessorReply, RefundRequest, Sent, StatusReply, VoidRequest,
    WalletCredentials, WalletFailure, WalletProvider, WalletSessionRequest, WebhookRequest, WebhookSender,
};
use dropin_risk::Rules;
use dropin_store::{Role, Store, StoreConfig};
use dropin_store_contract::{Harness, Raw};
use dropin_usecases::access::{KnownMerchants, Merchants};
use dropin_usecases::audit::Audit;
use dropin_usecases::contracts::Contracts;
use dropin_usecases::disputes::{DisputeProcessor, Disputes};
use dropin_usecases::notifications::Notifications;
use dropin_usecases::operators::{
    AcceptanceForm, ManagedBy, NewOperator, Operators, PanelClient, PasswordCost, SecondFactorPolicy,
};
use dropin_usecases::payments::{Payments, Timing};
use dropin_usecases::screening::{PaymentScreening, ScreeningRules};
use dropin_usecases::wallet::WalletSetup;
use tokio::sync::watch;

pub(crate) const PASSWORD: &str = "nine blue whales dance slowly";
const HOST: &str = "panel.example";

/// A processor that approves everything, and is asked for nothing twice.
#[derive(Default)]
struct Yes;

#[async_trait]
impl Processor for Yes {
    async fn authorize(&self, _: AuthorizeRequest) -> ProcessorReply {
        ProcessorReply::NotSent
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        approved(request.amount)
    }

    async fn void(&self, _: VoidRequest) -> ProcessorReply {
        ProcessorReply::NotSent
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        approved(request.amount)
    }

    async fn status(&self, _: OperationQuery) -> StatusReply {
        StatusReply::Absent
    }

    async fn abandon(&self, _: OperationQuery) -> StatusReply {
        StatusReply::Absent
    }

    async fn delete_credential(&self, _: DeleteCredentialRequest) -> CredentialDeletion {
        CredentialDeletion::NotSent
    }
}

fn approved(amount: Amount) -> ProcessorReply {
    ProcessorReply::Approved {
        amount: Some(amount),
        captured: false,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    }
}

/// A merchant's server, which answers everything with 200 and keeps what it got.
#[derive(Default)]
pub(crate) struct Receiver(pub(crate) Mutex<Vec<WebhookRequest>>);

#[async_trait]
impl WebhookSender for Receiver {
    async fn send(&self, request: WebhookRequest) -> Sent {
        self.0.lock().unwrap().push(request);
        Sent { outcome: AttemptOutcome::Answered { status: 200, retry_after: None }, answer: b"<b>thanks</b>".to_vec() }
    }
}

/// The file that every domain serves.
pub(crate) const ASSOCIATION: &str = "7b2270737022";

/// A provider of the wallet that takes every certificate.
struct Wallet;

#[async_trait]
impl WalletProvider for Wallet {
    fn inspect(&self, _: &WalletCredentials) -> Result<Timestamp, WalletFailure> {
        Ok(Timestamp::MAX)
    }

    async fn start_session(&self, _: WalletCredentials, _: WalletSessionRequest) -> Result<Vec<u8>, WalletFailure> {
        Err(WalletFailure::Busy)
    }

    async fn fetch_association(&self, _: &WalletDomain) -> Result<Vec<u8>, String> {
        Ok(ASSOCIATION.as_bytes().to_vec())
    }
}

/// Services that answer nothing.
fn nowhere() -> SandboxServices {
    let url = || "http://127.0.0.1:9".to_owned();
    SandboxServices {
        base: url(),
        asset: url(),
        checkout: url(),
        stash: url(),
        processor: url(),
        processor_key: Arc::new(|| "key".to_owned().into()),
    }
}

/// Nobody looks behind the ports here.
struct NoRaw;

impl Raw for NoRaw {
    fn execute(&self, _: &str) -> Result<usize, String> {
        Err("not here".to_owned())
    }

    fn values(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// Two merchants, each with a captured payment.
pub(crate) struct World {
    pub(crate) deps: PanelDeps,
    pub(crate) store: Store,
    pub(crate) ana: MerchantId,
    pub(crate) bob: MerchantId,
    pub(crate) order_of_ana: OrderId,
    pub(crate) order_of_bob: OrderId,
    pub(crate) session_of_bob: SessionId,
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) secrets: Arc<MasterKey>,
    /// Stops the panel when it says `true`.
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) harness: Harness,
}

/// What a browser got.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn location(&self) -> &str {
        self.headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The value of the first hidden field of that name.
    pub(crate) fn field(&self, name: &str) -> String {
        let from = self.text.split(&format!("name=\"{name}\" value=\"")).nth(1);
        from.and_then(|rest| rest.split('"').next())
            .unwrap_or_else(|| panic!("{name} is not in {}", self.text))
            .to_owned()
    }
}

pub(crate) fn client() -> PanelClient {
    PanelClient { address: [127, 0, 0, 1].into(), user_agent: "test".to_owned() }
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("dropin.db").display());
        let store = Store::open(StoreConfig::new(url, Role::Service)).unwrap();
        let secrets = Arc::new(MasterKey::of_deployment(&folder.path().join("keys"), &store).await.unwrap());
        let harness = Harness::new(store.clone(), NoRaw, folder);
        let ((ana, _), (bob, _)) = (harness.merchant().await, harness.merchant().await);
        let (of_ana, of_bob) = (harness.processed(ana.id).await, harness.processed(bob.id).await);
        let shared = Arc::new(store.clone());
        let (clock, ids) = (Arc::new(SystemClock), Arc::new(SystemIds));
        let cost = PasswordCost { memory_kib: 8, passes: 1, lanes: 1 };
        let operators = Operators::new(
            shared.clone(),
            secrets.clone(),
            clock.clone(),
            ids.clone(),
            SecondFactorPolicy::Optional,
            cost,
        );
        let payments = Payments {
            store: shared.clone(),
            processor: Arc::new(Yes),
            clock: clock.clone(),
            ids: ids.clone(),
            credentials: None,
            catalogue: Arc::new(Catalogue::of_sandbox()),
            processors: Default::default(),
            timing: Timing::default(),
            screening: PaymentScreening::new(
                shared.clone(),
                shared.clone(),
                KnownMerchants::new(shared.clone()),
                clock.clone(),
            ),
            authorizations: Arc::default(),
        };
        let merchants = Merchants {
            store: shared.clone(),
            outbox: shared.clone(),
            secrets: secrets.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            targets: TargetPolicy::sandbox(),
            by: Acting::system(),
        };
        let receiver = Arc::new(Receiver::default());
        let stop = watch::Sender::new(false);
        let deps = PanelDeps {
            operators,
            payments,
            disputes: Disputes {
                store: shared.clone(),
                orders: shared.clone(),
                processors: Arc::<Vec<DisputeProcessor>>::default(),
                secrets: secrets.clone(),
                clock: clock.clone(),
                ids: ids.clone(),
                unreadable: Arc::default(),
            },
            processor_accounts: shared.clone(),
            processors: ["sandbox", "stripe-us"].map(|name| name.parse().unwrap()).into(),
            contracts: Contracts { store: shared.clone(), clock: clock.clone(), ids: ids.clone() },
            notifications: Notifications { store: shared.clone(), clock: clock.clone(), ids: ids.clone() },
            merchants,
            access: shared.clone(),
            screening_rules: Arc::new(ScreeningRules::new(Rules::built_in(), shared.clone())),
            screenings: shared.clone(),
            sessions: shared.clone(),
            audit: shared.clone(),
            audit_log: shared.clone(),
            back_office: shared.clone(),
            activity: shared.clone(),
            backlog: shared.clone(),
            rates: shared.clone(),
            wallets: WalletSetup {
                store: shared.clone(),
                secrets: secrets.clone(),
                provider: Arc::new(Wallet),
                clock: clock.clone(),
                ids: ids.clone(),
                by: Acting::system(),
                sandbox: true,
            },
            webhooks: receiver.clone(),
            ledger: Audit { store: shared, journal: None, credentials: None, clock: clock.clone() },
            flows: Flows::start().unwrap(),
            clock,
            ids,
            stop: stop.subscribe(),
            sandbox: true,
            sandbox_services: Some(nowhere()),
            is_https: true,
        };
        let id = |payment: &Payment| payment.order.id;
        let session_of_bob = of_bob.order.session_id.unwrap();
        Self {
            deps,
            store,
            ana: ana.id,
            bob: bob.id,
            order_of_ana: id(&of_ana),
            order_of_bob: id(&of_bob),
            session_of_bob,
            receiver,
            secrets,
            stop,
            harness,
        }
    }

    /// The session token of a new operator; `None` as merchant is the whole deployment.
    pub(crate) async fn operator(&self, role: OperatorRole, merchant: Option<MerchantId>) -> String {
        let scope = merchant.map_or(Some(OperatorScope::Deployment), |id| OperatorScope::of_merchants([id])).unwrap();
        self.operator_in(role, scope).await
    }

    /// The same in any scope.
    pub(crate) async fn operator_in(&self, role: OperatorRole, scope: OperatorScope) -> String {
        let limit = Amount::from_minor(Currency::Usd, 100_000_000).unwrap();
        let rights = OperatorRights {
            roles: [role].into_iter().collect(),
            scope,
            refund_limits: RefundLimits::new([limit]).unwrap(),
        };
        let email = format!("{}-{}@shop.example", role.as_str(), self.deps.ids.random().simple());
        let acting = Acting::system();
        let wanted = NewOperator { name: role.as_str().to_owned(), email, rights };
        let invited = self.deps.operators.invite(ManagedBy::CommandLine(&acting), wanted).await.unwrap();
        let token = invited.link.token;
        let form = AcceptanceForm { name: String::new(), email: String::new(), password: PASSWORD.to_owned() };
        let enrolment = self.deps.operators.begin_acceptance(&token, &form).await.unwrap();
        let accepted = self.deps.operators.accept(&token, &enrolment.sealed, None, &client()).await.unwrap();
        accepted.signed_in.session_token
    }

    pub(crate) async fn app(&self) -> impl Panel {
        init_service(App::new().configure(configure(self.deps.clone()))).await
    }

    /// What somebody with this session gets; without one nobody is signed in.
    pub(crate) async fn get(&self, session: Option<&str>, path: &str) -> Page {
        self.send(request(Method::GET, path, session)).await
    }

    /// Sends a form as a page of the panel does, with its token.
    pub(crate) async fn post(&self, session: &str, path: &str, fields: &[(&str, &str)]) -> Page {
        self.send(form(session, path, fields)).await
    }

    /// The same of one panel that goes on between requests.
    pub(crate) async fn get_of(&self, app: &impl Panel, session: &str, path: &str) -> Page {
        page_of(app, request(Method::GET, path, Some(session))).await
    }

    /// A form for it.
    pub(crate) async fn post_of(&self, app: &impl Panel, session: &str, path: &str, fields: &[(&str, &str)]) -> Page {
        page_of(app, form(session, path, fields)).await
    }

    pub(crate) async fn send(&self, request: TestRequest) -> Page {
        page_of(&self.app().await, request).await
    }
}

/// A panel that runs.
pub(crate) trait Panel: Service<actix_http::Request, Response = ServiceResponse, Error = Error> {}

impl<T: Service<actix_http::Request, Response = ServiceResponse, Error = Error>> Panel for T {}

/// A form as a page of the panel sends it, with its token.
fn form(session: &str, path: &str, fields: &[(&str, &str)]) -> TestRequest {
    let csrf = Operators::csrf_token(session);
    let fields: Vec<_> = [("csrf", csrf.as_str())].into_iter().chain(fields.iter().copied()).collect();
    let request = request(Method::POST, path, Some(session));
    request.insert_header(("origin", format!("https://{HOST}"))).set_form(&fields)
}

async fn page_of(app: &impl Panel, request: TestRequest) -> Page {
    let response = app.call(request.to_request()).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    // It ends with the session alone.
    if headers.get(CONTENT_TYPE).is_some_and(|value| value == "text/event-stream") {
        return Page { status, headers, text: String::new() };
    }
    let body = to_bytes(response.into_body()).await.map_err(|_broken| "broken").unwrap();
    Page { status, headers, text: String::from_utf8(body.to_vec()).unwrap() }
}

pub(crate) fn request(method: Method, path: &str, session: Option<&str>) -> TestRequest {
    let request = TestRequest::with_uri(path).method(method).insert_header(("host", HOST));
    match session {
        Some(session) => request.insert_header((COOKIE, format!("__Host-dropin-admin={session}"))),
        None => request,
    }
}

/// The session that an answer gives to a browser.
pub(crate) fn session_of(page: &Page) -> Option<String> {
    let cookie = page.headers.get(SET_COOKIE)?.to_str().ok()?;
    assert!(cookie.contains("Secure") && cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(cookie.contains("Path=/") && !cookie.contains("Domain"), "{cookie}");
    Some(cookie.split(['=', ';']).nth(1)?.to_owned())
}
