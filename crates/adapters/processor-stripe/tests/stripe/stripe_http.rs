//! What every server does that speaks Stripe's API, whoever keeps the books behind it: keys and their accounts, the version, idempotency keys, answers.

use std::collections::{BTreeMap, HashMap};

use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use dropin_processor_stripe::API_VERSION;
use serde_json::{Value, json};
use url::form_urlencoded;

/// How the keys begin of accounts beside that of the deployment: `sk_test_own_ana_1` is a key of `acct_ana`.
const OWN_KEY: &str = "Bearer sk_test_own_";

pub(super) type Fields = BTreeMap<String, String>;
pub(super) type Answer = (u16, Value);

pub(super) fn reply((status, body): Answer) -> HttpResponse {
    HttpResponse::build(StatusCode::from_u16(status).unwrap()).json(body)
}

pub(super) fn refusal(status: u16, kind: &str, code: Option<&str>) -> Answer {
    (status, json!({"error": {"type": kind, "code": code, "message": "what was sent is repeated here"}}))
}

pub(super) fn invalid(code: Option<&str>) -> Answer {
    refusal(400, "invalid_request_error", code)
}

pub(super) fn missing() -> Answer {
    refusal(404, "invalid_request_error", Some("resource_missing"))
}

/// A call, read.
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) host: String,
    pub(super) fields: Fields,
    /// Of the key: another account sees nothing of it.
    account: String,
    /// The path with the idempotency key.
    key: Option<(String, String)>,
}

impl Asked {
    /// Reads a call, whose key is `own` or one of another account.
    pub(super) fn read(request: &HttpRequest, body: &[u8], own: &str) -> Result<Self, Answer> {
        let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let (method, path) = (request.method().clone(), request.path().to_owned());
        let authorization = header("authorization").unwrap_or_default();
        let account = match authorization.strip_prefix(OWN_KEY).and_then(|rest| rest.split_once('_')) {
            Some((name, number)) if number != "revoked" => format!("acct_{name}"),
            None if authorization == format!("Bearer {own}") => "acct_platform".to_owned(),
            _ => return Err(refusal(401, "invalid_request_error", None)),
        };
        if header("stripe-version").as_deref() != Some(API_VERSION) {
            return Err(invalid(Some("version")));
        }
        let text = if method == Method::GET { request.query_string().as_bytes() } else { body };
        let fields = match path.as_str() {
            "/v1/files" => [("body".to_owned(), String::from_utf8_lossy(body).into_owned())].into(),
            _ => form_urlencoded::parse(text).into_owned().collect(),
        };
        let key = header("idempotency-key").map(|key| (path.clone(), key));
        Ok(Self { method, path, host: header("host").unwrap(), fields, account, key })
    }

    pub(super) fn parts(&self) -> Vec<&str> {
        self.path.trim_start_matches("/v1/").split('/').collect()
    }
}

/// What was answered under each key, and whose each object is.
#[derive(Default)]
pub(super) struct Remembered {
    answers: HashMap<(String, String), (Fields, Answer)>,
    pub(super) accounts: HashMap<String, String>,
}

impl Remembered {
    pub(super) fn is_seen(&self, asked: &Asked, id: &str) -> bool {
        self.accounts.get(id).is_none_or(|account| *account == asked.account)
    }

    /// The answer to what needs no books.
    pub(super) fn known(&self, asked: &Asked) -> Option<Answer> {
        let parts = asked.parts();
        if (asked.method.as_str(), &parts[..]) == ("GET", &["account"]) {
            return Some((200, json!({"id": asked.account, "object": "account"})));
        }
        let named = parts.iter().copied().chain(asked.fields.values().map(String::as_str));
        if named.into_iter().any(|id| !self.is_seen(asked, id)) {
            return Some(missing());
        }
        let (before, answer) = self.answers.get(asked.key.as_ref()?)?;
        Some(if *before == asked.fields { answer.clone() } else { refusal(400, "idempotency_error", None) })
    }

    /// Remembers an answer; what of it the account may see.
    pub(super) fn remember(&mut self, asked: Asked, mut answer: Answer) -> Answer {
        if let (&Method::POST, Some(id)) = (&asked.method, answer.1["id"].as_str()) {
            self.accounts.entry(id.to_owned()).or_insert_with(|| asked.account.clone());
        }
        if let Some(listed) = answer.1["data"].as_array_mut() {
            listed.retain(|one| one["id"].as_str().is_none_or(|id| self.is_seen(&asked, id)));
        }
        if let Some(key) = asked.key {
            self.answers.insert(key, (asked.fields, answer.clone()));
        }
        answer
    }
}
