//! Real shoppers in headless Chromium, on a merchant's page of another origin under a strict policy.

use dropin_tests::{browser, cards};
use serde_json::{Value, json};

use crate::{CHARGED, PAID};

fn heard(seen: &Value) -> &Value {
    assert_eq!(seen["problems"], json!([]), "the console of the page is quiet");
    &seen["heard"]
}

crate::both! {
    /// The main job.
    async fn a_shopper_pays(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let seen = browser::run("pay", &world.page_for(&session, cards::VISA)).await;
        assert_eq!(heard(&seen), &json!([["success"]]), "{seen}");
        assert!(seen["label"].as_str().is_some_and(|label| label.contains("29.90")), "{seen}");
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    }

    /// onFailure, once, with a code.
    async fn a_shopper_is_declined(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let seen = browser::run("pay", &world.page_for(&session, cards::DECLINED)).await;
        let ends = heard(&seen).as_array().unwrap();
        assert_eq!((ends.len(), &ends[0][0], &ends[0][1]), (1, &json!("failure"), &json!("PAYMENT_DECLINED")), "{seen}");
        world.receiver.expect(&session, &["SESSION_FAILED"]).await;
    }

    /// Ten clicks and ten submitPayment() are one payment and one onSuccess.
    async fn ten_clicks_pay_once(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let seen = browser::run("clicks", &world.page_for(&session, cards::VISA)).await;
        assert_eq!(heard(&seen), &json!([["success"]]), "{seen}");
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    }

    /// Two browsers on one Session: one payment, and both learn how it ended.
    async fn two_tabs_pay_once(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let seen = browser::run("tabs", &world.page_for(&session, cards::VISA)).await;
        for tab in seen.as_array().unwrap() {
            assert_eq!(tab["heard"], json!([["success"]]), "{seen}");
        }
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    }

    /// A reload in the middle finds the payment that was begun.
    async fn a_reload_in_the_middle_pays_once(world: &World) {
        world.faults(json!({"Mode": "slow", "DelayMs": 1500, "Remaining": 1, "Kinds": ["AUTHORIZE"]})).await;
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let mut input = world.page_for(&session, cards::VISA);
        input["progress"] = json!(format!("{}/v1/shopper/session/{session}/progress", world.asset));
        let seen = browser::run("reload", &input).await;
        assert_eq!(heard(&seen), &json!([["success"]]), "{seen}");
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    }

    /// A Session replaced after it was shown is shown again before it is paid.
    async fn a_changed_total_is_shown_before_it_is_paid(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let body = world.merchant.session_request(json!({"AutoCapture": true, "Items": [{"Name": "Dearer", "Amount": 99, "Quantity": 1}]}));
        let mut input = world.page_for(&session, cards::VISA);
        input["put"] = json!({"url": format!("{}/v1/session/{session}", world.base), "authorization": world.merchant.authorization(), "body": body});
        input["newAmount"] = json!("99.00");
        let seen = browser::run("changed", &input).await;
        assert!(seen["before"].as_str().is_some_and(|label| label.contains("29.90")), "{seen}");
        assert_eq!(seen["between"]["heard"], json!([]), "nothing was charged or reported in between: {seen}");
        assert_eq!(seen["heard"], json!([["success"]]), "{seen}");
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &[("AUTHORIZE", "APPROVED", "99.00"), ("CAPTURE", "APPROVED", "99.00")]).await;
    }

    /// 3-D Secure in the dialog: the bank's page inside a page of ours, and on with the payment when it has decided.
    async fn a_shopper_confirms_in_the_dialog(world: &World) {
        for (press, end, events) in [("Succeed", json!("success"), &PAID[..]), ("Fail", json!("failure"), &["SESSION_FAILED"])] {
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            let mut input = world.page_for(&session, cards::CHALLENGED);
            input["press"] = json!(press);
            let seen = browser::run("challenge", &input).await;
            let ends = heard(&seen).as_array().unwrap();
            assert_eq!((ends.len(), &ends[0][0]), (1, &end), "{seen}");
            world.receiver.expect(&session, events).await;
        }
    }

    /// Every page that takes the place of the shop's, and back to CompleteUrl or CancelUrl.
    async fn shoppers_pay_on_pages_elsewhere(world: &World) {
        let failed: &[&str] = &["SESSION_FAILED"];
        let reviewed = ["SESSION_COMPLETED", "ORDER_COMMIT_ACCEPTED", "ORDER_PROCESSED"];
        let ways = [
            ("PAYPAL", "Pay", "paid?session=", &PAID[..]),
            ("PAYPAL", "Cancel and go back", "cart", failed),
            ("IDEAL", "Pay", "paid?session=", &["SESSION_COMPLETED", "ORDER_PROCESSED"]),
            ("IDEAL", "Cancel and go back", "cart", failed),
            ("PAYLATER", "Approve", "paid?session=", &PAID[..]),
            ("PAYLATER", "Let the lender review it", "paid?session=", &reviewed),
            ("PAYLATER", "Cancel and go back", "cart", failed),
        ];
        let (mut sessions, mut shoppers) = (Vec::new(), Vec::new());
        for (method, press, ..) in ways {
            let session = world.merchant.create_session(world.merchant.dutch()).await;
            let mut shopper = world.page_for(&session, "");
            shopper["method"] = json!(method);
            shopper["press"] = json!(press);
            shoppers.push(shopper);
            sessions.push(session);
        }
        let seen = browser::run("away", &json!({"shoppers": shoppers})).await;
        for (index, (method, press, end, events)) in ways.into_iter().enumerate() {
            let (seen, session) = (&seen[index], &sessions[index]);
            assert_eq!(seen["problems"], json!([]), "{method} {press}: {seen}");
            let expected = format!("https://shop.example/{end}");
            assert!(seen["end"].as_str().is_some_and(|url| url.starts_with(&expected)), "{method} {press}: {seen}");
            world.receiver.expect(session, events).await;
            let state = if events == failed { "FAILED" } else { "COMPLETED" };
            assert_eq!(world.merchant.session(session).await["State"], state, "{method} {press}");
        }
    }

    /// A bank transfer: the details are on the page, and the shopper is done.
    async fn a_shopper_is_told_where_to_transfer(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let seen = browser::run("transfer", &world.page_for(&session, "")).await;
        assert_eq!(heard(&seen), &json!([["success"]]), "{seen}");
        let iban = world.merchant.session(&session).await["Order"]["BankDetails"]["Iban"].as_str().unwrap().to_owned();
        let shown = seen["details"].as_str().unwrap().replace(char::is_whitespace, "");
        assert!(shown.contains(&iban), "{iban} in {seen}");
        world.receiver.expect(&session, &["SESSION_COMPLETED", "ORDER_PROCESSING"]).await;
    }

    /// The shopper's browser dies while the processor works: settled all the same.
    async fn a_browser_that_dies_after_sending_has_paid(world: &World) {
        world.faults(json!({"Mode": "slow", "DelayMs": 5000, "Remaining": 1, "Kinds": ["AUTHORIZE"]})).await;
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let mut input = world.page_for(&session, cards::VISA);
        input["progress"] = json!(format!("{}/v1/shopper/session/{session}/progress", world.asset));
        browser::run("gone", &input).await;
        assert_eq!(world.merchant.session(&session).await["State"], "PROCESSING", "the browser died in the middle");
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &CHARGED).await;
    }
}
