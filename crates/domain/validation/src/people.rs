use std::fmt;

use dropin_kernel::{BillingProfileId, Violation, ViolationCode, Violations};
use dropin_money::{Amount, Currency, Decimal};
use time::Date;

use crate::contact::{BirthDate, Email, Phone};
use crate::country::Country;
use crate::identity::NationalIdentifier;
use crate::item::{SentNumber, sent_amount};
use crate::region::Region;
use crate::text::Text;

/// An address as it was sent.
///
/// ```
/// use dropin_validation::AddressInput;
///
/// let input = AddressInput { city: "Berlin".to_owned(), country: "DE".to_owned(), ..AddressInput::default() };
/// assert_eq!(input.region, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct AddressInput {
    /// Address.Street
    pub street: String,
    /// Address.City
    pub city: String,
    /// Address.Region
    pub region: Option<String>,
    /// Address.Country
    pub country: String,
    /// Address.Postcode
    pub postcode: Option<String>,
    /// Address.Phone
    pub phone: Option<String>,
}

/// A checked address (docs/SPECIFICATION.md#address): street, city and country everywhere, a region in Canada, Mexico and the United States, a
/// postcode there and in Brazil.
///
/// Its serialized form is read through the same checks.
///
/// ```
/// use dropin_validation::{Address, AddressInput};
///
/// let mut input = AddressInput {
///     street: "1 Main Street".to_owned(),
///     city: "Springfield".to_owned(),
///     region: Some("US-IL".to_owned()),
///     country: "US".to_owned(),
///     postcode: Some("62701".to_owned()),
///     phone: None,
/// };
/// let address = Address::parse("Address", &input).unwrap();
/// assert_eq!(address.country.name(), "United States of America");
/// input.postcode = None;
/// assert_eq!(Address::parse("Address", &input).unwrap_err().into_sorted()[0].field, "Address.Postcode");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "PascalCase"))]
pub struct Address {
    /// Street address.
    pub street: Text,
    /// City.
    pub city: Text,
    /// Subdivision; present for CA, MX, US.
    pub region: Option<Region>,
    /// Country.
    pub country: Country,
    /// Postal code; present for BR, CA, MX, US.
    pub postcode: Option<Text>,
    /// Phone of a billing profile may stand here too (docs/SPECIFICATION.md#phone).
    pub phone: Option<Phone>,
}

/// A billing profile as it was sent.
///
/// ```
/// use dropin_validation::BillingInput;
///
/// assert!(BillingInput { name: "Ana".to_owned(), ..BillingInput::default() }.email.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct BillingInput {
    /// BillingProfile.BillingProfileReference
    #[cfg_attr(feature = "serde", serde(rename = "BillingProfileReference"))]
    pub reference: Option<String>,
    /// BillingProfile.Name
    pub name: String,
    /// BillingProfile.Email
    pub email: String,
    /// BillingProfile.Phone
    pub phone: Option<String>,
    /// BillingProfile.BirthDate
    pub birth_date: Option<String>,
    /// Its other spelling: BillingProfile.Birthdate (docs/SPECIFICATION.md#birth-date)
    pub birthdate: Option<String>,
    /// BillingProfile.NationalIdentifier
    pub national_identifier: Option<String>,
    /// BillingProfile.Company
    pub company: Option<String>,
    /// BillingProfile.Address
    pub address: AddressInput,
}

/// Checked billing details (docs/SPECIFICATION.md#billing-profile): name, e-mail and address everywhere; a birth date in Brazil; a national
/// identifier in Argentina, Brazil and India; the company's name with a CNPJ.
///
/// Their serialized form is read through the same checks; what day it is when they are restored is not asked.
///
/// ```
/// use dropin_validation::{AddressInput, BillingDetails, BillingInput};
/// use time::macros::date;
///
/// let address = AddressInput {
///     street: "Unter den Linden 1".to_owned(),
///     city: "Berlin".to_owned(),
///     country: "DE".to_owned(),
///     ..AddressInput::default()
/// };
/// let mut input = BillingInput { name: "Ana".to_owned(), email: "ana@shop.example".to_owned(), address, ..Default::default() };
/// assert!(BillingDetails::parse("BillingProfile", &input, date!(2026 - 11 - 23)).is_ok());
/// input.address.country = "AR".to_owned();
/// let refused = BillingDetails::parse("BillingProfile", &input, date!(2026 - 11 - 23)).unwrap_err();
/// assert_eq!(refused.into_sorted()[0].field, "BillingProfile.NationalIdentifier");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "PascalCase"))]
pub struct BillingDetails {
    /// The merchant's own name for the profile.
    #[cfg_attr(feature = "serde", serde(rename = "BillingProfileReference"))]
    pub reference: Option<Text>,
    /// Full name.
    pub name: Text,
    /// E-mail address.
    pub email: Email,
    /// Phone number.
    pub phone: Option<Phone>,
    /// Birth date; present for BR.
    pub birth_date: Option<BirthDate>,
    /// National identifier as written; present for AR, BR, IN and checked there.
    pub national_identifier: Option<Text>,
    /// Company; present when a Brazilian company tax id is.
    pub company: Option<Text>,
    /// Billing address.
    pub address: Address,
}

/// A stored billing profile: details under a generated id. Never changes; a new request makes a new one.
///
/// ```
/// # use dropin_validation::{AddressInput, BillingDetails, BillingInput};
/// use dropin_kernel::{BillingProfileId, uuid::Uuid};
/// use dropin_validation::BillingProfile;
///
/// # let address = AddressInput { street: "1".to_owned(), city: "Berlin".to_owned(), country: "DE".to_owned(), ..Default::default() };
/// # let input = BillingInput { name: "Ana".to_owned(), email: "ana@shop.example".to_owned(), address, ..Default::default() };
/// # let details = BillingDetails::parse("BillingProfile", &input, dropin_validation::time::macros::date!(2026 - 11 - 23)).unwrap();
/// let profile = BillingProfile { id: BillingProfileId::new(Uuid::from_u128(7)), details };
/// assert_eq!(profile.details.name.as_str(), "Ana");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "PascalCase"))]
pub struct BillingProfile {
    /// Generated identifier.
    #[cfg_attr(feature = "serde", serde(rename = "BillingProfileId"))]
    pub id: BillingProfileId,
    /// What it says.
    pub details: BillingDetails,
}

/// Shipping details as they were sent. The default ships for nothing to an address that is empty.
///
/// ```
/// use dropin_money::Decimal;
/// use dropin_validation::ShippingInput;
///
/// assert_eq!(ShippingInput::default().shipping_amount, Decimal::parse("0"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippingInput {
    /// ShippingDetails.ShippingAmount
    pub shipping_amount: SentNumber,
    /// ShippingDetails.DutyAmount
    pub duty_amount: SentNumber,
    /// ShippingDetails.Name
    pub name: String,
    /// ShippingDetails.Email
    pub email: String,
    /// ShippingDetails.Phone
    pub phone: String,
    /// ShippingDetails.Address
    pub address: AddressInput,
}

/// Checked shipping details (docs/SPECIFICATION.md#shipping-details).
///
/// ```
/// use dropin_money::{Currency, Decimal};
/// use dropin_validation::{AddressInput, ShippingDetails, ShippingInput};
///
/// let address = AddressInput {
///     street: "Unter den Linden 1".to_owned(),
///     city: "Berlin".to_owned(),
///     country: "DE".to_owned(),
///     ..AddressInput::default()
/// };
/// let input = ShippingInput {
///     shipping_amount: Decimal::parse("4.5"),
///     name: "Ana".to_owned(),
///     email: "ana@shop.example".to_owned(),
///     phone: "+49 30 901820".to_owned(),
///     address,
///     ..ShippingInput::default()
/// };
/// let details = ShippingDetails::parse("ShippingDetails", &input, Currency::Eur).unwrap();
/// assert_eq!(details.shipping_amount.to_string(), "4.50");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", try_from = "crate::stored::StoredShipping")
)]
pub struct ShippingDetails {
    /// Shipping charge without taxes and duties; zero or more.
    pub shipping_amount: Amount,
    /// Duty; zero or more, in the same currency.
    pub duty_amount: Amount,
    /// Full name.
    pub name: Text,
    /// E-mail address.
    pub email: Email,
    /// Phone number.
    pub phone: Phone,
    /// Destination.
    pub address: Address,
}

impl Default for ShippingInput {
    fn default() -> Self {
        let (shipping_amount, duty_amount) = (Decimal::parse("0"), Decimal::parse("0"));
        let (name, email, phone) = (String::new(), String::new(), String::new());
        Self { shipping_amount, duty_amount, name, email, phone, address: AddressInput::default() }
    }
}

impl Address {
    /// Checks an address; `path` is its own, for example `BillingProfile.Address`.
    ///
    /// ```
    /// # use dropin_validation::{Address, AddressInput};
    /// let wrong = Address::parse("Address", &AddressInput::default()).unwrap_err().into_sorted();
    /// let fields: Vec<_> = wrong.into_iter().map(|violation| violation.field).collect();
    /// assert_eq!(fields, ["Address.City", "Address.Country", "Address.Street"]);
    /// ```
    ///
    /// # Errors
    /// Every violation of its fields, the rules of its country included (docs/SPECIFICATION.md#address).
    pub fn parse(path: impl fmt::Display, input: &AddressInput) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let street = all.check(Text::parse(format_args!("{path}.Street"), &input.street));
        let city = all.check(Text::parse(format_args!("{path}.City"), &input.city));
        let country = all.check(Country::parse(format_args!("{path}.Country"), &input.country));
        let region = country.and_then(|country| region(&mut all, &path, input.region.as_deref(), country));
        let postcode = optional(&mut all, format_args!("{path}.Postcode"), input.postcode.as_deref(), Text::parse);
        if input.postcode.is_none()
            && let Some(country) = country.filter(|country| country.requires_postcode())
        {
            missing(&mut all, format!("{path}.Postcode"), country);
        }
        let phone = optional(&mut all, format_args!("{path}.Phone"), input.phone.as_deref(), Phone::parse);
        let address = match (street, city, country) {
            (Some(street), Some(city), Some(country)) => Some(Self { street, city, region, country, postcode, phone }),
            _ => None,
        };
        all.into_result(address)
    }
}

impl BillingDetails {
    /// Checks a billing profile; `path` is its own, `today` the day in UTC.
    ///
    /// ```
    /// # use {dropin_validation::{BillingDetails, BillingInput}, time::macros::date};
    /// let wrong = BillingDetails::parse("B", &BillingInput::default(), date!(2026 - 11 - 23)).unwrap_err().into_sorted();
    /// let fields: Vec<_> = wrong.into_iter().map(|violation| violation.field).collect();
    /// assert_eq!(fields, ["B.Address.City", "B.Address.Country", "B.Address.Street", "B.Email", "B.Name"]);
    /// ```
    ///
    /// # Errors
    /// Every violation of its fields, the rules of its country included (docs/SPECIFICATION.md#billing-profile).
    pub fn parse(path: impl fmt::Display, input: &BillingInput, today: Date) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let reference =
            optional(&mut all, format_args!("{path}.BillingProfileReference"), input.reference.as_deref(), Text::parse);
        let name = all.check(Text::parse(format_args!("{path}.Name"), &input.name));
        let email = all.check(Email::parse(format_args!("{path}.Email"), &input.email));
        let phone = optional(&mut all, format_args!("{path}.Phone"), input.phone.as_deref(), Phone::parse);
        let birth_date = birth_date(&mut all, &path, input, today);
        let id_field = format_args!("{path}.NationalIdentifier");
        let national_identifier = optional(&mut all, id_field, input.national_identifier.as_deref(), Text::parse);
        let company = optional(&mut all, format_args!("{path}.Company"), input.company.as_deref(), Text::parse);
        // The country's rules hold also where other parts of the address are wrong.
        if let Ok(country) = Country::parse("", &input.address.country) {
            country_rules(&mut all, &path, input, national_identifier.as_ref(), country);
        }
        let address = all.check_all(Address::parse(format_args!("{path}.Address"), &input.address));
        let details = match (name, email, address) {
            (Some(name), Some(email), Some(address)) => {
                Some(Self { reference, name, email, phone, birth_date, national_identifier, company, address })
            }
            _ => None,
        };
        all.into_result(details)
    }
}

impl ShippingDetails {
    /// Checks shipping details; `path` is its own, its amounts are in `currency`.
    ///
    /// ```
    /// # use {dropin_money::{Currency, Decimal}, dropin_validation::{ShippingDetails, ShippingInput}};
    /// let input = ShippingInput { duty_amount: Decimal::parse("0.5"), ..ShippingInput::default() };
    /// let wrong = ShippingDetails::parse("S", &input, Currency::Jpy).unwrap_err().into_sorted();
    /// assert!(wrong.iter().any(|violation| violation.field == "S.DutyAmount"));
    /// ```
    ///
    /// # Errors
    /// Every violation of its fields (docs/SPECIFICATION.md#shipping-details).
    pub fn parse(path: impl fmt::Display, input: &ShippingInput, currency: Currency) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let shipping = all.check(sent_amount(format_args!("{path}.ShippingAmount"), currency, &input.shipping_amount));
        let duty = all.check(sent_amount(format_args!("{path}.DutyAmount"), currency, &input.duty_amount));
        let name = all.check(Text::parse(format_args!("{path}.Name"), &input.name));
        let email = all.check(Email::parse(format_args!("{path}.Email"), &input.email));
        let phone = all.check(Phone::parse(format_args!("{path}.Phone"), &input.phone));
        let address = all.check_all(Address::parse(format_args!("{path}.Address"), &input.address));
        let details = match (shipping, duty, name, email, phone, address) {
            (Some(shipping_amount), Some(duty_amount), Some(name), Some(email), Some(phone), Some(address)) => {
                Some(Self { shipping_amount, duty_amount, name, email, phone, address })
            }
            _ => None,
        };
        all.into_result(details)
    }
}

/// Region is required for CA, MX and US, and a subdivision there (docs/SPECIFICATION.md#regions).
fn region(all: &mut Violations, path: &impl fmt::Display, raw: Option<&str>, country: Country) -> Option<Region> {
    match raw {
        Some(raw) => all.check(Region::parse(format_args!("{path}.Region"), raw, country)),
        None => {
            if country.requires_region() {
                missing(all, format!("{path}.Region"), country);
            }
            None
        }
    }
}

/// `BirthDate` or `Birthdate`; both given must be the same (docs/SPECIFICATION.md#birth-date).
fn birth_date(all: &mut Violations, path: &impl fmt::Display, input: &BillingInput, today: Date) -> Option<BirthDate> {
    match (&input.birth_date, &input.birthdate) {
        (Some(one), Some(other)) if one.trim() != other.trim() => {
            let why = "BirthDate and Birthdate are the same field; send one of them";
            all.push(format!("{path}.BirthDate"), ViolationCode::Conflict, why);
            all.push(format!("{path}.Birthdate"), ViolationCode::Conflict, why);
            None
        }
        (Some(raw), _) => all.check(BirthDate::parse(format_args!("{path}.BirthDate"), raw, today)),
        (None, Some(raw)) => all.check(BirthDate::parse(format_args!("{path}.Birthdate"), raw, today)),
        (None, None) => None,
    }
}

/// What a country asks of a billing profile (docs/SPECIFICATION.md#billing-profile).
fn country_rules(
    all: &mut Violations,
    path: &impl fmt::Display,
    input: &BillingInput,
    id: Option<&Text>,
    country: Country,
) {
    if country.code() == "BR" && input.birth_date.is_none() && input.birthdate.is_none() {
        missing(all, format!("{path}.BirthDate"), country);
    }
    if NationalIdentifier::is_required(country) && input.national_identifier.is_none() {
        missing(all, format!("{path}.NationalIdentifier"), country);
    }
    let Some(id) = id else { return };
    let read = NationalIdentifier::parse(country, id.as_str())
        .map_err(|refused| refused.at(format_args!("{path}.NationalIdentifier")));
    let company = all.check(read).flatten().is_some_and(NationalIdentifier::is_brazilian_company);
    if company && input.company.is_none() {
        all.push(format!("{path}.Company"), ViolationCode::Missing, "is required with the tax id of a company (CNPJ)");
    }
}

fn missing(all: &mut Violations, field: String, country: Country) {
    all.push(field, ViolationCode::Missing, format!("is required for country {}", country.code()));
}

fn optional<'f, T>(
    all: &mut Violations,
    field: fmt::Arguments<'f>,
    raw: Option<&str>,
    parse: impl FnOnce(fmt::Arguments<'f>, &str) -> Result<T, Violation>,
) -> Option<T> {
    raw.and_then(|raw| all.check(parse(field, raw)))
}
