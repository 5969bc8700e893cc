use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ledger::NOBODY;
use crate::program::{
    Data, Dropin, basic, call, free_address, parse, post, printed, refused, run, session_request, until,
};

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

/// Between the signal and the stop everything is served, `/readyz` says no, and each answer ends its connection.
#[test]
fn a_program_that_leaves_is_served_until_the_balancer_knows() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo", "--drain-delay", "3"]);
    let base = dropin.shown("Session API");
    assert_eq!(call("GET", &format!("{base}/readyz"), &[], "").0, 200);
    let (begun, pid) = (Instant::now(), dropin.id().to_string());
    let leaving = std::thread::spawn(move || dropin.stop());
    until("/readyz says no", || (call("GET", &format!("{base}/readyz"), &[], "").0 == 503).then_some(()));
    while begun.elapsed() < Duration::from_millis(2_500) {
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(call("GET", &format!("{base}/v1/order?limit=1"), &[], "").0, 401, "served as before");
        assert_eq!(call("GET", &format!("{base}/readyz"), &[], "").0, 503);
        assert!(keeps(&base).is_none(), "a connection is kept");
    }
    let log = leaving.join().unwrap();
    assert!(Duration::from_secs(3) <= begun.elapsed(), "process {pid} did not wait");
    assert!(log.contains("/readyz says no; the listeners close in 3 s"), "{log}");
}

/// Whether an answer without `Connection: close` comes; `None` when it says so.
fn keeps(base: &str) -> Option<String> {
    let mut stream = TcpStream::connect(base.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut head = vec![0; 1_024];
    let read = stream.read(&mut head).unwrap();
    let head = String::from_utf8_lossy(&head[..read]).to_lowercase();
    (!head.contains("connection: close")).then_some(head)
}

#[test]
fn the_log_has_one_line_for_a_request_and_no_secret_in_it() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo", "--log-format", "json"]);
    let base = dropin.member("session_api");
    let created = printed(&["merchant", "create", "--name", "N", "--json", "--data", &data.folder()]);
    let created: Value = serde_json::from_str(&created).unwrap();
    let (username, password) = (created["Username"].as_str().unwrap(), created["Password"].as_str().unwrap());
    let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    let headers = [basic(&format!("{username}:{password}")), "X-Request-Id: the-one".to_owned()];
    assert_eq!(call("GET", &format!("{base}/v1/session/{id}?hush=hush"), &headers, "").0, 400);
    let log = dropin.stop();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ours: Vec<_> = lines.iter().filter(|line| line["request_id"] == "the-one").collect();
    assert_eq!(ours.len(), 1, "{log}");
    let line = ours[0];
    assert_eq!((line["target"].as_str(), line["method"].as_str()), (Some("access"), Some("GET")));
    assert_eq!((line["route"].as_str(), line["status"].as_u64()), (Some("/v1/session/{SessionId}"), Some(400)));
    assert_eq!(line["merchant"], created["MerchantId"]);
    assert_eq!((line["client"].as_str(), line["refused_user"].as_str()), (Some("127.0.0.1"), Some("-")));
    for secret in [password, "hush", id] {
        assert!(!log.contains(secret), "{secret} stands in {log}");
    }
}

/// The settler asks the sandbox processor of the same process for disputes every two seconds: that is counted, and fills no console.
#[test]
fn what_the_program_asks_itself_for_all_the_time_has_no_line() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let base = dropin.shown("Session API");
    until("the settler has asked", || {
        let metrics = call("GET", &format!("{base}/metrics"), &[], "").1;
        metrics.contains("route=\"/sandbox/v1/disputes\",status=\"200\"").then_some(())
    });
    assert_eq!(call("GET", &format!("{base}/sandbox/v1/disputes"), &[], "").0, 401);
    let log = dropin.stop();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("/v1/disputes")).collect();
    assert!(lines.len() == 1 && lines[0].contains("401"), "only what goes wrong: {log}");
}

#[test]
fn the_log_names_who_was_refused_and_from_where_and_not_with_what() {
    for (flags, client) in [(&[][..], "127.0.0.1"), (&["--behind-proxy", "--mode", "sandbox"][..], "203.0.113.9")] {
        let data = Data::new();
        let dropin = Dropin::start(&data, &[&["--no-demo", "--log-format", "json"], flags].concat());
        let url = format!("{}/v1/event", dropin.member("session_api"));
        let cases = [
            ("named", basic("api-0123456789ab:hunter2secret"), "api-0123456789ab"),
            ("swapped", basic("hunter2 secret:api-0123456789ab"), "-"),
            ("card", basic("4242424242424242:hunter2secret"), "-"),
            ("bearer", "Authorization: Bearer hunter2secret".to_owned(), "-"),
        ];
        for (id, credentials, _) in &cases {
            let forwarded = "X-Forwarded-For: 198.51.100.7, 203.0.113.9".to_owned();
            let headers = [credentials.clone(), forwarded, format!("X-Request-Id: {id}")];
            assert_eq!(call("GET", &url, &headers, "").0, 401);
        }
        let log = dropin.stop();
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (id, _, user) in cases {
            let line = lines.iter().find(|line| line["request_id"] == id).unwrap_or_else(|| panic!("{id}: {log}"));
            assert_eq!((line["client"].as_str(), line["refused_user"].as_str()), (Some(client), Some(user)), "{id}");
        }
        for secret in ["hunter2", "42424242", "198.51.100.7"] {
            assert!(!log.contains(secret), "{secret} stands in {log}");
        }
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
fn a_shop_at_another_address_keeps_its_merchant() {
    let data = Data::new();
    let [first, second] = [(); 2].map(|()| free_address());
    let kept = || parse(&fs::read_to_string(data.file("demo-merchant.json")).unwrap());
    let started = |shop: &str| {
        Dropin::start(&data, &["--shop-listen", shop]).stop();
        kept()
    };
    let before = started(&first);
    let mut after = started(&second);
    let id = after["MerchantId"].as_str().unwrap().to_owned();
    let shown = parse(&printed(&["merchant", "show", &id, "--data", &data.folder()]));
    let shop_url = after["ShopUrl"].as_str().unwrap().to_owned();
    assert!(shop_url.ends_with(second.rsplit_once(':').unwrap().1), "{shop_url}");
    assert_eq!(shown["Origins"], serde_json::json!([shop_url]));
    let endpoints = shown["Endpoints"].as_array().unwrap();
    assert_eq!((endpoints.len(), &endpoints[0]["Url"]), (1, &Value::from(format!("{shop_url}/webhook"))));
    after["ShopUrl"] = before["ShopUrl"].clone();
    assert_eq!(before, after, "another merchant, password or webhook secret");
    assert_eq!(parse(&printed(&["merchant", "list", "--json", "--data", &data.folder()])).as_array().unwrap().len(), 1);
}

/// A start that moved the shop was killed before it wrote the file: the file still names the old address.
#[test]
fn a_move_that_broke_off_is_made_again_with_a_secret_that_the_shop_knows() {
    let data = Data::new();
    let [first, second] = [(); 2].map(|()| free_address());
    let file = data.file("demo-merchant.json");
    Dropin::start(&data, &["--shop-listen", &first]).stop();
    let old = fs::read_to_string(&file).unwrap();
    Dropin::start(&data, &["--shop-listen", &second]).stop();
    fs::write(&file, &old).unwrap();
    Dropin::start(&data, &["--shop-listen", &second]).stop();
    let (old, new) = (parse(&old), parse(&fs::read_to_string(&file).unwrap()));
    assert_eq!(old["Password"], new["Password"]);
    assert_ne!(old["WebhookSecret"], new["WebhookSecret"], "the stored secret may be one that was never written down");
    let id = new["MerchantId"].as_str().unwrap();
    let shown = parse(&printed(&["merchant", "show", id, "--data", &data.folder()]));
    let url = format!("{}/webhook", new["ShopUrl"].as_str().unwrap());
    let endpoints = shown["Endpoints"].as_array().unwrap();
    assert_eq!((endpoints.len(), &endpoints[0]["Url"]), (1, &Value::from(url)));
}

/// The same, but the shop comes back to the address that the file names.
#[test]
fn a_move_that_broke_off_is_taken_back() {
    let data = Data::new();
    let [first, second] = [(); 2].map(|()| free_address());
    let file = data.file("demo-merchant.json");
    Dropin::start(&data, &["--shop-listen", &first]).stop();
    let old = fs::read_to_string(&file).unwrap();
    Dropin::start(&data, &["--shop-listen", &second]).stop();
    fs::write(&file, &old).unwrap();
    Dropin::start(&data, &["--shop-listen", &first]).stop();
    let new = parse(&fs::read_to_string(&file).unwrap());
    assert_eq!(parse(&old)["ShopUrl"], new["ShopUrl"]);
    let shop_url = new["ShopUrl"].as_str().unwrap();
    let shown = parse(&printed(&["merchant", "show", new["MerchantId"].as_str().unwrap(), "--data", &data.folder()]));
    assert!(shown["Origins"].as_array().unwrap().contains(&Value::from(shop_url)), "{shown}");
    let webhook = Value::from(format!("{shop_url}/webhook"));
    assert!(shown["Endpoints"].as_array().unwrap().iter().any(|endpoint| endpoint["Url"] == webhook), "{shown}");
}

#[test]
fn credentials_of_another_merchant_are_not_overwritten() {
    let data = Data::new();
    let file = data.path().join("merchant.json");
    let created = printed(&["merchant", "create", "--name", "N", "--json", "--data", &data.folder()]);
    fs::write(&file, &created).unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let path = file.to_str().unwrap();
    let listeners = ["--listen", "127.0.0.1:0", "--shop-listen", "127.0.0.1:0"];
    let said = refused(&[&["--data", &data.folder(), "--merchant-file", path], &listeners[..]].concat());
    for words in [path, "--merchant-file", "--no-demo"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), created);
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
    assert!(in_use.contains(&taken) && in_use.contains("in use") && in_use.contains("--listen"), "{in_use}");
    let shop = refused(&["--data", &other.folder(), "--listen", "127.0.0.1:0", "--shop-listen", &taken]);
    assert!(shop.contains("--shop-listen"), "{shop}");
    first.stop();
    let file = other.path().join("file");
    fs::write(&file, "").unwrap();
    let folder = refused(&["--data", file.join("data").to_str().unwrap()]);
    assert!(folder.contains("--data"), "{folder}");
    let open = refused(&["--data", &other.folder(), "--no-demo", "--listen", "0.0.0.0:0", "--mode", "sandbox"]);
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

/// A key that is made up here would be refused by the processor, payment by payment.
#[test]
fn a_processor_elsewhere_needs_a_key() {
    let data = Data::new();
    let start = ["--data", &data.folder(), "--target", "session-api,settler", "--listen", "127.0.0.1:0"];
    let said = refused(&start);
    assert!(said.contains("PROCESSOR_KEY is missing") && said.contains("sandbox-processor"), "{said}");
    assert!(!data.file("processor.key").exists());
    let doctor = run(&["--target", "session-api", "doctor", "--json", "--data", &data.folder()], &[]);
    let report = String::from_utf8(doctor.stdout).unwrap();
    assert!(report.contains("PROCESSOR_KEY is missing"), "{report}");
}

#[test]
fn the_sandbox_shows_its_pages_where_browsers_find_the_service() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let base = dropin.shown("Session API");
    let key = fs::read_to_string(data.file("processor.key")).unwrap();
    let headers = [format!("Authorization: Bearer {}", key.trim()), format!("Idempotency-Key: {NOBODY}")];
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
    let shop = ["--data", &shop_data.folder(), "--target", "shop", "--shop-listen", &address];
    let open = refused(&[&shop[..], &["--merchant-file", credentials.to_str().unwrap()]].concat());
    assert!(open.contains("chmod 600"), "{open}");
    fs::set_permissions(&credentials, PermissionsExt::from_mode(0o600)).unwrap();
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

#[test]
fn a_database_is_served_with_one_key_and_one_mode() {
    let (data, other) = (Data::new(), Data::new());
    Dropin::start(&data, &["--no-demo"]).stop();
    let shown = printed(&["deployment", "--data", &data.folder()]);
    assert!(
        shown.starts_with("Mode: none yet: the next service that starts with DROPIN_MODE writes it down\n"),
        "{shown}"
    );
    Dropin::start(&data, &["--no-demo", "--mode", "sandbox"]).stop();
    let shown = printed(&["deployment", "--data", &data.folder()]);
    assert!(shown.starts_with("Mode: sandbox\nFingerprint of the master key: "), "{shown}");
    // Another deployment's key.
    Dropin::start(&other, &["--no-demo"]).stop();
    let (folder, keys) = (data.folder(), other.file("keys").display().to_string());
    let key = refused(&["--data", &folder, "--keys", &keys, "--no-demo", "--listen", "127.0.0.1:0"]);
    assert!(key.contains("--keys or DROPIN_KEYS") && key.contains("--forget-key"), "{key}");
    let account = refused(&["merchant", "create", "--name", "N", "--data", &folder, "--keys", &keys]);
    assert!(account.contains("--forget-key"), "{account}");
    let address = [
        "--listen",
        "127.0.0.1:0",
        "--base-url",
        "https://pay.example",
        "--processor-url",
        "https://processor.example",
    ];
    let real = [&["--data", &folder, "--mode", "production", "--target", "session-api"][..], &address].concat();
    let mode = run(&real, &[("PROCESSOR_KEY", "k")]);
    let mode = String::from_utf8_lossy(&mode.stderr).into_owned();
    assert!(mode.contains("DROPIN_MODE=sandbox") && mode.contains("--forget-mode"), "{mode}");
    printed(&["deployment", "--data", &folder, "--forget-mode", "--forget-key"]);
    Dropin::start(&data, &["--no-demo", "--keys", &keys]).stop();
}
