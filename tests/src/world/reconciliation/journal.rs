//! The processor's own journal: what it did, whatever anybody else believes.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Money in thousandths of the currency: exact for every currency of docs/SPECIFICATION.md#currencies, since none has more than three decimals.
pub type Thousandths = i64;

/// One line of the processor's journal.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Entry {
    /// Counts lines.
    pub number: i64,
    /// Our operation's id.
    pub key: String,
    /// AUTHORIZE, CAPTURE, VOID or REFUND.
    pub kind: String,
    /// APPROVED, DECLINED, PENDING or ABANDONED.
    pub outcome: String,
    amount: Option<Box<RawValue>>,
    /// ISO 4217.
    pub currency: Option<String>,
    /// Our Order.
    pub order_id: Option<String>,
    /// The authorization that a capture, void or refund is about.
    pub authorization_key: Option<String>,
    /// An authorization that is money taken already.
    #[serde(default)]
    pub captured: bool,
    /// A pay-later provider looks at it.
    #[serde(default)]
    pub review: bool,
}

impl Entry {
    /// The amount as it was written, with the decimals of its currency.
    pub fn amount(&self) -> &str {
        self.amount.as_ref().map_or("", |amount| amount.get())
    }

    /// The amount for sums.
    pub fn thousandths(&self) -> Thousandths {
        if self.amount().is_empty() { 0 } else { thousandths(self.amount()) }
    }

    pub(super) fn is(&self, kind: &str, outcome: &str) -> bool {
        self.kind == kind && self.outcome == outcome
    }
}

/// A decimal as it stands in JSON.
///
/// # Panics
/// When it is no plain decimal with at most three digits behind the point.
pub fn thousandths(token: &str) -> Thousandths {
    let (whole, part) = token.split_once('.').unwrap_or((token, ""));
    let plain =
        !whole.is_empty() && [whole, part].iter().all(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    assert!(plain && part.len() <= 3, "`{token}` is no plain decimal of a currency");
    let digits = format!("{whole}{part:0<3}");
    digits.parse().unwrap_or_else(|error| panic!("{token}: {error}"))
}

/// The amount of one member in the text of a body, exact.
///
/// # Panics
/// When there is no such member.
pub fn thousandths_of(body: &str, member: &str) -> Thousandths {
    let (_, rest) = body.split_once(&format!("\"{member}\":")).unwrap_or_else(|| panic!("no {member} in {body}"));
    thousandths(rest.split([',', '}']).next().unwrap_or_default())
}

/// All of it, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// The lines.
    pub entries: Vec<Entry>,
}

/// The history of one key, from all its lines.
pub(super) struct KeyHistory<'a> {
    pub(super) last: &'a Entry,
    pub(super) lines: Vec<&'a Entry>,
}

impl Journal {
    /// The lines of one Order, in order.
    pub fn of_order<'a>(&'a self, order: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| entry.order_id.as_deref() == Some(order))
    }

    /// The Orders that it names, each once.
    pub fn orders(&self) -> Vec<&str> {
        let mut orders: Vec<_> = self.entries.iter().filter_map(|entry| entry.order_id.as_deref()).collect();
        orders.sort_unstable();
        orders.dedup();
        orders
    }

    pub(super) fn keys(&self) -> BTreeMap<&str, KeyHistory<'_>> {
        let mut keys = BTreeMap::<&str, KeyHistory<'_>>::new();
        for entry in &self.entries {
            let history = keys.entry(&entry.key).or_insert(KeyHistory { last: entry, lines: Vec::new() });
            history.last = entry;
            history.lines.push(entry);
        }
        keys
    }
}

/// Lines as `(kind, outcome, amount as written)`, for comparing with what a test expects.
pub fn shortened<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<(String, String, String)> {
    entries.map(|entry| (entry.kind.clone(), entry.outcome.clone(), entry.amount().to_owned())).collect()
}
