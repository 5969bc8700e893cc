//! Payments from server to server (docs/SPECIFICATION.md#checkout): the same money, without a Session.

use dropin_tests::{Merchant, Response, World, cards, until};
use serde_json::{Value, json};

use crate::{CHARGED, PAID, is_refused};

/// What a checkout with Capture that is paid sends: it has no Session.
const CHECKOUT_EVENTS: [&str; 2] = [PAID[1], PAID[2]];
/// A review lasts until a test ends it.
const PATIENT: &[(&str, &str)] = &[("SANDBOX_PROCESSOR_REVIEW_MS", "600000")];

/// A request with a stashed card.
async fn with_card(world: &World, number: &str, change: Value) -> Value {
    let stashed = world.stash(&world.merchant, number).await;
    let card = json!({"PaymentMethod": "VISA", "StashId": stashed.stash_id, "DeviceFingerprint": stashed.fingerprint});
    let mut request = world.merchant.checkout_request(card);
    request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    request
}

fn with_method(world: &World, method: &str, change: Value) -> Value {
    let mut request = world.merchant.checkout_request(json!({ "PaymentMethod": method }));
    request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    request
}

/// Authorized, Captured and Completed of an answer with that status 200.
#[track_caller]
fn flags(answer: &Response) -> (bool, bool, bool) {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    let flag = |name: &str| body[name].as_bool().unwrap_or_else(|| panic!("{name} in {body}"));
    (flag("Authorized"), flag("Captured"), flag("Completed"))
}

fn order_of(answer: &Response) -> String {
    answer.json()["OrderId"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
}

/// Asks for something about an Order through the checkout.
async fn ask(merchant: &Merchant, what: &str, order: &str, change: Value) -> Response {
    let mut body = json!({"MerchantId": merchant.id, "OrderId": order});
    body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    merchant.post_checkout(what, None, &body).await
}

/// Everything that the processor did for an Order.
async fn journal_has(world: &World, order: &str, expected: &[(&str, &str, &str)]) {
    let journal = world.journal().await;
    let found: Vec<_> =
        journal.of_order(order).map(|entry| (entry.kind.as_str(), entry.outcome.as_str(), entry.amount())).collect();
    assert_eq!(found, expected);
}

crate::both! { with super::PATIENT;
    /// Class Card with Capture: authorized and captured, and told without a Session.
    async fn a_card_is_charged(world: &World) {
        let request = with_card(world, cards::VISA, json!({"Capture": true})).await;
        let answer = world.merchant.post_checkout("", None, &request).await;
        assert_eq!(flags(&answer), (true, true, true), "{}", answer.text());
        let body = answer.json();
        assert_eq!((&body["UnderReview"], body.get("Action")), (&json!(false), None), "{body}");
        let order = order_of(&answer);
        let told = world.receiver.expect(&order, &CHECKOUT_EVENTS).await;
        for one in &told {
            assert_eq!((one.body["Order"].get("SessionId"), &one.body["Order"]["MerchantReference"]), (None, &request["ReferenceId"]));
        }
        journal_has(world, &order, &CHARGED).await;
        let shown = world.merchant.order(&json!({ "OrderId": order })).await;
        assert_eq!((&shown["State"], shown.get("SessionId"), &shown["MerchantReference"]), (&json!("PROCESSED"), None, &request["ReferenceId"]));
    }

    /// Capture false, then /capture, /refund and /query; another, then /cancel.
    async fn a_card_is_authorized_and_then_captured_or_cancelled(world: &World) {
        let merchant = &world.merchant;
        let paid = merchant.post_checkout("", None, &with_card(world, cards::VISA, json!({"Capture": false})).await).await;
        assert_eq!(flags(&paid), (true, false, true), "{}", paid.text());
        assert!(paid.json()["Expiry"].is_string(), "the end of the time to capture it: {}", paid.text());
        let order = order_of(&paid);
        world.receiver.expect(&order, &CHECKOUT_EVENTS[..1]).await;
        for _ in 0..2 {
            let captured = ask(merchant, "/capture", &order, json!({"Amount": 20})).await;
            assert_eq!((captured.status, captured.json()), (200, json!({"OrderId": order, "Completed": true, "UnderReview": false})));
        }
        is_refused(&ask(merchant, "/capture", &order, json!({"Amount": 21})).await, 409, "INVALID_ORDER_STATE");
        is_refused(&ask(merchant, "/cancel", &order, json!({})).await, 409, "INVALID_ORDER_STATE");
        let refund = ask(merchant, "/refund", &order, json!({"RefundReference": "r", "Amount": 5})).await;
        assert_eq!((refund.status, refund.json()["State"].as_str()), (201, Some("SUCCEEDED")), "{}", refund.text());
        world.receiver.expect(&order, &[CHECKOUT_EVENTS[0], CHECKOUT_EVENTS[1], "REFUND_SUCCEEDED"]).await;
        journal_has(world, &order, &[CHARGED[0], ("CAPTURE", "APPROVED", "20.00"), ("REFUND", "APPROVED", "5.00")]).await;

        let paid = merchant.post_checkout("", None, &with_card(world, cards::VISA, json!({"Capture": false})).await).await;
        let order = order_of(&paid);
        let cancelled = ask(merchant, "/cancel", &order, json!({})).await;
        assert_eq!((cancelled.status, cancelled.json()), (200, json!({"OrderId": order, "Completed": true, "UnderReview": false})));
        world.receiver.expect(&order, &[CHECKOUT_EVENTS[0], "ORDER_CANCELLED"]).await;
        let query = ask(merchant, "/query", &order, json!({})).await;
        assert!(!flags(&query).1, "{}", query.text());
    }

    /// Refusals are 402 with the Order that was refused; nothing is charged.
    async fn a_declined_card_is_402_with_its_order(world: &World) {
        for card in [cards::DECLINED, cards::NO_FUNDS] {
            let answer = world.merchant.post_checkout("", None, &with_card(world, card, json!({})).await).await;
            is_refused(&answer, 402, "PAYMENT_DECLINED");
            let order = order_of(&answer);
            journal_has(world, &order, &[("AUTHORIZE", "DECLINED", "29.90")]).await;
            world.receiver.expect(&order, &["ORDER_PROCESSING_FAILED"]).await;
            assert_eq!(world.merchant.order(&json!({ "OrderId": order })).await["State"], "PROCESSING_FAILED");
        }
    }

    /// What cannot be begun, and why; nothing is charged.
    async fn wrong_checkouts_are_refused(world: &World) {
        let (merchant, stranger) = (&world.merchant, world.another_merchant().await);
        let good = with_card(world, cards::VISA, json!({})).await;
        let with = |name: &str, value: Value| {
            let mut request = good.clone();
            request[name] = value;
            request
        };
        is_refused(&merchant.post_checkout("", None, &with("MerchantId", json!(stranger.id))).await, 404, "MERCHANT_NOT_FOUND");
        for (name, value, code) in [
            ("StashId", json!("never-stashed"), "NOT_FOUND"),
            ("DeviceFingerprint", json!("another browser"), "NOT_FOUND"),
            ("PaymentMethod", json!("CASH"), "VALUE_NOT_ALLOWED"),
            ("Items", json!([]), "VALUE_OUT_OF_RANGE"),
            ("Return", Value::Null, "FIELD_MISSING"),
            ("ReferenceId", Value::Null, "FIELD_MISSING"),
            ("ConsumerCurrency", json!("XXX"), "VALUE_NOT_ALLOWED"),
        ] {
            let refused = merchant.post_checkout("", None, &with(name, value)).await;
            is_refused(&refused, 400, "INVALID_REQUEST");
            let field = if name == "DeviceFingerprint" { "StashId" } else { name };
            assert_eq!(refused.json()["FieldErrors"][0]["Field"], field, "{}", refused.text());
            assert_eq!(refused.json()["FieldErrors"][0]["Code"], code, "{}", refused.text());
        }
        let taken = merchant.session_request(json!({}));
        merchant.post_session(taken.to_string().into_bytes()).await;
        is_refused(&merchant.post_checkout("", None, &with("ReferenceId", taken["MerchantReference"].clone())).await, 409, "DUPLICATE_MERCHANT_REFERENCE_ID");
        // The card is still there: nothing of that used it up.
        let paid = merchant.post_checkout("", None, &good).await;
        assert_eq!(flags(&paid), (true, true, true));
        let used = merchant.post_checkout("", None, &with("ReferenceId", json!("another"))).await;
        assert_eq!((used.status, used.json()["FieldErrors"][0]["Code"].as_str()), (400, Some("NOT_FOUND")), "{}", used.text());
        is_refused(&merchant.post_checkout("", None, &with_card(world, cards::VISA, json!({"ReferenceId": good["ReferenceId"]})).await).await, 409, "DUPLICATE_MERCHANT_REFERENCE_ID");
        for what in ["/capture", "/cancel", "/query"] {
            is_refused(&ask(&stranger, what, &order_of(&paid), json!({})).await, 404, "ORDER_NOT_FOUND");
        }
        world.receiver.expect(&order_of(&paid), &CHECKOUT_EVENTS).await;
    }

    /// Online methods: the shopper is sent away and comes back to Return with OrderId and State.
    async fn a_wallet_is_paid_on_its_page(world: &World) {
        for (choice, state, events) in [("pay", "PROCESSED", &CHECKOUT_EVENTS[..]), ("cancel", "PROCESSING_FAILED", &["ORDER_PROCESSING_FAILED"])] {
            let answer = world.merchant.post_checkout("", None, &with_method(world, "PAYPAL", json!({}))).await;
            assert_eq!(flags(&answer), (false, false, false));
            let order = order_of(&answer);
            let page = answer.json()["Action"]["Redirect"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned();
            let end = world.come_back(&world.press(&page, choice, None).await).await;
            let (address, query) = end.split_once("?cart=1&").unwrap_or_else(|| panic!("{end}"));
            assert_eq!(address, "https://shop.example/back");
            assert!(query.contains(&format!("OrderId={order}")) && query.contains("State=PROCESS") | query.contains("State=PAYMENT_AUTHORIZED"), "{end}");
            world.receiver.expect(&order, events).await;
            assert_eq!(world.merchant.order(&json!({ "OrderId": order })).await["State"], state);
        }
    }

    /// A card whose bank asks for 3-D Secure.
    async fn a_challenged_card_is_paid_after_its_page(world: &World) {
        let answer = world.merchant.post_checkout("", None, &with_card(world, cards::CHALLENGED, json!({})).await).await;
        assert_eq!(flags(&answer), (false, false, false));
        let order = order_of(&answer);
        let page = answer.json()["Action"]["Redirect"].as_str().unwrap().to_owned();
        world.come_back(&world.press(&page, "succeed", None).await).await;
        world.receiver.expect(&order, &CHECKOUT_EVENTS).await;
        let query = ask(&world.merchant, "/query", &order, json!({})).await;
        assert_eq!(flags(&query), (true, true, true), "{}", query.text());
    }

    /// Pay later under review: captures wait, and the answer says so.
    async fn a_lender_reviews_a_checkout(world: &World) {
        let answer = world.merchant.post_checkout("", None, &with_method(world, "PAYLATER", json!({"Capture": false}))).await;
        let order = order_of(&answer);
        let page = answer.json()["Action"]["Redirect"].as_str().unwrap().to_owned();
        world.come_back(&world.press(&page, "review", None).await).await;
        world.receiver.expect(&order, &["ORDER_COMMIT_ACCEPTED"]).await;
        let capture = ask(&world.merchant, "/capture", &order, json!({})).await;
        assert_eq!((capture.status, capture.json()), (200, json!({"OrderId": order, "Completed": false, "UnderReview": true})));
        world.provider_decides(&order, "approve").await;
        world.receiver.expect(&order, &["ORDER_COMMIT_ACCEPTED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"]).await;
    }

    /// A method that takes the money at once is not taken with Capture false, which is the default; nor does the drop-in offer it.
    async fn a_method_that_cannot_wait_is_refused_without_capture(world: &World) {
        for (method, capture) in [("BANKTRANSFER", json!(null)), ("BANKTRANSFER", json!(false)), ("IDEAL", json!(false))] {
            let change = json!({"Capture": capture, "Return": "https://shop.example/back"});
            let refused = world.merchant.post_checkout("", None, &with_method(world, method, change)).await;
            is_refused(&refused, 400, "INVALID_REQUEST");
            let error = &refused.json()["FieldErrors"][0];
            assert_eq!((&error["Field"], &error["Code"]), (&json!("PaymentMethod"), &json!("VALUE_NOT_ALLOWED")), "{error}");
        }
        for (auto_capture, offered) in [(true, true), (false, false)] {
            let mut terms = world.merchant.dutch();
            terms["AutoCapture"] = json!(auto_capture);
            let view = world.shopper(&world.merchant.create_session(terms).await).view().await;
            let text = view["PaymentMethods"].to_string();
            assert_eq!((text.contains("IDEAL"), text.contains("BANKTRANSFER")), (offered, offered), "{text}");
            assert!(text.contains("PAYPAL"), "{text}");
        }
    }

    /// A bank transfer waits for its money.
    async fn a_transfer_is_awaited_and_arrives(world: &World) {
        let answer = world.merchant.post_checkout("", None, &with_method(world, "BANKTRANSFER", json!({"Capture": true}))).await;
        assert_eq!(flags(&answer), (false, false, false));
        let order = order_of(&answer);
        let told = answer.json();
        assert!(told.get("BankDetails").is_none() && told["Expiry"].is_string(), "{told}");
        let page = world.open(told["Action"]["Redirect"].as_str().unwrap(), "document").await;
        assert_eq!(page.status, 200);
        assert!(page.text().contains("SBXX") && page.text().contains("IBAN"), "{}", page.text());
        world.receiver.expect(&order, &["ORDER_PROCESSING"]).await;
        world.transfer_arrives(&order, None).await;
        world.receiver.expect(&order, &["ORDER_PROCESSING", "ORDER_PROCESSED"]).await;
        let query = ask(&world.merchant, "/query", &order, json!({})).await;
        assert_eq!(flags(&query), (true, true, true), "{}", query.text());
    }

    /// 4000…9235: held for review, captured when it is approved.
    async fn a_checkout_is_held_for_review(world: &World) {
        let answer = world.merchant.post_checkout("", None, &with_card(world, cards::UNDER_REVIEW, json!({})).await).await;
        assert_eq!((flags(&answer), &answer.json()["UnderReview"]), ((true, false, false), &json!(true)), "{}", answer.text());
        let order = order_of(&answer);
        world.receiver.expect(&order, &CHECKOUT_EVENTS[..1]).await;
        world.programs.run_dropin(&["order", "review", &order, "approve", "--as", "ada"]);
        world.receiver.expect(&order, &[CHECKOUT_EVENTS[0], "ORDER_REVIEW_APPROVED", CHECKOUT_EVENTS[1]]).await;
    }

    /// 4000…0119 and 4000…3014: unknown outcomes answer 200 with nothing promised, and are settled.
    async fn an_unknown_checkout_is_settled(world: &World) {
        for (card, events) in [(cards::DONE_BUT_500, &CHECKOUT_EVENTS[..]), (cards::SILENT, &["ORDER_PROCESSING_FAILED"])] {
            let answer = world.merchant.post_checkout("", None, &with_card(world, card, json!({})).await).await;
            assert_eq!(flags(&answer), (false, false, false), "{}", answer.text());
            world.receiver.expect(&order_of(&answer), events).await;
        }
    }

    /// The same key is the same payment, whatever became of it.
    async fn a_checkout_may_be_sent_twice(world: &World) {
        for card in [cards::VISA, cards::DECLINED] {
            let request = with_card(world, card, json!({})).await;
            let first = world.merchant.post_checkout("", Some(card), &request).await;
            let again = world.merchant.post_checkout("", Some(card), &request).await;
            assert_eq!((again.status, again.text(), again.header("idempotent-replayed")), (first.status, first.text(), Some("true")));
            let mut other = request.clone();
            other["Capture"] = json!(false);
            is_refused(&world.merchant.post_checkout("", Some(card), &other).await, 422, "IDEMPOTENCY_KEY_REUSED");
            let reference = json!({"MerchantId": world.merchant.id, "ReferenceId": request["ReferenceId"]});
            let query = world.merchant.post_checkout("/query", None, &reference).await;
            assert_eq!((query.status, order_of(&query)), (200, order_of(&first)), "{}", query.text());
        }
        let orders = until("both", std::time::Duration::from_secs(10), async || {
            let journal = world.journal().await;
            (journal.orders().len() == 2).then_some(journal.orders().len())
        });
        assert_eq!(orders.await, 2);
    }
}
