use dropin_kernel::BillingProfileId;
use dropin_money::{Amount, Decimal};

use crate::contact::{BirthDate, Email, Phone};
use crate::country::{Country, Region};
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
    pub shipping_amount: Decimal,
    /// ShippingDetails.DutyAmount
    pub duty_amount: Decimal,
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
