use dropin_money::Amount;
use dropin_rates::Rate;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// An amount or rate on its way out: the exact number, an amount with all decimals of its currency, never through a float.
#[derive(Debug, Clone)]
pub(crate) struct ExactNumber(Box<RawValue>);

impl From<&Amount> for ExactNumber {
    fn from(amount: &Amount) -> Self {
        Self(RawValue::from_string(amount.to_string()).expect("an amount displays as a JSON number"))
    }
}

impl From<Rate> for ExactNumber {
    fn from(rate: Rate) -> Self {
        Self(RawValue::from_string(rate.to_string()).expect("a rate displays as a JSON number"))
    }
}

impl Serialize for ExactNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropin_money::Currency;

    #[test]
    fn amounts_keep_every_digit_and_decimal() {
        for (currency, minor, text) in [
            (Currency::Usd, 2_990, "29.90"),
            (Currency::Usd, 10, "0.10"),
            (Currency::Jpy, 1_000, "1000"),
            (Currency::Kwd, 999_999_999_999_999, "999999999999.999"),
        ] {
            let number = ExactNumber::from(&Amount::from_minor(currency, minor).unwrap());
            assert_eq!(serde_json::to_string(&number).unwrap(), text);
        }
    }
}
