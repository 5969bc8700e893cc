use async_trait::async_trait;
use dropin_access::{ApiUser, Endpoint, Merchant};
use dropin_kernel::MerchantId;

use crate::store::StoreError;

/// A merchant account to create, whole.
#[derive(Debug, Clone)]
pub struct NewMerchant {
    /// The account, with its currencies and origins.
    pub merchant: Merchant,
    /// Its first API user.
    pub user: ApiUser,
    /// Its webhook endpoint, if it has one.
    pub endpoint: Option<Endpoint>,
}

/// An API user and its merchant, for authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user.
    pub user: ApiUser,
    /// Its merchant.
    pub merchant: Merchant,
}

/// What came of creating a merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MerchantInserted {
    /// Written.
    Done,
    /// The user name is taken.
    DuplicateUsername,
}

/// Merchants and their users.
#[async_trait]
pub trait AccessStore: Send + Sync {
    /// Creates a merchant with its user and endpoint.
    async fn insert_merchant(&self, new: NewMerchant) -> Result<MerchantInserted, StoreError>;

    /// The user of that name and its merchant.
    async fn find_credentials(&self, username: &str) -> Result<Option<Credentials>, StoreError>;

    /// A merchant by its public id.
    async fn find_merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreError>;

    /// Every merchant, oldest first.
    async fn list_merchants(&self) -> Result<Vec<Merchant>, StoreError>;

    /// The merchant's webhook endpoints.
    async fn list_endpoints(&self, merchant: MerchantId) -> Result<Vec<Endpoint>, StoreError>;
}
