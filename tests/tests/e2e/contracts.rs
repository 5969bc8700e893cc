//! Contracts that the merchant's server opens, charges and closes (docs/SPECIFICATION.md#contracts).

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use dropin_boot::SystemClock;
use dropin_kernel::{ContractId, MerchantId};
use dropin_keyring::CredentialKeys;
use dropin_ports::{Clock, ContractStore, CredentialVault, KeyringError, SealedCredential, StoredCredential};
use dropin_tests::{Response, Topology, World, cards, until};
use serde_json::{Value, json};

use crate::{is_refused, is_refused_for};

/// What a charge that is paid sends.
const CHARGED: [&str; 2] = ["ORDER_AUTHORIZED", "ORDER_PROCESSED"];

/// A request to store a card that waits in the stash.
pub(crate) async fn to_open(world: &World, number: &str, change: Value) -> Value {
    let stashed = world.stash(&world.merchant, number).await;
    let mut request = world.merchant.checkout_request(json!({
        "PaymentMethod": "VISA", "StashId": stashed.stash_id, "DeviceFingerprint": stashed.fingerprint,
        "Kind": "RECURRING", "Consent": {"TextVersion": "2026-11", "Locale": "de_DE"},
    }));
    let members = request.as_object_mut().unwrap();
    members.remove("Items");
    members.remove("Capture");
    members.extend(change.as_object().unwrap().clone());
    request
}

async fn open(world: &World, number: &str, change: Value) -> Response {
    let request = to_open(world, number, change).await;
    world.merchant.post_checkout("/openContract", None, &request).await
}

/// The id of a contract that may be charged, and that its merchant was told of.
pub(crate) async fn opened(world: &World, number: &str, change: Value) -> String {
    let answer = open(world, number, change).await;
    assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("ACTIVE")), "{}", answer.text());
    let id = contract_of(&answer);
    world.receiver.expect(&id, &["CONTRACT_OPENED"]).await;
    id
}

#[track_caller]
fn contract_of(answer: &Response) -> String {
    answer.json()["ContractId"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
}

/// A charge of 29.90 USD.
pub(crate) fn to_charge(world: &World, contract: &str, change: Value) -> Value {
    let mut request = world.merchant.checkout_request(json!({"ContractId": contract}));
    let members = request.as_object_mut().unwrap();
    members.remove("Return");
    members.remove("DeviceFingerprint");
    members.extend(change.as_object().unwrap().clone());
    request
}

async fn charge(world: &World, contract: &str, change: Value) -> Response {
    world.merchant.post_checkout("", None, &to_charge(world, contract, change)).await
}

async fn close(world: &World, contract: &str) -> Response {
    let body = json!({"MerchantId": world.merchant.id, "ContractId": contract});
    world.merchant.post_checkout("/closeContract", None, &body).await
}

async fn shown(world: &World, contract: &str) -> Value {
    let answer = world.merchant.call("GET", &format!("/v1/contract/{contract}"), None).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// How many credentials the processor has.
async fn credentials(world: &World) -> usize {
    world.stored_credentials().await["Credentials"].as_array().unwrap().len()
}

/// Id, state and number of values of each key of stored credentials.
fn credential_keys(world: &World) -> Vec<(String, String, u64)> {
    let listed: Value = serde_json::from_str(&world.programs.run_dropin(&["keys", "list", "--json"])).unwrap();
    let keys = listed.as_array().unwrap().iter().filter(|key| key["Ring"] == "credential");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    keys.map(|key| (text(&key["KeyId"]), text(&key["State"]), key["Values"].as_u64().unwrap())).collect()
}

/// Everything that stands in the database: a dump of it, or its files.
fn copy_of_database(world: &World) -> Vec<u8> {
    let files = || {
        ["dropin.db", "dropin.db-wal"]
            .map(|name| fs::read(world.data.join(name)).expect("a file of the database"))
            .concat()
    };
    world.dump().map_or_else(files, String::into_bytes)
}

/// Whether `bytes` stand in `copy`: as they are, in hexadecimal digits, or in base64.
fn has(copy: &[u8], bytes: &[u8]) -> bool {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let base64 = base64::Engine::encode(&base64::engine::general_purpose::STANDARD_NO_PAD, bytes);
    [bytes, hex.as_bytes(), base64.as_bytes()].into_iter().any(|form| memchr::memmem::find(copy, form).is_some())
}

/// What is sealed of a contract's stored credential.
async fn sealed_credential(world: &World, contract: &str) -> SealedCredential {
    let store = crate::open_store(world);
    store.find_credential(contract.parse().unwrap()).await.unwrap().expect("a stored credential")
}

/// What a key folder makes of it.
fn opened_by(
    keys: &Path,
    world: &World,
    contract: &str,
    sealed: &SealedCredential,
) -> Result<StoredCredential, KeyringError> {
    let (merchant, contract): (MerchantId, ContractId) =
        (world.merchant.id.parse().unwrap(), contract.parse().unwrap());
    CredentialKeys::open_or_create(keys, SystemClock.now()).unwrap().open(merchant, contract, sealed)
}

/// A copy of the database without the key ring neither has the credential in any form nor opens it, not even by a key of the same id; and a program with
/// another ring asks the processor for nothing. With the ring again the same request is paid.
async fn a_copy_of_the_database_charges_no_card(topology: Topology) {
    let mut world = World::start(topology).await;
    let contract = opened(&world, cards::VISA, json!({})).await;
    let (keys, aside) = (world.data.join("keys"), world.data.join("aside"));
    let sealed = sealed_credential(&world, &contract).await;
    let credential = opened_by(&keys, &world, &contract, &sealed).expect("the deployment's ring opens it");
    let copy = copy_of_database(&world);
    assert!(has(&copy, &sealed.bytes), "the copy has what is sealed");
    assert!(!has(&copy, credential.expose().as_bytes()), "the copy has the credential itself");

    fs::rename(keys.join("credential"), &aside).unwrap();
    let other = opened_by(&keys, &world, &contract, &sealed);
    assert!(matches!(other, Err(KeyringError::Unavailable(_))), "a key of another id: {other:?}");
    let foreign = fs::read_dir(keys.join("credential")).unwrap().map(|entry| entry.unwrap().path());
    let foreign: Vec<_> = foreign.filter(|path| path.extension().is_some_and(|end| end == "key")).collect();
    fs::rename(&foreign[0], keys.join(format!("credential/{}.key", sealed.key_id))).unwrap();
    assert_eq!(opened_by(&keys, &world, &contract, &sealed), Err(KeyringError::CannotOpen), "a key of the same id");

    let restarted = async |world: &mut World| {
        let program = world.programs.process_of("checkout-api");
        program.kill();
        program.restart();
        world.programs.wait_until_ready().await;
    };
    restarted(&mut world).await;
    let (request, before) = (to_charge(&world, &contract, json!({})), world.journal().await.orders().len());
    is_refused(&world.merchant.post_checkout("", None, &request).await, 503, "SERVICE_UNAVAILABLE");
    assert_eq!((world.journal().await.orders().len(), &shown(&world, &contract).await["Orders"]), (before, &json!([])));

    fs::remove_dir_all(keys.join("credential")).unwrap();
    fs::rename(&aside, keys.join("credential")).unwrap();
    restarted(&mut world).await;
    let paid = world.merchant.post_checkout("", None, &request).await;
    assert_eq!((paid.status, &paid.json()["Captured"]), (200, &json!(true)), "{}", paid.text());
    world.receiver.expect(paid.json()["OrderId"].as_str().unwrap(), &CHARGED).await;
    world.finish().await;
}

#[actix_web::test]
async fn a_copy_of_the_database_charges_no_card_on_sqlite() {
    a_copy_of_the_database_charges_no_card(Topology::AllInOne).await;
}

#[actix_web::test]
async fn a_copy_of_the_database_charges_no_card_on_postgresql() {
    a_copy_of_the_database_charges_no_card(Topology::Split).await;
}

crate::both! {
    /// Opened, charged three times, closed: the processor keeps the card until then and no longer.
    async fn a_subscription_is_charged_until_it_is_closed(world: &World) {
        let contract = opened(world, cards::VISA, json!({"BillingProfileReference": "customer-7"})).await;
        let seen = shown(world, &contract).await;
        assert_eq!((&seen["State"], &seen["Kind"], &seen["Currency"]), (&json!("ACTIVE"), &json!("RECURRING"), &json!("USD")));
        assert_eq!(seen["Card"]["Last4"], "4242");
        assert_eq!((&seen["Consent"]["TextVersion"], &seen["Consent"]["Locale"]), (&json!("2026-11"), &json!("de_DE")));
        assert_eq!(seen["Orders"], json!([]));
        assert_eq!(credentials(world).await, 1);

        let mut orders = Vec::new();
        for _ in 0..3 {
            let answer = charge(world, &contract, json!({})).await;
            assert_eq!((answer.status, &answer.json()["Captured"]), (200, &json!(true)), "{}", answer.text());
            let order = answer.json()["OrderId"].as_str().unwrap().to_owned();
            world.receiver.expect(&order, &CHARGED).await;
            orders.push(order);
        }
        let listed = shown(world, &contract).await;
        let listed: Vec<_> = listed["Orders"].as_array().unwrap().iter().map(|one| one["OrderId"].as_str().unwrap()).collect();
        assert_eq!(listed, orders);
        let of_profile = world.merchant.call("GET", "/v1/contract?BillingProfileReference=customer-7", None).await.json();
        assert_eq!(of_profile["Contracts"].as_array().unwrap().len(), 1, "{of_profile}");

        let closed = close(world, &contract).await;
        assert_eq!((closed.status, &closed.json()["State"], &closed.json()["StateReason"]), (200, &json!("CLOSED"), &json!("MERCHANT")), "{}", closed.text());
        world.receiver.expect(&contract, &["CONTRACT_OPENED", "CONTRACT_CLOSED"]).await;
        is_refused(&close(world, &contract).await, 409, "INVALID_CONTRACT_STATE");
        is_refused(&charge(world, &contract, json!({})).await, 409, "INVALID_CONTRACT_STATE");
        until("the card is deleted at the processor", Duration::from_secs(20), async || {
            (credentials(world).await == 0).then_some(())
        })
        .await;
    }

    /// The operator rotates the keys of stored credentials while merchants charge: every charge is paid, and the older key is needed no more.
    async fn credentials_are_sealed_anew_while_charges_run(world: &World) {
        let mut contracts = Vec::new();
        for _ in 0..3 {
            contracts.push(opened(world, cards::VISA, json!({})).await);
        }
        let old = credential_keys(world);
        assert_eq!(old.iter().map(|key| (key.1.as_str(), key.2)).collect::<Vec<_>>(), [("SEALS", 3)]);
        let arguments = ["keys", "rotate", "--ring", "credential", "--json"];
        let mut rotation = world.programs.dropin_command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut charged = 0;
        while rotation.try_wait().unwrap().is_none() {
            let answer = charge(world, &contracts[charged % 3], json!({})).await;
            assert_eq!((answer.status, &answer.json()["Captured"]), (200, &json!(true)), "{}", answer.text());
            charged += 1;
        }
        assert!(charged > 3, "{charged} charges while the rotation ran");
        let printed = rotation.wait_with_output().unwrap();
        let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
        assert_eq!((&printed["Made"], &printed["Resealed"], &printed["Failed"]), (&json!(true), &json!(3), &json!([])));
        let keys = credential_keys(world);
        let new = printed["KeyId"].as_str().unwrap().to_owned();
        assert_eq!(keys, [(old[0].0.clone(), "OPENS".to_owned(), 0), (new, "SEALS".to_owned(), 3)]);
        fs::remove_file(world.data.join(format!("keys/credential/{}.key", old[0].0))).unwrap();
        for contract in &contracts {
            let answer = charge(world, contract, json!({})).await;
            assert_eq!((answer.status, &answer.json()["Captured"]), (200, &json!(true)), "{}", answer.text());
            assert_eq!(close(world, contract).await.status, 200);
            world.receiver.expect(contract, &["CONTRACT_OPENED", "CONTRACT_CLOSED"]).await;
        }
        until("the cards are deleted at the processor", Duration::from_secs(20), async || {
            (credentials(world).await == 0).then_some(())
        })
        .await;
    }

    /// The bank's page comes first; nothing is stored before the shopper has been there.
    async fn a_card_that_asks_for_authentication_is_stored_after_its_page(world: &World) {
        for (choice, state) in [("succeed", "ACTIVE"), ("fail", "CLOSED")] {
            let answer = open(world, cards::ASKS_TO_STORE, json!({})).await;
            assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("OPENING")), "{}", answer.text());
            let contract = contract_of(&answer);
            is_refused(&charge(world, &contract, json!({})).await, 409, "INVALID_CONTRACT_STATE");
            is_refused(&close(world, &contract).await, 409, "INVALID_CONTRACT_STATE");
            let page = answer.json()["Action"]["Redirect"].as_str().unwrap().to_owned();
            world.come_back(&world.press(&page, choice, None).await).await;
            let event = if state == "ACTIVE" { "CONTRACT_OPENED" } else { "CONTRACT_CLOSED" };
            world.receiver.expect(&contract, &[event]).await;
            assert_eq!(shown(world, &contract).await["State"], state);
        }
        assert_eq!(credentials(world).await, 1);
    }

    /// Soft declines may be tried again, later; those that need the shopper, or are for good, say so.
    async fn declines_of_a_charge_say_what_to_do(world: &World) {
        let answer = open(world, cards::SHORT_LATER, json!({})).await;
        let short = contract_of(&answer);
        let page = answer.json()["Action"]["Redirect"].as_str().unwrap().to_owned();
        world.come_back(&world.press(&page, "succeed", None).await).await;
        world.receiver.expect(&short, &["CONTRACT_OPENED"]).await;
        let declined = charge(world, &short, json!({})).await;
        is_refused(&declined, 402, "PAYMENT_DECLINED");
        let order = declined.json()["OrderId"].as_str().unwrap().to_owned();
        world.receiver.expect(&order, &["ORDER_PROCESSING_FAILED"]).await;
        // Too soon: the issuer is not asked.
        is_refused(&charge(world, &short, json!({})).await, 409, "INVALID_CONTRACT_STATE");
        assert_eq!(shown(world, &short).await["State"], "ACTIVE");

        let answer = open(world, cards::ASKS_ALWAYS, json!({})).await;
        let asks = contract_of(&answer);
        let page = answer.json()["Action"]["Redirect"].as_str().unwrap().to_owned();
        world.come_back(&world.press(&page, "succeed", None).await).await;
        world.receiver.expect(&asks, &["CONTRACT_OPENED"]).await;
        let refused = charge(world, &asks, json!({})).await;
        is_refused(&refused, 402, "SHOPPER_AUTHENTICATION_REQUIRED");
        let order = refused.json()["OrderId"].as_str().unwrap().to_owned();
        world.receiver.expect(&order, &["ORDER_PROCESSING_FAILED"]).await;
        let again = charge(world, &asks, json!({})).await;
        is_refused(&again, 402, "SHOPPER_AUTHENTICATION_REQUIRED");
        assert_eq!(again.json().get("OrderId"), None, "the issuer was not asked again: {}", again.text());

        // The issuer refuses to verify it at all.
        let refused = open(world, cards::DECLINED, json!({})).await;
        is_refused(&refused, 402, "PAYMENT_DECLINED");
        world.receiver.expect(&contract_of(&refused), &["CONTRACT_CLOSED"]).await;
    }

    /// What is wrong with a request is said before anything happens.
    async fn wrong_requests_change_nothing(world: &World) {
        let contract = opened(world, cards::VISA, json!({})).await;
        is_refused_for(&open(world, cards::VISA, json!({"Kind": "ONE_CLICK"})).await, "Kind", "VALUE_NOT_ALLOWED");
        is_refused_for(&open(world, cards::VISA, json!({"Items": []})).await, "Items", "FIELD_UNKNOWN");
        let euros = charge(world, &contract, json!({"ConsumerCurrency": "EUR"})).await;
        is_refused_for(&euros, "ConsumerCurrency", "CONFLICT");
        let nobodys = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        is_refused_for(&charge(world, nobodys, json!({})).await, "ContractId", "NOT_FOUND");
        is_refused_for(&close(world, nobodys).await, "ContractId", "NOT_FOUND");
        let other = world.another_merchant().await;
        let path = format!("/v1/contract/{contract}");
        is_refused(&other.call("GET", &path, None).await, 404, "CONTRACT_NOT_FOUND");
        is_refused(&world.merchant.call("GET", "/v1/contract/7", None).await, 400, "VALIDATION_ERROR");
        is_refused(&world.merchant.call("GET", "/v1/contract", None).await, 400, "INVALID_REQUEST");
        let charging = to_charge(world, &contract, json!({"MerchantId": other.id}));
        is_refused_for(&other.post_checkout("", None, &charging).await, "ContractId", "NOT_FOUND");
        // The reference of a contract is taken for payments, too.
        let request = to_open(world, cards::VISA, json!({})).await;
        let first = world.merchant.post_checkout("/openContract", None, &request).await;
        world.receiver.expect(&contract_of(&first), &["CONTRACT_OPENED"]).await;
        let found = world.merchant.post_checkout("/query", None, &json!({"MerchantId": world.merchant.id, "ReferenceId": request["ReferenceId"]})).await;
        assert_eq!(found.json()["Contract"]["ContractId"], json!(contract_of(&first)), "{}", found.text());
        let again = world.merchant.post_checkout("/openContract", None, &request).await;
        is_refused(&again, 409, "DUPLICATE_MERCHANT_REFERENCE_ID");
        let taken = charge(world, &contract, json!({"ReferenceId": request["ReferenceId"]})).await;
        is_refused(&taken, 409, "DUPLICATE_MERCHANT_REFERENCE_ID");
        assert_eq!(shown(world, &contract).await["State"], "ACTIVE");
    }

    /// The same key is the same contract, the same charge and the same end.
    async fn repeats_with_a_key_do_nothing_twice(world: &World) {
        let (merchant, request) = (&world.merchant, to_open(world, cards::VISA, json!({})).await);
        let first = merchant.post_checkout("/openContract", Some("open-1"), &request).await;
        let again = merchant.post_checkout("/openContract", Some("open-1"), &request).await;
        assert_eq!((first.status, first.text()), (200, again.text()));
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        let contract = contract_of(&first);
        world.receiver.expect(&contract, &["CONTRACT_OPENED"]).await;
        let request = to_charge(world, &contract, json!({}));
        let first = merchant.post_checkout("", Some("charge-1"), &request).await;
        let again = merchant.post_checkout("", Some("charge-1"), &request).await;
        assert_eq!((first.status, first.text()), (200, again.text()));
        world.receiver.expect(first.json()["OrderId"].as_str().unwrap(), &CHARGED).await;
        let body = json!({"MerchantId": merchant.id, "ContractId": contract});
        let first = merchant.post_checkout("/closeContract", Some("close-1"), &body).await;
        let again = merchant.post_checkout("/closeContract", Some("close-1"), &body).await;
        assert_eq!((first.status, first.text()), (200, again.text()));
        world.receiver.expect(&contract, &["CONTRACT_OPENED", "CONTRACT_CLOSED"]).await;
        assert_eq!(shown(world, &contract).await["Orders"].as_array().unwrap().len(), 1);
    }

    /// The processor stores the card and its answer gets lost: the settler asks for it, and the contract opens.
    async fn a_lost_answer_orphans_no_card(world: &World) {
        world.faults(json!({"Mode": "timeout_after_work", "Kinds": ["AUTHORIZE"], "Remaining": 1, "DelayMs": 100})).await;
        let answer = open(world, cards::VISA, json!({})).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("OPENING")), "{}", answer.text());
        let contract = contract_of(&answer);
        world.receiver.expect(&contract, &["CONTRACT_OPENED"]).await;
        assert_eq!(credentials(world).await, 1);
        let paid = charge(world, &contract, json!({})).await;
        assert_eq!(paid.status, 200, "{}", paid.text());
        world.receiver.expect(paid.json()["OrderId"].as_str().unwrap(), &CHARGED).await;
    }
}
