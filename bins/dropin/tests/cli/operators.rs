//! Operators by the command line, beside a running service.

use serde_json::{Value, json};

use crate::program::{Data, Dropin, parse, printed, refused};

struct Shell {
    folder: String,
}

impl Shell {
    fn json(&self, line: &[&str]) -> Value {
        parse(&printed(&[&["operator"][..], line, &["--json", "--data", &self.folder][..]].concat()))
    }

    fn refuses(&self, line: &[&str]) -> String {
        refused(&[&["operator"][..], line, &["--data", &self.folder][..]].concat())
    }
}

const ANA: &str = "ana@shop.example";
const BEN: &str = "ben@shop.example";

#[test]
fn operators_are_invited_changed_and_reset_while_a_service_runs() {
    let data = Data::new();
    let _dropin = Dropin::start(&data, &["--no-demo"]);
    let shell = Shell { folder: data.folder() };
    assert_eq!(shell.json(&["list"]), json!([]));

    let ana = shell.json(&["invite", "--name", "Ana Berg", "--email", ANA, "--role", "owner"]);
    let link = ana["Link"].as_str().unwrap();
    assert!(link.starts_with("http://127.0.0.1:8082/accept?token=") && link.len() > 70, "{link}");
    assert_eq!((&ana["State"], &ana["WholeDeployment"]), (&json!("INVITED"), &json!(true)));
    let shown = printed(&["operator", "list", "--data", &shell.folder]);
    assert!(shown.contains(ANA) && shown.contains("owner"), "{shown}");

    let merchant = parse(&printed(&["merchant", "create", "--name", "N", "--json", "--data", &shell.folder]));
    let merchant = merchant["MerchantId"].as_str().unwrap();
    let invite = ["invite", "--name", "Ben", "--email", BEN, "--role", "support", "--role", "developer"];
    let limits = ["--merchant", merchant, "--refund-limit", "EUR=500.00", "--refund-limit", "JPY=10000"];
    let panel = ["--panel-url", "https://panel.example/"];
    let ben = shell.json(&[&invite[..], &limits, &panel].concat());
    assert!(ben["Link"].as_str().unwrap().starts_with("https://panel.example/accept?token="), "{ben}");
    assert_eq!((&ben["Roles"], &ben["Merchants"]), (&json!(["support", "developer"]), &json!([merchant])));
    assert_eq!(ben["RefundLimits"], json!({ "EUR": "500.00", "JPY": "10000" }));

    let changed = shell.json(&["set-role", BEN, "--role", "viewer"]);
    assert_eq!((&changed["Roles"], &changed["Merchants"]), (&json!(["viewer"]), &json!([merchant])), "the scope stays");
    assert_eq!(changed["RefundLimits"], ben["RefundLimits"], "and the limits");
    let changed =
        shell.json(&["set-role", BEN, "--role", "support", "--whole-deployment", "--refund-limit", "EUR=1.00"]);
    assert_eq!((&changed["Merchants"], &changed["RefundLimits"]), (&Value::Null, &json!({ "EUR": "1.00" })));

    assert_eq!(shell.json(&["disable", BEN])["State"], "DISABLED");
    assert_eq!(shell.json(&["enable", "BEN@shop.example"])["State"], "INVITED");
    let reset = shell.json(&["reset-authenticator", BEN]);
    assert!(reset["Link"].is_string() && reset["Link"] != ben["Link"], "{reset}");
    let shown = shell.json(&["show", BEN]);
    assert_eq!((&shown["Authenticator"], &shown["Link"]), (&json!(false), &Value::Null), "a link is shown once");

    for (line, advice) in [
        (&["show", "eve@shop.example"][..], "operator list"),
        (&["enable", BEN], "disabled"),
        (&["invite", "--name", "A", "--email", ANA, "--role", "viewer"], "reset-authenticator"),
        (&["invite", "--name", "E", "--email", "eve", "--role", "viewer"], "--email"),
        (&["invite", "--name", "E", "--email", "eve@shop.example", "--role", "boss"], "viewer, support"),
        (&["invite", "--name", "E", "--email", "eve@shop.example"], "--role"),
        (
            &[
                "invite",
                "--name",
                "E",
                "--email",
                "e@s.example",
                "--role",
                "viewer",
                "--merchant",
                "00000000-0000-4000-8000-000000000000",
            ],
            "merchant list",
        ),
        (&["set-role", BEN, "--role", "support", "--refund-limit", "EUR=1", "--refund-limit", "EUR=2"], "once"),
        (&["set-role", BEN, "--role", "support", "--refund-limit", "500"], "EUR=500.00"),
        (&["set-role", BEN, "--role", "support", "--refund-limit", "EUR=1.005"], "decimals"),
    ] {
        let told = shell.refuses(line);
        assert!(told.contains(advice), "{line:?}: {told}");
    }
}
