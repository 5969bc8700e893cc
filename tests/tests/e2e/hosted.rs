//! Payments that need the shopper elsewhere: 3-D Secure, wallets, banks and pay later (docs/SPECIFICATION.md#hosted-pages). The pages are the sandbox
//! processor's, used as a browser would, without one.

use std::time::Duration;

use dropin_tests::{World, cards, thousandths_of, until};
use serde_json::{Value, json};

use crate::{AUTHORIZED, CHARGED, PAID};

const ON_PAGE: (&str, &str, &str) = ("AUTHORIZE", "PENDING", "29.90");

/// A review lasts until a test ends it.
const PATIENT: &[(&str, &str)] = &[("SANDBOX_PROCESSOR_REVIEW_MS", "600000")];

/// A shopper who was sent away.
struct Away {
    session: String,
    page: String,
    challenge: bool,
}

fn away(session: &str, progress: &Value) -> Away {
    assert_eq!(progress["State"], "REDIRECTED", "{progress}");
    let page = progress["RedirectUrl"].as_str().unwrap_or_else(|| panic!("{progress}")).to_owned();
    Away { session: session.to_owned(), page, challenge: progress["Challenge"] == true }
}

async fn challenged(world: &World, change: Value) -> Away {
    let session = world.merchant.create_session(change).await;
    let progress = world.pay(&session, cards::CHALLENGED).await;
    let away = away(&session, &progress);
    assert!(away.challenge, "{progress}");
    away
}

async fn sent_to(world: &World, method: &str, change: Value) -> Away {
    let session = world.merchant.create_session(change).await;
    let progress = world.pay_by(&session, method).await;
    let away = away(&session, &progress);
    assert!(!away.challenge, "{progress}");
    away
}

impl Away {
    /// The shopper presses a button and comes back; where the way ends, and the Progress then.
    async fn presses(&self, world: &World, choice: &str) -> (String, Value) {
        let back = world.press(&self.page, choice, None).await;
        assert!(back.starts_with(&format!("{}/v1/return/", world.asset)), "{back}");
        (world.come_back(&back).await, world.shopper(&self.session).progress().await)
    }

    /// It succeeded: the way ends at CompleteUrl.
    async fn succeeds(&self, world: &World, choice: &str) {
        let (end, progress) = self.presses(world, choice).await;
        assert_eq!(end, format!("https://shop.example/paid?session={}", self.session));
        assert_eq!(progress["State"], "COMPLETED", "{progress}");
    }

    /// It failed: the way ends at CancelUrl, where the drop-in says why and another attempt may be made; nothing is told.
    async fn fails(&self, world: &World, choice: &str, code: &str) {
        let (end, progress) = self.presses(world, choice).await;
        assert_eq!(end, "https://shop.example/cart");
        assert_eq!(
            (&progress["State"], &progress["Attempt"]["ErrorCode"]),
            (&json!("CREATED"), &json!(code)),
            "{progress}"
        );
        assert_eq!(world.shopper(&self.session).view().await["Attempt"], progress["Attempt"]);
        let shown = world.merchant.session(&self.session).await;
        assert_eq!((&shown["State"], shown.get("Order")), (&json!("CREATED"), None));
        assert_eq!(shown["Attempts"][0]["Outcome"], "FAILED");
        assert_eq!(world.receiver.acknowledged(&self.session).len(), 0);
    }

    async fn order(&self, world: &World) -> Value {
        world.merchant.order_of(&self.session).await
    }
}

crate::both! { with super::PATIENT;
    /// 4000…3220, succeed: REDIRECTED and back, then as any other card.
    async fn a_challenge_succeeds(world: &World) {
        let away = challenged(world, json!({"AutoCapture": true})).await;
        let shown = world.merchant.session(&away.session).await;
        assert_eq!((&shown["State"], &shown["RedirectUrl"]), (&json!("REDIRECTED"), &json!(away.page)));
        for answer in [world.merchant.cancel(&away.session).await, world.merchant.replace(&away.session, json!({})).await] {
            assert_eq!((answer.status, answer.code().as_str()), (409, "INVALID_SESSION_STATE"), "{}", answer.text());
        }
        assert_eq!(world.receiver.acknowledged(&away.session).len(), 0, "nobody is told of a way that may lead nowhere");
        away.succeeds(world, "succeed").await;
        world.receiver.expect(&away.session, &PAID).await;
        world.journal_has(&away.session, &[ON_PAGE, CHARGED[0], CHARGED[1]]).await;
        assert_eq!(world.merchant.session(&away.session).await.get("RedirectUrl"), None);
    }

    /// The same with a capture by the merchant.
    async fn a_challenged_card_is_captured_later(world: &World) {
        let away = challenged(world, json!({"AutoCapture": false})).await;
        away.succeeds(world, "succeed").await;
        world.receiver.expect(&away.session, &AUTHORIZED).await;
        let captured = world.merchant.capture(&away.order(world).await, None).await;
        assert_eq!(captured.json()["Reason"]["Code"], "Captured", "{}", captured.text());
        world.receiver.expect(&away.session, &PAID).await;
    }

    /// 4000…3220, fail and cancel.
    async fn a_challenge_fails_or_is_cancelled(world: &World) {
        for (choice, code) in [("fail", "AUTHENTICATION_FAILED"), ("cancel", "PAGE_CANCELLED")] {
            challenged(world, json!({"AutoCapture": true})).await.fails(world, choice, code).await;
        }
        let failed = [ON_PAGE, ("AUTHORIZE", "DECLINED", "29.90")];
        let unpaid = world.merchant.create_session(json!({})).await;
        world.journal_has(&unpaid, &[failed, failed].concat()).await;
    }

    /// In the drop-in's dialog: the way back ends on a page that says so, and the waiting drop-in is told at once.
    async fn a_framed_challenge_tells_the_drop_in(world: &World) {
        let away = challenged(world, json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&away.session);
        let (progress, framed) = futures_util::future::join(shopper.progress_from("REDIRECTED", 20), async {
            let back = world.press(&away.page, "succeed", None).await;
            world.open(&back, "iframe").await
        })
        .await;
        assert_eq!(framed.status, 200, "{}", framed.text());
        assert!(framed.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{framed:?}");
        assert!(!framed.text().contains("shop.example"), "the shop is not drawn inside the dialog: {}", framed.text());
        assert!(progress["State"] == "PROCESSING" || progress["State"] == "COMPLETED", "{progress}");
        assert_eq!(shopper.rest().await["State"], "COMPLETED");
        world.receiver.expect(&away.session, &PAID).await;
    }

    /// Whoever decides and never comes back has decided all the same.
    async fn a_shopper_need_not_come_back(world: &World) {
        let away = challenged(world, json!({"AutoCapture": true})).await;
        world.press(&away.page, "succeed", None).await;
        world.receiver.expect(&away.session, &PAID).await;
        world.journal_has(&away.session, &[ON_PAGE, CHARGED[0], CHARGED[1]]).await;
    }

    /// The way back decides nothing by itself, however often it is used.
    async fn coming_back_without_deciding_changes_nothing(world: &World) {
        let away = challenged(world, json!({"AutoCapture": true})).await;
        let other = challenged(world, json!({"AutoCapture": true})).await;
        let back = world.press(&other.page, "succeed", None).await;
        assert_eq!(world.come_back(&back).await, world.come_back(&back).await, "used again, it leads to the same place");
        assert_eq!(world.shopper(&away.session).progress().await["State"], "REDIRECTED");
        let nowhere = world.open(&format!("{}/v1/return/{}", world.asset, uuid::Uuid::new_v4()), "document").await;
        assert_eq!(nowhere.status, 404, "{}", nowhere.text());
        world.receiver.expect(&other.session, &PAID).await;
        away.succeeds(world, "succeed").await;
        world.receiver.expect(&away.session, &PAID).await;
    }

    /// PAYPAL: authorized on its page, then captured.
    async fn a_wallet_pays_or_cancels(world: &World) {
        let away = sent_to(world, "PAYPAL", json!({"AutoCapture": true})).await;
        away.succeeds(world, "pay").await;
        world.receiver.expect(&away.session, &PAID).await;
        world.journal_has(&away.session, &[ON_PAGE, CHARGED[0], CHARGED[1]]).await;
        assert_eq!(away.order(world).await["PaymentMethod"], "PAYPAL");
        sent_to(world, "PAYPAL", json!({"AutoCapture": true})).await.fails(world, "cancel", "PAGE_CANCELLED").await;
    }

    /// IDEAL: paid on its page, so it is authorized and captured at once.
    async fn a_bank_pays_at_once_or_cancels(world: &World) {
        let away = sent_to(world, "IDEAL", world.merchant.dutch()).await;
        away.succeeds(world, "pay").await;
        world.receiver.expect(&away.session, &PAID).await;
        world.journal_has(&away.session, &[ON_PAGE, CHARGED[0]]).await;
        let text = world.merchant.order_text(&away.order(world).await).await;
        assert_eq!((thousandths_of(&text, "AuthorizedAmount"), thousandths_of(&text, "CapturedAmount")), (29_900, 29_900));
        let refund = world.merchant.refund(&away.order(world).await, "r", None).await;
        assert_eq!(refund.json()["State"], "SUCCEEDED", "{}", refund.text());
        sent_to(world, "IDEAL", world.merchant.dutch()).await.fails(world, "cancel", "PAGE_CANCELLED").await;
        world.receiver.expect(&away.session, &[&PAID[..], &["REFUND_SUCCEEDED"]].concat()).await;
    }

    /// PAYLATER, approved at once; captured in part, once.
    async fn a_lender_approves_or_the_shopper_cancels(world: &World) {
        let away = sent_to(world, "PAYLATER", json!({"AutoCapture": false})).await;
        away.succeeds(world, "approve").await;
        world.receiver.expect(&away.session, &AUTHORIZED).await;
        let order = away.order(world).await;
        assert_eq!((&order["State"], &order["PaymentMethod"]), (&json!("PAYMENT_AUTHORIZED"), &json!("PAYLATER")));
        let part = world.merchant.capture(&order, Some("20.00")).await;
        assert_eq!(part.json()["Reason"]["Code"], "Captured", "{}", part.text());
        world.receiver.expect(&away.session, &PAID).await;
        world.journal_has(&away.session, &[ON_PAGE, CHARGED[0], ("CAPTURE", "APPROVED", "20.00")]).await;
        sent_to(world, "PAYLATER", json!({"AutoCapture": true})).await.fails(world, "cancel", "PAGE_CANCELLED").await;
    }

    /// PAYLATER under the provider's review: the shopper is done, captures wait, and the approval completes it.
    async fn a_lender_approves_after_a_review(world: &World) {
        for (auto_capture, part) in [(true, None), (false, Some("20.00"))] {
            let away = sent_to(world, "PAYLATER", json!({"AutoCapture": auto_capture})).await;
            away.succeeds(world, "review").await;
            world.receiver.expect(&away.session, &["SESSION_COMPLETED", "ORDER_COMMIT_ACCEPTED"]).await;
            let order = away.order(world).await;
            assert_eq!(order["State"], "COMMIT_ACCEPTED");
            let capture = world.merchant.capture(&order, part).await;
            assert_eq!((capture.status, &capture.json()["Reason"]["Code"]), (200, &json!("UnderReview")), "{}", capture.text());
            let id = order["OrderId"].as_str().unwrap();
            world.provider_decides(id, "approve").await;
            let told = ["SESSION_COMPLETED", "ORDER_COMMIT_ACCEPTED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"];
            world.receiver.expect(&away.session, &told).await;
            let taken = part.unwrap_or("29.90");
            world.journal_has(&away.session, &[ON_PAGE, ON_PAGE, CHARGED[0], ("CAPTURE", "APPROVED", taken)]).await;
        }
    }

    /// PAYLATER under the provider's review, AutoCapture false: the approval takes no money by itself.
    async fn a_lender_approves_what_nobody_captures(world: &World) {
        let away = sent_to(world, "PAYLATER", json!({"AutoCapture": false})).await;
        away.succeeds(world, "review").await;
        let order = away.order(world).await;
        world.provider_decides(order["OrderId"].as_str().unwrap(), "approve").await;
        let told = ["SESSION_COMPLETED", "ORDER_COMMIT_ACCEPTED", "ORDER_AUTHORIZED"];
        world.receiver.expect(&away.session, &told).await;
        let order = world.merchant.order(&order).await;
        assert_eq!((&order["State"], &order["CapturedAmount"]), (&json!("PAYMENT_AUTHORIZED"), &json!(0.0)), "{order}");
        world.journal_has(&away.session, &[ON_PAGE, ON_PAGE, CHARGED[0]]).await;
    }

    /// PAYLATER, declined by the provider, or stopped by the merchant while it is reviewed.
    async fn a_lender_declines_or_the_merchant_cancels(world: &World) {
        for (declines, event, state) in [(true, "ORDER_PROCESSING_FAILED", "PROCESSING_FAILED"), (false, "ORDER_CANCELLED", "CANCELLED")] {
            let away = sent_to(world, "PAYLATER", json!({"AutoCapture": true})).await;
            away.succeeds(world, "review").await;
            let order = away.order(world).await;
            if declines {
                world.provider_decides(order["OrderId"].as_str().unwrap(), "decline").await;
            } else {
                let cancelled = world.merchant.cancel_order(&order).await;
                assert_eq!((cancelled.status, cancelled.json()["State"].as_str()), (200, Some("CANCELLED")), "{}", cancelled.text());
            }
            world.receiver.expect(&away.session, &["SESSION_COMPLETED", "ORDER_COMMIT_ACCEPTED", event]).await;
            assert_eq!(world.merchant.order(&order).await["State"], state);
            let capture = world.merchant.capture(&order, None).await;
            assert_eq!((capture.status, capture.code().as_str()), (409, "INVALID_ORDER_STATE"), "{}", capture.text());
        }
    }

    /// A method that is not offered is not taken, and nothing is begun.
    async fn a_method_that_is_not_offered_is_refused(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        for method in ["IDEAL", "CASH", "VISA"] {
            let refused = world.shopper(&session).submit_method(method).await;
            assert_eq!((refused.status, refused.code().as_str()), (400, "INVALID_REQUEST"), "{method}: {}", refused.text());
        }
        assert_eq!(world.merchant.session(&session).await["State"], "CREATED");
        world.journal_has(&session, &[]).await;
    }

    /// The shopper leaves the wallet's page and pays with a card: the page cannot be paid any more.
    async fn a_shopper_pays_another_way(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        let (attempt, submitted) = shopper.submit_method_as("PAYPAL").await;
        let page = away(&session, &submitted.json()).page;
        let unknown = shopper.pay_another_way(&uuid::Uuid::new_v4().to_string()).await;
        assert_eq!((unknown.status, &unknown.json()["State"]), (200, &json!("REDIRECTED")), "no attempt of that id");
        for _ in 0..2 {
            let left = shopper.pay_another_way(&attempt).await;
            assert_eq!((left.status, &left.json()["State"]), (200, &json!("CREATED")), "{}", left.text());
            let failed = &left.json()["Attempt"];
            assert_eq!((&failed["ErrorCode"], &failed["AttemptsLeft"]), (&json!("PAGE_CANCELLED"), &json!(4)));
        }
        let shown = world.open(&page, "document").await;
        assert!(shown.text().contains("cannot be paid any more"), "{}", shown.text());
        let paid = world.pay(&session, cards::VISA).await;
        assert_eq!(paid["State"], "COMPLETED", "{paid}");
        world.receiver.expect(&session, &PAID).await;
        let attempts = world.merchant.session(&session).await["Attempts"].clone();
        assert_eq!((&attempts[0]["Code"], &attempts[1]["Outcome"]), (&json!("OTHER_WAY_CHOSEN"), &json!("COMPLETED")));
        world.journal_has(&session, &CHARGED).await;
    }

    /// Paid on the page, and "pay another way" pressed before the shopper came back: what was paid wins.
    async fn what_was_paid_meanwhile_wins(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        let (attempt, submitted) = shopper.submit_method_as("PAYPAL").await;
        let page = away(&session, &submitted.json()).page;
        world.press(&page, "pay", None).await;
        let left = shopper.pay_another_way(&attempt).await;
        assert_eq!((left.status, &left.json()["State"]), (200, &json!("COMPLETED")), "{}", left.text());
        world.receiver.expect(&session, &PAID).await;
        world.journal_has(&session, &[ON_PAGE, CHARGED[0], CHARGED[1]]).await;
    }

    /// Many presses of Pay and of "pay another way" at once: one of both, and never both.
    async fn paying_and_leaving_at_once_is_one_of_both(world: &World) {
        let mut ends = std::collections::BTreeSet::new();
        for _ in 0..6 {
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            let shopper = world.shopper(&session);
            let (attempt, submitted) = shopper.submit_method_as("PAYPAL").await;
            let page = away(&session, &submitted.json()).page;
            let form = world.form_of(&page).await;
            let leave = futures_util::future::join_all((0..8).map(|_| shopper.pay_another_way(&attempt)));
            futures_util::future::join(world.send_form(&page, &form, "pay", None), leave).await;
            let progress = shopper.progress_from("REDIRECTED", 20).await;
            let state = progress["State"].as_str().unwrap().to_owned();
            if state == "COMPLETED" {
                world.receiver.expect(&session, &PAID).await;
                world.journal_has(&session, &[ON_PAGE, CHARGED[0], CHARGED[1]]).await;
            } else {
                assert_eq!((state.as_str(), &progress["Attempt"]["AttemptsLeft"]), ("CREATED", &json!(4)), "{progress}");
                let paid = world.pay(&session, cards::VISA).await;
                assert_eq!(paid["State"], "COMPLETED", "{paid}");
            }
            ends.insert(state);
        }
        assert!(!ends.is_empty());
    }
}

/// The processor gives up soon.
const IMPATIENT: &[(&str, &str)] = &[
    ("SANDBOX_PROCESSOR_CHALLENGE_MS", "1500"),
    ("SANDBOX_PROCESSOR_PAGE_MS", "1500"),
    ("SANDBOX_PROCESSOR_TRANSFER_MS", "1500"),
    ("SANDBOX_PROCESSOR_PAY_MARGIN_MS", "0"),
];

mod abandoned {
    use super::*;

    async fn is_told(world: &World, session: &str) {
        let progress = world.shopper(session).progress_from("REDIRECTED", 25).await;
        assert_eq!(
            (&progress["State"], &progress["Attempt"]["ErrorCode"]),
            (&json!("CREATED"), &json!("PAGE_EXPIRED")),
            "{progress}"
        );
    }

    crate::both! { with super::super::IMPATIENT;
        /// Nobody came back from the challenge or the page in time, and a press after that does not help.
        async fn what_nobody_comes_back_from_fails(world: &World) {
            let all = [
                challenged(world, json!({"AutoCapture": true})).await,
                sent_to(world, "PAYPAL", json!({"AutoCapture": true})).await,
                sent_to(world, "PAYLATER", json!({"AutoCapture": true})).await,
                sent_to(world, "IDEAL", world.merchant.dutch()).await,
            ];
            for away in &all {
                is_told(world, &away.session).await;
                let closed = world.open(&away.page, "document").await;
                assert!(!closed.text().contains("<form"), "{}", closed.text());
            }
        }

        /// A transfer that never arrives.
        async fn a_transfer_that_never_arrives_is_cancelled(world: &World) {
            let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
            assert_eq!(world.pay_by(&session, "BANKTRANSFER").await["State"], "COMPLETED");
            world.receiver.expect(&session, &["SESSION_COMPLETED", "ORDER_PROCESSING", "ORDER_CANCELLED"]).await;
            let end = until("its end", Duration::from_secs(10), async || {
                let order = world.merchant.order_of(&session).await;
                (order["State"] != "PROCESSING").then_some(order["State"].clone())
            })
            .await;
            assert_eq!(end, "CANCELLED");
        }
    }
}
