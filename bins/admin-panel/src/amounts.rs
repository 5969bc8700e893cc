//! Amounts that people type: written as the API writes them, so that none is read as another one. Where one person writes thousands with a comma or a
//! point, another one writes cents.

use dropin_money::{Amount, Currency, Decimal};

use crate::show;
use crate::texts::texts;

/// What the pages of some languages write between thousands. It is no decimal mark anywhere, so that what a page shows can be typed.
const GROUP: char = '\u{202f}';

/// A typed amount of a currency.
///
/// # Errors
/// What a person is told: no number, one with a comma, or one with more decimals than the currency has, as `1.000` is in dollars.
pub(crate) fn typed(text: &str, currency: Currency) -> Result<Amount, String> {
    let plain = text.replace(GROUP, "");
    let number = Decimal::parse(&plain).map_err(|_no_number| texts().no_amount(text))?;
    if !fits(&plain, currency) {
        return Err(texts().too_many_decimals(text, currency));
    }
    Amount::from_decimal(currency, &number)
        .map_err(|error| texts().amount_refused(text, currency, texts().domain(&error.to_string())))
}

/// The totals that a typed amount stands for: one in a currency, else one in each that can have it. Thousands may be apart as a page shows them,
/// where the decimals tell that they are thousands.
///
/// # Errors
/// What a person is told.
pub(crate) fn typed_totals(text: &str, currency: Option<Currency>) -> Result<Vec<Amount>, String> {
    let without_commas = text.replace(',', "");
    let is_grouped = text.contains('.') && show::grouped_by(&without_commas, ",") == text;
    let plain = if is_grouped { without_commas } else { text.replace(GROUP, "") };
    let number = Decimal::parse(&plain).map_err(|_no_number| texts().no_amount_to_find(text))?;
    let currencies = currency.map_or_else(|| Currency::ALL.to_vec(), |one| vec![one]);
    let fitting = currencies.into_iter().filter(|one| fits(&plain, *one));
    let totals: Vec<_> = fitting.filter_map(|one| Amount::from_decimal(one, &number).ok()).collect();
    if totals.is_empty() { Err(texts().no_total(text)) } else { Ok(totals) }
}

/// Whether a number has no more decimals than the currency, zeros at its end included.
fn fits(number: &str, currency: Currency) -> bool {
    number.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= usize::from(currency.exponent()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_never_read_as_another_one() {
        let read = |text, currency| typed(text, currency).map(|amount| amount.to_string());
        for (text, currency, is) in [
            ("1250.00", Currency::Eur, "1250.00"),
            ("1250", Currency::Eur, "1250.00"),
            ("1\u{202f}250.5", Currency::Eur, "1250.50"),
            ("1.000", Currency::Kwd, "1.000"),
            ("1000", Currency::Jpy, "1000"),
        ] {
            assert_eq!(read(text, currency).as_deref(), Ok(is), "{text}");
        }
        for (text, currency) in [
            ("1.000", Currency::Eur),
            ("1.000", Currency::Jpy),
            ("1,000", Currency::Eur),
            ("29,90", Currency::Eur),
            ("1.250,00", Currency::Eur),
            ("1,250.00", Currency::Eur),
            ("1 000", Currency::Eur),
            ("much", Currency::Eur),
        ] {
            assert!(read(text, currency).is_err(), "{text} {currency}");
        }
    }

    #[test]
    fn a_search_takes_thousands_apart_where_they_are_sure() {
        let found = |text| typed_totals(text, Some(Currency::Usd)).map(|totals| totals[0].to_string());
        assert_eq!(found("29.90").as_deref(), Ok("29.90"));
        assert_eq!(found("1,250.00").as_deref(), Ok("1250.00"));
        for unsure in ["1,250", "29,90", "1.000", "12,50.00", "1.250,00"] {
            assert!(found(unsure).is_err(), "{unsure}");
        }
        assert!(typed_totals("1.000", None).unwrap().iter().all(|total| total.currency().exponent() == 3));
    }
}
