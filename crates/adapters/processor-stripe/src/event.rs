//! Stripe's events (docs.stripe.com/webhooks): hints that something has happened to an operation or a dispute. What happened is asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use dropin_kernel::{OpId, Timestamp};
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::names::{CAPTURE, OPERATION, is_id};

/// The header that carries an event's signatures.
pub const SIGNATURE_HEADER: &str = "Stripe-Signature";
/// Most secrets that count at the same time: the new one and the one of before, for each of a few endpoints.
pub const MAX_EVENT_SECRETS: usize = 8;

/// How far the time of an event's signature may be from ours.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// Most parts of a header that are looked at.
const MAX_PARTS: usize = 32;

/// Why an event is not taken notice of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EventRefused {
    /// No signature in it is made with a secret of ours.
    #[error("it is not signed with a secret that counts here")]
    Signature,
    /// It was signed too long ago, or by another clock.
    #[error("it was signed more than five minutes ago, or by a clock that differs as much from ours")]
    Time,
    /// It is no event.
    #[error("it is no event of Stripe's")]
    Body,
}

/// What an event hints at; some of it may be nobody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventHints {
    /// Operations of ours.
    pub operations: Vec<OpId>,
    /// A dispute, by Stripe's id of it.
    pub dispute: Option<String>,
}

/// The secrets that Stripe signs events with. They may be replaced while events arrive.
pub struct EventSecrets(RwLock<Vec<Zeroizing<String>>>);

impl EventSecrets {
    /// The secrets of a text, one a line; at most [`MAX_EVENT_SECRETS`].
    pub fn new(text: &str) -> Self {
        let secrets = Self(RwLock::default());
        secrets.replace(text);
        secrets
    }

    /// Uses those of another text from now on.
    pub fn replace(&self, text: &str) {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.take(MAX_EVENT_SECRETS).map(|line| Zeroizing::new(line.to_owned())).collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    /// Verifies an event by the value of [`SIGNATURE_HEADER`], and tells what it hints at.
    ///
    /// # Errors
    /// [`EventRefused`].
    pub fn read(&self, header: &str, body: &[u8], now: Timestamp) -> Result<EventHints, EventRefused> {
        let parts = || header.split(',').take(MAX_PARTS).filter_map(|part| part.trim().split_once('='));
        let mut times = parts().filter(|(name, _)| *name == "t");
        let (Some((_, time)), None) = (times.next(), times.next()) else { return Err(EventRefused::Signature) };
        let signed = [time.as_bytes(), b".", body].concat();
        let time: i64 = time.parse().map_err(|_no_number| EventRefused::Signature)?;
        let given = || parts().filter(|(name, _)| *name == "v1").filter_map(|(_, hex)| bytes_of(hex));
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        // Once for each secret, however many signatures a stranger sends.
        let is_ours = secrets.iter().any(|secret| {
            let expected = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), &signed);
            given().any(|signature| verify_slices_are_equal(expected.as_ref(), &signature).is_ok())
        });
        if !is_ours {
            return Err(EventRefused::Signature);
        }
        if TOLERANCE.as_secs() < now.unix_seconds().abs_diff(time) {
            return Err(EventRefused::Time);
        }
        let event: Event = serde_json::from_slice(body).map_err(|_other| EventRefused::Body)?;
        let EventObject { object, id, metadata } = event.data.object;
        let operations = [OPERATION, CAPTURE].iter().filter_map(|name| metadata.get(*name)?.parse().ok()).collect();
        let dispute = id.filter(|id| object.as_deref() == Some("dispute") && is_id(id));
        Ok(EventHints { operations, dispute })
    }
}

impl fmt::Debug for EventSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventSecrets(..)")
    }
}

/// Of an event no more is read than whom it is about: what it says is asked for.
#[derive(Deserialize)]
struct Event {
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    object: EventObject,
}

#[derive(Deserialize)]
struct EventObject {
    object: Option<String>,
    id: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

/// The bytes of a hexadecimal text; `None` when it is none of a signature's length.
fn bytes_of(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if hex.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16);
        *byte = u8::try_from(16 * value(digits[0])? + value(digits[1])?).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":{"id":"pi_1",
        "metadata":{"dropin_operation":"0198a6f0-0000-7000-8000-000000000001","dropin_capture":"none"}}}}"#;
    const AT: i64 = 1_800_000_000;

    fn sign(secret: &str, at: i64, body: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, format!("{at}.{body}").as_bytes());
        tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn read(header: &str, body: &str, now: i64) -> Result<EventHints, EventRefused> {
        let secrets = EventSecrets::new("whsec_new\n\nwhsec_old\n");
        secrets.read(header, body.as_bytes(), Timestamp::from_micros(now * 1_000_000))
    }

    #[test]
    fn an_event_that_is_signed_with_any_secret_names_its_operation() {
        let operation: OpId = "0198a6f0-0000-7000-8000-000000000001".parse().unwrap();
        for secret in ["whsec_new", "whsec_old"] {
            let header = format!("t={AT}, v1={}, v1={},v0=ab", "0".repeat(64), sign(secret, AT, BODY));
            let hints = EventHints { operations: vec![operation], dispute: None };
            assert_eq!(read(&header, BODY, AT + 300), Ok(hints), "{secret}");
        }
        for unknown in [r#"{"data":{"object":{}}}"#, r#"{"data":{"object":{"metadata":{"dropin_operation":"pi_1"}}}}"#]
        {
            let header = format!("t={AT},v1={}", sign("whsec_new", AT, unknown));
            let nothing = EventHints { operations: vec![], dispute: None };
            assert_eq!(read(&header, unknown, AT), Ok(nothing), "{unknown}");
        }
    }

    #[test]
    fn an_event_about_a_dispute_names_it() {
        for (object, id, named) in
            [("dispute", "du_1", Some("du_1")), ("refund", "re_1", None), ("dispute", "../du_1", None)]
        {
            let body = format!(
                r#"{{"type":"charge.dispute.created","data":{{"object":{{"object":"{object}","id":"{id}","metadata":{{}}}}}}}}"#
            );
            let header = format!("t={AT},v1={}", sign("whsec_new", AT, &body));
            assert_eq!(read(&header, &body, AT).unwrap().dispute.as_deref(), named, "{object} {id}");
        }
    }

    #[test]
    fn what_is_forged_old_or_no_event_is_refused() {
        let by = |secret, at, body| format!("t={at},v1={}", sign(secret, at, body));
        let right = by("whsec_new", AT, BODY);
        for (header, body, now, why) in [
            (by("whsec_other", AT, BODY), BODY, AT, EventRefused::Signature),
            (right.clone(), "{}", AT, EventRefused::Signature),
            (right.replace(&AT.to_string(), "1800000001"), BODY, AT, EventRefused::Signature),
            (format!("{right},t={AT}"), BODY, AT, EventRefused::Signature),
            (right.replace("v1=", "v0="), BODY, AT, EventRefused::Signature),
            (format!("t={AT},v1=zz"), BODY, AT, EventRefused::Signature),
            (String::new(), BODY, AT, EventRefused::Signature),
            (right.clone(), BODY, AT + 301, EventRefused::Time),
            (right, BODY, AT - 301, EventRefused::Time),
            (by("whsec_new", AT, "[]"), "[]", AT, EventRefused::Body),
        ] {
            assert_eq!(read(&header, body, now), Err(why), "{header}");
        }
        assert_eq!(
            EventSecrets::new("").read(&by("", AT, BODY), BODY.as_bytes(), Timestamp::from_micros(AT * 1_000_000)),
            Err(EventRefused::Signature)
        );
    }

    #[test]
    fn a_secret_is_replaced_and_not_shown() {
        let secrets = EventSecrets::new("whsec_old");
        let header = format!("t={AT},v1={}", sign("whsec_new", AT, BODY));
        let read = || secrets.read(&header, BODY.as_bytes(), Timestamp::from_micros(AT * 1_000_000));
        assert_eq!(read(), Err(EventRefused::Signature));
        secrets.replace("whsec_new");
        assert!(read().is_ok());
        assert_eq!(format!("{secrets:?}"), "EventSecrets(..)");
    }
}
