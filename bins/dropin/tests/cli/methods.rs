//! The deployment's file of payment methods, as the commands and the service read it.

use std::fs;

use serde_json::json;

use crate::program::{Data, parse, printed, refused, run};

/// A method that the deployment adds.
const OWN: &str = "[TIKKIE]\nname = \"Tikkie\"\nclass = \"Online\"\ncapture_later = true\npartial_capture = true\n";

/// Writes a file of this name beside the data folder; its path.
fn file(data: &Data, name: &str, text: &str) -> String {
    let path = data.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The words of a command that changes a merchant.
fn set<'a>(folder: &'a str, id: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["merchant", "set", id, "--json", "--data", folder], more].concat()
}

/// The same with the deployment's file.
fn with_file<'a>(own: &'a str, folder: &'a str, id: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [vec!["--catalogue", own], set(folder, id, more)].concat()
}

#[test]
fn a_merchant_is_offered_or_refused_a_method_that_the_deployment_adds() {
    let data = Data::new();
    let (folder, own) = (data.folder(), file(&data, "methods.toml", OWN));
    let made = parse(&printed(&["merchant", "create", "--name", "N", "--json", "--data", &folder]));
    let id = made["MerchantId"].as_str().unwrap();

    let named = ["--method", "TIKKIE", "--no-method", "PAYPAL"];
    let shown = parse(&printed(&with_file(&own, &folder, id, &named)));
    assert_eq!(shown["Methods"], json!({"PAYPAL": {"Offered": false}, "TIKKIE": {"Offered": true}}));
    let narrow = file(&data, "narrow.toml", "[TIKKIE]\namounts = { EUR = \"1..10\" }\n");
    let shown = parse(&printed(&with_file(&own, &folder, id, &["--methods-file", &narrow])));
    assert_eq!(shown["Methods"], json!({"TIKKIE": {"Amounts": ["1.00 to 10.00 EUR"]}}));

    for flag in ["--method", "--no-method"] {
        let said = refused(&set(&folder, id, &[flag, "TIKKIE"]));
        assert!(said.contains(&format!("{flag} TIKKIE must be one of VISA, MC")), "{said}");
        assert!(said.contains("DROPIN_CATALOGUE"), "{said}");
        let said = refused(&with_file(&own, &folder, id, &[flag, "tikkie"]));
        assert!(said.contains(&format!("{flag} tikkie must be one of VISA")) && said.contains("TIKKIE;"), "{said}");
    }
    let said = refused(&set(&folder, id, &["--methods-file", &narrow]));
    assert!(said.contains("[TIKKIE] is no payment method") && said.contains("DROPIN_CATALOGUE"), "{said}");
    let shown = parse(&printed(&["merchant", "show", id, "--json", "--data", &folder]));
    assert_eq!(shown["Methods"], json!({"TIKKIE": {"Amounts": ["1.00 to 10.00 EUR"]}}), "as it was");
}

#[test]
fn a_wrong_file_is_refused_by_whatever_makes_payments_or_names_methods() {
    let data = Data::new();
    let folder = data.folder();
    let made = parse(&printed(&["merchant", "create", "--name", "N", "--json", "--data", &folder]));
    let id = made["MerchantId"].as_str().unwrap();
    let wrong = file(&data, "wrong.toml", "[TIKKIE]\npartial_capture = true\n");
    let environment = [("DROPIN_CATALOGUE", wrong.as_str())];
    let service = |target: &'static str| vec!["--no-demo", "--listen", "127.0.0.1:0", "--target", target];
    for arguments in [
        service("all"),
        service("session-api,sandbox-processor"),
        service("settler,sandbox-processor"),
        service("checkout-api,sandbox-processor"),
        vec!["order", "review", id, "approve", "--as", "ada", "--processor-url", "http://127.0.0.1:1"],
        vec!["merchant", "set", id, "--method", "VISA"],
    ] {
        let output = run(&[arguments.as_slice(), &["--data", &folder]].concat(), &environment);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(said.contains("[TIKKIE] is no payment method of the table of methods"), "{arguments:?}: {said}");
        assert!(said.contains("wrong.toml") && said.contains("DROPIN_CATALOGUE"), "{arguments:?}: {said}");
    }
    let output = run(&["merchant", "set", id, "--name", "Other", "--data", &folder], &environment);
    assert!(output.status.success(), "it names no method");
}
