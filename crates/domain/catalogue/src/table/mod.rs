//! The table of methods. Every entry says what is publicly known of the method and where that was read; it is reviewed as data: who may use a
//! method is decided by [`crate::Catalogue`] from these facts alone. Which of them are switched on is a question of what the processor can do.

mod local;

use dropin_money::Currency;

use self::local::LOCAL;
use crate::locale;
use crate::method::{Method, Range, WindowFrom};

/// Schemes charge in any currency and country; what a real acquirer is contracted for narrows this, by an adjustment.
const CARDS: &[Method] = &[
    Method::card("VISA", "Visa", "Visa Core Rules; decisions.md section 10").in_sandbox(),
    Method::card("MC", "Mastercard", "Mastercard Transaction Processing Rules; decisions.md section 10").in_sandbox(),
    Method::card("AMEX", "American Express", "American Express Merchant Operating Guide; decisions.md section 10")
        .in_sandbox(),
    Method::card("DISC", "Discover", "Discover Global Network; decisions.md section 10").in_sandbox(),
    Method::card("JCB", "JCB", "JCB International; decisions.md section 10").in_sandbox(),
    Method::card("DINERS", "Diners Club", "Discover Global Network; decisions.md section 10").in_sandbox(),
];

/// What the sandbox has besides cards.
const SANDBOX: &[Method] = &[
    // A wallet with balances in these currencies.
    Method {
        recurring: true,
        currencies: &[
            Currency::Aud,
            Currency::Brl,
            Currency::Cad,
            Currency::Chf,
            Currency::Cny,
            Currency::Czk,
            Currency::Dkk,
            Currency::Eur,
            Currency::Gbp,
            Currency::Hkd,
            Currency::Huf,
            Currency::Ils,
            Currency::Jpy,
            Currency::Mxn,
            Currency::Myr,
            Currency::Nok,
            Currency::Nzd,
            Currency::Php,
            Currency::Pln,
            Currency::Sek,
            Currency::Sgd,
            Currency::Thb,
            Currency::Twd,
            Currency::Usd,
        ],
        ..Method::online("PAYPAL", "PayPal", "developer.paypal.com, currency codes")
    }
    .in_sandbox(),
    Method::online("IDEAL", "iDEAL", "docs.stripe.com/payments/ideal; docs.mollie.com, iDEAL")
        .only(&["NL"], &[Currency::Eur])
        .within(&[range(Currency::Eur, 1, 5_000_000)])
        .in_sandbox(),
    // Narrowed as the contract says; its page is open for two days, and its money waits for seven from the Order's creation.
    Method {
        window_from: WindowFrom::Creation,
        partial_capture: true,
        names: locale::PAY_LATER,
        ..Method::online("PAYLATER", "Pay later", "contract, Pay-later payment method properties").only(
            &["AT", "AU", "BE", "CH", "DE", "DK", "ES", "FI", "FR", "GB", "IT", "NL", "NO", "SE", "US"],
            &[
                Currency::Aud,
                Currency::Chf,
                Currency::Dkk,
                Currency::Eur,
                Currency::Gbp,
                Currency::Nok,
                Currency::Sek,
                Currency::Usd,
            ],
        )
    }
    .in_sandbox(),
    Method {
        names: locale::BANK_TRANSFER,
        ..Method::offline("BANKTRANSFER", "Bank transfer", 14, "contract, BankDetails; decisions.md section 4")
    }
    .in_sandbox(),
    // Hands over a card of the shopper's, so it charges as cards do.
    Method {
        token: true,
        ..Method::card("APPLEPAY", "Apple Pay", "contract, Wallet token method; developer.apple.com/apple-pay")
    }
    .in_sandbox(),
];

const fn range(currency: Currency, least: i64, most: i64) -> Range {
    Range { currency, least, most: Some(most) }
}

/// Every method, in the order they are shown.
pub fn methods() -> impl Iterator<Item = &'static Method> {
    [CARDS, SANDBOX, LOCAL].into_iter().flatten()
}

/// The method with that id, whether or not anybody can do it here. What it says of a payment that was made holds for ever; whether one may be made
/// is for [`crate::Catalogue`] to say.
pub fn find_method(id: &str) -> Option<&'static Method> {
    methods().find(|method| method.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Class;

    #[test]
    fn every_entry_is_whole() {
        let ids: Vec<_> = methods().map(|method| method.id).collect();
        assert!(25 <= ids.len(), "{}", ids.len());
        for (index, method) in methods().enumerate() {
            assert!(!ids[..index].contains(&method.id), "{} twice", method.id);
            assert!(method.id.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()), "{}", method.id);
            assert!(!method.name.is_empty() && !method.source.is_empty(), "{}", method.id);
            assert!(
                method.countries.is_sorted() && method.currencies.is_sorted_by_key(|one| one.code()),
                "{}",
                method.id
            );
            assert_eq!(method.local, !method.countries.is_empty(), "{}", method.id);
            assert!(!method.channels.is_empty() && !method.patience.is_zero(), "{}", method.id);
            for range in method.amounts {
                assert!(method.currencies.contains(&range.currency), "{}", method.id);
                assert!(range.most.is_none_or(|most| range.least < most) && 0 <= range.least, "{}", method.id);
            }
        }
    }

    #[test]
    fn the_sandbox_has_what_it_was_promised_to_have() {
        let ids: Vec<_> = methods().filter(|method| method.is_in_sandbox()).map(|method| method.id).collect();
        let promised = ["VISA", "MC", "AMEX", "DISC", "JCB", "DINERS", "PAYPAL", "IDEAL", "PAYLATER", "BANKTRANSFER"];
        assert_eq!(ids, [&promised[..], &["APPLEPAY"]].concat());
    }

    #[test]
    fn pay_later_is_as_the_contract_says() {
        let method = find_method("PAYLATER").expect("in the table");
        assert_eq!(
            (method.class, method.recurring, method.partial_capture, method.refunds),
            (Class::Online, false, true, true)
        );
        assert_eq!((method.patience.as_secs(), method.capture_window.as_secs()), (48 * 3_600, 7 * 86_400));
        assert_eq!(method.window_from, WindowFrom::Creation);
        assert_eq!((method.countries.len(), method.currencies.len()), (15, 8));
    }

    #[test]
    fn names_are_told_with_their_language() {
        let transfer = find_method("BANKTRANSFER").expect("in the table");
        assert_eq!(transfer.name_in("de"), ("Überweisung", "de"));
        assert_eq!(transfer.name_in("xx"), ("Bank transfer", "en"));
        assert_eq!(find_method("VISA").expect("in the table").name_in("xx"), ("Visa", "xx"));
    }
}
