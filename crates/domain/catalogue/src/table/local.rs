//! Methods that the sandbox processor cannot do: described, and switched on where a processor is configured that can.
//!
//! Limits are those of the scheme, or the widest that the named providers publish; an acquirer's own narrow them by an adjustment.

use std::time::Duration;

use dropin_money::Currency;

use super::range;
use crate::locale::{self, Name};
use crate::method::Method;

const MINUTE: u64 = 60;

/// Countries of the single euro payments area (European Payments Council, EPC409-09), as far as shoppers are billed there.
const SEPA: &[&str] = &[
    "AD", "AT", "BE", "BG", "CH", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GB", "GR", "HR", "HU", "IE", "IS",
    "IT", "LI", "LT", "LU", "LV", "MC", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK", "SM", "VA",
];

/// The same, with a page that is open for so many minutes only.
fn briefly(method: Method, minutes: u64) -> Method {
    Method { patience: Duration::from_secs(minutes * MINUTE), ..method }
}

/// The same, whose money cannot be given back the way it came.
fn without_refunds(method: Method) -> Method {
    Method { refunds: false, ..method }
}

/// The same, which may be charged again later.
fn recurring(method: Method) -> Method {
    Method { recurring: true, ..method }
}

/// The same, which reserves the money and waits for a capture.
fn capture_later(method: Method) -> Method {
    Method { capture_later: true, ..method }
}

pub(super) fn local() -> Vec<Method> {
    vec![
        // Cards that the sandbox has no test numbers for.
        Method::card("UNIONPAY", "UnionPay", "unionpayintl.com; docs.adyen.com, UnionPay"),
        // No longer issued in Europe since July 2023; cards run out by 2027.
        Method::card("MAESTRO", "Maestro", "mastercard.com, Maestro; docs.adyen.com, Maestro"),
        // Banks and their apps in Europe.
        Method::online("BANCONTACT", "Bancontact", "bancontact.com; docs.stripe.com/payments/bancontact")
            .only(&["BE"], &[Currency::Eur]),
        briefly(
            Method::online("BLIK", "BLIK", "blik.com; docs.stripe.com/payments/blik").only(&["PL"], &[Currency::Pln]),
            15,
        ),
        Method::online("P24", "Przelewy24", "przelewy24.pl; docs.stripe.com/payments/p24")
            .only(&["PL"], &[Currency::Eur, Currency::Pln]),
        Method::online("EPS", "eps", "eps-ueberweisung.at; docs.stripe.com/payments/eps")
            .only(&["AT"], &[Currency::Eur]),
        briefly(
            Method::online("MBWAY", "MB WAY", "docs.stripe.com/payments/mb-way").only(&["PT"], &[Currency::Eur]),
            15,
        )
        .within([range(Currency::Eur, 50, 500_000)]),
        Method::offline("MULTIBANCO", "Multibanco", 7, "docs.stripe.com/payments/multibanco")
            .only(&["PT"], &[Currency::Eur])
            .within([range(Currency::Eur, 50, 9_999_900)]),
        briefly(
            Method::online("SWISH", "Swish", "swish.nu; docs.stripe.com/payments/swish")
                .only(&["SE"], &[Currency::Sek]),
            15,
        ),
        capture_later(recurring(briefly(
            Method::online("VIPPS", "Vipps", "developer.vippsmobilepay.com").only(&["NO"], &[Currency::Nok]),
            15,
        ))),
        capture_later(recurring(briefly(
            Method::online("MOBILEPAY", "MobilePay", "developer.vippsmobilepay.com")
                .only(&["DK", "FI"], &[Currency::Dkk, Currency::Eur]),
            15,
        ))),
        briefly(Method::online("TWINT", "TWINT", "docs.stripe.com/payments/twint").only(&["CH"], &[Currency::Chf]), 15)
            .within([range(Currency::Chf, 1, 500_000)]),
        Method::online("TRUSTLY", "Trustly", "trustly.com; docs.adyen.com, Trustly").only(
            &["AT", "DE", "DK", "EE", "ES", "FI", "GB", "LT", "LV", "NL", "NO", "SE"],
            &[Currency::Dkk, Currency::Eur, Currency::Gbp, Currency::Nok, Currency::Sek],
        ),
        // The shopper signs a mandate on a page; the bank may send the money back for eight weeks.
        Method {
            names: Name::of(locale::DIRECT_DEBIT),
            ..recurring(
                Method::online("SEPADEBIT", "SEPA direct debit", "European Payments Council, SDD Core rulebook")
                    .only(SEPA, &[Currency::Eur]),
            )
        },
        // Latin America.
        without_refunds(
            Method::offline("BOLETO", "Boleto", 3, "docs.stripe.com/payments/boleto").only(&["BR"], &[Currency::Brl]),
        )
        .within([range(Currency::Brl, 500, 4_999_999)]),
        Method {
            patience: Duration::from_secs(24 * 60 * MINUTE),
            ..Method::online("PIX", "Pix", "Banco Central do Brasil, Pix; docs.stripe.com/payments/pix")
                .only(&["BR"], &[Currency::Brl])
        },
        without_refunds(
            Method::offline("OXXO", "OXXO", 3, "docs.stripe.com/payments/oxxo").only(&["MX"], &[Currency::Mxn]),
        )
        .within([range(Currency::Mxn, 1_000, 1_000_000)]),
        Method::offline("SPEI", "SPEI", 3, "Banco de México, SPEI").only(&["MX"], &[Currency::Mxn]),
        Method::online("PSE", "PSE", "pse.com.co").only(&["CO"], &[Currency::Cop]),
        // Asia and the Gulf.
        recurring(briefly(Method::online("UPI", "UPI", "npci.org.in, UPI").only(&["IN"], &[Currency::Inr]), 15))
            .within([range(Currency::Inr, 100, 10_000_000)]),
        Method::online("ALIPAY", "Alipay", "docs.stripe.com/payments/alipay").only(
            &["CN"],
            &[
                Currency::Aud,
                Currency::Cad,
                Currency::Cny,
                Currency::Eur,
                Currency::Gbp,
                Currency::Hkd,
                Currency::Jpy,
                Currency::Myr,
                Currency::Nzd,
                Currency::Sgd,
                Currency::Usd,
            ],
        ),
        Method::online("WECHATPAY", "WeChat Pay", "docs.stripe.com/payments/wechat-pay").only(
            &["CN"],
            &[
                Currency::Aud,
                Currency::Cad,
                Currency::Chf,
                Currency::Cny,
                Currency::Dkk,
                Currency::Eur,
                Currency::Gbp,
                Currency::Hkd,
                Currency::Jpy,
                Currency::Nok,
                Currency::Sek,
                Currency::Sgd,
                Currency::Usd,
            ],
        ),
        recurring(
            Method::online("KAKAOPAY", "Kakao Pay", "docs.stripe.com/payments/kakao-pay")
                .only(&["KR"], &[Currency::Krw]),
        ),
        Method::online("GRABPAY", "GrabPay", "docs.stripe.com/payments/grabpay")
            .only(&["MY", "SG"], &[Currency::Myr, Currency::Sgd]),
        briefly(
            Method::online("PAYNOW", "PayNow", "abs.org.sg, PayNow; docs.stripe.com/payments/paynow")
                .only(&["SG"], &[Currency::Sgd]),
            60,
        ),
        briefly(
            Method::online("PROMPTPAY", "PromptPay", "docs.stripe.com/payments/promptpay")
                .only(&["TH"], &[Currency::Thb]),
            60,
        ),
        Method::online("FPX", "FPX", "paynet.my, FPX; docs.stripe.com/payments/fpx").only(&["MY"], &[Currency::Myr]),
        without_refunds(
            Method::offline(
                "KONBINI",
                "Konbini",
                7,
                "developerhub.ppro.com, Konbini; docs.connect.worldline-solutions.com, Konbini",
            )
            .only(&["JP"], &[Currency::Jpy]),
        )
        .within([range(Currency::Jpy, 1, 300_000)]),
        Method::online("KNET", "KNET", "knet.com.kw; docs.adyen.com, KNET").only(&["KW"], &[Currency::Kwd]),
    ]
}
