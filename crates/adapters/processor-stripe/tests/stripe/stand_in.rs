//! A stand-in for Stripe, written from its public API reference: intents, payment methods, customers, refunds, disputes, files, idempotency keys.

#[path = "stand_in_disputes.rs"]
mod disputes;
#[allow(clippy::duplicate_mod, reason = "the end-to-end tests take this file and its neighbour each by its path")]
#[path = "stripe_http.rs"]
mod stripe_http;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use actix_web::web::{self, Bytes, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, rt};
use serde_json::{Value, json};
use stripe_http::{Answer, Asked, Fields, Remembered, invalid, missing, refusal, reply};

pub(crate) const KEY: &str = "sk_test_of_this_test";
/// A card whose refunds fail after they have succeeded.
const REFUND_FAILS: &str = "4000000000005126";
/// Most entries of a page of a list, so that three refunds are two pages.
const PAGE: usize = 2;

#[derive(Default)]
struct Books {
    count: usize,
    intents: BTreeMap<String, Intent>,
    methods: BTreeMap<String, Method>,
    refunds: Vec<Value>,
    disputes: Vec<disputes::Dispute>,
    files: BTreeMap<String, Value>,
    remembered: Remembered,
}

#[derive(Clone, Default)]
struct Intent {
    fields: Fields,
    status: &'static str,
    method: Option<String>,
    error: Option<Value>,
    authenticated: bool,
    received: i64,
    cancellation_reason: Option<String>,
    return_url: Option<String>,
    created: u64,
}

struct Method {
    kind: String,
    number: String,
    customer: Option<String>,
    is_detached: bool,
}

pub(crate) struct StandIn;

impl StandIn {
    /// Starts one on a free port.
    pub(crate) async fn start() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let books = Data::new(Arc::new(Mutex::new(Books::default())));
        let app = move || {
            let bodies = web::PayloadConfig::new(4 << 20);
            App::new().app_data(bodies).app_data(books.clone()).default_service(web::to(answer))
        };
        rt::spawn(HttpServer::new(app).workers(1).disable_signals().listen(listener).unwrap().run());
        address
    }
}

async fn answer(request: HttpRequest, body: Bytes, books: Data<Arc<Mutex<Books>>>) -> HttpResponse {
    let mut books = books.lock().unwrap();
    if let Some(rest) = request.path().strip_prefix("/page/") {
        let (id, choice) = rest.split_once('/').unwrap();
        books.press(id, choice);
        let back = books.intents[id].return_url.clone().unwrap();
        return HttpResponse::SeeOther().insert_header(("Location", back)).finish();
    }
    let asked = match Asked::read(&request, &body, KEY) {
        Ok(asked) => asked,
        Err(refused) => return reply(refused),
    };
    if let Some(answer) = books.remembered.known(&asked) {
        return reply(answer);
    }
    let content_type = request.headers().get("content-type").map_or("", |value| value.to_str().unwrap());
    let answer = match (asked.method.as_str(), asked.path.as_str()) {
        ("POST", "/v1/files") => books.take_file(content_type, &body),
        _ => books.act(&asked),
    };
    reply(books.remembered.remember(asked, answer))
}

impl Books {
    fn id(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}_{:06}", self.count)
    }

    fn act(&mut self, asked: &Asked) -> Answer {
        let (method, fields, host) = (asked.method.as_str(), &asked.fields, asked.host.as_str());
        match (method, &asked.parts()[..]) {
            ("GET", ["balance"]) => (200, json!({"object": "balance"})),
            ("POST", ["customers"]) => (200, json!({"id": self.id("cus")})),
            ("POST", ["tokens"]) => (200, json!({"id": self.id("cvctok")})),
            ("POST", ["payment_methods"]) => {
                let id = self.create_method(&fields["type"], &fields["card[number]"]);
                (200, json!({"id": id}))
            }
            ("GET", ["payment_methods", id]) => self.show_method(id),
            ("POST", ["payment_methods", id, "detach"]) => match self.methods.get_mut(*id) {
                Some(method) if method.customer.is_some() => {
                    (method.customer, method.is_detached) = (None, true);
                    self.show_method(id)
                }
                _ => invalid(None),
            },
            ("POST", ["payment_intents"]) => self.create("pi", fields, host),
            ("POST", ["setup_intents"]) => self.create("seti", fields, host),
            ("GET", ["payment_intents"]) => {
                let ids = self.intents.keys().rev().filter(|id| id.starts_with("pi_"));
                let shown: Vec<_> = ids.map(|id| self.show(id, host).1).collect();
                page(shown.iter(), fields, Value::clone)
            }
            ("GET", ["payment_intents" | "setup_intents", id]) => self.show(id, host),
            ("POST", ["payment_intents" | "setup_intents", id, "confirm"]) => self.confirm(id, fields, host),
            ("POST", ["payment_intents", id, "capture"]) => self.capture(id, fields, host),
            ("POST", ["payment_intents" | "setup_intents", id, "cancel"]) => self.cancel(id, fields, host),
            ("POST", ["refunds"]) => self.refund(fields),
            ("GET", ["refunds"]) => self.list_refunds(fields),
            (_, ["disputes", rest @ ..]) => self.dispute(asked, rest),
            ("GET", ["files", id]) => (200, self.files[*id].clone()),
            _ => missing(),
        }
    }

    fn create_method(&mut self, kind: &str, number: &str) -> String {
        let id = self.id("pm");
        let method = Method { kind: kind.to_owned(), number: number.to_owned(), customer: None, is_detached: false };
        self.methods.insert(id.clone(), method);
        id
    }

    fn show_method(&self, id: &str) -> Answer {
        match self.methods.get(id) {
            Some(method) => (200, json!({"id": id, "customer": method.customer, "card": card(&method.number)})),
            None => missing(),
        }
    }

    fn create(&mut self, prefix: &str, fields: &Fields, host: &str) -> Answer {
        if prefix == "pi" && fields.get("amount").is_none_or(|amount| amount.parse::<i64>().unwrap() < 1) {
            return invalid(Some("amount_too_small"));
        }
        let id = self.id(prefix);
        let intent =
            Intent { fields: fields.clone(), status: "requires_payment_method", created: now(), ..Intent::default() };
        self.intents.insert(id.clone(), intent);
        self.show(&id, host)
    }

    fn show(&self, id: &str, host: &str) -> Answer {
        let Some(intent) = self.intents.get(id) else {
            return missing();
        };
        let is_setup = id.starts_with("seti_");
        let method = intent.method.as_ref().map(|method| (method, &self.methods[method]));
        let is_charged = matches!(intent.status, "requires_capture" | "succeeded");
        let page = format!("http://{host}/page/{id}");
        let mut shown = json!({
            "id": id, "status": intent.status, "metadata": metadata(&intent.fields),
            "customer": intent.fields.get("customer"), "created": intent.created,
            "cancellation_reason": intent.cancellation_reason,
            "next_action": (intent.status == "requires_action").then(|| json!({"type": "redirect_to_url", "redirect_to_url": {"url": page}})),
        });
        if is_setup {
            shown["last_setup_error"] = json!(intent.error);
            shown["payment_method"] = json!(method.map(|(id, method)| json!({"id": id, "card": card(&method.number)})));
        } else {
            shown["last_payment_error"] = json!(intent.error);
            shown["payment_method"] = json!(method.map(|(id, _)| id));
            shown["amount"] = json!(intent.amount());
            shown["amount_received"] = json!(intent.received);
            shown["currency"] = json!(intent.fields["currency"]);
            shown["capture_method"] = json!(intent.fields["capture_method"]);
            shown["latest_charge"] = json!(method.filter(|_| is_charged).map(|(_, method)| {
                let mut card = card(&method.number);
                card["three_d_secure"] = json!(intent.authenticated.then(|| json!({"result": "authenticated"})));
                json!({"id": "ch_1", "payment_method_details": {"card": (method.kind == "card").then_some(card)}})
            }));
        }
        (200, shown)
    }

    fn confirm(&mut self, id: &str, fields: &Fields, host: &str) -> Answer {
        let Some(intent) = self.intents.get(id).cloned() else {
            return missing();
        };
        if intent.status != "requires_payment_method" {
            return invalid(Some("payment_intent_unexpected_state"));
        }
        let method = match (fields.get("payment_method"), fields.get("payment_method_data[type]")) {
            (Some(method), None) => method.clone(),
            (None, Some(kind)) => self.create_method(kind, ""),
            _ => return invalid(Some("parameter_missing")),
        };
        let Some(Method { number, is_detached: false, .. }) = self.methods.get(&method) else { return invalid(None) };
        let is_stored = self.methods[&method].customer.is_some();
        let asks_always = number == "4000002760003184";
        let asks = asks_always || number == "4000000000003220" || number.is_empty();
        let wanted = intent.fields.get("payment_method_options[card][request_three_d_secure]");
        let (number, is_away) = (number.clone(), fields.contains_key("off_session"));
        if is_away && !is_stored {
            return invalid(None);
        }
        let stopped = is_away || fields.contains_key("error_on_requires_action");
        let kept = self.intents.get_mut(id).unwrap();
        kept.method = Some(method);
        if (asks || wanted.is_some()) && stopped {
            return self.decline(id, "authentication_required", "authentication_required", host);
        }
        if asks || wanted.is_some() {
            kept.return_url = Some(fields["return_url"].clone());
            kept.status = "requires_action";
            return self.show(id, host);
        }
        match number.as_str() {
            "4000000000000002" => self.decline(id, "card_declined", "generic_decline", host),
            "4000000000009995" => self.decline(id, "card_declined", "insufficient_funds", host),
            "4000000000009979" => self.decline(id, "card_declined", "stolen_card", host),
            _ => {
                self.succeed(id);
                self.show(id, host)
            }
        }
    }

    fn decline(&mut self, id: &str, code: &str, decline_code: &str, host: &str) -> Answer {
        let error = json!({"type": "card_error", "code": code, "decline_code": decline_code, "message": "declined"});
        let intent = self.intents.get_mut(id).unwrap();
        (intent.status, intent.method, intent.error) = ("requires_payment_method", None, Some(error.clone()));
        let mut error = error;
        error["payment_intent"] = self.show(id, host).1;
        (402, json!({"error": error}))
    }

    fn succeed(&mut self, id: &str) {
        let intent = self.intents.get_mut(id).unwrap();
        let manual = intent.fields.get("capture_method").is_some_and(|method| method == "manual");
        intent.status = if manual { "requires_capture" } else { "succeeded" };
        intent.received = if manual { 0 } else { intent.amount() };
        if id.starts_with("seti_") || intent.fields.contains_key("setup_future_usage") {
            let method = self.methods.get_mut(intent.method.as_ref().unwrap()).unwrap();
            method.customer = intent.fields.get("customer").cloned();
        }
        if !manual && id.starts_with("pi_") {
            self.captured(id);
        }
    }

    /// The shopper does this on the page.
    fn press(&mut self, id: &str, choice: &str) {
        let Some(intent) = self.intents.get_mut(id).filter(|intent| intent.status == "requires_action") else { return };
        match choice {
            "pay" => {
                intent.authenticated = true;
                self.succeed(id);
            }
            "fail" => drop(self.decline(id, "payment_intent_authentication_failure", "", "")),
            _ => drop(self.decline(id, "payment_method_customer_decline", "", "")),
        }
    }

    fn capture(&mut self, id: &str, fields: &Fields, host: &str) -> Answer {
        let Some(intent) = self.intents.get_mut(id).filter(|intent| intent.status == "requires_capture") else {
            return invalid(Some("payment_intent_unexpected_state"));
        };
        let amount: i64 = fields["amount_to_capture"].parse().unwrap();
        if intent.amount() < amount {
            return invalid(Some("amount_too_large"));
        }
        (intent.status, intent.received) = ("succeeded", amount);
        intent.fields.extend(
            fields.iter().filter(|(name, _)| name.starts_with("metadata[")).map(|(a, b)| (a.clone(), b.clone())),
        );
        self.captured(id);
        self.show(id, host)
    }

    fn cancel(&mut self, id: &str, fields: &Fields, host: &str) -> Answer {
        let is_open = |intent: &&mut Intent| intent.status.starts_with("requires_");
        let Some(intent) = self.intents.get_mut(id).filter(is_open) else {
            return invalid(Some("payment_intent_unexpected_state"));
        };
        intent.status = "canceled";
        intent.cancellation_reason = fields.get("cancellation_reason").cloned();
        self.show(id, host)
    }

    fn refund(&mut self, fields: &Fields) -> Answer {
        let (of, amount) = (&fields["payment_intent"], fields["amount"].parse::<i64>().unwrap());
        let given_back: i64 = self.refunds_of(of).map(|refund| refund["amount"].as_i64().unwrap()).sum();
        let Some(intent) = self.intents.get(of).filter(|intent| given_back + amount <= intent.received) else {
            return invalid(Some("charge_already_refunded"));
        };
        let currency = intent.fields["currency"].clone();
        let refund = json!({"id": self.id("re"), "status": "succeeded", "amount": amount, "currency": currency,
            "payment_intent": of, "metadata": metadata(fields), "created": now()});
        let fails = self.intents[of].method.as_ref().is_some_and(|method| self.methods[method].number == REFUND_FAILS);
        let mut kept = refund.clone();
        kept["status"] = json!(if fails { "failed" } else { "succeeded" });
        // The newest first.
        self.refunds.insert(0, kept);
        (200, refund)
    }

    fn refunds_of<'a>(&'a self, intent: &'a str) -> impl Iterator<Item = &'a Value> {
        self.refunds.iter().filter(move |refund| refund["payment_intent"] == intent)
    }

    fn list_refunds(&self, fields: &Fields) -> Answer {
        let of = fields.get("payment_intent");
        let refunds = self.refunds.iter().filter(|refund| of.is_none_or(|of| refund["payment_intent"] == of.as_str()));
        let is_expanded = fields.get("expand[0]").is_some_and(|expand| expand == "data.payment_intent");
        page(refunds, fields, |refund| {
            let mut refund = refund.clone();
            if is_expanded {
                refund["payment_intent"] = self.show(refund["payment_intent"].as_str().unwrap(), "").1;
            }
            refund
        })
    }
}

/// A page of what was created in the span that is asked for, the newest first.
fn page<'a>(all: impl Iterator<Item = &'a Value>, fields: &Fields, show: impl Fn(&Value) -> Value) -> Answer {
    let bound = |name: &str| fields.get(name).map(|seconds| seconds.parse::<i64>().unwrap());
    let (from, until) = (bound("created[gte]").unwrap_or(i64::MIN), bound("created[lt]").unwrap_or(i64::MAX));
    let all: Vec<_> = all.filter(|entry| (from..until).contains(&entry["created"].as_i64().unwrap())).collect();
    let after = fields.get("starting_after");
    let begin = after.map_or(0, |id| all.iter().position(|entry| entry["id"] == id.as_str()).unwrap() + 1);
    let rest = &all[begin..];
    let shown = rest.iter().take(PAGE).map(|entry| show(entry));
    (200, json!({"data": Value::from_iter(shown), "has_more": PAGE < rest.len()}))
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

impl Intent {
    fn amount(&self) -> i64 {
        self.fields.get("amount").map_or(0, |amount| amount.parse().unwrap())
    }
}

fn metadata(fields: &Fields) -> Value {
    let names = fields.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("metadata[")?.strip_suffix(']')?;
        Some((name.to_owned(), json!(value)))
    });
    Value::Object(names.collect())
}

fn card(number: &str) -> Value {
    let last4 = number.get(number.len().saturating_sub(4)..);
    let (country, funding) = match number {
        "4000000360000006" => ("AU", "credit"),
        "5105105105105100" => ("US", "prepaid"),
        _ => ("US", "unknown"),
    };
    let checks = json!({"cvc_check": "pass"});
    json!({
        "brand": "visa", "last4": last4, "exp_month": 12, "exp_year": 2031, "country": country, "funding": funding,
        "checks": checks
    })
}
