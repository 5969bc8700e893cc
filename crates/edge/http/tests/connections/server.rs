//! The server as a client on the wire meets it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{LONG, get, loopback, post, read_answer, send, start};
use actix_web::http::StatusCode;
use actix_web::web;
use async_trait::async_trait;
use dropin_http::{Limits, ServeError, Server, json};
use dropin_ports::{StoreError, StoreHealth};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

#[actix_web::test]
async fn every_refusal_is_an_error_object() {
    let server = start(Limits::default());
    get(&server, "/nothing").await.expect_error(404, "NOT_FOUND");
    get(&server, "/below/nothing").await.expect_error(404, "NOT_FOUND");
    get(&server, "/show/not-a-uuid").await.expect_error(400, "VALIDATION_ERROR");
    get(&server, "/query?wait=300").await.expect_error(400, "INVALID_REQUEST");
    get(&server, "/query").await.expect_error(400, "INVALID_REQUEST");
    let wrong = send(&server, "PATCH /below/show/x HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n").await;
    wrong.expect_error(405, "METHOD_NOT_ALLOWED");
    let mut allowed: Vec<_> = wrong.header("allow").unwrap().split(", ").collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["delete", "get"]);
    get(&server, "/panics").await.expect_error(500, "INTERNAL_SERVER_ERROR");
    let away = get(&server, "/away").await;
    away.expect_error(503, "SERVICE_UNAVAILABLE");
    assert!(away.header("retry-after").is_some());
    get(&server, "/corrupt").await.expect_error(500, "INTERNAL_SERVER_ERROR");
    assert!(!away.body.contains("SECRET"), "{away:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_page_for_people_stays_a_page() {
    let server = start(Limits::default());
    let page = get(&server, "/page").await;
    assert_eq!((page.status, page.header("content-type"), page.body.as_str()), (404, Some("text/html"), "<p>gone</p>"));
    server.stop().await;
}

#[actix_web::test]
async fn a_body_has_to_be_json_and_small() {
    let server = start(Limits::default());
    let ok = send(&server, post("/length", "application/json; charset=UTF-8", "{\"a\":1}")).await;
    assert_eq!((ok.status, ok.body.as_str()), (200, "7"));
    for kind in ["text/plain", "application/json; charset=latin1", "application/jsonx", ""] {
        let refused = send(&server, post("/length", kind, "{}")).await;
        refused.expect_error(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    let packed = "POST /length HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n";
    send(&server, format!("{packed}Content-Length: 2\r\n\r\n{{}}")).await.expect_error(415, "UNSUPPORTED_MEDIA_TYPE");
    let empty = send(&server, post("/optional", "text/plain", "")).await;
    assert_eq!((empty.status, empty.body.as_str()), (200, "null"));
    send(&server, post("/optional", "text/plain", "x")).await.expect_error(415, "UNSUPPORTED_MEDIA_TYPE");
    server.stop().await;
}

/// The whole of a body that is much too large is sent before anything is read, as simple clients do.
#[actix_web::test]
async fn the_sender_of_a_large_body_sees_the_refusal() {
    let server = start(Limits::default());
    let large = "x".repeat(3 * 1024 * 1024);
    send(&server, post("/length", "application/json", &large)).await.expect_error(413, "PAYLOAD_TOO_LARGE");
    send(&server, post("/nothing", "application/json", &large)).await.expect_error(404, "NOT_FOUND");
    send(&server, post("/length", "text/plain", &large)).await.expect_error(415, "UNSUPPORTED_MEDIA_TYPE");
    let chunked =
        "POST /length HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    send(&server, format!("{chunked}{chunk}")).await.expect_error(413, "PAYLOAD_TOO_LARGE");
    // What was read on leaves a connection that can be used again; beyond 4 MiB it is closed.
    let mut stream = TcpStream::connect(server.addresses()[0]).await.unwrap();
    stream.write_all(post("/length", "application/json", &large).as_bytes()).await.unwrap();
    read_answer(&mut stream).await.expect_error(413, "PAYLOAD_TOO_LARGE");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n").await.unwrap();
    assert_eq!(read_answer(&mut stream).await.status, 200);
    let huge = send(&server, post("/length", "application/json", &large.repeat(2))).await;
    huge.expect_error(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(huge.header("connection"), Some("close"));
    server.stop().await;
}

#[actix_web::test]
async fn a_slow_body_ends_at_its_deadline() {
    let server = start(Limits { body_deadline: Duration::from_millis(200), ..Limits::default() });
    let head = "POST /length HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{";
    let slow = send(&server, head).await;
    slow.expect_error(408, "REQUEST_TIMEOUT");
    assert_eq!(slow.header("connection"), Some("close"));
    server.stop().await;
}

#[actix_web::test]
async fn a_sane_request_id_comes_back_and_any_other_is_replaced() {
    let server = start(Limits::default());
    let with = |id: &str| format!("GET /nothing HTTP/1.1\r\nHost: t\r\nX-Request-Id: {id}\r\n\r\n");
    assert_eq!(send(&server, with("order-7.a_b")).await.header("x-request-id"), Some("order-7.a_b"));
    let replaced = send(&server, with("a b\"c")).await;
    assert_eq!(replaced.header("x-request-id").map(str::len), Some(36), "{replaced:?}");
    server.stop().await;
}

#[actix_web::test]
async fn only_loopback_goes_without_tls() {
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let refused = Server::new("test").listen(loopback()).unwrap().listen(everywhere).unwrap().start().map(|_| ());
    assert!(matches!(refused, Err(ServeError::Unprotected(address)) if address.ip() == everywhere.ip()));
    let behind_proxy = Server::new("test").listen(everywhere).unwrap().behind_proxy(true).start().unwrap();
    behind_proxy.stop().await;
}

#[actix_web::test]
async fn a_taken_address_is_named() {
    let server = start(Limits::default());
    let taken = server.addresses()[0];
    let refused = Server::new("test").listen(taken).map(|_| ());
    assert!(matches!(refused, Err(ServeError::InUse(address)) if address == taken));
    server.stop().await;
}

struct Fixed(Result<(), StoreError>);

/// Ready once, and then what it holds.
struct FlakyHealth(std::sync::atomic::AtomicBool, StoreError);

#[async_trait]
impl StoreHealth for FlakyHealth {
    async fn ready(&self) -> Result<(), StoreError> {
        if self.0.swap(true, std::sync::atomic::Ordering::Relaxed) { Err(self.1.clone()) } else { Ok(()) }
    }
}

#[actix_web::test]
async fn a_moment_without_the_database_leaves_the_program_in_service() {
    let away = StoreError::Unavailable("the connection was lost".to_owned());
    let refused = StoreError::Refused("permission denied for table deployment".to_owned());
    for (error, grace, expected) in [(&away, LONG, 200), (&away, Duration::ZERO, 503), (&refused, LONG, 503)] {
        let store = Arc::new(FlakyHealth(false.into(), error.clone()));
        let server = Server::new("test").listen(loopback()).unwrap().ready_when(store, grace).start().unwrap();
        assert_eq!(get(&server, "/readyz").await.status, 200);
        // What was answered is not asked again before.
        tokio::time::sleep(Duration::from_millis(250)).await;
        let answer = get(&server, "/readyz").await;
        assert_eq!(answer.status, expected, "{error} {grace:?}");
        if expected == 503 {
            assert!(answer.body.contains(&error.to_string()), "{answer:?}");
        }
        server.stop().await;
    }
}

#[async_trait]
impl StoreHealth for Fixed {
    async fn ready(&self) -> Result<(), StoreError> {
        self.0.clone()
    }
}

#[actix_web::test]
async fn health_readiness_and_counts() {
    let ready = |health| {
        Server::new("test").listen(loopback()).unwrap().ready_when(Arc::new(Fixed(health)), LONG).start().unwrap()
    };
    let server = ready(Ok(()));
    assert_eq!(get(&server, "/healthz").await.status, 200);
    assert_eq!(get(&server, "/readyz").await.status, 200);
    let metrics = get(&server, "/metrics").await;
    assert!(metrics.body.contains("_count{method=\"GET\",route=\"/readyz\",status=\"200\"} 1"), "{metrics:?}");
    server.stop().await;
    let server = ready(Err(StoreError::Unavailable("gone".to_owned())));
    assert_eq!(get(&server, "/healthz").await.status, 200);
    get(&server, "/readyz").await.expect_error(503, "SERVICE_UNAVAILABLE");
    server.stop().await;
    let (stop, stopping) = watch::channel(false);
    let server = Server::new("test").listen(loopback()).unwrap().ready_until(stopping).start().unwrap();
    assert_eq!(get(&server, "/readyz").await.status, 200);
    stop.send_replace(true);
    get(&server, "/readyz").await.expect_error(503, "SERVICE_UNAVAILABLE");
    server.stop().await;
}

/// A stop waits for the request that runs, not for connections that idle.
#[actix_web::test]
async fn a_stop_lets_running_requests_finish() {
    let (begun, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let seen = (begun.clone(), may_end.clone());
    let configure = move |config: &mut web::ServiceConfig| {
        let (begun, may_end) = seen.clone();
        let slow = move || {
            let (begun, may_end) = (begun.clone(), may_end.clone());
            async move {
                begun.add_permits(1);
                may_end.acquire().await.unwrap().forget();
                json(StatusCode::OK, "done")
            }
        };
        config.service(web::resource("/slow").route(web::get().to(slow)));
    };
    let server = Server::new("test").listen(loopback()).unwrap().mount("", configure).start().unwrap();
    let address = server.addresses()[0];
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n").await.unwrap();
    assert_eq!(read_answer(&mut idle).await.status, 200);
    let mut running = TcpStream::connect(address).await.unwrap();
    running.write_all(b"GET /slow HTTP/1.1\r\nHost: t\r\n\r\n").await.unwrap();
    begun.acquire().await.unwrap().forget();
    let stopping = actix_web::rt::spawn(server.stop());
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    may_end.add_permits(1);
    assert_eq!(read_answer(&mut running).await.body, "\"done\"");
    tokio::time::timeout(LONG, stopping).await.expect("idle connections do not hold up a stop").unwrap();
}
