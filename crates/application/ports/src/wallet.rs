use async_trait::async_trait;
use dropin_access::{DomainCheck, RegisteredDomain, WalletDomain, WalletHost, WalletIdentity};
use dropin_kernel::{MerchantId, Timestamp};
use zeroize::Zeroizing;

use crate::access::AccountChanged;
use crate::audit_log::NewAuditEntry;
use crate::store::StoreError;

/// What merchants need for the wallet's button.
#[async_trait]
pub trait WalletStore: Send + Sync {
    /// Sets a merchant's identity, in place of the one before; [`AccountChanged::Missing`] when there is no such merchant.
    async fn put_wallet(&self, identity: WalletIdentity, audit: NewAuditEntry) -> Result<AccountChanged, StoreError>;

    /// A merchant's identity.
    async fn find_wallet(&self, merchant: MerchantId) -> Result<Option<WalletIdentity>, StoreError>;

    /// Takes a merchant's identity away.
    async fn remove_wallet(&self, merchant: MerchantId, audit: NewAuditEntry) -> Result<AccountChanged, StoreError>;

    /// Which merchants' certificates end first, and when; at most `limit`.
    async fn wallet_expiries(&self, limit: u32) -> Result<Vec<(MerchantId, Timestamp)>, StoreError>;

    /// Registers a domain, in place of what was known of it; [`AccountChanged::Missing`] when there is no such merchant.
    async fn put_wallet_domain(
        &self,
        domain: RegisteredDomain,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError>;

    /// One of a merchant's domains.
    async fn find_wallet_domain(
        &self,
        merchant: MerchantId,
        domain: &WalletDomain,
    ) -> Result<Option<RegisteredDomain>, StoreError>;

    /// A merchant's domains, by name.
    async fn list_wallet_domains(&self, merchant: MerchantId) -> Result<Vec<RegisteredDomain>, StoreError>;

    /// Writes down what came of looking for the file of `domain`; [`AccountChanged::Missing`] when it was registered with another one meanwhile.
    async fn check_wallet_domain(
        &self,
        domain: &RegisteredDomain,
        check: DomainCheck,
    ) -> Result<AccountChanged, StoreError>;

    /// The file that was registered last for a domain, by any merchant.
    async fn association_file(&self, domain: &WalletDomain) -> Result<Option<String>, StoreError>;
}

/// A merchant's certificate chain and private key, in PEM. No Debug.
#[derive(Clone, PartialEq, Eq)]
pub struct WalletCredentials {
    /// The certificate, and those between it and its root.
    pub certificate: String,
    /// The private key; wiped when dropped.
    pub key: Zeroizing<String>,
}

/// A wallet's payment session to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletSessionRequest {
    /// Which of the provider's servers to ask.
    pub host: WalletHost,
    /// By which the provider knows the merchant.
    pub identifier: String,
    /// Shown to the shopper.
    pub display_name: String,
    /// The domain of the page with the button.
    pub domain: String,
    /// Who asks: one key for each client.
    pub client: u128,
}

/// Why the wallet's provider gave no session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalletFailure {
    /// Certificate or key cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Credentials(String),
    /// Too many are being asked for already; nothing was sent.
    #[error("too many payment sessions are being asked for")]
    Busy,
    /// The host's name leads to an address that is not public; nothing was sent.
    #[error("the host's name leads into a private, local or reserved network")]
    HostNotPublic,
    /// No connection, no answer in time, no success, or no answer of the right form.
    #[error("{0}")]
    Provider(String),
}

/// The wallet's provider, and the places where merchants prove a domain to be theirs.
#[async_trait]
pub trait WalletProvider: Send + Sync {
    /// Checks that the two belong together and can be used; says when the certificate ends.
    ///
    /// # Errors
    /// [`WalletFailure::Credentials`] says what is wrong with them, and nothing of the key.
    fn inspect(&self, credentials: &WalletCredentials) -> Result<Timestamp, WalletFailure>;

    /// Asks for a payment session; the bytes of the answer, whatever they say.
    async fn start_session(
        &self,
        credentials: WalletCredentials,
        request: WalletSessionRequest,
    ) -> Result<Vec<u8>, WalletFailure>;

    /// Fetches the association file of a domain; the error says why it cannot be had, for whoever looks after the domain.
    async fn fetch_association(&self, domain: &WalletDomain) -> Result<Vec<u8>, String>;
}
