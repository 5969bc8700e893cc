//! Afterwards: was every payment made once, and nothing else?

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::client::ServiceAddress;
use super::site::Site;
use crate::bench::deployment::PROCESSOR_KEY;
use crate::failure::{Context, Failure, Outcome};
use crate::http1::Client;
use crate::programs::Programs;

/// Entries of one page of the processor's journal.
const PAGE: usize = 1000;
/// Examples of one problem that are named.
const NAMED: usize = 3;

/// An Order as it is stored. Amounts in minor units.
#[derive(Clone, Debug, PartialEq)]
struct Order {
    id: String,
    reference: String,
    state: String,
    total: i64,
    captured: i64,
}

/// An entry of the processor's journal.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    number: u64,
    key: String,
    kind: String,
    outcome: String,
    amount: Option<f64>,
    order_id: Option<String>,
    authorization_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Journal {
    entries: Vec<Entry>,
}

/// What went wrong, and with what.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Problems(BTreeMap<&'static str, Vec<String>>);

impl Problems {
    pub(super) fn add(&mut self, what: &'static str, with: &str) {
        self.0.entry(what).or_default().push(with.to_owned());
    }

    pub(super) fn extend(&mut self, other: Self) {
        other.0.into_iter().for_each(|(what, with)| self.0.entry(what).or_default().extend(with));
    }

    /// A line for each, with examples.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(what, with): (&&str, &Vec<String>)| {
            let named = with.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("{} x {what}, for example {named}", with.len())
        };
        self.0.iter().map(line).collect()
    }
}

/// Compares the notifications (references and OrderIds of which ORDER_PROCESSED came), the Orders and the processor's journal, and runs
/// `dropin ledger verify`.
pub(super) fn run(bench: &Programs, site: &Site, notified: &[(String, String)]) -> Outcome<()> {
    let orders = orders(bench, site)?;
    let problems = match &site.localstripe {
        // Its lists are compared with the ledger.
        Some(_) => judge_orders(notified, &orders),
        None => judge(notified, &orders, &journal(site)?),
    };
    if problems.0.is_empty() {
        return site.verify_ledger(bench);
    }
    let (count, problems) = (notified.len(), problems.lines().join("\n  "));
    Err(Failure::new(format!("of {count} payments some were lost, doubled or changed:\n  {problems}")))
}

fn orders(bench: &Programs, site: &Site) -> Outcome<Vec<Order>> {
    let said = site.deployment.sql(
        bench,
        "SELECT id || ' ' || merchant_reference || ' ' || state || ' ' || total_minor || ' ' || captured_minor FROM purchase_order \
         WHERE 0 < total_minor",
    )?;
    let read = said.lines().filter(|line| !line.is_empty()).map(|line| {
        read_order(line).ok_or_else(|| Failure::new(format!("this row of an Order is not understood: {line}")))
    });
    read.collect()
}

fn read_order(line: &str) -> Option<Order> {
    let mut words = line.split(' ').map(str::to_owned);
    let (id, reference, state) = (words.next()?, words.next()?, words.next()?);
    Some(Order { id, reference, state, total: words.next()?.parse().ok()?, captured: words.next()?.parse().ok()? })
}

fn journal(site: &Site) -> Outcome<Vec<Entry>> {
    let ServiceAddress { address, prefix } = site.processor()?;
    let mut client = Client::connect(address, &format!("Bearer {PROCESSOR_KEY}"))?;
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let after = entries.last().map_or(0, |entry| entry.number);
        let path = format!("{prefix}/v1/journal?after={after}&limit={PAGE}");
        let (status, answer) = client.send("GET", &path, "")?;
        if status != 200 {
            return Err(Failure::new(format!("the processor does not show its journal ({status}): {answer}")));
        }
        let page: Journal = serde_json::from_str(&answer).context(|| "understand the journal".to_owned())?;
        let is_last = page.entries.len() < PAGE;
        entries.extend(page.entries);
        if is_last {
            return Ok(entries);
        }
    }
}

fn judge(notified: &[(String, String)], orders: &[Order], journal: &[Entry]) -> Problems {
    let mut problems = judge_orders(notified, orders);
    let by_id: HashMap<&str, &Order> = orders.iter().map(|order| (order.id.as_str(), order)).collect();
    judge_journal(&by_id, journal, &mut problems);
    problems
}

/// Every Order was told once, and stands as it was told.
fn judge_orders(notified: &[(String, String)], orders: &[Order]) -> Problems {
    let mut problems = Problems::default();
    let notified: HashMap<&str, &str> =
        notified.iter().map(|(reference, id)| (reference.as_str(), id.as_str())).collect();
    for order in orders {
        match notified.get(order.reference.as_str()) {
            None => problems.add("no ORDER_PROCESSED of an Order", &order.id),
            Some(id) if **id != order.id => problems.add("two Orders of one reference", &order.reference),
            Some(_) => {}
        }
        if order.state != "PROCESSED" || order.captured != order.total {
            problems.add("Order not PROCESSED in full", &order.id);
        }
    }
    let by_id: HashMap<&str, &Order> = orders.iter().map(|order| (order.id.as_str(), order)).collect();
    for id in notified.values().filter(|id| !by_id.contains_key(**id)) {
        problems.add("no Order of an ORDER_PROCESSED", id);
    }
    problems
}

/// Every Order has one approved authorization and one approved capture of its total at the processor, which did nothing else.
fn judge_journal(orders: &HashMap<&str, &Order>, journal: &[Entry], problems: &mut Problems) {
    let mut authorized: HashMap<&str, &Order> = HashMap::new();
    let mut found: HashMap<&str, [u32; 2]> = HashMap::new();
    // A card that is stored is verified by an authorization of nothing.
    for entry in journal.iter().filter(|entry| entry.amount != Some(0.0)) {
        let order = match &entry.authorization_key {
            Some(key) => authorized.get(key.as_str()).copied(),
            None => entry.order_id.as_ref().and_then(|id| orders.get(id.as_str())).copied(),
        };
        let Some(order) = order else {
            problems.add("operation of no Order", &entry.key);
            continue;
        };
        let at = match (entry.kind.as_str(), entry.outcome.as_str()) {
            ("AUTHORIZE", "APPROVED") => 0,
            ("CAPTURE", "APPROVED") => 1,
            _ => {
                problems.add("operation that nobody wanted", &entry.key);
                continue;
            }
        };
        if at == 0 {
            authorized.insert(&entry.key, order);
        }
        if entry.amount.map(|amount| (amount * 100.0).round() as i64) != Some(order.total) {
            problems.add("operation of another amount than the Order's", &entry.key);
        }
        found.entry(&order.id).or_default()[at] += 1;
    }
    for id in orders.keys().filter(|id| found.get(**id) != Some(&[1, 1])) {
        problems.add("not exactly one authorization and one capture of an Order", id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        read_order("o1 run.0.1 PROCESSED 7118 7118").unwrap()
    }

    fn entry(number: u64, kind: &str, authorization: Option<&str>) -> Entry {
        Entry {
            number,
            key: format!("k{number}"),
            kind: kind.to_owned(),
            outcome: "APPROVED".to_owned(),
            amount: Some(71.18),
            order_id: authorization.is_none().then(|| "o1".to_owned()),
            authorization_key: authorization.map(str::to_owned),
        }
    }

    fn found(notified: &[(&str, &str)], orders: &[Order], journal: &[Entry]) -> Vec<&'static str> {
        let owned = |(reference, id): &(&str, &str)| ((*reference).to_owned(), (*id).to_owned());
        judge(&notified.iter().map(owned).collect::<Vec<_>>(), orders, journal).0.into_keys().collect()
    }

    const NOTIFIED: [(&str, &str); 1] = [("run.0.1", "o1")];

    #[test]
    fn a_payment_made_once_is_right() {
        let journal = [entry(1, "AUTHORIZE", None), entry(2, "CAPTURE", Some("k1"))];
        assert_eq!(found(&NOTIFIED, &[order()], &journal), [""; 0]);
    }

    #[test]
    fn lost_payments_are_found() {
        let journal = [entry(1, "AUTHORIZE", None), entry(2, "CAPTURE", Some("k1"))];
        assert_eq!(found(&[], &[order()], &journal), ["no ORDER_PROCESSED of an Order"]);
        assert_eq!(found(&NOTIFIED, &[], &[]), ["no Order of an ORDER_PROCESSED"]);
        let waiting = Order { state: "PAYMENT_AUTHORIZED".to_owned(), captured: 0, ..order() };
        assert_eq!(found(&NOTIFIED, &[waiting], &journal), ["Order not PROCESSED in full"]);
        let once = ["not exactly one authorization and one capture of an Order"];
        assert_eq!(found(&NOTIFIED, &[order()], &journal[..1]), once);
    }

    #[test]
    fn doubled_and_changed_payments_are_found() {
        let (first, second) = (entry(1, "AUTHORIZE", None), entry(2, "CAPTURE", Some("k1")));
        let journal = |more| [first.clone(), second.clone(), more];
        let once = "not exactly one authorization and one capture of an Order";
        assert_eq!(found(&NOTIFIED, &[order()], &journal(entry(3, "CAPTURE", Some("k1")))), [once]);
        assert_eq!(found(&NOTIFIED, &[order()], &journal(entry(3, "AUTHORIZE", None))), [once]);
        assert_eq!(
            found(&NOTIFIED, &[order()], &journal(entry(3, "VOID", Some("k1")))),
            ["operation that nobody wanted"]
        );
        assert_eq!(found(&NOTIFIED, &[order()], &journal(entry(3, "CAPTURE", Some("k9")))), ["operation of no Order"]);
        let dearer = Entry { amount: Some(71.19), ..second.clone() };
        let journal = [first.clone(), dearer];
        assert_eq!(found(&NOTIFIED, &[order()], &journal), ["operation of another amount than the Order's"]);
        let twin = Order { id: "o2".to_owned(), ..order() };
        assert!(found(&NOTIFIED, &[order(), twin], &[first, second]).contains(&"two Orders of one reference"));
    }
}
