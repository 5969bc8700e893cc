//! A merchant's server that keeps what it gets, byte by byte.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::headers_of;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Captured {
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

#[derive(Clone)]
pub(crate) struct Receiver {
    address: SocketAddr,
    captured: Arc<Mutex<Vec<Captured>>>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let receiver = Self { address: listener.local_addr().expect("bound"), captured: Arc::default() };
        let serving = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        receiver
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/webhook?shop=1", self.address)
    }

    pub(crate) fn last(&self) -> Captured {
        self.captured.lock().expect("no panic").last().expect("one has come").clone()
    }

    async fn serve(self, mut stream: TcpStream) -> io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            if let Some((captured, length)) = parsed(&bytes) {
                bytes.drain(..length);
                self.captured.lock().expect("no panic").push(captured);
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await?;
            }
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        }
    }
}

/// A whole request at the beginning of `bytes`, and how long it is.
fn parsed(bytes: &[u8]) -> Option<(Captured, usize)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let headers = headers_of(std::str::from_utf8(&bytes[..end]).ok()?);
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let body = bytes.get(end + 4..end + 4 + length)?.to_vec();
    Some((Captured { headers, body }, end + 4 + length))
}
