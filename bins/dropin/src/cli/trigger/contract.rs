//! A merchant's server that has a card stored, doing over HTTP what leads to each event of a contract.

use dropin_boot::{Failure, SystemIds};
use dropin_kernel::ContractId;
use dropin_ports::IdSource;
use sandbox_processor::{SandboxCard, TestPurpose};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::scenario::ContractStep;
use super::shopper::{self, DEVICE};
use super::{TriggerRun, processor_flags};
use crate::cli::processor;

/// The issuer's word for a card that is of no use (ISO 8583, field 39: invalid card number), after which the contract is suspended.
const INVALID_CARD: &str = "14";

impl TriggerRun<'_> {
    /// Opens a contract, and does with it what leads to the event.
    pub(super) async fn execute_contract(&self, event: &str, step: ContractStep) -> Result<ContractId, Failure> {
        let expiry = match step {
            ContractStep::CardEndsSoon => this_month(),
            ContractStep::Open | ContractStep::RefusedCharge | ContractStep::Close => shopper::far_expiry(),
        };
        let contract = self.open_contract(event, expiry).await?;
        // The processor's answer may have been lost on the way.
        self.wait_for("CONTRACT_OPENED", contract.into()).await?;
        match step {
            ContractStep::Open | ContractStep::CardEndsSoon => {}
            ContractStep::RefusedCharge => self.charge_in_vain(event, contract).await?,
            ContractStep::Close => {
                let body = json!({ "MerchantId": self.merchant_id(), "ContractId": contract.to_string() });
                self.checkout("/closeContract", &body).await?;
            }
        }
        Ok(contract)
    }

    async fn open_contract(&self, event: &str, expiry: (i32, u8)) -> Result<ContractId, Failure> {
        let stash_id = SystemIds.random().to_string();
        let url = format!("{}/{}/{stash_id}", self.addresses.stash, self.merchant_id());
        shopper::stash(&self.service, &url, SandboxCard::for_purpose(TestPurpose::Pay), expiry).await?;
        let mut request = self.checkout_request(event);
        request["PaymentMethod"] = "VISA".into();
        request["Kind"] = "RECURRING".into();
        request["StashId"] = stash_id.into();
        request["DeviceFingerprint"] = DEVICE.into();
        request["Return"] = "http://localhost/checkout".into();
        let opened = self.checkout("/openContract", &request).await?;
        Ok(opened["ContractId"].as_str().unwrap_or_default().parse()?)
    }

    /// One charge that the issuer refuses, since the sandbox's fault switch says so: for this merchant's stored cards, and once.
    async fn charge_in_vain(&self, event: &str, contract: ContractId) -> Result<(), Failure> {
        let mut request = self.checkout_request(event);
        request["ContractId"] = contract.to_string().into();
        request["Items"] = json!([{ "Description": event, "ConsumerPrice": 29.90, "Quantity": 1 }]);
        let current = self.fault_switch("GET", None).await?;
        if current["Mode"] != "none" {
            return Err(format!("the sandbox's fault switch is in use ({current}): switch it off first").into());
        }
        let refuse = json!({
            "Mode": "refuse", "Remaining": 1, "Kinds": ["AUTHORIZE"], "ResponseCode": INVALID_CARD, "MerchantId": self.merchant_id(),
        });
        self.fault_switch("PUT", Some(&refuse)).await?;
        let url = format!("{}/v2.21", self.addresses.checkout);
        let answer = self.service.post_to(&url, request.to_string()).await;
        // Whatever became of the charge, nothing else is refused.
        self.fault_switch("PUT", Some(&json!({ "Mode": "none" }))).await?;
        let answer = answer?;
        match answer.status {
            402 => Ok(()),
            _ => Err(format!("the charge was to be refused: {}", answer.json(&url)?).into()),
        }
    }

    async fn fault_switch(&self, method: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let flags = processor_flags(self.cli, self.wanted);
        let url = format!("{}/v1/faults", processor::address(self.cli, &flags)?.trim_end_matches('/'));
        self.service.ask_processor(method, &url, &processor::key(self.cli, &flags)?, body).await
    }

    async fn checkout(&self, operation: &str, body: &Value) -> Result<Value, Failure> {
        let url = format!("{}/v2.21{operation}", self.addresses.checkout);
        self.service.post_to(&url, body.to_string()).await?.json(&format!("POST {url}"))
    }

    fn checkout_request(&self, event: &str) -> Value {
        json!({
            "MerchantId": self.merchant_id(), "ReferenceId": super::reference(event), "ConsumerCurrency": "EUR",
            "Consumer": {
                "Name": "Robin Example", "Email": "robin@example.com", "Address": "Example Street 1", "City": "Berlin", "Country": "DE",
            },
        })
    }

    fn merchant_id(&self) -> &str {
        &self.service.credentials.merchant_id
    }
}

/// A card is good until its month is over.
fn this_month() -> (i32, u8) {
    let today = OffsetDateTime::now_utc();
    (today.year(), today.month().into())
}
