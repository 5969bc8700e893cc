//! The receiver of merchants' endpoints: one listener, a thread per connection, next to no work per request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Context, Outcome};

/// The name of its threads.
pub(crate) const THREAD: &str = "receiver";

/// Room for a whole request; ours have little more than 1 KiB.
const REQUEST_MAX: usize = 16 * 1024;
const STACK: usize = 256 * 1024;

/// What came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Request<'a> {
    pub(crate) path: &'a str,
    headers: &'a str,
    pub(crate) body: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    Acknowledge,
    Refuse,
    Reject,
    /// Nothing, ever.
    Never,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Receiver {
    /// Has every request answered by `answer`.
    pub(crate) fn start(answer: impl Fn(Request<'_>) -> Answer + Send + Sync + 'static) -> Outcome<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context(|| "find a free port".to_owned())?;
        let address = listener.local_addr().context(|| "read the free port".to_owned())?;
        let ended = Arc::new(AtomicBool::new(false));
        let (answer, until) = (Arc::new(answer), ended.clone());
        in_thread(move || {
            for stream in listener.incoming().flatten() {
                let answer = answer.clone();
                if until.load(Ordering::Relaxed) {
                    return;
                }
                // The sender sees that the connection is closed, and opens another one.
                if let Err(failure) = in_thread(move || serve(stream, &*answer)) {
                    eprintln!("warning: the receiver closes a connection unanswered: {failure}");
                }
            }
        })?;
        Ok(Self { address, ended })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the listener, which sees that it is over.
        drop(TcpStream::connect(self.address));
    }
}

fn in_thread(work: impl FnOnce() + Send + 'static) -> Outcome<()> {
    let started = std::thread::Builder::new().name(THREAD.to_owned()).stack_size(STACK).spawn(work);
    started.map(drop).context(|| "start a thread".to_owned())
}

/// Answers one connection until it is closed.
fn serve(mut stream: TcpStream, answer: &impl Fn(Request<'_>) -> Answer) {
    // Without it answers wait for nothing; slower, and seen in the figures.
    let _ = stream.set_nodelay(true);
    let mut buffer = vec![0; REQUEST_MAX];
    let mut filled = 0;
    loop {
        while let Some((request, length)) = Request::parse(&buffer[..filled]) {
            let answer = match answer(request) {
                Answer::Acknowledge => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                Answer::Refuse => "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
                Answer::Reject => "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
                Answer::Never => "",
            };
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
            buffer.copy_within(length..filled, 0);
            filled -= length;
        }
        match stream.read(&mut buffer[filled..]) {
            Ok(more) if more > 0 => filled += more,
            _ => return,
        }
    }
}

impl<'a> Request<'a> {
    /// The request at the beginning of `bytes` and its length; `None` while there is not all of it.
    fn parse(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let (first, headers) = std::str::from_utf8(&bytes[..head + 2]).ok()?.split_once("\r\n")?;
        let mut request = Self { path: first.split(' ').nth(1)?, headers, body: &[] };
        let end = head + 4 + request.header("content-length").parse().unwrap_or(0);
        request.body = bytes.get(head + 4..end)?;
        Some((request, end))
    }

    /// A header's value; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &'a str {
        let mut lines = self.headers.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::Client;

    #[test]
    fn a_request_is_read_when_it_is_there() {
        let text = "POST /hook/1 HTTP/1.1\r\nWebhook-Id: a:b\r\nwebhook-sequence:2\r\nContent-Length: 2\r\n\r\n{}";
        let (request, length) = Request::parse(text.as_bytes()).unwrap();
        assert_eq!((request.path, request.body, length), ("/hook/1", b"{}".as_slice(), text.len()));
        assert_eq!((request.header("webhook-id"), request.header("webhook-sequence")), ("a:b", "2"));
        assert_eq!(request.header("webhook-signature"), "");
        assert_eq!(Request::parse(&text.as_bytes()[..text.len() - 1]), None);
        let two = format!("{text}{text}");
        assert_eq!(Request::parse(two.as_bytes()).unwrap().1, text.len());
    }

    #[test]
    fn what_comes_is_answered() {
        let is_right = |request: Request<'_>| request.path == "/hook/0" && request.header("x") == "y";
        let answer = move |request: Request<'_>| if is_right(request) { Answer::Acknowledge } else { Answer::Reject };
        let receiver = Receiver::start(answer).unwrap();
        let mut client = Client::connect(receiver.address, "").unwrap();
        assert_eq!(client.exchange("POST", "/hook/0", "X: y\r\n", "{}").unwrap().0, 200);
        assert_eq!(client.exchange("POST", "/hook/0", "", "{}").unwrap().0, 401);
    }
}
