//! The serialized forms: the texts that Display writes, restored through the same checks.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_kernel::{OrderId, Revision, Timestamp, ViolationCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// `value` is serialized as `json`, and restored from it.
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: T, json: &str) {
    assert_eq!(serde_json::to_string(&value).unwrap(), json);
    assert_eq!(serde_json::from_str::<T>(json).unwrap(), value);
}

fn refused<T: DeserializeOwned + std::fmt::Debug>(json: &str, words: &str) {
    let error = serde_json::from_str::<T>(json).unwrap_err().to_string();
    assert!(error.contains(words), "{json}: {error}");
}

#[test]
fn values_are_their_texts() {
    let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    round_trip(id.parse::<OrderId>().unwrap(), &format!("\"{id}\""));
    round_trip(Timestamp::from_micros(1_795_000_000_000_001), "\"2026-11-18T11:06:40.000001Z\"");
    round_trip(ViolationCode::Conflict, "\"CONFLICT\"");
    round_trip(Revision::new(7), "7");
}

#[test]
fn what_no_text_says_is_refused() {
    refused::<OrderId>("\"6f1c3b2a1d2e4f3a8b4c5d6e7f809112\"", "not a valid UUID");
    refused::<Timestamp>("\"2026-11-18\"", "must be an instant such as");
    refused::<Timestamp>("1795000000", "the text of a Timestamp");
    refused::<ViolationCode>("\"conflict\"", "is no violation code; there are FIELD_MISSING");
    refused::<Revision>("1.5", "invalid type");
}
