//! Holds an exchange against the document: the bodies are what the schemas say.

use dropin_http::Exchange;
use serde_json::{Value, json};

/// The request of a success and every answer have to be valid; each status has to be documented.
pub(crate) fn check(document: &Value, exchange: &Exchange) {
    let what = format!("{}, example {}", exchange.operation, exchange.name);
    let operation = find(document, &exchange.operation);
    let response = &operation["responses"][exchange.status.to_string()];
    assert!(response.is_object(), "{what}: status {} is not documented", exchange.status);
    match &exchange.answer {
        Some(answer) => valid(document, &response["content"]["application/json"]["schema"], answer, &what),
        None => assert!(response["content"].is_null(), "{what}: the document promises a body"),
    }
    if let Some(request) = exchange.request.as_ref().filter(|_| exchange.status < 400) {
        let contents = operation["requestBody"]["content"]
            .as_object()
            .unwrap_or_else(|| panic!("{what}: no request body is documented"));
        contents.values().for_each(|content| valid(document, &content["schema"], request, &what));
    }
}

fn find<'a>(document: &'a Value, name: &str) -> &'a Value {
    let items = document["paths"].as_object().unwrap().values();
    let mut operations = items.flat_map(|item| item.as_object().unwrap().values());
    operations.find(|operation| operation["operationId"] == name).unwrap_or_else(|| panic!("{name} is not documented"))
}

fn valid(document: &Value, schema: &Value, value: &Value, what: &str) {
    assert!(schema.is_object(), "{what}: no schema");
    // References begin at the root of the document.
    let whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": [schema], "components": document["components"],
    });
    let validator = jsonschema::options().should_validate_formats(true).build(&whole).unwrap();
    let wrong: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{what} breaks its schema:\n{}\n{value:#}", wrong.join("\n"));
}

/// A deployment's file adds methods, which the documents cannot list.
#[test]
fn a_deployments_own_method_is_valid_wherever_a_method_is_named() {
    for service in crate::SERVICES {
        let document: Value = serde_json::from_str(&(service.document)(&[])).unwrap();
        if document["components"]["schemas"]["MethodId"].is_null() {
            assert_eq!(service.name, "stash-api", "the others name methods");
            continue;
        }
        let schema = json!({"$ref": "#/components/schemas/MethodId"});
        let is_valid = |id: &str| std::panic::catch_unwind(|| valid(&document, &schema, &json!(id), id)).is_ok();
        for id in ["VISA", "TIKKIE", "K", &"K".repeat(32)] {
            assert!(is_valid(id), "{}: {id}", service.name);
        }
        for id in ["", "tikkie", "TIK-KIE", &"K".repeat(33)] {
            assert!(!is_valid(id), "{}: {id}", service.name);
        }
    }
}

#[test]
fn a_body_that_breaks_its_schema_is_found() {
    let document = json!({"components": {"schemas": {"Id": {"type": "string", "format": "uuid"}}}});
    let schema =
        json!({"type": "object", "required": ["Id"], "properties": {"Id": {"$ref": "#/components/schemas/Id"}}});
    let fails = |value: Value| std::panic::catch_unwind(|| valid(&document, &schema, &value, "test")).is_err();
    assert!(!fails(json!({"Id": "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112"})));
    assert!(fails(json!({"Id": "x"})) && fails(json!({})) && fails(json!([])));
}
