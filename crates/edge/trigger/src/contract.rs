//! A merchant's server that has a card stored, doing over HTTP what leads to each event of a contract.

use dropin_kernel::{ContractId, Timestamp};
use serde_json::{Value, json};

use crate::run::{EventTrigger, TriggerError};
use crate::scenario::{ContractStep, TriggerCard};
use crate::shopper::{self, DEVICE};

/// The issuer's word for a card that is of no use (ISO 8583, field 39: invalid card number), after which the contract is suspended.
const INVALID_CARD: &str = "14";

impl EventTrigger {
    /// Opens a contract, and does with it what leads to the event.
    pub(crate) async fn execute_contract(&self, event: &str, step: ContractStep) -> Result<ContractId, TriggerError> {
        let expiry = match step {
            ContractStep::CardEndsSoon => this_month(self.clock.now()),
            ContractStep::Open | ContractStep::RefusedCharge | ContractStep::Close => {
                shopper::far_expiry(self.clock.now())
            }
        };
        let contract = self.open_contract(event, expiry).await?;
        // The processor's answer may have been lost on the way.
        self.wait_for("CONTRACT_OPENED", contract.into()).await?;
        match step {
            ContractStep::Open | ContractStep::CardEndsSoon => {}
            ContractStep::RefusedCharge => self.charge_in_vain(event, contract).await?,
            ContractStep::Close => {
                let body = json!({ "MerchantId": self.service.merchant_id, "ContractId": contract.to_string() });
                self.checkout("/closeContract", &body).await?;
            }
        }
        Ok(contract)
    }

    async fn open_contract(&self, event: &str, expiry: (i32, u8)) -> Result<ContractId, TriggerError> {
        let stash_id = self.ids.random().to_string();
        let url = format!("{}/{}/{stash_id}", self.stash_url, self.service.merchant_id);
        shopper::stash(&self.service, &url, TriggerCard::Pay, expiry).await?;
        let mut request = self.checkout_request(event);
        request["PaymentMethod"] = "VISA".into();
        request["Kind"] = "RECURRING".into();
        request["StashId"] = stash_id.into();
        request["DeviceFingerprint"] = DEVICE.into();
        request["Return"] = "http://localhost/checkout".into();
        let opened = self.checkout("/openContract", &request).await?;
        opened["ContractId"].as_str().unwrap_or_default().parse().map_err(TriggerError::other)
    }

    /// One charge that the issuer refuses, since the sandbox's fault switch says so: for this merchant's stored cards, and once.
    async fn charge_in_vain(&self, event: &str, contract: ContractId) -> Result<(), TriggerError> {
        let mut request = self.checkout_request(event);
        request["ContractId"] = contract.to_string().into();
        request["Items"] = json!([{ "Description": event, "ConsumerPrice": 29.90, "Quantity": 1 }]);
        let current = self.fault_switch("GET", None).await?;
        if current["Mode"] != "none" {
            return Err(format!("the sandbox's fault switch is in use ({current}): switch it off first").into());
        }
        let refuse = json!({
            "Mode": "refuse", "Remaining": 1, "Kinds": ["AUTHORIZE"], "ResponseCode": INVALID_CARD, "MerchantId": self.service.merchant_id,
        });
        self.fault_switch("PUT", Some(&refuse)).await?;
        let url = format!("{}/v2.21", self.checkout_url);
        let answer = self.service.post_to(&url, request.to_string()).await;
        // Whatever became of the charge, nothing else is refused.
        self.fault_switch("PUT", Some(&json!({ "Mode": "none" }))).await?;
        let answer = answer?;
        match answer.status {
            402 => Ok(()),
            _ => Err(format!("the charge was to be refused: {}", answer.json(&url)?).into()),
        }
    }

    async fn fault_switch(&self, method: &str, body: Option<&Value>) -> Result<Value, TriggerError> {
        let processor = self.processor()?;
        let url = format!("{}/v1/faults", processor.url.trim_end_matches('/'));
        Ok(self.service.ask_processor(method, &url, &processor.key, body).await?)
    }

    async fn checkout(&self, operation: &str, body: &Value) -> Result<Value, TriggerError> {
        let url = format!("{}/v2.21{operation}", self.checkout_url);
        Ok(self.service.post_to(&url, body.to_string()).await?.json(&format!("POST {url}"))?)
    }

    fn checkout_request(&self, event: &str) -> Value {
        json!({
            "MerchantId": self.service.merchant_id, "ReferenceId": self.reference(event), "ConsumerCurrency": "EUR",
            "Consumer": {
                "Name": "Robin Example", "Email": "robin@example.com", "Address": "Example Street 1", "City": "Berlin", "Country": "DE",
            },
        })
    }
}

/// A card is good until its month is over.
fn this_month(now: Timestamp) -> (i32, u8) {
    let today = now.to_offset_date_time();
    (today.year(), today.month().into())
}
