//! The main job over HTTP: create, pay, capture, be told.

use std::time::Duration;

use dropin_tests::{cards, until};
use serde_json::json;

use crate::PAID;

crate::both! {
    /// docs/SPECIFICATION.md#auto-capture-events: auto capture yields exactly these three, in this order, signed.
    async fn auto_capture_sends_three_notifications_in_order(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let progress = world.pay(&session, cards::VISA).await;
        assert_eq!(progress["State"], "COMPLETED", "{progress}");
        let told = world.receiver.expect(&session, &PAID).await;
        assert_eq!(told.iter().map(|one| one.sequence).collect::<Vec<_>>(), [1, 2, 3]);
        let processed = &told[2].body["Order"];
        assert_eq!(processed["State"], "PROCESSED");
        assert_eq!(processed["SessionId"], session);
        let order = world.merchant.order_of(&session).await;
        assert_eq!(order["State"], "PROCESSED");
        assert_eq!(order["PaymentMethod"], "VISA");
        world.journal_has(&session, &[("AUTHORIZE", "APPROVED", "29.90"), ("CAPTURE", "APPROVED", "29.90")]).await;
    }

    /// docs/SPECIFICATION.md#capture-modes: without AutoCapture the Order waits for the merchant.
    async fn delayed_capture_waits_for_the_merchant(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
        world.pay(&session, cards::MASTERCARD).await;
        world.receiver.expect(&session, &PAID[..2]).await;
        let order = world.merchant.order_of(&session).await;
        assert_eq!(order["State"], "PAYMENT_AUTHORIZED");
        let answer = world.merchant.capture(&order, None).await;
        assert_eq!((answer.status, answer.json()["Reason"]["Code"].as_str()), (200, Some("Captured")), "{}", answer.text());
        assert_eq!(answer.json()["State"], "PROCESSED");
        world.receiver.expect(&session, &PAID).await;
        let again = world.merchant.capture(&order, None).await;
        assert_eq!((again.status, again.json()["Reason"]["Code"].as_str()), (200, Some("Captured")));
        let other = world.merchant.capture(&order, Some("1.00")).await;
        assert_eq!((other.status, other.code().as_str()), (409, "INVALID_ORDER_STATE"));
        world.journal_has(&session, &[("AUTHORIZE", "APPROVED", "29.90"), ("CAPTURE", "APPROVED", "29.90")]).await;
    }

    /// docs/SPECIFICATION.md#partial-capture: cards may be captured in part, once; the rest is released.
    async fn a_part_is_captured_once(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
        world.pay(&session, cards::VISA).await;
        world.receiver.expect(&session, &PAID[..2]).await;
        let order = world.merchant.order_of(&session).await;
        for wrong in ["0", "29.91", "1000000000000", "1.001", "-1"] {
            let answer = world.merchant.capture(&order, Some(wrong)).await;
            assert_eq!((answer.status, answer.json()["FieldErrors"][0]["Field"].as_str()), (400, Some("Amount")), "{wrong}");
        }
        let answer = world.merchant.capture(&order, Some("10.00")).await;
        assert_eq!((answer.status, answer.json()["State"].as_str()), (200, Some("PROCESSED")), "{}", answer.text());
        let shown = world.merchant.order_text(&order).await;
        assert!(shown.contains("\"AuthorizedAmount\":29.90") && shown.contains("\"CapturedAmount\":10.00"), "{shown}");
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &[("AUTHORIZE", "APPROVED", "29.90"), ("CAPTURE", "APPROVED", "10.00")]).await;
    }

    /// docs/SPECIFICATION.md#attempt-events: declined, then paid in the same Session; nothing is told of the attempt that failed.
    async fn a_declined_card_can_be_followed_by_another(world: &World) {
        for (card, code) in [(cards::DECLINED, "PAYMENT_DECLINED"), (cards::NO_FUNDS, "INSUFFICIENT_FUNDS")] {
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            let shopper = world.shopper(&session);
            let declined = world.pay(&session, card).await;
            assert_eq!((declined["State"].as_str(), declined.get("ErrorCode")), (Some("CREATED"), None), "{declined}");
            let failed = &declined["Attempt"];
            assert_eq!((&failed["ErrorCode"], &failed["AttemptsLeft"]), (&json!("PAYMENT_DECLINED"), &json!(4)));
            let view = shopper.view().await;
            assert_eq!((&view["Attempt"], &view["AttemptsLeft"], &view["State"]), (failed, &json!(4), &json!("CREATED")));
            assert!(view["ServerTime"].as_str() < view["ExpiresAt"].as_str(), "{view}");
            // The merchant changes the price in between: the next attempt pays what is shown then.
            let replaced = world.merchant.replace(&session, json!({"AutoCapture": true, "TaxAmount": 1})).await;
            assert_eq!(replaced.status, 200, "{}", replaced.text());
            assert_eq!(shopper.view().await["AttemptsLeft"], 4);
            let paid = world.pay(&session, cards::VISA).await;
            assert_eq!((&paid["State"], &paid["PaymentMethod"], paid.get("Attempt")), (&json!("COMPLETED"), &json!("VISA"), None));
            let told = world.receiver.expect(&session, &PAID).await;
            assert_eq!(told[0].body["Order"]["OrderId"], paid["OrderId"]);
            let shown = world.merchant.session(&session).await;
            let attempts: Vec<_> = shown["Attempts"].as_array().unwrap().iter()
                .map(|one| (one["PaymentMethod"].as_str(), one["Outcome"].as_str(), one["Code"].as_str())).collect();
            assert_eq!(attempts, [(Some("VISA"), Some("FAILED"), Some(code)), (Some("VISA"), Some("COMPLETED"), None)]);
        }
    }

    /// docs/SPECIFICATION.md#attempt-events: the last attempt allowed ends the Session, and SESSION_FAILED alone is told.
    async fn five_declines_fail_the_session_alone(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        for left in (1..5).rev() {
            let progress = world.pay(&session, cards::DECLINED).await;
            assert_eq!((&progress["State"], &progress["Attempt"]["AttemptsLeft"]), (&json!("CREATED"), &json!(left)), "{progress}");
        }
        let progress = world.pay(&session, cards::NO_FUNDS).await;
        assert_eq!((progress["State"].as_str(), progress["ErrorCode"].as_str()), (Some("FAILED"), Some("PAYMENT_DECLINED")));
        world.receiver.expect(&session, &["SESSION_FAILED"]).await;
        let shown = world.merchant.session(&session).await;
        assert_eq!((shown["State"].as_str(), shown.get("Order")), (Some("FAILED"), None));
        let codes: Vec<_> = shown["Attempts"].as_array().unwrap().iter().map(|one| one["Code"].as_str().unwrap()).collect();
        assert_eq!(codes, ["PAYMENT_DECLINED", "PAYMENT_DECLINED", "PAYMENT_DECLINED", "PAYMENT_DECLINED", "INSUFFICIENT_FUNDS"]);
        let refused = world.shopper(&session).submit_method("PAYPAL").await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "INVALID_SESSION_STATE"));
    }

    /// An AttemptId that was used is answered with how that attempt ended, and never starts another.
    async fn a_repeated_attempt_is_answered_with_its_end(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        let first = shopper.stash("first", cards::DECLINED).await;
        assert_eq!(shopper.submit(1, &first).await.json()["Attempt"]["AttemptId"], first.attempt);
        let second = shopper.stash("second", cards::NO_FUNDS).await;
        shopper.submit(shopper.view().await["Version"].as_i64().unwrap(), &second).await;
        let version = shopper.view().await["Version"].as_i64().unwrap();
        for (attempt, version) in [(&first, 1), (&first, version), (&second, version), (&second, 3)] {
            let again = shopper.submit(version, attempt).await;
            assert_eq!((again.status, &again.json()["Attempt"]["AttemptId"]), (200, &json!(attempt.attempt)), "{}", again.text());
        }
        assert_eq!(shopper.view().await["AttemptsLeft"], 3);
        world.pay(&session, cards::VISA).await;
        world.receiver.expect(&session, &PAID).await;
    }

    /// docs/SPECIFICATION.md#test-numbers: this card's capture is pending and completes a few seconds later.
    async fn a_pending_capture_is_announced_later(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
        world.pay(&session, cards::CAPTURE_PENDING).await;
        world.receiver.expect(&session, &PAID[..2]).await;
        let order = world.merchant.order_of(&session).await;
        let answer = world.merchant.capture(&order, None).await;
        assert_eq!((answer.status, answer.json()["Reason"]["Code"].as_str()), (200, Some("PendingNotification")));
        assert_eq!(answer.json()["State"], "PAYMENT_AUTHORIZED");
        let told = world.receiver.expect(&session, &PAID).await;
        assert_eq!(told[2].body["Order"]["State"], "PROCESSED");
        assert_eq!(world.merchant.capture(&order, None).await.json()["Reason"]["Code"], "Captured");
    }

    /// docs/SPECIFICATION.md#test-numbers: this card's capture is refused for good.
    async fn a_refused_capture_fails_the_order(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
        world.pay(&session, cards::CAPTURE_REFUSED).await;
        world.receiver.expect(&session, &PAID[..2]).await;
        let order = world.merchant.order_of(&session).await;
        let answer = world.merchant.capture(&order, None).await;
        assert_eq!((answer.status, answer.code().as_str()), (402, "CAPTURE_FAILED"), "{}", answer.text());
        assert_eq!(answer.json()["Retryable"], false);
        world.receiver.expect(&session, &["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSING_FAILED"]).await;
        assert_eq!(world.merchant.order_of(&session).await["State"], "PROCESSING_FAILED");
    }

    /// A capture that the processor refuses for now: the merchant who waits is told, and may try again.
    async fn a_merchant_hears_of_a_refusal_for_now(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
        world.pay(&session, cards::VISA).await;
        world.receiver.expect(&session, &PAID[..2]).await;
        let order = world.merchant.order_of(&session).await;
        world.faults(json!({"Mode": "refuse", "Remaining": 1, "Kinds": ["CAPTURE"]})).await;
        let refused = world.merchant.capture(&order, None).await;
        assert_eq!((refused.status, refused.code().as_str()), (402, "CAPTURE_FAILED"), "{}", refused.text());
        assert_eq!(refused.json()["Retryable"], true);
        assert_eq!(world.merchant.order_of(&session).await["State"], "PAYMENT_AUTHORIZED");
        let again = world.merchant.capture(&order, None).await;
        assert_eq!((again.status, again.json()["Reason"]["Code"].as_str()), (200, Some("Captured")), "{}", again.text());
        world.receiver.expect(&session, &PAID).await;
    }

    /// The same with AutoCapture: nobody hears of it, so it is tried again until it succeeds.
    async fn an_automatic_capture_refused_for_now_is_tried_again(world: &World) {
        world.faults(json!({"Mode": "refuse", "Remaining": 1, "Kinds": ["CAPTURE"]})).await;
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        world.pay(&session, cards::VISA).await;
        world.receiver.expect(&session, &PAID).await;
        let shown = world.merchant.order_text(&world.merchant.order_of(&session).await).await;
        assert!(shown.contains("\"CapturedAmount\":29.90"), "{shown}");
    }

    /// Ten submits of one attempt at once, and ten of other attempts: one payment.
    async fn any_number_of_submits_is_one_payment(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        let mut tabs = Vec::new();
        for tab in 0..10 {
            tabs.push(shopper.stash(&format!("tab-{tab}"), cards::VISA).await);
        }
        let version = shopper.view().await["Version"].as_i64().unwrap();
        let submits = tabs.iter().flat_map(|tab| [tab, tab]).map(|tab| shopper.submit(version, tab));
        let answers = futures_util::future::join_all(submits).await;
        let won = answers.iter().filter(|answer| answer.status == 200).count();
        assert!((1..=2).contains(&won), "{answers:?}");
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!((lost.status, lost.code().as_str()), (409, "INVALID_SESSION_STATE"), "{}", lost.text());
        }
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &[("AUTHORIZE", "APPROVED", "29.90"), ("CAPTURE", "APPROVED", "29.90")]).await;
    }

    /// docs/SPECIFICATION.md#stash-lifetime: an entry is used once, by the browser that stashed it, and not after it was used.
    async fn a_stash_entry_is_used_once_by_its_own_browser(world: &World) {
        let (first, second) = (
            world.merchant.create_session(json!({"AutoCapture": true})).await,
            world.merchant.create_session(json!({"AutoCapture": true})).await,
        );
        let attempt = world.shopper(&first).stash("one-card", cards::VISA).await;
        let stranger = dropin_tests::world::Stashed { fingerprint: "another browser".to_owned(), ..attempt.clone() };
        let shopper = world.shopper(&second);
        let version = shopper.view().await["Version"].as_i64().unwrap();
        let refused = shopper.submit(version, &stranger).await;
        assert_eq!((refused.status, refused.json()["FieldErrors"][0]["Code"].as_str()), (400, Some("NOT_FOUND")));
        let paid = world.shopper(&first).submit(1, &attempt).await;
        assert_eq!(paid.status, 200, "{}", paid.text());
        let again = shopper.submit(version, &attempt).await;
        assert_eq!((again.status, again.json()["FieldErrors"][0]["Field"].as_str()), (400, Some("StashId")));
        world.journal_has(&second, &[]).await;
    }

    /// The shopper's view has what the drop-in needs, and nothing of billing.
    async fn the_shopper_sees_nothing_of_billing(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let view = world.shopper(&session).view_text().await;
        assert!(view.contains("\"TotalAmount\":29.90") && view.contains("\"Version\":1"), "{view}");
        for hidden in ["Billing", "ana@", "Example Street", "Username", "whsec_"] {
            assert!(!view.contains(hidden), "{hidden} in {view}");
        }
    }

    /// Another merchant's ids answer exactly as ones that do not exist.
    async fn merchants_are_isolated(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
        world.pay(&session, cards::VISA).await;
        world.receiver.expect(&session, &PAID[..2]).await;
        let order = world.merchant.order_of(&session).await;
        let other = world.another_merchant().await;
        let nothing = uuid::Uuid::new_v4().to_string();
        for (method, mine, missing) in [
            ("GET", format!("/v1/session/{session}"), format!("/v1/session/{nothing}")),
            ("DELETE", format!("/v1/session/{session}"), format!("/v1/session/{nothing}")),
            ("GET", format!("/v1/order/{}", order["OrderId"].as_str().unwrap()), format!("/v1/order/{nothing}")),
            ("POST", format!("/v1/order/{}/capture", order["OrderId"].as_str().unwrap()), format!("/v1/order/{nothing}/capture")),
        ] {
            let (found, unknown) = (other.call(method, &mine, None).await, other.call(method, &missing, None).await);
            assert_eq!((found.status, &found.bytes), (unknown.status, &unknown.bytes), "{method} {mine}");
            assert_eq!(found.status, 404);
        }
        assert_eq!(world.merchant.order_of(&session).await["State"], "PAYMENT_AUTHORIZED");
    }

    /// A receiver that refuses is tried again, with the same id and bytes, and in order.
    async fn a_refusing_receiver_is_tried_again_in_order(world: &World) {
        world.receiver.answer_with(503);
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        world.pay(&session, cards::VISA).await;
        until("a second try", Duration::from_secs(40), async || {
            let all = world.receiver.all();
            let first = all.iter().find(|one| one.body["Session"]["SessionId"] == *session)?.clone();
            let tries: Vec<_> = all.into_iter().filter(|one| one.id == first.id).collect();
            (2 <= tries.len()).then(|| assert!(tries.iter().all(|one| one.bytes == first.bytes)))
        })
        .await;
        assert!(world.receiver.all().iter().all(|one| one.event == "SESSION_COMPLETED"), "later events wait");
        world.receiver.answer_with(200);
        world.receiver.expect(&session, &PAID).await;
    }
}
