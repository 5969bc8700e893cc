use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::http::{Answer, Http};

/// A merchant's server: speaks to the Session and Order APIs with its credentials.
#[derive(Clone)]
pub struct Merchant {
    http: Http,
    base: String,
    username: String,
    password: Option<String>,
    /// Its public id.
    pub id: String,
    /// Every Session that it was told of, by whichever call.
    sessions: Arc<Mutex<BTreeSet<String>>>,
}

impl Merchant {
    pub(super) fn new(http: Http, base: &str, created: &Value) -> Self {
        let text = |name: &str| created[name].as_str().unwrap_or_else(|| panic!("{name} in {created}")).to_owned();
        let (username, password) = (text("Username"), Some(text("Password")));
        Self { http, base: base.to_owned(), username, password, id: text("MerchantId"), sessions: Arc::default() }
    }

    /// The same merchant with another password, or without credentials.
    pub fn with_password(&self, password: Option<&str>) -> Self {
        Self { password: password.map(str::to_owned), ..self.clone() }
    }

    /// The password, for searching what must not hold it.
    pub fn password(&self) -> String {
        self.password.clone().unwrap_or_default()
    }

    /// The Authorization header.
    pub fn authorization(&self) -> String {
        use base64::Engine as _;
        let pair = format!("{}:{}", self.username, self.password.as_deref().unwrap_or_default());
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
    }

    /// Any call; JSON when there is a body.
    pub async fn call(&self, method: &str, path: &str, body: Option<Vec<u8>>) -> Answer {
        self.try_call(method, path, body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Any call; an error when no answer came.
    pub async fn try_call(&self, method: &str, path: &str, body: Option<Vec<u8>>) -> Result<Answer, String> {
        self.try_call_with(method, path, &[], body).await
    }

    /// Any call with an Idempotency-Key.
    pub async fn keyed(&self, method: &str, path: &str, key: &str, body: Option<Vec<u8>>) -> Answer {
        self.try_keyed(method, path, key, body).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Any call with an Idempotency-Key; an error when no answer came.
    pub async fn try_keyed(
        &self,
        method: &str,
        path: &str,
        key: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Answer, String> {
        self.try_call_with(method, path, &[("idempotency-key", key)], body).await
    }

    /// Any call with these headers besides; an error when no answer came.
    pub async fn try_call_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Answer, String> {
        let authorization = self.authorization();
        let mut headers = headers.to_vec();
        if self.password.is_some() {
            headers.push(("authorization", authorization.as_str()));
        }
        if body.is_some() {
            headers.push(("content-type", "application/json"));
        }
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let answer =
            self.http.send(method, &format!("{}{path}", self.base), &headers, body.unwrap_or_default()).await?;
        if let Some(created) = Some(&answer).filter(|answer| answer.status == 201 && path == "/v1/session") {
            let id = created.json()["SessionId"].as_str().expect("an id").to_owned();
            self.sessions.lock().expect("no panic under this lock").insert(id);
        }
        Ok(answer)
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

    /// POST /v1/session with these bytes.
    pub async fn post_session(&self, body: Vec<u8>) -> Answer {
        self.call("POST", "/v1/session", Some(body)).await
    }

    /// Creates a Session; its id.
    pub async fn create_session(&self, change: Value) -> String {
        let answer = self.post_session(self.session_request(change).to_string().into_bytes()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["SessionId"].as_str().expect("an id").to_owned()
    }

    /// PUT of a whole request with these members changed.
    pub async fn replace(&self, session: &str, change: Value) -> Answer {
        let body = self.session_request(change).to_string().into_bytes();
        self.call("PUT", &format!("/v1/session/{session}"), Some(body)).await
    }

    /// DELETE.
    pub async fn cancel(&self, session: &str) -> Answer {
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

    /// Captures all, or this amount as written.
    pub async fn capture(&self, order: &Value, amount: Option<&str>) -> Answer {
        let id = order["OrderId"].as_str().expect("an id");
        let body = amount.map(|amount| format!("{{\"Amount\": {amount}}}").into_bytes());
        self.call("POST", &format!("/v1/order/{id}/capture"), body).await
    }
}
