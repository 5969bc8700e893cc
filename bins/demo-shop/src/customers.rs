//! Who buys here: one person, at home in the country that the visitor chose, and known from the second purchase on. A real shop would take this from
//! its customer's account, once the customer has signed in.

use serde::Serialize;

/// A country that the shop sends to.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Country {
    /// ISO 3166-1 alpha-2.
    code: &'static str,
    name: &'static str,
    /// What people pay in there.
    currency: &'static str,
    #[serde(skip)]
    customer: Person,
}

/// As the payment service takes it.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Person {
    name: &'static str,
    email: &'static str,
    phone: &'static str,
    address: Address,
}

/// Who pays: as the payment service takes a new customer, or by what it knows a known one.
#[derive(Debug, Serialize)]
pub(super) enum Billing {
    BillingProfile(NewCustomer),
    BillingProfileReference(String),
}

/// A customer whom the payment service is to know by the shop's name from now on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct NewCustomer {
    billing_profile_reference: String,
    #[serde(flatten)]
    person: Person,
}

impl Billing {
    /// The customer in a country.
    pub(super) fn of(country: &Country, is_known: bool) -> Self {
        let billing_profile_reference = country.customer_reference();
        if is_known {
            return Self::BillingProfileReference(billing_profile_reference);
        }
        Self::BillingProfile(NewCustomer { billing_profile_reference, person: country.customer() })
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Address {
    street: &'static str,
    city: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<&'static str>,
    country: &'static str,
    postcode: &'static str,
}

/// As the payment service takes it of a charge without the shopper.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Consumer {
    name: &'static str,
    email: &'static str,
    address: &'static str,
    city: &'static str,
    country: &'static str,
}

impl From<Person> for Consumer {
    fn from(Person { name, email, address, .. }: Person) -> Self {
        let Address { street, city, country, .. } = address;
        Self { name, email, address: street, city, country }
    }
}

/// In the order of the selector; the first is chosen where nothing is known.
pub(super) const COUNTRIES: [Country; 10] = [
    country("IE", "Ireland", "EUR", "+35315550100", ["7 Harbour Lane", "Dublin", "D01 X2Y3"]),
    country("NL", "Netherlands", "EUR", "+31205550100", ["Voorbeeldkade 7", "Amsterdam", "1011 AB"]),
    country("DE", "Germany", "EUR", "+493055501000", ["Beispielweg 7", "Berlin", "10115"]),
    country("FR", "France", "EUR", "+33155501000", ["7 rue de l’Exemple", "Paris", "75001"]),
    country("GB", "United Kingdom", "GBP", "+442055501000", ["7 Sample Street", "London", "SW1A 1AA"]),
    country("SE", "Sweden", "SEK", "+46855501000", ["Exempelgatan 7", "Stockholm", "111 22"]),
    country("CH", "Switzerland", "CHF", "+41445550100", ["Musterweg 7", "Zürich", "8001"]),
    Country {
        customer: Person {
            address: Address { region: Some("NY"), ..address("US", ["7 Sample Street", "New York", "10001"]) },
            ..person("US", "+12125550100", ["", "", ""])
        },
        ..country("US", "United States", "USD", "", ["", "", ""])
    },
    country("AU", "Australia", "AUD", "+61255501000", ["7 Sample Street", "Sydney", "2000"]),
    country("JP", "Japan", "JPY", "+81355501000", ["1-2-3 Rei", "Tokyo", "100-0001"]),
];

const fn country(
    code: &'static str,
    name: &'static str,
    currency: &'static str,
    phone: &'static str,
    lines: [&'static str; 3],
) -> Country {
    Country { code, name, currency, customer: person(code, phone, lines) }
}

const fn person(country: &'static str, phone: &'static str, lines: [&'static str; 3]) -> Person {
    Person { name: "Robin Example", email: "robin@example.com", phone, address: address(country, lines) }
}

const fn address(country: &'static str, [street, city, postcode]: [&'static str; 3]) -> Address {
    Address { street, city, region: None, country, postcode }
}

impl Country {
    /// The country with this code; the first one when none is named.
    pub(super) fn find(code: Option<&str>) -> Option<&'static Self> {
        let wanted = code.unwrap_or(COUNTRIES[0].code);
        COUNTRIES.iter().find(|country| country.code == wanted)
    }

    /// The customer there.
    pub(super) const fn customer(&self) -> Person {
        self.customer
    }

    /// The shop's own name for the customer there, by which the payment service knows them: its BillingProfileReference.
    pub(super) fn customer_reference(&self) -> String {
        format!("robin-{}", self.code)
    }
}
