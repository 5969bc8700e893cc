//! The serialized forms: the texts that Display writes, restored through the same checks.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_notification::{EventFilter, Schedule};

#[test]
fn schedules_and_filters_are_their_texts() {
    let schedule: Schedule = serde_json::from_str(r#""1500ms,1m;1h""#).unwrap();
    assert_eq!(schedule, "1500ms,60s;60m".parse().unwrap());
    assert_eq!(serde_json::to_string(&schedule).unwrap(), r#""1500ms,1m;1h""#);
    let filter: EventFilter = serde_json::from_str(r#""ORDER_*,SESSION_FAILED""#).unwrap();
    assert_eq!(filter, "ORDER_*,SESSION_FAILED".parse().unwrap());
    assert_eq!(serde_json::to_string(&filter).unwrap(), r#""ORDER_*,SESSION_FAILED""#);
}

#[test]
fn what_is_none_is_refused() {
    for (json, why) in [
        (r#""5s,30s""#, "a schedule is written as"),
        (r#""5s;6s""#, "the schedule gives up before"),
        (r#"["5s","30s"]"#, "invalid type"),
    ] {
        let error = serde_json::from_str::<Schedule>(json).unwrap_err().to_string();
        assert!(error.starts_with(why), "{json}: {error}");
    }
    for (json, why) in [
        (r#""order_*""#, "an event filter is made of"),
        (r#""""#, "an event filter"),
        (r#"["ORDER_*"]"#, "invalid type"),
    ] {
        let error = serde_json::from_str::<EventFilter>(json).unwrap_err().to_string();
        assert!(error.starts_with(why), "{json}: {error}");
    }
}
