use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::program::{Data, Dropin, parse, printed, run};

/// What the doctor says, and whether it found nothing wrong.
fn doctor(data: &Data, arguments: &[&str], environment: &[(&str, &str)]) -> (bool, Value) {
    let folder = data.folder();
    let output = run(&[&["doctor", "--json", "--data", &folder], arguments].concat(), environment);
    let said = parse(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(output.status.code(), Some(if said["Healthy"] == true { 0 } else { 1 }), "{said}");
    (output.status.success(), said)
}

/// The findings of a check in this state.
fn findings(said: &Value, check: &str, state: &str) -> String {
    let all = said["Checks"].as_array().unwrap().iter();
    let found = all.filter(|one| one["Check"] == check && one["State"] == state);
    found.map(|one| one["Finding"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn a_sound_deployment_is_found_sound_beside_a_service_too() {
    let data = Data::new();
    printed(&["merchant", "create", "--name", "N", "--data", &data.folder()]);
    let (healthy, said) = doctor(&data, &[], &[]);
    assert!(healthy, "{said}");
    for check in [
        "mode",
        "addresses",
        "methods",
        "screening",
        "master key",
        "disk",
        "database",
        "schema",
        "grants",
        "deployment",
        "write",
        "clock",
        "merchants",
    ] {
        assert!(!findings(&said, check, "OK").is_empty(), "{check}: {said}");
    }
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let (healthy, said) = doctor(&data, &[], &[]);
    assert!(healthy && findings(&said, "stash keys", "OK").contains("2 in"), "{said}");
    let text = printed(&["doctor", "--data", &data.folder()]);
    assert!(text.lines().count() > 8 && text.trim_end().ends_with("Nothing is wrong."), "{text}");
    dropin.stop();
}

#[test]
fn only_what_the_parts_of_the_target_need_is_looked_for() {
    let data = Data::new();
    let elsewhere = data.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let url = format!("sqlite://{}/dropin.db", elsewhere.display());
    let environment = [("DROPIN_MODE", "production"), ("DATABASE_URL", url.as_str())];
    let output = run(&["migrate", "--data", &data.folder()], &environment);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = data.file("missing").display().to_string();
    let output = run(&["--target", "stash-api", "doctor", "--json", "--data", &folder], &environment);
    let said = parse(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(said["Healthy"], true, "{said}");
    assert!(!findings(&said, "stash keys", "OK").is_empty(), "{said}");
    for other in ["master key", "processor key"] {
        assert!(said["Checks"].as_array().unwrap().iter().all(|one| one["Check"] != other), "{said}");
    }
    // Of a folder that is not there yet, the one in which it will be made.
    let disk = findings(&said, "disk", "OK");
    assert!(disk.contains(&elsewhere.display().to_string()) && disk.lines().count() == 2, "{said}");
    let output = run(&["--target", "session-api", "doctor", "--json", "--data", &folder], &environment);
    let said = parse(&String::from_utf8(output.stdout).unwrap());
    assert!(!findings(&said, "master key", "FAULT").is_empty(), "{said}");
    assert!(
        !findings(&said, "processor key", "FAULT").is_empty() && !said.to_string().contains("stash keys"),
        "{said}"
    );
}

#[test]
fn the_file_of_payment_methods_is_read_as_the_programs_read_it() {
    let data = Data::new();
    printed(&["merchant", "create", "--name", "N", "--data", &data.folder()]);
    let path = data.file("methods.toml");
    let file = path.display().to_string();
    let methods = |target: &str, file: &str, listed: &str| {
        let processor = [("PROCESSOR_METHODS", listed)];
        let listed = if listed.is_empty() { &[][..] } else { &processor[..] };
        doctor(&data, &[], &[&[("DROPIN_TARGET", target), ("DROPIN_CATALOGUE", file)][..], listed].concat()).1
    };
    fs::write(&path, "[KIOSK]\nname = \"Kiosk\"\nclass = \"Offline\"\npatience = \"3d\"\n").unwrap();
    assert_eq!(findings(&methods("all", &file, "VISA,KIOSK"), "methods", "OK"), "the processor can do VISA, KIOSK");
    let unused = findings(&methods("all", &file, "VISA"), "methods", "OK");
    assert!(unused.ends_with("PROCESSOR_METHODS names no KIOSK, so the file's method is not offered"), "{unused}");
    assert!(findings(&methods("settler", &file, ""), "methods", "OK").ends_with("are known"));
    assert!(findings(&methods("stash-api", &file, ""), "methods", "OK").is_empty(), "it reads no such file");
    fs::write(&path, "[KIOSK]\nname = \"Kiosk\"\nclass = \"Offline\"\npatience = \"soon\"\n").unwrap();
    for target in ["all", "settler"] {
        let wrong = findings(&methods(target, &file, "VISA"), "methods", "FAULT");
        assert!(wrong.contains("[KIOSK] patience: soon has to be"), "{target}: {wrong}");
    }
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    let data = Data::new();
    let (healthy, said) = doctor(&data, &[], &[]);
    assert!(!healthy && findings(&said, "database", "FAULT").contains("dropin migrate"), "{said}");
    assert!(!data.file("dropin.db").exists(), "it makes nothing");
    printed(&["merchant", "create", "--name", "N", "--data", &data.folder()]);
    let fault = |check: &str, arguments: &[&str], environment: &[(&str, &str)], expected: &str| {
        let (healthy, said) = doctor(&data, arguments, environment);
        assert!(!healthy && findings(&said, check, "FAULT").contains(expected), "{check}: {said}");
    };
    for (check, file) in [("database", "dropin.db"), ("master key", "keys/master.key")] {
        set_mode(&data.file(file), 0o640);
        fault(check, &[], &[], "chmod 600");
        set_mode(&data.file(file), 0o600);
    }
    set_mode(&data.file("keys"), 0o755);
    fault("master key", &[], &[], "chmod 700");
    set_mode(&data.file("keys"), 0o700);
    fault("disk", &["--min-free-mib", "1000000000000"], &[], "make room");
    fault("methods", &[], &[("DROPIN_CATALOGUE", "/nowhere.toml")], "cannot read /nowhere.toml");
    fault("methods", &[], &[("PROCESSOR_METHODS", "VISA,CASH")], "names CASH");
    fault("mode", &[], &[("DROPIN_BEHIND_PROXY", "true")], "DROPIN_MODE=production");
    fault("addresses", &[], &[("DROPIN_BASE_URL", "pay.example")], "has to be an absolute http or https URL");
    fault(
        "certificate",
        &[],
        &[("DROPIN_LISTEN", "0.0.0.0:443"), ("DROPIN_MODE", "sandbox")],
        "DROPIN_TLS_CERTIFICATE",
    );
    let nowhere = [("DROPIN_TLS_CERTIFICATE", "/nowhere.pem"), ("DROPIN_TLS_KEY", "/nowhere.key")];
    fault("certificate", &[], &nowhere, "/nowhere.pem");
    let production =
        [("DROPIN_MODE", "production"), ("PROCESSOR_URL", "http://processor.example"), ("PROCESSOR_KEY", "k")];
    fault("processor", &[], &production, "https");
    fault("merchants", &[], &production, "DROPIN_MODE");
    let proxied =
        [&production[..], &[("DROPIN_BEHIND_PROXY", "true"), ("DROPIN_ASSET_URL", "https://a.example")]].concat();
    fault("addresses", &[], &proxied, "DROPIN_STASH_URL");
    fault("processor key", &[], &production[..2], "PROCESSOR_KEY_FILE");
    let (healthy, said) = doctor(&data, &[], &[("DROPIN_DATTA", "x")]);
    assert!(healthy && findings(&said, "settings", "WARNING").contains("DROPIN_DATA?"), "{said}");
}

/// The address of a processor that refuses every key, as Stripe does.
fn refusing_processor() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let asked = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            assert!(asked.count() > 0);
            let body = r#"{"error":{"type":"invalid_request_error","message":"Invalid API Key provided"}}"#;
            let head = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nConnection: close";
            drop(write!(&stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        }
    });
    format!("http://{address}")
}

#[test]
fn a_key_that_the_processor_refuses_is_said_by_the_doctor_and_at_the_start() {
    let data = Data::new();
    printed(&["merchant", "create", "--name", "N", "--data", &data.folder()]);
    let key = data.file("stripe.key");
    fs::write(&key, "sk_test_revoked").unwrap();
    set_mode(&key, 0o600);
    let (url, key) = (refusing_processor(), key.display().to_string());
    let at_stripe = ["--processor", "stripe", "--processor-url", &url, "--processor-key-file", &key];
    let output = run(&[&at_stripe[..], &["doctor", "--json", "--data", &data.folder()]].concat(), &[]);
    let said = parse(&String::from_utf8(output.stdout).unwrap());
    let fault = findings(&said, "processor access", "FAULT");
    assert!(fault.contains("does not accept the key") && !output.status.success(), "{said}");
    let dropin = Dropin::start(&data, &[&at_stripe[..], &["--no-demo"]].concat());
    assert!(dropin.banner.contains("does not accept the key"), "{}", dropin.banner);
    dropin.stop();
}
