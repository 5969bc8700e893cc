//! Contracts in words.

use dropin_boot::Failure;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A contract as the service shows it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Shown {
    contract_id: String,
    state: String,
    state_reason: Option<String>,
    kind: String,
    payment_method: String,
    currency: String,
    card: Option<Card>,
    billing_profile_reference: Option<String>,
    session_id: Option<String>,
    consent: Consent,
    created_at: String,
    updated_at: String,
    #[serde(default)]
    orders: Vec<Order>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Card {
    scheme: String,
    last4: String,
    expiry: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Consent {
    text_version: String,
    locale: String,
    at: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Order {
    order_id: String,
    merchant_reference: String,
    state: String,
    /// As it was written: amounts are exact.
    amount: Box<RawValue>,
    currency: String,
    created_at: String,
}

impl Shown {
    fn state(&self) -> String {
        match &self.state_reason {
            Some(reason) => format!("{} ({reason})", self.state),
            None => self.state.clone(),
        }
    }

    fn card(&self) -> String {
        match &self.card {
            Some(Card { scheme, last4, expiry }) => format!("{scheme} {last4}, until {expiry}"),
            None => "none yet".to_owned(),
        }
    }
}

/// A line for each contract of a list.
pub(super) fn lines(contracts: &str) -> Result<Vec<String>, Failure> {
    let contracts: Vec<Shown> = serde_json::from_str(contracts)?;
    let line = |one: &Shown| {
        let Shown { contract_id, kind, currency, .. } = one;
        format!("{contract_id}  {:<30}  {kind:<11}  {currency}  {}", one.state(), one.card())
    };
    Ok(contracts.iter().map(line).collect())
}

/// A contract with the Orders made under it.
pub(super) fn in_words(contract: &[u8]) -> Result<String, Failure> {
    let shown: Shown = serde_json::from_slice(contract)?;
    let Consent { text_version, locale, at } = &shown.consent;
    let none = || "none".to_owned();
    let mut lines = vec![
        format!("Contract      {}", shown.contract_id),
        format!("State         {}", shown.state()),
        format!("Kind          {}", shown.kind),
        format!("Method        {}", shown.payment_method),
        format!("Currency      {}", shown.currency),
        format!("Card          {}", shown.card()),
        format!("Profile       {}", shown.billing_profile_reference.clone().unwrap_or_else(none)),
        format!("Session       {}", shown.session_id.clone().unwrap_or_else(none)),
        format!("Consent       {text_version} in {locale} at {at}"),
        format!("Created       {}", shown.created_at),
        format!("Changed       {}", shown.updated_at),
    ];
    if !shown.orders.is_empty() {
        lines.push("\nOrders".to_owned());
    }
    lines.extend(shown.orders.iter().map(|order| {
        let Order { order_id, merchant_reference, state, amount, currency, created_at } = order;
        format!("  {order_id}  {created_at}  {amount} {currency}  {state}  {merchant_reference}")
    }));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: &str = r#"{"ContractId":"c1","State":"CLOSED","StateReason":"MERCHANT","Kind":"RECURRING","PaymentMethod":"VISA","Currency":"USD",
        "Card":{"Scheme":"VISA","Last4":"4242","Expiry":"2030-12"},"Consent":{"TextVersion":"2026-11","Locale":"de_DE","At":"T0"},
        "CreatedAt":"T1","UpdatedAt":"T2","Orders":[{"OrderId":"o1","MerchantReference":"r1","State":"PROCESSED","Amount":29.90,"Currency":"USD",
        "CreatedAt":"T3"}]}"#;

    #[test]
    fn amounts_are_shown_as_they_are_written() {
        let shown = in_words(CLOSED.as_bytes()).expect("a contract");
        assert!(shown.contains("State         CLOSED (MERCHANT)\n"), "{shown}");
        assert!(shown.contains("Card          VISA 4242, until 2030-12\n"), "{shown}");
        assert!(shown.ends_with("\nOrders\n  o1  T3  29.90 USD  PROCESSED  r1"), "{shown}");
    }

    #[test]
    fn a_list_has_a_line_for_each() {
        let lines = lines(&format!("[{CLOSED}]")).expect("contracts");
        assert_eq!(lines, ["c1  CLOSED (MERCHANT)               RECURRING    USD  VISA 4242, until 2030-12"]);
    }
}
