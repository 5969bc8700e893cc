use dropin_kernel::Violations;
use dropin_validation::{Country, Text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::known::Known;
use crate::member::{Member, Shape};
use crate::schema;

/// Who pays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = Consumer)]
pub(super) struct ConsumerDto {
    /// Full name.
    #[schema(value_type = schema::Text)]
    name: Member<String>,
    #[schema(value_type = schema::Text)]
    email: Member<String>,
    #[schema(value_type = Option<schema::Text>)]
    phone: Member<String>,
    /// Street address.
    #[schema(value_type = schema::Text)]
    address: Member<String>,
    #[schema(value_type = schema::Text)]
    city: Member<String>,
    #[schema(value_type = Option<schema::Text>)]
    region: Member<String>,
    #[schema(value_type = Option<schema::Text>)]
    postal_code: Member<String>,
    /// Decides which payment methods may be used.
    #[schema(value_type = schema::Country)]
    country: Member<String>,
}

impl Known for ConsumerDto {}

/// A Consumer, its members of the right types.
pub(super) struct ConsumerInput {
    name: String,
    email: String,
    phone: Option<String>,
    address: String,
    city: String,
    region: Option<String>,
    postal_code: Option<String>,
    country: String,
}

impl Shape for ConsumerDto {
    type Input = ConsumerInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<ConsumerInput> {
        let name = self.name.required(path, "Name", all);
        let email = self.email.required(path, "Email", all);
        let phone = self.phone.optional(path, "Phone", all);
        let address = self.address.required(path, "Address", all);
        let city = self.city.required(path, "City", all);
        let region = self.region.optional(path, "Region", all);
        let postal_code = self.postal_code.optional(path, "PostalCode", all);
        let country = self.country.required(path, "Country", all);
        Some(ConsumerInput {
            name: name?,
            email: email?,
            phone,
            address: address?,
            city: city?,
            region,
            postal_code,
            country: country?,
        })
    }
}

/// A checked Consumer, as it is kept.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Consumer {
    name: String,
    pub(super) email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<String>,
    address: String,
    city: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    postal_code: Option<String>,
    pub(super) country: &'static str,
}

impl Consumer {
    /// Checks what the members mean. They are text, of which only the lengths and the country's code are checked (docs/SPECIFICATION.md#consumer).
    pub(super) fn parse(input: &ConsumerInput, all: &mut Violations) -> Option<Self> {
        let text =
            |name: &str, raw: &str, all: &mut Violations| all.check(Text::parse(format_args!("Consumer.{name}"), raw));
        let name = text("Name", &input.name, all);
        let email = text("Email", &input.email, all);
        let phone = input.phone.as_ref().and_then(|phone| text("Phone", phone, all));
        let address = text("Address", &input.address, all);
        let city = text("City", &input.city, all);
        let country = all.check(Country::parse("Consumer.Country", &input.country));
        let region = input.region.as_ref().and_then(|region| text("Region", region, all));
        let postal_code = input.postal_code.as_ref().and_then(|code| text("PostalCode", code, all));
        Some(Self {
            name: name?.into_string(),
            email: email?.into_string(),
            phone: phone.map(Text::into_string),
            address: address?.into_string(),
            city: city?.into_string(),
            region: region.map(Text::into_string),
            postal_code: postal_code.map(Text::into_string),
            country: country?.code(),
        })
    }
}
