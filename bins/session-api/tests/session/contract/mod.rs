//! The chapters docs/SPECIFICATION.md#http, docs/SPECIFICATION.md#fields and docs/SPECIFICATION.md#sessions, row by row, over HTTP.
//! Races, faults of the store and expiry stand in sessions.rs and errors.rs.

mod echo;
mod fields;
mod states;
mod sums;

use crate::common::{Answer, Api};
use serde_json::{Value, json};

const NOBODY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

/// A request with every member that the tables name and that can be accepted here.
fn full(reference: &str) -> Value {
    json!({
        "MerchantReference": reference, "AutoCapture": false, "Currency": "USD", "ViaAgent": true,
        "CompleteUrl": "https://shop.example/paid/{SessionId}", "CancelUrl": "https://Shop.Example?cart={SessionId}#x",
        "Items": [{"Name": "Mug", "Amount": 29, "Quantity": 2}, {"Name": "Bag", "Amount": 10, "Quantity": 1}],
        "TaxAmount": 3, "Discounts": [{"Name": "Sale", "Amount": 5}, {"Name": "Welcome", "Amount": 1}],
        "AllowContract": false, "OpenContract": false,
        "ShippingDetails": {
            "ShippingAmount": 4, "DutyAmount": 0, "Name": "Ana Souza", "Email": "ana@shop.example", "Phone": "+1 213 373 4253",
            "Address": {"Street": "1 Main St", "City": "Los Angeles", "Region": "US-CA", "Country": "US", "Postcode": "90001",
                "Phone": "213 373 4253"},
        },
        "BillingProfile": {
            "BillingProfileReference": "ana-1", "Name": "Ana Souza", "Email": "ana@shop.example", "Phone": "+5511987654321",
            "BirthDate": "1980-05-04", "NationalIdentifier": "12.ABC.345/01DE-35", "Company": "Loja Ltda",
            "Address": {"Street": "Rua 1", "City": "São Paulo", "Region": "SP", "Country": "BR", "Postcode": "01000-000",
                "Phone": "+5511987654322"},
        },
    })
}

/// `request` with the member at a JSON pointer set, or removed.
fn with(mut request: Value, pointer: &str, value: Option<Value>) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = request.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"));
    match (parent, value) {
        (Value::Object(members), Some(value)) => drop(members.insert(name.to_owned(), value)),
        (Value::Object(members), None) => drop(members.remove(name)),
        (Value::Array(entries), Some(value)) => entries[name.parse::<usize>().unwrap()] = value,
        (parent, _) => panic!("{pointer} in {parent}"),
    }
    request
}

/// The pointer as FieldErrors write it: `/Items/0/Name` is `Items[0].Name`.
fn field(pointer: &str) -> String {
    pointer.trim_start_matches('/').split('/').fold(String::new(), |path, part| match part.parse::<usize>() {
        Ok(at) => format!("{path}[{at}]"),
        Err(_) if path.is_empty() => part.to_owned(),
        Err(_) => format!("{path}.{part}"),
    })
}

fn names(object: &Value) -> Vec<&str> {
    let mut names: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Creates with that change of the full request; what is refused names one field.
async fn refused(api: &Api, pointer: &str, value: Option<Value>, code: &str) {
    let body = with(full("never"), pointer, value.clone());
    let answer = api.create(&api.ana, &body).await;
    assert_eq!(answer.status, 400, "{pointer} = {value:?}: {answer:?}");
    answer.is_refused_for(&[&format!("{} {code}", field(pointer))]);
}

/// Creates with that change of the full request.
async fn accepted(api: &Api, reference: &str, pointer: &str, value: Option<Value>) -> Answer {
    let answer = api.create(&api.ana, &with(full(reference), pointer, value.clone())).await;
    assert_eq!(answer.status, 201, "{pointer} = {value:?}: {answer:?}");
    answer
}
