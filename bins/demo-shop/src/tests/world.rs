//! A shop, a scripted payment service, and deliveries signed like the real ones.

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
use uuid::Uuid;

use crate::{Shop, ShopConfig, TestCard, serve};

const SECRET: &str = "whsec_c3RpbGx3YXRlci1zdGlsbHdhdGVyLTAx";
pub(super) const OTHER_SECRET: &str = "whsec_c29tZWJvZHktZWxzZS1zb21lYm9keS0w";
pub(super) const SESSION: &str = "3f6c1c4e-90b1-4b7e-8d54-3a6a3a7f1b10";
pub(super) const ORDER: &str = "8c0a6a3d-5d0e-4a52-9f06-6a0d6c1f4f21";
const ORIGIN: &str = "http://localhost:8081";

/// What the scripted service answers next, and what it was asked.
#[derive(Default)]
pub(super) struct Script {
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

pub(super) struct World {
    pub(super) script: Arc<Script>,
    pub(super) shop: SocketAddr,
    pub(super) client: Client,
    pub(super) stop: watch::Sender<bool>,
    pub(super) serving: JoinHandle<std::io::Result<()>>,
}

pub(super) fn config(base_url: &str) -> ShopConfig {
    ShopConfig {
        base_url: base_url.to_owned(),
        asset_url: "http://127.0.0.1:8080/asset".to_owned(),
        checkout_url: format!("{}/checkout", base_url.trim_end_matches('/')),
        merchant_id: "5b8f2a0e-4c1d-4e9a-9a57-1c2d3e4f5a6b".to_owned(),
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        public_origin: ORIGIN.to_owned(),
        username: "shop".to_owned(),
        password: "only-for-this-test".to_owned(),
        webhook_secret: SECRET.to_owned(),
        test_cards: vec![TestCard { number: "4242424242424242", scheme: "Visa", does: "Pays" }],
    }
}

impl World {
    pub(super) async fn open() -> Self {
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

    pub(super) async fn around(script: Arc<Script>, base_url: &str) -> Self {
        let (stop, stopped) = watch::channel(false);
        let shop = serve(config(base_url), stopped).await.unwrap();
        let address = shop.address();
        let serving = actix_web::rt::spawn(Shop::run(shop));
        Self { script, shop: address, client: Client::default(), stop, serving }
    }

    pub(super) fn answers(&self, status: u16, body: Value) {
        self.script.answers.lock().unwrap().insert(0, (status, body));
    }

    /// Forgets the answers that nobody asked for.
    pub(super) fn script_nothing(&self) {
        self.script.answers.lock().unwrap().clear();
    }

    pub(super) fn asked(&self) -> Vec<(String, HeaderMap, String)> {
        std::mem::take(&mut self.script.asked.lock().unwrap())
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.shop)
    }

    pub(super) async fn get(&self, path: &str) -> (u16, HeaderMap, String) {
        unpack(self.client.get(self.url(path)).insert_header(("Host", "localhost:8081")).send().await.unwrap()).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, _, text) = unpack(self.client.post(self.url(path)).send_json(&body).await.unwrap()).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// Checks a new cart with two mugs out.
    pub(super) async fn checkout(&self) -> (u16, Value) {
        self.post("/api/checkout", cart(&fresh_id(), 2)).await
    }

    pub(super) async fn deliver(&self, delivery: &Delivery) -> u16 {
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
    pub(super) async fn notifications(&self, count: usize) -> Vec<Value> {
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

    pub(super) async fn stage(&self) -> Value {
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

pub(super) fn fresh_id() -> String {
    Uuid::new_v4().to_string()
}

/// A cart with so many mugs.
pub(super) fn cart(id: &str, mugs: u32) -> Value {
    json!({"CartId": id, "Currency": "EUR", "AutoCapture": false, "Lines": [{"Id": "mug", "Quantity": mugs}]})
}

pub(super) struct Delivery {
    pub(super) id: String,
    pub(super) timestamp: i64,
    pub(super) sequence: u64,
    pub(super) secret: &'static str,
    pub(super) body: String,
    /// Sent in place of the signed body.
    pub(super) sent: Option<String>,
}

impl Delivery {
    pub(super) fn new(sequence: u64, event_type: &str, state: &str) -> Self {
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

    pub(super) fn signature(&self) -> String {
        Webhook::new(self.secret).unwrap().sign(&self.id, self.timestamp, self.body.as_bytes()).unwrap()
    }
}

pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().try_into().unwrap()
}

pub(super) fn session(state: &str, order: Option<&str>) -> Value {
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
