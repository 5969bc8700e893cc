use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use dropin_private_file::{PrivacyError, read, watch};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use x509_parser::error::X509Error;
use x509_parser::time::ASN1Time;

const CHAIN: &str = "the server's certificate and those that vouch for it";
const KEY: &str = "the private key of the server's certificate";

/// A certificate chain and its key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate first, then those that vouch for it.
    pub certificate: PathBuf,
    /// The server certificate's private key.
    pub key: PathBuf,
}

/// Why TLS cannot be served with the configured files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or holds no PEM of the expected kind.
    #[error("cannot use {path} for TLS ({source}): it has to be a PEM file with {wanted}")]
    File {
        /// The configured file.
        path: PathBuf,
        /// What it should hold.
        wanted: &'static str,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// The key is open to other users, or cannot be read.
    #[error(transparent)]
    Private(#[from] PrivacyError),
    /// What the file holds is no X.509 certificate.
    #[error("cannot use the certificate in {path} for TLS: {source}")]
    Certificate {
        /// The configured file.
        path: PathBuf,
        /// What is wrong with it.
        source: X509Error,
    },
    /// No client would accept the certificate any more.
    #[error("the certificate in {path} ended at {when}: replace the file with a new one")]
    Ended {
        /// The configured file.
        path: PathBuf,
        /// Its end.
        when: String,
    },
    /// No client accepts the certificate yet.
    #[error(
        "the certificate in {path} is valid from {when} on: set the clock of this machine, or use one that is valid now"
    )]
    TooEarly {
        /// The configured file.
        path: PathBuf,
        /// Its beginning.
        when: String,
    },
    /// The files cannot be watched.
    #[error("cannot start a thread that watches the TLS files: {0}")]
    Watch(io::Error),
    /// Certificate and key do not fit.
    #[error("the TLS certificate and key cannot be used together: {0}")]
    Pair(#[from] rustls::Error),
}

impl TlsFiles {
    /// TLS 1.2 and 1.3 (docs/SPECIFICATION.md#http-transport) with these files, for HTTP/2 and HTTP/1.1. The files are watched: new connections use the
    /// certificate that they hold now, as long as it is usable, else the last one that was.
    ///
    /// # Errors
    /// [`TlsError`].
    pub(crate) fn load(&self) -> Result<ServerConfig, TlsError> {
        let (key, ends) = self.read(now())?;
        log::info!("the certificate in {} is valid until {ends}", self.certificate.display());
        let current = Arc::new(Current(RwLock::new(Arc::new(key))));
        let files = self.clone();
        let paths = vec![self.certificate.clone(), self.key.clone()];
        watch("tls-files", paths, &current, move |current| files.read_again(current)).map_err(TlsError::Watch)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(current);
        config.alpn_protocols = [&b"h2"[..], b"http/1.1"].map(<[u8]>::to_vec).into();
        Ok(config)
    }

    /// Checks that TLS can be served with these files now; when the certificate ends, in seconds since 1970.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn check(&self, now: i64) -> Result<i64, TlsError> {
        let (_, ends) = self.read(now)?;
        Ok(ends.timestamp())
    }

    /// Takes over what the files hold now, as far as it is usable.
    fn read_again(&self, current: &Current) {
        match self.read(now()) {
            Ok((key, ends)) => {
                *current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
                log::info!("read the certificate in {} again: it is valid until {ends}", self.certificate.display());
            }
            Err(error) => log::error!("{error}; the certificate that was read before stays in use"),
        }
    }

    /// The certificate chain with its key, and when the certificate ends.
    fn read(&self, now: i64) -> Result<(CertifiedKey, ASN1Time), TlsError> {
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|source| file(&self.certificate, CHAIN, source))?;
        let Some(own) = chain.first() else { return Err(file(&self.certificate, CHAIN, pem::Error::NoItemsFound)) };
        let ends = self.check_time(own, now)?;
        let pem = read(&self.key)?;
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|source| file(&self.key, KEY, source))?;
        Ok((CertifiedKey::from_der(chain, key, &provider())?, ends))
    }

    fn check_time(&self, certificate: &[u8], now: i64) -> Result<ASN1Time, TlsError> {
        let path = || self.certificate.clone();
        let parsed = x509_parser::parse_x509_certificate(certificate);
        let (_, parsed) = parsed.map_err(|source| TlsError::Certificate { path: path(), source: source.into() })?;
        let (begins, ends) = (parsed.validity().not_before, parsed.validity().not_after);
        match now {
            now if ends.timestamp() <= now => Err(TlsError::Ended { path: path(), when: ends.to_string() }),
            now if now < begins.timestamp() => Err(TlsError::TooEarly { path: path(), when: begins.to_string() }),
            _ => Ok(ends),
        }
    }
}

fn provider() -> CryptoProvider {
    rustls::crypto::aws_lc_rs::default_provider()
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// What is shown to clients now.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn file(path: &Path, wanted: &'static str, source: pem::Error) -> TlsError {
    TlsError::File { path: path.to_owned(), wanted, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// Files with a certificate that is valid from the beginning of one year to that of another.
    fn valid(from: i32, until: i32) -> (tempfile::TempDir, TlsFiles) {
        let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        (params.not_before, params.not_after) = (rcgen::date_time_ymd(from, 1, 1), rcgen::date_time_ymd(until, 1, 1));
        let key = rcgen::KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = TlsFiles { certificate: folder.path().join("chain.pem"), key: folder.path().join("key.pem") };
        fs::write(&files.certificate, params.self_signed(&key).unwrap().pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        fs::set_permissions(&files.key, PermissionsExt::from_mode(0o600)).unwrap();
        (folder, files)
    }

    #[test]
    fn a_certificate_that_clients_refuse_is_refused() {
        let year = |year: i32| rcgen::date_time_ymd(year, 6, 1).unix_timestamp();
        let (_folder, files) = valid(2020, 2030);
        assert_eq!(files.check(year(2026)).unwrap(), rcgen::date_time_ymd(2030, 1, 1).unix_timestamp());
        let ended = files.check(year(2030)).unwrap_err().to_string();
        assert!(ended.contains("chain.pem ended at") && ended.contains("2030"), "{ended}");
        let early = files.check(year(2019)).unwrap_err().to_string();
        assert!(early.contains("is valid from"), "{early}");
        let (_folder, past) = valid(2010, 2020);
        assert!(matches!(past.load(), Err(TlsError::Ended { .. })), "at the start");
    }

    #[test]
    fn a_key_that_others_may_read_or_that_belongs_to_another_certificate_is_refused() {
        let ((_one, mut files), (_two, other)) = (valid(2020, 4000), valid(2020, 4000));
        assert!(files.load().is_ok());
        fs::set_permissions(&files.key, PermissionsExt::from_mode(0o644)).unwrap();
        let message = files.load().unwrap_err().to_string();
        assert!(message.contains("chmod 600"), "{message}");
        files.key = other.key;
        assert!(matches!(files.load(), Err(TlsError::Pair(_))));
    }

    #[test]
    fn what_is_no_certificate_is_named_with_what_it_should_be() {
        let files = |certificate: &str| TlsFiles { certificate: certificate.into(), key: "Cargo.toml".into() };
        for wrong in ["Cargo.toml", "nowhere.pem"] {
            let message = files(wrong).load().unwrap_err().to_string();
            assert!(message.contains(wrong) && message.contains("PEM"), "{message}");
        }
    }
}
