use bigdecimal::num_bigint::BigInt;

use crate::rounding::divided;
use crate::{Amount, AmountError, Decimal, Rounding};

/// Parts of an amount: a rounded one by a rate, or all of them so that they add up.
impl Amount {
    /// `percent` percent of it, rounded to the minor unit: a discount, a tax.
    ///
    /// # Errors
    /// [`AmountError::Negative`] for a negative rate, [`AmountError::TooLarge`].
    ///
    /// ```
    /// use dropin_money::{Amount, Decimal, Rounding};
    ///
    /// let price: Amount = "29.90 EUR".parse()?;
    /// let rate: Decimal = "19".parse()?; // 19 % of 29.90 is 5.681
    /// assert_eq!(price.percent(&rate, Rounding::HalfUp)?.to_string(), "5.68");
    /// assert_eq!(price.percent(&rate, Rounding::Up)?.to_string(), "5.69");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn percent(&self, percent: &Decimal, rounding: Rounding) -> Result<Self, AmountError> {
        self.scaled(percent, 2, rounding)
    }

    /// `fraction` of it, rounded to the minor unit; a fraction above one makes more of it.
    ///
    /// # Errors
    /// [`AmountError::Negative`] for a negative fraction, [`AmountError::TooLarge`].
    ///
    /// ```
    /// use dropin_money::{Amount, Rounding};
    ///
    /// let (day, hours): (Amount, _) = ("800.00 USD".parse()?, "0.3125".parse()?);
    /// assert_eq!(day.share(&hours, Rounding::HalfUp)?.to_string(), "250.00");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn share(&self, fraction: &Decimal, rounding: Rounding) -> Result<Self, AmountError> {
        self.scaled(fraction, 0, rounding)
    }

    /// `factor` / 10^`places` of it.
    fn scaled(&self, factor: &Decimal, places: u32, rounding: Rounding) -> Result<Self, AmountError> {
        if factor.is_negative() {
            return Err(AmountError::Negative);
        }
        let (digits, decimals) = factor.parts();
        let product = divided(&(digits * self.minor()), &BigInt::from(10_u8).pow(decimals + places), rounding);
        Self::from_minor(self.currency(), i64::try_from(product).map_err(|_beyond| AmountError::TooLarge)?)
    }

    /// Parts in proportion to `weights` that add up to the whole exactly.
    ///
    /// By largest remainder: each part is rounded down, and the minor units that are left go one each to the parts that lost most, the
    /// earlier first of those that lost the same. So each part is less than one minor unit away from its exact share. A weight of
    /// zero gets nothing.
    ///
    /// # Errors
    /// [`AmountError::NoWeight`] when there is no weight above zero.
    ///
    /// ```
    /// use dropin_money::{Amount, AmountError};
    ///
    /// let discount: Amount = "1.00 EUR".parse()?;
    /// let parts = discount.allocate(&[1, 1, 0, 1])?;
    /// assert_eq!(parts.iter().map(Amount::minor).collect::<Vec<_>>(), [34, 33, 0, 33]);
    /// assert_eq!(discount.allocate(&[0, 0]), Err(AmountError::NoWeight));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allocate(&self, weights: &[u64]) -> Result<Vec<Self>, AmountError> {
        let whole = u128::from(self.minor().unsigned_abs());
        let sum: u128 = weights.iter().copied().map(u128::from).sum();
        if sum == 0 {
            return Err(AmountError::NoWeight);
        }
        let exact = |weight: &u64| whole * u128::from(*weight);
        let mut parts: Vec<u128> = weights.iter().map(|weight| exact(weight) / sum).collect();
        let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
        by_remainder.sort_by_key(|&part| std::cmp::Reverse(exact(&weights[part]) % sum)); // stable: ties stay in order
        let left = whole - parts.iter().sum::<u128>();
        for (part, _unit) in by_remainder.into_iter().zip(0..left) {
            parts[part] += 1;
        }
        let amount = |minor| i64::try_from(minor).map_err(|_beyond| AmountError::TooLarge);
        parts.into_iter().map(|minor| Self::from_minor(self.currency(), amount(minor)?)).collect()
    }

    /// Parts in proportion to the amounts of `lines` that add up to the whole exactly, as [`allocate`](Self::allocate) makes them.
    ///
    /// # Errors
    /// [`AmountError::CurrencyMismatch`]; [`AmountError::NoWeight`] when there is no line above zero.
    ///
    /// ```
    /// use dropin_money::Amount;
    ///
    /// let (discount, lines): (Amount, [Amount; 2]) = ("5.00 EUR".parse()?, ["29.90 EUR".parse()?, "9.90 EUR".parse()?]);
    /// let parts = discount.allocate_over(&lines)?;
    /// assert_eq!([parts[0].to_string(), parts[1].to_string()], ["3.76", "1.24"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allocate_over(&self, lines: &[Self]) -> Result<Vec<Self>, AmountError> {
        let weight = |line: &Self| self.same_currency(line).map(|()| line.minor().unsigned_abs());
        self.allocate(&lines.iter().map(weight).collect::<Result<Vec<_>, _>>()?)
    }

    /// `parts` parts that differ by one minor unit at most and add up to the whole exactly; the larger ones first.
    ///
    /// # Errors
    /// [`AmountError::NoWeight`] for no part.
    ///
    /// ```
    /// use dropin_money::Amount;
    ///
    /// let instalments = "100 JPY".parse::<Amount>()?.split(3)?;
    /// assert_eq!(instalments.iter().map(Amount::minor).collect::<Vec<_>>(), [34, 33, 33]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split(&self, parts: u16) -> Result<Vec<Self>, AmountError> {
        self.allocate(&vec![1; parts.into()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    fn minors(parts: Result<Vec<Amount>, AmountError>) -> Vec<i64> {
        parts.unwrap().iter().map(Amount::minor).collect()
    }

    #[test]
    fn what_is_left_goes_to_the_largest_remainders_the_earlier_first() {
        assert_eq!(minors(amount("0.10 USD").allocate(&[3, 3, 1])), [4, 4, 2]); // 4.29, 4.29, 1.43
        assert_eq!(minors(amount("0.02 USD").allocate(&[1, 1, 1, 1])), [1, 1, 0, 0]);
        assert_eq!(minors(amount("0.05 USD").allocate(&[0, 1, 0, 1])), [0, 3, 0, 2]);
        assert_eq!(minors(amount("0.00 USD").allocate(&[2, 1])), [0, 0]);
        assert_eq!(minors(amount("0.01 KWD").allocate(&[1, 2, 4])), [1, 3, 6]); // 1.43, 2.86, 5.71
        assert_eq!(minors(amount("7 JPY").allocate(&[u64::MAX, u64::MAX])), [4, 3]);
    }

    #[test]
    fn nothing_that_weighs_anything_is_refused() {
        let whole = amount("1.00 USD");
        for refused in [whole.allocate(&[]), whole.allocate(&[0, 0]), whole.split(0), whole.allocate_over(&[])] {
            assert_eq!(refused, Err(AmountError::NoWeight));
        }
        assert_eq!(whole.allocate_over(&[whole, amount("1.00 EUR")]), Err(AmountError::CurrencyMismatch));
        assert_eq!(whole.split(u16::MAX).unwrap().len(), 65_535);
    }

    #[test]
    fn shares_are_rounded_as_named_and_bounded() {
        let share = |whole: &str, fraction: &str| {
            let fraction = fraction.parse().unwrap();
            Rounding::ALL.map(|rule| amount(whole).share(&fraction, rule).map(|share| share.minor()))
        };
        assert_eq!(share("0.25 USD", "0.1"), [Ok(3), Ok(2), Ok(2), Ok(3)]);
        assert_eq!(share("1 JPY", "1e-20"), [Ok(0), Ok(0), Ok(0), Ok(1)]);
        assert_eq!(share("1 JPY", "1e20"), [Err(AmountError::TooLarge); 4]);
        assert_eq!(share("1 JPY", "-1e-20"), [Err(AmountError::Negative); 4]);
        assert_eq!(share("0 JPY", "1e20"), [Ok(0); 4]);
    }
}
