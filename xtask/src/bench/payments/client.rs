//! One shopper after the other, and the merchant's server that made their Sessions.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::check::Problems;
use super::delivery_log::reference;
use super::site::Shop;
use crate::bench::load::SESSION;
use crate::bench::sessions::Created;
use crate::failure::{Context, Failure, Outcome};
use crate::http1;

pub(super) const THREAD: &str = "load generator";

/// What the merchant's server sends, with places for what differs.
const CHECKOUT: &str = include_str!("checkout.json");

/// How long after its last call a payment may be without its ORDER_PROCESSED until it is lost.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(30);
/// A client that fails so often one after the other gives up.
const FAILURES_MAX: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// A published test number that is authorized and captured at once, as the card frame sends it.
const FORM: &str = "&card=%7B%22Name%22%3A%22Wilhelmina%20Featherstonehaugh%22%2C%22Number%22%3A%224242424242424242%22%2C\
                    %22VerificationCode%22%3A%22123%22%2C%22Expiry%22%3A%7B%22Year%22%3A%222039%22%2C%22Month%22%3A%2212%22%7D%7D";

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum PaymentFlow {
    /// A Session that the shopper pays in the drop-in.
    #[default]
    DropIn,
    /// The same at a merchant whose payments are screened.
    Screened,
    /// The merchant's server sends the whole payment.
    Checkout,
    /// The same of a stored card: each client opens a contract and charges it again and again.
    Contract,
}

impl PaymentFlow {
    /// How a payment comes about in words, the calls in their order, and how many of [`EVENTS`] it has, the last ones.
    fn row(self) -> (&'static str, &'static [&'static str], usize) {
        const DROP_IN: &[&str] = &["create", "view", "stash", "submit"];
        match self {
            Self::DropIn => ("Payments by the drop-in", DROP_IN, 3),
            Self::Screened => ("Payments by the drop-in, screened,", DROP_IN, 3),
            Self::Checkout => ("Payments by checkout with a card", &["stash", "checkout"], 2),
            Self::Contract => ("Payments by charge of a contract", &["charge"], 2),
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.row().0
    }

    pub(super) fn calls(self) -> &'static [&'static str] {
        self.row().1
    }

    /// The notifications of a payment that is captured at once, in their order; `webhook-sequence` counts them from one.
    pub(super) fn events(self) -> &'static [&'static str] {
        &EVENTS[EVENTS.len() - self.row().2..]
    }
}

const EVENTS: [&str; 3] = ["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"];

#[derive(Debug)]
pub(super) struct Paid {
    pub(super) done: Instant,
    /// What its calls took, in their order, then what passed until ORDER_PROCESSED, then all of it.
    pub(super) micros: Vec<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) paid: Vec<Paid>,
    pub(super) problems: Problems,
}

/// Where one of the services is found, and what stands before its paths where several share an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceAddress {
    pub(crate) address: SocketAddr,
    pub(crate) prefix: &'static str,
}

/// Where the services are found that a payment needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    session: ServiceAddress,
    /// {asset_url}, for shoppers, and {checkout_url}, for merchants' servers.
    asset: ServiceAddress,
    checkout: ServiceAddress,
    stash: ServiceAddress,
}

impl Addresses {
    /// `find`: the address of a service, and of the prefix that the all-in-one has for it.
    pub(crate) fn new(find: impl Fn(&str, &'static str) -> Outcome<ServiceAddress>) -> Outcome<Self> {
        Ok(Self {
            session: find("session-api", "")?,
            asset: find("checkout-api", "/asset")?,
            checkout: find("checkout-api", "/checkout")?,
            stash: find("stash-api", "/stash")?,
        })
    }
}

/// Pays one payment after the other.
pub(crate) struct Client<'a> {
    addresses: Addresses,
    shop: &'a Shop,
    /// References begin with it.
    run: &'a str,
    number: usize,
    /// The contract that this client charges, once it is open.
    contract: Option<String>,
    connections: BTreeMap<SocketAddr, http1::Client>,
    /// Before each call.
    pub(crate) pause: Duration,
    /// From the beginning of one payment to that of the next, at least; `None` is at once.
    pub(crate) every: Option<Duration>,
    pub(crate) requests: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OpenedContract {
    contract_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct View {
    version: i64,
    merchant_id: String,
}

impl<'a> Client<'a> {
    pub(crate) fn new(addresses: Addresses, shop: &'a Shop, run: &'a str, number: usize) -> Self {
        let (connections, pause) = (BTreeMap::new(), Duration::ZERO);
        Self { addresses, shop, run, number, contract: None, connections, pause, every: None, requests: 0 }
    }

    /// Pays until it is told to stop; the payment under way is finished. The numbers of those that are done come through `completed`.
    pub(super) fn work(mut self, flow: PaymentFlow, completed: &Receiver<u64>, stop: &AtomicBool) -> Done {
        let (mut done, mut failures) = (Done::default(), 0);
        let mut due = Instant::now();
        for number in 0.. {
            if let Some(every) = self.every {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                due += every;
            }
            if stop.load(Ordering::Relaxed) || failures == FAILURES_MAX {
                break;
            }
            let submitted = match flow {
                PaymentFlow::DropIn | PaymentFlow::Screened => self.by_drop_in(number).map(|(moments, _)| moments),
                PaymentFlow::Checkout => self.by_checkout(number),
                PaymentFlow::Contract => self.by_contract(number),
            };
            match submitted {
                Ok(moments) => {
                    failures = 0;
                    match wait_for(completed, number) {
                        Some(processed) => done.paid.push(paid(&moments, processed)),
                        None => {
                            let reference = reference(self.run, self.number, number);
                            done.problems.add("a payment was submitted without an ORDER_PROCESSED in time", &reference);
                        }
                    }
                }
                Err(failure) => {
                    failures += 1;
                    done.problems.add("a call was refused or not answered", &failure.to_string());
                    std::thread::sleep(PAUSE);
                }
            }
        }
        done
    }

    /// Creates a Session and pays it; the moments before, between and after the calls, and the path of the Session.
    fn by_drop_in(&mut self, number: u64) -> Outcome<(Vec<Instant>, String)> {
        let Addresses { session, asset, .. } = self.addresses;
        let mut moments = vec![Instant::now()];
        let reference = reference(self.run, self.number, number);
        let body = SESSION.trim_end().replace("@REFERENCE@", &reference).replace("@NUMBER@", &number.to_string());
        let headers = self.headers(&reference);
        let answer = self.call(session, "POST", "/v1/session", &headers, &body, 201)?;
        let Created { session_id } = read(&answer)?;
        moments.push(Instant::now());

        let path = format!("/v1/shopper/session/{session_id}");
        let View { version, merchant_id } = read(&self.call(asset, "GET", &path, "", "", 200)?)?;
        moments.push(Instant::now());

        let attempt = Uuid::new_v4().to_string();
        let fingerprint = self.stash(&merchant_id, &attempt)?;
        moments.push(Instant::now());

        let headers = "Content-Type: application/json\r\n";
        let body = format!(
            r#"{{"Version":{version},"AttemptId":"{attempt}","StashId":"{attempt}","DeviceFingerprint":"{fingerprint}"}}"#
        );
        self.call(asset, "POST", &format!("{path}/submit"), headers, &body, 200)?;
        moments.push(Instant::now());
        Ok((moments, path))
    }

    /// Does the same, and asks how it went as the shopper's page does.
    pub(crate) fn pay_and_look(&mut self, number: u64) -> Outcome<()> {
        let (_, path) = self.by_drop_in(number)?;
        self.call(self.addresses.asset, "GET", &format!("{path}/progress"), "", "", 200).map(drop)
    }

    /// Pays from server to server; the moments before, between and after the calls.
    fn by_checkout(&mut self, number: u64) -> Outcome<Vec<Instant>> {
        let mut moments = vec![Instant::now()];
        let stash_id = Uuid::new_v4().to_string();
        let fingerprint = self.stash(&self.shop.merchant_id, &stash_id)?;
        moments.push(Instant::now());

        let reference = reference(self.run, self.number, number);
        let body = self.checkout_body(&reference, number, &stash_id, &fingerprint);
        self.call(self.addresses.checkout, "POST", "/v2.21", &self.headers(&reference), &body, 200)?;
        moments.push(Instant::now());
        Ok(moments)
    }

    /// Charges this client's contract, which is opened before the first charge; the moments before and after the call.
    fn by_contract(&mut self, number: u64) -> Outcome<Vec<Instant>> {
        let contract = match self.contract.take() {
            Some(open) => open,
            None => self.open_contract()?,
        };
        let (reference, began) = (reference(self.run, self.number, number), Instant::now());
        let mut body: Value = read(&self.checkout_body(&reference, number, "", ""))?;
        if let Some(members) = body.as_object_mut() {
            members.retain(|name, _| {
                !matches!(name.as_str(), "PaymentMethod" | "StashId" | "DeviceFingerprint" | "Return")
            });
        }
        body["ContractId"] = contract.as_str().into();
        self.contract = Some(contract);
        self.call(self.addresses.checkout, "POST", "/v2.21", &self.headers(&reference), &body.to_string(), 200)?;
        Ok(vec![began, Instant::now()])
    }

    fn open_contract(&mut self) -> Outcome<String> {
        let stash_id = Uuid::new_v4().to_string();
        let fingerprint = self.stash(&self.shop.merchant_id, &stash_id)?;
        let reference = format!("{}.{}.contract", self.run, self.number);
        let mut body: Value = read(&self.checkout_body(&reference, 0, &stash_id, &fingerprint))?;
        if let Some(members) = body.as_object_mut() {
            members.retain(|name, _| !matches!(name.as_str(), "Items" | "Capture"));
        }
        body["Kind"] = "RECURRING".into();
        let headers = self.headers(&reference);
        let path = "/v2.21/openContract";
        let opened = self.call(self.addresses.checkout, "POST", path, &headers, &body.to_string(), 200)?;
        Ok(read::<OpenedContract>(&opened)?.contract_id)
    }

    fn checkout_body(&self, reference: &str, number: u64, stash_id: &str, fingerprint: &str) -> String {
        let places = [
            ("@MERCHANT@", self.shop.merchant_id.as_str()),
            ("@REFERENCE@", reference),
            ("@NUMBER@", &number.to_string()),
            ("@STASH@", stash_id),
            ("@FINGERPRINT@", fingerprint),
        ];
        places.iter().fold(CHECKOUT.trim_end().to_owned(), |body, (place, with)| body.replace(place, with))
    }

    /// Stashes a card as the card frame does; the fingerprint of the browser.
    fn stash(&mut self, merchant_id: &str, stash_id: &str) -> Outcome<String> {
        let fingerprint = format!("browser-{}", self.number);
        let headers = "Content-Type: application/x-www-form-urlencoded\r\n";
        let form = format!("DeviceFingerprint={fingerprint}{FORM}");
        self.call(self.addresses.stash, "POST", &format!("/{merchant_id}/{stash_id}"), headers, &form, 200)?;
        Ok(fingerprint)
    }

    /// What the merchant's server says beside a body; the reference is its Idempotency-Key, too.
    fn headers(&self, reference: &str) -> String {
        format!(
            "Authorization: {}\r\nContent-Type: application/json\r\nIdempotency-Key: {reference}\r\n",
            self.shop.authorization
        )
    }

    fn call(
        &mut self,
        service: ServiceAddress,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
        expected: u16,
    ) -> Outcome<String> {
        std::thread::sleep(self.pause);
        self.requests += 1;
        let ServiceAddress { address, prefix } = service;
        let connection = match self.connections.entry(address) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(http1::Client::connect(address, "")?),
        };
        let (status, answer) = connection.exchange(method, &format!("{prefix}{path}"), headers, body)?;
        if status == expected {
            return Ok(answer);
        }
        Err(Failure::new(format!("{method} {prefix}{path}: {status} {answer}")))
    }
}

/// When the ORDER_PROCESSED of a payment was there; `None` when none came in time.
fn wait_for(completed: &Receiver<u64>, number: u64) -> Option<Instant> {
    let until = Instant::now() + NOTIFICATION_TIMEOUT;
    loop {
        let told = completed.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?;
        if told == number {
            return Some(Instant::now());
        }
    }
}

fn paid(moments: &[Instant], done: Instant) -> Paid {
    let between = |pair: &[Instant]| pair[1].saturating_duration_since(pair[0]).as_micros() as u64;
    let calls = moments.windows(2).map(between);
    // The notification may be there before the answer.
    let rest = moments.last().map(|last| between(&[*last, done]));
    let whole = moments.first().map(|first| between(&[*first, done]));
    Paid { done, micros: calls.chain(rest).chain(whole).collect() }
}

fn read<'a, T: Deserialize<'a>>(answer: &'a str) -> Outcome<T> {
    serde_json::from_str(answer).context(|| format!("understand {answer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_the_time_between_moments() {
        let begun = Instant::now();
        let after = |millis| begun + Duration::from_millis(millis);
        let paid = paid(&[begun, after(2), after(5), after(9), after(20)], after(50));
        assert_eq!(paid.micros, [2_000, 3_000, 4_000, 11_000, 30_000, 50_000]);
        assert_eq!(paid.done, after(50));
    }

    #[test]
    fn the_body_of_a_checkout_is_json_with_its_places() {
        let body: Value = serde_json::from_str(CHECKOUT).unwrap();
        assert_eq!((&body["Capture"], &body["ReferenceId"]), (&true.into(), &"@REFERENCE@".into()));
        for place in ["@MERCHANT@", "@REFERENCE@", "@NUMBER@", "@STASH@", "@FINGERPRINT@"] {
            assert_eq!(CHECKOUT.matches(place).count(), 1, "{place}");
        }
    }
}
