//! Hostile receivers, each with one attack, and how long each of their connections was held.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// One attack.
#[derive(Debug, Clone)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    scheme: &'static str,
    behaviour: Behaviour,
    /// Whether it means to hold the sender for as long as it can.
    pub(crate) holds: bool,
}

#[derive(Debug, Clone)]
enum Behaviour {
    /// Takes connections and neither reads nor speaks.
    Stalls,
    /// Reads the request, says this and waits.
    Says(Vec<u8>),
    /// Reads the request, says this and closes.
    Leaves(Vec<u8>),
    /// Reads the request, says the first, then the second again and again, with this pause.
    Repeats(Vec<u8>, Vec<u8>, Duration),
}

const FLOOD: Duration = Duration::ZERO;
const DRIP: Duration = Duration::from_millis(20);

/// Every way, with `canary` as the place that redirects lead to.
pub(crate) fn every(canary: SocketAddr) -> Vec<Attack> {
    let way = |name, holds, behaviour| Attack { name, scheme: "http", behaviour, holds };
    let text = |text: &str| text.as_bytes().to_vec();
    let repeats = |head: &str, piece: Vec<u8>, pause| Behaviour::Repeats(text(head), piece, pause);
    let chunked = "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n";
    let gzip = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ";
    let many = |line: &str| text(line).repeat(65_536 / line.len());
    let redirect = |place: String| {
        Behaviour::Leaves(format!("HTTP/1.1 307 There\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n").into_bytes())
    };
    vec![
        way("is silent", true, Behaviour::Says(vec![])),
        Attack { name: "stalls in TLS", scheme: "https", behaviour: Behaviour::Stalls, holds: false },
        way("drips its head", true, repeats("HTTP/1.1 200 OK\r\nX-Slow: ", text("x"), DRIP)),
        way("drips its head quickly", false, repeats("HTTP/1.1 200 OK\r\nX: ", text("x"), Duration::from_millis(1))),
        way("drips its body", true, repeats("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", text("x"), DRIP)),
        way("drips chunks", true, repeats(chunked, text("1\r\nx\r\n"), DRIP)),
        way("drips interim answers", false, repeats("", text("HTTP/1.1 100 Continue\r\n\r\n"), DRIP)),
        way("floods", false, repeats("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", many("x"), FLOOD)),
        way("floods without an end", false, repeats("HTTP/1.0 200 OK\r\n\r\n", many("x"), FLOOD)),
        way("floods chunks", false, repeats(chunked, many("1\r\nx\r\n"), FLOOD)),
        way("floods a chunk's size", false, repeats(&format!("{chunked}1;"), many("x"), FLOOD)),
        way("floods trailers", false, repeats(&format!("{chunked}0\r\n"), many("X-Trailer: x\r\n"), FLOOD)),
        way("floods its head", false, repeats("HTTP/1.1 200 OK\r\n", many("X-More: and more\r\n"), FLOOD)),
        way("floods a header", false, repeats("HTTP/1.1 200 OK\r\nX-Long: ", many("x"), FLOOD)),
        way("floods interim answers", false, repeats("", many("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"), FLOOD)),
        way("has a chunk of all bytes", false, Behaviour::Leaves(text(&format!("{chunked}FFFFFFFFFFFFFFFFFF\r\nx")))),
        way("promises a huge chunk", true, Behaviour::Says(text(&format!("{chunked}7FFFFFFFFFFFFFF\r\nx")))),
        way(
            "packs a bomb",
            false,
            Behaviour::Leaves([text(&format!("{gzip}{}\r\n\r\n", bomb().len())), bomb()].concat()),
        ),
        way("packs one and lies", true, Behaviour::Says([text(&format!("{gzip}60000\r\n\r\n")), bomb()].concat())),
        way("leaves at once", false, Behaviour::Leaves(vec![])),
        way("leaves in its head", false, Behaviour::Leaves(text("HTTP/1.1 200 OK\r\nContent-"))),
        way("leaves in its body", false, Behaviour::Leaves(text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nso"))),
        way("redirects here", false, redirect(format!("http://{canary}/"))),
        way("redirects to metadata", false, redirect("http://169.254.169.254/latest/meta-data/".to_owned())),
        way(
            "switches protocols",
            false,
            Behaviour::Says(text("HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")),
        ),
    ]
}

/// Zeros, packed with deflate's fixed codes (RFC 1951 section 3.2.6) in a gzip member: 40,000 bytes become six million.
fn bomb() -> Vec<u8> {
    // One zero and then, over and over, 258 more of it from the distance of one. Both together take 13 bits: 8 for the longest length
    // (code 285: 11000101), 5 for the shortest distance (code 0).
    let mut bits: Vec<bool> = [true, true, false].to_vec();
    bits.extend([false, false, true, true, false, false, false, false]);
    for _ in 0..24_600 {
        bits.extend([true, true, false, false, false, true, false, true]);
        bits.extend([false; 5]);
    }
    let byte = |bits: &[bool]| bits.iter().rev().fold(0u8, |byte, bit| byte << 1 | u8::from(*bit));
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    head.into_iter().chain(bits.chunks(8).map(byte)).collect()
}

/// A listening receiver that attacks.
#[derive(Clone)]
pub(crate) struct HostileReceiver {
    pub(crate) attack: Attack,
    address: SocketAddr,
    held: Arc<Mutex<Vec<Duration>>>,
}

impl HostileReceiver {
    pub(crate) async fn start(attack: Attack) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let hostile = Self { attack, address: listener.local_addr().expect("bound"), held: Arc::default() };
        let working = hostile.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(working.clone().hold(stream));
            }
        });
        hostile
    }

    /// The address that a merchant would register.
    pub(crate) fn url(&self) -> String {
        format!("{}://{}/hook", self.attack.scheme, self.address)
    }

    /// How long connections were held, from taking them until the sender closed.
    pub(crate) fn held(&self) -> Vec<Duration> {
        self.held.lock().expect("no panic").clone()
    }

    async fn hold(self, mut stream: TcpStream) {
        let begun = Instant::now();
        // Whatever goes wrong here is that the sender has closed.
        drop(self.work(&mut stream).await);
        self.held.lock().expect("no panic").push(begun.elapsed());
    }

    async fn work(&self, stream: &mut TcpStream) -> io::Result<()> {
        match &self.attack.behaviour {
            Behaviour::Stalls => {}
            Behaviour::Says(words) => {
                read_request(stream).await?;
                stream.write_all(words).await?;
            }
            Behaviour::Leaves(words) => {
                read_request(stream).await?;
                return stream.write_all(words).await;
            }
            Behaviour::Repeats(head, piece, pause) => {
                read_request(stream).await?;
                stream.write_all(head).await?;
                loop {
                    stream.write_all(piece).await?;
                    if !pause.is_zero() {
                        sleep(*pause).await;
                    }
                }
            }
        }
        // Until the sender closes.
        let mut rest = [0; 4_096];
        while stream.read(&mut rest).await? != 0 {}
        Ok(())
    }
}

/// Reads to the end of the body, which its head announces.
async fn read_request(stream: &mut TcpStream) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if length.unwrap_or(0) <= body.len() {
                return Ok(());
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
