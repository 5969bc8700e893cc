use dropin_kernel::{EndpointId, MerchantId};
use dropin_notification::{EventFilter, Schedule};

use crate::credential::{Retiring, SealedSecret};

/// Where a merchant wants to be told of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Identifier.
    pub id: EndpointId,
    /// Whose endpoint it is.
    pub merchant_id: MerchantId,
    /// Absolute http or https URL.
    pub url: String,
    /// Signs what is sent there; at least 32 random bytes.
    pub secret: SealedSecret,
    /// Signs too, while it still counts (docs/SPECIFICATION.md#event-signature).
    pub previous: Option<Retiring<SealedSecret>>,
    /// What is particular about it.
    pub settings: EndpointSettings,
}

/// What an endpoint may have of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct EndpointSettings {
    /// What it is told of; `None` for everything.
    pub events: Option<EventFilter>,
    /// When a notification that failed is tried again; `None` for the deployment's schedule.
    pub retry: Option<Schedule>,
}

impl Endpoint {
    /// A new endpoint with one secret, told of everything.
    pub fn new(id: EndpointId, merchant_id: MerchantId, url: String, secret: SealedSecret) -> Self {
        Self { id, merchant_id, url, secret, previous: None, settings: EndpointSettings::default() }
    }
}
