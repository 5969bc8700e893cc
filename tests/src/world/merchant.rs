use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::http::{Http, Response};

/// A merchant's server: speaks to the Session and Order APIs with its credentials.
#[derive(Clone)]
pub struct Merchant {
    http: Http,
    base: String,
    checkout: String,
    username: String,
    password: Option<String>,
    /// Its public id.
    pub id: String,
    /// Every Session that it was told of, by whichever call.
    sessions: Arc<Mutex<BTreeSet<String>>>,
}

impl Merchant {
    pub(super) fn new(http: Http, base: &str, checkout: &str, created: &Value) -> Self {
        let text = |name: &str| created[name].as_str().unwrap_or_else(|| panic!("{name} in {created}")).to_owned();
        let (username, password) = (text("Username"), Some(text("Password")));
        let (base, checkout) = (base.to_owned(), checkout.to_owned());
        Self { http, base, checkout, username, password, id: text("MerchantId"), sessions: Arc::default() }
    }

    /// The same merchant with another password, or without credentials.
    pub fn with_password(&self, password: Option<&str>) -> Self {
        Self { password: password.map(str::to_owned), ..self.clone() }
    }

    /// The password, for searching what must not hold it.
    pub fn password(&self) -> String {
        self.password.clone().unwrap_or_default()
    }

    /// Its credentials, as `merchant create --json` prints them.
    pub fn credentials(&self) -> Value {
        json!({"MerchantId": self.id, "Username": self.username, "Password": self.password()})
    }

    /// A Session that somebody else created with its credentials is its own, too.
    pub fn adopt(&self, session: &str) {
        self.sessions.lock().expect("no panic under this lock").insert(session.to_owned());
    }

    /// The Authorization header.
    pub fn authorization(&self) -> String {
        use base64::Engine as _;
        let pair = format!("{}:{}", self.username, self.password.as_deref().unwrap_or_default());
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
    }

    /// Any call; JSON when there is a body.
    pub async fn call(&self, method: &str, path: &str, body: Option<Vec<u8>>) -> Response {
        self.try_call(method, path, body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Any call; an error when no answer came.
    pub async fn try_call(&self, method: &str, path: &str, body: Option<Vec<u8>>) -> Result<Response, String> {
        self.try_call_with(method, path, &[], body).await
    }

    /// Any call with an Idempotency-Key.
    pub async fn keyed(&self, method: &str, path: &str, key: &str, body: Option<Vec<u8>>) -> Response {
        self.try_keyed(method, path, key, body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Any call with an Idempotency-Key; an error when no answer came.
    pub async fn try_keyed(
        &self,
        method: &str,
        path: &str,
        key: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response, String> {
        self.try_call_with(method, path, &[("idempotency-key", key)], body).await
    }

    /// Any call with these headers besides; an error when no answer came.
    pub async fn try_call_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Response, String> {
        let answer = self.send(method, &format!("{}{path}", self.base), headers, body).await?;
        if let Some(created) = Some(&answer).filter(|answer| answer.status == 201 && path == "/v1/session") {
            let id = created.json()["SessionId"].as_str().expect("an id").to_owned();
            self.sessions.lock().expect("no panic under this lock").insert(id);
        }
        Ok(answer)
    }

    /// Any call to any address with its credentials.
    async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Response, String> {
        let authorization = self.authorization();
        let mut headers = headers.to_vec();
        if self.password.is_some() {
            headers.push(("authorization", authorization.as_str()));
        }
        if body.is_some() {
            headers.push(("content-type", "application/json"));
        }
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        self.http.send(method, url, &headers, body.unwrap_or_default()).await
    }

    /// A POST of a form, whose content type is among the headers.
    pub async fn post_form(&self, path: &str, headers: &[(&str, &str)], form: Vec<u8>) -> Response {
        let authorization = self.authorization();
        let headers = [headers, &[("authorization", authorization.as_str())]].concat();
        let url = format!("{}{path}", self.base);
        self.http.send(Method::POST, &url, &headers, form).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// POST to the checkout API, `what` behind its version; with an Idempotency-Key when there is one.
    pub async fn post_checkout(&self, what: &str, key: Option<&str>, body: &Value) -> Response {
        let headers: Vec<_> = key.map(|key| ("idempotency-key", key)).into_iter().collect();
        let (url, bytes) = (format!("{}/v2.21{what}", self.checkout), body.to_string().into_bytes());
        self.send("POST", &url, &headers, Some(bytes)).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// A whole checkout request of 29.90 USD with a fresh reference; `change` replaces members.
    pub fn checkout_request(&self, change: Value) -> Value {
        let mut request = json!({
            "MerchantId": self.id, "ReferenceId": format!("order {}", uuid::Uuid::new_v4()), "ConsumerCurrency": "USD",
            "Items": [{"Description": "Blue mug", "ConsumerPrice": 14.95, "Quantity": 2}],
            "Consumer": {
                "Name": "Ana Example", "Email": "ana@shop.example", "Address": "Example Street 1", "City": "Berlin", "Country": "DE",
            },
            "Return": "https://shop.example/back?cart=1", "DeviceFingerprint": "a browser", "Capture": true,
        });
        for (name, value) in change.as_object().expect("an object") {
            request[name] = value.clone();
        }
        request
    }

    /// The Sessions that it created.
    pub(super) fn sessions(&self) -> Vec<String> {
        self.sessions.lock().expect("no panic under this lock").iter().cloned().collect()
    }

    /// A whole Session request of 29.90 USD with a fresh reference; `change` replaces members.
    pub fn session_request(&self, change: Value) -> Value {
        let mut request = json!({
            "MerchantReference": format!("order {}", uuid::Uuid::new_v4()),
            "AutoCapture": true,
            "CompleteUrl": "https://shop.example/paid?session={SessionId}",
            "CancelUrl": "https://shop.example/cart",
            "Currency": "USD",
            "Items": [{"Name": "Blue mug", "Amount": 29.9, "Quantity": 1}],
            "BillingProfile": {
                "Name": "Ana Example", "Email": "ana@shop.example",
                "Address": {"Street": "Example Street 1", "City": "Berlin", "Country": "DE", "Postcode": "10115"},
            },
        });
        for (name, value) in change.as_object().expect("an object") {
            request[name] = value.clone();
        }
        request
    }

    /// Changes of a Session request: a Dutch customer who pays in euros, at once.
    pub fn dutch(&self) -> Value {
        let mut billing = self.session_request(json!({}))["BillingProfile"].clone();
        billing["Address"] =
            json!({"Street": "Voorbeeld 1", "City": "Amsterdam", "Country": "NL", "Postcode": "1011 AB"});
        json!({"AutoCapture": true, "Currency": "EUR", "BillingProfile": billing})
    }

    /// POST /v1/session with these bytes.
    pub async fn post_session(&self, body: Vec<u8>) -> Response {
        self.call("POST", "/v1/session", Some(body)).await
    }

    /// Creates a Session; its id.
    pub async fn create_session(&self, change: Value) -> String {
        let answer = self.post_session(self.session_request(change).to_string().into_bytes()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["SessionId"].as_str().expect("an id").to_owned()
    }

    /// PUT of a whole request with these members changed.
    pub async fn replace(&self, session: &str, change: Value) -> Response {
        let body = self.session_request(change).to_string().into_bytes();
        self.call("PUT", &format!("/v1/session/{session}"), Some(body)).await
    }

    /// DELETE.
    pub async fn cancel(&self, session: &str) -> Response {
        self.call("DELETE", &format!("/v1/session/{session}"), None).await
    }

    /// The Session as JSON.
    pub async fn session(&self, session: &str) -> Value {
        self.call("GET", &format!("/v1/session/{session}"), None).await.json()
    }

    /// The Session as text, for exact numbers.
    pub async fn session_text(&self, session: &str) -> String {
        self.call("GET", &format!("/v1/session/{session}"), None).await.text()
    }

    /// The Order of a completed Session, from the Order API.
    pub async fn order_of(&self, session: &str) -> Value {
        let shown = self.session(session).await;
        let id = shown["Order"]["OrderId"].as_str().unwrap_or_else(|| panic!("no Order in {shown}"));
        let answer = self.call("GET", &format!("/v1/order/{id}"), None).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// The Order as text, for exact numbers.
    pub async fn order_text(&self, order: &Value) -> String {
        let id = order["OrderId"].as_str().expect("an id");
        self.call("GET", &format!("/v1/order/{id}"), None).await.text()
    }

    /// Any call about one Order; `what` follows its address.
    pub async fn about(&self, method: &str, order: &Value, what: &str, body: Option<String>) -> Response {
        let id = order["OrderId"].as_str().unwrap_or_else(|| panic!("no OrderId in {order}"));
        self.call(method, &format!("/v1/order/{id}{what}"), body.map(String::into_bytes)).await
    }

    /// The Order as it stands now.
    pub async fn order(&self, order: &Value) -> Value {
        let answer = self.about("GET", order, "", None).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Captures all, or this amount as written.
    pub async fn capture(&self, order: &Value, amount: Option<&str>) -> Response {
        let body = amount.map(|amount| format!("{{\"Amount\": {amount}}}"));
        self.about("POST", order, "/capture", body).await
    }

    /// Gives the authorization up, or stops what still waits.
    pub async fn cancel_order(&self, order: &Value) -> Response {
        self.about("POST", order, "/cancel", None).await
    }

    /// Pays all that is left back, or this amount as written.
    pub async fn refund(&self, order: &Value, reference: &str, amount: Option<&str>) -> Response {
        let amount = amount.map_or_else(String::new, |amount| format!(", \"Amount\": {amount}"));
        self.about("POST", order, "/refund", Some(format!("{{\"RefundReference\": \"{reference}\"{amount}}}"))).await
    }
}
