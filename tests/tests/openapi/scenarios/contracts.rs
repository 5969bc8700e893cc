//! What a merchant's server does with contracts.

use actix_web::http::Method;
use dropin_tests::cards;
use serde_json::{Value, json};

use super::{ScenarioRun, UNKNOWN, text, with};
use crate::record::Call;

impl ScenarioRun<'_> {
    async fn reads(
        &mut self,
        (operation, name, summary): (&'static str, &'static str, &'static str),
        path: &str,
        status: u16,
    ) {
        let authorization = self.authorization.clone();
        let headers = vec![("authorization", authorization.as_str())];
        let url = format!("{}{path}", self.world.base);
        let call = Call { operation, name, summary, method: Method::GET, url, headers, body: None };
        self.recorder.make(call, status).await;
    }

    async fn to_store(&self, reference: &str, card: &str) -> Value {
        let mut request = self.carded(reference, card, true).await;
        let members = request.as_object_mut().unwrap();
        members.remove("Items");
        members.remove("Capture");
        let agreed = json!({
            "Kind": "RECURRING", "BillingProfileReference": "customer-7",
            "Consent": {"TextVersion": "2026-11", "Locale": "en_IE"},
        });
        with(request, agreed)
    }

    pub(super) async fn a_server_charges_a_contract(&mut self) {
        let request = self.to_store("subscription-7", cards::VISA).await;
        let opened = ("openContract", "opened", "The card is stored, and nothing charged");
        let opened = self.pays(opened, "/openContract", request, 200).await;
        let request = self.to_store("subscription-8", cards::ASKS_TO_STORE).await;
        let waits = ("openContract", "opening", "Send the shopper to Action.Redirect, the bank's page");
        self.pays(waits, "/openContract", request, 200).await;
        let request = self.to_store("subscription-9", cards::DECLINED).await;
        self.pays(("openContract", "declined", "Refused by the card's bank"), "/openContract", request, 402).await;
        let contract = text(&opened, "ContractId");
        let charge = |reference: &str| {
            let cart = self.cart(reference, json!({"ContractId": contract, "Capture": true}));
            with(cart, json!({"Return": null, "DeviceFingerprint": null}))
        };
        let (first, late) = (charge("subscription-7-1"), charge("subscription-7-2"));
        let charged = ("checkout", "byContract", "A contract, while the shopper is away");
        self.pays(charged, "", first, 200).await;
        let by_contract = json!({"MerchantId": self.world.merchant.id, "ContractId": contract});
        self.reads(
            ("getContract", "charged", "With the Orders made under it"),
            &format!("/v1/contract/{contract}"),
            200,
        )
        .await;
        self.reads(("getContract", "unknown", "No such contract"), &format!("/v1/contract/{UNKNOWN}"), 404).await;
        let list = "/v1/contract?BillingProfileReference=customer-7";
        self.reads(("listContracts", "ofProfile", "Those of a billing profile"), list, 200).await;
        self.reads(("listContracts", "fieldMissing", "Without a billing profile"), "/v1/contract", 400).await;
        let found = ("queryCheckout", "contract", "A contract by its ContractId");
        self.pays(found, "/query", by_contract.clone(), 200).await;
        self.pays(("closeContract", "closed", "For good"), "/closeContract", by_contract.clone(), 200).await;
        self.pays(("closeContract", "again", "It is closed already"), "/closeContract", by_contract, 409).await;
        self.pays(("checkout", "contractClosed", "The contract is closed"), "", late, 409).await;
    }
}
