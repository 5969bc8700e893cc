use async_trait::async_trait;
use dropin_access::SealedSecret;
use dropin_kernel::{EndpointId, MerchantId};
use uuid::Uuid;

use crate::store::{Applied, StoreError};

/// What the database keeps sealed under a long-lived key. All kinds are of the master ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SealedKind {
    /// The secret of a webhook endpoint.
    WebhookSecret,
    /// The secret that an endpoint had before, which may still sign.
    PreviousWebhookSecret,
    /// A merchant's certificate and private key for the wallet.
    WalletCertificate,
}

impl SealedKind {
    /// Every kind. The previous secrets come after the secrets: one that a merchant replaces during a rotation is still met.
    pub const ALL: [Self; 3] = [Self::WebhookSecret, Self::PreviousWebhookSecret, Self::WalletCertificate];
}

/// A sealed value, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealedValue {
    /// [`SealedKind::WebhookSecret`].
    WebhookSecret {
        /// The endpoint.
        endpoint: EndpointId,
        /// The secret.
        sealed: SealedSecret,
    },
    /// [`SealedKind::PreviousWebhookSecret`].
    PreviousWebhookSecret {
        /// The endpoint.
        endpoint: EndpointId,
        /// The secret.
        sealed: SealedSecret,
    },
    /// [`SealedKind::WalletCertificate`].
    WalletCertificate {
        /// The merchant.
        merchant: MerchantId,
        /// Certificate and key.
        sealed: SealedSecret,
    },
}

impl SealedValue {
    /// What it is.
    pub const fn kind(&self) -> SealedKind {
        match self {
            Self::WebhookSecret { .. } => SealedKind::WebhookSecret,
            Self::PreviousWebhookSecret { .. } => SealedKind::PreviousWebhookSecret,
            Self::WalletCertificate { .. } => SealedKind::WalletCertificate,
        }
    }

    /// What stands in the row.
    pub const fn sealed(&self) -> &SealedSecret {
        match self {
            Self::WebhookSecret { sealed, .. }
            | Self::PreviousWebhookSecret { sealed, .. }
            | Self::WalletCertificate { sealed, .. } => sealed,
        }
    }

    /// The id of its row: where [`SealedStore::list_sealed`] goes on.
    pub const fn row(&self) -> Uuid {
        match self {
            Self::WebhookSecret { endpoint, .. } | Self::PreviousWebhookSecret { endpoint, .. } => endpoint.uuid(),
            Self::WalletCertificate { merchant, .. } => merchant.uuid(),
        }
    }
}

/// Everything that is sealed under a long-lived key, for rotating the keys.
#[async_trait]
pub trait SealedStore: Send + Sync {
    /// The values of one kind by the id of their row, `after` the given one; at most `limit`. Those of removed endpoints are left out: nothing opens them
    /// any more.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn list_sealed(
        &self,
        kind: SealedKind,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<SealedValue>, StoreError>;

    /// Writes `new` where `old` stands, and changes nothing else. [`Applied::Stale`] when something else stands there by now, or nothing.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when the two are not of one row; others as everywhere.
    async fn replace_sealed(&self, old: &SealedValue, new: &SealedValue) -> Result<Applied, StoreError>;
}
