//! A merchant's certificate and private key.

use std::sync::Arc;

use dropin_kernel::Timestamp;
use dropin_ports::WalletCredentials;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, InconsistentKeys, RootCertStore};

/// Certificates of one chain; more is no chain.
const LONGEST_CHAIN: usize = 8;

/// Read, and belonging together. No Debug.
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// When the certificate ends.
    pub(crate) ends: Timestamp,
}

impl Identity {
    /// Reads PEM. The messages say what is wrong and nothing of what stands there.
    pub(crate) fn read(credentials: &WalletCredentials) -> Result<Self, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(credentials.certificate.as_bytes()).collect();
        let chain = chain.map_err(|_not_pem| "the certificate is not PEM (-----BEGIN CERTIFICATE-----)")?;
        if chain.is_empty() || LONGEST_CHAIN < chain.len() {
            return Err(format!("the certificate's file must hold 1 to {LONGEST_CHAIN} certificates in PEM"));
        }
        let key = PrivateKeyDer::from_pem_slice(credentials.key.as_bytes())
            .map_err(|_not_pem| "the private key is not PEM without a password (-----BEGIN PRIVATE KEY-----)")?;
        let ends = end_of(&chain[0])?;
        let together = CertifiedKey::from_der(chain.clone(), key.clone_key(), &aws_lc_rs::default_provider());
        together.map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                "the private key does not belong to the certificate"
            }
            _ => "the private key is of a kind that cannot be used: RSA or ECDSA",
        })?;
        Ok(Self { chain, key, ends })
    }

    /// How to speak to a server that proves itself by one of `roots`: TLS 1.2 or 1.3, with this certificate.
    pub(crate) fn client(self, roots: Arc<RootCertStore>) -> Result<ClientConfig, String> {
        let mut client = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_client_auth_cert(self.chain, self.key)
            .map_err(|_refused| "the certificate and its key cannot be used")?;
        client.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(client)
    }
}

fn end_of(certificate: &CertificateDer<'_>) -> Result<Timestamp, String> {
    let parsed = x509_parser::parse_x509_certificate(certificate);
    let (_, certificate) = parsed.map_err(|_malformed| "the certificate is no X.509 certificate")?;
    Ok(Timestamp::from_micros(certificate.validity().not_after.timestamp().saturating_mul(1_000_000)))
}
