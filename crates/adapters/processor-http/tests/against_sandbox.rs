//! The client against the real sandbox processor, over HTTP on loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::TcpListener;
use std::time::{Duration, Instant};

use actix_web::{App, HttpServer, rt};
use dropin_card::Card;
use dropin_kernel::{OpId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_order::DeclineReason;
use dropin_ports::{AuthorizeRequest, CaptureRequest, Processor, ProcessorAnswer, StatusAnswer};
use dropin_processor_http::{HttpProcessor, ProcessorConfig};
use sandbox_processor::{Config, SandboxProcessor};
use uuid::Uuid;

const KEY: &str = "key-of-this-test";

struct Bench {
    processor: HttpProcessor,
    _data: tempfile::TempDir,
}

/// A sandbox processor on a free port, and our client for it.
async fn bench(deadline: Duration) -> Bench {
    let data = tempfile::tempdir().unwrap();
    let config = Config {
        database: data.path().join("processor.db"),
        key: KEY.to_owned(),
        capture_delay: Duration::from_millis(200),
        silence: Duration::from_secs(60),
    };
    let sandbox = SandboxProcessor::open(config).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = HttpServer::new(move || App::new().configure(sandbox.configure()))
        .workers(1)
        .disable_signals()
        .listen(listener)
        .unwrap()
        .run();
    rt::spawn(server);
    let config = ProcessorConfig::new(&format!("http://{address}"), KEY.to_owned(), deadline).unwrap();
    Bench { processor: HttpProcessor::start(config).unwrap(), _data: data }
}

fn key() -> OpId {
    OpId::new(Uuid::new_v4())
}

fn eur(minor: i64) -> Amount {
    Amount::from_minor(Currency::Eur, minor).unwrap()
}

fn authorize(key: OpId, number: &str, minor: i64) -> AuthorizeRequest {
    let order_id = OrderId::new(Uuid::new_v4());
    AuthorizeRequest { key, order_id, amount: eur(minor), card: Card::new("Ana", number, "123", "2031", "12") }
}

#[actix_web::test]
async fn authorize_then_capture_a_part() {
    let bench = bench(Duration::from_secs(5)).await;
    let (authorization, capture) = (key(), key());
    let answer = bench.processor.authorize(authorize(authorization, "4242424242424242", 10_00)).await;
    assert_eq!(answer, ProcessorAnswer::Approved { amount: eur(10_00) });
    let request = CaptureRequest { key: capture, authorization, amount: eur(4_00) };
    let answer = bench.processor.capture(request.clone()).await;
    assert_eq!(answer, ProcessorAnswer::Approved { amount: eur(4_00) });
    assert_eq!(bench.processor.capture(request).await, answer, "the same key has one effect");
    assert_eq!(bench.processor.status(capture).await, StatusAnswer::Known(answer));
}

#[actix_web::test]
async fn declines_say_why() {
    let bench = bench(Duration::from_secs(5)).await;
    for (number, reason) in
        [("4000000000000002", DeclineReason::Generic), ("4000000000009995", DeclineReason::InsufficientFunds)]
    {
        let answer = bench.processor.authorize(authorize(key(), number, 1_00)).await;
        assert!(matches!(answer, ProcessorAnswer::Declined { reason: found, .. } if found == reason), "{answer:?}");
    }
}

#[actix_web::test]
async fn done_but_500_is_unknown_and_found_by_its_key() {
    let bench = bench(Duration::from_secs(5)).await;
    let key = key();
    let answer = bench.processor.authorize(authorize(key, "4000000000000119", 7_00)).await;
    assert!(matches!(answer, ProcessorAnswer::Unknown { .. }), "{answer:?}");
    assert_eq!(bench.processor.status(key).await, StatusAnswer::Known(ProcessorAnswer::Approved { amount: eur(7_00) }));
}

#[actix_web::test]
async fn silence_ends_at_the_deadline_and_an_abandoned_key_never_charges() {
    let bench = bench(Duration::from_millis(400)).await;
    let key = key();
    let begun = Instant::now();
    let answer = bench.processor.authorize(authorize(key, "4000000000003014", 7_00)).await;
    assert!(matches!(answer, ProcessorAnswer::Unknown { .. }), "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(bench.processor.status(key).await, StatusAnswer::Absent);
    assert_eq!(bench.processor.abandon(key).await, StatusAnswer::Known(ProcessorAnswer::Abandoned));
    let late = bench.processor.authorize(authorize(key, "4242424242424242", 7_00)).await;
    assert_eq!(late, ProcessorAnswer::Abandoned, "a late arrival is refused");
}

#[actix_web::test]
async fn a_pending_capture_becomes_approved() {
    let bench = bench(Duration::from_secs(5)).await;
    let (authorization, capture) = (key(), key());
    bench.processor.authorize(authorize(authorization, "4000000000002016", 3_00)).await;
    let request = CaptureRequest { key: capture, authorization, amount: eur(3_00) };
    assert_eq!(bench.processor.capture(request).await, ProcessorAnswer::Pending);
    let begun = Instant::now();
    while bench.processor.status(capture).await == StatusAnswer::Known(ProcessorAnswer::Pending) {
        assert!(begun.elapsed() < Duration::from_secs(10), "still pending");
        rt::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        bench.processor.status(capture).await,
        StatusAnswer::Known(ProcessorAnswer::Approved { amount: eur(3_00) })
    );
}

#[actix_web::test]
async fn nobody_there_means_surely_not_sent() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = ProcessorConfig::new(&format!("http://{free}"), KEY.to_owned(), Duration::from_secs(5)).unwrap();
    let processor = HttpProcessor::start(config).unwrap();
    assert_eq!(processor.authorize(authorize(key(), "4242424242424242", 1_00)).await, ProcessorAnswer::NotSent);
    assert!(matches!(processor.status(key()).await, StatusAnswer::Unreachable { .. }));
}

#[actix_web::test]
async fn a_wrong_bearer_key_is_neither_yes_nor_no() {
    let data = tempfile::tempdir().unwrap();
    let database = data.path().join("processor.db");
    let config = Config { database, key: KEY.to_owned(), capture_delay: Duration::ZERO, silence: Duration::ZERO };
    let sandbox = SandboxProcessor::open(config).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = HttpServer::new(move || App::new().configure(sandbox.configure()));
    rt::spawn(server.workers(1).disable_signals().listen(listener).unwrap().run());
    let config = ProcessorConfig::new(&base, "another-key".to_owned(), Duration::from_secs(5)).unwrap();
    let processor = HttpProcessor::start(config).unwrap();
    let answer = processor.authorize(authorize(key(), "4242424242424242", 1_00)).await;
    assert!(matches!(answer, ProcessorAnswer::Unknown { .. }), "{answer:?}");
}
