use std::collections::BTreeMap;
use std::str::FromStr;

use dropin_money::Currency;
use dropin_rates::{Markup, Pricing};

/// Which of its two forms getRates answers a merchant in (contract, Rates).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RateForm {
    /// Indications; a sale is settled at whatever rate there is then.
    Spot,
    /// Offers that a Session can be priced by.
    Guaranteed,
}

/// The word names no form of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be spot or guaranteed")]
pub struct UnknownRateForm;

impl RateForm {
    /// Every form.
    pub const ALL: [Self; 2] = [Self::Spot, Self::Guaranteed];

    /// The spelling in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spot => "SPOT",
            Self::Guaranteed => "GUARANTEED",
        }
    }

    /// Reads the stored spelling back.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == code)
    }

    /// The word for operators.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Spot => "spot",
            Self::Guaranteed => "guaranteed",
        }
    }
}

impl FromStr for RateForm {
    type Err = UnknownRateForm;

    /// The word for operators.
    fn from_str(word: &str) -> Result<Self, UnknownRateForm> {
        Self::ALL.into_iter().find(|form| form.word() == word).ok_or(UnknownRateForm)
    }
}

/// The rates that a merchant is given (decisions.md section 5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSettings {
    /// In which form.
    pub form: RateForm,
    /// How they are made.
    pub pricing: Pricing,
}

impl Default for RateSettings {
    /// Spot, settled in euros, in which the feed quotes everything, and without any markup.
    fn default() -> Self {
        let pricing = Pricing { settlement: Currency::Eur, markups: BTreeMap::new() };
        Self { form: RateForm::Spot, pricing }
    }
}

/// What of a merchant's rates is to be set; `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateChange {
    /// Its form.
    pub form: Option<RateForm>,
    /// What it is paid out in.
    pub settlement: Option<Currency>,
    /// Markups of single currencies; those of others stay. [`Markup::NONE`] takes one off.
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
    fn forms_have_words() {
        for form in RateForm::ALL {
            assert_eq!((form.word().parse(), RateForm::from_code(form.as_str())), (Ok(form), Some(form)));
        }
        assert_eq!("Spot".parse::<RateForm>(), Err(UnknownRateForm));
    }

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
