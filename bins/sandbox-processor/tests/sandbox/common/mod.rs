//! A processor on a port and a file of its own, and the questions that the tests ask it over HTTP.

mod audit;
mod response;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_web::dev::ServerHandle;
use actix_web::http::Method;
use actix_web::{App, HttpServer, web};
use awc::error::SendRequestError;
use sandbox_processor::{Config, Hosting, SandboxProcessor, Waits};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

pub(crate) use audit::{audit, open};
pub(crate) use response::Response;

pub(crate) const KEY: &str = "test-bearer-key";
pub(crate) const PLAIN: &str = "4242424242424242";
pub(crate) const CHALLENGED: &str = "4000000000003220";
pub(crate) const RETURN_URL: &str = "https://shop.example/back?order=1&x=2";
pub(crate) const MERCHANT: &str = "merchant-1";
pub(crate) const CARDHOLDER: &str = "Zacharias Quill";

/// A caller of a processor at `base`.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) base: String,
    client: awc::Client,
}

impl Caller {
    pub(crate) fn new(address: SocketAddr, prefix: &str) -> Self {
        let connector = awc::Connector::new().limit(0);
        let client =
            awc::Client::builder().connector(connector).disable_redirects().timeout(Duration::from_secs(30)).finish();
        Self { base: format!("http://{address}{prefix}"), client }
    }

    /// Any call; the error is a connection that ended without an answer.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Response, SendRequestError> {
        let address = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.base) };
        let mut request = self.client.request(method, address);
        for (name, value) in headers {
            request = request.insert_header((*name, *value));
        }
        let mut answer = request.send_body(body).await?;
        let bytes = answer.body().limit(4 << 20).await.map_err(|_cut| SendRequestError::Timeout)?;
        let header = |name: &str| {
            let value = answer.headers().get(name).map(|value| value.to_str().expect("ASCII"));
            value.unwrap_or_default().to_owned()
        };
        let (location, policy) = (header("location"), header("content-security-policy"));
        let text = String::from_utf8(bytes.to_vec()).expect("answers are UTF-8");
        Ok(Response {
            status: answer.status().as_u16(),
            replayed: answer.headers().contains_key("idempotent-replayed"),
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
            location,
            policy,
            text,
        })
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        let bearer = format!("Bearer {KEY}");
        self.send(Method::GET, path, &[("Authorization", &bearer)], String::new()).await.expect("an answer")
    }

    pub(crate) async fn try_post(&self, path: &str, key: &str, body: &str) -> Result<Response, SendRequestError> {
        let bearer = format!("Bearer {KEY}");
        let headers =
            [("Authorization", bearer.as_str()), ("Idempotency-Key", key), ("Content-Type", "application/json")];
        self.send(Method::POST, path, &headers, body.to_owned()).await
    }

    pub(crate) async fn post(&self, path: &str, key: &str, body: impl ToString) -> Response {
        self.try_post(path, key, &body.to_string()).await.expect("an answer")
    }

    pub(crate) async fn authorize(&self, key: &str, number: &str) -> Response {
        self.post("/v1/authorizations", key, authorization(number)).await
    }

    /// Asks for 29.90 USD by a method of `terms`, and gives the pending authorization with its key.
    pub(crate) async fn pending(&self, terms: Value) -> (String, Response) {
        let key = fresh_key();
        let answer = self.post("/v1/authorizations", &key, asking(terms)).await;
        assert_eq!((answer.status, answer.outcome()), (200, "PENDING"), "{answer:?}");
        (key, answer)
    }

    /// Opens a page, without the bearer key.
    pub(crate) async fn open(&self, page: &str) -> Response {
        self.send(Method::GET, page, &[], String::new()).await.expect("a page")
    }

    /// Sends a page's form as a browser does.
    pub(crate) async fn send_form(&self, page: &str, form: &str, choice: &str, amount: Option<&str>) -> Response {
        self.try_form(page, form, choice, amount).await.expect("an answer")
    }

    pub(crate) async fn try_form(
        &self,
        page: &str,
        form: &str,
        choice: &str,
        amount: Option<&str>,
    ) -> Result<Response, SendRequestError> {
        let amount = amount.map(|amount| format!("&amount={amount}")).unwrap_or_default();
        let body = format!("form={form}&choice={choice}{amount}");
        self.send(Method::POST, page, &[("Content-Type", "application/x-www-form-urlencoded")], body).await
    }

    /// Opens a page and presses one of its buttons.
    pub(crate) async fn press(&self, page: &str, choice: &str) -> Response {
        let form = self.open(page).await.form();
        self.send_form(page, &form, choice, None).await
    }

    /// Asks for 29.90 USD by what is stored under `reference`.
    pub(crate) async fn charge(
        &self,
        key: &str,
        reference: &str,
        credential_use: &str,
        linked: Option<&str>,
    ) -> Response {
        self.post("/v1/authorizations", key, charging(reference, credential_use, linked)).await
    }

    /// Stores a card of this number without charging it, on its page where it has one, and gives the answer that tells the credential.
    pub(crate) async fn store_card(&self, number: &str, kind: &str) -> Response {
        let key = fresh_key();
        let asked = self.post("/v1/authorizations", &key, storing(number, kind, "0")).await;
        if asked.outcome() == "PENDING" {
            self.press(&asked.page(), "succeed").await;
        }
        let stored = self.operation(&key).await;
        assert_eq!(stored.outcome(), "APPROVED", "{stored:?}");
        stored
    }

    /// Deletes a credential of [`MERCHANT`].
    pub(crate) async fn delete_credential(&self, reference: &str) -> Response {
        let body = json!({"Merchant": MERCHANT, "Reference": reference});
        self.post("/v1/credentials/delete", &fresh_key(), body).await
    }

    /// The openings of a merchant's credentials.
    pub(crate) async fn credentials(&self, merchant: &str) -> Vec<Value> {
        let page = self.get(&format!("/v1/credentials?merchant={merchant}")).await;
        page.body["Credentials"].as_array().unwrap_or_else(|| panic!("{page:?}")).clone()
    }

    pub(crate) async fn review(&self, key: &str, decision: &str) -> Response {
        let bearer = format!("Bearer {KEY}");
        let body = json!({"Decision": decision}).to_string();
        self.send(Method::PUT, &format!("/v1/operations/{key}/review"), &[("Authorization", &bearer)], body)
            .await
            .expect("an answer")
    }

    /// Sends an authorization on a connection of its own and leaves the answer to whoever holds it.
    pub(crate) async fn begin_authorization(&self, key: &str) -> TcpStream {
        let (host, prefix) = self.base["http://".len()..].split_once('/').expect("a prefix");
        let body = authorization(PLAIN);
        let request = format!(
            "POST /{prefix}/v1/authorizations HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {KEY}\r\n\
             Idempotency-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut connection = TcpStream::connect(host).await.expect("a connection");
        connection.write_all(request.as_bytes()).await.expect("a request");
        connection
    }

    /// Authorizes 29.90 USD with a card that is approved, and gives its key.
    pub(crate) async fn authorized(&self, number: &str) -> String {
        let key = fresh_key();
        let answer = self.authorize(&key, number).await;
        assert_eq!(answer.outcome(), "APPROVED", "{answer:?}");
        key
    }

    pub(crate) async fn capture(&self, key: &str, authorization: &str, amount: &str) -> Response {
        self.post("/v1/captures", key, money(authorization, amount, "USD")).await
    }

    pub(crate) async fn void(&self, key: &str, authorization: &str) -> Response {
        self.post("/v1/voids", key, json!({"AuthorizationKey": authorization})).await
    }

    pub(crate) async fn refund(&self, key: &str, authorization: &str, amount: &str) -> Response {
        self.post("/v1/refunds", key, money(authorization, amount, "USD")).await
    }

    pub(crate) async fn operation(&self, key: &str) -> Response {
        self.get(&format!("/v1/operations/{key}")).await
    }

    pub(crate) async fn abandon(&self, key: &str) -> Response {
        self.post(&format!("/v1/operations/{key}/abandon"), key, "").await
    }

    pub(crate) async fn faults(&self, switch: Value) -> Response {
        let bearer = format!("Bearer {KEY}");
        self.send(Method::PUT, "/v1/faults", &[("Authorization", &bearer)], switch.to_string())
            .await
            .expect("an answer")
    }

    /// Every journal entry, page by page.
    pub(crate) async fn journal(&self) -> Vec<Value> {
        let mut entries: Vec<Value> = Vec::new();
        loop {
            let after = entries.last().map_or(0, |entry| entry["Number"].as_i64().expect("a number"));
            let page = self.get(&format!("/v1/journal?after={after}&limit=1000")).await;
            let page = page.body["Entries"].as_array().cloned().expect("entries");
            if page.is_empty() {
                return entries;
            }
            entries.extend(page);
        }
    }

    /// The journal's outcomes for one key, oldest first.
    pub(crate) async fn journaled(&self, key: &str) -> Vec<String> {
        let of_key =
            |entry: &Value| (entry["Key"] == key).then(|| entry["Outcome"].as_str().map(str::to_owned)).flatten();
        self.journal().await.iter().filter_map(of_key).collect()
    }
}

/// A processor that runs inside the test, mounted under `/sandbox` as the all-in-one does.
pub(crate) struct RunningProcessor {
    pub(crate) caller: Caller,
    pub(crate) database: PathBuf,
    pub(crate) folder: TempDir,
    server: ServerHandle,
}

impl RunningProcessor {
    pub(crate) async fn start() -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), Duration::from_millis(50), Duration::from_millis(50))
            .await
    }

    pub(crate) async fn start_in(folder: TempDir, capture_delay: Duration, silence: Duration) -> Self {
        Self::start_with(folder, capture_delay, silence, Hosting::default()).await
    }

    /// With pages that wait as `waits` says.
    pub(crate) async fn start_waiting(waits: Waits) -> Self {
        let hosting = Hosting { waits, ..Hosting::default() };
        Self::start_with(tempfile::tempdir().expect("a folder"), Duration::ZERO, Duration::from_millis(50), hosting)
            .await
    }

    pub(crate) async fn start_with(
        folder: TempDir,
        capture_delay: Duration,
        silence: Duration,
        hosting: Hosting,
    ) -> Self {
        let database = folder.path().join("books").join("processor.db");
        let config = Config { database: database.clone(), key: KEY.to_owned(), capture_delay, silence };
        let processor = SandboxProcessor::open_with(config, hosting).expect("a store");
        let server =
            HttpServer::new(move || App::new().service(web::scope("/sandbox").configure(processor.configure())))
                .workers(2)
                .disable_signals()
                .bind(("127.0.0.1", 0))
                .expect("a port");
        let caller = Caller::new(server.addrs()[0], "/sandbox");
        let server = server.run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Self { caller, database, folder, server: handle }
    }

    /// Stops the server, checks the books, and gives the folder back.
    pub(crate) async fn stop(self) -> TempDir {
        self.server.stop(true).await;
        audit(&self.database);
        self.folder
    }
}

/// A key that no other call of this test run uses.
pub(crate) fn fresh_key() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("00000000-0000-4000-8000-{:012x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// 29.90 USD on a card with this number.
pub(crate) fn authorization(number: &str) -> String {
    let code = if number.len() == 15 { "1234" } else { "123" };
    let card = json!({"Number": number, "VerificationCode": code, "ExpiryYear": "2099", "ExpiryMonth": "12", "Name": CARDHOLDER});
    format!(r#"{{"Amount":29.90,"Currency":"USD","OrderId":"order-1","Card":{card}}}"#)
}

/// The same, of `amount`, storing the card for a merchant; the shopper can be sent to a page.
pub(crate) fn storing(number: &str, kind: &str, amount: &str) -> String {
    let mut body: Value = serde_json::from_str(&authorization(number)).expect("JSON");
    body["Store"] = json!(kind);
    body["Merchant"] = json!(MERCHANT);
    body["ReturnUrl"] = json!(RETURN_URL);
    body["Amount"] = serde_json::from_str(amount).expect("a number");
    body.to_string()
}

/// 29.90 USD by a stored credential; the shopper, where there is one, can be sent to a page.
pub(crate) fn charging(reference: &str, credential_use: &str, linked: Option<&str>) -> String {
    let credential = json!({"Reference": reference, "Use": credential_use, "NetworkTransactionId": linked});
    let by_merchant = ["RECURRING", "UNSCHEDULED"].contains(&credential_use);
    let back = if by_merchant { Value::Null } else { json!(RETURN_URL) };
    format!(
        r#"{{"Amount":29.90,"Currency":"USD","OrderId":"order-2","Merchant":"{MERCHANT}","ReturnUrl":{back},"Credential":{credential}}}"#
    )
}

/// 29.90 USD with these members added; a `null` takes one away.
pub(crate) fn asking(terms: Value) -> String {
    let card = terms["Method"].as_str().unwrap_or("CARD") == "CARD";
    let mut body: Value = serde_json::from_str(&authorization(CHALLENGED)).expect("JSON");
    if !card {
        body["Card"] = Value::Null;
    }
    body["ReturnUrl"] = json!(RETURN_URL);
    for (name, value) in terms.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body.to_string()
}

/// The body of a capture or a refund.
pub(crate) fn money(authorization: &str, amount: &str, currency: &str) -> String {
    format!(r#"{{"AuthorizationKey":"{authorization}","Amount":{amount},"Currency":"{currency}"}}"#)
}

/// Asks again until `check` gives something; panics after ten seconds.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut check: impl FnMut() -> F) -> T {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
