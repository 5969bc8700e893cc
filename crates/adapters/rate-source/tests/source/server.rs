//! A web server that says exactly what a test wants, on this machine.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// Where the server is, and what it was asked.
pub(crate) struct Server {
    pub(crate) address: String,
    requests: mpsc::UnboundedReceiver<String>,
}

impl Server {
    /// Gives one of the answers to each connection, in order, and closes it; an empty answer keeps the connection open and silent.
    pub(crate) async fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/rates?key=secret", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut silent = Vec::new();
            for answer in answers {
                let (mut connection, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if connection.read(&mut byte).await.unwrap() == 0 {
                        break;
                    }
                    request.extend(byte);
                }
                sender.send(String::from_utf8(request).unwrap().to_ascii_lowercase()).ok();
                if answer.is_empty() {
                    silent.push(connection);
                } else {
                    // The client may have heard enough.
                    connection.write_all(&answer).await.ok();
                    connection.shutdown().await.ok();
                }
            }
            // Keeps the silent ones open for as long as the test runs.
            std::future::pending::<()>().await;
        });
        Self { address, requests }
    }

    /// The next request that came, in lower case.
    pub(crate) fn request(&mut self) -> String {
        self.requests.try_recv().expect("nothing was asked")
    }
}

/// A whole answer.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}
