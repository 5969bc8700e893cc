//! How many requests a merchant and a client address may send.

use std::sync::Arc;

use crate::common::auth::{Users, configure};
use crate::common::{Answer, LONG, demo, get, loopback, read_answer};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dropin_http::{Limits, RunningServer, Server};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

fn start(limits: Limits, behind_proxy: bool) -> (RunningServer, Arc<Users>) {
    let users = Arc::new(Users::default());
    let server = Server::new("test").listen(loopback()).unwrap().limits(Limits { workers: 1, ..limits });
    (server.behind_proxy(behind_proxy).mount("", configure(&users)).start().unwrap(), users)
}

/// One client on one connection.
struct Caller {
    stream: TcpStream,
    headers: String,
}

impl Caller {
    async fn new(server: &RunningServer, headers: impl Into<String>) -> Self {
        Self { stream: TcpStream::connect(server.addresses()[0]).await.unwrap(), headers: headers.into() }
    }

    async fn get(&mut self, path: &str) -> Answer {
        let request = format!("GET {path} HTTP/1.1\r\nHost: t\r\n{}\r\n", self.headers);
        self.stream.write_all(request.as_bytes()).await.unwrap();
        read_answer(&mut self.stream).await
    }

    /// Sends so many requests; how many were served, and how many are served by right in that time.
    async fn burst(&mut self, requests: usize, path: &str, rate: u32) -> (usize, std::ops::RangeInclusive<usize>) {
        let started = Instant::now();
        let mut served = 0;
        for _ in 0..requests {
            let answer = self.get(path).await;
            if answer.status == 429 {
                answer.expect_error(429, "RATE_LIMITED");
                assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}");
                // Pages may read what an address is told, and nothing that is told to a merchant.
                let to_address = answer.body.contains("from this address");
                assert_eq!(answer.header("access-control-allow-origin"), to_address.then_some("*"), "{answer:?}");
                let exposed = to_address.then_some("x-request-id, retry-after");
                assert_eq!(answer.header("access-control-expose-headers"), exposed);
            } else {
                served += 1;
            }
        }
        let (burst, seconds) = (2 * rate as usize, started.elapsed().as_secs_f64());
        let more = (seconds * f64::from(rate)).ceil() as usize;
        (served, burst.min(requests)..=(burst + more).min(requests))
    }

    async fn until_served(&mut self, path: &str) {
        let served = async { while self.get(path).await.status == 429 {} };
        timeout(LONG, served).await.expect("whoever waits is served again");
    }
}

fn basic(username: &str, password: &str) -> String {
    format!("Authorization: Basic {}\r\n", STANDARD.encode(format!("{username}:{password}")))
}

#[actix_web::test]
async fn strangers_share_the_rate_of_their_address() {
    for path in ["/public", "/nothing", "/mine"] {
        let (server, _) = start(Limits { client_rate: 3, ..Limits::default() }, false);
        let mut stranger = Caller::new(&server, "").await;
        let (served, right) = stranger.burst(50, path, 3).await;
        assert!(right.contains(&served), "{path}: {served} of {right:?}");
        // Addresses of the server's own are not counted, and the connection stays.
        assert_eq!(stranger.get("/healthz").await.status, 200);
        stranger.until_served(path).await;
        let metrics = get(&server, "/metrics").await.body;
        assert!(!metrics.contains("dropin_http_rate_limited_total{limit=\"client\"} 0"), "{metrics}");
        server.stop().await;
    }
}

#[actix_web::test]
async fn each_merchant_has_a_rate_of_its_own_and_keeps_it_beside_an_attacker() {
    let (server, users) = start(Limits { client_rate: 2, merchant_rate: 20, ..Limits::default() }, false);
    let mut ana = Caller::new(&server, basic("ana", "right")).await;
    let mut bob = Caller::new(&server, basic("bob", "right")).await;
    assert_eq!((ana.get("/mine").await.body, bob.get("/mine").await.body), ("\"ana\"".into(), "\"bob\"".into()));
    // Somebody at the same address guesses passwords, and what is wrong is not even looked up any more.
    let before = users.lookups();
    let started = Instant::now();
    for guess in 0..200 {
        let status = Caller::new(&server, basic("ana", &guess.to_string())).await.get("/mine").await.status;
        assert!([401, 429].contains(&status), "{status}");
    }
    let allowed = 4 + 2 * (started.elapsed().as_secs() as usize + 1);
    assert!(users.lookups() - before <= allowed, "{} reads, {allowed} allowed", users.lookups() - before);
    let (served, right) = ana.burst(100, "/mine", 20).await;
    assert!(*right.start() - 1 <= served && served <= *right.end(), "{served} of {right:?}");
    assert_eq!(bob.get("/mine").await.status, 200, "ana's requests do not count against bob");
    ana.until_served("/mine").await;
    server.stop().await;
}

#[actix_web::test]
async fn whoever_was_right_is_let_in_by_every_worker_while_the_address_is_flooded() {
    let users = Arc::new(Users::default());
    let limits = Limits { workers: 2, client_rate: 1, merchant_rate: 0, ..Limits::default() };
    let server = Server::new("test").listen(loopback()).unwrap().listen(loopback()).unwrap().limits(limits);
    let server = server.mount("", configure(&users)).start().unwrap();
    let mut stranger = Caller::new(&server, "").await;
    assert_eq!(Caller::new(&server, basic("ana", "right")).await.get("/mine").await.status, 200);
    // Connections go to the workers by turns.
    for address in server.addresses().repeat(6) {
        let mut ana = Caller { stream: TcpStream::connect(address).await.unwrap(), headers: basic("ana", "right") };
        while stranger.get("/public").await.status != 429 {}
        assert_eq!(ana.get("/mine").await.status, 200);
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_part_that_knows_its_callers_is_not_counted_and_no_other() {
    let limits = Limits { workers: 1, client_rate: 2, ..Limits::default() };
    let server = Server::new("test").listen(loopback()).unwrap().limits(limits);
    let server = server.mount("", demo).mount("/own/counted", demo).mount_uncounted("/own", &[], demo).start().unwrap();
    let mut caller = Caller::new(&server, "").await;
    for path in ["/own/query?wait=1", "/own/nothing", "/own"] {
        assert_eq!(caller.burst(50, path, 2).await.0, 50, "{path}");
    }
    let metrics = get(&server, "/metrics").await.body;
    let line = "_count{method=\"GET\",route=\"/own/query\",status=\"200\"} 50";
    assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    for path in ["/ownership", "/own%2fquery?wait=1", "/own/counted/query?wait=1", "/query?wait=1"] {
        let (served, right) = caller.burst(50, path, 2).await;
        assert!(served <= *right.end(), "{path}: {served} of {right:?}");
        caller.until_served(path).await;
    }
    server.stop().await;
}

#[actix_web::test]
async fn right_credentials_are_no_way_around_the_rate_of_an_address() {
    let (server, _) = start(Limits { client_rate: 2, merchant_rate: 0, ..Limits::default() }, false);
    let mut ana = Caller::new(&server, basic("ana", "right")).await;
    assert_eq!(ana.get("/mine").await.status, 200);
    let (served, right) = ana.burst(100, "/public", 2).await;
    // One more than by right: the one that shows what the credentials are used for.
    assert!(served <= right.end() + 1, "{served} of {right:?}");
    let (served, _) = Caller::new(&server, "").await.burst(100, "/mine", 2).await;
    assert!(served < 10, "{served}");
    server.stop().await;
}

#[actix_web::test]
async fn behind_a_proxy_its_clients_are_told_apart() {
    let (server, _) = start(Limits { client_rate: 2, client_connections: 1, ..Limits::default() }, true);
    let client = |entry: &str| format!("X-Forwarded-For: 192.0.2.1, {entry}\r\n");
    let mut one = Caller::new(&server, client("198.51.100.7")).await;
    let mut other = Caller::new(&server, client("198.51.100.8")).await;
    let (served, right) = one.burst(50, "/public", 2).await;
    assert!(right.contains(&served), "{served} of {right:?}");
    assert_eq!(other.get("/public").await.status, 200);
    // Not from outside, even over a proxy of this machine.
    other.get("/metrics").await.expect_error(404, "NOT_FOUND");
    assert_eq!(get(&server, "/metrics").await.status, 200);
    server.stop().await;
}

#[actix_web::test]
async fn metrics_may_have_an_address_of_their_own() {
    let server = Server::new("test").listen(loopback()).unwrap();
    let free = std::net::TcpListener::bind(loopback()).unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let server = server.metrics_on(Some(address)).unwrap().start().unwrap();
    get(&server, "/metrics").await.expect_error(404, "NOT_FOUND");
    let mut stream = TcpStream::connect(address).await.unwrap();
    for (path, status) in [("/metrics", 200), ("/healthz", 200), ("/mine", 404)] {
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: t\r\nVia: 1.1 p\r\n\r\n").as_bytes()).await.unwrap();
        assert_eq!(read_answer(&mut stream).await.status, status, "{path}");
    }
    server.stop().await;
}
