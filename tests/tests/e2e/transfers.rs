//! Bank transfers: the Session is over when the shopper knows where to send the money, the Order waits for it
//! (docs/SPECIFICATION.md#session-transitions, docs/SPECIFICATION.md#sandbox-methods).

use std::collections::BTreeSet;
use std::time::Duration;

use dropin_tests::{World, thousandths_of, until};
use futures_util::future::join;
use serde_json::{Value, json};

use crate::head_start;

const AWAITED: [&str; 2] = ["SESSION_COMPLETED", "ORDER_PROCESSING"];
const WAITS: (&str, &str, &str) = ("AUTHORIZE", "PENDING", "29.90");

struct Awaited {
    session: String,
    order: Value,
    id: String,
}

async fn awaited(world: &World) -> Awaited {
    let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
    let progress = world.pay_by(&session, "BANKTRANSFER").await;
    assert_eq!(progress["State"], "COMPLETED", "{progress}");
    assert!(progress["BankDetails"]["Iban"].is_string(), "the shopper is told where to: {progress}");
    let order = world.merchant.order_of(&session).await;
    assert_eq!((&order["State"], &order["PaymentMethod"]), (&json!("PROCESSING"), &json!("BANKTRANSFER")));
    let told = world.receiver.expect(&session, &AWAITED).await;
    assert!(told.iter().all(|one| !one.body.to_string().contains("Iban")), "bank details never leave Session answers");
    Awaited { id: order["OrderId"].as_str().unwrap().to_owned(), session, order }
}

fn then(events: &[&'static str]) -> Vec<&'static str> {
    [&AWAITED[..], events].concat()
}

crate::both! {
    /// All of it at once.
    async fn a_transfer_arrives(world: &World) {
        let one = awaited(world).await;
        let shown = world.merchant.session(&one.session).await;
        let details = &shown["Order"]["BankDetails"];
        for name in ["AccountHolder", "BankName", "Iban", "PaymentReference", "SwiftCode"] {
            assert!(details[name].is_string(), "{name} in {shown}");
        }
        let (number, written) = (&shown["MerchantReference"], &details["PaymentReference"]);
        assert!(number.as_str().unwrap().starts_with(written.as_str().unwrap()), "{written} for {number}");
        assert_eq!(world.shopper(&one.session).progress().await["BankDetails"], *details);
        world.transfer_arrives(&one.id, None).await;
        world.receiver.expect(&one.session, &then(&["ORDER_PROCESSED"])).await;
        world.journal_has(&one.session, &[WAITS, ("AUTHORIZE", "APPROVED", "29.90")]).await;
        let text = world.merchant.order_text(&one.order).await;
        assert_eq!((thousandths_of(&text, "AuthorizedAmount"), thousandths_of(&text, "CapturedAmount")), (29_900, 29_900));
        let again = world.merchant.capture(&one.order, None).await;
        assert_eq!(again.json()["Reason"]["Code"], "Captured", "{}", again.text());
        let refund = world.merchant.refund(&one.order, "r", Some("9.90")).await;
        assert_eq!((refund.status, refund.json()["State"].as_str()), (201, Some("SUCCEEDED")), "{}", refund.text());
        world.receiver.expect(&one.session, &then(&["ORDER_PROCESSED", "REFUND_SUCCEEDED"])).await;
    }

    /// In parts: PROCESSED when the last has come, and told once.
    async fn a_transfer_arrives_in_parts(world: &World) {
        let one = awaited(world).await;
        for part in ["10.00", "19.89"] {
            world.transfer_arrives(&one.id, Some(part)).await;
            let capture = world.merchant.capture(&one.order, None).await;
            assert_eq!((capture.status, capture.code().as_str()), (409, "INVALID_ORDER_STATE"), "{}", capture.text());
        }
        world.transfer_arrives(&one.id, Some("0.01")).await;
        world.receiver.expect(&one.session, &then(&["ORDER_PROCESSED"])).await;
        world.journal_has(&one.session, &[WAITS, WAITS, WAITS, ("AUTHORIZE", "APPROVED", "29.90")]).await;
    }

    /// The merchant stops waiting; what arrives later is the bank's to send back.
    async fn a_waiting_transfer_is_cancelled(world: &World) {
        let one = awaited(world).await;
        world.transfer_arrives(&one.id, Some("10.00")).await;
        let page = world.authorization_of(&one.id).await["SandboxPage"].as_str().unwrap().to_owned();
        for _ in 0..2 {
            let cancelled = world.merchant.cancel_order(&one.order).await;
            assert_eq!((cancelled.status, cancelled.json()["State"].as_str()), (200, Some("CANCELLED")), "{}", cancelled.text());
        }
        world.receiver.expect(&one.session, &then(&["ORDER_CANCELLED"])).await;
        let closed = world.open(&page, "document").await;
        assert!(closed.text().contains("The shop has stopped this payment"), "{}", closed.text());
        let refund = world.merchant.refund(&one.order, "r", None).await;
        assert_eq!((refund.status, refund.code().as_str()), (409, "INVALID_ORDER_STATE"), "{}", refund.text());
        assert_eq!(world.merchant.session(&one.session).await["State"], "COMPLETED", "the shopper was done");
    }

    /// A cancel and the transfer's last part at once: one of them stands, and the other is told so.
    async fn a_cancel_and_a_transfer_at_once_end_one_way(world: &World) {
        let mut ends = BTreeSet::new();
        for round in 0..60 {
            if 6 <= round && ends.len() == 2 {
                break;
            }
            let one = awaited(world).await;
            let page = world.authorization_of(&one.id).await["SandboxPage"].as_str().unwrap().to_owned();
            let form = world.form_of(&page).await;
            let cancels = async {
                head_start(round, 0).await;
                world.merchant.cancel_order(&one.order).await
            };
            let arrives = async {
                head_start(round, 1).await;
                world.send_form(&page, &form, "arrived", None).await
            };
            let (cancelled, _) = join(cancels, arrives).await;
            let end = until("an end", Duration::from_secs(30), async || {
                let state = world.merchant.order(&one.order).await["State"].as_str().unwrap().to_owned();
                (state != "PROCESSING").then_some(state)
            })
            .await;
            let (event, answer) = match end.as_str() {
                "PROCESSED" => ("ORDER_PROCESSED", 409),
                _ => ("ORDER_CANCELLED", 200),
            };
            world.receiver.expect(&one.session, &then(&[event])).await;
            assert_eq!(cancelled.status, answer, "{end}: {}", cancelled.text());
            ends.insert(end);
        }
        assert_eq!(ends.into_iter().collect::<Vec<_>>(), ["CANCELLED", "PROCESSED"]);
    }
}
