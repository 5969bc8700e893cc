use dropin_kernel::coded_enum;
use std::collections::BTreeMap;

use dropin_money::Currency;
use dropin_rates::{Markup, Pricing};

coded_enum! {
    /// Which of its two forms getRates answers a merchant in (docs/SPECIFICATION.md#rate-forms).
    pub enum RateForm: "form of rates" {
        /// Indications; a sale is settled at whatever rate there is then.
        Spot = "SPOT",
        /// Offers that a Session can be priced by.
        Guaranteed = "GUARANTEED",
    }
}

/// The rates that a merchant is given (docs/SPECIFICATION.md#rates).
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct RateSettings {
    /// In which form.
    pub form: RateForm,
    /// How they are made.
    pub pricing: Pricing,
}

impl Default for RateSettings {
    /// Spot, settled in euros, in which the rate source quotes everything, and without any markup.
    fn default() -> Self {
        let pricing = Pricing { settlement: Currency::Eur, markups: BTreeMap::new() };
        Self { form: RateForm::Spot, pricing }
    }
}

/// What of a merchant's rates is to be set; `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", default, deny_unknown_fields)
)]
pub struct RateChange {
    /// Its form.
    pub form: Option<RateForm>,
    /// What it is paid out in.
    pub settlement: Option<Currency>,
    /// Markups of single currencies; those of others stay. [`Markup::NONE`] takes one off.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::serialized::each_once"))]
    pub markups: BTreeMap<Currency, Markup>,
}

impl RateChange {
    /// Whether nothing is to be set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl RateSettings {
    /// With what is given by `change`.
    #[must_use]
    pub fn changed(mut self, change: &RateChange) -> Self {
        self.form = change.form.unwrap_or(self.form);
        self.pricing.settlement = change.settlement.unwrap_or(self.pricing.settlement);
        self.pricing.markups.extend(&change.markups);
        self.pricing.markups.retain(|_, markup| *markup != Markup::NONE);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_stays() {
        let markup = |points| Markup::from_basis_points(points).unwrap();
        let markups = [(Currency::Usd, markup(100)), (Currency::Brl, markup(250))];
        let first = RateChange { markups: markups.into(), form: Some(RateForm::Guaranteed), settlement: None };
        let settings = RateSettings::default().changed(&first);
        assert_eq!((settings.form, settings.pricing.settlement), (RateForm::Guaranteed, Currency::Eur));
        let next = [(Currency::Usd, Markup::NONE), (Currency::Jpy, markup(1))];
        let second = RateChange { markups: next.into(), form: None, settlement: Some(Currency::Usd) };
        let settings = settings.changed(&second);
        assert_eq!((settings.form, settings.pricing.settlement), (RateForm::Guaranteed, Currency::Usd));
        assert_eq!(settings.pricing.markups, [(Currency::Brl, markup(250)), (Currency::Jpy, markup(1))].into());
        assert!(RateChange::default().is_empty() && !second.is_empty());
    }
}
