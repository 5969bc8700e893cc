//! A deployment that takes payments: its programs, where they are found, and merchants with endpoints at our receiver.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};

use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use standardwebhooks::Webhook;

use super::client::ServiceAddress;
use super::delivery_log::{DeliveryLog, ReceivedNotification};
use super::stripe::Localstripe;
use crate::bench::deployment::{ALL_IN_ONE, Deployment, PROCESSOR_KEY, SANDBOX, SERVICES, Service};
use crate::bench::receiver::{Answer, Receiver, Request};
use crate::command::captured;
use crate::failure::{Context, Failure, Outcome};
use crate::programs::{Programs, free_address};

/// All load comes from one address, over more connections than one client should have.
const ANY_NUMBER_OF_CONNECTIONS: (&str, &str) = ("DROPIN_MAX_CONNECTIONS_PER_CLIENT", "0");

/// The headers that are signed.
const SIGNED: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/// How the services are spread over programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Topology {
    /// Every service its own.
    Split,
    /// The all-in-one.
    AllInOne,
}

/// A merchant: its shoppers pay, its endpoint is told.
pub(crate) struct Shop {
    pub(crate) merchant_id: String,
    pub(crate) authorization: String,
    /// Whether its payments are screened.
    pub(crate) is_screened: bool,
}

/// What runs, and how it is reached.
pub(crate) struct Site {
    pub(crate) deployment: Deployment,
    pub(crate) services: Vec<Service>,
    topology: Topology,
    /// The process of localstripe and by what our programs are told of it, where that is the processor.
    pub(super) localstripe: Option<(u32, Vec<(&'static str, String)>)>,
    /// Clients are spread over them; their endpoints are `/hook/0`, `/hook/1`, …
    pub(crate) shops: Vec<Shop>,
    /// Where notifications are recorded.
    pub(super) delivery_log: Arc<Mutex<Arc<DeliveryLog>>>,
    _receiver: Receiver,
}

impl Site {
    /// Creates the merchants with endpoints at a receiver of its own, each screened or not, and starts the programs.
    pub(super) fn start(
        bench: &mut Programs,
        deployment: Deployment,
        topology: Topology,
        merchants: &[bool],
        localstripe: Option<&Localstripe>,
    ) -> Outcome<Self> {
        let secrets = Arc::new(OnceLock::<Vec<Webhook>>::new());
        let delivery_log = Arc::new(Mutex::new(Arc::new(DeliveryLog::default())));
        let (known, log) = (secrets.clone(), delivery_log.clone());
        let receiver = Receiver::start(move |request| {
            let log = log.lock().expect("nothing under this lock panics").clone();
            record(request, known.get().map(Vec::as_slice).unwrap_or_default(), &log)
        })?;
        let (mut shops, mut webhooks) = (Vec::new(), Vec::new());
        for (number, &is_screened) in merchants.iter().enumerate() {
            let url = format!("http://{}/hook/{number}", receiver.address);
            let merchant = deployment.merchant(bench, &["--webhook-url", &url])?;
            let authorization = merchant.authorization();
            let secret = merchant.webhook_secret.unwrap_or_default();
            webhooks.push(Webhook::new(&secret).context(|| "understand a webhook secret".to_owned())?);
            if is_screened {
                screen(bench, &deployment, &merchant.merchant_id)?;
            }
            shops.push(Shop { merchant_id: merchant.merchant_id, authorization, is_screened });
        }
        secrets.get_or_init(|| webhooks);
        let owned = |(name, value): (&'static str, &str)| (name, value.to_owned());
        let localstripe =
            localstripe.map(|stand_in| (stand_in.id(), stand_in.settings().map(owned).into_iter().collect::<Vec<_>>()));
        let processor = localstripe.as_ref().map(|(_, settings)| settings.as_slice());
        let services = start_programs(bench, &deployment, topology, None, processor)?;
        Ok(Self { deployment, services, topology, localstripe, shops, delivery_log, _receiver: receiver })
    }

    /// Where a service is found; `prefix` is where the all-in-one has it.
    pub(super) fn find(&self, name: &str, prefix: &'static str) -> Outcome<ServiceAddress> {
        let is_all = self.topology == Topology::AllInOne;
        let service = self.services.iter().find(|service| service.name == if is_all { ALL_IN_ONE } else { name });
        let service = service.ok_or_else(|| Failure::new(format!("{name} was not started")))?;
        Ok(ServiceAddress { address: service.address, prefix: if is_all { prefix } else { "" } })
    }

    pub(super) fn processor(&self) -> Outcome<ServiceAddress> {
        self.find(SANDBOX, "/sandbox")
    }

    /// Runs `dropin ledger verify`; fails with its findings.
    pub(super) fn verify_ledger(&self, bench: &Programs) -> Outcome<()> {
        let mut verify = self.deployment.command(bench, ALL_IN_ONE);
        if let Some((_, settings)) = &self.localstripe {
            let of = ["--of", "stripe", "--from", "2020-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z"];
            let settings = settings.iter().map(|(name, value)| (name, value));
            return captured(verify.args(["ledger", "verify"]).args(of).envs(settings)).map(drop);
        }
        let ServiceAddress { address, prefix } = self.processor()?;
        verify.args(["ledger", "verify"]).env("PROCESSOR_URL", format!("http://{address}{prefix}"));
        captured(verify.env("PROCESSOR_KEY", PROCESSOR_KEY)).map(drop)
    }

    /// Starts the programs again, and the admin panel at that address: a program of its own, or beside the services of the all-in-one.
    pub(crate) fn start_with_panel(&mut self, bench: &mut Programs, panel: SocketAddr) -> Outcome<()> {
        self.services = start_programs(bench, &self.deployment, self.topology, Some(panel), None)?;
        Ok(())
    }

    /// Starts the programs again.
    pub(super) fn start_again(&mut self, bench: &mut Programs) -> Outcome<()> {
        self.services = start_programs(bench, &self.deployment, self.topology, None, None)?;
        Ok(())
    }

    pub(crate) fn stop(&mut self, bench: &mut Programs) -> Outcome<()> {
        self.services.drain(..).try_for_each(|service| bench.end(service.program))
    }
}

/// Has a merchant's payments screened. Each client pays with one card in one browser again and again, which is no fraud here.
fn screen(bench: &Programs, deployment: &Deployment, merchant: &str) -> Outcome<()> {
    let rules = bench.file("screening.toml", "[velocity]\nCARD_TRIES_HOUR = [5, 0]\nDEVICE_TRIES_HOUR = [10, 0]\n")?;
    let rules = rules.display().to_string();
    for arguments in
        [["merchant", "set", merchant, "--screening", "on"], ["screening", "rules", merchant, "--set", rules.as_str()]]
    {
        captured(deployment.command(bench, ALL_IN_ONE).args(arguments))?;
    }
    Ok(())
}

/// Starts the programs, with the admin panel at an address of its own if there is one.
fn start_programs(
    bench: &mut Programs,
    deployment: &Deployment,
    topology: Topology,
    panel: Option<SocketAddr>,
    processor: Option<&[(&'static str, String)]>,
) -> Outcome<Vec<Service>> {
    if topology == Topology::AllInOne {
        let listen = panel.map(|address| ("DROPIN_ADMIN_LISTEN", address.to_string()));
        let listen = listen.iter().map(|(name, address)| (*name, address.as_str()));
        let settings: Vec<_> = [ANY_NUMBER_OF_CONNECTIONS].into_iter().chain(listen).collect();
        return Ok(vec![deployment.start_all_in_one(bench, &settings)?]);
    }
    // In place of the sandbox processor, where another is named.
    let services = SERVICES.iter().filter(|name| processor.is_none() || **name != SANDBOX);
    let addresses = services.map(|name| Ok((*name, free_address()?)));
    let panel = panel.map(|address| Ok(("admin-panel", address)));
    let addresses = addresses.chain(panel).collect::<Outcome<Vec<_>>>()?;
    let url = |wanted: &str| {
        let found = addresses.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, address)| format!("http://{address}")).unwrap_or_default()
    };
    let (sandbox, asset, stash) = (url(SANDBOX), url("checkout-api"), url("stash-api"));
    let mut settings = vec![
        ANY_NUMBER_OF_CONNECTIONS,
        ("PROCESSOR_URL", sandbox.as_str()),
        ("DROPIN_ASSET_URL", asset.as_str()),
        ("DROPIN_STASH_URL", stash.as_str()),
    ];
    // The last of a name counts.
    settings.extend(processor.into_iter().flatten().map(|(name, value)| (*name, value.as_str())));
    addresses.iter().map(|&(name, address)| deployment.launch(bench, name, address, &[], &settings)).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Notification<'a> {
    event_type: &'a str,
    /// Not of those that tell of a contract.
    #[serde(borrow)]
    order: Option<Order<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Order<'a> {
    order_id: &'a str,
    merchant_reference: &'a str,
}

/// Records a notification if it is genuine, and only then acknowledges it.
fn record(request: Request<'_>, secrets: &[Webhook], delivery_log: &DeliveryLog) -> Answer {
    let Some(Notification { event_type: event, order }) = verified(request, secrets) else {
        delivery_log.record_forged(request.header("webhook-id"));
        return Answer::Reject;
    };
    let Some(order) = order else {
        delivery_log.record_without_order(event);
        return Answer::Acknowledge;
    };
    let (sequence, reference) = (request.header("webhook-sequence"), order.merchant_reference);
    delivery_log.record(&ReceivedNotification { event, sequence, reference, order: order.order_id });
    Answer::Acknowledge
}

fn verified<'a>(request: Request<'a>, secrets: &[Webhook]) -> Option<Notification<'a>> {
    let shop: usize = request.path.strip_prefix("/hook/")?.parse().ok()?;
    let mut headers = HeaderMap::new();
    for name in SIGNED {
        headers.insert(name, HeaderValue::from_str(request.header(name)).ok()?);
    }
    secrets.get(shop)?.verify(request.body, &headers).ok()?;
    serde_json::from_slice(request.body).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::bench::payments::check::Problems;
    use crate::bench::payments::client::PaymentFlow;
    use crate::http1::Client;

    /// Sends a notification; the status of the answer.
    fn notify(receiver: &Receiver, signed_body: &str, body: &str) -> u16 {
        let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let signature =
            Webhook::from_bytes(vec![7; 32]).unwrap().sign("id-1", at as i64, signed_body.as_bytes()).unwrap();
        let headers = format!(
            "webhook-id: id-1\r\nwebhook-timestamp: {at}\r\nwebhook-signature: {signature}\r\nwebhook-sequence: 1\r\n"
        );
        Client::connect(receiver.address, "").unwrap().exchange("POST", "/hook/0", &headers, body).unwrap().0
    }

    #[test]
    fn only_what_is_signed_is_recorded_and_acknowledged() {
        let delivery_log = Arc::new(DeliveryLog::new(PaymentFlow::DropIn, vec![mpsc::channel().0]));
        let (log, secrets) = (delivery_log.clone(), [Webhook::from_bytes(vec![7; 32]).unwrap()]);
        let receiver = Receiver::start(move |request| record(request, &secrets, &log)).unwrap();
        let body = r#"{"EventType":"SESSION_COMPLETED","Order":{"OrderId":"one","MerchantReference":"run.0.1"}}"#;
        assert_eq!(notify(&receiver, body, body), 200);
        assert_eq!(delivery_log.problems(), Problems::default());
        assert_eq!(notify(&receiver, body, &body.replace("one", "two")), 401);
        assert_eq!(delivery_log.problems().lines(), ["1 x a notification had a wrong signature, for example id-1"]);
    }
}
