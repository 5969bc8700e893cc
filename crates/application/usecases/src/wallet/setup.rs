use std::sync::Arc;

use dropin_access::{
    AuditAction, AuditSubjectKind, DomainCheck, MerchantIdentifier, RegisteredDomain, WalletDomain, WalletIdentity,
};
use dropin_kernel::{MerchantId, Violation, ViolationCode, Violations};
use dropin_ports::{
    AccountChanged, Acting, AuditSubject, Clock, IdSource, KeyringError, Secrets, StoreError, WalletCredentials,
    WalletFailure, WalletProvider, WalletStore,
};

use zeroize::Zeroizing;

use dropin_wire::audit_log::Document;

use super::owner;
use crate::audit_log::{AuditWriter, wallet_document};

/// Stands between certificate and key where they are sealed; neither can contain it.
const BETWEEN: u8 = 0;

/// What a merchant's wallet is set to.
#[derive(Clone)]
pub struct SetWallet {
    /// By which the wallet's provider knows the merchant.
    pub identifier: String,
    /// Where the merchant's account is, ISO 3166-1 alpha-2.
    pub country: String,
    /// Certificate and key.
    pub credentials: WalletCredentials,
}

/// Why a wallet was not set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalletSetupError {
    /// What was given is not as it must be.
    #[error("{}", .0.iter().map(|one| format!("{} {}", one.field, one.message)).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Violation>),
    /// There is no such merchant.
    #[error("there is no merchant with this id")]
    NoMerchant,
    /// The merchant has none.
    #[error("the merchant has no wallet certificate")]
    NoWallet,
    /// The merchant has not registered it.
    #[error("the merchant has not registered this domain")]
    NoDomain,
    /// Certificate and key cannot be sealed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What merchants set up for the wallet; an operator does it for them.
#[derive(Clone)]
pub struct WalletSetup {
    /// Merchants' identities and domains.
    pub store: Arc<dyn WalletStore>,
    /// Seals certificates and keys.
    pub secrets: Arc<dyn Secrets>,
    /// Looks at certificates, and at merchants' domains.
    pub provider: Arc<dyn WalletProvider>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// Who acts. A server that serves many makes one of these for each request.
    pub by: Acting,
    /// Whether domains of this machine count.
    pub sandbox: bool,
}

impl WalletSetup {
    /// Sets a merchant's certificate and key, in place of those before; sealed before the store sees them.
    ///
    /// # Errors
    /// [`WalletSetupError::Invalid`] (MerchantIdentifier, Country, Certificate), [`WalletSetupError::NoMerchant`],
    /// [`WalletSetupError::Keyring`], [`WalletSetupError::Store`].
    pub async fn set(&self, merchant: MerchantId, wanted: SetWallet) -> Result<WalletIdentity, WalletSetupError> {
        let now = self.clock.now();
        let mut all = Violations::new();
        let invalid = |field: &str, why: String| Violation::new(field, ViolationCode::Invalid, why);
        let identifier = MerchantIdentifier::parse(&wanted.identifier);
        let identifier = all.check(identifier.map_err(|wrong| invalid("MerchantIdentifier", wrong.to_string())));
        let country = WalletIdentity::country(&wanted.country);
        let country = all.check(country.map_err(|wrong| invalid("Country", wrong.to_string())));
        let expires_at = match self.provider.inspect(&wanted.credentials) {
            Ok(ends) if ends <= now => Err(invalid("Certificate", format!("has ended at {ends}: get a new one"))),
            Ok(ends) => Ok(ends),
            Err(WalletFailure::Credentials(why)) => Err(invalid("Certificate", why)),
            Err(other) => Err(invalid("Certificate", other.to_string())),
        };
        let expires_at = all.check(expires_at);
        let (Some(identifier), Some(country), Some(expires_at)) = (identifier, country, expires_at) else {
            return Err(WalletSetupError::Invalid(all.into_sorted()));
        };
        let bundle = bundle(&wanted.credentials);
        let sealed = self.secrets.seal_secret(&owner(merchant), &bundle)?;
        let identity = WalletIdentity { merchant_id: merchant, identifier, country, sealed, expires_at, set_at: now };
        let before = self.store.find_wallet(merchant).await?;
        let mut entry = self.writer().entry(Some(merchant), AuditAction::WalletSet, merchant);
        entry = entry.with_after(wallet_document(&identity).finish());
        entry.before = before.map(|before| wallet_document(&before).finish());
        match self.store.put_wallet(identity.clone(), entry).await? {
            AccountChanged::Done => Ok(identity),
            AccountChanged::Missing | AccountChanged::Ended | AccountChanged::Stale => {
                Err(WalletSetupError::NoMerchant)
            }
        }
    }

    /// Takes a merchant's certificate and key away: its shoppers see no button any more.
    ///
    /// # Errors
    /// [`WalletSetupError::NoWallet`], [`WalletSetupError::Store`].
    pub async fn remove(&self, merchant: MerchantId) -> Result<(), WalletSetupError> {
        let before = self.identity(merchant).await?;
        let entry = self.writer().entry(Some(merchant), AuditAction::WalletRemove, merchant);
        let entry = entry.with_before(wallet_document(&before).finish());
        match self.store.remove_wallet(merchant, entry).await? {
            AccountChanged::Done => Ok(()),
            AccountChanged::Missing | AccountChanged::Ended | AccountChanged::Stale => Err(WalletSetupError::NoWallet),
        }
    }

    /// A merchant's identity, its certificate and key still sealed.
    ///
    /// # Errors
    /// [`WalletSetupError::NoWallet`], [`WalletSetupError::Store`].
    pub async fn identity(&self, merchant: MerchantId) -> Result<WalletIdentity, WalletSetupError> {
        self.store.find_wallet(merchant).await?.ok_or(WalletSetupError::NoWallet)
    }

    /// A merchant's domains, by name.
    ///
    /// # Errors
    /// [`WalletSetupError::Store`].
    pub async fn domains(&self, merchant: MerchantId) -> Result<Vec<RegisteredDomain>, WalletSetupError> {
        Ok(self.store.list_wallet_domains(merchant).await?)
    }

    /// Registers a domain with the text file that the wallet's provider gave out for it; the button counts there once the file was found.
    ///
    /// # Errors
    /// [`WalletSetupError::Invalid`] (Domain, File), [`WalletSetupError::NoMerchant`], [`WalletSetupError::Store`].
    pub async fn add_domain(
        &self,
        merchant: MerchantId,
        domain: &str,
        file: &str,
    ) -> Result<RegisteredDomain, WalletSetupError> {
        let mut all = Violations::new();
        let invalid = |field: &str, why: String| Violation::new(field, ViolationCode::Invalid, why);
        let domain = all.check(self.domain(domain));
        let file = RegisteredDomain::file(file).map_err(|wrong| invalid("File", wrong.to_string()));
        let (Some(domain), Some(file)) = (domain, all.check(file)) else {
            return Err(WalletSetupError::Invalid(all.into_sorted()));
        };
        let registered_at = self.clock.now();
        let registered = RegisteredDomain { merchant_id: merchant, domain, file, check: None, registered_at };
        let subject = AuditSubject::new(AuditSubjectKind::WalletDomain, registered.domain.as_str());
        let entry = self.writer().entry(Some(merchant), AuditAction::WalletDomainAdd, subject);
        let entry = entry.with_after(Document::new().text("Domain", registered.domain.as_str()).finish());
        match self.store.put_wallet_domain(registered.clone(), entry).await? {
            AccountChanged::Done => Ok(registered),
            AccountChanged::Missing | AccountChanged::Ended | AccountChanged::Stale => {
                Err(WalletSetupError::NoMerchant)
            }
        }
    }

    /// Looks for the file at the domain and writes down what was found.
    ///
    /// # Errors
    /// [`WalletSetupError::Invalid`] (Domain), [`WalletSetupError::NoDomain`], [`WalletSetupError::Store`].
    pub async fn check_domain(&self, merchant: MerchantId, domain: &str) -> Result<RegisteredDomain, WalletSetupError> {
        let domain = self.domain(domain).map_err(|violation| WalletSetupError::Invalid(vec![violation]))?;
        let found = self.store.find_wallet_domain(merchant, &domain).await?;
        let registered = found.ok_or(WalletSetupError::NoDomain)?;
        let failure = match self.provider.fetch_association(&domain).await {
            Ok(file) if registered.is_file(&file) => None,
            Ok(_) => Some("another file stands there than the one that was registered".to_owned()),
            Err(why) => Some(why),
        };
        let check = DomainCheck { at: self.clock.now(), failure };
        match self.store.check_wallet_domain(&registered, check.clone()).await? {
            AccountChanged::Done => Ok(RegisteredDomain { check: Some(check), ..registered }),
            AccountChanged::Missing | AccountChanged::Ended | AccountChanged::Stale => Err(WalletSetupError::NoDomain),
        }
    }

    fn writer(&self) -> AuditWriter {
        AuditWriter { by: self.by.clone(), clock: self.clock.clone(), ids: self.ids.clone() }
    }

    fn domain(&self, text: &str) -> Result<WalletDomain, Violation> {
        WalletDomain::parse(text, self.sandbox)
            .map_err(|invalid| Violation::new("Domain", ViolationCode::Invalid, invalid.to_string()))
    }
}

fn bundle(credentials: &WalletCredentials) -> Zeroizing<Vec<u8>> {
    let (certificate, key) = (credentials.certificate.as_bytes(), credentials.key.as_bytes());
    let mut bundle = Zeroizing::new(Vec::with_capacity(certificate.len() + 1 + key.len()));
    bundle.extend_from_slice(certificate);
    bundle.push(BETWEEN);
    bundle.extend_from_slice(key);
    bundle
}

/// Certificate and key as they were before they were sealed.
pub(super) fn unbundle(opened: Vec<u8>) -> Result<WalletCredentials, StoreError> {
    let corrupt =
        || StoreError::Corrupt { table: "wallet_identity", what: "what was sealed is no certificate".to_owned() };
    let opened = Zeroizing::new(opened);
    let text = std::str::from_utf8(&opened).map_err(|_not_text| corrupt())?;
    let (certificate, key) = text.split_once(char::from(BETWEEN)).ok_or_else(corrupt)?;
    Ok(WalletCredentials { certificate: certificate.to_owned(), key: Zeroizing::new(key.to_owned()) })
}
