//! The document that holds the account which the shopper transfers the money to.

use dropin_order::BankDetails;
use serde::{Deserialize, Serialize};

use super::{read_document, write_document};
use crate::fault::Fault;
use crate::sql::Document;

#[derive(Serialize, Deserialize)]
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

/// The account as it is stored.
pub(super) fn write(details: &BankDetails) -> Result<Document, Fault> {
    let details = details.clone();
    write_document(&BankDocument {
        account_holder: details.account_holder,
        account_number: details.account_number,
        bank_name: details.bank_name,
        city: details.city,
        country: details.country,
        iban: details.iban,
        payment_reference: details.payment_reference,
        swift_code: details.swift_code,
        extra_bank_data: details.extra_bank_data,
    })
}

/// A stored account.
pub(super) fn read(table: &'static str, stored: &Document) -> Result<Box<BankDetails>, Fault> {
    let document: BankDocument = read_document(table, stored)?;
    Ok(Box::new(BankDetails {
        account_holder: document.account_holder,
        account_number: document.account_number,
        bank_name: document.bank_name,
        city: document.city,
        country: document.country,
        iban: document.iban,
        payment_reference: document.payment_reference,
        swift_code: document.swift_code,
        extra_bank_data: document.extra_bank_data,
    }))
}
