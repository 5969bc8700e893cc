use dropin_kernel::{EndpointId, MerchantId};

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
    /// Signs too, while it still counts (decisions.md section 9: several signatures while a secret rotates).
    pub previous: Option<Retiring<SealedSecret>>,
}

impl Endpoint {
    /// A new endpoint with one secret.
    pub fn new(id: EndpointId, merchant_id: MerchantId, url: String, secret: SealedSecret) -> Self {
        Self { id, merchant_id, url, secret, previous: None }
    }
}
