//! The client against receivers that do as they like.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dropin_access::TargetPolicy;
use dropin_kernel::{EventId, Timestamp};
use dropin_notification::{AttemptOutcome, DeliveryFailure};
use dropin_ports::{Sent, WebhookRequest, WebhookSender};
use standardwebhooks::Webhook;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::client::{WebhookClient, WebhookClientConfig};

pub(crate) const BODY: &[u8] = br#"{"EventType":"ORDER_PROCESSED"}"#;
const SECRET: [u8; 32] = [7; 32];
pub(crate) const DEADLINE: Duration = Duration::from_millis(400);

/// What a receiver does with a connection on which a whole request has arrived.
#[derive(Clone)]
pub(crate) enum Manner {
    /// Sends this and waits for the next request.
    Says(String),
    /// Sends this and closes.
    SaysAndCloses(&'static str),
    /// Sends the first, then the second again and again with this pause in between.
    Repeats(&'static str, Vec<u8>, Duration),
    /// Keeps the connection and says nothing.
    IsSilent,
    /// Sends the reader elsewhere, to the next of these with every request.
    Redirects(Arc<Vec<String>>),
}

pub(crate) fn says(status: &str) -> Manner {
    Manner::Says(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
}

#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    written: Arc<AtomicUsize>,
}

impl Receiver {
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        Self::serve_on(listener, manner)
    }

    pub(crate) fn serve_on(listener: TcpListener, manner: Manner) -> Self {
        let address = listener.local_addr().expect("bound");
        let receiver = Self { address, connections: Arc::default(), requests: Arc::default(), written: Arc::default() };
        let serving = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serving.clone().serve(stream, manner.clone()));
            }
        });
        receiver
    }

    async fn serve(self, mut stream: TcpStream, manner: Manner) -> io::Result<()> {
        while let Some(request) = read_request(&mut stream).await? {
            let number = {
                let mut requests = self.requests.lock().unwrap();
                requests.push(request);
                requests.len()
            };
            match &manner {
                Manner::Redirects(places) => {
                    let place = &places[(number - 1) % places.len()];
                    let head = format!("HTTP/1.1 307 There\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n");
                    stream.write_all(head.as_bytes()).await?;
                }
                Manner::Says(answer) => stream.write_all(answer.as_bytes()).await?,
                Manner::SaysAndCloses(answer) => return stream.write_all(answer.as_bytes()).await,
                Manner::Repeats(head, piece, pause) => {
                    stream.write_all(head.as_bytes()).await?;
                    loop {
                        stream.write_all(piece).await?;
                        self.written.fetch_add(piece.len(), Ordering::SeqCst);
                        sleep(*pause).await;
                    }
                }
                Manner::IsSilent => std::future::pending().await,
            }
        }
        Ok(())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Head and body of one request; `None` when the client has closed.
async fn read_request(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let declared =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if declared.unwrap_or(0) <= body.len() {
                return Ok(Some(text));
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

pub(crate) fn config(policy: TargetPolicy) -> WebhookClientConfig {
    WebhookClientConfig { deadline: DEADLINE, connect_deadline: DEADLINE, ..WebhookClientConfig::new(policy) }
}

fn client() -> WebhookClient {
    WebhookClient::start(config(TargetPolicy::sandbox())).expect("a thread")
}

pub(crate) fn request(url: String) -> WebhookRequest {
    WebhookRequest {
        url,
        event_id: EventId::new(Uuid::from_u128(0xabc)),
        sequence: 2,
        body: BODY.to_vec(),
        secrets: vec![SECRET.to_vec()],
        at: Timestamp::from_micros(1_795_000_000_999_999),
    }
}

pub(crate) fn answered(status: u16) -> AttemptOutcome {
    AttemptOutcome::Answered { status, retry_after: None }
}

pub(crate) fn failed(why: DeliveryFailure) -> AttemptOutcome {
    AttemptOutcome::Failed { why }
}

async fn sent_to(manner: Manner) -> (Sent, Receiver) {
    let receiver = Receiver::start(manner).await;
    let started = Instant::now();
    let sent = client().send(request(receiver.url())).await;
    assert!(started.elapsed() < DEADLINE + Duration::from_secs(5), "held for {:?}", started.elapsed());
    (sent, receiver)
}

async fn outcome_of(manner: Manner) -> (AttemptOutcome, Receiver) {
    let (sent, receiver) = sent_to(manner).await;
    (sent.outcome, receiver)
}

/// Status and kept body.
async fn answer_of(answer: &'static str) -> (AttemptOutcome, String) {
    let (sent, _) = sent_to(Manner::SaysAndCloses(answer)).await;
    (sent.outcome, String::from_utf8(sent.answer).expect("text"))
}

#[tokio::test]
async fn sends_the_stored_bytes_with_their_signature() {
    let (outcome, receiver) = outcome_of(says("200 OK")).await;
    assert_eq!(outcome, answered(200));
    let requests = receiver.requests.lock().unwrap();
    let (head, body) = requests[0].split_once("\r\n\r\n").expect("a head");
    assert_eq!(body.as_bytes(), BODY);
    let id = Uuid::from_u128(0xabc).to_string();
    let signature = Webhook::from_bytes(SECRET.to_vec()).and_then(|key| key.sign(&id, 1_795_000_000, BODY));
    let head = head.to_lowercase();
    assert!(head.starts_with("post /hook http/1.1\r\n"), "{head}");
    for line in [
        "content-type: application/json".to_owned(),
        format!("content-length: {}", BODY.len()),
        format!("host: {}", receiver.address),
        "user-agent: dropin/0.1.0".to_owned(),
        format!("webhook-id: {id}"),
        "webhook-timestamp: 1795000000".to_owned(),
        "webhook-sequence: 2".to_owned(),
        format!("webhook-signature: {}", signature.expect("signed").to_lowercase()),
    ] {
        assert!(head.lines().any(|given| given == line), "{line} is not in\n{head}");
    }
}

#[tokio::test]
async fn reports_whatever_status_comes() {
    for status in [200, 201, 204, 299, 304, 400, 410, 500] {
        let (outcome, _) = outcome_of(says(&format!("{status} Whatever"))).await;
        assert_eq!(outcome, answered(status));
    }
    let later = Manner::SaysAndCloses("HTTP/1.1 429 Slow Down\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n");
    let retry_after = Some(Duration::from_secs(120));
    assert_eq!(outcome_of(later).await.0, AttemptOutcome::Answered { status: 429, retry_after });
}

#[tokio::test]
async fn does_not_follow_redirects() {
    let elsewhere = Receiver::start(says("200 OK")).await;
    for status in [301, 302, 303, 307, 308] {
        let answer = format!("HTTP/1.1 {status} There\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", elsewhere.url());
        assert_eq!(outcome_of(Manner::Says(answer)).await.0, answered(status));
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn one_deadline_covers_everything() {
    let late = failed(DeliveryFailure::Late);
    let pause = Duration::from_millis(20);
    assert_eq!(outcome_of(Manner::IsSilent).await.0, late);
    assert_eq!(outcome_of(Manner::Repeats("HTTP/1.1 200 OK\r\n", b"X".to_vec(), pause)).await.0, late);
    let drip = Manner::Repeats("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x".to_vec(), pause);
    assert_eq!(outcome_of(drip).await.0, late);
    let chunks =
        Manner::Repeats("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n".to_vec(), pause);
    assert_eq!(outcome_of(chunks).await.0, late);
}

#[tokio::test]
async fn a_flood_is_read_to_the_limit_and_no_further() {
    for head in ["HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
        let (outcome, receiver) = outcome_of(Manner::Repeats(head, vec![b'x'; 65_536], Duration::ZERO)).await;
        assert_eq!(outcome, answered(200));
        // What the sockets' buffers take is written without being read.
        assert!(
            receiver.written.load(Ordering::SeqCst) < 32 * 1024 * 1024,
            "{}",
            receiver.written.load(Ordering::SeqCst)
        );
    }
    let endless_head = Manner::Repeats("HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n".repeat(1_000), Duration::ZERO);
    assert_eq!(outcome_of(endless_head).await.0, failed(DeliveryFailure::HeadLong));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none() {
    assert_eq!(outcome_of(Manner::SaysAndCloses("")).await.0, failed(DeliveryFailure::Closed));
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this";
    assert_eq!(outcome_of(Manner::SaysAndCloses(cut)).await.0, failed(DeliveryFailure::AnswerBroke));
    assert_eq!(
        outcome_of(Manner::SaysAndCloses("SSH-2.0-OpenSSH_9.2\r\n\r\n")).await.0,
        failed(DeliveryFailure::NotHttp)
    );
}

#[tokio::test]
async fn nobody_there_is_told_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let outcome = client().send(request(format!("http://{address}/"))).await.outcome;
    assert_eq!(outcome, failed(DeliveryFailure::Refused));
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let receiver = Receiver::start(Manner::Says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned())).await;
    let client = client();
    for _ in 0..5 {
        assert_eq!(client.send(request(receiver.url())).await.outcome, answered(200));
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_timed_out_is_not_used_again() {
    let receiver = Receiver::start(Manner::IsSilent).await;
    let client = client();
    for _ in 0..2 {
        assert_eq!(client.send(request(receiver.url())).await.outcome, failed(DeliveryFailure::Late));
    }
    assert_eq!(receiver.connections(), 2);
}

#[tokio::test]
async fn silent_receivers_do_not_delay_another() {
    let (silent, quick) = (Receiver::start(Manner::IsSilent).await, Receiver::start(says("200 OK")).await);
    let client = WebhookClient::start(WebhookClientConfig {
        deadline: Duration::from_secs(3_600),
        ..config(TargetPolicy::sandbox())
    })
    .expect("a thread");
    let waiting: Vec<_> = (0..200)
        .map(|_| {
            let (client, request) = (client.clone(), request(silent.url()));
            tokio::spawn(async move { client.send(request).await.outcome })
        })
        .collect();
    for _ in 0..20 {
        let sent = timeout(Duration::from_secs(10), client.send(request(quick.url()))).await;
        assert_eq!(sent.expect("no delay").outcome, answered(200));
    }
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn what_a_receiver_says_is_kept() {
    for (answer, kept) in [
        ("HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nno store!", "no store!"),
        ("HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nno \r\n6\r\nstore!\r\n0\r\n\r\n", "no store!"),
        ("HTTP/1.1 500 No\r\nConnection: close\r\n\r\nno store!", "no store!"),
        ("HTTP/1.0 500 No\r\n\r\nno store!", "no store!"),
        ("HTTP/1.1 500 No\r\n\r\nwho knows where this ends", ""),
        ("HTTP/1.1 500 No\r\nContent-Length: 23\r\n\r\nfor 4111 1111 1111 1111", "for **** **** **** ****"),
        (
            "HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x0b\x08\x00",
            "(an encoded body, which is never unpacked)",
        ),
    ] {
        assert_eq!(answer_of(answer).await, (answered(500), kept.to_owned()), "{answer}");
    }
    for bodiless in ["204 Nothing", "304 Known"] {
        let (outcome, _) = outcome_of(Manner::Says(format!("HTTP/1.1 {bodiless}\r\nContent-Length: 5\r\n\r\n"))).await;
        assert!(matches!(outcome, AttemptOutcome::Answered { status: 204 | 304, .. }), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_receiver_that_echoes_is_not_quoted() {
    let echo = format!("got whsec_{SECRET:?} and {}", "07".repeat(32));
    let (sent, _) =
        sent_to(Manner::Says(format!("HTTP/1.1 400 No\r\nContent-Length: {}\r\n\r\n{echo}", echo.len()))).await;
    let kept = String::from_utf8(sent.answer).expect("text");
    assert!(kept.contains("[secret]") && !kept.contains("0707"), "{kept}");
}

#[tokio::test]
async fn interim_answers_are_passed_over_but_not_for_ever() {
    let hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let receiver =
        Receiver::start(Manner::Says(format!("{hints}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))).await;
    let client = client();
    for _ in 0..3 {
        let sent = client.send(request(receiver.url())).await;
        assert_eq!((sent.outcome, sent.answer), (answered(200), b"ok".to_vec()));
    }
    assert_eq!(receiver.connections(), 1);
    let flood = Manner::Repeats("", b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100), Duration::ZERO);
    let (outcome, receiver) = outcome_of(flood).await;
    assert_eq!(outcome, failed(DeliveryFailure::TooManyInterim));
    assert!(receiver.written.load(Ordering::SeqCst) < 32 * 1024 * 1024);
}

#[tokio::test]
async fn an_answer_without_an_end_is_not_waited_for_and_its_connection_not_used_again() {
    let receiver = Receiver::start(Manner::Says("HTTP/1.1 200 OK\r\n\r\n".to_owned())).await;
    let client = client();
    for _ in 0..3 {
        assert_eq!(client.send(request(receiver.url())).await.outcome, answered(200));
    }
    assert_eq!(receiver.connections(), 3);
}

#[tokio::test]
async fn what_is_wrapped_around_a_body_counts_too() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (begin, again) in [("0\r\n", "X-Trailer: x\r\n"), ("1;", "x"), ("0", "0"), ("", "1\r\nx\r\n")] {
        let head: &'static str = format!("{chunked}{begin}").leak();
        let piece = again.repeat(65_536 / again.len()).into_bytes();
        let (outcome, receiver) = outcome_of(Manner::Repeats(head, piece, Duration::ZERO)).await;
        assert_eq!(outcome, answered(200), "{begin}");
        assert!(receiver.written.load(Ordering::SeqCst) < 32 * 1024 * 1024, "{begin}");
    }
}
