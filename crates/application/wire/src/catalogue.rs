//! Payment methods: what GET {checkout_url}/v2.22/getPaymentMethods is asked and answers (docs/SPECIFICATION.md#catalogue).

use dropin_catalogue::{Locale, Offered};
use dropin_kernel::{Violation, ViolationCode, Violations};
use dropin_money::{Amount, Currency, Decimal};
use dropin_validation::{Country, parse_amount, parse_currency};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request::RequestError;
use crate::schema;
use crate::wallet::TokenMethodBody;

/// What is asked of the catalogue. What is not given does not narrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodsQuery {
    /// MerchantId as it was sent; whether it names anybody is not known yet.
    pub merchant_id: String,
    /// The shopper's billing country.
    pub country: Option<Country>,
    /// The currency to pay in.
    pub currency: Option<Currency>,
    /// How much, in that currency.
    pub amount: Option<Amount>,
    /// In which language the names are wanted.
    pub locale: Option<Locale>,
}

impl MethodsQuery {
    /// Reads the parameters, by their names.
    ///
    /// # Errors
    /// Everything that is missing or wrong, at once.
    pub fn parse<'a>(given: impl Fn(&str) -> Option<&'a str>) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let required =
            |name: &str| given(name).ok_or_else(|| Violation::new(name, ViolationCode::Missing, "is required"));
        let merchant_id = all.check(required("MerchantId"));
        let country = given("Country").map(|code| all.check(Country::parse("Country", code)));
        let currency = given("Currency").map(|code| all.check(parse_currency("Currency", code)));
        let amount = given("Amount").map(|text| match currency {
            None => {
                all.push("Currency", ViolationCode::Missing, "is required beside Amount");
                None
            }
            Some(currency) => currency.and_then(|currency| all.check(read_amount(text, currency))),
        });
        let locale = given("Locale").map(|text| all.check(parse_locale("Locale", text)));
        let read = merchant_id.map(|merchant_id| Self {
            merchant_id: merchant_id.to_owned(),
            country: country.flatten(),
            currency: currency.flatten(),
            amount: amount.flatten(),
            locale: locale.flatten(),
        });
        Ok(all.into_result(read)?)
    }
}

/// A display language; `field` is where it was given.
pub(crate) fn parse_locale(field: &str, text: &str) -> Result<Locale, Violation> {
    let why = "must be a language and a country, such as de_AT";
    Locale::parse(text).ok_or_else(|| Violation::new(field, ViolationCode::Invalid, why))
}

fn read_amount(text: &str, currency: Currency) -> Result<Amount, Violation> {
    let number = Decimal::parse(text)
        .map_err(|_no_number| Violation::new("Amount", ViolationCode::Invalid, "must be a number, such as 29.90"))?;
    parse_amount("Amount", currency, &number)
}

/// What a merchant offers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = PaymentMethods)]
pub struct MethodsBody {
    /// In the order they are to be shown; may be empty.
    pub payment_methods: Vec<ListedMethodBody>,
    /// Wallets that hand over a token, to be stashed; may be empty.
    pub token_methods: Vec<TokenMethodBody>,
}

/// A payment method.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = ListedPaymentMethod)]
pub struct ListedMethodBody {
    /// For PaymentMethod in the checkout.
    id: String,
    /// For the shopper to read.
    name: String,
    /// Card: the shopper's card has to be stashed. Online: the shopper is sent to a page. Offline: the shopper pays elsewhere, later.
    #[schema(value_type = schema::MethodClass)]
    class: &'static str,
    /// Of Name: the language that was asked for where the name is known in it, else en.
    language: String,
    /// Whether it belongs to a country or region, as a scheme of its banks does.
    local: bool,
    parameters: MethodParametersBody,
}

/// What else a page needs to show a method: for pay-later when a country, currency or locale tells the shopper's region; an empty object else.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = PaymentMethodParameters)]
pub struct MethodParametersBody {
    /// For data-client-id of the messaging script.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    pub client_id: Option<String>,
    /// For src of the messaging script.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    pub on_site_java_script_url: Option<String>,
}

impl ListedMethodBody {
    /// The entry of `method`, its name in `language` where that is known.
    pub fn new(method: &Offered, language: &str, parameters: MethodParametersBody) -> Self {
        let (name, language) = method.name_in(language);
        Self {
            id: method.id().to_owned(),
            name: name.to_owned(),
            class: method.class().as_str(),
            language: language.to_owned(),
            local: method.is_local(),
            parameters,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &[(&str, &'static str)]) -> Result<MethodsQuery, Vec<(String, &'static str)>> {
        let read = MethodsQuery::parse(|name| query.iter().find(|(known, _)| *known == name).map(|(_, value)| *value));
        read.map_err(|error| match error {
            RequestError::Fields(all) => all.into_iter().map(|one| (one.field, one.code.as_str())).collect(),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn everything_but_the_merchant_may_be_left_out() {
        let read = parse(&[("MerchantId", "m")]).unwrap();
        assert_eq!(
            (read.merchant_id.as_str(), read.country, read.currency, read.amount, read.locale),
            ("m", None, None, None, None)
        );
        let full =
            [("MerchantId", "m"), ("Country", "NL"), ("Currency", "EUR"), ("Amount", "29.90"), ("Locale", "nl_NL")];
        let read = parse(&full).unwrap();
        assert_eq!(read.country.map(Country::code), Some("NL"));
        assert_eq!(read.amount.map(|amount| amount.minor()), Some(2_990));
        assert_eq!(read.locale.map(|locale| locale.language().to_owned()), Some("nl".to_owned()));
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let wrong = [("Country", "nl"), ("Currency", "XTS"), ("Amount", "x"), ("Locale", "nl-NL")];
        let told = parse(&wrong).unwrap_err();
        let expected = [
            ("Country", "VALUE_NOT_ALLOWED"),
            ("Currency", "VALUE_NOT_ALLOWED"),
            ("Locale", "FIELD_INVALID"),
            ("MerchantId", "FIELD_MISSING"),
        ];
        assert_eq!(told, expected.map(|(field, code)| (field.to_owned(), code)));
    }

    #[test]
    fn an_amount_needs_its_currency_and_has_its_decimals() {
        let amount = |currency: Option<&'static str>, text: &'static str| {
            let mut query = vec![("MerchantId", "m"), ("Amount", text)];
            query.extend(currency.map(|code| ("Currency", code)));
            parse(&query).map(|read| read.amount.map(|amount| amount.minor())).map_err(|all| all[0].clone())
        };
        assert_eq!(amount(Some("JPY"), "2990"), Ok(Some(2_990)));
        assert_eq!(amount(None, "1"), Err(("Currency".to_owned(), "FIELD_MISSING")));
        for (text, code) in [
            ("29.90", "FIELD_INVALID"),
            ("-1", "VALUE_OUT_OF_RANGE"),
            ("1e400", "FIELD_INVALID"),
            ("9999999999999", "VALUE_OUT_OF_RANGE"),
            ("NaN", "FIELD_INVALID"),
            ("1,5", "FIELD_INVALID"),
        ] {
            assert_eq!(amount(Some("JPY"), text), Err(("Amount".to_owned(), code)), "{text}");
        }
    }
}
