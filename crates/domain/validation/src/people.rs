use std::fmt;

use dropin_kernel::{BillingProfileId, Violation, ViolationCode, Violations};
use dropin_money::{Amount, Currency};
use time::Date;

use crate::contact::{BirthDate, Email, Phone};
use crate::country::{Country, Region};
use crate::identity::{self, Holder};
use crate::item::{SentNumber, sent_amount};
use crate::text::Text;

/// An address as it was sent.
#[derive(Debug, Clone)]
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

/// A checked address (contract, Address).
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Phone where the contract's examples carry it.
    pub phone: Option<Phone>,
}

/// A billing profile as it was sent.
#[derive(Debug, Clone)]
pub struct BillingInput {
    /// BillingProfile.BillingProfileReference
    pub reference: Option<String>,
    /// BillingProfile.Name
    pub name: String,
    /// BillingProfile.Email
    pub email: String,
    /// BillingProfile.Phone
    pub phone: Option<String>,
    /// BillingProfile.BirthDate
    pub birth_date: Option<String>,
    /// The same as the contract's examples spell it: BillingProfile.Birthdate
    pub birthdate: Option<String>,
    /// BillingProfile.NationalIdentifier
    pub national_identifier: Option<String>,
    /// BillingProfile.Company
    pub company: Option<String>,
    /// BillingProfile.Address
    pub address: AddressInput,
}

/// Checked billing details (contract, BillingProfile).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingDetails {
    /// The merchant's own name for the profile.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingProfile {
    /// Generated identifier.
    pub id: BillingProfileId,
    /// What it says.
    pub details: BillingDetails,
}

/// Shipping details as they were sent.
#[derive(Debug, Clone)]
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

/// Checked shipping details (contract, ShippingDetails).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippingDetails {
    /// Shipping charge without taxes and duties; zero or more.
    pub shipping_amount: Amount,
    /// Duty; zero or more.
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

impl Address {
    /// Checks an address; `path` is its own, for example `BillingProfile.Address`.
    ///
    /// # Errors
    /// Every violation of its fields, the rules of its country included (contract, Address).
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
    /// # Errors
    /// Every violation of its fields, the rules of its country included (contract, BillingProfile; decisions.md section 2).
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
    /// # Errors
    /// Every violation of its fields (contract, ShippingDetails).
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

/// Region is required for CA, MX and US, and a subdivision there (contract, Address.Region).
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

/// `BirthDate`, or `Birthdate` as the contract's examples spell it; both given must be the same (decisions.md section 2).
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

/// What a country asks of a billing profile (contract, BillingProfile: BirthDate, NationalIdentifier, Company).
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
    if identity::is_required(country) && input.national_identifier.is_none() {
        missing(all, format!("{path}.NationalIdentifier"), country);
    }
    let Some(id) = id else { return };
    let holder = all.check(identity::check(format_args!("{path}.NationalIdentifier"), country, id.as_str()));
    if holder == Some(Holder::BrazilianCompany) && input.company.is_none() {
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
