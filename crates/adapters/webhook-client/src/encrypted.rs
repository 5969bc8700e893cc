//! The client over TLS: whom it believes, and that answers are watched over there too.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dropin_access::TargetPolicy;
use dropin_notification::DeliveryFailure;
use dropin_ports::{Sent, WebhookSender};
use futures_util::future::LocalBoxFuture;
use rustls::crypto::cipher::{OutboundChunks, OutboundPlainMessage};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ConnectionTrafficSecrets, ContentType, ProtocolVersion, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::client::{WebhookClient, WebhookClientConfig};
use crate::hostile::{BODY, Manner, Receiver, answered, failed, request, says};
use crate::internet::{Internet, SystemInternet};

/// The system's network, in which one certificate is believed.
struct Believing(CertificateDer<'static>);

impl Internet for Believing {
    fn find(&self, host: String) -> LocalBoxFuture<'static, io::Result<Vec<IpAddr>>> {
        SystemInternet.find(host)
    }

    fn dial(&self, address: SocketAddr) -> LocalBoxFuture<'static, io::Result<TcpStream>> {
        SystemInternet.dial(address)
    }

    fn is_own(&self, address: IpAddr) -> bool {
        SystemInternet.is_own(address)
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.clone()).expect("a certificate");
        roots
    }
}

/// A receiver with a certificate of its own, and a client that believes in it.
struct World {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    client: WebhookClient,
}

impl World {
    /// Is `localhost` and answers every request with `answer`.
    async fn answering(answer: &'static str) -> Self {
        Self::named("localhost", answer).await
    }

    async fn named(name: &str, answer: &'static str) -> Self {
        Self::with(name, vec![answer.as_bytes()]).await
    }

    /// Writes its answer in these records, where they are not longer than TLS allows.
    async fn with(name: &str, answer: Vec<&'static [u8]>) -> Self {
        let (server, certificate) = certified(name);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let (address, connections) = (listener.local_addr().expect("bound"), Arc::<AtomicUsize>::default());
        let (acceptor, counted) = (TlsAcceptor::from(Arc::new(server)), connections.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(acceptor.clone(), stream, answer.clone()));
            }
        });
        Self { address, connections, client: client(certificate) }
    }

    async fn send(&self, host: &str) -> Sent {
        self.client.send(request(format!("https://{host}:{}/hook", self.address.port()))).await
    }
}

/// A receiver by this name, and its certificate.
fn certified(name: &str) -> (ServerConfig, CertificateDer<'static>) {
    let pair = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a pair");
    let key = PrivateKeyDer::try_from(pair.signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let server = versions.expect("versions").with_no_client_auth();
    let server = server.with_single_cert(vec![pair.cert.der().clone()], key).expect("its own key");
    (server, pair.cert.der().clone())
}

fn client(believed: CertificateDer<'static>) -> WebhookClient {
    let quick = WebhookClientConfig {
        connect_deadline: Duration::from_millis(700),
        ..WebhookClientConfig::new(TargetPolicy::sandbox())
    };
    WebhookClient::start_with(quick, Arc::new(Believing(believed))).expect("a thread")
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, answer: Vec<&'static [u8]>) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut request = Vec::new();
    while stream.read_buf(&mut request).await? != 0 {
        if request.ends_with(BODY) {
            request.clear();
            for record in &answer {
                stream.write_all(record).await?;
            }
            stream.flush().await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_believed_certificate_is_enough_and_the_connection_is_used_again() {
    let world = World::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    for _ in 0..3 {
        let sent = world.send("localhost").await;
        assert_eq!((sent.outcome, sent.answer), (answered(200), b"ok".to_vec()));
    }
    assert_eq!(world.connections.load(Ordering::SeqCst), 1);
    let world = World::named("127.0.0.1", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(world.send("127.0.0.1").await.outcome, answered(200), "an address in a certificate");
}

#[tokio::test]
async fn answers_are_watched_over_there_too() {
    let interim = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let world = World::answering(interim).await;
    assert_eq!(world.send("localhost").await.outcome, answered(200));
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "X-More: and more\r\n".repeat(2_000));
    let world = World::answering(endless.leak()).await;
    assert_eq!(world.send("localhost").await.outcome, failed(DeliveryFailure::HeadLong));
}

/// A head, and behind it a body of so many bytes.
fn long_answer(length: usize) -> &'static [u8] {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length)).into_bytes().leak()
}

#[tokio::test]
async fn a_long_answer_is_read_whole_in_records_of_any_usual_length() {
    for record in [128, 1_000, 16_384] {
        let answer = long_answer(65_000).chunks(record).collect();
        let world = World::with("localhost", answer).await;
        for _ in 0..2 {
            let sent = world.send("localhost").await;
            assert_eq!((sent.outcome, sent.answer.len()), (answered(200), 4_096), "{record}");
        }
        assert_eq!(
            world.connections.load(Ordering::SeqCst),
            1,
            "one that is not read whole is not used again: {record}"
        );
    }
}

#[tokio::test]
async fn what_tls_wraps_around_an_answer_counts_too() {
    let world = World::with("localhost", long_answer(65_000).chunks(1).collect()).await;
    let sent = world.send("localhost").await;
    assert_eq!(sent.outcome, answered(200), "its head was complete");
    assert!((1_000..2_000).contains(&sent.answer.len()), "{} records of one byte were read", sent.answer.len());
}

/// Type and content of a record, which nobody checks before it is encrypted.
type Record = (ContentType, Vec<u8>);

/// Answers one request with these records, as they are.
async fn serve_records(
    mut server: ServerConfig,
    listener: TcpListener,
    records: impl Iterator<Item = Record>,
) -> io::Result<()> {
    server.enable_secret_extraction = true;
    server.send_tls13_tickets = 0;
    let (socket, _) = listener.accept().await?;
    let mut stream = TlsAcceptor::from(Arc::new(server)).accept(socket).await?;
    let mut request = Vec::new();
    while !request.ends_with(BODY) {
        stream.read_buf(&mut request).await?;
    }
    let (mut socket, connection) = stream.into_inner();
    let suite = connection.negotiated_cipher_suite().and_then(|suite| suite.tls13()).expect("TLS 1.3");
    let secrets = connection.dangerous_extract_secrets().expect("it is allowed");
    let (first, ConnectionTrafficSecrets::Aes256Gcm { key, iv }) = secrets.tx else { panic!("another cipher") };
    let mut encrypter = suite.aead_alg.encrypter(key, iv);
    for (number, (typ, content)) in (first..).zip(records) {
        let payload = OutboundChunks::Single(&content);
        let record = OutboundPlainMessage { typ, version: ProtocolVersion::TLSv1_2, payload };
        socket.write_all(&encrypter.encrypt(record, number).expect("encrypted").encode()).await?;
    }
    Ok(())
}

/// A client, and an address that answers with these records.
async fn answering_with(records: impl Iterator<Item = Record> + Send + 'static) -> (WebhookClient, String) {
    let (server, certificate) = certified("localhost");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(serve_records(server, listener, records));
    (client(certificate), format!("https://localhost:{port}/"))
}

#[tokio::test]
async fn an_answer_in_padded_records_is_not_read_on() {
    // The text, its type, and zeros to the full length (RFC 8446 section 5.4), of which the encrypter takes the last one for the type.
    let padded = |byte: &u8| {
        let text = [&[*byte, u8::from(ContentType::ApplicationData)][..], &[0; 16_382]].concat();
        (ContentType::Unknown(0), text)
    };
    let outcome_of = async |answer: &'static [u8]| {
        let (client, url) = answering_with(answer.iter().map(padded)).await;
        client.send(request(url)).await.outcome
    };
    assert_eq!(outcome_of(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await, failed(DeliveryFailure::AnswerLong));
    assert_eq!(outcome_of(b"?").await, failed(DeliveryFailure::NotHttp), "a single one is read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_without_an_end_are_not_read_and_hold_nobody_up() {
    // RFC 8446 section 4.6.1: a lifetime, what is added to the age, a nonce, the ticket, no extensions.
    let ticket = [&[4, 0, 0, 17][..], &[0, 0, 14, 16], &[0; 4], &[1, 7], &[0, 3, 1, 2, 3], &[0, 0]].concat();
    let (client, url) = answering_with(std::iter::repeat((ContentType::Handshake, ticket))).await;
    let well = Receiver::start(says("200 OK")).await;
    let begun = Instant::now();
    let quick = async {
        let outcome = client.send(request(well.url())).await.outcome;
        (outcome, begun.elapsed())
    };
    let (flooded, (outcome, took)) = tokio::join!(client.send(request(url)), quick);
    assert_eq!(flooded.outcome, failed(DeliveryFailure::AnswerLong));
    assert_eq!(outcome, answered(200));
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[tokio::test]
async fn others_certificates_are_not_believed() {
    let untrusted = failed(DeliveryFailure::HandshakeFailed);
    let world = World::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(world.send("127.0.0.1").await.outcome, untrusted, "another name");
    let other = World::answering("").await;
    let outcome = other.client.send(request(format!("https://localhost:{}/", world.address.port()))).await.outcome;
    assert_eq!(outcome, untrusted, "another authority");
}

#[tokio::test]
async fn who_speaks_no_tls_is_not_waited_for() {
    let world = World::answering("").await;
    let of = async |manner: Manner| {
        let receiver = Receiver::start(manner).await;
        let begun = Instant::now();
        let sent = world.client.send(request(format!("https://{}/", receiver.address))).await;
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        sent.outcome
    };
    // It waits for a request, and none comes before the handshake.
    assert_eq!(of(says("200 OK")).await, failed(DeliveryFailure::HandshakeLate));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(stream.write_all(b"HTTP/1.1 400 This is no TLS\r\n\r\n").await);
        }
    });
    let plain = world.client.send(request(format!("https://{address}/"))).await.outcome;
    let told = [DeliveryFailure::HandshakeFailed, DeliveryFailure::Closed];
    assert!(told.into_iter().any(|why| plain == failed(why)), "{plain:?}");
}
