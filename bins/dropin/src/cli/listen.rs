//! `dropin listen`: a merchant's notifications on the screen of whoever builds its shop, and at a program on that machine.
//!
//! It reads the events of the merchant over HTTP (GET /v1/event), as the merchant's own server may, and needs no endpoint, no store and no key.

use std::io::{self, Write};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use awc::Client;
use clap::Args;
use dropin_boot::{Failure, SystemIds};
use dropin_ports::IdSource;
use dropin_trigger::{ServiceClient, service_http_client};
use dropin_validation::{UrlPolicy, WebUrl};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use standardwebhooks::{HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook};

use super::client::{self, ServiceFlags};
use super::{Cli, Output, say};

#[derive(Debug, Args)]
pub(crate) struct Listen {
    #[command(flatten)]
    pub(crate) service: ServiceFlags,
    /// Post each notification to this address too, signed as the notifier signs; http on this machine only, else https
    #[arg(long, value_name = "URL")]
    pub(crate) forward_to: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Between two pages. The service admits ten in a second, of all programs of the merchant: most are left to those that it lives from.
const POLL: Duration = Duration::from_millis(500);
/// Between two tries while the service gives no answer.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
/// Longest answer to a forwarded notification that is waited for, as the notifier's.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Prints what comes until ctrl-c.
pub(super) async fn run(cli: &Cli, wanted: &Listen) -> Result<(), Failure> {
    let (service, credentials) = client::open_with_credentials(cli, &wanted.service, &[])?;
    let forward = wanted.forward_to.as_deref().map(|url| Forward::open(url, credentials.webhook_secret)).transpose()?;
    let show = async {
        let mut poller = EventPoller { service: &service, after: None, is_unreachable: false };
        poller.skip_to_end().await?;
        explain(&service.base, forward.as_ref())?;
        loop {
            let page = poller.next().await?;
            for event in &page.events {
                print(event, wanted.output.json)?;
                if let Some(forward) = &forward {
                    forward.post(event).await?;
                }
            }
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::select! {
        outcome = show => outcome,
        stop = tokio::signal::ctrl_c() => Ok(stop?),
    }
}

/// On standard error, so that standard output holds events alone.
fn explain(base: &str, forward: Option<&Forward>) -> Result<(), Failure> {
    let mut out = io::stderr().lock();
    writeln!(out, "Listening at {base}. Ctrl-c ends.")?;
    if let Some(Forward { url, secret, is_new, .. }) = forward {
        match is_new {
            true => {
                writeln!(out, "Forwarding to {url}, signed with the secret {secret}, which counts for this run alone.")?
            }
            false => writeln!(out, "Forwarding to {url}, signed with the merchant's webhook secret.")?,
        }
    }
    Ok(())
}

/// A page of GET /v1/event.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    events: Vec<Event>,
    next: String,
    more: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    event_id: String,
    event_type: String,
    sequence: u64,
    created_at: String,
    /// The notification to the letter.
    body: Box<RawValue>,
    payment_id: String,
}

struct EventPoller<'a> {
    service: &'a ServiceClient,
    after: Option<String>,
    is_unreachable: bool,
}

impl EventPoller<'_> {
    /// Reads past everything that happened before.
    async fn skip_to_end(&mut self) -> Result<(), Failure> {
        while self.next().await?.more {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// The next page. A service that gives no answer is asked until it does; one that refuses ends the command.
    async fn next(&mut self) -> Result<Page, Failure> {
        let after = self.after.as_ref().map_or_else(String::new, |after| format!("&after={after}"));
        let path = format!("/v1/event?limit=200{after}");
        loop {
            let pause = match self.service.try_call("GET", &path, None).await {
                Ok(reply) if matches!(reply.status, 429 | 502..=504) => {
                    reply.retry_after.map_or(RETRY_PAUSE, Duration::from_secs)
                }
                Ok(reply) => {
                    // Refusals have words of their own.
                    reply.json(&format!("GET {}/v1/event", self.service.base))?;
                    let page: Page = serde_json::from_slice(&reply.body)?;
                    self.after = Some(page.next.clone());
                    self.is_unreachable = false;
                    return Ok(page);
                }
                Err(failure) if self.is_unreachable => {
                    log::debug!("{failure}");
                    RETRY_PAUSE
                }
                Err(failure) => {
                    self.is_unreachable = true;
                    writeln!(io::stderr(), "{failure}; trying again until it answers")?;
                    RETRY_PAUSE
                }
            };
            tokio::time::sleep(pause).await;
        }
    }
}

fn print(event: &Event, json: bool) -> Result<(), Failure> {
    say(&if json { as_json(event) } else { in_words(event)? })
}

/// As GET /v1/event shows it, on one line.
fn as_json(Event { event_id, event_type, sequence, created_at, body, payment_id }: &Event) -> String {
    let [event_id, event_type, created_at, payment_id] =
        [event_id, event_type, created_at, payment_id].map(|text| Value::from(text.as_str()));
    format!(
        "{{\"EventId\":{event_id},\"EventType\":{event_type},\"PaymentId\":{payment_id},\"Sequence\":{sequence},\"CreatedAt\":{created_at},\"Body\":{}}}",
        body.get()
    )
}

/// When, what, and of which payment. What a merchant wrote cannot steer a terminal.
fn in_words(event: &Event) -> Result<String, Failure> {
    let Event { event_id, event_type, sequence, created_at, body, .. } = event;
    let body: Value = serde_json::from_str(body.get())?;
    let text = |value: &Value| value.as_str().unwrap_or_default().escape_debug().to_string();
    let [order, session] = ["Order", "Session"].map(|name| &body[name]);
    let state = text(if event_type.starts_with("SESSION_") { &session["State"] } else { &order["State"] });
    let reference = Some(text(&order["MerchantReference"])).filter(|reference| !reference.is_empty());
    let reference = reference.unwrap_or_else(|| text(&session["MerchantReference"]));
    Ok(format!("{created_at}  {event_type:<24}{state:<20}no. {sequence:<3} {reference}  {event_id}"))
}

/// A program that gets each notification once, as the notifier would post it.
struct Forward {
    url: String,
    secret: String,
    /// Whether the secret was made for this run.
    is_new: bool,
    webhook: Webhook,
    client: Client,
}

impl Forward {
    fn open(url: &str, kept: Option<String>) -> Result<Self, Failure> {
        // Notifications hold what is the shopper's own business: https, unless the program runs on this machine.
        let url = forward_url(url)?;
        let is_new = kept.is_none();
        let secret = kept.unwrap_or_else(new_secret);
        let webhook = Webhook::new(&secret)
            .map_err(|_not_base64| "the WebhookSecret in the merchant file must look like whsec_<base64>")?;
        let client = service_http_client(demo_shop::client_config(&url)?, None);
        Ok(Self { url, secret, is_new, webhook, client })
    }

    /// One try; says what came of it.
    async fn post(&self, event: &Event) -> Result<(), Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let body = event.body.get().to_owned();
        let signature = self.webhook.sign(&event.event_id, i64::try_from(now)?, body.as_bytes())?;
        let begun = Instant::now();
        let request = self
            .client
            .post(&self.url)
            .timeout(FORWARD_TIMEOUT)
            .insert_header(("content-type", "application/json"))
            .insert_header((HEADER_WEBHOOK_ID, event.event_id.as_str()))
            .insert_header((HEADER_WEBHOOK_TIMESTAMP, now.to_string()))
            .insert_header((HEADER_WEBHOOK_SIGNATURE, signature))
            .insert_header(("webhook-sequence", event.sequence.to_string()));
        let came = match request.send_body(body).await {
            Ok(answer) => format!("answered {}", answer.status().as_u16()),
            Err(error) => format!("gave no answer ({error})"),
        };
        let took = begun.elapsed().as_millis();
        writeln!(io::stderr(), "  {} {} {came} in {took} ms; it is not sent again", event.event_type, self.url)?;
        Ok(())
    }
}

/// The address as given: https, or http to this machine, whatever the deployment's mode is.
fn forward_url(raw: &str) -> Result<String, String> {
    let parse = |policy| WebUrl::parse("--forward-to", raw, policy);
    match (parse(UrlPolicy::Production), parse(UrlPolicy::Sandbox)) {
        (Ok(url), _) => Ok(url.as_str().to_owned()),
        (Err(_), Ok(_)) => Err("--forward-to must use https; http is for this machine only".to_owned()),
        (Err(violation), Err(_)) => Err(format!("--forward-to {}", violation.message)),
    }
}

fn new_secret() -> String {
    use base64::Engine as _;
    format!("whsec_{}", base64::engine::general_purpose::STANDARD.encode(SystemIds.secret()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, body: &str) -> Event {
        let body = serde_json::value::to_raw_value(&serde_json::from_str::<Value>(body).expect("JSON")).expect("JSON");
        Event {
            event_id: "7".to_owned(),
            event_type: kind.to_owned(),
            sequence: 3,
            created_at: "2026-11-22T12:00:00Z".to_owned(),
            body,
            payment_id: "8".to_owned(),
        }
    }

    #[test]
    fn http_is_forwarded_to_this_machine_only() {
        for fine in ["http://localhost:3000/webhook", "http://127.0.0.1/", "https://shop.example/webhook"] {
            assert_eq!(forward_url(fine).as_deref(), Ok(fine));
        }
        let elsewhere = forward_url("http://example.com/x").expect_err("another machine");
        assert_eq!(elsewhere, "--forward-to must use https; http is for this machine only");
        assert!(forward_url("example.com").expect_err("no URL").contains("absolute URL"));
    }

    #[test]
    fn a_line_tells_what_happened_to_which_payment_and_steers_no_terminal() {
        let processed =
            event("ORDER_PROCESSED", r#"{"Order":{"State":"PROCESSED","MerchantReference":"a\u001b[2Jb"}}"#);
        let line = in_words(&processed).expect("JSON");
        assert_eq!(line, "2026-11-22T12:00:00Z  ORDER_PROCESSED         PROCESSED           no. 3   a\\u{1b}[2Jb  7");
        let failed = event("SESSION_FAILED", r#"{"Session":{"State":"FAILED","MerchantReference":"order-1"}}"#);
        assert!(in_words(&failed).expect("JSON").contains("FAILED              no. 3   order-1"));
        let shown: Value = serde_json::from_str(&as_json(&failed)).expect("JSON");
        assert_eq!((&shown["Body"]["Session"]["State"], &shown["Sequence"]), (&"FAILED".into(), &3.into()));
    }
}
