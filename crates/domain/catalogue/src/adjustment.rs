use std::collections::BTreeMap;

use dropin_money::Currency;

use crate::method::{Channel, Method, Range};
use crate::pay_later::Region;

/// What is otherwise about one method than in the table; `None` leaves it as it is.
///
/// A deployment's takes the place of what the table says. A merchant's narrows what is left after that: what it lists is what remains. The only
/// thing that a merchant's can widen is [`Adjustment::offered`], where its word counts before the deployment's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adjustment {
    /// Whether it is offered at all.
    pub offered: Option<bool>,
    /// Billing countries, ISO 3166-1 alpha-2; never empty.
    pub countries: Option<Vec<String>>,
    /// Currencies; never empty.
    pub currencies: Option<Vec<Currency>>,
    /// How much may be paid, in the currencies that are named; the others keep their limits.
    pub amounts: Option<Vec<Range>>,
    /// Where it can be paid with; never empty.
    pub channels: Option<Vec<Channel>>,
    /// Whether the merchant may charge again later without the shopper.
    pub recurring: Option<bool>,
    /// Whether a sandbox can do it.
    pub sandbox: Option<bool>,
}

/// Adjustments of methods of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adjustments(BTreeMap<&'static str, Adjustment>);

impl Adjustments {
    /// Adjusts `method`; replaces what it had. One that changes nothing is not kept.
    pub fn set(&mut self, method: &Method, adjustment: Adjustment) {
        if adjustment == Adjustment::default() {
            self.0.remove(method.id);
        } else {
            self.0.insert(method.id, adjustment);
        }
    }

    /// That of the method with this id.
    pub fn of(&self, id: &str) -> Option<&Adjustment> {
        self.0.get(id)
    }

    /// All of them, by the methods' ids.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Adjustment)> {
        self.0.iter().map(|(id, adjustment)| (*id, adjustment))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What is particular to a merchant about the methods it offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MerchantMethods {
    /// What it offers less, or besides.
    pub adjustments: Adjustments,
    /// Its client ids with the pay-later provider, by region (contract, Parameters.ClientId).
    pub pay_later_clients: BTreeMap<Region, String>,
}

impl MerchantMethods {
    /// Whether nothing is particular.
    pub fn is_empty(&self) -> bool {
        self.adjustments.is_empty() && self.pay_later_clients.is_empty()
    }
}

/// What an operator changes about a merchant's methods.
#[derive(Debug, Clone, Default)]
pub struct MethodsChange {
    /// In place of all adjustments that it had.
    pub adjustments: Option<Adjustments>,
    /// Methods that it offers, or does not, whatever the deployment does.
    pub offered: Vec<(&'static Method, bool)>,
    /// Client ids with the pay-later provider, set or taken away.
    pub pay_later_clients: Vec<(Region, Option<String>)>,
}

impl MethodsChange {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.adjustments.is_none() && self.offered.is_empty() && self.pay_later_clients.is_empty()
    }
}

impl MerchantMethods {
    /// What is particular after `change`.
    #[must_use]
    pub fn changed(mut self, change: MethodsChange) -> Self {
        self.adjustments = change.adjustments.unwrap_or(self.adjustments);
        for (method, offered) in change.offered {
            let before = self.adjustments.of(method.id).cloned().unwrap_or_default();
            self.adjustments.set(method, Adjustment { offered: Some(offered), ..before });
        }
        for (region, client) in change.pay_later_clients {
            match client {
                Some(client) => self.pay_later_clients.insert(region, client),
                None => self.pay_later_clients.remove(&region),
            };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_method;

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let method = |id| find_method(id).expect("in the table");
        let narrow = Adjustment { countries: Some(vec!["NL".to_owned()]), ..Adjustment::default() };
        let mut adjustments = Adjustments::default();
        adjustments.set(method("PAYPAL"), narrow.clone());
        let clients = vec![(Region::Europe, Some("eu-1".to_owned())), (Region::Oceania, Some("oc-1".to_owned()))];
        let change = MethodsChange { adjustments: Some(adjustments), offered: vec![], pay_later_clients: clients };
        let set = MerchantMethods::default().changed(change);
        let offered = vec![(method("PAYPAL"), false), (method("VISA"), true)];
        let pay_later_clients = vec![(Region::Europe, None)];
        let set = set.changed(MethodsChange { adjustments: None, offered, pay_later_clients });
        assert_eq!(set.adjustments.of("PAYPAL"), Some(&Adjustment { offered: Some(false), ..narrow }));
        assert_eq!(set.adjustments.of("VISA").and_then(|one| one.offered), Some(true));
        assert_eq!(set.pay_later_clients, [(Region::Oceania, "oc-1".to_owned())].into());
        let none = MethodsChange { adjustments: Some(Adjustments::default()), ..MethodsChange::default() };
        let bare = set.changed(none);
        assert!(bare.adjustments.is_empty() && !bare.is_empty(), "the client ids stay");
    }
}
