//! localstripe, a stateful stand-in for Stripe that others wrote (PyPI), behind a proxy of ours that adds what Stripe's reference documents and localstripe
//! lacks: idempotency keys, parameters of confirm, capture and cancel, pages to come back from, the limit of refunds, spans of lists. It has no methods
//! without a card, no disputes, and no reasons of a decline.

#[allow(clippy::duplicate_mod, reason = "the end-to-end tests take this file and its neighbour each by its path")]
#[path = "stripe_http.rs"]
mod stripe_http;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::web::{self, Bytes, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, rt};
use serde_json::{Value, json};
use stripe_http::{Answer, Asked, Fields, Remembered, invalid, missing, reply};
use tokio::sync::Mutex;

const PROGRAM: &str = include_str!("serve_localstripe.py");
/// localstripe takes every key of this form.
pub(crate) const KEY: &str = "sk_test_of_localstripe";
const INTENTS: &str = "payment_intents";
const SETUPS: &str = "setup_intents";
/// More than any test makes.
const ALL: &str = "10000";

/// The proxy, and what it remembers beside localstripe.
struct Proxy {
    localstripe: SocketAddr,
    authorization: String,
    intents: HashMap<String, Kept>,
    detached: HashSet<String>,
    remembered: Remembered,
}

/// What localstripe does not keep of an intent.
#[derive(Default)]
struct Kept {
    saves: bool,
    authenticated: bool,
    received: i64,
    error: Option<Value>,
    cancellation_reason: Option<String>,
    return_url: Option<String>,
}

/// Starts a proxy on a free port, in front of the one localstripe of this process.
pub(crate) async fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let proxy = Proxy {
        localstripe: running(),
        authorization: String::new(),
        intents: HashMap::new(),
        detached: HashSet::new(),
        remembered: Remembered::default(),
    };
    let proxy = Data::new(Mutex::new(proxy));
    let app = move || App::new().app_data(proxy.clone()).default_service(web::to(answer));
    rt::spawn(HttpServer::new(app).workers(1).disable_signals().listen(listener).unwrap().run());
    address
}

/// Where localstripe serves. It ends with this process, which holds its standard input.
fn running() -> SocketAddr {
    static RUNNING: OnceLock<(SocketAddr, Child)> = OnceLock::new();
    let (address, _child) = RUNNING.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let python = target.join("localstripe/venv/bin/python");
        let mut child = Command::new(&python)
            .args(["-I", "-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("{}: {error}: `cargo xtask test --only install` installs localstripe", python.display())
            });
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        (SocketAddr::from(([127, 0, 0, 1], port.trim().parse().unwrap())), child)
    });
    *address
}

async fn answer(request: HttpRequest, body: Bytes, proxy: Data<Mutex<Proxy>>) -> HttpResponse {
    let mut proxy = proxy.lock().await;
    if let Some((id, choice)) = request.path().strip_prefix("/page/").and_then(|rest| rest.split_once('/')) {
        proxy.press(id, choice == "pay").await;
        let back = proxy.intents[id].return_url.clone().unwrap();
        return HttpResponse::SeeOther().insert_header(("Location", back)).finish();
    }
    let asked = match Asked::read(&request, &body, KEY) {
        Ok(asked) => asked,
        Err(refused) => return reply(refused),
    };
    if let Some(answer) = proxy.remembered.known(&asked) {
        return reply(answer);
    }
    let authorization = request.headers().get("authorization").map_or("", |value| value.to_str().unwrap());
    proxy.authorization = authorization.to_owned();
    let answer = proxy.act(&asked.method, &asked.parts(), &asked.fields, &asked.host).await;
    reply(proxy.remembered.remember(asked, answer))
}

/// The fields that localstripe knows too.
fn only(fields: &Fields, is_known: impl Fn(&str) -> bool) -> Vec<(&str, &str)> {
    let all = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    all.filter(|(name, _)| is_known(name)).collect()
}

impl Proxy {
    /// Asks localstripe.
    async fn ask(&self, method: &Method, path: &str, fields: &[(&str, &str)]) -> Answer {
        let url = format!("http://{}/v1/{path}", self.localstripe);
        // It searches all that it has for each page of a list: of hundreds of payments that takes more than the usual five seconds.
        let client = awc::Client::builder().timeout(Duration::from_secs(60)).finish();
        let request = client.request(method.clone(), url);
        let request = request.insert_header(("Authorization", self.authorization.as_str()));
        let mut reply = match *method {
            Method::GET => request.query(&fields).unwrap().send().await,
            _ => request.send_form(&fields).await,
        }
        .unwrap();
        let body = reply.body().await.unwrap();
        (reply.status().as_u16(), serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask(&Method::POST, path, fields).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask(&Method::GET, path, &[]).await
    }

    async fn act(&mut self, method: &Method, parts: &[&str], fields: &Fields, host: &str) -> Answer {
        match (method.as_str(), parts) {
            ("POST", [kind @ (INTENTS | SETUPS)]) => self.create(kind, fields, host).await,
            ("GET", [kind @ (INTENTS | "refunds")]) if !fields.contains_key("payment_intent") => {
                self.list(kind, fields, host).await
            }
            ("GET", [kind @ (INTENTS | SETUPS), id]) => self.show(kind, id, host).await,
            ("POST", [kind @ (INTENTS | SETUPS), id, "confirm"]) => self.confirm((kind, id), fields, host).await,
            ("POST", [kind @ (INTENTS | SETUPS), id, "cancel"]) => self.cancel((kind, id), fields, host).await,
            ("POST", [INTENTS, id, "capture"]) => self.capture(id, fields, host).await,
            ("POST", ["refunds"]) => self.refund(fields).await,
            ("POST", ["payment_methods", id, "detach"]) => {
                self.detached.insert((*id).to_owned());
                self.post(&parts.join("/"), &[]).await
            }
            ("GET", ["balance" | "refunds"] | ["payment_methods", _]) | ("POST", ["customers" | "payment_methods"]) => {
                self.ask(method, &parts.join("/"), &only(fields, |_| true)).await
            }
            _ => missing(),
        }
    }

    async fn create(&mut self, kind: &str, fields: &Fields, host: &str) -> Answer {
        let known = only(fields, |name| name != "setup_future_usage" && !name.starts_with("payment_method_options"));
        let (status, created) = self.post(kind, &known).await;
        let Some(id) = created["id"].as_str() else { return (status, created) };
        let saves = kind == SETUPS || fields.contains_key("setup_future_usage");
        self.intents.insert(id.to_owned(), Kept { saves, ..Kept::default() });
        self.show(kind, id, host).await
    }

    /// An intent as Stripe shows it.
    async fn show(&self, kind: &str, id: &str, host: &str) -> Answer {
        let (status, mut intent) = self.get(&format!("{kind}/{id}")).await;
        let Some(kept) = self.intents.get(id).filter(|_| status == 200) else { return (status, intent) };
        intent["cancellation_reason"] = json!(kept.cancellation_reason);
        if intent["status"] == "requires_action" && kept.return_url.is_some() {
            let page = json!({"url": format!("http://{host}/page/{id}"), "return_url": kept.return_url});
            intent["next_action"] = json!({"type": "redirect_to_url", "redirect_to_url": page});
        }
        let method = match intent["payment_method"].as_str() {
            Some(method) => self.get(&format!("payment_methods/{method}")).await.1,
            None => Value::Null,
        };
        let mut card = method["card"].clone();
        if card.is_object() {
            card["checks"] = json!({"cvc_check": "pass"});
            card["three_d_secure"] = json!(kept.authenticated.then(|| json!({"result": "authenticated"})));
        }
        if kind == SETUPS {
            let shown = card.is_object().then(|| json!({"id": method["id"], "card": card}));
            intent["payment_method"] = json!(shown);
            intent["last_setup_error"] = json!(kept.error);
            return (200, intent);
        }
        intent["amount_received"] = json!(kept.received);
        if intent["latest_charge"].is_object() {
            intent["latest_charge"]["payment_method_details"] = json!({"card": card});
        }
        if intent["last_payment_error"].is_object() {
            intent["last_payment_error"]["type"] = json!("card_error");
            if let Some(error) = &kept.error {
                intent["last_payment_error"] = error.clone();
            }
        }
        (200, intent)
    }

    /// A page of what came through this proxy and was created in the span that is asked for, the newest first.
    async fn list(&self, kind: &str, fields: &Fields, host: &str) -> Answer {
        let (status, all) = self.ask(&Method::GET, kind, &[("limit", ALL)]).await;
        let Some(all) = all["data"].as_array().filter(|_| status == 200) else { return (status, all) };
        let bound = |name: &str| fields.get(name).map(|seconds| seconds.parse::<i64>().unwrap());
        let (from, until) = (bound("created[gte]").unwrap_or(i64::MIN), bound("created[lt]").unwrap_or(i64::MAX));
        let (name, is_list_of_intents) = (if kind == INTENTS { "id" } else { "payment_intent" }, kind == INTENTS);
        let of = |entry: &Value| entry[name].as_str().map(str::to_owned).filter(|id| self.intents.contains_key(id));
        let is_meant = |entry: &&Value| (from..until).contains(&entry["created"].as_i64().unwrap());
        let mut meant: Vec<_> = all.iter().filter(is_meant).filter_map(|entry| Some((of(entry)?, entry))).collect();
        meant.sort_by_key(|(_, entry)| (-entry["created"].as_i64().unwrap(), entry["id"].to_string()));
        let after = fields.get("starting_after").map(String::as_str);
        let begin = after.map_or(0, |id| meant.iter().position(|(_, entry)| entry["id"] == id).unwrap() + 1);
        let limit: usize = fields["limit"].parse().unwrap();
        let mut shown = Vec::new();
        for (intent, entry) in meant[begin..].iter().take(limit) {
            let intent = self.show(INTENTS, intent, host).await.1;
            let mut entry = (*entry).clone();
            match is_list_of_intents {
                true => entry = intent,
                false if fields.contains_key("expand[0]") => entry["payment_intent"] = intent,
                false => {}
            }
            shown.push(entry);
        }
        (200, json!({"data": shown, "has_more": limit < meant.len() - begin}))
    }

    async fn confirm(&mut self, (kind, id): (&str, &str), fields: &Fields, host: &str) -> Answer {
        let (status, intent) = self.show(kind, id, host).await;
        if status != 200 {
            return (status, intent);
        }
        if intent["status"] != "requires_payment_method" {
            return invalid(Some("payment_intent_unexpected_state"));
        }
        let method = fields.get("payment_method").filter(|method| !self.detached.contains(*method));
        let Some(method) = method else { return invalid(Some("payment_method_unexpected_state")) };
        let (path, means) = (format!("{kind}/{id}"), [("payment_method", method.as_str())]);
        let (status, confirmed) = if kind == SETUPS {
            self.post(&format!("{path}/confirm"), &means).await
        } else {
            let (status, changed) = self.post(&path, &means).await;
            if status != 200 {
                return (status, changed);
            }
            self.post(&format!("{path}/confirm"), &[]).await
        };
        match status {
            200 => {}
            402 => return self.decline((kind, id), confirmed["error"]["code"].as_str().unwrap(), host).await,
            _ => return (status, confirmed),
        }
        let asks = confirmed["status"] == "requires_action";
        let nobody_is_there = ["off_session", "error_on_requires_action"].iter().any(|name| fields.contains_key(*name));
        if asks && nobody_is_there {
            self.authenticate(id, false).await;
            return self.decline((kind, id), "authentication_required", host).await;
        }
        self.intents.get_mut(id).unwrap().return_url = fields.get("return_url").cloned();
        if !asks {
            self.store_method(kind, id).await;
        }
        self.show(kind, id, host).await
    }

    async fn decline(&mut self, (kind, id): (&str, &str), code: &str, host: &str) -> Answer {
        let mut error = json!({"type": "card_error", "code": code, "message": "declined"});
        self.intents.get_mut(id).unwrap().error = Some(error.clone());
        error[kind.trim_end_matches('s')] = self.show(kind, id, host).await.1;
        (402, json!({"error": error}))
    }

    /// Attaches the method to the customer, where the intent says so.
    async fn store_method(&self, kind: &str, id: &str) {
        let intent = self.get(&format!("{kind}/{id}")).await.1;
        let (customer, method) = (intent["customer"].as_str(), intent["payment_method"].as_str());
        if let (true, Some(customer), Some(method)) = (self.intents[id].saves, customer, method) {
            let attached = self.post(&format!("payment_methods/{method}/attach"), &[("customer", customer)]).await;
            assert_eq!(attached.0, 200, "{}", attached.1);
        }
    }

    async fn authenticate(&self, id: &str, succeeds: bool) -> u16 {
        let secret = self.get(&format!("{INTENTS}/{id}")).await.1["client_secret"].clone();
        let success = if succeeds { "true" } else { "false" };
        let fields = [("client_secret", secret.as_str().unwrap()), ("success", success)];
        self.post(&format!("{INTENTS}/{id}/_authenticate"), &fields).await.0
    }

    /// What the shopper does on the page; nothing comes of one that is closed.
    async fn press(&mut self, id: &str, pays: bool) {
        let kind = if id.starts_with("seti_") { SETUPS } else { INTENTS };
        if self.get(&format!("{kind}/{id}")).await.1["status"] != "requires_action" {
            return;
        }
        let status = match (kind, pays) {
            (SETUPS, true) => self.post(&format!("{kind}/{id}/confirm"), &[]).await.0,
            (SETUPS, false) => self.post(&format!("{kind}/{id}/cancel"), &[]).await.0,
            _ => self.authenticate(id, pays).await,
        };
        if pays && status == 200 {
            self.intents.get_mut(id).unwrap().authenticated = true;
            self.store_method(kind, id).await;
        }
    }

    async fn cancel(&mut self, (kind, id): (&str, &str), fields: &Fields, host: &str) -> Answer {
        let (status, intent) = self.show(kind, id, host).await;
        if status == 200 && matches!(intent["status"].as_str(), Some("succeeded" | "canceled")) {
            return invalid(Some("payment_intent_unexpected_state"));
        }
        let (status, cancelled) = self.post(&format!("{kind}/{id}/cancel"), &[]).await;
        if status != 200 {
            return (status, cancelled);
        }
        self.intents.get_mut(id).unwrap().cancellation_reason = fields.get("cancellation_reason").cloned();
        self.show(kind, id, host).await
    }

    async fn capture(&mut self, id: &str, fields: &Fields, host: &str) -> Answer {
        let (status, intent) = self.show(INTENTS, id, host).await;
        let amount: i64 = fields["amount_to_capture"].parse().unwrap();
        if status != 200 {
            return (status, intent);
        }
        if intent["status"] != "requires_capture" || intent["amount"].as_i64().unwrap() < amount {
            return invalid(Some("payment_intent_unexpected_state"));
        }
        let path = format!("{INTENTS}/{id}");
        let (status, captured) =
            self.post(&format!("{path}/capture"), &only(fields, |name| name == "amount_to_capture")).await;
        if status != 200 {
            return (status, captured);
        }
        self.intents.get_mut(id).unwrap().received = amount;
        let (status, marked) = self.post(&path, &only(fields, |name| name.starts_with("metadata["))).await;
        assert_eq!(status, 200, "{marked}");
        self.show(INTENTS, id, host).await
    }

    async fn refund(&self, fields: &Fields) -> Answer {
        let of = &fields["payment_intent"];
        let amount: i64 = fields["amount"].parse().unwrap();
        let Some(received) = self.intents.get(of).map(|kept| kept.received).filter(|received| 0 < *received) else {
            return invalid(Some("charge_not_captured"));
        };
        // What a capture in part released is a refund here, too, but of no intent.
        let made = self.ask(&Method::GET, "refunds", &[("payment_intent", of), ("limit", ALL)]).await.1;
        let made = made["data"].as_array().unwrap().iter().filter(|refund| refund["payment_intent"] == of.as_str());
        if received < amount + made.map(|refund| refund["amount"].as_i64().unwrap()).sum::<i64>() {
            return invalid(Some("charge_already_refunded"));
        }
        self.post("refunds", &only(fields, |_| true)).await
    }
}
