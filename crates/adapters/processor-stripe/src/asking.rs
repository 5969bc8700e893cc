//! One thing that is asked of Stripe, in as many calls as it takes, within one deadline.

use std::sync::OnceLock;
use std::time::Duration;

use dropin_kernel::MerchantId;
use dropin_processor_transport::health::{self, CallKind};
use dropin_processor_transport::{Call, HeldBack, HttpReply, Transport};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};
use zeroize::Zeroizing;

use crate::form::{CONTENT_TYPE, form};
use crate::multipart::Upload;
use crate::object::{ErrorEnvelope, ErrorObject};

/// The first wait after a limit of calls that does not say how long; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Where files are sent.
const FILES: &str = "/v1/files";

/// What came of a call.
pub(crate) enum Said<T> {
    /// This.
    Object(T),
    /// It was refused, in Stripe's own form.
    Refused { status: u16, error: ErrorObject },
    /// Surely nothing was done.
    NotSent(String),
    /// It may have been done, and nobody says so.
    Unclear(String),
}

impl<T> Said<T> {
    /// Why there is no object, for the log.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Object(_) => "an answer".to_owned(),
            Self::Refused { status, error } => format!("HTTP {status}: {}", error.words()),
            Self::NotSent(why) | Self::Unclear(why) => why.clone(),
        }
    }
}

/// What is asked, and until when.
pub(crate) struct Asking<'a> {
    pub(crate) transport: &'a Transport,
    pub(crate) asked: CallKind,
    pub(crate) merchant_id: Option<MerchantId>,
    pub(crate) until: Instant,
    held_back: OnceLock<HeldBack>,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(transport: &'a Transport, asked: CallKind, merchant_id: Option<MerchantId>) -> Self {
        Self { transport, asked, merchant_id, until: transport.deadline(), held_back: OnceLock::new() }
    }

    /// Counts how it ended; what our own guard did not let pass counts as that.
    pub(crate) fn count(&self, outcome: &'static str) {
        let outcome = self.held_back.get().map_or(outcome, |held_back| health::of_held_back(*held_back));
        self.transport.count(self.asked, outcome);
    }

    /// Reads one object.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Said<T> {
        self.exchange(|| Call::get(path.to_owned())).await
    }

    /// Reads a list.
    pub(crate) async fn get_page<T: DeserializeOwned>(&self, path: &str) -> Said<T> {
        self.exchange(|| Call::get_page(path.to_owned())).await
    }

    /// Has something done: once under `key`, or, without one, what may be done again.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        key: Option<&str>,
        fields: &[(&str, &str)],
    ) -> Said<T> {
        self.post_form(path, key, form(fields)).await
    }

    /// The same with a body that was written before.
    pub(crate) async fn post_form<T: DeserializeOwned>(
        &self,
        path: &str,
        key: Option<&str>,
        body: Zeroizing<Vec<u8>>,
    ) -> Said<T> {
        self.exchange(|| Call::post(path.to_owned(), key.map(str::to_owned), CONTENT_TYPE, body.clone())).await
    }

    /// Sends a file, once under `key`.
    pub(crate) async fn upload<T: DeserializeOwned>(&self, key: &str, file: &Upload) -> Said<T> {
        let call = || Call::upload(FILES.to_owned(), key.to_owned(), file.content_type.clone(), file.body.clone());
        self.exchange(call).await
    }

    /// Makes the call; waits and makes it again while Stripe says that it took no notice of it because of a limit or a lock.
    async fn exchange<T: DeserializeOwned>(&self, call: impl Fn() -> Call) -> Said<T> {
        let mut pause = FIRST_PAUSE;
        loop {
            let call = match self.asked {
                // A dispute is told with the text of its evidence.
                CallKind::ReadDispute | CallKind::AnswerDispute => call().with_long_answer(),
                _ => call(),
            };
            let reply = match self.transport.call(self.asked, self.merchant_id, self.until, call).await {
                Ok(reply) => reply,
                Err(held_back) => {
                    self.held_back.get_or_init(|| held_back);
                    return Said::NotSent(held_back.to_string());
                }
            };
            let (status, retry_after, body) = match reply {
                HttpReply::Answer { status, retry_after, body } => (status, retry_after, body),
                HttpReply::NotSent(why) => return Said::NotSent(why),
                HttpReply::Unclear(why) => return Said::Unclear(why),
            };
            let wait = retry_after.unwrap_or(pause);
            if asks_to_wait(status, &body) && Instant::now() + wait < self.until {
                sleep(wait).await;
                pause *= 2;
                continue;
            }
            return read(status, &body);
        }
    }
}

/// Whether the call was not looked at: too many calls, a lock on the object, or the same key under way.
fn asks_to_wait(status: u16, body: &[u8]) -> bool {
    let code = |word| {
        let error = serde_json::from_slice::<ErrorEnvelope>(body);
        error.is_ok_and(|envelope| envelope.error.code() == Some(word))
    };
    match status {
        429 => true,
        409 => code("idempotency_key_in_use") || code("lock_timeout"),
        400 => code("lock_timeout"),
        _ => false,
    }
}

fn read<T: DeserializeOwned>(status: u16, body: &[u8]) -> Said<T> {
    match status {
        200 => match serde_json::from_slice(body) {
            Ok(object) => Said::Object(object),
            Err(_other) => Said::Unclear("the answer makes no sense".to_owned()),
        },
        // What is limited or locked may be another call's doing: it says nothing of the outcome.
        400..=408 | 410..=428 | 430..=499 => match serde_json::from_slice::<ErrorEnvelope>(body) {
            Ok(ErrorEnvelope { error }) if !error.is_of_type("api_error") && error.code() != Some("lock_timeout") => {
                Said::Refused { status, error }
            }
            _ => Said::Unclear(format!("HTTP {status}")),
        },
        _ => Said::Unclear(format!("HTTP {status}")),
    }
}
