//! The Session API as a merchant sees it through every deployment; its rules are tested in bins/session-api.

use std::time::{Duration, Instant};

use dropin_money::Currency;
use dropin_tests::{Merchant, cards};
use serde_json::{Value, json};

/// POST of a whole request with these members changed; the answer with that status.
async fn create(merchant: &Merchant, status: u16, change: Value) -> Value {
    let answer = merchant.post_session(merchant.session_request(change).to_string().into_bytes()).await;
    assert_eq!(answer.status, status, "{}", answer.text());
    answer.json()
}

/// The fields of a refusal, as `Field CODE`.
fn fields(error: &Value) -> Vec<String> {
    let entries = error["FieldErrors"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().map(|one| format!("{} {}", one["Field"].as_str().unwrap(), one["Code"].as_str().unwrap())).collect()
}

crate::both! {
    /// docs/SPECIFICATION.md#session-fields: what is supplied comes back, from POST and from the database.
    async fn everything_that_is_supplied_is_echoed(world: &World) {
        let sent = json!({
            "AutoCapture": false, "ViaAgent": true, "AllowContract": false, "OpenContract": false,
            "CompleteUrl": "https://shop.example/{SessionId}", "CancelUrl": "http://Shop.Example",
            "ShippingDetails": {
                "ShippingAmount": 4, "DutyAmount": 0, "Name": "Ana", "Email": "ana@shop.example", "Phone": "+1 213 373 4253",
                "Address": {"Street": "1 Main St", "City": "LA", "Region": "US-CA", "Country": "US", "Postcode": "90001"},
            },
            "BillingProfile": {
                "BillingProfileReference": "ana", "Name": "Ana Souza", "Email": "ana@shop.example", "Phone": "+5511987654321",
                "Birthdate": "1980-05-04", "NationalIdentifier": "255.248.930-33",
                "Address": {"Street": "Rua 1 💳", "City": "São Paulo", "Country": "BR", "Postcode": "01000-000", "Phone": "+5511987654322"},
            },
            "TaxAmount": 1, "Discounts": [{"Name": "Sale", "Amount": 2}],
        });
        let session = create(&world.merchant, 201, sent.clone()).await;
        for name in ["AutoCapture", "ViaAgent", "AllowContract", "OpenContract", "CompleteUrl", "CancelUrl"] {
            assert_eq!(session[name], sent[name], "{name}");
        }
        assert_eq!(session["ShippingDetails"]["Address"], sent["ShippingDetails"]["Address"]);
        assert_eq!(session["BillingProfile"]["Address"], sent["BillingProfile"]["Address"]);
        assert_eq!(session["BillingProfile"]["BirthDate"], "1980-05-04");
        assert_eq!(session["BillingProfile"]["BillingProfileId"], session["BillingProfileId"]);
        let text = world.merchant.session_text(session["SessionId"].as_str().unwrap()).await;
        for amount in ["\"TotalAmount\":32.90,", "\"TaxAmount\":1.00,", "\"ShippingAmount\":4.00,", "\"Name\":\"Sale\",\"Amount\":2.00"] {
            assert!(text.contains(amount), "{amount} in {text}");
        }
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), session, "GET is what POST said");
    }

    /// docs/SPECIFICATION.md#numbers: exact from the token to the database and back, in every currency.
    async fn amounts_of_every_currency_are_exact(world: &World) {
        for currency in Currency::ALL {
            let decimals = usize::from(currency.exponent());
            let point = if decimals == 0 { "" } else { "." };
            let (most, least) = (
                format!("999999999999{point}{}", "9".repeat(decimals)),
                if decimals == 0 { "1".to_owned() } else { format!("0.{:0>decimals$}", 1) },
            );
            for amount in [most, least] {
                let request = json!({"Currency": currency.code(), "Items": [{"Name": "Mug", "Amount": "AMOUNT", "Quantity": 1}]});
                let body = world.merchant.session_request(request).to_string().replace("\"AMOUNT\"", &amount);
                let answer = world.merchant.post_session(body.into_bytes()).await;
                assert_eq!(answer.status, 201, "{currency} {amount}: {}", answer.text());
                let stored = world.merchant.session_text(answer.json()["SessionId"].as_str().unwrap()).await;
                let total = format!("\"TotalAmount\":{amount},");
                let item = format!("\"Amount\":{amount},");
                assert!(stored.contains(&total) && stored.contains(&item), "{currency} {amount}: {stored}");
                assert_eq!(stored, answer.text());
            }
        }
    }

    /// docs/SPECIFICATION.md#billing-choice: by a profile, by reference, by id; those of another merchant do not exist.
    async fn a_billing_profile_is_named_in_one_of_three_ways(world: &World) {
        let merchant = &world.merchant;
        let mut supplied = merchant.session_request(json!({}))["BillingProfile"].clone();
        supplied["BillingProfileReference"] = json!("customer-1");
        let first = create(merchant, 201, json!({"BillingProfile": supplied})).await;
        let id = first["BillingProfileId"].clone();
        let by_id = create(merchant, 201, json!({"BillingProfile": null, "BillingProfileId": id})).await;
        let by_reference =
            create(merchant, 201, json!({"BillingProfile": null, "BillingProfileReference": "customer-1"})).await;
        for session in [&by_id, &by_reference] {
            assert_eq!(session["BillingProfile"], first["BillingProfile"]);
        }
        assert_eq!((by_id.get("BillingProfileReference"), &by_reference["BillingProfileReference"]), (None, &json!("customer-1")));
        let other = world.another_merchant().await;
        for (whose, change, field) in [
            (merchant, json!({"BillingProfile": null}), "BillingProfile FIELD_MISSING"),
            (merchant, json!({"BillingProfile": null, "BillingProfileReference": "customer-2"}), "BillingProfileReference NOT_FOUND"),
            (&other, json!({"BillingProfile": null, "BillingProfileReference": "customer-1"}), "BillingProfileReference NOT_FOUND"),
            (&other, json!({"BillingProfile": null, "BillingProfileId": id}), "BillingProfileId NOT_FOUND"),
        ] {
            assert_eq!(fields(&create(whose, 400, change).await), [field]);
        }
        let both = create(merchant, 400, json!({"BillingProfileId": id})).await;
        assert_eq!(fields(&both), ["BillingProfile CONFLICT", "BillingProfileId CONFLICT"]);
    }

    /// docs/SPECIFICATION.md#all-field-errors: every mistake of a kind at once; a reference is used once.
    async fn mistakes_are_named_all_at_once(world: &World) {
        let types = create(&world.merchant, 400, json!({"AutoCapture": "yes", "Items": [{"Amount": 1}], "ViaAgent": 0})).await;
        assert_eq!(types["Code"], "INVALID_REQUEST");
        let expected = ["AutoCapture FIELD_INVALID", "Items[0].Name FIELD_MISSING", "Items[0].Quantity FIELD_MISSING", "ViaAgent FIELD_INVALID"];
        assert_eq!(fields(&types), expected);
        let items = json!([{"Name": "a\u{7}", "Amount": -1, "Quantity": 0}]);
        let meanings = create(&world.merchant, 400, json!({"Currency": "XXX", "Items": items, "AllowContract": true, "ContractId": "x", "CancelUrl": "/"})).await;
        let expected = [
            "AllowContract CONFLICT",
            "CancelUrl FIELD_INVALID",
            "ContractId FIELD_INVALID",
            "ContractId CONFLICT",
            "Currency VALUE_NOT_ALLOWED",
            "Items[0].Amount VALUE_OUT_OF_RANGE",
            "Items[0].Name FIELD_INVALID",
            "Items[0].Quantity VALUE_OUT_OF_RANGE",
        ];
        assert_eq!(fields(&meanings), expected);
        create(&world.merchant, 201, json!({"MerchantReference": "once"})).await;
        let again = create(&world.merchant, 409, json!({"MerchantReference": "once"})).await;
        assert_eq!((&again["Code"], again.get("FieldErrors")), (&json!("DUPLICATE_MERCHANT_REFERENCE_ID"), None));
    }

    /// docs/SPECIFICATION.md#session-states: a COMPLETED Session shows its Order and never changes.
    async fn a_completed_session_never_changes(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
        world.pay(&session, cards::VISA).await;
        let shown = world.merchant.session_text(&session).await;
        assert!(shown.contains("\"State\":\"COMPLETED\"") && shown.contains("\"Order\":{\"OrderId\":"), "{shown}");
        for answer in [world.merchant.replace(&session, json!({})).await, world.merchant.cancel(&session).await] {
            assert_eq!((answer.status, answer.code().as_str()), (409, "INVALID_SESSION_STATE"), "{}", answer.text());
        }
        assert_eq!(world.merchant.session_text(&session).await, shown);
    }

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

    /// docs/SPECIFICATION.md#http-authentication
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
