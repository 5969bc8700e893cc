//! Billing profiles, shipping details and addresses, in and out.

use dropin_kernel::Violations;
use dropin_money::Decimal;
use dropin_validation::{Address, AddressInput, BillingInput, BillingProfile, ShippingDetails, ShippingInput, Text};
use serde::{Deserialize, Serialize};

use crate::member::{Member, Object, Shape, join};
use crate::number::ExactNumber;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AddressDto {
    street: Member<String>,
    city: Member<String>,
    region: Member<String>,
    country: Member<String>,
    postcode: Member<String>,
    phone: Member<String>,
}

impl Shape for AddressDto {
    type Input = AddressInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<AddressInput> {
        let street = self.street.required(path, "Street", all);
        let city = self.city.required(path, "City", all);
        let region = self.region.optional(path, "Region", all);
        let country = self.country.required(path, "Country", all);
        let postcode = self.postcode.optional(path, "Postcode", all);
        let phone = self.phone.optional(path, "Phone", all);
        Some(AddressInput { street: street?, city: city?, region, country: country?, postcode, phone })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct BillingDto {
    billing_profile_reference: Member<String>,
    name: Member<String>,
    email: Member<String>,
    phone: Member<String>,
    birth_date: Member<String>,
    birthdate: Member<String>,
    national_identifier: Member<String>,
    company: Member<String>,
    address: Member<Object<AddressDto>>,
}

impl Shape for BillingDto {
    type Input = BillingInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<BillingInput> {
        let reference = self.billing_profile_reference.optional(path, "BillingProfileReference", all);
        let name = self.name.required(path, "Name", all);
        let email = self.email.required(path, "Email", all);
        let phone = self.phone.optional(path, "Phone", all);
        let birth_date = self.birth_date.optional(path, "BirthDate", all);
        let birthdate = self.birthdate.optional(path, "Birthdate", all);
        let national_identifier = self.national_identifier.optional(path, "NationalIdentifier", all);
        let company = self.company.optional(path, "Company", all);
        let address = address(self.address, path, all);
        Some(BillingInput {
            reference,
            name: name?,
            email: email?,
            phone,
            birth_date,
            birthdate,
            national_identifier,
            company,
            address: address?,
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ShippingDto {
    shipping_amount: Member<Decimal>,
    duty_amount: Member<Decimal>,
    name: Member<String>,
    email: Member<String>,
    phone: Member<String>,
    address: Member<Object<AddressDto>>,
}

impl Shape for ShippingDto {
    type Input = ShippingInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<ShippingInput> {
        let shipping_amount = self.shipping_amount.required(path, "ShippingAmount", all);
        let duty_amount = self.duty_amount.required(path, "DutyAmount", all);
        let name = self.name.required(path, "Name", all);
        let email = self.email.required(path, "Email", all);
        let phone = self.phone.required(path, "Phone", all);
        let address = address(self.address, path, all);
        Some(ShippingInput {
            shipping_amount: shipping_amount?,
            duty_amount: duty_amount?,
            name: name?,
            email: email?,
            phone: phone?,
            address: address?,
        })
    }
}

fn address(member: Member<Object<AddressDto>>, path: &str, all: &mut Violations) -> Option<AddressInput> {
    let Object(address) = member.required(path, "Address", all)?;
    address.shape(&join(path, "Address"), all)
}

/// Address, as it is echoed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct AddressBody<'a> {
    street: &'a str,
    city: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<&'a str>,
    country: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    postcode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<&'a str>,
}

impl<'a> From<&'a Address> for AddressBody<'a> {
    fn from(address: &'a Address) -> Self {
        Self {
            street: address.street.as_str(),
            city: address.city.as_str(),
            region: address.region.as_ref().map(|region| region.as_str()),
            country: address.country.code(),
            postcode: address.postcode.as_ref().map(Text::as_str),
            phone: address.phone.as_ref().map(|phone| phone.as_str()),
        }
    }
}

/// BillingProfile, echoed with its generated id.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct BillingBody<'a> {
    billing_profile_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_profile_reference: Option<&'a str>,
    name: &'a str,
    email: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    birth_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    national_identifier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    company: Option<&'a str>,
    address: AddressBody<'a>,
}

impl<'a> From<&'a BillingProfile> for BillingBody<'a> {
    fn from(BillingProfile { id, details }: &'a BillingProfile) -> Self {
        Self {
            billing_profile_id: id.to_string(),
            billing_profile_reference: details.reference.as_ref().map(Text::as_str),
            name: details.name.as_str(),
            email: details.email.as_str(),
            phone: details.phone.as_ref().map(|phone| phone.as_str()),
            // A Date displays as yyyy-MM-dd.
            birth_date: details.birth_date.map(|birth_date| birth_date.date().to_string()),
            national_identifier: details.national_identifier.as_ref().map(Text::as_str),
            company: details.company.as_ref().map(Text::as_str),
            address: (&details.address).into(),
        }
    }
}

/// ShippingDetails, as they are echoed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ShippingBody<'a> {
    shipping_amount: ExactNumber,
    duty_amount: ExactNumber,
    name: &'a str,
    email: &'a str,
    phone: &'a str,
    address: AddressBody<'a>,
}

impl<'a> From<&'a ShippingDetails> for ShippingBody<'a> {
    fn from(details: &'a ShippingDetails) -> Self {
        Self {
            shipping_amount: (&details.shipping_amount).into(),
            duty_amount: (&details.duty_amount).into(),
            name: details.name.as_str(),
            email: details.email.as_str(),
            phone: details.phone.as_str(),
            address: (&details.address).into(),
        }
    }
}
