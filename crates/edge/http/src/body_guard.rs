//! A deadline on every request body, and polite early refusals.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::header::{CONNECTION, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, Sleep};

/// How much of a refused body is read on, so that its sender sees the answer (decisions.md section 1).
const READ_ON: usize = 4 * 1024 * 1024;

type Shared = Rc<RefCell<Payload>>;

/// The request's body with an end to its patience. The body itself stays shared with the guard, which reads on what a
/// refusal left unread.
struct Timed {
    body: Shared,
    deadline: Pin<Box<Sleep>>,
    over: bool,
}

impl Timed {
    fn new(body: Shared, deadline: Instant) -> Self {
        Self { body, deadline: Box::pin(tokio::time::sleep_until(deadline)), over: false }
    }
}

impl Stream for Timed {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        let body = self.body.clone();
        if let Poll::Ready(chunk) = body.borrow_mut().poll_next_unpin(cx) {
            return Poll::Ready(chunk);
        }
        std::task::ready!(self.deadline.as_mut().poll(cx));
        self.over = true;
        Poll::Ready(Some(Err(PayloadError::Io(io::ErrorKind::TimedOut.into()))))
    }
}

/// Gives a request's body `patience` to arrive; after a refusal reads on what has not arrived yet, within bounds.
pub(crate) async fn guard(
    patience: Duration,
    mut request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let body = request.take_payload();
    if matches!(body, Payload::None) {
        return next.call(request).await;
    }
    let body = Rc::new(RefCell::new(body));
    let deadline = Instant::now() + patience;
    request.set_payload(Payload::Stream { payload: Box::pin(Timed::new(body.clone(), deadline)) });
    let mut answer = next.call(request).await?;
    let refused = answer.status().is_client_error() || answer.status().is_server_error();
    if refused && !read_on(Timed::new(body, deadline)).await {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(answer)
}

/// Whether the body came to its end.
async fn read_on(mut body: Timed) -> bool {
    let mut read = 0;
    while let Some(chunk) = body.next().await {
        read += chunk.map_or(READ_ON, |bytes| bytes.len());
        if read >= READ_ON {
            return false;
        }
    }
    true
}
