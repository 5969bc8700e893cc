//! The wallet by the command line: what is wrong is said with what to do about it. That it works is shown by the end-to-end tests.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Data, Dropin, parse, printed, refused};

#[test]
fn a_wallet_is_set_up_in_steps_that_say_what_is_missing() {
    let data = Data::new();
    let folder = data.folder();
    let words = |line: &str| -> Vec<String> {
        line.split_ascii_whitespace().chain(["--data", &folder]).map(str::to_owned).collect()
    };
    let says = |line: &str| printed(&words(line).iter().map(String::as_str).collect::<Vec<_>>());
    let refuses = |line: &str| refused(&words(line).iter().map(String::as_str).collect::<Vec<_>>());
    let made = parse(&says("merchant create --name N --json"));
    let id = made["MerchantId"].as_str().unwrap();
    assert!(refuses(&format!("wallet show {id}")).contains("`dropin wallet set`"));
    assert!(refuses(&format!("wallet remove {id}")).contains("`dropin wallet set`"));

    // Another key or mode than the deployment's.
    let dropin = Dropin::start(&data, &["--no-demo", "--mode", "sandbox"]);
    assert!(refuses(&format!("wallet show {id} --mode production")).contains("DROPIN_MODE=sandbox"));
    let other = Data::new();
    printed(&["merchant", "create", "--name", "N", "--data", &other.folder()]);
    let keys = other.file("keys").display().to_string();
    assert!(refuses(&format!("wallet show {id} --keys {keys}")).contains("DROPIN_KEYS"));
    dropin.stop();

    let file = |name: &str, text: &str| {
        let path = data.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (certificate, key) = (file("c.pem", "no certificate"), file("k.pem", "no key"));
    let set = format!("wallet set {id} --certificate {certificate} --key {key}");
    let told = refuses(&format!("{set} --merchant-identifier a/b --country us"));
    for flag in ["--certificate", "--merchant-identifier", "--country"] {
        assert!(told.contains(flag), "{told}");
    }
    let gone =
        format!("wallet set {id} --certificate {certificate}.gone --key {key} --merchant-identifier m --country US");
    assert!(refuses(&gone).contains("cannot read"), "{gone}");

    let association = file("association", "proof");
    let domain = |rest: &str| format!("wallet domain {rest}");
    assert!(says(&domain(&format!("list {id}"))).contains("`dropin wallet domain add`"));
    assert!(refuses(&domain(&format!("check {id} shop.example"))).contains("`dropin wallet domain add`"));
    assert!(refuses(&domain(&format!("add {id} 10.0.0.1 --file {association}"))).contains("must be a domain"));
    let nobody = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    assert!(refuses(&domain(&format!("add {nobody} shop.example --file {association}"))).contains("no merchant"));
    // A port of this machine on which nobody listens.
    let local = crate::program::free_address().replace("127.0.0.1", "localhost");
    let added = says(&domain(&format!("add {id} {local} --file {association}")));
    assert!(added.contains("/.well-known/apple-developer-merchantid-domain-association"), "{added}");
    assert!(refuses(&domain(&format!("check {id} {local}"))).contains("not verified"));
    let listed: Value = parse(&says(&domain(&format!("list {id} --json"))));
    assert_eq!((&listed[0]["Domain"], &listed[0]["State"]), (&json!(local), &json!("FAILED")), "{listed}");
}
