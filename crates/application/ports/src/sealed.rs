use async_trait::async_trait;
use dropin_access::SealedSecret;
use dropin_kernel::{ContractId, DisputeAnswerId, EndpointId, MerchantId, OperatorId, OrderId, ProcessorId};
use uuid::Uuid;

use crate::credential_vault::SealedCredential;
use crate::processor_account::ProcessorAccount;
use crate::store::{Applied, StoreError};

/// What the database keeps sealed under a long-lived key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SealedKind {
    /// The secret of a webhook endpoint.
    WebhookSecret,
    /// The secret that an endpoint had before, which may still sign.
    PreviousWebhookSecret,
    /// A merchant's certificate and private key for the wallet.
    WalletCertificate,
    /// What a contract is charged by.
    ContractCredential,
    /// What none is charged by, until it is deleted at its processor.
    DiscardedCredential,
    /// The secret of an operator's authenticator.
    OperatorAuthenticator,
    /// What a merchant handed in to win a dispute.
    DisputeEvidence,
    /// Key and secrets of events of an account that a merchant has of its own at a processor.
    ProcessorAccount,
}

impl SealedKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::WebhookSecret,
        Self::PreviousWebhookSecret,
        Self::WalletCertificate,
        Self::ContractCredential,
        Self::DiscardedCredential,
        Self::OperatorAuthenticator,
        Self::DisputeEvidence,
        Self::ProcessorAccount,
    ];

    /// Those of the master ring. The previous secrets come after the secrets: one that a merchant replaces during a rotation is still met.
    pub const OF_MASTER_RING: [Self; 6] = [
        Self::WebhookSecret,
        Self::PreviousWebhookSecret,
        Self::WalletCertificate,
        Self::OperatorAuthenticator,
        Self::DisputeEvidence,
        Self::ProcessorAccount,
    ];

    /// Those of the ring of stored credentials. What is discarded during a rotation is still met.
    pub const OF_CREDENTIAL_RING: [Self; 2] = [Self::ContractCredential, Self::DiscardedCredential];
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
    /// [`SealedKind::ContractCredential`], or [`SealedKind::DiscardedCredential`].
    ContractCredential {
        /// The contract's merchant.
        merchant: MerchantId,
        /// The contract.
        contract: ContractId,
        /// The Order that stored it, where it is discarded.
        discarded: Option<OrderId>,
        /// The credential.
        sealed: SealedCredential,
    },
    /// [`SealedKind::OperatorAuthenticator`].
    OperatorAuthenticator {
        /// The operator.
        operator: OperatorId,
        /// The secret.
        sealed: SealedSecret,
    },
    /// [`SealedKind::DisputeEvidence`].
    DisputeEvidence {
        /// The answer that it was given with.
        answer: DisputeAnswerId,
        /// The evidence.
        sealed: SealedSecret,
    },
    /// [`SealedKind::ProcessorAccount`].
    ProcessorAccount {
        /// Its row.
        id: Uuid,
        /// Whose it is.
        merchant: MerchantId,
        /// Its name.
        processor: ProcessorId,
        /// Key and secrets of events.
        sealed: SealedSecret,
    },
}

impl SealedValue {
    /// What an account has sealed.
    pub fn of_processor_account(account: &ProcessorAccount) -> Self {
        Self::ProcessorAccount {
            id: account.id,
            merchant: account.merchant_id,
            processor: account.processor.clone(),
            sealed: account.sealed.clone(),
        }
    }

    /// What it is.
    pub const fn kind(&self) -> SealedKind {
        match self {
            Self::WebhookSecret { .. } => SealedKind::WebhookSecret,
            Self::PreviousWebhookSecret { .. } => SealedKind::PreviousWebhookSecret,
            Self::WalletCertificate { .. } => SealedKind::WalletCertificate,
            Self::ContractCredential { discarded: None, .. } => SealedKind::ContractCredential,
            Self::ContractCredential { discarded: Some(_), .. } => SealedKind::DiscardedCredential,
            Self::OperatorAuthenticator { .. } => SealedKind::OperatorAuthenticator,
            Self::DisputeEvidence { .. } => SealedKind::DisputeEvidence,
            Self::ProcessorAccount { .. } => SealedKind::ProcessorAccount,
        }
    }

    /// The bytes that stand in the row.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::WebhookSecret { sealed, .. }
            | Self::PreviousWebhookSecret { sealed, .. }
            | Self::WalletCertificate { sealed, .. }
            | Self::OperatorAuthenticator { sealed, .. }
            | Self::DisputeEvidence { sealed, .. }
            | Self::ProcessorAccount { sealed, .. } => &sealed.0,
            Self::ContractCredential { sealed, .. } => &sealed.bytes,
        }
    }

    /// The id of its row: where [`SealedStore::list_sealed`] goes on.
    pub const fn row(&self) -> Uuid {
        match self {
            Self::WebhookSecret { endpoint, .. } | Self::PreviousWebhookSecret { endpoint, .. } => endpoint.uuid(),
            Self::WalletCertificate { merchant, .. } => merchant.uuid(),
            Self::ContractCredential { contract, discarded: None, .. } => contract.uuid(),
            Self::ContractCredential { discarded: Some(order), .. } => order.uuid(),
            Self::OperatorAuthenticator { operator, .. } => operator.uuid(),
            Self::DisputeEvidence { answer, .. } => answer.uuid(),
            Self::ProcessorAccount { id, .. } => *id,
        }
    }
}

/// Everything that is sealed under a long-lived key, for rotating the keys.
#[async_trait]
pub trait SealedStore: Send + Sync {
    /// The values of one kind by the id of their row, `after` the given one; at most `limit`. Those of removed endpoints are left out: nothing opens them
    /// any more. A credential that waits to be deleted at its processor is among them: it is opened once more.
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
