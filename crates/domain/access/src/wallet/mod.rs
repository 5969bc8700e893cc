//! What a merchant needs to show the mobile wallet's button (docs/SPECIFICATION.md#wallet).

use dropin_kernel::coded_enum;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use dropin_kernel::{MerchantId, Timestamp};
use url::{Host, Url};

use crate::credential::SealedSecret;

/// Longest validationURL that is looked at, in bytes. The provider's have about seventy.
const LONGEST_URL: usize = 256;
/// Longest DNS name (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 253;
/// Most characters of an association file.
const LONGEST_FILE: usize = 16 * 1024;

/// Something of a wallet's set-up is not as it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidWallet {
    /// No merchant identifier.
    #[error(
        "must be the wallet's identifier of the merchant, such as merchant.com.example.shop: 1 to 255 of A-Z a-z 0-9 . - _"
    )]
    Identifier,
    /// No country.
    #[error("must be an upper-case ISO 3166 alpha-2 code, such as US")]
    Country,
    /// No domain.
    #[error(
        "must be a domain such as shop.example, without scheme, port and path; in a sandbox also localhost with a port"
    )]
    Domain,
    /// No association file.
    #[error(
        "must be the text file that the wallet's provider gave out for the domain: 1 to 16384 printable ASCII characters and line ends"
    )]
    File,
}

/// By which the wallet's provider knows a merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerchantIdentifier(String);

impl MerchantIdentifier {
    /// Reads an identifier.
    ///
    /// # Errors
    /// [`InvalidWallet::Identifier`].
    pub fn parse(text: &str) -> Result<Self, InvalidWallet> {
        let fits = (1..=255).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidWallet::Identifier) }
    }

    /// The identifier.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a merchant shows the wallet's provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletIdentity {
    /// Whose it is.
    pub merchant_id: MerchantId,
    /// By which the provider knows it.
    pub identifier: MerchantIdentifier,
    /// Where its account is, ISO 3166-1 alpha-2: the payment sheet wants it.
    pub country: String,
    /// Certificate and private key together.
    pub sealed: SealedSecret,
    /// When the certificate ends.
    pub expires_at: Timestamp,
    /// When it was set.
    pub set_at: Timestamp,
}

impl WalletIdentity {
    /// Checks the form of a country.
    ///
    /// # Errors
    /// [`InvalidWallet::Country`].
    pub fn country(text: &str) -> Result<String, InvalidWallet> {
        let fits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase());
        if fits { Ok(text.to_owned()) } else { Err(InvalidWallet::Country) }
    }

    /// Whether the provider still takes it.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// A domain whose pages show the wallet's button: a name in lower case; in a sandbox also this machine, with a port where it has one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WalletDomain(String);

impl WalletDomain {
    /// Reads a domain.
    ///
    /// # Errors
    /// [`InvalidWallet::Domain`].
    pub fn parse(text: &str, sandbox: bool) -> Result<Self, InvalidWallet> {
        let domain = Self(text.to_ascii_lowercase());
        let fits = if domain.is_local() { sandbox } else { is_public_name(&domain.0) };
        if fits { Ok(domain) } else { Err(InvalidWallet::Domain) }
    }

    /// A stored domain.
    pub fn restore(text: &str) -> Option<Self> {
        Self::parse(text, true).ok().filter(|domain| domain.0 == text)
    }

    /// The domain that a page of `origin` (as a browser sends it) is of; `None` for an origin whose domain cannot have been registered.
    pub fn of_origin(origin: &str, sandbox: bool) -> Option<Self> {
        let url = Url::parse(origin).ok().filter(|url| url.origin().ascii_serialization() == origin)?;
        let (_, authority) = origin.split_once("://")?;
        let domain = Self::parse(authority, sandbox).ok()?;
        (url.scheme() == "https" || domain.is_local()).then_some(domain)
    }

    /// The domain.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the wallet's provider is told: the name alone.
    pub fn name(&self) -> &str {
        self.0.split(':').next().unwrap_or(&self.0)
    }

    /// Whether it is this machine, which only a sandbox has registered.
    pub fn is_local(&self) -> bool {
        let (name, port) = self.0.split_once(':').unwrap_or((&self.0, "1"));
        matches!(name, "localhost" | "127.0.0.1")
            && port.parse::<u16>().is_ok_and(|number| number.to_string() == port && 0 < number)
    }
}

impl fmt::Display for WalletDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A DNS name of several labels that no number can be mistaken for (RFC 1123 section 2.1).
fn is_public_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let numeric = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit()) || label.starts_with("0x");
    name.len() <= LONGEST_NAME
        && name.contains('.')
        && name.split('.').all(label)
        && name.rsplit('.').next().is_some_and(|last| !numeric(last) && last != "localhost" && last != "local")
        // As every URL parser spells it, so that one domain has one row.
        && matches!(Host::parse(name), Ok(Host::Domain(same)) if same == name)
}

coded_enum! {
    /// How a registered domain stands.
    pub enum DomainState: "state of a domain" {
        /// Not looked at yet.
        Registered = "REGISTERED",
        /// The file was found there.
        Verified = "VERIFIED",
        /// It was not, when it was looked for last.
        Failed = "FAILED",
    }
}

/// What came of looking for the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct DomainCheck {
    /// When it was looked for.
    pub at: Timestamp,
    /// Why it does not count; `None` when it was there.
    pub failure: Option<String>,
}

/// A domain that a merchant registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", deny_unknown_fields)
)]
pub struct RegisteredDomain {
    /// Whose it is.
    pub merchant_id: MerchantId,
    /// The domain.
    pub domain: WalletDomain,
    /// The text file that has to be found there.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::serialized::association_file"))]
    pub file: String,
    /// The last look, if there was one.
    pub check: Option<DomainCheck>,
    /// When it was registered with this file.
    pub registered_at: Timestamp,
}

impl RegisteredDomain {
    /// Checks the form of an association file.
    ///
    /// # Errors
    /// [`InvalidWallet::File`].
    pub fn file(text: &str) -> Result<String, InvalidWallet> {
        let harmless = |byte: u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\r' | b'\n' | b'\t');
        let fits = text.len() <= LONGEST_FILE && !text.trim().is_empty() && text.bytes().all(harmless);
        if fits { Ok(text.to_owned()) } else { Err(InvalidWallet::File) }
    }

    /// How it stands.
    pub fn state(&self) -> DomainState {
        match &self.check {
            None => DomainState::Registered,
            Some(DomainCheck { failure: None, .. }) => DomainState::Verified,
            Some(DomainCheck { failure: Some(_), .. }) => DomainState::Failed,
        }
    }

    /// Whether `found` is the file; line ends at the end do not matter, since editors and servers add and drop them.
    pub fn is_file(&self, found: &[u8]) -> bool {
        found.trim_ascii_end() == self.file.as_bytes().trim_ascii_end()
    }
}

/// A server of the wallet's provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletHost {
    /// Its name, in lower case.
    pub name: String,
    /// Where the sandbox's own provider listens, on this machine; `None` for a server on the Internet, whose name is looked up.
    pub at: Option<SocketAddr>,
}

/// The text names no server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a host name such as apple-pay-gateway.apple.com, or NAME.localhost=127.0.0.1:PORT for a sandbox's own provider"
)]
pub struct InvalidHost;

impl WalletHost {
    /// The name under which the sandbox's own provider is known; such names never leave a machine (RFC 6761 section 6.3).
    pub const SANDBOX: &str = "wallet-gateway.localhost";
    /// The published servers of the provider, of its test environment last (Apple Pay on the Web, Setting Up Your Server).
    pub const PUBLISHED: [&str; 3] =
        ["apple-pay-gateway.apple.com", "cn-apple-pay-gateway.apple.com", "apple-pay-gateway-cert.apple.com"];

    /// Reads a host, or a name of this machine and where it listens.
    ///
    /// # Errors
    /// [`InvalidHost`].
    pub fn parse(text: &str) -> Result<Self, InvalidHost> {
        match text.split_once('=') {
            None if is_public_name(text) => Ok(Self { name: text.to_owned(), at: None }),
            Some((name, at)) => {
                let at: SocketAddr = at.parse().map_err(|_no_address| InvalidHost)?;
                let local =
                    name.strip_suffix(".localhost").is_some_and(|front| is_public_name(&format!("{front}.example")));
                let loopback = matches!(at.ip(), IpAddr::V4(ip) if ip.is_loopback())
                    || at.ip() == IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);
                if local && loopback && at.port() != 0 {
                    Ok(Self { name: name.to_owned(), at: Some(at) })
                } else {
                    Err(InvalidHost)
                }
            }
            None => Err(InvalidHost),
        }
    }
}

/// Why a validationURL is not called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the validationURL that the wallet gave to the page, unchanged")]
pub struct ValidationUrlRefused;

/// The servers that a validationURL may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletHosts(Vec<WalletHost>);

impl WalletHosts {
    /// These and no others.
    pub fn new(hosts: Vec<WalletHost>) -> Self {
        Self(hosts)
    }

    /// All of them.
    pub fn all(&self) -> &[WalletHost] {
        &self.0
    }

    /// The server that `url` names. It is compared byte for byte with what the provider gives out, `https://HOST/PATH`, and never parsed: what no
    /// parser reads, no two parsers read differently. Only the host counts; whoever calls it makes an address of his own.
    ///
    /// # Errors
    /// [`ValidationUrlRefused`] for every other spelling.
    pub fn find(&self, url: &str) -> Result<&WalletHost, ValidationUrlRefused> {
        if LONGEST_URL < url.len() {
            return Err(ValidationUrlRefused);
        }
        let rest = url.strip_prefix("https://").ok_or(ValidationUrlRefused)?;
        let (host, path) = rest.split_once('/').ok_or(ValidationUrlRefused)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_".contains(&byte);
        if path.is_empty() || path.starts_with('/') || !path.bytes().all(plain) {
            return Err(ValidationUrlRefused);
        }
        self.0.iter().find(|known| known.name == host).ok_or(ValidationUrlRefused)
    }
}

#[cfg(test)]
mod tests;
