use diesel::prelude::{Insertable, Queryable, Selectable};
use dropin_kernel::{BillingProfileId, MerchantId, Timestamp};
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::{Id, Instant, JsonDocument};
use dropin_validation::{
    Address, BillingDetails, BillingProfile, BirthDate, Country, Email, Phone, Region, ShippingDetails, Text,
};
use serde::{Deserialize, Serialize};
use time::Date;

use super::values::{missing, read_document, text, write_document};
use crate::schema::billing_profile;

const TABLE: &str = "billing_profile";

/// A profile never changes; which one is the newest with a reference is told by `position`, which the database gives.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = billing_profile)]
pub(crate) struct ProfileRow {
    pub(crate) id: Id,
    pub(crate) merchant_id: Id,
    pub(crate) reference: Option<String>,
    pub(crate) details: JsonDocument,
    pub(crate) created_at: Instant,
}

#[derive(Serialize, Deserialize)]
struct DetailsDocument {
    name: String,
    email: String,
    phone: Option<String>,
    birth_date: Option<DateDocument>,
    national_identifier: Option<String>,
    company: Option<String>,
    address: AddressDocument,
}

/// Year and day of the year: what a date is, in any year.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct DateDocument {
    year: i32,
    day: u16,
}

/// An address inside a document.
#[derive(Serialize, Deserialize)]
pub(super) struct AddressDocument {
    street: String,
    city: String,
    region: Option<String>,
    country: String,
    postcode: Option<String>,
    phone: Option<String>,
}

/// Who a parcel goes to, inside a document.
#[derive(Serialize, Deserialize)]
pub(super) struct RecipientDocument {
    name: String,
    email: String,
    phone: String,
    address: AddressDocument,
}

fn optional<T>(stored: Option<&String>, restore: impl Fn(&str) -> Result<T, Fault>) -> Result<Option<T>, Fault> {
    stored.map(|stored| restore(stored)).transpose()
}

fn phone(table: &'static str, stored: &str) -> Result<Phone, Fault> {
    Phone::restore(stored).ok_or_else(|| missing(table, "phone"))
}

fn email(table: &'static str, stored: &str) -> Result<Email, Fault> {
    Email::restore(stored).ok_or_else(|| missing(table, "email"))
}

impl ProfileRow {
    pub(crate) fn new(merchant: MerchantId, profile: &BillingProfile, now: Timestamp) -> Result<Self, Fault> {
        let details = &profile.details;
        Ok(Self {
            id: Id(profile.id.uuid()),
            merchant_id: Id(merchant.uuid()),
            reference: details.reference.as_ref().map(|reference| reference.as_str().to_owned()),
            details: write_document(&DetailsDocument::new(details))?,
            created_at: Instant(now),
        })
    }

    pub(crate) fn restore(&self) -> Result<BillingProfile, Fault> {
        let document: DetailsDocument = read_document(TABLE, &self.details)?;
        let reference = optional(self.reference.as_ref(), |stored| text(TABLE, "reference", stored))?;
        Ok(BillingProfile { id: BillingProfileId::new(self.id.0), details: document.restore(reference)? })
    }
}

impl DetailsDocument {
    fn new(details: &BillingDetails) -> Self {
        Self {
            name: details.name.as_str().to_owned(),
            email: details.email.as_str().to_owned(),
            phone: details.phone.as_ref().map(|phone| phone.as_str().to_owned()),
            birth_date: details.birth_date.map(|date| DateDocument::new(date.date())),
            national_identifier: details.national_identifier.as_ref().map(|id| id.as_str().to_owned()),
            company: details.company.as_ref().map(|company| company.as_str().to_owned()),
            address: AddressDocument::new(&details.address),
        }
    }

    fn restore(&self, reference: Option<Text>) -> Result<BillingDetails, Fault> {
        Ok(BillingDetails {
            reference,
            name: text(TABLE, "name", &self.name)?,
            email: email(TABLE, &self.email)?,
            phone: optional(self.phone.as_ref(), |stored| phone(TABLE, stored))?,
            birth_date: self.birth_date.map(DateDocument::restore).transpose()?,
            national_identifier: optional(self.national_identifier.as_ref(), |stored| {
                text(TABLE, "national_identifier", stored)
            })?,
            company: optional(self.company.as_ref(), |stored| text(TABLE, "company", stored))?,
            address: self.address.restore(TABLE)?,
        })
    }
}

impl DateDocument {
    const fn new(date: Date) -> Self {
        Self { year: date.year(), day: date.ordinal() }
    }

    fn restore(self) -> Result<BirthDate, Fault> {
        let date = Date::from_ordinal_date(self.year, self.day).ok();
        date.and_then(BirthDate::restore).ok_or_else(|| missing(TABLE, "birth_date"))
    }
}

impl AddressDocument {
    pub(super) fn new(address: &Address) -> Self {
        Self {
            street: address.street.as_str().to_owned(),
            city: address.city.as_str().to_owned(),
            region: address.region.as_ref().map(|region| region.as_str().to_owned()),
            country: address.country.code().to_owned(),
            postcode: address.postcode.as_ref().map(|postcode| postcode.as_str().to_owned()),
            phone: address.phone.as_ref().map(|phone| phone.as_str().to_owned()),
        }
    }

    pub(super) fn restore(&self, table: &'static str) -> Result<Address, Fault> {
        Ok(Address {
            street: text(table, "street", &self.street)?,
            city: text(table, "city", &self.city)?,
            region: optional(self.region.as_ref(), |stored| {
                Region::restore(stored).ok_or_else(|| missing(table, "region"))
            })?,
            country: Country::parse("country", &self.country).map_err(|_unknown| missing(table, "country"))?,
            postcode: optional(self.postcode.as_ref(), |stored| text(table, "postcode", stored))?,
            phone: optional(self.phone.as_ref(), |stored| phone(table, stored))?,
        })
    }
}

impl RecipientDocument {
    pub(super) fn new(shipping: &ShippingDetails) -> Self {
        Self {
            name: shipping.name.as_str().to_owned(),
            email: shipping.email.as_str().to_owned(),
            phone: shipping.phone.as_str().to_owned(),
            address: AddressDocument::new(&shipping.address),
        }
    }

    pub(super) fn restore(&self, table: &'static str) -> Result<(Text, Email, Phone, Address), Fault> {
        Ok((
            text(table, "name", &self.name)?,
            email(table, &self.email)?,
            phone(table, &self.phone)?,
            self.address.restore(table)?,
        ))
    }
}
