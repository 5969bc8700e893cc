//! Makes calls and keeps them as examples: with stable ids, times and hosts in the place of those of the run.

use actix_web::http::Method;
use dropin_http::Exchange;
use dropin_tests::{Http, Response};
use serde_json::Value;

/// What stands for every moment.
const MOMENT: &str = "2026-11-21T12:00:00.000000Z";

/// The same in milliseconds since 1970.
const NOON: i64 = 1_795_262_400_000;

/// What stands for every page of a processor.
const PAGE: &str = "https://pages.processor.example/b51f7c";

/// What stands for the name of the merchant's API user.
const USER: &str = "shop-7";

/// What stands for every place to go on reading events.
const CURSOR: &str = "000660c1a2b3c4d50000000000000007";

/// What stands for every end.
const LATER: &str = "2026-11-22T12:00:00.000000Z";

/// One call to make.
pub(crate) struct Call<'a> {
    pub(crate) operation: &'static str,
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, &'a str)>,
    pub(crate) body: Option<Value>,
}

/// Keeps what happened.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) exchanges: Vec<Exchange>,
    http: Http,
    ids: Vec<String>,
    hosts: Vec<(String, &'static str)>,
}

impl Recorder {
    /// Texts that begin with an address of the run are shown with another.
    pub(crate) fn with_hosts(hosts: Vec<(String, &'static str)>) -> Self {
        Self { hosts, ..Self::default() }
    }

    /// Makes the call, which has to be answered with `status`.
    pub(crate) async fn make(&mut self, call: Call<'_>, status: u16) -> Value {
        let bytes = match &call.body {
            None => Vec::new(),
            Some(form) if call.headers.contains(&FORM) => encode(form).into_bytes(),
            Some(form) if call.headers.contains(&FILES) => encode_parts(form).into_bytes(),
            Some(json) => json.to_string().into_bytes(),
        };
        let answer = self.http.send(call.method.clone(), &call.url, &call.headers, bytes).await.unwrap();
        assert_eq!(answer.status, status, "{}, {}: {}", call.operation, call.name, answer.text());
        assert!(answer.header("x-request-id").is_some(), "{}, {}", call.operation, call.name);
        let body = (!answer.bytes.is_empty()).then(|| answer.json());
        self.keep(&call, &answer, body.clone());
        body.unwrap_or_default()
    }

    fn keep(&mut self, call: &Call<'_>, answer: &Response, body: Option<Value>) {
        let exchange = Exchange {
            operation: call.operation.to_owned(),
            name: call.name.to_owned(),
            summary: call.summary.to_owned(),
            request: call.body.clone().map(|body| self.stable("", body)),
            status: answer.status,
            answer: body.map(|body| self.stable("", body)),
        };
        self.exchanges.push(exchange);
    }

    fn stable(&mut self, name: &str, value: Value) -> Value {
        match value {
            Value::Object(members) => {
                members.into_iter().map(|(name, value)| (name.clone(), self.stable(&name, value))).collect()
            }
            Value::Array(entries) => entries.into_iter().map(|entry| self.stable(name, entry)).collect(),
            Value::String(_) if name == "ExpiresAt" => LATER.into(),
            // A checkout's is a moment, a card's a month.
            Value::String(text) if name == "Expiry" && text.contains('T') => LATER.into(),
            Value::String(_) if name == "Redirect" || name == "RedirectUrl" => PAGE.into(),
            Value::String(_) if name == "User" => USER.into(),
            Value::String(_) if name == "Next" => CURSOR.into(),
            Value::String(_) if name == "nonce" => "5f1a20c7".into(),
            Value::String(_) if name == "merchantSessionIdentifier" => "SSH-1A2B3C".into(),
            Value::Number(_) if name == "epochTimestamp" => NOON.into(),
            Value::Number(_) if name == "expiresAt" => (NOON + 300_000).into(),
            Value::String(_) if name.ends_with("At") || name == "ServerTime" => MOMENT.into(),
            Value::String(text) => self.stable_text(&text).into(),
            other => other,
        }
    }

    fn stable_text(&mut self, text: &str) -> String {
        let mut stable = text.to_owned();
        for (host, shown) in &self.hosts {
            stable = stable.replace(host, shown);
        }
        let ids: Vec<String> = (0..stable.len())
            .filter_map(|at| stable.get(at..at + 36))
            .filter(|part| is_id(part))
            .map(str::to_owned)
            .collect();
        for id in ids {
            let at = self.ids.iter().position(|known| *known == id).unwrap_or_else(|| {
                self.ids.push(id.clone());
                self.ids.len() - 1
            });
            stable = stable.replace(&id, &format!("6f1c3b2a-1d2e-4f3a-8b4c-{:012}", at + 1));
        }
        stable
    }
}

/// Marks a call whose body is a form.
pub(crate) const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
/// Marks a call whose body is JSON.
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// Marks a call whose body is a form with files, of whose members all are texts.
pub(crate) const FILES: (&str, &str) = ("content-type", "multipart/form-data; boundary=part");

fn encode_parts(form: &Value) -> String {
    let part = |(name, value): (&String, &Value)| {
        let text = value.as_str().unwrap();
        format!("--part\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    };
    form.as_object().unwrap().iter().map(part).chain(["--part--".to_owned()]).collect()
}

fn encode(form: &Value) -> String {
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in form.as_object().unwrap() {
        text.append_pair(name, value.as_str().unwrap());
    }
    text.finish()
}

fn is_id(text: &str) -> bool {
    text.as_bytes()[8] == b'-' && uuid::Uuid::try_parse(text).is_ok()
}

#[test]
fn ids_times_and_hosts_of_the_run_are_replaced() {
    let (one, two) = (uuid::Uuid::new_v4().to_string(), uuid::Uuid::new_v4().to_string());
    let mut recorder = Recorder::with_hosts(vec![("http://127.0.0.1:7".to_owned(), "https://x.example")]);
    let value = serde_json::json!({"A": one, "B": [two], "C": format!("http://127.0.0.1:7/{one}"), "CreatedAt": "2020-01-01T00:00:00.1Z"});
    let shown = recorder.stable("", value);
    assert_eq!(shown["A"], "6f1c3b2a-1d2e-4f3a-8b4c-000000000001");
    assert_eq!(shown["B"][0], "6f1c3b2a-1d2e-4f3a-8b4c-000000000002");
    assert_eq!(shown["C"], "https://x.example/6f1c3b2a-1d2e-4f3a-8b4c-000000000001");
    assert_eq!(shown["CreatedAt"], MOMENT);
}
