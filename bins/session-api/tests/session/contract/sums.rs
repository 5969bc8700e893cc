//! Who pays and how much: the billing choices and TotalAmount.

use actix_web::http::Method;
use serde_json::json;

use super::{NOBODY, with};
use crate::common::{Api, request};

#[actix_web::test]
async fn exactly_one_of_three_ways_names_the_billing_profile() {
    let api = Api::start().await;
    let mut first = request("order-1");
    first["BillingProfile"]["BillingProfileReference"] = json!("ana-1");
    let first = api.create(&api.ana, &first).await.json();
    let profile = &first["BillingProfileId"];
    let without = |reference: &str| with(request(reference), "/BillingProfile", None);
    // By id and by reference: the same profile; the reference is echoed when it was the choice.
    let by_id =
        api.create(&api.ana, &with(without("order-2"), "/BillingProfileId", Some(profile.clone()))).await.json();
    assert_eq!((&by_id["BillingProfile"], &by_id["BillingProfileId"]), (&first["BillingProfile"], profile));
    assert!(by_id.get("BillingProfileReference").is_none());
    let by_reference = with(without("order-3"), "/BillingProfileReference", Some(json!("ana-1")));
    let by_reference = api.create(&api.ana, &by_reference).await.json();
    assert_eq!(
        (&by_reference["BillingProfile"], &by_reference["BillingProfileReference"]),
        (&first["BillingProfile"], &json!("ana-1"))
    );
    // None, two, three.
    api.create(&api.ana, &without("order-4")).await.is_refused_for(&["BillingProfile FIELD_MISSING"]);
    let two = with(request("order-4"), "/BillingProfileId", Some(profile.clone()));
    api.create(&api.ana, &two).await.is_refused_for(&["BillingProfile CONFLICT", "BillingProfileId CONFLICT"]);
    let three = with(two, "/BillingProfileReference", Some(json!("ana-1")));
    api.create(&api.ana, &three).await.is_refused_for(&[
        "BillingProfile CONFLICT",
        "BillingProfileId CONFLICT",
        "BillingProfileReference CONFLICT",
    ]);
    // Unknown ones, and those of another merchant, do not exist.
    for (user, member, value, code) in [
        (&api.ana, "BillingProfileId", json!(NOBODY), "NOT_FOUND"),
        (&api.ana, "BillingProfileId", json!("ana-1"), "FIELD_INVALID"),
        (&api.ana, "BillingProfileReference", json!("ana-2"), "NOT_FOUND"),
        (&api.bob, "BillingProfileId", profile.clone(), "NOT_FOUND"),
        (&api.bob, "BillingProfileReference", json!("ana-1"), "NOT_FOUND"),
    ] {
        let body = with(without("order-4"), &format!("/{member}"), Some(value));
        api.create(user, &body).await.is_refused_for(&[&format!("{member} {code}")]);
    }
    // A profile that is supplied is a new one each time.
    let again = api.create(&api.ana, &request("order-5")).await.json();
    let id = again["SessionId"].as_str().unwrap();
    let replaced = api.put(&api.ana, id, &request("order-5")).await.json();
    assert_ne!(replaced["BillingProfileId"], again["BillingProfileId"]);
}

#[actix_web::test]
async fn the_total_is_the_contracts_sum() {
    let api = Api::start().await;
    let body = |at: usize, items: &str, rest: &str| {
        let mut text = with(request(&format!("order-{at}")), "/Items", Some(json!("ITEMS"))).to_string();
        text = text.replace("\"ITEMS\"", items);
        text.replacen('{', &format!("{{{rest}"), 1)
    };
    let one = r#"[{"Name": "Mug", "Amount": 29.90, "Quantity": 3}]"#;
    let shipped = r#""ShippingDetails": {"ShippingAmount": 4.5, "DutyAmount": 0.05, "Name": "A", "Email": "a@b.example", "Phone": "12345",
        "Address": {"Street": "S", "City": "C", "Country": "DE"}},"#;
    for (at, (items, rest, total)) in [
        (one, "", "29.90"),
        (one, r#""TaxAmount": 1e-2,"#, "29.91"),
        (one, shipped, "34.45"),
        (one, r#""Discounts": [{"Name": "a", "Amount": 29.89}],"#, "0.01"),
        (r#"[{"Name": "a", "Amount": 0.1, "Quantity": 1}, {"Name": "b", "Amount": 0.2, "Quantity": 2.0}]"#, "", "0.30"),
        (
            r#"[{"Name": "free", "Amount": 0, "Quantity": 1000000}, {"Name": "b", "Amount": 1E+1, "Quantity": 1e0}]"#,
            "",
            "10.00",
        ),
        (r#"[{"Name": "a", "Amount": 999999999999.99, "Quantity": 1}]"#, "", "999999999999.99"),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = api.send(Some(&api.ana), Method::POST, "/v1/session", &[], body(at, items, rest)).await;
        answer.session_id(201);
        assert!(answer.text.contains(&format!("\"TotalAmount\":{total},")), "{total}: {}", answer.text);
    }
    let item =
        |amount: &str, quantity: &str| format!(r#"[{{"Name": "a", "Amount": {amount}, "Quantity": {quantity}}}]"#);
    for (items, rest, field) in [
        (item("-0.01", "1"), "", "Items[0].Amount VALUE_OUT_OF_RANGE"),
        (item("0.001", "1"), "", "Items[0].Amount FIELD_INVALID"),
        (item("1000000000000", "1"), "", "Items[0].Amount VALUE_OUT_OF_RANGE"),
        (item("1e999999999", "1"), "", "Items[0].Amount VALUE_OUT_OF_RANGE"),
        (item("1", "0"), "", "Items[0].Quantity VALUE_OUT_OF_RANGE"),
        (item("1", "1000001"), "", "Items[0].Quantity VALUE_OUT_OF_RANGE"),
        (item("1", "1e30"), "", "Items[0].Quantity VALUE_OUT_OF_RANGE"),
        (item("1", "1.5"), "", "Items[0].Quantity FIELD_INVALID"),
        (item("0", "1"), "", "Items VALUE_OUT_OF_RANGE"),
        (item("1", "1"), r#""TaxAmount": -1,"#, "TaxAmount VALUE_OUT_OF_RANGE"),
        (item("1", "1"), r#""TaxAmount": 999999999999.99,"#, "Items VALUE_OUT_OF_RANGE"),
        (item("1", "1"), r#""Discounts": [{"Name": "a", "Amount": 0}],"#, "Discounts[0].Amount VALUE_OUT_OF_RANGE"),
        (item("1", "1"), r#""Discounts": [{"Name": "a", "Amount": 1}],"#, "Items VALUE_OUT_OF_RANGE"),
        (
            item("1", "1"),
            r#""Discounts": [{"Name": "a", "Amount": 0.5}, {"Name": "b", "Amount": 0.51}],"#,
            "Discounts VALUE_OUT_OF_RANGE",
        ),
        ("[]".to_owned(), "", "Items VALUE_OUT_OF_RANGE"),
    ] {
        let answer = api.send(Some(&api.ana), Method::POST, "/v1/session", &[], body(99, &items, rest)).await;
        answer.is_refused_for(&[field]);
    }
}
