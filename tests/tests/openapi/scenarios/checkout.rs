//! What a merchant's server pays by itself.

use actix_web::http::Method;
use dropin_tests::cards;
use serde_json::{Value, json};

use super::{ScenarioRun, UNKNOWN, text, with};
use crate::record::{Call, JSON};

impl ScenarioRun<'_> {
    /// A call to {checkout_url}; `what` follows its version.
    pub(super) async fn pays(
        &mut self,
        (operation, name, summary): (&'static str, &'static str, &'static str),
        what: &str,
        body: Value,
        status: u16,
    ) -> Value {
        let authorization = self.authorization.clone();
        let headers = vec![("authorization", authorization.as_str()), JSON];
        let url = format!("{}/v2.21{what}", self.world.checkout);
        let call = Call { operation, name, summary, method: Method::POST, url, headers, body: Some(body) };
        self.recorder.make(call, status).await
    }

    pub(super) fn cart(&self, reference: &str, change: Value) -> Value {
        let cart = json!({
            "MerchantId": self.world.merchant.id, "ReferenceId": reference, "ConsumerCurrency": "EUR", "DeviceFingerprint": "b7c41f",
            "Items": [{"Description": "Notebook", "ConsumerPrice": 12.5, "Quantity": 2, "Sku": "NB-A5"}],
            "Consumer": {
                "Name": "Robin Example", "Email": "robin@example.com", "Address": "7 Harbour Lane", "City": "Dublin", "Country": "IE",
            },
            "Return": "https://shop.example/back",
        });
        with(cart, change)
    }

    /// A card that was stashed by the browser that all examples have.
    pub(super) async fn carded(&self, reference: &str, card: &str, capture: bool) -> Value {
        let stashed = self.world.stash(&self.world.merchant, card).await;
        let means = json!({
            "PaymentMethod": "VISA", "StashId": stashed.stash_id, "DeviceFingerprint": stashed.fingerprint, "Capture": capture,
        });
        self.cart(reference, means)
    }

    pub(super) async fn a_server_pays(&mut self) {
        let card = self.carded("order-4001", cards::VISA, true).await;
        let paid = ("checkout", "captured", "A stashed card, captured at once");
        let paid = self.pays(paid, "", card.clone(), 200).await;
        let again = self.carded("order-4001", cards::VISA, true).await;
        let duplicate = ("checkout", "duplicateReference", "The ReferenceId was used before");
        self.pays(duplicate, "", again, 409).await;
        let declined = self.carded("order-4002", cards::DECLINED, true).await;
        self.pays(("checkout", "declined", "Refused by the card's bank"), "", declined, 402).await;
        for (reference, method, name, summary) in [
            ("order-4003", "PAYPAL", "redirect", "Send the shopper to Action.Redirect"),
            ("order-4004", "BANKTRANSFER", "transfer", "Show the shopper where to transfer the money to"),
        ] {
            let cart = self.cart(reference, json!({"PaymentMethod": method, "Capture": true}));
            self.pays(("checkout", name, summary), "", cart, 200).await;
        }
        let later = self.cart("order-4006", json!({"PaymentMethod": "BANKTRANSFER"}));
        self.pays(
            ("checkout", "cannotWait", "The method takes the money at once, and Capture is false"),
            "",
            later,
            400,
        )
        .await;
        let wrong = self.cart("order-4005", json!({"PaymentMethod": "IDEAL", "StashId": "cart-7", "Return": null}));
        self.pays(("checkout", "fieldErrors", "A method that is not for Ireland"), "", wrong, 400).await;
        let query = |member: &str, value: &str| with(self.named(UNKNOWN), json!({"OrderId": null, member: value}));
        let (by_reference, by_nothing) = (query("ReferenceId", "order-4001"), query("ReferenceId", "order-4099"));
        self.pays(("queryCheckout", "byReference", "By its ReferenceId"), "/query", by_reference, 200).await;
        self.pays(("queryCheckout", "unknown", "No such payment"), "/query", by_nothing, 404).await;
        self.a_server_asks_for_more(&text(&paid, "OrderId")).await;
    }

    fn named(&self, order: &str) -> Value {
        json!({"MerchantId": self.world.merchant.id, "OrderId": order})
    }

    async fn a_server_asks_for_more(&mut self, paid: &str) {
        let refund = with(self.named(paid), json!({"RefundReference": "return-1", "Amount": 12.5}));
        self.pays(("refundCheckout", "part", "A part of it"), "/refund", refund.clone(), 201).await;
        self.pays(("refundCheckout", "again", "The same RefundReference"), "/refund", refund, 200).await;
        let too_much = with(self.named(paid), json!({"RefundReference": "return-2", "Amount": 25}));
        self.pays(("refundCheckout", "tooMuch", "More than is left"), "/refund", too_much, 409).await;
        let late = ("cancelCheckout", "tooLate", "It is captured: refund it instead");
        self.pays(late, "/cancel", self.named(paid), 409).await;
        for (reference, what, operation, name) in [
            ("order-4006", "/capture", "captureCheckout", "captured"),
            ("order-4007", "/cancel", "cancelCheckout", "cancelled"),
        ] {
            let cart = self.carded(reference, cards::VISA, false).await;
            let authorized = self.world.merchant.post_checkout("", None, &cart).await.json();
            let order = self.named(&text(&authorized, "OrderId"));
            self.pays((operation, name, "Of an Order that is authorized"), what, order, 200).await;
        }
        let stranger = json!({"MerchantId": UNKNOWN, "OrderId": paid});
        let other = ("captureCheckout", "otherMerchant", "The MerchantId is not the caller's");
        self.pays(other, "/capture", stranger, 404).await;
    }
}
