//! Payments are screened for fraud and card testing (docs/SPECIFICATION.md#screening).

use std::time::Duration;

use dropin_tests::{Stashed, World, cards};
use serde_json::{Value, json};

use crate::{AUTHORIZED, CHARGED, PAID};

/// Of the one browser that cards are tested in.
const TESTER: &str = "the browser of a card tester";
/// What the tester types, again and again. The third of them pays.
const TESTED: [&str; 6] =
    [cards::DECLINED, cards::NO_FUNDS, cards::AMEX, cards::STOLEN, "6011111111111117", "3530111333300000"];
const TRIES: usize = 300;
/// As many different cards as one browser may try before the limits.
const WITHIN_LIMITS: usize = 4;
/// What no browser may hear of.
const SECRETS: [&str; 8] =
    ["Screening", "Decision", "Score", "Points", "BLOCK", "REVIEW", "DEVICE_CARDS", "NEW_SHOPPER"];

/// Has the merchant's payments screened, by this file laid over the rules that are built in.
async fn screen(world: &World, file: &str) {
    let merchant = world.merchant.id.as_str();
    world.programs.run_dropin(&["merchant", "set", merchant, "--screening", "on"]);
    if !file.is_empty() {
        let path = world.data.join("screening-rules.toml");
        std::fs::write(&path, file).unwrap();
        world.programs.run_dropin(&["screening", "rules", merchant, "--set", path.to_str().unwrap()]);
    }
    // In force within two seconds.
    tokio::time::sleep(Duration::from_secs(2)).await;
}

/// A Session request by a shopper with this e-mail address.
fn of_shopper(world: &World, email: &str) -> Value {
    let mut billing = world.merchant.session_request(json!({}))["BillingProfile"].clone();
    billing["Email"] = json!(email);
    json!({"AutoCapture": true, "BillingProfile": billing})
}

/// A try in the tester's browser: its Session, and what the browser hears.
async fn test_card(world: &World, number: &str) -> (String, Value) {
    let session = world.merchant.create_session(of_shopper(world, "tester@shop.example")).await;
    let shopper = world.shopper(&session);
    let attempt = uuid::Uuid::new_v4().to_string();
    let stashed = Stashed { stash_id: attempt.clone(), attempt, fingerprint: TESTER.to_owned() };
    let mut put = shopper.stash_as(&stashed, number).await;
    // The stash takes ten a second from one address.
    while put.status == 429 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        put = shopper.stash_as(&stashed, number).await;
    }
    assert_eq!(put.status, 200, "{}", put.text());
    let answer = shopper.submit(shopper.view().await["Version"].as_i64().unwrap(), &stashed).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let heard = [answer.text(), put.text(), shopper.view_text().await, shopper.progress().await.to_string()];
    for secret in SECRETS {
        assert!(heard.iter().all(|heard| !heard.contains(secret)), "{secret} in {heard:?}");
    }
    (session, answer.json())
}

/// Without what differs from one attempt to the next.
fn heard(mut answer: Value) -> Value {
    if answer["Attempt"].is_object() {
        answer["Attempt"]["AttemptId"] = json!(null);
    }
    answer
}

async fn attempt_of(world: &World, session: &str) -> Value {
    world.merchant.session(session).await["Attempts"][0].clone()
}

fn reasons(screening: &Value) -> Vec<String> {
    let listed = screening["Reasons"].as_array().unwrap_or_else(|| panic!("{screening}"));
    listed.iter().map(|one| one["Code"].as_str().unwrap().to_owned()).collect()
}

/// Pays with a card whose shopper has to authenticate, and presses a button on the bank's page; the Progress then.
async fn authenticate(world: &World, session: &str, choice: &str) -> Value {
    let progress = world.pay(session, cards::VISA).await;
    assert_eq!((&progress["State"], &progress["Challenge"]), (&json!("REDIRECTED"), &json!(true)), "{progress}");
    let page = progress["RedirectUrl"].as_str().unwrap();
    let back = world.press(page, choice, None).await;
    let end = world.come_back(&back).await;
    let shopper = world.shopper(session);
    let heard = [end, shopper.view_text().await, shopper.progress().await.to_string(), progress.to_string()];
    for secret in SECRETS {
        assert!(heard.iter().all(|heard| !heard.contains(secret)), "{secret} in {heard:?}");
    }
    shopper.progress().await
}

crate::both! {
    /// The tester learns nothing any more, and a shopper beside them pays.
    async fn three_hundred_cards_from_one_browser_end_at_the_limits(world: &World) {
        screen(world, "").await;
        let (_, declined) = test_card(world, TESTED[0]).await;
        assert_eq!((&declined["State"], &declined["Attempt"]["ErrorCode"]), (&json!("CREATED"), &json!("PAYMENT_DECLINED")));
        let mut last = String::new();
        for number in 1..TRIES {
            let (session, answer) = test_card(world, TESTED[number % TESTED.len()]).await;
            if number == 2 {
                assert_eq!(answer["State"], "COMPLETED", "{answer}");
                world.receiver.expect(&session, &PAID).await;
            } else {
                assert_eq!(heard(answer), heard(declined.clone()), "try {number}");
            }
            last = session;
        }
        let asked = world.journal().await;
        assert_eq!(asked.orders().len(), WITHIN_LIMITS, "Orders that the processor was asked about");
        // The merchant sees why.
        let attempt = attempt_of(world, &last).await;
        assert_eq!((&attempt["Outcome"], &attempt["Code"]), (&json!("FAILED"), &json!("PAYMENT_DECLINED")), "{attempt}");
        assert_eq!(attempt["Screening"]["Decision"], "BLOCK", "{attempt}");
        assert!(reasons(&attempt["Screening"]).contains(&"DEVICE_CARDS_HOUR".to_owned()), "{attempt}");
        // Another browser at the same address.
        let session = world.merchant.create_session(of_shopper(world, "ben@home.example")).await;
        let paid = world.pay(&session, cards::MASTERCARD).await;
        assert_eq!(paid["State"], "COMPLETED", "{paid}");
        world.receiver.expect(&session, &PAID).await;
        let order = world.merchant.order_of(&session).await;
        assert_eq!(order["Screening"]["Decision"], "ALLOW", "{order}");
    }

    /// Asked to authenticate, and held with AutoCapture until a person has decided.
    async fn a_review_is_approved_or_declined_by_a_person(world: &World) {
        screen(world, "[rules]\nLOOK = 'BILLING_COUNTRY in DE then REVIEW'").await;
        for decision in ["approve", "decline"] {
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            let progress = authenticate(world, &session, "succeed").await;
            assert_eq!(progress["State"], "COMPLETED", "{progress}");
            let told = world.receiver.expect(&session, &AUTHORIZED).await;
            assert_eq!(told[1].body["Order"]["UnderReview"], true);
            let order = world.merchant.order_of(&session).await;
            assert_eq!((&order["State"], &order["UnderReview"]), (&json!("PAYMENT_AUTHORIZED"), &json!(true)));
            assert_eq!(order["Screening"]["Decision"], "REVIEW", "{order}");
            assert!(reasons(&order["Screening"]).contains(&"RULE_LOOK".to_owned()), "{order}");
            let id = order["OrderId"].as_str().unwrap();
            let shown = world.programs.run_dropin(&["order", "show", id]);
            assert!(shown.contains("REVIEW") && shown.contains("RULE_LOOK"), "{shown}");
            world.programs.run_dropin(&["order", "review", id, decision, "--as", "ada"]);
            if decision == "approve" {
                let events = [&AUTHORIZED[..], &["ORDER_REVIEW_APPROVED", "ORDER_PROCESSED"]].concat();
                world.receiver.expect(&session, &events).await;
            } else {
                world.receiver.expect(&session, &[&AUTHORIZED[..], &["ORDER_DECLINED"]].concat()).await;
            }
        }
        // What people decided says how good the rule is.
        let report = world.programs.run_dropin(&["risk", "report", world.merchant.id.as_str(), "--json"]);
        let report: Value = serde_json::from_str(&report).unwrap();
        let reasons = report["Reasons"].as_array().unwrap();
        let look = reasons.iter().find(|one| one["Code"] == "RULE_LOOK").unwrap_or_else(|| panic!("{report}"));
        let expected = json!({"Code": "RULE_LOOK", "Fraud": 1, "Legitimate": 1, "PrecisionPercent": 50, "RecallPercent": 100});
        assert_eq!((&report["Fraud"], &report["Legitimate"], look), (&json!(1), &json!(1), &expected));
    }

    /// Passed it pays and nobody has to look; failed it is an attempt that may be tried again.
    async fn a_challenge_is_passed_or_failed(world: &World) {
        screen(world, "[rules]\nASK = 'BILLING_COUNTRY in DE then CHALLENGE'").await;
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let failed = authenticate(world, &session, "fail").await;
        assert_eq!((&failed["State"], &failed["Attempt"]["ErrorCode"]), (&json!("CREATED"), &json!("AUTHENTICATION_FAILED")));
        let passed = authenticate(world, &session, "succeed").await;
        assert_eq!(passed["State"], "COMPLETED", "{passed}");
        world.receiver.expect(&session, &PAID).await;
        let attempts = world.merchant.session(&session).await["Attempts"].clone();
        let seen: Vec<_> = attempts.as_array().unwrap().iter().map(|one| (one["Code"].as_str(), one["Screening"]["Decision"].as_str())).collect();
        assert_eq!(seen, [(Some("AUTHENTICATION_FAILED"), Some("CHALLENGE")), (None, Some("CHALLENGE"))]);
        let order = world.merchant.order_of(&session).await;
        assert_eq!((&order["State"], &order["UnderReview"]), (&json!("PROCESSED"), &json!(false)));
    }

    /// One issuer takes the exemption; another refuses it, and the shopper authenticates in the same attempt. A law that does not reach a card asks nothing of it.
    async fn an_exemption_is_taken_or_leads_to_the_challenge(world: &World) {
        screen(world, "[exemptions]\nLOW_VALUE = '30.00 EUR'\nONE_LEG_OUT = 'ON'").await;
        let small = json!({"AutoCapture": true, "Currency": "EUR", "Items": [{"Name": "Pencil", "Amount": 9.9, "Quantity": 1}]});
        let taken = world.paid(cards::CHALLENGED, small.clone()).await;
        world.receiver.expect(&taken.session, &PAID).await;
        let order = world.merchant.order_of(&taken.session).await;
        assert_eq!((&order["State"], &order["Screening"]["Exemption"]), (&json!("PROCESSED"), &json!("LOW_VALUE")), "{order}");
        let shown = world.programs.run_dropin(&["order", "show", order["OrderId"].as_str().unwrap()]);
        assert!(shown.contains("asked for the exemption LOW_VALUE"), "{shown}");
        // That a card is of abroad, its first payment tells.
        for expected in ["LOW_VALUE", "ONE_LEG_OUT"] {
            let paid = world.paid(cards::AUSTRALIAN, small.clone()).await;
            world.receiver.expect(&paid.session, &PAID).await;
            assert_eq!(paid.order["Screening"]["Exemption"], expected, "{}", paid.order);
        }
        let session = world.merchant.create_session(small).await;
        let progress = world.pay(&session, cards::ASKS_ALWAYS).await;
        assert_eq!((&progress["State"], &progress["Challenge"]), (&json!("REDIRECTED"), &json!(true)), "{progress}");
        let back = world.press(progress["RedirectUrl"].as_str().unwrap(), "succeed", None).await;
        world.come_back(&back).await;
        assert_eq!(world.shopper(&session).progress().await["State"], "COMPLETED");
        world.receiver.expect(&session, &PAID).await;
        let attempts = world.merchant.session(&session).await["Attempts"].clone();
        let seen: Vec<_> = attempts.as_array().unwrap().iter().map(|one| one["Screening"]["Exemption"].as_str()).collect();
        assert_eq!(seen, [Some("LOW_VALUE")], "{attempts}");
    }

    /// The issuer approves in spite of a wrong code: the payment was allowed, and is held.
    async fn what_the_issuer_says_is_looked_at(world: &World) {
        screen(world, "[weights]\nISSUER_CODE_DIFFERS = 75").await;
        let paid = world.paid(cards::WRONG_CODE, json!({"AutoCapture": true})).await;
        assert_eq!((&paid.order["State"], &paid.order["UnderReview"]), (&json!("PAYMENT_AUTHORIZED"), &json!(true)), "{}", paid.order);
        assert_eq!(paid.order["Screening"]["Decision"], "REVIEW", "{}", paid.order);
        world.receiver.expect(&paid.session, &AUTHORIZED).await;
        world.programs.run_dropin(&["order", "review", paid.order["OrderId"].as_str().unwrap(), "approve", "--as", "ada"]);
        world.receiver.expect(&paid.session, &[&AUTHORIZED[..], &["ORDER_REVIEW_APPROVED", "ORDER_PROCESSED"]].concat()).await;
        world.journal_has(&paid.session, &CHARGED).await;
    }
}
