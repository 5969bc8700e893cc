use dropin_kernel::{ApiUserId, MerchantId, Timestamp};

use crate::credential::{PasswordHash, Retiring};
use crate::permission::Permissions;

/// One API user of a merchant (docs/SPECIFICATION.md#http-authentication).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiUser {
    /// Identifier.
    pub id: ApiUserId,
    /// Whose user it is.
    pub merchant_id: MerchantId,
    /// Generated, unique in the deployment for ever.
    pub username: String,
    /// What it may do.
    pub permissions: Permissions,
    /// What its password is compared with.
    pub password: PasswordHash,
    /// Its password of before, while that still counts.
    pub previous: Option<Retiring<PasswordHash>>,
    /// When it was revoked, which is for ever; its row stays because history names it.
    pub revoked_at: Option<Timestamp>,
}

impl ApiUser {
    /// A new user with one password.
    pub fn new(
        id: ApiUserId,
        merchant_id: MerchantId,
        username: String,
        password: PasswordHash,
        permissions: Permissions,
    ) -> Self {
        Self { id, merchant_id, username, permissions, password, previous: None, revoked_at: None }
    }
}
