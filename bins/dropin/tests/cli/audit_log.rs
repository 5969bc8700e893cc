//! Commands that change something are on the record; those on payments have their case among the end-to-end tests.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::audited_commands::COMMANDS;
use crate::program::{Data, Dropin, parse, printed, refused};

/// What needs a payment, a wallet's certificate or an old key, and is shown elsewhere.
const ELSEWHERE: &[&str] = &[
    "DISPUTE_ACCEPT",
    "DISPUTE_EVIDENCE",
    "KEY_DESTROY",
    "NOTIFICATION_DISCARD",
    "NOTIFICATION_REPLAY",
    "ORDER_IMPORT",
    "PROCESSOR_ACCOUNT_REMOVE",
    "PROCESSOR_ACCOUNT_SET",
    "REVIEW_APPROVE",
    "REVIEW_DECLINE",
    "WALLET_REMOVE",
    "WALLET_SET",
];

#[test]
fn every_command_that_acts_is_on_the_record() {
    let data = Data::new();
    let folder = data.folder();
    let words = |line: &str| -> Vec<String> {
        line.split_ascii_whitespace().chain(["--data", &folder]).map(str::to_owned).collect()
    };
    let says = |line: &str| printed(&words(line).iter().map(String::as_str).collect::<Vec<_>>());
    let json = |line: &str| parse(&says(&format!("{line} --json")));
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
    let made = json("merchant create --name Shop --note opening");
    let id = text(&made, "MerchantId");
    let link = json("operator invite --name Ada --email ada@shop.example --role viewer");
    json("operator set-role ada@shop.example --role owner");
    json("operator disable ada@shop.example");
    json("operator enable ada@shop.example");
    let anew = json("operator reset-authenticator ada@shop.example");
    // Its settler makes the first key of the log.
    Dropin::start(&data, &["--no-demo"]).stop();
    json(&format!("merchant set {id} --name Renamed --origin https://shop.example --rates guaranteed"));
    let user = text(&json(&format!("merchant user add {id} --permission order:read")), "Username");
    json(&format!("merchant user set {user} --permission order:refund"));
    let rotated = json(&format!("merchant user rotate {user}"));
    json(&format!("merchant user revoke {user}"));
    let added = json(&format!("merchant endpoint add {id} --url http://127.0.0.1:9/hook"));
    let endpoint = text(&added, "EndpointId");
    json(&format!("merchant endpoint set {endpoint} --url http://127.0.0.1:9/other --events ORDER_*"));
    let secret = json(&format!("merchant secret rotate {endpoint} --overlap 1h"));
    json(&format!("merchant endpoint remove {endpoint}"));
    says("notification purge");
    says("keys rotate --ring audit");
    says("deployment --forget-mode");
    let association = data.path().join("association");
    fs::write(&association, "proof").unwrap();
    says(&format!("wallet domain add {id} localhost:9 --file {}", association.display()));
    let export = data.path().join("audit.jsonl");
    says(&format!("audit export --from 1h --to 2100-01-01T00:00:00Z --output {}", export.display()));

    let log = json("audit list --limit 1000");
    let entries = log.as_array().unwrap();
    let actions: BTreeSet<_> = entries.iter().map(|entry| entry["Action"].as_str().unwrap()).collect();
    let expected: BTreeSet<_> = COMMANDS.iter().flat_map(|(_, actions)| *actions).copied().collect();
    let elsewhere: BTreeSet<_> = ELSEWHERE.iter().copied().collect();
    assert_eq!(&actions | &elsewhere, expected, "what was logged on the left, what should be on the right");
    assert!(actions.is_disjoint(&elsewhere), "{actions:?}");
    for entry in entries {
        assert_eq!(entry["Actor"], "COMMAND_LINE", "{entry}");
        assert!(entry["Address"].is_null() && entry["Name"].is_string(), "{entry}");
    }
    let of = |action: &str| entries.iter().find(|entry| entry["Action"] == action).unwrap();
    assert_eq!(of("MERCHANT_CREATE")["Note"], "opening");
    let changed = of("MERCHANT_CHANGE");
    assert_eq!(
        (&changed["Before"]["Name"], &changed["After"]["Name"]),
        (&"Shop".into(), &"Renamed".into()),
        "{changed}"
    );
    assert_eq!(of("RATES_CHANGE")["After"]["Form"], "GUARANTEED");
    let permissions = of("USER_PERMISSIONS_CHANGE");
    assert_eq!(
        (&permissions["Before"]["Permissions"][0], &permissions["SubjectId"]),
        (&"order:read".into(), &user.into())
    );
    for secret in [
        text(&made, "Password"),
        text(&rotated, "Password"),
        text(&added, "WebhookSecret"),
        text(&secret, "WebhookSecret"),
        text(&link, "Link"),
        text(&anew, "Link"),
    ] {
        assert!(!log.to_string().contains(&secret), "a secret is in the log");
    }
    assert!(fs::read_to_string(&export).unwrap().lines().count() + 1 >= entries.len());

    // Nothing that was refused is there, and nothing that only looks.
    let count = entries.len();
    refused(&words(&format!("merchant user revoke {}", "api-nobody")).iter().map(String::as_str).collect::<Vec<_>>());
    for line in ["merchant list", "keys list", "audit head", "deployment", "rates show"] {
        says(line);
    }
    assert_eq!(json("audit list --limit 1000").as_array().unwrap().len(), count);
    assert_eq!(json(&format!("audit list --merchant {id} --action USER_ADD --since 1h")).as_array().unwrap().len(), 1);
    let long = "x".repeat(501);
    let told = refused(&["merchant", "set", &id, "--name", "N", "--note", &long, "--data", &folder]);
    assert!(told.contains("--note"), "{told}");

    // What commands wrote while nothing served is sealed by the next settler.
    let dropin = Dropin::start(&data, &["--no-demo"]);
    crate::program::until("all is sealed", || (json("audit verify")["Waiting"] == 0).then_some(()));
    assert!(says("audit verify").contains("is whole"));
    assert!(says("keys list").contains("audit"));
    dropin.stop();
}
