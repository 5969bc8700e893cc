//! The table of methods. Every entry says what is publicly known of the method and where that was read; it is reviewed as data: who may use a
//! method is decided by [`crate::Catalogue`] from these facts alone. Which of them are switched on is a question of what the processor can do.

mod local;

use std::borrow::Cow;
use std::sync::LazyLock;

use dropin_money::Currency;

use self::local::local;
use crate::locale::{self, Name};
use crate::method::{Method, WindowFrom};
use crate::range::Range;

/// Schemes charge in any currency and country; what a real acquirer is contracted for narrows this, by an adjustment.
fn cards() -> Vec<Method> {
    vec![
        Method::card("VISA", "Visa", "Visa Core Rules").in_sandbox(),
        Method::card("MC", "Mastercard", "Mastercard Transaction Processing Rules").in_sandbox(),
        Method::card("AMEX", "American Express", "American Express Merchant Operating Guide").in_sandbox(),
        Method::card("DISC", "Discover", "Discover Global Network").in_sandbox(),
        Method::card("JCB", "JCB", "JCB International").in_sandbox(),
        Method::card("DINERS", "Diners Club", "Discover Global Network").in_sandbox(),
        // Its cards bear the mark of Visa or Mastercard too, and the shopper chooses: docs/SPECIFICATION.md#co-badged-cards.
        Method::card("CB", "Cartes Bancaires", "cartes-bancaires.com; docs.stripe.com/payments/cartes-bancaires")
            .only(&["FR"], &[Currency::Eur])
            .in_sandbox(),
    ]
}

/// What the sandbox has besides cards.
fn sandbox() -> Vec<Method> {
    vec![
        // A wallet with balances in these currencies.
        Method {
            recurring: true,
            capture_later: true,
            currencies: Cow::Borrowed(&[
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
            ]),
            ..Method::online("PAYPAL", "PayPal", "developer.paypal.com, currency codes")
        }
        .in_sandbox(),
        Method::online("IDEAL", "iDEAL", "docs.stripe.com/payments/ideal; docs.mollie.com, iDEAL")
            .only(&["NL"], &[Currency::Eur])
            .within([range(Currency::Eur, 1, 5_000_000)])
            .in_sandbox(),
        // Narrowed as docs/SPECIFICATION.md#pay-later says; its page is open for two days, and its money waits for seven from the Order's creation.
        Method {
            window_from: WindowFrom::Creation,
            partial_capture: true,
            capture_later: true,
            names: Name::of(locale::PAY_LATER),
            ..Method::online("PAYLATER", "Pay later", "docs/SPECIFICATION.md#pay-later").only(
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
            names: Name::of(locale::BANK_TRANSFER),
            ..Method::offline("BANKTRANSFER", "Bank transfer", 14, "docs/SPECIFICATION.md#bank-details")
        }
        .in_sandbox(),
        // Hands over a card of the shopper's, so it charges as cards do.
        Method {
            token: true,
            ..Method::card("APPLEPAY", "Apple Pay", "docs/SPECIFICATION.md#wallet; developer.apple.com/apple-pay")
        }
        .in_sandbox(),
        // Likewise. A merchant offers it by its account: MerchantMethods::google_pay.
        Method {
            token: true,
            ..Method::card(
                "GOOGLEPAY",
                "Google Pay",
                "docs/SPECIFICATION.md#google-pay; developers.google.com/pay/api/web",
            )
        }
        .in_sandbox(),
    ]
}

const fn range(currency: Currency, least: i64, most: i64) -> Range {
    Range::of_table(currency, least, most)
}

static TABLE: LazyLock<Vec<Method>> = LazyLock::new(|| [cards(), sandbox(), local()].concat());

/// Every built-in method, in the order they are shown. Own methods are not among them: those belong to a [`crate::Catalogue`].
///
/// ```
/// use dropin_catalogue::methods;
///
/// let first: Vec<_> = methods().take(2).map(|method| method.id()).collect();
/// assert_eq!(first, ["VISA", "MC"]);
/// ```
pub fn methods() -> impl Iterator<Item = &'static Method> {
    TABLE.iter()
}

/// The built-in method with that id, whether or not a processor here can do it. What it says of a payment that was made holds for ever; whether one
/// may be made is for [`crate::Catalogue`] to say. [`crate::Catalogue::method`] finds own methods too.
///
/// ```
/// use dropin_catalogue::find_method;
///
/// assert!(find_method("PIX").is_some());
/// assert!(find_method("pix").is_none(), "ids are compared exactly");
/// ```
pub fn find_method(id: &str) -> Option<&'static Method> {
    methods().find(|method| method.id() == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder;
    use crate::method::Class;

    #[test]
    fn every_entry_is_whole() {
        let ids: Vec<_> = methods().map(Method::id).collect();
        assert!(25 <= ids.len(), "{}", ids.len());
        for (index, method) in methods().enumerate() {
            let id = method.id();
            assert_eq!(builder::check(method), Ok(()), "{id}");
            assert!(!ids[..index].contains(&id), "{id} twice");
            assert!(!method.source.is_empty(), "{id}");
            assert!(method.countries.is_sorted() && method.currencies.is_sorted_by_key(|one| one.code()), "{id}");
            assert_eq!(method.local, !method.countries.is_empty(), "{id}");
            for range in method.amounts.iter() {
                assert!(method.currencies.contains(&range.currency()), "{id}");
                assert_eq!(Range::new(range.currency(), range.least(), range.most()), Ok(*range), "{id}");
                assert!(range.most().is_none_or(|most| range.least() < most), "{id}");
            }
        }
    }

    #[test]
    fn the_sandbox_has_what_it_was_promised_to_have() {
        let ids: Vec<_> = methods().filter(|method| method.is_in_sandbox()).map(Method::id).collect();
        let promised =
            ["VISA", "MC", "AMEX", "DISC", "JCB", "DINERS", "CB", "PAYPAL", "IDEAL", "PAYLATER", "BANKTRANSFER"];
        assert_eq!(ids, [&promised[..], &["APPLEPAY", "GOOGLEPAY"]].concat());
    }

    #[test]
    fn pay_later_is_as_the_specification_says() {
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
