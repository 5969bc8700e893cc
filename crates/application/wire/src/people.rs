//! Billing profiles, shipping details and addresses, in and out.

use dropin_kernel::Violations;
use dropin_validation::{
    Address, AddressInput, BillingInput, BillingProfile, SentNumber, ShippingDetails, ShippingInput, Text,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::known::Known;
use crate::member::{Member, Object, Shape, join};
use crate::number::ExactNumber;
use crate::schema;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = AddressRequest)]
pub(crate) struct AddressDto {
    #[schema(value_type = schema::Text)]
    street: Member<String>,
    #[schema(value_type = schema::Text)]
    city: Member<String>,
    /// Required for CA, MX and US, and there an ISO 3166-2 code of the country, with or without its prefix: `CA` or `US-CA`.
    #[schema(value_type = Option<schema::Text>)]
    region: Member<String>,
    #[schema(value_type = schema::Country)]
    country: Member<String>,
    /// Required for BR, CA, MX and US.
    #[schema(value_type = Option<schema::Text>)]
    postcode: Member<String>,
    /// Accepted here too, and echoed where it was given.
    #[schema(value_type = Option<schema::Phone>)]
    phone: Member<String>,
}

impl Known for AddressDto {}

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

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = BillingProfileRequest)]
pub(crate) struct BillingDto {
    /// Of answers; ignored, so that an answer can be sent back.
    #[schema(ignore)]
    pub(crate) billing_profile_id: Member<String>,
    /// Your reference; names the newest billing profile that carries it.
    #[schema(value_type = Option<schema::Text>)]
    pub(crate) billing_profile_reference: Member<String>,
    /// Full name.
    #[schema(value_type = schema::Text)]
    name: Member<String>,
    #[schema(value_type = schema::Email)]
    email: Member<String>,
    #[schema(value_type = Option<schema::Phone>)]
    phone: Member<String>,
    /// Required for BR.
    #[schema(value_type = Option<schema::Day>)]
    birth_date: Member<String>,
    /// Another spelling of BirthDate; both and different is a CONFLICT.
    #[schema(value_type = Option<schema::Day>)]
    birthdate: Member<String>,
    /// Required for BR (CPF or CNPJ), AR (DNI, or CUIT/CUIL) and IN (PAN or Aadhaar), where its form and check digits are checked.
    #[schema(value_type = Option<schema::Text>)]
    national_identifier: Member<String>,
    /// Required with a Brazilian company tax id (CNPJ).
    #[schema(value_type = Option<schema::Text>)]
    company: Member<String>,
    #[schema(value_type = AddressDto)]
    address: Member<Object<AddressDto>>,
}

impl Known for BillingDto {}

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

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = ShippingDetailsRequest)]
pub(crate) struct ShippingDto {
    /// Without taxes and duties; added to TotalAmount.
    #[schema(value_type = schema::AmountRequest)]
    shipping_amount: Member<SentNumber>,
    /// Duty; added to TotalAmount.
    #[schema(value_type = schema::AmountRequest)]
    duty_amount: Member<SentNumber>,
    /// Full name.
    #[schema(value_type = schema::Text)]
    name: Member<String>,
    #[schema(value_type = schema::Email)]
    email: Member<String>,
    #[schema(value_type = schema::Phone)]
    phone: Member<String>,
    /// Where it goes.
    #[schema(value_type = AddressDto)]
    address: Member<Object<AddressDto>>,
}

impl Known for ShippingDto {}

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
    member.required(path, "Address", all)?.shape(&join(path, "Address"), all)
}

/// Address, as it is echoed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Address)]
pub(crate) struct AddressBody<'a> {
    street: &'a str,
    city: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    region: Option<&'a str>,
    #[schema(value_type = schema::Country)]
    country: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    postcode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
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
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = BillingProfile)]
pub(crate) struct BillingBody<'a> {
    #[schema(value_type = schema::Id)]
    billing_profile_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    billing_profile_reference: Option<&'a str>,
    name: &'a str,
    email: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    phone: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Day)]
    birth_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    national_identifier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
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
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = ShippingDetails)]
pub(crate) struct ShippingBody<'a> {
    #[schema(value_type = schema::Amount)]
    shipping_amount: ExactNumber,
    #[schema(value_type = schema::Amount)]
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
