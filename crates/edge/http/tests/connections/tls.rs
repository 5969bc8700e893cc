//! TLS and HTTP/2, with clients that write frames by hand.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{LONG, loopback};
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use dropin_http::{Limits, RunningServer, Server, TlsFiles};
use futures_util::stream;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const SHORT: Duration = Duration::from_secs(1);

/// A server of a certificate of its own, and a client that believes in it.
struct World {
    server: RunningServer,
    config: ClientConfig,
    /// Gets a permit for every endless answer that the server gives up.
    given_up: Arc<Semaphore>,
    /// Where the server reads its certificate and key.
    files: tempfile::TempDir,
}

/// Writes a new key and its certificate; the certificate.
fn new_pair(folder: &Path) -> CertificateDer<'static> {
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = folder.join("key.pem");
    fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(folder.join("chain.pem"), pair.cert.pem()).unwrap();
    CertificateDer::from_pem_slice(pair.cert.pem().as_bytes()).unwrap()
}

impl World {
    fn start() -> Self {
        Self::keeping(SHORT)
    }

    /// Keeps idle connections that long.
    fn keeping(keep_alive: Duration) -> Self {
        let files = tempfile::tempdir().unwrap();
        let tls = TlsFiles { certificate: files.path().join("chain.pem"), key: files.path().join("key.pem") };
        let mut roots = RootCertStore::empty();
        roots.add(new_pair(files.path())).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = versions.with_root_certificates(roots).with_no_client_auth();
        let given_up = Arc::new(Semaphore::new(0));
        let limits = Limits {
            workers: 1,
            head_deadline: SHORT,
            write_deadline: SHORT,
            keep_alive,
            client_rate: 0,
            client_connections: 3,
            ..Limits::default()
        };
        let server = Server::new("test").listen(loopback()).unwrap().tls(Some(tls)).limits(limits);
        let server = server.mount("", routes(given_up.clone())).mount_uncounted("/own", &[], routes(given_up.clone()));
        let server = server.start().unwrap();
        Self { server, config, given_up, files }
    }

    async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.server.addresses()[0]).await.unwrap()
    }

    async fn connect(&self, protocol: &str) -> io::Result<TlsStream<TcpStream>> {
        let mut config = self.config.clone();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, self.tcp().await).await
    }

    async fn http2(&self, window: u32) -> Http2 {
        let mut stream = self.connect("h2").await.unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let mut client = Http2 { stream, answered: 0 };
        let window = window.to_be_bytes();
        client.send(SETTINGS, 0, 0, &[0, 4, window[0], window[1], window[2], window[3]]).await.unwrap();
        client
    }
}

/// `/endless` sends for ever, `/waits` never answers.
fn routes(given_up: Arc<Semaphore>) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    struct DropSignal(Arc<Semaphore>);
    impl Drop for DropSignal {
        fn drop(&mut self) {
            self.0.add_permits(1);
        }
    }
    move |config| {
        let given_up = given_up.clone();
        let endless = move || {
            let notice = DropSignal(given_up.clone());
            let chunks = stream::repeat_with(move || {
                let _held = &notice;
                Ok::<_, io::Error>(Bytes::from_static(&[b'x'; 4096]))
            });
            async move { HttpResponse::Ok().streaming(chunks) }
        };
        let waits = || async { std::future::pending::<HttpResponse>().await };
        config
            .service(web::resource("/endless").route(web::get().to(endless)))
            .service(web::resource("/waits").route(web::get().to(waits)));
    }
}

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;
/// END_STREAM and END_HEADERS.
const WHOLE: u8 = 5;

struct Http2 {
    stream: TlsStream<TcpStream>,
    answered: usize,
}

impl Http2 {
    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.stream.write_all(&[&head, payload].concat()).await?;
        self.stream.flush().await
    }

    /// GET of a short path.
    async fn get(&mut self, stream: u32, path: &str) -> io::Result<()> {
        self.get_with(stream, path, &[]).await
    }

    /// The same with more headers, as HPACK writes them.
    async fn get_with(&mut self, stream: u32, path: &str, headers: &[u8]) -> io::Result<()> {
        let path = [&[0x04, u8::try_from(path.len()).unwrap()], path.as_bytes()].concat();
        self.send(HEADERS, WHOLE, stream, &[&[0x82, 0x87, 0x01, 1, b't'], &path[..], headers].concat()).await
    }

    /// Reads a frame; answers pings and settings, counts answers. `false` when the connection has ended.
    async fn read(&mut self) -> bool {
        let mut head = [0; 9];
        if self.stream.read_exact(&mut head).await.is_err() {
            return false;
        }
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        if self.stream.read_exact(&mut payload).await.is_err() {
            return false;
        }
        match (head[3], head[4] & ACK) {
            (PING, 0) => self.send(PING, ACK, 0, &payload).await.is_ok(),
            (SETTINGS, 0) => self.send(SETTINGS, ACK, 0, &[]).await.is_ok(),
            (HEADERS, _) => {
                self.answered += 1;
                true
            }
            _ => true,
        }
    }

    async fn until_answered(&mut self, wanted: usize) {
        let answered = async { while self.answered < wanted && self.read().await {} };
        timeout(LONG, answered).await.expect("answers in time");
        assert_eq!(self.answered, wanted, "the connection ended");
    }

    async fn until_closed(&mut self) {
        timeout(LONG, async { while self.read().await {} }).await.expect("the connection is closed");
    }
}

/// A certificate that was replaced is shown to the next client without a restart; one that cannot be used changes nothing.
#[actix_web::test]
async fn a_new_certificate_is_used_and_a_broken_one_is_not() {
    let world = World::start();
    let shown = async || {
        let stream = world.connect("http/1.1").await.ok()?;
        stream.get_ref().1.peer_certificates().map(|chain| chain[0].clone().into_owned())
    };
    assert!(shown().await.is_some());
    for broken in ["chain.pem", "key.pem"] {
        let path = world.files.path().join(broken);
        let right = fs::read(&path).unwrap();
        fs::write(&path, "broken").unwrap();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        assert!(shown().await.is_some(), "the old one is still shown while {broken} is broken");
        fs::write(&path, right).unwrap();
    }
    // The client believes in the first certificate alone: once the second is shown, it refuses.
    new_pair(world.files.path());
    let begun = Instant::now();
    while shown().await.is_some() {
        assert!(begun.elapsed() < LONG, "the new certificate is never shown");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    world.server.stop().await;
}

#[actix_web::test]
async fn both_protocols_are_served_over_tls() {
    let world = World::start();
    let mut http1 = world.connect("http/1.1").await.unwrap();
    http1.write_all(b"GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    // Without a farewell of TLS the end is an error, and what came before counts.
    let _ = timeout(LONG, http1.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("strict-transport-security"), "{answer}");
    let mut http2 = world.http2(65_535).await;
    for stream in [1, 3, 5] {
        http2.get(stream, "/healthz").await.unwrap();
    }
    http2.until_answered(3).await;
    drop(http2);
    world.server.stop().await;
}

#[actix_web::test]
async fn a_handshake_has_the_time_of_a_head_and_counts_as_a_connection() {
    let world = World::start();
    let mut silent = [world.tcp().await, world.tcp().await, world.tcp().await];
    let mut nothing = Vec::new();
    // The place of one is needed, and they have all.
    let served = async { while world.connect("http/1.1").await.is_err() {} };
    let refused = timeout(SHORT / 4, world.connect("http/1.1")).await.expect("refused at once");
    assert!(refused.is_err());
    for stream in &mut silent {
        timeout(LONG, stream.read_to_end(&mut nothing))
            .await
            .expect("a handshake that does not come is cut off")
            .unwrap();
    }
    timeout(LONG, served).await.expect("their places are free");
    world.server.stop().await;
}

#[actix_web::test]
async fn an_idle_http2_connection_is_closed_whatever_it_says_to_pings() {
    let world = World::start();
    let mut client = world.http2(65_535).await;
    client.get(1, "/healthz").await.unwrap();
    client.until_answered(1).await;
    client.until_closed().await;
    world.server.stop().await;
}

#[actix_web::test]
async fn an_http2_client_that_gives_no_window_is_cut_off() {
    let world = World::start();
    let mut client = world.http2(0).await;
    client.get(1, "/endless").await.unwrap();
    client.get(3, "/waits").await.unwrap();
    timeout(LONG, async {
        tokio::select! {
            permit = world.given_up.acquire() => permit.unwrap().forget(),
            () = async { while client.read().await {} std::future::pending().await } => {}
        }
    })
    .await
    .expect("an answer that nobody takes is given up");
    world.server.stop().await;
}

#[actix_web::test]
async fn one_http2_connection_has_its_share_of_requests() {
    let world = World::start();
    for path in ["/waits", "/own/waits"] {
        let mut client = world.http2(65_535).await;
        for request in 0..200 {
            client.get(2 * request + 1, path).await.unwrap();
        }
        client.until_answered(200 - 128).await;
    }
    let mut http1 = world.connect("http/1.1").await.unwrap();
    http1.write_all(b"GET /metrics HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut metrics = String::new();
    // Without a farewell of TLS the end is an error, and what came before counts.
    let _ = timeout(LONG, http1.read_to_string(&mut metrics)).await.unwrap();
    assert!(metrics.contains("dropin_http_rate_limited_total{limit=\"connection\"} 144"), "{metrics}");
    drop(http1);
    world.server.stop().await;
}

#[actix_web::test]
async fn many_headers_in_few_bytes_are_refused() {
    let world = World::start();
    let mut client = world.http2(65_535).await;
    // One byte each: the sixteenth line of RFC 7541's table, accept-encoding.
    for (stream, path, headers, answered) in [(1, "/healthz", 90, 1), (3, "/waits", 200, 2)] {
        client.get_with(stream, path, &vec![0x90; headers]).await.unwrap();
        client.until_answered(answered).await;
    }
    drop(client);
    world.server.stop().await;
}

#[actix_web::test]
async fn a_stop_does_not_wait_for_idle_http2_connections() {
    let world = World::keeping(LONG);
    let mut client = world.http2(65_535).await;
    client.get(1, "/healthz").await.unwrap();
    client.until_answered(1).await;
    let started = Instant::now();
    timeout(LONG, world.server.stop()).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    client.until_closed().await;
}
