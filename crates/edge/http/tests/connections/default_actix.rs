//! What actix' own server lets a client hold, with the same deadlines, while ours closes the connection (docs/adr/0005).
//!
//! Each test attacks both servers side by side and waits until ours has cut the attacker off. The other one must hold it still: where an
//! update of actix closes it too, the test fails, and that part of the connection layer can go.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::common::{LONG, loopback};
use actix_web::dev::ServerHandle;
use actix_web::{App, HttpResponse, HttpServer, web};
use bytes::Bytes;
use dropin_http::{Limits, RunningServer, Server};
use futures_util::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{interval, timeout};

const SHORT: Duration = Duration::from_secs(1);

/// A route that answers at once without reading a body, one that reads it, and one whose answer never ends.
fn routes(config: &mut web::ServiceConfig) {
    async fn quick() -> &'static str {
        "quick"
    }
    async fn length(body: Bytes) -> String {
        body.len().to_string()
    }
    async fn endless() -> HttpResponse {
        HttpResponse::Ok().streaming(stream::repeat_with(|| Ok::<_, io::Error>(Bytes::from_static(&[b'x'; 4096]))))
    }
    config
        .service(web::resource("/quick").to(quick))
        .service(web::resource("/length").to(length))
        .service(web::resource("/endless").to(endless));
}

/// Our server, and actix' own with every deadline that it has.
struct Both {
    ours: RunningServer,
    default: ServerHandle,
    default_address: SocketAddr,
}

impl Both {
    fn start(limits: Limits) -> Self {
        let limits =
            Limits { head_deadline: SHORT, write_deadline: SHORT, keep_alive: SHORT, client_rate: 0, ..limits };
        let ours = Server::new("test").listen(loopback()).unwrap().limits(limits).mount("", routes).start().unwrap();
        let default = HttpServer::new(|| App::new().configure(routes))
            .workers(1)
            .keep_alive(SHORT)
            .client_request_timeout(SHORT)
            .client_disconnect_timeout(SHORT)
            .shutdown_timeout(0)
            .disable_signals()
            .bind(loopback())
            .unwrap();
        let default_address = default.addrs()[0];
        let default = default.run();
        let handle = default.handle();
        actix_web::rt::spawn(default);
        Self { ours, default: handle, default_address }
    }

    /// Attacks both until ours has closed the connection. actix' own must hold it then.
    async fn only_ours_cuts(self, attack: impl AsyncFn(TcpStream)) {
        let [ours, default] = [self.ours.addresses()[0], self.default_address].map(TcpStream::connect);
        let (ours, default) = (attack(ours.await.unwrap()), attack(default.await.unwrap()));
        let ours = async { timeout(LONG, ours).await.expect("ours cuts the attacker off") };
        tokio::select! {
            biased;
            () = default => panic!("actix cuts the attacker off, too: is this part of ours still needed?"),
            () = ours => {}
        }
        self.stop().await;
    }

    async fn stop(self) {
        self.default.stop(false).await;
        self.ours.stop().await;
    }
}

/// Sends `piece` now and then, and reads what comes, until the connection is closed.
async fn dribble(mut stream: TcpStream, piece: &[u8]) {
    let (mut ticks, mut read) = (interval(Duration::from_millis(20)), [0; 4096]);
    loop {
        tokio::select! {
            got = stream.read(&mut read) => if got.unwrap_or(0) == 0 { return },
            _ = ticks.tick() => if stream.write_all(piece).await.is_err() { return },
        }
    }
}

async fn answered(stream: &mut TcpStream) {
    stream.write_all(b"GET /quick HTTP/1.1\r\nHost: t\r\n\r\n").await.unwrap();
    let mut read = Vec::new();
    while !read.ends_with(b"quick") {
        stream.read_buf(&mut read).await.unwrap();
    }
}

#[actix_web::test]
async fn a_later_head_has_no_deadline() {
    Both::start(Limits::default())
        .only_ours_cuts(async |mut stream| {
            answered(&mut stream).await;
            stream.write_all(b"GET /quick HTTP/1.1\r\nX: ").await.unwrap();
            dribble(stream, b"x").await;
        })
        .await;
}

#[actix_web::test]
async fn a_body_that_a_handler_waits_for_has_no_deadline() {
    Both::start(Limits { body_deadline: SHORT, ..Limits::default() })
        .only_ours_cuts(async |mut stream| {
            stream.write_all(b"POST /length HTTP/1.1\r\nHost: t\r\nContent-Length: 99999\r\n\r\n").await.unwrap();
            dribble(stream, b"x").await;
        })
        .await;
}

/// Behind its answer, a byte at a time or as fast as it is taken.
#[actix_web::test]
async fn a_chunked_body_that_nobody_reads_has_no_end() {
    const HEAD: &[u8] = b"GET /quick HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).into_bytes();
    for piece in [&b"1\r\nx\r\n"[..], &chunk] {
        Both::start(Limits { body_deadline: SHORT, ..Limits::default() })
            .only_ours_cuts(async |mut stream| {
                stream.write_all(HEAD).await.unwrap();
                dribble(stream, piece).await;
            })
            .await;
    }
}

#[actix_web::test]
async fn an_answer_that_its_client_does_not_take_is_kept() {
    Both::start(Limits::default())
        .only_ours_cuts(async |mut stream| {
            stream.write_all(b"GET /endless HTTP/1.1\r\nHost: t\r\n\r\n").await.unwrap();
            // Reads nothing, and sees that the connection was closed by writing.
            let mut ticks = interval(Duration::from_millis(20));
            loop {
                ticks.tick().await;
                match stream.try_write(b"x") {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                    _ => {}
                }
            }
        })
        .await;
}

#[actix_web::test]
async fn one_client_may_have_every_connection() {
    const SHARE: usize = 3;
    let both = Both::start(Limits { client_connections: SHARE, ..Limits::default() });
    let mut held = Vec::new();
    for _ in 0..SHARE {
        for address in [both.ours.addresses()[0], both.default_address] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            answered(&mut stream).await;
            held.push(stream);
        }
    }
    answered(&mut TcpStream::connect(both.default_address).await.unwrap()).await;
    let mut refused = String::new();
    let mut stream = TcpStream::connect(both.ours.addresses()[0]).await.unwrap();
    stream.read_to_string(&mut refused).await.unwrap();
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    both.stop().await;
}
