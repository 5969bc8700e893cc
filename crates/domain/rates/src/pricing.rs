use std::collections::BTreeMap;

use dropin_money::Currency;

use crate::{ExchangeRate, Table};

/// Largest markup: what is beyond it is a slip of the keyboard.
const MAX_BASIS_POINTS: u16 = 2_000;

/// More than 20 %.
///
/// ```
/// let error = dropin_rates::Markup::from_basis_points(2_001).unwrap_err();
/// assert_eq!(error.to_string(), "a markup is 0 to 2000 basis points (100 are one percent)");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("a markup is 0 to {MAX_BASIS_POINTS} basis points (100 are one percent)")]
pub struct MarkupTooHigh;

/// What is put on a rate, in basis points (hundredths of a percent) of it.
///
/// It raises the number of shopper units for one settlement unit: shoppers pay more, the merchant settles for the price it started from, and
/// the difference stays with the operator of the deployment, who carries the risk of the guarantee. Serialized as the number of basis points.
///
/// ```
/// use dropin_rates::Markup;
///
/// let markup = Markup::from_basis_points(250).unwrap(); // 2.5 %
/// assert!(Markup::NONE < markup);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "u16", into = "u16"))]
pub struct Markup(u16);

impl Markup {
    /// Nothing is put on.
    ///
    /// ```
    /// assert_eq!(dropin_rates::Markup::NONE, dropin_rates::Markup::default());
    /// ```
    pub const NONE: Self = Self(0);

    /// From basis points: 250 are 2.5 %. At most 2,000, which are 20 %.
    ///
    /// # Errors
    /// [`MarkupTooHigh`].
    ///
    /// ```
    /// assert!(dropin_rates::Markup::from_basis_points(2_000).is_ok());
    /// ```
    pub const fn from_basis_points(points: u16) -> Result<Self, MarkupTooHigh> {
        if points <= MAX_BASIS_POINTS { Ok(Self(points)) } else { Err(MarkupTooHigh) }
    }

    /// The basis points.
    ///
    /// ```
    /// assert_eq!(dropin_rates::Markup::from_basis_points(250).unwrap().basis_points(), 250);
    /// ```
    pub const fn basis_points(self) -> u16 {
        self.0
    }
}

impl TryFrom<u16> for Markup {
    type Error = MarkupTooHigh;

    fn try_from(points: u16) -> Result<Self, MarkupTooHigh> {
        Self::from_basis_points(points)
    }
}

impl From<Markup> for u16 {
    fn from(markup: Markup) -> Self {
        markup.0
    }
}

/// How one merchant's rates are made.
///
/// ```
/// use dropin_money::Currency;
/// use dropin_rates::{Dated, Markup, Pricing, Quote, Rate, Source, Table};
///
/// let dollar = Quote { rate: Rate::parse("1.1172").unwrap(), dated: Dated::Always, source: Source::Sandbox };
/// let table = Table::from_iter([(Currency::Usd, dollar)]);
/// let markups = [(Currency::Usd, Markup::from_basis_points(250).unwrap())].into();
/// let pricing = Pricing { settlement: Currency::Eur, markups };
/// assert_eq!(pricing.rate(&table, Currency::Usd).unwrap().to_string(), "EUR/USD 1.14513");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct Pricing {
    /// What the merchant is paid out in.
    pub settlement: Currency,
    /// What is put on, by shopper currency; nothing where there is no entry.
    #[cfg_attr(feature = "serde", serde(with = "crate::serialized::by_currency"))]
    pub markups: BTreeMap<Currency, Markup>,
}

impl Pricing {
    /// What one unit of the settlement currency (base) costs in `shopper` (quote), markup included: the exact number rounded once, half to even,
    /// to ten significant digits (docs/SPECIFICATION.md#rate). The settlement currency itself is always exactly one, whatever markup it was
    /// given.
    ///
    /// `None` when the table does not quote both.
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use dropin_rates::{Pricing, Table};
    ///
    /// let pricing = Pricing { settlement: Currency::Gbp, markups: Default::default() };
    /// assert_eq!(pricing.rate(&Table::default(), Currency::Gbp).unwrap().to_string(), "GBP/GBP 1");
    /// assert_eq!(pricing.rate(&Table::default(), Currency::Usd), None);
    /// ```
    pub fn rate(&self, table: &Table, shopper: Currency) -> Option<ExchangeRate> {
        if shopper == self.settlement {
            return Some(ExchangeRate::identity(shopper));
        }
        let markup = self.markups.get(&shopper).copied().unwrap_or_default();
        table.cross_raised(self.settlement, shopper, markup.basis_points())
    }

    /// The rates of those of `currencies` that have one, in the order given.
    ///
    /// ```
    /// use dropin_money::Currency;
    /// use dropin_rates::{Pricing, Table};
    ///
    /// let pricing = Pricing { settlement: Currency::Gbp, markups: Default::default() };
    /// let table = Table::default();
    /// let rates: Vec<_> = pricing.rates(&table, [Currency::Eur, Currency::Gbp]).collect();
    /// assert_eq!((rates.len(), rates[0].quote()), (1, Currency::Gbp));
    /// ```
    pub fn rates<'a>(
        &'a self,
        table: &'a Table,
        currencies: impl IntoIterator<Item = Currency> + 'a,
    ) -> impl Iterator<Item = ExchangeRate> + 'a {
        currencies.into_iter().filter_map(|currency| self.rate(table, currency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dated, Quote, Source};

    #[test]
    fn a_markup_raises_what_the_shopper_pays() {
        let quote = |rate: &str| Quote { rate: rate.parse().unwrap(), dated: Dated::Always, source: Source::Sandbox };
        let table = Table::from_iter([(Currency::Usd, quote("1.1172")), (Currency::Gbp, quote("0.8338"))]);
        let markup = Markup::from_basis_points(250).unwrap();
        let markups = [(Currency::Usd, markup), (Currency::Gbp, markup)].into();
        let pricing = Pricing { settlement: Currency::Gbp, markups };
        let wanted = [Currency::Jpy, Currency::Usd, Currency::Gbp, Currency::Eur];
        let rates: Vec<_> = pricing.rates(&table, wanted).map(|rate| rate.to_string()).collect();
        // 1.1172 / 0.8338 × 1.025 = 1.37338690333…; rounding before the markup would give …904.
        assert_eq!(rates, ["GBP/USD 1.373386903", "GBP/GBP 1", "GBP/EUR 1.199328376"]);
        assert_eq!(pricing.rate(&Table::default(), Currency::Gbp), Some(ExchangeRate::identity(Currency::Gbp)));
    }

    #[test]
    fn markups_end_at_twenty_percent() {
        assert_eq!(Markup::from_basis_points(2_000).map(Markup::basis_points), Ok(2_000));
        assert_eq!(Markup::from_basis_points(2_001), Err(MarkupTooHigh));
    }
}
