//! `dropin trigger` and `dropin listen`: what a merchant's developer tries events out with.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use dropin_tests::receiver::Receiver;
use dropin_tests::{World, cards, until};
use serde_json::{Value, json};

use crate::{AUTHORIZED, PAID};

/// The merchant's credentials in a file, as `merchant create --json` prints them.
fn merchant_file(world: &World) -> String {
    private_file(world, "merchant.json", &world.merchant.credentials())
}

/// A file that only its owner reads, as every file with credentials has to be; its path.
fn private_file(world: &World, name: &str, content: &Value) -> String {
    let file = world.data.join(name);
    fs::write(&file, content.to_string()).unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    file.display().to_string()
}

fn trigger(world: &World, event: &str) -> Result<Value, String> {
    let file = merchant_file(world);
    let [base, asset, checkout, stash] = [&world.base, &world.asset, &world.checkout, &world.stash].map(String::as_str);
    let parts = ["--asset-url", asset, "--checkout-url", checkout, "--stash-url", stash];
    let addresses = [&["--base-url", base, "--merchant-file", &file, "--json"], &parts[..]].concat();
    let told = world.programs.try_dropin(&[&["trigger", event], &addresses[..]].concat())?;
    Ok(serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}")))
}

/// The merchant is told these events of the contract, and of the charge that was refused.
async fn hears_of_contract(world: &World, contract: &str, told: &Value, events: &[&'static str]) {
    let heard = world.receiver.expect(contract, events).await;
    assert_eq!(told["EventId"], heard.last().unwrap().id.as_str());
    let shown = world.merchant.call("GET", &format!("/v1/contract/{contract}"), None).await.json();
    for order in shown["Orders"].as_array().unwrap() {
        world.receiver.expect(order["OrderId"].as_str().unwrap(), &["ORDER_PROCESSING_FAILED"]).await;
    }
    assert_eq!(shown["Orders"].as_array().unwrap().len(), usize::from(told["EventType"] == "CONTRACT_SUSPENDED"));
}

crate::both! {
    /// Each event there is really happens, and the merchant's endpoint hears of it in its place.
    async fn every_event_can_be_triggered(world: &World) {
        let listed: Value = serde_json::from_str(&world.programs.run_dropin(&["trigger", "--list", "--json"])).unwrap();
        let listed: BTreeSet<_> = listed.as_array().unwrap().iter().map(|one| one["EventType"].as_str().unwrap().to_owned()).collect();
        let with = |before: &[&'static str], after: &[&'static str]| [before, after].concat();
        let ways: Vec<(&str, Vec<&str>)> = vec![
            ("SESSION_COMPLETED", PAID.to_vec()),
            ("SESSION_FAILED", vec!["SESSION_FAILED"]),
            ("SESSION_CANCELLED", vec!["SESSION_CANCELLED"]),
            ("ORDER_PROCESSING", vec!["SESSION_COMPLETED", "ORDER_PROCESSING"]),
            ("ORDER_AUTHORIZED", AUTHORIZED.to_vec()),
            ("ORDER_COMMIT_ACCEPTED", vec!["SESSION_COMPLETED", "ORDER_COMMIT_ACCEPTED"]),
            ("ORDER_PROCESSED", PAID.to_vec()),
            ("ORDER_PROCESSING_FAILED", with(&AUTHORIZED, &["ORDER_PROCESSING_FAILED"])),
            ("ORDER_CANCELLED", with(&AUTHORIZED, &["ORDER_CANCELLED"])),
            ("ORDER_REVIEW_APPROVED", with(&AUTHORIZED, &["ORDER_REVIEW_APPROVED", "ORDER_PROCESSED"])),
            ("ORDER_DECLINED", with(&AUTHORIZED, &["ORDER_DECLINED"])),
            ("REFUND_SUCCEEDED", with(&PAID, &["REFUND_SUCCEEDED"])),
            ("REFUND_FAILED", with(&PAID, &["REFUND_FAILED"])),
            ("DISPUTE_OPENED", with(&PAID, &["DISPUTE_OPENED"])),
            ("DISPUTE_UPDATED", with(&PAID, &["DISPUTE_OPENED", "DISPUTE_UPDATED"])),
            ("DISPUTE_CLOSED", with(&PAID, &["DISPUTE_OPENED", "DISPUTE_CLOSED"])),
            ("CONTRACT_OPENED", vec!["CONTRACT_OPENED"]),
            ("CONTRACT_EXPIRING", vec!["CONTRACT_OPENED", "CONTRACT_EXPIRING"]),
            ("CONTRACT_SUSPENDED", vec!["CONTRACT_OPENED", "CONTRACT_SUSPENDED"]),
            ("CONTRACT_CLOSED", vec!["CONTRACT_OPENED", "CONTRACT_CLOSED"]),
            ("SCREENING_ALARM_RAISED", vec!["SCREENING_ALARM_RAISED"]),
        ];
        assert_eq!(listed, ways.iter().map(|(event, _)| (*event).to_owned()).collect(), "every event is tried here");
        for (event, events) in ways {
            let told = trigger(world, event).unwrap_or_else(|said| panic!("{event}: {said}"));
            assert_eq!(told["EventType"], event);
            if let Some(contract) = told["ContractId"].as_str() {
                hears_of_contract(world, contract, &told, &events).await;
                continue;
            }
            if let Some(merchant) = told["MerchantId"].as_str() {
                let heard = world.receiver.expect(merchant, &events).await;
                assert_eq!((heard[0].id.as_str(), &heard[0].body["Sequence"]), (told["EventId"].as_str().unwrap(), &json!(1)));
                continue;
            }
            let session = told["SessionId"].as_str().unwrap().to_owned();
            world.merchant.adopt(&session);
            // The lender decides by itself in the end; how that is told is no matter here.
            if event == "ORDER_COMMIT_ACCEPTED" {
                let heard = until("the lender's decision", Duration::from_secs(40), async || {
                    let heard = world.receiver.acknowledged(&session);
                    heard.iter().any(|one| one.event == "ORDER_PROCESSED").then_some(heard)
                })
                .await;
                assert_eq!(heard.iter().take(2).map(|one| one.event.as_str()).collect::<Vec<_>>(), events);
                continue;
            }
            let heard = world.receiver.expect(&session, &events).await;
            let own = heard.iter().find(|one| one.event == event).unwrap();
            assert_eq!(told["EventId"], own.id.as_str());
        }
    }

    /// Refused in production, for a merchant of elsewhere, and where nothing answers; each with what to do.
    async fn nothing_is_triggered_where_it_does_not_belong(world: &World) {
        let file = merchant_file(world);
        let refused = |arguments: &[&str]| world.programs.try_dropin(&[&["trigger", "ORDER_PROCESSED"], arguments].concat()).unwrap_err();
        let production = refused(&["--merchant-file", &file, "--base-url", &world.base, "--mode", "production"]);
        assert!(production.contains("sandbox only"), "{production}");
        let missing = refused(&["--merchant-file", "/nowhere.json"]);
        assert!(missing.contains("/nowhere.json") && missing.contains("--merchant-file"), "{missing}");
        let away = refused(&["--merchant-file", &file, "--base-url", "http://127.0.0.1:9", "--asset-url", "http://127.0.0.1:9"]);
        assert!(away.contains("http://127.0.0.1:9") && away.contains("see that the service runs"), "{away}");
        let nobody = json!({"MerchantId": "m", "Username": "api-nobody", "Password": "x"});
        let stranger = private_file(world, "stranger.json", &nobody);
        let stranger = refused(&["--merchant-file", &stranger, "--base-url", &world.base]);
        assert!(stranger.contains("api-nobody") && stranger.contains("--data"), "{stranger}");
    }

    /// What comes is printed and forwarded as it comes, once, signed; what was before is not; ctrl-c ends it well.
    async fn a_developer_listens(world: &World) {
        let before = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
        world.receiver.expect(&before.session, &PAID).await;
        // An event is delivered at once, and listed once no older transaction can still add one before it.
        until("the events of before are listed", Duration::from_secs(20), async || {
            let listed = world.merchant.call("GET", "/v1/event?limit=200", None).await.json();
            let of_before = listed["Events"].as_array().unwrap().iter().filter(|event| event["PaymentId"] == *before.session);
            (of_before.count() == PAID.len()).then_some(())
        })
        .await;
        let local = Receiver::start();
        let [out, errors] = ["listen.out", "listen.err"].map(|name| world.data.join(name));
        let file = merchant_file(world);
        let arguments = ["listen", "--json", "--merchant-file", &file, "--base-url", &world.base, "--forward-to", &local.url];
        let mut command = world.programs.dropin_command(&arguments);
        command.stdin(Stdio::null()).stdout(File::create(&out).unwrap()).stderr(File::create(&errors).unwrap());
        let mut listening = command.spawn().unwrap();
        let read = |path| fs::read_to_string(path).unwrap();
        let said = until("it listens", Duration::from_secs(20), async || {
            Some(read(&errors)).filter(|said| said.contains("Forwarding to"))
        })
        .await;
        let secret = said.split_whitespace().find(|word| word.starts_with("whsec_")).unwrap_or_else(|| panic!("{said}"));
        local.trust(secret.trim_end_matches(','));
        let paid = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
        let sent = world.receiver.expect(&paid.session, &PAID).await;
        let forwarded = local.expect(&paid.session, &PAID).await;
        for (sent, forwarded) in sent.iter().zip(&forwarded) {
            assert_eq!((&sent.id, &sent.bytes), (&forwarded.id, &forwarded.bytes), "the same notification to the letter");
        }
        let interrupted = Command::new("kill").args(["-INT", &listening.id().to_string()]).status().unwrap();
        assert!(interrupted.success());
        let ended = until("it ends", Duration::from_secs(10), async || listening.try_wait().unwrap()).await;
        assert!(ended.success(), "{ended}: {}", read(&errors));
        let printed: Vec<Value> = read(&out).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = printed.iter().map(|one| (one["PaymentId"].as_str().unwrap(), one["EventType"].as_str().unwrap())).collect();
        assert_eq!(told, PAID.map(|event| (paid.session.as_str(), event)), "what was before is not told again");
        assert!(local.tries(&before.session).is_empty());
        local.assert_none_forged();
    }
}

/// Each has an end of its own, and says why.
#[actix_web::test]
async fn listening_ends_where_it_cannot_begin() {
    let world = World::start(dropin_tests::Topology::AllInOne).await;
    let file = merchant_file(&world);
    let refused = |arguments: &[&str]| {
        world.programs.try_dropin(&[&["listen", "--base-url", &world.base], arguments].concat()).unwrap_err()
    };
    let mut credentials = world.merchant.credentials();
    credentials["Password"] = json!("wrong");
    let wrong = private_file(&world, "wrong.json", &credentials);
    let wrong = refused(&["--merchant-file", &wrong]);
    assert!(wrong.contains("401 AUTHENTICATION_REQUIRED"), "{wrong}");
    let elsewhere = refused(&["--merchant-file", &file, "--forward-to", "http://shop.example/webhook"]);
    assert!(elsewhere.contains("--forward-to") && elsewhere.contains("https"), "{elsewhere}");
    world.finish().await;
}
