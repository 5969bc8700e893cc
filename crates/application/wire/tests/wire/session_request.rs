//! How a create or update request is read: all wrong types and missing members at once, then all wrong meanings at once.

use std::time::{Duration, Instant};

use crate::common::{LARGEST, SMALLEST, parse, refused, session};
use dropin_wire::RequestError;
use dropin_wire::session::RequestedBilling;

#[test]
fn the_smallest_and_the_largest_request() {
    assert!(matches!(parse(SMALLEST).unwrap().billing, RequestedBilling::Supplied(_)));
    let session = session(LARGEST);
    // 29.90 + 10 + 3.10 + 4.50 + 0 - 5: Quantity does not multiply.
    assert_eq!(session.terms.total.to_string(), "42.50");
    assert_eq!(session.terms.items[0].quantity, 2);
    assert_eq!(session.terms.merchant_reference.as_str(), "order-1");
}

#[test]
fn an_empty_object_misses_everything_at_once() {
    assert_eq!(
        refused("{}"),
        [
            "AutoCapture FIELD_MISSING",
            "BillingProfile FIELD_MISSING",
            "CancelUrl FIELD_MISSING",
            "CompleteUrl FIELD_MISSING",
            "Currency FIELD_MISSING",
            "Items FIELD_MISSING",
            "MerchantReference FIELD_MISSING",
        ]
    );
}

#[test]
fn wrong_types_and_missing_members_are_reported_together() {
    let body = r#"{
        "MerchantReference": 7, "AutoCapture": "true", "Currency": ["USD"], "ViaAgent": 1,
        "CompleteUrl": null, "CancelUrl": {}, "TaxAmount": "3.10", "RateOfferId": false, "AllowContract": "no",
        "Items": [{"Name": "Mug", "Amount": 1, "Quantity": 1}, null, "Mug", ["Mug", 1, 1], {"Amount": "29.90", "Quantity": true}],
        "Discounts": {"Name": "Sale"},
        "ShippingDetails": {"ShippingAmount": "4", "Address": []},
        "BillingProfile": {"Name": 1, "Address": {"Region": 5}}
    }"#;
    assert_eq!(
        refused(body),
        [
            "AllowContract FIELD_INVALID",
            "AutoCapture FIELD_INVALID",
            "BillingProfile.Address.City FIELD_MISSING",
            "BillingProfile.Address.Country FIELD_MISSING",
            "BillingProfile.Address.Region FIELD_INVALID",
            "BillingProfile.Address.Street FIELD_MISSING",
            "BillingProfile.Email FIELD_MISSING",
            "BillingProfile.Name FIELD_INVALID",
            "CancelUrl FIELD_INVALID",
            "CompleteUrl FIELD_MISSING",
            "Currency FIELD_INVALID",
            "Discounts FIELD_INVALID",
            "Items[1] FIELD_MISSING",
            "Items[2] FIELD_INVALID",
            "Items[3] FIELD_INVALID",
            "Items[4].Amount FIELD_INVALID",
            "Items[4].Name FIELD_MISSING",
            "Items[4].Quantity FIELD_INVALID",
            "MerchantReference FIELD_INVALID",
            "RateOfferId FIELD_INVALID",
            "ShippingDetails.Address FIELD_INVALID",
            "ShippingDetails.DutyAmount FIELD_MISSING",
            "ShippingDetails.Email FIELD_MISSING",
            "ShippingDetails.Name FIELD_MISSING",
            "ShippingDetails.Phone FIELD_MISSING",
            "ShippingDetails.ShippingAmount FIELD_INVALID",
            "TaxAmount FIELD_INVALID",
            "ViaAgent FIELD_INVALID",
        ]
    );
}

#[test]
fn wrong_meanings_are_reported_together() {
    let body = r#"{
        "MerchantReference": " ", "AutoCapture": true, "Currency": "USD",
        "CompleteUrl": "javascript:alert(1)", "CancelUrl": "http://shop.example/",
        "Items": [{"Name": "Mug", "Amount": 0.001, "Quantity": 0}, {"Name": "\u0000", "Amount": -1, "Quantity": 1.5}],
        "TaxAmount": -0.01, "Discounts": [{"Name": "Sale", "Amount": 0}],
        "ShippingDetails": {"ShippingAmount": 1000000000000, "DutyAmount": 0, "Name": "Ana", "Email": "ana", "Phone": "1",
            "Address": {"Street": "x", "City": "x", "Country": "US", "Region": "XX"}},
        "BillingProfile": {"Name": "Ana", "Email": "ana@", "Address": {"Street": "x", "City": "x", "Country": "BR"}},
        "AllowContract": true, "OpenContract": false, "ContractId": "x", "RateOfferId": "x"
    }"#;
    assert_eq!(
        refused(body),
        [
            "AllowContract CONFLICT",
            "BillingProfile.Address.Postcode FIELD_MISSING",
            "BillingProfile.BirthDate FIELD_MISSING",
            "BillingProfile.Email FIELD_INVALID",
            "BillingProfile.NationalIdentifier FIELD_MISSING",
            "CancelUrl FIELD_INVALID",
            "CompleteUrl FIELD_INVALID",
            "ContractId FIELD_INVALID",
            "ContractId CONFLICT",
            "Discounts[0].Amount VALUE_OUT_OF_RANGE",
            "Items[0].Amount FIELD_INVALID",
            "Items[0].Quantity VALUE_OUT_OF_RANGE",
            "Items[1].Amount VALUE_OUT_OF_RANGE",
            "Items[1].Name FIELD_INVALID",
            "Items[1].Quantity FIELD_INVALID",
            "MerchantReference FIELD_MISSING",
            "RateOfferId NOT_FOUND",
            "ShippingDetails.Address.Postcode FIELD_MISSING",
            "ShippingDetails.Address.Region VALUE_NOT_ALLOWED",
            "ShippingDetails.Email FIELD_INVALID",
            "ShippingDetails.Phone FIELD_INVALID",
            "ShippingDetails.ShippingAmount VALUE_OUT_OF_RANGE",
            "TaxAmount VALUE_OUT_OF_RANGE",
        ]
    );
}

#[test]
fn no_message_repeats_a_rejected_value() {
    let body = SMALLEST.replace("ana@shop.example", "SECRET").replace("\"USD\"", "\"SECRET\"");
    let RequestError::Fields(all) = parse(body).unwrap_err() else { panic!("malformed") };
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|violation| !violation.message.contains("SECRET")));
}

#[test]
fn an_unknown_currency_does_not_hide_other_mistakes() {
    let body = SMALLEST.replace("\"USD\"", "\"usd\"").replace("29.90", "-1");
    assert_eq!(refused(body), ["Currency VALUE_NOT_ALLOWED", "Items[0].Amount VALUE_OUT_OF_RANGE"]);
    // Whether three decimals are too many depends on the currency, which is not known.
    let body = SMALLEST.replace("\"USD\"", "\"XXX\"").replace("29.90", "1.005");
    assert_eq!(refused(body), ["Currency VALUE_NOT_ALLOWED"]);
}

#[test]
fn exactly_one_billing_choice() {
    let with = |members: &str| SMALLEST.replacen('{', &format!("{{{members},"), 1);
    let mut without: serde_json::Value = serde_json::from_str(SMALLEST).unwrap();
    without.as_object_mut().unwrap().remove("BillingProfile");
    let without = without.to_string();
    let choice = |members: &str| without.replacen('{', &format!("{{{members},"), 1);
    assert_eq!(refused(&without), ["BillingProfile FIELD_MISSING"]);
    let by_id = r#""BillingProfileId": "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112""#;
    let by_reference = r#""BillingProfileReference": "ana-1""#;
    assert!(matches!(parse(choice(by_id)).unwrap().billing, RequestedBilling::Id(_)));
    assert!(matches!(parse(choice(by_reference)).unwrap().billing, RequestedBilling::Reference(_)));
    assert_eq!(refused(with(by_id)), ["BillingProfile CONFLICT", "BillingProfileId CONFLICT"]);
    let all_three = with(&format!("{by_id},{by_reference}"));
    assert_eq!(
        refused(all_three),
        ["BillingProfile CONFLICT", "BillingProfileId CONFLICT", "BillingProfileReference CONFLICT"]
    );
    assert_eq!(refused(choice(r#""BillingProfileId": "ana""#)), ["BillingProfileId FIELD_INVALID"]);
    assert!(parse(with(r#""BillingProfileId": null"#)).is_ok());
}

#[test]
fn amounts_are_numbers_with_the_decimals_of_their_currency() {
    let with =
        |currency: &str, amount: &str| SMALLEST.replace("\"USD\"", &format!("\"{currency}\"")).replace("29.90", amount);
    for (currency, amount, total) in [
        ("USD", "0.1", "0.10"),
        ("USD", "29.900", "29.90"),
        ("USD", "1e3", "1000.00"),
        ("USD", "999999999999.99", "999999999999.99"),
        ("JPY", "1000", "1000"),
        ("JPY", "1000.0", "1000"),
        ("KWD", "0.001", "0.001"),
    ] {
        assert_eq!(session(&with(currency, amount)).terms.total.to_string(), total, "{currency} {amount}");
    }
    for (currency, amount, code) in [
        ("USD", "\"29.90\"", "FIELD_INVALID"),
        ("USD", "0.001", "FIELD_INVALID"),
        ("JPY", "0.5", "FIELD_INVALID"),
        ("USD", "-0.01", "VALUE_OUT_OF_RANGE"),
        ("USD", "1000000000000", "VALUE_OUT_OF_RANGE"),
        ("USD", "1e999999999999999999999", "VALUE_OUT_OF_RANGE"),
        ("USD", "1e-400", "VALUE_OUT_OF_RANGE"),
    ] {
        assert_eq!(refused(with(currency, amount)), [format!("Items[0].Amount {code}")], "{currency} {amount}");
    }
}

#[test]
fn totals_are_positive_and_bounded() {
    let with = |members: &str| SMALLEST.replacen('{', &format!("{{{members},"), 1);
    assert_eq!(refused(SMALLEST.replace("29.90", "0")), ["Items VALUE_OUT_OF_RANGE"]);
    let discount = |amount: &str| with(&format!(r#""Discounts": [{{"Name": "Sale", "Amount": {amount}}}]"#));
    assert_eq!(refused(discount("29.91")), ["Discounts VALUE_OUT_OF_RANGE"]);
    assert_eq!(refused(discount("29.90")), ["Items VALUE_OUT_OF_RANGE"]);
    assert_eq!(refused(with(r#""TaxAmount": 999999999999"#)), ["Items VALUE_OUT_OF_RANGE"]);
}

#[test]
fn one_to_500_items() {
    let with = |count: usize| {
        let items = vec![r#"{"Name": "Mug", "Amount": 1, "Quantity": 1}"#; count].join(",");
        SMALLEST.replace(r#"{"Name": "Mug", "Amount": 29.90, "Quantity": 1}"#, &items)
    };
    assert_eq!(session(&with(500)).terms.total.to_string(), "500.00");
    assert_eq!(refused(with(501)), ["Items VALUE_OUT_OF_RANGE"]);
    assert_eq!(refused(with(0)), ["Items VALUE_OUT_OF_RANGE"]);
}

#[test]
fn numbers_out_of_range_and_long_lists_are_wrong_meanings_and_not_wrong_types() {
    let large = SMALLEST.replace("29.90", "1e99").replacen('{', "{\"TaxAmount\": -1,", 1);
    assert_eq!(refused(&large), ["Items[0].Amount VALUE_OUT_OF_RANGE", "TaxAmount VALUE_OUT_OF_RANGE"]);
    assert_eq!(refused(large.replace("\"AutoCapture\": true,", "")), ["AutoCapture FIELD_MISSING"]);
    let items = |entry: &str| {
        let items = vec![entry; 501].join(",");
        SMALLEST.replace(r#"{"Name": "Mug", "Amount": 29.90, "Quantity": 1}"#, &items)
    };
    let long = items(r#"{"Name": "Mug", "Amount": 1, "Quantity": 1}"#);
    assert_eq!(refused(long.replacen('{', "{\"ViaAgent\": 1,", 1)), ["ViaAgent FIELD_INVALID"]);
    let wrong = refused(long.replacen("\"Quantity\": 1", "\"Quantity\": 0", 1));
    assert_eq!(wrong, ["Items VALUE_OUT_OF_RANGE", "Items[0].Quantity VALUE_OUT_OF_RANGE"]);
    // A hostile list does not make an answer as long as itself.
    let hostile = vec!["{}"; 60_000].join(",");
    let body = SMALLEST.replace(r#"{"Name": "Mug", "Amount": 29.90, "Quantity": 1}"#, &hostile);
    assert_eq!(refused(body).len(), 3 * 501);
    let discounts = vec![r#"{"Name": "Sale", "Amount": 0.01}"#; 501].join(",");
    let body = SMALLEST.replacen('{', &format!("{{\"Discounts\": [{discounts}],"), 1);
    assert_eq!(refused(body), ["Discounts VALUE_OUT_OF_RANGE"]);
}

#[test]
fn a_zero_total_is_at_fault_unless_a_contract_is_opened() {
    let free = SMALLEST.replace("29.90", "0");
    assert_eq!(refused(free.replacen('{', "{\"OpenContract\": false,", 1)), ["Items VALUE_OUT_OF_RANGE"]);
    assert_eq!(refused(free.replacen('{', "{\"AllowContract\": true,", 1)), ["Items VALUE_OUT_OF_RANGE"]);
    let opens = parse(free.replacen('{', "{\"OpenContract\": true, \"AllowContract\": true,", 1));
    assert!(opens.is_ok(), "OpenContract decides, and a total of zero only verifies the card");
}

#[test]
fn a_session_opens_a_contract_or_brings_back_to_one() {
    let with = |members: &str| SMALLEST.replacen('{', &format!("{{{members},"), 1);
    let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809107";
    let draft = parse(with(&format!("\"ContractId\": \"{id}\", \"AllowContract\": false"))).unwrap();
    assert_eq!(draft.contract_id.map(|id| id.to_string()).as_deref(), Some(id));
    assert!(parse(with("\"AllowContract\": true")).unwrap().contract_id.is_none());
    let beside = |member: &str| refused(with(&format!("\"ContractId\": \"{id}\", \"{member}\": true")));
    assert_eq!(beside("AllowContract"), ["AllowContract CONFLICT", "ContractId CONFLICT"]);
    assert_eq!(beside("OpenContract"), ["ContractId CONFLICT", "OpenContract CONFLICT"]);
    assert_eq!(refused(with("\"ContractId\": \"seven\"")), ["ContractId FIELD_INVALID"]);
}

#[test]
fn bombs_cost_nothing() {
    let digits = "9".repeat(200_000);
    // It costs the same each time; what other tests take away meanwhile does not.
    let elapsed = [(); 3].map(|()| {
        let begun = Instant::now();
        for amount in ["1e1000000000", "1e-1000000000", "1e9223372036854775808", digits.as_str()] {
            assert_eq!(refused(SMALLEST.replace("29.90", amount)), ["Items[0].Amount VALUE_OUT_OF_RANGE"]);
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(parse(deep), Err(RequestError::Malformed(_))));
        begun.elapsed()
    });
    let quickest = elapsed.iter().min();
    assert!(quickest < Some(&Duration::from_millis(500)), "five bodies took {elapsed:?} in a debug build");
}

#[test]
fn an_unknown_member_is_refused_wherever_it_stands_with_the_nearest() {
    let body = SMALLEST
        .replacen('{', r#"{"Total": 1e999999, "ShippingAmount": 4.5, "billingprofile": {"x": []},"#, 1)
        .replacen(r#""Name": "Mug""#, r#""Name": "Mug", "Price": 1"#, 1)
        .replacen(r#""City": "Berlin""#, r#""City": "Berlin", "Zip": "10115""#, 1);
    let Err(RequestError::Fields(wrong)) = parse(body) else { panic!("taken") };
    let wrong: Vec<_> = wrong.iter().map(|one| (one.field.as_str(), one.code.as_str(), one.message.as_str())).collect();
    let nearest = |path: &str| format!("is not known here; the nearest known member is {path}");
    let expected = [
        ("BillingProfile.Address.Zip", "BillingProfile.Address.City"),
        ("Items[0].Price", "Items[0].Name"),
        ("ShippingAmount", "ShippingDetails.ShippingAmount"),
        ("Total", "Currency"),
        ("billingprofile", "BillingProfile"),
    ];
    assert_eq!(wrong.len(), expected.len(), "{wrong:?}");
    for ((field, code, message), (path, near)) in wrong.into_iter().zip(expected) {
        assert_eq!((field, code), (path, "FIELD_UNKNOWN"));
        // What is far from every name has a nearest one all the same; which is not told here.
        assert!(
            message == nearest(near) || ["Total", "Items[0].Price", "BillingProfile.Address.Zip"].contains(&path),
            "{field} {message}"
        );
    }
}

#[test]
fn an_object_of_unknown_members_is_told_of_a_few() {
    let members: Vec<_> = (0..30_000).map(|at| format!("\"x{at}\":0")).collect();
    let body = SMALLEST.replacen('{', &format!("{{{},", members.join(",")), 1);
    // It costs the same each time; what other tests take away meanwhile does not.
    let elapsed = [(); 3].map(|()| {
        let begun = Instant::now();
        assert_eq!(refused(body.clone()).len(), 20);
        begun.elapsed()
    });
    assert!(elapsed.iter().any(|took| *took < Duration::from_millis(500)), "{elapsed:?} in a debug build");
}

#[test]
fn what_only_answers_have_is_ignored_whatever_it_holds() {
    let body = SMALLEST.replacen('{', r#"{"State": 1e999999, "TotalAmount": {"x": []}, "SessionId": "?","#, 1);
    assert!(parse(body).is_ok());
}

#[test]
fn a_number_beyond_every_float_is_malformed_where_no_number_belongs() {
    let Err(RequestError::Malformed(why)) = parse(SMALLEST.replace("\"order-1\"", "1e999")) else { panic!("taken") };
    assert!(why.contains("column") && why.ends_with("number out of range."), "{why}");
}

#[test]
fn an_answer_names_its_billing_profile_twice_and_the_profile_counts() {
    const ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809104";
    let echoed = SMALLEST
        .replacen('{', &format!(r#"{{"BillingProfileId": "{ID}", "BillingProfileReference": "ana-1","#), 1)
        .replacen(
            r#"{"Name": "Ana""#,
            &format!(r#"{{"BillingProfileId": "{ID}", "BillingProfileReference": "ana-1", "Name": "Ana""#),
            1,
        );
    assert!(matches!(parse(&echoed).unwrap().billing, RequestedBilling::Supplied(_)));
    let other = echoed.replacen(ID, "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809105", 1);
    let conflict = ["BillingProfile CONFLICT", "BillingProfileId CONFLICT", "BillingProfileReference CONFLICT"];
    assert_eq!(refused(other), conflict);
}

#[test]
fn an_empty_text_is_left_out_and_missing_where_it_is_required() {
    let body = SMALLEST.replace("\"USD\"", "\"\"").replace("\"DE\"", "\"\"").replace("\"order-1\"", "\"\"");
    assert_eq!(
        refused(body),
        ["BillingProfile.Address.Country FIELD_MISSING", "Currency FIELD_MISSING", "MerchantReference FIELD_MISSING"]
    );
    let optional = r#""City": "Berlin", "Region": "", "Postcode": "", "Phone": """#;
    let body = SMALLEST
        .replacen('{', r#"{"BillingProfileReference": "", "BillingProfileId": "", "RateOfferId": "","#, 1)
        .replace(r#""City": "Berlin""#, optional)
        .replace(
            r#"{"Name": "Ana""#,
            r#"{"BirthDate": "", "Company": "", "NationalIdentifier": "", "Phone": "", "Name": "Ana""#,
        );
    assert!(matches!(parse(body).unwrap().billing, RequestedBilling::Supplied(_)));
    // Only a text can be empty: an amount is a number, never a string.
    assert_eq!(
        refused(SMALLEST.replacen('{', r#"{"TaxAmount": "", "ViaAgent": "","#, 1)),
        ["TaxAmount FIELD_INVALID", "ViaAgent FIELD_INVALID"]
    );
}
