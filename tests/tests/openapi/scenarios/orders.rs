//! What a merchant asks of its Orders.

use actix_web::http::Method;
use dropin_tests::{cards, until};
use serde_json::json;

use super::{Call, Duration, FILES, ScenarioRun, UNKNOWN, request, text, with};

impl ScenarioRun<'_> {
    pub(super) async fn orders_are_captured(&mut self) {
        let order = self.authorized("order-3001", cards::VISA).await;
        let path = format!("/v1/order/{order}");
        self.merchant(("getOrder", "authorized", "Authorized, not captured yet"), (Method::GET, &path), None, 200)
            .await;
        let nowhere = format!("/v1/order/{UNKNOWN}");
        self.merchant(("getOrder", "unknown", "No such Order"), (Method::GET, &nowhere), None, 404).await;
        let path = format!("{path}/capture");
        let part = ("captureOrder", "part", "A part; the rest is released");
        self.merchant(part, (Method::POST, &path), Some(json!({"Amount": 9.95})), 200).await;
        let other = ("captureOrder", "otherAmount", "It was captured with another amount");
        self.merchant(other, (Method::POST, &path), Some(json!({"Amount": 24.95})), 409).await;
        let order = self.authorized("order-3002", cards::CAPTURE_REFUSED).await;
        let path = format!("/v1/order/{order}/capture");
        self.merchant(("captureOrder", "refused", "Refused by the processor"), (Method::POST, &path), None, 402).await;
        let order = self.authorized("order-3003", cards::CAPTURE_PENDING).await;
        let path = format!("/v1/order/{order}/capture");
        self.merchant(
            ("captureOrder", "pending", "All of it; the processor takes its time"),
            (Method::POST, &path),
            None,
            200,
        )
        .await;
    }

    pub(super) async fn orders_are_cancelled_and_refunded(&mut self) {
        let order = self.authorized("order-3004", cards::VISA).await;
        let path = format!("/v1/order/{order}/cancel");
        let cancelled = ("cancelOrder", "cancelled", "The authorization is voided");
        self.merchant(cancelled, (Method::POST, &path), None, 200).await;
        let order = self.captured("order-3005", cards::VISA).await;
        let path = format!("/v1/order/{order}");
        let late = ("cancelOrder", "tooLate", "It is captured: refund it instead");
        self.merchant(late, (Method::POST, &format!("{path}/cancel")), None, 409).await;
        let refunds = format!("{path}/refund");
        let part =
            Some(json!({"RefundReference": "return-1", "Amount": 9.95, "Description": "One notebook came back"}));
        let made = ("refundOrder", "part", "A part of it");
        let refund = self.merchant(made, (Method::POST, &refunds), part.clone(), 201).await;
        let again = ("refundOrder", "again", "The same RefundReference: the refund that was made before");
        self.merchant(again, (Method::POST, &refunds), part, 200).await;
        let too_much = Some(json!({"RefundReference": "return-2", "Amount": 24.95}));
        let refused = ("refundOrder", "tooMuch", "More than is left");
        self.merchant(refused, (Method::POST, &refunds), too_much, 409).await;
        let rest = Some(json!({"RefundReference": "return-2"}));
        self.merchant(("refundOrder", "rest", "All that is left"), (Method::POST, &refunds), rest, 201).await;
        self.merchant(("listRefunds", "both", "Two refunds"), (Method::GET, &refunds), None, 200).await;
        let nowhere = format!("/v1/order/{UNKNOWN}/refund");
        self.merchant(("listRefunds", "unknown", "No such Order"), (Method::GET, &nowhere), None, 404).await;
        let shown = format!("{refunds}/{}", text(&refund, "RefundId"));
        self.merchant(("getRefund", "succeeded", "The money is given back"), (Method::GET, &shown), None, 200).await;
        let nowhere = format!("{refunds}/{UNKNOWN}");
        self.merchant(("getRefund", "unknown", "No such refund"), (Method::GET, &nowhere), None, 404).await;
        self.merchant(("getOrder", "refunded", "With its refunds and its life"), (Method::GET, &path), None, 200).await;
        let found = ("findOrder", "found", "By the reference of its Session");
        self.merchant(found, (Method::GET, "/v1/order?MerchantReference=order-3005"), None, 200).await;
        let missing = ("findOrder", "noReference", "The query names no reference");
        self.merchant(missing, (Method::GET, "/v1/order"), None, 400).await;
        let order = self.captured("order-3006", cards::REFUND_PENDING).await;
        let path = format!("/v1/order/{order}/refund");
        let slow = ("refundOrder", "inProgress", "The processor takes its time");
        self.merchant(slow, (Method::POST, &path), Some(json!({"RefundReference": "return-3"})), 201).await;
    }

    pub(super) async fn disputes_are_answered(&mut self) {
        let orders =
            [self.captured("order-3007", cards::DISPUTED).await, self.captured("order-3008", cards::DISPUTED).await];
        let nowhere = format!("/v1/order/{UNKNOWN}/dispute");
        self.merchant(("listDisputes", "unknown", "No such Order"), (Method::GET, &nowhere), None, 404).await;
        let [accepted, contested] = orders.map(|order| format!("/v1/order/{order}/dispute"));
        for path in [&accepted, &contested] {
            until("the dispute is told", Duration::from_secs(30), async || {
                let listed = self.world.merchant.call("GET", path, None).await.json();
                listed["Disputes"].as_array().is_some_and(|all| !all.is_empty()).then_some(())
            })
            .await;
        }
        let listed = ("listDisputes", "opened", "It needs a response");
        let listed = self.merchant(listed, (Method::GET, &accepted), None, 200).await;
        let accept = format!("{accepted}/{}/accept", text(&listed["Disputes"][0], "DisputeId"));
        let taken = ("acceptDispute", "accepted", "The money stays with the shopper");
        self.merchant(taken, (Method::POST, &accept), None, 200).await;
        let nothing = format!("{accepted}/{UNKNOWN}/accept");
        self.merchant(("acceptDispute", "unknown", "No such dispute"), (Method::POST, &nothing), None, 404).await;
        let other = self.world.merchant.call("GET", &contested, None).await.json();
        let evidence = format!("{contested}/{}/evidence", text(&other["Disputes"][0], "DisputeId"));
        let said =
            json!({"Text": "Delivered on 3 May and signed for by the customer; the carrier's number is JD0002."});
        for (name, summary, status) in [("text", "In words", 200), ("again", "Evidence is taken once", 409)] {
            let authorization = self.authorization.clone();
            let headers = vec![("authorization", authorization.as_str()), FILES];
            let (operation, url) = ("handInEvidence", format!("{}{evidence}", self.world.base));
            let body = Some(said.clone());
            let call = Call { operation, name, summary, method: Method::POST, url, headers, body };
            self.recorder.make(call, status).await;
        }
    }

    /// A captured Order's OrderId.
    async fn captured(&mut self, reference: &str, card: &str) -> String {
        let order = self.authorized(reference, card).await;
        let captured = self.world.merchant.call("POST", &format!("/v1/order/{order}/capture"), None).await;
        assert_eq!(captured.status, 200, "{}", captured.text());
        order
    }

    /// A paid Session's OrderId.
    async fn authorized(&self, reference: &str, card: &str) -> String {
        let session = self.world.merchant.create_session(with(request(reference), json!({"AutoCapture": false}))).await;
        self.world.pay(&session, card).await;
        text(&self.world.merchant.order_of(&session).await, "OrderId")
    }
}
