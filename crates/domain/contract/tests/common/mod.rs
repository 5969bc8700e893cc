// Contracts to begin with, for the tests and for the examples in the documentation.

use dropin_contract::{CardSummary, Consent, Contract, ContractKind, ContractOrigin, NewContract};
use dropin_kernel::{ContractId, MerchantId, OrderId, SessionId, Timestamp, uuid::Uuid};
use dropin_money::{Amount, Currency};

/// Midnight of a day.
#[allow(dead_code, clippy::unwrap_used, reason = "each test uses a part of these, and they fail by panicking")]
pub(crate) fn at(day: &str) -> Timestamp {
    format!("{day}T00:00:00.000000Z").parse().unwrap()
}

/// An amount in cents.
#[allow(dead_code, clippy::unwrap_used, reason = "each test uses a part of these, and they fail by panicking")]
pub(crate) fn eur(cents: i64) -> Amount {
    Amount::from_minor(Currency::Eur, cents).unwrap()
}

/// A Visa card that is good until the end of that month.
#[allow(dead_code, clippy::unwrap_used, reason = "each test uses a part of these, and they fail by panicking")]
pub(crate) fn visa(expiry: &str) -> CardSummary {
    let scheme = dropin_card::Scheme::Visa;
    CardSummary { scheme, last_four: "4242".parse().unwrap(), expiry: expiry.parse().unwrap() }
}

/// One whose first payment runs since 2026-11-23: ONE_CLICK from a Session, others from the server.
#[allow(dead_code, clippy::unwrap_used, reason = "each test uses a part of these, and they fail by panicking")]
pub(crate) fn opening(kind: ContractKind) -> Contract {
    let now = at("2026-11-23");
    let origin = match kind {
        ContractKind::OneClick => ContractOrigin::Session {
            session: SessionId::new(Uuid::from_u128(3)),
            order: OrderId::new(Uuid::from_u128(4)),
        },
        ContractKind::Recurring | ContractKind::Unscheduled => {
            ContractOrigin::Server { reference: "subscription-7".parse().unwrap() }
        }
    };
    let consent = Consent { text_version: "2026-11".parse().unwrap(), locale: "de_AT".parse().unwrap(), at: now };
    let new = NewContract {
        id: ContractId::new(Uuid::from_u128(1)),
        merchant_id: MerchantId::new(Uuid::from_u128(2)),
        kind,
        origin,
        payment_method: "VISA".to_owned(),
        currency: Currency::Eur,
        billing_profile_reference: Some("customer-7".parse().unwrap()),
        consent,
    };
    Contract::open(new, now).unwrap()
}

/// One that may be charged since 2026-11-23, with a Visa card that is good until the end of 2031.
#[allow(dead_code, clippy::unwrap_used, reason = "each test uses a part of these, and they fail by panicking")]
pub(crate) fn active(kind: ContractKind) -> Contract {
    let id = "483297487231504".parse().ok();
    opening(kind).credential_stored(visa("2031-12"), id, at("2026-11-23")).unwrap().change.next
}
