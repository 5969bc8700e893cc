use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use actix_web::rt::net::TcpStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::connections::Connection;
use crate::metrics::{Counters, Metrics};
use crate::refusal;

/// The transport below HTTP.
pub(crate) enum Transport {
    /// Plain TCP.
    Plain(TcpStream),
    /// TLS over it.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A client's connection as actix reads and writes it. It reports reads and writes to [`Connection`], and gives the parser's refusals a body.
pub(crate) struct GuardedStream {
    transport: Transport,
    connection: Rc<Connection>,
    metrics: Arc<Metrics>,
    /// Bytes that are sent in place of those that actix wrote.
    replacement: Option<Replacement>,
    http1: bool,
}

struct Replacement {
    bytes: Vec<u8>,
    sent: usize,
    /// How many bytes of actix' it replaces.
    replaced_len: usize,
}

impl GuardedStream {
    pub(crate) fn new(transport: Transport, http1: bool, connection: Rc<Connection>, metrics: Arc<Metrics>) -> Self {
        Self { transport, connection, metrics, replacement: None, http1 }
    }

    /// The state of the connection that it carries.
    pub(crate) fn connection(&self) -> &Rc<Connection> {
        &self.connection
    }

    fn poll_write_or_replace(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.replacement.is_none()
            && self.http1
            && let Some((begins, answer)) = refusal::replace_parser_refusal(bytes)
        {
            Counters::increment(&self.metrics.counters.unreadable);
            let replacement = [&bytes[..begins], &answer].concat();
            self.replacement = Some(Replacement { bytes: replacement, sent: 0, replaced_len: bytes.len() });
        }
        let Some(replacement) = &mut self.replacement else { return self.transport.poll_write(cx, bytes) };
        ready!(replacement.poll_send(cx, &mut self.transport))?;
        let replaced_len = replacement.replaced_len;
        self.replacement = None;
        Poll::Ready(Ok(replaced_len))
    }
}

impl Replacement {
    fn poll_send(&mut self, cx: &mut Context<'_>, transport: &mut Transport) -> Poll<io::Result<()>> {
        while self.sent < self.bytes.len() {
            match ready!(transport.poll_write(cx, &self.bytes[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Transport {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Transport::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        if self.connection.record_received(buffer.filled().len() - before) {
            Counters::increment(&self.metrics.counters.cut_flood);
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        read
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.poll_write_or_replace(cx, bytes);
        if written.is_pending() {
            self.connection.write_blocked();
        }
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Transport::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
        };
        if written.is_pending() {
            self.connection.write_blocked();
        }
        written
    }

    /// Only where nothing is looked for in what is written: HTTP/2.
    fn is_write_vectored(&self) -> bool {
        let vectored = match &self.transport {
            Transport::Plain(stream) => stream.is_write_vectored(),
            Transport::Tls(stream) => stream.is_write_vectored(),
        };
        vectored && !self.http1
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        // Both of actix' dispatchers flush when all that was ready is written.
        match flushed {
            Poll::Ready(_) => self.connection.write_finished(),
            Poll::Pending => self.connection.write_blocked(),
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
