//! A store with merchants and payments, and notifiers on it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dropin_boot::{SystemClock, SystemIds};
use dropin_kernel::{EventId, MerchantId, Timestamp};
use dropin_keyring::MasterKey;
use dropin_money::Currency;
use dropin_notification::Schedule;
use dropin_ports::{
    Actor, ChangeSession, Changed, Clock, IdSource, NewEvent, NewHistoryEntry, OutboxStore, SessionStore,
    StoredResponse, Subject,
};
use dropin_session::Session;
use dropin_store::{Role, Store, StoreConfig};
use dropin_usecases::access::{Caller, CreateMerchant, Merchants, authenticate};
use dropin_usecases::deliver::{Delivering, DeliverySettings};
use dropin_usecases::idempotency::{IdempotentOutcome, Reply};
use dropin_usecases::sessions::Sessions;
use dropin_validation::UrlPolicy;
use dropin_webhook_client::{TargetPolicy, WebhookClient, WebhookClientConfig};
use notifier::{NotifierDeps, run};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Kinds of one payment, in their order.
pub(crate) const KINDS: [&str; 3] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"];

pub(crate) struct World {
    pub(crate) store: Store,
    secrets: Arc<MasterKey>,
    folder: TempDir,
}

pub(crate) struct Shop {
    pub(crate) secret: String,
    pub(crate) merchant: MerchantId,
    caller: Caller,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::open(Role::Service)
    }

    /// Leaves the database to a notifier that runs as a program.
    #[allow(dead_code, reason = "for tests of the program")]
    pub(crate) fn beside_a_program() -> Self {
        Self::open(Role::Tool)
    }

    /// Where the database and the keys are.
    #[allow(dead_code, reason = "for tests of the program")]
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn open(role: Role) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite://{}", folder.path().join("dropin.db").display());
        let store = Store::open(StoreConfig::new(url, role)).expect("a store");
        let secrets = Arc::new(MasterKey::open_or_create(&folder.path().join("keys")).expect("a key"));
        Self { store, secrets, folder }
    }

    /// The operator's side.
    pub(crate) fn merchants(&self) -> Merchants {
        Merchants {
            store: Arc::new(self.store.clone()),
            outbox: Arc::new(self.store.clone()),
            secrets: self.secrets.clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            targets: TargetPolicy::sandbox(),
            by: dropin_ports::Acting::system(),
        }
    }

    pub(crate) async fn shop(&self, webhook_url: String) -> Shop {
        let wanted = CreateMerchant {
            name: "Shop".to_owned(),
            webhook_url: Some(webhook_url),
            origins: Vec::new(),
            currencies: vec![Currency::Usd],
        };
        let made = self.merchants().create(wanted).await.unwrap_or_else(|error| panic!("{error}"));
        let now = SystemClock.now();
        let caller = authenticate(&self.store, &*self.secrets, now, &made.username, &made.password).await;
        Shop {
            secret: made.webhook_secret.expect("it has a webhook"),
            merchant: made.merchant_id,
            caller: caller.expect("its own password"),
        }
    }

    /// Writes one notification of each kind for a new payment, in one transaction. Returns their ids.
    pub(crate) async fn pay(&self, shop: &Shop) -> Vec<String> {
        let (store, now): (Arc<dyn SessionStore>, _) = (Arc::new(self.store.clone()), SystemClock.now());
        let sessions = Sessions {
            store: store.clone(),
            contracts: Arc::new(self.store.clone()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            url_policy: UrlPolicy::Sandbox,
        };
        let body = format!(
            r#"{{"MerchantReference":"{}","CompleteUrl":"https://shop.example/","CancelUrl":"https://shop.example/","Currency":"USD","AutoCapture":true,
            "Items":[{{"Name":"Shirt","Amount":29.90,"Quantity":1}}],"BillingProfile":{{"Name":"Ana","Email":"ana@shop.example",
            "Address":{{"Street":"Hauptstr. 1","City":"Berlin","Country":"DE"}}}}}}"#,
            SystemIds.random()
        );
        let reply = Reply { render: id_alone, key_use: None };
        let told = sessions.create(&shop.caller, body.as_bytes(), reply).await.expect("a Session");
        let IdempotentOutcome::Stored(answer) = told else { panic!("{told:?}") };
        let id = String::from_utf8(answer.body).expect("an id").parse().expect("an id");
        let session = store.find_session(shop.merchant, id).await.expect("found").expect("just created").session;
        let (change, _) = session.as_created().expect("just created").cancel(now);
        let history = NewHistoryEntry {
            merchant_id: shop.merchant,
            subject: Subject::Session(session.id),
            actor: Actor::System,
            what: "test",
            at: now,
            before: Some("CREATED"),
            after: "CANCELLED",
        };
        let event = |event_type: &'static str| NewEvent {
            id: EventId::new(SystemIds.ordered()),
            merchant_id: shop.merchant,
            payment_id: session.payment_id(),
            event_type,
            body: format!(r#"{{"EventType":"{event_type}","Session":"{}"}}"#, session.id).into_bytes(),
            at: now,
        };
        let events: Vec<NewEvent> = KINDS.into_iter().map(event).collect();
        let ids = events.iter().map(|event| event.id.to_string()).collect();
        assert_eq!(
            store.change_session(ChangeSession { change, history, events, response: None, audit: None }).await,
            Ok(Changed::Done)
        );
        ids
    }

    pub(crate) fn delivering(&self) -> Delivering {
        let client = WebhookClientConfig {
            deadline: Duration::from_secs(8),
            ..WebhookClientConfig::new(TargetPolicy::sandbox())
        };
        Delivering {
            outbox: Arc::new(self.store.clone()),
            webhooks: Arc::new(WebhookClient::start(client).expect("a thread")),
            secrets: self.secrets.clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            sandbox: true,
            schedule: Schedule::new(vec![Duration::from_secs(1)], Duration::from_secs(3_600)).expect("a schedule"),
            settings: DeliverySettings {
                per_endpoint: 8,
                poll: Duration::from_millis(5),
                ..DeliverySettings::default()
            },
            counters: Arc::default(),
        }
    }

    pub(crate) fn notifier(&self, outbox: Arc<dyn OutboxStore>, settings: DeliverySettings) -> Notifier {
        Notifier::start(Delivering { outbox, settings, ..self.delivering() })
    }
}

/// An answer that tells no more than this test wants to know.
fn id_alone(session: &Session) -> StoredResponse {
    StoredResponse { status: 201, etag: None, body: session.id.to_string().into_bytes() }
}

pub(crate) struct Notifier {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Notifier {
    pub(crate) fn start(delivering: Delivering) -> Self {
        let (stop, stopping) = watch::channel(false);
        let deps = NotifierDeps { delivering, wakeups: Arc::default() };
        Self { stop, task: tokio::spawn(run(deps, stopping)) }
    }

    pub(crate) async fn stop(self) {
        self.stop.send(true).expect("running");
        self.task.await.expect("no panic");
    }

    /// Ends it between one instruction and the next, as kill -9 does.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.is_err_and(|error| error.is_cancelled()));
    }
}

pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(30), async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    assert!(waited.await.is_ok(), "never happened: {what}");
}

/// An entry of the audit log where it does not matter which.
pub(crate) fn audited() -> dropin_ports::NewAuditEntry {
    let (id, at) = (IdSource::ordered(&SystemIds), Timestamp::from_micros(0));
    let (by, action) = (dropin_ports::Acting::system(), dropin_access::AuditAction::MerchantChange);
    dropin_ports::NewAuditEntry::new(id, at, by, None, action, dropin_ports::AuditSubject::deployment())
}
