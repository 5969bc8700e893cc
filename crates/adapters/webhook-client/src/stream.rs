//! Watches over what a receiver answers before the HTTP client sees it: it hands over whole heads only, passes over interim answers, and
//! ends what grows too long. The client alone would read a head anew with every byte of it, take 103 for the answer, and follow endless
//! trailers for as long as there is time.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::rt::net::{ActixStream, Ready};
use dropin_notification::DeliveryFailure;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::meter::Metered;

/// Longest head of an answer, with the interim answers before it.
const HEAD_LIMIT: usize = 16 * 1024;
/// Interim answers before the one that counts.
const INTERIM_LIMIT: u32 = 8;
/// How much is read at once while the head comes.
const STEP: usize = 2 * 1024;
/// How much of the body is; the meter under TLS learns of text only when it is handed over.
const BODY_STEP: usize = 4 * 1024;

/// Why an answer was not read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Its head is too long.
    Head,
    /// Interim answers and no end of them.
    Interim,
    /// As much of its body was read as is ever read, or of what is wrapped around it: nothing is wrong with what came so far.
    Limit,
}

impl Stopped {
    /// What stopped the reading, if it was we.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }

    pub(crate) const fn why(self) -> DeliveryFailure {
        match self {
            Self::Head => DeliveryFailure::HeadLong,
            Self::Interim => DeliveryFailure::TooManyInterim,
            Self::Limit => DeliveryFailure::AnswerLong,
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why().as_str())
    }
}

impl std::error::Error for Stopped {}

impl From<Stopped> for io::Error {
    fn from(stopped: Stopped) -> Self {
        Self::new(io::ErrorKind::InvalidData, stopped)
    }
}

/// A connection, encrypted or not.
pub(crate) enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<Metered>>),
}

impl Transport {
    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.get_ref().0.socket(),
        }
    }

    /// An answer comes next.
    fn begin(&mut self) {
        if let Self::Tls(tls) = self {
            tls.get_mut().0.begin();
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Tls(tls) => {
                let before = buf.filled().len();
                ready!(Pin::new(&mut *tls).poll_read(cx, buf))?;
                tls.get_mut().0.was_text(buf.filled().len() - before);
                Poll::Ready(Ok(()))
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

/// Where the answer stands.
enum Phase {
    /// Its head comes in; nothing of it was handed over yet.
    Head,
    /// The head is handed over, then this many bytes more.
    Body { left: usize },
    /// The head is handed over and then the connection is at its end, whatever may come: nothing says where the body would end.
    Last,
}

/// A connection that hands over answers with care. Whatever is written after an answer is the next request.
pub(crate) struct AnswerGuard {
    transport: Transport,
    limit: usize,
    phase: Phase,
    /// What was read of the head, or with it, and how much of that was handed over.
    head: Vec<u8>,
    given: usize,
    /// Bytes of this answer that were read as heads.
    read: usize,
    interim: u32,
}

impl AnswerGuard {
    /// At most `limit` bytes after the head are read of an answer.
    pub(crate) fn new(mut transport: Transport, limit: usize) -> Self {
        transport.begin();
        Self { transport, limit, phase: Phase::Head, head: Vec::new(), given: 0, read: 0, interim: 0 }
    }

    fn begin(&mut self) {
        self.transport.begin();
        self.phase = Phase::Head;
        self.head.clear();
        (self.given, self.read, self.interim) = (0, 0, 0);
    }

    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let had = self.head.len();
        self.head.resize(had + STEP, 0);
        let mut part = ReadBuf::new(&mut self.head[had..]);
        let polled = self.transport.poll_read(cx, &mut part);
        let came = part.filled().len();
        self.head.truncate(had + came);
        ready!(polled)?;
        if came == 0 {
            // The end. The client finds out what is missing.
            self.phase = Phase::Body { left: self.limit };
            return Poll::Ready(Ok(()));
        }
        self.read += came;
        // The end of the head may have begun with what came before.
        Poll::Ready(self.settle(had.saturating_sub(3)).map_err(io::Error::from))
    }

    /// Looks for the end of the head from `from` on, and passes over interim answers.
    fn settle(&mut self, mut from: usize) -> Result<(), Stopped> {
        loop {
            let Some(end) = end_of_head(&self.head, from) else {
                if HEAD_LIMIT < self.read {
                    return Err(Stopped::Head);
                }
                if !b"HTTP/".starts_with(&self.head[..self.head.len().min(5)]) {
                    self.phase = Phase::Body { left: self.limit };
                }
                return Ok(());
            };
            let head = Head::of(&self.head[..end]);
            if head.is_interim() {
                self.interim += 1;
                if INTERIM_LIMIT < self.interim {
                    return Err(Stopped::Interim);
                }
                self.head.drain(..end);
                from = 0;
                continue;
            }
            let closes = head.tells_no_end() && head.closes;
            if head.tells_no_end() && !closes {
                self.head.truncate(end);
                self.phase = Phase::Last;
                return Ok(());
            }
            if closes && self.head.starts_with(b"HTTP/1.1") {
                // The client reads to the end of the connection for the version that knew nothing else.
                self.head[7] = b'0';
            }
            self.phase = Phase::Body { left: self.limit.saturating_sub(self.head.len() - end) };
            return Ok(());
        }
    }

    fn hand_over(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        let rest = &self.head[self.given..];
        let part = &rest[..rest.len().min(buf.remaining())];
        buf.put_slice(part);
        self.given += part.len();
        !part.is_empty()
    }
}

/// What a head says of the body that follows.
struct Head {
    status: [u8; 3],
    is_old: bool,
    measured: bool,
    closes: bool,
}

impl Head {
    fn of(head: &[u8]) -> Self {
        let names =
            |line: &[u8], name: &[u8]| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let lines = || head.split(|byte| *byte == b'\n');
        let status = head.get(9..12).and_then(|digits| digits.try_into().ok()).unwrap_or_default();
        let closing = |line: &[u8]| names(line, b"connection:") && line.to_ascii_lowercase().ends_with(b"close\r");
        Self {
            status,
            is_old: head.starts_with(b"HTTP/1.0"),
            measured: lines().any(|line| names(line, b"content-length:") || names(line, b"transfer-encoding:")),
            closes: lines().any(closing),
        }
    }

    /// Another answer follows (RFC 9110 section 15.2); after 101 none does.
    fn is_interim(&self) -> bool {
        self.status[0] == b'1' && self.status != *b"101"
    }

    fn tells_no_end(&self) -> bool {
        let bodiless = self.status == *b"204" || self.status == *b"304";
        self.status == *b"101" || (!self.measured && !bodiless && !self.is_old)
    }
}

/// Where the body begins: after the first empty line at or after `from`.
fn end_of_head(head: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = head[at..].iter().position(|byte| *byte == b'\n') {
        at += found + 1;
        match head[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

impl AsyncRead for AnswerGuard {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while let Phase::Head = this.phase {
            ready!(this.poll_head(cx))?;
        }
        if this.hand_over(buf) {
            return Poll::Ready(Ok(()));
        }
        let Phase::Body { left } = &mut this.phase else {
            return Poll::Ready(Ok(()));
        };
        if *left == 0 {
            return Poll::Ready(Err(Stopped::Limit.into()));
        }
        let room = (*left).min(buf.remaining()).min(BODY_STEP);
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(room));
        ready!(this.transport.poll_read(cx, &mut part))?;
        let came = part.filled().len();
        *left -= came;
        buf.advance(came);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for AnswerGuard {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if !matches!(this.phase, Phase::Head) {
            this.begin();
        }
        this.transport.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().transport.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().transport.poll_shutdown(cx)
    }
}

impl ActixStream for AnswerGuard {
    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        ActixStream::poll_read_ready(self.transport.socket(), cx)
    }

    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        ActixStream::poll_write_ready(self.transport.socket(), cx)
    }
}

impl fmt::Debug for AnswerGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerGuard").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_its_empty_line() {
        for (head, end) in [
            ("HTTP/1.1 200 OK\r\n\r\nbody", Some(19)),
            ("HTTP/1.1 200 OK\n\nbody", Some(17)),
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\n", Some(25)),
            ("HTTP/1.1 200 OK\r\nA: b\r\n", None),
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r", None),
            ("", None),
        ] {
            assert_eq!(end_of_head(head.as_bytes(), 0), end, "{head:?}");
        }
        let whole = b"HTTP/1.1 200 OK\r\n\r\n";
        for cut in 0..whole.len() {
            assert_eq!(end_of_head(&whole[..cut], 0), None);
            assert_eq!(end_of_head(whole, cut.saturating_sub(3).min(16)), Some(19), "{cut}");
        }
    }

    #[test]
    fn a_head_tells_what_follows() {
        let of = |head: &str| Head::of(head.as_bytes());
        assert!(of("HTTP/1.1 103 Early Hints\r\n\r\n").is_interim() && of("HTTP/1.1 100 Go on\r\n\r\n").is_interim());
        assert!(!of("HTTP/1.1 101 Switching\r\n\r\n").is_interim() && !of("HTTP/1.1 200 OK\r\n\r\n").is_interim());
        assert!(of("HTTP/1.1 200 OK\r\n\r\n").tells_no_end() && of("HTTP/1.1 101 Switch\r\n\r\n").tells_no_end());
        for told in [
            "HTTP/1.1 200 OK\r\ncontent-LENGTH: 3\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.0 200 OK\r\n\r\n",
        ] {
            assert!(!of(told).tells_no_end(), "{told}");
        }
        assert!(of("HTTP/1.1 200 OK\r\nConnection: Close\r\n\r\n").closes);
        assert!(!of("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n").closes);
    }
}
