use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::program::{Data, Dropin, basic, call, free_address, parse, post, printed, refused, session_request};

#[test]
fn the_banner_tells_all_that_is_needed_to_create_a_session() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &[]);
    assert!(dropin.banner.contains("sandbox"), "{}", dropin.banner);
    // The shell itself takes the pasted command apart; curl is replaced by something that shows its arguments.
    let pasted = dropin.banner.split_once("curl ").unwrap().1.split_once("\n\n").unwrap().0;
    let shown = || {
        let shell =
            Command::new("sh").arg("-c").arg(format!("curl() {{ printf '%s\\036' \"$@\"; }}; curl {pasted}")).output();
        let arguments = String::from_utf8(shell.unwrap().stdout).unwrap();
        arguments.split('\u{1e}').map(str::to_owned).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        let arguments = shown();
        let after = |flag: &str| arguments[arguments.iter().position(|one| one == flag).unwrap() + 1].clone();
        let url = arguments.iter().find(|one| one.starts_with("http://")).unwrap();
        let (status, body) = call("POST", url, &[basic(&after("-u")), after("-H")], &after("-d"));
        assert_eq!(status, 201, "{body}");
    }
    assert_eq!(call("GET", &format!("{}/", dropin.shown("Demo shop")), &[], "").0, 200);
    assert_eq!(call("GET", &dropin.shown("Drop-in script"), &[], "").0, 200);
    dropin.stop();
}

#[test]
fn a_stop_is_clean_and_says_so() {
    let data = Data::new();
    let rest = Dropin::start(&data, &["--no-demo"]).stop();
    assert!(rest.contains("stopping") && rest.trim_end().ends_with("stopped"), "{rest}");
}

#[test]
fn the_log_has_one_line_for_a_request_and_no_secret_in_it() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo", "--log-format", "json"]);
    let base = dropin.shown("Session API");
    let created = printed(&["merchant", "create", "--name", "N", "--json", "--data", &data.folder()]);
    let created: Value = serde_json::from_str(&created).unwrap();
    let (username, password) = (created["Username"].as_str().unwrap(), created["Password"].as_str().unwrap());
    let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    let headers = [basic(&format!("{username}:{password}")), "X-Request-Id: the-one".to_owned()];
    assert_eq!(call("GET", &format!("{base}/v1/session/{id}?hush=hush"), &headers, "").0, 404);
    let log = dropin.stop();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ours: Vec<_> = lines.iter().filter(|line| line["request_id"] == "the-one").collect();
    assert_eq!(ours.len(), 1, "{log}");
    let line = ours[0];
    assert_eq!((line["target"].as_str(), line["method"].as_str()), (Some("access"), Some("GET")));
    assert_eq!((line["route"].as_str(), line["status"].as_u64()), (Some("/v1/session/{SessionId}"), Some(404)));
    assert_eq!(line["merchant"], created["MerchantId"]);
    for secret in [password, "hush", id] {
        assert!(!log.contains(secret), "{secret} stands in {log}");
    }
}

#[test]
fn a_restart_keeps_the_demo_merchant() {
    let data = Data::new();
    let shop = free_address();
    let shown = || {
        let dropin = Dropin::start(&data, &["--shop-listen", &shop]);
        let shown = (dropin.shown("User name"), dropin.shown("Password"));
        dropin.stop();
        shown
    };
    assert_eq!(shown(), shown());
    let file = data.file("demo-merchant.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // A store that does not know the merchant gets a new one.
    for file in ["dropin.db", "dropin.db-wal", "dropin.db-shm"] {
        drop(fs::remove_file(data.file(file)));
    }
    let (username, password) = shown();
    let kept: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((kept["Username"].as_str(), kept["Password"].as_str()), (Some(&*username), Some(&*password)));
}

#[test]
fn a_second_process_on_the_same_data_is_refused() {
    let data = Data::new();
    let first = Dropin::start(&data, &["--no-demo"]);
    let second = refused(&["--data", &data.folder(), "--no-demo", "--listen", "127.0.0.1:0"]);
    assert!(second.contains("another service is running"), "{second}");
    first.stop();
}

#[test]
fn what_stands_in_the_way_is_named_with_a_way_out() {
    let data = Data::new();
    let first = Dropin::start(&data, &["--no-demo"]);
    let taken = first.shown("Session API").replace("http://", "");
    let other = Data::new();
    let in_use = refused(&["--data", &other.folder(), "--no-demo", "--listen", &taken]);
    assert!(in_use.contains(&taken) && in_use.contains("in use"), "{in_use}");
    let shop = refused(&["--data", &other.folder(), "--listen", "127.0.0.1:0", "--shop-listen", &taken]);
    assert!(shop.contains("--shop-listen"), "{shop}");
    first.stop();
    let file = other.path().join("file");
    fs::write(&file, "").unwrap();
    let folder = refused(&["--data", file.join("data").to_str().unwrap()]);
    assert!(folder.contains("--data"), "{folder}");
    let open = refused(&["--data", &other.folder(), "--no-demo", "--listen", "0.0.0.0:0"]);
    assert!(open.contains("TLS") && open.contains("behind_proxy"), "{open}");
    let production = refused(&["--data", &other.folder(), "--mode", "production", "--target", "shop"]);
    assert!(production.contains("production"), "{production}");
}

#[test]
fn a_part_runs_alone() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--target", "session-api,sandbox-processor"]);
    let base = dropin.shown("Session API");
    let created: Value =
        serde_json::from_str(&printed(&["merchant", "create", "--name", "N", "--json", "--data", &data.folder()]))
            .unwrap();
    assert_eq!(post(&format!("{base}/v1/session"), &created, &session_request()).0, 201);
    assert_eq!(call("GET", &format!("{base}/asset/v1/dropin.js"), &[], "").0, 404);
    assert_eq!(call("GET", &format!("{base}/sandbox/v1/journal"), &[], "").0, 401);
    dropin.stop();
}

#[test]
fn the_sandbox_shows_its_pages_where_browsers_find_the_service() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let base = dropin.shown("Session API");
    let key = fs::read_to_string(data.file("processor.key")).unwrap();
    let headers = [format!("Authorization: Bearer {}", key.trim()), format!("Idempotency-Key: {}", uuid::Uuid::nil())];
    let body = r#"{"Amount":5,"Currency":"EUR","OrderId":"o","Method":"PAYPAL","ReturnUrl":"https://shop.example/"}"#;
    // However the processor was reached itself.
    let reached = base.replace("127.0.0.1", "localhost");
    let (status, body) = call("POST", &format!("{reached}/sandbox/v1/authorizations"), &headers, body);
    assert_eq!(status, 200, "{body}");
    let page = parse(&body)["Action"]["Redirect"].as_str().unwrap().to_owned();
    assert!(page.starts_with(&format!("{base}/sandbox/pages/")), "{page}");
    assert_eq!(call("GET", &page, &[], "").0, 200);
    dropin.stop();
}

#[test]
fn the_shop_runs_apart_from_the_service() {
    let (data, shop_data) = (Data::new(), Data::new());
    let service = Dropin::start(&data, &["--no-demo"]);
    let base = service.shown("Session API");
    let credentials = data.path().join("merchant.json");
    let missing = refused(&["--data", &shop_data.folder(), "--target", "shop", "--shop-listen", "127.0.0.1:0"]);
    assert!(missing.contains("dropin merchant create --json"), "{missing}");
    let address = free_address();
    let webhook = format!("http://{address}/webhook");
    let create = ["merchant", "create", "--name", "N", "--webhook-url", &webhook, "--json", "--data", &data.folder()];
    fs::write(&credentials, printed(&create)).unwrap();
    let asset = format!("{base}/asset");
    let shop = Dropin::start(
        &shop_data,
        &[
            "--target",
            "shop",
            "--shop-listen",
            &address,
            "--base-url",
            &base,
            "--asset-url",
            &asset,
            "--merchant-file",
            credentials.to_str().unwrap(),
        ],
    );
    assert_eq!(call("GET", &format!("http://{}/", address.replace("127.0.0.1", "localhost")), &[], "").0, 200);
    shop.stop();
    service.stop();
}

#[test]
fn the_api_documents_are_served_unless_turned_off() {
    let data = Data::new();
    for (arguments, status) in [(&["--no-demo"][..], 200), (&["--no-demo", "--docs=false"], 404)] {
        let dropin = Dropin::start(&data, arguments);
        let base = dropin.shown("Session API");
        for path in [
            "/openapi.json",
            "/docs/",
            "/checkout/openapi.json",
            "/checkout/docs/",
            "/asset/v1/shopper/openapi.json",
            "/asset/v1/shopper/docs/",
            "/stash/openapi.json",
        ] {
            assert_eq!(call("GET", &format!("{base}{path}"), &[], "").0, status, "{path} with {arguments:?}");
        }
        dropin.stop();
    }
}
