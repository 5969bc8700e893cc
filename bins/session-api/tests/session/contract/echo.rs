//! What an answer holds: the column "Returned when" of the Session table.

use serde_json::{Value, json};

use super::{NOBODY, accepted, full, names, refused, with};
use crate::common::{Api, request};

#[actix_web::test]
async fn the_least_that_is_accepted_returns_what_is_always_returned() {
    let api = Api::start().await;
    let created = api.create(&api.ana, &request("order-1")).await;
    assert_eq!(created.status, 201, "{created:?}");
    let session = created.json();
    let always = "AutoCapture BillingProfile BillingProfileId CancelUrl CompleteUrl CreatedAt Currency ExpiresAt Items MerchantReference SessionId State \
        TotalAmount UpdatedAt ViaAgent";
    assert_eq!(names(&session).join(" "), always);
    assert_eq!((&session["State"], &session["ViaAgent"]), (&json!("CREATED"), &json!(false)));
    assert_eq!(names(&session["BillingProfile"]).join(" "), "Address BillingProfileId Email Name");
    assert_eq!(names(&session["BillingProfile"]["Address"]).join(" "), "City Country Street");
    for id in [&session["SessionId"], &session["BillingProfileId"]] {
        let id = id.as_str().unwrap();
        assert!(
            id.len() == 36 && id.chars().all(|c| c == '-' || c.is_ascii_digit() || ('a'..='f').contains(&c)),
            "{id}"
        );
    }
    for member in ["CreatedAt", "UpdatedAt", "ExpiresAt"] {
        let at = session[member].as_str().unwrap();
        let form: String = at.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        assert_eq!(form, "9999-99-99T99:99:99.999999Z", "{member}");
    }
}

#[actix_web::test]
async fn everything_that_is_supplied_is_echoed() {
    let api = Api::start().await;
    let sent = full("order-1");
    let created = api.create(&api.ana, &sent).await;
    let id = created.session_id(201);
    let session = created.json();
    for (name, value) in sent.as_object().unwrap() {
        if !["Items", "Discounts", "TaxAmount", "ShippingDetails", "BillingProfile"].contains(&name.as_str()) {
            assert_eq!(&session[name], value, "{name}");
        }
    }
    for amounts in [
        r#""Items":[{"Name":"Mug","Amount":29.00,"Quantity":2},{"Name":"Bag","Amount":10.00,"Quantity":1}]"#,
        r#""TaxAmount":3.00,"#,
        r#""Discounts":[{"Name":"Sale","Amount":5.00},{"Name":"Welcome","Amount":1.00}]"#,
        r#""ShippingDetails":{"ShippingAmount":4.00,"DutyAmount":0.00,"#,
        r#""TotalAmount":40.00,"#,
    ] {
        assert!(created.text.contains(amounts), "{amounts} in {}", created.text);
    }
    for name in ["Name", "Email", "Phone", "Address"] {
        assert_eq!(session["ShippingDetails"][name], sent["ShippingDetails"][name], "{name}");
    }
    let mut billing = session["BillingProfile"].clone();
    assert_eq!(billing.as_object_mut().unwrap().remove("BillingProfileId"), Some(session["BillingProfileId"].clone()));
    assert_eq!(billing, sent["BillingProfile"]);
    // A reference inside the profile is not one that the Session was created by.
    assert!(session.get("BillingProfileReference").is_none() && session.get("Order").is_none());
    assert_eq!(api.get(&api.ana, &id).await.text, created.text);
    let replaced = api.put(&api.ana, &id, &sent).await;
    assert_eq!(replaced.status, 200, "{replaced:?}");
    assert_eq!(names(&replaced.json()), names(&session));
}

#[actix_web::test]
async fn what_is_optional_is_returned_only_when_it_was_supplied() {
    let api = Api::start().await;
    let optional = ["TaxAmount", "Discounts", "ShippingDetails", "AllowContract", "OpenContract"];
    for (at, name) in optional.iter().enumerate() {
        let supplied = with(request(&format!("a-{at}")), &format!("/{name}"), Some(full("")[name].clone()));
        let session = api.create(&api.ana, &supplied).await.json();
        let returned: Vec<_> = optional.iter().filter(|name| session.get(**name).is_some()).collect();
        assert_eq!(returned, [name]);
    }
    let nulls = optional.iter().fold(request("b"), |body, name| with(body, &format!("/{name}"), Some(Value::Null)));
    let session = api.create(&api.ana, &nulls).await;
    assert_eq!(session.status, 201, "null counts as left out: {session:?}");
    assert!(optional.iter().all(|name| session.json().get(*name).is_none()), "{session:?}");
    let none = accepted(&api, "c", "/Discounts", Some(json!([]))).await;
    assert_eq!(none.json()["Discounts"], json!([]));
    assert_eq!(accepted(&api, "d", "/ViaAgent", Some(Value::Null)).await.json()["ViaAgent"], false);
    let empty = optional.iter().fold(request("e"), |body, name| with(body, &format!("/{name}"), None));
    api.create(&api.ana, &with(empty, "/Unknown", Some(json!({"a": [1]}))))
        .await
        .is_refused_for(&["Unknown FIELD_UNKNOWN"]);
}

/// Whatever a Session was made with, what was read can be sent back as it is.
#[actix_web::test]
async fn what_was_read_can_be_sent_back() {
    let api = Api::start().await;
    let first = api.create(&api.ana, &full("order-1")).await.json();
    let named = |name: &str| {
        let mut body = request(&format!("order-{name}"));
        drop(body.as_object_mut().unwrap().remove("BillingProfile"));
        body[name] = match name {
            "BillingProfileId" => first["BillingProfileId"].clone(),
            _ => first["BillingProfile"]["BillingProfileReference"].clone(),
        };
        body
    };
    for body in [full("order-2"), request("order-3"), named("BillingProfileId"), named("BillingProfileReference")] {
        let id = api.create(&api.ana, &body).await.session_id(201);
        let read = api.get(&api.ana, &id).await.json();
        let put = api.put(&api.ana, &id, &read).await;
        assert_eq!(put.status, 200, "{read} {put:?}");
        let put = put.json();
        for same in ["SessionId", "State", "TotalAmount", "Items", "MerchantReference", "CreatedAt", "ShippingDetails"]
        {
            assert_eq!(put.get(same), read.get(same), "{same} of {put}");
        }
        let person = |session: &Value| {
            let mut person = session["BillingProfile"].clone();
            drop(person.as_object_mut().unwrap().remove("BillingProfileId"));
            person
        };
        assert_eq!(person(&put), person(&read));
        let again = api.get(&api.ana, &id).await.json();
        assert_eq!(api.put(&api.ana, &id, &again).await.status, 200, "and once more");
    }
}

#[actix_web::test]
async fn contracts_are_opened_as_the_merchant_says_and_rate_offers_have_to_exist() {
    let api = Api::start().await;
    let session = api.create(&api.ana, &full("order-1")).await.json();
    assert_eq!((&session["AllowContract"], &session["OpenContract"]), (&json!(false), &json!(false)));
    let allows = accepted(&api, "order-5", "/AllowContract", Some(json!(true))).await;
    assert_eq!(allows.json()["AllowContract"], true);
    refused(&api, "/ContractId", Some(json!(NOBODY)), "NOT_FOUND").await;
    refused(&api, "/ContractId", Some(json!("seven")), "FIELD_INVALID").await;
    let opens = accepted(&api, "order-3", "/OpenContract", Some(json!(true))).await;
    assert_eq!(opens.json()["OpenContract"], true);
    refused(&api, "/RateOfferId", Some(json!(NOBODY)), "NOT_FOUND").await;
    // A rate offer names the currency, so that is not missed; and a contract may be opened for nothing, so the total is not at fault.
    let mut body = with(request("order-2"), "/RateOfferId", Some(json!(NOBODY)));
    body = with(body, "/Currency", None);
    api.create(&api.ana, &body).await.is_refused_for(&["RateOfferId NOT_FOUND"]);
    let mut body = with(request("order-2"), "/OpenContract", Some(json!(true)));
    body["Items"][0]["Amount"] = json!(0);
    body["AllowContract"] = json!(true);
    let free = api.create(&api.ana, &body).await;
    assert_eq!(
        (free.status, &free.json()["TotalAmount"], &free.json()["AllowContract"]),
        (201, &json!(0.0), &json!(true)),
        "{free:?}"
    );
    body["OpenContract"] = json!(false);
    body["MerchantReference"] = json!("order-4");
    api.create(&api.ana, &body).await.is_refused_for(&["Items VALUE_OUT_OF_RANGE"]);
}
