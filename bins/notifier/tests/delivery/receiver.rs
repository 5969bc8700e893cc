//! A merchant's webhook that notes what arrives and answers as it is told.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use standardwebhooks::Webhook;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One notification as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) id: String,
    pub(crate) sequence: i64,
    pub(crate) timestamp: i64,
    pub(crate) signature: String,
    pub(crate) body: String,
    /// What it was answered; `None` when it never was.
    pub(crate) status: Option<u16>,
}

/// Decides on an answer from what has arrived before; `None` keeps the sender waiting.
type Manner = dyn Fn(&[Arrival], &Arrival) -> Option<u16> + Send + Sync;

#[derive(Clone)]
pub(crate) struct Receiver {
    address: SocketAddr,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    manner: Arc<Manner>,
}

impl Receiver {
    pub(crate) async fn start(manner: impl Fn(&[Arrival], &Arrival) -> Option<u16> + Send + Sync + 'static) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), manner).await
    }

    pub(crate) async fn start_at(
        address: SocketAddr,
        manner: impl Fn(&[Arrival], &Arrival) -> Option<u16> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let receiver = Self { address, arrivals: Arc::default(), manner: Arc::new(manner) };
        let serving = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        receiver
    }

    async fn serve(self, mut stream: TcpStream) -> io::Result<()> {
        while let Some(mut arrival) = read(&mut stream).await? {
            let status = {
                let mut arrivals = self.arrivals.lock().expect("no panic");
                arrival.status = (self.manner)(&arrivals, &arrival);
                arrivals.push(arrival.clone());
                arrival.status
            };
            match status {
                Some(status) => {
                    let answer = format!("HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n");
                    stream.write_all(answer.as_bytes()).await?;
                }
                None => std::future::pending().await,
            }
        }
        Ok(())
    }

    #[allow(dead_code, reason = "for tests of the program")]
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().expect("no panic").clone()
    }

    /// Ids of the notifications that were answered 200, in the order of that.
    pub(crate) fn acknowledged(&self) -> Vec<String> {
        self.arrivals().into_iter().filter(|one| one.status == Some(200)).map(|one| one.id).collect()
    }
}

impl Arrival {
    /// Whether it was signed with `secret` (`whsec_...`) and nothing else.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        self.is_signed_with_all(&[secret])
    }

    /// Whether it was signed with exactly these secrets, in this order.
    pub(crate) fn is_signed_with_all(&self, secrets: &[&str]) -> bool {
        let sign = |secret: &&str| {
            let signed = Webhook::new(secret).and_then(|key| key.sign(&self.id, self.timestamp, self.body.as_bytes()));
            signed.unwrap_or_else(|error| panic!("{error}"))
        };
        self.signature == secrets.iter().map(sign).collect::<Vec<_>>().join(" ")
    }
}

async fn read(stream: &mut TcpStream) -> io::Result<Option<Arrival>> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let header = |name: &str| {
                let value = head.lines().filter_map(|line| line.split_once(": "));
                value.into_iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
            };
            let number = |name: &str| header(name).and_then(|text| text.parse::<i64>().ok());
            if number("content-length").is_some_and(|length| usize::try_from(length) == Ok(body.len())) {
                return Ok(Some(Arrival {
                    id: header("webhook-id").expect("an id"),
                    sequence: number("webhook-sequence").expect("a sequence"),
                    timestamp: number("webhook-timestamp").expect("a timestamp"),
                    signature: header("webhook-signature").expect("a signature"),
                    body: body.to_owned(),
                    status: None,
                }));
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}
