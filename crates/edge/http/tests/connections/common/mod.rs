//! A server with a few routes, and a client that writes bytes and reads answers as they come over the wire.

pub(crate) mod auth;

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use dropin_http::{ApiError, JsonBody, Limits, OptionalJsonBody, PathId, RunningServer, Server, json};
use dropin_kernel::SessionId;
use dropin_ports::StoreError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Far longer than anything here takes; only a broken server lets it pass.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) fn demo(config: &mut web::ServiceConfig) {
    async fn length(JsonBody(body): JsonBody) -> HttpResponse {
        json(StatusCode::OK, &body.len())
    }
    async fn optional(OptionalJsonBody(body): OptionalJsonBody) -> HttpResponse {
        json(StatusCode::OK, &body.map(|body| body.len()))
    }
    async fn show(PathId(id): PathId<SessionId>) -> HttpResponse {
        json(StatusCode::OK, &id.to_string())
    }
    #[derive(serde::Deserialize)]
    struct Query {
        wait: u8,
    }
    async fn query(query: web::Query<Query>) -> HttpResponse {
        json(StatusCode::OK, &query.wait)
    }
    async fn page() -> HttpResponse {
        HttpResponse::NotFound().content_type("text/html").body("<p>gone</p>")
    }
    async fn panics() -> HttpResponse {
        panic!("on purpose")
    }
    async fn away() -> Result<HttpResponse, ApiError> {
        Err(StoreError::Unavailable("SECRET-HOST is down".to_owned()).into())
    }
    async fn corrupt() -> Result<HttpResponse, ApiError> {
        Err(StoreError::Corrupt { table: "session", what: "SECRET".to_owned() }.into())
    }
    config
        .service(web::resource("/length").route(web::post().to(length)))
        .service(web::resource("/optional").route(web::post().to(optional)))
        .service(web::resource("/show/{id}").route(web::get().to(show)).route(web::delete().to(show)))
        .service(web::resource("/query").route(web::get().to(query)))
        .service(web::resource("/page").route(web::get().to(page)))
        .service(web::resource("/panics").route(web::get().to(panics)))
        .service(web::resource("/away").route(web::get().to(away)))
        .service(web::resource("/corrupt").route(web::get().to(corrupt)));
}

pub(crate) fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

pub(crate) fn start(limits: Limits) -> RunningServer {
    Server::new("test")
        .listen(loopback())
        .unwrap()
        .limits(limits)
        .mount("", demo)
        .mount("/below", demo)
        .start()
        .unwrap()
}

/// An answer as it came over the wire.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().filter_map(|line| line.split_once(": ")).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    #[track_caller]
    pub(crate) fn expect_error(&self, status: u16, code: &str) {
        let error: serde_json::Value = serde_json::from_str(&self.body).expect("every refusal is an Error object");
        assert_eq!((self.status, error["Code"].as_str()), (status, Some(code)), "{self:?}");
        assert!(error["Message"].as_str().is_some_and(|message| !message.is_empty()), "{self:?}");
        assert!(self.header("x-request-id").is_some(), "{self:?}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{self:?}");
    }
}

/// Reads one answer; its body has a content-length here.
pub(crate) async fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return Answer { status, head, body: body.to_owned() };
            }
        }
        let mut chunk = [0; 4096];
        let read = tokio::time::timeout(LONG, stream.read(&mut chunk)).await.expect("an answer in time").unwrap();
        assert!(read > 0, "the connection was closed without a whole answer: {text:?}");
        bytes.extend_from_slice(&chunk[..read]);
    }
}

pub(crate) async fn send(server: &RunningServer, request: impl AsRef<[u8]>) -> Answer {
    let mut stream = TcpStream::connect(server.addresses()[0]).await.unwrap();
    stream.write_all(request.as_ref()).await.unwrap();
    read_answer(&mut stream).await
}

pub(crate) async fn get(server: &RunningServer, path: &str) -> Answer {
    send(server, format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n")).await
}

pub(crate) fn post(path: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: t\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// Waits until the server has closed the connection, whatever is still in it.
pub(crate) async fn expect_closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    // A reset is an end too.
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut rest)).await.expect("the connection is closed");
}
