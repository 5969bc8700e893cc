use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use actix_web::rt::net::TcpStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::connections::Connection;
use crate::metrics::{Events, Metrics};
use crate::refusal;

/// What carries the bytes.
pub(crate) enum Carrier {
    /// Plain TCP.
    Plain(TcpStream),
    /// TLS over it.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A client's connection as actix reads and writes it. It tells [`Connection`] what goes by, and gives the parser's refusals a body.
pub(crate) struct Wire {
    carrier: Carrier,
    connection: Rc<Connection>,
    metrics: Arc<Metrics>,
    /// What is sent in place of bytes that actix wrote.
    instead: Option<Instead>,
    http1: bool,
}

struct Instead {
    bytes: Vec<u8>,
    sent: usize,
    /// How many bytes of actix' it stands for.
    stands_for: usize,
}

impl Wire {
    pub(crate) fn new(carrier: Carrier, http1: bool, connection: Rc<Connection>, metrics: Arc<Metrics>) -> Self {
        Self { carrier, connection, metrics, instead: None, http1 }
    }

    /// Who it is a connection of.
    pub(crate) fn connection(&self) -> &Rc<Connection> {
        &self.connection
    }

    fn poll_written(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.instead.is_none()
            && self.http1
            && let Some((begins, answer)) = refusal::of_parser(bytes)
        {
            Events::count(&self.metrics.events.unreadable);
            let instead = [&bytes[..begins], &answer].concat();
            self.instead = Some(Instead { bytes: instead, sent: 0, stands_for: bytes.len() });
        }
        let Some(instead) = &mut self.instead else { return self.carrier.poll_write(cx, bytes) };
        ready!(instead.poll_send(cx, &mut self.carrier))?;
        let stood_for = instead.stands_for;
        self.instead = None;
        Poll::Ready(Ok(stood_for))
    }
}

impl Instead {
    fn poll_send(&mut self, cx: &mut Context<'_>, carrier: &mut Carrier) -> Poll<io::Result<()>> {
        while self.sent < self.bytes.len() {
            match ready!(carrier.poll_write(cx, &self.bytes[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Carrier {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = match &mut self.carrier {
            Carrier::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Carrier::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        if self.connection.came(buffer.filled().len() - before) {
            Events::count(&self.metrics.events.cut_flood);
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.poll_written(cx, bytes);
        if written.is_pending() {
            self.connection.blocked();
        }
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.carrier {
            Carrier::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Carrier::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
        };
        if written.is_pending() {
            self.connection.blocked();
        }
        written
    }

    /// Only where nothing is looked for in what is written: HTTP/2.
    fn is_write_vectored(&self) -> bool {
        let vectored = match &self.carrier {
            Carrier::Plain(stream) => stream.is_write_vectored(),
            Carrier::Tls(stream) => stream.is_write_vectored(),
        };
        vectored && !self.http1
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.carrier {
            Carrier::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Carrier::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        // Both of actix' dispatchers flush when all that was ready is written.
        match flushed {
            Poll::Ready(_) => self.connection.taken(),
            Poll::Pending => self.connection.blocked(),
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.carrier {
            Carrier::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Carrier::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
