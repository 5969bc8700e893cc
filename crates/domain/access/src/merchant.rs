use std::fmt;
use std::time::Duration;

use dropin_kernel::{ApiUserId, EndpointId, MerchantId, Timestamp};
use dropin_money::Currency;

use crate::origin::Origin;

/// A merchant account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merchant {
    /// Identifier; public.
    pub id: MerchantId,
    /// Name shown to shoppers.
    pub name: String,
    /// Currencies it may charge in; INVALID_CURRENCY for any other.
    pub currencies: Vec<Currency>,
    /// Origins whose pages may embed the drop-in and post to the stash.
    pub origins: Vec<Origin>,
    /// How long an unpaid Session lives (decisions.md section 3: 24 h unless configured).
    pub session_lifetime: Duration,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Merchant {
    /// Whether it may charge in `currency`.
    pub fn accepts(&self, currency: Currency) -> bool {
        self.currencies.contains(&currency)
    }
}

/// Keyed hash of a generated API password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(pub Vec<u8>);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// One API user of a merchant (contract, Authentication).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiUser {
    /// Identifier.
    pub id: ApiUserId,
    /// Whose user it is.
    pub merchant_id: MerchantId,
    /// Generated, unique in the deployment.
    pub username: String,
    /// What its password is compared with.
    pub password: PasswordHash,
}

/// A secret encrypted under the deployment's master key.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret(pub Vec<u8>);

impl fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedSecret(..)")
    }
}

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
}
