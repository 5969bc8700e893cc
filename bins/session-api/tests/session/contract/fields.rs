//! What each member must be: the columns "Required" and "Type", the countries' rules, and how mistakes are told.

use actix_web::http::Method;
use serde_json::{Value, json};

use super::{accepted, full, refused, with};
use crate::common::{Api, request};

#[actix_web::test]
async fn every_required_member_is_missed() {
    let api = Api::start().await;
    for pointer in [
        "/MerchantReference",
        "/AutoCapture",
        "/CompleteUrl",
        "/CancelUrl",
        "/Currency",
        "/Items",
        "/BillingProfile",
        "/Items/1/Name",
        "/Items/1/Amount",
        "/Items/1/Quantity",
        "/Discounts/0/Name",
        "/Discounts/0/Amount",
        "/ShippingDetails/ShippingAmount",
        "/ShippingDetails/DutyAmount",
        "/ShippingDetails/Name",
        "/ShippingDetails/Email",
        "/ShippingDetails/Phone",
        "/ShippingDetails/Address",
        "/ShippingDetails/Address/Street",
        "/ShippingDetails/Address/City",
        "/ShippingDetails/Address/Country",
        "/BillingProfile/Name",
        "/BillingProfile/Email",
        "/BillingProfile/Address",
        "/BillingProfile/Address/Street",
        "/BillingProfile/Address/City",
        "/BillingProfile/Address/Country",
    ] {
        refused(&api, pointer, None, "FIELD_MISSING").await;
        refused(&api, pointer, Some(Value::Null), "FIELD_MISSING").await;
    }
}

#[actix_web::test]
async fn every_member_has_its_type() {
    let api = Api::start().await;
    let members = |object: &Value, below: &str| -> Vec<String> {
        object.as_object().unwrap().keys().map(|name| format!("{below}/{name}")).collect()
    };
    let example = full("");
    let mut pointers = members(&example, "");
    for below in [
        "/Items/0",
        "/Discounts/1",
        "/ShippingDetails",
        "/ShippingDetails/Address",
        "/BillingProfile",
        "/BillingProfile/Address",
    ] {
        pointers.extend(members(example.pointer(below).unwrap(), below));
    }
    assert_eq!(pointers.len(), 44);
    for pointer in pointers {
        let others = [json!("29"), json!(29), json!(true), json!([]), json!({})];
        let own = example.pointer(&pointer).unwrap();
        for other in others.iter().filter(|other| std::mem::discriminant(*other) != std::mem::discriminant(own)) {
            refused(&api, &pointer, Some(other.clone()), "FIELD_INVALID").await;
        }
    }
    for (pointer, wrong) in
        [("/RateOfferId", json!(1)), ("/BillingProfile/Birthdate", json!(1980)), ("/Items/0", json!("Mug"))]
    {
        refused(&api, pointer, Some(wrong), "FIELD_INVALID").await;
    }
}

#[actix_web::test]
async fn texts_have_1_to_255_characters_and_no_controls() {
    let api = Api::start().await;
    for pointer in [
        "/MerchantReference",
        "/Items/0/Name",
        "/Discounts/0/Name",
        "/ShippingDetails/Name",
        "/ShippingDetails/Address/Street",
        "/ShippingDetails/Address/City",
        "/ShippingDetails/Address/Postcode",
        "/BillingProfile/BillingProfileReference",
        "/BillingProfile/Name",
        "/BillingProfile/Company",
        "/BillingProfile/Address/Region",
    ] {
        let reference = pointer.replace('/', "-");
        let text = "é".repeat(255);
        let answer = accepted(&api, &reference, pointer, Some(json!(format!(" {text}\t")))).await.json();
        assert_eq!(answer.pointer(pointer), Some(&json!(text)), "{pointer} is trimmed");
        refused(&api, pointer, Some(json!(format!("{text}x"))), "VALUE_TOO_LONG").await;
        refused(&api, pointer, Some(json!("a\u{0}b")), "FIELD_INVALID").await;
        refused(&api, pointer, Some(json!("a\u{85}b")), "FIELD_INVALID").await;
        refused(&api, pointer, Some(json!(" \t ")), "FIELD_MISSING").await;
    }
    for pointer in
        ["/ShippingDetails/Email", "/BillingProfile/Email", "/ShippingDetails/Phone", "/BillingProfile/Address/Phone"]
    {
        refused(&api, pointer, Some(json!("not one")), "FIELD_INVALID").await;
        refused(&api, pointer, Some(json!("1".repeat(256))), "VALUE_TOO_LONG").await;
    }
}

#[actix_web::test]
async fn urls_are_absolute_and_echoed_as_they_were_written() {
    let api = Api::start().await;
    for pointer in ["/CompleteUrl", "/CancelUrl"] {
        for (at, url) in
            ["https://shop.example", "HTTPS://Shop.Example:443/a?b={SessionId}#c", "http://localhost:8081/"]
                .iter()
                .enumerate()
        {
            let session = accepted(&api, &format!("{at}{pointer}"), pointer, Some(json!(url))).await.json();
            assert_eq!(session.pointer(pointer), Some(&json!(url)));
        }
        for wrong in [
            "/paid",
            "shop.example",
            "http://shop.example/",
            "ftp://shop.example/",
            "javascript:alert(1)",
            "https:shop.example",
        ] {
            refused(&api, pointer, Some(json!(wrong)), "FIELD_INVALID").await;
        }
        let long = format!("https://shop.example/{}", "a".repeat(2_048));
        refused(&api, pointer, Some(json!(long)), "VALUE_TOO_LONG").await;
    }
}

#[actix_web::test]
async fn countries_have_their_rules() {
    let api = Api::start().await;
    let billing = |country: &str, members: &Value| {
        let mut body = request(&format!("{country} {members}").chars().take(200).collect::<String>());
        body["BillingProfile"]["Address"]["Country"] = json!(country);
        for (name, value) in members.as_object().unwrap() {
            let address = ["Region", "Postcode"].contains(&name.as_str());
            let below = if address { "/BillingProfile/Address" } else { "/BillingProfile" };
            body = with(body, &format!("{below}/{name}"), Some(value.clone()));
        }
        body
    };
    for (country, members) in [
        ("DE", json!({})),
        ("US", json!({"Region": "CA", "Postcode": "90001"})),
        ("US", json!({"Region": "US-PR", "Postcode": "00901"})),
        ("CA", json!({"Region": "QC", "Postcode": "H2X"})),
        ("MX", json!({"Region": "MX-CMX", "Postcode": "01000"})),
        ("BR", json!({"Postcode": "01000-000", "BirthDate": "1980-05-04", "NationalIdentifier": "255.248.930-33"})),
        (
            "BR",
            json!({"Postcode": "0", "Birthdate": "1980-05-04", "NationalIdentifier": "36002518000101", "Company": "Loja"}),
        ),
        ("AR", json!({"NationalIdentifier": "12.345.678"})),
        ("AR", json!({"NationalIdentifier": "20-12345678-6"})),
        ("IN", json!({"NationalIdentifier": "ABCPE1234F"})),
        ("IN", json!({"NationalIdentifier": "9999 4105 7058"})),
    ] {
        let answer = api.create(&api.ana, &billing(country, &members)).await;
        assert_eq!(answer.status, 201, "{country} {members}: {answer:?}");
    }
    let address = |name: &str, code: &str| format!("BillingProfile.Address.{name} {code}");
    for (country, members, fields) in [
        ("US", json!({}), vec![address("Postcode", "FIELD_MISSING"), address("Region", "FIELD_MISSING")]),
        (
            "CA",
            json!({"Region": "CA"}),
            vec![address("Postcode", "FIELD_MISSING"), address("Region", "VALUE_NOT_ALLOWED")],
        ),
        ("MX", json!({"Region": "US-CA", "Postcode": "1"}), vec![address("Region", "VALUE_NOT_ALLOWED")]),
        (
            "BR",
            json!({}),
            vec![
                address("Postcode", "FIELD_MISSING"),
                "BillingProfile.BirthDate FIELD_MISSING".to_owned(),
                "BillingProfile.NationalIdentifier FIELD_MISSING".to_owned(),
            ],
        ),
        (
            "BR",
            json!({"Postcode": "1", "BirthDate": "2999-01-01", "NationalIdentifier": "36002518000101"}),
            vec![
                "BillingProfile.BirthDate VALUE_OUT_OF_RANGE".to_owned(),
                "BillingProfile.Company FIELD_MISSING".to_owned(),
            ],
        ),
        (
            "BR",
            json!({"Postcode": "1", "BirthDate": "1980-02-30", "NationalIdentifier": "25524893034"}),
            vec![
                "BillingProfile.BirthDate FIELD_INVALID".to_owned(),
                "BillingProfile.NationalIdentifier FIELD_INVALID".to_owned(),
            ],
        ),
        (
            "DE",
            json!({"BirthDate": "1980-05-04", "Birthdate": "1980-05-05"}),
            vec!["BillingProfile.BirthDate CONFLICT".to_owned(), "BillingProfile.Birthdate CONFLICT".to_owned()],
        ),
        (
            "AR",
            json!({"NationalIdentifier": "20-12345678-5"}),
            vec!["BillingProfile.NationalIdentifier FIELD_INVALID".to_owned()],
        ),
        ("IN", json!({}), vec!["BillingProfile.NationalIdentifier FIELD_MISSING".to_owned()]),
        ("UK", json!({}), vec![address("Country", "VALUE_NOT_ALLOWED")]),
        ("de", json!({}), vec![address("Country", "VALUE_NOT_ALLOWED")]),
    ] {
        let fields: Vec<_> = fields.iter().map(String::as_str).collect();
        api.create(&api.ana, &billing(country, &members)).await.is_refused_for(&fields);
    }
}

#[actix_web::test]
async fn all_wrong_types_first_and_then_all_wrong_meanings() {
    let api = Api::start().await;
    let mut body = full("order-1").to_string();
    // Both numbers are numbers: whether they are too large is a matter of meaning.
    body = body.replace("\"Amount\":29", "\"Amount\":1e999").replace("\"TaxAmount\":3", "\"TaxAmount\":-3");
    let typed =
        body.replace("\"ViaAgent\":true", "\"ViaAgent\":\"yes\"").replace("\"Email\":\"ana@shop.example\",", "");
    let post = async |body: &str| api.send(Some(&api.ana), Method::POST, "/v1/session", &[], body.to_owned()).await;
    post(&typed).await.is_refused_for(&[
        "BillingProfile.Email FIELD_MISSING",
        "ShippingDetails.Email FIELD_MISSING",
        "ViaAgent FIELD_INVALID",
    ]);
    post(&body).await.is_refused_for(&["Items[0].Amount VALUE_OUT_OF_RANGE", "TaxAmount VALUE_OUT_OF_RANGE"]);
    // Entries come in the order of their numbers.
    let mut many = request("order-1");
    many["Items"] = json!(vec![json!({"Name": "Mug", "Amount": -1, "Quantity": 1}); 12]);
    let fields: Vec<_> = (0..12).map(|at| format!("Items[{at}].Amount VALUE_OUT_OF_RANGE")).collect();
    api.create(&api.ana, &many).await.is_refused_for(&fields.iter().map(String::as_str).collect::<Vec<_>>());
}
