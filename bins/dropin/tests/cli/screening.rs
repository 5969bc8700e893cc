//! Who is screened and by which rules, by the command line.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Data, Dropin, parse, printed, refused, run};

const RULES: &str = "[block]\nEMAIL_DOMAINS = ['spam.example']\n";

/// A file beside the data folder.
fn file(data: &Data, name: &str, text: &str) -> String {
    let path = data.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_file_is_checked_without_a_database() {
    let data = Data::new();
    let check = |arguments: &[&str]| {
        let output = run(&[&["screening", "check"], arguments].concat(), &[]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (good, bad) =
        (file(&data, "good.toml", RULES), file(&data, "bad.toml", "[weights]\nAGE = 1\nNEW_SHOPPER = 500\n"));
    let (status, told) = check(&[&good]);
    assert!(status == Some(0) && told.contains("No mistake"), "{told}");
    let (status, told) = check(&[&bad]);
    assert_eq!(status, Some(1));
    assert!(told.contains("line 2, column 1:") && told.contains("line 3, column 15:"), "{told}");
    let (status, told) = check(&[&bad, "--json"]);
    assert_eq!((status, &parse(&told)["Mistakes"][1]["Column"]), (Some(1), &json!(15)));
    let (status, told) = check(&["/nowhere/rules.toml"]);
    assert_eq!((status, told.as_str()), (Some(2), ""));
    // A merchant's lies over the deployment's.
    let deployment = file(&data, "deployment.toml", "[thresholds]\nREVIEW = 45\n");
    let merchant = file(&data, "merchant.toml", "[thresholds]\nCHALLENGE = 50\n");
    assert_eq!(check(&[&merchant]).0, Some(0));
    let output = run(&["--screening-rules", &deployment, "screening", "check", &merchant, "--for", "merchant"], &[]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("50, 45 and 85"), "{output:?}");
    assert!(!data.file("dropin.db").exists());
}

#[test]
fn a_merchants_rules_are_set_shown_and_cleared() {
    let data = Data::new();
    let folder = data.folder();
    let json = |line: &str, file: &[&str]| -> Value {
        let words: Vec<&str> =
            line.split(' ').chain(file.iter().copied()).chain(["--json", "--data", &folder]).collect();
        parse(&printed(&words))
    };
    let made = json("merchant create --name N", &[]);
    let id = made["MerchantId"].as_str().unwrap();
    assert_eq!(json(&format!("merchant show {id}"), &[])["Screening"], json!(false), "a sandbox");
    assert_eq!(json(&format!("merchant set {id} --screening on"), &[])["Screening"], json!(true));
    let rules = file(&data, "rules.toml", RULES);
    let set = json(&format!("screening rules {id} --set"), &[&rules]);
    assert_eq!(set["Revision"], json!(1));
    let shown = json(&format!("screening rules {id} --show"), &[]);
    assert_eq!((&shown["Rules"], &shown["Fingerprint"]), (&json!(RULES), &set["Fingerprint"]));
    assert_eq!((&shown["Screening"], &shown["Mistakes"]), (&json!(true), &json!([])));
    let bad = file(&data, "bad.toml", "[weights]\nAGE = 1\n");
    let told = refused(&["screening", "rules", id, "--set", &bad, "--data", &folder]);
    assert!(told.contains("bad.toml") && told.contains("line 2, column 1"), "{told}");
    assert!(refused(&["screening", "rules", id, "--data", &folder]).contains("--set"));
    let nobody = "00000000-0000-4000-8000-000000000000";
    assert!(refused(&["screening", "rules", nobody, "--show", "--data", &folder]).contains("dropin merchant list"));
    assert_eq!(json(&format!("screening rules {id} --clear"), &[])["Revision"], json!(2));
    assert_eq!(json(&format!("screening rules {id} --show"), &[])["Rules"], Value::Null);
    let run = json(&format!("screening dry-run {id}"), &[&rules]);
    assert_eq!((&run["Screened"], &run["Changes"]), (&json!(0), &json!([])), "nothing was screened yet");
    for command in ["screening report", "risk report"] {
        let report = json(&format!("{command} {id}"), &[]);
        assert_eq!(report, json!({"Fraud": 0, "Legitimate": 0, "Reasons": []}), "nobody has decided about a payment");
    }
    assert!(refused(&["risk", "report", nobody, "--data", &folder]).contains("dropin merchant list"));
}

#[test]
fn a_start_with_a_wrong_file_is_refused_and_the_demo_shop_is_screened() {
    let data = Data::new();
    let bad = file(&data, "bad.toml", "[weights]\nAGE = 1\nNEW_SHOPPER = 500\n");
    let told = refused(&["--data", &data.folder(), "--listen", "127.0.0.1:0", "--screening-rules", &bad]);
    assert!(told.contains("line 2, column 1") && told.contains("line 3, column 15"), "{told}");
    let good = file(&data, "good.toml", RULES);
    let dropin = Dropin::start(&data, &["--screening-rules", &good]);
    let listed = parse(&printed(&["merchant", "list", "--json", "--data", &data.folder()]));
    assert_eq!((&listed[0]["Name"], &listed[0]["Screening"]), (&json!("Demo shop"), &json!(true)));
    dropin.stop();
}
