//! What has to hold of every key, of every Order that a merchant sees, and of every one that nobody sees.

use std::collections::BTreeMap;

use super::ShownOrder;
use super::journal::{Entry, Journal, KeyHistory, Thousandths, thousandths};

/// What the processor did for one Order.
#[derive(Debug, Default)]
pub(super) struct Money {
    /// Approved authorizations.
    approved: usize,
    /// Authorizations that wait for the shopper, the provider or the bank.
    pending: usize,
    currency: Option<String>,
    authorized: Thousandths,
    captured: Thousandths,
    refunded: Thousandths,
    /// Approved authorizations that were given up.
    voided: usize,
    /// Captures that were refused.
    captures_refused: usize,
    /// Captures that are under way.
    captures_pending: usize,
}

impl Money {
    /// Adds one authorization and what was done with it.
    fn add(&mut self, authorization: &Entry, parts: &[&Entry], discrepancies: &mut Vec<String>) {
        let all = |kind: &str, outcome: &str| parts.iter().filter(|part| part.is(kind, outcome)).collect::<Vec<_>>();
        let sum = |lines: &[&&Entry]| lines.iter().map(|line| line.thousandths()).sum::<Thousandths>();
        let is_approved = authorization.outcome == "APPROVED";
        let authorized = if is_approved { authorization.thousandths() } else { 0 };
        let (captures, waiting) = (all("CAPTURE", "APPROVED"), all("CAPTURE", "PENDING"));
        let captured = sum(&captures) + if authorization.captured { authorized } else { 0 };
        let refunded = sum(&all("REFUND", "APPROVED"));
        let (voids, uses) = (all("VOID", "APPROVED").len(), captures.len() + waiting.len());
        if authorized < captured + sum(&waiting)
            || captured < refunded
            || 1 < voids + uses
            || (0 < voids && 0 < captured)
        {
            discrepancies.push(format!(
                "authorization {} of {authorized}: {captured} captured by {uses}, {refunded} refunded, {voids} voids",
                authorization.key
            ));
        }
        self.approved += usize::from(is_approved);
        self.pending += usize::from(authorization.outcome == "PENDING");
        self.voided += if is_approved { voids } else { 0 };
        self.authorized += authorized;
        self.captured += captured;
        self.refunded += refunded;
        self.captures_refused += all("CAPTURE", "DECLINED").len();
        self.captures_pending += waiting.len();
        self.currency.clone_from(&authorization.currency);
    }

    /// Whether the shopper's money is still held or taken.
    fn is_held(&self) -> bool {
        self.voided < self.approved
    }

    /// The same, unless all of it was given back.
    pub(super) fn is_kept(&self) -> bool {
        self.is_held() && (self.captured == 0 || self.refunded < self.captured)
    }
}

/// Each key has one effect at most: it waits, perhaps, and then it ends once.
pub(super) fn check_keys(journal: &Journal, discrepancies: &mut Vec<String>) {
    for (key, history) in journal.keys() {
        let (end, before) = history.lines.split_last().expect("a key has a line");
        if before.iter().any(|line| line.outcome != "PENDING") {
            let outcomes: Vec<_> = history.lines.iter().map(|line| line.outcome.as_str()).collect();
            discrepancies.push(format!("key {key} ended more than once: {outcomes:?}"));
        }
        let same = |line: &&Entry| {
            (&line.kind, line.amount(), &line.currency, &line.order_id, &line.authorization_key)
                == (&end.kind, end.amount(), &end.currency, &end.order_id, &end.authorization_key)
        };
        if !before.iter().all(same) {
            discrepancies.push(format!("key {key} changed what it is about: {:?}", history.lines));
        }
    }
}

/// Sums up what was done for each Order, and checks each authorization by itself.
pub(super) fn money_by_order(journal: &Journal, discrepancies: &mut Vec<String>) -> BTreeMap<String, Money> {
    let keys = journal.keys();
    let mut parts_of = BTreeMap::<&str, Vec<&Entry>>::new();
    for part in keys.values().map(|history| history.last) {
        parts_of.entry(part.authorization_key.as_deref().unwrap_or_default()).or_default().push(part);
    }
    let mut orders = BTreeMap::<String, Money>::new();
    for (key, history) in &keys {
        let last = history.last;
        if last.kind != "AUTHORIZE" {
            check_parent(key, history, &keys, discrepancies);
            continue;
        }
        let Some(order) = &last.order_id else {
            if last.outcome != "ABANDONED" {
                discrepancies.push(format!("authorization {key} is {} for no Order", last.outcome));
            }
            continue;
        };
        let parts = parts_of.get(key).map_or(&[][..], Vec::as_slice);
        let money = orders.entry(order.clone()).or_default();
        money.add(last, parts, discrepancies);
        if 1 < money.approved {
            discrepancies.push(format!("Order {order} was authorized {} times", money.approved));
        }
    }
    orders
}

/// A capture, void or refund is about an authorization of the same Order and currency, and takes money only from an approved one.
fn check_parent(
    key: &str,
    history: &KeyHistory<'_>,
    keys: &BTreeMap<&str, KeyHistory<'_>>,
    discrepancies: &mut Vec<String>,
) {
    let last = history.last;
    let parent = last.authorization_key.as_deref().and_then(|parent| keys.get(parent)).map(|parent| parent.last);
    let fits = parent.is_some_and(|parent| {
        let same = parent.kind == "AUTHORIZE" && parent.order_id == last.order_id && parent.currency == last.currency;
        same && (last.outcome != "APPROVED" || last.kind == "VOID" || parent.outcome == "APPROVED")
    });
    if !fits && last.outcome != "DECLINED" {
        discrepancies.push(format!("{} {key} is {} of {parent:?}", last.kind, last.outcome));
    }
}

/// An attempt that nobody was shown holds no money: what came late was given back. The verification of a contract's card reserves nothing.
pub(super) fn check_hidden_order(order: &str, money: &Money, discrepancies: &mut Vec<String>) {
    let reserved = money.is_held() && money.authorized != 0 && money.captured == 0;
    if reserved || money.captured != money.refunded {
        discrepancies
            .push(format!("Order {order} is shown to nobody, and the processor holds money for it: {money:?}"));
    }
}

/// The merchant sees what the processor did, and a state that explains it.
pub(super) fn check_shown_order(order: &ShownOrder, money: &Money, discrepancies: &mut Vec<String>) {
    let told =
        [&order.authorized_amount, &order.captured_amount, &order.refunded_amount].map(|raw| thousandths(raw.get()));
    let done = [money.authorized, money.captured, money.refunded];
    let currency = money.currency.as_ref().is_none_or(|currency| *currency == order.currency);
    if told != done || !currency {
        let (id, state, currency) = (&order.order_id, &order.state, &order.currency);
        discrepancies.push(format!(
            "Order {id}, {state}: the merchant is told {told:?} {currency}, the processor did {done:?} {:?}",
            money.currency
        ));
    }
    let explained = match order.state.as_str() {
        "PROCESSING" => money.approved == 0 && 0 < money.pending,
        "COMMIT_ACCEPTED" => money.captured == 0 && (0 < money.pending || money.is_held()),
        "PAYMENT_AUTHORIZED" => money.is_held() && money.captured == 0,
        // Of nothing, which verified a card, nothing is captured.
        "PROCESSED" => money.is_held() && (0 < money.captured || money.authorized == 0) && money.captures_pending == 0,
        "CANCELLED" | "DECLINED" => !money.is_held() && money.pending == 0,
        "PROCESSING_FAILED" => money.captured == 0 && (!money.is_held() || 0 < money.captures_refused),
        _ => false,
    };
    if !explained {
        discrepancies.push(format!("Order {} is {}, and the processor has {money:?}", order.order_id, order.state));
    }
}
