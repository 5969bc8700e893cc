use serde_json::{Value, json};

use crate::program::{Data, Dropin, call, post, printed, refused, session_request, until};

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn merchants_are_created_while_a_service_runs() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let folder = data.folder();
    let create = [
        "merchant",
        "create",
        "--name",
        "Corner shop",
        "--webhook-url",
        "http://127.0.0.1:9/hook",
        "--origin",
        "http://localhost:9",
        "--currency",
        "EUR",
        "--json",
        "--data",
        &folder,
    ];
    let created = parse(&printed(&create));
    let members: Vec<_> = created.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["MerchantId", "Password", "Username", "WebhookSecret"]);
    assert!(created["WebhookSecret"].as_str().unwrap().starts_with("whsec_"));
    let sessions = format!("{}/v1/session", dropin.shown("Session API"));
    assert_eq!(post(&sessions, &created, &session_request()).0, 201);
    let mut dollars = session_request();
    dollars["Currency"] = json!("USD");
    let (status, refusal) = post(&sessions, &created, &dollars);
    assert_eq!((status, refusal["Code"].as_str()), (400, Some("INVALID_CURRENCY")));
    let mut wrong = created.clone();
    wrong["Password"] = json!("wrong");
    assert_eq!(post(&sessions, &wrong, &session_request()).0, 401);

    let listed = parse(&printed(&["merchant", "list", "--json", "--data", &folder]));
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["MerchantId"]), (1, &created["MerchantId"]));
    let id = created["MerchantId"].as_str().unwrap();
    let shown = printed(&["merchant", "show", id, "--json", "--data", &folder]);
    assert_eq!(parse(&shown)["Endpoints"][0]["Url"], "http://127.0.0.1:9/hook");
    for secret in ["Password", "WebhookSecret"] {
        assert!(!shown.contains(created[secret].as_str().unwrap()), "{secret} is shown again");
    }
    dropin.stop();
}

#[test]
fn a_merchant_needs_a_sensible_name_and_webhook() {
    let data = Data::new();
    let folder = data.folder();
    let create = |more: &[&str]| refused(&[&["merchant", "create", "--json", "--data", &folder], more].concat());
    assert!(create(&["--name", "  "]).contains("--name"));
    assert!(create(&["--name", "N", "--webhook-url", "ftp://x"]).contains("--webhook-url"));
    let production = ["--name", "N", "--mode", "production", "--webhook-url", "http://shop.example/hook"];
    assert!(create(&production).contains("https"));
    let unknown = refused(&["merchant", "show", "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112", "--data", &folder]);
    assert!(unknown.contains("dropin merchant list"), "{unknown}");
}

#[test]
fn migrate_makes_a_database_and_is_harmless_again() {
    let data = Data::new();
    for _ in 0..2 {
        assert!(printed(&["migrate", "--data", &data.folder()]).contains("up to date"));
    }
    assert!(data.file("dropin.db").exists());
}

#[test]
fn nothing_parked_is_said_so_and_an_unknown_notification_is_refused() {
    let data = Data::new();
    let folder = data.folder();
    assert_eq!(printed(&["notification", "list", "--state", "parked", "--json", "--data", &folder]), "[]\n");
    assert!(printed(&["notification", "replay", "--all", "--data", &folder]).starts_with("0 "));
    let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    assert!(refused(&["notification", "replay", id, "--data", &folder]).contains("not parked"));
    assert!(refused(&["notification", "replay", "--data", &folder]).contains("--all"));
}

/// The published test number whose capture is pending for a few seconds.
#[test]
fn an_operation_is_listed_while_its_outcome_is_open() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let folder = data.folder();
    let merchant = parse(&printed(&["merchant", "create", "--name", "N", "--json", "--data", &folder]));
    let base = dropin.shown("Session API");
    let (status, session) = post(&format!("{base}/v1/session"), &merchant, &session_request());
    assert_eq!(status, 201);
    let session = format!("{base}/asset/v1/shopper/session/{}", session["SessionId"].as_str().unwrap());
    let attempt = "0b7e6f0a-54a4-4c9e-9a55-1f5f3a1f2c11";
    let stash = format!("{}/{}/{attempt}", dropin.shown("Stash"), merchant["MerchantId"].as_str().unwrap());
    let number = "4000000000002016";
    let card = format!(
        "DeviceFingerprint=f&card=%7B%22Name%22%3A%22A%22%2C%22Number%22%3A%22{number}%22%2C%22VerificationCode%22%3A%22123%22%2C\
         %22Expiry%22%3A%7B%22Year%22%3A%222030%22%2C%22Month%22%3A%2212%22%7D%7D"
    );
    let form = ["Content-Type: application/x-www-form-urlencoded".to_owned()];
    assert_eq!(call("POST", &stash, &form, &card).0, 200);
    let submit = json!({"Version": 1, "AttemptId": attempt, "StashId": attempt, "DeviceFingerprint": "f"});
    let (status, progress) = post(&format!("{session}/submit"), &merchant, &submit);
    assert_eq!((status, progress["State"].as_str()), (200, Some("COMPLETED")), "{progress}");

    let list = || parse(&printed(&["op", "list", "--json", "--data", &folder])).as_array().unwrap().clone();
    let pending = until("a pending capture", || list().into_iter().find(|operation| operation["State"] == "PENDING"));
    assert_eq!((pending["Kind"].as_str(), pending["Amount"].as_str()), (Some("CAPTURE"), Some("2.50")));
    until("every outcome known", || list().is_empty().then_some(()));
    let log = dropin.stop();
    assert!(!log.contains(number), "a card number stands in the log");
}
