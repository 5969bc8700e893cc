//! Where a shopper would transfer money to: invented accounts in the right form.

use serde::Serialize;

use crate::enums::{Kind, Method, Outcome};
use crate::rows::Operation;

/// The members of docs/SPECIFICATION.md#bank-details; all are texts, an empty one where the country has no such thing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct BankDetails {
    pub(crate) account_holder: &'static str,
    pub(crate) account_number: &'static str,
    pub(crate) bank_name: &'static str,
    pub(crate) city: &'static str,
    pub(crate) country: &'static str,
    pub(crate) iban: String,
    pub(crate) payment_reference: String,
    pub(crate) swift_code: &'static str,
    pub(crate) extra_bank_data: &'static str,
}

/// An account of the sandbox; the bank codes are given to nobody, and a 0 in eighth place marks a BIC as one for tests (ISO 9362).
struct BankAccount {
    country: &'static str,
    city: &'static str,
    /// The IBAN without country and check digits.
    bban: &'static str,
    number: &'static str,
    bic: &'static str,
    extra: &'static str,
}

/// The accounts by the shopper's country; the first is everybody else's.
const ACCOUNTS: [BankAccount; 3] = [
    BankAccount {
        country: "DE",
        city: "Berlin",
        bban: "000000000123456789",
        number: "0123456789",
        bic: "SBXXDEB0XXX",
        extra: "Bankleitzahl 00000000",
    },
    BankAccount {
        country: "NL",
        city: "Amsterdam",
        bban: "SBXX0123456789",
        number: "0123456789",
        bic: "SBXXNLA0XXX",
        extra: "",
    },
    BankAccount {
        country: "GB",
        city: "London",
        bban: "SBXX00000001234567",
        number: "01234567",
        bic: "SBXXGBL0XXX",
        extra: "Sort code 00-00-00",
    },
];

impl BankDetails {
    /// Where to transfer the money of this authorization; none when it is no bank transfer, or is over without money.
    pub(crate) fn of(operation: &Operation) -> Option<Self> {
        let asked = operation.kind == Kind::Authorize && operation.method == Some(Method::BankTransfer);
        if !asked || !matches!(operation.outcome, Outcome::Pending | Outcome::Approved) {
            return None;
        }
        let nearest = |account: &&BankAccount| operation.shopper_country.as_deref() == Some(account.country);
        let account = ACCOUNTS.iter().find(nearest).unwrap_or(&ACCOUNTS[0]);
        Some(Self {
            account_holder: "Dropin Sandbox",
            account_number: account.number,
            bank_name: "Sandbox Bank",
            city: account.city,
            country: account.country,
            iban: iban(account.country, account.bban),
            payment_reference: operation.payment_reference.clone().or_else(|| operation.order_id.clone())?,
            swift_code: account.bic,
            extra_bank_data: account.extra,
        })
    }
}

/// Puts country and check digits before an account (ISO 13616: the check digits make the whole 1 modulo 97).
fn iban(country: &str, bban: &str) -> String {
    format!("{country}{:02}{bban}", 98 - modulo_97(&format!("{bban}{country}00")))
}

/// The remainder of a number whose letters stand for two digits each, A for 10 to Z for 35.
fn modulo_97(text: &str) -> u32 {
    text.chars().filter_map(|c| c.to_digit(36)).fold(0, |rest, value| {
        let shift = if value < 10 { 10 } else { 100 };
        (rest * shift + value) % 97
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ibans_have_the_length_and_check_digits_of_their_country() {
        // The example of the standard's registry: a bank there is one.
        assert_eq!(iban("GB", "WEST12345698765432"), "GB82WEST12345698765432");
        for account in &ACCOUNTS {
            let iban = iban(account.country, account.bban);
            let length = match account.country {
                "DE" | "GB" => 22,
                "NL" => 18,
                other => panic!("{other}"),
            };
            assert_eq!(iban.len(), length, "{iban}");
            assert_eq!(modulo_97(&format!("{}{}", &iban[4..], &iban[..4])), 1, "{iban}");
            assert!(account.bban.ends_with(account.number));
            assert_eq!((account.bic.len(), &account.bic[4..6], &account.bic[7..8]), (11, account.country, "0"));
        }
    }
}
