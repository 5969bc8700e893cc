use dropin_kernel::Violations;
use dropin_validation::{Country, Email, Phone, Region, Text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::member::{Member, Shape};
use crate::schema;

/// Who pays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Consumer)]
pub(super) struct ConsumerDto {
    /// Full name.
    #[schema(value_type = schema::Text)]
    name: Member<String>,
    #[schema(value_type = schema::Email)]
    email: Member<String>,
    #[schema(value_type = Option<schema::Phone>)]
    phone: Member<String>,
    /// Street address.
    #[schema(value_type = schema::Text)]
    address: Member<String>,
    #[schema(value_type = schema::Text)]
    city: Member<String>,
    /// In CA, MX and US an ISO 3166-2 code of the country, with or without its prefix: `CA` or `US-CA`.
    #[schema(value_type = Option<schema::Text>)]
    region: Member<String>,
    #[schema(value_type = Option<schema::Text>)]
    postal_code: Member<String>,
    /// Decides which payment methods may be used.
    #[schema(value_type = schema::Country)]
    country: Member<String>,
}

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
    email: String,
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
    /// Checks what the members mean. Region and PostalCode may be left out in every country: no rule of a Session's addresses asks for them here.
    pub(super) fn parse(input: &ConsumerInput, all: &mut Violations) -> Option<Self> {
        let name = all.check(Text::parse("Consumer.Name", &input.name));
        let email = all.check(Email::parse("Consumer.Email", &input.email));
        let phone = input.phone.as_ref().and_then(|phone| all.check(Phone::parse("Consumer.Phone", phone)));
        let address = all.check(Text::parse("Consumer.Address", &input.address));
        let city = all.check(Text::parse("Consumer.City", &input.city));
        let country = all.check(Country::parse("Consumer.Country", &input.country));
        let region = country
            .zip(input.region.as_ref())
            .and_then(|(country, region)| all.check(Region::parse("Consumer.Region", region, country)));
        let postal_code =
            input.postal_code.as_ref().and_then(|code| all.check(Text::parse("Consumer.PostalCode", code)));
        Some(Self {
            name: name?.into_string(),
            email: email?.as_str().to_owned(),
            phone: phone.map(|phone| phone.as_str().to_owned()),
            address: address?.into_string(),
            city: city?.into_string(),
            region: region.map(|region| region.as_str().to_owned()),
            postal_code: postal_code.map(Text::into_string),
            country: country?.code(),
        })
    }
}
