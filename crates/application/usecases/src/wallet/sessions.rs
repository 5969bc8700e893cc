use std::sync::Arc;

use dropin_access::{Merchant, Origin, WalletDomain, WalletHosts};
use dropin_kernel::{MerchantId, Violation, ViolationCode, Violations};
use dropin_ports::{
    AccessStore, Clock, KeyringError, Secrets, StoreError, WalletFailure, WalletProvider, WalletSessionRequest,
    WalletStore,
};
use dropin_validation::Text;
use dropin_wire::wallet::MerchantSession;

use super::owner;
use super::setup::unbundle;

/// Most characters of displayName; the payment sheet shows no more.
const LONGEST_NAME: usize = 64;

/// A payment session, as a page asks for it. Everything in it is a stranger's.
#[derive(Debug, Clone, Default)]
pub struct WalletSessionAsk {
    /// validationURL, every time that it is given.
    pub validation_url: Vec<String>,
    /// displayName, every time that it is given.
    pub display_name: Vec<String>,
    /// domainName: the page's domain, for a server that asks on behalf of the page of a merchant with several. Every time that it is given.
    pub domain_name: Vec<String>,
    /// Who asks: one key for each client.
    pub client: u128,
}

/// Why there is no payment session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalletSessionError {
    /// There is no such merchant.
    #[error("there is no merchant with this id")]
    MerchantNotFound,
    /// The merchant has none.
    #[error("the merchant has no wallet certificate that counts")]
    NoWallet,
    /// Pages of this origin may not ask for this merchant.
    #[error("the origin is not registered")]
    Origin,
    /// The domain is not one where the merchant may show the button.
    #[error("the domain is not registered, or not verified")]
    Domain,
    /// What was asked for is not as it must be.
    #[error("{} parameters are wrong", .0.len())]
    Invalid(Vec<Violation>),
    /// Too many at once.
    #[error("too many payment sessions are being asked for")]
    Busy,
    /// The provider gave none.
    #[error("{0}")]
    Provider(String),
    /// Certificate and key cannot be opened.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Payment sessions of the wallet's provider, for pages with the button.
#[derive(Clone)]
pub struct WalletSessions {
    /// Merchants' identities and domains.
    pub store: Arc<dyn WalletStore>,
    /// Knows the merchants.
    pub access: Arc<dyn AccessStore>,
    /// Opens certificates and keys.
    pub secrets: Arc<dyn Secrets>,
    /// Gives payment sessions.
    pub provider: Arc<dyn WalletProvider>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Which of the provider's servers a page may name.
    pub hosts: WalletHosts,
    /// Where the drop-in's frame lives; it asks on behalf of the page that embeds it.
    pub asset_origin: Origin,
    /// Whether domains of this machine count.
    pub sandbox: bool,
}

impl WalletSessions {
    /// The merchant that a page asks for.
    ///
    /// # Errors
    /// [`WalletSessionError::MerchantNotFound`], [`WalletSessionError::Store`].
    pub async fn merchant(&self, id: MerchantId) -> Result<Merchant, WalletSessionError> {
        self.access.find_merchant(id).await?.ok_or(WalletSessionError::MerchantNotFound)
    }

    /// Whether a page of `origin` (the header as a browser sends it) may ask for `merchant`.
    pub fn admits(&self, merchant: &Merchant, origin: &str) -> bool {
        Origin::parse(origin).is_ok_and(|origin| origin == self.asset_origin || merchant.origins.contains(&origin))
    }

    /// Asks the provider for a payment session; its answer, to be passed on byte for byte. `origin` is the page's, as its browser says; `None`
    /// for a caller that is no page, and for pages of our own address. Nothing of what is asked for decides where the call goes but the choice
    /// among [`WalletSessions::hosts`].
    ///
    /// # Errors
    /// [`WalletSessionError`].
    pub async fn start(
        &self,
        merchant: &Merchant,
        origin: Option<&str>,
        ask: &WalletSessionAsk,
    ) -> Result<Vec<u8>, WalletSessionError> {
        let page = origin.filter(|origin| *origin != self.asset_origin.as_str());
        if page.is_some_and(|page| !self.admits(merchant, page)) {
            return Err(WalletSessionError::Origin);
        }
        let mut all = Violations::new();
        let host = all.check(self.host(&ask.validation_url));
        let display_name = all.check(display_name(&ask.display_name));
        let named = match page {
            Some(page) => Some(WalletDomain::of_origin(page, self.sandbox)),
            None => match self.only_domain(merchant, &ask.domain_name).await? {
                Some(only) => Some(Some(only)),
                None => all.check(self.domain_name(&ask.domain_name)).map(Some),
            },
        };
        let (Some(host), Some(display_name), Some(domain)) = (host, display_name, named) else {
            return Err(WalletSessionError::Invalid(all.into_sorted()));
        };
        let domain = self.verified(merchant, domain).await?;
        let identity = self.store.find_wallet(merchant.id).await?;
        let valid = identity.filter(|identity| identity.is_valid_at(self.clock.now()));
        let identity = valid.ok_or(WalletSessionError::NoWallet)?;
        let credentials = unbundle(self.secrets.open_secret(&owner(merchant.id), &identity.sealed)?)?;
        let identifier = identity.identifier.as_str().to_owned();
        let (domain_name, client) = (domain.name().to_owned(), ask.client);
        let name = host.name.clone();
        let request = WalletSessionRequest { host, identifier, display_name, domain: domain_name, client };
        let answer = self.provider.start_session(credentials, request).await.map_err(|failure| match failure {
            WalletFailure::Busy => WalletSessionError::Busy,
            WalletFailure::HostNotPublic => {
                log::error!(host = name.as_str(); "a host of the wallet's provider leads into a private network: check this machine's DNS");
                let why = "its host leads into a private, local or reserved network";
                WalletSessionError::Invalid(vec![Violation::new("validationURL", ViolationCode::NotAllowed, why)])
            }
            failure => WalletSessionError::Provider(failure.to_string()),
        })?;
        MerchantSession::check(&answer, domain.name())
            .map_err(|wrong| WalletSessionError::Provider(format!("the wallet's provider answered what {wrong}")))?;
        Ok(answer)
    }

    fn host(&self, given: &[String]) -> Result<dropin_access::WalletHost, Violation> {
        let url = only("validationURL", given)?;
        let found = self.hosts.find(url).cloned();
        found.map_err(|refused| Violation::new("validationURL", ViolationCode::NotAllowed, refused.to_string()))
    }

    /// The merchant's verified domain, when none is named and there is exactly one.
    async fn only_domain(
        &self,
        merchant: &Merchant,
        named: &[String],
    ) -> Result<Option<WalletDomain>, WalletSessionError> {
        if named.iter().any(|name| !name.is_empty()) {
            return Ok(None);
        }
        let registered = self.store.list_wallet_domains(merchant.id).await?;
        let mut verified = registered.into_iter().filter(|one| one.state() == dropin_access::DomainState::Verified);
        match (verified.next(), verified.next()) {
            (None, _) => Err(WalletSessionError::Domain),
            (Some(only), None) => Ok(Some(only.domain)),
            (Some(_), Some(_)) => Ok(None),
        }
    }

    fn domain_name(&self, given: &[String]) -> Result<WalletDomain, Violation> {
        let several = "is required: the merchant has several verified domains";
        let missing = || Violation::new("domainName", ViolationCode::Missing, several);
        let given: Vec<_> = given.iter().filter(|name| !name.is_empty()).cloned().collect();
        if given.is_empty() {
            return Err(missing());
        }
        let name = only("domainName", &given)?;
        WalletDomain::parse(name, self.sandbox)
            .map_err(|invalid| Violation::new("domainName", ViolationCode::Invalid, invalid.to_string()))
    }

    /// The domain, when the merchant may show the button there.
    async fn verified(
        &self,
        merchant: &Merchant,
        domain: Option<WalletDomain>,
    ) -> Result<WalletDomain, WalletSessionError> {
        let domain = domain.ok_or(WalletSessionError::Domain)?;
        let registered = self.store.find_wallet_domain(merchant.id, &domain).await?;
        let verified = registered.filter(|registered| registered.state() == dropin_access::DomainState::Verified);
        verified.map(|_| domain).ok_or(WalletSessionError::Domain)
    }
}

/// A parameter that has to stand there once.
fn only<'a>(name: &str, given: &'a [String]) -> Result<&'a str, Violation> {
    match given {
        [] => Err(Violation::new(name, ViolationCode::Missing, "is required")),
        [one] => Ok(one),
        _ => Err(Violation::new(name, ViolationCode::Invalid, "is given more than once")),
    }
}

fn display_name(given: &[String]) -> Result<String, Violation> {
    let name = Text::parse("displayName", only("displayName", given)?)?.into_string();
    if name.contains(char::REPLACEMENT_CHARACTER) {
        return Err(Violation::new("displayName", ViolationCode::Invalid, "is not percent-encoded UTF-8"));
    }
    if LONGEST_NAME < name.chars().count() {
        let why = format!("must have at most {LONGEST_NAME} characters");
        return Err(Violation::new("displayName", ViolationCode::TooLong, why));
    }
    Ok(name)
}
