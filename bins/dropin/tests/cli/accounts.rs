//! Users, endpoints and secrets by the command line, beside a running service.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Data, Dropin, basic, call, free_address, parse, post, printed, refused, session_request, until};

/// A command on one deployment.
struct Shell {
    folder: String,
}

impl Shell {
    fn json(&self, line: &str) -> Value {
        parse(&printed(&self.words(&format!("{line} --json"))))
    }

    fn says(&self, line: &str) -> String {
        printed(&self.words(line))
    }

    fn refuses(&self, line: &str) -> String {
        refused(&self.words(line))
    }

    fn words<'a>(&'a self, line: &'a str) -> Vec<&'a str> {
        line.split_ascii_whitespace().chain(["--data", &self.folder]).collect()
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}

#[test]
fn users_are_added_changed_rotated_and_revoked_while_a_service_runs() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let shell = Shell { folder: data.folder() };
    let sessions = format!("{}/v1/session", dropin.shown("Session API"));
    let made = shell.json("merchant create --name N");
    let id = text(&made, "MerchantId");
    let create = |user: &Value| post(&sessions, user, &session_request()).0;
    let until_status = |user: &Value, expected: u16| {
        let begun = Instant::now();
        until("the change is in force", || (create(user) == expected).then_some(()));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    };

    let user = shell.json(&format!("merchant user add {id} --permission session:read --permission order:read"));
    assert_eq!(user["Permissions"], json!(["session:read", "order:read"]));
    assert_eq!(create(&user), 403);
    let name = text(&user, "Username");
    shell.json(&format!("merchant user set {name} --permission session:write"));
    until_status(&user, 201);

    let rotated = shell.json(&format!("merchant user rotate {name} --overlap 1h"));
    assert!(text(&rotated, "OldPasswordUntil") > "2026");
    assert_eq!((create(&user), create(&rotated)), (201, 201), "both count");
    let last = shell.json(&format!("merchant user rotate {name} --overlap 0"));
    assert_eq!(last["OldPasswordUntil"], Value::Null);
    assert_eq!(create(&last), 201);
    until_status(&user, 401);
    until_status(&rotated, 401);

    assert!(shell.says(&format!("merchant user revoke {name}")).contains("for ever"));
    until_status(&last, 401);
    assert_eq!(create(&made), 201, "the first user stays");
    let listed = shell.json(&format!("merchant user list {id}"));
    assert_eq!((listed.as_array().unwrap().len(), &listed[1]["Username"]), (2, &user["Username"]));
    assert!(listed[1]["RevokedAt"].is_string() && listed[0]["RevokedAt"].is_null(), "{listed}");
    for (line, advice) in [
        (format!("merchant user revoke {name}"), "merchant user add"),
        ("merchant user revoke api-nobody".to_owned(), "merchant user list"),
        (format!("merchant user set {name} --permission everything"), "session:write"),
        (format!("merchant user rotate {name} --overlap 31d"), "--overlap"),
        (format!("merchant user rotate {name} --overlap soon"), "24h"),
    ] {
        let told = shell.refuses(&line);
        assert!(told.contains(advice), "{line}: {told}");
    }
    dropin.stop();
}

#[test]
fn a_merchant_is_set_while_a_service_runs() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let shell = Shell { folder: data.folder() };
    let sessions = format!("{}/v1/session", dropin.shown("Session API"));
    let made = shell.json("merchant create --name N --currency USD --origin https://a.example");
    let id = text(&made, "MerchantId");
    let refused_first = post(&sessions, &made, &session_request());
    assert_eq!((refused_first.0, refused_first.1["Code"].as_str()), (400, Some("INVALID_CURRENCY")));
    let set = shell.json(&format!("merchant set {id} --currency EUR --session-lifetime 90m --name Other"));
    assert_eq!((&set["Name"], &set["Currencies"]), (&json!("Other"), &json!(["EUR"])));
    assert_eq!((&set["SessionLifetimeSeconds"], &set["Sandbox"]), (&json!(5_400), &json!(true)));
    assert_eq!(set["Origins"], json!(["https://a.example"]), "left as it was");
    until("euros are taken", || (post(&sessions, &made, &session_request()).0 == 201).then_some(()));
    assert_eq!(shell.json(&format!("merchant set {id} --no-origins"))["Origins"], json!([]));
    let shown = shell.json(&format!("merchant show {id}"));
    assert_eq!((&shown["Users"][0]["Username"], &shown["Endpoints"]), (&made["Username"], &json!([])));
    assert!(shell.refuses(&format!("merchant set {id} --session-lifetime 1s")).contains("--session-lifetime"));
    assert!(shell.refuses(&format!("merchant set {id}")).contains("--name"));
    dropin.stop();
}

#[test]
fn endpoints_are_added_moved_rotated_and_removed() {
    let data = Data::new();
    let shell = Shell { folder: data.folder() };
    let made = shell.json("merchant create --name N --webhook-url http://127.0.0.1:9/a");
    let id = text(&made, "MerchantId");
    let added = shell.json(&format!("merchant endpoint add {id} --url http://127.0.0.1:9/b"));
    let endpoint = text(&added, "EndpointId");
    let secret = text(&added, "WebhookSecret");
    assert!(secret.starts_with("whsec_") && added["WebhookSecret"] != made["WebhookSecret"]);
    shell.json(&format!("merchant endpoint set {endpoint} --url http://127.0.0.1:9/c"));
    let rotated = shell.json(&format!("merchant secret rotate {endpoint}"));
    assert!(rotated["OldSecretUntil"].is_string() && text(&rotated, "WebhookSecret") != secret);
    let listed = shell.json(&format!("merchant endpoint list {id}"));
    assert_eq!((&listed[1]["EndpointId"], &listed[1]["Url"]), (&added["EndpointId"], &json!("http://127.0.0.1:9/c")));
    assert!(listed[1]["OldSecretUntil"].is_string() && !listed.to_string().contains("whsec_"), "{listed}");
    let set = shell.json(&format!("merchant endpoint set {endpoint} --events ORDER_*,SESSION_FAILED --retry 5s,1m;1d"));
    assert_eq!(set, json!({ "EndpointId": endpoint, "Events": "ORDER_*,SESSION_FAILED", "Retry": "5s,1m;1d" }));
    let shown = shell.json(&format!("merchant show {id}"));
    assert_eq!((&shown["Endpoints"][1]["Events"], &shown["Endpoints"][1]["Retry"]), (&set["Events"], &set["Retry"]));
    shell.json(&format!("merchant endpoint set {endpoint} --all-events --standard-retry"));
    let listed = shell.json(&format!("merchant endpoint list {id}"));
    assert!(listed[1]["Events"].is_null() && listed[1]["Retry"].is_null(), "{listed}");
    let refused = shell.refuses(&format!("merchant endpoint set {endpoint} --events ORDER_PROCESED"));
    assert!(refused.contains("--events") && refused.contains("ORDER_PROCESSED"), "{refused}");
    assert!(shell.refuses(&format!("merchant endpoint set {endpoint} --retry soon")).contains("72h"));
    assert_eq!(shell.json(&format!("merchant endpoint remove {endpoint}"))["Parked"], 0);
    assert_eq!(shell.json(&format!("merchant endpoint list {id}")).as_array().unwrap().len(), 1);
    for line in [
        format!("merchant secret rotate {endpoint}"),
        format!("merchant endpoint set {endpoint} --url http://127.0.0.1:9/d"),
    ] {
        assert!(shell.refuses(&line).contains("merchant endpoint add"), "{line}");
    }
    assert!(shell.refuses(&format!("merchant endpoint remove {id}")).contains("merchant endpoint list"));
    assert!(shell.refuses(&format!("merchant endpoint add {id} --url here")).contains("--url"));
}

#[test]
fn nobody_makes_a_second_key_by_naming_the_wrong_folder() {
    let data = Data::new();
    let shell = Shell { folder: data.folder() };
    let made = shell.json("merchant create --name N");
    let elsewhere = data.path().join("elsewhere");
    let keys = format!("--keys {}", elsewhere.display());
    for line in [
        format!("merchant create --name M {keys}"),
        format!("merchant user rotate {} {keys}", text(&made, "Username")),
        format!("merchant endpoint add {} --url http://127.0.0.1:9/ {keys}", text(&made, "MerchantId")),
    ] {
        let told = shell.refuses(&line);
        assert!(told.contains("master.key") && told.contains("DROPIN_KEYS"), "{line}: {told}");
    }
    assert!(!elsewhere.exists());
    assert_eq!(shell.json("merchant list").as_array().unwrap().len(), 1);
}

#[test]
fn an_account_of_the_other_mode_is_not_let_in() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let shell = Shell { folder: data.folder() };
    let made = shell.json("merchant create --name N --mode production");
    let id = text(&made, "MerchantId");
    assert_eq!(shell.json(&format!("merchant show {id}"))["Sandbox"], false);
    let sessions = format!("{}/v1/session", dropin.shown("Session API"));
    let (status, refusal) = post(&sessions, &made, &session_request());
    assert_eq!((status, refusal["Code"].as_str()), (403, Some("NOT_AUTHORIZED")));
    assert!(text(&refusal, "Message").contains("sandbox"), "{refusal}");
    let guess = basic(&format!("{}:wrong", text(&made, "Username")));
    assert_eq!(call("GET", &format!("{sessions}/{id}"), &[guess], "").0, 401, "only who is right learns of it");
    dropin.stop();
}

#[test]
fn a_database_without_its_key_is_not_given_another() {
    let data = Data::new();
    Shell { folder: data.folder() }.json("merchant create --name Ana");
    let moved = data.file("elsewhere");
    std::fs::rename(data.file("keys"), &moved).unwrap();
    let listen = free_address();
    let said = refused(&["--no-demo", "--listen", &listen, "--data", &data.folder()]);
    assert!(said.contains("no master.key") && said.contains("DROPIN_KEYS") && said.contains("backup"), "{said}");
    assert!(!data.file("keys").join("master.key").exists());
    std::fs::rename(&moved, data.file("keys")).unwrap();
    Dropin::start(&data, &["--no-demo"]).stop();
}
