use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, rt, web};
use futures_util::stream;
use serde_json::Value;
use standardwebhooks::Webhook;

use crate::wait::until;

/// A notification as it arrived.
#[derive(Debug, Clone)]
pub struct Notification {
    /// `webhook-id`.
    pub id: String,
    /// `webhook-sequence`.
    pub sequence: i64,
    /// EventType.
    pub event: String,
    /// The body.
    pub body: Value,
    /// The exact bytes.
    pub bytes: Vec<u8>,
    /// The status it was answered with; 0 when the connection was closed instead.
    pub answered: u16,
}

#[derive(Default)]
struct Shared {
    received: Mutex<Vec<Notification>>,
    secret: Mutex<Option<String>>,
    answer: AtomicU16,
    fails_sometimes: AtomicBool,
    tries: AtomicUsize,
    /// Milliseconds from a notification to its answer.
    takes: AtomicU64,
    /// Notifications that arrived and were not answered yet.
    under_way: AtomicUsize,
    forged: Mutex<Vec<String>>,
    asset: Mutex<String>,
    /// What was expected last, by Session or Order.
    expected: Mutex<BTreeMap<String, Vec<String>>>,
}

/// What proves the merchant's domain to the wallet's provider; its page serves it.
pub const ASSOCIATION: &str = "The page of the tests' merchant.\n";

async fn association() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body(ASSOCIATION)
}

/// A merchant's real HTTP endpoint; verifies every signature as the merchant's developer is told to.
#[derive(Clone)]
pub struct Receiver {
    /// Its address.
    pub url: String,
    shared: Arc<Shared>,
}

impl Receiver {
    /// Listens on a free port and answers 200.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let url = format!("http://{}/webhook", listener.local_addr().expect("a bound address"));
        let shared = Arc::new(Shared { answer: AtomicU16::new(200), ..Shared::default() });
        let data = web::Data::from(shared.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(data.clone())
                .route("/webhook", web::post().to(receive))
                .route("/pay", web::get().to(page))
                .route("/pay.js", web::get().to(script))
                .route("/.well-known/apple-developer-merchantid-domain-association", web::get().to(association))
        });
        let server = server.workers(1).disable_signals().listen(listener).expect("listens").run();
        rt::spawn(server);
        Self { url, shared }
    }

    /// The merchant's origin, as the browser knows it: another site than the services' 127.0.0.1.
    pub fn origin(&self) -> String {
        self.url.trim_end_matches("/webhook").replace("127.0.0.1", "localhost")
    }

    /// Address of the merchant's page, which loads the drop-in from `asset` and takes `?session=`.
    pub fn page(&self, asset: &str) -> String {
        *self.shared.asset.lock().expect("no panic under this lock") = asset.to_owned();
        format!("{}/pay", self.origin())
    }

    /// Checks signatures with this secret from now on.
    pub fn trust(&self, secret: &str) {
        *self.shared.secret.lock().expect("no panic under this lock") = Some(secret.to_owned());
    }

    /// Answers with `status` from now on.
    pub fn answer_with(&self, status: u16) {
        self.shared.answer.store(status, Ordering::SeqCst);
    }

    /// Refuses every fifth try from now on, and closes the connection amid every 23rd answer.
    pub fn fail_sometimes(&self) {
        self.shared.fails_sometimes.store(true, Ordering::SeqCst);
    }

    /// Takes this long for each answer from now on.
    pub fn take(&self, time: Duration) {
        self.shared.takes.store(u64::try_from(time.as_millis()).expect("a short time"), Ordering::SeqCst);
    }

    /// How many arrived on connections that are still open and were not answered yet.
    pub fn under_way(&self) -> usize {
        self.shared.under_way.load(Ordering::SeqCst)
    }

    /// Everything that arrived so far, in order.
    pub fn all(&self) -> Vec<Notification> {
        self.shared.received.lock().expect("no panic under this lock").clone()
    }

    /// Every try that arrived for one Session, Order or contract, or for a merchant's alarms, in order.
    pub fn tries(&self, subject: &str) -> Vec<Notification> {
        let is_mine = |one: &Notification| {
            let (order, session) = (&one.body["Order"], &one.body["Session"]);
            let contract = &one.body["Contract"];
            let of_contract =
                if contract["SessionId"].is_null() { &contract["ContractId"] } else { &contract["SessionId"] };
            [
                &order["OrderId"],
                &order["SessionId"],
                &session["SessionId"],
                of_contract,
                &one.body["Alarm"]["MerchantId"],
            ]
            .iter()
            .any(|id| **id == subject)
        };
        self.all().into_iter().filter(is_mine).collect()
    }

    /// What arrived for one Session, or for one Order, and was acknowledged, each id once.
    pub fn acknowledged(&self, subject: &str) -> Vec<Notification> {
        let mut seen = Vec::<Notification>::new();
        for one in self.tries(subject) {
            if one.answered == 200 && seen.iter().all(|known| known.id != one.id) {
                seen.push(one);
            }
        }
        seen
    }

    /// Waits until exactly these events of a Session, or of an Order without one, were acknowledged, in this order and with no gap between. More
    /// than the last expectation of a subject fails the test at its end, too.
    pub async fn expect(&self, subject: &str, events: &[&str]) -> Vec<Notification> {
        let expected = events.iter().map(|event| (*event).to_owned()).collect();
        self.shared.expected.lock().expect("no panic under this lock").insert(subject.to_owned(), expected);
        let found = until(&format!("{events:?} of {subject}"), Duration::from_secs(40), async || {
            let found = self.acknowledged(subject);
            (events.len() <= found.len()).then_some(found)
        })
        .await;
        assert_eq!(found.iter().map(|one| one.event.as_str()).collect::<Vec<_>>(), events);
        assert!(
            found.iter().zip(1..).all(|(one, number)| one.sequence == number && one.body["Sequence"] == number),
            "sequences without a gap: {found:?}"
        );
        self.assert_none_forged();
        found
    }

    /// Fails when more arrived for a subject than was expected last.
    pub fn assert_nothing_more(&self) {
        for (subject, events) in self.shared.expected.lock().expect("no panic under this lock").iter() {
            let found: Vec<_> = self.acknowledged(subject).into_iter().map(|one| one.event).collect();
            assert_eq!(found, *events, "notifications of {subject} in all");
        }
    }

    /// Fails when a signature did not verify.
    pub fn assert_none_forged(&self) {
        let forged = self.shared.forged.lock().expect("no panic under this lock");
        assert!(forged.is_empty(), "signatures that do not verify: {forged:?}");
    }
}

/// The three headers that are signed, in the type that the official library takes.
fn signed<'a>(header: &impl Fn(&str) -> &'a str) -> http::HeaderMap {
    let mut headers = http::HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        if let Ok(value) = http::HeaderValue::from_str(header(name)) {
            headers.insert(name, value);
        }
    }
    headers
}

/// Counts a notification as under way until it is answered or its sender is gone.
struct UnderWay(web::Data<Shared>);

impl UnderWay {
    fn begin(shared: &web::Data<Shared>) -> Self {
        shared.under_way.fetch_add(1, Ordering::SeqCst);
        Self(shared.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn receive(shared: web::Data<Shared>, request: HttpRequest, bytes: web::Bytes) -> HttpResponse {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let secret = shared.secret.lock().expect("no panic under this lock").clone();
    let verifies = |secret: &str| Webhook::new(secret)?.verify(&bytes, &signed(&header));
    if secret.is_some_and(|secret| verifies(&secret).is_err()) {
        shared.forged.lock().expect("no panic under this lock").push(header("webhook-id").to_owned());
    }
    let answered = answer_of(&shared);
    let _under_way = UnderWay::begin(&shared);
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let notification = Notification {
        id: header("webhook-id").to_owned(),
        sequence: header("webhook-sequence").parse().unwrap_or_default(),
        event: body["EventType"].as_str().unwrap_or_default().to_owned(),
        body,
        bytes: bytes.to_vec(),
        answered,
    };
    shared.received.lock().expect("no panic under this lock").push(notification);
    rt::time::sleep(Duration::from_millis(shared.takes.load(Ordering::SeqCst))).await;
    match actix_web::http::StatusCode::from_u16(answered) {
        Ok(status) => HttpResponse::build(status).finish(),
        // The connection ends before the body does.
        Err(_closed) => {
            HttpResponse::Ok().streaming(stream::once(async { Err::<web::Bytes, _>(std::io::Error::other("moody")) }))
        }
    }
}

/// What the next try is answered with; 0 closes the connection.
fn answer_of(shared: &Shared) -> u16 {
    let number = shared.tries.fetch_add(1, Ordering::SeqCst);
    match (shared.fails_sometimes.load(Ordering::SeqCst), number) {
        (true, number) if number % 5 == 1 => 500,
        (true, number) if number % 23 == 7 => 0,
        _ => shared.answer.load(Ordering::SeqCst),
    }
}

/// The merchant's page, under as strict a policy as a merchant can have.
async fn page(shared: web::Data<Shared>) -> HttpResponse {
    let asset = shared.asset.lock().expect("no panic under this lock").clone();
    let origin = asset.split('/').take(3).collect::<Vec<_>>().join("/");
    let policy = format!(
        "default-src 'none'; script-src 'self' {origin}; frame-src {origin}; img-src data:; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    );
    HttpResponse::Ok().insert_header(("content-security-policy", policy)).content_type("text/html; charset=utf-8").body(
        format!(
            "<!doctype html><html lang=\"en\"><title>Shop</title><link rel=\"icon\" href=\"data:,\"><main id=\"pay\"></main>\
             <script src=\"{asset}/v1/dropin.js\"></script><script src=\"/pay.js\"></script></html>"
        ),
    )
}

async fn script() -> HttpResponse {
    HttpResponse::Ok().content_type("text/javascript").body(
        "window.heard = [];\n\
         window.instance = window.dropin.init({\n\
           target: '#pay', id: new URLSearchParams(location.search).get('session'),\n\
           locale: new URLSearchParams(location.search).get('locale') ?? undefined,\n\
           onSuccess: (paid) => { window.paid = paid; window.heard.push(['success']); },\n\
           onFailure: (error) => window.heard.push(['failure', error.errorCode, error.errorMessage]),\n\
           onSubmitEnabledChange: (state) => window.heard.push(['enabled', state]),\n\
         });\n",
    )
}
