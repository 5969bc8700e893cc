#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod client;
mod contract;
mod run;
mod scenario;
mod shopper;

pub use client::{CallError, MerchantLogin, RequestBody, ServiceClient, ServiceResponse, service_http_client};
pub use run::{EventTrigger, SandboxProcessorAccess, TriggerError, TriggeredEvent, TriggeredPayment};
pub use scenario::{SCENARIOS, TriggerCard, TriggerScenario};
