//! The serialized forms: the texts that Display writes, restored through the same checks.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_notification::{EndpointBreakerRules, EventFilter, Schedule};

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

#[test]
fn rules_of_a_breaker_are_checked() {
    let written = r#"{"UnreachedInARow":5,"Window":20,"FailedPercent":50,"FirstWait":"5s","LongestWait":"5m"}"#;
    let rules = EndpointBreakerRules::default();
    assert_eq!(serde_json::to_string(&rules).unwrap(), written);
    assert_eq!(serde_json::from_str::<EndpointBreakerRules>(written).unwrap(), rules);
    for (part, broken, why) in [
        (":5,", ":0,", "a circuit breaker opens after at least one attempt"),
        (":20", ":0", "a circuit breaker remembers 1 to 64 tries"),
        (":20", ":65", "a circuit breaker remembers 1 to 64 tries"),
        (":50", ":100", "a circuit breaker opens when more than 0 to 99 percent"),
        (r#""5s""#, r#""0s""#, "a circuit breaker waits before each probe"),
        (r#""5m""#, r#""0s""#, "a circuit breaker waits before each probe"),
        (r#""5s""#, "5", "invalid type"),
        (r#""5s""#, r#""soon""#, "a span is a whole number with"),
        ("Window", "Windows", "unknown field `Windows`"),
    ] {
        let error = serde_json::from_str::<EndpointBreakerRules>(&written.replacen(part, broken, 1)).unwrap_err();
        assert!(error.to_string().starts_with(why), "{broken}: {error}");
    }
    let fine = EndpointBreakerRules { first_wait: std::time::Duration::from_micros(1_500), ..rules };
    assert!(serde_json::to_string(&fine).unwrap_err().to_string().starts_with("a span is whole milliseconds"));
}
