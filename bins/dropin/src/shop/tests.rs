//! The shop against a payment service that a test scripts. Everything on loopback, over real HTTP.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_web::http::header::HeaderMap;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use awc::{Client, ClientResponse};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Shop, ShopConfig, serve};

const SECRET: &str = "whsec_c3RpbGx3YXRlci1zdGlsbHdhdGVyLTAx";
const OTHER_SECRET: &str = "whsec_c29tZWJvZHktZWxzZS1zb21lYm9keS0w";
const SESSION: &str = "3f6c1c4e-90b1-4b7e-8d54-3a6a3a7f1b10";
const ORDER: &str = "8c0a6a3d-5d0e-4a52-9f06-6a0d6c1f4f21";
const ORIGIN: &str = "http://localhost:8081";

/// What the scripted service answers next, and what it was asked.
#[derive(Default)]
struct Script {
    answers: Mutex<Vec<(u16, Value)>>,
    asked: Mutex<Vec<(String, HeaderMap, String)>>,
}

async fn scripted(script: web::Data<Arc<Script>>, request: HttpRequest, body: String) -> HttpResponse {
    let line = format!("{} {}", request.method(), request.path());
    script.asked.lock().unwrap().push((line, request.headers().clone(), body));
    match script.answers.lock().unwrap().pop() {
        Some((status, body)) => HttpResponse::build(status.try_into().unwrap()).json(body),
        None => HttpResponse::InternalServerError().body("the test scripted no answer"),
    }
}

struct World {
    script: Arc<Script>,
    shop: SocketAddr,
    client: Client,
    stop: watch::Sender<bool>,
    serving: JoinHandle<std::io::Result<()>>,
}

fn config(base_url: &str) -> ShopConfig {
    ShopConfig {
        base_url: base_url.to_owned(),
        asset_url: "http://127.0.0.1:8080/asset".to_owned(),
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        public_origin: ORIGIN.to_owned(),
        username: "shop".to_owned(),
        password: "only-for-this-test".to_owned(),
        webhook_secret: SECRET.to_owned(),
    }
}

impl World {
    async fn open() -> Self {
        let script = Arc::new(Script::default());
        let shared = script.clone();
        let service = HttpServer::new(move || {
            App::new().app_data(web::Data::new(shared.clone())).default_service(web::to(scripted))
        })
        .workers(1)
        .disable_signals()
        .bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap();
        let address = service.addrs()[0];
        actix_web::rt::spawn(service.run());
        Self::around(script, &format!("http://{address}/")).await
    }

    async fn around(script: Arc<Script>, base_url: &str) -> Self {
        let (stop, stopped) = watch::channel(false);
        let shop = serve(config(base_url), stopped).await.unwrap();
        let address = shop.address();
        let serving = actix_web::rt::spawn(Shop::run(shop));
        Self { script, shop: address, client: Client::default(), stop, serving }
    }

    fn answers(&self, status: u16, body: Value) {
        self.script.answers.lock().unwrap().insert(0, (status, body));
    }

    fn asked(&self) -> Vec<(String, HeaderMap, String)> {
        std::mem::take(&mut self.script.asked.lock().unwrap())
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.shop)
    }

    async fn get(&self, path: &str) -> (u16, HeaderMap, String) {
        unpack(self.client.get(self.url(path)).insert_header(("Host", "localhost:8081")).send().await.unwrap()).await
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, _, text) = unpack(self.client.post(self.url(path)).send_json(&body).await.unwrap()).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn checkout(&self) -> (u16, Value) {
        let basket = json!({"Currency": "EUR", "AutoCapture": false, "Lines": [{"Id": "mug", "Quantity": 2}]});
        self.post("/api/checkout", basket).await
    }

    async fn deliver(&self, delivery: &Delivery) -> u16 {
        let request = self
            .client
            .post(self.url("/webhook"))
            .insert_header(("Content-Type", "application/json"))
            .insert_header(("webhook-id", delivery.id.as_str()))
            .insert_header(("webhook-timestamp", delivery.timestamp.to_string()))
            .insert_header(("webhook-signature", delivery.signature()))
            .insert_header(("webhook-sequence", delivery.sequence.to_string()));
        request
            .send_body(delivery.sent.clone().unwrap_or_else(|| delivery.body.clone()))
            .await
            .unwrap()
            .status()
            .as_u16()
    }

    /// Reads the live view until `count` notifications came.
    async fn notifications(&self, count: usize) -> Vec<Value> {
        let mut stream = self.client.get(self.url("/api/notifications")).send().await.unwrap();
        let (mut text, mut found) = (String::new(), Vec::new());
        while found.len() < count {
            let chunk =
                tokio::time::timeout(Duration::from_secs(10), stream.next()).await.expect("a notification in time");
            text.push_str(std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap());
            found =
                text.lines().filter_map(|line| line.strip_prefix("data: ")).map(|data| data.parse().unwrap()).collect();
        }
        found
    }

    async fn stage(&self) -> Value {
        self.answers(200, session("COMPLETED", Some("PAYMENT_AUTHORIZED")));
        let (status, _, text) = self.get(&format!("/api/payment/{SESSION}")).await;
        assert_eq!(status, 200, "{text}");
        serde_json::from_str::<Value>(&text).unwrap()["Stage"].clone()
    }
}

async fn unpack<S>(mut answer: ClientResponse<S>) -> (u16, HeaderMap, String)
where
    S: futures_util::Stream<Item = Result<web::Bytes, actix_web::error::PayloadError>> + Unpin,
{
    let bytes = answer.body().await.unwrap();
    (answer.status().as_u16(), answer.headers().clone(), String::from_utf8(bytes.to_vec()).unwrap())
}

struct Delivery {
    id: String,
    timestamp: i64,
    sequence: u64,
    secret: &'static str,
    body: String,
    /// Sent in place of the signed body.
    sent: Option<String>,
}

impl Delivery {
    fn new(sequence: u64, event_type: &str, state: &str) -> Self {
        let order = json!({"OrderId": ORDER, "State": state, "MerchantReference": "STILL-1", "SessionId": SESSION, "UnderReview": false});
        Self {
            id: format!("msg_{sequence}"),
            timestamp: now(),
            sequence,
            secret: SECRET,
            body: json!({"EventType": event_type, "Order": order}).to_string(),
            sent: None,
        }
    }

    fn signature(&self) -> String {
        Webhook::new(self.secret).unwrap().sign(&self.id, self.timestamp, self.body.as_bytes()).unwrap()
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().try_into().unwrap()
}

fn session(state: &str, order: Option<&str>) -> Value {
    let mut session = json!({
        "SessionId": SESSION, "State": state, "MerchantReference": "STILL-1", "AutoCapture": false, "Currency": "EUR",
        "TotalAmount": 52.90, "BillingProfile": {"Name": "Robin Example", "Email": "robin@example.com"},
    });
    if let Some(order) = order {
        session["Order"] =
            json!({"OrderId": ORDER, "State": order, "MerchantReference": "STILL-1", "SessionId": SESSION});
    }
    session
}

#[actix_web::test]
async fn believes_a_rightly_signed_notification_and_shows_it() {
    let world = World::open().await;
    assert_eq!(world.deliver(&Delivery::new(1, "ORDER_AUTHORIZED", "PAYMENT_AUTHORIZED")).await, 200);
    let shown = &world.notifications(1).await[0];
    assert_eq!(shown["EventType"], "ORDER_AUTHORIZED");
    assert_eq!(shown["State"], "PAYMENT_AUTHORIZED");
    assert_eq!(shown["SessionId"], SESSION);
    assert_eq!(shown["Sequence"], 1);
}

#[actix_web::test]
async fn refuses_what_is_tampered_old_or_signed_by_somebody_else() {
    let world = World::open().await;
    let good = || Delivery::new(1, "ORDER_PROCESSED", "PROCESSED");
    let tampered = Delivery { sent: Some(good().body.replace("STILL-1", "STILL-2")), ..good() };
    let (old, early) = (Delivery { timestamp: now() - 301, ..good() }, Delivery { timestamp: now() + 310, ..good() });
    let absurd = Delivery { timestamp: i64::MIN, ..good() };
    let foreign = Delivery { secret: OTHER_SECRET, ..good() };
    for (what, delivery) in
        [("tampered", tampered), ("old", old), ("early", early), ("absurd time", absurd), ("other secret", foreign)]
    {
        assert_eq!(world.deliver(&delivery).await, 401, "{what}");
    }
    let bare = world.client.post(world.url("/webhook")).send_body(good().body).await.unwrap();
    assert_eq!(bare.status().as_u16(), 401, "no signature at all");
    let nonsense = Delivery { body: "{\"Order\":7}".to_owned(), ..good() };
    assert_eq!(world.deliver(&nonsense).await, 400, "signed, but no notification");
    // None of them was stored: the first good one is the first shown.
    assert_eq!(world.deliver(&Delivery { id: "msg_good".to_owned(), ..good() }).await, 200);
    assert_eq!(world.notifications(1).await[0]["WebhookId"], "msg_good");
}

#[actix_web::test]
async fn acknowledges_a_repeated_delivery_and_stores_it_once() {
    let world = World::open().await;
    let first = Delivery::new(1, "SESSION_COMPLETED", "PAYMENT_AUTHORIZED");
    assert_eq!(world.deliver(&first).await, 200);
    assert_eq!(world.deliver(&Delivery { timestamp: first.timestamp + 1, ..first }).await, 200);
    assert_eq!(world.deliver(&Delivery::new(2, "ORDER_AUTHORIZED", "PAYMENT_AUTHORIZED")).await, 200);
    let shown: Vec<_> = world.notifications(2).await.iter().map(|one| one["Sequence"].clone()).collect();
    assert_eq!(shown, [json!(1), json!(2)]);
}

#[actix_web::test]
async fn a_late_older_notification_does_not_take_the_purchase_back() {
    let world = World::open().await;
    world.answers(201, session("CREATED", None));
    assert_eq!(world.checkout().await.1["Stage"], "AWAITING_PAYMENT");
    world.deliver(&Delivery::new(2, "ORDER_AUTHORIZED", "PAYMENT_AUTHORIZED")).await;
    assert_eq!(world.stage().await, "AUTHORIZED");
    world.deliver(&Delivery::new(4, "ORDER_PROCESSED", "PROCESSED")).await;
    world.deliver(&Delivery::new(3, "ORDER_AUTHORIZED", "PAYMENT_AUTHORIZED")).await;
    assert_eq!(world.stage().await, "PAID");
}

#[actix_web::test]
async fn prices_come_from_the_server_whatever_the_browser_says() {
    let world = World::open().await;
    world.answers(201, session("CREATED", None));
    let basket = json!({
        "Currency": "KWD", "AutoCapture": true, "TotalAmount": 0.001,
        "Lines": [{"Id": "mug", "Quantity": 2, "Amount": 0.001, "Price": 1}, {"Id": "tea", "Quantity": 1}],
    });
    let (status, answer) = world.post("/api/checkout", basket).await;
    assert_eq!((status, &answer["SessionId"]), (200, &json!(SESSION)));
    assert!(answer.get("BillingProfile").is_none(), "billing details stay on the server: {answer}");
    let asked = world.asked();
    let (line, headers, body) = &asked[0];
    assert_eq!(line, "POST /v1/session");
    // shop:only-for-this-test
    assert_eq!(headers.get("authorization").unwrap(), "Basic c2hvcDpvbmx5LWZvci10aGlzLXRlc3Q=");
    assert!(body.contains(r#""Amount":16.500,"Quantity":2"#), "{body}");
    assert!(body.contains(r#""Amount":3.950,"Quantity":1"#), "{body}");
    assert!(body.contains(r#""ShippingAmount":1.500"#) && body.contains(r#""Currency":"KWD""#), "{body}");
    assert!(body.contains("/paid?session={SessionId}"), "{body}");
}

#[actix_web::test]
async fn refuses_baskets_that_make_no_sense_before_asking_anybody() {
    let world = World::open().await;
    let basket = |currency: &str, lines: Value| json!({"Currency": currency, "AutoCapture": true, "Lines": lines});
    for (what, body) in [
        ("empty", basket("EUR", json!([]))),
        ("unknown thing", basket("EUR", json!([{"Id": "yacht", "Quantity": 1}]))),
        ("none of it", basket("EUR", json!([{"Id": "mug", "Quantity": 0}]))),
        ("too many", basket("EUR", json!([{"Id": "mug", "Quantity": 21}]))),
        ("less than none", basket("EUR", json!([{"Id": "mug", "Quantity": -1}]))),
        ("no such currency", basket("XXX", json!([{"Id": "mug", "Quantity": 1}]))),
        ("not a basket", json!(["mug"])),
    ] {
        let (status, answer) = world.post("/api/checkout", body).await;
        assert_eq!((status, &answer["Code"]), (400, &json!("INVALID_REQUEST")), "{what}: {answer}");
    }
    let form = world.client.post(world.url("/api/checkout")).send_form(&[("Currency", "EUR")]).await.unwrap();
    assert_eq!(form.status().as_u16(), 403, "a form of a foreign page");
    assert!(world.asked().is_empty(), "the payment service was asked");
}

#[actix_web::test]
async fn references_never_repeat() {
    let world = World::open().await;
    for _ in 0..20 {
        world.answers(201, session("CREATED", None));
        assert_eq!(world.checkout().await.0, 200);
    }
    let reference = |body: &str| serde_json::from_str::<Value>(body).unwrap()["MerchantReference"].to_string();
    let mut references: Vec<_> = world.asked().iter().map(|(_, _, body)| reference(body)).collect();
    references.dedup();
    assert_eq!(references.len(), 20);
    assert!(references.is_sorted());
}

#[actix_web::test]
async fn says_so_when_the_payment_service_is_away() {
    let closed = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let world = World::around(Arc::default(), &format!("http://{address}")).await;
    let (status, answer) = world.checkout().await;
    assert_eq!((status, &answer["Code"]), (502, &json!("PAYMENT_SERVICE_AWAY")));
    assert!(answer["Message"].as_str().unwrap().contains(&address.to_string()), "{answer}");
}

#[actix_web::test]
async fn turns_refusals_of_the_service_into_words_that_help() {
    let world = World::open().await;
    let refusal = |code: &str| json!({"Code": code, "Message": "Words of the service."});
    for (status, body, expected, code) in [
        (503, refusal("SERVICE_UNAVAILABLE"), 503, "PAYMENT_SERVICE_BUSY"),
        (401, refusal("AUTHENTICATION_REQUIRED"), 502, "CREDENTIALS_REFUSED"),
        (400, refusal("INVALID_CURRENCY"), 400, "INVALID_CURRENCY"),
        (500, json!("no error object"), 502, "PAYMENT_SERVICE_STRANGE"),
        (201, json!({"SessionId": "not a session"}), 502, "PAYMENT_SERVICE_STRANGE"),
    ] {
        world.answers(status, body);
        let (got, answer) = world.checkout().await;
        assert_eq!((got, &answer["Code"]), (expected, &json!(code)), "{status}: {answer}");
        assert!(!answer.to_string().contains("only-for-this-test"));
    }
}

#[actix_web::test]
async fn ships_the_order_of_the_session_and_passes_a_refused_capture_on() {
    let world = World::open().await;
    let path = format!("/api/payment/{SESSION}/capture");
    world.answers(200, session("CREATED", None));
    let (status, answer) = world.post(&path, json!({})).await;
    assert_eq!((status, &answer["Code"]), (409, &json!("NOTHING_TO_SHIP")));

    world.answers(200, session("COMPLETED", Some("PAYMENT_AUTHORIZED")));
    world.answers(
        200,
        json!({"OrderId": ORDER, "State": "PROCESSED", "Reason": {"Code": "Captured", "Retryable": false}}),
    );
    let (status, answer) = world.post(&path, json!({})).await;
    assert_eq!((status, &answer["Reason"]["Code"]), (200, &json!("Captured")));
    let (line, _, body) = world.asked().pop().unwrap();
    assert_eq!((line, body), (format!("POST /v1/order/{ORDER}/capture"), String::new()));

    world.answers(200, session("COMPLETED", Some("PAYMENT_AUTHORIZED")));
    world.answers(402, json!({"Code": "CAPTURE_FAILED", "Message": "Refused for good.", "Retryable": false}));
    let (status, answer) = world.post(&path, json!({})).await;
    assert_eq!((status, &answer["Code"]), (402, &json!("CAPTURE_FAILED")));

    let (status, answer) = world.post("/api/payment/..%2F..%2Forder/capture", json!({})).await;
    assert_eq!((status, &answer["Code"]), (404, &json!("PAYMENT_NOT_FOUND")));
}

#[actix_web::test]
async fn every_answer_carries_the_policy_and_the_page_names_the_script() {
    let world = World::open().await;
    for path in
        ["/", "/paid", "/cancelled", "/shop.js", "/shop.css", "/api/catalogue", "/api/payment/x", "/nothing-here"]
    {
        let (_, headers, _) = world.get(path).await;
        let policy = headers.get("content-security-policy").unwrap_or_else(|| panic!("{path}")).to_str().unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self' http://127.0.0.1:8080;",
            "frame-src http://127.0.0.1:8080;",
            "style-src 'self';",
            "connect-src 'self';",
            "form-action 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {part} missing in {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    let (status, _, page) = world.get("/").await;
    assert_eq!(status, 200);
    assert!(page.contains(r#"<script src="http://127.0.0.1:8080/asset/v1/dropin.js""#), "{page}");
    assert!(!page.contains("{motifs}") && page.contains(r#"<symbol id="mug""#));
}

#[actix_web::test]
async fn pages_live_under_the_registered_origin_only() {
    let world = World::open().await;
    let client = Client::builder().disable_redirects().finish();
    let led = client.get(world.url("/paid?session=1")).send().await.unwrap();
    assert_eq!(led.status().as_u16(), 307);
    assert_eq!(led.headers().get("location").unwrap(), "http://localhost:8081/paid?session=1");
    let rebound = client.get(world.url("/")).insert_header(("Host", "shop.evil.example:8081")).send().await.unwrap();
    assert_eq!(rebound.status().as_u16(), 403);
}

#[actix_web::test]
async fn stops_when_told_even_with_an_open_live_view() {
    let world = World::open().await;
    let mut stream = world.client.get(world.url("/api/notifications")).send().await.unwrap();
    stream.next().await.expect("a greeting").unwrap();
    world.stop.send(true).unwrap();
    // Sooner than the grace period after which connections are cut: the view ended by itself.
    tokio::time::timeout(Duration::from_secs(super::STOP_SECONDS) / 2, world.serving).await.expect("in time").unwrap().unwrap();
}

#[actix_web::test]
async fn configuration_that_cannot_work_is_refused_before_anything_runs() {
    let (_stop, stopped) = watch::channel(false);
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let with = |change: fn(&mut ShopConfig)| {
        let mut config = config("http://127.0.0.1:1");
        change(&mut config);
        config
    };
    for (member, config) in [
        ("loopback", with(|config| config.listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))),
        ("base_url", with(|config| config.base_url = "127.0.0.1:8080".to_owned())),
        ("asset_url", with(|config| config.asset_url = "ftp://127.0.0.1".to_owned())),
        ("public_origin", with(|config| config.public_origin = String::new())),
        ("webhook_secret", with(|config| config.webhook_secret = "whsec_***".to_owned())),
    ] {
        let error = serve(config, stopped.clone()).await.err().expect(member);
        assert!(error.to_string().contains(member), "{member}: {error}");
    }
    let listen = taken.local_addr().unwrap();
    let error = serve(ShopConfig { listen, ..config("http://127.0.0.1:1") }, stopped).await.err().expect("taken");
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}

#[test]
fn debug_shows_no_secret() {
    let shown = format!("{:?}", config("http://127.0.0.1:1"));
    assert!(!shown.contains("only-for-this-test") && !shown.contains("whsec_"), "{shown}");
}
