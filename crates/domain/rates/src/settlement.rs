use dropin_money::{Amount, Currency};

use crate::Rate;
use crate::ratio::divide_half_even;

/// Why an amount has no counterpart in the settlement currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettlementError {
    /// It would have more than twelve digits before the point.
    #[error("the amount is too large in the settlement currency")]
    TooLarge,
    /// Amounts were given in the wrong currencies: a defect of the caller.
    #[error("the amounts have other currencies than the sale")]
    CurrencyMismatch,
}

/// What `total` is in the settlement currency, at `rate` shopper units for one settlement unit: the exact quotient rounded once, half to even,
/// to the settlement currency's minor unit. A positive total is at least one minor unit, so that no sale settles for nothing.
///
/// # Errors
/// [`SettlementError::TooLarge`].
pub fn settlement_amount(total: &Amount, settlement: Currency, rate: Rate) -> Result<Amount, SettlementError> {
    let minor = u128::try_from(total.minor()).map_err(|_negative| SettlementError::CurrencyMismatch)?;
    if minor == 0 {
        return Ok(Amount::zero(settlement));
    }
    let (digits, decimals) = rate.parts();
    // Below 10^15 × 10^(3 + 18), and below 10^3 × 10^15.
    let numerator = minor * 10_u128.pow(u32::from(settlement.exponent()) + decimals);
    let denominator = digits * 10_u128.pow(u32::from(total.currency().exponent()));
    let settled = divide_half_even(numerator, denominator).max(1);
    let settled = i64::try_from(settled).map_err(|_beyond| SettlementError::TooLarge)?;
    Amount::from_minor(settlement, settled).map_err(|_beyond| SettlementError::TooLarge)
}

/// What a refund of `amount` takes back in the settlement currency, at the rate of the sale.
///
/// `refunded` is what was refunded before (under way included, failed ones not), `settled` what those refunds took back. Counted is
/// from the whole: what everything refunded up to now comes to, less what was taken back already. So the parts always add up to the
/// settlement amount of all that was refunded, the last part of a complete refund takes exactly the rest, and no part is negative;
/// a part may be nothing when it is below the minor unit. Refunds that fail in between are made up for by the next one.
///
/// # Errors
/// [`SettlementError`].
pub fn refund_share(
    rate: Rate,
    refunded: &Amount,
    settled: &Amount,
    amount: &Amount,
) -> Result<Amount, SettlementError> {
    let mismatch = refunded.currency() != amount.currency();
    let all = refunded
        .checked_add(amount)
        .map_err(|_other| if mismatch { SettlementError::CurrencyMismatch } else { SettlementError::TooLarge })?;
    let all_settled = settlement_amount(&all, settled.currency(), rate)?;
    Ok(all_settled.checked_sub(settled).unwrap_or_else(|_more_already| Amount::zero(settled.currency())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(minor: i64, shopper: Currency, settlement: Currency, rate: &str) -> Result<String, SettlementError> {
        let total = Amount::from_minor(shopper, minor).unwrap();
        settlement_amount(&total, settlement, rate.parse().unwrap()).map(|amount| amount.to_string())
    }

    #[test]
    fn rounded_half_to_even_in_the_minor_unit_of_the_settlement_currency() {
        use Currency::{Eur, Jpy, Kwd, Lbp, Usd, Vnd};
        for (minor, shopper, settlement, rate, shown) in [
            (99_95, Usd, Eur, "1.1172", "89.46"),
            (1_01, Usd, Eur, "2", "0.50"),
            (1_03, Usd, Eur, "2", "0.52"),
            (1, Usd, Eur, "2", "0.01"),
            (1_000, Jpy, Usd, "150", "6.67"),
            (1_000, Jpy, Kwd, "500", "2.000"),
            (1_001, Kwd, Jpy, "0.002", "500"),
            (1_003, Kwd, Jpy, "0.002", "502"),
            (0, Usd, Eur, "1.1172", "0.00"),
            // Far below a cent, and yet a sale.
            (1, Vnd, Usd, "26000", "0.01"),
            (1, Lbp, Kwd, "290000", "0.001"),
        ] {
            assert_eq!(settled(minor, shopper, settlement, rate), Ok(shown.to_owned()), "{minor} {shopper}");
        }
    }

    #[test]
    fn amounts_stay_amounts() {
        use Currency::{Jpy, Kwd, Lbp};
        assert_eq!(settled(999_999_999_999_999, Kwd, Lbp, "0.000003"), Err(SettlementError::TooLarge));
        assert_eq!(settled(999_999_999_999_999, Kwd, Kwd, "0.000000010203040506"), Err(SettlementError::TooLarge));
        assert_eq!(settled(999_999_999_999_999, Kwd, Jpy, "999999999.999999"), Ok("1000".to_owned()));
        assert_eq!(settled(999_999_999_999_999, Kwd, Kwd, "1"), Ok("999999999999.999".to_owned()));
    }

    #[test]
    fn the_last_refund_takes_the_rest() {
        let rate: Rate = "3".parse().unwrap();
        let (mut refunded, mut back) = (Amount::zero(Currency::Usd), Amount::zero(Currency::Eur));
        let mut shares = Vec::new();
        for minor in [1, 1, 1, 4, 3] {
            let amount = Amount::from_minor(Currency::Usd, minor).unwrap();
            let share = refund_share(rate, &refunded, &back, &amount).unwrap();
            refunded = refunded.checked_add(&amount).unwrap();
            back = back.checked_add(&share).unwrap();
            shares.push(share.minor());
        }
        assert_eq!((shares, back.minor()), (vec![1, 0, 0, 1, 1], 3));
        assert_eq!(settlement_amount(&refunded, Currency::Eur, rate), Ok(back));
    }

    #[test]
    fn mixed_currencies_are_a_defect() {
        let (usd, eur) = (Amount::zero(Currency::Usd), Amount::zero(Currency::Eur));
        assert_eq!(refund_share(Rate::ONE, &usd, &eur, &eur), Err(SettlementError::CurrencyMismatch));
    }
}
