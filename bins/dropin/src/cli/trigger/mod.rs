//! `dropin trigger`: makes an event happen in a sandbox. Nothing is made up: a Session is created and paid, or a contract opened, over HTTP as a
//! merchant and a shopper do it, with the published number or the method that leads there, and the running services do the rest.

mod contract;
mod scenario;
mod shopper;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use dropin_boot::{Failure, Mode, SystemClock, SystemIds};
use dropin_kernel::{ContractId, EventId, OrderId, PaymentId, SessionId};
use dropin_order::{DisputeAnswerKind, Evidence};
use dropin_ports::{
    AccessStore, DisputeFilter, DisputeResponse, DisputeStore, IdSource, NotificationFilter, NotificationQuery,
    NotificationStore, StoredResponse,
};
use dropin_session::Session;
use dropin_store::Store;
use dropin_usecases::access::Caller;
use dropin_usecases::idempotency::{IdempotentOutcome, Reply};
use dropin_usecases::sessions::Sessions;
use dropin_validation::UrlPolicy;
use dropin_wire::event;
use serde_json::{Value, json};

use super::client::{ServiceClient, ServiceFlags};
use super::dispute;
use super::order::{self, Decision};
use super::processor::ProcessorFlags;
use super::{Cli, Output, say, say_lines};
use crate::plan;
use scenario::{FinalStep, Payment, SCENARIOS, Scenario, Way};
use shopper::Shopper;

#[derive(Debug, Args)]
pub(crate) struct Trigger {
    /// EventType to make happen, such as ORDER_PROCESSED; --list shows all
    #[arg(value_name = "EVENT", required_unless_present = "list", value_parser = event_type)]
    pub(crate) event: Option<&'static str>,
    /// Show every EventType, and what is done for it
    #[arg(long, conflicts_with = "event")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) service: ServiceFlags,
    /// Address of the shopper's calls ({asset_url}) [default: /asset below --base-url, else that of a service started with the same settings]
    #[arg(long, env = "DROPIN_ASSET_URL", value_name = "URL")]
    pub(crate) asset_url: Option<String>,
    /// Address of the checkout ({checkout_url}) [default: /checkout below --base-url, else that of a service started with the same settings]
    #[arg(long, env = "DROPIN_CHECKOUT_URL", value_name = "URL")]
    pub(crate) checkout_url: Option<String>,
    /// Address of the stash ({stash_url}) [default: /stash below --base-url, else that of a service started with the same settings]
    #[arg(long, env = "DROPIN_STASH_URL", value_name = "URL")]
    pub(crate) stash_url: Option<String>,
    #[command(flatten)]
    pub(crate) processor: ProcessorFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

fn event_type(text: &str) -> Result<&'static str, String> {
    let known = || event::types().collect::<Vec<_>>().join(", ");
    event::types().find(|known| *known == text).ok_or_else(|| format!("there is no such event; there are {}", known()))
}

/// Longest that an event is waited for; the slowest of them takes some seconds.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two polls for it.
const POLL: Duration = Duration::from_millis(200);
/// How long a Session lives that shall expire.
const EXPIRING_SESSION_LIFETIME: Duration = Duration::from_secs(1);

/// Shows every event and what is done for it.
pub(super) fn list(output: Output) -> Result<(), Failure> {
    if output.json {
        let all = SCENARIOS.iter().map(|one| json!({ "EventType": one.event, "Does": one.does }));
        return say(&Value::from_iter(all).to_string());
    }
    say_lines(SCENARIOS.iter().map(|Scenario { event, does, .. }| format!("{event:<24}{does}")), "")
}

/// Makes one event happen and waits for it.
pub(super) async fn run(cli: &Cli, store: &Store, wanted: &Trigger) -> Result<(), Failure> {
    if cli.mode.mode() == Mode::Production {
        return Err("events are triggered in a sandbox only: this is a production deployment, where every payment is somebody's".into());
    }
    let event = wanted.event.ok_or("say which event; --list shows all")?;
    let scenario = Scenario::of(event)?;
    let addresses = PartAddresses::find(cli, wanted)?;
    let PartAddresses { asset, checkout, stash } = &addresses;
    let service = ServiceClient::open(cli, &wanted.service, &[asset, checkout, stash])?;
    let caller = caller(store, &service).await?;
    let trigger_run = TriggerRun { cli, store, wanted, addresses, service, caller };
    match &scenario.way {
        Way::Session(payment) => {
            let session = trigger_run.execute(event, payment).await?;
            let notification = trigger_run.wait_for(event, session.into()).await?;
            trigger_run.tell_session(event, notification, session).await
        }
        Way::Contract(step) => {
            let contract = trigger_run.execute_contract(event, *step).await?;
            let notification = trigger_run.wait_for(event, contract.into()).await?;
            tell_contract(wanted.output, event, notification, contract)
        }
    }
}

fn tell_contract(output: Output, event: &str, notification: EventId, contract: ContractId) -> Result<(), Failure> {
    if output.json {
        let (notification, contract) = (notification.to_string(), contract.to_string());
        return say(&json!({ "EventType": event, "EventId": notification, "ContractId": contract }).to_string());
    }
    say(&format!("{event} happened: notification {notification}, contract {contract}."))
}

/// Where the parts of the service are that a merchant's pages and server ask beside the APIs.
#[derive(Debug, PartialEq, Eq)]
struct PartAddresses {
    /// Of the shopper's calls.
    asset: String,
    checkout: String,
    stash: String,
}

impl PartAddresses {
    fn find(cli: &Cli, wanted: &Trigger) -> Result<Self, Failure> {
        let (serve, service, prefixes) = (&cli.serve, &wanted.service, plan::PREFIXES);
        let asset = wanted.asset_url.as_ref().or(serve.asset_url.as_ref());
        let stash = wanted.stash_url.as_ref().or(serve.stash_url.as_ref());
        Ok(Self {
            asset: service.part(cli, asset, prefixes.asset, |addresses| addresses.public.asset)?,
            checkout: service.checkout(cli, wanted.checkout_url.as_ref())?,
            stash: service.part(cli, stash, prefixes.stash, |addresses| addresses.public.stash)?,
        })
    }
}

/// The processor of the service that --base-url names: the sandbox's, unless another is given.
fn processor_flags(cli: &Cli, wanted: &Trigger) -> ProcessorFlags {
    let ProcessorFlags { processor, processor_url, processor_key_file } = &wanted.processor;
    let given = processor_url.as_ref().or(cli.serve.processor_url.as_ref()).cloned();
    let below_base = |base: &String| format!("{}{}", base.trim_end_matches('/'), plan::SANDBOX);
    ProcessorFlags {
        processor: *processor,
        processor_url: given.or_else(|| wanted.service.base_url.as_ref().map(below_base)),
        processor_key_file: processor_key_file.clone(),
    }
}

/// A reference that no other payment of the merchant has.
fn reference(event: &str) -> String {
    let unique = SystemIds.random().simple().to_string();
    format!("trigger {event} {}", &unique[..16])
}

/// The API user of the credentials, as this store knows it.
async fn caller(store: &Store, service: &ServiceClient) -> Result<Caller, Failure> {
    let username = &service.credentials.username;
    let elsewhere = || {
        format!(
            "the database knows no API user {username}: give the --data folder or DATABASE_URL of the service at {}",
            service.base
        )
    };
    let user = store.find_user(username).await?.ok_or_else(elsewhere)?;
    let merchant = store.find_merchant(user.merchant_id).await?.ok_or_else(elsewhere)?;
    if !merchant.sandbox {
        return Err(format!("merchant {} is none of a sandbox: nothing is triggered for it", merchant.id).into());
    }
    Ok(Caller { username: user.username, merchant, permissions: user.permissions })
}

/// Everything that a scenario needs.
struct TriggerRun<'a> {
    cli: &'a Cli,
    store: &'a Store,
    wanted: &'a Trigger,
    addresses: PartAddresses,
    service: ServiceClient,
    caller: Caller,
}

impl TriggerRun<'_> {
    /// Does what leads to the event; the Session that it is about.
    async fn execute(&self, event: &str, payment: &Payment) -> Result<SessionId, Failure> {
        let Payment { auto_capture, pays, final_step } = *payment;
        let request = session_request(event, auto_capture);
        if final_step == FinalStep::Expire {
            return self.create_short_lived(&request).await;
        }
        let created = self.service.call("POST", "/v1/session", Some(&request)).await?;
        let session: SessionId = created["SessionId"].as_str().unwrap_or_default().parse()?;
        let address = format!("{}/v1/shopper/session/{session}", self.addresses.asset);
        let shopper = Shopper { service: &self.service, address };
        match final_step {
            FinalStep::DeclineUntilOver => shopper.fail(pays).await?,
            _ => shopper.pay(pays).await?,
        }
        self.end(final_step, session).await?;
        Ok(session)
    }

    async fn tell_session(&self, event: &str, notification: EventId, session: SessionId) -> Result<(), Failure> {
        let shown = self.session(session).await?;
        let order = shown["Order"]["OrderId"].as_str();
        let reference = &shown["MerchantReference"];
        if self.wanted.output.json {
            let mut told = json!({ "EventType": event, "EventId": notification.to_string(), "SessionId": session.to_string(), "MerchantReference": reference });
            if let Some(order) = order {
                told["OrderId"] = order.into();
            }
            return say(&told.to_string());
        }
        let order = order.map(|order| format!(", Order {order}")).unwrap_or_default();
        say(&format!(
            "{event} happened: notification {notification}, Session {session}{order}, MerchantReference {reference}."
        ))
    }

    /// What comes after the shopper.
    async fn end(&self, final_step: FinalStep, session: SessionId) -> Result<(), Failure> {
        match final_step {
            FinalStep::None | FinalStep::Expire | FinalStep::DeclineUntilOver => Ok(()),
            FinalStep::LenderReviews => {
                let page = self.session(session).await?["RedirectUrl"].as_str().map(str::to_owned);
                let page = page.ok_or_else(|| format!("Session {session} leads to no page of the lender's"))?;
                shopper::press(&self.service, &page, "review").await
            }
            FinalStep::Cancel => self.of_order(session, "cancel", json!({})).await.map(drop),
            FinalStep::Refund => {
                // A capture may take a moment.
                self.wait_for("ORDER_PROCESSED", session.into()).await?;
                self.of_order(session, "refund", json!({ "RefundReference": "trigger" })).await.map(drop)
            }
            FinalStep::Review(decision) => {
                let order: OrderId = self.order_of(session).await?.parse()?;
                let processor = processor_flags(self.cli, self.wanted);
                let approve = decision == Decision::Approve;
                order::decide(self.cli, self.store, &processor, order, approve, "trigger").await.map(drop)
            }
            FinalStep::AnswerDispute(kind) => {
                self.wait_for("DISPUTE_OPENED", session.into()).await?;
                let order: OrderId = self.order_of(session).await?.parse()?;
                let filter = DisputeFilter { order: Some(order), ..DisputeFilter::default() };
                let opened = DisputeStore::list_disputes(self.store, filter, 1).await?;
                let id = opened.first().ok_or_else(|| format!("the Order {order} has no dispute"))?.id;
                let response = match kind {
                    DisputeAnswerKind::Accept => DisputeResponse::Accept,
                    DisputeAnswerKind::Evidence => {
                        let text = "Handed in by dropin trigger.".to_owned();
                        let evidence = Evidence::new(Some(text), Vec::new()).map_err(|all| all.to_string())?;
                        DisputeResponse::Evidence(evidence)
                    }
                };
                dispute::answer(self.cli, self.store, id, response).await.map(drop)
            }
        }
    }

    async fn session(&self, session: SessionId) -> Result<Value, Failure> {
        self.service.call("GET", &format!("/v1/session/{session}"), None).await
    }

    async fn order_of(&self, session: SessionId) -> Result<String, Failure> {
        let shown = self.session(session).await?;
        let order = shown["Order"]["OrderId"].as_str();
        order
            .map(str::to_owned)
            .ok_or_else(|| format!("Session {session} is {} and has no Order", shown["State"]).into())
    }

    async fn of_order(&self, session: SessionId, what: &str, body: Value) -> Result<Value, Failure> {
        let order = self.order_of(session).await?;
        let body = Some(&body).filter(|body| **body != json!({}));
        self.service.call("POST", &format!("/v1/order/{order}/{what}"), body).await
    }

    /// Creates a Session by the service's own use case, for this merchant but with a short life; the settler ends it like any other.
    async fn create_short_lived(&self, request: &Value) -> Result<SessionId, Failure> {
        let mut caller = self.caller.clone();
        caller.merchant = caller.merchant.edited(|parts| parts.session_lifetime = EXPIRING_SESSION_LIFETIME)?;
        let sessions = Sessions {
            store: Arc::new(self.store.clone()),
            contracts: Arc::new(self.store.clone()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            url_policy: UrlPolicy::Sandbox,
        };
        let render =
            |session: &Session| StoredResponse { status: 201, etag: None, body: session.id.to_string().into() };
        let body = request.to_string().into_bytes();
        match sessions.create(&caller, &body, Reply { render, key_use: None }).await? {
            IdempotentOutcome::Stored(answer)
            | IdempotentOutcome::Unstored(answer)
            | IdempotentOutcome::Concluded(answer) => Ok(String::from_utf8(answer.body)?.parse()?),
            IdempotentOutcome::KeyTaken => Err("a request without a key has none that could be taken".into()),
        }
    }

    /// Waits until the event is written down; its notification.
    async fn wait_for(&self, event: &str, payment: PaymentId) -> Result<EventId, Failure> {
        let query = NotificationQuery {
            filter: NotificationFilter {
                types: Some(event.parse()?),
                payment: Some(payment),
                ..NotificationFilter::default()
            },
            after: None,
            oldest_first: true,
            limit: 1,
        };
        let found = async {
            loop {
                if let Some(found) = self.store.list_notifications(query.clone()).await?.notifications.first() {
                    return Ok::<_, Failure>(found.event_id);
                }
                tokio::time::sleep(POLL).await;
            }
        };
        match tokio::time::timeout(EVENT_TIMEOUT, found).await {
            Ok(found) => found,
            Err(_too_long) => Err(format!(
                "{event} did not happen within {} s after everything for it was done: see that settler and processor run, and look at {payment}",
                EVENT_TIMEOUT.as_secs()
            )
            .into()),
        }
    }
}

fn session_request(event: &str, auto_capture: bool) -> Value {
    let address = json!({ "Street": "Example Street 1", "City": "Berlin", "Country": "DE", "Postcode": "10115" });
    json!({
        "MerchantReference": reference(event), "AutoCapture": auto_capture, "Currency": "EUR",
        "CompleteUrl": "http://localhost/paid", "CancelUrl": "http://localhost/checkout",
        "Items": [{ "Name": event, "Amount": 29.90, "Quantity": 1 }],
        "BillingProfile": { "Name": "Robin Example", "Email": "robin@example.com", "Address": address },
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Cli, Command};
    use super::*;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        let cli = Cli::try_parse_from(["dropin"].into_iter().chain(line.split_ascii_whitespace()))?;
        Ok(cli.command.expect("a command"))
    }

    #[test]
    fn every_address_follows_the_base_url_unless_given() {
        let found = |line: &str| {
            let cli = Cli::parse_from(["dropin"].into_iter().chain(line.split_ascii_whitespace()));
            let Some(Command::Trigger(wanted)) = &cli.command else { panic!("{line}") };
            let PartAddresses { asset, checkout, stash } = PartAddresses::find(&cli, wanted).expect("addresses");
            [asset, checkout, stash, processor_flags(&cli, wanted).processor_url.unwrap_or_default()].join(" ")
        };
        let here = "http://127.0.0.1:8080";
        assert_eq!(found("trigger ORDER_PROCESSED"), format!("{here}/asset {here}/checkout {here}/stash "));
        let (line, there) = ("trigger ORDER_PROCESSED --base-url http://127.0.0.1:8090/", "http://127.0.0.1:8090");
        assert_eq!(found(line), format!("{there}/asset {there}/checkout {there}/stash {there}/sandbox"));
        let given = format!(
            "{line} --asset-url http://a/ --checkout-url http://c/ --stash-url http://s --processor-url http://p"
        );
        assert_eq!(found(&given), "http://a http://c http://s http://p");
    }

    #[test]
    fn an_event_is_named_or_all_are_listed() {
        let Ok(Command::Trigger(trigger)) = parse("trigger REFUND_FAILED --merchant-file m.json --json") else {
            panic!()
        };
        assert_eq!((trigger.event, trigger.list, trigger.output.json), (Some("REFUND_FAILED"), false, true));
        assert!(matches!(parse("trigger --list"), Ok(Command::Trigger(Trigger { list: true, event: None, .. }))));
        for wrong in ["trigger", "trigger ORDER_PAID", "trigger ORDER_PROCESSED --list"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let message = parse("trigger ORDER_PAID").expect_err("no such event").to_string();
        assert!(message.contains("SESSION_COMPLETED") && message.contains("REFUND_FAILED"), "{message}");
    }
}
