use dropin_money::{Amount, AmountError};

use crate::{ExchangeError, ExchangeRate};

/// What a sale and its refunds come to in the currency that the merchant is paid out in: the base of the rate. The shopper pays in its quote.
impl ExchangeRate {
    /// What a sale of `total` settles for: as [`to_base`](Self::to_base), but a total that is worth less than one minor unit of the settlement
    /// currency has no settlement amount. It is never raised to a minimum, and never zero for something.
    ///
    /// # Errors
    /// [`ExchangeError::CurrencyMismatch`] for a total that is not in the quote currency, [`ExchangeError::TooLarge`],
    /// [`ExchangeError::TooSmall`].
    ///
    /// ```
    /// use dropin_money::{Amount, Currency};
    /// use dropin_rates::{ExchangeError, ExchangeRate};
    ///
    /// let rate: ExchangeRate = "EUR/USD 1.1172".parse().unwrap();
    /// let total = Amount::from_minor(Currency::Usd, 99_95).unwrap();
    /// assert_eq!(rate.settlement_amount(&total).unwrap().to_string(), "89.46");
    ///
    /// let euros = Amount::from_minor(Currency::Eur, 10_000).unwrap();
    /// assert_eq!(rate.settlement_amount(&euros), Err(ExchangeError::CurrencyMismatch));
    /// ```
    pub fn settlement_amount(self, total: &Amount) -> Result<Amount, ExchangeError> {
        let exact = self.exactly_in_base(total)?;
        if exact.is_below_minor_unit() { Err(ExchangeError::TooSmall) } else { exact.rounded() }
    }

    /// What a refund of `amount` takes back in the settlement currency, at the rate of the sale.
    ///
    /// `refunded` is what was refunded before (under way included, failed ones not), `settled` what those refunds took back. Counted is
    /// from the whole: what everything refunded up to now comes to, less what was taken back already. So the parts always add up to the
    /// settlement amount of all that was refunded, the last part of a complete refund takes exactly the rest, and no part is negative;
    /// a part may be nothing when it is below the minor unit. Refunds that fail in between are made up for by the next one.
    ///
    /// # Errors
    /// [`ExchangeError::CurrencyMismatch`] unless `refunded` and `amount` are in the quote currency and `settled` in the base currency;
    /// [`ExchangeError::TooLarge`].
    ///
    /// ```
    /// use dropin_money::{Amount, Currency};
    /// use dropin_rates::ExchangeRate;
    ///
    /// let rate: ExchangeRate = "EUR/USD 3".parse().unwrap();
    /// let cents = |minor| Amount::from_minor(Currency::Usd, minor).unwrap();
    /// let nothing = Amount::zero(Currency::Eur);
    /// let first = rate.refund_share(&cents(0), &nothing, &cents(5)).unwrap();
    /// let second = rate.refund_share(&cents(5), &first, &cents(5)).unwrap();
    /// // 5 / 3 is 1.67, and 10 / 3 is 3.33: together they take 3 cents.
    /// assert_eq!((first.minor(), second.minor()), (2, 1));
    /// ```
    pub fn refund_share(self, refunded: &Amount, settled: &Amount, amount: &Amount) -> Result<Amount, ExchangeError> {
        if settled.currency() != self.base() {
            return Err(ExchangeError::CurrencyMismatch);
        }
        let all = refunded.checked_add(amount).map_err(|error| match error {
            AmountError::CurrencyMismatch => ExchangeError::CurrencyMismatch,
            _ => ExchangeError::TooLarge,
        })?;
        let all_settled = self.to_base(&all)?;
        Ok(all_settled.checked_sub(settled).unwrap_or_else(|_more_already| Amount::zero(self.base())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropin_money::Currency;

    fn settled(minor: i64, shopper: Currency, settlement: Currency, rate: &str) -> Result<String, ExchangeError> {
        let total = Amount::from_minor(shopper, minor).unwrap();
        let rate = ExchangeRate::new(settlement, shopper, rate.parse().unwrap()).unwrap();
        rate.settlement_amount(&total).map(|amount| amount.to_string())
    }

    #[test]
    fn rounded_half_to_even_in_the_minor_unit_of_the_settlement_currency() {
        use Currency::{Eur, Jpy, Kwd, Usd, Vnd};
        for (minor, shopper, settlement, rate, shown) in [
            (99_95, Usd, Eur, "1.1172", "89.46"),
            (1_01, Usd, Eur, "2", "0.50"),
            (1_03, Usd, Eur, "2", "0.52"),
            (2, Usd, Eur, "2", "0.01"),
            (1_000, Jpy, Usd, "150", "6.67"),
            (1_000, Jpy, Kwd, "500", "2.000"),
            (1_001, Kwd, Jpy, "0.002", "500"),
            (1_003, Kwd, Jpy, "0.002", "502"),
            (0, Usd, Eur, "1.1172", "0.00"),
            (260, Vnd, Usd, "26000", "0.01"),
        ] {
            assert_eq!(settled(minor, shopper, settlement, rate), Ok(shown.to_owned()), "{minor} {shopper}");
        }
    }

    #[test]
    fn what_is_worth_less_than_the_smallest_unit_settles_for_nothing_and_is_refused() {
        use Currency::{Eur, Kwd, Lbp, Usd, Vnd};
        for (minor, shopper, settlement, rate) in
            [(1, Lbp, Eur, "104000"), (259, Vnd, Usd, "26000"), (1, Lbp, Kwd, "290000"), (1, Usd, Eur, "1.0000000001")]
        {
            assert_eq!(settled(minor, shopper, settlement, rate), Err(ExchangeError::TooSmall), "{minor} {shopper}");
        }
        assert_eq!(settled(1, Usd, Eur, "1"), Ok("0.01".to_owned()), "exactly one");
    }

    #[test]
    fn amounts_stay_amounts() {
        use Currency::{Bhd, Jpy, Kwd, Lbp};
        assert_eq!(settled(999_999_999_999_999, Kwd, Lbp, "0.000003"), Err(ExchangeError::TooLarge));
        assert_eq!(settled(999_999_999_999_999, Kwd, Bhd, "0.000000010203040506"), Err(ExchangeError::TooLarge));
        assert_eq!(settled(999_999_999_999_999, Kwd, Jpy, "999999999.999999"), Ok("1000".to_owned()));
        assert_eq!(settled(999_999_999_999_999, Kwd, Kwd, "1"), Ok("999999999999.999".to_owned()));
    }

    #[test]
    fn the_last_refund_takes_the_rest() {
        let rate: ExchangeRate = "EUR/USD 3".parse().unwrap();
        let (mut refunded, mut back) = (Amount::zero(Currency::Usd), Amount::zero(Currency::Eur));
        let mut shares = Vec::new();
        for minor in [1, 1, 1, 4, 3] {
            let amount = Amount::from_minor(Currency::Usd, minor).unwrap();
            let share = rate.refund_share(&refunded, &back, &amount).unwrap();
            refunded = refunded.checked_add(&amount).unwrap();
            back = back.checked_add(&share).unwrap();
            shares.push(share.minor());
        }
        assert_eq!((shares, back.minor()), (vec![0, 1, 0, 1, 1], 3));
        assert_eq!(rate.settlement_amount(&refunded), Ok(back));
    }

    #[test]
    fn mixed_currencies_are_a_defect() {
        let (usd, eur) = (Amount::zero(Currency::Usd), Amount::zero(Currency::Eur));
        let rate: ExchangeRate = "EUR/USD 1".parse().unwrap();
        for (refunded, settled, amount) in
            [(&usd, &eur, &eur), (&usd, &usd, &usd), (&eur, &eur, &eur), (&eur, &eur, &usd)]
        {
            assert_eq!(rate.refund_share(refunded, settled, amount), Err(ExchangeError::CurrencyMismatch));
        }
        assert_eq!(rate.refund_share(&usd, &eur, &usd), Ok(eur));
    }
}
