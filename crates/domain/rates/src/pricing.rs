use std::collections::BTreeMap;

use dropin_money::Currency;

use crate::{Rate, Table};

/// Largest markup: what is beyond it is a slip of the keyboard.
const MAX_BASIS_POINTS: u16 = 2_000;

/// More than 20 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a markup is 0 to {MAX_BASIS_POINTS} basis points (100 are one percent)")]
pub struct MarkupTooHigh;

/// What is put on a rate, in basis points (hundredths of a percent) of it.
///
/// It raises the number of shopper units for one settlement unit: shoppers pay more, the merchant settles for the price it started from, and
/// the difference stays with whoever runs the deployment and carries the risk of the guarantee.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Markup(u16);

impl Markup {
    /// Nothing is put on.
    pub const NONE: Self = Self(0);

    /// From basis points: 250 are 2.5 %.
    ///
    /// # Errors
    /// [`MarkupTooHigh`].
    pub const fn from_basis_points(points: u16) -> Result<Self, MarkupTooHigh> {
        if points <= MAX_BASIS_POINTS { Ok(Self(points)) } else { Err(MarkupTooHigh) }
    }

    /// The basis points.
    pub const fn basis_points(self) -> u16 {
        self.0
    }
}

/// How one merchant's rates are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pricing {
    /// What the merchant is paid out in.
    pub settlement: Currency,
    /// What is put on, by shopper currency; nothing where there is no entry.
    pub markups: BTreeMap<Currency, Markup>,
}

impl Pricing {
    /// Units of `shopper` for one unit of the settlement currency, markup included: the exact number rounded once, half to even, to ten
    /// significant digits (decisions.md section 5). The settlement currency itself is always exactly one, whatever markup it was given.
    ///
    /// `None` when the table does not quote both.
    pub fn rate(&self, table: &Table, shopper: Currency) -> Option<Rate> {
        if shopper == self.settlement {
            return Some(Rate::ONE);
        }
        let markup = self.markups.get(&shopper).copied().unwrap_or_default();
        table.cross_raised(self.settlement, shopper, markup.basis_points())
    }

    /// The rates of those of `currencies` that have one, in the order given.
    pub fn rates<'a>(
        &'a self,
        table: &'a Table,
        currencies: impl IntoIterator<Item = Currency> + 'a,
    ) -> impl Iterator<Item = (Currency, Rate)> + 'a {
        currencies.into_iter().filter_map(|currency| Some((currency, self.rate(table, currency)?)))
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
        let rates: Vec<_> = pricing.rates(&table, wanted).map(|(code, rate)| format!("{code} {rate}")).collect();
        // 1.1172 / 0.8338 × 1.025 = 1.37338690333…; rounding before the markup would give …904.
        assert_eq!(rates, ["USD 1.373386903", "GBP 1", "EUR 1.199328376"]);
        assert_eq!(pricing.rate(&Table::default(), Currency::Gbp), Some(Rate::ONE));
    }

    #[test]
    fn markups_end_at_twenty_percent() {
        assert_eq!(Markup::from_basis_points(2_000).map(Markup::basis_points), Ok(2_000));
        assert_eq!(Markup::from_basis_points(2_001), Err(MarkupTooHigh));
    }
}
