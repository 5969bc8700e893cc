//! Slow and hostile clients. None of them may hold more than its share, nor for longer than the limits say.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Answer, LONG, expect_closed, get, loopback, post, read_answer, send, start};
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use dropin_http::{Limits, RunningServer, Server};
use futures_util::future::join_all;
use futures_util::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval, timeout};

/// actix looks at the clock every half second, so that a shorter limit would end too soon.
const SHORT: Duration = Duration::from_secs(1);

/// Limits that end soon.
fn short() -> Limits {
    Limits {
        head_deadline: SHORT,
        body_deadline: SHORT,
        write_deadline: SHORT,
        keep_alive: SHORT,
        client_rate: 0,
        ..Limits::default()
    }
}

async fn connect(server: &RunningServer) -> TcpStream {
    TcpStream::connect(server.addresses()[0]).await.unwrap()
}

/// Connects from another of this machine's addresses, as another client.
async fn connect_from(last: u8, server: &RunningServer) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0)))?;
    socket.connect(server.addresses()[0]).await
}

async fn ask(stream: &mut TcpStream, path: &str) -> Answer {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n").as_bytes()).await.unwrap();
    read_answer(stream).await
}

/// What `/metrics` says of one count.
async fn count(server: &RunningServer, name: &str) -> u64 {
    let metrics = get(server, "/metrics").await.body;
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::to_owned);
    line.unwrap_or_else(|| panic!("{name} is not in\n{metrics}")).parse().unwrap()
}

async fn until_count(server: &RunningServer, name: &str, wanted: u64) {
    let reached = async { while count(server, name).await < wanted {} };
    timeout(LONG, reached).await.unwrap_or_else(|_| panic!("{name} does not come to {wanted}"));
}

/// Sends a byte now and then until the server closes the connection; how long that took, and what was read meanwhile.
async fn dribble(stream: &mut TcpStream) -> (Duration, String) {
    let started = Instant::now();
    let mut ticks = interval(Duration::from_millis(20));
    let mut read = Vec::new();
    let gone = |error: io::Error| error.kind() != io::ErrorKind::WouldBlock;
    let closed = async {
        loop {
            tokio::select! {
                got = stream.read_buf(&mut read) => if got.unwrap_or(0) == 0 { return },
                _ = ticks.tick() => if stream.try_write(b"x").is_err_and(gone) { return },
            }
        }
    };
    timeout(LONG, closed).await.expect("a client that dribbles is cut off");
    (started.elapsed(), String::from_utf8(read).unwrap())
}

/// Sends chunks as fast as the server takes them until it closes the connection; how many bytes went out, and what came back.
async fn flood(stream: &mut TcpStream) -> (usize, String) {
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
    (sent, String::from_utf8(read).unwrap().to_ascii_lowercase())
}

const CHUNKED: &str = "Host: t\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

#[actix_web::test]
async fn a_dribbled_head_ends_at_its_deadline_on_every_request_of_a_connection() {
    let server = start(short());
    let mut first = connect(&server).await;
    first.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await.unwrap();
    let (_, answer) = dribble(&mut first).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("REQUEST_TIMEOUT"), "{answer}");
    let mut later = connect(&server).await;
    assert_eq!(ask(&mut later, "/healthz").await.status, 200);
    later.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await.unwrap();
    let (took, _) = dribble(&mut later).await;
    assert!(took < 6 * SHORT, "{took:?}");
    until_count(&server, "dropin_http_connections_cut_total{reason=\"idle\"}", 1).await;
    server.stop().await;
}

#[actix_web::test]
async fn a_dribbled_body_ends_at_its_deadline() {
    let server = start(short());
    for path in ["/length", "/nothing"] {
        let mut stream = connect(&server).await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let (took, answer) = dribble(&mut stream).await;
        assert!(took < 6 * SHORT, "{took:?}");
        assert!(answer.contains("\r\nconnection: close\r\n") && answer.contains("\"Code\""), "{answer}");
    }
    server.stop().await;
}

/// Sends the head of a request with a body of `length` bytes, and `sent` of them.
async fn begin_body(client: u8, server: &RunningServer, length: usize, sent: usize) -> TcpStream {
    let mut stream = connect_from(client, server).await.unwrap();
    let head = "POST /length HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length:";
    stream.write_all(format!("{head} {length}\r\n\r\n{}", "x".repeat(sent)).as_bytes()).await.unwrap();
    stream
}

#[actix_web::test]
async fn half_sent_bodies_share_a_bounded_memory_and_leave_room_for_small_ones() {
    const BUDGET: usize = 8 * 1024 * 1024;
    const CLIENTS: u8 = 48;
    const HELD: &str = "dropin_http_body_bytes";
    let server = start(Limits { body_memory: BUDGET, body_deadline: LONG, client_rate: 0, ..Limits::default() });
    let mut half = Vec::new();
    for number in 0..600_u16 {
        half.push(begin_body(10 + u8::try_from(number % u16::from(CLIENTS)).unwrap(), &server, 200_000, 100_000).await);
    }
    // Half of them would be four times the budget.
    until_count(&server, "dropin_http_rate_limited_total{limit=\"body\"}", 500).await;
    let held = count(&server, HELD).await;
    assert!(0 < held && held <= BUDGET as u64, "{held}");
    let mut refused = begin_body(70, &server, 100_000, 100_000).await;
    let answer = read_answer(&mut refused).await;
    answer.expect_error(503, "SERVICE_UNAVAILABLE");
    assert_eq!(answer.header("retry-after"), Some("1"));
    let small = begin_body(70, &server, 600, 600).await;
    assert_eq!(read_answer(&mut { small }).await.status, 200, "large bodies have half of it");
    drop(half);
    let given_back = async { while count(&server, HELD).await != 0 {} };
    timeout(LONG, given_back).await.expect("what was held is given back");
    let large = begin_body(70, &server, 100_000, 100_000).await;
    assert_eq!(read_answer(&mut { large }).await.status, 200);
    server.stop().await;
}

#[actix_web::test]
async fn an_announced_body_takes_no_memory_before_it_comes() {
    let server = start(Limits { body_deadline: LONG, client_rate: 0, ..Limits::default() });
    let mut announced = Vec::new();
    for client in 10..60 {
        announced.push(begin_body(client, &server, 250_000, 100).await);
    }
    until_count(&server, "dropin_http_body_bytes", 50 * 1024).await;
    assert_eq!(count(&server, "dropin_http_body_bytes").await, 50 * 1024);
    server.stop().await;
}

#[actix_web::test]
async fn an_endless_body_ends_soon_after_its_answer() {
    let server = start(Limits { body_deadline: LONG, ..short() });
    for (request, status) in [("POST /nothing", 404), ("POST /length", 413), ("GET /healthz", 200)] {
        let mut stream = connect(&server).await;
        stream.write_all(format!("{request} HTTP/1.1\r\n{CHUNKED}").as_bytes()).await.unwrap();
        let started = Instant::now();
        let (sent, answer) = flood(&mut stream).await;
        assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{request}: {answer}");
        assert!(answer.contains("connection: close"), "{request}: {answer}");
        // What is read on, twice, and what the system keeps on both sides.
        assert!(
            sent < 32 * 1024 * 1024 && started.elapsed() < 6 * SHORT,
            "{request}: {sent} in {:?}",
            started.elapsed()
        );
    }
    until_count(&server, "dropin_http_connections_cut_total{reason=\"flood\"}", 1).await;
    server.stop().await;
}

/// Dropped when the server gives up on the answer.
struct DropSignal(Arc<Semaphore>);

impl Drop for DropSignal {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// A server with an answer that never ends, and where to see that it was given up.
fn endless() -> (RunningServer, Arc<Semaphore>) {
    let given_up = Arc::new(Semaphore::new(0));
    let seen = given_up.clone();
    let configure = move |config: &mut web::ServiceConfig| {
        let seen = seen.clone();
        let endless = move || {
            let notice = DropSignal(seen.clone());
            let chunks = stream::repeat_with(move || {
                let _held = &notice;
                Ok::<_, io::Error>(Bytes::from_static(&[b'x'; 4096]))
            });
            async move { HttpResponse::Ok().streaming(chunks) }
        };
        config.service(web::resource("/endless").route(web::get().to(endless)));
    };
    let server = Server::new("test").listen(loopback()).unwrap().limits(short()).mount("", configure).start().unwrap();
    (server, given_up)
}

#[actix_web::test]
async fn a_client_that_never_reads_its_answer_is_cut_off_and_one_that_reads_is_not() {
    let (server, given_up) = endless();
    let mut reader = connect(&server).await;
    let mut silent = connect(&server).await;
    for stream in [&mut reader, &mut silent] {
        stream.write_all(b"GET /endless HTTP/1.1\r\nHost: t\r\n\r\n").await.unwrap();
    }
    let mut buffer = vec![0; 65_536];
    let cut = async {
        tokio::select! {
            permit = given_up.acquire() => permit.unwrap().forget(),
            () = async { while 0 < reader.read(&mut buffer).await.unwrap() {} } => panic!("whoever reads is served on"),
        }
    };
    timeout(LONG, cut).await.expect("an answer that nobody reads is given up");
    assert!(0 < reader.read(&mut buffer).await.unwrap());
    assert_eq!(given_up.available_permits(), 0, "the other goes on");
    until_count(&server, "dropin_http_connections_cut_total{reason=\"unread\"}", 1).await;
    drop((reader, silent));
    server.stop().await;
}

/// Answers that nobody reads pile up in pipelined requests too.
#[actix_web::test]
async fn pipelined_requests_are_answered_in_turn_and_only_while_somebody_reads() {
    let server = start(short());
    let mut stream = connect(&server).await;
    let requests = "GET /show/6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112 HTTP/1.1\r\nHost: t\r\n\r\n".repeat(100);
    stream.write_all(format!("{requests}GET /last HTTP/1.1\r\nHost: t\r\n\r\n").as_bytes()).await.unwrap();
    let mut read = String::new();
    let all = async { while !read.contains("NOT_FOUND") && stream.read_buf_string(&mut read).await {} };
    timeout(LONG, all).await.unwrap();
    assert_eq!(read.matches("HTTP/1.1 200 OK").count(), 100);
    let mut silent = connect(&server).await;
    let requests = requests.repeat(100);
    let refused = async { while silent.write_all(requests.as_bytes()).await.is_ok() {} };
    timeout(LONG, refused).await.expect("whoever only asks is cut off");
    server.stop().await;
}

trait ReadString {
    async fn read_buf_string(&mut self, text: &mut String) -> bool;
}

impl ReadString for TcpStream {
    async fn read_buf_string(&mut self, text: &mut String) -> bool {
        let mut bytes = vec![0; 65_536];
        let read = self.read(&mut bytes).await.unwrap_or(0);
        text.push_str(&String::from_utf8_lossy(&bytes[..read]));
        0 < read
    }
}

#[actix_web::test]
async fn one_client_has_its_share_of_connections_and_others_are_served() {
    let server = start(Limits { client_connections: 3, ..Limits::default() });
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = connect_from(2, &server).await.unwrap();
        assert_eq!(ask(&mut stream, "/healthz").await.status, 200);
        held.push(stream);
    }
    let mut more = connect_from(2, &server).await.unwrap();
    let refused = read_answer(&mut more).await;
    refused.expect_error(429, "RATE_LIMITED");
    assert_eq!((refused.header("retry-after"), refused.header("connection")), (Some("1"), Some("close")));
    expect_closed(&mut more).await;
    assert_eq!(get(&server, "/healthz").await.status, 200, "another client");
    assert_eq!(count(&server, "dropin_http_connections_refused_total").await, 1);
    drop(held.pop());
    let served = async {
        loop {
            let mut stream = connect_from(2, &server).await.unwrap();
            if ask(&mut stream, "/healthz").await.status == 200 {
                return;
            }
        }
    };
    timeout(LONG, served).await.expect("a place that was given up is free");
    server.stop().await;
}

/// As many as the machine gives one test: each connection is two open files of this process.
#[actix_web::test]
async fn thousands_of_idle_connections_do_not_keep_others_out() {
    const ATTACKERS: u8 = 8;
    const EACH: usize = 500;
    let server = start(Limits { client_connections: 100, ..Limits::default() });
    let mut held = Vec::new();
    for attacker in 10..10 + ATTACKERS {
        let server = &server;
        let opened = join_all((0..EACH).map(|_| connect_from(attacker, server)));
        held.extend(timeout(LONG, opened).await.unwrap().into_iter().map(Result::unwrap));
    }
    let refused = u64::from(ATTACKERS) * (EACH as u64 - 100);
    until_count(&server, "dropin_http_connections_refused_total", refused).await;
    let open = count(&server, "dropin_http_connections").await;
    assert!(u64::from(ATTACKERS) * 100 < open && open < u64::from(ATTACKERS) * 100 + 10, "{open}");
    assert_eq!(get(&server, "/healthz").await.status, 200);
    drop(held);
    server.stop().await;
}

/// All places are taken by clients that do nothing: whoever waits is served when they are cut off.
#[actix_web::test]
async fn a_full_server_serves_those_who_wait_when_idle_ones_are_cut() {
    let server = start(Limits { workers: 1, max_connections: 20, client_connections: 0, ..short() });
    let held = join_all((0..20).map(|_| connect(&server))).await;
    assert_eq!(get(&server, "/healthz").await.status, 200);
    drop(held);
    server.stop().await;
}

#[actix_web::test]
async fn what_the_parser_refuses_is_an_error_object_too() {
    let server = start(short());
    let flood = format!("GET /healthz HTTP/1.1\r\n{}\r\n", "X-Header: value\r\n".repeat(10_000));
    let long = format!("GET /healthz HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(300_000));
    for request in [
        "no request at all\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nbad header\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        &flood,
        &long,
    ] {
        let refused = send(&server, request).await;
        refused.expect_error(400, "INVALID_REQUEST");
        assert_eq!(refused.header("connection"), Some("close"), "{refused:?}");
    }
    // Behind an answer that is under way.
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\nnonsense\r\n\r\n").await.unwrap();
    let mut read = String::new();
    timeout(LONG, async { while stream.read_buf_string(&mut read).await {} }).await.unwrap();
    assert!(read.starts_with("HTTP/1.1 200 OK") && read.contains("INVALID_REQUEST"), "{read}");
    assert_eq!(count(&server, "dropin_http_unreadable_total").await, 6);
    server.stop().await;
}

#[actix_web::test]
async fn a_stop_waits_for_nobody_who_has_no_request() {
    let server = start(Limits { keep_alive: LONG, ..Limits::default() });
    let mut idle = connect(&server).await;
    assert_eq!(ask(&mut idle, "/healthz").await.status, 200);
    let mut head = connect(&server).await;
    head.write_all(b"GET /healthz HT").await.unwrap();
    let mut lingering = connect(&server).await;
    lingering.write_all(post("/nothing", "application/json", "{}").as_bytes()).await.unwrap();
    lingering.write_all(format!("GET /healthz HTTP/1.1\r\n{CHUNKED}").as_bytes()).await.unwrap();
    read_answer(&mut lingering).await;
    let started = Instant::now();
    timeout(LONG, server.stop()).await.unwrap();
    // actix looks once a second whether all connections are closed.
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}
