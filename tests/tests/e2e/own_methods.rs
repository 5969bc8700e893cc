//! Payment methods that the deployment's file adds (docs/OPERATIONS.md#payment-methods): listed, paid on a hosted page, captured and refunded by the
//! rules that the file gives them.

use dropin_tests::World;
use serde_json::{Value, json};

use crate::PAID;

const FILE: &[(&str, &str)] = &[
    ("DROPIN_CATALOGUE", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/own_methods.toml")),
    ("PROCESSOR_METHODS", "VISA,TIKKIE,KIOSK"),
];

/// A Session of 29.90 EUR for a customer in the Netherlands.
fn in_euros(world: &World, change: Value) -> Value {
    let mut request = change;
    let mut billing = world.merchant.session_request(json!({}))["BillingProfile"].clone();
    billing["Address"] = json!({"Street": "Voorbeeld 1", "City": "Ergens", "Country": "NL", "Postcode": "1011"});
    (request["Currency"], request["BillingProfile"]) = (json!("EUR"), billing);
    request
}

/// The shopper chooses the method, pays on its page and comes back.
async fn paid(world: &World, method: &str, auto_capture: bool) -> String {
    let session = world.merchant.create_session(in_euros(world, json!({"AutoCapture": auto_capture}))).await;
    let progress = world.pay_by(&session, method).await;
    assert_eq!(progress["State"], "REDIRECTED", "{progress}");
    let page = progress["RedirectUrl"].as_str().unwrap();
    let shown = world.open(page, "document").await.text();
    assert!(shown.contains("a method of the shop's own") && shown.contains(method), "{shown}");
    let back = world.press(page, "pay", None).await;
    world.come_back(&back).await;
    assert_eq!(world.shopper(&session).progress().await["State"], "COMPLETED");
    session
}

/// Hours from one member of a body to another.
fn hours(order: &Value, from: &str, to: &str) -> f64 {
    let at = |member: &str| order[member].as_str().unwrap().parse::<dropin_kernel::Timestamp>().unwrap().micros();
    (at(to) - at(from)) as f64 / 3_600e6
}

crate::both! { with super::FILE;
    /// In the drop-in and in getPaymentMethods; where the file's rules do not let it be used, nowhere.
    async fn an_own_method_is_listed(world: &World) {
        let url = |country: &str| {
            let query = format!("MerchantId={}&Country={country}&Currency=EUR&Locale=nl_NL", world.merchant.id);
            format!("{}/v2.22/getPaymentMethods?{query}", world.checkout)
        };
        let dutch = world.open(&url("NL"), "empty").await.json();
        let methods = dutch["PaymentMethods"].as_array().unwrap();
        let ids: Vec<_> = methods.iter().map(|one| one["Id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["VISA", "KIOSK", "TIKKIE"], "{dutch}");
        assert_eq!(methods[2]["Name"], "Tikkie betalen", "{dutch}");
        let german = world.open(&url("DE"), "empty").await.text();
        assert!(german.contains("KIOSK") && !german.contains("TIKKIE"), "{german}");
        let session = world.merchant.create_session(in_euros(world, json!({}))).await;
        let view = world.shopper(&session).view().await;
        assert!(view["PaymentMethods"].to_string().contains("TIKKIE"), "{view}");
        let abroad = world.merchant.create_session(json!({})).await;
        assert_eq!(world.shopper(&abroad).submit_method("TIKKIE").await.status, 400, "no euros");
    }

    /// Two days to capture it from its creation, a part of it; then a refund.
    async fn an_own_method_is_paid_captured_in_part_and_refunded(world: &World) {
        let session = paid(world, "TIKKIE", false).await;
        let order = world.merchant.order_of(&session).await;
        assert_eq!((&order["PaymentMethod"], &order["State"]), (&json!("TIKKIE"), &json!("PAYMENT_AUTHORIZED")));
        assert_eq!(hours(&order, "CreatedAt", "ExpiresAt"), 48.0, "{order}");
        let captured = world.merchant.capture(&order, Some("20.00")).await;
        assert_eq!((captured.status, &captured.json()["Reason"]["Code"]), (200, &json!("Captured")), "{}", captured.text());
        let refunded = world.merchant.refund(&order, "first", Some("5.00")).await;
        assert_eq!((refunded.status, &refunded.json()["State"]), (201, &json!("SUCCEEDED")), "{}", refunded.text());
        world.receiver.expect(&session, &[&PAID[..], &["REFUND_SUCCEEDED"]].concat()).await;
        let journal = [
            ("AUTHORIZE", "PENDING", "29.90"),
            ("AUTHORIZE", "APPROVED", "29.90"),
            ("CAPTURE", "APPROVED", "20.00"),
            ("REFUND", "APPROVED", "5.00"),
        ];
        world.journal_has(&session, &journal).await;
    }

    /// Its money is taken when the shopper pays, and nothing of it goes back: the processor is not asked.
    async fn an_own_method_without_refunds_gives_nothing_back(world: &World) {
        let session = paid(world, "KIOSK", true).await;
        world.receiver.expect(&session, &PAID).await;
        let order = world.merchant.order_of(&session).await;
        let refused = world.merchant.refund(&order, "first", None).await;
        let error = &refused.json()["FieldErrors"][0];
        assert_eq!((refused.status, &error["Field"], &error["Code"]), (400, &json!("Amount"), &json!("VALUE_NOT_ALLOWED")));
        let journal = [
            ("AUTHORIZE", "PENDING", "29.90"),
            ("AUTHORIZE", "APPROVED", "29.90"),
            ("CAPTURE", "APPROVED", "29.90"),
        ];
        world.journal_has(&session, &journal).await;
    }
}
