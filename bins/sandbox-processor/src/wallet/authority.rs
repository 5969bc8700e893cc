//! Who is who: the provider's own certificate authority.

use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use time::{Duration, OffsetDateTime};

/// The name under which the provider is called; such names never leave a machine (RFC 6761 section 6.3).
const NAME: &str = "wallet-gateway.localhost";
/// How long a certificate counts.
const LIFETIME: Duration = Duration::days(365);

/// Why there is no wallet provider.
#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    /// The folder or a file in it cannot be used.
    #[error("cannot use {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No certificate can be made, or the kept key is none.
    #[error(
        "cannot make a certificate: {0}; when the folder's key.pem is damaged, remove the folder and set merchants' certificates anew"
    )]
    Certificate(#[from] rcgen::Error),
    /// TLS cannot be set up.
    #[error("cannot set TLS up: {0}")]
    Tls(String),
}

/// What a merchant shows the provider: certificate and private key, in PEM. No Debug.
#[derive(Clone)]
pub struct IssuedIdentity {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// The provider's certificate authority: it proves the provider, and issues merchants' certificates. Clones are the same one.
#[derive(Clone)]
pub struct WalletAuthority(Arc<Authority>);

impl fmt::Debug for WalletAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WalletAuthority(..)")
    }
}

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: rcgen::Certificate,
    root_file: PathBuf,
}

impl WalletAuthority {
    /// Opens the authority whose key is in `folder`, or makes one; writes its root certificate there, for whoever has to believe it.
    ///
    /// # Errors
    /// [`WalletError`].
    pub fn open(folder: &Path) -> Result<Self, WalletError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| WalletError::File { path, source }
        };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
        let key_file = folder.join("key.pem");
        let key = match fs::read_to_string(&key_file) {
            Ok(pem) => KeyPair::from_pem(&pem)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = KeyPair::generate()?;
                write(&key_file, &key.serialize_pem()).map_err(failed(&key_file))?;
                key
            }
            Err(error) => return Err(failed(&key_file)(error)),
        };
        let params = root_params()?;
        let root = params.self_signed(&key)?;
        let root_file = folder.join("root.pem");
        write(&root_file, &root.pem()).map_err(failed(&root_file))?;
        Ok(Self(Arc::new(Authority { issuer: Issuer::new(params, key), root, root_file })))
    }

    /// Where the root certificate is.
    pub fn root_file(&self) -> &Path {
        &self.0.root_file
    }

    /// A certificate for the merchant that the provider knows by `identifier`.
    ///
    /// # Errors
    /// [`WalletError::Certificate`].
    pub fn issue(&self, identifier: &str) -> Result<IssuedIdentity, WalletError> {
        let mut params = leaf_params(Vec::new(), ExtendedKeyUsagePurpose::ClientAuth)?;
        params.distinguished_name.push(DnType::CommonName, identifier);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0.issuer)?;
        Ok(IssuedIdentity { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// How the provider listens: TLS 1.2 or newer, and no client without a certificate of ours.
    pub(super) fn tls(&self) -> Result<rustls::ServerConfig, WalletError> {
        let params = leaf_params(vec![NAME.to_owned()], ExtendedKeyUsagePurpose::ServerAuth)?;
        let key = KeyPair::generate()?;
        let chain = vec![params.signed_by(&key, &self.0.issuer)?.der().clone()];
        let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(|why| WalletError::Tls(why.to_owned()))?;
        let failed = |error: rustls::Error| WalletError::Tls(error.to_string());
        let mut roots = RootCertStore::empty();
        roots.add(self.0.root.der().clone()).map_err(failed)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .with_client_cert_verifier(verifier.map_err(|error| WalletError::Tls(error.to_string()))?)
            .with_single_cert(chain, private)
            .map_err(failed)
    }
}

/// The same every time but for its dates: what was issued before is believed after a restart, because the key is the same.
fn root_params() -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "Dropin sandbox wallet provider");
    dates(&mut params, LIFETIME * 10);
    Ok(params)
}

fn leaf_params(names: Vec<String>, purpose: ExtendedKeyUsagePurpose) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.extended_key_usages = vec![purpose];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Dropin sandbox");
    dates(&mut params, LIFETIME);
    Ok(params)
}

fn dates(params: &mut CertificateParams, lifetime: Duration) {
    let now = OffsetDateTime::now_utc();
    // Clocks differ.
    params.not_before = now - Duration::days(1);
    params.not_after = now + lifetime;
}

/// Readable for this user alone, whole or not at all.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_is_the_same_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("wallet");
        let first = WalletAuthority::open(&dir).unwrap();
        let again = WalletAuthority::open(&dir).unwrap();
        assert_eq!(first.0.issuer.key().serialize_pem(), again.0.issuer.key().serialize_pem());
        assert!(again.issue("merchant.example").unwrap().certificate.starts_with("-----BEGIN CERTIFICATE-----"));
        again.tls().unwrap();
        fs::write(dir.join("key.pem"), "damaged").unwrap();
        let message = WalletAuthority::open(&dir).err().unwrap().to_string();
        assert!(message.contains("remove the folder"), "{message}");
    }
}
