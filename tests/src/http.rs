use std::time::Duration;

use actix_web::http::{Method, header::HeaderMap};
use serde_json::Value;

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Exact bytes.
    pub bytes: Vec<u8>,
}

impl Response {
    /// The body as JSON; null when there is none. Amounts are compared as text ([`Response::text`]), since this goes through binary floats.
    pub fn json(&self) -> Value {
        if self.bytes.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Error.Code.
    pub fn code(&self) -> String {
        self.json()["Code"].as_str().unwrap_or_default().to_owned()
    }

    /// One header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// A client for everything but the browser.
#[derive(Clone)]
pub struct Http(awc::Client);

impl Default for Http {
    fn default() -> Self {
        Self(awc::Client::builder().timeout(Duration::from_secs(40)).disable_redirects().finish())
    }
}

impl Http {
    /// One request; an error when no whole answer came.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Response, String> {
        let mut request = self.0.request(method, url);
        for (name, value) in headers {
            request = request.append_header((*name, *value));
        }
        let mut response = request.send_body(body).await.map_err(|error| format!("{url}: {error}"))?;
        let bytes = response.body().limit(16 << 20).await.map_err(|error| format!("{url}: {error}"))?;
        Ok(Response { status: response.status().as_u16(), headers: response.headers().clone(), bytes: bytes.to_vec() })
    }

    /// GET without credentials.
    pub async fn get(&self, url: &str) -> Response {
        self.send(Method::GET, url, &[], Vec::new()).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// POST of a form, as a browser sends it, without credentials.
    pub async fn post_form(&self, url: &str, pairs: &[(&str, &str)]) -> Response {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.send(Method::POST, url, &headers, body.into_bytes()).await.unwrap_or_else(|error| panic!("{error}"))
    }
}
