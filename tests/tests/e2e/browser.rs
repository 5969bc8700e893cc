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

    /// A declined card is told at the form, where another one is paid in the same Session, on a desk and on a phone.
    async fn a_declined_shopper_pays_in_the_same_form(world: &World) {
        for (width, height) in [(1280, 900), (360, 740)] {
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            let mut input = world.page_for(&session, cards::DECLINED);
            input["next"] = json!(cards::VISA);
            input["viewport"] = json!({"width": width, "height": height});
            let seen = browser::run("again", &input).await;
            assert_eq!(heard(&seen), &json!([["success"]]), "{seen}");
            let between = &seen["between"];
            assert_eq!(between["heard"], json!([]), "neither callback: {seen}");
            assert_eq!(between["typed"], json!(["4000 0000 0000 0002", "12 / 31", "", "Ada Lovelace"]), "{seen}");
            assert!(between["notice"].as_str().is_some_and(|text| text.contains("declined")), "{seen}");
            assert_eq!(between["notice"], between["said"], "it is announced: {seen}");
            assert!(between["methods"].as_u64() > Some(1), "the other methods are one click away: {seen}");
            let order = world.merchant.session(&session).await["Order"]["OrderId"].clone();
            assert_eq!((&seen["paid"]["orderId"], &seen["paid"]["method"]), (&order, &json!("VISA")), "{seen}");
            world.receiver.expect(&session, &PAID).await;
        }
    }

    /// On the narrowest of phones no language needs more room than there is: not one with long words, nor one with marks above and below its
    /// letters, which are made for this and shown to nobody who does not ask for them by name.
    async fn no_language_is_cut_off_on_a_small_phone(world: &World) {
        let mut shoppers = Vec::new();
        for locale in ["en_GB", "de_DE", "ar_EG", "en_XA", "en_XC"] {
            let session = world.merchant.create_session(world.merchant.dutch()).await;
            let mut shopper = world.page_for(&session, cards::DECLINED);
            shopper["locale"] = json!(locale);
            shoppers.push(shopper);
        }
        let seen = browser::run("narrow", &json!({"shoppers": shoppers})).await;
        let spoken = ["en-GB ltr", "de-DE ltr", "ar-EG rtl", "en-XA ltr", "en-XC ltr"];
        for (one, spoken) in seen.as_array().unwrap().iter().zip(spoken) {
            assert_eq!((&one["misfits"], &one["problems"]), (&json!({}), &json!([])), "{one}");
            assert_eq!(one["spoken"], spoken, "{one}");
        }
        assert_eq!(seen.as_array().map(Vec::len), Some(5), "{seen}");
    }

    /// Out of every page that shoppers are sent to, and out of the bank's dialog: they come back, choose to pay another way, and pay by card.
    async fn shoppers_pay_another_way(world: &World) {
        let (mut sessions, mut shoppers) = (Vec::new(), Vec::new());
        for method in ["PAYPAL", "IDEAL", "PAYLATER", "CARD"] {
            let session = world.merchant.create_session(world.merchant.dutch()).await;
            let mut shopper = world.page_for(&session, if method == "CARD" { cards::CHALLENGED } else { "" });
            shopper["method"] = json!(method);
            shopper["next"] = json!(cards::VISA);
            shoppers.push(shopper);
            sessions.push((method, session));
        }
        let seen = browser::run("another", &json!({"shoppers": shoppers, "viewport": {"width": 1280, "height": 900}})).await;
        for (index, (method, session)) in sessions.iter().enumerate() {
            assert_eq!(heard(&seen[index]), &json!([["success"]]), "{method}: {seen}");
            assert!(seen[index]["methods"].as_u64() > Some(3), "{method}: {seen}");
            assert_eq!(seen[index]["paid"]["method"], "VISA", "{method}: {seen}");
            world.receiver.expect(session, &PAID).await;
        }
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
        let paid = json!([["success"]]);
        for (press, ends, state) in [("Succeed", &paid, "COMPLETED"), ("Fail", &json!([]), "CREATED")] {
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            let mut input = world.page_for(&session, cards::CHALLENGED);
            input["press"] = json!(press);
            let seen = browser::run("challenge", &input).await;
            assert_eq!(heard(&seen), ends, "{press}: {seen}");
            assert_eq!(world.merchant.session(&session).await["State"], state, "{press}");
            if state == "COMPLETED" {
                world.receiver.expect(&session, &PAID).await;
            } else {
                assert!(seen["notice"].as_str().is_some_and(|text| text.contains("Your bank")), "at the form: {seen}");
                world.receiver.expect(&session, &[]).await;
            }
        }
    }

    /// Every page that takes the place of the shop's, and back to CompleteUrl or CancelUrl.
    async fn shoppers_pay_on_pages_elsewhere(world: &World) {
        // Nobody is told of an attempt that another may follow.
        let failed: &[&str] = &[];
        let reviewed = ["SESSION_COMPLETED", "ORDER_COMMIT_ACCEPTED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"];
        let ways = [
            ("PAYPAL", "Pay", "paid?session=", &PAID[..]),
            ("PAYPAL", "Cancel and go back", "cart", failed),
            ("IDEAL", "Pay", "paid?session=", &PAID[..]),
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
            let state = if events == failed { "CREATED" } else { "COMPLETED" };
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
        let order = world.merchant.session(&session).await["Order"]["OrderId"].clone();
        assert_eq!(seen["paid"], json!({"state": "PROCESSING", "orderId": order, "method": "BANKTRANSFER"}), "{seen}");
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
