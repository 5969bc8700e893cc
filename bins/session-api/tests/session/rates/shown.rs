use actix_web::http::Method;
use dropin_access::RateChange;
use dropin_ports::RateStore;

use super::{Currency, HOUR, TODAY, get, guaranteed, id_of, publish_rates, rates, until};
use crate::common::{Answer, Api, audited};

/// Pages of every origin may read it.
#[track_caller]
fn is_open(answer: &Answer) {
    assert_eq!(answer.header("access-control-allow-origin"), "*", "{answer:?}");
    assert_eq!(answer.header("access-control-allow-credentials"), "", "{answer:?}");
}

#[actix_web::test]
async fn spot_rates_are_exact_and_cacheable() {
    let api = Api::start().await;
    publish_rates(&api, TODAY, None).await;
    let ana = id_of(&api, "Ana").await;
    let answer = rates(&api, ana).await;
    // In the merchant's order, which is that of docs/SPECIFICATION.md#currencies; yen are not enabled, and the ruble's rate is left behind.
    assert_eq!(
        answer.text,
        r#"{"Rates":[{"Currency":"USD","Rate":1.1172},{"Currency":"EUR","Rate":1},{"Currency":"GBP","Rate":0.8338},{"Currency":"KWD","Rate":0.34}]}"#
    );
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.header("cache-control"), "public, max-age=3600");
    assert_eq!(answer.header("warning"), "");
    is_open(&answer);
    api.clock.advance(HOUR / 4);
    let later = rates(&api, ana).await;
    assert_eq!((&later.text, later.header("cache-control")), (&answer.text, "public, max-age=2700"));
    let tag = answer.header("etag").to_owned();
    let path = format!("/v2.2/getRates?merchantId={ana}");
    for known in [tag.as_str(), "*", &format!("\"x\", W/{tag}")] {
        let same = api.send(None, Method::GET, &path, &[("if-none-match", known)], "").await;
        assert_eq!((same.status, same.text.as_str(), same.header("etag")), (304, "", tag.as_str()));
        assert_eq!(same.header("cache-control"), "public, max-age=2700");
        is_open(&same);
    }
    let other = api.send(None, Method::GET, &path, &[("if-none-match", "\"x\"")], "").await;
    assert_eq!((other.status, &other.text), (200, &answer.text));
    api.clock.advance(HOUR);
    publish_rates(&api, &[(Currency::Usd, "1.2")], None).await;
    let next = until(&api, ana, |answer| answer.text.contains("1.2}")).await;
    assert_ne!(next.header("etag"), tag);
    // The rates are not refreshed any more: the answer may be cached for a second.
    api.clock.advance(2 * HOUR);
    assert_eq!(rates(&api, ana).await.header("cache-control"), "public, max-age=1");
}

#[actix_web::test]
async fn a_change_of_the_settings_shows_by_itself() {
    let api = Api::start().await;
    publish_rates(&api, TODAY, None).await;
    let ana = id_of(&api, "Ana").await;
    assert!(rates(&api, ana).await.text.contains(r#"{"Currency":"EUR","Rate":1}"#));
    let change = RateChange { settlement: Some(Currency::Usd), ..RateChange::default() };
    api.outbox.change_rates(ana, None, change, audited()).await.unwrap();
    let answer = until(&api, ana, |answer| answer.text.contains(r#"{"Currency":"USD","Rate":1}"#)).await;
    // 1 / 1.1172, to ten significant digits.
    assert!(answer.text.contains(r#"{"Currency":"EUR","Rate":0.8950948801}"#), "{answer:?}");
}

#[actix_web::test]
async fn old_rates_are_shown_with_a_warning_and_not_guaranteed() {
    let api = Api::start().await;
    let (ana, bob) = (guaranteed(&api).await, id_of(&api, "Bob").await);
    // Nothing was ever read: there is nothing to show to anybody.
    for merchant in [ana, bob] {
        let answer = rates(&api, merchant).await;
        answer.is_error(503, "RATES_STALE");
        assert_eq!(answer.header("retry-after"), "1");
        is_open(&answer);
    }
    publish_rates(&api, TODAY, Some(HOUR / 2)).await;
    api.clock.advance(HOUR / 4);
    let (fresh, guarantee) = (rates(&api, bob).await, rates(&api, ana).await);
    assert_eq!((fresh.status, fresh.header("warning"), guarantee.status), (200, "", 200), "{guarantee:?}");
    for answer in [&fresh, &guarantee] {
        assert_eq!(answer.header("cache-control"), "public, max-age=900", "until they are too old");
    }
    api.clock.advance(HOUR / 4);
    let old = rates(&api, bob).await;
    assert_eq!((old.status, &old.text), (200, &fresh.text));
    assert_eq!(old.header("warning"), "110 dropin \"the exchange rates are those of 2026-11-17\"");
    assert!(old.header("access-control-expose-headers").contains("Warning"));
    let refused = rates(&api, ana).await;
    refused.is_error(503, "RATES_STALE");
    assert_eq!((refused.header("retry-after"), refused.header("cache-control")), ("1800", "no-store"));
    assert_eq!(rates(&api, ana).await.header("retry-after"), "1800", "remembered");
    publish_rates(&api, TODAY, Some(HOUR)).await;
    assert_eq!(until(&api, ana, |answer| answer.status == 200).await.text, guarantee.text, "the same offers");
}

#[actix_web::test]
async fn whatever_else_is_asked_gets_the_error_object() {
    let api = Api::start().await;
    publish_rates(&api, TODAY, None).await;
    let ana = id_of(&api, "Ana").await;
    for missing in ["", "?", "?merchantId", "?merchantId="] {
        let answer = get(&api, missing).await;
        answer.is_refused_for(&["merchantId FIELD_MISSING"]);
        is_open(&answer);
    }
    for unknown in ["MerchantId", "merchantID"] {
        let answer = get(&api, &format!("?{unknown}=x")).await;
        answer.is_refused_for(&[&format!("{unknown} FIELD_UNKNOWN")]);
        is_open(&answer);
    }
    for twice in [format!("?merchantId={ana}&merchantId={ana}"), format!("?merchantId={ana}&merchant%49d=")] {
        get(&api, &twice).await.is_refused_for(&["merchantId CONFLICT"]);
    }
    let nobody = "?merchantId=6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    let unknown = get(&api, nobody).await;
    unknown.is_error(404, "MERCHANT_NOT_FOUND");
    is_open(&unknown);
    for malformed in ["x", "%00", "%ff", "%27%20OR%201=1", "6f1c3b2a1d2e4f3a8b4c5d6e7f809112", &"a".repeat(7_000)] {
        let answer = get(&api, &format!("?merchantId={malformed}")).await;
        assert_eq!((answer.status, &answer.text), (404, &unknown.text), "{malformed}");
    }
    get(&api, &format!("{nobody}{}", "&a=1".repeat(40))).await.is_error(400, "INVALID_REQUEST");
    let path = format!("/v2.2/getRates?merchantId={ana}");
    api.send(None, Method::GET, &path, &[("if-none-match", "x")], "").await.is_error(400, "INVALID_REQUEST");
    let posted = api.send(None, Method::POST, &path, &[], "{}").await;
    posted.is_error(405, "METHOD_NOT_ALLOWED");
    assert!(posted.header("allow").contains("GET"), "{posted:?}");
    let asked = api.send(None, Method::OPTIONS, &path, &[("origin", "https://a.example")], "").await;
    assert_eq!((asked.status, asked.header("access-control-allow-methods")), (204, "GET"), "{asked:?}");
    assert_eq!(asked.header("access-control-allow-headers"), "If-None-Match, X-Request-Id");
    is_open(&asked);
    // Other addresses are not open.
    let session = api.send(None, Method::GET, "/v1/session/x", &[("origin", "https://a.example")], "").await;
    assert_eq!(session.header("access-control-allow-origin"), "");
}
