use dropin_order::BankDetails;
use serde::Serialize;
use utoipa::ToSchema;

/// BankDetails; whatever the processor did not say is left out.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = BankDetails, description = "Where the shopper transfers the money to; only what is known.")]
pub(crate) struct BankDetailsBody<'a> {
    /// The receiving holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    account_holder: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    account_number: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    bank_name: Option<&'a str>,
    /// Of the processing bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    city: Option<&'a str>,
    /// Of the processing bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    country: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    iban: Option<&'a str>,
    /// What the shopper must write on the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    payment_reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    swift_code: Option<&'a str>,
    /// Specific to the country, for example ABA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    extra_bank_data: Option<&'a str>,
}

impl<'a> From<&'a BankDetails> for BankDetailsBody<'a> {
    fn from(details: &'a BankDetails) -> Self {
        Self {
            account_holder: details.account_holder.as_deref(),
            account_number: details.account_number.as_deref(),
            bank_name: details.bank_name.as_deref(),
            city: details.city.as_deref(),
            country: details.country.as_deref(),
            iban: details.iban.as_deref(),
            payment_reference: details.payment_reference.as_deref(),
            swift_code: details.swift_code.as_deref(),
            extra_bank_data: details.extra_bank_data.as_deref(),
        }
    }
}
