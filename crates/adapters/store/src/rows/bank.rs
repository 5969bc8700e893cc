//! The document that holds the account which the shopper transfers the money to.

use dropin_order::BankDetails;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::JsonDocument;
use serde::{Deserialize, Serialize};

use super::values::{read_document, write_document};

/// The members of [`BankDetails`] by their stored names.
#[derive(Serialize, Deserialize)]
#[serde(remote = "BankDetails")]
struct BankDocument {
    account_holder: Option<String>,
    account_number: Option<String>,
    bank_name: Option<String>,
    city: Option<String>,
    country: Option<String>,
    iban: Option<String>,
    payment_reference: Option<String>,
    swift_code: Option<String>,
    extra_bank_data: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Account(#[serde(with = "BankDocument")] BankDetails);

/// The account as it is stored.
pub(super) fn write(details: &BankDetails) -> Result<JsonDocument, Fault> {
    write_document(&Account(details.clone()))
}

/// A stored account.
pub(super) fn read(table: &'static str, stored: &JsonDocument) -> Result<Box<BankDetails>, Fault> {
    let Account(details) = read_document(table, stored)?;
    Ok(Box::new(details))
}
