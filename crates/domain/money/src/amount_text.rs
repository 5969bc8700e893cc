use std::fmt;
use std::str::FromStr;

use crate::{Amount, AmountError, Currency, Decimal, DecimalError, UnknownCurrency};

/// Why a text is no amount.
///
/// ```
/// use dropin_money::{Amount, ParseAmountError};
///
/// let why = |text: &str| text.parse::<Amount>().unwrap_err().to_string();
/// assert_eq!(why("29.90"), "must be a number, one space and a currency code, such as 29.90 EUR");
/// assert_eq!(why("29,90 EUR"), "the number must be a JSON number");
/// assert_eq!(why("29.90 eur"), "the currency is not one of the 60 currencies of Dropin, such as USD");
/// assert_eq!(why("29.901 EUR"), "EUR has 2 decimals at most");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ParseAmountError {
    /// It is not two parts with one space between them.
    #[error("must be a number, one space and a currency code, such as 29.90 EUR")]
    Form,
    /// The part before the space is no usable number.
    #[error("the number {0}")]
    Number(#[from] DecimalError),
    /// The part after the space is no code of a currency.
    #[error("the currency {0}")]
    Currency(#[from] UnknownCurrency),
    /// The number is no amount of the currency.
    #[error(transparent)]
    Amount(#[from] AmountError),
}

impl FromStr for Amount {
    type Err = ParseAmountError;

    /// Reads `29.90 EUR`: a JSON number, one space, a code in upper case.
    fn from_str(text: &str) -> Result<Self, ParseAmountError> {
        let (number, code) = text.split_once(' ').ok_or(ParseAmountError::Form)?;
        if number.is_empty() || code.is_empty() || code.contains(' ') {
            return Err(ParseAmountError::Form);
        }
        let (number, currency): (Decimal, Currency) = (number.parse()?, code.parse()?);
        Ok(Self::from_decimal(currency, &number)?)
    }
}

impl fmt::Display for Amount {
    /// The plain number with all decimals of the currency, `29.90`, a valid JSON number; with `#` the code too, `29.90 EUR`.
    ///
    /// A width pads it, on the left unless told otherwise; a precision changes nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (exponent, minor) = (self.currency().exponent(), self.minor());
        let (one, decimals) = (10_i64.pow(exponent.into()), usize::from(exponent));
        let mut text =
            if decimals == 0 { minor.to_string() } else { format!("{}.{:0decimals$}", minor / one, minor % one) };
        if f.alternate() {
            text.push(' ');
            text.push_str(self.currency().code());
        }
        f.pad_integral(true, "", &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_number_one_space_and_a_code() {
        for (text, shown) in [("29.9 EUR", "29.90 EUR"), ("1e3 JPY", "1000 JPY"), ("0 KWD", "0.000 KWD")] {
            assert_eq!(text.parse::<Amount>().map(|amount| format!("{amount:#}")), Ok(shown.to_owned()));
        }
        for text in
            ["", " ", "29.90", "29.90EUR", "29.90  EUR", " 29.90 EUR", "29.90 EUR ", "29.90 EUR x", " EUR", "29.90 "]
        {
            assert_eq!(text.parse::<Amount>(), Err(ParseAmountError::Form), "{text:?}");
        }
        for (text, error) in [
            ("EUR 29.90", DecimalError::NotANumber.into()),
            ("29.90\u{a0}EUR x", DecimalError::NotANumber.into()),
            ("1e99 EUR", DecimalError::OutOfRange.into()),
            ("29.90 eur", UnknownCurrency.into()),
            ("29.90 EUR\n", UnknownCurrency.into()),
            ("-1 EUR", AmountError::Negative.into()),
            ("1000000000000 EUR", AmountError::TooLarge.into()),
            ("0.5 JPY", AmountError::TooPrecise { currency: Currency::Jpy.into() }.into()),
        ] as [(&str, ParseAmountError); 8]
        {
            assert_eq!(text.parse::<Amount>(), Err(error), "{text:?}");
        }
    }

    #[test]
    fn a_width_pads_and_a_precision_takes_nothing_away() {
        let amount: Amount = "29.90 EUR".parse().unwrap();
        assert_eq!(
            format!("{amount:>8}|{amount:<8}|{amount:8}|{amount:.1}|{amount:_^9}"),
            "   29.90|29.90   |   29.90|29.90|__29.90__"
        );
        assert_eq!(format!("{amount:#12}|{amount:<#12}|{amount:#.1}"), "   29.90 EUR|29.90 EUR   |29.90 EUR");
    }
}
