//! The thread that owns the HTTP clients. One call, one client, one deadline: a connection that was opened with one merchant's certificate is
//! never used for another's.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use actix_tls::connect::{Connector as TcpConnector, Resolver};
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use actix_web::rt::{System, spawn};
use awc::error::{ConnectError, SendRequestError};
use awc::{Client, ClientResponse, Connector};
use dropin_access::WalletDomain;
use dropin_ports::WalletSessionRequest;
use futures_util::StreamExt;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::client::{Job, WalletClientConfig};
use crate::identity::Identity;
use crate::names::{CallError, GuardedNames, Names, NotReachable, Reach};

const PRODUCT: &str = concat!("Dropin/", env!("CARGO_PKG_VERSION"));
/// Where the provider gives payment sessions (Apple Pay on the Web, Requesting an Apple Pay Payment Session).
const SESSION_PATH: &str = "/paymentservices/paymentSession";
/// Where the provider looks for the file too.
const ASSOCIATION_PATH: &str = "/.well-known/apple-developer-merchantid-domain-association";

/// Runs until every sender is gone.
pub(crate) fn run(config: WalletClientConfig, names: Arc<dyn Names>, mut inbox: mpsc::UnboundedReceiver<Job>) {
    System::new().block_on(async move {
        let caller = Arc::new(Caller { roots: system_roots(), config, names });
        while let Some(work) = inbox.recv().await {
            let caller = caller.clone();
            spawn(async move {
                let late = || Err("it did not answer in time".into());
                // Whoever asked may be gone.
                match work {
                    Job::Session { identity, request, reply } => {
                        let asked = timeout(caller.config.deadline, caller.session(*identity, &request)).await;
                        drop(reply.send(asked.unwrap_or_else(|_late| late())));
                    }
                    Job::Association { domain, reply } => {
                        let asked = timeout(caller.config.deadline, caller.association(&domain)).await;
                        drop(reply.send(asked.unwrap_or_else(|_late| late())));
                    }
                }
            });
        }
    });
}

fn system_roots() -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let (added, _ignored) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if added == 0 {
        log::warn!(
            "wallet: the system has no root certificates, so the provider cannot be called; install ca-certificates"
        );
    }
    Arc::new(roots)
}

struct Caller {
    roots: Arc<RootCertStore>,
    config: WalletClientConfig,
    names: Arc<dyn Names>,
}

impl Caller {
    async fn session(&self, identity: Identity, request: &WalletSessionRequest) -> Result<Vec<u8>, CallError> {
        let (reach, roots) = match request.host.at {
            Some(address) => (Reach::Fixed(address), self.sandbox_roots()?),
            None => (Reach::Public, self.roots.clone()),
        };
        let client = self.client(identity.client(roots)?, reach);
        let body = serde_json::json!({
            "merchantIdentifier": request.identifier,
            "displayName": request.display_name,
            "initiative": "web",
            "initiativeContext": request.domain,
        });
        // Made of our own constants: nothing of it stood in a request.
        let url = format!("https://{}{SESSION_PATH}", request.host.name);
        let sent =
            client.post(url).insert_header((CONTENT_TYPE, "application/json")).insert_header((USER_AGENT, PRODUCT));
        let answer = sent.send_body(body.to_string()).await.map_err(|error| why(&error))?;
        self.read(answer).await
    }

    async fn association(&self, domain: &WalletDomain) -> Result<Vec<u8>, CallError> {
        let (scheme, reach) = match domain.is_local() {
            true if self.config.sandbox => ("http", Reach::Local),
            true => return Err(NotReachable.into()),
            false => ("https", Reach::Public),
        };
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let url = format!("{scheme}://{domain}{ASSOCIATION_PATH}");
        let sent = self.client(tls, reach).get(url).insert_header((USER_AGENT, PRODUCT)).send().await;
        self.read(sent.map_err(|error| why(&error))?).await
    }

    /// No redirects, no proxy, no connection from before.
    fn client(&self, tls: rustls::ClientConfig, reach: Reach) -> Client {
        let resolver = Resolver::custom(GuardedNames { reach, names: self.names.clone() });
        let connector = Connector::new()
            .connector(TcpConnector::new(resolver).service())
            .rustls_0_23(Arc::new(tls))
            .timeout(self.config.connect_deadline)
            .handshake_timeout(self.config.connect_deadline);
        Client::builder().connector(connector).disable_redirects().disable_timeout().no_default_headers().finish()
    }

    async fn read<S>(&self, mut answer: ClientResponse<S>) -> Result<Vec<u8>, CallError>
    where
        S: futures_util::Stream<Item = Result<actix_web::web::Bytes, awc::error::PayloadError>> + Unpin,
    {
        let status = answer.status().as_u16();
        if status != 200 {
            return Err(format!("it answered with the status {status}").into());
        }
        let length = answer.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let mut read = Vec::new();
        while let Some(chunk) = answer.next().await {
            let chunk = chunk.map_err(|_broken| "its answer broke off")?;
            if self.config.answer_limit < read.len() + chunk.len() {
                return Err("its answer is too long".into());
            }
            read.extend_from_slice(&chunk);
        }
        // The end of the connection looks like the end of the answer.
        if length.is_some_and(|length: usize| read.len() < length) {
            return Err("its answer broke off".into());
        }
        Ok(read)
    }

    /// Read for every call: the sandbox's provider may have been started after us.
    fn sandbox_roots(&self) -> Result<Arc<RootCertStore>, CallError> {
        let path = self.config.sandbox_roots.as_deref().ok_or("there is no sandbox provider here")?;
        let mut roots = RootCertStore::empty();
        for root in read_roots(path).map_err(|error| format!("its root certificate cannot be read: {error}"))? {
            roots.add(root).map_err(|_unusable| "its root certificate cannot be used")?;
        }
        Ok(Arc::new(roots))
    }
}

fn read_roots(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let pem = fs::read(path)?;
    let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    roots.map_err(io::Error::other)
}

fn why(error: &SendRequestError) -> CallError {
    let why = match error {
        SendRequestError::Connect(ConnectError::Resolver(error)) if error.is::<NotReachable>() => {
            return NotReachable.into();
        }
        SendRequestError::Connect(ConnectError::Resolver(_) | ConnectError::NoRecords | ConnectError::Unresolved) => {
            "its name cannot be resolved"
        }
        SendRequestError::Connect(ConnectError::Timeout) => "no connection in time",
        SendRequestError::Connect(ConnectError::Io(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "the connection was refused"
        }
        SendRequestError::Connect(_) => "no connection could be made: perhaps one side's certificate is not accepted",
        SendRequestError::Send(_) | SendRequestError::Body(_) => "the connection broke while sending",
        SendRequestError::Response(_) => "its answer is not HTTP",
        _ => "the request could not be made",
    };
    why.into()
}
