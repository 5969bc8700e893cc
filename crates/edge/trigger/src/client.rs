//! The running service as a merchant's server and a shopper's browser reach it: over HTTP.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use awc::http::header;
use awc::{Client, ClientRequest, Connector};
use rustls::ClientConfig;
use serde_json::Value;
use zeroize::Zeroizing;

/// Longer than the service takes to ask a slow processor.
const TIMEOUT: Duration = Duration::from_secs(40);
/// Largest answer that is read: a page of 200 events.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// Why a call came to nothing, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CallError(String);

/// As which merchant a service is called. No Debug: the password is secret.
pub struct MerchantLogin {
    /// MerchantId.
    pub merchant_id: String,
    /// API user name.
    pub username: String,
    /// API password.
    pub password: Zeroizing<String>,
}

/// A merchant's way to the service, and that of a browser without credentials.
pub struct ServiceClient {
    /// `{base_url}`, without a slash at its end.
    pub base: String,
    /// As which merchant.
    pub merchant_id: String,
    /// As which API user.
    pub username: String,
    merchant: Client,
    anonymous: Client,
}

/// What the service answered.
pub struct ServiceResponse {
    /// The status.
    pub status: u16,
    /// Seconds to wait before asking again, where the service says so.
    pub retry_after: Option<u64>,
    /// Where the answer sends a browser.
    pub location: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// What a request carries.
pub enum RequestBody<'a> {
    /// A value as JSON.
    Json(&'a Value),
    /// JSON that is sent as it is written, so that its numbers stay exact.
    Written(String),
    /// A form.
    Form(&'a [(&'a str, &'a str)]),
    /// One field of a form that could carry files: its name and its text.
    Field(&'a str, &'a str),
}

impl ServiceClient {
    /// A client of the service at `base`, over TLS as `tls` says.
    pub fn new(base: &str, login: &MerchantLogin, tls: Option<Arc<ClientConfig>>) -> Self {
        let MerchantLogin { merchant_id, username, password } = login;
        Self {
            base: base.trim_end_matches('/').to_owned(),
            merchant_id: merchant_id.clone(),
            username: username.clone(),
            merchant: service_http_client(tls.clone(), Some((username, password.as_str()))),
            anonymous: service_http_client(tls, None),
        }
    }

    /// A merchant's call to `path` below {base_url}; any answer.
    ///
    /// # Errors
    /// There was no answer.
    pub async fn try_call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<ServiceResponse, CallError> {
        let url = format!("{}{path}", self.base);
        send(request(&self.merchant, method, &url)?, body.map(RequestBody::Json), &url).await
    }

    /// A merchant's call whose answer has to be a success with JSON.
    ///
    /// # Errors
    /// There was no answer, or another one.
    pub async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, CallError> {
        let reply = self.try_call(method, path, body).await?;
        reply.json(&format!("{method} {}{path}", self.base))
    }

    /// A merchant's form with one field; its answer has to be a success with JSON.
    ///
    /// # Errors
    /// As [`ServiceClient::call`].
    pub async fn post_field(&self, path: &str, name: &str, text: &str) -> Result<Value, CallError> {
        let url = format!("{}{path}", self.base);
        let reply = send(request(&self.merchant, "POST", &url)?, Some(RequestBody::Field(name, text)), &url).await?;
        reply.json(&format!("POST {url}"))
    }

    /// A merchant's search at `path` below {base_url}; any answer.
    ///
    /// # Errors
    /// There was no answer.
    pub async fn search(&self, path: &str, query: &[(&str, &str)]) -> Result<ServiceResponse, CallError> {
        let url = format!("{}{path}", self.base);
        let request = request(&self.merchant, "GET", &url)?.query(&query);
        send(request.map_err(|error| CallError(error.to_string()))?, None, &url).await
    }

    /// A merchant's call to a whole address, with JSON that is sent as it is written; any answer.
    ///
    /// # Errors
    /// There was no answer.
    pub async fn post_to(&self, url: &str, json: String) -> Result<ServiceResponse, CallError> {
        send(request(&self.merchant, "POST", url)?, Some(RequestBody::Written(json)), url).await
    }

    /// What an operator asks the sandbox processor at a whole address, with its key; an answer that has to be a success with JSON.
    ///
    /// # Errors
    /// There was no answer, or another one.
    pub async fn ask_processor(
        &self,
        method: &str,
        url: &str,
        key: &str,
        body: Option<&Value>,
    ) -> Result<Value, CallError> {
        let request = request(&self.anonymous, method, url)?.bearer_auth(key);
        send(request, body.map(RequestBody::Json), url).await?.json(&format!("{method} {url}"))
    }

    /// What a browser does without credentials: any answer, redirects not followed.
    ///
    /// # Errors
    /// There was no answer.
    pub async fn browse(
        &self,
        method: &str,
        url: &str,
        body: Option<RequestBody<'_>>,
    ) -> Result<ServiceResponse, CallError> {
        send(request(&self.anonymous, method, url)?, body, url).await
    }
}

impl ServiceResponse {
    /// The answer as JSON.
    ///
    /// # Errors
    /// It is a refusal, with its words; or no JSON.
    pub fn json(&self, what: &str) -> Result<Value, CallError> {
        let body = serde_json::from_slice::<Value>(&self.body);
        match (self.status, body) {
            (200..=299, Ok(body)) => Ok(body),
            (status, Ok(refusal)) if refusal["Code"].is_string() => Err(refused(what, status, &refusal)),
            (status, _) => {
                Err(CallError(format!("{what} answered {status} and no JSON: is that the address of Dropin?")))
            }
        }
    }

    /// The same; where it is a refusal, with what `advice` says to do about its Error object.
    ///
    /// # Errors
    /// As [`ServiceResponse::json`].
    pub fn json_or(&self, what: &str, advice: impl FnOnce(&Value) -> Option<String>) -> Result<Value, CallError> {
        self.json(what).map_err(|failure| {
            let refusal = serde_json::from_slice(&self.body).unwrap_or_default();
            match advice(&refusal) {
                Some(advice) => CallError(format!("{failure}\n{advice}")),
                None => failure,
            }
        })
    }
}

fn refused(what: &str, status: u16, refusal: &Value) -> CallError {
    let text = |value: &Value| value.as_str().unwrap_or_default().escape_debug().to_string();
    let fields: String = refusal["FieldErrors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|field| format!("; {} {}", text(&field["Field"]), text(&field["Message"])))
        .collect();
    CallError(format!("{what} answered {status} {}: {}{fields}", text(&refusal["Code"]), text(&refusal["Message"])))
}

/// A client that follows no redirect, with a user name and password where there are some.
pub fn service_http_client(tls: Option<Arc<ClientConfig>>, login: Option<(&str, &str)>) -> Client {
    let mut builder = Client::builder().timeout(TIMEOUT).disable_redirects();
    if let Some((username, password)) = login {
        builder = builder.basic_auth(username, Some(password));
    }
    match tls {
        Some(tls) => builder.connector(Connector::new().rustls_0_23(tls)).finish(),
        None => builder.finish(),
    }
}

fn request(client: &Client, method: &str, url: &str) -> Result<ClientRequest, CallError> {
    let method = method.parse().map_err(|_no_method| CallError(format!("{method} is no HTTP method")))?;
    Ok(client.request(method, url).insert_header((header::ACCEPT, "application/json, text/html")))
}

/// Between the parts of a form; no text that is sent here has it.
const BOUNDARY: &str = "dropin-trigger-form";

async fn send(request: ClientRequest, body: Option<RequestBody<'_>>, url: &str) -> Result<ServiceResponse, CallError> {
    let sent = match body {
        Some(RequestBody::Json(body)) => request.send_json(body).await,
        Some(RequestBody::Written(json)) => request.content_type("application/json").send_body(json).await,
        Some(RequestBody::Form(pairs)) => request.send_form(&pairs).await,
        Some(RequestBody::Field(name, text)) => {
            let form = format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n"
            );
            request.content_type(format!("multipart/form-data; boundary={BOUNDARY}")).send_body(form).await
        }
        None => request.send().await,
    };
    let no_answer =
        |error: &dyn Display| CallError(format!("{url} gave no answer ({error}): see that the service runs"));
    let mut answer = sent.map_err(|error| no_answer(&error))?;
    let text = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (retry_after, location) = (text(header::RETRY_AFTER), text(header::LOCATION));
    let body = answer.body().limit(MAX_RESPONSE_BYTES).await.map_err(|error| no_answer(&error))?.to_vec();
    let retry_after = retry_after.and_then(|seconds| seconds.parse().ok());
    Ok(ServiceResponse { status: answer.status().as_u16(), retry_after, location, body })
}
