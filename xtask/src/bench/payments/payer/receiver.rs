//! The merchants' endpoint: verifies every notification, notes it, and only then acknowledges it.

use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};

use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use standardwebhooks::Webhook;

use super::book::{Book, Heard};
use crate::bench::payments::talk::Shop;
use crate::failure::{Context, Failure, Outcome};
use crate::http1::Message;

const NOTED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const REFUSED: &[u8] = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";

/// The headers that are signed.
const SIGNED: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/// A listener; each connection has a thread.
pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    desk: Arc<Desk>,
}

#[derive(Default)]
struct Desk {
    secrets: OnceLock<Vec<Webhook>>,
    book: Mutex<Option<Arc<Book>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Notification<'a> {
    event_type: &'a str,
    #[serde(borrow)]
    order: Order<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Order<'a> {
    order_id: &'a str,
    merchant_reference: &'a str,
}

impl Receiver {
    pub(super) fn start() -> Outcome<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context(|| "find a free port".to_owned())?;
        let address = listener.local_addr().context(|| "read the free port".to_owned())?;
        let desk = Arc::new(Desk::default());
        let serving = desk.clone();
        in_thread(move || {
            for stream in listener.incoming().flatten() {
                let desk = serving.clone();
                if in_thread(move || desk.serve(stream)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { address, desk })
    }

    /// Whose notifications come under `/hook/0` and so on.
    pub(super) fn trust(&self, shops: &[Shop]) -> Outcome<()> {
        let secrets = shops.iter().map(|shop| Webhook::new(&shop.secret));
        let secrets = secrets.collect::<Result<_, _>>().context(|| "understand a webhook secret".to_owned())?;
        self.desk.secrets.set(secrets).map_err(|_already| Failure::new("the endpoint knows its secrets already"))
    }

    /// Where everything is noted from now on.
    pub(super) fn note_in(&self, book: &Arc<Book>) {
        *self.desk.book.lock().expect("nothing under this lock panics") = Some(book.clone());
    }
}

fn in_thread(work: impl FnOnce() + Send + 'static) -> Outcome<()> {
    let started = std::thread::Builder::new().name("receiver".to_owned()).spawn(work);
    started.map(drop).context(|| "start a thread".to_owned())
}

impl Desk {
    /// Answers one connection until the notifier closes it.
    fn serve(&self, stream: TcpStream) {
        // Without it answers wait for nothing; slower, and seen in the figures.
        let _ = stream.set_nodelay(true);
        let mut stream = BufReader::new(stream);
        while let Ok(Some(message)) = Message::read(&mut stream) {
            let answer = if self.note(&message) { NOTED } else { REFUSED };
            if stream.get_mut().write_all(answer).is_err() {
                return;
            }
        }
    }

    /// Whether the notification is genuine and noted.
    fn note(&self, message: &Message) -> bool {
        let Some(book) = self.book.lock().expect("nothing under this lock panics").clone() else {
            return false;
        };
        let Some(heard) = self.verified(message) else {
            book.note_forged();
            return false;
        };
        let sequence = message.header("webhook-sequence");
        let Order { order_id: order, merchant_reference: reference } = heard.order;
        book.note(&Heard { event: heard.event_type, sequence, reference, order });
        true
    }

    fn verified<'a>(&self, message: &'a Message) -> Option<Notification<'a>> {
        let path = message.first.strip_prefix("POST /hook/")?;
        let shop: usize = path.split(' ').next()?.parse().ok()?;
        let mut headers = HeaderMap::new();
        for name in SIGNED {
            headers.insert(name, HeaderValue::from_str(message.header(name)).ok()?);
        }
        self.secrets.get()?.get(shop)?.verify(&message.body, &headers).ok()?;
        serde_json::from_slice(&message.body).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::bench::payments::talk::{Troubles, Way};
    use crate::http1::Client;

    /// Sends a notification; the status of the answer.
    fn notify(receiver: &Receiver, signed_body: &str, body: &str) -> u16 {
        let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let signature =
            Webhook::from_bytes(vec![7; 32]).unwrap().sign("id-1", at as i64, signed_body.as_bytes()).unwrap();
        let headers = format!(
            "webhook-id: id-1\r\nwebhook-timestamp: {at}\r\nwebhook-signature: {signature}\r\nwebhook-sequence: 1\r\n"
        );
        Client::connect(receiver.address, "").unwrap().exchange("POST", "/hook/0", &headers, body).unwrap().0
    }

    #[test]
    fn only_what_is_signed_is_noted_and_acknowledged() {
        let receiver = Receiver::start().unwrap();
        let secret = "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=".to_owned();
        let (merchant_id, authorization) = (String::new(), String::new());
        receiver.trust(&[Shop { merchant_id, authorization, secret }]).unwrap();
        let book = Arc::new(Book::new(Way::DropIn, vec![mpsc::channel().0]));
        receiver.note_in(&book);
        let body = r#"{"EventType":"SESSION_COMPLETED","Order":{"OrderId":"one","MerchantReference":"run.0.1"}}"#;
        assert_eq!(notify(&receiver, body, body), 200);
        assert_eq!(book.troubles(), Troubles::default());
        assert_eq!(notify(&receiver, body, &body.replace("one", "two")), 401);
        assert_eq!(book.troubles(), Troubles { forged: 1, ..Troubles::default() });
    }
}
