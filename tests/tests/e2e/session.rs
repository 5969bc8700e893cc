//! The Session API as a merchant sees it through every deployment; its rules are tested in bins/session-api.

use std::time::{Duration, Instant};

use serde_json::json;

crate::both! {
    /// Create, read, replace, cancel.
    async fn a_session_lives(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shown = world.merchant.session_text(&session).await;
        assert!(shown.contains("\"TotalAmount\":29.90") && shown.contains("\"State\":\"CREATED\""), "{shown}");
        let replaced = world.merchant.replace(&session, json!({"Items": [{"Name": "Tea", "Amount": 5, "Quantity": 2.0}]})).await;
        assert_eq!(replaced.status, 200, "{}", replaced.text());
        assert!(replaced.text().contains("\"TotalAmount\":5.00"), "{}", replaced.text());
        assert_eq!(world.merchant.cancel(&session).await.status, 204);
        let again = world.merchant.cancel(&session).await;
        assert_eq!((again.status, again.code().as_str()), (409, "INVALID_SESSION_STATE"));
        assert_eq!(world.merchant.session(&session).await["State"], "CANCELLED");
    }

    /// Issue 2, bad input: a clear 400 that costs nothing.
    async fn bad_input_is_a_clear_400_that_costs_nothing(world: &World) {
        let good = world.merchant.session_request(json!({"AutoCapture": true})).to_string();
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let cases = [
            ("malformed", "{\"Items\": [".to_owned()),
            ("wrong type", good.replace("29.9", "\"29.9\"")),
            ("exponent bomb", good.replace("29.9", "1e1000000000")),
            ("duplicate key", good.replacen('{', "{\"AutoCapture\": true, ", 1)),
            ("deep nesting", good.replacen('{', &format!("{{\"Extra\": {deep}, "), 1)),
            ("not UTF-8", String::new()),
        ];
        for (name, body) in cases {
            let mut bytes = body.into_bytes();
            if name == "not UTF-8" {
                bytes = [b"{\"MerchantReference\": \"".as_slice(), &[0xff, 0xfe], b"\"}"].concat();
            }
            let begun = Instant::now();
            let answer = world.merchant.post_session(bytes).await;
            assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_REQUEST"), "{name}: {}", answer.text());
            assert!(begun.elapsed() < Duration::from_millis(500), "{name} took {:?}", begun.elapsed());
            assert!(answer.header("x-request-id").is_some(), "{name}");
        }
    }

    /// Contract, Authentication.
    async fn credentials_are_needed(world: &World) {
        let nobody = world.merchant.with_password(None);
        let wrong = world.merchant.with_password(Some("wrong"));
        for caller in [nobody, wrong] {
            let answer = caller.call("GET", "/v1/session/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112", None).await;
            assert_eq!((answer.status, answer.code().as_str()), (401, "AUTHENTICATION_REQUIRED"));
            assert!(answer.header("www-authenticate").is_some_and(|value| value.starts_with("Basic realm=")));
        }
    }

    /// Every error is the Error object.
    async fn unknown_addresses_and_methods_answer_the_error_object(world: &World) {
        for (method, path, status, code) in [
            ("GET", "/nothing/here", 404, "NOT_FOUND"),
            ("PATCH", "/v1/session", 405, "METHOD_NOT_ALLOWED"),
            ("GET", "/v1/session/not-a-uuid", 400, "VALIDATION_ERROR"),
        ] {
            let answer = world.merchant.call(method, path, None).await;
            assert_eq!((answer.status, answer.code().as_str()), (status, code), "{method} {path}: {}", answer.text());
        }
    }
}
