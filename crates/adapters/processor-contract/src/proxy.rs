//! What stands between an adapter and its processor, and does to requests and answers what networks do.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use actix_web::rt::spawn;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What happens to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyFault {
    /// It never arrives, and the connection ends.
    LoseRequest,
    /// It arrives, and the connection ends before the answer.
    LoseAnswer,
    /// It arrives when [`FaultProxy::deliver`] says so; the connection ends before.
    Hold,
    /// It arrives twice, and the first answer is given.
    Double,
    /// It never arrives, and nothing is answered until the caller goes away.
    Silence,
    /// It arrives, and nothing is answered until the caller goes away.
    SilenceAfter,
    /// It arrives, and this is answered in place of the processor's answer.
    AnswerAfter(String),
    /// It never arrives, and this is answered.
    AnswerInstead(String),
}

impl ProxyFault {
    /// A whole HTTP answer with this status line, these headers and this body.
    pub fn answer(status: &str, headers: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}", body.len())
    }
}

type Matches = Box<dyn Fn(&str) -> bool + Send>;

#[derive(Default)]
struct Inside {
    next: Mutex<Option<(Matches, ProxyFault)>>,
    held: Mutex<Vec<Vec<u8>>>,
    requests: Mutex<Vec<String>>,
    /// Callers that were left without an answer.
    silent: AtomicUsize,
    is_away: AtomicBool,
}

/// A proxy for HTTP/1.1 on loopback: one request for each connection, one fault at a time.
#[derive(Clone)]
pub struct FaultProxy {
    inside: Arc<Inside>,
    processor: SocketAddr,
    /// Where it listens.
    pub address: SocketAddr,
}

impl FaultProxy {
    /// Begins to pass requests on to this processor.
    pub async fn start(processor: SocketAddr) -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = Self { inside: Arc::default(), processor, address };
        let serving = proxy.clone();
        spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let proxy = serving.clone();
                // A connection that breaks is what this is about.
                spawn(async move { drop(proxy.serve(stream).await) });
            }
        });
        proxy
    }

    /// Its address, as an adapter is given it.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Does this to the next request whose first line is meant.
    pub fn fault(&self, matches: impl Fn(&str) -> bool + Send + 'static, fault: ProxyFault) {
        *self.inside.next.lock().unwrap() = Some((Box::new(matches), fault));
    }

    /// Whether the fault has happened.
    pub fn has_faulted(&self) -> bool {
        self.inside.next.lock().unwrap().is_none()
    }

    /// How many callers were left without an answer; what was to arrive has.
    pub fn silent(&self) -> usize {
        self.inside.silent.load(Ordering::SeqCst)
    }

    /// While it is away, every connection ends at once and nothing arrives.
    pub fn set_away(&self, is_away: bool) {
        self.inside.is_away.store(is_away, Ordering::SeqCst);
    }

    /// Lets what was held arrive, and waits until the processor has done with it.
    pub async fn deliver(&self) {
        let held = std::mem::take(&mut *self.inside.held.lock().unwrap());
        assert!(!held.is_empty(), "nothing was held");
        for request in held {
            self.ask(&request).await.unwrap();
        }
    }

    /// The first lines of all requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.inside.requests.lock().unwrap().clone()
    }

    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        if self.inside.is_away.load(Ordering::SeqCst) {
            return Ok(());
        }
        let request = read_request(&mut stream).await?;
        let line = String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned();
        self.inside.requests.lock().unwrap().push(line.clone());
        let fault = {
            let mut next = self.inside.next.lock().unwrap();
            next.take_if(|(matches, _fault)| matches(&line)).map(|(_matches, fault)| fault)
        };
        let answer = match fault {
            None => self.ask(&request).await?,
            Some(ProxyFault::LoseRequest) => return Ok(()),
            Some(ProxyFault::LoseAnswer) => return self.ask(&request).await.map(drop),
            Some(ProxyFault::Hold) => {
                self.inside.held.lock().unwrap().push(request);
                return Ok(());
            }
            Some(ProxyFault::Double) => {
                let first = self.ask(&request).await?;
                self.ask(&request).await?;
                first
            }
            Some(fault @ (ProxyFault::Silence | ProxyFault::SilenceAfter)) => {
                if fault == ProxyFault::SilenceAfter {
                    self.ask(&request).await?;
                }
                self.inside.silent.fetch_add(1, Ordering::SeqCst);
                return stream.read_to_end(&mut Vec::new()).await.map(drop);
            }
            Some(ProxyFault::AnswerAfter(answer)) => {
                self.ask(&request).await?;
                answer.into_bytes()
            }
            Some(ProxyFault::AnswerInstead(answer)) => answer.into_bytes(),
        };
        stream.write_all(&answer).await?;
        stream.shutdown().await
    }

    async fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.processor).await?;
        stream.write_all(request).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(answer)
    }
}

/// Reads a request to its last byte, and says in it that the connection ends with its answer.
async fn read_request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
            let length = fields.find(|(name, _value)| name.eq_ignore_ascii_case("content-length"));
            let length: usize = length.map_or(0, |(_name, value)| value.trim().parse().unwrap());
            let body = end + 4;
            if body + length <= read.len() {
                let kept = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
                let head: Vec<_> = kept.chain(["Connection: close"]).collect();
                return Ok([format!("{}\r\n\r\n", head.join("\r\n")).as_bytes(), &read[body..body + length]].concat());
            }
        }
        if stream.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
