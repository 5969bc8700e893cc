//! A processor that does as it is told, and counts what reaches it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::rt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Approves everything, and knows no key.
    Well,
    /// Answers nobody.
    Dead,
    /// Answers questions, and no payments.
    Slow,
    /// Answers payments, and no questions.
    Discreet,
    /// A gateway without a processor.
    Gateway,
}

/// How many are there, were there, and were there at once.
#[derive(Debug, Default)]
pub(crate) struct Visits {
    now: AtomicUsize,
    ever: AtomicUsize,
    most: AtomicUsize,
}

impl Visits {
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    pub(crate) fn ever(&self) -> usize {
        self.ever.load(Ordering::SeqCst)
    }

    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    fn enter(&self) -> Visit<'_> {
        self.ever.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Visit(self)
    }
}

struct Visit<'a>(&'a Visits);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Inside {
    behaviour: watch::Sender<Behaviour>,
    payments: Visits,
    questions: Visits,
}

#[derive(Clone)]
pub(crate) struct FakeProcessor {
    inside: Arc<Inside>,
    /// Host and port.
    pub(crate) name: String,
}

impl FakeProcessor {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), behaviour).await
    }

    pub(crate) async fn start_at(address: SocketAddr, behaviour: Behaviour) -> Self {
        let behaviour = watch::Sender::new(behaviour);
        let inside = Arc::new(Inside { behaviour, payments: Visits::default(), questions: Visits::default() });
        let listener = TcpListener::bind(address).await.unwrap();
        let name = listener.local_addr().unwrap().to_string();
        let shared = Arc::clone(&inside);
        rt::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let inside = Arc::clone(&shared);
                // A connection that breaks is the caller's business.
                rt::spawn(async move { drop(serve(&inside, stream).await) });
            }
        });
        Self { inside, name }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.name)
    }

    pub(crate) fn turn(&self, behaviour: Behaviour) {
        self.inside.behaviour.send_replace(behaviour);
    }

    pub(crate) fn payments(&self) -> &Visits {
        &self.inside.payments
    }

    pub(crate) fn questions(&self) -> &Visits {
        &self.inside.questions
    }
}

/// Takes requests of one connection until the caller closes it, which also ends a wait.
async fn serve(inside: &Inside, mut stream: TcpStream) -> io::Result<()> {
    let mut behaviour = inside.behaviour.subscribe();
    loop {
        let Some(head) = read_request(&mut stream).await? else { return Ok(()) };
        let question = head.starts_with("GET");
        let _visit = if question { inside.questions.enter() } else { inside.payments.enter() };
        let silent = |behaviour: &Behaviour| match behaviour {
            Behaviour::Dead => true,
            Behaviour::Slow => !question,
            Behaviour::Discreet => question,
            Behaviour::Well | Behaviour::Gateway => false,
        };
        let behaviour = tokio::select! {
            behaviour = behaviour.wait_for(|behaviour| !silent(behaviour)) => *behaviour.unwrap(),
            _closed = stream.read_u8() => return Ok(()),
        };
        stream.write_all(answer(behaviour, question, &head).as_bytes()).await?;
    }
}

/// Reads a request to its last byte; its head.
async fn read_request(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = header(head, "content-length").map_or(0, |length| length.parse().unwrap());
            if body.len() == length {
                return Ok(Some(head.to_owned()));
            }
        }
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn answer(behaviour: Behaviour, question: bool, head: &str) -> String {
    let (status, body) = match (behaviour, question) {
        (Behaviour::Gateway, _) => ("503 Service Unavailable", "{}".to_owned()),
        (_, true) => ("404 Not Found", r#"{"Code":"OPERATION_NOT_FOUND","Message":"m"}"#.to_owned()),
        (_, false) => {
            let key = header(head, "idempotency-key").unwrap_or_default();
            let rest = r#""Kind":"AUTHORIZE","Outcome":"APPROVED","Amount":1,"Currency":"EUR""#;
            ("200 OK", format!(r#"{{"Key":"{key}",{rest}}}"#))
        }
    };
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
