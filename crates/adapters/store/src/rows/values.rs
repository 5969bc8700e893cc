//! Values as the columns of several tables hold them.

use dropin_card::CardHash;
use dropin_money::{Amount, Currency};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::JsonDocument;
use dropin_validation::Text;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A currency by its stored code.
pub(crate) fn currency(table: &'static str, code: &str) -> Result<Currency, Fault> {
    code.parse().map_err(|_unknown| corrupt(table, "the currency is not one that Dropin knows"))
}

/// An amount by its stored minor units.
pub(crate) fn amount(table: &'static str, currency: Currency, minor: i64) -> Result<Amount, Fault> {
    Amount::from_minor(currency, minor).map_err(|error| corrupt(table, format!("an amount {error}")))
}

/// A card's hash by its stored bytes.
pub(crate) fn card_hash(table: &'static str, stored: Vec<u8>) -> Result<CardHash, Fault> {
    stored.try_into().map(CardHash).map_err(|_length| corrupt(table, "the hash of the card has another length"))
}

/// A stored text that was checked when it came in.
pub(crate) fn text(table: &'static str, what: &str, stored: &str) -> Result<Text, Fault> {
    Text::restore(stored).ok_or_else(|| corrupt(table, format!("{what} is no text")))
}

pub(crate) fn missing(table: &'static str, what: &str) -> Fault {
    corrupt(table, format!("{what} is missing or wrong"))
}

/// A document as it is stored.
pub(crate) fn write_document<T: Serialize>(value: &T) -> Result<JsonDocument, Fault> {
    serde_json::to_string(value)
        .map(JsonDocument)
        .map_err(|error| Fault::Refused(format!("a document cannot be written: {error}")))
}

/// A stored document. Its parser's messages would repeat stored values, so only the place of the fault is told.
pub(crate) fn read_document<T: DeserializeOwned>(table: &'static str, stored: &JsonDocument) -> Result<T, Fault> {
    serde_json::from_str(&stored.0).map_err(|error| {
        let kind = match error.classify() {
            serde_json::error::Category::Data => "does not fit",
            _ => "is no JSON",
        };
        corrupt(table, format!("the document {kind} (line {}, column {})", error.line(), error.column()))
    })
}
