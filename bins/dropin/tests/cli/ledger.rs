//! `dropin ledger verify`, `dropin order` and the metrics of operations, beside a running service.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::paying::{AT_ONCE, LATER, Payment, open_operations};
use crate::program::{Data, Dropin, call, free_address, parse, post, printed, refused, run, session_request, until};

/// Published test number: authorized and held for review.
const REVIEWED: &str = "4000000000009235";
pub(crate) const NOBODY: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

/// Exit status, and what was printed to whom.
fn ended(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// `ledger verify` on this deployment.
fn verify(data: &Data, more: &[&str]) -> (Option<i32>, String, String) {
    ended(&run(&[&["ledger", "verify", "--data", &data.folder()], more].concat(), &[]))
}

/// What does not fit, as scripts read it.
#[track_caller]
fn disagreements(data: &Data, more: &[&str]) -> Vec<Value> {
    let (status, told, errors) = verify(data, &[&["--json"], more].concat());
    let report = parse(&told);
    assert_eq!(status, Some(i32::from(report["Clean"] == false)), "{told} {errors}");
    report["Findings"].as_array().unwrap().clone()
}

fn settled(data: &Data) {
    until("every outcome known", || open_operations(data).is_empty().then_some(()));
}

#[track_caller]
fn id(order: &Value) -> &str {
    order["OrderId"].as_str().unwrap_or_else(|| panic!("no Order in {order}"))
}

#[test]
fn the_ledger_agrees_while_payments_run_and_after() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let there = ["--processor-url", &dropin.shown("Processor")];
    assert_eq!(disagreements(&data, &there), [] as [Value; 0], "nothing yet");
    let payments = [AT_ONCE, LATER, AT_ONCE].map(|number| Payment::begin(&data, &dropin, number));
    for payment in &payments {
        payment.complete();
        assert_eq!(disagreements(&data, &there), [] as [Value; 0]);
    }
    settled(&data);
    let refund = format!("{}/v1/order/{}/refund", dropin.shown("Session API"), id(&payments[0].order()));
    let (status, refunded) =
        post(&refund, &payments[0].merchant, &json!({"RefundReference": "too small", "Amount": 1}));
    assert_eq!(status, 201, "{refunded}");
    let (status, told, _) = verify(&data, &there);
    assert_eq!(status, Some(0), "{told}");
    assert!(told.starts_with("Read 3 Orders with 7 operations, 8 entries of"), "{told}");
    assert!(told.ends_with("Everything fits.\n"), "{told}");
    let (status, told, _) = verify(&data, &["--without-processor"]);
    assert!(status == Some(0) && told.contains("without the processor's journal"), "{told}");
    dropin.stop();
}

#[test]
fn what_only_the_processor_knows_of_is_a_disagreement() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let payment = Payment::begin(&data, &dropin, AT_ONCE);
    payment.complete();
    settled(&data);
    let processor = dropin.shown("Processor");
    let key = fs::read_to_string(data.file("processor.key")).unwrap();
    let headers = [
        format!("Authorization: Bearer {key}"),
        format!("Idempotency-Key: {NOBODY}"),
        "Content-Type: application/json".to_owned(),
    ];
    let expiry = ("2030", "12");
    let card = json!({"Number": AT_ONCE, "VerificationCode": "123", "ExpiryYear": expiry.0, "ExpiryMonth": expiry.1, "Name": "A"});
    let past = json!({"Amount": 9.5, "Currency": "EUR", "OrderId": "nobody's", "Card": card}).to_string();
    assert_eq!(call("POST", &format!("{processor}/v1/authorizations"), &headers, &past).0, 200);
    let found = disagreements(&data, &["--processor-url", &processor]);
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&one["What"], &one["OperationId"]), (&json!("MISSING_LOCALLY"), &json!(NOBODY)));
    assert!(one["Message"].as_str().unwrap().contains("9.50 EUR"), "{one}");
    assert_eq!(disagreements(&data, &["--without-processor"]), [] as [Value; 0]);
    let (status, told, _) = verify(&data, &["--processor-url", &processor]);
    assert_eq!(status, Some(1));
    assert!(told.starts_with("MISSING_LOCALLY") && told.contains("1 disagreement;"), "{told}");
    dropin.stop();
}

#[test]
fn what_only_we_know_of_is_a_disagreement() {
    let (data, elsewhere) = (Data::new(), Data::new());
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let payment = Payment::begin(&data, &dropin, AT_ONCE);
    payment.complete();
    settled(&data);
    // Another processor that knows the key and has done nothing.
    fs::create_dir(elsewhere.folder()).unwrap();
    fs::copy(data.file("processor.key"), elsewhere.file("processor.key")).unwrap();
    let other = Dropin::start(&elsewhere, &["--no-demo"]);
    let found = disagreements(&data, &["--processor-url", &other.shown("Processor")]);
    let what: Vec<_> = found.iter().map(|one| one["What"].as_str().unwrap()).collect();
    assert_eq!(what, ["NOT_AT_PROCESSOR"; 2], "{found:?}");
    assert!(found.iter().all(|one| one["OrderId"] == payment.order()["OrderId"]), "{found:?}");
    other.stop();
    dropin.stop();
}

#[test]
fn a_failed_comparison_has_another_exit_status_than_a_difference() {
    let data = Data::new();
    let (status, _, errors) = verify(&data, &[]);
    assert!(status == Some(2) && errors.contains("there is no database at"), "{errors}");
    printed(&["migrate", "--data", &data.folder()]);
    let (status, _, errors) = verify(&data, &[]);
    assert!(status == Some(2) && errors.contains("--processor-key-file"), "{errors}");
    assert!(!data.file("processor.key").exists(), "no key is made that nobody knows");
    let nobody = format!("http://{}", free_address());
    let line = ["ledger", "verify", "--data", &data.folder(), "--processor-url", &nobody];
    let (status, told, errors) = ended(&run(&line, &[("PROCESSOR_KEY", "k")]));
    assert!(status == Some(2) && told.is_empty(), "{told}");
    assert!(errors.contains("journal cannot be read") && errors.contains("--without-processor"), "{errors}");
    for words in [&nobody, "--processor-url", "DROPIN_LISTEN"] {
        assert!(errors.contains(words), "{words}: {errors}");
    }
    let production = ["ledger", "verify", "--data", &data.folder(), "--mode", "production"];
    let (status, _, errors) = ended(&run(&production, &[("PROCESSOR_KEY", "k")]));
    assert!(status == Some(2) && errors.contains("PROCESSOR_URL"), "{errors}");
    assert_eq!(verify(&data, &["--without-processor"]).0, Some(0));
}

/// The files of the database, by their names.
fn database(data: &Data) -> Vec<PathBuf> {
    let files = fs::read_dir(data.folder()).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("dropin.db"))).collect()
}

/// An old backup is put back: what the processor did since is taken up, can be refunded, and its reference charges nobody again.
#[test]
fn what_an_old_backup_does_not_know_is_taken_up_from_the_processor() {
    let (data, backup) = (Data::new(), Data::new());
    fs::create_dir(backup.folder()).unwrap();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let merchant = parse(&printed(&["merchant", "create", "--name", "N", "--json", "--data", &data.folder()]));
    dropin.stop();
    for file in database(&data) {
        fs::copy(&file, backup.file(file.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    let (dropin, request) = (Dropin::start(&data, &["--no-demo"]), session_request());
    let payment = Payment::of(merchant.clone(), &dropin, AT_ONCE, &request);
    payment.complete();
    settled(&data);
    let paid = payment.order();
    let refund = |dropin: &Dropin, reference: &str, amount: f64| {
        let url = format!("{}/v1/order/{}/refund", dropin.shown("Session API"), id(&paid));
        post(&url, &merchant, &json!({"RefundReference": reference, "Amount": amount}))
    };
    assert_eq!(refund(&dropin, "before", 1.0).0, 201);
    settled(&data);
    dropin.stop();
    database(&data).iter().for_each(|file| fs::remove_file(file).unwrap());
    for file in database(&backup) {
        fs::copy(&file, data.file(file.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let address = dropin.shown("Processor");
    let processor = ["--processor-url", address.as_str()];
    assert_eq!(disagreements(&data, &processor).len(), 3, "all of it is missing");
    let import = |more: &[&str]| {
        let span = ["--of", "sandbox", "--from", "2020-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z", "--json"];
        let folder = data.folder();
        let line = [&["ledger", "import", "--data", &folder], &span[..], &processor, more].concat();
        let (status, told, errors) = ended(&run(&line, &[]));
        let told: Vec<Value> = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told} {errors}"));
        let became = told.iter().map(|one| format!("{} {}", one["Kind"], one["Outcome"]).replace('"', ""));
        (status, became.collect::<Vec<_>>(), told)
    };
    let (status, became, missing) = import(&[]);
    let expected = |outcome: &str| ["AUTHORIZE", "CAPTURE", "REFUND"].map(|kind| format!("{kind} {outcome}"));
    assert_eq!((status, became), (Some(1), expected("MISSING").to_vec()));
    assert!(missing.iter().all(|one| one["OrderId"] == paid["OrderId"]), "{missing:?}");
    let named = [missing[0]["OperationId"].as_str().unwrap(), merchant["MerchantId"].as_str().unwrap()];
    let reference = request["MerchantReference"].as_str().unwrap();
    let words =
        ["--operation", named[0], "--merchant", named[1], "--reference", reference, "--method", "VISA", "--yes"];
    let (status, became, told) = import(&words);
    assert_eq!((status, became), (Some(0), expected("TAKEN_UP").to_vec()), "{told:?}");
    assert_eq!(import(&[]), (Some(0), vec![], vec![]), "once");
    assert_eq!(disagreements(&data, &processor), [] as [Value; 0]);
    let shown = parse(&printed(&["order", "show", id(&paid), "--json", "--data", &data.folder()]));
    let amounts = ["CapturedAmount", "RefundedAmount"].map(|name| shown[name].as_str().unwrap().to_owned());
    assert_eq!((shown["State"].as_str(), amounts), (Some("PROCESSED"), ["2.50".to_owned(), "1.00".to_owned()]));
    let logged = parse(&printed(&["audit", "list", "--json", "--data", &data.folder()]));
    let entries = logged.as_array().unwrap_or_else(|| panic!("{logged}"));
    assert_eq!(entries.iter().filter(|entry| entry["Action"] == "ORDER_IMPORT").count(), 3, "{logged}");
    let (status, repeated) = post(&format!("{}/v1/session", dropin.shown("Session API")), &merchant, &request);
    assert_eq!((status, &repeated["Code"]), (409, &json!("DUPLICATE_MERCHANT_REFERENCE_ID")), "{repeated}");
    let (status, rest) = refund(&dropin, "after", 1.5);
    assert_eq!((status, &rest["State"]), (201, &json!("SUCCEEDED")), "{rest}");
    dropin.stop();
}

#[test]
fn an_order_under_review_is_shown_and_decided() {
    let data = Data::new();
    let (dropin, folder) = (Dropin::start(&data, &["--no-demo"]), data.folder());
    let processor = dropin.shown("Processor");
    let order = |words: &[&str]| [&["order"], words, &["--data", &folder]].concat().join(" ");
    let run = |line: String| printed(&line.split(' ').collect::<Vec<_>>());
    let review = |id: &str, decision: &str| {
        run(order(&["review", id, decision, "--as", "ada", "--processor-url", &processor, "--json"]))
    };
    let [approved, declined] = [REVIEWED, REVIEWED].map(|number| {
        let payment = Payment::begin(&data, &dropin, number);
        payment.complete();
        payment
    });
    let held = approved.order();
    assert_eq!((&held["State"], &held["UnderReview"]), (&json!("PAYMENT_AUTHORIZED"), &json!(true)), "{held}");
    assert!(run(order(&["show", id(&held)])).contains("PAYMENT_AUTHORIZED, under review"));

    let decided = parse(&review(id(&held), "approve"));
    assert_eq!((&decided["State"], &decided["UnderReview"]), (&json!("PROCESSED"), &json!(false)), "{decided}");
    let shown = parse(&run(order(&["show", id(&held), "--json"])));
    assert_eq!((&shown["State"], &shown["CapturedAmount"]), (&json!("PROCESSED"), &json!("2.50")), "{shown}");
    let kinds: Vec<_> =
        shown["Operations"].as_array().unwrap().iter().map(|one| one["Kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["AUTHORIZE", "CAPTURE"]);
    let by: Vec<_> = shown["History"].as_array().unwrap().iter().filter(|step| step["By"] == "OPERATOR").collect();
    assert!(by.len() == 1 && by[0]["What"] == "REVIEW_APPROVED" && by[0]["Name"] == "ada", "{shown}");
    let text = run(order(&["show", id(&held)]));
    assert!(text.contains("REVIEW_APPROVED") && text.contains("by operator ada"), "{text}");
    let again = refused(&[
        "order",
        "review",
        id(&held),
        "decline",
        "--as",
        "ada",
        "--processor-url",
        &processor,
        "--data",
        &folder,
    ]);
    assert!(again.contains("PROCESSED") && again.contains("dropin order show"), "{again}");

    let id_of_declined = declined.order();
    for _ in 0..2 {
        let decided = parse(&review(id(&id_of_declined), "decline"));
        assert_eq!((&decided["State"], &decided["Pending"]), (&json!("DECLINED"), &json!(false)), "{decided}");
    }
    settled(&data);
    assert_eq!(disagreements(&data, &["--processor-url", &processor]), [] as [Value; 0]);
    dropin.stop();
}

#[test]
fn whoever_reviews_has_a_name_and_an_order() {
    let data = Data::new();
    let (dropin, folder) = (Dropin::start(&data, &["--no-demo"]), data.folder());
    let unnamed = refused(&["order", "review", NOBODY, "approve", "--data", &folder]);
    assert!(unnamed.contains("--as NAME"), "{unnamed}");
    let processor = dropin.shown("Processor");
    let named = ["order", "review", NOBODY, "approve", "--as", "ada", "--processor-url", &processor, "--data", &folder];
    for words in [&named[..], &["order", "show", NOBODY, "--data", &folder]] {
        let told = refused(words);
        assert!(told.contains("there is no Order"), "{told}");
    }
    assert_eq!(printed(&["op", "list", "--stuck", "--data", &folder]), "No operation is stuck.\n");
    dropin.stop();
}

#[test]
fn open_operations_and_the_processor_are_exposed_at_metrics() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let metrics = format!("{}/metrics", dropin.shown("Session API"));
    let tells = |line: &str| call("GET", &metrics, &[], "").1.lines().any(|told| told == line);
    assert!(tells("dropin_operations_open{kind=\"CAPTURE\",state=\"PENDING\"} 0"), "told of before there is any");
    let payment = Payment::begin(&data, &dropin, LATER);
    payment.complete();
    until("a pending capture", || tells("dropin_operations_open{kind=\"CAPTURE\",state=\"PENDING\"} 1").then_some(()));
    assert!(tells("dropin_operations_stuck 0"));
    assert!(tells("dropin_processor_breaker{state=\"closed\",processor=\"sandbox\"} 1"));
    assert!(tells("dropin_processor_calls_total{call=\"authorize\",outcome=\"approved\",processor=\"sandbox\"} 1"));
    assert!(tells("dropin_authorizations_total{processor=\"sandbox\",method=\"VISA\",outcome=\"APPROVED\"} 1"));
    let is_timed = |room: &str| {
        let name = format!("dropin_processor_call_seconds_count{{room=\"{room}\",processor=\"sandbox\"}} ");
        call("GET", &metrics, &[], "").1.lines().any(|told| told.strip_prefix(&name).is_some_and(|count| count != "0"))
    };
    assert!(is_timed("payments") && is_timed("questions"));
    until("none", || tells("dropin_operations_open{kind=\"CAPTURE\",state=\"PENDING\"} 0").then_some(()));
    dropin.stop();
}
