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
