use std::collections::BTreeMap;

use crate::adjustment::Adjustments;
use crate::google_pay::GooglePayAccount;
use crate::method::Method;
use crate::pay_later::PayLaterRegion;

/// What is particular to a merchant about the methods it offers.
///
/// ```
/// use dropin_catalogue::{Adjustment, MerchantMethods, find_method};
///
/// let mut methods = MerchantMethods::default();
/// methods.adjustments.set(find_method("PAYPAL").expect("a built-in method"), Adjustment::default().with_offered(false));
/// assert!(!methods.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct MerchantMethods {
    /// What it offers less, or besides.
    pub adjustments: Adjustments,
    /// Its client ids with the pay-later provider, by region (docs/SPECIFICATION.md#pay-later-parameters).
    pub pay_later_clients: BTreeMap<PayLaterRegion, String>,
    /// Its account for Google Pay; `None` where it does not offer that (docs/SPECIFICATION.md#google-pay).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub google_pay: Option<GooglePayAccount>,
    /// Whether issuers compare the postcode of the billing address, which the shopper is asked for where a Session has none
    /// (docs/SPECIFICATION.md#address-check).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub address_check: bool,
}

/// What an operator changes about a merchant's methods.
///
/// ```
/// use dropin_catalogue::{MerchantMethods, MethodsChange, find_method};
///
/// let paypal = find_method("PAYPAL").expect("a built-in method").clone();
/// let change = MethodsChange { offered: vec![(paypal, false)], ..MethodsChange::default() };
/// let methods = MerchantMethods::default().changed(change);
/// assert_eq!(methods.adjustments.of("PAYPAL").and_then(|one| one.offered), Some(false));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MethodsChange {
    /// In place of all adjustments that it had.
    pub adjustments: Option<Adjustments>,
    /// Methods that it offers, or does not, whatever the deployment does.
    pub offered: Vec<(Method, bool)>,
    /// Client ids with the pay-later provider, set or taken away.
    pub pay_later_clients: Vec<(PayLaterRegion, Option<String>)>,
    /// The account for Google Pay, set or taken away.
    pub google_pay: Option<Option<GooglePayAccount>>,
    /// Whether issuers compare the postcode.
    pub address_check: Option<bool>,
}

impl MethodsChange {
    /// Whether it changes nothing.
    ///
    /// ```
    /// # use dropin_catalogue::MethodsChange;
    /// assert!(MethodsChange::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl MerchantMethods {
    /// Whether nothing is particular.
    ///
    /// ```
    /// # use dropin_catalogue::MerchantMethods;
    /// assert!(MerchantMethods::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is particular after `change`.
    ///
    /// ```
    /// # use dropin_catalogue::{MerchantMethods, MethodsChange, PayLaterRegion};
    /// let clients = vec![(PayLaterRegion::Europe, Some("K1".to_owned()))];
    /// let methods = MerchantMethods::default().changed(MethodsChange { pay_later_clients: clients, ..MethodsChange::default() });
    /// assert_eq!(methods.pay_later_clients[&PayLaterRegion::Europe], "K1");
    /// ```
    #[must_use]
    pub fn changed(mut self, change: MethodsChange) -> Self {
        self.adjustments = change.adjustments.unwrap_or(self.adjustments);
        for (method, offered) in change.offered {
            let before = self.adjustments.of(method.id()).cloned().unwrap_or_default();
            self.adjustments.set(&method, before.with_offered(offered));
        }
        for (region, client) in change.pay_later_clients {
            match client {
                Some(client) => self.pay_later_clients.insert(region, client),
                None => self.pay_later_clients.remove(&region),
            };
        }
        self.google_pay = change.google_pay.unwrap_or(self.google_pay);
        self.address_check = change.address_check.unwrap_or(self.address_check);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjustment, AdjustmentParts, find_method};

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let method = |id| find_method(id).expect("in the table").clone();
        let parts = AdjustmentParts { countries: Some(vec!["NL".to_owned()]), ..AdjustmentParts::default() };
        let narrow = Adjustment::new(parts).unwrap();
        let mut adjustments = Adjustments::default();
        adjustments.set(&method("PAYPAL"), narrow.clone());
        let clients =
            vec![(PayLaterRegion::Europe, Some("eu-1".to_owned())), (PayLaterRegion::Oceania, Some("oc-1".to_owned()))];
        let google_pay = Some("example:shop-17:NL".parse().ok());
        let change = MethodsChange {
            adjustments: Some(adjustments),
            offered: vec![],
            pay_later_clients: clients,
            google_pay,
            address_check: Some(true),
        };
        let set = MerchantMethods::default().changed(change);
        let offered = vec![(method("PAYPAL"), false), (method("VISA"), true)];
        let pay_later_clients = vec![(PayLaterRegion::Europe, None)];
        let set = set.changed(MethodsChange { offered, pay_later_clients, ..MethodsChange::default() });
        assert_eq!(set.adjustments.of("PAYPAL"), Some(&narrow.with_offered(false)));
        assert_eq!(set.adjustments.of("VISA").and_then(|one| one.offered), Some(true));
        assert_eq!(set.pay_later_clients, [(PayLaterRegion::Oceania, "oc-1".to_owned())].into());
        let none = MethodsChange { adjustments: Some(Adjustments::default()), ..MethodsChange::default() };
        let bare = set.changed(none);
        assert!(bare.adjustments.is_empty() && !bare.is_empty(), "the client ids stay");
        assert_eq!((bare.google_pay.is_some(), bare.address_check), (true, true));
        let off = MethodsChange { google_pay: Some(None), address_check: Some(false), ..MethodsChange::default() };
        let off = bare.changed(off);
        assert_eq!((off.google_pay, off.address_check), (None, false));
    }
}
