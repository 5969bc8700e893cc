//! A deadline on every request body, and the draining of a refused one.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::HttpMessage;
use actix_web::dev::{Payload, ServiceRequest};
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, Sleep};

use crate::limits::MAX_DRAIN_BYTES;

type Shared = Rc<RefCell<Payload>>;

/// The request's body with a deadline. The body itself stays shared with the guard, which reads the rest of what a
/// refusal left unread.
struct TimedBody {
    body: Shared,
    deadline: Instant,
    /// Made when the body has to be waited for, which most have not.
    timer: Option<Pin<Box<Sleep>>>,
    over: bool,
}

impl TimedBody {
    fn new(body: Shared, deadline: Instant) -> Self {
        Self { body, deadline, timer: None, over: false }
    }
}

impl Stream for TimedBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        let body = self.body.clone();
        if let Poll::Ready(chunk) = body.borrow_mut().poll_next_unpin(cx) {
            return Poll::Ready(chunk);
        }
        let deadline = self.deadline;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        std::task::ready!(timer.as_mut().poll(cx));
        self.over = true;
        Poll::Ready(Some(Err(PayloadError::Io(io::ErrorKind::TimedOut.into()))))
    }
}

/// The body of a request, shared with the extractor that reads it.
///
/// Has to live as long as the answer: actix drains a chunked body without an end once its payload is dropped, but closes the connection behind
/// the answer, and says so, while the payload is held.
pub(crate) struct BodyGuard {
    body: Option<Shared>,
    deadline: Instant,
}

impl BodyGuard {
    /// Of a request without a body.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { body: None, deadline: Instant::now() }
    }

    /// Gives a request's body until `deadline` to arrive.
    pub(crate) fn attach(request: &mut ServiceRequest, deadline: Instant) -> Self {
        let body = request.take_payload();
        if matches!(body, Payload::None) {
            return Self { body: None, deadline };
        }
        let body = Rc::new(RefCell::new(body));
        request.set_payload(Payload::Stream { payload: Box::pin(TimedBody::new(body.clone(), deadline)) });
        Self { body: Some(body), deadline }
    }

    /// Drains the body of a refused request, at most [`MAX_DRAIN_BYTES`], so that the client sees the answer.
    pub(crate) async fn drain(&self) {
        let Some(body) = self.body.clone() else { return };
        let mut body = TimedBody::new(body, self.deadline);
        let mut read = 0;
        while let Some(chunk) = body.next().await {
            read += chunk.map_or(MAX_DRAIN_BYTES, |bytes| bytes.len());
            if MAX_DRAIN_BYTES <= read {
                return;
            }
        }
    }
}
