//! Slow and hostile clients. None of them may hold more than its share, nor for longer than the limits say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use common::{LONG, loopback, read_answer, start};
use dropin_http::{Limits, Running, Server};
use futures_util::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval, timeout};

const SHORT: Duration = Duration::from_millis(300);

/// Limits that end soon.
fn short() -> Limits {
    Limits { head_deadline: SHORT, body_deadline: SHORT, keep_alive: SHORT, ..Limits::default() }
}

async fn connect(server: &Running) -> TcpStream {
    TcpStream::connect(server.addresses()[0]).await.unwrap()
}

/// Sends a byte now and then until the server closes the connection; what was read meanwhile.
async fn dribble(stream: &mut TcpStream) -> Vec<u8> {
    let mut ticks = interval(Duration::from_millis(20));
    let mut read = Vec::new();
    let closed = async {
        loop {
            tokio::select! {
                got = stream.read_buf(&mut read) => if got.unwrap_or(0) == 0 { return },
                _ = ticks.tick() => if stream.try_write(b"x").is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock) { return },
            }
        }
    };
    timeout(LONG, closed).await.expect("a client that dribbles is cut off");
    read
}

/// Sends chunks as fast as the server takes them until it closes the connection; how many bytes went out.
async fn flood(stream: &mut TcpStream) -> (usize, Vec<u8>) {
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).into_bytes();
    let (mut reader, mut writer) = stream.split();
    let (mut sent, mut read) = (0, Vec::new());
    let writing = async {
        while writer.write_all(&chunk).await.is_ok() {
            sent += chunk.len();
        }
    };
    let reading = async { while reader.read_buf(&mut read).await.is_ok_and(|got| 0 < got) {} };
    timeout(LONG, async { tokio::join!(writing, reading) }).await.expect("an endless body is cut off");
    (sent, read)
}

#[actix_web::test]
async fn a_dribbled_head_ends_at_its_deadline_on_every_request_of_a_connection() {
    let server = start(short());
    let mut first = connect(&server).await;
    first.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await.unwrap();
    dribble(&mut first).await;
    let mut second = connect(&server).await;
    second.write_all(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n").await.unwrap();
    assert_eq!(read_answer(&mut second).await.status, 200);
    second.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await.unwrap();
    dribble(&mut second).await;
    server.stop().await;
}

#[actix_web::test]
async fn an_endless_body_ends_soon_after_its_answer() {
    let server = start(Limits { body_deadline: LONG, ..short() });
    for (request, status) in [("POST /nothing", 404), ("GET /healthz", 200)] {
        let mut stream = connect(&server).await;
        let head = format!("{request} HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let started = Instant::now();
        let (sent, read) = flood(&mut stream).await;
        let answer = String::from_utf8_lossy(&read).to_ascii_lowercase();
        println!("{request}: {sent} bytes in {:?}", started.elapsed());
        assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
    server.stop().await;
}

/// Dropped when the server gives up on the answer.
struct Notice(Arc<Semaphore>);

impl Drop for Notice {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

#[actix_web::test]
async fn a_client_that_never_reads_its_answer_is_cut_off() {
    let given_up = Arc::new(Semaphore::new(0));
    let seen = given_up.clone();
    let configure = move |config: &mut web::ServiceConfig| {
        let seen = seen.clone();
        let endless = move || {
            let notice = Notice(seen.clone());
            let chunks = stream::repeat_with(move || {
                let _held = &notice;
                Ok::<_, io::Error>(Bytes::from_static(&[b'x'; 4096]))
            });
            async move { HttpResponse::Ok().streaming(chunks) }
        };
        config.service(web::resource("/endless").route(web::get().to(endless)));
    };
    let server =
        Server::new("test").listen(loopback()).unwrap().limits(short()).mount("", configure).start().unwrap();
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: t\r\n\r\n").await.unwrap();
    timeout(LONG, given_up.acquire()).await.expect("an answer that nobody reads is given up").unwrap().forget();
    drop(stream);
    server.stop().await;
}
