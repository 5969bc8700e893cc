//! The client against providers that do as they like.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dropin_access::{WalletDomain, WalletHost};
use dropin_kernel::Timestamp;
use dropin_ports::{WalletCredentials, WalletFailure, WalletProvider, WalletSessionRequest};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::client::{WalletClient, WalletClientConfig};
use crate::names::Names;

const SESSION: &str = r#"{"any":"thing"}"#;

/// A certificate authority, of the provider and of merchants alike.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: rcgen::Certificate,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "test root");
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), root }
    }

    fn credentials(&self, name: &str) -> WalletCredentials {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        WalletCredentials { certificate: certificate.pem(), key: key.serialize_pem().into() }
    }

    fn server(&self, versions: &[&'static rustls::SupportedProtocolVersion]) -> rustls::ServerConfig {
        let params = CertificateParams::new([WalletHost::SANDBOX.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let chain = vec![params.signed_by(&key, &self.issuer).unwrap().der().clone()];
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.root.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
        rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, PrivateKeyDer::try_from(key.serialize_der()).unwrap())
            .unwrap()
    }
}

/// A provider that demands a certificate, answers every request with the same bytes, and keeps what it was sent.
#[derive(Clone)]
struct Provider {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    async fn start(tls: rustls::ServerConfig, says: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider =
            Self { address: listener.local_addr().unwrap(), connections: Arc::default(), requests: Arc::default() };
        let serving = provider.clone();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.connections.fetch_add(1, Ordering::SeqCst);
                let (acceptor, serving, says) = (acceptor.clone(), serving.clone(), says.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut request = Vec::new();
                    while !is_whole(&request) {
                        let mut some = [0; 1024];
                        match stream.read(&mut some).await {
                            Ok(0) | Err(_) => return,
                            Ok(read) => request.extend_from_slice(&some[..read]),
                        }
                    }
                    serving.requests.lock().unwrap().push(String::from_utf8(request).unwrap());
                    let _gone = stream.write_all(says.as_bytes()).await;
                    let _gone = stream.shutdown().await;
                });
            }
        });
        provider
    }

    fn host(&self) -> WalletHost {
        WalletHost { name: WalletHost::SANDBOX.to_owned(), at: Some(self.address) }
    }
}

/// Whether head and body are there.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    length.unwrap_or(0) <= body.len()
}

/// A name server with one answer.
struct Says(Vec<SocketAddr>);

impl Names for Says {
    fn find<'a>(&'a self, _: &'a str, _: u16) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + 'a>> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

struct World {
    authority: Authority,
    roots: PathBuf,
    _folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
        let roots = folder.path().join("root.pem");
        std::fs::write(&roots, authority.root.pem()).unwrap();
        Self { authority, roots, _folder: folder }
    }

    fn client(&self) -> WalletClient {
        let deadline = Duration::from_millis(1_500);
        let config = WalletClientConfig { deadline, ..WalletClientConfig::sandbox(self.roots.clone()) };
        WalletClient::start_with(config, Arc::new(Says(vec![]))).unwrap()
    }

    async fn provider(&self, says: String) -> Provider {
        Provider::start(self.authority.server(&[&TLS12, &TLS13]), says).await
    }
}

fn request(host: WalletHost) -> WalletSessionRequest {
    WalletSessionRequest {
        host,
        identifier: "merchant.example.shop".to_owned(),
        display_name: "Ana's \"mugs\"".to_owned(),
        domain: "shop.example".to_owned(),
        client: 1,
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_asked_for_with_the_merchants_certificate() {
    let world = World::new();
    for versions in [&[&TLS12][..], &[&TLS13]] {
        let provider = Provider::start(world.authority.server(versions), ok(SESSION)).await;
        let credentials = world.authority.credentials("merchant.example.shop");
        let answer = world.client().start_session(credentials, request(provider.host())).await;
        assert_eq!(answer, Ok(SESSION.as_bytes().to_vec()));
        let requests = provider.requests.lock().unwrap().clone();
        let [sent] = &requests[..] else { panic!("{requests:?}") };
        let (head, body) = sent.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /paymentservices/paymentSession HTTP/1.1\r\n"), "{head}");
        assert!(head.to_ascii_lowercase().contains(&format!("host: {}", WalletHost::SANDBOX)), "{head}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(body).unwrap(),
            serde_json::json!({"merchantIdentifier": "merchant.example.shop", "displayName": "Ana's \"mugs\"",
                "initiative": "web", "initiativeContext": "shop.example"})
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_session_is_a_failure_of_the_provider() {
    let world = World::new();
    let redirect = "HTTP/1.1 302 Found\r\nLocation: https://wallet-gateway.localhost/\r\nContent-Length: 0\r\n\r\n";
    for (says, why) in [
        ("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_owned(), "status 500"),
        (redirect.to_owned(), "status 302"),
        (ok(&"x".repeat(70_000)), "too long"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_owned(), "broke off"),
        ("SSH-2.0\r\n\r\n".to_owned(), "not HTTP"),
        (String::new(), "c"),
    ] {
        let provider = world.provider(says.clone()).await;
        let credentials = world.authority.credentials("m");
        match world.client().start_session(credentials, request(provider.host())).await {
            Err(WalletFailure::Provider(said)) => assert!(said.contains(why), "{says}: {said}"),
            other => panic!("{says}: {other:?}"),
        }
        assert_eq!(provider.connections.load(Ordering::SeqCst), 1, "{says}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_takes_its_time_is_left() {
    let world = World::new();
    // Takes the connection and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = WalletHost { name: WalletHost::SANDBOX.to_owned(), at: Some(silent.local_addr().unwrap()) };
    let answer = world.client().start_session(world.authority.credentials("m"), request(host)).await;
    assert_eq!(answer, Err(WalletFailure::Provider("it did not answer in time".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_believed_but_the_right_authority() {
    let (world, other) = (World::new(), World::new());
    let provider = other.provider(ok(SESSION)).await;
    let answer = world.client().start_session(other.authority.credentials("m"), request(provider.host())).await;
    assert!(matches!(answer, Err(WalletFailure::Provider(_))), "{answer:?}");
    let provider = world.provider(ok(SESSION)).await;
    let answer = world.client().start_session(other.authority.credentials("m"), request(provider.host())).await;
    assert!(matches!(answer, Err(WalletFailure::Provider(_))), "{answer:?}");
    assert_eq!(provider.requests.lock().unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_inside_is_not_called() {
    let world = World::new();
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let inside = canary.local_addr().unwrap();
    for found in
        [vec![inside], vec!["8.8.8.8:443".parse().unwrap(), inside], vec!["169.254.169.254:443".parse().unwrap()]]
    {
        let client = WalletClient::start_with(WalletClientConfig::production(), Arc::new(Says(found))).unwrap();
        let host = WalletHost { name: "apple-pay-gateway.apple.com".to_owned(), at: None };
        let answer = client.start_session(world.authority.credentials("m"), request(host)).await;
        assert_eq!(answer, Err(WalletFailure::HostNotPublic));
        let domain = WalletDomain::parse("shop.example", false).unwrap();
        let why = client.fetch_association(&domain).await.unwrap_err();
        assert!(why.contains("private, local or reserved"), "{why}");
        let local = WalletDomain::parse(&format!("localhost:{}", inside.port()), true).unwrap();
        assert!(client.fetch_association(&local).await.is_err(), "not in production");
    }
    let nobody = tokio::time::timeout(Duration::ZERO, canary.accept()).await;
    assert!(nobody.is_err(), "somebody called");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_looks_at_this_machine() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = vec![0; 4_096];
        let read = stream.read(&mut head).await.unwrap();
        let head = String::from_utf8_lossy(&head[..read]).into_owned();
        let right = head.starts_with("GET /.well-known/apple-developer-merchantid-domain-association HTTP/1.1");
        stream.write_all(ok(if right { "the file" } else { "?" }).as_bytes()).await.unwrap();
    });
    let world = World::new();
    let client =
        WalletClient::start_with(WalletClientConfig::sandbox(world.roots.clone()), Arc::new(Says(vec![address])));
    let domain = WalletDomain::parse(&format!("localhost:{}", address.port()), true).unwrap();
    assert_eq!(client.unwrap().fetch_association(&domain).await, Ok(b"the file".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_merchant_leaves_room_for_the_others() {
    let world = World::new();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = WalletHost { name: WalletHost::SANDBOX.to_owned(), at: Some(silent.local_addr().unwrap()) };
    let (client, credentials) = (world.client(), world.authority.credentials("m"));
    let calls = |by: fn(u128) -> u128| -> Vec<_> {
        let call = |number| {
            let (client, credentials) = (client.clone(), credentials.clone());
            let request = WalletSessionRequest { client: by(number), ..request(host.clone()) };
            tokio::spawn(async move { client.start_session(credentials, request).await })
        };
        (0..20).map(call).collect()
    };
    let busy = async |calls: Vec<tokio::task::JoinHandle<_>>| {
        let mut busy = 0;
        for call in calls {
            busy += usize::from(call.await.unwrap() == Err(WalletFailure::Busy));
        }
        busy
    };
    assert_eq!(busy(calls(|number| number)).await, 4, "16 of one merchant");
    assert_eq!(busy(calls(|_| 7)).await, 16, "4 of one client");
    let again = client.start_session(credentials, request(host)).await;
    assert!(matches!(again, Err(WalletFailure::Provider(_))), "places are given back: {again:?}");
}

#[test]
fn certificates_are_looked_at() {
    let (world, other) = (World::new(), World::new());
    let client = world.client();
    let good = world.authority.credentials("m");
    let ends = client.inspect(&good).unwrap();
    assert!(Timestamp::from_micros(0) < ends);
    let strange = WalletCredentials { key: other.authority.credentials("m").key, ..good.clone() };
    let swapped = WalletCredentials { certificate: good.key.to_string(), key: good.certificate.clone().into() };
    let damaged = WalletCredentials { certificate: good.certificate.replace("MII", "MIA"), ..good.clone() };
    let empty = WalletCredentials { certificate: String::new(), ..good.clone() };
    for (wrong, why) in [(strange, "does not belong"), (swapped, "PEM"), (damaged, "X.509"), (empty, "1 to 8")] {
        let Err(WalletFailure::Credentials(said)) = client.inspect(&wrong) else { panic!("taken: {why}") };
        assert!(said.contains(why) && !said.contains("MI"), "{said}");
    }
}
