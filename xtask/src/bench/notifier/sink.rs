//! The receivers of all endpoints: one listener, a thread per connection, next to no work per request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::book::{Answer, Book, Heard};
use crate::failure::{Context, Outcome};

/// The name of its threads.
pub(crate) const THREAD: &str = "sink";

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const FAILED: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";

/// Room for a whole request; ours have little more than 1 KiB.
const REQUEST_MAX: usize = 16 * 1024;
const STACK: usize = 128 * 1024;

/// How an endpoint behaves; the first part of its path says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Manner {
    /// Acknowledges everything.
    Kind,
    /// Answers 500 to a tenth of all tries, but never to a fourth one.
    Moody,
    /// Takes requests and never answers.
    Hole,
    /// Acknowledges everything, after a while.
    Slow,
}

/// How long a slow one takes.
const A_WHILE: Duration = Duration::from_millis(10);

impl Manner {
    /// The first part of its path.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Moody => "moody",
            Self::Hole => "hole",
            Self::Slow => "slow",
        }
    }

    fn answer(self, heard: Option<Heard>, tries: u32) -> Answer {
        match self {
            Self::Kind | Self::Slow => Answer::Acknowledge,
            Self::Hole => Answer::Never,
            Self::Moody => {
                let Heard { payment, sequence } = heard.unwrap_or(Heard { payment: 0, sequence: 0 });
                let mixed = (payment * 4 + sequence).wrapping_mul(2_654_435_761).rotate_left(11) ^ (tries * 7);
                if tries < 4 && mixed.is_multiple_of(10) { Answer::Refuse } else { Answer::Acknowledge }
            }
        }
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Sink {
    pub(crate) fn start(book: &Arc<Book>) -> Outcome<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context(|| "find a free port".to_owned())?;
        let address = listener.local_addr().context(|| "read the free port".to_owned())?;
        let ended = Arc::new(AtomicBool::new(false));
        let (book, until) = (book.clone(), ended.clone());
        in_thread(move || {
            for stream in listener.incoming().flatten() {
                let book = book.clone();
                if until.load(Ordering::Relaxed) || in_thread(move || serve(stream, &book)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { address, ended })
    }
}

impl Drop for Sink {
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
fn serve(mut stream: TcpStream, book: &Book) {
    // Without it answers wait for nothing; slower, and seen in the figures.
    let _ = stream.set_nodelay(true);
    let mut buffer = vec![0; REQUEST_MAX];
    let mut filled = 0;
    loop {
        while let Some((request, length)) = Request::parse(&buffer[..filled]) {
            if request.manner == Manner::Slow {
                std::thread::sleep(A_WHILE);
            }
            let answer = book.note(request.heard, |tries| request.manner.answer(request.heard, tries));
            let written = match answer {
                Answer::Acknowledge => stream.write_all(OK),
                Answer::Refuse => stream.write_all(FAILED),
                Answer::Never => Ok(()),
            };
            if written.is_err() {
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

/// What matters of a request.
#[derive(Debug, PartialEq)]
struct Request {
    manner: Manner,
    /// `None` when its headers do not fit together.
    heard: Option<Heard>,
}

impl Request {
    /// The request at the beginning of `bytes` and its length; `None` while there is not all of it.
    fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let mut lines = bytes[..head].split(|byte| *byte == b'\n');
        let manner = match lines.next()?.strip_prefix(b"POST /")? {
            path if path.starts_with(b"hole/") => Manner::Hole,
            path if path.starts_with(b"moody/") => Manner::Moody,
            path if path.starts_with(b"slow/") => Manner::Slow,
            _ => Manner::Kind,
        };
        let (mut length, mut heard, mut sequence) = (0, None, None);
        for line in lines {
            if let Some(value) = value_of(line, b"content-length") {
                length = number(value)?;
            } else if let Some(value) = value_of(line, b"webhook-id") {
                heard = Heard::parse(value);
            } else if let Some(value) = value_of(line, b"webhook-sequence") {
                sequence = number(value);
            }
        }
        let end = head + 4 + length;
        let heard = heard.filter(|heard| sequence == Some(heard.sequence as usize));
        (end <= bytes.len()).then_some((Self { manner, heard }, end))
    }
}

/// The value of a header line if it is that header.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = line.split_at_checked(name.len())?;
    found.eq_ignore_ascii_case(name).then(|| value.strip_prefix(b":"))?.map(<[u8]>::trim_ascii)
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::notifier::book::EVENT_PREFIX;
    use crate::http1::Client;

    #[test]
    fn a_request_is_read_when_it_is_there() {
        let id = format!("{EVENT_PREFIX}000000070002");
        let text =
            format!("POST /hole/1 HTTP/1.1\r\nWebhook-Id: {id}\r\nwebhook-sequence:2\r\nContent-Length: 2\r\n\r\n{{}}");
        let heard = Some(Heard { payment: 7, sequence: 2 });
        assert_eq!(Request::parse(text.as_bytes()), Some((Request { manner: Manner::Hole, heard }, text.len())));
        assert_eq!(Request::parse(&text.as_bytes()[..text.len() - 1]), None);
        let disagreeing = text.replace("sequence:2", "sequence:3");
        assert_eq!(Request::parse(disagreeing.as_bytes()).unwrap().0.heard, None);
    }

    #[test]
    fn a_tenth_of_what_a_moody_endpoint_gets_is_refused() {
        let heard = |payment| Some(Heard { payment, sequence: 1 });
        let refused = (0..10_000).filter(|payment| Manner::Moody.answer(heard(*payment), 1) == Answer::Refuse).count();
        assert!((800..1_200).contains(&refused), "{refused}");
        assert!((0..10_000).all(|payment| Manner::Moody.answer(heard(payment), 4) == Answer::Acknowledge));
    }

    #[test]
    fn what_comes_is_answered_and_noted() {
        let book = Arc::new(Book::new(1, Duration::ZERO));
        let sink = Sink::start(&book).unwrap();
        let mut client = Client::connect(sink.address, "").unwrap();
        for (sequence, path) in [(1, "/kind/0"), (2, "/kind/0")] {
            let headers =
                format!("webhook-id: {EVENT_PREFIX}00000000000{sequence}\r\nwebhook-sequence: {sequence}\r\n");
            assert_eq!(client.exchange("POST", path, &headers, "{}").unwrap().0, 200);
        }
        assert_eq!((book.done(), book.inversions(), book.strange()), (2, 0, 0));
    }
}
