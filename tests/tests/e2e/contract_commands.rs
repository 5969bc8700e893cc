//! `dropin contract …`: what a merchant's server does with contracts, from a shell (docs/SPECIFICATION.md#contracts).

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;

use dropin_tests::{World, cards};
use serde_json::{Value, json};

/// The shopper, by flags.
const SHOPPER: [&str; 10] = [
    "--name",
    "Ana Example",
    "--email",
    "ana@shop.example",
    "--address",
    "Street 1",
    "--city",
    "Berlin",
    "--country",
    "DE",
];
const NOBODYS: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

/// A file that only its owner reads; its path.
fn private_file(world: &World, name: &str, content: &Value) -> String {
    let file = world.data.join(name);
    fs::write(&file, content.to_string()).unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    file.display().to_string()
}

/// Runs `dropin contract …` with the merchant's credentials; what it said when it failed, which is with exit status 1.
#[track_caller]
fn contract(world: &World, arguments: &[&str]) -> Result<String, String> {
    let takes_checkout = !matches!(arguments[0], "list" | "show");
    let checkout: &[&str] = if takes_checkout { &["--checkout-url", &world.checkout] } else { &[] };
    run(world, &[arguments, checkout].concat())
}

#[track_caller]
fn run(world: &World, arguments: &[&str]) -> Result<String, String> {
    let file = private_file(world, "merchant.json", &world.merchant.credentials());
    let service = ["--base-url", &world.base, "--merchant-file", &file];
    let output = world.programs.dropin_command(&[&["contract"], arguments, &service].concat()).output().unwrap();
    let [printed, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    match output.status.code() {
        Some(0) => Ok(printed),
        code => {
            assert_eq!((code, printed.as_str()), (Some(1), ""), "{errors}");
            Err(errors)
        }
    }
}

#[track_caller]
fn told(world: &World, arguments: &[&str]) -> String {
    contract(world, arguments).unwrap_or_else(|said| panic!("{arguments:?}: {said}"))
}

#[track_caller]
fn told_json(world: &World, arguments: &[&str]) -> Value {
    serde_json::from_str(&told(world, &[arguments, &["--json"]].concat())).unwrap()
}

/// What the command says when it is refused.
#[track_caller]
fn refused(world: &World, arguments: &[&str], words: &[&str]) -> String {
    let said = contract(world, arguments).expect_err("refused");
    for word in words {
        assert!(said.contains(word), "{word} is missing: {said}");
    }
    said
}

fn charge<'a>(id: &'a str, amount: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["charge", id, amount], &SHOPPER[..], more].concat()
}

/// Opens a contract of `customer-7`, through the bank's page where the card asks for it.
async fn opened(world: &World, number: &str) -> String {
    let stashed = world.stash(&world.merchant, number).await;
    let mut request = world.merchant.checkout_request(json!({
        "PaymentMethod": "VISA", "StashId": stashed.stash_id, "DeviceFingerprint": stashed.fingerprint,
        "Kind": "RECURRING", "BillingProfileReference": "customer-7",
    }));
    let members = request.as_object_mut().unwrap();
    members.remove("Items");
    members.remove("Capture");
    let answer = world.merchant.post_checkout("/openContract", None, &request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    if let Some(page) = answer["Action"]["Redirect"].as_str() {
        world.come_back(&world.press(page, "succeed", None).await).await;
    }
    let id = answer["ContractId"].as_str().unwrap().to_owned();
    world.receiver.expect(&id, &["CONTRACT_OPENED"]).await;
    id
}

crate::both! {
    /// Listed, shown, charged and closed from a shell, in words and in JSON.
    async fn a_contract_is_charged_and_closed_from_a_shell(world: &World) {
        assert!(told(world, &["list", "customer-7"]).contains("customer-7 has no contracts"));
        let id = opened(world, cards::VISA).await;
        let line = told(world, &["list", "customer-7"]);
        assert!(line.starts_with(&id) && line.contains("ACTIVE") && line.contains("USD  VISA 4242, until "), "{line}");
        assert_eq!(told_json(world, &["list", "customer-7"])[0]["ContractId"], json!(id));

        let captured = told(world, &charge(&id, "29.9", &["--reference", "march 1"]));
        assert!(captured.starts_with("29.90 USD was captured. Order ") && captured.contains("ReferenceId march 1."), "{captured}");
        let reserved = told_json(world, &charge(&id, "5", &["--reserve"]));
        assert_eq!((&reserved["Authorized"], &reserved["Captured"], &reserved["ContractId"]), (&json!(true), &json!(false), &json!(id)));
        assert!(reserved["ReferenceId"].as_str().unwrap().starts_with("charge-"), "{reserved}");
        let consumer = private_file(world, "consumer.json", &world.merchant.checkout_request(json!({}))["Consumer"]);
        let by_file = told(world, &["charge", &id, "0.01", "--reserve", "--consumer-file", &consumer]);
        assert!(by_file.starts_with("0.01 USD is reserved; capture it later. Order "), "{by_file}");

        let shown = told_json(world, &["show", &id]);
        let orders = shown["Orders"].as_array().unwrap();
        assert_eq!((orders.len(), &orders[0]["MerchantReference"], &orders[1]["OrderId"]), (3, &json!("march 1"), &reserved["OrderId"]));
        for (order, events) in orders.iter().zip([&["ORDER_AUTHORIZED", "ORDER_PROCESSED"][..], &["ORDER_AUTHORIZED"], &["ORDER_AUTHORIZED"]]) {
            world.receiver.expect(order["OrderId"].as_str().unwrap(), events).await;
        }
        let shown = told(world, &["show", &id]);
        assert!(shown.contains("State         ACTIVE\n") && shown.contains("29.90 USD  PROCESSED  march 1"), "{shown}");
        assert!(told(world, &["show", &id, "--json"]).contains(r#""Amount":29.90"#), "amounts are as the service writes them");

        refused(world, &charge(&id, "29.9", &["--reference", "march 1"]), &["409 DUPLICATE_MERCHANT_REFERENCE_ID", "march 1 was used before", "charged nothing"]);
        assert_eq!(told_json(world, &["show", &id])["Orders"].as_array().unwrap().len(), 3);

        let closed = told(world, &["close", &id]);
        assert!(closed.contains(&format!("The contract {id} is CLOSED.")), "{closed}");
        world.receiver.expect(&id, &["CONTRACT_OPENED", "CONTRACT_CLOSED"]).await;
        refused(world, &["close", &id], &["409 INVALID_CONTRACT_STATE", "dropin contract show"]);
        refused(world, &charge(&id, "29.90", &[]), &["409 INVALID_CONTRACT_STATE", "dropin contract show"]);
        assert!(told(world, &["list", "customer-7"]).contains("CLOSED (MERCHANT)"));
    }

    /// Each refusal says what happened, and what to do.
    async fn refusals_say_what_to_do(world: &World) {
        let short = opened(world, cards::SHORT_LATER).await;
        refused(world, &charge(&short, "29.90", &["--reference", "april"]), &["402 PAYMENT_DECLINED", "ReferenceId april", "nothing was charged", "another --reference"]);
        // Too soon: the issuer is not asked, and the reference stays free.
        refused(world, &charge(&short, "29.90", &["--reference", "may"]), &["409 INVALID_CONTRACT_STATE"]);
        let asks = opened(world, cards::ASKS_ALWAYS).await;
        refused(world, &charge(&asks, "29.90", &[]), &["402 SHOPPER_AUTHENTICATION_REQUIRED", "nothing was charged", "Session with ContractId"]);
        for id in [&short, &asks] {
            let order = told_json(world, &["show", id])["Orders"][0]["OrderId"].as_str().unwrap().to_owned();
            world.receiver.expect(&order, &["ORDER_PROCESSING_FAILED"]).await;
        }

        refused(world, &["show", NOBODYS], &["404 CONTRACT_NOT_FOUND", "--merchant-file", "dropin contract list"]);
        for command in [&["close", NOBODYS][..], &charge(NOBODYS, "29.90", &[])] {
            refused(world, command, &["ContractId", "--merchant-file", "dropin contract list"]);
        }
        refused(world, &charge(&short, "29.905", &[]), &["the amount 29.905 is refused: USD has 2 decimals at most"]);
        refused(world, &charge(&short, "twenty", &[]), &["the amount twenty is no number"]);
        refused(world, &charge(&short, "0", &[]), &["400 INVALID_REQUEST", "Items"]);
        refused(world, &["charge", &short, "29.90"], &["--consumer-file", "missing: --name, --email"]);
    }

    /// The answer is lost: the command says how to repeat it, and the repeat charges nothing.
    async fn a_charge_without_an_answer_is_repeated_with_its_reference(world: &World) {
        let id = opened(world, cards::VISA).await;
        let lossy = losing_answers(&world.checkout);
        let line = charge(&id, "29.90", &["--checkout-url", &lossy, "--reference", "june 1"]);
        let said = run(world, &line).expect_err("no answer");
        assert!(said.contains("gave no answer") && said.contains("--reference 'june 1': the same reference charges nothing twice"), "{said}");
        refused(world, &charge(&id, "29.90", &["--reference", "june 1"]), &["june 1 was used before", "dropin contract show"]);
        let orders = told_json(world, &["show", &id])["Orders"].clone();
        assert_eq!((orders.as_array().unwrap().len(), &orders[0]["MerchantReference"]), (1, &json!("june 1")));
        world.receiver.expect(orders[0]["OrderId"].as_str().unwrap(), &["ORDER_AUTHORIZED", "ORDER_PROCESSED"]).await;
    }
}

/// A checkout whose charges are done and whose answers to them are lost: it hands each request on and drops what answers a charge. Its address.
fn losing_answers(checkout: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let rest = checkout.strip_prefix("http://").unwrap();
    let (target, prefix) =
        rest.split_once('/').map_or((rest, String::new()), |(target, path)| (target, format!("/{path}")));
    let target = target.to_owned();
    // One connection for each of the two requests: the answer to the query closes its own.
    thread::spawn(move || {
        for connection in listener.incoming().take(2) {
            let mut connection = connection.unwrap();
            let (head, body) = request(&mut connection);
            let head = head.replacen(" /", &format!(" {prefix}/"), 1);
            let is_query = head.starts_with(&format!("POST {prefix}/v2.21/query"));
            let mut service = TcpStream::connect(&target).unwrap();
            service.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).unwrap();
            service.write_all(&body).unwrap();
            let mut answer = Vec::new();
            service.read_to_end(&mut answer).unwrap();
            if is_query {
                connection.write_all(&answer).unwrap();
            }
        }
    });
    address
}

/// A request's head, without the empty line and what it says of the connection, and its body.
fn request(connection: &mut TcpStream) -> (String, Vec<u8>) {
    let mut read = Vec::new();
    loop {
        let mut part = [0; 4096];
        let length = connection.read(&mut part).unwrap();
        assert_ne!(length, 0, "the whole request comes");
        read.extend_from_slice(&part[..length]);
        let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(read[..end + 2].to_vec()).unwrap();
        let lines = head.split_inclusive("\r\n").filter(|line| !line.to_lowercase().starts_with("connection:"));
        let head: String = lines.clone().collect();
        let length = lines.filter_map(|line| {
            line.to_lowercase().strip_prefix("content-length:").map(|n| n.trim().parse::<usize>().unwrap())
        });
        if read.len() >= end + 4 + length.sum::<usize>() {
            return (head, read[end + 4..].to_vec());
        }
    }
}
