//! Counts what comes off the wire below TLS, where nothing that watches over the text of an answer can see it: tickets to resume with,
//! padding, records of one byte.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::stream::Stopped;

/// Most bytes of a handshake: a chain of certificates may have 64 KiB, few have a tenth of it.
const HANDSHAKE_LIMIT: usize = 256 * 1024;
/// How many bytes more than its text an answer may take: a record that is not complete yet (16 KiB), what is read at once before and behind
/// it (4 KiB each), and what TLS wraps around.
const EXCESS_LIMIT: usize = 32 * 1024;

/// A TCP connection under TLS that brings only so many bytes.
pub(crate) struct Metered {
    socket: TcpStream,
    /// Bytes that may still come.
    left: usize,
}

impl Metered {
    /// For a handshake.
    pub(crate) const fn new(socket: TcpStream) -> Self {
        Self { socket, left: HANDSHAKE_LIMIT }
    }

    /// An answer comes next.
    pub(crate) const fn begin(&mut self) {
        self.left = EXCESS_LIMIT;
    }

    /// So many bytes of the answer's text were read: as many more may come.
    pub(crate) const fn was_text(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes);
    }

    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
    }
}

impl AsyncRead for Metered {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(Err(Stopped::Limit.into()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.socket).poll_read(cx, buf))?;
        this.left = this.left.saturating_sub(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Reads until there is no more or until it is stopped; how much came.
    async fn drain(metered: &mut Metered) -> usize {
        let (mut part, mut came) = ([0; 1_000], 0);
        loop {
            match metered.read(&mut part).await {
                Ok(0) => panic!("the end after {came}"),
                Ok(more) => came += more,
                Err(error) => {
                    assert_eq!(Stopped::of(&error), Some(Stopped::Limit), "{error}");
                    return came;
                }
            }
        }
    }

    #[tokio::test]
    async fn only_so_much_is_taken_off_the_wire() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a caller");
            // Until the caller closes.
            while stream.write_all(&[0; 4_096]).await.is_ok() {}
        });
        let mut metered = Metered::new(TcpStream::connect(address).await.expect("a listener"));
        let about = |limit: usize| limit..limit + 1_000;
        assert!(about(HANDSHAKE_LIMIT).contains(&drain(&mut metered).await));
        assert_eq!(drain(&mut metered).await, 0, "and nothing more");
        metered.begin();
        assert!(about(EXCESS_LIMIT).contains(&drain(&mut metered).await));
        metered.begin();
        metered.was_text(10_000);
        assert!(about(EXCESS_LIMIT + 10_000).contains(&drain(&mut metered).await));
    }
}
