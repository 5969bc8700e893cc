/// Where the shopper transfers the money to (docs/SPECIFICATION.md#bank-details); whatever the processor did not say is left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BankDetails {
    /// The receiving holder.
    pub account_holder: Option<String>,
    /// Account number.
    pub account_number: Option<String>,
    /// Name of the bank.
    pub bank_name: Option<String>,
    /// City of the processing bank.
    pub city: Option<String>,
    /// Country of the processing bank.
    pub country: Option<String>,
    /// IBAN (ISO 13616).
    pub iban: Option<String>,
    /// What the shopper must write on the transfer.
    pub payment_reference: Option<String>,
    /// BIC (ISO 9362).
    pub swift_code: Option<String>,
    /// Specific to the country, for example ABA.
    pub extra_bank_data: Option<String>,
}
