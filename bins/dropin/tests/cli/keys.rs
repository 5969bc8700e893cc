//! `dropin keys`: the long-lived keys are rotated while the services run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use dropin_boot::SystemIds;
use dropin_kernel::{OrderId, Timestamp};
use dropin_ports::{
    CountableOutcome, HashedVelocityKey, IdSource, NewPaymentTry, PaymentTryOutcome, ScreeningStore, VelocityHash,
};
use dropin_risk::{Facts, Rules};
use dropin_store::{Role, Store, StoreConfig};
use serde_json::{Value, json};

use crate::program::{Data, Dropin, parse, post, printed, refused, run, session_request};

/// A deployment, on a database of its own.
struct Deployment {
    data: Data,
    folder: String,
    /// `--database-url-file` and the file, unless the database is SQLite's in the data folder.
    database: Vec<String>,
    /// A PostgreSQL to drop the database of at the end.
    postgres: Option<(String, String)>,
}

/// Where the tests' PostgreSQL is, set by `cargo xtask test` or `cargo xtask pg start`.
const VARIABLE: &str = "DROPIN_TEST_POSTGRES";

impl Deployment {
    fn on_sqlite() -> Self {
        let data = Data::new();
        Self { folder: data.folder(), data, database: vec![], postgres: None }
    }

    fn on_postgres() -> Self {
        let admin = std::env::var(VARIABLE).unwrap_or_else(|_unset| {
            panic!("{VARIABLE} is not set: run `cargo xtask test`, or `eval \"$(cargo xtask pg start)\"` first")
        });
        let name = format!("cli_keys_{}", std::process::id());
        psql(&admin, &format!("CREATE DATABASE {name}"));
        let (server, _maintenance) = admin.rsplit_once('/').unwrap();
        let data = Data::new();
        let file = data.path().join("database-url");
        fs::write(&file, format!("{server}/{name}")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let database = vec!["--database-url-file".to_owned(), file.to_str().unwrap().to_owned()];
        let deployment = Self { folder: data.folder(), data, database, postgres: Some((admin, name)) };
        deployment.says("migrate");
        deployment
    }

    fn words<'a>(&'a self, line: &'a str) -> Vec<&'a str> {
        let database = self.database.iter().map(String::as_str);
        line.split_ascii_whitespace().chain(["--data", &self.folder]).chain(database).collect()
    }

    fn says(&self, line: &str) -> String {
        printed(&self.words(line))
    }

    fn json(&self, line: &str) -> Value {
        parse(&self.says(&format!("{line} --json")))
    }

    fn refuses(&self, line: &str) -> String {
        refused(&self.words(line))
    }

    /// Ring, key, state and number of values of each key.
    fn keys(&self) -> Vec<(String, String, String, Option<u64>)> {
        let line = |line: &Value| {
            let text = |name: &str| line[name].as_str().unwrap().to_owned();
            (text("Ring"), text("KeyId"), text("State"), line["Values"].as_u64())
        };
        self.json("keys list").as_array().unwrap().iter().map(line).collect()
    }

    /// Those of the master ring.
    fn master_keys(&self) -> Vec<(String, String, String, Option<u64>)> {
        self.keys().into_iter().filter(|(ring, ..)| ring == "master").collect()
    }

    fn key_file(&self, ring: &str, id: &str) -> PathBuf {
        self.data.file("keys").join(ring).join(format!("{id}.key"))
    }

    /// Puts a key in place that was made long ago.
    fn make_old_key(&self, ring: &str, id: &str) {
        let file = self.key_file(ring, id);
        let folder = file.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
        let bytes = id.bytes().last().unwrap();
        fs::write(&file, format!("{}=\n", char::from(bytes + 17).to_string().repeat(42) + "A")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        if let Some((admin, name)) = &self.postgres {
            psql(admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

fn psql(url: &str, statement: &str) {
    let output = Command::new("psql").args([url, "-v", "ON_ERROR_STOP=1", "-qc", statement]).output().unwrap();
    assert!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
}

fn line(ring: &str, id: &str, state: &str, values: Option<u64>) -> (String, String, String, Option<u64>) {
    (ring.to_owned(), id.to_owned(), state.to_owned(), values)
}

const OLD: &str = "1700000000-00000001";
const NEWER: &str = "1700000100-00000002";

#[test]
fn keys_are_rotated_beside_a_service_on_sqlite() {
    rotate_beside_a_service(&Deployment::on_sqlite());
}

#[test]
fn keys_are_rotated_beside_a_service_on_postgresql() {
    rotate_beside_a_service(&Deployment::on_postgres());
}

fn rotate_beside_a_service(deployment: &Deployment) {
    let mut arguments = vec!["--no-demo"];
    arguments.extend(deployment.database.iter().map(String::as_str));
    let dropin = Dropin::start(&deployment.data, &arguments);
    let merchant = deployment.json("merchant create --name N --webhook-url http://127.0.0.1:9/");
    let sessions = format!("{}/v1/session", dropin.shown("Session API"));
    assert_eq!(deployment.master_keys(), [line("master", "first", "SEALS", Some(1))]);
    let programs = deployment.keys().into_iter().filter(|(ring, ..)| ring == "credential").count();
    assert_eq!(programs, 1, "what seals credentials makes its key at its start");
    assert!(deployment.says("keys prune").contains("No key was destroyed"));

    let rotated = deployment.json("keys rotate");
    let id = rotated["KeyId"].as_str().unwrap();
    assert_eq!((&rotated["Made"], &rotated["Resealed"], &rotated["Failed"]), (&json!(true), &json!(1), &json!([])));
    assert_eq!(
        deployment.master_keys(),
        [line("master", "first", "OPENS", Some(0)), line("master", id, "SEALS", Some(1))]
    );
    assert_eq!(post(&sessions, &merchant, &session_request()).0, 201, "the password of before counts");
    let user =
        deployment.json(&format!("merchant user add {} --permission session:write", text(&merchant, "MerchantId")));
    assert_eq!(post(&sessions, &user, &session_request()).0, 201, "and a new one");
    let shown = deployment.json(&format!("merchant show {}", text(&merchant, "MerchantId")));
    deployment.json(&format!("merchant secret rotate {}", text(&shown["Endpoints"][0], "EndpointId")));
    let again = deployment.json("keys rotate");
    assert_eq!((&again["Made"], &again["Resealed"]), (&json!(true), &json!(2)), "the secret that retires too");
    let refusal = deployment.refuses("keys prune");
    assert!(refusal.contains("prune again after"), "{refusal}");
    assert_eq!(deployment.master_keys().len(), 3, "nothing was destroyed");
    let log = dropin.stop();
    assert!(!log.contains("cannot be opened"), "{log}");
    Dropin::start(&deployment.data, &arguments).stop();
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}

#[test]
fn a_rotation_that_was_interrupted_is_finished_and_old_keys_are_destroyed_when_nothing_needs_them() {
    let deployment = Deployment::on_sqlite();
    deployment.says("merchant create --name N --webhook-url http://127.0.0.1:9/");
    // As a rotation leaves it that was killed after its key was made.
    deployment.make_old_key("master", OLD);
    let rotated = deployment.json("keys rotate");
    assert_eq!((&rotated["Made"], &rotated["Resealed"], text(&rotated, "KeyId")), (&json!(false), &json!(1), OLD));

    deployment.make_old_key("master", NEWER);
    let refusal = deployment.refuses("keys prune");
    assert!(refusal.contains(&format!("{OLD} (1 values)")) && refusal.contains("keys rotate"), "{refusal}");
    assert!(deployment.key_file("master", OLD).exists());

    assert_eq!(text(&deployment.json("keys rotate"), "KeyId"), NEWER);
    assert_eq!(deployment.json("keys prune"), json!({ "Destroyed": [OLD], "Needed": [] }));
    assert!(!deployment.key_file("master", OLD).exists() && deployment.data.file("keys").join("master.key").exists());
    assert_eq!(deployment.keys(), [line("master", "first", "OPENS", Some(0)), line("master", NEWER, "SEALS", Some(1))]);
}

#[test]
fn a_lost_key_is_shown_and_no_other_is_made_in_its_place() {
    let deployment = Deployment::on_sqlite();
    let merchant = deployment.json("merchant create --name N --webhook-url http://127.0.0.1:9/");
    deployment.make_old_key("master", OLD);
    deployment.says("keys rotate");
    let (file, aside) = (deployment.key_file("master", OLD), deployment.data.file("aside"));
    fs::rename(&file, &aside).unwrap();
    let lost = [line("master", "first", "SEALS", Some(0)), line("master", OLD, "LOST", Some(1))];
    assert_eq!(deployment.keys(), lost);
    let refusal = deployment.refuses("keys rotate");
    assert!(refusal.contains(OLD) && refusal.contains("backup"), "{refusal}");
    assert_eq!(deployment.keys(), lost);
    fs::rename(&aside, &file).unwrap();
    assert_eq!(deployment.keys()[1], line("master", OLD, "SEALS", Some(1)));
    fs::rename(&file, &aside).unwrap();
    let shown = deployment.json(&format!("merchant show {}", text(&merchant, "MerchantId")));
    let endpoint = text(&shown["Endpoints"][0], "EndpointId");
    deployment.says(&format!("merchant secret rotate {endpoint} --overlap 0"));
    assert_eq!(deployment.json("keys rotate")["Resealed"], 1, "lost for good: its values were replaced");
}

#[test]
fn stored_credentials_have_a_ring_of_their_own() {
    let deployment = Deployment::on_sqlite();
    deployment.says("merchant create --name N");
    let refusal = deployment.refuses("keys rotate --ring credential");
    assert!(refusal.contains("credential") && refusal.contains("settler"), "{refusal}");
    assert!(!deployment.key_file("credential", OLD).parent().unwrap().exists());
    deployment.make_old_key("credential", OLD);
    let made = deployment.json("keys rotate --ring credential");
    let expected = [
        line("master", "first", "SEALS", Some(0)),
        line("credential", OLD, "OPENS", Some(0)),
        line("credential", text(&made, "KeyId"), "SEALS", Some(0)),
    ];
    assert_eq!(deployment.keys(), expected);
}

/// A profile that paid at the deployment's merchant that many seconds after 1970.
fn pay(deployment: &Deployment, at: i64) {
    let merchant = text(&deployment.json("merchant list")[0], "MerchantId").parse().unwrap();
    let url = format!("sqlite://{}", deployment.data.file("dropin.db").display());
    let store = Store::open(StoreConfig::new(&url, Role::Tool)).unwrap();
    let key = HashedVelocityKey { key: "PROFILE".parse().unwrap(), hash: VelocityHash([7; 32]), former: vec![] };
    let order_id = OrderId::new(SystemIds.ordered());
    let at = Timestamp::from_micros(at * 1_000_000);
    let paid = NewPaymentTry { order_id, merchant_id: merchant, at, keys: vec![key], amount_cents: 1 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let screening = Rules::built_in().screen(Facts::default());
    runtime.block_on(store.screen_try(paid, Arc::new(move |_| screening.clone()))).unwrap();
    runtime.block_on(store.count_outcome(order_id, CountableOutcome::plain(PaymentTryOutcome::Paid))).unwrap();
    store.close();
}

#[test]
fn velocity_keys_stay_while_what_they_hashed_counts_or_shoppers_are_known_by_them_alone() {
    let deployment = Deployment::on_sqlite();
    deployment.says("merchant create --name N");
    let refusal = deployment.refuses("keys rotate --ring velocity");
    assert!(refusal.contains("velocity") && refusal.contains("checkout-api"), "{refusal}");
    deployment.make_old_key("velocity", OLD);
    let made = deployment.json("keys rotate --ring velocity");
    let id = text(&made, "KeyId");
    let velocity_keys = || deployment.keys().into_iter().filter(|(ring, ..)| ring == "velocity").collect::<Vec<_>>();
    pay(&deployment, 1_700_000_050);
    assert_eq!(velocity_keys(), [line("velocity", OLD, "COUNTS", Some(1)), line("velocity", id, "HASHES", Some(0))]);
    let refusal = deployment.refuses("keys prune --forget-shoppers");
    assert!(refusal.contains(OLD) && refusal.contains("is counted until"), "{refusal}");
    // As if that rotation were long ago.
    fs::remove_file(deployment.key_file("velocity", id)).unwrap();
    deployment.make_old_key("velocity", NEWER);
    let kept = deployment.says("keys prune");
    assert!(kept.contains(&format!("Key {OLD} stays: 1 shoppers")), "{kept}");
    assert_eq!(deployment.json("keys prune")["Needed"], json!([{ "KeyId": OLD, "Values": 1 }]));
    assert_eq!(deployment.json("keys prune --forget-shoppers"), json!({ "Destroyed": [OLD], "Needed": [] }));
    assert_eq!(velocity_keys(), [line("velocity", NEWER, "HASHES", Some(0))]);
}

#[test]
fn a_command_that_finds_no_key_makes_none() {
    let deployment = Deployment::on_sqlite();
    deployment.says("migrate");
    for command in ["list", "rotate", "prune"] {
        let output = run(&deployment.words(&format!("keys {command}")), &[]);
        assert!(!output.status.success());
        let refusal = String::from_utf8(output.stderr).unwrap();
        assert!(refusal.contains("no master.key") && refusal.contains("DROPIN_KEYS"), "{command}: {refusal}");
    }
    assert!(!deployment.data.file("keys").exists());
}
