//! Payments as the drop-in makes them, to see what the command line and a stop do meanwhile.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::program::{Data, Dropin, basic, call, parse, post, printed, refused, session_request, until};

/// Published test numbers: authorized and captured at once; authorized, and captured a few seconds later.
pub(crate) const AT_ONCE: &str = "4242424242424242";
pub(crate) const LATER: &str = "4000000000002016";

/// A payment that only has to be submitted.
pub(crate) struct Payment {
    session: String,
    submit: String,
    body: Value,
    pub(crate) merchant: Value,
}

impl Payment {
    pub(crate) fn begin(data: &Data, dropin: &Dropin, number: &str) -> Self {
        let create = ["merchant", "create", "--name", "N", "--json", "--data", &data.folder()];
        Self::of(parse(&printed(&create)), dropin, number, &session_request())
    }

    /// One of a merchant that there is, with this Session.
    pub(crate) fn of(merchant: Value, dropin: &Dropin, number: &str, request: &Value) -> Self {
        let base = dropin.shown("Session API");
        let (status, session) = post(&format!("{base}/v1/session"), &merchant, request);
        assert_eq!(status, 201, "{session}");
        let attempt = "0b7e6f0a-54a4-4c9e-9a55-1f5f3a1f2c11";
        let stash = format!("{}/{}/{attempt}", dropin.shown("Stash"), merchant["MerchantId"].as_str().unwrap());
        let expiry = json!({"Year": "2030", "Month": "12"});
        let card = json!({"Name": "A", "Number": number, "VerificationCode": "123", "Expiry": expiry}).to_string();
        let escaped: String = card.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let kind = ["Content-Type: application/x-www-form-urlencoded".to_owned()];
        assert_eq!(call("POST", &stash, &kind, &format!("DeviceFingerprint=f&card={escaped}")).0, 200);
        let id = session["SessionId"].as_str().unwrap();
        Self {
            session: format!("{base}/v1/session/{id}"),
            submit: format!("{base}/asset/v1/shopper/session/{id}/submit"),
            body: json!({"Version": 1, "AttemptId": attempt, "StashId": attempt, "DeviceFingerprint": "f"}),
            merchant,
        }
    }

    #[track_caller]
    pub(crate) fn complete(&self) {
        assert_eq!(self.submit(), (200, Some("COMPLETED".to_owned())));
    }

    fn is_completed(&self) -> bool {
        self.submit() == (200, Some("COMPLETED".to_owned()))
    }

    /// Status and State.
    fn submit(&self) -> (u16, Option<String>) {
        let (status, progress) = post(&self.submit, &self.merchant, &self.body);
        (status, progress["State"].as_str().map(ToOwned::to_owned))
    }

    /// The Order that it led to, as its Session shows it.
    #[track_caller]
    pub(crate) fn order(&self) -> Value {
        let pair = ["Username", "Password"].map(|name| self.merchant[name].as_str().unwrap()).join(":");
        let (status, session) = call("GET", &self.session, &[basic(&pair)], "");
        assert_eq!(status, 200, "{session}");
        parse(&session)["Order"].clone()
    }
}

#[test]
fn a_new_processor_key_is_used_by_both_sides_of_a_sandbox() {
    let data = Data::new();
    let file = data.path().join("processor-key");
    let put = |key: &str| {
        let next = data.path().join("next");
        fs::write(&next, key).unwrap();
        fs::set_permissions(&next, PermissionsExt::from_mode(0o600)).unwrap();
        fs::rename(&next, &file).unwrap();
    };
    put("one");
    let dropin = Dropin::start(&data, &["--no-demo", "--processor-key-file", file.to_str().unwrap()]);
    Payment::begin(&data, &dropin, AT_ONCE).complete();
    put("two");
    let journal = format!("{}/sandbox/v1/journal", dropin.shown("Session API"));
    let asked = |key: &str| call("GET", &journal, &[format!("Authorization: Bearer {key}")], "").0;
    until("the sandbox refuses the old key", || (asked("one") == 401).then_some(()));
    assert_eq!(asked("two"), 200);
    // The other side reads the file by itself, a moment before or after.
    until("a payment by the new key", || Payment::begin(&data, &dropin, AT_ONCE).is_completed().then_some(()));
    dropin.stop();
}

pub(crate) fn open_operations(data: &Data) -> Vec<Value> {
    parse(&printed(&["op", "list", "--json", "--data", &data.folder()])).as_array().unwrap().clone()
}

#[test]
fn an_operation_is_listed_while_its_outcome_is_open() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    Payment::begin(&data, &dropin, LATER).complete();
    let pending = || open_operations(&data).into_iter().find(|operation| operation["State"] == "PENDING");
    let pending = until("a pending capture", pending);
    assert_eq!((pending["Kind"].as_str(), pending["Amount"].as_str()), (Some("CAPTURE"), Some("2.50")));
    until("every outcome known", || open_operations(&data).is_empty().then_some(()));
    let log = dropin.stop();
    assert!(!log.contains(LATER), "a card number stands in the log");
}

/// The processor is slow, and the stop comes while it works: the shopper gets the true answer all the same.
#[test]
fn a_stop_finishes_the_payment_that_runs() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let payment = Payment::begin(&data, &dropin, AT_ONCE);
    let key = fs::read_to_string(data.file("processor.key")).unwrap();
    let headers = [format!("Authorization: Bearer {key}"), "Content-Type: application/json".to_owned()];
    let slow = json!({"Mode": "slow", "DelayMs": 1_500, "Remaining": 1}).to_string();
    assert_eq!(call("PUT", &format!("{}/v1/faults", dropin.shown("Processor")), &headers, &slow).0, 200);
    std::thread::scope(|scope| {
        let submitted = scope.spawn(|| payment.complete());
        until("the authorization under way", || open_operations(&data).first().cloned());
        let log = dropin.stop();
        assert!(log.contains("stopped") && !log.contains("under way"), "{log}");
        submitted.join().unwrap();
    });
    assert_eq!(open_operations(&data).iter().filter(|one| one["Kind"] == "AUTHORIZE").count(), 0);
}

/// Removing an endpoint loses nothing without a trace: what waited is parked, and may be sent elsewhere with the very command that is printed, which
/// touches nobody else's.
#[test]
fn what_waits_for_a_removed_endpoint_is_parked_and_sent_elsewhere() {
    let data = Data::new();
    let (dropin, folder) = (Dropin::start(&data, &["--no-demo"]), data.folder());
    let [payment, other] = [0; 2].map(|_| Payment::begin(&data, &dropin, AT_ONCE));
    let in_folder = |words: &[&str]| printed(&[words, &["--data", &folder]].concat());
    let merchant = |of: &Payment| of.merchant["MerchantId"].as_str().unwrap().to_owned();
    let add = |of: &Payment, url: &str| {
        let added = parse(&in_folder(&["merchant", "endpoint", "add", &merchant(of), "--url", url, "--json"]));
        added["EndpointId"].as_str().unwrap().to_owned()
    };
    // Nobody listens there.
    let (gone, others) = (add(&payment, "http://127.0.0.1:9/gone"), add(&other, "http://127.0.0.1:9/others"));
    payment.complete();
    other.complete();
    until("every outcome known", || open_operations(&data).is_empty().then_some(()));
    let list = || parse(&in_folder(&["merchant", "endpoint", "list", &merchant(&payment), "--json"]))[0].clone();
    let tried = until("a try", || Some(list()).filter(|endpoint| endpoint["LastTry"].is_object()));
    assert_eq!((&tried["Waiting"], &tried["Parked"]), (&json!(1), &json!(0)), "one payment: {tried}");
    assert!(tried["OldestDue"].is_string() && tried["LastTry"]["Why"].is_string(), "{tried}");
    let listed = in_folder(&["merchant", "endpoint", "list", &merchant(&payment)]);
    assert!(listed.contains("  waiting 1 first due ") && listed.contains("  last try "), "{listed}");

    let told = in_folder(&["merchant", "endpoint", "remove", &gone]);
    assert!(told.contains("waited for it: 3;"), "SESSION_COMPLETED, ORDER_AUTHORIZED, ORDER_PROCESSED: {told}");
    assert_eq!(parse(&in_folder(&["merchant", "endpoint", "remove", &others, "--json"]))["Parked"], 3);
    let parked =
        || parse(&in_folder(&["notification", "list", "--state", "parked", "--json"])).as_array().unwrap().len();
    assert_eq!(parked(), 6);
    let refused =
        |words: &[&str]| refused(&[&["notification", "replay", "--all"], words, &["--data", &folder]].concat());
    let stranded = refused(&[]);
    assert!(stranded.contains("6 stay as they are") && stranded.contains("--to"), "{stranded}");
    let stranded = refused(&["--to", &merchant(&payment)]);
    assert!(stranded.contains("dropin merchant show"), "{stranded}");
    let advice = told.split('`').nth(1).unwrap().replace("ENDPOINT_ID", &add(&payment, "http://127.0.0.1:9/there"));
    let command: Vec<_> = advice.split(' ').skip(1).collect();
    assert!(in_folder(&command).starts_with("3 "), "{advice}");
    assert_eq!(parked(), 3, "those of the other merchant");
    let moved = parse(&in_folder(&["notification", "list", "--endpoint", &gone, "--state", "moved", "--json"]));
    assert_eq!(moved.as_array().unwrap().len(), 3, "tried or not: {moved}");
    let discard = ["notification", "discard", "--endpoint", &others];
    assert_eq!(in_folder(&[&discard[..], &["--dry-run"]].concat()), "3 parked notifications would be discarded.\n");
    assert_eq!(parked(), 3);
    assert_eq!(parse(&in_folder(&[&discard[..], &["--as", "ada", "--json"]].concat()))["Discarded"], 3);
    let discarded = parse(&in_folder(&["notification", "list", "--state", "discarded", "--json"]));
    assert_eq!((parked(), discarded.as_array().unwrap().len()), (0, 3));
    let heir = add(&other, "http://127.0.0.1:9/heir");
    let again = ["notification", "replay", "--state", "discarded", "--endpoint", &others, "--to", &heir];
    assert!(in_folder(&again).starts_with("3 "), "what was discarded may be wanted after all");
    dropin.stop();
}
