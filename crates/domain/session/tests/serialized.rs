//! The serialized forms: codes and small values, restored through the same checks.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_kernel::{AttemptId, OrderId, Timestamp, uuid::Uuid};
use dropin_money::{Amount, Currency};
use dropin_order::FailureReason;
use dropin_session::{
    Attempts, BillingChoice, CancelReason, FailedAttempt, SaleRate, SaleRateParts, SessionEvent, SessionState,
    SessionStateKind, SessionTrigger,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

const ORDER: OrderId = OrderId::new(Uuid::from_u128(1));
const ATTEMPT: AttemptId = AttemptId::new(Uuid::from_u128(2));

/// That `value` is written as `json` and read back as itself.
#[track_caller]
fn is<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, json: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), json);
    assert_eq!(&serde_json::from_str::<T>(json).unwrap(), value);
}

/// That `json` is refused as a `T` for a reason that begins with `why`.
#[track_caller]
fn refused<T: DeserializeOwned + std::fmt::Debug>(json: &str, why: &str) {
    let error = serde_json::from_str::<T>(json).unwrap_err().to_string();
    assert!(error.starts_with(why), "{json}: {error}");
}

#[test]
fn coded_enums_are_their_codes() {
    is(&CancelReason::Expired, r#""EXPIRED""#);
    is(&SessionStateKind::Redirected, r#""REDIRECTED""#);
    is(&SessionTrigger::AttemptFailedLate, r#""ATTEMPT_FAILED_LATE""#);
    is(&SessionEvent::Completed, r#""SESSION_COMPLETED""#);
    refused::<SessionStateKind>(r#""Created""#, "is no Session state; there are CREATED,");
}

#[test]
fn a_state_has_its_own_members_and_no_others() {
    let (order, attempt) = (ORDER, ATTEMPT);
    let ids = r#""Order":"00000000-0000-0000-0000-000000000001","Attempt":"00000000-0000-0000-0000-000000000002""#;
    for (state, members) in [
        (SessionState::Created, String::new()),
        (SessionState::Processing { order, attempt }, format!(",{ids}")),
        (SessionState::Redirected { order, attempt }, format!(",{ids}")),
        (SessionState::Completed { order, attempt }, format!(",{ids}")),
        (SessionState::Cancelled { reason: CancelReason::Merchant }, r#","CancelReason":"MERCHANT""#.to_owned()),
        (
            SessionState::Failed { order, attempt, reason: FailureReason::CardRefused },
            format!(r#",{ids},"FailureReason":"CARD_REFUSED""#),
        ),
    ] {
        is(&state, &format!(r#"{{"State":"{}"{members}}}"#, state.kind()));
        // The members of one state are those of no other, but for the three that have an Order and nothing else.
        let shape = |kind| match kind {
            SessionStateKind::Redirected | SessionStateKind::Completed => SessionStateKind::Processing,
            other => other,
        };
        for kind in SessionStateKind::ALL {
            let read = serde_json::from_str::<SessionState>(&format!(r#"{{"State":"{kind}"{members}}}"#));
            let expected = (shape(kind) == shape(state.kind())).then_some(kind);
            assert_eq!(read.ok().map(|state| state.kind()), expected, "{state:?} as {kind}");
        }
    }
    refused::<SessionState>(&format!(r#"{{"State":"CREATED",{ids}}}"#), "has other members than its State has");
    refused::<SessionState>(r#"{"State":"FAILED","FailureReason":"CARD_REFUSED"}"#, "has other members");
    refused::<SessionState>(r#"{"State":"CANCELLED","CancelReason":"AGE"}"#, "is no reason to cancel");
    refused::<SessionState>(r#"{"State":"CREATED","Reason":"EXPIRED"}"#, "unknown field `Reason`");
    refused::<SessionState>("{}", "missing field `State`");
}

#[test]
fn attempts_are_counted_as_the_session_allows() {
    is(&Attempts::new(5).unwrap(), r#"{"Failed":0,"Allowed":5,"LastFailed":null}"#);
    let last_failed = Some(FailedAttempt { attempt: ATTEMPT, reason: FailureReason::Declined });
    let written = concat!(
        r#"{"Failed":2,"Allowed":5,"#,
        r#""LastFailed":{"Attempt":"00000000-0000-0000-0000-000000000002","Reason":"PAYMENT_DECLINED"}}"#
    );
    is(&Attempts::restore(2, 5, last_failed).unwrap(), written);
    for (part, broken, why) in [
        (":5", ":1", "more attempts failed"),
        (":5", ":21", "a Session allows 1 to 20 attempts"),
        (":2", ":0", "the last failed attempt is known"),
        (":2", ":-1", "invalid value"),
        ("PAYMENT_DECLINED", "BAD_LUCK", "is no reason of a failed attempt"),
        ("\"Reason\"", "\"Why\"", "unknown field `Why`"),
    ] {
        refused::<Attempts>(&written.replacen(part, broken, 1), why);
    }
    refused::<Attempts>(r#"{"Failed":0,"Allowed":0,"LastFailed":null}"#, "a Session allows 1 to 20 attempts");
}

#[test]
fn a_rate_settles_in_its_own_currency() {
    let parts = SaleRateParts {
        offer_id: "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse().unwrap(),
        rate: "EUR/USD 1.1172".parse().unwrap(),
        settlement: Amount::from_minor(Currency::Eur, 89_46).unwrap(),
        expires_at: Timestamp::from_micros(0),
    };
    let sale = SaleRate::restore(parts).unwrap();
    let written = concat!(
        r#"{"OfferId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112","Rate":"EUR/USD 1.1172","#,
        r#""Settlement":"89.46 EUR","ExpiresAt":"1970-01-01T00:00:00.000000Z"}"#
    );
    is(&sale, written);
    for (part, broken, why) in [
        ("89.46 EUR", "89.46 USD", "Settlement must be above zero, in the currency"),
        ("89.46 EUR", "0.00 EUR", "Settlement must be above zero"),
        ("\"89.46 EUR\"", "89.46", "invalid type"),
        ("EUR/USD 1.1172", "EUR/EUR 1.1172", "must be exactly 1 between"),
        ("OfferId", "Offer", "unknown field `Offer`"),
    ] {
        refused::<SaleRate>(&written.replace(part, broken), why);
    }
}

#[test]
fn how_the_billing_profile_was_named() {
    is(&BillingChoice::Supplied, r#""SUPPLIED""#);
    is(&BillingChoice::ById, r#""BY_ID""#);
    is(&BillingChoice::ByReference("customer-7".parse().unwrap()), r#"{"BY_REFERENCE":"customer-7"}"#);
    refused::<BillingChoice>(r#"{"BY_REFERENCE":""}"#, "must not be empty");
    refused::<BillingChoice>(r#""BY_NAME""#, "unknown variant");
}
