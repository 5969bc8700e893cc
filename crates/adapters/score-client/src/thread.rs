//! The thread that owns the HTTP client. One call, one answer; the caller gives up waiting when its time is over.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{CONTENT_TYPE, USER_AGENT};
use actix_web::rt::{System, spawn};
use awc::{Client, Connector};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

const PRODUCT: &str = concat!("Dropin/", env!("CARGO_PKG_VERSION"));
/// Longer than any caller waits: a call whose caller has gone ends, too.
const DEADLINE: Duration = Duration::from_secs(1);
/// Most bytes of an answer.
const ANSWER_LIMIT: usize = 16 * 1024;
/// How long an idle connection is kept: less than servers keep theirs.
const KEEP_ALIVE: Duration = Duration::from_secs(3);

/// A call to make.
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) timestamp: i64,
    pub(crate) signature: String,
    pub(crate) body: Vec<u8>,
    pub(crate) reply: oneshot::Sender<Result<Vec<u8>, String>>,
}

/// Runs until every sender is gone.
pub(crate) fn run(url: String, mut inbox: mpsc::UnboundedReceiver<Job>) {
    System::new().block_on(async move {
        let (client, url) = (Rc::new(client()), Rc::new(url));
        while let Some(Job { id, timestamp, signature, body, mut reply }) = inbox.recv().await {
            let (client, url) = (client.clone(), url.clone());
            spawn(async move {
                let request = client
                    .post(url.as_str())
                    .insert_header((CONTENT_TYPE, "application/json"))
                    .insert_header((USER_AGENT, PRODUCT))
                    .insert_header(("webhook-id", id))
                    .insert_header(("webhook-timestamp", timestamp))
                    .insert_header(("webhook-signature", signature));
                let exchange = async {
                    let mut answer = request.send_body(body).await.map_err(|error| error.to_string())?;
                    let status = answer.status().as_u16();
                    if status != 200 {
                        return Err(format!("it answered with the status {status}"));
                    }
                    let read = answer.body().limit(ANSWER_LIMIT).await;
                    read.map(|bytes| bytes.to_vec()).map_err(|_broken| "its answer broke off or is too long".to_owned())
                };
                tokio::select! {
                    () = reply.closed() => {}
                    answer = timeout(DEADLINE, exchange) => {
                        // Whoever asked may be gone.
                        drop(reply.send(answer.unwrap_or_else(|_late| Err("it did not answer in time".to_owned()))));
                    }
                }
            });
        }
    });
}

/// No redirects, and the system's roots.
fn client() -> Client {
    let mut roots = rustls::RootCertStore::empty();
    let (added, _ignored) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if added == 0 {
        log::warn!(
            "score: the system has no root certificates, so no service can be called over https; install ca-certificates"
        );
    }
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("aws-lc-rs supports TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = Connector::new().timeout(DEADLINE).conn_keep_alive(KEEP_ALIVE).limit(0).rustls_0_23(Arc::new(tls));
    Client::builder().connector(connector).timeout(DEADLINE).disable_redirects().no_default_headers().finish()
}
