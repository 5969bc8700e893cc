//! Reconciliation: the processor's journal against what the APIs show to the merchants.
//!
//! It knows nothing of how the service works. Whatever the processor did must belong to exactly one Order that a merchant sees, in a state that
//! explains it, or to an attempt that nobody was shown and whose reservation was given up.

mod journal;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

pub use journal::{Entry, Journal, Thousandths, shortened, thousandths, thousandths_of};

/// An Order as GET shows it to its merchant.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ShownOrder {
    /// Identifier.
    pub order_id: String,
    /// On the wire's spelling.
    pub state: String,
    /// None for a server-to-server checkout.
    pub session_id: Option<String>,
    /// The merchant's.
    pub merchant_reference: String,
    currency: String,
    authorized_amount: Box<RawValue>,
    captured_amount: Box<RawValue>,
    refunded_amount: Box<RawValue>,
}

/// A Session as GET shows it to its merchant.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ShownSession {
    /// Identifier.
    pub session_id: String,
    /// On the wire's spelling.
    pub state: String,
    /// Once completed.
    pub order: Option<BriefOrder>,
}

/// The Order inside a Session.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BriefOrder {
    /// Identifier.
    pub order_id: String,
    /// On the wire's spelling.
    pub state: String,
}

/// Everything there is to compare, read at about the same time.
#[derive(Debug, Default)]
pub struct Reconciliation {
    /// The processor's side.
    pub journal: Journal,
    /// Every Order that the journal or a Session names, with each merchant who sees it.
    pub orders: BTreeMap<String, Vec<ShownOrder>>,
    /// Every Session that was created or that an Order names.
    pub sessions: BTreeMap<String, ShownSession>,
}

impl Reconciliation {
    /// What does not fit together, in words; empty when everything does. An operation under way may show here for a moment.
    pub fn discrepancies(&self) -> Vec<String> {
        let mut discrepancies = Vec::new();
        rules::check_keys(&self.journal, &mut discrepancies);
        let money = rules::money_by_order(&self.journal, &mut discrepancies);
        let nothing = rules::Money::default();
        for order in money.keys().chain(self.orders.keys()) {
            let money = money.get(order).unwrap_or(&nothing);
            match self.orders.get(order).map_or(&[][..], Vec::as_slice) {
                [] => rules::check_hidden_order(order, money, &mut discrepancies),
                [shown] => rules::check_shown_order(shown, money, &mut discrepancies),
                [_, ..] => discrepancies.push(format!("Order {order} is shown to several merchants")),
            }
        }
        self.check_sessions(&mut discrepancies);
        discrepancies.sort();
        discrepancies.dedup();
        discrepancies
    }

    /// The Orders for which the processor holds money, or has taken some and not given it back.
    pub fn orders_with_money(&self) -> Vec<String> {
        let money = rules::money_by_order(&self.journal, &mut Vec::new());
        money.into_iter().filter(|(_, money)| money.is_kept()).map(|(order, _)| order).collect()
    }

    fn check_sessions(&self, discrepancies: &mut Vec<String>) {
        for order in self.orders.values().flatten() {
            let Some(id) = &order.session_id else { continue };
            let (state, inner) = match self.sessions.get(id) {
                Some(session) => (session.state.as_str(), session.order.as_ref()),
                None => ("unknown to the Order's merchant", None),
            };
            let same = inner.is_some_and(|inner| inner.order_id == order.order_id && inner.state == order.state);
            if state != "COMPLETED" || !same {
                discrepancies
                    .push(format!("Order {} is of Session {id}, which is {state} with {inner:?}", order.order_id));
            }
        }
        for session in self.sessions.values() {
            match (&session.order, session.state.as_str()) {
                (Some(order), "COMPLETED") if self.orders.contains_key(&order.order_id) => {}
                (None, "COMPLETED") | (Some(_), _) => {
                    let (id, state, order) = (&session.session_id, &session.state, &session.order);
                    discrepancies
                        .push(format!("Session {id} is {state} with {order:?}, of whom there is no such Order"));
                }
                (None, _) => {}
            }
        }
    }
}
