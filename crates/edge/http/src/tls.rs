use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::version::{TLS12, TLS13};

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
    /// Certificate and key do not fit.
    #[error("the TLS certificate and key cannot be used together: {0}")]
    Pair(#[from] rustls::Error),
}

impl TlsFiles {
    /// TLS 1.2 and 1.3 (contract, Authentication 3) with these files, for HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    /// [`TlsError`].
    pub(crate) fn load(&self) -> Result<ServerConfig, TlsError> {
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|source| file(&self.certificate, CHAIN, source))?;
        if chain.is_empty() {
            return Err(file(&self.certificate, CHAIN, pem::Error::NoItemsFound));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|source| file(&self.key, KEY, source))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = [&b"h2"[..], b"http/1.1"].map(<[u8]>::to_vec).into();
        Ok(config)
    }
}

fn file(path: &Path, wanted: &'static str, source: pem::Error) -> TlsError {
    TlsError::File { path: path.to_owned(), wanted, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_named_with_what_it_should_be() {
        let files = |certificate: &str| TlsFiles { certificate: certificate.into(), key: "Cargo.toml".into() };
        for wrong in ["Cargo.toml", "nowhere.pem"] {
            let message = files(wrong).load().unwrap_err().to_string();
            assert!(message.contains(wrong) && message.contains("PEM"), "{message}");
        }
    }
}
