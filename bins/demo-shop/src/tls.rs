use std::io;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// TLS 1.2 or newer with the system's roots when the service is reached over https; nothing for http.
///
/// # Errors
/// This machine has no root certificates.
pub fn client_config(base_url: &str) -> io::Result<Option<Arc<ClientConfig>>> {
    if !base_url.starts_with("https://") {
        return Ok(None);
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this machine has no root certificates; install them (ca-certificates) to use https",
        ));
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Some(Arc::new(config)))
}
