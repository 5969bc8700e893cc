use serde_json::json;

use crate::program::{Data, Dropin, parse, post, printed, refused, session_request};

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
    let both = create(&["--name", "  ", "--webhook-url", "ftp://x"]);
    assert!(both.contains("--name must") && both.contains("--webhook-url must"), "{both}");
    let production = ["--name", "N", "--mode", "production", "--webhook-url", "http://shop.example/hook"];
    assert!(create(&production).contains("https"));
    assert!(!data.file("dropin.db").exists() || printed(&["merchant", "list", "--json", "--data", &folder]) == "[]\n");
    printed(&["migrate", "--data", &folder]);
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
fn a_command_that_finds_no_database_makes_none() {
    let data = Data::new();
    let (folder, id) = (data.folder(), "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112");
    let url = format!("sqlite://{}", data.path().join("elsewhere.db").display());
    for command in [
        &["merchant", "list"][..],
        &["merchant", "show", id],
        &["merchant", "user", "list", id],
        &["merchant", "user", "revoke", "api-1"],
        &["notification", "list"],
        &["op", "list"],
        &["order", "show", id],
        &["order", "review", id, "approve", "--as", "ada"],
        &["ledger", "verify"],
        &["ledger", "import", "--of", "sandbox", "--from", "2026-01-01T00:00:00Z", "--until", "2026-02-01T00:00:00Z"],
    ] {
        let told = refused(&[command, &["--data", &folder]].concat());
        assert!(told.contains("there is no database at") && told.contains("dropin migrate"), "{told}");
        refused(&[command, &["--data", &folder, "--database-url", &url]].concat());
    }
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_review_without_a_name_says_how_to_give_one() {
    let data = Data::new();
    let folder = data.folder();
    printed(&["migrate", "--data", &folder]);
    let review = ["order", "review", "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112", "approve", "--data", &folder];
    let said = refused(&review);
    assert!(said.contains("--as NAME") && said.contains("USER"), "{said}");
}

#[test]
fn nothing_parked_is_said_so_and_an_unknown_notification_is_refused() {
    let data = Data::new();
    let folder = data.folder();
    printed(&["migrate", "--data", &folder]);
    assert_eq!(printed(&["notification", "list", "--state", "parked", "--json", "--data", &folder]), "[]\n");
    assert!(printed(&["notification", "replay", "--all", "--data", &folder]).starts_with("0 "));
    let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    for words in [&["replay", id][..], &["replay", id, "--endpoint", id], &["discard", id], &["show", id]] {
        let told = refused(&[&["notification"], words, &["--data", &folder]].concat());
        assert!(told.contains("there is no notification"), "{told}");
    }
    let discard = ["notification", "discard", "--data", &folder];
    for everybodys in [&[][..], &["--until", "1m"]] {
        let told = refused(&[&discard[..], everybodys].concat());
        assert!(told.contains("--merchant, --endpoint or --payment"), "never everything: {told}");
    }
    let of_one = [&discard[..], &["--merchant", id, "--until", "1m"]].concat();
    assert_eq!(printed(&of_one), "0 parked notifications are discarded.\n");
    let again = ["notification", "replay", "--state", "discarded", "--data", &folder];
    assert!(refused(&again).contains("ever discarded"));
    assert!(printed(&[&again[..], &["--merchant", id]].concat()).starts_with("0 "));
    let purged = printed(&["notification", "purge", "--dry-run", "--data", &folder]);
    assert_eq!(purged, "0 old notifications and 0 attempts would be deleted.\n");
    assert!(refused(&["notification", "replay", "--data", &folder]).contains("--all"));
}
